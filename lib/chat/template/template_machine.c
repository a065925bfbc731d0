/* template_machine.c - evaluates expressions and runs statements of templates. */
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "template/template_internal.h"

#include <string.h>

typedef const struct attn_template_node node;

/* A `for`. Items are taken from what is iterated when they are asked for, because a test may change
 * with what the body does. */
struct attn_loop {
    struct attn_machine *machine;
    node *node;
    struct attn_scope *scope; /* around the loop */
    struct attn_value_list source, taken;
    size_t n_source; /* of SOURCE, those that were tested */
    size_t index;    /* of the current item in TAKEN */
};

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE };

static struct attn_value evaluate(struct attn_machine *machine, node *expression,
                                  struct attn_scope *scope);
static enum flow run(struct attn_machine *machine, node *statements, struct attn_scope *scope,
                     struct attn_buffer *out);

/* --- Names ------------------------------------------------------------------------------------ */

static struct attn_scope *make_scope(struct attn_machine *machine, struct attn_scope *parent)
{
    struct attn_scope *scope = attn_machine_take(machine, 1, sizeof *scope);

    if (scope)
        scope->parent = parent;
    return scope;
}

static void set_name(struct attn_machine *machine, struct attn_scope *scope, struct attn_value name,
                     struct attn_value value)
{
    if (scope)
        attn_value_dict_set(machine, &scope->names, name, value);
}

static struct attn_value get_name(struct attn_machine *machine, struct attn_value name,
                                  struct attn_scope *scope)
{
    static const char functions[] = "range namespace dict strftime_now raise_exception";
    static const char others[] = "lipsum cycler joiner varargs kwargs self";
    struct attn_value function = name;

    for (; scope; scope = scope->parent) {
        const struct attn_value *found = attn_value_dict_find(machine, &scope->names, name);

        if (found)
            return *found;
    }
    function.kind = ATTN_IS_FUNCTION;
    if (attn_text_has_word(functions, name.text, name.size))
        return function;
    if (attn_text_has_word(others, name.text, name.size))
        return attn_machine_fail(machine, "'%s' is not supported",
                                 attn_quote(name.text, name.size).text);
    return attn_value_missing(machine, (struct attn_value){0}, name, NULL);
}

/* Assigns VALUE to TARGET: a name, a tuple of targets or an attribute of a namespace. */
static void assign(struct attn_machine *machine, node *target, struct attn_value value,
                   struct attn_scope *scope)
{
    struct attn_value space;
    struct attn_value_list list;
    size_t n = 0;

    if (target->kind == ATTN_NODE_NAME) {
        set_name(machine, scope, target->value, value);
        return;
    }
    if (target->kind == ATTN_NODE_MEMBER) {
        space = get_name(machine, target->value, scope);
        if (space.kind != ATTN_IS_NAMESPACE)
            attn_machine_fail(machine, "cannot assign attribute on non-namespace object");
        else if (target->right->value.size > 0 && *target->right->value.text == '_')
            attn_machine_fail(
                machine, "a namespace with the attribute '%s' is not supported",
                attn_quote(target->right->value.text, target->right->value.size).text);
        else
            attn_value_dict_set(machine, space.dict, target->right->value, value);
        return;
    }
    list = attn_value_iterate(machine, value);
    for (node *item = target->list; item; item = item->next)
        n++;
    if (n != list.n) {
        if (list.n < n)
            attn_machine_fail(machine, "not enough values to unpack (expected %zu, got %zu)", n,
                              list.n);
        else
            attn_machine_fail(machine, "too many values to unpack (expected %zu)", n);
        return;
    }
    n = 0;
    for (node *item = target->list; item && attn_machine_is_alive(machine); item = item->next)
        assign(machine, item, list.items[n++], scope);
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* Makes a scope with the targets of LOOP set to ITEM. */
static struct attn_scope *bind_item(struct attn_loop *loop, struct attn_value item)
{
    struct attn_scope *scope = make_scope(loop->machine, loop->scope);

