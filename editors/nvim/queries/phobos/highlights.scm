; The last pattern that matches a node wins, so general patterns come first.

; Names

(identifier) @variable

((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]+$"))

(parameter
  name: (identifier) @variable.parameter)

(function_parameters
  (identifier) @variable.parameter)

(ctx_field
  "ctx" @variable.builtin)

(field_identifier) @variable.member

; Functions

(kernel_definition
  name: (identifier) @function)

(function_definition
  name: (identifier) @function)

(call_expression
  callee: (identifier) @function.call)

((call_expression
  callee: (identifier) @function.builtin)
  (#any-of? @function.builtin
    "abs" "all" "any" "argmax" "argsel" "atomic_add" "atomic_cas" "barrier" "bf16" "byteperm" "ceil"
    "cos" "cumsum" "dot" "dot_t" "dp4a" "elem" "exp" "f16" "f16bits" "f32" "f64" "flat" "floor"
    "gather" "grid_barrier" "i32" "i64" "i8" "iota" "iq1m_qdot_i8_t" "iq1m_qgemm_t"
    "iq1m_qmma_staged_t" "iq1s_qdot_i8_t" "iq1s_qgemm_t" "iq1s_qmma_staged_t" "iq1s_qmma_t"
    "iq2s_qdot_i8_t" "iq2s_qgemm_t" "iq2s_qmma_staged_t" "iq2xs_qdot_i8_t" "iq2xs_qgemm_t"
    "iq2xs_qmma_staged_t" "iq2xxs_qdot_i8_t" "iq2xxs_qgemm_t" "iq2xxs_qmma_staged_t"
    "iq3s_qdot_i8_t" "iq3s_qgemm_t" "iq3s_qmma_staged_t" "iq3xxs_qdot_i8_t" "iq3xxs_qgemm_t"
    "iq3xxs_qmma_staged_t" "load_acquire" "log" "max" "min" "popcount" "pow" "ptq1_qdot_i8_t"
    "ptq1_qgemm_t" "q4k_qdot_i8_t" "q4k_qgemm_t" "q50_qdot_t" "q50_qmma_t" "q5k_qdot_i8_t"
    "q5k_qgemm_t" "q6k_qdot_i8_t" "q6k_qgemm_t" "qdot_t" "qmma_t" "reduce" "round" "rowargmax"
    "rowmax" "rowsum" "rsqrt" "shfl" "sin" "sqrt" "store" "store_release" "sum" "tanh" "tmax"
    "transpose" "tril" "warp_partial" "where" "word"))

(collective_expression
  operation: (identifier) @function.builtin)

; Types

(scalar_type
  (identifier) @type)

((scalar_type
  (identifier) @type.builtin)
  (#any-of? @type.builtin
    "f16" "bf16" "f32" "f64" "i8" "i32" "i64" "u8" "u16" "u32" "bool"))

(shaped_type
  constructor: (identifier) @type)

((shaped_type
  constructor: (identifier) @type.builtin)
  (#any-of? @type.builtin "tensor" "tile"))

; Attributes

(attribute
  "@" @attribute
  name: (identifier) @attribute)

(keyword_argument
  name: (identifier) @property)

(search_argument
  name: (identifier) @constant)

; Literals and comments

(integer) @number

(float) @number.float

(boolean) @boolean

(comment) @spell @comment

; Words

[
  "let"
  "var"
] @keyword

[
  "kernel"
  "fn"
] @keyword.function

[
  "if"
  "else"
] @keyword.conditional

[
  "for"
  "while"
  "in"
  "range"
  "unroll"
] @keyword.repeat

(break_statement) @keyword.repeat

(continue_statement) @keyword.repeat

(return_statement) @keyword.return

(collective_expression
  [
    "over"
    "from"
    "xor"
    "down"
    "up"
    "width"
  ] @keyword.modifier)

; Operators and punctuation

(binary_expression
  operator: _ @operator)

(unary_expression
  operator: _ @operator)

(assignment
  operator: _ @operator)

[
  "="
  ":+"
] @operator

[
  ","
  ":"
  ";"
  "."
] @punctuation.delimiter

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket

(shaped_type
  [
    "<"
    ">"
  ] @punctuation.bracket)

(collective_expression
  [
    "<"
    ">"
  ] @punctuation.bracket)

(for_statement
  [
    "<"
    ">"
  ] @punctuation.bracket)
