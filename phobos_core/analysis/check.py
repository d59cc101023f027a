"""The checker's entry: a parsed file -> diagnostics, and the checked program of each kernel without errors.

A kernel's result is remembered, in a cache that the caller owns, by what it depends on: its text, the functions it
reaches, and the options. Text that moves down costs nothing. A mistake in a function's body that several calls reach is
one diagnostic, with the calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from phobos_core.analysis.context import Options, see
from phobos_core.analysis.damage import UNDAMAGED, Damage, damage_of
from phobos_core.analysis.functions import Facts, facts_of
from phobos_core.analysis.kernel import KernelResult, check_kernel
from phobos_core.analysis.library import Library, Text, any_within, function_rules, library_of
from phobos_core.analysis.program import CheckedKernel, Symbol
from phobos_core.analysis.uniformity import EVERYTHING_UNIFORM, Uniformity
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.language.records import dataclass
from phobos_core.syntax.ast import Function, Kernel, PlacedItem, Span

if TYPE_CHECKING:
    from phobos_core.syntax.source import SourceFile

# The options: dimensions, target, and the width of an index.
Chosen: TypeAlias = tuple[tuple[tuple[str, int], ...], str, int]
# A kernel's text, and its damage where it has any.
CacheKey: TypeAlias = tuple[bytes, Chosen, Damage | None]
# The functions that a kernel calls, each with the text it had, or None where there was none.
Reached: TypeAlias = tuple[tuple[str, Text | None], ...]


# A mistake in a body that many calls reach is shown with the first of them.
MOST_RELATED = 10


@dataclass(frozen=True, slots=True)
class PlacedKernel:
    """`offset` is where the kernel's first byte stands; spans inside are relative to it, those of a function's body to
    the function. `references` are what names mean, `calls` the functions that are called."""

    offset: int
    kernel: CheckedKernel | None
    ast: Kernel
    references: tuple[tuple[Span, Symbol], ...] = ()
    symbols: tuple[Symbol, ...] = ()
    calls: tuple[tuple[Span, str], ...] = ()
    uniformity: Uniformity = EVERYTHING_UNIFORM.uniformity


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """`diagnostics` are those of the syntax too, by their place in the file."""

    source: SourceFile
    diagnostics: tuple[Diagnostic, ...]
    kernels: tuple[PlacedKernel, ...]
    library: Library


class AnalysisCache:
    """Results of kernels, the most recently used ones. Not for use by two threads at once."""

    def __init__(self, capacity: int = 1024) -> None:
        self._results: OrderedDict[CacheKey, tuple[Reached, KernelResult]] = OrderedDict()
        self._facts: OrderedDict[bytes, Facts] = OrderedDict()
        self._capacity = capacity

    def keep(self, most: int) -> None:
        """How many results are kept from now on."""
        self._capacity = most

    def facts(self, text: bytes, function: Function) -> Facts:
        found = self._facts.get(text)
        if found is None:
            found = self._facts[text] = facts_of(function)
        self._facts.move_to_end(text)
        while len(self._facts) > self._capacity:
            self._facts.popitem(last=False)
        return found

    def get(self, key: CacheKey, texts: Mapping[str, Text]) -> KernelResult | None:
        entry = self._results.get(key)
        if entry is None:
            return None
        reached, result = entry
        if reached and any(texts.get(name) != text for name, text in reached):
            return None
        self._results.move_to_end(key)
        return result

    def put(self, key: CacheKey, texts: Mapping[str, Text], result: KernelResult) -> None:
        reached = tuple((name, texts.get(name)) for name in sorted(result.called))
        self._results[key] = (reached, result)
        self._results.move_to_end(key)
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)


def check(
    source: SourceFile,
    *,
    dims: Mapping[str, int] | None = None,
    target: str = "sm_80",
    index_bits: int = 64,
    cache: AnalysisCache | None = None,
    checkpoint: Callable[[], None] | None = None,
) -> CheckedFile:
    """Checks every kernel of a file. `dims` binds dimensions and overrides `@autotune` names, as `-D` does.

    `checkpoint` is called before each kernel. Where it raises, the check is given up, and what was found until then is
    in the cache.
    """
    options = Options(dict(dims or {}), target, index_bits)
    chosen = tuple(sorted(options.dims.items())), target, index_bits
    cache = cache or AnalysisCache()
    syntax_errors = sorted(diagnostic.start for diagnostic in source.diagnostics if diagnostic.severity == "error")
    library = library_of(source.text, source.items, syntax_errors, cache.facts)
    diagnostics = [*source.diagnostics, *_file_rules(source), *function_rules(library)]
    broken = sorted(diagnostic.start for diagnostic in diagnostics if diagnostic.severity == "error")
    wrong = library.wrong(broken)
    kernels = []
    end = 0
    for placed in source.items:
        start, end = end, placed.offset + len(placed.text)
        if not isinstance(placed.item, Kernel):
            continue
        if checkpoint is not None:
            checkpoint()
        damage = UNDAMAGED
        if syntax_errors:
            damage = damage_of(source.text, syntax_errors, start, placed.offset, placed.item)
        key = placed.text, chosen, None if damage is UNDAMAGED else damage
        result = cache.get(key, library.texts)
        if result is None:
            result = check_kernel(placed.item, placed.text, library, options, damage)
            cache.put(key, library.texts, result)
        if result.diagnostics:
            offsets = {**library.offsets, "": placed.offset}
            diagnostics.extend(diagnostic.placed(offsets.__getitem__) for diagnostic in result.diagnostics)
        failed = (broken and any_within(broken, placed.offset, end)) or not wrong.isdisjoint(result.called)
        kernel = None if failed else result.kernel
        kernels.append(
            PlacedKernel(
                placed.offset,
                kernel,
                placed.item,
                result.references,
                result.symbols,
                result.calls,
                result.uniformity,
            )
        )
    return CheckedFile(source, _in_order(diagnostics), tuple(kernels), library)


def _in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By their places, and what is said several times of one place once, with every related place."""
    merged: dict[tuple[int, int, str, str], Diagnostic] = {}
    for found in diagnostics:
        key = (found.start, found.end, found.code, found.message)
        first = merged.get(key)
        if first is not None and first.related != found.related:
            found = replace(first, related=tuple(dict.fromkeys((*first.related, *found.related))))
        merged[key] = found
    shortened = (found if len(found.related) <= MOST_RELATED else _shortened(found) for found in merged.values())
    return tuple(sorted(shortened, key=lambda d: (d.start, d.end, d.code)))


