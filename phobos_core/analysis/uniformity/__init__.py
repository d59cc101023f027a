"""How far each value and all control may differ between the threads of a CTA, and the rules that follow from it.

In: the statements of a checked kernel, functions inlined. Out: diagnostics in the spec's words with the chain of
reasons, the statements with `per_thread` and `control` written on them, and `Uniformity`, which answers for a value or
a name (an editor asks). The order of the work: `statements` and `collect` read the kernel once into a graph of what
differs because of what (`graph`) and the operations that threads do together (`events`, `tiles`); `buffers` follows the
per-thread stores; `rules` judges; `reasons` explains; `marks` writes the results down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.buffers import early_reads
from phobos_core.analysis.uniformity.collect import Collector, uses_of
from phobos_core.analysis.uniformity.graph import NOWHERE, Use
from phobos_core.analysis.uniformity.marks import marked
from phobos_core.analysis.uniformity.reasons import Texts, text_in, why_used
from phobos_core.analysis.uniformity.rules import Rules, broken_rules
from phobos_core.analysis.uniformity.statements import collect
from phobos_core.language.context import Variation
from phobos_core.language.diagnostic import Diagnostic, Related


class Uniformity:
    """Answers how far something differs, and why. Made once the kernel is read; only reads from then on."""

    __slots__ = ("_read", "_text")

    def __init__(self, read: Collector, text: Texts) -> None:
        self._read = read
        self._text = text

    def variation(self, of: pg.Expr | pg.Symbol) -> Variation:
        """Of a scalar symbol, at any place where it is known, or of an expression of this kernel."""
        use = self._worst(of)
        return Variation.UNIFORM if use is None else self._read.graph.levels[use.node]

    def reasons(self, of: pg.Expr | pg.Symbol) -> tuple[Related, ...]:
        """The chain back to the source of the variation; empty for what is uniform."""
        use = self._worst(of)
        return () if use is None else why_used(self._read.graph, self._text, use)

    def _worst(self, of: pg.Expr | pg.Symbol) -> Use | None:
        read = self._read
        if isinstance(of, pg.Symbol):
            node = read.nodes.get(of)
            uses = [] if node is None else [Use(node, NOWHERE, None)]
        else:
            uses = uses_of(replace(read, uses=[], operations=[]), of)
        return read.graph.worst(uses)


@dataclass(frozen=True, slots=True)
class Inferred:
    """`body` is the kernel's, marked."""

    body: tuple[pg.Stmt, ...]
    uniformity: Uniformity
    diagnostics: tuple[Diagnostic, ...]


def infer(body: tuple[pg.Stmt, ...], items: Mapping[str, bytes], *, whole: bool = True) -> Inferred:
    """`items` has the text of the kernel, under the empty name, and those of the functions that it calls. Where the
    program is not `whole`, since statements in error are missing, nothing is said of a missing `barrier()`."""
    read = collect(body)
    read.graph.spread()
    text = text_in(items)
    early = early_reads(read) if whole else {}
    diagnostics = tuple(broken_rules(Rules(read, early, text)))
    return Inferred(marked(read, body), Uniformity(read, text), diagnostics)


# Of a kernel in which nothing could differ.
EVERYTHING_UNIFORM = infer((), {})
