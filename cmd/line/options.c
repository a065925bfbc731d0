/* options.c - reads a command line against a command's options. A mistake is refused with what was
 * expected, and for a name that does not exist with the one that was probably meant. */
#include "cmd/line/defaults.h"
#include "cmd/line/options_internal.h"

#include "cmd/line/help.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Options of other programs ---------------------------------------------------------------- */

/* Options of other programs: they are refused with a hint that shows ours. */

enum { FOREIGN_HINT_SIZE = 160 };

/* Commands that print tables. */
#define TABLES "heads|sinks|lens|spans|align|examples|ablate|patch|circuit|attribute|score|diff"

/* An option of other programs, or one that people try first. */
static const struct {
    const char *names;       /* "input|items"; for one letter, the option -o */
    const char *commands;    /* commands for which the row holds, "align|score"; NULL: all */
    const char *placeholder; /* a word of `form` that is replaced by the typed value; NULL: none */
    const char *form;        /* what to write instead */
} foreign[] = {
    {"layers", "ablate|heads", NULL, "--heads '2.*' for all heads of layer 2"},
    {"merge-words", "score", NULL, "--by word; of items --by word --measures surprisal"},
    {"max-tokens", "generate", NULL, "-n N for the tokens to write; --max-input N for the text"},
    {"temp", NULL, "X", "--temperature X"},
    {"jsonl|tidy", "tokenize|inspect|help", NULL, "--json FILE"},
    {"format|output-format", NULL, NULL, "--csv FILE, --json FILE; - is standard output"},
    {"rollout", NULL, NULL, "--sites rollout"},
    {"rollout", NULL, NULL, "attn-cli run --sites rollout"},
    {"output-attentions|attentions", "run", NULL, "--npz FILE, --json FILE write the patterns"},
    {"output-attentions|attentions", NULL, NULL, "attn-cli run --npz FILE"},
    {"output-hidden-states", NULL, NULL, "--sites 'resid_*'"},
    {"names-filter|hook|hooks|cache", NULL, NULL, "--sites LIST"},
    {"query|tokens|positions", "run", "LIST", "--queries LIST"},
    {"plot|show|view|visualize|draw", NULL, NULL, "--heatmap, --svg FILE, --html FILE"},
    {"plot|show|view|visualize|draw", NULL, NULL, "--svg FILE, --html FILE"},
    {"serve|interactive|browser|ui", NULL, NULL, "--live --html FILE"},
    {"model-path|model-name|model-id|pretrained|hf-repo|checkpoint", NULL, "MODEL", "-m MODEL"},
    {"gpu|cuda|device|n-gpu-layers|device-map", NULL, NULL, "it runs on the CPU; --threads N"},
    {"torch-dtype|dtype|bf16|precision-type", NULL, NULL, "--compute f32|bf16"},
    {"top-k|topk", NULL, "K", "--top K"},
    {"n-predict|max-length|max-new-tokens|n-tokens", "generate", "N", "-n N"},
    {"n-predict|max-length|max-new-tokens|n", NULL, NULL, "attn-cli generate -n N"},
    {"output|out|save|o", NULL, NULL, "--csv, --json and other outputs name a file each"},
    {"at", "lens", "POS", "--queries POS"},
    {"seed", "run|attend", "SEED", "--attention dropout=P:SEED"},
    {"lora", NULL, "DIR", "--adapter DIR"},
    {"induction", NULL, NULL, "attn-cli probe induction"},
    {"span", "spans", "SPEC", "--positions NAME=SPEC gives the span a name"},
    {"span", NULL, "SPEC", "attn-cli spans --positions NAME=SPEC"},
    {"input", NULL, "FILE", "--file FILE for a text, --items FILE for many"},
    {"input", NULL, "FILE", "--file FILE"},
    {"texts", NULL, "FILE", "--items FILE"},
    {"text|p|prompt", "patch", NULL, "--clean TEXT --corrupted TEXT"},
    {"text|prompt", NULL, "TEXT", "--sentence TEXT, or the text alone"},
    {"ids", "patch", NULL, "--clean ids:LIST --corrupted ids:LIST"},
    {"parts", "patch", NULL, "--site SITE names what is patched, --by head|position the rows"},
};

/* Returns true if a shell takes TEXT as it is. */
static bool is_plain(const char *text)
{
    return !text[strcspn(text, " \t\n\"$&();<>|*?[]#~`\\")];
}

