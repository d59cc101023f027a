"""The commands, over the wire: what each answers, what the user is shown, and how one is stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from phobos_core.analysis import check
from phobos_core.analysis.program import Requirement
from phobos_core.analysis.symbolic import sym
from phobos_core.language.codes import CODES
from phobos_core.syntax import parse
from phobos_ls import commands
from phobos_ls.explanations import page
from phobos_ls.smoke import trial
from phobos_ls.smoke.inputs import CannotMakeUp, make_up
from tests.ls.building import SCALE, SECONDS, needs_nvdisasm, needs_ptxas
from tests.ls.wire import PUSH, URI, Wired, wire

TUNED = (
    "@autotune(T in [16, 64])\nkernel tuned(A: tensor<f32>[N, 4]) {\n  let i = ctx.block.x * T\n"
    "  A[i :+ T, :] = A[i :+ T, :] * 2.0\n}\n"
)
# Reads the elements that other threads of its block store, with no barrier between.
RACE = CODES["race-global"].wrong
# Nothing ends the loop; the emulator's limit would, after long.
ENDLESS = "kernel spin(C: tensor<f32>[4]) {\n  var i = 0\n  while i < 4 {\n    C[0] = C[0] + 1.0\n  }\n}\n"
SHOWING = {
    **PUSH,
    "window": {"showDocument": {"support": True}, "workDoneProgress": True},
    "workspace": {"codeLens": {"refreshSupport": True}},
}


def execute(wired: Wired, command: str, *arguments: Any) -> Any:
    return wired.client.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)}, SECONDS)


def refused(wired: Wired, command: str, *arguments: Any) -> str:
    """Why a command is refused."""
    msg_id = wired.client.begin("workspace/executeCommand", {"command": command, "arguments": list(arguments)})
    message: str = wired.client.answer(msg_id, SECONDS)["error"]["message"]
    return message


def shown(wired: Wired) -> str:
    """The next message that the user is shown."""
    text: str = wired.client.notification("window/showMessage", SECONDS)["message"]
    return text


def requested(wired: Wired, method: str) -> list[Any]:
    return [message.get("params") for message in wired.client.requested if message["method"] == method]


# Build.


@needs_ptxas
def test_build() -> None:
    with wire() as wired:
        wired.open(SCALE)
        answer = execute(wired, "phobos.build", URI, "scale")
        assert (answer["kernel"], answer["target"], answer["config"]) == ("scale", "sm_80", {})
        assert not answer["failed"]
        assert answer["message"].startswith("`scale`: regs ")
        assert "occupancy" in answer["message"]
        assert shown(wired) == answer["message"]


def test_a_build_that_fails() -> None:
    with wire() as wired:
        wired.open(CODES["over-shared-limit"].wrong)
        answer = execute(wired, "phobos.build", URI, "example")
        assert answer["failed"]
        assert "262,144 bytes of shared memory" in answer["message"]
        codes = {each["code"] for each in wired.published()}
        while "over-shared-limit" not in codes:
            codes = {each["code"] for each in wired.published()}


@pytest.mark.parametrize("command", ["phobos.build", "phobos.run", "phobos.showPtx", "phobos.showSass"])
def test_a_kernel_with_errors_is_refused(command: str) -> None:
    with wire() as wired:
        wired.open(SCALE.replace("t * 2.0", "tt * 2.0"))
        assert refused(wired, command, URI, "scale") == "`scale` has errors"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "argument 1 is the URI of a file"),
        ((3,), "argument 1 is the URI of a file"),
        ((URI, 3), "argument 2 is the name of a kernel"),
        ((URI, "other"), "the file has no kernel `other`"),
        (("file:///no/such/file.ph", "scale"), "file:///no/such/file.ph cannot be read"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], reason: str) -> None:
    with wire() as wired:
        wired.open(SCALE)
        assert refused(wired, "phobos.build", *arguments) == reason


def test_a_file_that_is_not_open(tmp_path: Path) -> None:
    file = tmp_path / "scale.ph"
    file.write_text(SCALE)
    with wire() as wired:
        answer = execute(wired, "phobos.run", file.as_uri(), "scale")
        assert answer["ran"]
        assert answer["findings"] == []


def test_the_first_kernel_where_none_is_named() -> None:
    with wire() as wired:
        wired.open(SCALE + TUNED)
        assert execute(wired, "phobos.run", URI)["kernel"] == "scale"


# Run.


def test_run() -> None:
    with wire() as wired:
        wired.open(TUNED)
        answer = execute(wired, "phobos.run", URI, "tuned")
        assert answer["config"] == {"T": 16}
        assert answer["dims"]["N"] % 4 == 0
        assert answer["dims"]["N"] >= 16 * answer["grid"][0]
        assert answer["ran"]
        assert answer["findings"] == []
        assert "found nothing wrong" in answer["message"]
        assert shown(wired) == answer["message"]


def test_what_a_run_finds_is_a_diagnostic_until_the_next_edit() -> None:
    with wire() as wired:
        wired.open(RACE)
        assert [each["code"] for each in wired.published()] == []
        answer = execute(wired, "phobos.run", URI, "example")
        assert {each["code"] for each in answer["findings"]} == {"race-global"}
        assert {each["line"] for each in answer["findings"]} <= {1, 2}
        assert "race-global" in {each["code"] for each in wired.published()}
        wired.replace(RACE + "// done\n")
        assert wired.published() == []


def test_a_finding_below_other_text_is_on_its_line() -> None:
    with wire() as wired:
        wired.open("// 漢\n\n" + SCALE + "\n" + RACE)
        wired.published()
        answer = execute(wired, "phobos.run", URI, "example")
        before = ("// 漢\n\n" + SCALE + "\n").count("\n")
        assert {each["line"] - before for each in answer["findings"]} <= {1, 2}
        assert {each["range"]["start"]["line"] - before for each in wired.published() if each["code"]} <= {1, 2}


def test_the_configuration_that_is_shown_is_run() -> None:
    with wire() as wired:
        wired.open(TUNED)
        execute(wired, "phobos.selectConfiguration", URI, "tuned", {"T": 64})
        assert execute(wired, "phobos.run", URI, "tuned")["config"] == {"T": 64}


def test_the_server_itself_loads_neither_numpy_nor_llvm() -> None:
    code = (
        "import sys, phobos_ls.server; "
        "print([name for name in ('numpy', 'llvmlite', 'phobos_core.emulator') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_run_is_stopped_from_its_progress() -> None:
    tokens: SimpleQueue[str] = SimpleQueue()
    answers = {"window/workDoneProgress/create": lambda params: tokens.put(params["token"])}
    with wire(capabilities=SHOWING, answers=answers) as wired:
        wired.open(ENDLESS)
        msg_id = wired.client.begin("workspace/executeCommand", {"command": "phobos.run", "arguments": [URI, "spin"]})
        begun = wired.client.notification("$/progress", SECONDS)
        assert begun["token"] == tokens.get(timeout=SECONDS)
        assert begun["value"]["kind"] == "begin"
        assert begun["value"]["cancellable"] is True
        wired.client.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        assert wired.client.answer(msg_id, SECONDS)["error"]["code"] == -32800
        assert wired.client.notification("$/progress", SECONDS)["value"]["kind"] == "end"
        # The building process is there for the next one.
        wired.replace(SCALE)
        assert execute(wired, "phobos.run", URI, "scale")["ran"]


def test_a_run_is_stopped_by_cancelling_the_request() -> None:
    with wire() as wired:
        wired.open(ENDLESS)
        msg_id = wired.client.begin("workspace/executeCommand", {"command": "phobos.run", "arguments": [URI, "spin"]})
        wired.client.notify("$/cancelRequest", {"id": msg_id})
        assert wired.client.answer(msg_id, SECONDS)["error"]["code"] == -32800


def test_other_requests_are_answered_while_a_run_goes_on() -> None:
    with wire() as wired:
        wired.open(ENDLESS)
        msg_id = wired.client.begin("workspace/executeCommand", {"command": "phobos.run", "arguments": [URI, "spin"]})
        place = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 6}}
        assert "var i" in wired.client.request("textDocument/hover", place)["contents"]["value"]
        assert execute(wired, "phobos.explain", "unknown-name")["code"] == "unknown-name"
        wired.client.notify("$/cancelRequest", {"id": msg_id})
        assert "error" in wired.client.answer(msg_id, SECONDS)


# Configurations.


def test_a_configuration_is_selected() -> None:
    with wire(capabilities=SHOWING) as wired:
        wired.open(TUNED)
        answer = execute(wired, "phobos.selectConfiguration", URI, "tuned", {"T": 64})
        assert answer == {"kernel": "tuned", "config": {"T": 64}}
        lenses = wired.client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert "T = 64" in {lens["command"]["title"] for lens in lenses}
        assert requested(wired, "workspace/codeLens/refresh")


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"T": 17}, "T=17 is not a choice of kernel `tuned`: 16, 32, 64"),
        ({"U": 1}, "`U` is not an @autotune name of kernel `tuned` (its names: T)"),
        ({"T": "16"}, "a configuration is an object of names and integers"),
        ([16], "a configuration is an object of names and integers"),
        ({"T": True}, "a configuration is an object of names and integers"),
    ],
)
def test_a_configuration_that_there_is_not(config: Any, reason: str) -> None:
    with wire() as wired:
        wired.open(TUNED)
        assert refused(wired, "phobos.selectConfiguration", URI, "tuned", config) == reason


def test_a_client_is_asked_which_configuration() -> None:
    questions: SimpleQueue[Any] = SimpleQueue()

    def choose(params: Any) -> Any:
        questions.put(params)
        return params["actions"][-1]

    with wire(capabilities=SHOWING, answers={"window/showMessageRequest": choose}) as wired:
        wired.open(TUNED)
        assert execute(wired, "phobos.selectConfiguration", URI, "tuned") is None
        question = questions.get(timeout=SECONDS)
        assert [action["title"] for action in question["actions"]] == ["T = 16", "T = 32", "T = 64"]
        titles: set[str] = set()
        while "T = 64" not in titles:
            lenses = wired.client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
            titles = {lens["command"]["title"] for lens in lenses}


def test_a_kernel_with_one_configuration_asks_nothing() -> None:
    with wire() as wired:
        wired.open(SCALE)
        assert execute(wired, "phobos.selectConfiguration", URI, "scale") is None
        assert "no `@autotune` names" in shown(wired)
        assert requested(wired, "window/showMessageRequest") == []


# Listings.


def read(uri: str) -> str:
    return Path(url2pathname(urlparse(uri).path)).read_text(encoding="utf-8")


def test_ptx_is_shown_in_a_file() -> None:
    with wire(capabilities=SHOWING) as wired:
        wired.open(SCALE)
        answer = execute(wired, "phobos.showPtx", URI, "scale")
        assert ".visible .entry scale(" in read(answer["uri"])
        (asked,) = requested(wired, "window/showDocument")
        assert asked["uri"] == answer["uri"]


def test_a_client_that_shows_no_documents_is_told_where() -> None:
    with wire() as wired:
        wired.open(SCALE)
        answer = execute(wired, "phobos.showPtx", URI, "scale")
        assert Path(shown(wired)).as_uri() == answer["uri"]


@needs_ptxas
@needs_nvdisasm
def test_sass_is_shown_in_a_file() -> None:
    with wire(capabilities=SHOWING) as wired:
        wired.open(SCALE)
        assert "EXIT" in read(execute(wired, "phobos.showSass", URI, "scale")["uri"])


def test_no_sass_without_an_assembler() -> None:
    with wire(initializationOptions={"phobos": {"ptxas": "/no/such/ptxas"}}) as wired:
        wired.open(SCALE)
        reason = refused(wired, "phobos.showSass", URI, "scale")
        assert reason.startswith("there is no SASS of `scale`: `phobos.ptxas` is /no/such/ptxas")


# Explanations, and what cannot be executed.


def test_explain() -> None:
    with wire(capabilities=SHOWING) as wired:
        answer = execute(wired, "phobos.explain", "missing-barrier")
        assert answer["text"] == page(CODES["missing-barrier"])
        assert read(answer["uri"]) == answer["text"]
        (asked,) = requested(wired, "window/showDocument")
        assert asked["uri"] == answer["uri"]


def test_a_client_without_documents_reads_the_explanation_as_a_message() -> None:
    with wire() as wired:
        assert shown_after(wired, "phobos.explain", "missing-barrier") == page(CODES["missing-barrier"])


def shown_after(wired: Wired, command: str, *arguments: Any) -> str:
    execute(wired, command, *arguments)
    return shown(wired)


@pytest.mark.parametrize("arguments", [(), (3,), ("no-such-code",)])
def test_no_explanation(arguments: tuple[Any, ...]) -> None:
    with wire() as wired:
        assert "code" in refused(wired, "phobos.explain", *arguments)


@pytest.mark.parametrize("arguments", [(), (3,), ({"changes": 4},)])
def test_an_edit_that_is_none(arguments: tuple[Any, ...]) -> None:
    with wire() as wired:
        assert refused(wired, "phobos.applyEdit", *arguments) == "the argument is no edit: pass a WorkspaceEdit"


def test_every_lens_has_a_command_that_the_server_announces() -> None:
    with wire(capabilities=None) as wired:
        announced = wired.client.initialize(PUSH)["capabilities"]["executeCommandProvider"]["commands"]
        wired.open(TUNED)
        lenses = wired.client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert {lens["command"]["command"] for lens in lenses} <= set(announced)
        assert json.dumps(lenses)


# Inputs that are made up.


def job(source: str, kernel: str, config: dict[str, int] | None = None) -> trial.Job:
    placed = next(each for each in check(parse(source)).kernels if each.ast.name.text == kernel)
    return trial.Job("kernel.ph", source.encode(), kernel, placed.offset, "sm_80", config or {}, {}, 64)


KERNELS = sorted((Path(__file__).parents[2] / "examples").glob("*.ph"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_every_example_runs_on_inputs_that_are_made_up(path: Path) -> None:
    """The examples are right, as their own tests show: what was found would be the fault of the inputs."""
    source = path.read_text(encoding="utf-8")
    for placed in check(parse(source)).kernels:
        assert placed.kernel is not None
        config = {name: choices[0] for name, choices in placed.kernel.search.items()}
        tried = trial.attempt(job(source, placed.kernel.name, config))
        assert tried.refused is None
        assert tried.diagnostics == ()
        for requirement in placed.kernel.requires:
            names = {**config, **tried.dims}
            lhs, rhs = requirement.lhs.evaluate(names), requirement.rhs.evaluate(names)
            assert {"==": lhs == rhs, "<=": lhs <= rhs, "multiple of": lhs % rhs == 0}[requirement.op]


REQUIRED = [
    ("a whole number of tiles", "@aligned(N = 48)", "A[0 :+ 48] = A[0 :+ 48] * 2.0", lambda d: d["N"] % 48 == 0),
    ("threads that index", "", "A[ctx.thread] = 1.0", lambda d: d["N"] >= 256),
    ("threads of several blocks", "", "A[ctx.block.x * 256 + ctx.thread] = 1.0", lambda d: d["N"] >= 256),
    ("threads by a name", "@launch(64)", "let i = ctx.thread\nlet j = i\nA[j] = 1.0", lambda d: d["N"] >= 64),
]


@pytest.mark.parametrize(("attribute", "body", "holds"), [r[1:] for r in REQUIRED], ids=[r[0] for r in REQUIRED])
def test_dimensions_are_large_enough(attribute: str, body: str, holds: Any) -> None:
    source = f"{attribute}\nkernel k(A: tensor<f32>[N]) {{\n{body}\n}}\n".lstrip("\n")
    tried = trial.attempt(job(source, "k"))
    assert tried.refused is None
    assert tried.diagnostics == ()
    assert holds(tried.dims)


def test_threads_that_index_are_counted_before_anything_runs() -> None:
    source = "@launch(64)\nkernel k(A: tensor<f32>[N]) {\n  let i = ctx.thread\n  A[i] = 1.0\n}\n"
    (placed,) = check(parse(source)).kernels
    assert placed.kernel is not None
    made = make_up(placed.kernel, (), {})
    assert made.dims["N"] >= 64
    assert made.values[0].shape == (made.dims["N"],)


def test_no_dimensions_keep_promises_that_contradict_each_other() -> None:
    (placed,) = check(parse("@aligned(N = 48)\nkernel k(A: tensor<f32>[N]) {\n  A[0] = 1.0\n}\n")).kernels
    assert placed.kernel is not None
    three = Requirement(sym("N"), "==", sym(3), "N == 3")
    with pytest.raises(CannotMakeUp, match=r"N == 3; N a multiple of 48"):
        make_up(placed.kernel, (three,), {})


def test_an_access_that_is_never_within_its_tensor_is_found() -> None:
    source = "kernel k(A: tensor<f32>[N]) {\n  A[N + ctx.thread] = 1.0\n}\n"
    assert {each.code for each in trial.attempt(job(source, "k")).diagnostics} == {"out-of-bounds"}


def test_tensors_that_are_too_large_are_not_tried() -> None:
    source = "kernel k(A: tensor<f32>[1048576, 1048576]) {\n  A[0, 0] = 1.0\n}\n"
    tried = trial.attempt(job(source, "k"))
    assert tried.refused is not None
    assert "too many for a try" in tried.refused


def test_a_run_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "RUN_SECONDS", 1.0)
    with wire() as wired:
        wired.open(ENDLESS)
        assert refused(wired, "phobos.run", URI, "spin") == "the run of `spin` did not finish in 1 s"
