/* template_operators.c - arithmetic, slices and items of values of templates, as in Python. */
#include "base/memory.h"
#include "template/template_internal.h"

#include <math.h>
#include <string.h>

const char *attn_operator_text(int op, char text[3])
{
    text[0] = (char)(op > 0xff ? op >> 8 : op);
    text[1] = (char)(op > 0xff ? op & 0xff : '\0');
    text[2] = '\0';
    return text;
}

static struct attn_value refuse_types(struct attn_machine *machine, int op, struct attn_value a,
                                      struct attn_value b)
{
    char text[3];

    if (a.kind == ATTN_IS_UNDEFINED || b.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, a.kind == ATTN_IS_UNDEFINED ? a : b);
    if (a.kind == ATTN_IS_LARGE || b.kind == ATTN_IS_LARGE)
        return attn_value_fail_large(machine);
    if (op == '+' && a.kind == ATTN_IS_STRING)
        return attn_machine_fail(machine, "can only concatenate str (not \"%s\") to str",
                                 attn_value_type(b));
    return attn_machine_fail(machine, "unsupported operand type(s) for %s: '%s' and '%s'",
                             attn_operator_text(op, text), attn_value_type(a), attn_value_type(b));
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Returns A to the power N >= 0; sets *IS_WHOLE to false if it does not fit. */
static int64_t power(int64_t a, int64_t n, bool *is_whole)
{
    int64_t result = 1;

    if (a == 0 || a == 1 || a == -1)
        return n == 0 ? 1 : a == -1 && n % 2 == 0 ? 1 : a;
    for (; n > 0 && *is_whole; n--)
        *is_whole = !__builtin_mul_overflow(result, a, &result);
    return result;
}

static struct attn_value operate_integers(struct attn_machine *machine, int op, int64_t a,
                                          int64_t b)
{
    bool is_whole = true;
    int64_t result = 0;

    switch (op) {
    case '+':
        is_whole = !__builtin_add_overflow(a, b, &result);
        break;
    case '-':
        is_whole = !__builtin_sub_overflow(a, b, &result);
        break;
    case '*':
        is_whole = !__builtin_mul_overflow(a, b, &result);
        break;
    case '*' << 8 | '*':
        if (b < 0)
            return attn_machine_fail(machine, "a negative exponent is not supported");
        result = power(a, b, &is_whole);
        break;
    default:
        if (b == -1 && a == INT64_MIN) {
            is_whole = false;
            break;
        }
        result = op == '%' ? a % b : a / b;
        if (a % b != 0 && (a < 0) != (b < 0))
            result += op == '%' ? b : -1;
    }
    return is_whole ? attn_value_int(result) : attn_value_fail_large(machine);
}

static struct attn_value operate_numbers(struct attn_machine *machine, int op, struct attn_value a,
                                         struct attn_value b)
{
    const double x = attn_value_real(a), y = attn_value_real(b);
    struct attn_value value = {.kind = ATTN_IS_FLOAT};
    const bool divides = op == '/' || op == '%' || op == ('/' << 8 | '/');

    if (divides && !(y < 0) && !(y > 0))
        return attn_machine_fail(machine, "division by zero");
    if (op != '/' && a.kind != ATTN_IS_FLOAT && b.kind != ATTN_IS_FLOAT)
        return operate_integers(machine, op, a.integer, b.integer);
    if (op == '/' && (fabs(x) > 0x1p53 || fabs(y) > 0x1p53))
        return attn_machine_fail(machine, "division of large numbers is not supported");
    switch (op) {
    case '+':
        value.real = x + y;
        break;
    case '-':
        value.real = x - y;
        break;
    case '*':
        value.real = x * y;
        break;
    case '/':
        value.real = x / y;
        break;
    default:
        return attn_machine_fail(machine, "this operator of float numbers is not supported");
    }
    return value;
}

/* --- Strings and lists ------------------------------------------------------------------------ */

static struct attn_value repeat(struct attn_machine *machine, struct attn_value value, int64_t n)
{
    const size_t size = value.kind == ATTN_IS_STRING ? value.size : value.list->n;
    struct attn_value result;
    char *text;
    size_t total;