/* Appends FORM. PLACEHOLDER in it is replaced by VALUE, quoted if necessary. */
static void append_form(const char *form, const char *placeholder, const char *value,
                        char hint[FOREIGN_HINT_SIZE], size_t *used)
{
    const char *at = placeholder && value ? strstr(form, placeholder) : NULL;
    const char *quote = !at || is_plain(value) ? "" : "'";
    const size_t n = at ? strlen(value) : 0;

    if (!at || strlen(value) > FOREIGN_HINT_SIZE / 4 || value[strcspn(value, "'\n\r\t\033")])
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, used, "%s", form);
    else
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, used, "%.*s%s%.*s%s%s", (int)(at - form),
                               form, quote, (int)n, value, quote, at + strlen(placeholder));
}

/* Returns true if COMMAND has all options that FORM names, or FORM is another command. */
static bool fits(const struct command *command, const char *form)
{
    struct option_walk walk;
    size_t size;

    if (strstr(form, "attn-cli "))
        return true;
    for (const char *at = form; (at = strstr(at, "--")) != NULL; at += size + 2) {
        size = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        walk = (struct option_walk){.command = command};
        if (!option_find(&walk, NULL, at + 2, size))
            return false;
    }
    return true;
}

/* Writes the form of a setting, --style 'dpi=300'. */
static void form_setting(const struct option_walk *setting, const char *value,
                         char hint[FOREIGN_HINT_SIZE])
{
    const bool is_flag = setting->param->type == ATTN_PARAM_FLAG;
    const struct attn_param *param = setting->param;
    /* What followed the option of this name need not be its value. */
    const bool may_be = value && (param->type == ATTN_PARAM_TEXT ||
                                  (!strchr(value, ' ') && (param->type != ATTN_PARAM_CHOICE ||
                                                           word_find(param->words, value) >= 0)));
    const char *shown =
        !may_be || strlen(value) > FOREIGN_HINT_SIZE / 4 || value[strcspn(value, "'\"\n\r\t\033")]
            ? option_argument(param)
            : value;
    const char *quote = !is_flag && strchr(shown, ' ') ? "\"" : "";
    size_t used = 0;

    attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "--%s ", setting->param->of);
    if (is_flag)
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "%s", setting->name);
    else
        attn_fixed_text_append(hint, FOREIGN_HINT_SIZE, &used, "'%s=%s%s%s'", setting->name, quote,
                               shown, quote);
}

/* Writes to HINT our form of the option NAME [size] of COMMAND, such as "dpi". VALUE, unless
 * NULL, is inserted for its placeholder. Returns false if we know none. */
static bool foreign_hint(const struct command *command, const char *name, size_t size,
                         const char *value, char hint[FOREIGN_HINT_SIZE])
{
    struct option_walk setting = {.command = command};
    char dashed[32];
    size_t used = 0;

    snprintf(dashed, sizeof dashed, "%.*s", (int)size, name);
    for (char *at = dashed; (at = strchr(at, '_')) != NULL;)
        *at = '-';
    while (option_next(&setting))
        if (setting.param->of && !setting.param->prefix && strlen(setting.name) == size &&
            memcmp(setting.name, name, size) == 0) {
            form_setting(&setting, value, hint);
            return true;
        }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const char *commands = foreign[i].commands;

        if (word_find(foreign[i].names, dashed) < 0 ||
            (commands && word_find(commands, command->name) < 0) || !fits(command, foreign[i].form))
            continue;
        append_form(foreign[i].form, foreign[i].placeholder, value, hint, &used);
        return true;
    }
    return false;
}

/* The struct that the option of WALK fills. */
static void *home_of(const struct call *call, const struct option_walk *walk)
{
    return (char *)call->args + walk->offset;
}

