/* template_strings.c - attributes and methods of values of templates, as in Python's sandbox. */
#include "base/text/fixed_text.h"
#include "base/text/utf8.h"
#include "template/template_internal.h"
#include "tokenizer/unicode/unicode_internal.h"

#include <string.h>

/* --- Arguments -------------------------------------------------------------------------------- */

bool attn_given_fits(struct attn_machine *machine, const struct attn_given_values *given,
                     size_t min, size_t max, const char *names, struct attn_value what)
{
    bool fits = given->n >= min && given->n <= max;

    for (size_t i = 0; i < given->names.n; i++)
        fits =
            fits && attn_text_has_word(names, given->names.keys[i].text, given->names.keys[i].size);
    if (!fits)
        attn_machine_fail(machine, "these arguments of '%s' are not supported",
                          attn_quote(what.text, what.size).text);
    return fits && attn_machine_is_alive(machine);
}

struct attn_value attn_given_value(struct attn_machine *machine,
                                   const struct attn_given_values *given, size_t index,
                                   const char *name, struct attn_value fallback)
{
    const struct attn_value *found =
        index < given->n ? &given->items[index]
        : name           ? attn_value_dict_find(machine, &given->names, attn_value_word(name))
                         : NULL;

    return found ? *found : fallback;
}

/* --- Changes of strings ----------------------------------------------------------------------- */

static bool is_in_set(uint32_t code_point, struct attn_value set)
{
    uint32_t other;

    if (set.kind != ATTN_IS_STRING)
        return attn_character_is(code_point, ATTN_CLASS_SEPARATOR);
    for (size_t i = 0, n; i<set.size; i += n> 0 ? n : 1) {
        n = attn_utf8_decode(set.text + i, set.size - i, &other);
        if (other == code_point)
            return true;
    }
    return false;
}

struct attn_value attn_value_strip(struct attn_machine *machine, struct attn_value text,
                                   struct attn_value set, int sides)
{
    uint32_t code_point;
    size_t n;

    if (set.kind != ATTN_IS_NONE && set.kind != ATTN_IS_STRING)
        return attn_machine_fail(machine, "strip arg must be None or str");
    while ((sides & ATTN_STRIP_LEFT) && text.size > 0) {
        n = attn_utf8_decode(text.text, text.size, &code_point);
        if (n == 0 || !is_in_set(code_point, set) || !attn_machine_spend(machine, 1))
            break;
        text.text += n;
        text.size -= n;
    }
    while ((sides & ATTN_STRIP_RIGHT) && text.size > 0) {
        for (n = 1; n < text.size && ((unsigned char)text.text[text.size - n] & 0xc0) == 0x80;)
            n++;
        if (attn_utf8_decode(text.text + text.size - n, n, &code_point) == 0 ||
            !is_in_set(code_point, set) || !attn_machine_spend(machine, 1))
            break;
        text.size -= n;
    }
    return text;
}

/* Returns whether a new word of filter `title` begins after C. */
static bool is_before_word(uint32_t c)
{
    return attn_character_is(c, ATTN_CLASS_SEPARATOR) || (c < 0x80 && c && strchr("-({[<", (int)c));
}

struct attn_value attn_value_change_case(struct attn_machine *machine, struct attn_value text,
                                         const char *method)
{
    const bool is_upper = strcmp(method, "upper") == 0, is_title = strcmp(method, "title") == 0;
    bool raises = strcmp(method, "lower") != 0;
    struct attn_buffer changed = {0};

    attn_machine_spend(machine, text.size / 4);
    for (size_t i = 0, n; i < text.size && attn_machine_is_alive(machine); i += n) {
        uint32_t code_point = 0, lower[2];
        char bytes[4];

        n = attn_utf8_decode(text.text + i, text.size - i, &code_point);
        n = n > 0 ? n : 1;
        if (code_point == 0x3a3 || (raises && code_point >= 0x80))
            attn_machine_fail(machine, "'%s' of the character U+%04X is not supported", method,
                              (unsigned)code_point);
        if (raises && code_point >= 'a' && code_point <= 'z') {
            attn_buffer_append_char(&changed, (char)(code_point - 'a' + 'A'));
        } else if (raises) {
            attn_buffer_append(&changed, text.text + i, n);
        } else {
            const size_t n_lower = attn_lowercase(code_point, lower);

            for (size_t k = 0; k < n_lower; k++)
                attn_buffer_append(&changed, bytes, attn_utf8_encode(lower[k], bytes));
        }
        raises = is_upper || (is_title && is_before_word(code_point));
    }
    return attn_value_of_buffer(machine, &changed);
}

