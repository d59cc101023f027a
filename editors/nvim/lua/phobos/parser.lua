-- The tree-sitter parser: `parser/phobos.so` on the runtimepath where there is one, else the library of the Python
-- package that the `phobos` command belongs to, which holds the same parser. It is looked for without waiting: until
-- it is found, and where there is none, `syntax/phobos.vim` colours.
local M = {}

local LANGUAGE = 'phobos'
-- Prints where the library is. `-P` keeps what lies in the current folder from being imported.
local QUESTION = 'import importlib.util as u; s = u.find_spec("tree_sitter_phobos._binding"); print(s.origin if s else "")'
local PATIENCE_MS = 10000

---How the parser was got: where it lies, or why there is none.
---@type { path: string?, problem: string? }
M.state = {}

---@type integer[]
local waiting = {}
local asked = false

---@param path string?
---@return boolean
local function load(path)
  local fine, added, problem = pcall(vim.treesitter.language.add, LANGUAGE, { path = path })
  if fine and added then
    local found = vim.api.nvim_get_runtime_file('parser/' .. LANGUAGE .. '.*', false)[1]
    M.state = { path = path or found or M.state.path }
    return true
  end
  M.state = { problem = tostring(fine and (problem or 'no parser on the runtimepath') or added) }
  return false
end

---The Python that runs the command, by the first lines of its script.
---@return string?
local function python()
  local command = vim.fn.exepath('phobos')
  local file = command ~= '' and io.open(command, 'rb')
  if not file then
    return nil
  end
  local head = file:read(1024) or ''
  file:close()
  -- A long path stands on the second line, behind `exec`, quoted or not.
  local found = head:match('^#!%s*(/[^\r\n]*python[^%s/]*)') or head:match("^#!/bin/sh\r?\n'''exec' \"?([^\"\r\n]-python[^%s/\"]*)")
  return found and vim.fn.executable(found) == 1 and found or nil
end

---@param buffer integer
local function enable(buffer)
  if not (vim.api.nvim_buf_is_valid(buffer) and vim.bo[buffer].filetype == LANGUAGE) then
    return
  end
  vim.treesitter.start(buffer, LANGUAGE)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local options = vim.wo[window][0]
    -- Whoever folds in another way goes on doing so. All folds are open at first.
    if vim.wo[window].foldmethod == 'manual' then
      options.foldmethod = 'expr'
      options.foldexpr = 'v:lua.vim.treesitter.foldexpr()'
      options.foldlevel = 99
    end
  end
end

---@param path string?
local function answer(path)
  if not path then
    M.state = { problem = 'no parser on the runtimepath, and the `phobos` command does not tell its Python' }
  elseif load(path) then
    for _, buffer in ipairs(waiting) do
      enable(buffer)
    end
  end
  waiting = {}
end

---Colours and folds a buffer by its syntax tree, at once or as soon as the parser is found.
---@param buffer integer
function M.start(buffer)
  if load(nil) then
    enable(buffer)
    return
  end
  if asked and #waiting == 0 then
    return
  end
  table.insert(waiting, buffer)
  if asked then
    return
  end
  asked = true
  local interpreter = python()
  if not interpreter then
    answer(nil)
    return
  end
  local command = { interpreter, '-P', '-c', QUESTION }
  local started = pcall(vim.system, command, { text = true, timeout = PATIENCE_MS }, function(result)
    local path = result.code == 0 and vim.trim(result.stdout or '') or ''
    vim.schedule(function()
      answer(path ~= '' and path or nil)
    end)
  end)
  if not started then
    answer(nil)
  end
end

---For `b:undo_ftplugin`.
function M.stop()
  pcall(vim.treesitter.stop, vim.api.nvim_get_current_buf())
  if vim.wo.foldexpr == 'v:lua.vim.treesitter.foldexpr()' then
    vim.cmd('setlocal foldmethod< foldexpr< foldlevel<')
  end
end

return M
