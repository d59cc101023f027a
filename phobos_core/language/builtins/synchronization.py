"""The calls of the spec's section Indexing and synchronization: barriers, atomics, flags of the host.

The fields of `ctx`, which the same section lists, are in `language.context`.
"""

from __future__ import annotations

from phobos_core.language.builtins.schema import (
    INTEGERS,
    SCALARS,
    Builtin,
    Form,
    OperandKind,
    Param,
    Scope,
    Section,
    Use,
    scalar_result,
    uniform_scalar,
)
from phobos_core.language.types import F32, I32, INDEX, ScalarType

NOTHING = scalar_result("The index 0: called for its effect.", INDEX)
ONCE = "Happens once per block, between two CTA barriers; every thread gets the same old value."


def tensor(name: str, doc: str, elements: tuple[ScalarType, ...], variable: str = "") -> Param:
    return Param(name, (OperandKind.TENSOR,), doc, elements, variable)


FLAG = tensor("t", "A tensor parameter of i32.", (I32,))
POSITION = uniform_scalar("i", "Which element.", INTEGERS)


def atomic_add_form(element: ScalarType, addends: tuple[ScalarType, ...]) -> Form:
    return Form(
        (
            tensor("t", f"A tensor parameter of {element}.", (element,)),
            POSITION,
            uniform_scalar("v", "What is added.", addends),
        ),
        scalar_result("The value before the addition.", element),
        Scope.CTA,
    )


BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        "barrier",
        Section.SYNCHRONIZATION,
        (Form((), NOTHING, Scope.CTA),),
        "Makes every thread of the CTA wait for all the others, after which each sees their earlier stores.",
        """\
kernel reverse(A: tensor<f32>[256], B: tensor<f32>[256], O: tensor<f32>[256]) {
  let i = ctx.thread
  B[i] = A[i]
  barrier()
  O[i] = B[255 - i]
}
""",
        ("Only under uniform control.",),
        use=Use.EITHER,
    ),
    Builtin(
        "grid_barrier",
        Section.SYNCHRONIZATION,
        (Form((tensor("bar", "An i32 tensor of at least 2 elements.", (I32,)),), NOTHING, Scope.CTA),),
        "Makes every block of the grid wait for all the others, after which each sees their global writes.",
        """\
@persistent
kernel two_phases(X: tensor<f32>[N], Y: tensor<f32>[N], BAR: tensor<i32>[2]) {
  let first = ctx.block.x * 256
  X[first :+ 256] = X[first :+ 256] * 2.0
  grid_barrier(BAR)
  Y[first :+ 256] = X[first :+ 256] + 1.0
}
""",
        (
            "Needs `@persistent`: the whole grid must be resident at once, and one-dimensional.",
            "The tensor is zeroed once before the launch and not shared by kernels that run at the same time.",
            "Every block must reach the call.",
        ),
        use=Use.EITHER,
    ),
    Builtin(
        "atomic_add",
        Section.SYNCHRONIZATION,
        (atomic_add_form(I32, INTEGERS), atomic_add_form(F32, SCALARS)),
        "Adds to one element of a tensor atomically across the device and gives the value before.",
        """\
kernel count_blocks(COUNT: tensor<i32>[1]) {
  let ticket = atomic_add(COUNT, 0, 1)
}
""",
        (ONCE, "The old value is uniform, so it may steer control flow."),
        use=Use.EITHER,
    ),
    Builtin(
        "atomic_cas",
        Section.SYNCHRONIZATION,
        (
            Form(
                (
                    FLAG,
                    POSITION,
                    uniform_scalar("e", "The value that is expected.", INTEGERS),
                    uniform_scalar("v", "What is stored if it is found.", INTEGERS),
                ),
                scalar_result("The value before.", I32),
                Scope.CTA,
            ),
        ),
        "Replaces one element of a tensor if it holds the expected value, atomically, and gives the value before.",
        """\
kernel claim(LOCK: tensor<i32>[1]) {
  let old = atomic_cas(LOCK, 0, 0, 1)
}
""",
        (ONCE,),
        use=Use.EITHER,
    ),
    Builtin(
        "load_acquire",
        Section.SYNCHRONIZATION,
        (Form((FLAG, POSITION), scalar_result("The value of the element.", I32), Scope.CTA),),
        "Reads a flag with acquire ordering at system scope: what was written before the flag was raised can"
        " be seen afterwards.",
        """\
kernel wait_for_host(FLAG: tensor<i32>[1]) {
  while load_acquire(FLAG, 0) == 0 {}
}
""",
        ("Read once per block, every thread getting the value.", "Compiles at 64-bit indices."),
        use=Use.EITHER,
        min_target=70,
        min_index_bits=64,
    ),
    Builtin(
        "store_release",
        Section.SYNCHRONIZATION,
        (
            Form(
                (FLAG, POSITION, uniform_scalar("v", "What is stored.", INTEGERS)),
                NOTHING,
                Scope.CTA,
            ),
        ),
        "Writes a flag with release ordering at system scope, after every earlier write of every thread of the block.",
        """\
kernel raise_flag(FLAG: tensor<i32>[1]) {
  store_release(FLAG, 0, 1)
}
""",
        ("Written once per block.", "Compiles at 64-bit indices."),
        use=Use.EITHER,
        min_target=70,
        min_index_bits=64,
    ),
)
