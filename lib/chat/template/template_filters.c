/* template_filters.c - filters and tests of templates. */
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "template/template_internal.h"

#include <math.h>
#include <string.h>

typedef const struct attn_given_values *given_values;

/* --- Filters of strings ----------------------------------------------------------------------- */

static struct attn_value to_string(struct attn_machine *machine, struct attn_value value)
{
    return value.kind == ATTN_IS_STRING ? value : attn_value_text(machine, value);
}

/* lower, upper, capitalize, title */
static struct attn_value change_case(struct attn_machine *machine, struct attn_value name,
                                     struct attn_value value, given_values given)
{
    static const char *const cases[] = {"lower", "upper", "capitalize", "title"};

    (void)given;
    value = to_string(machine, value);
    for (size_t i = 0; i < 4; i++)
        if (attn_value_is(name, cases[i]))
            return attn_value_change_case(machine, value, cases[i]);
    return value;
}

static struct attn_value trim(struct attn_machine *machine, struct attn_value name,
                              struct attn_value value, given_values given)
{
    (void)name;
    return attn_value_strip(machine, to_string(machine, value),
                            attn_given_value(machine, given, 0, "chars", attn_value_none()),
                            ATTN_STRIP_LEFT | ATTN_STRIP_RIGHT);
}

static struct attn_value replace(struct attn_machine *machine, struct attn_value name,
                                 struct attn_value value, given_values given)
{
    const struct attn_value none = attn_value_none();
    const struct attn_value from = attn_given_value(machine, given, 0, "old", none);
    const struct attn_value to = attn_given_value(machine, given, 1, "new", none);
    const struct attn_value limit =
        attn_given_value(machine, given, 2, "count", attn_value_int(-1));

    (void)name;
    if (limit.kind != ATTN_IS_INT)
        return attn_machine_fail(machine, "this count of 'replace' is not supported");
    return attn_value_replace(machine, attn_value_text(machine, value),
                              attn_value_text(machine, from), attn_value_text(machine, to),
                              limit.integer);
}

/* string, safe */
static struct attn_value make_string(struct attn_machine *machine, struct attn_value name,
                                     struct attn_value value, given_values given)
{
    (void)given;
    value = to_string(machine, value);
    if (attn_value_is(name, "safe"))
        value.is_safe = true;
    return value;
}

static struct attn_value indent(struct attn_machine *machine, struct attn_value name,
                                struct attn_value value, given_values given)
{
    const struct attn_value no = attn_value_bool(false);
    const struct attn_value width = attn_given_value(machine, given, 0, "width", attn_value_int(4));
    const bool has_first = attn_value_is_true(attn_given_value(machine, given, 1, "first", no));
    const bool has_blank = attn_value_is_true(attn_given_value(machine, given, 2, "blank", no));
    struct attn_buffer text = {0}, space = {0};

    (void)name;
    if (value.kind != ATTN_IS_STRING || value.is_safe ||
        (width.kind != ATTN_IS_STRING &&
         (width.kind != ATTN_IS_INT || width.integer < 0 || width.integer > 1000)))
        return attn_machine_fail(machine, "these arguments of 'indent' are not supported");
    if (!attn_value_has_plain_lines(machine, value))
        return (struct attn_value){0};
    if (width.kind == ATTN_IS_STRING)
        attn_buffer_append(&space, width.text, width.size);
    else
        for (int64_t i = 0; i < width.integer; i++)
            attn_buffer_append_char(&space, ' ');
    if (has_first)
        attn_buffer_append(&text, space.data, space.size);
    for (size_t i = 0; i < value.size && attn_machine_spend(machine, 1 + space.size / 64); i++) {
        attn_buffer_append_char(&text, value.text[i]);
        if (value.text[i] == '\n' &&
            (has_blank || (i + 1 < value.size && value.text[i + 1] != '\n')))
            attn_buffer_append(&text, space.data, space.size);
        (void)attn_machine_check_size(machine, text.size);
    }
    attn_buffer_release(&space);
    return attn_value_of_buffer(machine, &text);
}

