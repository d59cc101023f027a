"""How long an editor waits for the language server, beside those of other languages with the same client in one run.

A keystroke makes a mistake in the middle of a file, and the next one takes it back; what is timed is the way from the
edit to the diagnostics that say so. Servers take turns, so that a busy machine slows all of them alike; what one thread
of ours does alone is judged by its processor time. Peers are taken from the environment of the Python that
`PHOBOS_PEERS_PYTHON` names, or from the path.

Run: python -m bench.language_server [LINES ...]
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.check_speed import examples, long_file
from bench.language_client import Message, Process
from bench.measure import EXAMPLES, Times, environment, heading, note, row

PEERS_PYTHON = "PHOBOS_PEERS_PYTHON"
# What is typed, in the place of a 0: a name that nothing declares.
MISTAKE = "undeclared"
EDITED = "bench_edit"
ROUNDS = 30
PAUSE = 0.02
BURST = 100
CLIENT = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        "synchronization": {},
        "hover": {"contentFormat": ["markdown"]},
        "completion": {},
    },
    "workspace": {"configuration": True},
    "general": {"positionEncodings": ["utf-16"]},
}


@dataclass(frozen=True)
class Targets:
    """Milliseconds; the median of edits."""

    edit: float
    first: float


TARGETS = {1000: Targets(8, 100), 10_000: Targets(60, 300)}
START_MS, REQUEST_MS, BURST_MS, MEGABYTES = 500.0, 20.0, 500.0, 120.0


@dataclass(frozen=True)
class Subject:
    """A server, and the file of about so many lines that it is given, with `.. bench_edit .. 0 ..` in its middle."""

    name: str
    command: tuple[str, ...]
    suffix: str
    language: str
    source: Callable[[int], str]


def phobos_source(lines: int) -> str:
    text = long_file(examples(), lines)
    place = text.index("{\n", len(text) // 2) + 2
    return f"{text[:place]}  let {EDITED} = 0\n{text[place:]}"


def _repeated(body: str, edited: str, lines: int) -> str:
    count = lines // (body.count("\n") + 1)
    parts = [body.replace("NUMBER", str(number)) for number in range(count)]
    parts.insert(count // 2, edited)
    return "\n".join(parts)


PYTHON = '''\
def total_NUMBER(values: list[float], weights: list[float], bias: float) -> float:
    """A weighted sum, clipped."""
    total = bias
    for index, value in enumerate(values):
        weight = weights[index] if index < len(weights) else 1.0
        if value > 0.0:
            total += value * weight
        else:
            total -= value * weight / 2.0
    return min(max(total, -1.0), float(len(values)))
'''
CPLUSPLUS = """\
float total_NUMBER(const float *values, const float *weights, int count, float bias) {
    float total = bias;
    for (int index = 0; index < count; ++index) {
        float weight = weights ? weights[index] : 1.0f;
        if (values[index] > 0.0f)
            total += values[index] * weight;
        else
            total -= values[index] * weight / 2.0f;
    }
    return total < -1.0f ? -1.0f : total;
}
"""


def python_source(lines: int) -> str:
    return _repeated(PYTHON, f"def edited() -> int:\n    {EDITED} = 0\n    return {EDITED}\n", lines)


def cplusplus_source(lines: int) -> str:
    return _repeated(CPLUSPLUS, f"int edited() {{\n    int {EDITED} = 0;\n    return {EDITED};\n}}\n", lines)


def subjects() -> Iterator[Subject]:
    yield Subject("phobos", (sys.executable, "-m", "phobos_ls.main"), ".ph", "phobos", phobos_source)
    peers = (
        ("ty", ("ty", "server"), ".py", "python", python_source),
        ("pyright", ("pyright-langserver", "--stdio"), ".py", "python", python_source),
        ("ruff", ("ruff", "server"), ".py", "python", python_source),
        ("clangd", ("clangd", "--log=error"), ".cpp", "cpp", cplusplus_source),
    )
    for name, command, suffix, language, source in peers:
        found = _which(command[0])
        if found is None:
            note(f"{name} is not installed, and not compared with")
        else:
            yield Subject(name, (found, *command[1:]), suffix, language, source)


def _which(name: str) -> str | None:
    python = os.environ.get(PEERS_PYTHON)
    beside = shutil.which(name, path=str(Path(python).parent)) if python else None
    return beside or shutil.which(name)


@dataclass
class Running:
    """A server with the file open. Times in milliseconds."""

    subject: Subject
    server: Process
    uri: str
    first: float = 0.0
    first_cpu: float = 0.0
    version: int = 1
    place: tuple[int, int] = (0, 0)
    wrong: bool = False
    edits: list[float] = field(default_factory=list)

    def open(self, lines: int) -> None:
        text = self.subject.source(lines)
        before, _, after = text.partition(EDITED)
        column = len(before) - before.rfind("\n") - 1 + len(EDITED) + after.index("0")
        self.place = (before.count("\n"), column)
        item = {"uri": self.uri, "languageId": self.subject.language, "version": 1, "text": text}
        begun, cpu = time.perf_counter(), self.server.cpu_ms()
        self.server.client.notify("textDocument/didOpen", {"textDocument": item})
        self.first = (self._told(wrong=False) - begun) * 1000
        self.first_cpu = self.server.cpu_ms() - cpu

    def keystroke(self) -> None:
        """Makes the mistake, or takes it back."""
        self.edits.append(self.type(1))

    def type(self, times: int) -> float:
        """So many edits at once; milliseconds until the diagnostics of the last."""
        begun = time.perf_counter()
        for _ in range(times):
            self._send()
        return (self._told(self.wrong) - begun) * 1000

    def _send(self) -> None:
        line, column = self.place
        length = len(MISTAKE) if self.wrong else 1
        self.wrong = not self.wrong
        self.version += 1
        place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + length}}
        change = {"range": place, "text": MISTAKE if self.wrong else "0"}
        document = {"uri": self.uri, "version": self.version}
        self.server.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def _told(self, wrong: bool) -> float:
        """When the server says of this version that the mistake is there, or that it is not."""

        def told(message: Message) -> bool:
            if message.get("method") != "textDocument/publishDiagnostics":
                return False
            params = message["params"]
            newest = params.get("version") in (None, self.version)
            return newest and wrong == any(MISTAKE in found["message"] for found in params["diagnostics"])

        return self.server.client.wait(told)[0]


def configuration(params: Any) -> list[Any]:
    return [None for _ in params["items"]]


def compared(lines: int, compete: Sequence[Subject], stack: ExitStack, folder: Path) -> list[Running]:
    """Each server with a file of so many lines, every one after the same number of keystrokes."""
    running = []
    for subject in compete:
        root = folder / subject.name
        root.mkdir(exist_ok=True)
        path = root / f"long_{lines}{subject.suffix}"
        path.write_text(subject.source(lines), encoding="utf-8")
        server = stack.enter_context(
            Process(subject.command, environment(), {"workspace/configuration": configuration})
        )
        server.client.initialize(CLIENT, [root])
        one = Running(subject, server, path.as_uri())
        one.open(lines)
        running.append(one)
    for one in running:
        one.keystroke()
        one.keystroke()
        one.edits.clear()
    for _ in range(ROUNDS):
        for one in running:
            time.sleep(PAUSE)
            one.keystroke()
    return running


def percentile(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]


def report(lines: int, running: Sequence[Running]) -> bool:
    """The table of one size; whether ours meets its targets."""
    heading(f"edit to diagnostics, {lines} lines, {ROUNDS} edits each in turn")
    ours = median(running[0].edits)
    for one in running:
        typical = median(one.edits)
        times = f"median {typical:7.1f} ms   p95 {percentile(one.edits):7.1f} ms   first {one.first:7.1f} ms"
        note(f"{one.subject.name:10} {times}   {typical / ours:6.2f} times ours")
    targets = TARGETS.get(lines)
    if targets is None:
        return True
    met = judged("median of an edit", ours, targets.edit, "ms")
    return judged("first diagnostics, processor time", running[0].first_cpu, targets.first, "ms") and met


def judged(name: str, ours: float, target: float, unit: str) -> bool:
    met = ours <= target
    note(f"{name}: {ours:.1f} {unit}, target {target:.0f} {unit}, ratio {ours / target:.2f}{'' if met else ', missed'}")
    return met


# What only ours is asked.


def start_ms() -> Times:
    """From the start of the process to the answer to `initialize`; the medians of a few."""
    times = []
    for _ in range(6):
        with Process((sys.executable, "-m", "phobos_ls.main"), environment()) as server:
            server.client.initialize(CLIENT)
            times.append(Times((time.perf_counter() - server.started) * 1000, server.cpu_ms()))
    return Times(median(each.wall for each in times[1:]), median(each.cpu for each in times[1:]))


@contextlib.contextmanager
def building() -> Iterator[None]:
    """A build that runs all the while, as the background build of an edit does."""
    program = (
        "import itertools, phobos_core\n"
        f"path = {str(EXAMPLES / 'flash_attention.ph')!r}\n"
        "for _ in itertools.count(): phobos_core.compile(path)\n"
    )
    process = subprocess.Popen((sys.executable, "-c", program), env=environment())
    try:
        yield
    finally:
        process.kill()
        process.wait()


def asked_ms(one: Running, announced: Message, rounds: int) -> dict[str, list[float]]:
    """Hover and completion right after an edit, whose check has then to be done."""
    methods = {"textDocument/hover": "hoverProvider", "textDocument/completion": "completionProvider"}
    line, column = one.place
    params = {"textDocument": {"uri": one.uri}, "position": {"line": line, "character": column - len(EDITED)}}
    times: dict[str, list[float]] = {method: [] for method, provider in methods.items() if provider in announced}
    for _ in range(rounds):
        for method, found in times.items():
            one._send()
            begun = time.perf_counter()
            msg_id = one.server.client.begin(method, params)
            answer = one.server.client.answer(msg_id)
            found.append((time.perf_counter() - begun) * 1000)
            if "error" in answer:
                raise SystemExit(f"{method}: {answer['error']}")
            time.sleep(PAUSE)
    return times


def alone(subject: Subject, lines: int, folder: Path) -> bool:
    with Process(subject.command, environment(), {"workspace/configuration": configuration}) as server:
        announced = server.client.initialize(CLIENT, [folder])["capabilities"]
        one = Running(subject, server, (folder / "alone.ph").as_uri())
        one.open(lines)
        results = [judged("a burst of 100 edits", one.type(BURST), BURST_MS, "ms")]
        with building():
            for method, times in asked_ms(one, announced, ROUNDS).items():
                results.append(
                    judged(f"p95 of {method} while a check and a build run", percentile(times), REQUEST_MS, "ms")
                )
        for _ in range(100):
            one.type(1)
        results.append(judged("memory", server.memory() / 1e6, MEGABYTES, "MB"))
    return all(results)


def main(arguments: Sequence[str]) -> int:
    sizes = [int(argument) for argument in arguments if re.fullmatch(r"\d+", argument)] or list(TARGETS)
    met = []
    compete = list(subjects())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for lines in sizes:
            with ExitStack() as stack:
                met.append(report(lines, compared(lines, compete, stack, folder)))
        heading(f"ours alone, {sizes[-1]} lines")
        met.append(row("start to the answer to `initialize`", start_ms(), START_MS))
        met.append(alone(compete[0], sizes[-1], folder))
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
