"""How long an editor waits for the language server, beside those of other languages with the same client in one run.

A keystroke makes a mistake in the middle of a file, and the next one takes it back; what is timed is the way from the
edit to the diagnostics that say so. Servers take turns, so that a busy machine slows all of them alike, and one that is
slow is waited for less often. What else a server is asked it is asked alone, ours as the others: its start, a burst of
edits, hover and completion while it checks and a build runs, and its memory. What one thread of ours does alone is
judged by its processor time. Peers are taken from the environment of the Python that `PHOBOS_PEERS_PYTHON` names, or
from the path.

Run: python -m bench.language_server [LINES ...] [SERVER ...], with names of servers for some of them alone
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
from statistics import mean, median, quantiles
from typing import Any

from bench.check_speed import examples, long_file
from bench.language_client import Gone, Message, Process
from bench.measure import EXAMPLES, environment, heading, note
from phobos_ls.builds.worker import NICE

PEERS_PYTHON = "PHOBOS_PEERS_PYTHON"
# What is typed, in the place of a 0: a name that nothing declares.
MISTAKE = "undeclared"
EDITED = "bench_edit"
ROUNDS = 30
PAUSE = 0.02
# An odd number: a server may say nothing of a text that is what it was.
BURST = 101
# Edits before the memory is looked at.
SETTLED = 100
# What a server may take for its edits of one file, and for one answer: more would be a long wait for a known result.
BUDGET_MS = 30_000.0
PATIENCE = 120.0
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
    """Milliseconds: the median of an edit, and the processor time of the first diagnostics."""

    edit: float
    first: float


TARGETS = {1000: Targets(8, 100), 10_000: Targets(60, 300)}
# The one server that may be faster: it looks at no types, and is not written in Python.
AHEAD_BY_RIGHT = "ruff"


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
    cpu: list[float] = field(default_factory=list)

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
        before = self.server.cpu_ms()
        self.edits.append(self.type(1))
        self.cpu.append(self.server.cpu_ms() - before)

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

        return self.server.client.wait(told, PATIENCE)[0]


def configuration(params: Any) -> list[Any]:
    return [None for _ in params["items"]]


def started(subject: Subject) -> Process:
    return Process(subject.command, environment(), {"workspace/configuration": configuration})


def compared(lines: int, compete: Sequence[Subject], stack: ExitStack, folder: Path) -> list[Running]:
    """Each server with a file of so many lines, after some keystrokes in turn; without one that does not answer."""
    running = []
    for subject in compete:
        root = folder / subject.name
        root.mkdir(exist_ok=True)
        path = root / f"long_{lines}{subject.suffix}"
        path.write_text(subject.source(lines), encoding="utf-8")
        server = stack.enter_context(started(subject))
        server.client.initialize(CLIENT, [root])
        one = Running(subject, server, path.as_uri())
        try:
            one.open(lines)
            one.keystroke()
            one.keystroke()
        except Gone as gone:
            note(f"{subject.name}: {gone}")
            continue
        one.edits.clear()
        one.cpu.clear()
        running.append(one)
    for _ in range(ROUNDS):
        for one in running:
            if sum(one.edits) < BUDGET_MS:
                time.sleep(PAUSE)
                one.keystroke()
    return running


def percentile(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def report(lines: int, running: Sequence[Running]) -> bool:
    """The table of one size; whether ours meets its targets."""
    heading(f"edit to diagnostics, {lines} lines, at most {ROUNDS} edits each in turn")
    ours = running[0]
    note(f"{'':10}  edits        median           p95         first   ours is of it: median    p95  first")
    for one in running:
        times = (median(one.edits), percentile(one.edits), one.first)
        own = (median(ours.edits), percentile(ours.edits), ours.first)
        ratios = "".join(f"{mine / its:7.2f}" for mine, its in zip(own, times, strict=True))
        shown = "".join(f"{each:11.1f} ms" for each in times)
        note(f"{one.subject.name:10} {len(one.edits):6d}{shown}                {ratios}")
    # The system counts in steps of some milliseconds: a mean tells what is less than one.
    note(f"an edit takes {mean(ours.cpu):.1f} ms of processor time")
    targets = TARGETS.get(lines)
    if targets is None:
        return True
    typical = median(ours.edits)
    slower = [one.subject.name for one in running if median(one.edits) < typical]
    met = [
        judged("median of an edit", typical, targets.edit, "ms"),
        judged("first diagnostics, processor time", ours.first_cpu, targets.first, "ms"),
        set(slower) <= {AHEAD_BY_RIGHT},
    ]
    note(f"faster than ours: {', '.join(slower) or 'none'}{'' if met[-1] else ', missed'}")
    return all(met)


def judged(name: str, ours: float, target: float, unit: str) -> bool:
    met = ours <= target
    note(f"{name}: {ours:.1f} {unit}, target {target:.0f} {unit}, ratio {ours / target:.2f}{'' if met else ', missed'}")
    return met


# What a server is asked alone, with its target for ours.
ALONE = {
    "start to `initialize` answered": (500.0, "ms"),
    f"a burst of {BURST} edits": (500.0, "ms"),
    "p95 of hover beside a check and a build": (20.0, "ms"),
    "p95 of completion beside a check and a build": (20.0, "ms"),
    "memory": (120.0, "MB"),
}
START, BURST_OF_EDITS, HOVER, COMPLETION, MEMORY = ALONE
# The figures that are judged by processor time.
BY_PROCESSOR = f"{START}, processor time"


def alone(subject: Subject, lines: int, folder: Path) -> dict[str, float]:
    """The figures of one server; those that it gives before it is waited for in vain."""
    figures = start_figures(subject, folder)
    with started(subject) as server:
        announced = server.client.initialize(CLIENT, [folder])["capabilities"]
        path = folder / f"alone{subject.suffix}"
        path.write_text(subject.source(lines), encoding="utf-8")
        one = Running(subject, server, path.as_uri())
        try:
            one.open(lines)
            figures[BURST_OF_EDITS] = one.type(BURST)
            with building():
                for name, times in asked_ms(one, announced, ROUNDS).items():
                    figures[name] = percentile(times)
            begun = time.perf_counter()
            for _ in range(SETTLED):
                if (time.perf_counter() - begun) * 1000 < BUDGET_MS:
                    one.type(1)
        except Gone as gone:
            note(f"{subject.name}: {gone}")
        if server.process.poll() is None:
            figures[MEMORY] = server.memory() / 1e6
    return figures


def start_figures(subject: Subject, folder: Path) -> dict[str, float]:
    """From the start of the process to the answer to `initialize`; the medians of a few."""
    walls, cpus = [], []
    for _ in range(6):
        with started(subject) as server:
            server.client.initialize(CLIENT, [folder])
            walls.append((time.perf_counter() - server.started) * 1000)
            cpus.append(server.cpu_ms())
    return {START: median(walls[1:]), BY_PROCESSOR: median(cpus[1:])}


@contextlib.contextmanager
def building() -> Iterator[None]:
    """A build that runs all the while, as the background build of an edit does: behind what is typed."""
    program = (
        "import itertools, os, phobos_core\n"
        f"path = {str(EXAMPLES / 'flash_attention.ph')!r}\n"
        f"os.nice({NICE})\n"
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
    methods = {
        HOVER: ("textDocument/hover", "hoverProvider"),
        COMPLETION: ("textDocument/completion", "completionProvider"),
    }
    line, column = one.place
    params = {"textDocument": {"uri": one.uri}, "position": {"line": line, "character": column - len(EDITED)}}
    times: dict[str, list[float]] = {name: [] for name, (_, provider) in methods.items() if announced.get(provider)}
    for _ in range(rounds):
        for name, found in times.items():
            if sum(found) > BUDGET_MS:
                continue
            one._send()
            begun = time.perf_counter()
            answer = one.server.client.answer(one.server.client.begin(methods[name][0], params), PATIENCE)
            found.append((time.perf_counter() - begun) * 1000)
            if "error" in answer:
                raise SystemExit(f"{one.subject.name}: {methods[name][0]}: {answer['error']}")
            time.sleep(PAUSE)
    return times


def report_alone(lines: int, figures: dict[str, dict[str, float]]) -> bool:
    """Each figure of ours with its target, and beside it those of the others, with what part of it ours is."""
    heading(f"alone, {lines} lines")
    ours, *others = figures
    met = []
    for name, (target, unit) in ALONE.items():
        if name in figures[ours]:
            by = BY_PROCESSOR if name == START else name
            met.append(judged(by, figures[ours][by], target, unit))
        for other in others:
            if name in figures[other] and name in figures[ours]:
                its, mine = figures[other][name], figures[ours][name]
                note(f"    {other:10} {its:9.1f} {unit}, ours {mine:9.1f} {unit}, {mine / its:.2f} of it")
    return all(met)


def main(arguments: Sequence[str]) -> int:
    sizes = [int(argument) for argument in arguments if re.fullmatch(r"\d+", argument)] or list(TARGETS)
    named = [argument for argument in arguments if not re.fullmatch(r"\d+", argument)]
    # Ours is there always: the others are measured to be compared with.
    compete = [each for each in subjects() if not named or each.name in ("phobos", *named)]
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for lines in sizes:
            with ExitStack() as stack:
                met.append(report(lines, compared(lines, compete, stack, folder)))
        figures = {subject.name: alone(subject, sizes[-1], folder) for subject in compete}
        met.append(report_alone(sizes[-1], figures))
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
