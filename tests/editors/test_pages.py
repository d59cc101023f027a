"""The set-ups of `docs/editors.md`: their files are well-formed and name commands, files and settings that exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tree_sitter

from bench.measure import environment
from phobos_core.cli.doctor import EDITORS
from phobos_core.syntax.convert import LANGUAGE
from phobos_ls import settings
from phobos_ls.settings import HINTS, Settings, read_settings
from tests.editors.neovim import CHECKOUT, ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
GRAMMAR = ROOT / "tree-sitter-phobos"


def section(title: str) -> str:
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def blocks(title: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)


def tables(title: str) -> list[dict[str, Any]]:
    return [tomllib.loads(text) for text in blocks(title, "toml")]


def starts_a_server(command: list[str]) -> None:
    """It is `phobos` with arguments that it takes, and answers the first message."""
    assert command[0] == "phobos"
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
    )
    ran = subprocess.run(
        [sys.executable, "-m", "phobos_core", *command[1:]],
        input=b"Content-Length: %d\r\n\r\n%s" % (len(body), body),
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert b'"capabilities"' in ran.stdout, ran.stderr


def placed(path: str) -> Path:
    """A file of the checkout, by the name that the page gives it."""
    assert path.startswith(f"{CHECKOUT}/")
    return ROOT / path.removeprefix(f"{CHECKOUT}/")


def test_the_settings_are_those_that_are_read() -> None:
    (example,) = blocks("Settings", "json")
    given = json.loads(example)["phobos"]
    found, problems = read_settings(given)
    assert problems == ()
    assert found.targets == ("sm_80", "sm_90")
    assert found.options.bindings == {"M": 4096}
    assert found.build == "onSave"
    read = set(re.findall(r'given\.get\("(\w+)"\)', Path(settings.__file__).read_text(encoding="utf-8")))
    assert set(given) == read
    assert set(re.findall(r"^\| `(\w+)` \|", section("Settings"), re.MULTILINE)) == read


def test_the_defaults_of_the_settings() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", section("Settings"), re.MULTILINE))
    defaults = Settings()
    assert rows["target"] == f"`{defaults.options.target}`"
    assert rows["indexBits"] == f"{defaults.options.index_bits}"
    assert rows["build"] == f'`"{defaults.build}"`'
    assert rows["config"] == f'`"{defaults.options.config}"`'
    assert rows["hints"] == "all but the last three"
    assert frozenset(HINTS[:-3]) == defaults.hints
    (row,) = re.findall(r"^\| `hints` \|.*$", section("Settings"), re.MULTILINE)
    assert [word for word in re.findall(r"`(\w+)`", row) if word in HINTS] == list(HINTS)


def test_the_versions_are_those_that_doctor_asks_for() -> None:
    told = dict(re.findall(r"^\| \[([^\]]+)\]\(#[\w-]+\) ([\d.]+) \|", PAGE, re.MULTILINE))
    least = dict(EDITORS.values())
    assert set(told) == {"Neovim", "VS Code", "Emacs", "Helix"}
    for name, version in told.items():
        assert tuple(map(int, f"{version}.0".split(".")[:2])) == least[name]


def test_neovim() -> None:
    """What it starts with is run by the tests of the plugin, which has the same lines."""
    readme = (ROOT / "editors" / "nvim" / "README.md").read_text(encoding="utf-8")
    (init,) = blocks("Neovim", "lua")
    assert init in readme


def test_vscode() -> None:
    """What the commands do is run by the tests of the extension."""
    (console,) = blocks("VS Code", "console")
    enter, fetch, package, install = (shlex.split(line.removeprefix("$ ")) for line in console.splitlines())
    folder = placed(enter[1])
    manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert fetch[:2] == ["npm", "ci"]
    assert (folder / "package-lock.json").exists()
    assert package[:2] == ["npm", "run"]
    assert package[2] in manifest["scripts"]
    assert install[-1] == f"{manifest['name']}-{manifest['version']}.vsix"


@pytest.mark.parametrize("path", re.findall(r"!\[[^\]]*\]\(([^)]*)\)", PAGE))
def test_pictures(path: str) -> None:
    assert (ROOT / "docs" / path).read_bytes().startswith(b"\x89PNG")


def test_helix() -> None:
    languages, editor = tables("Helix")
    assert editor == {"editor": {"lsp": {"display-inlay-hints": True}}}
    (language,), (grammar,) = languages["language"], languages["grammar"]
    (server,) = language["language-servers"]
    config = languages["language-server"][server]
    starts_a_server([config["command"], *config["args"]])
    assert read_settings(config["config"]["phobos"])[1] == ()
    assert language["file-types"] == ["ph"]
    assert grammar["name"] == language["name"] == LANGUAGE.name
    assert (placed(grammar["source"]["path"]) / "src" / "parser.c").exists()


def test_the_commands_for_helix_find_their_files(tmp_path: Path) -> None:
    (console,) = blocks("Helix", "console")
    commands = [line.removeprefix("$ ") for line in console.splitlines()]
    for command in commands:
        if shlex.split(command)[0] != "hx":
            command = command.replace(CHECKOUT, str(ROOT))
            subprocess.run(command, shell=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
    (copied,) = tmp_path.rglob("*.scm")
    assert copied.relative_to(tmp_path) == Path(".config/helix/runtime/queries/phobos/highlights.scm")
    tree_sitter.Query(LANGUAGE, copied.read_text(encoding="utf-8"))


def test_zed() -> None:
    extension, language, package = tables("Zed")
    grammar = extension["grammars"][language["grammar"]]
    assert language["grammar"] == LANGUAGE.name
    assert (placed(f"{grammar['repository'].removeprefix('file://')}/{grammar['path']}") / "src" / "parser.c").exists()
    assert language["path_suffixes"] == ["ph"]
    (server,) = extension["language_servers"].values()
    assert server["languages"] == [language["name"]]
    assert package["lib"]["crate-type"] == ["cdylib"]
    (source,) = blocks("Zed", "rust")
    (name,) = re.findall(r'which\("(\w+)"\)', source)
    (arguments,) = re.findall(r"args: vec!\[([^\]]*)\]", source)
    starts_a_server([name, *re.findall(r'"(\w+)"', arguments)])


def forms(text: str) -> list[Any]:
    """Emacs Lisp as nested lists of words and strings."""
    tokens = re.findall(r'"(?:\\.|[^"\\])*"|\?\\?.|#?\'|[()]|[^\s()"\']+', text)
    stack: list[list[Any]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        elif token not in ("'", "#'"):
            stack[-1].append(token)
    (top,) = stack
    return top


def test_emacs() -> None:
    lisp, configuration = blocks("Emacs", "elisp")
    defined = {form[0]: form for form in forms(lisp)}
    mode = defined["define-derived-mode"][1]
    (_, programs, entry) = defined["with-eval-after-load"][2]
    assert programs == "eglot-server-programs"
    assert entry[:2] == [mode, "."]
    starts_a_server([json.loads(word) for word in entry[2]])
    assert defined["add-to-list"][2] == [r'"\\.ph\\' + "'" + '"', ".", mode]
    assert defined["add-hook"][1] == f"{mode}-hook"
    # eglot takes the language's name from the mode's.
    assert mode.removesuffix("-mode") == LANGUAGE.name
    ((_, variable, (section_name, (key, value))),) = forms(configuration)
    assert variable == "eglot-workspace-configuration"
    assert section_name == ":phobos"
    assert read_settings({key.removeprefix(":"): json.loads(value)})[1] == ()


@pytest.mark.parametrize("title", re.findall(r"\]\(#([\w-]+)\)", PAGE))
def test_links_within_the_page(title: str) -> None:
    assert title in [heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)]
