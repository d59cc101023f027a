"""A VS Code without a screen, with the extension as it is packaged: runs a module of its tests and gives their results.

The extension is copied, built and packaged outside the checkout. What that needs and where it is looked for is said by
`need_*`, which skip a test where it is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.editors.neovim import ROOT, write_phobos

EXTENSION = ROOT / "editors" / "vscode"
BUILT = ("node_modules", "dist", "out")
SECONDS = 400


def need_node() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node 20")
    return node


def need_packages() -> str:
    """Those of the lock file."""
    node = need_node()
    if not (EXTENSION / "node_modules" / ".package-lock.json").exists():
        pytest.skip("needs `npm ci --ignore-scripts` in editors/vscode")
    return node


def need_engine() -> Path:
    version = (EXTENSION / "engine-version").read_text(encoding="utf-8").strip()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    installation = cache / "phobos" / f"code-server-{version}"
    terminals = "node_modules/code-server/lib/vscode/node_modules/node-pty/build/Release/pty.node"
    if not (installation / "complete").exists() or not (installation / terminals).exists():
        pytest.skip("needs editors/vscode/scripts/fetch-engine.sh to be run once")
    return installation


def need_browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("needs Chromium, as Debian's package `chromium`")


def tokens(texts: list[str]) -> list[list[tuple[int, int, int, list[str]]]]:
    """What the TextMate grammar makes of texts."""
    grammar = EXTENSION / "syntaxes" / "phobos.tmLanguage.json"
    script = EXTENSION / "scripts" / "tokens.mjs"
    ran = subprocess.run(
        [need_packages(), str(script), str(grammar)],
        input=json.dumps(texts),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=SECONDS,
    )
    return [[tuple(token) for token in text] for text in json.loads(ran.stdout)]


def staged(folder: Path) -> Path:
    """A copy of the sources in which things may be built."""
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns(*BUILT, "*.vsix"))
    (folder / "node_modules").symlink_to(EXTENSION / "node_modules")
    return folder


def packaged(folder: Path) -> Path:
    """The extension's package, made as its makers do."""
    node = need_packages()
    stage = staged(folder / "stage")
    package = folder / "phobos.vsix"
    tool = stage / "node_modules" / "@vscode" / "vsce" / "vsce"
    options = ["--no-dependencies", "--allow-missing-repository", "--out", str(package)]
    ran = subprocess.run(
        [node, str(tool), "package", *options], cwd=stage, capture_output=True, text=True, timeout=SECONDS
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return package


def unpacked(package: Path, folder: Path) -> Path:
    """The package's content as VS Code installs it, with the tests beside it."""
    with ZipFile(package) as archive:
        archive.extractall(folder)
    extension = folder / "extension"
    stage = package.parent / "stage"
    _run([need_node(), "esbuild.mjs", "--tests", str(extension / "test")], stage)
    return extension


def _run(command: list[str], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def write_command(path: Path, script: Path) -> None:
    """A `phobos` that is a script of Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_phobos(path)
    first = path.read_text(encoding="utf-8").splitlines()[0]
    path.write_text(f"{first}\n{script.read_text(encoding='utf-8')}", encoding="utf-8")


def run(
    extension: Path,
    tests: str,
    folder: Path,
    *,
    path: Path,
    variables: Mapping[str, str] | None = None,
    beside: Path | None = None,
) -> dict[str, str | None]:
    """Runs `tests` in a window on an empty folder; of each its name, and what was wrong if it failed.

    `path` is a folder that comes before the system's on the PATH, `beside` has another extension that is installed.
    """
    home, workspace, result = folder / "home", folder / "workspace", folder / "result.json"
    home.mkdir(parents=True)
    workspace.mkdir()
    if beside is not None:
        shutil.copytree(beside, home / "extensions" / beside.name)
    ran = _script(
        "run-tests.mjs",
        [home, workspace, extension, extension / "test" / f"{tests}.js"],
        path,
        {"PHOBOS_TEST_RESULT": str(result), **(variables or {})},
    )
    assert result.exists(), ran.stdout + ran.stderr
    found: dict[str, str | None] = json.loads(result.read_text(encoding="utf-8"))
    return found


def run_trust(extension: Path, folder: Path, source: Path, *, path: Path) -> list[str]:
    """Which command is run for a file in a folder that is not trusted, and when it is."""
    home, started = folder / "home", folder / "started"
    arguments = [home, source.parent, extension, source, started]
    ran = _script("trust.mjs", arguments, path, {"PHOBOS_STANDIN_STARTED": str(started)})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found: list[str] = json.loads(ran.stdout)
    return found


def _script(
    name: str, arguments: list[Path], path: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    node, installation, browser = need_packages(), need_engine(), need_browser()
    paths = [str(ROOT), str(ROOT / "tree-sitter-phobos" / "bindings" / "python")]
    environment = {
        **{name: os.environ[name] for name in ("LANG", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ},
        "PATH": os.pathsep.join((str(path), "/usr/bin", "/bin")),
        "PYTHONPATH": os.pathsep.join(paths),
        "CHROMIUM": browser,
        **variables,
    }
    command = [node, str(EXTENSION / "scripts" / name), str(installation), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
