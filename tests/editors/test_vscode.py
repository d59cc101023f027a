"""The extension for VS Code: what its package has, and what its users see in a real VS Code without a screen."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, get_args
from zipfile import ZipFile

import pytest

from phobos_core import __version__
from phobos_core.cli.doctor import EDITORS
from phobos_core.language.targets import TARGETS
from phobos_ls.features.semantic_tokens import MODIFIERS, TYPES
from phobos_ls.settings import HINTS, BuildWhen, Settings, read_settings
from tests.editors import vscode
from tests.editors.neovim import ROOT, write_phobos
from tests.editors.vscode import EXTENSION

MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
CONTRIBUTED: dict[str, Any] = MANIFEST["contributes"]
PROPERTIES: dict[str, dict[str, Any]] = CONTRIBUTED["configuration"]["properties"]
STANDIN = Path(__file__).parent / "standin.py"
PYTHON = Path(__file__).parent / "ms-python.python-1.0.0"
# Settings of the extension, which the server is not told.
OWN = {"path", "trace.server"}


# What is written


def test_the_settings_are_those_of_the_server() -> None:
    names = {name.removeprefix("phobos.") for name in PROPERTIES}
    page = (ROOT / "docs" / "language-server.md").read_text(encoding="utf-8")
    settings = page.partition("\n## Settings\n")[2].partition("\n## ")[0]
    assert names - OWN == set(re.findall(r"^\| `phobos\.(\w+)` \|", settings, re.MULTILINE))


def test_the_defaults_are_those_of_the_server() -> None:
    given = {name: PROPERTIES[f"phobos.{name}"]["default"] for name in ("target", "dims", "config", "indexBits")}
    given |= {name: PROPERTIES[f"phobos.{name}"]["default"] for name in ("build", "hints", "ptxas")}
    assert read_settings(given) == (Settings(), ())


def test_the_values_are_those_of_the_server() -> None:
    for one in PROPERTIES["phobos.target"]["anyOf"]:
        targets = one.get("items", one)
        assert targets["enum"] == list(TARGETS)
        assert len(targets["enumDescriptions"]) == len(TARGETS)
    assert PROPERTIES["phobos.build"]["enum"] == list(get_args(BuildWhen))
    hints = PROPERTIES["phobos.hints"]
    assert list(hints["properties"]) == list(HINTS) == list(hints["default"])
    for name, switch in hints["properties"].items():
        assert switch["default"] == hints["default"][name]


def test_paths_are_those_that_trust_limits() -> None:
    """Each says which program is run."""
    limited = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert limited == ["phobos.path", "phobos.ptxas"]
    for name in limited:
        assert PROPERTIES[name]["scope"] == "machine-overridable"


def test_scopes_are_of_tokens_that_the_server_sends() -> None:
    (scopes,) = CONTRIBUTED["semanticTokenScopes"]
    for selector in scopes["scopes"]:
        kind, *modifiers = selector.split(".")
        assert kind in TYPES
        assert set(modifiers) <= set(MODIFIERS)
    assert {entry["id"] for entry in CONTRIBUTED["semanticTokenModifiers"]} == {"varying"} <= set(MODIFIERS)


def test_versions() -> None:
    assert MANIFEST["version"] == __version__
    least = ".".join(map(str, dict([EDITORS["code"]])["VS Code"]))
    assert MANIFEST["engines"]["vscode"] == f"^{least}.0"
    assert MANIFEST["devDependencies"]["@types/vscode"] == f"~{least}.0"
    assert f"## {__version__}\n" in (EXTENSION / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_that_of_the_project() -> None:
    assert (EXTENSION / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    assert len(lock["packages"]) > 10
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]


@pytest.mark.parametrize(
    "path", sorted(EXTENSION.glob("*.json")) + sorted(EXTENSION.glob("syntaxes/*.json")), ids=lambda p: p.name
)
def test_files_are_json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def test_what_is_named_is_there() -> None:
    named = [MANIFEST["icon"], *(entry["configuration"] for entry in CONTRIBUTED["languages"])]
    named += [entry["path"] for entry in CONTRIBUTED["grammars"]]
    (walkthrough,) = CONTRIBUTED["walkthroughs"]
    named += [step["media"]["markdown"] for step in walkthrough["steps"]]
    assert [name for name in named if not (EXTENSION / name).is_file()] == []
    commands = {entry["command"] for entry in CONTRIBUTED["commands"]}
    text = json.dumps(CONTRIBUTED["menus"]) + json.dumps(walkthrough)
    assert set(re.findall(r"\bphobos\.[a-z][A-Za-z]+\b", text)) <= commands | set(PROPERTIES) | {"phobos.context"}


# The problem matcher


SOURCE = "kernel k(A: tensor<f32>[64]) {\n  let unread = 1\n  A[ctx.lane] = y\n}\n"


@pytest.mark.parametrize("command", ["check", "build"])
def test_the_problem_matcher_reads_what_the_command_prints(command: str, tmp_path: Path) -> None:
    phobos = tmp_path / "phobos"
    write_phobos(phobos)
    source = tmp_path / "a b.ph"
    source.write_text(SOURCE, encoding="utf-8")
    options = ["--format", "concise", "-o", str(tmp_path)]
    ran = subprocess.run(
        [str(phobos), command, *options, str(source)],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tree-sitter-phobos' / 'bindings' / 'python'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    (matcher,) = CONTRIBUTED["problemMatchers"]
    pattern = matcher["pattern"]
    (found,) = filter(None, (re.search(pattern["regexp"], line) for line in ran.stdout.splitlines()))
    told = {name: found[pattern[name]] for name in ("file", "line", "column", "severity", "code", "message")}
    assert told == {
        "file": str(source),
        "line": "3",
        "column": "17",
        "severity": "error",
        "code": "unknown-name",
        "message": "`y` is not declared here",
    }


# The package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vscode.packaged(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def extension(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vscode.unpacked(package, tmp_path_factory.mktemp("installed"))


def test_the_types_are_right() -> None:
    compiler = EXTENSION / "node_modules" / "typescript" / "bin" / "tsc"
    ran = subprocess.run(
        [vscode.need_packages(), str(compiler)], cwd=EXTENSION, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout


def test_the_package_has_what_it_needs_and_no_more(package: Path) -> None:
    with ZipFile(package) as archive:
        names = {name.removeprefix("extension/") for name in archive.namelist() if name.startswith("extension/")}
        notices = archive.read("extension/dist/ThirdPartyNotices.txt").decode()
    assert "\nvscode-languageclient " in notices
    assert "Permission is hereby granted" in notices
    licence = {"LICENSE.txt", "readme.md", "changelog.md"}  # as the tool calls them
    syntaxes = {f"syntaxes/{path.name}" for path in EXTENSION.glob("syntaxes/*.json")}
    steps = {f"walkthrough/{path.name}" for path in EXTENSION.glob("walkthrough/*")}
    configurations = {"language-configuration.json", "assembly-configuration.json"}
    built = {"dist/extension.js", "dist/ThirdPartyNotices.txt"}
    assert names == {"package.json", "icon.png", *built, *configurations, *licence, *syntaxes, *steps}
    assert package.stat().st_size < 400_000


# In VS Code. Each is one window, in which a module of the extension's own tests runs.


def checked(results: dict[str, str | None]) -> None:
    wrong = "\n\n".join(f"{name}: {problem}" for name, problem in results.items() if problem is not None)
    assert not wrong, wrong
    assert results


def test_with_the_server(extension: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    write_phobos(tmp_path / "bin" / "phobos")
    checked(vscode.run(extension, "served", tmp_path, path=tmp_path / "bin"))


def test_with_answers_that_are_known(extension: Path, tmp_path: Path) -> None:
    vscode.write_command(tmp_path / "bin" / "phobos", STANDIN)
    checked(vscode.run(extension, "standin", tmp_path, path=tmp_path / "bin"))


def test_without_a_server(extension: Path, tmp_path: Path) -> None:
    command = tmp_path / "elsewhere" / "phobos"
    vscode.write_command(command, STANDIN)
    (tmp_path / "bin").mkdir()
    variables = {"PHOBOS_TEST_COMMAND": str(command)}
    checked(vscode.run(extension, "missing", tmp_path, path=tmp_path / "bin", variables=variables))


def test_where_there_are_several(extension: Path, tmp_path: Path) -> None:
    """The commands of several environments are stand-ins, the last is the real one."""
    command, real = tmp_path / "bin" / "phobos", tmp_path / "real" / "phobos"
    vscode.write_command(command, STANDIN)
    real.parent.mkdir()
    write_phobos(real)
    variables = {"PHOBOS_TEST_COMMAND": str(command), "PHOBOS_TEST_REAL": str(real)}
    checked(vscode.run(extension, "environments", tmp_path, path=command.parent, variables=variables, beside=PYTHON))


def test_a_folder_that_is_not_trusted_names_no_programs(extension: Path, tmp_path: Path) -> None:
    """Neither by its settings nor by an environment in it; the same folder does when it is trusted."""
    workspace, trusted = tmp_path / "workspace", tmp_path / "bin" / "phobos"
    vscode.write_command(trusted, STANDIN)
    for place in (workspace / "tool", workspace / ".venv" / "bin" / "phobos"):
        vscode.write_command(place, STANDIN)
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "settings.json").write_text(
        '{ "phobos.path": "${workspaceFolder}/tool" }', encoding="utf-8"
    )
    source = workspace / "k.ph"
    source.write_text(SOURCE, encoding="utf-8")
    restricted, free = vscode.run_trust(extension, tmp_path, source, path=trusted.parent)
    assert restricted == str(trusted)
    assert free == str(workspace / "tool")
