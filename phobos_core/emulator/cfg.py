"""A kernel's instructions in, basic blocks with their immediate postdominators and loops out.

Threads that part at a branch come together again at its immediate postdominator: the first block that every
path from the branch to the end goes through. A barrier ends a block, since a group of threads may have to
wait there.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from phobos_core.emulator.ptx import Instruction, Kernel, PtxError, Symbol

BRANCHES = frozenset({"bra", "brx"})
ENDS = frozenset({"ret", "exit", "trap"})
EXIT = -1


def is_wait(at: Instruction) -> bool:
    """A barrier of the block, as opposed to one of the warp."""
    return at.opcode in ("bar", "barrier") and at.modifiers[:1] != ("warp",)


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions `start` to `end`, of which the last may branch, wait or end; EXIT is a successor too."""

    start: int
    end: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ControlFlow:
    blocks: tuple[BasicBlock, ...]
    postdominator: tuple[int, ...]
    block_of_label: dict[str, int]

    def block_after(self, block: BasicBlock) -> int:
        """The block that starts where this one ends, in the order of the text."""
        for index, other in enumerate(self.blocks):
            if other.start == block.end:
                return index
        return EXIT

    def loop_around(self, inside: Set[int]) -> tuple[int, int] | None:
        """The innermost loop around some blocks: its header, and the block that branches back to it."""
        best: tuple[int, int, int] | None = None
        for source, block in enumerate(self.blocks):
            for header in block.successors:
                if EXIT < header <= source:
                    body = self._loop_body(header, source)
                    if inside <= body and (best is None or len(body) < best[0]):
                        best = (len(body), header, source)
        return best[1:] if best else None

    def _loop_body(self, header: int, latch: int) -> set[int]:
        predecessors: dict[int, list[int]] = {}
        for source, block in enumerate(self.blocks):
            for target in block.successors:
                predecessors.setdefault(target, []).append(source)
        body, work = {header}, [latch]
        while work:
            block_index = work.pop()
            if block_index not in body:
                body.add(block_index)
                work += predecessors.get(block_index, [])
        return body


def branch_targets(kernel: Kernel, instruction: Instruction) -> tuple[str, ...]:
    target = instruction.operands[-1]
    if not isinstance(target, Symbol):
        raise PtxError(f"`{instruction.name}` needs a label", instruction.ptx_line, instruction.line)
    names = kernel.branch_tables.get(target.name, ()) if instruction.opcode == "brx" else (target.name,)
    for name in names:
        if name not in kernel.labels:
            raise PtxError(f"label `{name}` is not defined", instruction.ptx_line, instruction.line)
    return names


def control_flow(kernel: Kernel) -> ControlFlow:
    instructions = kernel.instructions
    count = len(instructions)
    if not count:
        raise PtxError(f"`{kernel.name}` has no instructions", kernel.ptx_line)
    leaders = {0} | {at for at in kernel.labels.values() if at < count}
    for at, instruction in enumerate(instructions):
        if instruction.opcode in BRANCHES or instruction.opcode in ENDS or is_wait(instruction):
            leaders.add(at + 1)
    starts = sorted(at for at in leaders if at < count)
    index_of_start = {at: index for index, at in enumerate(starts)}

    def block_at(instruction_index: int) -> int:
        return index_of_start.get(instruction_index, EXIT)

    blocks = []
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else count
        last = instructions[end - 1]
        following = block_at(end)
        if last.opcode in BRANCHES:
            targets = [block_at(kernel.labels[name]) for name in branch_targets(kernel, last)]
            successors = [*targets, following] if last.guard else targets
        elif last.opcode in ENDS:
            successors = [EXIT, following] if last.guard else [EXIT]
        else:
            successors = [following]
        blocks.append(BasicBlock(start, end, tuple(dict.fromkeys(successors))))
    labels = {name: block_at(at) for name, at in kernel.labels.items()}
    return ControlFlow(tuple(blocks), immediate_postdominators([b.successors for b in blocks]), labels)


def immediate_postdominators(successors: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """EXIT where nothing else postdominates.

    From a block of an endless loop no path ends: there the loop's header stands for the end, so that threads that part
    in the loop meet in every turn. Elsewhere a path into such a loop counts for nothing.
    """
    exit_node = len(successors)
    forward = [[exit_node if s == EXIT else s for s in each] for each in successors]
    ending = _postdominators(forward)
    headers = _endless(forward, exit_node)
    if headers:
        closed = [[*each, exit_node] if node in headers else each for node, each in enumerate(forward)]
        ending = {**_postdominators(closed), **ending}
    found = [ending.get(node, exit_node) for node in range(exit_node)]
    return tuple(EXIT if node == exit_node else node for node in found)


def _postdominators(forward: Sequence[Sequence[int]]) -> dict[int, int]:
    """Dominators of the reversed graph (Cooper, Harvey and Kennedy), of the nodes that lead to the last one."""
    exit_node = len(forward)
    order = _postorder(_reversed(forward), exit_node)
    rank = {node: at for at, node in enumerate(order)}
    parent: dict[int, int] = {exit_node: exit_node}

    def common(a: int, b: int) -> int:
        while a != b:
            if rank[a] < rank[b]:
                a = parent[a]
            else:
                b = parent[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == exit_node:
                continue
            known = [s for s in forward[node] if s in parent]
            new = known[0]
            for other in known[1:]:
                new = common(new, other)
            if parent.get(node) != new:
                parent[node] = new
                changed = True
    return parent


def _reversed(forward: Sequence[Sequence[int]]) -> list[list[int]]:
    backward: list[list[int]] = [[] for _ in range(len(forward) + 1)]
    for source, targets in enumerate(forward):
        for target in targets:
            backward[target].append(source)
    return backward


def _endless(forward: Sequence[Sequence[int]], exit_node: int) -> list[int]:
    """The first block in the text of each set of blocks that all lead to each other and nowhere else."""
    backward = _reversed(forward)
    left = set(range(exit_node)) - set(_postorder(backward, exit_node))
    headers = []
    while left:
        # Those that the block with the fewest ahead of it leads to lead back to it.
        last = min((set(_postorder(forward, node)) for node in sorted(left)), key=len)
        headers.append(min(last))
        left -= set(_postorder(backward, min(last)))
    return headers


def _postorder(graph: Sequence[Sequence[int]], root: int) -> list[int]:
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(graph[root]))]
    while stack:
        node, edges = stack[-1]
        for target in edges:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(graph[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order