/* Returns true if PARAM is the parameter NAME [size], such as "merge_words". */
static bool is_param(const struct attn_param *param, const char *name, size_t size)
{
    const char *own = param->name;

    if (!own || strlen(own) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (own[i] != name[i] && (own[i] != '-' || name[i] != '_'))
            return false;
    return true;
}

/* Returns true if VALUE is not the default of PARAM. */
static bool is_changed(const struct attn_param *param, const char *value)
{
    if (param->type == ATTN_PARAM_METHOD && word_find(param->words, value) >= 0)
        return param->values[word_find(param->words, value)] != 0;
    return !option_is_choice(param) || word_find(param->words, value) > 0;
}

/* Returns true if VALUE, such as "resample:7", "0.0" or "ids,tokens", is or has WANTED, such as
 * "resample", "0" or "tokens". If WANTED is NULL, any value is. */
static bool has_value(const char *value, const char *wanted)
{
    const size_t size = strcspn(value, ":,");
    double number, other;

    if (wanted && strcmp(wanted, "-") == 0) /* a path, which may have commas */
        return strcmp(value, wanted) == 0;
    return !wanted || (strlen(wanted) == size && memcmp(value, wanted, size) == 0) ||
           (attn_parse_double(value, size, &number) &&
            attn_parse_double(wanted, strlen(wanted), &other) && number == other) ||
           (value[size] == ',' && has_value(value + size + 1, wanted));
}

bool option_is_param_given(void *user, const char *name)
{
    const struct call *call = user;
    const size_t size = strcspn(name, ":");

    for (size_t i = 0; i < call->n_found; i++) {
        const struct attn_param *param = call->found[i].param;
        const char *value = call->given[call->found[i].n - 1];

        if (is_param(param, name, size) && is_changed(param, value) &&
            has_value(value, name[size] ? name + size + 1 : NULL))
            return true;
    }
    return false;
}

bool option_is_typed(const struct call *call, const struct option_walk *walk)
{
    return call->given[walk->n - 1] &&
           call->sources[walk->n - 1].origin == CALL_ORIGIN_COMMAND_LINE;
}

const char *option_text(const struct call *call, const char *name)
{
    for (size_t i = 0; i < call->n_found; i++)
        if (strcmp(option_own_name(&call->found[i]), name) == 0)
            return call->given[call->found[i].n - 1];
    return NULL;
}

static bool takes_value(const struct attn_param *param)
{
    return param->type != ATTN_PARAM_FLAG;
}

static bool find_letter(struct option_walk *walk, char letter)
{
    while (option_next(walk))
        if (walk->param->letter == letter)
            return true;
    return false;
}

enum { HINT_SIZE = 128 };

/* Writes to HINT which other commands have the option --NAME [size]. Returns false if none has
 * it. */
static bool find_others(const char *name, size_t size, char hint[HINT_SIZE])
{
    size_t used = 0, n = 0;

    for (size_t i = 0; command_at(i); i++) {
        struct option_walk walk = {.command = command_at(i)};

        if (!option_find(&walk, NULL, name, size) || n++ > 2)
            continue;
        attn_fixed_text_append(hint, HINT_SIZE, &used, "%s'attn-cli %s'", used > 0 ? ", " : "",
                               command_at(i)->name);
    }
    if (n > 0)
        attn_fixed_text_append(hint, HINT_SIZE, &used, "%s",
                               n == 1  ? " has it"
                               : n > 3 ? " and others have it"
                                       : " have it");
    return n > 0;
}

/* Refuses the unknown option TYPED [size]. VALUE is the value after its '=', or NULL. */
static enum attn_status refuse_unknown(const struct command *command, const char *typed,
                                       size_t size, const char *value, struct attn_error *err)
{
    const size_t dashes = size > 2 ? 2 : 1;
    struct attn_typo typo = {.typed = typed + 2, .size = size - 2};
    char hint[HINT_SIZE], form[FOREIGN_HINT_SIZE];

    if (foreign_hint(command, typed + dashes, size - dashes, value, form))
        return refuse(err, form, "unknown option '%.*s'", (int)size, typed);
    if (size > 2 && find_others(typed + 2, size - 2, hint))
        return refuse(err, hint, "'%.*s' is no option of '%s'", (int)size, typed, command->name);
    for (struct option_walk walk = {.command = command}; size > 2 && option_next(&walk);)
        if (walk.name && !walk.param->of)
            attn_typo_try(&typo, walk.name);
    if (attn_typo_meant(&typo))
        snprintf(hint, sizeof hint, "did you mean '--%s'?", attn_typo_meant(&typo));
    else
        snprintf(hint, sizeof hint, "'attn-cli %s --help-all' lists the options", command->name);
    return refuse(err, hint, "unknown option '%.*s'", (int)size, typed);
}

enum attn_status options_refuse_first(const char *typed, struct attn_error *err)
{
    const size_t size = strcspn(typed, "=");
    char hint[HINT_SIZE];

    for (size_t i = 0; size > 1 && command_at(i); i++) {
        struct option_walk walk = {.command = command_at(i)};

        if (typed[1] == '-' ? !option_find(&walk, NULL, typed + 2, size - 2)
                            : !find_letter(&walk, typed[1]))
            continue;
        snprintf(hint, sizeof hint, "attn-cli %s %.*s ...", walk.command->name, (int)size, typed);
        return refuse(err, hint, "the command comes before its options, got '%.*s'", (int)size,
                      typed);
    }
    return ATTN_OK;
}

int word_find(const char *list, const char *word)
{
    return attn_param_find_word(list, word, strlen(word));
}

const char *option_find_given(const struct call *call, const char *list)
{
    const char *found = NULL;
    int first = 0;

    for (size_t i = 0; i < call->n_found; i++) {
        const char *name = option_own_name(&call->found[i]);
        const int at = word_find(list, name);

        if (at >= 0 && (!found || at < first)) {
            found = name;
            first = at;
        }
    }
    return found;
}

const char *option_find_under(const struct call *call, const char *headings, const char *except)
{
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);)
        if (call->given[walk.n - 1] && word_find(headings, walk.heading) >= 0 &&
            word_find(except, option_own_name(&walk)) < 0)
            return option_own_name(&walk);
    return NULL;
}

