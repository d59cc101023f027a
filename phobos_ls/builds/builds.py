"""The builds of a session: what features ask for, and what goes on behind them.

`known` and `shown` tell at once what is known, `get` and `run` wait for the building process. When a text has not
changed for a moment, the kernels that no build is known of are built; what they were found to be is kept by their
content, so that an edit which is undone, or a kernel that moves, costs nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedKernel
from phobos_core.syntax import LineIndex
from phobos_ls.builds.builder import Builder, Failure, Task
from phobos_ls.builds.content import Content, Item, Key, content_of, job_of, key_of
from phobos_ls.builds.shown import Known, Shown, ShownBuilds
from phobos_ls.builds.work import Build, compile_job
from phobos_ls.configurations import listed_configurations, shown_configuration
from phobos_ls.documents import Document
from phobos_ls.settings import Settings
from phobos_ls.snapshot import Snapshot
from phobos_ls.uris import key as uri_key

if TYPE_CHECKING:
    from phobos_ls.session import Event, Session

log = logging.getLogger(__name__)

# How long nobody types before what was typed is built.
DEBOUNCE_SECONDS = 0.3
# How long before what nobody looks at yet is built too: other targets, other configurations.
QUIET_SECONDS = 2.0
BUILD_SECONDS = 40.0
# Kernels of a document that are built without being asked for, and configurations of a kernel that somebody looked at.
MOST_KERNELS = 64
MOST_CONFIGURATIONS = 16
# Builds that are kept beside those of the texts as they are, so that an edit can be undone for nothing.
SPARE = 32
# How often a wait looks whether it is still wanted.
LOOK_SECONDS = 0.02

# The names of what is done on the strand of a document.
PLAN, KNOWN = "plan the builds", "builds are known"
T = TypeVar("T")
A = TypeVar("A")
# A build, and whether with the machine code.
Identity: TypeAlias = tuple[Key, bool]
# Told, on the document's strand, that builds of a document are known that were not.
BuiltListener: TypeAlias = Callable[[Document], None]


def _go_on() -> None:
    """The checkpoint of work that nobody gives up."""


class Pending(Generic[T]):
    """Work that somebody waits for."""

    def __init__(self, task: Task, builder: Builder, read: Callable[[Any], T]) -> None:
        self._task, self._builder, self._read = task, builder, read
        self.future: Future[Any] = builder.ask(task)

    def result(self, checkpoint: Callable[[], None] = _go_on) -> T:
        while True:
            try:
                return self._read(self.future.result(LOOK_SECONDS))
            except NotYet:
                try:
                    checkpoint()
                except BaseException:
                    self.leave()
                    raise

    def leave(self) -> None:
        self._builder.leave(self._task, self.future)
        self.future.cancel()


class Builds:
    """`listeners` hear of builds that are new to a document; `moved` of each document whose status may be another."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._builder = Builder(self._finished, self._due, self._moved)
        self._lock = threading.Lock()
        self._results: OrderedDict[Identity, Known | Failure] = OrderedDict()
        self._shown: dict[str, ShownBuilds] = {}
        self._planning: set[str] = set()
        # What each document was planned to know: its shown builds, and how many there are with the others.
        self._wanted: dict[str, frozenset[Identity]] = {}
        self._counts: dict[str, int] = {}
        # The names of kernels that builds are known of, and of those in which builds found something wrong: in a long
        # file, no other kernel has to be looked at.
        self._built: frozenset[str] = frozenset()
        self._wrong: frozenset[str] = frozenset()
        # The text and settings that each document's plan was made for, and whether all of it can be built.
        self._planned_for: dict[str, tuple[LineIndex, Settings, bool]] = {}
        self._looked_at: dict[str, tuple[int, int]] = {}
        self._asked_for: dict[str, set[str]] = {}
        self.listeners: list[BuiltListener] = []
        self.moved: list[Callable[[str], None]] = []
        session.listeners.append(self._told)

    # What is known, at once. On the document's strand.

    def shown(self, snapshot: Snapshot) -> list[Shown]:
        """The newest build of each kernel, where one is known, with its lines as they are in this text."""
        document = uri_key(snapshot.uri)
        builds = self._shown.get(document)
        if builds is None:
            builds = ShownBuilds()
            if self._session.documents.get(snapshot.uri) is not None:
                self._shown[document] = builds
        return builds.update(snapshot, self._known, self._built)

    def wrong(self) -> frozenset[str]:
        """The names of kernels in which builds found something wrong."""
        return self._wrong

    def shown_of(self, snapshot: Snapshot, kernel: PlacedKernel) -> Shown | None:
        return next((each for each in self.shown(snapshot) if each.kernel is kernel), None)

    def known(
        self,
        snapshot: Snapshot,
        kernel: PlacedKernel,
        config: Mapping[str, int] | None = None,
        target: str | None = None,
    ) -> Known | None:
        """Of exactly this text of a kernel, in the shown configuration or another one."""
        return self._known(self._key(snapshot, kernel, content_of(snapshot, kernel), config, target))

    def looked_at(self, snapshot: Snapshot, first: int, last: int) -> None:
        """Somebody sees these lines: what is built there is wanted first."""
        self._looked_at[uri_key(snapshot.uri)] = first, last

    # What is waited for.

    def get(
        self,
        snapshot: Snapshot,
        kernel: PlacedKernel,
        config: Mapping[str, int] | None = None,
        *,
        machine_code: bool = False,
        checkpoint: Callable[[], None] = _go_on,
    ) -> Known:
        """Of this text of a kernel without an error: built now, unless it is known. Raises `WorkFailed`, whose text is
        for the user, and whatever `checkpoint` does, which is called while it waits."""
        found = self.begin(snapshot, kernel, config, machine_code=machine_code)
        return found if isinstance(found, Known) else found.result(checkpoint)

    def begin(
        self,
        snapshot: Snapshot,
        kernel: PlacedKernel,
        config: Mapping[str, int] | None = None,
        *,
        machine_code: bool = False,
    ) -> Known | Pending[Known]:
        """As `get`, without waiting."""
        content = content_of(snapshot, kernel)
        key = self._key(snapshot, kernel, content, config)
        found = self._known(key, machine_code=machine_code)
        if found is not None:
            return found
        task = self._task(snapshot, content, key, machine_code=machine_code)
        return Pending(task, self._builder, partial(_known_of, task))

    def run(
        self,
        name: str,
        function: Callable[[A], T],
        argument: A,
        seconds: float,
        checkpoint: Callable[[], None] = _go_on,
    ) -> T:
        """Anything else that needs NumPy or LLVM, in the building process: `function` is of a module that it can load,
        `name` what messages call it. Raises as `get` does."""
        task = Task(("run", object()), name, function, argument, seconds)
        pending: Pending[T] = Pending(task, self._builder, lambda result: result)
        return pending.result(checkpoint)

    def want_configurations(self, snapshot: Snapshot, kernel: PlacedKernel) -> None:
        """Somebody looks at a kernel's configurations: those that are not known are built when there is time."""
        document = self._session.documents.get(snapshot.uri)
        names = self._asked_for.setdefault(uri_key(snapshot.uri), set())
        if document is not None and kernel.ast.name.text not in names:
            names.add(kernel.ast.name.text)
            if snapshot.settings.build != "off":
                self._builder.later(document.uri, 0.0)

    def close(self) -> None:
        """Ends the building process. Nothing is built any more."""
        self._builder.close()

    @property
    def pid(self) -> int | None:
        """The building process, where there is one."""
        return self._builder.pid

    # Status.

    def checking(self, uri: str) -> bool:
        return self._builder.waits(uri) or uri in self._planning

    def pending(self, uri: str) -> list[str]:
        """What is being built of a document and shown, by the names for messages."""
        return [task.name for task in self._builder.pending(uri) if task.urgency == 0]

    def goes_on(self, uri: str) -> bool:
        """Whether more will be known of a document without anybody doing anything."""
        when = self._session.settings(uri).build
        if when == "off" or self.is_current(uri) or self.failures(uri):
            return False
        planned = uri in self._planned_for
        return when == "onType" or not planned or self.checking(uri) or bool(self.pending(uri))

    def is_fresh(self, uri: str) -> bool:
        """Whether all of a document as it is now is built."""
        return self.is_current(uri) and self._planned_for[uri][2]

    def is_current(self, uri: str) -> bool:
        """Whether all that can be built of a document as it is now is."""
        document, (lines, settings, _) = (
            self._session.documents.get(uri),
            self._planned_for.get(uri, (None, None, False)),
        )
        if document is None or lines is not document.revision.lines or settings != self._session.settings(uri):
            return False
        with self._lock:
            return all(isinstance(self._result(each), Known) for each in self._wanted.get(uri, ()))

    def failures(self, uri: str) -> list[Failure]:
        with self._lock:
            found = [self._result(identity) for identity in self._wanted.get(uri, ())]
        return [each for each in found if isinstance(each, Failure)]

    # Results.

    def _key(
        self,
        snapshot: Snapshot,
        kernel: PlacedKernel,
        content: Content,
        config: Mapping[str, int] | None = None,
        target: str | None = None,
    ) -> Key:
        settings = snapshot.settings
        chosen = {**shown_configuration(snapshot, kernel), **(config or {})}
        return key_of(content, settings, target or settings.options.target, chosen)

    def _known(self, key: Key, *, machine_code: bool = False) -> Known | None:
        with self._lock:
            for identity in ((key, True), (key, False)):
                found = self._results.get(identity)
                if isinstance(found, Known) and (identity[1] or not machine_code):
                    self._results.move_to_end(identity)
                    return found
        return None

    def _result(self, identity: Identity) -> Known | Failure | None:
        return self._results.get(identity) or self._results.get((identity[0], True))

    def _is_done(self, identity: Identity) -> bool:
        with self._lock:
            return self._result(identity) is not None

    def _task(
        self,
        snapshot: Snapshot,
        content: Content,
        key: Key,
        *,
        machine_code: bool,
        urgency: int = 0,
        after: float = 0.0,
    ) -> Task:
        job, items = job_of(snapshot, content, key, machine_code=machine_code)
        about = _About(snapshot.uri, (key, machine_code), items, snapshot.version)
        name = f"the build of `{content.kernel}`"
        return Task(about.identity, name, compile_job, job, BUILD_SECONDS, urgency, after, about)

    def _finished(self, task: Task, outcome: Any) -> None:
        """On the builder's thread."""
        if isinstance(outcome, Failure):
            self._log(outcome)
        if not isinstance(task.about, _About):
            return
        known = outcome if isinstance(outcome, Failure) else _known_of(task, outcome)
        with self._lock:
            self._results[task.about.identity] = known
            self._results.move_to_end(task.about.identity)
            while len(self._results) > sum(self._counts.values()) + SPARE:
                self._results.popitem(last=False)
            builds = [each.build for each in self._results.values() if isinstance(each, Known)]
            self._built = frozenset(build.kernel for build in builds)
            self._wrong = frozenset(build.kernel for build in builds if build.diagnostics)
        for document in self._session.documents:
            if document.uri == task.about.uri or task.about.identity in self._wanted.get(document.uri, ()):
                document.strand.later(KNOWN, partial(self._became_known, document))

    def _became_known(self, document: Document) -> None:
        self.shown(self._session.snapshot(document, document.revision))
        for listener in self.listeners:
            listener(document)

    def _log(self, failure: Failure) -> None:
        log.warning("%s", failure.detail or failure.message)
        self._session.log(lsp.MessageType.Warning, failure.message)

    # What is to be built of a document.

    def _told(self, event: Event, document: Document) -> None:
        """On the thread that reads messages."""
        uri = document.uri
        if event == "closed":
            self._builder.forget(uri)
            self._planning.discard(uri)
            for known in (self._shown, self._looked_at, self._asked_for):
                known.pop(uri_key(uri), None)
            self._wanted.pop(uri, None)
            self._planned_for.pop(uri, None)
            self._counts.pop(uri, None)
            return
        if event == "opened":
            self._shown.pop(uri_key(uri), None)  # the names of its lines begin anew
        when = self._session.settings(uri).build
        match event, when:
            case ("configured", _) | ("opened", "onType" | "onSave") | ("changed", "onType"):
                self._builder.later(uri, DEBOUNCE_SECONDS)
            case "saved", "onSave":
                self._builder.later(uri, 0.0)
            case _:
                self._builder.touch(uri)

    def _due(self, uri: str) -> None:
        document = self._session.documents.get(uri)
        if document is not None:
            self._planning.add(uri)
            document.strand.later(PLAN, partial(self._plan, document))

    def _plan(self, document: Document) -> None:
        snapshot = self._session.snapshot(document, document.revision)
        wanted = list(self._tasks(snapshot)) if snapshot.settings.build != "off" else []
        self._wanted[document.uri] = frozenset(identity for identity, urgency, _ in wanted if urgency == 0)
        self._counts[document.uri] = len(wanted)
        self.shown(snapshot)
        whole = not any(found.severity == "error" for found in snapshot.checked.diagnostics)
        buildable = whole and snapshot.settings.build != "off"
        self._planned_for[document.uri] = snapshot.lines, snapshot.settings, buildable
        if self._session.documents.get(document.uri) is not document:
            return  # it was closed meanwhile
        tasks = [task() for identity, _, task in wanted if not self._is_done(identity)]
        self._builder.plan(document.uri, tasks, lambda: self._planning.discard(document.uri))

    def _tasks(self, snapshot: Snapshot) -> Iterator[tuple[Identity, int, Callable[[], Task]]]:
        """Those that are done too, in the order in which they are wanted, each with its urgency."""
        quiet = time.monotonic() + QUIET_SECONDS
        settings = snapshot.settings
        for kernel in self._kernels(snapshot):
            content = content_of(snapshot, kernel)
            key = self._key(snapshot, kernel, content)
            keys = [(key, "lines" in settings.hints, 0, 0.0)]
            keys += [(replace(key, target=target), False, 1, quiet) for target in settings.targets[1:]]
            if kernel.ast.name.text in self._asked_for.get(uri_key(snapshot.uri), ()):
                configs = islice(listed_configurations(kernel), MOST_CONFIGURATIONS)
                keys += [(key_of(content, settings, key.target, config), False, 2, 0.0) for config in configs]
            for each, code, urgency, after in dict.fromkeys(keys):
                make = partial(self._task, snapshot, content, each, machine_code=code, urgency=urgency, after=after)
                yield (each, code), urgency, make

    def _kernels(self, snapshot: Snapshot) -> list[PlacedKernel]:
        """Those without an error; those that somebody looks at first."""
        first, last = self._looked_at.get(uri_key(snapshot.uri), (0, 0))

        def unseen(kernel: PlacedKernel) -> bool:
            start = snapshot.lines.position(kernel.offset).line
            return start > last or snapshot.lines.position(kernel.offset + kernel.ast.span.end).line < first

        return sorted((k for k in snapshot.kernels() if k.kernel is not None), key=unseen)[:MOST_KERNELS]

    def _moved(self, uri: str) -> None:
        for listener in self.moved:
            listener(uri)


@dataclass(frozen=True, slots=True)
class _About:
    """The text that a task is of."""

    uri: str
    identity: Identity
    items: tuple[Item, ...]
    version: int | None


def _known_of(task: Task, build: Build) -> Known:
    return Known(build, task.about.items, task.about.version)
