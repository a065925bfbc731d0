#include "params/param_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_POINTS = 100000 };

/* A member of ID_LISTS. */
struct id_list {
    int32_t *ids; /* [n] owned */
    size_t n;
    const char *text;
    const void *later[4]; /* NULL */
};

/* Index of the text of a member of NAMED, PLACES or ID_LISTS, and of the pointer that it owns or
 * that is NULL: the name or the ids. */
struct named {
    size_t value, name, size;
};

static struct named named_of(const struct attn_param *param)
{
    return param->type == ATTN_PARAM_ID_LISTS ? (struct named){2, 0, sizeof(struct id_list)}
           : param->type == ATTN_PARAM_PLACES ? (struct named){1, 0, 4 * sizeof(char *)}
                                              : (struct named){0, 3, (size_t)param->least};
}

int attn_param_find_word(const char *list, const char *word, size_t size)
{
    for (int i = 0;; i++) {
        const size_t n = strcspn(list, "|");

        if (n == size && memcmp(list, word, n) == 0)
            return i;
        if (list[n] == '\0')
            return -1;
        list += n + 1;
    }
}

/* --- Values ----------------------------------------------------------------------------------- */

enum attn_status attn_param_refuse(struct attn_error *err, const char *label, const char *text,
                                   const char *format, ...)
{
    char expected[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is '%s', expected %s", label,
                       attn_quote_string(text).text, expected);
}

/* Adds a hint about the word of WORDS, "sum|token", that TEXT [size] probably means. MEANT has
 * other names for words, "nll=ce", or is NULL. Returns ATTN_INVALID. */
static enum attn_status hint_word(const char *words, const char *meant, const char *text,
                                  size_t size, struct attn_error *err)
{
    struct attn_typo typo = {.typed = text, .size = size};
    char names[768], *rest = names;

    snprintf(names, sizeof names, "%s|%s", words, meant ? meant : "");
    for (char *name; (name = strsep(&rest, "|"));) {
        char *of = strchr(name, '=');

        if (of) {
            *of = '\0';
            attn_typo_try_as(&typo, name, of + 1);
        } else if (*name) {
            attn_typo_try(&typo, name);
        }
    }
    meant = attn_typo_meant(&typo);
    if (meant && (strlen(meant) != size || memcmp(meant, text, size) != 0))
        attn_error_hint(err, "did you mean '%s'?", meant);
    return ATTN_INVALID;
}

static enum attn_status read_whole(const struct attn_param *param, int64_t *number,
                                   const char *label, const char *text, struct attn_error *err)
{
    const int64_t most = param->most > 0 ? param->most : INT64_MAX;

    if (attn_parse_int(text, strlen(text), param->least, most, number))
        return ATTN_OK;
    return attn_param_refuse(err, label, text, "a whole number %" PRId64 " to %" PRId64,
                             param->least, most);
}

static enum attn_status read_real(const struct attn_param *param, double *number, const char *label,
                                  const char *text, struct attn_error *err)
{
    const bool is_closed = (param->traits & ATTN_PARAM_IS_CLOSED) != 0;
    const bool is_open = (param->traits & ATTN_PARAM_IS_OPEN) != 0;
    const double least = (double)param->least, most = (double)param->most;
    double found;

    if (attn_parse_double(text, strlen(text), &found) &&
        (is_open ? found > least : found >= least) &&
        (param->most == 0 || found < most || (is_closed && found <= most))) {
        if (param->home != ATTN_PARAM_OF_CALLER)
            *number = found;
        return ATTN_OK;
    }
    if (param->most == 0)
        return attn_param_refuse(err, label, text, "a number %s %" PRId64,
                                 is_open ? "above" : "from", param->least);
    return attn_param_refuse(err, label, text, "a number %s %" PRId64 "%s %s%" PRId64,
                             is_open ? "above" : "from", param->least, is_open ? "," : " to",
                             is_closed ? is_open ? "at most " : "" : "less than ", param->most);
}

/* Reads "N" or "N:SEED". */
static enum attn_status read_seeded(const struct attn_param *param, char *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    const size_t size = strcspn(text, ":");
    const char name = param->argument[0];
    int64_t number;
    uint64_t seed = 0;

    if (!attn_parse_int(text, size, param->least, INT32_MAX, &number) ||
        (text[size] && !attn_parse_uint(text + size + 1, strlen(text + size + 1), &seed)))
        return attn_param_refuse(err, label, text, "%c or %c:SEED, %c from %" PRId64, name, name,
                                 name, param->least);
    *(size_t *)(void *)(home + param->offset) = (size_t)number;
    if (text[size])
        *(uint64_t *)(void *)(home + param->second) = seed;
    return ATTN_OK;
}

