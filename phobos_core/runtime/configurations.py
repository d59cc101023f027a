"""Which configurations of a kernel are compiled: its `@autotune` names, each bound to one choice.

In: a checked kernel and the options. Out: mappings from name to value, made one at a time, since a search space may
have millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from phobos_core.analysis.program import CheckedKernel
from phobos_core.runtime.options import Options, UsageError, near


def configurations(kernel: CheckedKernel, options: Options) -> Iterator[dict[str, int]]:
    """In the order of the search space, the last name fastest. A kernel without `@autotune` has one, the empty one."""
    choices = [_choices(name, values, kernel, options) for name, values in kernel.search.items()]
    return (dict(zip(kernel.search, values, strict=True)) for values in product(*choices))


def _choices(name: str, values: tuple[int, ...], kernel: CheckedKernel, options: Options) -> tuple[int, ...]:
    if name in options.bindings:
        return (options.bindings[name],)
    if options.config == "all":
        return values
    if options.config == "first" or name not in options.config:
        return values[:1]
    value = options.config[name]
    if value not in values:
        raise UsageError(f"{name}={value} is not a choice of kernel `{kernel.name}`: {_listed(values)}")
    return (value,)


def _listed(values: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, values[:most]))
    return f"it has {shown}" + (f", ... ({len(values)} in all)" if len(values) > most else "")


def bound_dims(kernel: CheckedKernel, bindings: Mapping[str, int]) -> dict[str, int]:
    """The dynamic dimensions of the kernel that `-D` binds."""
    return {name: bindings[name] for name in kernel.dims if name in bindings}


def check_names(kernels: Sequence[CheckedKernel], options: Options) -> None:
    """Every name that the options bind has to exist in at least one of the kernels."""
    searched = {name for kernel in kernels for name in kernel.search}
    dims = {name for kernel in kernels for name in kernel.dims}
    if not isinstance(options.config, str):
        _all_known(options.config, searched, "@autotune name")
    _all_known(options.bindings, searched | dims, "dynamic dimension or @autotune name")


def _all_known(names: Mapping[str, int], known: set[str], what: str) -> None:
    for name in names:
        if name not in known:
            have = f"there are {', '.join(sorted(known))}" if known else "there are none"
            raise UsageError(f"no kernel has a {what} `{name}`; {have}{near(name, known)}")
