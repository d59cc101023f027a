"""Which configurations of a kernel are compiled, and whether the names that the options bind exist.

In: checked kernels and the options. Out: mappings from `@autotune` name to value, made one at a time, since a search
space may be large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from phobos_core import analysis
from phobos_core.analysis.program import CheckedKernel
from phobos_core.runtime.frontend import Names
from phobos_core.runtime.options import Options, UsageError, near


def configurations(kernel: CheckedKernel, options: Options) -> Iterator[dict[str, int]]:
    """In the order of the search space, the last name fastest. A kernel without `@autotune` has one, the empty one."""
    space = analysis.configurations(kernel)
    if options.config == "all":
        return iter(space)
    if options.config == "first":
        return iter([space.first()])
    try:
        return iter([space.named({name: v for name, v in options.config.items() if name in kernel.search})])
    except analysis.ConfigurationError as error:
        raise UsageError(str(error)) from error


def check_names(kernels: Iterable[Names], options: Options) -> None:
    """Every name that the options bind has to exist in at least one of the kernels."""
    known = list(kernels)
    searched = sorted({name for kernel in known for name in kernel.search})
    dims = sorted({name for kernel in known for name in kernel.dims})
    if not isinstance(options.config, str):
        _all_known(options.config, searched, "an @autotune name")
    _all_known(options.bindings, [*dims, *searched], "a dynamic dimension or @autotune name")


def _all_known(names: Mapping[str, int], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            have = f"there are {', '.join(known)}" if known else "there are none"
            raise UsageError(f"no kernel has {what} `{name}`; {have}{near(name, known)}")
