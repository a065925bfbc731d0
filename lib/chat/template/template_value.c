/* template_value.c - values of templates, and the memory and limits of the machine. */
#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "template/template_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Machine ---------------------------------------------------------------------------------- */

enum { BLOCK_SIZE = 1 << 16 };

struct attn_pool_block {
    struct attn_pool_block *next;
    size_t used, size;
    max_align_t data[];
};

bool attn_machine_is_alive(const struct attn_machine *machine)
{
    return machine->status == ATTN_OK;
}

struct attn_value attn_machine_fail(struct attn_machine *machine, const char *format, ...)
{
    char message[ATTN_ERROR_MESSAGE_SIZE];
    va_list list;

    if (attn_machine_is_alive(machine)) {
        va_start(list, format);
        (void)vsnprintf(message, sizeof message, format, list);
        va_end(list);
        machine->status =
            attn_error_set(machine->err, ATTN_FORMAT, "'%s' line %d: %s",
                           attn_quote_string(machine->name).text, machine->line, message);
    }
    return (struct attn_value){0};
}

bool attn_machine_spend(struct attn_machine *machine, size_t n)
{
    machine->steps += n < ATTN_TEMPLATE_MAX_STEPS ? n : ATTN_TEMPLATE_MAX_STEPS;
    if (machine->steps > ATTN_TEMPLATE_MAX_STEPS)
        attn_machine_fail(machine, "the template needs more than %d steps",
                          ATTN_TEMPLATE_MAX_STEPS);
    return attn_machine_is_alive(machine);
}

bool attn_machine_check_size(struct attn_machine *machine, size_t size)
{
    if (size > ATTN_TEMPLATE_MAX_OUTPUT)
        attn_machine_fail(machine, "the template writes more than %d MiB",
                          ATTN_TEMPLATE_MAX_OUTPUT >> 20);
    return attn_machine_is_alive(machine);
}

bool attn_machine_enter(struct attn_machine *machine)
{
    if (machine->depth >= ATTN_TEMPLATE_MAX_DEPTH)
        attn_machine_fail(machine, "the template is nested more than %d levels deep",
                          ATTN_TEMPLATE_MAX_DEPTH);
    machine->depth++;
    return attn_machine_is_alive(machine);
}

void *attn_machine_take(struct attn_machine *machine, size_t n, size_t size)
{
    struct attn_pool_block *block = machine->blocks;
    size_t bytes, start;

    if (!attn_machine_is_alive(machine))
        return NULL;
    if (!attn_checked_mul(n, size, &bytes) || bytes > ATTN_TEMPLATE_MAX_MEMORY ||
        bytes > ATTN_TEMPLATE_MAX_MEMORY - machine->memory) {
        attn_machine_fail(machine, "the template needs more than %d MiB of memory",
                          ATTN_TEMPLATE_MAX_MEMORY >> 20);
        return NULL;
    }
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!block || bytes > block->size - block->used) {
        const size_t room = bytes > BLOCK_SIZE / 4 ? bytes : BLOCK_SIZE;

        block = attn_alloc(1, sizeof *block + room, machine->err);
        if (!block) {
            machine->status = ATTN_NO_MEMORY;
            return NULL;
        }
        block->size = room;
        block->next = machine->blocks;
        machine->blocks = block;
    }
    machine->memory += bytes;
    start = block->used;
    block->used += bytes;
    return (char *)block->data + start;
}

void attn_machine_release(struct attn_machine *machine)
{
    while (machine->blocks) {
        struct attn_pool_block *block = machine->blocks;

        machine->blocks = block->next;
        attn_free(block);
    }
}

/* --- Making values ---------------------------------------------------------------------------- */

struct attn_value attn_value_string(const char *text, size_t size)
{
    return (struct attn_value){.kind = ATTN_IS_STRING, .text = text, .size = size};
}

struct attn_value attn_value_word(const char *text)
{
    return attn_value_string(text, strlen(text));
}

struct attn_value attn_value_int(int64_t integer)
{
    return (struct attn_value){.kind = ATTN_IS_INT, .integer = integer};
}

