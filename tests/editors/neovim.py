"""A real Neovim without a window, with the plugin and nothing else: runs a piece of Lua and gives what it returns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "editors" / "nvim"
CHECKOUT = "/path/to/phobos"  # as pages call it
INIT = f"""
vim.opt.runtimepath:prepend('{CHECKOUT}/editors/nvim')
vim.lsp.enable('phobos')
"""
SECONDS = 60

# What every piece of Lua may use.
_PRELUDE = """
local function wait(condition, what)
  if not vim.wait(20000, function() return condition() and true or false end, 20) then
    error('waited in vain for ' .. what, 0)
  end
  return condition()
end
local function client()
  return wait(function()
    local found = vim.lsp.get_clients({ bufnr = 0, name = 'phobos' })[1]
    return found and found.initialized and found
  end, 'the server')
end
local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end
-- Puts the cursor on the start of the nth time that a text stands in the buffer.
local function at(text, nth)
  vim.fn.cursor(1, 1)
  local flags = 'cW'
  for _ = 1, nth or 1 do
    assert(vim.fn.search('\\\\V' .. text, flags) > 0, text)
    flags = 'W'
  end
end
-- A request at the cursor, answered.
local function ask(method, more)
  local params = vim.lsp.util.make_position_params(0, client().offset_encoding)
  local answer, problem = client():request_sync(method, vim.tbl_extend('force', params, more or {}), 20000, 0)
  assert(answer, problem)
  assert(not answer.err, vim.inspect(answer.err))
  return answer.result
end
"""
_RUN = """
local fine, result = xpcall(function() return (function()
%s
end)() end, debug.traceback)
local file = assert(io.open(vim.env.PHOBOS_TEST_RESULT, 'w'))
file:write(vim.json.encode({ fine = fine, result = result == nil and vim.NIL or result }))
file:close()
vim.cmd('qa!')
"""


def command() -> str | None:
    """Of the environment that the tests run in, or of the PATH."""
    return shutil.which("nvim", path=str(Path(sys.executable).parent)) or shutil.which("nvim")


@dataclass(frozen=True)
class Neovim:
    """`folder` is a project of its own, below which everything that Neovim and Phobos write lies too."""

    executable: str
    folder: Path
    phobos: bool | None = True  # on the PATH or not; None leaves what is there

    def run(self, source: str | None, script: str, *, init: str = INIT) -> Any:
        """Opens a file with this text, if any, and runs the script in it. `init` is the user's init.lua."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        lua, answer = home / "script.lua", home / "answer.json"
        lua.write_text(_PRELUDE + _RUN % script, encoding="utf-8")
        answer.unlink(missing_ok=True)
        start = home / "init.lua"
        start.write_text(init.replace(CHECKOUT, str(ROOT)), encoding="utf-8")
        arguments = [self.executable, "--headless", "-i", "NONE", "-u", str(start)]
        if source is not None:
            path = self.folder / "k.ph"
            path.write_bytes(source.encode("utf-8"))
            arguments.append(str(path))
        arguments += ["-c", f"luafile {lua}"]
        ran = subprocess.run(
            arguments, env=self._environment(home), cwd=self.folder, capture_output=True, text=True, timeout=SECONDS
        )
        assert answer.exists(), f"Neovim ended with {ran.returncode}: {ran.stdout}{ran.stderr}"
        told = json.loads(answer.read_text(encoding="utf-8"))
        assert told["fine"], told["result"]
        assert "Error" not in ran.stderr, ran.stderr
        return told["result"]

    def _environment(self, home: Path) -> dict[str, str]:
        folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        paths = [str(ROOT), str(ROOT / "tree-sitter-phobos" / "bindings" / "python")]
        commands = self.folder / "bin"
        commands.mkdir(exist_ok=True)
        if self.phobos:
            write_phobos(commands / "phobos")
        return {
            **{name: os.environ[name] for name in ("LANG", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ},
            **folders,
            "HOME": str(home),
            "PATH": f"{commands}{os.pathsep}/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(paths),
            "PHOBOS_TEST_RESULT": str(home / "answer.json"),
        }


def write_phobos(path: Path) -> None:
    """The console script as pip writes it, with this checkout behind it."""
    path.write_text(
        f"#!{sys.executable}\nimport sys\nfrom phobos_core.cli.main import entry\nsys.exit(entry())\n", encoding="utf-8"
    )
    path.chmod(0o755)