static struct attn_value dump_json(struct attn_machine *machine, struct attn_value name,
                                   struct attn_value value, given_values given)
{
    const struct attn_value no = attn_value_bool(false), none = attn_value_none();
    const struct attn_value width = attn_given_value(machine, given, 1, "indent", none);
    const struct attn_value marks = attn_given_value(machine, given, 2, "separators", none);
    struct attn_json_style style = {
        .is_ascii = attn_value_is_true(attn_given_value(machine, given, 0, "ensure_ascii", no)),
        .sorts_keys = attn_value_is_true(attn_given_value(machine, given, 3, "sort_keys", no)),
        .comma = attn_value_word(width.kind == ATTN_IS_NONE ? ", " : ","),
        .colon = attn_value_word(": ")};
    static const char blanks[] = "                ";
    struct attn_buffer text = {0};

    (void)name;
    if (width.kind == ATTN_IS_STRING) {
        style.indent = width.text ? width.text : "";
        style.indent_size = width.size;
    } else if (width.kind == ATTN_IS_INT && width.integer >= 0 && width.integer <= 16) {
        style.indent = blanks;
        style.indent_size = (size_t)width.integer;
    } else if (width.kind != ATTN_IS_NONE) {
        return attn_machine_fail(machine, "this indent of 'tojson' is not supported");
    }
    if (marks.kind == ATTN_IS_TUPLE || marks.kind == ATTN_IS_LIST) {
        if (marks.list->n != 2 || marks.list->items[0].kind != ATTN_IS_STRING ||
            marks.list->items[1].kind != ATTN_IS_STRING)
            return attn_machine_fail(machine, "the separators of 'tojson' must be two strings");
        style.comma = marks.list->items[0];
        style.colon = marks.list->items[1];
    } else if (marks.kind != ATTN_IS_NONE) {
        return attn_machine_fail(machine, "these separators of 'tojson' are not supported");
    }
    attn_value_dump(machine, value, &style, &text);
    return attn_value_of_buffer(machine, &text);
}

/* --- Filters of lists ------------------------------------------------------------------------- */

/* Returns the item of VALUE at PATH, "function.name": parts are keys, or indices if all digits. */
static struct attn_value follow(struct attn_machine *machine, struct attn_value value,
                                struct attn_value path)
{
    if (path.kind == ATTN_IS_INT)
        return attn_value_item(machine, value, path);
    if (path.kind != ATTN_IS_STRING)
        return attn_machine_fail(machine, "the name of an attribute must be a string");
    for (size_t at = 0; at <= path.size && attn_machine_is_alive(machine);) {
        const char *dot = at < path.size ? memchr(path.text + at, '.', path.size - at) : NULL;
        const size_t n = dot ? (size_t)(dot - path.text) - at : path.size - at;
        const struct attn_value part = attn_value_string(path.text + at, n);

        if (n > 0 && *part.text >= '0' && *part.text <= '9')
            return attn_machine_fail(machine, "the attribute '%s' is not supported",
                                     attn_quote(path.text, path.size).text);
        value = attn_value_item(machine, value, part);
        at += n + 1;
    }
    return value;
}

static struct attn_value length(struct attn_machine *machine, struct attn_value name,
                                struct attn_value value, given_values given)
{
    (void)name, (void)given;
    if (value.kind == ATTN_IS_UNDEFINED)
        return attn_value_int(0);
    if (value.kind == ATTN_IS_STRING)
        return attn_value_int((int64_t)attn_value_length(machine, value));
    if (value.kind == ATTN_IS_DICT)
        return attn_value_int((int64_t)value.dict->n);
    if (attn_value_is_list(value) && value.kind != ATTN_IS_GENERATOR)
        return attn_value_int((int64_t)value.list->n);
    return attn_machine_fail(machine, "object of type '%s' has no len()", attn_value_type(value));
}

static struct attn_value join(struct attn_machine *machine, struct attn_value name,
                              struct attn_value value, given_values given)
{
    const struct attn_value between = attn_given_value(machine, given, 0, "d", attn_value_word(""));
    const struct attn_value path =
        attn_given_value(machine, given, 1, "attribute", attn_value_none());
    const struct attn_value_list list = attn_value_iterate(machine, value);
    struct attn_buffer text = {0};