struct attn_value attn_value_replace(struct attn_machine *machine, struct attn_value text,
                                     struct attn_value from, struct attn_value to, int64_t limit)
{
    struct attn_buffer changed = {0};
    size_t at = 0;

    if (text.kind != ATTN_IS_STRING || from.kind != ATTN_IS_STRING || to.kind != ATTN_IS_STRING ||
        from.size == 0 || text.is_safe)
        return attn_machine_fail(machine, "these arguments of 'replace' are not supported");
    attn_machine_spend(machine, text.size / 16);
    while (at < text.size && limit != 0 && attn_machine_spend(machine, 1 + to.size / 64)) {
        const char *found = memmem(text.text + at, text.size - at, from.text, from.size);

        if (!found)
            break;
        attn_buffer_append(&changed, text.text + at, (size_t)(found - text.text) - at);
        attn_buffer_append(&changed, to.text, to.size);
        at = (size_t)(found - text.text) + from.size;
        limit -= limit > 0;
        (void)attn_machine_check_size(machine, changed.size);
    }
    if (at < text.size)
        attn_buffer_append(&changed, text.text + at, text.size - at);
    return attn_value_of_buffer(machine, &changed);
}

/* --- Splitting -------------------------------------------------------------------------------- */

/* Splits at white space, as split() of Python. */
static void split_words(struct attn_machine *machine, struct attn_value text, int64_t limit,
                        struct attn_value list)
{
    while (attn_machine_is_alive(machine)) {
        size_t end = 0, n;
        uint32_t code_point;

        text = attn_value_strip(machine, text, attn_value_none(), ATTN_STRIP_LEFT);
        if (text.size == 0)
            return;
        if (limit == 0) {
            attn_value_append(machine, list, text);
            return;
        }
        for (; end < text.size && attn_machine_spend(machine, 1); end += n > 0 ? n : 1) {
            n = attn_utf8_decode(text.text + end, text.size - end, &code_point);
            if (attn_character_is(code_point, ATTN_CLASS_SEPARATOR))
                break;
        }
        attn_value_append(machine, list, attn_value_string(text.text, end));
        text.text += end;
        text.size -= end;
        limit -= limit > 0;
    }
}

/* Returns the last SEPARATOR in TEXT, or NULL. */
static const char *find_last(struct attn_value text, struct attn_value separator)
{
    for (size_t i = text.size; i >= separator.size; i--)
        if (memcmp(text.text + i - separator.size, separator.text, separator.size) == 0)
            return text.text + i - separator.size;
    return NULL;
}

static void split_at(struct attn_machine *machine, struct attn_value text,
                     struct attn_value separator, int64_t limit, struct attn_value list)
{
    const char *found;

    attn_machine_spend(machine, text.size / 16);
    while (limit != 0 && attn_machine_is_alive(machine) && text.size > 0 &&
           (found = memmem(text.text, text.size, separator.text, separator.size)) != NULL) {
        const size_t n = (size_t)(found - text.text);

        attn_value_append(machine, list, attn_value_string(text.text, n));
        text.text += n + separator.size;
        text.size -= n + separator.size;
        limit -= limit > 0;
    }
    attn_value_append(machine, list, text);
}

/* Splits at the last SEPARATOR, LIMIT times. */
static void split_backwards(struct attn_machine *machine, struct attn_value text,
                            struct attn_value separator, struct attn_value list)
{
    const char *found = text.size > 0 ? find_last(text, separator) : NULL;
    const size_t n = found ? (size_t)(found - text.text) : 0;

