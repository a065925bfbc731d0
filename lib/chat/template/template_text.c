/* template_text.c - values of templates as text: Python's str and repr, JSON, times. */
#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "formats/float_text.h"
#include "formats/json_reader.h"
#include "template/template_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* --- str and repr ----------------------------------------------------------------------------- */

/* Appends a double as Python's repr does: 1.0, 1e-05, 1e+16, nan. */
static void print_real(double value, struct attn_buffer *text)
{
    const size_t begin = text->size;

    attn_double_append(text, value);
    if (text->has_failed || !isfinite(value) ||
        memchr(text->data + begin, 'e', text->size - begin) ||
        memchr(text->data + begin, '.', text->size - begin))
        return;
    if (fabs(value) < 1e16) {
        attn_buffer_append_string(text, ".0");
    } else { /* all 17 digits, which Python writes with an exponent */
        text->size = begin;
        attn_double_append_as(text, 'e', 16, value);
    }
}

/* Appends CODE_POINT as repr escapes it, if it is a space, a control or a soft hyphen. */
static bool append_space(uint32_t code_point, struct attn_buffer *text)
{
    const bool is_space = code_point == 0x1680 || (code_point >= 0x2000 && code_point <= 0x200a) ||
                          code_point == 0x2028 || code_point == 0x2029 || code_point == 0x202f ||
                          code_point == 0x205f || code_point == 0x3000;

    if (is_space)
        attn_buffer_append_format(text, "\\u%04x", (unsigned)code_point);
    else if ((code_point >= 0x80 && code_point <= 0xa0) || code_point == 0xad)
        attn_buffer_append_format(text, "\\x%02x", (unsigned)code_point);
    else
        return false;
    return true;
}

/* Appends a string as Python's repr does. */
static void quote_string(struct attn_machine *machine, struct attn_value value,
                         struct attn_buffer *text)
{
    const char quote = value.size > 0 && memchr(value.text, '\'', value.size) &&
                               !memchr(value.text, '"', value.size)
                           ? '"'
                           : '\'';