    if (scope)
        assign(loop->machine, loop->node->left, item, scope);
    return scope;
}

/* Takes items until there are N, or all. Returns whether there are N. */
static bool take_items(struct attn_loop *loop, size_t n)
{
    struct attn_machine *machine = loop->machine;
    struct attn_value list = {.kind = ATTN_IS_LIST, .list = &loop->taken};

    while (loop->taken.n < n && loop->n_source < loop->source.n && attn_machine_spend(machine, 1)) {
        const struct attn_value item = loop->source.items[loop->n_source++];

        if (!loop->node->third ||
            attn_value_is_true(evaluate(machine, loop->node->third, bind_item(loop, item))))
            attn_value_append(machine, list, item);
    }
    return loop->taken.n >= n && attn_machine_is_alive(machine);
}

static struct attn_value missing_item(struct attn_machine *machine, const char *hint)
{
    return attn_value_missing(machine, attn_value_none(), attn_value_none(), hint);
}

static struct attn_value loop_attribute(struct attn_machine *machine, struct attn_loop *loop,
                                        struct attn_value name)
{
    const bool is_last = attn_value_is(name, "last");
    const int64_t index = (int64_t)loop->index;

    if (attn_value_is(name, "index") || attn_value_is(name, "index0"))
        return attn_value_int(index + (name.size == 5));
    if (attn_value_is(name, "first"))
        return attn_value_bool(index == 0);
    if (is_last || attn_value_is(name, "nextitem")) {
        const bool has_next = take_items(loop, loop->index + 2);

        return is_last    ? attn_value_bool(!has_next)
               : has_next ? loop->taken.items[index + 1]
                          : missing_item(machine, "there is no next item");
    }
    if (attn_value_is(name, "previtem"))
        return index > 0 ? loop->taken.items[index - 1]
                         : missing_item(machine, "there is no previous item");
    if (attn_value_is(name, "depth") || attn_value_is(name, "depth0"))
        return attn_value_int(name.size == 5);
    if (attn_value_is(name, "length") || attn_value_is(name, "revindex") ||
        attn_value_is(name, "revindex0")) {
        (void)take_items(loop, SIZE_MAX);
        return attn_value_int(attn_value_is(name, "length")
                                  ? (int64_t)loop->taken.n
                                  : (int64_t)loop->taken.n - index - (name.size == 9));
    }
    return attn_machine_fail(machine, "'loop.%s' is not supported",
                             attn_quote(name.text, name.size).text);
}

static enum flow run_for(struct attn_machine *machine, node *statement, struct attn_scope *scope,
                         struct attn_buffer *out)
{
    struct attn_loop *loop = attn_machine_take(machine, 1, sizeof *loop);
    const struct attn_value source = evaluate(machine, statement->right, scope);
    enum flow flow = FLOW_NEXT;
    bool is_done = false; /* as in jinja2, `else` also runs if each iteration ended early */

    if (!loop)
        return FLOW_NEXT;
    *loop = (struct attn_loop){.machine = machine,
                               .node = statement,
                               .scope = scope,
                               .source = attn_value_iterate(machine, source)};
    while (take_items(loop, loop->index + 1)) {
        struct attn_scope *body = bind_item(loop, loop->taken.items[loop->index]);

        set_name(machine, body, attn_value_word("loop"),
                 (struct attn_value){.kind = ATTN_IS_LOOP, .loop = loop});
        flow = run(machine, statement->body, body, out);
        loop->index++;
        is_done = is_done || flow == FLOW_NEXT;
        if (flow == FLOW_BREAK)
            break;
    }
    if (!is_done && attn_machine_is_alive(machine))
        return run(machine, statement->other, make_scope(machine, scope), out);
    return FLOW_NEXT;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static struct attn_given_values evaluate_arguments(struct attn_machine *machine, node *list,
                                                   struct attn_scope *scope)
{
    struct attn_given_values given = {0};
    struct attn_value values = attn_value_list_of(machine, ATTN_IS_LIST);