    (void)name;
    for (size_t i = 0; i < list.n && attn_machine_is_alive(machine); i++) {
        if (i > 0)
            attn_value_print(machine, between, &text);
        attn_value_print(machine,
                         path.kind == ATTN_IS_NONE ? list.items[i]
                                                   : follow(machine, list.items[i], path),
                         &text);
    }
    return attn_value_of_buffer(machine, &text);
}

/* first, last */
static struct attn_value get_end(struct attn_machine *machine, struct attn_value name,
                                 struct attn_value value, given_values given)
{
    const bool is_last = attn_value_is(name, "last");
    struct attn_value_list list;

    (void)given;
    if (value.kind == ATTN_IS_GENERATOR && (is_last || value.list->is_used))
        return attn_machine_fail(machine, "'%s' of the result of a filter is not supported",
                                 is_last ? "last" : "first");
    list = attn_value_iterate(machine, value);
    if (list.n == 0)
        return attn_value_missing(machine, attn_value_none(), attn_value_none(),
                                  is_last ? "No last item, sequence was empty."
                                          : "No first item, sequence was empty.");
    return list.items[is_last ? list.n - 1 : 0];
}

/* list, items, reverse */
static struct attn_value make_list(struct attn_machine *machine, struct attn_value name,
                                   struct attn_value value, given_values given)
{
    const bool reverses = attn_value_is(name, "reverse"), has_pairs = attn_value_is(name, "items");
    struct attn_value list =
        attn_value_list_of(machine, attn_value_is(name, "list") ? ATTN_IS_LIST : ATTN_IS_GENERATOR);
    struct attn_value_list items;

    (void)given;
    if (reverses && !attn_value_is_list(value))
        return attn_machine_fail(machine, "'reverse' of a value of type '%s' is not supported",
                                 attn_value_type(value));
    if (has_pairs && value.kind == ATTN_IS_UNDEFINED)
        return list;
    if (has_pairs && value.kind != ATTN_IS_DICT)
        return attn_machine_fail(machine, "Can only get item pairs from a mapping.");
    items = attn_value_iterate(machine, value);
    for (size_t i = 0; i < items.n && attn_machine_is_alive(machine); i++) {
        const struct attn_value item =
            has_pairs ? attn_value_pair_of(machine, value.dict->keys[i], value.dict->values[i])
                      : items.items[reverses ? items.n - 1 - i : i];

        attn_value_append(machine, list, item);
    }
    return list;
}

/* Sorts LIST by KEYS, both of N elements, in ascending order; stable. */
static void sort_by(struct attn_machine *machine, struct attn_value *list, struct attn_value *keys,
                    size_t n, bool is_reverse)
{
    for (size_t i = 1; i < n && attn_machine_is_alive(machine); i++) {
        const struct attn_value item = list[i], key = keys[i];
        size_t at = i;

        for (; at > 0 && attn_machine_spend(machine, 1); at--) {
            const int order = is_reverse ? attn_value_compare(machine, keys[at - 1], key, "<")
                                         : attn_value_compare(machine, key, keys[at - 1], "<");

            if (order >= 0)
                break;
            list[at] = list[at - 1];
            keys[at] = keys[at - 1];
        }
        list[at] = item;
        keys[at] = key;
    }
}

/* sort, dictsort */
static struct attn_value sort(struct attn_machine *machine, struct attn_value name,
                              struct attn_value value, given_values given)
{
    const struct attn_value no = attn_value_bool(false), none = attn_value_none();
    const bool is_dict = attn_value_is(name, "dictsort");
    const struct attn_value by = attn_given_value(machine, given, 1, "by", attn_value_word("key"));
    const struct attn_value path = attn_given_value(machine, given, 2, "attribute", none);
    const bool is_exact =
        attn_value_is_true(attn_given_value(machine, given, is_dict ? 0 : 1, "case_sensitive", no));
    const bool is_reverse =
        attn_value_is_true(attn_given_value(machine, given, is_dict ? 2 : 0, "reverse", no));
    struct attn_value list, keys = attn_value_list_of(machine, ATTN_IS_LIST);
    const struct attn_given_values none_given = {0};

