if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = 1

local buffer = vim.bo
buffer.commentstring = '// %s'
buffer.comments = '://'
buffer.suffixesadd = '.ph'
-- The style of `phobos fmt`.
buffer.expandtab = true
buffer.shiftwidth = 2
buffer.softtabstop = 2
buffer.indentexpr = "v:lua.require'phobos.indent'.at(v:lnum)"
buffer.indentkeys = '0{,0},0),0],!^F,o,O,e'

vim.b.undo_ftplugin = table.concat({
  'setlocal commentstring< comments< suffixesadd< expandtab< shiftwidth< softtabstop< indentexpr< indentkeys<',
  "call v:lua.require'phobos.parser'.stop()",
  "call v:lua.require'phobos.code'.stop()",
}, ' | ')

require('phobos.parser').start(vim.api.nvim_get_current_buf())
require('phobos.code').commands(vim.api.nvim_get_current_buf())
