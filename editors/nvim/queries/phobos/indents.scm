; What stands between these brackets is one level further in.

[
  (block)
  (parameters)
  (function_parameters)
  (attribute_arguments)
  (choices)
  (dimensions)
  (arguments)
  (subscripts)
  (parenthesized_expression)
] @indent.begin

[
  "}"
  ")"
  "]"
] @indent.end @indent.branch

; A line that goes on is one level further in than its statement.

[
  (let_statement)
  (var_statement)
  (assignment)
] @indent.begin

; Half-written brackets.

(ERROR
  [
    "{"
    "("
    "["
  ]) @indent.begin

(comment) @indent.ignore