    if (is_dict &&
        (value.kind != ATTN_IS_DICT || (!attn_value_is(by, "key") && !attn_value_is(by, "value"))))
        return attn_machine_fail(machine, "this 'dictsort' is not supported");
    list = make_list(machine, attn_value_word(is_dict ? "items" : "list"), value, &none_given);
    list.kind = ATTN_IS_LIST;
    for (size_t i = 0; attn_machine_is_alive(machine) && i < list.list->n; i++) {
        struct attn_value key = list.list->items[i];

        if (is_dict)
            key = key.list->items[attn_value_is(by, "value")];
        else if (path.kind != ATTN_IS_NONE)
            key = follow(machine, key, path);
        if (!is_exact && key.kind == ATTN_IS_STRING)
            key = attn_value_change_case(machine, key, "lower");
        attn_value_append(machine, keys, key);
    }
    if (attn_machine_is_alive(machine))
        sort_by(machine, list.list->items, keys.list->items, list.list->n, is_reverse);
    return list;
}

/* The first of equal items, and of texts that differ by their case unless that counts. */
static struct attn_value choose_unique(struct attn_machine *machine, struct attn_value name,
                                       struct attn_value value, given_values given)
{
    const struct attn_value no = attn_value_bool(false), none = attn_value_none();
    const bool is_exact =
        attn_value_is_true(attn_given_value(machine, given, 0, "case_sensitive", no));
    const struct attn_value path = attn_given_value(machine, given, 1, "attribute", none);
    const struct attn_value_list list = attn_value_iterate(machine, value);
    struct attn_value result = attn_value_list_of(machine, ATTN_IS_GENERATOR);
    struct attn_value seen = attn_value_list_of(machine, ATTN_IS_LIST);

    (void)name;
    for (size_t i = 0; i < list.n && attn_machine_is_alive(machine); i++) {
        struct attn_value key = list.items[i];

        if (path.kind != ATTN_IS_NONE)
            key = follow(machine, key, path);
        if (key.kind == ATTN_IS_LIST || key.kind == ATTN_IS_DICT)
            return attn_machine_fail(machine, "unhashable type: '%s'", attn_value_type(key));
        if (!is_exact && key.kind == ATTN_IS_STRING)
            key = attn_value_change_case(machine, key, "lower");
        if (attn_value_contains(machine, seen, key))
            continue;
        attn_value_append(machine, seen, key);
        attn_value_append(machine, result, list.items[i]);
    }
    return result;
}

/* min, max, sum */
static struct attn_value reduce(struct attn_machine *machine, struct attn_value name,
                                struct attn_value value, given_values given)
{
    const bool is_sum = attn_value_is(name, "sum"), is_max = attn_value_is(name, "max");
    const struct attn_value_list list = attn_value_iterate(machine, value);
    struct attn_value result = attn_value_int(0);

    (void)given;
    if (!is_sum && list.n == 0)
        return attn_value_missing(machine, attn_value_none(), attn_value_none(),
                                  "No aggregated item, sequence was empty.");
    for (size_t i = 0; i < list.n && attn_machine_is_alive(machine); i++) {
        const struct attn_value item = list.items[i];

        if (!attn_value_is_number(item))
            return attn_machine_fail(machine, "'%s' of values of type '%s' is not supported",
                                     attn_quote(name.text, name.size).text, attn_value_type(item));
        if (is_sum)
            result = attn_value_operate(machine, '+', result, item);
        else if (i == 0 || (attn_value_compare(machine, item, result, is_max ? ">" : "<") *
                                (is_max ? 1 : -1) >
                            0))
            result = item;
    }
    return result;
}

/* map(attribute=PATH, default=VALUE), map(FILTER, ...) */
static struct attn_value map(struct attn_machine *machine, struct attn_value name,
                             struct attn_value value, given_values given)
{
    const struct attn_value none = attn_value_none();
    const struct attn_value path = attn_given_value(machine, given, 9, "attribute", none);
    const struct attn_value fallback = attn_given_value(machine, given, 9, "default", none);
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_GENERATOR);
    struct attn_given_values rest = *given;
    struct attn_value_list items;

    (void)name;
    if (given->n > 0) {
        rest.items++;
        rest.n--;
    }
    if (given->n > 0 ? given->names.n > 0 || !attn_template_has_filter(given->items[0])
                     : path.kind == ATTN_IS_NONE)
        return attn_machine_fail(machine, "this 'map' is not supported");
    items = attn_value_iterate(machine, value);
    for (size_t i = 0; i < items.n && attn_machine_is_alive(machine); i++) {
        struct attn_value item = items.items[i];

        item = given->n > 0 ? attn_template_filter(machine, given->items[0], item, &rest)
                            : follow(machine, item, path);
        if (item.kind == ATTN_IS_UNDEFINED && fallback.kind != ATTN_IS_NONE)
            item = fallback;
        attn_value_append(machine, list, item);
    }
    return list;
}

