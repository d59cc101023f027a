"""Which configuration of a kernel hints, hovers and builds are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from phobos_core import analysis
from phobos_core.analysis import PlacedKernel
from phobos_ls.snapshot import Snapshot

# A search space may be larger than anyone looks at.
MOST_LISTED = 64


def shown_configuration(snapshot: Snapshot, kernel: PlacedKernel) -> dict[str, int]:
    """A value for each `@autotune` name: the one that was picked for this kernel, else that of the settings, else its
    first choice. A value that is no choice of the kernel's is passed over."""
    if kernel.kernel is None:
        return {}
    settings = snapshot.settings
    common = {} if isinstance(settings.options.config, str) else settings.options.config
    wanted = {**common, **settings.picked.get(kernel.ast.name.text, {})}
    return {
        name: wanted[name] if wanted.get(name) in choices else choices[0]
        for name, choices in kernel.kernel.search.items()
        if choices
    }


def shown_values(snapshot: Snapshot, kernel: PlacedKernel) -> Mapping[str, int]:
    """Of every name that has a value: those of the configuration, and the dimensions that the settings bind."""
    return {**shown_configuration(snapshot, kernel), **snapshot.settings.options.bindings}


def listed_configurations(kernel: PlacedKernel) -> Iterator[dict[str, int]]:
    """The configurations of a kernel, the first choices first, as many as anyone looks at."""
    if kernel.kernel is None:
        return iter(())
    return islice(iter(analysis.configurations(kernel.kernel)), MOST_LISTED)