    for (node *item = list; item && attn_machine_is_alive(machine); item = item->next) {
        const bool is_named = item->kind == ATTN_NODE_KEYWORD;
        const struct attn_value value = evaluate(machine, is_named ? item->left : item, scope);

        if (is_named && attn_value_dict_find(machine, &given.names, item->value))
            attn_machine_fail(machine, "an argument is given twice");
        if (is_named)
            attn_value_dict_set(machine, &given.names, item->value, value);
        else
            attn_value_append(machine, values, value);
    }
    if (attn_machine_is_alive(machine)) {
        given.items = values.list->items;
        given.n = values.list->n;
    }
    return given;
}

/* Sets the parameters of a macro in SCOPE. */
static void bind_parameters(struct attn_machine *machine, const struct attn_macro *macro,
                            const struct attn_given_values *given, struct attn_scope *scope)
{
    const struct attn_quote name = attn_quote(macro->node->value.text, macro->node->value.size);
    size_t n = 0, n_named = 0;

    for (node *parameter = macro->node->list; parameter && attn_machine_is_alive(machine);
         parameter = parameter->next, n++) {
        const struct attn_value *found =
            n < given->n ? &given->items[n]
                         : attn_value_dict_find(machine, &given->names, parameter->value);
        struct attn_value value;

        n_named += n >= given->n && found;
        if (found)
            value = *found;
        else if (parameter->left)
            value = evaluate(machine, parameter->left, scope);
        else
            value = attn_value_missing(machine, attn_value_none(), parameter->value,
                                       "a parameter of a macro was not provided");
        set_name(machine, scope, parameter->value, value);
    }
    if (given->n > n)
        attn_machine_fail(machine, "macro '%s' takes not more than %zu argument(s)", name.text, n);
    if (given->names.n > n_named)
        attn_machine_fail(machine, "macro '%s' takes no such keyword argument", name.text);
}

/* Runs a macro; CALLER is that of a call block, or undefined. */
static struct attn_value call_macro(struct attn_machine *machine, const struct attn_macro *macro,
                                    const struct attn_given_values *given, struct attn_value caller)
{
    struct attn_scope *scope = make_scope(machine, macro->scope);
    struct attn_buffer text = {0};

    if (caller.kind == ATTN_IS_MACRO && !macro->node->takes_caller)
        return attn_machine_fail(machine, "a macro without caller() is called by a block");
    if (caller.kind != ATTN_IS_MACRO)
        caller = missing_item(machine, "No caller defined");
    if (macro->node->takes_caller)
        set_name(machine, scope, attn_value_word("caller"), caller);
    if (scope && attn_machine_is_alive(machine)) {
        bind_parameters(machine, macro, given, scope);
        (void)run(machine, macro->node->body, scope, &text);
    }
    return attn_value_of_buffer(machine, &text);
}

static struct attn_value make_range(struct attn_machine *machine,
                                    const struct attn_given_values *given)
{
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_RANGE);
    int64_t bounds[3] = {0, 0, 1}, n = 0;

    if (!attn_given_fits(machine, given, 1, 3, "", attn_value_word("range")))
        return list;
    for (size_t i = 0; i < given->n; i++) {
        if (given->items[i].kind == ATTN_IS_UNDEFINED)
            return attn_value_fail(machine, given->items[i]);
        if (given->items[i].kind != ATTN_IS_INT && given->items[i].kind != ATTN_IS_BOOL)
            return attn_machine_fail(machine, "'%s' object cannot be interpreted as an integer",
                                     attn_value_type(given->items[i]));
        bounds[given->n == 1 ? 1 : i] = given->items[i].integer;
    }
    for (size_t i = 0; i < 3; i++)
        if (bounds[i] < -(INT64_C(1) << 60) || bounds[i] > INT64_C(1) << 60)
            return attn_machine_fail(machine, "a range of such numbers is not supported");
    if (bounds[2] == 0)
        return attn_machine_fail(machine, "range() arg 3 must not be zero");
    n = bounds[2] > 0 ? (bounds[1] - bounds[0] + bounds[2] - 1) / bounds[2]
                      : (bounds[0] - bounds[1] - bounds[2] - 1) / -bounds[2];
    if (n > 100000)
        return attn_machine_fail(machine, "Range too big. The sandbox blocks ranges larger than "
                                          "MAX_RANGE (100000).");
    for (int64_t i = 0; i < n && attn_machine_is_alive(machine); i++)
        attn_value_append(machine, list, attn_value_int(bounds[0] + i * bounds[2]));
    return list;
}

/* namespace(...) and dict(...) */
static struct attn_value make_dict(struct attn_machine *machine, struct attn_value name,
                                   const struct attn_given_values *given)
{
    struct attn_value value = {.kind =
                                   attn_value_is(name, "dict") ? ATTN_IS_DICT : ATTN_IS_NAMESPACE};
    const struct attn_value_dict *first = NULL;

    value.dict = attn_machine_take(machine, 1, sizeof *value.dict);
    if (given->n > 1 || (given->n == 1 && given->items[0].kind != ATTN_IS_DICT))
        return attn_machine_fail(machine, "these arguments of '%s' are not supported",
                                 attn_quote(name.text, name.size).text);
    first = given->n == 1 ? given->items[0].dict : NULL;
    for (int k = 0; k < 2; k++) {
        const struct attn_value_dict *dict = k ? &given->names : first;

        for (size_t i = 0; dict && i < dict->n && attn_machine_is_alive(machine); i++) {
            if (value.kind == ATTN_IS_NAMESPACE &&
                (dict->keys[i].kind != ATTN_IS_STRING ||
                 (dict->keys[i].size > 0 && *dict->keys[i].text == '_')))
                return attn_machine_fail(machine, "a namespace with such a name is not supported");
            attn_value_dict_set(machine, value.dict, dict->keys[i], dict->values[i]);
        }
    }
    return value;
}

/* raise_exception: fails with the template's own message. */
static struct attn_value fail_with(struct attn_machine *machine, struct attn_value text)
{
    struct attn_buffer message = {0};