/* select, reject, selectattr, rejectattr */
static struct attn_value select_items(struct attn_machine *machine, struct attn_value name,
                                      struct attn_value value, given_values given)
{
    const bool rejects = *name.text == 'r', has_path = memchr(name.text, 'a', name.size) != NULL;
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_GENERATOR);
    struct attn_given_values rest = *given;
    struct attn_value_list items;
    const size_t n_name = has_path ? 2 : 1;

    if (given->n < n_name - 1 || given->names.n > 0 ||
        (given->n >= n_name && !attn_template_has_test(given->items[n_name - 1])))
        return attn_machine_fail(machine, "these arguments of '%s' are not supported",
                                 attn_quote(name.text, name.size).text);
    if (given->n >= n_name) {
        rest.items += n_name;
        rest.n -= n_name;
    }
    if (!attn_value_is_true(value))
        return list;
    items = attn_value_iterate(machine, value);
    for (size_t i = 0; i < items.n && attn_machine_is_alive(machine); i++) {
        const struct attn_value item =
            has_path ? follow(machine, items.items[i], given->items[0]) : items.items[i];
        const bool is_so = given->n >= n_name
                               ? attn_template_test(machine, given->items[n_name - 1], item, &rest)
                               : attn_value_is_true(item);

        if (is_so != rejects)
            attn_value_append(machine, list, items.items[i]);
    }
    return list;
}

/* --- Filters of numbers ----------------------------------------------------------------------- */

/* Parses an integer as Python does: white space around it, and a sign. */
static bool read_integer(struct attn_machine *machine, struct attn_value text, int64_t *integer)
{
    bool has_plus;

    text = attn_value_strip(machine, text, attn_value_none(), ATTN_STRIP_LEFT | ATTN_STRIP_RIGHT);
    has_plus = text.size > 1 && text.text[0] == '+' && text.text[1] != '-';
    return text.size <= 18 && attn_parse_int(text.text + has_plus, text.size - has_plus, INT64_MIN,
                                             INT64_MAX, integer);
}

/* int, abs */
static struct attn_value to_integer(struct attn_machine *machine, struct attn_value name,
                                    struct attn_value value, given_values given)
{
    const struct attn_value fallback =
        attn_given_value(machine, given, 0, "default", attn_value_int(0));
    int64_t integer;

    if (attn_value_is(name, "abs")) {
        if (!attn_value_is_number(value) || value.integer == INT64_MIN)
            return attn_machine_fail(machine, "bad operand type for abs(): '%s'",
                                     attn_value_type(value));
        if (value.kind == ATTN_IS_FLOAT)
            value.real = fabs(value.real);
        else
            value = attn_value_int(value.integer < 0 ? -value.integer : value.integer);
        return value;
    }
    if (value.kind == ATTN_IS_FLOAT && fabs(value.real) < 0x1p62)
        return attn_value_int((int64_t)value.real);
    if (value.kind == ATTN_IS_LARGE)
        return value;
    if (value.kind == ATTN_IS_INT || value.kind == ATTN_IS_BOOL)
        return attn_value_int(value.integer);
    if (value.kind == ATTN_IS_STRING && read_integer(machine, value, &integer))
        return attn_value_int(integer);
    if (value.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, value);
    if (value.kind == ATTN_IS_STRING || value.kind == ATTN_IS_FLOAT) {
        for (size_t i = 0; value.kind == ATTN_IS_STRING && i < value.size; i++)
            if ((value.text[i] >= '0' && value.text[i] <= '9') || (value.text[i] & 0x80))
                return attn_machine_fail(machine, "'int' of this text is not supported");
        if (value.kind == ATTN_IS_STRING &&
            (value.size < 3 || !memchr(value.text, 'n', value.size)))
            return fallback;
        return attn_machine_fail(machine, "'int' of this value is not supported");
    }
    return fallback;
}

