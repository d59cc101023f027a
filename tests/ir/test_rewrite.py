"""Walks, the index, and rebuilding blocks."""

import pytest

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.ir.rewrite import Index, clone, edit, rewrite, walk, with_attrs, with_body, without_unused
from phobos_core.ir.verifier import verify
from phobos_core.language.types import INDEX

TEXT = """\
kernel @k target=sm_80 threads=32 index=64 (%N: index, %c: bool) {
  %0 = const {value = 0} : index
  %1 = const {value = 1} : index
  %2 = for %0, %N, %1, %0 : index (%i: index, %3: index) {
    %4 = add %3, %i : index
    %5 = mul %4, %1 : index
    %6 = if %c : index {
      yield %5
    } {
      %7 = add %5, %1 : index
      yield %7
    }
    yield %6
  }
  %8 = add %2, %1 : index
}
"""


@pytest.fixture
def kernel() -> Kernel:
    return parse_kernel(TEXT)


def op(kernel: Kernel, name: str) -> Op:
    return next(o for o in walk(kernel.body) if o.name == name)


def test_walk_is_in_program_order(kernel: Kernel) -> None:
    names = [o.name for o in walk(kernel.body)]
    assert names == ["const", "const", "for", "add", "mul", "if", "yield", "add", "yield", "yield", "add"]


def test_index(kernel: Kernel) -> None:
    index = Index(kernel.body)
    loop, branch, product = op(kernel, "for"), op(kernel, "if"), op(kernel, "mul")
    variable = loop.regions[0].args[0]
    assert index.owner[variable] is loop
    assert index.definition[product.result] is product
    assert list(index.ancestors(branch.regions[1].ops[0])) == [branch, loop]
    assert index.end[loop] - index.position[loop] == 7
    assert index.inside(product.result, loop)
    assert not index.inside(product.result, branch)
    assert index.inside(variable, loop)
    assert not index.inside(loop.result, loop)
    assert index.used_by(product.result) == [branch.regions[0].ops[0], branch.regions[1].ops[0]]
    assert index.block_of[branch] is loop.regions[0]


def test_rewrite_that_changes_nothing_gives_the_same_block(kernel: Kernel) -> None:
    assert rewrite(kernel.body, lambda o: None) is kernel.body
    assert edit(kernel.body) is kernel.body


def test_rewrite_inside_a_region(kernel: Kernel) -> None:
    body = rewrite(kernel.body, lambda o: [with_attrs(o, unroll=2)] if o.name == "for" else None)
    assert "{unroll = 2}" in print_kernel(with_body(kernel, body.ops))
    gone = rewrite(kernel.body, lambda o: [] if o.name == "mul" else None)
    assert [o.name for o in walk(gone)].count("mul") == 0


def test_edit_follows_chains_of_names_and_leaves_what_is_put_in(kernel: Kernel) -> None:
    product, total = op(kernel, "mul"), op(kernel, "add")
    build = Builder()
    extra = build.binary("mul", product.result, product.result)
    values = {product.result: total.result, total.result: extra}
    changed = with_body(kernel, edit(kernel.body, after={product: build.ops}, values=values).ops)
    again = list(walk(changed.body))
    added = next(o for o in again if o.result is extra) if again else None
    assert added is not None
    assert added.operands == (product.result, product.result)
    assert op(changed, "if").regions[0].ops[0].operands == (extra,)


def test_clone_makes_new_values(kernel: Kernel) -> None:
    loop = op(kernel, "for")
    start = Value(INDEX, "start")
    variable, carried = loop.regions[0].args
    copy = clone(loop.regions[0], {variable: start})
    old = {v for o in walk(loop.regions[0]) for v in o.results}
    new = {v for o in walk(copy) for v in o.results}
    assert old.isdisjoint(new)
    assert copy.args[0] is start
    assert copy.args[1] is not carried
    assert copy.ops[0].operands == (copy.args[1], start)


def test_without_unused(kernel: Kernel) -> None:
    body = without_unused(kernel.body)
    # The last sum has no user; the loop and what it needs stay.
    assert [o.name for o in body.ops] == ["const", "const", "for"]
    verify(with_body(kernel, body.ops))