    attn_machine_spend(machine, text.size);
    if (found)
        attn_value_append(machine, list, attn_value_string(text.text, n));
    attn_value_append(
        machine, list,
        found ? attn_value_string(text.text + n + separator.size, text.size - n - separator.size)
              : text);
}

static struct attn_value split(struct attn_machine *machine, struct attn_value method,
                               struct attn_value text, const struct attn_given_values *given)
{
    const struct attn_value separator =
        attn_given_value(machine, given, 0, "sep", attn_value_none());
    const struct attn_value limit =
        attn_given_value(machine, given, 1, "maxsplit", attn_value_int(-1));
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_LIST);

    if (!attn_given_fits(machine, given, 0, 2, "sep maxsplit", method))
        return list;
    if (limit.kind != ATTN_IS_INT)
        return attn_machine_fail(machine, "the limit of 'split' must be an integer");
    if (separator.kind == ATTN_IS_STRING && separator.size == 0)
        return attn_machine_fail(machine, "empty separator");
    if (separator.kind != ATTN_IS_STRING && separator.kind != ATTN_IS_NONE)
        return attn_machine_fail(machine, "must be str or None, not %s",
                                 attn_value_type(separator));
    if (attn_value_is(method, "rsplit") && separator.kind == ATTN_IS_STRING && limit.integer == 1)
        split_backwards(machine, text, separator, list);
    else if (attn_value_is(method, "rsplit") && limit.integer >= 0)
        attn_machine_fail(machine, "this 'rsplit' is not supported");
    else if (separator.kind == ATTN_IS_STRING)
        split_at(machine, text, separator, limit.integer, list);
    else
        split_words(machine, text, limit.integer, list);
    return list;
}

/* --- Other methods of strings ----------------------------------------------------------------- */

/* partition, rpartition */
static struct attn_value partition(struct attn_machine *machine, struct attn_value method,
                                   struct attn_value text, const struct attn_given_values *given)
{
    const struct attn_value none = attn_value_word("");
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_LIST), parts[3];
    const bool is_last = *method.text == 'r';

    if (!attn_given_fits(machine, given, 1, 1, "", method))
        return list;
    if (given->items[0].kind != ATTN_IS_STRING || given->items[0].size == 0)
        return attn_machine_fail(machine, "'%s' needs a separator",
                                 is_last ? "rpartition" : "partition");
    parts[1] = given->items[0];
    if (is_last)
        split_backwards(machine, text, parts[1], list);
    else
        split_at(machine, text, parts[1], 1, list);
    if (!attn_machine_is_alive(machine))
        return list;
    parts[0] = parts[2] = list.list->items[0];
    if (list.list->n > 1)
        parts[2] = list.list->items[1];
    else
        parts[1] = parts[is_last ? 0 : 2] = none;
    list = attn_value_list_of(machine, ATTN_IS_TUPLE);
    for (int i = 0; i < 3; i++)
        attn_value_append(machine, list, parts[i]);
    return list;
}

/* isdigit, isdecimal. The digits of other scripts are not told apart. */
static struct attn_value are_digits(struct attn_machine *machine, struct attn_value text)
{
    const struct attn_unicode_property *numbers = attn_unicode_property_find("n");
    bool is_so = text.size > 0 && attn_machine_spend(machine, text.size);
    uint32_t c;

    for (size_t i = 0, n; i < text.size && is_so; i += n) {
        n = attn_utf8_decode(text.text + i, text.size - i, &c);
        n = n > 0 ? n : 1;
        is_so = c >= '0' && c <= '9';
        for (uint32_t k = numbers->begin; k < numbers->end && c >= 0x80; k++)
            if (c >= attn_property_ranges[k].first && c <= attn_property_ranges[k].last)
                return attn_machine_fail(machine, "digits outside of ASCII are not supported");
    }
    return attn_value_bool(is_so);
}