    attn_escape_append(&message, text.text, text.size);
    attn_machine_fail(machine, "%s", message.size > 0 ? attn_buffer_string(&message) : "failed");
    attn_buffer_release(&message);
    return (struct attn_value){0};
}

static struct attn_value call_function(struct attn_machine *machine, struct attn_value name,
                                       const struct attn_given_values *given)
{
    name.kind = ATTN_IS_STRING;
    if (attn_value_is(name, "range"))
        return make_range(machine, given);
    if (attn_value_is(name, "namespace") || attn_value_is(name, "dict"))
        return make_dict(machine, name, given);
    if (!attn_given_fits(machine, given, 1, 1, "", name))
        return (struct attn_value){0};
    if (attn_value_is(name, "strftime_now"))
        return attn_value_time(machine, given->items[0]);
    if (attn_machine_is_alive(machine)) {
        const struct attn_value text = attn_value_text(machine, given->items[0]);

        return fail_with(machine, text);
    }
    return (struct attn_value){0};
}

/* loop.cycle(...) and loop.changed(...) */
static struct attn_value call_loop(struct attn_machine *machine, const struct attn_loop *loop,
                                   struct attn_value name, const struct attn_given_values *given)
{
    if (!attn_value_is(name, "cycle") || given->n == 0 || given->names.n > 0)
        return attn_machine_fail(machine, "'loop.%s' with these arguments is not supported",
                                 attn_quote(name.text, name.size).text);
    return given->items[loop->index % given->n];
}

static struct attn_value call(struct attn_machine *machine, node *expression,
                              struct attn_scope *scope, struct attn_value caller)
{
    node *callee = expression->left;
    struct attn_value function = {0}, self = {0};
    struct attn_given_values given;

    if (callee->kind == ATTN_NODE_ATTRIBUTE) {
        self = evaluate(machine, callee->left, scope);
        if (self.kind != ATTN_IS_LOOP)
            function = attn_value_attribute(machine, self, callee->right->value);
    } else {
        function = evaluate(machine, callee, scope);
    }
    given = evaluate_arguments(machine, expression->list, scope);
    machine->line = expression->line;
    if (!attn_machine_is_alive(machine))
        return (struct attn_value){0};
    if (self.kind == ATTN_IS_LOOP)
        return call_loop(machine, self.loop, callee->right->value, &given);
    if (function.kind == ATTN_IS_MACRO)
        return call_macro(machine, function.macro, &given, caller);
    if (caller.kind == ATTN_IS_MACRO)
        return attn_machine_fail(machine, "a call block of what is no macro is not supported");
    if (function.kind == ATTN_IS_METHOD)
        return attn_value_call_method(machine, function, &given);
    if (function.kind == ATTN_IS_FUNCTION)
        return call_function(machine, function, &given);
    if (function.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, function);
    return attn_machine_fail(machine, "'%s' object is not callable", attn_value_type(function));
}

/* --- Expressions ------------------------------------------------------------------------------ */

static struct attn_value evaluate_display(struct attn_machine *machine, node *expression,
                                          struct attn_scope *scope)
{
    struct attn_value value;

