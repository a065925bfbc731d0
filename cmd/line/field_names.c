#include "cmd/line/field_names.h"

#include "cmd/line/options.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields whose option is not the field's name with dashes, without is_ or has_ and a plural s. */
static const struct {
    const char *field, *option;
} others[] = {
    {"form", "items-format"},
    {"is_resumed", "resume"},
    {"patches", "patch"},
    {"places", "positions"},
};

/* Fields with which messages begin. */
static const char *const subjects[] = {
    "baseline_keep", "queries", "project", "feature", "ablate", "sites", "tiles", "sets", "to",
    "knockouts",     "patches", "rescale", "layers",  "heads",  "steer", "from",  "svd",  "at",
};

enum { NAME_SIZE = 32 };

enum { N_NAME = 1024 }; /* more than the number of options; a power of 2 */

/* An option; or unless `of` is NULL, a setting of the option `of`, or a form of it with `prefix`.
 */
struct name {
    const char *name, *of, *prefix;
};

/* Where NAME is in NAMES, a table by hashes, or would be put. */
static struct name *find_name(struct name names[N_NAME], const char *name)
{
    size_t at = 0;

    for (const char *c = name; *c; c++)
        at = at * 31 + (unsigned char)*c;
    for (at %= N_NAME; names[at].name && strcmp(names[at].name, name) != 0;)
        at = (at + 1) % N_NAME;
    return &names[at];
}

/* Whether a command has the option, setting or form NAME; *OF is what it is of. A help asks for
 * hundreds of names. */
static bool is_option(const char *name, struct name *of)
{
    static struct name names[N_NAME];
    static bool is_filled;
    const struct name *found;

    for (size_t i = 0; !is_filled && command_at(i); i++)
        for (struct option_walk walk = {.command = command_at(i)}; option_next(&walk);)
            if (walk.name)
                *find_name(names, walk.name) =
                    (struct name){walk.name, walk.param->of, walk.param->prefix};
    is_filled = true;
    found = find_name(names, name);
    *of = *found;
    return found->name != NULL;
}

/* Finds the option that fills FIELD [size], without its dashes; *of as in is_option. Returns
 * whether one does. */
static bool find_option(const char *field, size_t size, char option[NAME_SIZE], struct name *of)
{
    const size_t first = strncmp(field, "is_", 3) == 0 ? 3 : strncmp(field, "has_", 4) == 0 ? 4 : 0;

    *of = (struct name){0};
    if (size == 0 || size >= NAME_SIZE)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].field) == size && memcmp(others[i].field, field, size) == 0) {
            snprintf(option, NAME_SIZE, "%s", others[i].option);
            is_option(option, of);
            return true;
        }
    for (size_t i = first; i < size; i++)
        option[i - first] = (char)(field[i] == '_' ? '-' : field[i]);
    option[size - first] = '\0';
    if (!is_option(option, of) && field[size - 1] == 's')
        option[size - first - 1] = '\0';
    return is_option(option, of);
}

bool field_names_have(const char *fields, const char *name)
{
    char option[NAME_SIZE];
    struct name of;

    for (size_t n; *fields; fields += n + (fields[n] == '|')) {
        n = strcspn(fields, "|");
        if (!find_option(fields, n, option, &of))
            continue;
        option[strcspn(option, " ")] = '\0'; /* without its value */
        if (strcmp(option, name) == 0)
            return true;
    }
    return false;
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

/* Reads the field at AT, "`heads 0.0`": the option that fills it, *of as in is_option, and the size
 * of its name with the first backquote. Returns 0 if AT is not a field. In a quotation, which
 * begins at QUOTE or is NULL, backquotes in a text of the user stay; the library quotes a field as
 * the first word, and each `set` of a model that is made. */
static size_t read_field(const char *at, const char *quote, char option[NAME_SIZE], struct name *of)
{
    const char *end = *at == '`' ? strchr(at + 1, '`') : NULL;
    const size_t size = end ? strcspn(at + 1, " `") : 0;

    if (!end)
        return 0;
    if (quote && at != quote + 1 && strncmp(at, "`set` ", strlen("`set` ")) != 0)
        return 0;
    if (quote && is_argument(at, (size_t)(end + 1 - at)))
        return 0;
    return find_option(at + 1, size, option, of) ? size + 1 : 0;
}

bool field_names_fit(const char *text, const struct command *command)
{
    bool has_field = false;
    char option[NAME_SIZE];
    struct name of;

    for (const char *at = text; (at = strchr(at, '`')) != NULL; at++) {
        if (read_field(at, NULL, option, &of) == 0)
            continue;
        option[strcspn(option, " ")] = '\0';
        if (!command || option_is_of(command, option) || strstr(at, " of a run"))
            return true;
        has_field = true;
    }
    return !has_field;
}

/* Appends "--heads", or "--style dpi" for a setting, "--target ids:" for a form. */
static void append_name(char *out, size_t size, size_t *used, const char *option,
                        const struct name *of)
{
    attn_fixed_text_append(out, size, used, "--%s%s%s", of->of ? of->of : "", of->of ? " " : "",
                           of->prefix ? of->prefix : option);
}

void field_names_show(const char *text, char *out, size_t size)
{
    const char *begin = text, *quote = NULL;
    char option[NAME_SIZE];
    struct name of;
    size_t used = 0, n = strcspn(text, ":");

    out[0] = '\0';
    if (is_subject(text, n) && find_option(text, n, option, &of)) {
        append_name(out, size, &used, option, &of);
        text += n;
    }
    for (; *text != '\0'; text += n) {
        n = read_field(text, quote, option, &of);
        if (n > 0) {
            const char *value = text + n; /* with the space before it; or empty */
            const size_t n_value = strcspn(value, "`");
            const bool is_part = of.of && n_value > 0; /* "dpi=300", "ids:5" */

            append_name(out, size, &used, option, &of);
            attn_fixed_text_append(out, size, &used, "%s%.*s", is_part && !of.prefix ? "=" : "",
                                   (int)n_value - is_part, value + is_part);
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
        const size_t size = 2 * strlen(text) + 1; /* a name may be longer than its field */

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
