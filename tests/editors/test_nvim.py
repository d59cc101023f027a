"""Phobos in a real Neovim, with nothing but the plugin and the `phobos` command: what its users see."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tree_sitter

from phobos_core.language.builtins import BUILTINS
from phobos_core.language.codes import CODES
from phobos_core.language.types import CONVERSIONS
from phobos_core.syntax.convert import LANGUAGE
from phobos_core.syntax.formatter import formatted
from phobos_core.syntax.source import Parser
from phobos_core.toolchain import ptxas, sass
from tests.editors.neovim import INIT, PLUGIN, ROOT, Neovim, command

EXAMPLES = sorted((ROOT / "examples").glob("*.ph"))
RIGHT = """\
// Twice x.
@launch(64)
kernel double(X: tensor<f32>[64]) {
  let value = X[ctx.lane]
  X[ctx.lane] = exp(value) + value
}
"""
WRONG = RIGHT.replace("+ value", "+ y")
PARSER = "wait(function() return vim.treesitter.highlighter.active[vim.fn.bufnr()] end, 'the parser')\n"
NOTHING = "vim.opt.runtimepath:prepend('/path/to/phobos/editors/nvim')"


@pytest.fixture
def nvim(tmp_path: Path) -> Neovim:
    found = command()
    if found is None:
        pytest.skip("needs Neovim, which the extra `dev` brings on Linux")
    (tmp_path / ".git").mkdir()
    return Neovim(found, tmp_path)


# What is generated


def test_what_is_generated_is_current() -> None:
    expected = runpy.run_path(str(ROOT / "editors" / "generate_nvim.py"))["files"]()
    for path, text in expected.items():
        assert path.read_text(encoding="utf-8") == text, "run: python editors/generate_nvim.py"
    queries = {path for path in expected if path.suffix == ".scm"}
    assert queries == set((PLUGIN / "queries").rglob("*.*"))
    assert {path.name for path in queries} >= {"highlights.scm", "folds.scm", "injections.scm", "locals.scm"}


# The server


def test_diagnostics_come_and_go(nvim: Neovim) -> None:
    before, after = nvim.run(
        WRONG,
        """
        local function shown()
          return vim.tbl_map(function(d) return { d.lnum, d.col, d.end_col, d.code, d.source, d.message } end,
            vim.diagnostic.get(0, { severity = { min = vim.diagnostic.severity.WARN } }))
        end
        wait(function() return #shown() > 0 end, 'a diagnostic')
        local before = shown()
        vim.cmd('silent %s/+ y/+ value/')
        wait(function() return #shown() == 0 end, 'its end')
        return { before, lines() }
        """,
    )
    assert before == [[4, 29, 30, "unknown-name", "phobos", "`y` is not declared here"]]
    assert after == RIGHT.splitlines()


def test_the_project_is_the_root(nvim: Neovim) -> None:
    assert nvim.run(RIGHT, "return { client().root_dir, client().offset_encoding }") == [str(nvim.folder), "utf-8"]


def test_settings_reach_the_server(nvim: Neovim) -> None:
    nvim.run(
        CODES["needs-target"].wrong,
        """
        wait(function()
          return vim.iter(vim.diagnostic.get(0)):any(function(d) return d.code == 'needs-target' end)
        end, 'what the older target lacks')
        """,
        init=INIT + "vim.lsp.config('phobos', { settings = { phobos = { target = 'sm_61' } } })",
    )


def test_no_message_is_shown_at_the_start(nvim: Neovim) -> None:
    """A setting of the plugin that the server complained of would be one."""
    messages = nvim.run(RIGHT, "client(); ask('textDocument/hover'); vim.wait(200); return vim.fn.execute('messages')")
    assert not re.search(r"phobos|error", messages.replace("k.ph", ""), re.IGNORECASE)


def test_the_hover_window_shows_what_a_builtin_does(nvim: Neovim) -> None:
    text = nvim.run(
        RIGHT,
        """
        client()
        at('exp(')
        vim.lsp.buf.hover()
        local function float()
          return vim.iter(vim.api.nvim_list_wins()):find(function(window)
            return vim.api.nvim_win_get_config(window).relative ~= ''
          end)
        end
        local window = wait(float, 'the window')
        return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\\n')
        """,
    )
    assert BUILTINS["exp"].summary in text
    assert BUILTINS["exp"].example.rstrip() in text


def test_completion(nvim: Neovim) -> None:
    words = nvim.run(
        RIGHT.replace("exp(value)", "rsq"),
        """
        client()
        at('rsq')
        vim.cmd('startinsert')
        vim.fn.cursor(5, vim.fn.col('.') + 3)
        local answer = ask('textDocument/completion')
        return vim.tbl_map(function(item) return item.label end, answer.items or answer)
        """,
    )
    assert "rsqrt" in words


def test_rename_changes_every_use(nvim: Neovim) -> None:
    after = nvim.run(
        RIGHT,
        """
        client()
        at('value', 2)
        vim.lsp.buf.rename('x')
        wait(function() return lines()[4]:find('let x') end, 'the new name')
        return lines()
        """,
    )
    assert after == RIGHT.replace("value", "x").splitlines()


def test_a_rename_that_cannot_be_says_why(nvim: Neovim) -> None:
    said, after = nvim.run(
        RIGHT,
        """
        local said
        vim.notify = function(text) said = text end
        client()
        at('value')
        vim.lsp.buf.rename('kernel')
        wait(function() return said end, 'the reason')
        return { said, lines() }
        """,
    )
    assert "`kernel`" in said
    assert after == RIGHT.splitlines()


def test_formatting_is_that_of_the_command(nvim: Neovim) -> None:
    ugly = "kernel  k( A:tensor<f32>[64] ){\nA[ ctx.lane ]=1.0 // é\n}\n"
    after = nvim.run(ugly, "client(); vim.lsp.buf.format(); return lines()")
    assert after == formatted(ugly.encode()).decode().splitlines()
    assert after != ugly.splitlines()


def test_going_to_the_definition(nvim: Neovim) -> None:
    where = nvim.run(
        RIGHT,
        """
        client()
        at('value', 3)
        vim.lsp.buf.definition()
        wait(function() return vim.fn.line('.') == 4 end, 'the jump')
        return { vim.fn.line('.'), vim.fn.col('.') }
        """,
    )
    assert where == [4, 7]


def test_semantic_tokens(nvim: Neovim) -> None:
    """A name that differs between threads is told from one that does not."""
    varying, uniform = nvim.run(
        RIGHT.replace("  let value", "  let same = ctx.block.x\n  let value"),
        """
        local function of(text)
          at(text)
          return vim.tbl_map(function(token) return { token.type, vim.tbl_keys(token.modifiers) } end,
            vim.lsp.semantic_tokens.get_at_pos() or {})
        end
        client()
        wait(function() return #of('value') > 0 end, 'tokens')
        return { of('value'), of('same') }
        """,
    )
    ((kind, modifiers),) = varying
    assert kind == "variable"
    assert "varying" in modifiers
    ((kind, modifiers),) = uniform
    assert kind == "variable"
    assert "varying" not in modifiers


# What a build tells

KERNEL = """\
kernel scale(X: tensor<f32>[64], Y: tensor<f32>[64]) {
  let i = ctx.thread
  if i < 64 {
    let doubled = X[i] * 2.0
    Y[i] = doubled
  }
}
"""
# The split, once it shows code, and what is lit in a buffer, as lines from 1.
SPLIT = """
local source = vim.api.nvim_get_current_win()
local function split()
  local other = vim.iter(vim.api.nvim_list_wins()):find(function(window) return window ~= source end)
  return other and vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(other)) > 1 and other
end
local function text(window)
  return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
end
local function lit(window)
  local namespace = vim.api.nvim_get_namespaces()['phobos.code']
  local marks = vim.api.nvim_buf_get_extmarks(vim.api.nvim_win_get_buf(window), namespace, 0, -1, {})
  return vim.tbl_map(function(mark) return mark[2] + 1 end, marks)
end
local function moved() vim.api.nvim_exec_autocmds('CursorMoved', { buffer = vim.fn.bufnr() }) end
client()
"""


def test_inlay_hints_show_what_a_kernel_costs(nvim: Neovim) -> None:
    screen = nvim.run(
        KERNEL,
        """
        client()
        vim.o.columns = 160
        vim.lsp.inlay_hint.enable(true)
        wait(function() return #vim.lsp.inlay_hint.get() > 0 end, 'the hint')
        vim.cmd('redraw!')
        local cells = {}
        for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(1, column) end
        return table.concat(cells)
        """,
    )
    assert "scale(X: tensor<f32>[64], Y: tensor<f32>[64]) {" in screen
    assert re.search(r"shared 0 B · occupancy .*%", screen)


def test_the_ptx_beside_the_source(nvim: Neovim) -> None:
    code, stores, source_lit, place, back, bar, focus = nvim.run(
        KERNEL,
        SPLIT
        + """
        at('Y[i]')
        vim.cmd('PhobosPtx')
        local window = wait(split, 'the split')
        local focus = vim.api.nvim_get_current_win() == source
        moved()
        local stores, from = lit(window), lit(source)
        local rows = text(window)
        -- From the code back to the source.
        vim.api.nvim_set_current_win(window)
        for number, row in ipairs(rows) do
          if row:find('mul.') or row:find('add.*f32') then vim.fn.cursor(number, 1) end
        end
        moved()
        local place = vim.api.nvim_win_get_cursor(source)[1]
        return { rows, stores, from, place, lit(window), vim.wo[window].winbar, focus }
        """,
    )
    assert any(".entry scale(" in row for row in code)
    assert source_lit == [5]
    assert [row for row in stores if "st.global" in code[row - 1]]
    assert not [row for row in stores if "ld.global" in code[row - 1]]
    assert place == 4
    assert [row for row in back if "ld.global" in code[row - 1]]
    assert bar == "scale sm_80"
    assert focus is True


def test_the_ptx_follows_the_text(nvim: Neovim) -> None:
    bars, rows, windows, left = nvim.run(
        KERNEL,
        SPLIT
        + """
        vim.cmd('PhobosPtx')
        local window = wait(split, 'the split')
        local bars = {}
        vim.api.nvim_buf_set_lines(0, 3, 4, false, { '    let doubled = X[i] * (' })
        vim.api.nvim_exec_autocmds('TextChanged', { buffer = vim.fn.bufnr() })
        wait(function() return vim.wo[window].winbar ~= 'scale sm_80' end, 'the word that it is stale')
        table.insert(bars, vim.wo[window].winbar)
        vim.api.nvim_buf_set_lines(0, 3, 4, false, { '    let doubled = sqrt(X[i])' })
        vim.api.nvim_exec_autocmds('TextChanged', { buffer = vim.fn.bufnr() })
        wait(function() return table.concat(text(window)):find('sqrt') end, 'the new code')
        table.insert(bars, vim.wo[window].winbar)
        vim.cmd('PhobosPtx')
        vim.wait(100)
        local rows, windows = text(window), #vim.api.nvim_list_wins()
        vim.api.nvim_win_close(window, true)
        wait(function() return #lit(source) == 0 end, 'the lights to go out')
        return { bars, rows, windows, #vim.api.nvim_list_wins() }
        """,
    )
    assert bars == ["scale sm_80 - of the text before it was changed", "scale sm_80"]
    assert any("sqrt" in row for row in rows)
    assert (windows, left) == (2, 1)


def test_why_there_is_no_ptx(nvim: Neovim) -> None:
    said, windows = nvim.run(
        WRONG,
        """
        local said
        vim.notify = function(text) said = text end
        client()
        vim.cmd('PhobosPtx')
        wait(function() return said end, 'the reason')
        return { said, #vim.api.nvim_list_wins() }
        """,
    )
    assert "`double` has errors" in said
    assert windows == 1


@pytest.mark.skipif(ptxas.for_target("sm_80") is None or sass.nvdisasm() is None, reason="needs ptxas and nvdisasm")
def test_the_machine_code_beside_the_source(nvim: Neovim) -> None:
    code, lines = nvim.run(
        KERNEL,
        SPLIT
        + """
        at('Y[i]')
        vim.lsp.commands['phobos.showSass']({ arguments = { vim.uri_from_bufnr(0), 'scale' } })
        local window = wait(split, 'the split')
        return { text(window), lit(window) }
        """,
    )
    assert [row for row in lines if "STG" in code[row - 1]]


# Without the server


@pytest.mark.parametrize("init", [INIT, NOTHING], ids=["served", "alone"])
def test_the_file_type(nvim: Neovim, init: str) -> None:
    found = nvim.run(RIGHT, "return { vim.bo.filetype, vim.bo.commentstring, vim.bo.shiftwidth }", init=init)
    assert found == ["phobos", "// %s", 2]


def test_comments_are_toggled(nvim: Neovim) -> None:
    after = nvim.run(RIGHT, "at('let'); vim.cmd('normal gcc'); return lines()[4]", init=NOTHING)
    assert after == "  // let value = X[ctx.lane]"


def test_colours_and_folds_of_the_syntax_tree(nvim: Neovim) -> None:
    captures, levels, closed = nvim.run(
        RIGHT,
        PARSER
        + """
        at('exp')
        vim.treesitter.get_parser():parse()
        return { vim.treesitter.get_captures_at_cursor(0),
          vim.tbl_map(vim.fn.foldlevel, { 1, 4, 6 }), vim.fn.foldclosed(4) }
        """,
        init=NOTHING,
    )
    assert captures[-1] == "function.builtin"
    assert levels == [0, 1, 1]
    assert closed == -1


def test_the_next_file_is_coloured_at_once(nvim: Neovim) -> None:
    (nvim.folder / "next.ph").write_text(RIGHT, encoding="utf-8")
    first, second, active, fold = nvim.run(
        RIGHT,
        PARSER
        + """
        local first = require('phobos.parser').state.path
        vim.cmd('edit next.ph')
        return { first, require('phobos.parser').state.path,
          vim.treesitter.highlighter.active[vim.fn.bufnr()] ~= nil, vim.wo.foldmethod }
        """,
        init=NOTHING,
    )
    assert Path(first).is_file()
    assert (second, active, fold) == (first, True, "expr")


def test_own_folds_are_left_alone(nvim: Neovim) -> None:
    init = f"{NOTHING}\nvim.o.foldmethod = 'indent'"
    assert nvim.run(RIGHT, PARSER + "return vim.wo.foldmethod", init=init) == "indent"


def test_another_file_type_takes_everything_back(nvim: Neovim) -> None:
    left = nvim.run(
        RIGHT,
        PARSER
        + """
        vim.cmd('setfiletype text | set filetype=text')
        return { vim.bo.commentstring, vim.bo.indentexpr, vim.wo.foldmethod,
          vim.treesitter.highlighter.active[vim.fn.bufnr()] ~= nil }
        """,
        init=NOTHING,
    )
    assert left == ["", "", "manual", False]


def test_a_parser_on_the_runtimepath_comes_first(nvim: Neovim) -> None:
    """Built by the README's command."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    (build,) = (line.removeprefix("$ ") for line in _blocks("README.md", "console") if " -shared " in line)
    home = nvim.folder / "user"
    home.mkdir()
    subprocess.run(build, shell=True, cwd=ROOT, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True)
    site = home / ".local" / "share" / "nvim" / "site"
    path = replace(nvim, phobos=False).run(
        RIGHT,
        PARSER + "return require('phobos.parser').state.path",
        init=f"{NOTHING}\nvim.opt.runtimepath:append('{site}')",
    )
    assert path == str(site / "parser" / "phobos.so")


def test_the_parser_of_a_command_at_a_long_path(nvim: Neovim) -> None:
    """pip writes such a script's interpreter on its second line."""
    nvim.run(None, "return 1")  # writes the script
    script = nvim.folder / "bin" / "phobos"
    first, rest = script.read_text(encoding="utf-8").split("\n", 1)
    script.write_text(f"#!/bin/sh\n'''exec' {first.removeprefix('#!')} \"$0\" \"$@\"\n' '''\n{rest}", encoding="utf-8")
    assert replace(nvim, phobos=None).run(RIGHT, PARSER + "return 1", init=NOTHING) == 1


def test_nothing_in_the_folder_is_run_to_find_the_parser(nvim: Neovim) -> None:
    trap = nvim.folder / "tree_sitter_phobos"
    trap.mkdir()
    (trap / "__init__.py").write_text(f"open({str(nvim.folder / 'sprung')!r}, 'w')\n", encoding="utf-8")
    nvim.run(RIGHT, PARSER, init=NOTHING)
    assert not (nvim.folder / "sprung").exists()


def test_indenting_is_what_the_formatter_does(nvim: Neovim) -> None:
    texts = [formatted(path.read_bytes()).decode() for path in EXAMPLES]
    texts.append(formatted(LONG.encode()).decode())
    assert any(len(line) - len(line.lstrip()) > 6 for line in texts[-1].splitlines())
    flat = nvim.folder / "flat.json"
    flat.write_text(json.dumps([[line.lstrip() for line in text.splitlines()] for text in texts]), encoding="utf-8")
    indented = nvim.run(
        RIGHT,
        f"""
        local texts = vim.json.decode(io.open('{flat}'):read('*a'))
        return vim.tbl_map(function(text)
          vim.api.nvim_buf_set_lines(0, 0, -1, false, text)
          vim.cmd('silent normal! gg=G')
          return lines()
        end, texts)
        """,
        init=NOTHING,
    )
    for text, found in zip(texts, indented, strict=True):
        assert "\n".join(found) == text.rstrip("\n")


LONG = """
kernel k(A: tensor<f32>[M, N], a_long_name_of_a_parameter: f32, another_long_name_of_a_parameter: f32, third: i32) {
  // A comment ending in {
  let value = a_long_name_of_a_parameter * another_long_name_of_a_parameter + max(a_long_name_of_a_parameter * 2.0, a_long_name_of_a_parameter * a_long_name_of_a_parameter + another_long_name_of_a_parameter)
  if third < 4 {
    A[0, 0] = where(a_long_name_of_a_parameter < another_long_name_of_a_parameter, a_long_name_of_a_parameter, value)
  } else if max(a_long_name_of_a_parameter, another_long_name_of_a_parameter + a_long_name_of_a_parameter * a_long_name_of_a_parameter - another_long_name_of_a_parameter) < 1.0 {
    A[0, 2] = 1.0
  } else {
    while third < 4 { A[0, 1] = value }
  }
}
fn twice(x) = x + x
"""  # noqa: E501


def test_typing_indents(nvim: Neovim) -> None:
    typed = "kernel k(n: i32) {\nif n < 1 {\nreturn\n}\n}"
    after = nvim.run(
        "",
        f"vim.api.nvim_feedkeys(vim.keycode('i' .. {json.dumps(typed)} .. '<Esc>'), 'x', false); return lines()",
        init=NOTHING,
    )
    assert after == ["kernel k(n: i32) {", "  if n < 1 {", "    return", "  }", "}"]


# Which of the words' groups a capture of the tree may have. `Group`, what stands in a collective's brackets, has no
# colour of its own.
GROUPS = {
    "keyword": {"Statement"},
    "keyword.function": {"Statement"},
    "keyword.return": {"Statement"},
    "keyword.conditional": {"Conditional"},
    "keyword.repeat": {"Repeat"},
    "keyword.modifier": {"GroupWord"},
    "function": {"Function"},
    "function.builtin": {"Builtin"},
    "function.call": {""},
    "type.builtin": {"Type"},
    "variable": {"", "Group"},
    "variable.parameter": {"", "Group"},
    "variable.builtin": {"Reserved"},
    "variable.member": {"Field"},
    "attribute": {"Attribute"},
    "number": {"Number"},
    "number.float": {"Float"},
    "boolean": {"Boolean"},
    "comment": {"Comment"},
    "constant": {""},
    "property": {""},
}
WORDS = """
// A comment, 1.0 and kernel.
@autotune(T in [1, 2]) @pipeline
kernel words(A: tensor<f32>[M, T], n: i32) {
  let s = sum<over ctx.lane, width 8>(n) + max(n, 2) + shfl<xor 1>(n)
  var t: tile<f32>[2, 2] = 1.5e-3
  let range = min < 3 && true
  for<unroll 4> i in range(0, n) { while s < 1 { break } }
  for up in range(0, 3) { continue }
  if f32(n) < width { return } else { barrier() }
}
fn twice(x) = x + from
fn four(x) = twice(x)
"""


def test_without_the_parser_the_words_have_the_same_colours(nvim: Neovim) -> None:
    """The grammar's queries say what each token is; Vim's patterns have to find the same."""
    text = WORDS + "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    tokens = _coloured(text)
    places = nvim.folder / "places.json"
    places.write_text(json.dumps([[row + 1, column + 1] for row, column, _, _ in tokens]), encoding="utf-8")
    found = replace(nvim, phobos=False).run(
        text,
        f"""
        local places = vim.json.decode(io.open('{places}'):read('*a'))
        assert(vim.bo.syntax == 'phobos')
        return vim.tbl_map(function(place)
          return vim.fn.synIDattr(vim.fn.synID(place[1], place[2], 1), 'name')
        end, places)
        """,
        init=NOTHING,
    )
    wrong, seen = set(), set()
    for (row, _, word, capture), group in zip(tokens, found, strict=True):
        seen.add(capture)
        allowed = GROUPS[capture] | ({"Type"} if word in CONVERSIONS else set())
        if group.removeprefix("phobos") not in allowed:
            wrong.add((row, word, capture, group))
    assert not wrong
    assert seen == set(GROUPS)


def _coloured(text: str) -> list[tuple[int, int, str, str]]:
    """Row, byte column, text and capture of each word, number and comment."""
    source = text.encode()
    query = tree_sitter.Query(LANGUAGE, (ROOT / "tree-sitter-phobos" / "queries" / "highlights.scm").read_text())
    last: dict[tuple[int, int, str], str] = {}
    matches = tree_sitter.QueryCursor(query).matches(Parser().parse(source).tree.root_node)
    for _, captures in sorted(matches, key=lambda match: match[0]):
        for name, nodes in captures.items():
            for node in nodes:
                word = source[node.start_byte : node.end_byte].decode()
                if name != "spell" and (word[0].isalnum() or word.startswith("//") or word == "@"):
                    last[(node.start_point.row, node.start_point.column, word)] = name
    return [(row, column, word, name) for (row, column, word), name in sorted(last.items())]


# The health check


def test_health_when_all_is_well(nvim: Neovim) -> None:
    report = nvim.run(RIGHT, "client()\n" + PARSER + "vim.cmd('checkhealth phobos'); return lines()")
    text = "\n".join(report)
    assert not re.search("WARNING|ERROR", text)
    assert re.search(r"OK Neovim 0\.\d+", text)
    assert re.search(r"OK phobos \d", text)
    assert f"OK the language server runs for {nvim.folder}" in text
    assert "OK tree-sitter parser: /" in text
    assert "ptxas" in text


def test_health_without_phobos(nvim: Neovim) -> None:
    report = replace(nvim, phobos=False).run(
        RIGHT, "vim.wait(100); vim.cmd('checkhealth phobos'); return lines()", init=NOTHING
    )
    text = "\n".join(report)
    assert "ERROR no `phobos` on the PATH" in text
    assert "WARNING no language server runs" in text
    assert "no tree-sitter parser, so `syntax/phobos.vim` colours" in text


# The pages


def _blocks(page: str, kind: str) -> list[str]:
    text = (PLUGIN / page).read_text(encoding="utf-8")
    return [block.rstrip() for block in re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def test_the_set_up_of_the_readme(nvim: Neovim) -> None:
    init, *more = _blocks("README.md", "lua")
    assert nvim.run(RIGHT, "return client().name", init=init) == "phobos"
    for block in more:  # each goes below
        found: Any = nvim.run(RIGHT, "client(); return vim.fn.execute('messages')", init=f"{init}\n{block}")
        assert "rror" not in found