    n = n < 0 ? 0 : n;
    if (!attn_checked_mul(size, (size_t)n, &total) || total > ATTN_TEMPLATE_MAX_MEMORY)
        return attn_machine_fail(machine, "the template needs more than %d MiB of memory",
                                 ATTN_TEMPLATE_MAX_MEMORY >> 20);
    if (value.kind == ATTN_IS_STRING) {
        text = attn_machine_take(machine, total, 1);
        for (size_t i = 0; text && i < total && attn_machine_spend(machine, 1); i += size)
            memcpy(text + i, value.text, size);
        return attn_value_string(text, text ? total : 0);
    }
    result = attn_value_list_of(machine, (enum attn_value_kind)value.kind);
    for (size_t i = 0; i < total && attn_machine_is_alive(machine); i++)
        attn_value_append(machine, result, value.list->items[i % size]);
    return result;
}

/* Returns TEXT with references for the characters of markup, as MarkupSafe escapes what is added to
 * a value of `safe`. */
static struct attn_value escape_markup(struct attn_machine *machine, struct attn_value text)
{
    static const char *const references[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['\''] = "&#39;", ['"'] = "&#34;"};
    struct attn_buffer out = {0};

    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.text[i];

        if (c < 128 && references[c])
            attn_buffer_append_string(&out, references[c]);
        else
            attn_buffer_append(&out, text.text + i, 1);
    }
    return attn_value_of_buffer(machine, &out);
}

static struct attn_value join(struct attn_machine *machine, struct attn_value a,
                              struct attn_value b)
{
    struct attn_value joined;
    size_t size;
    char *text;

    if (a.is_safe && !b.is_safe)
        b = escape_markup(machine, b);
    else if (b.is_safe && !a.is_safe)
        a = escape_markup(machine, a);
    if (!attn_checked_add(a.size, b.size, &size))
        return attn_machine_fail(machine, "a text is too long");
    text = attn_machine_take(machine, size, 1);
    if (!text || !attn_machine_spend(machine, size / 64))
        return (struct attn_value){0};
    if (a.size > 0)
        memcpy(text, a.text, a.size);
    if (b.size > 0)
        memcpy(text + a.size, b.text, b.size);
    joined = attn_value_string(text, size);
    joined.is_safe = a.is_safe || b.is_safe;
    return joined;
}

/* Formats A % B: %s and %d of one value or of a tuple. */
static struct attn_value format(struct attn_machine *machine, struct attn_value a,
                                struct attn_value b)
{
    const size_t n = b.kind == ATTN_IS_TUPLE ? b.list->n : 1;
    const struct attn_value *values = b.kind == ATTN_IS_TUPLE ? b.list->items : &b;
    struct attn_buffer text = {0};
    size_t used = 0;

    for (size_t i = 0; i < a.size && attn_machine_is_alive(machine); i++) {
        const char c = a.text[i], next = (char)(i + 1 < a.size ? a.text[i + 1] : '\0');

        if (c != '%') {
            attn_buffer_append_char(&text, c);
            continue;
        }
        i++;
        if (next == '%') {
            attn_buffer_append_char(&text, '%');
        } else if ((next == 's' || (next == 'd' && used < n && values[used].kind == ATTN_IS_INT)) &&
                   used < n) {
            attn_value_print(machine, values[used++], &text);
        } else {
            attn_machine_fail(machine, "the format of a '%%' is not supported");
        }
    }
    if (used != n)
        attn_machine_fail(machine, "not all arguments converted during string formatting");
    return attn_value_of_buffer(machine, &text);
}

static struct attn_value join_lists(struct attn_machine *machine, struct attn_value a,
                                    struct attn_value b)
{
    struct attn_value list = attn_value_list_of(machine, (enum attn_value_kind)a.kind);