/* Writes the methods as a list: "dla, ig, ig:N with N from 1 to 100000, attnlrp or relp". */
static void list_methods(const char *words, char *list, size_t size)
{
    size_t used = 0;

    for (const char *at = words; *at;) {
        const int n = (int)strcspn(at, "|");
        const bool is_ig = n >= 2 && memcmp(at + n - 2, "ig", 2) == 0, is_last = at[n] == '\0';

        attn_fixed_text_append(list, size, &used, "%s%.*s",
                               at == words         ? ""
                               : is_last && !is_ig ? " or "
                                                   : ", ",
                               n, at);
        if (is_ig)
            attn_fixed_text_append(list, size, &used, ", %s%.*s:N with N from 1 to %d",
                                   is_last ? "or " : "", n, at, MOST_POINTS);
        at += n + !is_last;
    }
}

static void set_choice(const struct attn_param *param, char *home, int word)
{
    if (param->type == ATTN_PARAM_SWITCH)
        *(bool *)(home + param->offset) = param->values ? param->values[word] == 1 : word == 1;
    else
        *(int *)(void *)(home + param->offset) = param->values ? param->values[word] : word;
}

/* Reads the word for a method; "ig" may be followed by ":N", also in a word with an ending, as
 * "eap-ig:riemann". */
static enum attn_status read_method(const struct attn_param *param, char *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    const size_t size = strcspn(text, ":");
    const size_t n = text[size] ? strcspn(text + size + 1, ":") : 0;
    const bool is_ig = size >= 2 && memcmp(text + size - 2, "ig", 2) == 0; /* eap-ig, too */
    int64_t n_point = 0;
    const bool has_point =
        is_ig && n > 0 && attn_parse_int(text + size + 1, n, 1, MOST_POINTS, &n_point);
    char name[64], list[256];
    int word;

    snprintf(name, sizeof name, "%.*s%s", (int)(size < sizeof name ? size : sizeof name), text,
             text + size + (has_point ? n + 1 : 0));
    word = attn_param_find_word(param->words, name, strlen(name));
    if (word >= 0) {
        set_choice(param, home, word);
        *(size_t *)(void *)(home + param->second) = (size_t)n_point;
        return ATTN_OK;
    }
    list_methods(param->words, list, sizeof list);
    attn_refuse(err, ATTN_STAGE_OPTIONS, "unknown %s '%s', expected %s", label,
                attn_quote_string(text).text, list);
    return hint_word(param->words, param->meant, text, size, err);
}

static enum attn_status read_word(const struct attn_param *param, char *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    const int word = attn_param_find_word(param->words, text, strlen(text));

    if (word < 0) {
        attn_param_refuse(err, label, text, "%s", param->words);
        return hint_word(param->words, param->meant, text, strlen(text), err);
    }
    if (param->home != ATTN_PARAM_OF_CALLER)
        set_choice(param, home, word);
    return ATTN_OK;
}

static enum attn_status read_mask(const struct attn_param *param, char *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    const size_t size = strlen(text);
    char words[64];
    size_t used = 0;

    if (!param->words || attn_param_find_word(param->words, text, size) >= 0 ||
        (size > strlen(".npy") && strcmp(text + size - strlen(".npy"), ".npy") == 0)) {
        *(const char **)(void *)(home + param->second) = text;
        return ATTN_OK;
    }
    for (const char *at = param->words; *at; at++)
        attn_fixed_text_append(words, sizeof words, &used, *at == '|' ? ", " : "%c", *at);
    return attn_param_refuse(err, label, text, "%s or a file whose name ends in .npy", words);
}

static enum attn_status read_id(const struct attn_param *param, char *home, const char *label,
                                const char *text, struct attn_error *err)
{
    const int32_t **place = (const int32_t **)(void *)(home + param->offset);
    int64_t number;
    int32_t *id;

    if (!attn_parse_int(text, strlen(text), 0, INT32_MAX, &number))
        return attn_param_refuse(err, label, text, "a whole number 0 to %d", INT32_MAX);
    ATTN_TRY(ATTN_ALLOC(id, 1, err));
    *id = (int32_t)number;
    *place = id;
    return ATTN_OK;
}

/* Reads ids that are separated by a comma, blanks, or both. */
static enum attn_status read_ids(const struct attn_param *param, char *home, const char *text,
                                 struct attn_error *err)
{
    static const char blanks[] = " \t\n";
    const char *expected = param->most == 1 ? "0 or 1" : "a token id";
    const char *at = text + strspn(text, blanks);
    size_t size, n = 0;
    int64_t number;
    int32_t *ids;

