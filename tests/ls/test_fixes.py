"""Fixes: every code has one or a reason why not, and every fix that is offered does what it says.

What an edit does is found out here by applying it to the text and checking that text anew.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from phobos_core.analysis import check
from phobos_core.language.codes import CODES, Code, Stage
from phobos_core.language.codes.per_thread import matrices
from phobos_core.language.codes.schema import statements
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import parse
from phobos_ls.builds.work import Job, compile_job
from phobos_ls.features.code_actions import fixed as fixed_all
from phobos_ls.features.code_actions import fixes, problems
from phobos_ls.fixes.problem import Fix, Problem
from phobos_ls.fixes.table import FIXES, NO_FIX
from phobos_ls.settings import read_settings
from phobos_ls.smoke.trial import attempt
from phobos_ls.snapshot import Snapshot
from phobos_ls.unused import UNUSED
from tests.ls.cursor import cursor

# Where the example of a code is one that only its author can mend.
OWN: dict[str, str] = {
    "not-a-value": statements("var t = A\nC[:, :] = t"),
    "not-a-tile": statements("var t = tmax(n, 1)\nC[:, :] = A[:, :]"),
    "shape-mismatch": (
        "kernel k(A: tensor<f32>[64, 32], B: tensor<f32>[16, 32], C: tensor<f32>[64, 16]) {\n"
        "  var c: tile<f32>[64, 16] = dot(A[:, :], B[:, :])\n  C[:, :] = c\n}\n"
    ),
    "function-argument": "fn clear(t) {\n  t[0, 0] = 0.0\n}\n\n" + matrices("clear(C[0 :+ 4, :])"),
}
# A name that means something shows what its use has wrong.
HIDING = {"unknown-name", "unknown-ctx-field", "unknown-type", "unknown-attribute", "reserved-name", "not-callable"}
# Not found by the checker of today: the built-in that asks for it is not supported yet.
NOT_FOUND = {"needs-launch"}

CHECKED = [code for code in CODES.values() if code.stage is Stage.CHECK and code.code not in NO_FIX]


def text_after(source: str, fix: Fix) -> str:
    text = source.encode()
    for change in sorted(fix.changes, key=lambda change: change.start, reverse=True):
        text = text[: change.start] + change.text.encode() + text[change.end :]
    return text.decode()


def target_of(code: Code) -> str:
    return code.options[1] if code.options and code.options[0] == "--target" else "sm_80"


def found_in(source: str, target: str) -> tuple[Diagnostic, ...]:
    return check(parse(source), target=target).diagnostics


def errors(found: Iterable[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((each.code, each.message) for each in found if each.severity == "error")


def snapshot_of(source: str, target: str = "sm_80") -> Snapshot:
    return Snapshot("file:///kernel.ph", 1, parse(source), read_settings({"target": target})[0])


def test_every_code_has_a_fix_or_a_reason() -> None:
    assert FIXES.keys() | NO_FIX.keys() == CODES.keys() | {UNUSED}
    assert not FIXES.keys() & NO_FIX.keys()


@pytest.mark.parametrize("code", CHECKED, ids=lambda code: code.code)
def test_every_fix_takes_its_diagnostic_away(code: Code) -> None:
    if code.code in NOT_FOUND:
        return
    source, target = OWN.get(code.code, code.wrong), target_of(code)
    snapshot = snapshot_of(source, target)
    before = found_in(source, target)
    mine = [each for each in before if each.code == code.code]
    assert mine, "the example no longer gives its code"
    offered = [(each, fix) for each in mine for fix in fixes(snapshot, each)]
    assert offered
    for each, fix in offered:
        after = found_in(text_after(source, fix), target)
        like = Counter((d.code, d.message) for d in after)[each.code, each.message]
        assert like < Counter((d.code, d.message) for d in before)[each.code, each.message], fix.title
        assert errors(after).total() <= errors(before).total(), fix.title
        assert not errors(after) - errors(before) or code.code in HIDING, fix.title


@pytest.mark.parametrize("code", CHECKED, ids=lambda code: code.code)
def test_titles_tell_fixes_apart(code: Code) -> None:
    snapshot = snapshot_of(code.wrong, target_of(code))
    for each in snapshot.checked.diagnostics:
        titles = [fix.title for fix in fixes(snapshot, each)]
        assert len(titles) == len(set(titles))


TRADED = [
    ("one mismatch for another", CODES["shape-mismatch"].wrong),
    ("a number that is passed for a tile", CODES["function-argument"].wrong),
    ("a barrier that not every thread reaches",
     matrices("A[ctx.thread, 0] = 1.0\nif ctx.lane == 0 {\n  C[:, :] = A[:, :]\n}")),
    ("a division by zero, which no divisor is a better guess for", CODES["division-by-zero"].wrong),
    ("a function that calls itself", CODES["recursive-function"].wrong),
]  # fmt: skip


@pytest.mark.parametrize("source", [case[1] for case in TRADED], ids=[case[0] for case in TRADED])
def test_no_mistake_is_traded_for_another(source: str) -> None:
    snapshot = snapshot_of(source)
    assert snapshot.checked.diagnostics
    assert [fix.title for each in snapshot.checked.diagnostics for fix in fixes(snapshot, each)] == []


# What a build finds.

BUILT = [
    ("nothing-pipelined", CODES["nothing-pipelined"].wrong),
    ("unrolled-too-far", CODES["unrolled-too-far"].wrong),
    (
        "over-shared-limit",
        "kernel k(A: tensor<f32>[128, 128], C: tensor<f32>[128, 128]) {\n"
        "  var t = A[:, :]\n  C[:, :] = t + transpose(t)\n}\n",
    ),
]


def job(source: str) -> Job:
    kernel = check(parse(source)).kernels[0]
    return Job("kernel.ph", source.encode(), kernel.ast.name.text, kernel.offset, "sm_80", {}, {}, 64)


def told(snapshot: Snapshot, found: Diagnostic) -> lsp.Diagnostic:
    """As a client tells of what a build or a run found."""
    message = f"{found.message}\nhelp: {found.help}" if found.help else found.message
    return lsp.Diagnostic(snapshot.range(found.start, found.end), message, code=found.code)


def offered_for(source: str, found: Diagnostic) -> list[Fix]:
    snapshot = snapshot_of(source)
    context = [told(snapshot, found)]
    return [
        fix
        for each in problems(snapshot, found.start, found.end, context)
        if each.code == found.code
        for fix in fixes(snapshot, each)
    ]


@pytest.mark.parametrize(("code", "source"), BUILT, ids=[code for code, _ in BUILT])
def test_what_a_build_finds(code: str, source: str) -> None:
    found = next(each for each in compile_job(job(source)).diagnostics if each.code == code)
    offered = offered_for(source, found)
    assert offered
    for fix in offered:
        assert not [each.code for each in compile_job(job(text_after(source, fix))).diagnostics if each.code == code]


@pytest.mark.parametrize("code", ["uninitialised-shared", "race-global"])
def test_what_a_run_finds(code: str) -> None:
    source = CODES[code].wrong
    found = next(each for each in attempt(job(source)).diagnostics if each.code == code)
    offered = offered_for(source, found)
    assert offered
    for fix in offered:
        after = attempt(job(text_after(source, fix)))
        assert after.refused is None
        assert after.diagnostics == ()


def test_a_cap_that_makes_a_kernel_spill() -> None:
    source = CODES["spills"].wrong
    at = source.index("example")
    found = Diagnostic("spills", "warning", at, at + 7, "`example` needs more registers", help="raise max_regs")
    assert [text_after(source, fix) for fix in offered_for(source, found)] == [
        source.replace("@launch(256, 1, 16)", "@launch(256, 1)")
    ]


def test_code_that_is_too_large() -> None:
    source = CODES["large-code"].wrong
    at = source.index("example")
    found = Diagnostic("large-code", "warning", at, at + 7, "many instructions", help="unroll less")
    assert [text_after(source, fix) for fix in offered_for(source, found)] == [
        source.replace("for<unroll 240> k", "for k")
    ]


def test_a_kernel_that_needs_another_launch() -> None:
    source = "@launch(128, 2)\nkernel k(A: tensor<f32>[4]) {\n  A[0] = 1.0\n}\n"
    at = source.index("A[0]")
    found = Diagnostic("needs-launch", "error", at, at + 4, "it needs another CTA", help="`@launch(256)`")
    (fix,) = FIXES["needs-launch"](Problem(snapshot_of(source), found))
    assert text_after(source, fix) == source.replace("@launch(128, 2)", "@launch(256, 2)")


# One by one: the diagnostic at the cursor, the title of a fix, and the text that it gives.

HEAD = "kernel k(A: tensor<f32>[64, 64], C: tensor<f32>[64, 64], X: tensor<u8>[64, 64], n: i32) {\n"


def fixed(source: str, title: str) -> str:
    c = cursor(source)
    titles = {}
    for each in problems(c.snapshot, c.offset, c.offset):
        for fix in fixes(c.snapshot, each):
            titles[fix.title] = text_after(c.snapshot.text.decode(), fix)
    assert title in titles, f"offered: {list(titles)}"
    return titles[title]


BODIES = [
    # Names.
    ("let first = 1\nlet b = $0frist", "Change to `first`", "let first = 1\nlet b = first"),
    ("let b = $0N + 1", "Change to `n`", "let b = n + 1"),
    ("let b = $0exq(1.0)", "Change to `exp`", "let b = exp(1.0)"),
    ("let p = $0program_id(0)", "Change to `ctx.block.x`", "let p = ctx.block.x"),
    ("let p = program_id$0(1)", "Change to `ctx.block.y`", "let p = ctx.block.y"),
    ("let p = $0num_programs(2)", "Change to `ctx.blocks.z`", "let p = ctx.blocks.z"),
    ("$0__syncthreads()", "Change to `barrier`", "barrier()"),
    ("let t = $0fmaxf(1.0, 2.0)", "Change to `max`", "let t = max(1.0, 2.0)"),
    ("let t = $0float(n)", "Change to `f32`", "let t = f32(n)"),
    ("let t = $0tid", "Change to `ctx.thread`", "let t = ctx.thread"),
    ("$0total = 1", "Declare it here: `var total`", "var total = 1"),
    (
        "for i in range(0, 4) {\n  $0total += A[i, 0]\n}",
        "Declare `var total` before",
        "var total = 0.0\nfor i in range(0, 4) {\n  total += A[i, 0]\n}",
    ),
    ("let b = $0missing + 1", "Declare `let missing = 0`", "let missing = 0\nlet b = missing + 1"),
    ("let b = A[0, 0] * $0scale", "Declare `let scale = 0.0`", "let scale = 0.0\nlet b = A[0, 0] * scale"),
    ("if n > 0 { let b = $0missing }", "Declare `let missing = 0`", "if n > 0 { let missing = 0; let b = missing }"),
    ("let b = ctx.$0grid.x", "Change to `ctx.blocks.x`", "let b = ctx.blocks.x"),
    ("let b = ctx.$0block", "Change to `ctx.block.x`", "let b = ctx.block.x"),
    ("let b = ctx.$0lan", "Change to `ctx.lane`", "let b = ctx.lane"),
    ("let b = ctx.$0tid", "Change to `ctx.thread`", "let b = ctx.thread"),
    ("let x = 1\nlet $0x = 2\nlet y = x", "Rename this one to `x2`", "let x = 1\nlet x2 = 2\nlet y = x2"),
    ("var x = 1\nvar $0x = 2", "Assign to the `x` there is", "var x = 1\nx = 2"),
    ("let x = 1\n$0x = 2", "Declare `x` with `var`", "var x = 1\nx = 2"),
    ("$0n = 2", "Copy the scalar parameter: `var n = n`", "var n = n\nn = 2"),
    (
        "for i in range(0, 4) {\n  $0i = 2\n}",
        "Copy the loop variable: `var i = i`",
        "for i in range(0, 4) {\n  var i = i\n  i = 2\n}",
    ),
    ("let x = $0A(0, 1)", "Index it: `A[0, 1]`", "let x = A[0, 1]"),
    ("let x = $0n(1)", "Read `n` without the arguments", "let x = n"),
    ("var t = $0A", "Take all of it: `A[:, :]`", "var t = A[:, :]"),
    ("let y = $0exp(1.0, 2.0)", "Remove `2.0`", "let y = exp(1.0)"),
    ("$0break", "Leave the kernel: `return`", "return"),
    ("let a = 1\n$0continue\nlet b = a", "Remove `continue`, which leaves no loop", "let a = 1\nlet b = a"),
    ("var x = 1\n$0x == 2", "Assign with `=`", "var x = 1\nx = 2"),
    ("$0exp(1.0)", "Bind the value to a name", "let value = exp(1.0)"),
    ("$0dot(A[:, :], A[:, :])", "Bind the value to a name", "var value = dot(A[:, :], A[:, :])"),
    ("let a = 1\n$0exp(1.0)", "Remove the statement", "let a = 1\n"),
    # Types.
    ("var t: tile<$0float>[4, 4] = 0.0", "Change to `f32`", "var t: tile<f32>[4, 4] = 0.0"),
    ("var t: tile<$0f8>[4, 4] = 0.0", "Change to `f16`", "var t: tile<f16>[4, 4] = 0.0"),
    ("var t: tile<$0bool>[4, 4] = 0", "Store 0 and 1 as `i8`", "var t: tile<i8>[4, 4] = 0"),
    ("var x = X[:, :]\nvar y: tile<i32>[64, 64] = $0x + 1", "Convert to `i32(x)`",
     "var x = X[:, :]\nvar y: tile<i32>[64, 64] = i32(x) + 1"),
    ("var x = X[:, :]\nvar y: tile<i32>[64, 64] = $0x * x", "Convert to `i32(x)` and `i32(x)`",
     "var x = X[:, :]\nvar y: tile<i32>[64, 64] = i32(x) * i32(x)"),
    ("var t: tile<i32>[64, 64] = 0\nt = $0A[:, :]", "Convert it: `i32(A[:, :])`, which truncates",
     "var t: tile<i32>[64, 64] = 0\nt = i32(A[:, :])"),
    ("let x = $0(n > 0) + 1", "Choose the value: `where(n > 0, 1, 0)`", "let x = (where(n > 0, 1, 0)) + 1"),
    ("let x = $0(n > 0) & (n < 4)", "Join bools with `&&`", "let x = (n > 0) && (n < 4)"),
    ("let x = $00 < n < 4", "Write `0 < n && n < 4`", "let x = 0 < n && n < 4"),
    ("let x = $0-(n > 0)", "Negate it with `!`", "let x = !(n > 0)"),
    ("let x = $0f32(n > 0)", "Choose the value: `where(n > 0, 1.0, 0.0)`", "let x = where(n > 0, 1.0, 0.0)"),
    ("let x = $0u8(n)", "Leave the conversion out: storing wraps", "let x = n"),
    ("let x = $01.0 & 3", "Write the integer `1`", "let x = 1 & 3"),
    ("let x = $0n && true", "Compare it: `n != 0`", "let x = n != 0 && true"),
    ("let x = $0!n", "Compare it: `n == 0`", "let x = n == 0"),
    ("let x = true == $0!n", "Compare it: `n == 0`", "let x = true == (n == 0)"),
    ("if $0n {\n}", "Compare it: `n != 0`", "if n != 0 {\n}"),
    ("while $0A[0, 0] {\n}", "Compare it: `A[0, 0] != 0.0`", "while A[0, 0] != 0.0 {\n}"),
    ("let x = $0A[:, :] < 1.0", "Choose per element: `var x: tile<f32>[64, 64] = where(A[:, :] < 1.0, 1.0, 0.0)`",
     "var x: tile<f32>[64, 64] = where(A[:, :] < 1.0, 1.0, 0.0)"),
    ("let x = A[$01.5, 0]", "Convert it: `i32(1.5)`, which truncates", "let x = A[i32(1.5), 0]"),
    ("var $0x: f32", "Give it the value 0.0", "var x: f32 = 0.0"),
    ("var $0x: i32", "Give it the value 0", "var x: i32 = 0"),
    ("var f = rowsum(flat($0A[:, :]))", "Copy it into a tile first: `var tile1 = A[:, :]`",
     "var tile1 = A[:, :]\nvar f = rowsum(flat(tile1))"),
    ("let x: f32 = $0A[:, :]", "Read one element: `A[0, 0]`", "let x: f32 = A[0, 0]"),
    ("let x: f32 = $0A[:, :]", "Make `x` a tile", "var x = A[:, :]"),
    ("for<unroll $0n> i in range(0, 4) {\n}", "Do not unroll the loop", "for i in range(0, 4) {\n}"),
    ("for<unroll $00> i in range(0, 4) {\n}", "Do not unroll the loop", "for i in range(0, 4) {\n}"),
    # Shapes.
    ("C[:, :] = $0A[:]", "Subscript every axis: `A[:, :]`", "C[:, :] = A[:, :]"),
    ("let x = $0A[1]", "Subscript every axis: `A[1, 0]`", "let x = A[1, 0]"),
    ("let x = $0A[1, 2, 3]", "Remove the subscript `3`", "let x = A[1, 2]"),
    ("let x = $0n[0]", "Read `n` itself", "let x = n"),
    ("let x = A[$064, 0]", "Use the last index, 63", "let x = A[63, 0]"),
    ("let x = A[0, $0-1]", "Use the last index, 63", "let x = A[0, 63]"),
    ("var t = A[$08 : 4, :]", "Swap the ends: `4 : 8`", "var t = A[4 : 8, :]"),
    ("var t = A[0 :+ $00, :]", "Take one element: `:+ 1`", "var t = A[0 :+ 1, :]"),
    ("for i in range(0, 4, $00) {\n}", "Count up by 1", "for i in range(0, 4, 1) {\n}"),
    ("var m = rowmax($0where(A[:, :] > 0.0, A[:, :], 0.0))",
     "Assign it to a tile first: `var chosen = where(A[:, :] > 0.0, A[:, :], 0.0)`",
     "var chosen = where(A[:, :] > 0.0, A[:, :], 0.0)\nvar m = rowmax(chosen)"),
    ("var t: tile<i32>[4, 4] = iota($02)", "Use axis 1", "var t: tile<i32>[4, 4] = iota(1)"),
    # Threads.
    ("A[ctx.thread, 0] = 1.0\nC[:, :] = $0A[:, :]", "Insert `barrier()`",
     "A[ctx.thread, 0] = 1.0\nbarrier()\nC[:, :] = A[:, :]"),
    ("A[ctx.thread, 0] = 1.0; C[:, :] = $0A[:, :]", "Insert `barrier()`",
     "A[ctx.thread, 0] = 1.0; barrier(); C[:, :] = A[:, :]"),
    ("for i in range(0, 2) {\n  A[ctx.thread, 0] = 1.0\n  C[:, :] = $0A[:, :]\n}", "Insert `barrier()`",
     "for i in range(0, 2) {\n  A[ctx.thread, 0] = 1.0\n  barrier()\n  C[:, :] = A[:, :]\n}"),
    ("if ctx.lane == 0 {\n  A[0, 0] = 1.0\n  $0barrier()\n}", "Move `barrier()` after the `if`",
     "if ctx.lane == 0 {\n  A[0, 0] = 1.0\n}\nbarrier()"),
    ("if ctx.lane == 0 {\n  $0barrier()\n  A[0, 0] = 1.0\n}", "Move `barrier()` before the `if`",
     "barrier()\nif ctx.lane == 0 {\n  A[0, 0] = 1.0\n}"),
    ("let s = sum<over ctx.lane, width $012>(1.0)", "Use the width 16", "let s = sum<over ctx.lane, width 16>(1.0)"),
    ("let s = sum<over ctx.lane, width $012>(1.0)", "Leave the width out: the whole group",
     "let s = sum<over ctx.lane>(1.0)"),
    ("let s = $0shfl<over ctx.lane>(1.0)", "Shuffle with `shfl<from 0>`", "let s = shfl<from 0>(1.0)"),
    ("let s = $0sum<xor 1>(1.0)", "Fold with `sum<over ctx.lane>`", "let s = sum<over ctx.lane>(1.0)"),
    ("let s = sum(A[ctx.thread, $0:])", "Say how long the run is", "let s = sum(A[ctx.thread, 0 :+ 64])"),
    ("let s = sum(A[ctx.thread, $04 : 8])", "Write it as a span", "let s = sum(A[ctx.thread, 4 :+ 4])"),
    ("let s = sum($0f32(n))", "Sum across threads: `sum<over ctx.lane>`", "let s = sum<over ctx.lane>(f32(n))"),
    # Other languages.
    ("let a = threadIdx$0.x", "Write `ctx.thread`", "let a = ctx.thread"),
    ("let a = blockIdx$0.y", "Write `ctx.block.y`", "let a = ctx.block.y"),
    ("let a = tl$0.program_id(0)", "Write `ctx.block.x`", "let a = ctx.block.x"),
    ("var i = 0\ni+$0+", "Write `i += 1`", "var i = 0\ni += 1"),
    ("let x = n > 0 $0and n < 4", "Write `&&`", "let x = n > 0 && n < 4"),
    ("let x = n > 0 $0? 1 : 2", "Write `where(n > 0, 1, 2)`", "let x = where(n > 0, 1, 2)"),
    ("float $0x = 1.0", "Write `var x: f32`", "var x: f32 = 1.0"),
    ("const $0x = 3", "Write `let x`", "let x = 3"),
    ("C$0(0, 0) = 1.0", "Index it: `C[0, 0]`", "C[0, 0] = 1.0"),
    # The text.
    ("let x = (1 + 2$0", "Insert `)`", "let x = (1 + 2)"),
    ("let x = A[0, 0$0", "Insert `]`", "let x = A[0, 0]"),
    ("let x $03", "Insert `=`", "let x = 3"),
    ("for i in range$0(n) {\n}", "Count from 0", "for i in range(0, n) {\n}"),
    ("if n $0= 0 {\n}", "Compare with `==`", "if n == 0 {\n}"),
    ("if n > 0 {\n}\n$0else {\n}", "Put `else` on the line of the `}`", "if n > 0 {\n} else {\n}"),
    ("let y = 1 $0let z = 2", "Start a new line", "let y = 1\nlet z = 2"),
    ("$0/* one\n two */", "Write it as `//`", "// one\n// two"),
    ("let x = 1 + $0* 2", "Remove `*`", "let x = 1 + 2"),
    ("let $0in = 2", "Name it `in_`", "let in_ = 2"),
    ("let $0ctx = 1\nlet a = ctx + ctx.lane", "Name it `ctx_`", "let ctx_ = 1\nlet a = ctx_ + ctx.lane"),
    ("let x = $09223372036854775808", "Use the largest, 9223372036854775807", "let x = 9223372036854775807"),
    # Names that nothing reads.
    ("let a = 1\nlet $0b = a\nA[0, 0] = 1.0", "Remove `b`", "let a = 1\nA[0, 0] = 1.0"),
    ("var $0b = 1\nb = 2\nA[0, 0] = 1.0", "Remove `b` and the assignments to it", "A[0, 0] = 1.0"),
    ("let $0b = 1", "Rename to `_b`: it is meant so", "let _b = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "title", "expected"), BODIES, ids=[case[0] for case in BODIES])
def test_in_a_kernel(body: str, title: str, expected: str) -> None:
    after = fixed(f"{HEAD}{body}\n}}\n", title)
    assert after.rstrip().removesuffix("}").rstrip("\n") == f"{HEAD}{expected}".rstrip("\n")


# Whatever the text.

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.ph"))


def damaged(text: str, chance: random.Random) -> str:
    """An example with a word or mark taken out, doubled, or put in place of another."""
    words = re.findall(r"\w+|[^\w\s]", text)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]
        start, end = chance.choice(places)
        new = chance.choice(("", text[start:end] * 2, chance.choice(words), f"{text[start:end]}x"))
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.parametrize("seed", range(40))
def test_fixes_of_damaged_examples(seed: int) -> None:
    chance = random.Random(seed)
    text = damaged(chance.choice(EXAMPLES).read_text(encoding="utf-8"), chance)
    snapshot = snapshot_of(text)
    before = found_in(text, "sm_80")
    for each in before[:4]:
        for fix in fixes(snapshot, each):
            after = found_in(text_after(text, fix), "sm_80")
            if each.code == "syntax-error":
                kind = [d for d in after if d.code == "syntax-error"]
                assert len(kind) < sum(d.code == "syntax-error" for d in before), fix
            else:
                assert errors(after).total() <= errors(before).total(), fix
                assert (
                    Counter(after_key(after))[each.code, each.message]
                    < Counter(after_key(before))[each.code, each.message]
                ), fix


def after_key(found: Iterable[Diagnostic]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in found]


@pytest.mark.parametrize("seed", range(8))
def test_fixing_all_of_a_damaged_example(seed: int) -> None:
    chance = random.Random(1000 + seed)
    text = damaged(chance.choice(EXAMPLES).read_text(encoding="utf-8"), chance)
    after = fixed_all(snapshot_of(text))
    assert after.source == parse(after.text)
    left = [each for each in after.checked.diagnostics if each.severity == "error"]
    assert (
        not [fix for each in left for fix in fixes(after, each) if fix.preferred and not fix.guess]
        or after.text.decode() == text
    )