bool text_ends_in(const char *text, const char *ending)
{
    const size_t size = strlen(text), n = strlen(ending);

    return size >= n && strcmp(text + size - n, ending) == 0;
}

/* Refuses VALUE for an option that has one of the same ORIGIN. */
static enum attn_status check_once(struct call *call, const struct option_walk *option,
                                   const char *label, const char *value, enum call_origin origin,
                                   struct attn_error *err)
{
    char name_of[OPTION_LABEL_SIZE];
    const size_t n_prefix = option->param->prefix ? 1 + strlen(option->param->prefix) : 0;

    if (!takes_value(option->param) || option_is_list(option->param))
        return ATTN_OK;
    if (origin == CALL_ORIGIN_COMMAND_LINE)
        label = option_label(option, name_of); /* it was typed as a letter, perhaps */
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *before = call->given[walk.n - 1];

        if (before && call->sources[walk.n - 1].origin == origin &&
            strcmp(option_name(&walk), option_name(option)) == 0)
            return refuse(err,
                          strcmp(option_name(option), "model") == 0 &&
                                  option_is_of(call->command, "with")
                              ? "a second model goes after --with"
                              : NULL,
                          "'%.*s' was given twice: '%s' and '%s'", (int)(strlen(label) - n_prefix),
                          label, before, value);
    }
    return ATTN_OK;
}

/* Returns true if PARAM must be parsed after the rest of the command line, in the order of the
 * help. It may set a field, such as a seed, that another option also sets. */
static bool is_late(const struct attn_param *param)
{
    return param->read || param->type == ATTN_PARAM_SEEDED || param->type == ATTN_PARAM_METHOD;
}

enum attn_status options_set_late(const struct call *call, struct attn_error *err)
{
    enum attn_status status;
    char label[OPTION_LABEL_SIZE];
    const char *from;
    bool takes_help;

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *value = call->given[walk.n - 1];

        if (!value || !is_late(walk.param))
            continue;
        takes_help = (walk.param->traits & ATTN_PARAM_TAKES_HELP) != 0;
        if (takes_help && help_is_asked(value))
            continue; /* the command shows the values */
        from = call->sources[walk.n - 1].label;
        status = attn_param_set(walk.param, home_of(call, &walk),
                                from ? from : option_label(&walk, label), value, err);
        if (status == ATTN_INVALID && takes_help)
            attn_error_hint(err, "%s%shelp shows them", option_label(&walk, label),
                            walk.param->of ? "=" : " ");
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

char *call_keep(struct call *call, const char *text, size_t size)
{
    char **kept = realloc(call->kept, (call->n_kept + 1) * sizeof *kept);

    if (!kept)
        return NULL;
    call->kept = kept;
    kept[call->n_kept] = strndup(text, size);
    return kept[call->n_kept] ? kept[call->n_kept++] : NULL;
}

/* Adds the option of WALK, with VALUE and the one before it, if rows of items depend on it. */
static enum attn_status add_key(struct call *call, const struct option_walk *walk,
                                const char *value, struct attn_error *err)
{
    const char *before = call->given[walk->n - 1], *name = option_own_name(walk);

    if (strcmp(name, "load") != 0 &&
        (word_find("items-format|marks|shard", name) >= 0 ||
         word_find("Items|Output|Figures|Rows|Other", walk->heading) < 0))
        attn_buffer_append_format(&call->key, "%s=%s=%s\n", name, before ? before : "", value);
    return attn_buffer_string(&call->key) ? ATTN_OK : attn_error_no_memory(err);
}

/* Notes that the option of WALK is given by ORIGIN, with the text VALUE. LABEL is its name in
 * messages. */
static enum attn_status note_given(struct call *call, const struct option_walk *walk,
                                   const char *label, const char *value, enum call_origin origin,
                                   struct attn_error *err)
{
    struct call_source *source = &call->sources[walk->n - 1];
    struct option_walk *found;