    if (expression->kind != ATTN_NODE_DICT) {
        value = attn_value_list_of(machine, expression->kind == ATTN_NODE_LIST ? ATTN_IS_LIST
                                                                               : ATTN_IS_TUPLE);
        for (node *item = expression->list; item && attn_machine_is_alive(machine);
             item = item->next)
            attn_value_append(machine, value, evaluate(machine, item, scope));
        return value;
    }
    value = (struct attn_value){.kind = ATTN_IS_DICT,
                                .dict = attn_machine_take(machine, 1, sizeof *value.dict)};
    for (node *item = expression->list; item && attn_machine_is_alive(machine);
         item = item->next->next) {
        const struct attn_value key = evaluate(machine, item, scope);

        if (key.kind == ATTN_IS_DICT || key.kind == ATTN_IS_LIST || key.kind > ATTN_IS_TUPLE ||
            key.kind == ATTN_IS_UNDEFINED)
            attn_machine_fail(machine, "unhashable type: '%s'", attn_value_type(key));
        attn_value_dict_set(machine, value.dict, key, evaluate(machine, item->next, scope));
    }
    return value;
}

static struct attn_value evaluate_compare(struct attn_machine *machine, node *expression,
                                          struct attn_scope *scope)
{
    struct attn_value left = evaluate(machine, expression->left, scope);
    bool is_so = true;

    for (node *item = expression->list; item && is_so && attn_machine_is_alive(machine);
         item = item->next) {
        const struct attn_value right = evaluate(machine, item->left, scope);

        if (!attn_machine_is_alive(machine))
            break;
        is_so = attn_value_relate(machine, item->op, left, right);
        left = right;
    }
    return attn_value_bool(is_so);
}

static struct attn_value evaluate_slice(struct attn_machine *machine, node *expression,
                                        struct attn_scope *scope)
{
    struct attn_value whole = evaluate(machine, expression->left, scope);
    struct attn_value bounds[3] = {attn_value_none(), attn_value_none(), attn_value_none()};
    int n = 0;

    for (node *item = expression->list; item && n < 3; item = item->next, n++)
        if (item->kind != ATTN_NODE_EMPTY)
            bounds[n] = evaluate(machine, item, scope);
    return attn_machine_is_alive(machine) ? attn_value_slice(machine, whole, bounds)
                                          : (struct attn_value){0};
}

/* Filters VALUE, which stands for the EMPTY at the begin of EXPRESSION if that has one. */
static struct attn_value evaluate_filter(struct attn_machine *machine, node *expression,
                                         struct attn_scope *scope, const struct attn_value *block)
{
    struct attn_value value = {0};
    struct attn_given_values given;

    if (block && expression->left->kind == ATTN_NODE_EMPTY)
        value = *block;
    else if (block && expression->left->kind == ATTN_NODE_FILTER)
        value = evaluate_filter(machine, expression->left, scope, block);
    else
        value = evaluate(machine, expression->left, scope);
    given = evaluate_arguments(machine, expression->list, scope);
    machine->line = expression->line;
    return attn_machine_is_alive(machine)
               ? attn_template_filter(machine, expression->value, value, &given)
               : value;
}

static struct attn_value evaluate_unary(struct attn_machine *machine, node *expression,
                                        struct attn_scope *scope)
{
    struct attn_value value = evaluate(machine, expression->left, scope);
    struct attn_value zero = attn_value_int(0);

    if (value.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, value);
    if (value.kind == ATTN_IS_LARGE && expression->op == '-') {
        const bool is_negative = *value.text == '-';
        struct attn_buffer text = {0};

        attn_buffer_append_format(&text, "%s%.*s", is_negative ? "" : "-",
                                  (int)value.size - is_negative, value.text + is_negative);
        value = attn_value_of_buffer(machine, &text);
        return attn_value_whole(machine, value.text, value.size);
    }
    if (!attn_value_is_number(value))
        return attn_machine_fail(machine, "bad operand type for unary %c: '%s'", expression->op,
                                 attn_value_type(value));
    if (value.kind == ATTN_IS_FLOAT) {
        zero = value;
        zero.real = expression->op == '-' ? -value.real : value.real;
        return zero;
    }
    return attn_value_operate(machine, expression->op, zero, value);
}

/* Lists, dictionaries, calls, filters and tests. */
static struct attn_value evaluate_more(struct attn_machine *machine, node *expression,
                                       struct attn_scope *scope)
{
    struct attn_given_values given;
    struct attn_value value;