    attn_machine_spend(machine, value.size / 16);
    attn_buffer_append_char(text, quote);
    for (size_t i = 0, n = 1; i < value.size; i += n) {
        const unsigned char c = (unsigned char)value.text[i];
        uint32_t code_point;

        n = 1;
        if (c == '\n' || c == '\r' || c == '\t' || c == '\\' || c == (unsigned char)quote) {
            attn_buffer_append_char(text, '\\');
            attn_buffer_append_char(text, c == '\n'   ? 'n'
                                          : c == '\r' ? 'r'
                                          : c == '\t' ? 't'
                                                      : (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            attn_buffer_append_format(text, "\\x%02x", c);
        } else {
            n = attn_utf8_decode(value.text + i, value.size - i, &code_point);
            if (n > 0 && append_space(code_point, text))
                continue;
            if (n == 0 || !attn_utf8_is_printable(code_point)) {
                attn_machine_fail(machine,
                                  "the text of a value with the character U+%04X is not "
                                  "supported",
                                  (unsigned)code_point);
                return;
            }
            attn_buffer_append(text, value.text + i, n);
        }
    }
    attn_buffer_append_char(text, quote);
}

static void represent_list(struct attn_machine *machine, struct attn_value value,
                           struct attn_buffer *text)
{
    const bool is_tuple = value.kind == ATTN_IS_TUPLE;

    attn_buffer_append_char(text, is_tuple ? '(' : '[');
    for (size_t i = 0; i < value.list->n && attn_machine_is_alive(machine); i++) {
        attn_buffer_append_string(text, i > 0 ? ", " : "");
        attn_value_represent(machine, value.list->items[i], text);
    }
    attn_buffer_append_string(text, is_tuple && value.list->n == 1 ? "," : "");
    attn_buffer_append_char(text, is_tuple ? ')' : ']');
}

static void represent_dict(struct attn_machine *machine, const struct attn_value_dict *dict,
                           struct attn_buffer *text)
{
    attn_buffer_append_char(text, '{');
    for (size_t i = 0; i < dict->n && attn_machine_is_alive(machine); i++) {
        attn_buffer_append_string(text, i > 0 ? ", " : "");
        attn_value_represent(machine, dict->keys[i], text);
        attn_buffer_append_string(text, ": ");
        attn_value_represent(machine, dict->values[i], text);
    }
    attn_buffer_append_char(text, '}');
}

/* Counts a step, and fails if TEXT is too large. */
static bool has_room(struct attn_machine *machine, const struct attn_buffer *text)
{
    return attn_machine_check_size(machine, text->size) && attn_machine_spend(machine, 1);
}

void attn_value_represent(struct attn_machine *machine, struct attn_value value,
                          struct attn_buffer *text)
{
    if (attn_machine_enter(machine) && has_room(machine, text)) {
        if (value.kind == ATTN_IS_STRING && value.is_safe)
            attn_machine_fail(machine,
                              "the text of a list with a value of 'safe' is not supported");
        else if (value.kind == ATTN_IS_STRING)
            quote_string(machine, value, text);
        else if (value.kind == ATTN_IS_UNDEFINED)
            attn_buffer_append_string(text, "Undefined");
        else
            attn_value_print(machine, value, text);
    }
    machine->depth--;
}

void attn_value_print(struct attn_machine *machine, struct attn_value value,
                      struct attn_buffer *text)
{
    if (!has_room(machine, text))
        return;
    switch ((enum attn_value_kind)value.kind) {
    case ATTN_IS_UNDEFINED:
        return;
    case ATTN_IS_NONE:
        attn_buffer_append_string(text, "None");
        return;
    case ATTN_IS_BOOL:
        attn_buffer_append_string(text, value.integer ? "True" : "False");
        return;
    case ATTN_IS_INT:
        attn_buffer_append_integer(text, value.integer);
        return;
    case ATTN_IS_FLOAT:
        print_real(value.real, text);
        return;
    case ATTN_IS_LARGE:
    case ATTN_IS_STRING:
        if (attn_machine_spend(machine, value.size / 64))
            attn_buffer_append(text, value.text, value.size);
        (void)has_room(machine, text);
        return;
    case ATTN_IS_LIST:
    case ATTN_IS_TUPLE:
        represent_list(machine, value, text);
        return;
    case ATTN_IS_DICT:
        represent_dict(machine, value.dict, text);
        return;
    default:
        attn_machine_fail(machine, "the text of a value of type '%s' is not supported",
                          attn_value_type(value));
    }
}

struct attn_value attn_value_text(struct attn_machine *machine, struct attn_value value)
{
    struct attn_buffer text = {0};

    if (value.kind == ATTN_IS_STRING) {
        value.is_safe = false;
        return value;
    }
    attn_value_print(machine, value, &text);
    return attn_value_of_buffer(machine, &text);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void dump_string(struct attn_machine *machine, struct attn_value value, bool is_ascii,
                        struct attn_buffer *text)
{
    static const char plain[] = "\"\\\n\r\t\b\f", escaped[] = "\"\\nrtbf";

    attn_machine_spend(machine, value.size / 16);
    attn_buffer_append_char(text, '"');
    for (size_t i = 0, n = 1; i < value.size; i += n) {
        const char c = value.text[i], *found = c ? strchr(plain, c) : NULL;
        uint32_t code_point = (unsigned char)c;

        n = 1;
        if (found) {
            attn_buffer_append_char(text, '\\');
            attn_buffer_append_char(text, escaped[found - plain]);
        } else if ((unsigned char)c < 0x20 || (c == 0x7f && is_ascii)) {
            attn_buffer_append_format(text, "\\u%04x", (unsigned)code_point);
        } else if ((unsigned char)c < 0x80 || !is_ascii) {
            attn_buffer_append_char(text, c);
        } else {
            n = attn_utf8_decode(value.text + i, value.size - i, &code_point);
            n = n > 0 ? n : 1;
            if (code_point > 0xffff)
                attn_buffer_append_format(text, "\\u%04x\\u%04x",
                                          0xd800 + (unsigned)((code_point - 0x10000) >> 10),
                                          0xdc00 + (unsigned)((code_point - 0x10000) & 0x3ff));
            else
                attn_buffer_append_format(text, "\\u%04x", (unsigned)code_point);
        }
    }
    attn_buffer_append_char(text, '"');
}

static void append_indent(struct attn_machine *machine, const struct attn_json_style *style,
                          int depth, struct attn_buffer *text)
{
    if (!style->indent)
        return;
    attn_buffer_append_char(text, '\n');
    for (int i = 0; i < depth && has_room(machine, text); i++)
        attn_buffer_append(text, style->indent, style->indent_size);
}

static void dump(struct attn_machine *machine, struct attn_value value,
                 const struct attn_json_style *style, int depth, struct attn_buffer *text);

static void dump_key(struct attn_machine *machine, struct attn_value key,
                     const struct attn_json_style *style, struct attn_buffer *text)
{
    if (key.kind == ATTN_IS_STRING) {
        dump_string(machine, key, style->is_ascii, text);
        return;
    }
    if (key.kind == ATTN_IS_UNDEFINED || attn_value_is_list(key))
        attn_machine_fail(machine, "keys must be str, int, float, bool or None, not %s",
                          attn_value_type(key));
    attn_buffer_append_char(text, '"');
    dump(machine, key, style, 0, text);
    attn_buffer_append_char(text, '"');
}

static void dump_dict(struct attn_machine *machine, const struct attn_value_dict *dict,
                      const struct attn_json_style *style, int depth, struct attn_buffer *text)
{
    const size_t none = SIZE_MAX;
    size_t last = none;

    attn_buffer_append_char(text, '{');
    for (size_t i = 0; i < dict->n && attn_machine_is_alive(machine); i++) {
        size_t at = i;

        for (size_t k = 0; style->sorts_keys && k < dict->n; k++) {
            if (k == 0)
                at = none;
            if ((last == none ||
                 attn_value_compare(machine, dict->keys[k], dict->keys[last], "<") > 0) &&
                (at == none || attn_value_compare(machine, dict->keys[k], dict->keys[at], "<") < 0))
                at = k;
        }
        if (at == none || !attn_machine_spend(machine, style->sorts_keys ? dict->n : 1))
            break;
        if (i > 0)
            attn_buffer_append(text, style->comma.text, style->comma.size);
        append_indent(machine, style, depth + 1, text);
        dump_key(machine, dict->keys[at], style, text);
        attn_buffer_append(text, style->colon.text, style->colon.size);
        dump(machine, dict->values[at], style, depth + 1, text);
        last = at;
    }
    if (dict->n > 0)
        append_indent(machine, style, depth, text);
    attn_buffer_append_char(text, '}');
}

static void dump_list(struct attn_machine *machine, const struct attn_value_list *list,
                      const struct attn_json_style *style, int depth, struct attn_buffer *text)
{
    attn_buffer_append_char(text, '[');
    for (size_t i = 0; i < list->n && attn_machine_is_alive(machine); i++) {
        if (i > 0)
            attn_buffer_append(text, style->comma.text, style->comma.size);
        append_indent(machine, style, depth + 1, text);
        dump(machine, list->items[i], style, depth + 1, text);
    }
    if (list->n > 0)
        append_indent(machine, style, depth, text);
    attn_buffer_append_char(text, ']');
}

static void dump(struct attn_machine *machine, struct attn_value value,
                 const struct attn_json_style *style, int depth, struct attn_buffer *text)
{
    if (attn_machine_enter(machine) && has_room(machine, text))
        switch ((enum attn_value_kind)value.kind) {
        case ATTN_IS_NONE:
            attn_buffer_append_string(text, "null");
            break;
        case ATTN_IS_BOOL:
            attn_buffer_append_string(text, value.integer ? "true" : "false");
            break;
        case ATTN_IS_FLOAT:
            if (value.real != value.real || isinf(value.real))
                attn_buffer_append_string(text, value.real != value.real ? "NaN"
                                                : value.real > 0         ? "Infinity"
                                                                         : "-Infinity");
            else
                print_real(value.real, text);
            break;
        case ATTN_IS_INT:
        case ATTN_IS_LARGE:
            attn_value_print(machine, value, text);
            break;
        case ATTN_IS_STRING:
            dump_string(machine, value, style->is_ascii, text);
            break;
        case ATTN_IS_LIST:
        case ATTN_IS_TUPLE:
            dump_list(machine, value.list, style, depth, text);
            break;
        case ATTN_IS_DICT:
            dump_dict(machine, value.dict, style, depth, text);
            break;
        default:
            attn_machine_fail(machine, "Object of type %s is not JSON serializable",
                              attn_value_type(value));
        }
    machine->depth--;
}

void attn_value_dump(struct attn_machine *machine, struct attn_value value,
                     const struct attn_json_style *style, struct attn_buffer *text)
{
    dump(machine, value, style, 0, text);
}

/* --- Reading JSON ----------------------------------------------------------------------------- */

static struct attn_value read_scalar(struct attn_machine *machine,
                                     const struct attn_json_reader *reader,
                                     const struct attn_json_token *token)
{
    struct attn_buffer text = {0};
    struct attn_value value = attn_value_none();
    bool is_held = true;

    if (token->type == ATTN_JSON_STRING || token->type == ATTN_JSON_KEY) {
        attn_json_unescape(token, &text);
        return attn_value_of_buffer(machine, &text);
    }
    if (token->type == ATTN_JSON_TRUE || token->type == ATTN_JSON_FALSE)
        return attn_value_bool(token->type == ATTN_JSON_TRUE);
    if (token->type == ATTN_JSON_NUMBER) {
        value.kind = ATTN_IS_INT;
        if (memchr(token->text, '.', token->size) || memchr(token->text, 'e', token->size) ||
            memchr(token->text, 'E', token->size)) {
            value.kind = ATTN_IS_FLOAT;
            is_held = attn_parse_double(token->text, token->size, &value.real);
        } else {
            attn_buffer_append(&text, token->text, token->size);
            value = attn_value_of_buffer(machine, &text);
            value = attn_value_whole(machine, value.text, value.size);
        }
    }
    if (!is_held)
        machine->status =
            attn_error_set(machine->err, ATTN_UNSUPPORTED,
                           "'%s' has the number %s at byte %zu, expected one that 64 bits hold",
                           reader->name, attn_quote(token->text, token->size).text, token->offset);
    return value;
}

static struct attn_value read_json(struct attn_machine *machine, struct attn_json_reader *reader,
                                   struct attn_json_keys *keys, struct attn_json_token token)
{
    const bool is_dict = token.type == ATTN_JSON_OBJECT_BEGIN;
    struct attn_value value, key = {0};

    if (!is_dict && token.type != ATTN_JSON_ARRAY_BEGIN)
        return read_scalar(machine, reader, &token);
    value = attn_value_list_of(machine, ATTN_IS_LIST);
    if (is_dict) {
        value.kind = ATTN_IS_DICT;
        value.dict = attn_machine_take(machine, 1, sizeof *value.dict);
    }
    while (attn_machine_is_alive(machine)) {
        struct attn_value item;

        machine->status = attn_json_next_unique(reader, keys, &token, machine->err);
        if (!attn_machine_is_alive(machine) || token.type == ATTN_JSON_OBJECT_END ||
            token.type == ATTN_JSON_ARRAY_END)
            break;
        if (token.type == ATTN_JSON_KEY) {
            key = read_scalar(machine, reader, &token);
            continue;
        }
        item = read_json(machine, reader, keys, token);
        if (is_dict)
            attn_value_dict_set(machine, value.dict, key, item);
        else
            attn_value_append(machine, value, item);
    }
    return value;
}

struct attn_value attn_value_parse(struct attn_machine *machine, const char *json, size_t size,
                                   const char *name)
{
    struct attn_json_reader reader = attn_json_reader_init(json, size, name);
    struct attn_json_keys keys = {0};
    struct attn_json_token token;
    struct attn_value value = {0};

    machine->status = attn_json_next_unique(&reader, &keys, &token, machine->err);
    if (attn_machine_is_alive(machine))
        value = read_json(machine, &reader, &keys, token);
    if (attn_machine_is_alive(machine))
        machine->status = attn_json_next_unique(&reader, &keys, &token, machine->err);
    attn_free(keys.keys);
    return value;
}

/* --- Times ------------------------------------------------------------------------------------ */

/* The words of a date in the C locale. */
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

/* Appends conversion C of strftime. False: unknown. */
static bool append_time(struct attn_buffer *text, const struct tm *tm, char c, bool is_padded)
{
    const int hour = tm->tm_hour % 12 == 0 ? 12 : tm->tm_hour % 12;
    const struct {
        char c;
        int number, width;
    } numbers[] = {
        {'d', tm->tm_mday, 2},        {'m', tm->tm_mon + 1, 2}, {'y', tm->tm_year % 100, 2},
        {'Y', tm->tm_year + 1900, 1}, {'H', tm->tm_hour, 2},    {'I', hour, 2},
        {'M', tm->tm_min, 2},         {'S', tm->tm_sec, 2},     {'j', tm->tm_yday + 1, 3}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].c == c) {
            attn_buffer_append_format(text, "%0*d", is_padded ? numbers[i].width : 1,
                                      numbers[i].number);
            return true;
        }
    if (c == 'B' || c == 'b')
        attn_buffer_append(text, months[tm->tm_mon], c == 'B' ? strlen(months[tm->tm_mon]) : 3);
    else if (c == 'A' || c == 'a')
        attn_buffer_append(text, days[tm->tm_wday], c == 'A' ? strlen(days[tm->tm_wday]) : 3);
    else if (c == 'p')
        attn_buffer_append_string(text, tm->tm_hour < 12 ? "AM" : "PM");
    else if (c == '%')
        attn_buffer_append_char(text, '%');
    return strchr("BbAap%", c) != NULL;
}

struct attn_value attn_value_time(struct attn_machine *machine, struct attn_value format)
{
    const time_t now = (time_t)machine->now;
    struct attn_buffer text = {0};
    struct tm tm = {0};

    if (format.kind != ATTN_IS_STRING)
        return attn_machine_fail(machine, "strftime_now needs a format, a string");
    if (machine->now == 0 || !gmtime_r(&now, &tm))
        return attn_machine_fail(machine, "strftime_now asks for the time, which is not given");
    for (size_t i = 0; i < format.size && attn_machine_is_alive(machine); i++) {
        const bool has_dash = i + 2 < format.size && format.text[i + 1] == '-';

        if (format.text[i] != '%') {
            attn_buffer_append_char(&text, format.text[i]);
        } else if (i + 1 >= format.size || format.text[i + 1 + has_dash] == '\0' ||
                   !append_time(&text, &tm, format.text[i + 1 + has_dash], !has_dash)) {
            attn_machine_fail(machine, "strftime_now('%s') is not supported",
                              attn_quote(format.text, format.size).text);
        } else {
            i += 1 + has_dash;
        }
    }
    return attn_value_of_buffer(machine, &text);
}
