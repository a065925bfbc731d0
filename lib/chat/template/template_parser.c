/* template_parser.c - the syntax of templates: tokens to a tree. */
#include "base/text/fixed_text.h"
#include "template/template_internal.h"

#include <string.h>

typedef struct attn_template_node node;

struct parser {
    struct attn_machine *machine;
    const struct attn_template_token *token; /* the next one */
    bool is_soft;                            /* inside of an `if`, see attn_template_node */
    size_t n_caller;                         /* names `caller` so far */
    int n_loop;                              /* loops around */
};

static node *parse_expression(struct parser *parser);
static node *parse_or(struct parser *parser);
static node *parse_statements(struct parser *parser, const char *ends);

/* --- Tokens ----------------------------------------------------------------------------------- */

static void next(struct parser *parser)
{
    if (parser->token->kind != ATTN_TOKEN_END)
        parser->token++;
    parser->machine->line = parser->token->line;
}

static bool is_op(const struct parser *parser, int op)
{
    return parser->token->kind == ATTN_TOKEN_OPERATOR && parser->token->op == op;
}

static bool is_word(const struct parser *parser, const char *word)
{
    return parser->token->kind == ATTN_TOKEN_NAME && attn_value_is(parser->token->value, word);
}

static bool skip_op(struct parser *parser, int op)
{
    const bool is_there = is_op(parser, op) && attn_machine_is_alive(parser->machine);

    if (is_there)
        next(parser);
    return is_there;
}

static bool skip_word(struct parser *parser, const char *word)
{
    const bool is_there = is_word(parser, word) && attn_machine_is_alive(parser->machine);

    if (is_there)
        next(parser);
    return is_there;
}

static void fail(struct parser *parser, const char *expected)
{
    const struct attn_template_token *token = parser->token;
    const bool is_name = token->kind == ATTN_TOKEN_NAME;
    const struct attn_quote name =
        attn_quote(is_name ? token->value.text : "", is_name ? token->value.size : 0);
    char op[3];
    const char *found = token->kind == ATTN_TOKEN_OPERATOR   ? attn_operator_text(token->op, op)
                        : is_name                            ? name.text
                        : token->kind == ATTN_TOKEN_CONSTANT ? "a constant"
                                                             : "the end of the tag";

    attn_machine_fail(parser->machine, "found '%s', expected %s", found, expected);
}

static void expect_op(struct parser *parser, int op)
{
    const char expected[] = {'\'', (char)op, '\'', '\0'};

    if (!skip_op(parser, op))
        fail(parser, expected);
}

