"""A sentence on each scalar type that a source can spell, for hover and the reference pages."""

from collections.abc import Mapping
from types import MappingProxyType

TYPE_DOCS: Mapping[str, str] = MappingProxyType(
    {
        "f16": "IEEE half precision. A float literal is an f32 and is rounded when it is stored.",
        "bf16": "An f32 with 7 bits of mantissa. Works on every target; converted natively from sm_80.",
        "f32": "IEEE single precision; the type of a float literal.",
        "f64": "IEEE double precision. Math calls compute in f32.",
        "i8": "A signed byte. A scalar read from memory extends its sign and computes as an index.",
        "i32": "A signed 32-bit integer. `i32(x)` and a declared i32 wrap.",
        "i64": "A signed 64-bit integer.",
        "u8": "An unsigned byte, as storage: reads extend with zeros; convert a tile before computing with it.",
        "u16": "Unsigned 16-bit storage: reads extend with zeros; convert a tile before computing with it.",
        "u32": "Unsigned 32-bit storage: reads extend with zeros; convert a tile before computing with it. A"
        " value above 2147483647 needs 64-bit indices.",
        "bool": "What a comparison gives. Scalars only, and no conversion to or from it.",
    }
)
