"""The checker's entry: a parsed file -> diagnostics, and the checked program of each kernel without errors.

A kernel's result is remembered, in a cache that the caller owns, by what it depends on: its text, the functions it
reaches, and the options. Text that moves down costs nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from phobos_core.analysis.context import Options, see
from phobos_core.analysis.damage import Damage, damage_of
from phobos_core.analysis.kernel import KernelResult, check_kernel
from phobos_core.analysis.program import CheckedKernel, Symbol
from phobos_core.analysis.uniformity import EVERYTHING_UNIFORM, Uniformity
from phobos_core.language.builtins import BUILTIN_NAMES
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax.ast import Function, Kernel, PlacedItem, Span

if TYPE_CHECKING:
    from phobos_core.syntax.source import SourceFile

CacheKey: TypeAlias = tuple[bytes, tuple[tuple[str, int], ...], str, int, Damage]
# The functions that a kernel calls, each with the text it had, or None where there was none.
Reached: TypeAlias = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class PlacedKernel:
    """`offset` is where the kernel's first byte stands; all spans inside are relative to it."""

    offset: int
    kernel: CheckedKernel | None
    ast: Kernel
    references: tuple[tuple[Span, Symbol], ...] = ()
    symbols: tuple[Symbol, ...] = ()
    uniformity: Uniformity = EVERYTHING_UNIFORM.uniformity


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """`diagnostics` are those of the syntax too, by their place in the file."""

    source: SourceFile
    diagnostics: tuple[Diagnostic, ...]
    kernels: tuple[PlacedKernel, ...]


class AnalysisCache:
    """Results of kernels, the most recently used ones. Not for use by two threads at once."""

    def __init__(self, capacity: int = 1024) -> None:
        self._results: OrderedDict[CacheKey, tuple[Reached, KernelResult]] = OrderedDict()
        self._capacity = capacity

    def get(self, key: CacheKey, texts: Mapping[str, bytes]) -> KernelResult | None:
        entry = self._results.get(key)
        if entry is None or any(texts.get(name) != text for name, text in entry[0]):
            return None
        self._results.move_to_end(key)
        return entry[1]

    def put(self, key: CacheKey, texts: Mapping[str, bytes], result: KernelResult) -> None:
        reached = tuple((name, texts.get(name)) for name in sorted(result.called))
        self._results[key] = (reached, result)
        self._results.move_to_end(key)
        if len(self._results) > self._capacity:
            self._results.popitem(last=False)


def check(
    source: SourceFile,
    *,
    dims: Mapping[str, int] | None = None,
    target: str = "sm_80",
    index_bits: int = 64,
    cache: AnalysisCache | None = None,
) -> CheckedFile:
    """Checks every kernel of a file. `dims` binds dimensions and overrides `@autotune` names, as `-D` does."""
    options = Options(dict(dims or {}), target, index_bits)
    functions: dict[str, Function] = {}
    texts: dict[str, bytes] = {}
    for placed in source.items:
        if isinstance(placed.item, Function):
            functions.setdefault(placed.item.name.text, placed.item)
            texts.setdefault(placed.item.name.text, _text(source, placed))
    diagnostics = [*source.diagnostics, *_file_rules(source)]
    syntax_errors = sorted(diagnostic.start for diagnostic in source.diagnostics if diagnostic.severity == "error")
    broken = sorted(diagnostic.start for diagnostic in diagnostics if diagnostic.severity == "error")
    kernels = []
    end = 0
    for placed in source.items:
        start, end = end, placed.offset + placed.item.span.end
        if not isinstance(placed.item, Kernel):
            continue
        damage = damage_of(source.text, syntax_errors, start, placed.offset, placed.item)
        result = _result(source, placed, placed.item, functions, texts, options, damage, cache)
        diagnostics.extend(diagnostic.shifted(placed.offset) for diagnostic in result.diagnostics)
        kernel = None if _any_within(broken, placed.offset, end) else result.kernel
        kernels.append(
            PlacedKernel(placed.offset, kernel, placed.item, result.references, result.symbols, result.uniformity)
        )
    return CheckedFile(source, _in_order(diagnostics), tuple(kernels))


def _result(
    source: SourceFile,
    placed: PlacedItem,
    kernel: Kernel,
    functions: Mapping[str, Function],
    texts: Mapping[str, bytes],
    options: Options,
    damage: Damage,
    cache: AnalysisCache | None,
) -> KernelResult:
    text = _text(source, placed)
    items = {"": text, **texts}
    if cache is None:
        return check_kernel(kernel, functions, options, damage, items)
    key = (text, tuple(sorted(options.dims.items())), options.target, options.index_bits, damage)
    result = cache.get(key, texts)
    if result is None:
        result = check_kernel(kernel, functions, options, damage, items)
        cache.put(key, texts, result)
    return result


def _text(source: SourceFile, placed: PlacedItem) -> bytes:
    return source.text[placed.offset : placed.offset + placed.item.span.end]


def _any_within(places: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the sorted places is from start to end."""
    first = bisect_left(places, start)
    return first < len(places) and places[first] <= end


def _in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    unique = dict.fromkeys(diagnostics)
    return tuple(sorted(unique, key=lambda d: (d.start, d.end, d.code)))


# PTX's one predefined identifier that Phobos could spell, and the one name that is no PTX identifier.
_NO_ENTRY = frozenset({"WARP_SZ", "_"})


def _file_rules(source: SourceFile) -> list[Diagnostic]:
    """Rules between items: names of kernels and functions, and a file with nothing in it."""
    found: list[Diagnostic] = []
    if not source.items and not source.diagnostics:
        found.append(Diagnostic("no-kernels", "warning", 0, 0, "the file declares no kernel"))
    first: dict[tuple[type, str], Span] = {}
    for placed in source.items:
        name = placed.item.name
        span = name.span.shifted(placed.offset)
        earlier = first.setdefault((type(placed.item), name.text), span)
        kind = "kernel" if isinstance(placed.item, Kernel) else "function"
        if earlier != span:
            message = f"a {kind} named `{name.text}` is already declared in this file"
            related = (see(earlier, "declared here"),)
            found.append(Diagnostic("duplicate-name", "error", span.start, span.end, message, related))
        if isinstance(placed.item, Kernel) and name.text in _NO_ENTRY:
            message = (
                f"`{name.text}` cannot name a kernel: its entry in the PTX has that name, which PTX does not allow"
            )
            found.append(
                Diagnostic("reserved-name", "error", span.start, span.end, message, help="choose another name")
            )
        if isinstance(placed.item, Function):
            found.extend(d.shifted(placed.offset) for d in _function_rules(placed.item))
    return found


def _function_rules(function: Function) -> list[Diagnostic]:
    """What is wrong with a function wherever it is called; its body is checked at each call."""
    found: list[Diagnostic] = []
    name = function.name
    if name.text in BUILTIN_NAMES:
        message = f"`{name.text}` is a built-in, and every call of that name means it"
        found.append(Diagnostic("builtin-redefined", "error", *name.span, message, help="choose another name"))
    first: dict[str, Span] = {}
    for param in function.params:
        earlier = first.setdefault(param.text, param.span)
        if earlier != param.span:
            message = f"`{param.text}` is already a parameter of `{name.text}`"
            related = (see(earlier, "declared here"),)
            found.append(Diagnostic("duplicate-name", "error", *param.span, message, related))
    return found