static struct attn_value to_float(struct attn_machine *machine, struct attn_value name,
                                  struct attn_value value, given_values given)
{
    (void)name, (void)given;
    if (!attn_value_is_number(value))
        return attn_machine_fail(machine, "'float' of a value of type '%s' is not supported",
                                 attn_value_type(value));
    return (struct attn_value){.kind = ATTN_IS_FLOAT, .real = attn_value_real(value)};
}

static struct attn_value use_default(struct attn_machine *machine, struct attn_value name,
                                     struct attn_value value, given_values given)
{
    const bool is_any =
        attn_value_is_true(attn_given_value(machine, given, 1, "boolean", attn_value_bool(false)));

    (void)name;
    return value.kind == ATTN_IS_UNDEFINED || (is_any && !attn_value_is_true(value))
               ? attn_given_value(machine, given, 0, "default_value", attn_value_word(""))
               : value;
}

/* --- The lists of filters and tests ----------------------------------------------------------- */

static const struct filter {
    const char *name;
    struct attn_value (*function)(struct attn_machine *machine, struct attn_value name,
                                  struct attn_value value, given_values given);
    size_t min, max;   /* arguments by place */
    const char *names; /* arguments by name */
} filters[] = {{"abs", to_integer, 0, 0, ""},
               {"capitalize", change_case, 0, 0, ""},
               {"count", length, 0, 0, ""},
               {"d", use_default, 0, 2, "default_value boolean"},
               {"default", use_default, 0, 2, "default_value boolean"},
               {"dictsort", sort, 0, 3, "case_sensitive by reverse"},
               {"first", get_end, 0, 0, ""},
               {"float", to_float, 0, 0, ""},
               {"indent", indent, 0, 3, "width first blank"},
               {"int", to_integer, 0, 1, "default"},
               {"items", make_list, 0, 0, ""},
               {"join", join, 0, 2, "d attribute"},
               {"last", get_end, 0, 0, ""},
               {"length", length, 0, 0, ""},
               {"list", make_list, 0, 0, ""},
               {"lower", change_case, 0, 0, ""},
               {"map", map, 0, 8, "attribute default"},
               {"max", reduce, 0, 0, ""},
               {"min", reduce, 0, 0, ""},
               {"reject", select_items, 0, 8, ""},
               {"rejectattr", select_items, 1, 8, ""},
               {"replace", replace, 0, 3, "old new count"},
               {"reverse", make_list, 0, 0, ""},
               {"safe", make_string, 0, 0, ""},
               {"select", select_items, 0, 8, ""},
               {"selectattr", select_items, 1, 8, ""},
               {"sort", sort, 0, 3, "reverse case_sensitive attribute"},
               {"string", make_string, 0, 0, ""},
               {"sum", reduce, 0, 0, ""},
               {"title", change_case, 0, 0, ""},
               {"tojson", dump_json, 0, 4, "ensure_ascii indent separators sort_keys"},
               {"trim", trim, 0, 1, "chars"},
               {"unique", choose_unique, 0, 2, "case_sensitive attribute"},
               {"upper", change_case, 0, 0, ""}};

static const struct filter *find_filter(struct attn_value name)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (attn_value_is(name, filters[i].name))
            return &filters[i];
    return NULL;
}

bool attn_template_has_filter(struct attn_value name)
{
    return find_filter(name) != NULL;
}

struct attn_value attn_template_filter(struct attn_machine *machine, struct attn_value name,
                                       struct attn_value value, given_values given)
{
    const struct filter *filter = find_filter(name);

    if (!filter)
        return attn_machine_fail(machine, "the filter '%s' is not supported",
                                 attn_quote(name.text, name.size).text);
    if (!attn_given_fits(machine, given, filter->min, filter->max, filter->names, name))
        return (struct attn_value){0};
    return filter->function(machine, name, value, given);
}

