(kernel_definition
  body: (block) @function.inner) @function.outer

(function_definition
  body: (_) @function.inner) @function.outer

(for_statement
  body: (block) @loop.inner) @loop.outer

(while_statement
  body: (block) @loop.inner) @loop.outer

(if_statement
  consequence: (block) @conditional.inner) @conditional.outer

(call_expression
  arguments: (arguments) @call.inner) @call.outer

(parameter) @parameter.inner @parameter.outer

(arguments
  (_) @parameter.inner @parameter.outer)

(attribute) @attribute.outer

(comment) @comment.outer