    ATTN_TRY(ATTN_ALLOC(ids, strlen(text) / 2 + 1, err)); /* "1,2": 3 bytes, 2 members */
    for (bool is_done = *at == '\0'; !is_done; n++) {
        size = strcspn(at, ", \t\n");
        if (!attn_parse_int(at, size, 0, INT32_MAX, &number))
            goto refused;
        ids[n] = (int32_t)number;
        at += size;
        at += strspn(at, blanks);
        is_done = *at == '\0';
        at += *at == ',';
        at += strspn(at, blanks);
    }
    attn_free(*(int32_t **)(void *)(home + param->offset));
    *(int32_t **)(void *)(home + param->offset) = ids;
    *(size_t *)(void *)(home + param->second) = n;
    return ATTN_OK;

refused:
    attn_free(ids);
    if (size == 0)
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' has an empty item, expected %s",
                    attn_quote_string(text).text, expected);
    else
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is not %s", attn_quote(at, size).text, expected);
    return attn_error_hint(err, param->most == 1 ? "`key_mask 1,1,0` masks the third of three keys"
                                                 : "ids are numbers separated by commas or spaces");
}

/* Appends ITEM [n_item], padded with zeros to SIZE bytes, to the array of PARAM. */
static enum attn_status append(const struct attn_param *param, char *home, const void *item,
                               size_t n_item, size_t size, struct attn_error *err)
{
    char **items = (char **)(void *)(home + param->offset), *grown;
    size_t *n = (size_t *)(void *)(home + param->second);

    ATTN_TRY(ATTN_NEW(grown, attn_alloc(*n + 1, size, err)));
    if (*n > 0)
        memcpy(grown, *items, *n * size);
    memcpy(grown + *n * size, item, n_item);
    attn_free(*items);
    *items = grown;
    ++*n;
    return ATTN_OK;
}

/* Reads "NAME=VALUE", or also "VALUE" if `argument` is "[NAME=]...". */
static enum attn_status read_named(const struct attn_param *param, char *home, const char *label,
                                   const char *text, struct attn_error *err)
{
    const char *equals = strchr(text, '='), *value = equals ? equals + 1 : text;
    const struct named at = named_of(param);
    const char *item[4] = {NULL}; /* a list, which begins with its text, and a name */
    enum attn_status status;
    char *name = NULL;

    if ((!equals && param->argument[0] != '[') || equals == text || *value == '\0')
        return attn_param_refuse(err, label, text, "%s", param->argument);
    if (equals && !(name = attn_strndup(text, (size_t)(equals - text), err)))
        return ATTN_NO_MEMORY;
    item[at.value] = value;
    item[at.name] = name;
    status = append(param, home, item, sizeof item, at.size, err);
    if (status != ATTN_OK)
        attn_free(name);
    return status;
}

static enum attn_status read_id_list(const struct attn_param *param, char *home, const char *text,
                                     struct attn_error *err)
{
    static const struct attn_param row = {.offset = offsetof(struct id_list, ids),
                                          .second = offsetof(struct id_list, n)};
    struct id_list list = {.text = text};
    enum attn_status status;

    ATTN_TRY(read_ids(&row, (char *)&list, text, err));
    status = append(param, home, &list, sizeof list, sizeof list, err);
    if (status != ATTN_OK)
        attn_free(list.ids);
    return status;
}

/* Reads a COUNT or a SEED into AT; NULL: only checks it. */
static enum attn_status read_number(const struct attn_param *param, void *at, const char *label,
                                    const char *text, struct attn_error *err)
{
    int64_t number;

    ATTN_TRY(read_whole(param, &number, label, text, err));
    if (at && param->type == ATTN_PARAM_COUNT)
        *(size_t *)at = (size_t)number;
    else if (at)
        *(uint64_t *)at = (uint64_t)number;
    return ATTN_OK;
}

static enum attn_status set_value(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    const bool is_kept = param->home == ATTN_PARAM_OF_CALLER;
    void *const at = (char *)home + param->offset;

    if (param->read)
        return param->read(param, home, label, text, err);
    switch (param->type) {
    case ATTN_PARAM_FLAG:
        if (!is_kept)
            *(bool *)at = true;
        return ATTN_OK;
    case ATTN_PARAM_COUNT:
    case ATTN_PARAM_SEED:
        return read_number(param, is_kept ? NULL : at, label, text, err);
    case ATTN_PARAM_REAL:
        return read_real(param, at, label, text, err);
    case ATTN_PARAM_CHOICE:
    case ATTN_PARAM_SWITCH:
        return read_word(param, home, label, text, err);
    case ATTN_PARAM_METHOD:
        return read_method(param, home, label, text, err);
    case ATTN_PARAM_SEEDED:
        return read_seeded(param, home, label, text, err);
    case ATTN_PARAM_ID:
        return read_id(param, home, label, text, err);
    case ATTN_PARAM_TEXTS:
        return append(param, home, &text, sizeof text, sizeof text, err);
    case ATTN_PARAM_NAMED:
    case ATTN_PARAM_PLACES:
        return read_named(param, home, label, text, err);
    case ATTN_PARAM_IDS:
        return read_ids(param, home, text, err);
    case ATTN_PARAM_ID_LISTS:
        return read_id_list(param, home, text, err);
    case ATTN_PARAM_TEXT:
    case ATTN_PARAM_LIST:
        if (!is_kept)
            *(const char **)at = text;
        break;
    case ATTN_PARAM_MASK:
        return read_mask(param, home, label, text, err);
    case ATTN_PARAM_INPUT:
    case ATTN_PARAM_SIZED:
        *(const char **)at = text;
        *(size_t *)(void *)((char *)home + param->second) = strlen(text);
        break;
    case ATTN_PARAM_IMAGE:
        *(const char **)(void *)((char *)home + param->second) = text;
        break;
    case ATTN_PARAM_IMAGES:
        ATTN_TRY(append(param, home, &text, sizeof text, sizeof text, err));
        *(const char **)(void *)((char *)home + param->least) = **(const char *const **)at;
        break;
    case ATTN_PARAM_OWN: /* has its own `read` */
    case ATTN_PARAM_SETTINGS:
    case ATTN_PARAM_INPUTS:
    case ATTN_PARAM_ARRAY:
        break; /* the caller reads it */
    }
    return ATTN_OK;
}