    ATTN_TRY(add_key(call, walk, value, err));
    if (!call->given[walk->n - 1]) {
        found = realloc(call->found, (call->n_found + 1) * sizeof *found);
        if (!found)
            return attn_error_no_memory(err);
        found[call->n_found++] = *walk;
        call->found = found;
    }
    call->given[walk->n - 1] = value;
    source->origin = origin;
    source->label = NULL;
    if (origin == CALL_ORIGIN_COMMAND_LINE)
        return ATTN_OK;
    source->label = call_keep(call, label, strlen(label));
    return source->label ? ATTN_OK : attn_error_no_memory(err);
}

/* Stores VALUE for the option of WALK. LABEL is the option as typed, such as "--load", or the name
 * of an environment variable. */
static enum attn_status store(struct call *call, const struct option_walk *walk, const char *label,
                              const char *value, struct attn_error *err)
{
    if (option_is_help(walk->param))
        call->help = strcmp(label, "-h") == 0           ? CALL_HELP_BRIEF
                     : strcmp(label, "--help-all") == 0 ? CALL_HELP_WHOLE
                                                        : CALL_HELP_OWN;
    return is_late(walk->param)
               ? ATTN_OK
               : attn_param_set(walk->param, home_of(call, walk), label, value, err);
}

enum attn_status option_take_value(struct call *call, const struct option_walk *walk,
                                   const char *label, const char *value, enum call_origin origin,
                                   struct attn_error *err)
{
    const enum call_origin before = call->sources[walk->n - 1].origin;

    if (before != CALL_ORIGIN_NONE && before < origin)
        return ATTN_OK;
    ATTN_TRY(check_once(call, walk, label, value, origin, err));
    ATTN_TRY(note_given(call, walk, label, takes_value(walk->param) ? value : "true", origin, err));
    return store(call, walk, label, value, err);
}

enum attn_status option_take(struct call *call, const struct option_walk *walk, const char *label,
                             const char *value, enum call_origin origin, struct attn_error *err)
{
    return (option_has_settings(walk)  ? settings_take
            : option_takes_forms(walk) ? form_take
                                       : option_take_value)(call, walk, label, value, origin, err);
}

/* Whether ARGUMENT is a long option of COMMAND, "--limit" or "--limit=1". */
static bool is_option(const struct command *command, const char *argument)
{
    struct option_walk walk = {.command = command};

    return strncmp(argument, "--", 2) == 0 &&
           option_find(&walk, NULL, argument + 2, strcspn(argument + 2, "="));
}

/* Reads an option. VALUE is attached to it ("--limit=1"); if it is NULL, the value is the next
 * argument. If that is an option, the value was forgotten. */
static enum attn_status take_option(struct call *call, const struct option_walk *walk,
                                    const char *label, const char *value, struct attn_error *err)
{
    const char *next = call->n_read < call->argc ? call->argv[call->n_read] : NULL;

    if (!value && (walk->param->traits & ATTN_PARAM_MAY_BE_ALONE)) {
        call->n_read += next && strcmp(next, "-") == 0;
        value = "-";
    }
    if (takes_value(walk->param) && !value) {
        const bool is_text = walk->param->type == ATTN_PARAM_TEXT;
        char hint[HINT_SIZE];
        /* number of bytes of NEXT that the message can show: the printable ones at its start */
        int n = 0;

        while (next && n < 32 && next[n] >= ' ' && next[n] <= '~')
            n++;
        if (next && is_option(call->command, next))
            snprintf(hint, sizeof hint,
                     is_text ? "'%.*s' is an option; as the value: '--%s=%.*s'"
                             : "'%.*s' is an option",
                     n, next, walk->name, n, next);
        if (!next || is_option(call->command, next))
            return refuse(err, next ? hint : NULL, "option '%s' needs a value: %s %s", label, label,
                          option_argument(walk->param));
        value = next;
        call->n_read++;
    }
    return option_take(call, walk, label, value, CALL_ORIGIN_COMMAND_LINE, err);
}

/* Turns the flag of WALK off, also against variables and the file of defaults. */
static void turn_off(struct call *call, const struct option_walk *walk)
{
    size_t n = 0;

    if (walk->param->home != ATTN_PARAM_OF_CALLER)
        *((bool *)home_of(call, walk) + walk->param->offset) = false;
    call->given[walk->n - 1] = NULL;
    call->sources[walk->n - 1].origin = CALL_ORIGIN_OFF;
    for (size_t i = 0; i < call->n_found; i++)
        if (call->found[i].n != walk->n)
            call->found[n++] = call->found[i];
    call->n_found = n;
}

static enum attn_status take_long(struct call *call, const char *argument, struct attn_error *err)
{
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    struct option_walk walk = {.command = call->command};
    const char *next = call->n_read < call->argc ? call->argv[call->n_read] : NULL;
    const char *value = equals ? equals + 1 : next && next[0] != '-' ? next : NULL;
    char label[64];

