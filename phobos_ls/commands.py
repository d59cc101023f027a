"""The commands that a client can execute: what code lenses and code actions offer, for any client.

Each gets the list of its arguments, plain JSON, and answers with JSON; what a user is to read it shows as a message.
Those that wait for the building process can be stopped where the client shows progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from phobos_core import analysis
from phobos_core.analysis import PlacedKernel
from phobos_core.language.codes import CODES
from phobos_core.report.sass.beside import by_address
from phobos_ls import cache
from phobos_ls.builds import words
from phobos_ls.builds.builder import WorkFailed
from phobos_ls.builds.content import content_of, job_of, key_of
from phobos_ls.builds.contribute import placed
from phobos_ls.builds.shown import Known
from phobos_ls.builds.work import Build
from phobos_ls.configurations import shown_configuration
from phobos_ls.explanations import link, page
from phobos_ls.features import code_actions, code_lens
from phobos_ls.features.code_lens import configuration_text
from phobos_ls.lifecycle import Refused
from phobos_ls.progress import Progress, shown_progress
from phobos_ls.session import Session
from phobos_ls.smoke.trial import Tried, attempt
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Command, Table

RUN_SECONDS = 60.0
# Buttons that a message can have.
MOST_OFFERED = 12
_INFO, _WARNING, _ERROR = lsp.MessageType.Info, lsp.MessageType.Warning, lsp.MessageType.Error


# Arguments.


def _text(arguments: list[Any], number: int, what: str) -> str:
    value = arguments[number] if number < len(arguments) else None
    if not isinstance(value, str):
        raise Refused(f"argument {number + 1} is {what}", lsp.ErrorCodes.InvalidParams)
    return value


def _kernel(snapshot: Snapshot, arguments: list[Any]) -> PlacedKernel:
    """The kernel that the second argument names; the first one, where there is none."""
    name = _text(arguments, 1, "the name of a kernel") if len(arguments) > 1 else None
    found = next((k for k in snapshot.kernels() if name is None or k.ast.name.text == name), None)
    if found is None:
        raise Refused("the file has no kernel" if name is None else f"the file has no kernel `{name}`")
    return found


def _found(arguments: list[Any], session: Session, checkpoint: Callable[[], None]) -> tuple[Snapshot, PlacedKernel]:
    uri = _text(arguments, 0, "the URI of a file")
    found = session.read(uri, lambda snapshot: (snapshot, _kernel(snapshot, arguments)), checkpoint)
    if found is None:
        raise Refused(f"{uri} cannot be read")
    return found


@contextmanager
def _work(session: Session, title: str) -> Iterator[Progress]:
    """Work that takes long. A failure is an error answer, which clients show."""
    try:
        with shown_progress(session, title) as progress:
            yield progress
    except WorkFailed as error:
        raise Refused(str(error)) from error


def _whole(kernel: PlacedKernel) -> PlacedKernel:
    if kernel.kernel is None:
        raise Refused(f"`{kernel.ast.name.text}` has errors")
    return kernel


# Builds.


def build(arguments: list[Any], session: Session) -> Any:
    """Builds a kernel now, and says what it needs."""
    with _work(session, "Building") as work:
        snapshot, kernel = _found(arguments, session, work.checkpoint)
        known = session.builds.get(snapshot, _whole(kernel), checkpoint=work.checkpoint)
        session.recontribute(snapshot.uri)
        done = known.build
        errors = [found.message for found in done.diagnostics if found.severity == "error"]
        text = errors[0].split("\n")[0] if errors else f"`{done.kernel}`: {words.summary(done)}"
        session.show(_ERROR if errors else _INFO, text)
        return {
            "kernel": done.kernel,
            "target": done.target,
            "config": dict(done.config),
            "failed": bool(errors),
            "message": text,
        }


def show_ptx(arguments: list[Any], session: Session) -> Any:
    return _show_listing(arguments, session, "ptx")


def show_sass(arguments: list[Any], session: Session) -> Any:
    return _show_listing(arguments, session, "sass")


def _show_listing(arguments: list[Any], session: Session, kind: Literal["ptx", "sass"]) -> Any:
    """The code in a file that the client opens, where it can."""
    with _work(session, "Building") as work:
        snapshot, kernel = _found(arguments, session, work.checkpoint)
        name = kernel.ast.name.text
        known = session.builds.get(snapshot, _whole(kernel), machine_code=kind == "sass", checkpoint=work.checkpoint)
        text = _listing(known, kind)
        if text is None:
            errors = [found.message for found in known.build.diagnostics if found.severity == "error"]
            reason = errors[0].split("\n")[0] if errors else known.build.why_no_code or "nothing says why"
            raise Refused(f"there is no {kind.upper()} of `{name}`: {reason}")
        path = cache.folder() / "listings" / f"{name}.{known.build.target}.{kind}"
        return {"uri": _open(session, path, text), "kernel": name}


def _listing(known: Known, kind: Literal["ptx", "sass"]) -> str | None:
    code = known.build.machine_code
    if kind == "ptx":
        return known.build.ptx
    return None if code is None else "".join(f"{row}\n" for row, _ in by_address(code))


def _open(session: Session, path: Path, text: str) -> str:
    """Shows a file of the server's own. A client that opens none is told where it is."""
    try:
        cache.write(path, text.encode("utf-8"))
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror or error}") from error
    _show_document(session, path.as_uri(), str(path))
    return path.as_uri()


