-- `:PhobosPtx` and `:PhobosSass`: what the kernel under the cursor was compiled to, in a split beside it. The line of the
-- source that the cursor is on and what it became are lit together, in whichever of the two windows the cursor is. The
-- split follows the text: it is asked for again when that has changed, and says so while it cannot be.
local M = {}

local api = vim.api
local NAMESPACE = api.nvim_create_namespace('phobos.code')
local GROUP = 'PhobosLinked'
local METHODS = { ptx = 'phobos/ptx', sass = 'phobos/sass' }
local DELAY_MS = 400

---@class phobos.View
---@field kind 'ptx'|'sass'
---@field source integer the buffer of the source
---@field code integer the buffer of what it became
---@field kernel string
---@field lines (integer|vim.NIL)[] the source line of each line of the code, from 0
---@field rows table<integer, integer[]> the lines of the code of each source line, from 0
---@field group integer
---@field timer uv.uv_timer_t

---By their code's buffers.
---@type table<integer, phobos.View>
local views = {}

---@param buffer integer
---@return vim.lsp.Client?
local function client_of(buffer)
  return vim.lsp.get_clients({ bufnr = buffer, name = 'phobos' })[1]
end

---A window that shows a buffer, one of this page if there is one.
---@param buffer integer
---@return integer?
local function window_of(buffer)
  local found = vim.fn.win_findbuf(buffer)
  for _, window in ipairs(found) do
    if api.nvim_win_get_tabpage(window) == api.nvim_get_current_tabpage() then
      return window
    end
  end
  return found[1]
end

---@param buffer integer
---@param row integer
local function light(buffer, row)
  if row < api.nvim_buf_line_count(buffer) then
    api.nvim_buf_set_extmark(buffer, NAMESPACE, row, 0, { line_hl_group = GROUP })
  end
end

---Brings a line into sight, with the cursor on it, unless it or one like it is.
---@param buffer integer
---@param rows integer[]
local function show(buffer, rows)
  local window = window_of(buffer)
  if not window or #rows == 0 then
    return
  end
  local first, last = vim.fn.line('w0', window), vim.fn.line('w$', window)
  for _, row in ipairs(rows) do
    if row + 1 >= first and row + 1 <= last then
      return
    end
  end
  api.nvim_win_set_cursor(window, { math.min(rows[1] + 1, api.nvim_buf_line_count(buffer)), 0 })
  api.nvim_win_call(window, function()
    vim.cmd('normal! zz')
  end)
end

---Lights a source line and what it became.
---@param view phobos.View
---@param line integer?
local function link(view, line)
  for _, buffer in ipairs({ view.source, view.code }) do
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
  local rows = line and view.rows[line]
  if not rows then
    return
  end
  light(view.source, line --[[@as integer]])
  for _, row in ipairs(rows) do
    light(view.code, row)
  end
end

---@param view phobos.View
local function from_source(view)
  local line = vim.fn.line('.') - 1
  link(view, line)
  show(view.code, view.rows[line] or {})
end

---@param view phobos.View
local function from_code(view)
  local line = view.lines[vim.fn.line('.')]
  if type(line) ~= 'number' then
    link(view, nil)
    return
  end
  link(view, line)
  local window = window_of(view.source)
  if window then
    api.nvim_win_set_cursor(window, { math.min(line + 1, api.nvim_buf_line_count(view.source)), 0 })
  end
end

---@param view phobos.View
---@param note string?
local function head(view, note)
  local window = window_of(view.code)
  if window then
    local text = note and (view.title .. ' - ' .. note) or view.title
    vim.wo[window].winbar = text:gsub('%%', '%%%%'):gsub('\n.*', '')
  end
end

