"""Machine code written by hand in the form that nvdisasm prints, from lines such as `.A:`, `@P0 BRA .A`, `#7`."""

from phobos_core.report.sass.listing import Listing, parse

HEAD = '\t.target\tsm_80\n\t.section\t.text.k,"ax",@progbits\n        .global         k\nk:\n.text.k:\n'


def sass(*rows: str) -> str:
    """`.A:` is a label, `#7` says that what follows is of source line 7, anything else is an instruction."""
    text, address = HEAD, 0
    for row in rows:
        if row.endswith(":"):
            text += f"{row.replace('.', '.L_')}\n"
        elif row.startswith("#"):
            text += f'\t//## File "k.ph", line {row[1:]}\n'
        else:
            head, dot, label = row.partition(" .")
            operand = f" `(.L_{label})" if dot else ""
            text += f"        /*{address:04x}*/                   {head}{operand} ;\n"
            address += 16
    return text


def listing(*rows: str) -> Listing:
    return parse("k", sass(*rows))