struct attn_value attn_value_whole(struct attn_machine *machine, const char *text, size_t size)
{
    enum { MOST = 4300 }; /* digits */
    struct attn_value value = attn_value_int(0);

    if (attn_parse_int(text, size, INT64_MIN, INT64_MAX, &value.integer))
        return value;
    if (size > MOST + (*text == '-'))
        return attn_machine_fail(machine, "an integer has more than %d digits", MOST);
    value = attn_value_string(text, size);
    value.kind = ATTN_IS_LARGE;
    return value;
}

struct attn_value attn_value_bool(bool is_true)
{
    return (struct attn_value){.kind = ATTN_IS_BOOL, .integer = is_true};
}

struct attn_value attn_value_none(void)
{
    return (struct attn_value){.kind = ATTN_IS_NONE};
}

struct attn_value attn_value_of_buffer(struct attn_machine *machine, struct attn_buffer *text)
{
    struct attn_value value = {0};
    char *copy;

    if (attn_machine_is_alive(machine) && text->has_failed)
        machine->status = attn_buffer_check(text, machine->err);
    copy = attn_machine_take(machine, text->size, 1);
    if (copy && text->size > 0 && attn_machine_spend(machine, text->size / 64))
        memcpy(copy, text->data, text->size);
    if (copy)
        value = attn_value_string(copy, text->size);
    attn_buffer_release(text);
    return value;
}

struct attn_value attn_value_list_of(struct attn_machine *machine, enum attn_value_kind kind)
{
    struct attn_value_list *list = attn_machine_take(machine, 1, sizeof *list);

    return list ? (struct attn_value){.kind = (unsigned char)kind, .list = list}
                : (struct attn_value){0};
}

/* Doubles the room of ITEMS [n], of which each has SIZE bytes. */
static void *grow(struct attn_machine *machine, const void *items, size_t n, size_t room,
                  size_t size)
{
    void *larger = attn_machine_take(machine, room, size);

    if (larger && n > 0)
        memcpy(larger, items, n * size);
    return larger;
}

void attn_value_append(struct attn_machine *machine, struct attn_value value,
                       struct attn_value item)
{
    struct attn_value_list *list = value.list;

    if (!attn_machine_spend(machine, 1))
        return;
    if (list->n == list->capacity) {
        const size_t room = 2 * list->n + 4;
        struct attn_value *items = grow(machine, list->items, list->n, room, sizeof *items);

        if (!items)
            return;
        list->items = items;
        list->capacity = room;
    }
    list->items[list->n++] = item;
}

struct attn_value attn_value_pair_of(struct attn_machine *machine, struct attn_value first,
                                     struct attn_value second)
{
    struct attn_value pair = attn_value_list_of(machine, ATTN_IS_TUPLE);

    attn_value_append(machine, pair, first);
    attn_value_append(machine, pair, second);
    return pair;
}

const struct attn_value *attn_value_dict_find(struct attn_machine *machine,
                                              const struct attn_value_dict *dict,
                                              struct attn_value key)
{
    for (size_t i = 0; i < dict->n; i++)
        if (attn_value_equals(machine, dict->keys[i], key))
            return &dict->values[i];
    return NULL;
}

void attn_value_dict_set(struct attn_machine *machine, struct attn_value_dict *dict,
                         struct attn_value key, struct attn_value value)
{
    const struct attn_value *found = attn_value_dict_find(machine, dict, key);

    if (!attn_machine_is_alive(machine))
        return;
    if (found) {
        dict->values[found - dict->values] = value;
        return;
    }
    if (dict->n == dict->capacity) {
        const size_t room = 2 * dict->n + 4;
        struct attn_value *keys = grow(machine, dict->keys, dict->n, room, sizeof *keys);
        struct attn_value *values = grow(machine, dict->values, dict->n, room, sizeof *values);

        if (!keys || !values)
            return;
        dict->keys = keys;
        dict->values = values;
        dict->capacity = room;
    }
    dict->keys[dict->n] = key;
    dict->values[dict->n++] = value;
}

struct attn_value attn_value_missing(struct attn_machine *machine, struct attn_value object,
                                     struct attn_value name, const char *hint)
{
    struct attn_value_pair *about = attn_machine_take(machine, 1, sizeof *about);