static struct attn_value starts_or_ends(struct attn_machine *machine, struct attn_value method,
                                        struct attn_value text,
                                        const struct attn_given_values *given)
{
    const bool at_end = attn_value_is(method, "endswith");
    struct attn_value parts;
    bool is_found = false;

    if (!attn_given_fits(machine, given, 1, 1, "", method))
        return text;
    parts = given->items[0];
    if (parts.kind != ATTN_IS_STRING && parts.kind != ATTN_IS_TUPLE)
        return attn_machine_fail(machine, "%s first arg must be str or a tuple of str, not %s",
                                 at_end ? "endswith" : "startswith", attn_value_type(parts));
    for (size_t i = 0; i < (parts.kind == ATTN_IS_TUPLE ? parts.list->n : 1); i++) {
        const struct attn_value part = parts.kind == ATTN_IS_TUPLE ? parts.list->items[i] : parts;

        if (part.kind != ATTN_IS_STRING)
            return attn_machine_fail(machine, "tuple for %s must only contain str, not %s",
                                     at_end ? "endswith" : "startswith", attn_value_type(part));
        is_found =
            is_found || (part.size <= text.size &&
                         (part.size == 0 || memcmp(text.text + (at_end ? text.size - part.size : 0),
                                                   part.text, part.size) == 0));
    }
    return attn_value_bool(is_found);
}

/* str.format with fields {}, {0} and {name}. */
static struct attn_value format(struct attn_machine *machine, struct attn_value text,
                                const struct attn_given_values *given)
{
    struct attn_buffer out = {0};
    size_t next = 0;

    for (size_t i = 0; i < text.size && attn_machine_is_alive(machine); i++) {
        const char c = text.text[i];
        const char *end;
        struct attn_value name;
        const struct attn_value *found = NULL;

        if (c != '{' && c != '}') {
            attn_buffer_append_char(&out, c);
            continue;
        }
        if (i + 1 < text.size && text.text[i + 1] == c) {
            attn_buffer_append_char(&out, c);
            i++;
            continue;
        }
        end = memchr(text.text + i, '}', text.size - i);
        name = attn_value_string(text.text + i + 1,
                                 end && c == '{' ? (size_t)(end - text.text) - i - 1 : 0);
        if (!end || c == '}') {
            attn_machine_fail(machine, "a single '%c' in the text of 'format'", c);
            break;
        }
        if (name.size == 0)
            found = next < given->n ? &given->items[next++] : NULL;
        else if (name.size == 1 && *name.text >= '0' && *name.text <= '9' && next == 0)
            found = (size_t)(*name.text - '0') < given->n ? &given->items[*name.text - '0'] : NULL;
        else
            found = attn_value_dict_find(machine, &given->names, name);
        if (found)
            attn_value_print(machine, *found, &out);
        else
            attn_machine_fail(machine, "the field '{%s}' of 'format' is not supported",
                              attn_quote(name.text, name.size).text);
        i += name.size + 1;
    }
    return attn_value_of_buffer(machine, &out);
}