enum attn_status attn_param_set(const struct attn_param *param, void *home, const char *label,
                                const char *text, struct attn_error *err)
{
    ATTN_NEED(err, param);
    if (param->home != ATTN_PARAM_OF_CALLER)
        ATTN_NEED(err, home);
    if (param->type != ATTN_PARAM_FLAG)
        ATTN_NEED(err, text);
    ATTN_TRY(set_value(param, home, label, text, err));
    if (param->mark && home)
        *(unsigned *)(void *)((char *)home + param->marks) |= param->mark;
    return ATTN_OK;
}

static bool is_named(const struct attn_param *param)
{
    return param->type == ATTN_PARAM_NAMED || param->type == ATTN_PARAM_PLACES ||
           param->type == ATTN_PARAM_ID_LISTS;
}

bool attn_param_write(const struct attn_param *param, const void *home, size_t i,
                      struct attn_buffer *out)
{
    const char *const *items = (const void *)((const char *)home + param->offset);
    const size_t *n = (const void *)((const char *)home + param->second);
    const struct named at =
        is_named(param) ? named_of(param) : (struct named){.size = sizeof *items};
    const char *const *item;

    if (i >= *n)
        return false;
    item = (const void *)(*items + i * at.size);
    if (param->type != ATTN_PARAM_ID_LISTS && is_named(param) && item[at.name])
        attn_buffer_append_format(out, "%s=", item[at.name]);
    attn_buffer_append_string(out, item[at.value]);
    return true;
}

void attn_param_release(const struct attn_param *param, void *home)
{
    if (!param || !home)
        return;
    void **const block = (void **)(void *)((char *)home + param->offset);
    const size_t *n = (const size_t *)(void *)((char *)home + param->second);
    char *items = is_named(param) ? *block : NULL;
    const struct named at = named_of(param);

    if (param->release) {
        param->release(param, home);
        return;
    }
    if (param->home == ATTN_PARAM_OF_CALLER ||
        (!items && param->type != ATTN_PARAM_ID && param->type != ATTN_PARAM_TEXTS &&
         param->type != ATTN_PARAM_IMAGES && param->type != ATTN_PARAM_IDS))
        return;
    for (size_t i = 0; items && i < *n; i++)
        attn_free(((void **)(void *)(items + i * at.size))[at.name]);
    attn_free(*block);
    *block = NULL;
}

/* Returns the bytes of the field at `offset`. */
static size_t size_of(const struct attn_param *param)
{
    switch (param->type) {
    case ATTN_PARAM_FLAG:
    case ATTN_PARAM_SWITCH:
        return sizeof(bool);
    case ATTN_PARAM_CHOICE:
    case ATTN_PARAM_METHOD:
        return sizeof(int);
    case ATTN_PARAM_COUNT:
    case ATTN_PARAM_SEEDED:
        return sizeof(size_t);
    case ATTN_PARAM_SEED:
        return sizeof(uint64_t);
    case ATTN_PARAM_REAL:
        return sizeof(double);
    case ATTN_PARAM_OWN:
    case ATTN_PARAM_SETTINGS:
        return 0;
    default:
        return sizeof(void *);
    }
}

bool attn_param_is_set(const struct attn_param *param, const void *home, const void *defaults)
{
    const char *one = home, *other = defaults;

    return param->home != ATTN_PARAM_OF_CALLER &&
           (memcmp(one + param->offset, other + param->offset, size_of(param)) != 0 ||
            ((param->type == ATTN_PARAM_TEXT || param->type == ATTN_PARAM_LIST) && param->second &&
             memcmp(one + param->second, other + param->second, sizeof(void *)) != 0));
}
