"""The report of a build as JSON values: the object of `build --format json`, whose keys are the model's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from phobos_core.report import diagnostics
from phobos_core.report.model import SCHEMA, KernelReport, Toolchain
from phobos_core.report.source import Finding


def to_json(value: Any) -> Any:
    """Dataclasses and mappings become dicts, tuples lists; everything else is a JSON value already."""
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def build_json(toolchain: Toolchain, kernels: Sequence[KernelReport], findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "toolchain": to_json(toolchain),
        "kernels": to_json(tuple(kernels)),
        "diagnostics": [diagnostics.as_json(finding) for finding in findings],
    }
