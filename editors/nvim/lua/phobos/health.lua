-- `:checkhealth phobos`: what works here, and what to do where something does not.
local M = {}

local health = vim.health
local PATIENCE_MS = 30000

---@param command string[]
---@return string? output, string? problem
local function run(command)
  local started, process = pcall(vim.system, command, { text = true })
  if not started then
    return nil, tostring(process)
  end
  local result = process:wait(PATIENCE_MS)
  if result.code ~= 0 then
    return nil, vim.trim(result.stderr or '')
  end
  return vim.trim(result.stdout or '')
end

local function neovim()
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim ' .. tostring(vim.version()) .. ' is older than 0.11', 'Install Neovim 0.11 or later.')
  end
end

local function command()
  if vim.fn.executable('phobos') == 0 then
    health.error('no `phobos` on the PATH', 'Install Phobos, and start Neovim where `phobos --version` works.')
    return
  end
  local version, problem = run({ 'phobos', '--version' })
  if not version then
    health.error('`phobos --version` fails: ' .. problem, 'Install Phobos again.')
    return
  end
  health.ok(version .. ' (' .. vim.fn.exepath('phobos') .. ')')
  local found
  found, problem = run({ 'phobos', 'doctor' })
  if found then
    health.info('`phobos doctor` says:\n' .. found)
  else
    health.warn('`phobos doctor` fails: ' .. problem)
  end
end

local function server()
  local clients = vim.lsp.get_clients({ name = 'phobos' })
  if #clients > 0 then
    for _, client in ipairs(clients) do
      health.ok(('the language server runs for %s'):format(client.root_dir or 'files without a project'))
    end
  else
    health.warn(
      'no language server runs',
      "Put `vim.lsp.enable('phobos')` into init.lua and open a .ph file; `:checkhealth vim.lsp` says where its log is."
    )
  end
end

local function parser()
  if not pcall(vim.treesitter.language.inspect, 'phobos') then
    local state = require('phobos.parser').state
    health.info(
      'no tree-sitter parser, so `syntax/phobos.vim` colours: '
        .. (state.problem or 'it is looked for when the first .ph file is opened')
    )
    return
  end
  health.ok('tree-sitter parser: ' .. (require('phobos.parser').state.path or 'loaded'))
  for _, kind in ipairs({ 'highlights', 'folds', 'injections', 'locals' }) do
    local fine, problem = pcall(vim.treesitter.query.get, 'phobos', kind)
    if not fine then
      health.error(
        ('queries/phobos/%s.scm does not belong to this parser: %s'):format(kind, problem),
        'Take the plugin and `phobos` from one version; remove an older parser/phobos.so.'
      )
    end
  end
end

function M.check()
  health.start('phobos')
  neovim()
  command()
  server()
  parser()
end

return M
