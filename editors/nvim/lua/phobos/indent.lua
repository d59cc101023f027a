-- The indentation of a line, as `phobos fmt` has it: in a block, a step further in than the statement that opens it, and
-- two more where that goes on after an operator; in other brackets, below what follows the bracket.
local M = {}

local CLOSES = { [')'] = true, [']'] = true, ['}'] = true }

---A line without its comment and the white space at its end.
---@param number integer
---@return string
local function code(number)
  return (vim.fn.getline(number):gsub('//.*', ''):gsub('%s+$', ''))
end

---Where the innermost bracket around the start of a line stands, or nil at the top of the file.
---@param number integer
---@return integer? line, integer column, string bracket
local function opener(number)
  local closed = 0
  for above = number - 1, 1, -1 do
    local text = code(above)
    for column = #text, 1, -1 do
      local letter = text:sub(column, column)
      if CLOSES[letter] then
        closed = closed + 1
      elseif letter:match('[%(%[{]') then
        if closed == 0 then
          return above, column, letter
        end
        closed = closed - 1
      end
    end
    -- Nothing reaches over the head of a kernel or function.
    if text:match('^kernel%f[%W]') or text:match('^fn%f[%W]') then
      break
    end
  end
  return nil, 0, ''
end

---The line of code above, if its expression goes on.
---@param number integer
---@return integer?
local function unfinished(number)
  for above = number - 1, 1, -1 do
    local text = code(above)
    if text:match('%S') then
      return text:match('[%+%-%*/%%&|%^=<>!]$') and above or nil
    end
  end
end

---The indentation of the statement that a line is part of.
---@param number integer
---@return integer
local function of_statement(number)
  while true do
    local line, _, bracket = opener(number)
    if not line or bracket == '{' then
      line = unfinished(number)
    end
    if not line then
      return vim.fn.indent(number)
    end
    number = line
  end
end

---@param number integer
---@return integer
function M.at(number)
  local step = vim.fn.shiftwidth()
  local line, column, bracket = opener(number)
  if line and CLOSES[vim.trim(code(number)):sub(1, 1)] then
    return of_statement(line)
  elseif line and bracket ~= '{' then
    local text = code(line)
    return column < #text and vim.fn.strdisplaywidth(text:sub(1, column)) or of_statement(line) + 2 * step
  end
  return (line and of_statement(line) + step or 0) + (unfinished(number) and 2 * step or 0)
end

return M