    for (size_t i = 0; i < a.list->n && attn_machine_is_alive(machine); i++)
        attn_value_append(machine, list, a.list->items[i]);
    for (size_t i = 0; i < b.list->n && attn_machine_is_alive(machine); i++)
        attn_value_append(machine, list, b.list->items[i]);
    return list;
}

static bool can_repeat(struct attn_value value)
{
    return value.kind == ATTN_IS_STRING || value.kind == ATTN_IS_LIST ||
           value.kind == ATTN_IS_TUPLE;
}

struct attn_value attn_value_operate(struct attn_machine *machine, int op, struct attn_value a,
                                     struct attn_value b)
{
    const bool is_whole[2] = {a.kind == ATTN_IS_INT || a.kind == ATTN_IS_BOOL,
                              b.kind == ATTN_IS_INT || b.kind == ATTN_IS_BOOL};

    if (!attn_machine_spend(machine, 1))
        return (struct attn_value){0};
    if (attn_value_is_number(a) && attn_value_is_number(b))
        return operate_numbers(machine, op, a, b);
    if (op == '+' && a.kind == b.kind && a.kind == ATTN_IS_STRING)
        return join(machine, a, b);
    if (op == '+' && a.kind == b.kind && can_repeat(a))
        return join_lists(machine, a, b);
    if (op == '*' && can_repeat(a) && is_whole[1] && !a.is_safe)
        return repeat(machine, a, b.integer);
    if (op == '*' && can_repeat(b) && is_whole[0] && !b.is_safe)
        return repeat(machine, b, a.integer);
    if (op == '%' && a.kind == ATTN_IS_STRING && !a.is_safe && b.kind != ATTN_IS_DICT)
        return format(machine, a, b);
    return refuse_types(machine, op, a, b);
}

bool attn_value_relate(struct attn_machine *machine, int op, struct attn_value a,
                       struct attn_value b)
{
    char text[3];
    int order;

    switch (op) {
    case '=' << 8 | '=':
        return attn_value_equals(machine, a, b);
    case '!' << 8 | '=':
        return !attn_value_equals(machine, a, b);
    case 'i':
        return attn_value_contains(machine, b, a);
    case 'n':
        return !attn_value_contains(machine, b, a);
    default:
        order = attn_value_compare(machine, a, b, attn_operator_text(op, text));
        return op == '<'                ? order < 0
               : op == '>'              ? order > 0
               : op == ('<' << 8 | '=') ? order <= 0
                                        : order >= 0;
    }
}

/* --- Slices and items ------------------------------------------------------------------------- */

/* Returns the offset of character INDEX of TEXT, at most its size. */
static size_t find_character(struct attn_value text, size_t index)
{
    size_t at = 0;

    for (; at < text.size; at++)
        if (((unsigned char)text.text[at] & 0xc0) != 0x80 && index-- == 0)
            break;
    return at;
}

/* Returns the characters from FIRST to LAST as a part of TEXT. */
static struct attn_value part_of(struct attn_machine *machine, struct attn_value text, size_t first,
                                 size_t last)
{
    const size_t begin = find_character(text, first), end = find_character(text, last);
    struct attn_value part = text;

    attn_machine_spend(machine, text.size / 16);
    part.text += begin;
    part.size = end > begin ? end - begin : 0;
    return part;
}

/* Stores a bound of a slice of N elements, as slice.indices of Python. */
static bool read_bound(struct attn_machine *machine, struct attn_value given, int64_t n,
                       bool is_down, int64_t fallback, int64_t *bound)
{
    *bound = fallback;
    if (given.kind == ATTN_IS_NONE)
        return true;
    if (given.kind != ATTN_IS_INT && given.kind != ATTN_IS_BOOL) {
        if (given.kind == ATTN_IS_UNDEFINED)
            attn_machine_fail(machine, "a bound of a slice is undefined, which is not supported");
        attn_machine_fail(machine, "slice indices must be integers or None");
        return false;
    }
    *bound = given.integer < 0 ? (given.integer < -n ? -1 : given.integer + n) : given.integer;
    if (*bound < 0)
        *bound = is_down ? -1 : 0;
    if (*bound >= n)
        *bound = is_down ? n - 1 : n;
    return true;
}

