[
  (block)
  (parameters)
  (attribute_arguments)
  (arguments)
] @fold