    switch ((enum attn_node_kind)expression->kind) {
    case ATTN_NODE_LIST:
    case ATTN_NODE_TUPLE:
    case ATTN_NODE_DICT:
        return evaluate_display(machine, expression, scope);
    case ATTN_NODE_SLICE:
        return evaluate_slice(machine, expression, scope);
    case ATTN_NODE_CALL:
        return call(machine, expression, scope, (struct attn_value){0});
    case ATTN_NODE_FILTER:
        return evaluate_filter(machine, expression, scope, NULL);
    case ATTN_NODE_TEST:
        value = evaluate(machine, expression->left, scope);
        given = evaluate_arguments(machine, expression->list, scope);
        machine->line = expression->line;
        return attn_value_bool(attn_machine_is_alive(machine) &&
                               attn_template_test(machine, expression->value, value, &given));
    case ATTN_NODE_COMPARE:
        return evaluate_compare(machine, expression, scope);
    case ATTN_NODE_UNARY:
        return evaluate_unary(machine, expression, scope);
    default:
        return attn_machine_fail(machine, "this expression is not supported");
    }
}

static struct attn_value evaluate_operation(struct attn_machine *machine, node *expression,
                                            struct attn_scope *scope)
{
    const struct attn_value left = evaluate(machine, expression->left, scope);
    const struct attn_value right = evaluate(machine, expression->right, scope);

    machine->line = expression->line;
    if (!attn_machine_is_alive(machine))
        return left;
    if (expression->kind == ATTN_NODE_OPERATION)
        return attn_value_operate(machine, expression->op, left, right);
    return attn_value_operate(machine, '+', attn_value_text(machine, left),
                              attn_value_text(machine, right));
}

static struct attn_value evaluate_attribute(struct attn_machine *machine, node *expression,
                                            struct attn_scope *scope)
{
    const struct attn_value left = evaluate(machine, expression->left, scope);

    machine->line = expression->line;
    if (!attn_machine_is_alive(machine))
        return left;
    return left.kind == ATTN_IS_LOOP
               ? loop_attribute(machine, left.loop, expression->right->value)
               : attn_value_attribute(machine, left, expression->right->value);
}

static struct attn_value evaluate(struct attn_machine *machine, node *expression,
                                  struct attn_scope *scope)
{
    struct attn_value value = {0};

    if (!attn_machine_spend(machine, 1))
        return value;
    machine->line = expression->line;
    if (!attn_machine_enter(machine)) {
        machine->depth--;
        return value;
    }
    switch ((enum attn_node_kind)expression->kind) {
    case ATTN_NODE_CONSTANT:
        value = expression->value;
        break;
    case ATTN_NODE_NAME:
        value = get_name(machine, expression->value, scope);
        break;
    case ATTN_NODE_ATTRIBUTE:
        value = evaluate_attribute(machine, expression, scope);
        break;
    case ATTN_NODE_ITEM: {
        const struct attn_value whole = evaluate(machine, expression->left, scope);
        const struct attn_value key = evaluate(machine, expression->right, scope);

        value = attn_machine_is_alive(machine) ? attn_value_item(machine, whole, key) : whole;
        break;
    }
    case ATTN_NODE_NOT:
        value = attn_value_bool(!attn_value_is_true(evaluate(machine, expression->left, scope)));
        break;
    case ATTN_NODE_AND:
    case ATTN_NODE_OR:
        value = evaluate(machine, expression->left, scope);
        if (attn_value_is_true(value) == (expression->kind == ATTN_NODE_AND))
            value = evaluate(machine, expression->right, scope);
        break;
    case ATTN_NODE_CHOICE:
        if (attn_value_is_true(evaluate(machine, expression->right, scope)))
            value = evaluate(machine, expression->left, scope);
        else
            value = expression->third
                        ? evaluate(machine, expression->third, scope)
                        : missing_item(machine, "the inline if-expression evaluated to false and "
                                                "no else section was defined.");
        break;
    case ATTN_NODE_OPERATION:
    case ATTN_NODE_CONCAT:
        value = evaluate_operation(machine, expression, scope);
        break;
    default:
        value = evaluate_more(machine, expression, scope);
    }
    machine->depth--;
    return value;
}

/* --- Statements ------------------------------------------------------------------------------- */

/* Runs BODY in a scope of its own, and returns what it writes. */
static struct attn_value capture(struct attn_machine *machine, node *body, struct attn_scope *scope)
{
    struct attn_scope *inner = make_scope(machine, scope);
    struct attn_buffer text = {0};