def _shortened(found: Diagnostic) -> Diagnostic:
    *kept, last = found.related[:MOST_RELATED]
    more = len(found.related) - MOST_RELATED
    return replace(found, related=(*kept, replace(last, message=f"{last.message}, and {more} more places like it")))


# PTX's one predefined identifier that Phobos could spell, and the one name that is no PTX identifier.
_NO_ENTRY = frozenset({"WARP_SZ", "_"})


def _file_rules(source: SourceFile) -> list[Diagnostic]:
    """Rules between items: names of kernels and functions, and a file with nothing in it."""
    found: list[Diagnostic] = []
    if not source.items and not source.diagnostics:
        found.append(Diagnostic("no-kernels", "warning", 0, 0, "the file declares no kernel"))
    first: dict[tuple[type, str], PlacedItem] = {}
    for placed in source.items:
        item, name = placed.item, placed.item.name.text
        earlier = first.setdefault((type(item), name), placed)
        if earlier is placed and name not in _NO_ENTRY:
            continue
        span = _name_span(placed)
        if earlier is not placed:
            kind = "kernel" if isinstance(item, Kernel) else "function"
            message = f"a {kind} named `{name}` is already declared in this file"
            related = (see(_name_span(earlier), "declared here"),)
            found.append(Diagnostic("duplicate-name", "error", span.start, span.end, message, related))
        if isinstance(item, Kernel) and name in _NO_ENTRY:
            message = f"`{name}` cannot name a kernel: its entry in the PTX has that name, which PTX does not allow"
            found.append(
                Diagnostic("reserved-name", "error", span.start, span.end, message, help="choose another name")
            )
    return found


def _name_span(placed: PlacedItem) -> Span:
    return placed.item.name.span.shifted(placed.offset)