static void expect(struct parser *parser, enum attn_token_kind kind, const char *expected)
{
    if (parser->token->kind != kind)
        fail(parser, expected);
    else
        next(parser);
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Returns a new node; after a failure one that may be written to, and whose content is not used. */
static node *make(struct parser *parser, enum attn_node_kind kind, node *left, node *right)
{
    node *made = attn_machine_take(parser->machine, 1, sizeof *made);

    if (!made)
        return &parser->machine->none;
    made->kind = (unsigned char)kind;
    made->line = parser->machine->line;
    made->is_soft = parser->is_soft;
    made->left = left;
    made->right = right;
    return made;
}

static node *read_name(struct parser *parser, enum attn_node_kind kind)
{
    node *made = make(parser, kind, NULL, NULL);

    if (parser->token->kind != ATTN_TOKEN_NAME) {
        fail(parser, "a name");
        return made;
    }
    made->value = parser->token->value;
    parser->n_caller += is_word(parser, "caller");
    next(parser);
    return made;
}

/* A name of a filter or test, which may have dots. */
static node *read_dotted_name(struct parser *parser, enum attn_node_kind kind)
{
    node *made = read_name(parser, kind);

    while (skip_op(parser, '.')) {
        const struct attn_value more = read_name(parser, ATTN_NODE_NAME)->value;

        if (!attn_machine_is_alive(parser->machine))
            break;
        made->value = attn_value_operate(parser->machine, '+', made->value, attn_value_word("."));
        made->value = attn_value_operate(parser->machine, '+', made->value, more);
    }
    return made;
}

/* Appends ITEM to a list whose last link is at *TAIL. */
static void link_node(struct parser *parser, node ***tail, node *item)
{
    if (!attn_machine_is_alive(parser->machine))
        return;
    **tail = item;
    *tail = &item->next;
}

/* --- Expressions ------------------------------------------------------------------------------ */

static node *parse_arguments(struct parser *parser)
{
    node *list = NULL, **tail = &list;
    bool has_names = false;

    expect_op(parser, '(');
    while (attn_machine_is_alive(parser->machine) && !is_op(parser, ')')) {
        if (list) {
            expect_op(parser, ',');
            if (is_op(parser, ')'))
                break;
        }
        if (is_op(parser, '*') || is_op(parser, '*' << 8 | '*')) {
            attn_machine_fail(parser->machine, "'*' before an argument is not supported");
        } else if (parser->token->kind == ATTN_TOKEN_NAME &&
                   parser->token[1].kind == ATTN_TOKEN_OPERATOR && parser->token[1].op == '=') {
            node *keyword = read_name(parser, ATTN_NODE_KEYWORD);

            if (attn_value_is(keyword->value, "caller"))
                attn_machine_fail(parser->machine, "an argument 'caller' is not supported");
            next(parser);
            keyword->left = parse_expression(parser);
            link_node(parser, &tail, keyword);
            has_names = true;
        } else {
            if (has_names)
                fail(parser, "a name with '='");
            link_node(parser, &tail, parse_expression(parser));
        }
    }
    expect_op(parser, ')');
    return list;
}

static bool is_tuple_end(const struct parser *parser)
{
    return parser->token->kind == ATTN_TOKEN_PRINT_END ||
           parser->token->kind == ATTN_TOKEN_BLOCK_END || is_op(parser, ')') ||
           is_word(parser, "in") || is_word(parser, "recursive");
}

static node *parse_primary(struct parser *parser);

/* A target has only names; IS_TEST has no inline if. */
enum tuple { PLAIN_TUPLE, TARGET_TUPLE, TEST_TUPLE, BRACKET_TUPLE };

static node *parse_tuple(struct parser *parser, enum tuple form)
{
    node *list = NULL, **tail = &list, *made;
    bool is_tuple = false;

    while (attn_machine_is_alive(parser->machine)) {
        if (list)
            expect_op(parser, ',');
        if (is_tuple_end(parser))
            break;
        link_node(parser, &tail,
                  form == TARGET_TUPLE ? parse_primary(parser)
                  : form == TEST_TUPLE ? parse_or(parser)
                                       : parse_expression(parser));
        if (!is_op(parser, ','))
            break;
        is_tuple = true;
    }
    if (!is_tuple && list)
        return list;
    if (!is_tuple && form != BRACKET_TUPLE)
        fail(parser, "an expression");
    made = make(parser, ATTN_NODE_TUPLE, NULL, NULL);
    made->list = list;
    return made;
}

/* [..., ...] or {...: ..., ...} */
static node *parse_display(struct parser *parser, bool is_dict)
{
    node *made = make(parser, is_dict ? ATTN_NODE_DICT : ATTN_NODE_LIST, NULL, NULL);
    node *list = NULL, **tail = &list;
    const int end = is_dict ? '}' : ']';

    next(parser);
    while (attn_machine_is_alive(parser->machine) && !is_op(parser, end)) {
        if (list) {
            expect_op(parser, ',');
            if (is_op(parser, end))
                break;
        }
        link_node(parser, &tail, parse_expression(parser));
        if (is_dict) {
            expect_op(parser, ':');
            link_node(parser, &tail, parse_expression(parser));
        }
    }
    expect_op(parser, end);
    made->list = list;
    return made;
}

static node *parse_constant(struct parser *parser)
{
    node *made = make(parser, ATTN_NODE_CONSTANT, NULL, NULL);
    struct attn_value value = parser->token->value;

    next(parser);
    while (value.kind == ATTN_IS_STRING && parser->token->kind == ATTN_TOKEN_CONSTANT &&
           parser->token->value.kind == ATTN_IS_STRING && attn_machine_is_alive(parser->machine)) {
        value = attn_value_operate(parser->machine, '+', value, parser->token->value);
        next(parser);
    }
    made->value = value;
    return made;
}

static node *parse_primary(struct parser *parser)
{
    static const char *const words[] = {"true", "True", "false", "False", "none", "None"};
    node *made;

    if (!attn_machine_is_alive(parser->machine))
        return make(parser, ATTN_NODE_EMPTY, NULL, NULL);
    for (size_t i = 0; i < 6; i++)
        if (is_word(parser, words[i])) {
            made = make(parser, ATTN_NODE_CONSTANT, NULL, NULL);
            made->value = i < 4 ? attn_value_bool(i < 2) : attn_value_none();
            next(parser);
            return made;
        }
    if (parser->token->kind == ATTN_TOKEN_NAME)
        return read_name(parser, ATTN_NODE_NAME);
    if (parser->token->kind == ATTN_TOKEN_CONSTANT)
        return parse_constant(parser);
    if (skip_op(parser, '(')) {
        made = parse_tuple(parser, BRACKET_TUPLE);
        expect_op(parser, ')');
        return made;
    }
    if (is_op(parser, '[') || is_op(parser, '{'))
        return parse_display(parser, is_op(parser, '{'));
    fail(parser, "an expression");
    return make(parser, ATTN_NODE_EMPTY, NULL, NULL);
}

/* [index] or [begin:end:step] */
static node *parse_subscript(struct parser *parser, node *whole)
{
    node *bounds[3], *made;
    int n = 0;

    next(parser);
    for (; n < 3 && attn_machine_is_alive(parser->machine); n++) {
        bounds[n] = is_op(parser, ':') || is_op(parser, ']')
                        ? make(parser, ATTN_NODE_EMPTY, NULL, NULL)
                        : parse_expression(parser);
        if (n == 2 || !skip_op(parser, ':')) {
            n++;
            break;
        }
    }
    if (is_op(parser, ','))
        attn_machine_fail(parser->machine, "a tuple as an index is not supported");
    expect_op(parser, ']');
    if (!attn_machine_is_alive(parser->machine))
        return whole;
    if (n == 1) {
        if (bounds[0]->kind == ATTN_NODE_EMPTY)
            fail(parser, "an index");
        return make(parser, ATTN_NODE_ITEM, whole, bounds[0]);
    }
    made = make(parser, ATTN_NODE_SLICE, whole, NULL);
    if (attn_machine_is_alive(parser->machine)) {
        made->list = bounds[0];
        bounds[0]->next = bounds[1];
        bounds[1]->next = n > 2 ? bounds[2] : NULL;
    }
    return made;
}

static node *parse_call(struct parser *parser, node *callee)
{
    node *made = make(parser, ATTN_NODE_CALL, callee, NULL), *list = parse_arguments(parser);

    made->list = list;
    return made;
}

static node *parse_postfix(struct parser *parser, node *left)
{
    while (attn_machine_is_alive(parser->machine)) {
        if (skip_op(parser, '.')) {
            node *name;

            if (parser->token->kind == ATTN_TOKEN_CONSTANT &&
                parser->token->value.kind == ATTN_IS_INT) {
                left = make(parser, ATTN_NODE_ITEM, left, parse_constant(parser));
                continue;
            }
            name = read_name(parser, ATTN_NODE_CONSTANT);
            left = make(parser, ATTN_NODE_ATTRIBUTE, left, name);
        } else if (is_op(parser, '[')) {
            left = parse_subscript(parser, left);
        } else if (is_op(parser, '(')) {
            left = parse_call(parser, left);
        } else {
            break;
        }
    }
    return left;
}

/* NAME or NAME(arguments), after '|' */
static node *parse_filter(struct parser *parser, node *left)
{
    node *made = read_dotted_name(parser, ATTN_NODE_FILTER);
    node *list = is_op(parser, '(') ? parse_arguments(parser) : NULL;

    if (!attn_machine_is_alive(parser->machine))
        return left;
    if (!made->is_soft && !attn_template_has_filter(made->value))
        attn_machine_fail(parser->machine, "the filter '%s' is not supported",
                          attn_quote(made->value.text, made->value.size).text);
    made->left = left;
    made->list = list;
    return made;
}

static node *parse_test(struct parser *parser, node *left)
{
    const bool is_not = skip_word(parser, "not");
    node *made = read_dotted_name(parser, ATTN_NODE_TEST), *list = NULL;

    if (is_op(parser, '('))
        list = parse_arguments(parser);
    else if ((parser->token->kind == ATTN_TOKEN_NAME && !is_word(parser, "else") &&
              !is_word(parser, "or") && !is_word(parser, "and")) ||
             parser->token->kind == ATTN_TOKEN_CONSTANT || is_op(parser, '[') ||
             is_op(parser, '{')) {
        if (is_word(parser, "is"))
            attn_machine_fail(parser->machine, "You cannot chain multiple tests with is");
        if (is_word(parser, "if") || is_word(parser, "not") || is_word(parser, "in"))
            attn_machine_fail(
                parser->machine, "'%s' after a test is not supported, expected parentheses",
                attn_quote(parser->token->value.text, parser->token->value.size).text);
        list = parse_postfix(parser, parse_primary(parser));
    }
    if (!attn_machine_is_alive(parser->machine))
        return left;
    if (!made->is_soft && !attn_template_has_test(made->value))
        attn_machine_fail(parser->machine, "the test '%s' is not supported",
                          attn_quote(made->value.text, made->value.size).text);
    made->left = left;
    made->list = list;
    return is_not ? make(parser, ATTN_NODE_NOT, made, NULL) : made;
}

static node *parse_filters(struct parser *parser, node *left)
{
    while (attn_machine_is_alive(parser->machine)) {
        if (skip_op(parser, '|'))
            left = parse_filter(parser, left);
        else if (skip_word(parser, "is"))
            left = parse_test(parser, left);
        else if (is_op(parser, '('))
            left = parse_call(parser, left);
        else
            break;
    }
    return left;
}

static node *parse_unary(struct parser *parser, bool has_filter)
{
    node *made = NULL;
    int op = is_op(parser, '-') ? '-' : is_op(parser, '+') ? '+' : 0;

    if (attn_machine_enter(parser->machine)) {
        if (op) {
            next(parser);
            made = make(parser, ATTN_NODE_UNARY, parse_unary(parser, false), NULL);
            made->op = op;
        } else {
            made = parse_primary(parser);
        }
        made = parse_postfix(parser, made);
        if (has_filter)
            made = parse_filters(parser, made);
    }
    parser->machine->depth--;
    return made ? made : make(parser, ATTN_NODE_EMPTY, NULL, NULL);
}

/* The levels of operators that take two sides, from the loosest; '~' is between them. */
static const int levels[][4] = {
    {'+', '-'}, {'~'}, {'*', '/', '%', '/' << 8 | '/'}, {'*' << 8 | '*'}};

static node *parse_level(struct parser *parser, int level)
{
    node *left = level == 3 ? parse_unary(parser, true) : parse_level(parser, level + 1);
    int op;

    do {
        op = 0;
        for (int i = 0; i < 4; i++)
            if (levels[level][i] && is_op(parser, levels[level][i]))
                op = levels[level][i];
        if (!op || !attn_machine_is_alive(parser->machine))
            break;
        next(parser);
        left = make(parser, ATTN_NODE_OPERATION, left,
                    level == 3 ? parse_unary(parser, true) : parse_level(parser, level + 1));
        left->op = op;
        if (op == '~')
            left->kind = ATTN_NODE_CONCAT;
    } while (op);
    return left;
}

static node *parse_compare(struct parser *parser)
{
    static const int signs[] = {
        '=' << 8 | '=', '!' << 8 | '=', '<' << 8 | '=', '>' << 8 | '=', '<', '>'};
    node *left = parse_level(parser, 0), *list = NULL, **tail = &list, *made;

    while (attn_machine_is_alive(parser->machine)) {
        int op = 0;

        for (int i = 0; i < 6; i++)
            if (skip_op(parser, signs[i])) {
                op = signs[i];
                break;
            }
        if (!op && is_word(parser, "not") && parser->token[1].kind == ATTN_TOKEN_NAME &&
            attn_value_is(parser->token[1].value, "in")) {
            next(parser);
            op = 'n';
        }
        if ((!op || op == 'n') && skip_word(parser, "in"))
            op = op ? op : 'i';
        if (!op)
            break;
        made = make(parser, ATTN_NODE_OPERATION, parse_level(parser, 0), NULL);
        made->op = op;
        link_node(parser, &tail, made);
    }
    if (!list)
        return left;
    made = make(parser, ATTN_NODE_COMPARE, left, NULL);
    made->list = list;
    return made;
}

/* Whether a constant is true, which jinja2 computes before it looks for filters: what "true or"
 * hides may be unknown. */
enum truth { IS_FALSE = 0, IS_TRUE = 1, UNKNOWN };

static node *parse_not(struct parser *parser, enum truth *truth)
{
    node *made;

    if (!skip_word(parser, "not")) {
        made = parse_compare(parser);
        *truth = made->kind == ATTN_NODE_CONSTANT ? (enum truth)attn_value_is_true(made->value)
                                                  : UNKNOWN;
        return made;
    }
    made = attn_machine_enter(parser->machine) ? parse_not(parser, truth) : NULL;
    parser->machine->depth--;
    *truth = *truth == UNKNOWN ? UNKNOWN : (enum truth) !*truth;
    return make(parser, ATTN_NODE_NOT, made, NULL);
}

/* Parses operands between WORD, of which the first that DECIDES hides the others. */
static node *parse_operands(struct parser *parser, const char *word, enum truth decides,
                            node *(*parse)(struct parser *parser, enum truth *truth),
                            enum truth *truth)
{
    const enum attn_node_kind kind = decides == IS_TRUE ? ATTN_NODE_OR : ATTN_NODE_AND;
    const bool was_soft = parser->is_soft;
    node *left = parse(parser, truth);
    enum truth more = UNKNOWN;

    while (skip_word(parser, word)) {
        parser->is_soft = was_soft || *truth == decides;
        left = make(parser, kind, left, parse(parser, &more));
        *truth = *truth == decides || *truth == UNKNOWN ? *truth : more;
    }
    parser->is_soft = was_soft;
    return left;
}

static node *parse_and(struct parser *parser, enum truth *truth)
{
    return parse_operands(parser, "and", IS_FALSE, parse_not, truth);
}

static node *parse_or(struct parser *parser)
{
    enum truth truth = UNKNOWN;

    return parse_operands(parser, "or", IS_TRUE, parse_and, &truth);
}

/* Whether an `if` follows before the expression ends, so that its parts are soft. */
static bool has_inline_if(const struct parser *parser)
{
    int depth = 0;

    for (const struct attn_template_token *token = parser->token;
         token->kind >= ATTN_TOKEN_NAME && depth >= 0; token++) {
        if (token->kind == ATTN_TOKEN_OPERATOR && strchr("([{", token->op))
            depth++;
        else if (token->kind == ATTN_TOKEN_OPERATOR && strchr(")]}", token->op))
            depth--;
        else if (token->kind == ATTN_TOKEN_OPERATOR && token->op == ',' && depth == 0)
            break;
        else if (depth == 0 && token->kind == ATTN_TOKEN_NAME && attn_value_is(token->value, "if"))
            return true;
    }
    return false;
}

static node *parse_expression(struct parser *parser)
{
    const bool was_soft = parser->is_soft;
    node *left = NULL, *made;

    if (attn_machine_enter(parser->machine)) {
        parser->is_soft =
            was_soft || (attn_machine_spend(parser->machine, 1) && has_inline_if(parser));
        left = parse_or(parser);
        while (skip_word(parser, "if")) {
            node *test = parse_or(parser);

            made = make(parser, ATTN_NODE_CHOICE, left, test);
            if (skip_word(parser, "else") && attn_machine_is_alive(parser->machine))
                made->third = parse_expression(parser);
            left = made;
        }
        parser->is_soft = was_soft;
    }
    parser->machine->depth--;
    return left ? left : make(parser, ATTN_NODE_EMPTY, NULL, NULL);
}

/* --- Statements ------------------------------------------------------------------------------- */

/* Parses a body in a scope of its own, and the end tag, "endNAME". */
static node *parse_body(struct parser *parser, const char *ends)
{
    const bool was_soft = parser->is_soft;
    node *body;

    parser->is_soft = false;
    body = parse_statements(parser, ends);
    parser->is_soft = was_soft;
    return body;
}

static void check_target(struct parser *parser, const node *target)
{
    if (!attn_machine_is_alive(parser->machine))
        return;
    if (target->kind == ATTN_NODE_TUPLE) {
        for (const node *item = target->list; item; item = item->next)
            check_target(parser, item);
    } else if (target->kind != ATTN_NODE_NAME && target->kind != ATTN_NODE_MEMBER) {
        fail(parser, "a name to assign to");
    } else if (target->kind == ATTN_NODE_NAME &&
               (attn_value_is(target->value, "loop") || attn_value_is(target->value, "caller") ||
                attn_value_is(target->value, "varargs") ||
                attn_value_is(target->value, "kwargs"))) {
        attn_machine_fail(parser->machine, "to assign to '%s' is not supported",
                          attn_quote(target->value.text, target->value.size).text);
    }
}

static void parse_for(struct parser *parser, node *made)
{
    const bool was_soft = parser->is_soft;

    made->left = parse_tuple(parser, TARGET_TUPLE);
    check_target(parser, made->left);
    if (!skip_word(parser, "in"))
        fail(parser, "'in'");
    made->right = parse_tuple(parser, TEST_TUPLE);
    parser->is_soft = false;
    if (skip_word(parser, "if"))
        made->third = parse_expression(parser);
    parser->is_soft = was_soft;
    if (is_word(parser, "recursive"))
        attn_machine_fail(parser->machine, "a recursive 'for' is not supported");
    parser->n_loop++;
    made->body = parse_body(parser, "endfor else");
    parser->n_loop--;
    if (skip_word(parser, "else"))
        made->other = parse_body(parser, "endfor");
    next(parser);
}

static void parse_if(struct parser *parser, node *made)
{
    const bool was_soft = parser->is_soft;

    parser->is_soft = true;
    made->left = parse_tuple(parser, TEST_TUPLE);
    made->body = parse_statements(parser, "endif else elif");
    if (skip_word(parser, "elif")) {
        made->other = make(parser, ATTN_NODE_IF, NULL, NULL);
        if (attn_machine_enter(parser->machine))
            parse_if(parser, made->other);
        parser->machine->depth--;
    } else {
        if (skip_word(parser, "else"))
            made->other = parse_statements(parser, "endif");
        next(parser);
    }
    parser->is_soft = was_soft;
}

/* Parses the filters of a block, which have its scope. HAS_FIRST: one stands without '|'. */
static node *parse_block_filters(struct parser *parser, bool has_first)
{
    const bool was_soft = parser->is_soft;
    node *made = make(parser, ATTN_NODE_EMPTY, NULL, NULL);

    parser->is_soft = false;
    made = parse_filters(parser, has_first ? parse_filter(parser, made) : made);
    parser->is_soft = was_soft;
    return made;
}

static void parse_set(struct parser *parser, node *made)
{
    made->left = parse_tuple(parser, TARGET_TUPLE);
    if (attn_machine_is_alive(parser->machine) && made->left->kind == ATTN_NODE_NAME &&
        skip_op(parser, '.')) {
        made->left->kind = ATTN_NODE_MEMBER;
        made->left->right = read_name(parser, ATTN_NODE_CONSTANT);
    }
    check_target(parser, made->left);
    if (skip_op(parser, '=')) {
        made->right = parse_tuple(parser, PLAIN_TUPLE);
        return;
    }
    if (is_op(parser, '|'))
        made->third = parse_block_filters(parser, false);
    made->op = 'b';
    made->body = parse_body(parser, "endset");
    next(parser);
}

/* Parses (a, b=1) of a macro or call block. */
static node *parse_parameters(struct parser *parser)
{
    const bool was_soft = parser->is_soft;
    node *list = NULL, **tail = &list;

    parser->is_soft = false;
    expect_op(parser, '(');
    while (attn_machine_is_alive(parser->machine) && !is_op(parser, ')')) {
        node *parameter;

        if (list)
            expect_op(parser, ',');
        parameter = read_name(parser, ATTN_NODE_NAME);
        check_target(parser, parameter);
        parameter->kind = ATTN_NODE_KEYWORD;
        if (skip_op(parser, '='))
            parameter->left = parse_expression(parser);
        link_node(parser, &tail, parameter);
    }
    expect_op(parser, ')');
    parser->is_soft = was_soft;
    return list;
}

static void parse_macro(struct parser *parser, node *made, const char *end)
{
    const int n_loop = parser->n_loop;
    const size_t n_caller = parser->n_caller;

    parser->n_loop = 0;
    made->body = parse_body(parser, end);
    made->takes_caller = parser->n_caller > n_caller;
    parser->n_loop = n_loop;
    next(parser);
}

static void parse_with(struct parser *parser, node *made)
{
    node *list = NULL, **tail = &list;

    while (attn_machine_is_alive(parser->machine) && parser->token->kind != ATTN_TOKEN_BLOCK_END) {
        node *variable;

        if (list)
            expect_op(parser, ',');
        variable = read_name(parser, ATTN_NODE_KEYWORD);
        expect_op(parser, '=');
        variable->left = parse_expression(parser);
        link_node(parser, &tail, variable);
    }
    made->list = list;
    made->body = parse_body(parser, "endwith");
    next(parser);
}

static node *parse_call_block(struct parser *parser, node *made)
{
    if (is_op(parser, '('))
        made->list = parse_parameters(parser);
    made->left = parse_expression(parser);
    if (attn_machine_is_alive(parser->machine) && made->left->kind != ATTN_NODE_CALL)
        fail(parser, "a call");
    parse_macro(parser, made, "endcall");
    return made;
}

/* Skips the word that a statement begins with. EMPTY: it is not known. */
static enum attn_node_kind read_keyword(struct parser *parser)
{
    static const struct {
        const char *name;
        enum attn_node_kind kind;
    } words[] = {{"if", ATTN_NODE_IF},           {"for", ATTN_NODE_FOR},
                 {"set", ATTN_NODE_SET},         {"macro", ATTN_NODE_MACRO},
                 {"call", ATTN_NODE_CALL_BLOCK}, {"filter", ATTN_NODE_FILTER_BLOCK},
                 {"with", ATTN_NODE_WITH},       {"generation", ATTN_NODE_SCOPE},
                 {"break", ATTN_NODE_BREAK},     {"continue", ATTN_NODE_CONTINUE},
                 {"print", ATTN_NODE_PRINT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (skip_word(parser, words[i].name))
            return words[i].kind;
    return ATTN_NODE_EMPTY;
}

static node *parse_statement(struct parser *parser)
{
    node *made = make(parser, ATTN_NODE_EMPTY, NULL, NULL);
    const enum attn_node_kind kind = read_keyword(parser);

    if (attn_machine_is_alive(parser->machine))
        made->kind = (unsigned char)kind;
    switch ((enum attn_node_kind)made->kind) {
    case ATTN_NODE_IF:
        parse_if(parser, made);
        break;
    case ATTN_NODE_FOR:
        parse_for(parser, made);
        break;
    case ATTN_NODE_SET:
        parse_set(parser, made);
        break;
    case ATTN_NODE_MACRO:
        made->value = read_name(parser, ATTN_NODE_NAME)->value;
        made->list = parse_parameters(parser);
        parse_macro(parser, made, "endmacro");
        break;
    case ATTN_NODE_CALL_BLOCK:
        parse_call_block(parser, made);
        break;
    case ATTN_NODE_FILTER_BLOCK:
        made->left = parse_block_filters(parser, true);
        made->body = parse_body(parser, "endfilter");
        next(parser);
        break;
    case ATTN_NODE_WITH:
        parse_with(parser, made);
        break;
    case ATTN_NODE_SCOPE:
        made->body = parse_body(parser, "endgeneration");
        next(parser);
        break;
    case ATTN_NODE_PRINT:
        made->left = parse_tuple(parser, PLAIN_TUPLE);
        break;
    case ATTN_NODE_BREAK:
    case ATTN_NODE_CONTINUE:
        if (parser->n_loop == 0)
            attn_machine_fail(parser->machine, "a 'break' or 'continue' outside of a loop");
        break;
    default:
        if (attn_machine_is_alive(parser->machine) && parser->token->kind == ATTN_TOKEN_NAME)
            attn_machine_fail(
                parser->machine, "the statement '%s' is not supported here",
                attn_quote(parser->token->value.text, parser->token->value.size).text);
        fail(parser, "a statement");
    }
    return made;
}

/* Parses from the end of a tag on to the next tag whose first word is one of ENDS, and its begin.
 * ENDS is NULL for the whole template. */
static node *parse_statements(struct parser *parser, const char *ends)
{
    node *list = NULL, **tail = &list, *made;

    if (ends) {
        (void)skip_op(parser, ':');
        expect(parser, ATTN_TOKEN_BLOCK_END, "'%}'");
    }
    if (attn_machine_enter(parser->machine))
        while (attn_machine_is_alive(parser->machine) && parser->token->kind != ATTN_TOKEN_END) {
            if (parser->token->kind == ATTN_TOKEN_DATA) {
                made = make(parser, ATTN_NODE_DATA, NULL, NULL);
                made->value = parser->token->value;
                next(parser);
                link_node(parser, &tail, made);
            } else if (parser->token->kind == ATTN_TOKEN_PRINT) {
                next(parser);
                made = make(parser, ATTN_NODE_PRINT, parse_tuple(parser, PLAIN_TUPLE), NULL);
                expect(parser, ATTN_TOKEN_PRINT_END, "'}}'");
                link_node(parser, &tail, made);
            } else {
                next(parser);
                if (ends && parser->token->kind == ATTN_TOKEN_NAME &&
                    attn_text_has_word(ends, parser->token->value.text, parser->token->value.size))
                    break;
                link_node(parser, &tail, parse_statement(parser));
                expect(parser, ATTN_TOKEN_BLOCK_END, "'%}'");
            }
        }
    parser->machine->depth--;
    if (ends && parser->token->kind == ATTN_TOKEN_END)
        attn_machine_fail(parser->machine, "the template ends before '%s'", ends);
    return list;
}

struct attn_template_node *attn_template_read_tree(struct attn_machine *machine,
                                                   const struct attn_template_token *tokens)
{
    struct parser parser = {.machine = machine, .token = tokens};

    machine->line = tokens->line;
    return parse_statements(&parser, NULL);
}