    if (inner)
        (void)run(machine, body, inner, &text);
    return attn_value_of_buffer(machine, &text);
}

static void run_set(struct attn_machine *machine, node *statement, struct attn_scope *scope)
{
    struct attn_value value;

    if (statement->op == 'b') {
        value = capture(machine, statement->body, scope);
        if (statement->third && statement->third->kind != ATTN_NODE_FILTER)
            attn_machine_fail(machine, "this filter of a 'set' is not supported");
        else if (statement->third && attn_machine_is_alive(machine))
            value = evaluate_filter(machine, statement->third, scope, &value);
    } else {
        value = evaluate(machine, statement->right, scope);
    }
    if (attn_machine_is_alive(machine))
        assign(machine, statement->left, value, scope);
}

static struct attn_value make_macro(struct attn_machine *machine, node *statement,
                                    struct attn_scope *scope)
{
    struct attn_macro *macro = attn_machine_take(machine, 1, sizeof *macro);

    if (macro)
        *macro = (struct attn_macro){statement, scope};
    return (struct attn_value){.kind = ATTN_IS_MACRO, .macro = macro};
}

static void run_with(struct attn_machine *machine, node *statement, struct attn_scope *scope,
                     struct attn_buffer *out)
{
    struct attn_scope *inner = make_scope(machine, scope);

    for (node *item = statement->list; item && inner && attn_machine_is_alive(machine);
         item = item->next)
        set_name(machine, inner, item->value, evaluate(machine, item->left, scope));
    if (inner && attn_machine_is_alive(machine))
        (void)run(machine, statement->body, inner, out);
}

static enum flow run_statement(struct attn_machine *machine, node *statement,
                               struct attn_scope *scope, struct attn_buffer *out)
{
    struct attn_value value = {0};

    switch ((enum attn_node_kind)statement->kind) {
    case ATTN_NODE_DATA:
        attn_value_print(machine, statement->value, out);
        break;
    case ATTN_NODE_PRINT:
        value = evaluate(machine, statement->left, scope);
        if (attn_machine_is_alive(machine))
            attn_value_print(machine, value, out);
        break;
    case ATTN_NODE_IF:
        value = evaluate(machine, statement->left, scope);
        return run(machine, attn_value_is_true(value) ? statement->body : statement->other, scope,
                   out);
    case ATTN_NODE_FOR:
        return run_for(machine, statement, scope, out);
    case ATTN_NODE_SET:
        run_set(machine, statement, scope);
        break;
    case ATTN_NODE_MACRO:
        set_name(machine, scope, statement->value, make_macro(machine, statement, scope));
        break;
    case ATTN_NODE_CALL_BLOCK:
        value = call(machine, statement->left, scope, make_macro(machine, statement, scope));
        if (attn_machine_is_alive(machine))
            attn_value_print(machine, value, out);
        break;
    case ATTN_NODE_FILTER_BLOCK:
        value = capture(machine, statement->body, scope);
        if (attn_machine_is_alive(machine))
            value = evaluate_filter(machine, statement->left, scope, &value);
        if (attn_machine_is_alive(machine))
            attn_value_print(machine, value, out);
        break;
    case ATTN_NODE_WITH:
        run_with(machine, statement, scope, out);
        break;
    case ATTN_NODE_SCOPE:
        value = capture(machine, statement->body, scope);
        attn_value_print(machine, value, out);
        break;
    default:
        return statement->kind == ATTN_NODE_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
    }
    return FLOW_NEXT;
}

static enum flow run(struct attn_machine *machine, node *statements, struct attn_scope *scope,
                     struct attn_buffer *out)
{
    enum flow flow = FLOW_NEXT;

    if (attn_machine_enter(machine))
        for (node *statement = statements;
             statement && flow == FLOW_NEXT && attn_machine_spend(machine, 1);
             statement = statement->next) {
            machine->line = statement->line;
            flow = run_statement(machine, statement, scope, out);
        }
    machine->depth--;
    return flow;
}

void attn_machine_render(struct attn_machine *machine, const struct attn_template_node *tree,
                         struct attn_value variables, struct attn_buffer *text)
{
    struct attn_scope *root = make_scope(machine, NULL), *top = make_scope(machine, root);

    if (!root || !top)
        return;
    root->names = *variables.dict;
    (void)run(machine, tree, top, text);
}
