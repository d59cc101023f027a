"""The entry of lower: a checked kernel, one configuration and one target in, tile IR out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym
from phobos_core.ir.integers import Integers
from phobos_core.ir.intervals import Intervals
from phobos_core.ir.module import Block, Decision, Kernel, Param, Placement, Value
from phobos_core.ir.types import TOKEN, MemType
from phobos_core.language.targets import STATIC_SHARED_LIMIT, TARGETS
from phobos_core.language.types import BOOL, INDEX, ScalarType
from phobos_core.lower import windows
from phobos_core.lower.assigned import assigned, view_roots
from phobos_core.lower.context import Context
from phobos_core.lower.effects import effects_of
from phobos_core.lower.emitter import Emitter
from phobos_core.lower.expressions import lower_expr
from phobos_core.lower.later import refuse_later_parts
from phobos_core.lower.lines import LineTable, LowerError
from phobos_core.lower.statements import lower_block

# What the spec lets the compiler assume of a tensor's extent; `decisions` narrow it to the last one.
_ASSUMED_MULTIPLE = 4


def lower(
    kernel: p.CheckedKernel,
    lines: LineTable,
    *,
    target: str,
    config: Mapping[str, int] | None = None,
    dims: Mapping[str, int] | None = None,
    index_bits: int = 64,
) -> Kernel:
    """The first choice of each `@autotune` name that `config` leaves out; `dims` binds dimensions.

    A dimension that was bound for the checker already is in `dims` too, but no longer in the program.
    """
    config = {name: choices[0] for name, choices in kernel.search.items()} | dict(config or {})
    bound = {name: value for name, value in (dims or {}).items() if name not in config}
    line = lines.line(kernel.name_span)
    refuse_later_parts(kernel.body, lines)
    env = config | bound
    _check_requirements(kernel, env, line)
    threads = kernel.launch.threads
    emit = Emitter(Integers(threads, index_bits), Intervals(threads, index_bits), index_bits)
    limit = TARGETS[target].shared_per_block if kernel.dynshared else STATIC_SHARED_LIMIT
    effects = effects_of(kernel, view_roots(kernel.body))
    c = Context(emit, lines, limit, env.get("TILE_K"), target, threads, lower_expr, effects=effects)
    emit.build.line = line
    for name, value in env.items():
        c.names[name] = emit.index(value)
    promised = {name: form.evaluate(env) for name, form in kernel.aligned.items()}
    dynamic = [name for name in kernel.dims if name not in bound]
    dim_params = [Param(name, "dim", INDEX, (), Value(INDEX, name)) for name in dynamic]
    for dim in dim_params:
        c.names[dim.name] = dim.value
        emit.facts.declare_extent(dim.value, promised.get(dim.name, 1))
        emit.exact.declare_extent(dim.value)
    params = [_param(c, symbol, env, promised) for symbol in kernel.params]
    for name in dynamic:
        if name in promised:
            _trap_unless_aligned(c, name, promised[name])
    if "return" in assigned(kernel.body, c.effects):
        c.state["return"] = emit.const(False, BOOL)
    lower_block(c, kernel.body)
    all_params = (*params, *dim_params)
    args = [v for q in all_params for v in (q.value, q.token) if v is not None]
    divisors, assumed = _divisors(kernel, dynamic, promised)
    return Kernel(
        name=kernel.name,
        params=all_params,
        body=Block(tuple(args), (*emit.constants, *emit.build.ops)),
        target=target,
        threads=kernel.launch.threads,
        min_blocks=kernel.launch.min_blocks,
        max_registers=kernel.launch.max_registers,
        index_bits=index_bits,
        config=config,
        dims=bound,
        divisors=divisors,
        assumed=assumed,
        pipeline=kernel.pipeline,
        padstage=kernel.padstage,
        dynamic_shared=kernel.dynshared,
        persistent=kernel.persistent,
        line=line,
        tiles=tuple(_views(c)),
        decisions=(*c.decisions, *_attribute_decisions(kernel, lines)),
        requires=tuple(r for r in kernel.requires if not (r.lhs.names | r.rhs.names) <= env.keys()),
        notes=kernel.notes,
    )


def _param(c: Context, symbol: p.Symbol, env: Mapping[str, int], promised: Mapping[str, int]) -> Param:
    match symbol.type:
        case p.TensorType():
            dims = tuple(_dim(d, env) for d in symbol.type.dims)
            shape = tuple(d if isinstance(d, int) else None for d in dims)
            value = Value(MemType(symbol.type.element, shape, "global"), symbol.name)
            token = Value(TOKEN, f"{symbol.name}.t")
            extents = [c.symbolic(d) for d in symbol.type.dims]
            names = symbol.type.names or tuple(map(str, symbol.type.dims))
            multiples = [promised.get(name or "", 1) for name in names]
            c.windows[symbol] = windows.root(c.emit, value, value, extents, multiples)
            c.state[value] = token
            return Param(symbol.name, "tensor", symbol.type.element, dims, value, token)
        case ScalarType():
            value = Value(symbol.type, symbol.name)
            c.bind(symbol, value)
            return Param(symbol.name, "scalar", symbol.type, (), value)
        case p.TileType():
            raise AssertionError("a parameter is a tensor or a scalar")


def _views(c: Context) -> Iterator[Placement]:
    """The slices that the source names, where their shapes are static: they take no bytes of their own."""
    for symbol, lines in c.views.items():
        assert isinstance(symbol.type, p.TileType)
        extents = [c.static(extent) for extent in symbol.type.shape]
        shape = tuple(n for n in extents if n is not None)
        if len(shape) == len(extents):
            yield Placement(symbol.name, lines[0], shape, symbol.type.element, "view", 0, None, lines)


def _dim(form: Sym, env: Mapping[str, int]) -> str | int:
    return form.evaluate(env) if form.names <= env.keys() else str(form)


def _check_requirements(kernel: p.CheckedKernel, env: Mapping[str, int], line: int) -> None:
    """What the bound names already decide is checked here; the rest is left to the launch."""
    for r in kernel.requires:
        if not (r.lhs.names | r.rhs.names) <= env.keys():
            continue
        lhs, rhs = r.lhs.evaluate(env), r.rhs.evaluate(env)
        holds = {"==": lhs == rhs, "<=": lhs <= rhs, "multiple of": rhs != 0 and lhs % rhs == 0}[r.op]
        if not holds:
            raise LowerError("broken-constraint", line, f"`{r.text}` does not hold: {lhs} {r.op} {rhs} is false")
    for name, form in kernel.aligned.items():
        if name in env and env[name] % form.evaluate(env):
            tile = form.evaluate(env)
            message = f"`@aligned({name} = {form})` promises a multiple of {tile}, but {name} is {env[name]}"
            raise LowerError("broken-constraint", line, message)


def _trap_unless_aligned(c: Context, name: str, tile: int) -> None:
    emit = c.emit
    # Built without the folding, which takes the promise for granted.
    rest = emit.build.binary("rem", c.names[name], emit.index(tile))
    broken = emit.build.cmp("ne", rest, emit.index(0))
    emit.build.trap_if(broken, f"@aligned: {name} is not a multiple of {tile}")


def _divisors(
    kernel: p.CheckedKernel, dynamic: list[str], promised: Mapping[str, int]
) -> tuple[dict[str, int], frozenset[str]]:
    """What each dynamic dimension is a multiple of, and for which of them that is assumed only."""
    last = {str(s.type.dims[-1]) for s in kernel.params if isinstance(s.type, p.TensorType)}
    divisors: dict[str, int] = {}
    assumed: set[str] = set()
    for name in dynamic:
        known = promised.get(name, 1)
        if name in last and known % _ASSUMED_MULTIPLE:
            divisors[name] = lcm(known, _ASSUMED_MULTIPLE)
            assumed.add(name)
        elif known > 1:
            divisors[name] = known
    return divisors, frozenset(assumed)


def _attribute_decisions(kernel: p.CheckedKernel, lines: LineTable) -> list[Decision]:
    line = lines.line(kernel.name_span)
    decisions = []
    if kernel.tensorcore is not None:
        reason = "the attribute is checked; contractions on tensor cores come in a later version"
        decisions.append(Decision(line, "@tensorcore", "CUDA cores", reason))
    for symbol in kernel.registers:
        reason = "the attribute is checked; tiles held in registers come in a later version"
        decisions.append(Decision(lines.line(symbol.span), f"@registers({symbol.name})", "shared memory", reason))
    return decisions
