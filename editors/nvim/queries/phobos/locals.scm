; Scopes: an item, and every block, has its own names.

(kernel_definition) @local.scope

(function_definition) @local.scope

(for_statement) @local.scope

(block) @local.scope

; Definitions. A kernel or function is known in the whole file, so its name belongs to the scope around it.

((kernel_definition
  name: (identifier) @local.definition.function)
  (#set! definition.function.scope "parent"))

((function_definition
  name: (identifier) @local.definition.function)
  (#set! definition.function.scope "parent"))

(parameter
  name: (identifier) @local.definition.parameter)

(function_parameters
  (identifier) @local.definition.parameter)

(let_statement
  name: (identifier) @local.definition.var)

(var_statement
  name: (identifier) @local.definition.var)

(for_statement
  variable: (identifier) @local.definition.var)

; A search dimension is bound by its attribute, a dynamic dimension by the types of the parameters.

(search_argument
  name: (identifier) @local.definition.constant)

; References

(identifier) @local.reference