struct attn_value attn_value_slice(struct attn_machine *machine, struct attn_value value,
                                   const struct attn_value bounds[3])
{
    const bool is_text = value.kind == ATTN_IS_STRING;
    int64_t n, step, begin, end;
    struct attn_value result, characters = value;

    if (!can_repeat(value) && value.kind != ATTN_IS_RANGE)
        return value.kind == ATTN_IS_UNDEFINED
                   ? attn_value_fail(machine, value)
                   : attn_machine_fail(machine, "'%s' object is not subscriptable",
                                       attn_value_type(value));
    n = (int64_t)(is_text ? attn_value_length(machine, value) : value.list->n);
    step = bounds[2].kind == ATTN_IS_NONE ? 1 : bounds[2].integer;
    if ((bounds[2].kind != ATTN_IS_NONE && bounds[2].kind != ATTN_IS_INT) || step == 0 ||
        step < -INT32_MAX || step > INT32_MAX)
        return attn_machine_fail(machine, "this step of a slice is not supported");
    if (!read_bound(machine, bounds[0], n, step < 0, step < 0 ? n - 1 : 0, &begin) ||
        !read_bound(machine, bounds[1], n, step < 0, step < 0 ? -1 : n, &end))
        return (struct attn_value){0};
    if (is_text && step == 1)
        return part_of(machine, value, (size_t)begin, (size_t)(end > begin ? end : begin));
    if (is_text) {
        characters.kind = ATTN_IS_LIST;
        characters.list = attn_machine_take(machine, 1, sizeof *characters.list);
        if (!characters.list)
            return (struct attn_value){0};
        *characters.list = attn_value_iterate(machine, value);
    }
    result = attn_value_list_of(machine, (enum attn_value_kind)characters.kind);
    for (; (step > 0 ? begin < end : begin > end) && attn_machine_is_alive(machine); begin += step)
        attn_value_append(machine, result, characters.list->items[begin]);
    if (is_text && attn_machine_is_alive(machine)) {
        struct attn_buffer text = {0};

        for (size_t i = 0; i < result.list->n; i++)
            attn_value_print(machine, result.list->items[i], &text);
        return attn_value_of_buffer(machine, &text);
    }
    return result;
}

struct attn_value attn_value_item(struct attn_machine *machine, struct attn_value value,
                                  struct attn_value key)
{
    const struct attn_value *found = NULL;
    struct attn_value part;
    int64_t n, at = key.integer;

    if (value.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, value);
    if (value.kind == ATTN_IS_DICT)
        found = attn_value_is_list(key) || key.kind == ATTN_IS_DICT
                    ? NULL
                    : attn_value_dict_find(machine, value.dict, key);
    else if ((can_repeat(value) || value.kind == ATTN_IS_RANGE) &&
             (key.kind == ATTN_IS_INT || key.kind == ATTN_IS_BOOL)) {
        n = value.kind == ATTN_IS_STRING ? (int64_t)attn_value_length(machine, value)
                                         : (int64_t)value.list->n;
        at = at < 0 && at >= -n ? at + n : at;
        if (at >= 0 && at < n && value.kind != ATTN_IS_STRING)
            return value.list->items[at];
        part = value.kind == ATTN_IS_STRING && at >= 0 && at < n
                   ? part_of(machine, value, (size_t)at, (size_t)at + 1)
                   : (struct attn_value){0};
        found = part.kind == ATTN_IS_STRING ? &part : NULL;
    } else if (value.kind == ATTN_IS_NAMESPACE && key.kind == ATTN_IS_STRING) {
        found = attn_value_dict_find(machine, value.dict, key);
    }
    if (found)
        return *found;
    return key.kind == ATTN_IS_STRING ? attn_value_attribute(machine, value, key)
                                      : attn_value_missing(machine, value, key, NULL);
}
