"""Which fixes there are for which code.

`FIXES` and `NO_FIX` have every code of the language between them: a new code gets a fix, or the reason why only an
author can mend it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from phobos_ls.fixes import attributes, build, names, per_thread, shapes, syntax, types, unused
from phobos_ls.fixes.problem import Fixer
from phobos_ls.unused import UNUSED

FIXES: Mapping[str, Fixer] = MappingProxyType(
    {
        # The text.
        "syntax-error": syntax.syntax_error,
        "reserved-name": syntax.reserved_name,
        "literal-too-large": syntax.literal_too_large,
        "nesting-too-deep": syntax.nesting_too_deep,
        "no-kernels": syntax.no_kernels,
        # Names and calls.
        "unknown-name": names.unknown_name,
        "unknown-ctx-field": names.unknown_ctx_field,
        "duplicate-name": names.duplicate_name,
        "builtin-redefined": names.builtin_redefined,
        "immutable-assignment": names.immutable_assignment,
        "not-assignable": names.not_assignable,
        "not-callable": names.not_callable,
        "not-a-value": names.not_a_value,
        "argument-count": names.argument_count,
        "jump-outside-loop": names.jump_outside_loop,
        "no-effect": names.no_effect,
        UNUSED: unused.unused_name,
        # Types.
        "unknown-type": types.unknown_type,
        "misplaced-type": types.misplaced_type,
        "bool-storage": types.bool_storage,
        "unsigned-scalar": types.unsigned_scalar,
        "unsigned-arithmetic": types.unsigned_arithmetic,
        "type-mismatch": types.type_mismatch,
        "no-join": types.no_join,
        "no-conversion": types.no_conversion,
        "float-bit-operation": types.float_bit_operation,
        "logical-operand": types.compare,
        "tile-comparison": types.tile_comparison,
        "condition-type": types.compare,
        "index-type": types.convert_as_helped,
        "missing-initializer": types.missing_initializer,
        "not-a-tile": types.not_a_tile,
        "not-a-named-tile": types.named_tile,
        "not-a-scalar": types.not_a_scalar,
        "not-a-tensor": types.not_a_tensor,
        "element-type": types.convert_as_helped,
        "not-constant": types.plain_loop,
        "f64-math": types.f64_math,
        # Shapes and subscripts.
        "shape-mismatch": shapes.shape_mismatch,
        "dynamic-extent": shapes.dynamic_extent,
        "empty-extent": shapes.empty_extent,
        "wrong-rank": shapes.wrong_rank,
        "not-indexable": shapes.not_indexable,
        "out-of-bounds": shapes.out_of_bounds,
        "empty-slice": shapes.empty_slice,
        "bad-step": shapes.bad_step,
        "bad-unroll": types.plain_loop,
        "where-placement": shapes.where_placement,
        "iota-axis": shapes.iota_axis,
        "contraction-operand": types.contraction_operand,
        "contraction-destination": shapes.contraction_destination,
        # Attributes and targets.
        "unknown-attribute": attributes.unknown_attribute,
        "planned-attribute": attributes.remove_attribute,
        "duplicate-attribute": attributes.duplicate_attribute,
        "attribute-argument": attributes.attribute_argument,
        "autotune-range": attributes.autotune_range,
        "unknown-dimension": attributes.unknown_dimension,
        "aligned-mismatch": attributes.remove_promise,
        "registers-tile": attributes.registers_tile,
        "not-whole-warps": attributes.whole_warps,
        "needs-launch": attributes.needs_launch,
        "needs-persistent": attributes.needs_persistent,
        # Per-thread code and functions.
        "once-per-cta": per_thread.once_per_cta,
        "missing-barrier": per_thread.missing_barrier,
        "group-width": per_thread.group_width,
        "collective-form": per_thread.collective_form,
        "run-operand": per_thread.run_operand,
        "function-argument": per_thread.function_argument,
        "function-form": per_thread.function_form,
        "return-in-function": per_thread.return_in_function,
        # What a build finds, and a run.
        "over-shared-limit": build.dynamic_shared,
        "no-configuration-fits": build.dynamic_shared,
        "nothing-pipelined": build.remove_pipeline,
        "spills": build.lift_cap,
        "unrolled-too-far": build.unroll_less,
        "large-code": build.unroll_less,
        "uninitialised-shared": build.initialise,
        "race-global": build.barrier_before,
        "race-shared": build.barrier_before,
        "trap": build.drop_promises,
    }
)

_OURS = "a fault of the compiler, or of PTX written by hand"
_MACHINE = "about the machine, not about the source"
NO_FIX: Mapping[str, str] = MappingProxyType(
    {
        "recursive-function": "what the function should do in place of calling itself is its author's to say",
        "too-much-inlined": "which part to bind to a name is a choice of where the function is worth its size",
        "not-supported-yet": "nothing in the source is wrong",
        "division-by-zero": "no divisor is a better guess than another",
        "rank-mismatch": "a parameter of another rank is another interface",
        "reduction-operand": "a parameter of another rank is another interface",
        "iota-placement": "the tile that it should be assigned to is not there",
        "too-many-configurations": "which choices to give up is what tuning is about",
        "needs-target": "the target is a setting, not a part of the source",
        "differs-between-lanes": "whether each thread or the whole block should read is the design of the kernel",
        "once-per-warp": "which lanes take part is the design of the kernel",
        "run-length": "which of the lengths is meant, nothing says",
        "configuration-skipped": "the other configurations are built",
        "broken-constraint": "the value comes from `-D` or `@autotune`, and the rule from the kernel",
        "index-width-kept": "nothing is wrong",
        "assembler-missing": _MACHINE,
        "assembler-failed": _OURS,
        "disassembly-failed": _MACHINE,
        "assembler-timeout": "unrolling less and smaller tiles change what is measured",
        "target-not-in-assembler": _MACHINE,
        "unspecified-value": "what a division by zero should give instead is the author's to say",
        "endless-loop": "what should end the loop is the author's to say",
        "deadlock": "who should wait for whom is the design of the kernel",
        "misaligned": _OURS,
        "async-unwaited": _OURS,
        "divergent-barrier": _OURS,
        "divergent-collective": _OURS,
    }
)
