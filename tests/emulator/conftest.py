"""Helpers for the emulator's tests: PTX around one instruction, and PTX that LLVM emits."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
import pytest

from phobos_core.emulator import launch

Array = npt.NDArray[Any]

HEADER = ".version 8.6\n.target sm_100\n.address_size 64\n"
THREADS = 64


def _kind(dtype: np.dtype[Any]) -> str:
    return f"b{8 * dtype.itemsize}"


def instruction_ptx(body: str, inputs: dict[str, Array], result: np.dtype[Any], registers: str = "") -> str:
    """A kernel whose thread i loads element i of each input into a register of its name, and stores %d."""
    parameters = ", ".join(f".param .u64 p_{name}" for name in ["d", *inputs])
    lines = [f".reg .b64 %addr, %i; .reg .b32 %t, %cta; .reg .{_kind(result)} %d; {registers}"]
    lines += ["mov.u32 %t, %tid.x; mov.u32 %cta, %ctaid.x; mad.lo.u32 %t, %cta, 64, %t; cvt.u64.u32 %i, %t;"]
    for name, values in inputs.items():
        kind = _kind(values.dtype)
        register = "b16" if kind == "b8" else kind
        lines += [
            f".reg .{register} %{name};",
            f"ld.param.u64 %addr, [p_{name}]; mad.lo.s64 %addr, %i, {values.itemsize}, %addr;",
            f"ld.global.{kind} %{name}, [%addr];",
        ]
    lines += [
        body,
        f"ld.param.u64 %addr, [p_d]; mad.lo.s64 %addr, %i, {result.itemsize}, %addr;",
        f"st.global.{_kind(result)} [%addr], %d;",
        "ret;",
    ]
    text = "\n".join(lines)
    return f"{HEADER}.visible .entry k({parameters})\n.maxntid {THREADS}\n{{\n{text}\n}}\n"


Apply = Callable[..., Array]


@pytest.fixture
def apply() -> Apply:
    """`apply("add.s32 %d, %a, %b;", "i4", a=..., b=...)`: the instruction on each element."""

    def run(body: str, result: Any, *, registers: str = "", **inputs: Array) -> Array:
        dtype = np.dtype(result)
        rows = [np.asarray(each) for each in inputs.values()]
        size = max(each.size for each in rows)
        padded = -(-size // THREADS) * THREADS
        inputs = {name: np.resize(np.asarray(each), padded) for name, each in inputs.items()}
        out = np.zeros(padded, dtype)
        ptx = instruction_ptx(body, inputs, dtype, registers)
        launch(ptx, "k", (padded // THREADS, 1, 1), [out, *inputs.values()])
        return out[:size]

    return run


@pytest.fixture
def emit() -> Callable[[str, str], str]:
    """PTX that LLVM's NVPTX target writes for textual IR, optimised as a compiler would."""

    def run(ir: str, cpu: str) -> str:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
        machine = target.create_target_machine(cpu=cpu, opt=3)
        module = llvm.parse_assembly(ir)
        module.verify()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        return str(machine.emit_assembly(module))

    return run


FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}


@pytest.fixture
def round_exact() -> Callable[[Fraction, str, str], float]:
    """A rational number rounded to a binary format in a mode, by integer arithmetic alone."""

    def run(value: Fraction, form: str, mode: str = "rn") -> float:
        precision, least, most = FORMATS[form]
        if value == 0:
            return 0.0
        size = abs(value)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        while size >= Fraction(2) ** (exponent + 1):
            exponent += 1
        while size < Fraction(2) ** exponent:
            exponent -= 1
        unit = Fraction(2) ** (max(exponent, least) - precision + 1)
        whole, rest = divmod(size / unit, 1)
        up = {
            "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
            "rz": False,
            "rp": rest > 0 and value > 0,
            "rm": rest > 0 and value < 0,
        }[mode]
        rounded = (whole + up) * unit
        largest = (Fraction(2) - Fraction(2) ** (1 - precision)) * Fraction(2) ** most
        if rounded > largest:
            toward_zero = mode == "rz" or (mode == "rp" and value < 0) or (mode == "rm" and value > 0)
            return float(largest if toward_zero else np.inf) * (1 if value > 0 else -1)
        return float(rounded) * (1 if value > 0 else -1)

    return run


@pytest.fixture
def kernel() -> Callable[..., str]:
    """A module around a body: pointers in %g0, %g1, ..., the thread in %t, its word of the first at [%q]."""

    def run(body: str, parameters: int = 1, threads: int = 64, declarations: str = "") -> str:
        listed = ", ".join(f".param .u64 p{i}" for i in range(parameters))
        loads = "\n".join(f"ld.param.u64 %g{i}, [p{i}];" for i in range(parameters))
        registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %t, %r<32>;.reg .b64 %rd<16>, %g<4>, %o, %q;"
        start = "mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.s64 %q, %g0, %o;"
        return (
            f"{HEADER}.visible .entry k({listed})\n.maxntid {threads}\n{{\n{registers}\n{declarations}\n"
            f"{loads}\n{start}\n{body}\n}}\n"
        )

    return run
