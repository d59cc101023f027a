"""Whole kernels as LLVM writes them, against NumPy."""

from collections.abc import Callable

import numpy as np
import pytest

from phobos_core.emulator import Result, launch, run

Emit = Callable[[str, str], str]

TARGETS = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]

SAXPY = r"""
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @saxpy(ptr addrspace(1) %x, ptr addrspace(1) %y, float %a, i64 %n,
                               i8 %flag) #0 !dbg !3 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !6
  %m = mul i32 %b, 128
  %i32 = add i32 %m, %t
  %i = zext i32 %i32 to i64
  %c = icmp ult i64 %i, %n, !dbg !6
  br i1 %c, label %then, label %end, !dbg !6
then:
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %py = getelementptr float, ptr addrspace(1) %y, i64 %i
  %vx = load float, ptr addrspace(1) %px, !dbg !7
  %vy = load float, ptr addrspace(1) %py, !dbg !7
  %mm = fmul contract float %vx, %a
  %s = fadd contract float %mm, %vy, !dbg !7
  %f = icmp ne i8 %flag, 0
  %r = select i1 %f, float %s, float 0.0
  store float %r, ptr addrspace(1) %py, !dbg !7
  br label %end
end:
  ret void
}
attributes #0 = { "nvvm.maxntid"="128" "nvvm.minctasm"="2" "nvvm.maxnreg"="64" }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!8}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "saxpy.ph", directory: "")
!3 = distinct !DISubprogram(name: "saxpy", file: !1, line: 3, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocation(line: 4, column: 3, scope: !3)
!7 = !DILocation(line: 5, column: 3, scope: !3)
!8 = !{i32 2, !"Debug Info Version", i32 3}
"""

MATMUL = r"""
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@As = internal addrspace(3) global [256 x float] undef, align 16
@Bs = internal addrspace(3) global [256 x float] undef, align 16
define ptx_kernel void @mm(ptr addrspace(1) %A, ptr addrspace(1) %B, ptr addrspace(1) %C, i64 %n) #0 {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %tx = and i32 %t, 15
  %ty = lshr i32 %t, 4
  %r0 = shl i32 %by, 4
  %row = add i32 %r0, %ty
  %c0 = shl i32 %bx, 4
  %col = add i32 %c0, %tx
  %row64 = zext i32 %row to i64
  %col64 = zext i32 %col to i64
  %tx64 = zext i32 %tx to i64
  %ty64 = zext i32 %ty to i64
  %t64 = zext i32 %t to i64
  %arow = mul i64 %row64, %n
  %as = getelementptr float, ptr addrspace(3) @As, i64 %t64
  %bs = getelementptr float, ptr addrspace(3) @Bs, i64 %t64
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k2, %latch]
  %acc = phi float [0.0, %entry], [%acc2, %latch]
  %ka = add i64 %k, %tx64
  %ia = add i64 %arow, %ka
  %pa = getelementptr float, ptr addrspace(1) %A, i64 %ia
  %va = load float, ptr addrspace(1) %pa
  store float %va, ptr addrspace(3) %as
  %kb = add i64 %k, %ty64
  %kb2 = mul i64 %kb, %n
  %ib = add i64 %kb2, %col64
  %pb = getelementptr float, ptr addrspace(1) %B, i64 %ib
  %vb = load float, ptr addrspace(1) %pb
  store float %vb, ptr addrspace(3) %bs
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %inner
inner:
  %j = phi i64 [0, %loop], [%j2, %inner]
  %acc1 = phi float [%acc, %loop], [%acc2, %inner]
  %ja0 = shl i64 %ty64, 4
  %ja = add i64 %ja0, %j
  %qa = getelementptr float, ptr addrspace(3) @As, i64 %ja
  %xa = load float, ptr addrspace(3) %qa
  %jb0 = shl i64 %j, 4
  %jb = add i64 %jb0, %tx64
  %qb = getelementptr float, ptr addrspace(3) @Bs, i64 %jb
  %xb = load float, ptr addrspace(3) %qb
  %p = fmul contract float %xa, %xb
  %acc2 = fadd contract float %acc1, %p
  %j2 = add i64 %j, 1
  %cj = icmp ult i64 %j2, 16
  br i1 %cj, label %inner, label %latch, !llvm.loop !0
latch:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %k2 = add i64 %k, 16
  %ck = icmp ult i64 %k2, %n
  br i1 %ck, label %loop, label %done
done:
  %ic0 = add i64 %arow, %col64
  %pc = getelementptr float, ptr addrspace(1) %C, i64 %ic0
  store float %acc2, ptr addrspace(1) %pc
  ret void
}
attributes #0 = { "nvvm.maxntid"="256" }
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
"""


@pytest.mark.parametrize("cpu", TARGETS)
def test_saxpy_leaves_elements_past_the_end_alone(emit: Emit, cpu: str) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-100, 100, 1000).astype(np.float32) for _ in range(2))
    expected = y.copy()
    expected[:900] += 2.5 * x[:900]
    launch(emit(SAXPY, cpu), "saxpy", (8, 1, 1), [x, y, 2.5, 900, 1])
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("cpu", TARGETS)
def test_tiled_matmul(emit: Emit, cpu: str) -> None:
    rng = np.random.default_rng(2)
    n = 64
    a, b = (rng.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    result = launch(emit(MATMUL, cpu), "mm", (n // 16, n // 16, 1), [a, b, c, n])
    np.testing.assert_array_equal(c, a @ b)
    assert result.stats.lane_instructions > n * n * n


def run_matmul(ptx: str, n: int = 32) -> Result:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    return run(ptx, "mm", (n // 16, n // 16, 1), [a, b, np.zeros((n, n), np.float32), n])


@pytest.mark.parametrize("which", [0, 1])
def test_a_matmul_that_lost_a_barrier_races(emit: Emit, which: int) -> None:
    ptx = emit(MATMUL, "sm_80")
    parts = ptx.split("bar.sync \t0;")
    assert len(parts) == 3
    assert run_matmul(ptx).ok
    kept = ["bar.sync 0;", "bar.sync 0;"]
    kept[which] = ""
    damaged = parts[0] + kept[0] + parts[1] + kept[1] + parts[2]
    found = run_matmul(damaged).findings
    assert found
    assert {each.kind for each in found} <= {"race-shared", "uninitialised-shared"}
    assert "race-shared" in {each.kind for each in found}


def test_a_matmul_with_a_wrong_extent_leaves_its_tensors(emit: Emit) -> None:
    ptx = emit(MATMUL, "sm_80")
    a, b, c = (np.zeros((32, 32), np.float32) for _ in range(3))
    result = run(ptx, "mm", (2, 3, 1), [a, b, c, 32])
    assert [each.kind for each in result.findings] == ["out-of-bounds"]
    assert result.findings[0].block == (0, 2, 0)