---@param view phobos.View
---@param answer table
local function fill(view, answer)
  local text = vim.split(answer.text, '\n', { plain = true })
  if text[#text] == '' then
    table.remove(text)
  end
  vim.bo[view.code].modifiable = true
  api.nvim_buf_set_lines(view.code, 0, -1, false, text)
  vim.bo[view.code].modifiable = false
  view.kernel, view.lines, view.rows = answer.kernel, answer.lines, {}
  for row, line in ipairs(answer.lines) do
    if type(line) == 'number' then
      view.rows[line] = view.rows[line] or {}
      table.insert(view.rows[line], row - 1)
    end
  end
  local config = {}
  for name, value in vim.spairs(answer.config) do
    table.insert(config, ('%s=%d'):format(name, value))
  end
  view.title = table.concat({ answer.kernel, answer.target, unpack(config) }, ' ')
  head(view, answer.stale and 'of the text before it was changed' or nil)
end

---@param view phobos.View
local function refresh(view)
  local client = client_of(view.source)
  if not client then
    return
  end
  local params = { textDocument = vim.lsp.util.make_text_document_params(view.source), kernel = view.kernel }
  client:request(METHODS[view.kind], params, function(problem, answer)
    if views[view.code] ~= view then
      return
    end
    if answer and answer ~= vim.NIL then
      fill(view, answer)
    else
      head(view, problem and problem.message or 'the text has no such kernel')
    end
  end, view.source)
end

---@param view phobos.View
local function close(view)
  views[view.code] = nil
  view.timer:stop()
  view.timer:close()
  pcall(api.nvim_del_augroup_by_id, view.group)
  if api.nvim_buf_is_valid(view.source) then
    api.nvim_buf_clear_namespace(view.source, NAMESPACE, 0, -1)
  end
  if api.nvim_buf_is_valid(view.code) then
    pcall(api.nvim_buf_delete, view.code, { force = true })
  end
end

---@param view phobos.View
local function follow(view)
  local function on(events, buffer, action)
    api.nvim_create_autocmd(events, {
      group = view.group,
      buffer = buffer,
      callback = function()
        action(view)
      end,
    })
  end
  on('CursorMoved', view.source, from_source)
  on('CursorMoved', view.code, from_code)
  on({ 'TextChanged', 'TextChangedI', 'BufWritePost' }, view.source, function()
    view.timer:start(DELAY_MS, 0, vim.schedule_wrap(function()
      if views[view.code] == view then
        refresh(view)
      end
    end))
  end)
  on('BufWipeout', view.code, vim.schedule_wrap(close))
  on('BufUnload', view.source, vim.schedule_wrap(close))
end

---The split of a kind beside a source, the one that is there if there is one.
---@param kind 'ptx'|'sass'
---@param source integer
---@return phobos.View
local function view_of(kind, source)
  for _, view in pairs(views) do
    if view.kind == kind and view.source == source and window_of(view.code) then
      return view
    end
  end
  local code = api.nvim_create_buf(false, true)
  vim.bo[code].bufhidden = 'wipe'
  vim.bo[code].syntax = 'asm'
  local before = api.nvim_get_current_win()
  vim.cmd('vertical rightbelow sbuffer ' .. code)
  local options = vim.wo[api.nvim_get_current_win()][0]
  options.number, options.relativenumber, options.wrap, options.foldenable = false, false, false, false
  options.cursorline = false
  api.nvim_set_current_win(before)
  local view = {
    kind = kind,
    source = source,
    code = code,
    kernel = '',
    title = '',
    lines = {},
    rows = {},
    group = api.nvim_create_augroup('phobos.code.' .. code, {}),
    timer = assert(vim.uv.new_timer()),
  }
  views[code] = view
  follow(view)
  return view
end

---Opens the split. `kernel` is the one under the cursor unless it is named.
---@param kind 'ptx'|'sass'
---@param kernel string?
function M.open(kind, kernel)
  local source = api.nvim_get_current_buf()
  local client = client_of(source)
  if not client then
    vim.notify("phobos: no language server runs here; `:checkhealth phobos` says why", vim.log.levels.WARN)
    return
  end
  api.nvim_set_hl(0, GROUP, { link = 'Visual', default = true })
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.kernel = kernel
  client:request(METHODS[kind], params, function(problem, answer)
    if problem then
      vim.notify('phobos: ' .. problem.message, vim.log.levels.WARN)
    elseif not answer or answer == vim.NIL then
      vim.notify('phobos: this text has no kernel', vim.log.levels.WARN)
    elseif api.nvim_get_current_buf() == source then
      local view = view_of(kind, source)
      fill(view, answer)
      from_source(view)
    end
  end, source)
end

---Makes the commands of a buffer, and those that the server's code lenses name.
---@param buffer integer
function M.commands(buffer)
  for name, kind in pairs({ PhobosPtx = 'ptx', PhobosSass = 'sass' }) do
    api.nvim_buf_create_user_command(buffer, name, function(command)
      M.open(kind, command.args ~= '' and command.args or nil)
    end, { nargs = '?', desc = 'What the kernel under the cursor was compiled to' })
  end
  for id, kind in pairs({ ['phobos.showPtx'] = 'ptx', ['phobos.showSass'] = 'sass' }) do
    vim.lsp.commands[id] = function(command)
      M.open(kind, command.arguments and command.arguments[2])
    end
  end
end

---For `b:undo_ftplugin`.
function M.stop()
  for _, name in ipairs({ 'PhobosPtx', 'PhobosSass' }) do
    pcall(api.nvim_buf_del_user_command, 0, name)
  end
end

return M
