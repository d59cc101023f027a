(kernel_definition
  name: (identifier) @name) @definition.function

(function_definition
  name: (identifier) @name) @definition.function

(call_expression
  callee: (identifier) @name) @reference.call

(collective_expression
  operation: (identifier) @name) @reference.call