/* Tests that compare with an argument, and the operator of each. */
static const struct {
    const char *name;
    int op;
} comparisons[] = {{"==", '=' << 8 | '='},
                   {"eq", '=' << 8 | '='},
                   {"equalto", '=' << 8 | '='},
                   {"!=", '!' << 8 | '='},
                   {"ne", '!' << 8 | '='},
                   {">", '>'},
                   {"gt", '>'},
                   {"greaterthan", '>'},
                   {">=", '>' << 8 | '='},
                   {"ge", '>' << 8 | '='},
                   {"<", '<'},
                   {"lt", '<'},
                   {"lessthan", '<'},
                   {"<=", '<' << 8 | '='},
                   {"le", '<' << 8 | '='},
                   {"in", 'i'}};

/* Returns the operator of the test NAME, or 0. */
static int find_comparison(struct attn_value name)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (attn_value_is(name, comparisons[i].name))
            return comparisons[i].op;
    return 0;
}

/* The other tests. */
static const char *const simple_tests =
    "defined undefined none boolean true false integer float string mapping number sequence "
    "iterable callable odd even divisibleby";

bool attn_template_has_test(struct attn_value name)
{
    return name.kind == ATTN_IS_STRING &&
           (find_comparison(name) || attn_text_has_word(simple_tests, name.text, name.size));
}

static bool test_number(struct attn_machine *machine, struct attn_value name,
                        struct attn_value value, int64_t by)
{
    const bool is_whole = value.kind == ATTN_IS_INT || value.kind == ATTN_IS_BOOL;

    if (!is_whole || by == 0)
        attn_machine_fail(machine, "the test '%s' of a value of type '%s' is not supported",
                          attn_quote(name.text, name.size).text, attn_value_type(value));
    return is_whole && by != 0 && (by == -1 || value.integer % by == 0) != (*name.text == 'o');
}

static bool test_type(struct attn_machine *machine, struct attn_value name, struct attn_value value)
{
    const enum attn_value_kind kind = (enum attn_value_kind)value.kind;
    const bool has_items = attn_value_is_list(value) || kind == ATTN_IS_DICT ||
                           kind == ATTN_IS_STRING || kind == ATTN_IS_UNDEFINED;
    const struct {
        const char *name;
        bool is_so;
    } tests[] = {
        {"defined", kind != ATTN_IS_UNDEFINED},
        {"undefined", kind == ATTN_IS_UNDEFINED},
        {"none", kind == ATTN_IS_NONE},
        {"boolean", kind == ATTN_IS_BOOL},
        {"true", kind == ATTN_IS_BOOL && value.integer},
        {"false", kind == ATTN_IS_BOOL && !value.integer},
        {"integer", kind == ATTN_IS_INT || kind == ATTN_IS_LARGE},
        {"float", kind == ATTN_IS_FLOAT},
        {"string", kind == ATTN_IS_STRING},
        {"mapping", kind == ATTN_IS_DICT},
        {"number", attn_value_is_number(value) || kind == ATTN_IS_LARGE},
        {"sequence", has_items && kind != ATTN_IS_VIEW && kind != ATTN_IS_GENERATOR},
        {"iterable", has_items || kind == ATTN_IS_LOOP},
        {"callable", kind == ATTN_IS_UNDEFINED || kind == ATTN_IS_MACRO || kind == ATTN_IS_METHOD ||
                         kind == ATTN_IS_FUNCTION},
    };

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (attn_value_is(name, tests[i].name))
            return tests[i].is_so;
    attn_machine_fail(machine, "the test '%s' is not supported",
                      attn_quote(name.text, name.size).text);
    return false;
}

bool attn_template_test(struct attn_machine *machine, struct attn_value name,
                        struct attn_value value, given_values given)
{
    const int op = find_comparison(name);
    const bool divides = attn_value_is(name, "divisibleby");

    if (!attn_given_fits(machine, given, op || divides, op || divides, "", name))
        return false;
    if (op)
        return attn_value_relate(machine, op, value, given->items[0]);
    if (divides || attn_value_is(name, "odd") || attn_value_is(name, "even"))
        return test_number(machine, name, value,
                           !divides                              ? 2
                           : given->items[0].kind == ATTN_IS_INT ? given->items[0].integer
                                                                 : 0);
    return test_type(machine, name, value);
}