    if (!option_find(&walk, NULL, argument + 2, size - 2)) {
        walk = (struct option_walk){.command = call->command};
        if (strncmp(argument, "--no-", 5) != 0 || equals ||
            !option_find(&walk, NULL, argument + 5, size - 5) || takes_value(walk.param) ||
            option_is_help(walk.param))
            return refuse_unknown(call->command, argument, size, value, err);
        turn_off(call, &walk);
        return ATTN_OK;
    }
    snprintf(label, sizeof label, "--%s", walk.name);
    if (equals && !takes_value(walk.param))
        return refuse(err, NULL, "option '%s' takes no value", label);
    return take_option(call, &walk, label, equals ? equals + 1 : NULL, err);
}

/* Reads short options: "-t4", "-t" "4", "-qv", "-qt4". */
static enum attn_status take_letters(struct call *call, const char *letters, struct attn_error *err)
{
    for (size_t i = 0; letters[i]; i++) {
        char label[3] = {'-', letters[i], '\0'};
        struct option_walk walk = {.command = call->command};
        bool has_rest;

        if (!find_letter(&walk, letters[i]))
            return refuse_unknown(call->command, label, 2, NULL, err);
        has_rest = takes_value(walk.param) && letters[i + 1];
        ATTN_TRY(take_option(call, &walk, label, has_rest ? letters + i + 1 : NULL, err));
        if (has_rest || call->help != CALL_HELP_NONE)
            return ATTN_OK;
    }
    return ATTN_OK;
}

static enum attn_status take_plain(struct call *call, const char *argument, struct attn_error *err)
{
    char hint[HINT_SIZE];

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);)
        if (!walk.name && walk.param->name)
            return option_take(call, &walk, option_name(&walk), argument, CALL_ORIGIN_COMMAND_LINE,
                               err);
        else if (!walk.name)
            return attn_param_set(walk.param, home_of(call, &walk), NULL, argument, err);
    if (option_is_of(call->command, "clean"))
        snprintf(hint, sizeof hint, "two texts: --clean TEXT --corrupted TEXT --target TOKEN");
    else
        snprintf(hint, sizeof hint, "attn-cli %s %s", call->command->name, call->command->usage);
    return refuse(err, hint, "'%s' takes no argument '%s'", call->command->name, argument);
}

/* Notes that TEXT, a value of the option NAME or a plain argument, is the name of a file, and which
 * options read the file. */