def _show_document(session: Session, uri: str, otherwise: str) -> None:
    if session.supports("window.show_document.support"):
        session.ask(lsp.WINDOW_SHOW_DOCUMENT, lsp.ShowDocumentParams(uri, take_focus=True))
    else:
        session.show(_INFO, otherwise)


# A try on the emulator.


def run(arguments: list[Any], session: Session) -> Any:
    """Runs a kernel on the emulator with inputs that are made up, and says what that found."""
    with _work(session, "Running on the emulator") as work:
        snapshot, kernel = _found(arguments, session, work.checkpoint)
        name = _whole(kernel).ast.name.text
        content = content_of(snapshot, kernel)
        target = snapshot.settings.options.target
        key = key_of(content, snapshot.settings, target, shown_configuration(snapshot, kernel))
        job, items = job_of(snapshot, content, key, machine_code=False)
        tried = session.builds.run(f"the run of `{name}`", attempt, job, RUN_SECONDS, work.checkpoint)
        # What a run finds is placed in the text as what a build finds.
        as_build = Build(name, target, tried.config, None, tried.diagnostics)
        found = tuple(placed(snapshot, kernel, content, Known(as_build, items, snapshot.version)))
        session.tries.remember(snapshot, name, found)
        session.recontribute(snapshot.uri)
        text = _outcome(tried)
        bad = tried.refused is not None or bool(tried.diagnostics)
        session.show(_WARNING if bad else _INFO, text)
        return {
            "kernel": name,
            "config": dict(tried.config),
            "dims": dict(tried.dims),
            "grid": list(tried.grid),
            "ran": tried.refused is None,
            "findings": [
                {"code": each.code, "line": snapshot.position(each.start).line, "message": each.message}
                for each in found
            ],
            "message": text,
        }


def _outcome(tried: Tried) -> str:
    if tried.refused is not None:
        return f"`{tried.kernel}` was not run: {tried.refused}"
    values = configuration_text({**tried.config, **tried.dims})
    where = f" with {values}" if values else ""
    head = f"`{tried.kernel}`{where}, on a grid of {' x '.join(map(str, tried.grid))}"
    if not tried.diagnostics:
        return f"{head}: the emulator found nothing wrong"
    more = f", and {len(tried.diagnostics) - 1} more" if len(tried.diagnostics) > 1 else ""
    return f"{head}: {tried.diagnostics[0].message.splitlines()[0]}{more}"


# Configurations.


def select_configuration(arguments: list[Any], session: Session) -> Any:
    """Sets the configuration that a kernel is shown in; without one, asks which."""
    snapshot, kernel = _found(arguments, session, session.commands.checkpoint)
    name = kernel.ast.name.text
    if kernel.kernel is None:
        raise Refused(f"`{name}` has errors")
    space = analysis.configurations(kernel.kernel)
    if len(arguments) > 2:
        config = _configuration(space, arguments[2])
        session.pick(snapshot.uri, name, config)
        return {"kernel": name, "config": config}
    offered = {configuration_text(config): config for config in islice(iter(space), MOST_OFFERED)}
    if not kernel.kernel.search:
        session.show(_INFO, f"`{name}` has no `@autotune` names: there is one configuration")
        return None
    more = "" if len(space) <= MOST_OFFERED else f"; the first {MOST_OFFERED} of {len(space)}"
    question = f"The configuration that `{name}` is shown in{more}"

    def take(answer: Any) -> None:
        chosen = offered.get(getattr(answer, "title", ""))
        if chosen is not None:
            session.pick(snapshot.uri, name, chosen)

    actions = [lsp.MessageActionItem(title) for title in offered]
    session.ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, lsp.ShowMessageRequestParams(_INFO, question, actions), take)
    return None


def _configuration(space: analysis.Configurations, given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping) or any(isinstance(v, bool) or not isinstance(v, int) for v in given.values()):
        raise Refused("a configuration is an object of names and integers", lsp.ErrorCodes.InvalidParams)
    try:
        return space.named(dict(given))
    except analysis.ConfigurationError as error:
        raise Refused(str(error), lsp.ErrorCodes.InvalidParams) from error


# Code actions.


def explain(arguments: list[Any], session: Session) -> Any:
    code = CODES.get(_text(arguments, 0, "the code of a diagnostic"))
    if code is None:
        raise Refused(f"there is no code `{arguments[0]}`", lsp.ErrorCodes.InvalidParams)
    uri, text = link(code.code), page(code)
    if uri is not None:
        _show_document(session, uri, text)
    else:
        session.show(_INFO, text)
    return {"code": code.code, "uri": uri, "text": text}


def apply_edit(arguments: list[Any], session: Session) -> Any:
    """For a client that knows no edits in actions: the edit of one, which it got as an argument."""
    try:
        edit = get_converter().structure(arguments[0] if arguments else None, lsp.WorkspaceEdit)
    except Exception as error:  # whatever the conversion of JSON that is none stumbles over
        raise Refused("the argument is no edit: pass a WorkspaceEdit", lsp.ErrorCodes.InvalidParams) from error
    session.ask(lsp.WORKSPACE_APPLY_EDIT, lsp.ApplyWorkspaceEditParams(edit))
    return None


COMMANDS: Table = (
    Command(code_lens.BUILD, build, slow=True),
    Command(code_lens.RUN, run, slow=True),
    Command(code_lens.SELECT, select_configuration, slow=True),
    Command(code_lens.PTX, show_ptx, slow=True),
    Command(code_lens.SASS, show_sass, slow=True),
    Command(code_actions.EXPLAIN, explain),
    Command(code_actions.APPLY, apply_edit),
)
