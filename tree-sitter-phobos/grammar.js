/**
 * @file The Phobos kernel language.
 *
 * Newlines: the end of a statement is the token `_newline` or `;`, and white space, newlines included, is an
 * extra. A newline is then a token only in the states where a statement can end, so it never ends one inside
 * `( )` or `[ ]` nor after an operator or a comma, and no external scanner is needed. The extra must match one
 * character only, or it would be the longer match and hide the newline.
 *
 * The grammar accepts a little more than the language where that keeps a common mistake out of error recovery
 * (any expression as a target or a dimension, any name as a type); the typed syntax tree reports those.
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const PREC = {
  or: 1,
  and: 2,
  equality: 3,
  comparison: 4,
  bit_or: 5,
  bit_xor: 6,
  bit_and: 7,
  shift: 8,
  term: 9,
  factor: 10,
  unary: 11,
  postfix: 12,
};

const COMPARISONS = [
  [PREC.or, '||'],
  [PREC.and, '&&'],
  [PREC.equality, choice('==', '!=')],
  [PREC.comparison, choice('<', '<=', '>', '>=')],
];

const OPERATIONS = [
  [PREC.bit_or, '|'],
  [PREC.bit_xor, '^'],
  [PREC.bit_and, '&'],
  [PREC.shift, choice('<<', '>>')],
  [PREC.term, choice('+', '-')],
  [PREC.factor, choice('*', '/', '%')],
];

const ASSIGNMENTS = ['=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='];

// Only these names may head a collective or a shuffle: were it any name, every `a < b` would fork the parser.
const GROUP_OPERATIONS = ['sum', 'max', 'min', 'any', 'all', 'argmax', 'reduce', 'shfl'];

const KEYWORDS = [
  'kernel', 'fn', 'let', 'var', 'if', 'else', 'for', 'in', 'while', 'break', 'continue', 'return',
  'true', 'false', 'ctx',
];

const list = (rule) => seq(rule, repeat(seq(',', rule)));

const binary = (table, operand) =>
  choice(...table.map(([precedence, operator]) =>
    prec.left(precedence, seq(field('left', operand), field('operator', operator), field('right', operand)))));

const functionHead = ($) =>
  seq('fn', field('name', $.identifier), field('parameters', $.function_parameters));

module.exports = grammar({
  name: 'phobos',

  word: ($) => $.identifier,

  extras: ($) => [/[ \t\r\n\v\f\uFEFF]/, $.comment],

  reserved: { global: (_) => KEYWORDS },

  supertypes: ($) => [$._statement, $._expression, $._type, $._subscript],

  // `sum < ...` compares the name `sum`, or opens a collective.
  conflicts: ($) => [[$._contextual_name, $.collective_expression]],

  rules: {
    source_file: ($) =>
      seq(
        repeat(choice(
          $.kernel_definition,
          $.function_definition,
          seq(alias($._function_of_value, $.function_definition), $._terminator),
        )),
        optional(alias($._function_of_value, $.function_definition)),
      ),

    // Items

    kernel_definition: ($) =>
      seq(
        repeat($.attribute),
        'kernel',
        field('name', $.identifier),
        field('parameters', $.parameters),
        field('body', $.block),
      ),

    function_definition: ($) => seq(functionHead($), field('body', $.block)),
    _function_of_value: ($) => seq(functionHead($), '=', field('body', $._expression)),
    function_parameters: ($) => seq('(', optional(list($.identifier)), ')'),

    parameters: ($) => seq('(', optional(list($.parameter)), ')'),
    parameter: ($) => seq(field('name', $.identifier), ':', field('type', $._type)),

    attribute: ($) =>
      seq('@', field('name', $.identifier), optional(field('arguments', $.attribute_arguments))),
    attribute_arguments: ($) =>
      seq('(', optional(list(choice($.search_argument, $.keyword_argument, $._expression))), ')'),
    search_argument: ($) => seq(field('name', $.identifier), 'in', field('choices', $.choices)),
    choices: ($) => seq('[', list($._expression), ']'),
    keyword_argument: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    // Types

    _type: ($) => choice($.scalar_type, $.shaped_type),
    scalar_type: ($) => $.identifier,
    shaped_type: ($) =>
      seq(
        field('constructor', $.identifier),
        '<', field('element', $.scalar_type), '>',
        field('dimensions', $.dimensions),
      ),
    dimensions: ($) => seq('[', list($._expression), ']'),

    // Statements

    block: ($) =>
      seq(
        '{',
        repeat(choice(
          seq($._simple_statement, $._terminator),
          seq($.if_statement, optional($._newline)),
          $.for_statement,
          $.while_statement,
        )),
        optional($._simple_statement),
        '}',
      ),

    _terminator: ($) => choice($._newline, ';'),
    _newline: (_) => choice('\n', '\r\n', '\r'),

    _simple_statement: ($) =>
      choice(
        $.let_statement,
        $.var_statement,
        $.assignment,
        $.break_statement,
        $.continue_statement,
        $.return_statement,
        $.expression_statement,
      ),

    _statement: ($) => choice($._simple_statement, $.if_statement, $.for_statement, $.while_statement),

    let_statement: ($) =>
      seq(
        'let', field('name', $.identifier),
        optional(seq(':', field('type', $._type))),
        '=', field('value', $._expression),
      ),

    var_statement: ($) =>
      seq(
        'var', field('name', $.identifier),
        choice(
          seq(':', field('type', $._type), optional(seq('=', field('value', $._expression)))),
          seq('=', field('value', $._expression)),
        ),
      ),

    assignment: ($) =>
      seq(
        field('target', $._expression),
        field('operator', choice(...ASSIGNMENTS)),
        field('value', $._expression),
      ),

    for_statement: ($) =>
      seq(
        'for',
        optional(seq('<', 'unroll', field('unroll', $._operand), '>')),
        field('variable', $.identifier),
        'in', 'range', '(',
        field('start', $._expression), ',', field('end', $._expression),
        optional(seq(',', field('step', $._expression))),
        ')',
        field('body', $.block),
      ),

    while_statement: ($) => seq('while', field('condition', $._expression), field('body', $.block)),

    if_statement: ($) =>
      seq(
        'if', field('condition', $._expression),
        field('consequence', $.block),
        optional(seq('else', field('alternative', choice($.block, $.if_statement)))),
      ),

    break_statement: (_) => 'break',
    continue_statement: (_) => 'continue',
    return_statement: (_) => 'return',

    expression_statement: ($) => $._expression,

    // Expressions. An operand binds tighter than a comparison: what stands between the angle brackets of a
    // collective or of `for<unroll n>` is one, so that `>` closes the bracket.

    _expression: ($) => choice($._operand, $.binary_expression),
    binary_expression: ($) => binary(COMPARISONS, $._expression),

    _operand: ($) =>
      choice($._postfix, $.unary_expression, alias($._operation, $.binary_expression)),
    _operation: ($) => binary(OPERATIONS, $._operand),

    unary_expression: ($) =>
      prec(PREC.unary, seq(field('operator', choice('-', '!', '~')), field('operand', $._postfix))),

    _postfix: ($) => choice($._primary, $.index_expression, $.call_expression, $.collective_expression),

    index_expression: ($) =>
      prec(PREC.postfix, seq(field('base', $._postfix), field('subscripts', $.subscripts))),
    subscripts: ($) => seq('[', list($._subscript), ']'),
    _subscript: ($) => choice($.point_subscript, $.range_subscript, $.span_subscript),
    point_subscript: ($) => $._expression,
    range_subscript: ($) =>
      choice(
        seq(field('start', $._expression), ':', optional(field('end', $._expression))),
        seq(':', optional(field('end', $._expression))),
      ),
    span_subscript: ($) => seq(field('start', $._expression), ':+', field('length', $._expression)),

    call_expression: ($) =>
      prec(PREC.postfix, seq(field('callee', $._postfix), field('arguments', $.arguments))),
    arguments: ($) => seq('(', optional(list($._expression)), ')'),

    collective_expression: ($) =>
      prec.dynamic(1, seq(
        field('operation', alias(choice(...GROUP_OPERATIONS), $.identifier)),
        '<',
        choice(
          seq(field('mode', 'over'), field('operand', $.ctx_field)),
          seq(field('mode', choice('from', 'xor', 'down', 'up')), field('operand', $._operand)),
        ),
        optional(seq(',', 'width', field('width', $._operand))),
        '>',
        field('arguments', $.arguments),
      )),

    _primary: ($) =>
      choice(
        $.integer,
        $.float,
        $.boolean,
        $.ctx_field,
        $.identifier,
        alias($._contextual_name, $.identifier),
        $.parenthesized_expression,
      ),

    _contextual_name: (_) => choice(...GROUP_OPERATIONS, 'over', 'from', 'xor', 'down', 'up'),

    parenthesized_expression: ($) => seq('(', $._expression, ')'),

    ctx_field: ($) =>
      seq(
        'ctx', '.', field('name', alias($.identifier, $.field_identifier)),
        optional(seq('.', field('axis', alias($.identifier, $.field_identifier)))),
      ),

    // Tokens

    identifier: (_) => /[A-Za-z_][A-Za-z0-9_]*/,
    integer: (_) => /[0-9]+/,
    float: (_) => /[0-9]+(\.[0-9]*([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)/,
    boolean: (_) => choice('true', 'false'),
    comment: (_) => token(seq('//', /[^\r\n]*/)),
  },
});