bool attn_value_has_plain_lines(struct attn_machine *machine, struct attn_value text)
{
    for (size_t i = 0, n; i < text.size && attn_machine_spend(machine, 1); i += n) {
        uint32_t c;

        n = attn_utf8_decode(text.text + i, text.size - i, &c);
        n = n > 0 ? n : 1;
        if ((c >= '\v' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
            c == 0x2029)
            attn_machine_fail(machine, "lines that end with U+%04X are not supported", (unsigned)c);
    }
    return attn_machine_is_alive(machine);
}

static struct attn_value split_lines(struct attn_machine *machine, struct attn_value text)
{
    struct attn_value list = attn_value_list_of(machine, ATTN_IS_LIST);

    if (!attn_value_has_plain_lines(machine, text))
        return list;
    split_at(machine, text, attn_value_word("\n"), -1, list);
    if (attn_machine_is_alive(machine) && list.list->items[list.list->n - 1].size == 0)
        list.list->n--;
    return list;
}

static struct attn_value find_text(struct attn_machine *machine, struct attn_value method,
                                   struct attn_value text, const struct attn_given_values *given)
{
    const char *found;
    struct attn_value part;

    if (!attn_given_fits(machine, given, 1, 1, "", method))
        return text;
    part = given->items[0];
    if (part.kind != ATTN_IS_STRING || part.size == 0)
        return attn_machine_fail(machine, "this argument of 'find' is not supported");
    attn_machine_spend(machine, text.size / 16);
    found = text.size == 0                   ? NULL
            : attn_value_is(method, "rfind") ? find_last(text, part)
                                             : memmem(text.text, text.size, part.text, part.size);
    return found ? attn_value_int((int64_t)attn_value_length(
                       machine, attn_value_string(text.text, (size_t)(found - text.text))))
                 : attn_value_int(-1);
}

static struct attn_value call_of_string(struct attn_machine *machine, struct attn_value method,
                                        struct attn_value text,
                                        const struct attn_given_values *given)
{
    static const char *const cases[] = {"lower", "upper", "capitalize"};
    struct attn_value limit;

    if (text.is_safe)
        return attn_machine_fail(machine, "methods of a value of 'safe' are not supported");
    for (size_t i = 0; i < 3; i++)
        if (attn_value_is(method, cases[i]) && attn_given_fits(machine, given, 0, 0, "", method))
            return attn_value_change_case(machine, text, cases[i]);
    if (attn_value_is(method, "split") || attn_value_is(method, "rsplit"))
        return split(machine, method, text, given);
    if (attn_value_is(method, "partition") || attn_value_is(method, "rpartition"))
        return partition(machine, method, text, given);
    if ((attn_value_is(method, "isdigit") || attn_value_is(method, "isdecimal")) &&
        attn_given_fits(machine, given, 0, 0, "", method))
        return are_digits(machine, text);
    if (attn_value_is(method, "startswith") || attn_value_is(method, "endswith"))
        return starts_or_ends(machine, method, text, given);
    if (attn_value_is(method, "find") || attn_value_is(method, "rfind"))
        return find_text(machine, method, text, given);
    if (attn_value_is(method, "format"))
        return format(machine, text, given);
    if (attn_value_is(method, "splitlines") && attn_given_fits(machine, given, 0, 0, "", method))
        return split_lines(machine, text);
    if (attn_value_is(method, "replace") && attn_given_fits(machine, given, 2, 3, "", method)) {
        limit = attn_given_value(machine, given, 2, NULL, attn_value_int(-1));
        return attn_value_replace(machine, text, given->items[0], given->items[1], limit.integer);
    }
    if ((attn_value_is(method, "strip") || attn_value_is(method, "lstrip") ||
         attn_value_is(method, "rstrip")) &&
        attn_given_fits(machine, given, 0, 1, "", method))
        return attn_value_strip(machine, text,
                                attn_given_value(machine, given, 0, NULL, attn_value_none()),
                                (*method.text == 'r' ? 0 : ATTN_STRIP_LEFT) |
                                    (*method.text == 'l' ? 0 : ATTN_STRIP_RIGHT));
    return attn_machine_fail(machine, "the method '%s' of strings is not supported",
                             attn_quote(method.text, method.size).text);
}

/* --- Dictionaries and attributes -------------------------------------------------------------- */

static struct attn_value view_of(struct attn_machine *machine, struct attn_value method,
                                 const struct attn_value_dict *dict)
{
    struct attn_value view = attn_value_list_of(machine, ATTN_IS_VIEW);

    for (size_t i = 0; i < dict->n && attn_machine_is_alive(machine); i++)
        attn_value_append(machine, view,
                          attn_value_is(method, "keys") ? dict->keys[i]
                          : attn_value_is(method, "values")
                              ? dict->values[i]
                              : attn_value_pair_of(machine, dict->keys[i], dict->values[i]));
    return view;
}

static struct attn_value call_of_dict(struct attn_machine *machine, struct attn_value method,
                                      struct attn_value self, const struct attn_given_values *given)
{
    if (attn_value_is(method, "get") && attn_given_fits(machine, given, 1, 2, "", method)) {
        const struct attn_value *found = NULL;

        if (attn_value_is_list(given->items[0]) || given->items[0].kind == ATTN_IS_DICT)
            return attn_machine_fail(machine, "unhashable type: '%s'",
                                     attn_value_type(given->items[0]));
        found = attn_value_dict_find(machine, self.dict, given->items[0]);
        return found ? *found : attn_given_value(machine, given, 1, NULL, attn_value_none());
    }
    if ((attn_value_is(method, "items") || attn_value_is(method, "keys") ||
         attn_value_is(method, "values")) &&
        attn_given_fits(machine, given, 0, 0, "", method))
        return view_of(machine, method, self.dict);
    return attn_machine_fail(machine, "the method '%s' of dictionaries is not supported",
                             attn_quote(method.text, method.size).text);
}

struct attn_value attn_value_call_method(struct attn_machine *machine, struct attn_value method,
                                         const struct attn_given_values *given)
{
    const struct attn_value self = method.about->first, name = method.about->second;

    if (self.kind == ATTN_IS_STRING)
        return call_of_string(machine, name, self, given);
    if (self.kind == ATTN_IS_DICT)
        return call_of_dict(machine, name, self, given);
    return attn_machine_fail(machine, "the method '%s' of '%s' is not supported",
                             attn_quote(name.text, name.size).text, attn_value_type(self));
}

/* The attributes that Python's types have. */
static const char of_strings[] =
    "capitalize casefold center count encode endswith expandtabs find format format_map index "
    "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable "
    "isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix "
    "removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title translate upper zfill escape striptags unescape";
static const char of_integers[] =
    "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag is_integer "
    "numerator real to_bytes";
static const char *const attributes[] = {
    [ATTN_IS_STRING] = of_strings,
    [ATTN_IS_DICT] = "copy fromkeys get items keys values",
    [ATTN_IS_LIST] = "copy count index",
    [ATTN_IS_TUPLE] = "count index",
    [ATTN_IS_RANGE] = "count index start step stop",
    [ATTN_IS_VIEW] = "isdisjoint mapping",
    [ATTN_IS_GENERATOR] = "close send throw gi_code gi_frame gi_running gi_yieldfrom",
    [ATTN_IS_BOOL] = of_integers,
    [ATTN_IS_INT] = of_integers,
    [ATTN_IS_LARGE] = of_integers,
    [ATTN_IS_FLOAT] = "as_integer_ratio conjugate from_number fromhex hex imag is_integer real",
    [ATTN_IS_FUNCTION] = ""};

/* The attributes that the sandbox refuses, since they change a value. */
static const char *const unsafe[] = {[ATTN_IS_DICT] = "clear pop popitem setdefault update",
                                     [ATTN_IS_LIST] =
                                         "append clear extend insert pop remove reverse sort",
                                     [ATTN_IS_FUNCTION] = ""};

/* Returns the message of the sandbox. */
static const char *refuse_attribute(struct attn_machine *machine, struct attn_value value,
                                    struct attn_value name)
{
    struct attn_buffer hint = {0};

    attn_buffer_append_format(&hint, "access to attribute '%s' of '%s' object is unsafe.",
                              attn_quote(name.text, name.size).text, attn_value_type(value));
    attn_buffer_append_char(&hint, '\0');
    return attn_value_of_buffer(machine, &hint).text;
}

struct attn_value attn_value_attribute(struct attn_machine *machine, struct attn_value value,
                                       struct attn_value name)
{
    const struct attn_value *found = NULL;

    if (value.kind == ATTN_IS_UNDEFINED)
        return attn_value_fail(machine, value);
    if (value.kind > ATTN_IS_NAMESPACE || (name.size > 1 && memcmp(name.text, "__", 2) == 0))
        return attn_machine_fail(machine, "the attribute '%s' of '%s' is not supported",
                                 attn_quote(name.text, name.size).text, attn_value_type(value));
    if (attributes[value.kind] &&
        attn_text_has_word(attributes[value.kind], name.text, name.size)) {
        value = attn_value_missing(machine, value, name, NULL);
        value.kind = ATTN_IS_METHOD;
        return value;
    }
    if (unsafe[value.kind] && attn_text_has_word(unsafe[value.kind], name.text, name.size))
        return attn_value_missing(machine, value, name, refuse_attribute(machine, value, name));
    if (value.kind == ATTN_IS_DICT || value.kind == ATTN_IS_NAMESPACE)
        found = attn_value_dict_find(machine, value.dict, name);
    return found ? *found : attn_value_missing(machine, value, name, NULL);
}
