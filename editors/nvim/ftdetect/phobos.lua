vim.filetype.add({ extension = { ph = 'phobos' } })