    if (about)
        *about = (struct attn_value_pair){object, name, hint};
    return (struct attn_value){.kind = ATTN_IS_UNDEFINED, .about = about};
}

struct attn_value attn_value_fail(struct attn_machine *machine, struct attn_value value)
{
    const struct attn_value_pair *about = value.about;
    const bool is_none = about && about->first.kind == ATTN_IS_NONE;
    const struct attn_value name = about ? about->second : value;
    struct attn_quote quote = {{0}};

    if (!about)
        return attn_machine_fail(machine, "a value is undefined");
    if (about->hint)
        return attn_machine_fail(machine, "%s", about->hint);
    if (name.kind == ATTN_IS_STRING)
        quote = attn_quote(name.text, name.size);
    if (about->first.kind == ATTN_IS_UNDEFINED)
        return attn_machine_fail(machine, "'%s' is undefined", quote.text);
    if (name.kind == ATTN_IS_STRING)
        return attn_machine_fail(machine, "'%s%s' has no attribute '%s'",
                                 is_none ? "None" : attn_value_type(about->first),
                                 is_none ? "" : " object", quote.text);
    return attn_machine_fail(
        machine, "%s%s has no element %lld", is_none ? "None" : attn_value_type(about->first),
        is_none ? "" : " object", name.kind == ATTN_IS_INT ? (long long)name.integer : 0);
}

struct attn_value attn_value_fail_large(struct attn_machine *machine)
{
    return attn_machine_fail(machine, "an integer has more than 64 bits");
}

/* --- Asking values ---------------------------------------------------------------------------- */

bool attn_value_is(struct attn_value value, const char *text)
{
    return value.kind == ATTN_IS_STRING && strlen(text) == value.size &&
           memcmp(value.text, text, value.size) == 0;
}

bool attn_value_is_list(struct attn_value value)
{
    return value.kind >= ATTN_IS_LIST && value.kind <= ATTN_IS_GENERATOR &&
           value.kind != ATTN_IS_DICT;
}

bool attn_value_is_number(struct attn_value value)
{
    return value.kind >= ATTN_IS_BOOL && value.kind <= ATTN_IS_FLOAT;
}

double attn_value_real(struct attn_value number)
{
    return number.kind == ATTN_IS_FLOAT ? number.real : (double)number.integer;
}

bool attn_value_is_true(struct attn_value value)
{
    switch ((enum attn_value_kind)value.kind) {
    case ATTN_IS_UNDEFINED:
    case ATTN_IS_NONE:
        return false;
    case ATTN_IS_BOOL:
    case ATTN_IS_INT:
        return value.integer != 0;
    case ATTN_IS_FLOAT:
        return value.real < 0 || value.real > 0 || value.real != value.real;
    case ATTN_IS_STRING:
        return value.size > 0;
    case ATTN_IS_LIST:
    case ATTN_IS_TUPLE:
    case ATTN_IS_RANGE:
    case ATTN_IS_VIEW:
        return value.list->n > 0;
    case ATTN_IS_DICT:
        return value.dict->n > 0;
    default:
        return true;
    }
}

const char *attn_value_type(struct attn_value value)
{
    static const char *const names[] = {[ATTN_IS_UNDEFINED] = "Undefined",
                                        [ATTN_IS_NONE] = "NoneType",
                                        [ATTN_IS_BOOL] = "bool",
                                        [ATTN_IS_INT] = "int",
                                        [ATTN_IS_FLOAT] = "float",
                                        [ATTN_IS_STRING] = "str",
                                        [ATTN_IS_LARGE] = "int",
                                        [ATTN_IS_LIST] = "list",
                                        [ATTN_IS_TUPLE] = "tuple",
                                        [ATTN_IS_RANGE] = "range",
                                        [ATTN_IS_DICT] = "dict",
                                        [ATTN_IS_VIEW] = "dict_items",
                                        [ATTN_IS_GENERATOR] = "generator",
                                        [ATTN_IS_NAMESPACE] = "Namespace",
                                        [ATTN_IS_LOOP] = "LoopContext",
                                        [ATTN_IS_MACRO] = "Macro",
                                        [ATTN_IS_METHOD] = "builtin_function_or_method",
                                        [ATTN_IS_FUNCTION] = "function"};

    return names[value.kind];
}

