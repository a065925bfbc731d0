/* field_names.c - see field_names.h. */
#include "cmd/line/field_names.h"

#include "cmd/line/options.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields whose option is not the field's name with dashes. */
static const struct {
    const char *field, *option;
} others[] = {
    {"array", "npz"},
    {"form", "items-format"},
    {"has_contrasts", "contrast"},
    {"has_effect", "effect"},
    {"has_gradients", "grad"},
    {"has_score", "score"},
    {"is_cumulative", "cumulative"},
    {"is_one_based", "one-based"},
    {"is_resumed", "resume"},
    {"is_shifted", "shifted"},
    {"is_soft", "soft"},
    {"is_weight", "measures weight"},
    {"knockouts", "knockout"},
    {"max_failed", "max-errors"},
    {"n_control", "control"},
    {"n_shard", "shard"},
    {"patches", "patch"},
    {"places", "positions"},
    {"reading.keys", "key-labels"},
    {"reading.queries", "query-labels"},
    {"references", "reference"},
    {"sets", "set"},
    {"steerings", "steer"},
    {"text_template", "template"},
};

/* Fields with which messages begin. */
static const char *const subjects[] = {
    "layers",      "heads",     "queries", "sites",         "ablate", "ablate_pattern",
    "ablate_mean", "knockouts", "patches", "from",          "to",     "at",
    "sets",        "steer",     "rescale", "baseline_keep",
};

enum { NAME_SIZE = 32 };

enum { N_NAME = 1024 }; /* more than the number of options; a power of 2 */

/* Returns the slot of NAME in the hash table NAMES, or the free slot for it. */
static const char **find_name(const char *names[N_NAME], const char *name)
{
    size_t at = 0;

    for (const char *c = name; *c; c++)
        at = at * 31 + (unsigned char)*c;
    for (at %= N_NAME; names[at] && strcmp(names[at], name) != 0;)
        at = (at + 1) % N_NAME;
    return &names[at];
}

/* Returns true if some command has the option NAME. Uses a hash table, because help texts have
 * hundreds of names. */
static bool is_option(const char *name)
{
    static const char *names[N_NAME];
    static bool is_filled;

    for (size_t i = 0; !is_filled && command_at(i); i++)
        for (struct option_walk walk = {.command = command_at(i)}; option_next(&walk);)
            if (walk.option.name)
                *find_name(names, walk.option.name) = walk.option.name;
    is_filled = true;
    return *find_name(names, name) != NULL;
}

/* Writes to OPTION the option, without dashes, that sets FIELD [size]. Returns false if there is
 * none. */
static bool find_option(const char *field, size_t size, char option[NAME_SIZE])
{
    if (size == 0 || size >= NAME_SIZE)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].field) == size && memcmp(others[i].field, field, size) == 0) {
            snprintf(option, NAME_SIZE, "%s", others[i].option);
            return true;
        }
    for (size_t i = 0; i < size; i++)
        option[i] = (char)(field[i] == '_' ? '-' : field[i]);
    option[size] = '\0';
    return is_option(option);
}

static bool is_subject(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strlen(subjects[i]) == size && memcmp(subjects[i], text, size) == 0)
            return text[size] == ':';
    return false;
}

/* Returns true if the character at AT begins a quotation (OPENS), or ends one. BEGIN is the start
 * of the message. */
static bool is_quote(const char *begin, const char *at, bool opens)
{
    if (*at != '\'')
        return false;
    return opens ? at == begin || strchr(" ([=\"", at[-1]) : strchr(" .,;:?)]\"", at[1]) != NULL;
}

static struct {
    char **items; /* [n] borrowed */
    int n;
} arguments;

/* Returns true if an argument of the command line contains TEXT [size]. */
static bool is_argument(const char *text, size_t size)
{
    for (int i = 0; i < arguments.n; i++)
        if (memmem(arguments.items[i], strlen(arguments.items[i]), text, size))
            return true;
    return false;
}

void field_names_set_arguments(char **items, int n)
{
    arguments.items = items;
    arguments.n = n;
}

/* Reads a field in backquotes at AT, such as "`heads 0.0`". Writes the option that sets it to
 * OPTION, and returns the size of its name with the first backquote; 0 if AT is not a field. QUOTE
 * is the start of the quotation around AT, or NULL. In a quotation, backquotes belong to a text of
 * the user, except in two cases: the field is its first word, or it is the `set` of a model that is
 * made. */
static size_t read_field(const char *at, const char *quote, char option[NAME_SIZE])
{
    const char *end = *at == '`' ? strchr(at + 1, '`') : NULL;
    const size_t size = end ? strcspn(at + 1, " `") : 0;

    if (!end)
        return 0;
    if (quote && at != quote + 1 && strncmp(at, "`set` ", strlen("`set` ")) != 0)
        return 0;
    if (quote && is_argument(at, (size_t)(end + 1 - at)))
        return 0;
    return find_option(at + 1, size, option) ? size + 1 : 0;
}

bool field_names_fit(const char *text, const struct command *command)
{
    bool has_field = false;
    char option[NAME_SIZE];

    for (const char *at = text; (at = strchr(at, '`')) != NULL; at++) {
        if (read_field(at, NULL, option) == 0)
            continue;
        option[strcspn(option, " ")] = '\0';
        if (!command || option_is_of(command, option) || strstr(at, " of a run"))
            return true;
        has_field = true;
    }
    return !has_field;
}

void field_names_show(const char *text, char *out, size_t size)
{
    const char *begin = text, *quote = NULL;
    char option[NAME_SIZE];
    size_t used = 0, n = strcspn(text, ":");

    out[0] = '\0';
    if (is_subject(text, n) && find_option(text, n, option)) {
        attn_fixed_text_append(out, size, &used, "--%s", option);
        text += n;
    }
    for (; *text != '\0'; text += n) {
        n = read_field(text, quote, option);
        if (n > 0) {
            const char *value = text + n; /* with the space before it; or empty */
            const size_t n_value = strcspn(value, "`");

            attn_fixed_text_append(out, size, &used, "--%s%.*s", option, (int)n_value, value);
            n += n_value + 1;
        } else {
            if (is_quote(begin, text, !quote))
                quote = quote ? NULL : text;
            n = 1 + strcspn(text + 1, "`'");
            attn_fixed_text_append(out, size, &used, "%.*s", (int)n, text);
        }
    }
}

const char *field_names_of_help(const char *text)
{
    static struct {
        const char *text;
        char *shown; /* never freed */
    } known[64];

    for (size_t i = 0; strchr(text, '`') && i < sizeof known / sizeof *known; i++) {
        const size_t size = strlen(text) + 1;

        if (known[i].text == text)
            return known[i].shown;
        if (known[i].text || !(known[i].shown = malloc(size)))
            continue;
        known[i].text = text;
        field_names_show(text, known[i].shown, size);
        return known[i].shown;
    }
    return text;
}

void field_names_list(attn_format_fn is_listed, const char *last, char *out, size_t size)
{
    char list[ATTN_ERROR_HINT_SIZE];

    attn_format_list(is_listed, last, list, sizeof list);
    field_names_show(list, out, size);
}
