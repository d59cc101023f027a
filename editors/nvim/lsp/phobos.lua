-- Read by Neovim for `vim.lsp.enable('phobos')`. To change something, say it of the same name:
--
--   vim.lsp.config('phobos', { settings = { phobos = { target = 'sm_90' } } })
--
-- The settings are those of docs/editors.md.

---@type vim.lsp.Config
return {
  cmd = { 'phobos', 'lsp' },
  filetypes = { 'phobos' },
  root_markers = { { 'pyproject.toml', '.git' } },
  settings = {},
}
