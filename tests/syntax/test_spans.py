"""Every node spans its own text, exactly, wherever its item stands."""

from phobos_core.syntax import parse
from phobos_core.syntax.ast import Kernel, Span
from tests.syntax.support import spans

SOURCE = """\
// Ünïcödé before, so that bytes and characters differ.
fn add(a, b) = a + b

@aligned( M = TILE_M , N in [ 1 , 2 ], 3 )
kernel k ( A : tensor < f32 > [ M , 64 ] ) {
  let x : f32 = ( a + -b ) * 2 // two
  var t: tile<f16>[R]
  A[ i , s :+ n , : e ] += f( x , 1.5 )
  for<unroll 4> i in range(0, n, 2) { break; }
  while a < b { continue }
  if c { return } else if d { } else { x }
  shfl<xor 1, width 8>( v )
  ctx . block . x
}
"""


def test_spans() -> None:
    file = parse(SOURCE)
    assert file.diagnostics == ()
    assert spans(file) >= {
        ("Function", "fn add(a, b) = a + b"),
        ("Binary", "a + b"),
        ("Attribute", "@aligned( M = TILE_M , N in [ 1 , 2 ], 3 )"),
        ("Name", "aligned"),
        ("KeywordArg", "M = TILE_M"),
        ("SearchArg", "N in [ 1 , 2 ]"),
        ("PositionalArg", "3"),
        ("Param", "A : tensor < f32 > [ M , 64 ]"),
        ("ShapedTypeExpr", "tensor < f32 > [ M , 64 ]"),
        ("ScalarTypeExpr", "f32"),
        ("Let", "let x : f32 = ( a + -b ) * 2"),
        ("Binary", "( a + -b ) * 2"),
        ("Binary", "a + -b"),
        ("Unary", "-b"),
        ("Var", "var t: tile<f16>[R]"),
        ("Assign", "A[ i , s :+ n , : e ] += f( x , 1.5 )"),
        ("Index", "A[ i , s :+ n , : e ]"),
        ("PointSub", "i"),
        ("SpanSub", "s :+ n"),
        ("RangeSub", ": e"),
        ("Call", "f( x , 1.5 )"),
        ("FloatLit", "1.5"),
        ("For", "for<unroll 4> i in range(0, n, 2) { break; }"),
        ("Block", "{ break; }"),
        ("Jump", "break"),
        ("While", "while a < b { continue }"),
        ("If", "if c { return } else if d { } else { x }"),
        ("If", "if d { } else { x }"),
        ("ExprStmt", "x"),
        ("Collective", "shfl<xor 1, width 8>( v )"),
        ("CtxField", "ctx . block . x"),
    }


def test_operator_spans() -> None:
    source = "fn f(a, b) = a // one\n  /// two /\n  / b"
    file = parse(source.replace("a // one", "(a // one").replace("/ b", "/ b)"))
    (placed,) = file.items
    body = placed.item.body
    text = file.text.decode()
    assert text[body.op_span.start : body.op_span.end] == "/"  # type: ignore[union-attr]
    assert body.op_span.start == text.rindex("/ b")  # type: ignore[union-attr]


def test_an_item_does_not_depend_on_its_place() -> None:
    text = "kernel k() {\n  let x = 1\n}"
    first, second = parse(f"{text}\n\n// moved\n{text}").items
    assert first.item == second.item
    assert (first.offset, second.offset) == (0, len(text) + len("\n\n// moved\n"))
    assert isinstance(first.item, Kernel)
    assert first.item.span == Span(0, len(text))


def test_equal_items_are_one_object() -> None:
    first, second = parse("fn f() = 1\nfn f() = 1").items
    assert first.item is second.item