static void note_name(const struct call *call, const char *name, const char *text)
{
    const bool is_main = !name || strcmp(name, "sentence") == 0;
    const bool has_items = is_main && option_is_of(call->command, "items");
    char way[HINT_SIZE] = "";

    if (!text || (!name && call->takes_file) || attn_os_kind(text) != ATTN_OS_FILE ||
        strncmp(text, "/dev/", 5) == 0 || text_ends_in(text, ".npz"))
        return;
    if (!is_main)
        snprintf(way, sizeof way, "; --%s file:PATH reads it", name);
    else if (option_is_of(call->command, "file"))
        snprintf(way, sizeof way, "; --file reads it");
    note("the text '%s' is the name of a file%s%s", attn_quote_string(text).text, way,
         has_items ? "; --items reads a file of items" : "");
}

/* Notes the texts that are names of files. */
static void note_names(const struct call *call)
{
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const struct attn_param *param = walk.param;
        struct attn_buffer text = {0};

        if (!walk.name && strcmp(param->argument, "TEXT") == 0)
            for (size_t i = 0; attn_param_write(param, home_of(call, &walk), i, &text); i++) {
                note_name(call, NULL, attn_buffer_string(&text));
                attn_buffer_release(&text);
            }
        else if (walk.name && !param->read &&
                 (param->type == ATTN_PARAM_INPUT || param->type == ATTN_PARAM_SIZED ||
                  (param->type == ATTN_PARAM_TEXT &&
                   word_find("sentence|pair|vocab-from", walk.name) >= 0)))
            note_name(call, walk.name, call->given[walk.n - 1]);
    }
}

static enum attn_status parse(struct call *call, struct attn_error *err)
{
    bool is_ended = false;

    while (call->n_read < call->argc && call->help == CALL_HELP_NONE) {
        const char *argument = call->argv[call->n_read++];

        if (is_ended || argument[0] != '-' || !argument[1])
            ATTN_TRY(take_plain(call, argument, err));
        else if (strcmp(argument, "--") == 0)
            is_ended = true;
        else if (argument[1] == '-')
            ATTN_TRY(take_long(call, argument, err));
        else
            ATTN_TRY(take_letters(call, argument + 1, err));
    }
    if (call->help != CALL_HELP_NONE)
        return ATTN_OK;
    ATTN_TRY(defaults_take(call, err));
    return options_set_late(call, err);
}

enum attn_status options_parse(struct call *call, struct attn_error *err)
{
    do
        ATTN_TRY(parse(call, err));
    while (call->help == CALL_HELP_NONE && defaults_pass_over(call));
    if (call->help == CALL_HELP_NONE && option_text(call, "quiet"))
        note_silence();
    else if (call->help == CALL_HELP_NONE)
        note_names(call);
    return ATTN_OK;
}

void options_set_defaults(const struct command *command, char *args)
{
    const struct attn_question *question = command->question;

    memset(args, 0, command->args_size);
    if (command->defaults)
        memcpy(args, command->defaults, command->args_size);
    if (question && question->args_size > 0)
        memcpy(args + command->args_size, question->defaults, question->args_size);
}

enum attn_status options_open(struct call *call, struct attn_error *err)
{
    const struct command *command = call->command;
    const struct attn_question *question = command->question;
    const size_t n = options_count(command);

    call->args = calloc(1, command->args_size + (question ? question->args_size : 0));
    call->given = calloc(n, sizeof *call->given);
    call->sources = calloc(n, sizeof *call->sources);
    if (!call->args || !call->given || !call->sources)
        return attn_error_no_memory(err);
    if (question)
        call->how = (char *)call->args + command->args_size;
    options_set_defaults(command, call->args);
    return ATTN_OK;
}

/* Frees the lists that the parsing made. */
static void release(struct call *call)
{
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);)
        attn_param_release(walk.param, home_of(call, &walk));
    for (size_t i = 0; i < call->n_kept; i++)
        free(call->kept[i]);
    free(call->kept);
    free(call->found);
    attn_buffer_release(&call->key);
    call->kept = NULL;
    call->n_kept = 0;
    call->found = NULL;
    call->n_found = 0;
}

void options_reset(struct call *call)
{
    const size_t n = options_count(call->command);

    release(call);
    options_set_defaults(call->command, call->args);
    memset(call->given, 0, n * sizeof *call->given);
    for (size_t i = 0; i < n; i++)
        if (call->sources[i].origin != CALL_ORIGIN_OFF)
            call->sources[i] = (struct call_source){0};
    call->n_read = 0;
}

void options_close(struct call *call)
{
    if (call->args && call->given && call->sources)
        release(call);
    free(call->args);
    free(call->given);
    free(call->sources);
}