size_t attn_value_length(struct attn_machine *machine, struct attn_value text)
{
    size_t n = 0;

    attn_machine_spend(machine, text.size / 16);
    for (size_t i = 0; i < text.size; i++)
        n += ((unsigned char)text.text[i] & 0xc0) != 0x80;
    return n;
}

static bool are_lists_equal(struct attn_machine *machine, const struct attn_value_list *a,
                            const struct attn_value_list *b)
{
    bool is_equal = a->n == b->n && attn_machine_enter(machine);

    for (size_t i = 0; is_equal && i < a->n; i++)
        is_equal = attn_value_equals(machine, a->items[i], b->items[i]);
    machine->depth -= a->n == b->n;
    return is_equal;
}

static bool are_dicts_equal(struct attn_machine *machine, const struct attn_value_dict *a,
                            const struct attn_value_dict *b)
{
    bool is_equal = a->n == b->n && attn_machine_enter(machine);

    for (size_t i = 0; is_equal && i < a->n; i++) {
        const struct attn_value *other = attn_value_dict_find(machine, b, a->keys[i]);

        is_equal = other && attn_value_equals(machine, a->values[i], *other);
    }
    machine->depth -= a->n == b->n;
    return is_equal;
}

/* Compares an integer with a float without rounding it, as Python does: 2^53 + 1 is not 2^53. */
static int compare_mixed(int64_t integer, double real)
{
    int64_t whole;

    if (!(real > -0x1p63 && real < 0x1p63))
        return real < 0x1p63 ? (real < -0x1p63 || integer > INT64_MIN) : -(real >= 0x1p63);
    whole = (int64_t)real; /* towards 0 */
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return (real < (double)whole) - (real > (double)whole);
}

/* Returns 0 also for NaN, which is in no order. */
static int compare_numbers(struct attn_value a, struct attn_value b)
{
    const bool is_real[2] = {a.kind == ATTN_IS_FLOAT, b.kind == ATTN_IS_FLOAT};

    if (is_real[0] != is_real[1])
        return is_real[0] ? -compare_mixed(b.integer, a.real) : compare_mixed(a.integer, b.real);
    return is_real[0] ? (a.real > b.real) - (a.real < b.real)
                      : (a.integer > b.integer) - (a.integer < b.integer);
}

bool attn_value_equals(struct attn_machine *machine, struct attn_value a, struct attn_value b)
{
    if (!attn_machine_spend(machine, 1))
        return false;
    if (attn_value_is_number(a) && attn_value_is_number(b))
        return !isnan(attn_value_real(a)) && !isnan(attn_value_real(b)) &&
               compare_numbers(a, b) == 0;
    if ((a.kind == ATTN_IS_LARGE && b.kind == ATTN_IS_FLOAT) ||
        (b.kind == ATTN_IS_LARGE && a.kind == ATTN_IS_FLOAT))
        attn_value_fail_large(machine);
    if (a.kind != b.kind)
        return false;
    switch ((enum attn_value_kind)a.kind) {
    case ATTN_IS_UNDEFINED:
    case ATTN_IS_NONE:
        return true;
    case ATTN_IS_LARGE:
    case ATTN_IS_STRING:
        return a.size == b.size && attn_machine_spend(machine, a.size / 64) &&
               (a.size == 0 || memcmp(a.text, b.text, a.size) == 0);
    case ATTN_IS_LIST:
    case ATTN_IS_TUPLE:
    case ATTN_IS_RANGE:
        return are_lists_equal(machine, a.list, b.list);
    case ATTN_IS_DICT:
        return are_dicts_equal(machine, a.dict, b.dict);
    default:
        attn_machine_fail(machine, "'==' of values of type '%s' is not supported",
                          attn_value_type(a));
        return false;
    }
}

