"""Configurations: the choices of `@autotune` names that a kernel is built with, never all in memory at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from phobos_core.analysis.program import CheckedKernel


class ConfigurationError(ValueError):
    """A configuration that was asked for does not exist; the text says why."""


@dataclass(frozen=True, slots=True)
class Configurations:
    """The search space of one kernel. Iterating gives every configuration, the first choices first, lazily."""

    kernel: str
    search: Mapping[str, tuple[int, ...]]

    def __len__(self) -> int:
        return prod(len(choices) for choices in self.search.values())

    def __iter__(self) -> Iterator[dict[str, int]]:
        for values in product(*self.search.values()):
            yield dict(zip(self.search, values, strict=True))

    def first(self) -> dict[str, int]:
        """The first choice of every name: the configuration that is built unless another is asked for."""
        return {name: choices[0] for name, choices in self.search.items()}

    def named(self, overrides: Mapping[str, int]) -> dict[str, int]:
        """The first configuration with some names chosen. Raises ConfigurationError for what is no choice."""
        for name, value in overrides.items():
            choices = self.search.get(name)
            if choices is None:
                known = ", ".join(self.search) or "none"
                raise ConfigurationError(
                    f"`{name}` is not an @autotune name of kernel `{self.kernel}` (its names: {known})"
                )
            if value not in choices:
                listed = ", ".join(map(str, choices))
                raise ConfigurationError(f"{name}={value} is not a choice of kernel `{self.kernel}`: {listed}")
        return {**self.first(), **overrides}

    def at_most(self, count: int) -> list[dict[str, int]]:
        """The first `count` configurations."""
        return list(islice(self, count))


def configurations(kernel: CheckedKernel) -> Configurations:
    return Configurations(kernel.name, kernel.search)