static int compare_lists(struct attn_machine *machine, const struct attn_value_list *a,
                         const struct attn_value_list *b, const char *op)
{
    int order = (a->n > b->n) - (a->n < b->n);

    for (size_t i = 0; i < a->n && i < b->n && attn_machine_is_alive(machine); i++)
        if (!attn_value_equals(machine, a->items[i], b->items[i])) {
            if (attn_machine_enter(machine))
                order = attn_value_compare(machine, a->items[i], b->items[i], op);
            machine->depth--;
            break;
        }
    return order;
}

int attn_value_compare(struct attn_machine *machine, struct attn_value a, struct attn_value b,
                       const char *op)
{
    if (attn_value_is_number(a) && attn_value_is_number(b))
        return compare_numbers(a, b);
    if (a.kind == ATTN_IS_STRING && b.kind == ATTN_IS_STRING) {
        attn_machine_spend(machine, (a.size < b.size ? a.size : b.size) / 64 + 1);
        return attn_compare_texts(a.text, a.size, b.text, b.size);
    }
    if ((a.kind == ATTN_IS_LIST || a.kind == ATTN_IS_TUPLE) && a.kind == b.kind)
        return compare_lists(machine, a.list, b.list, op);
    if (a.kind == ATTN_IS_UNDEFINED || b.kind == ATTN_IS_UNDEFINED)
        attn_value_fail(machine, a.kind == ATTN_IS_UNDEFINED ? a : b);
    if (a.kind == ATTN_IS_LARGE || b.kind == ATTN_IS_LARGE)
        attn_value_fail_large(machine);
    attn_machine_fail(machine, "'%s' not supported between instances of '%s' and '%s'", op,
                      attn_value_type(a), attn_value_type(b));
    return 0;
}

bool attn_value_contains(struct attn_machine *machine, struct attn_value whole,
                         struct attn_value part)
{
    if (whole.kind == ATTN_IS_STRING) {
        if (part.kind == ATTN_IS_STRING) {
            attn_machine_spend(machine, whole.size / 16);
            return part.size == 0 || (whole.size >= part.size &&
                                      memmem(whole.text, whole.size, part.text, part.size));
        }
        attn_machine_fail(machine, "'in <string>' requires string as left operand, not %s",
                          attn_value_type(part));
        return false;
    }
    if (whole.kind == ATTN_IS_DICT) {
        if (attn_value_is_list(part) || part.kind == ATTN_IS_DICT)
            attn_machine_fail(machine, "unhashable type: '%s'", attn_value_type(part));
        return attn_value_dict_find(machine, whole.dict, part) != NULL;
    }
    if (whole.kind == ATTN_IS_UNDEFINED)
        return false;
    if (attn_value_is_list(whole) && whole.kind != ATTN_IS_GENERATOR) {
        for (size_t i = 0; i < whole.list->n; i++)
            if (attn_value_equals(machine, whole.list->items[i], part))
                return true;
        return false;
    }
    attn_machine_fail(machine, "argument of type '%s' is not iterable", attn_value_type(whole));
    return false;
}

struct attn_value_list attn_value_iterate(struct attn_machine *machine, struct attn_value value)
{
    struct attn_value list;

    if (value.kind == ATTN_IS_GENERATOR && value.list->is_used)
        return (struct attn_value_list){0};
    if (attn_value_is_list(value)) {
        value.list->is_used = true;
        return *value.list;
    }
    if (value.kind == ATTN_IS_DICT)
        return (struct attn_value_list){.n = value.dict->n, .items = value.dict->keys};
    list = attn_value_list_of(machine, ATTN_IS_LIST);
    if (value.kind == ATTN_IS_STRING) {
        for (size_t i = 0, end; i < value.size && attn_machine_is_alive(machine); i = end) {
            for (end = i + 1; end < value.size && ((unsigned char)value.text[end] & 0xc0) == 0x80;)
                end++;
            attn_value_append(machine, list, attn_value_string(value.text + i, end - i));
        }
    } else if (value.kind != ATTN_IS_UNDEFINED) {
        attn_machine_fail(machine, "'%s' object is not iterable", attn_value_type(value));
    }
    return attn_machine_is_alive(machine) ? *list.list : (struct attn_value_list){0};
}
