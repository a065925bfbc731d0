/* options.c - parses a command line by the options of a command. The message of a mistake says what
 * was expected; for an unknown name the hint suggests a similar one. */
#include "cmd/line/options.h"

#include "cmd/line/field_names.h"
#include "cmd/line/former.h"
#include "cmd/line/help.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option help_rows[] = {
    OPTION_AT(HELP, "help", NULL, 0,
              "print this help; -h prints only examples and the names of the options",
              .letter = 'h'),
};

static const struct option_group help_options = OPTION_GROUP("Other", help_rows);

/* Returns the name of the option that sets PARAM, such as "merge-words". It is valid until the
 * process ends. */
static const char *name_of_param(const struct attn_param *param)
{
    enum { MOST = 64, SIZE = 32 };
    static struct {
        const char *name;
        char dashed[SIZE];
    } known[MOST];
    size_t i = 0;

    if (param->option || !strchr(param->name, '_'))
        return param->option ? param->option : param->name;
    while (i < MOST && known[i].name && strcmp(known[i].name, param->name) != 0)
        i++;
    assert(i < MOST && strlen(param->name) < SIZE);
    if (!known[i].name) {
        snprintf(known[i].dashed, SIZE, "%s", param->name);
        for (char *at = known[i].dashed; (at = strchr(at, '_'));)
            *at = '-';
        known[i].name = param->name;
    }
    return known[i].dashed;
}

static enum option_kind kind_of_param(const struct attn_param *param)
{
    switch (param->type) {
    case ATTN_PARAM_FLAG:
        return OPTION_KIND_FLAG;
    case ATTN_PARAM_CHOICE:
    case ATTN_PARAM_SWITCH:
        return OPTION_KIND_CHOICE;
    case ATTN_PARAM_TEXTS:
    case ATTN_PARAM_NAMED:
    case ATTN_PARAM_PLACES:
        return OPTION_KIND_LIST;
    default:
        return OPTION_KIND_TEXT;
    }
}

/* Sets *row to option I of LIST. Returns false if there are not so many. */
static bool find_param(const struct attn_param_list *list, size_t i, struct option *row)
{
    const struct attn_param *param = list->items;

    for (; param < list->items + list->n; param++) {
        if ((param->traits & ATTN_PARAM_NO_OPTION) || i-- > 0)
            continue;
        *row = (struct option){.name = name_of_param(param),
                               .letter = param->letter,
                               .argument = param->argument,
                               .help = param->help,
                               .media = param->media,
                               .kind = kind_of_param(param),
                               .param = param};
        if (row->kind == OPTION_KIND_CHOICE)
            row->argument = param->words;
        if (param->traits & ATTN_PARAM_SHAPES_TENSORS)
            row->traits |= OPTION_SHAPES_TENSORS;
        if (param->traits & ATTN_PARAM_SHAPES_GRADIENTS)
            row->traits |= OPTION_SHAPES_GRADIENTS;
        if (param->traits & ATTN_PARAM_NOT_COMPARED)
            row->traits |= OPTION_NOT_COMPARED;
        if (param->traits & ATTN_PARAM_IN_TOPIC)
            row->topic = topic_of_heading(list->heading);
        return true;
    }
    return false;
}

/* Sets *row to option I of GROUP. Returns false if there are not so many. */
static bool find_row(const struct option_group *group, size_t i, struct option *row)
{
    if (group->params)
        return find_param(group->params, i, row);
    if (group->make_row)
        return group->make_row(i, row);
    if (i < group->n)
        *row = group->rows[i];
    return i < group->n;
}

/* Returns the number of subgroups of GROUP in COMMAND; 1 if it has none. */
static size_t count_subs(const struct command *command, const struct option_group *group)
{
    const size_t n = group->is_of_question ? command->question->n_part : group->n_part;

    return n > 0 ? n : 1;
}

/* Returns subgroup I of PART of COMMAND, or the part's group if that has none. Sets *offset to the
 * offset of its struct. */
static struct option_group find_sub(const struct command *command, const struct option_part *part,
                                    size_t i, size_t *offset)
{
    const struct option_group *group = part->group;

    *offset = part->offset;
    if (group->is_of_question) {
        const struct attn_param_part *params = &command->question->parts[i];

        *offset = command->args_size + params->offset;
        return params->list->is_input == group->is_input
                   ? (struct option_group){.params = params->list}
                   : (struct option_group){.n = 0};
    }
    if (group->n_part > 0) {
        *offset += group->parts[i].offset;
        group = group->parts[i].group;
    }
    *offset += group->offset;
    return *group;
}

bool option_next(struct option_walk *walk)
{
    static const struct option_part last = {&help_options, 0};
    const struct command *command = walk->command;
    const char *lacks = command_lacks(command);
    struct option *option = &walk->option;

    while (walk->part <= command->n_part) {
        const struct option_part part =
            walk->part < command->n_part ? command->parts[walk->part] : last;
        size_t offset;
        const struct option_group sub = find_sub(command, &part, walk->sub, &offset);

        if (walk->row == 0 && (sub.heading || sub.params))
            walk->heading = sub.heading ? sub.heading : sub.params->heading;
        if (!find_row(&sub, walk->row++, option)) {
            walk->row = 0;
            walk->sub = (walk->sub + 1) % count_subs(command, part.group);
            walk->part += walk->sub == 0;
        } else if (option->kind == OPTION_KIND_HEADING) {
            walk->heading = option->heading;
        } else if (!option->name || !lacks || word_find(lacks, option->name) < 0) {
            option->heading = walk->heading;
            option->traits |= sub.traits;
            if (part.group->is_of_question && option->param->home == ATTN_PARAM_OF_REQUEST)
                option->offset = part.group->request;
            else
                option->offset += offset;
            walk->begins =
                option->name && (!walk->shown || strcmp(walk->shown, walk->heading) != 0);
            walk->shown = option->name ? walk->heading : walk->shown;
            walk->n++;
            return true;
        }
    }
    return false;
}

size_t options_count(const struct command *command)
{
    struct option_walk walk = {.command = command};

    while (option_next(&walk))
        continue;
    return walk.n;
}

/* Returns the address where the value of OPTION is stored. */
static void *place_of(const struct call *call, const struct option *option)
{
    return (char *)call->args + option->offset;
}

/* Returns true if OPTION sets the parameter NAME [size], such as "merge_words". */
static bool is_param(const struct option *option, const char *name, size_t size)
{
    const char *own = option->param ? option->param->name : option->name;

    if (!own || strlen(own) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (own[i] != name[i] && (own[i] != '-' || name[i] != '_'))
            return false;
    return true;
}

/* Returns true if VALUE is not the default of OPTION. */
static bool is_changed(const struct option *option, const char *value)
{
    const struct attn_param *param = option->param;

    if (param && param->type == ATTN_PARAM_METHOD && word_find(param->words, value) >= 0)
        return param->values[word_find(param->words, value)] != 0;
    return option->kind != OPTION_KIND_CHOICE || word_find(option->argument, value) > 0;
}

/* Returns true if VALUE, such as "resample:7" or "0.0", is WANTED, such as "resample" or "0". If
 * WANTED is NULL, any value is. */
static bool has_value(const char *value, const char *wanted)
{
    const size_t size = strcspn(value, ":");
    double number, other;

    return !wanted || (strlen(wanted) == size && memcmp(value, wanted, size) == 0) ||
           (attn_parse_double(value, size, &number) &&
            attn_parse_double(wanted, strlen(wanted), &other) && number == other);
}

bool option_is_param_given(void *user, const char *name)
{
    const struct call *call = user;
    const size_t size = strcspn(name, ":");

    for (size_t i = 0; i < call->n_found; i++) {
        const struct option *option = &call->found[i].option;
        const char *value = call->given[call->found[i].n - 1];

        if (is_param(option, name, size) && is_changed(option, value) &&
            has_value(value, name[size] ? name + size + 1 : NULL))
            return true;
    }
    return false;
}

const char *option_text(const struct call *call, const char *name)
{
    for (size_t i = 0; i < call->n_found; i++)
        if (strcmp(call->found[i].option.name, name) == 0)
            return call->given[call->found[i].n - 1];
    return NULL;
}

void option_help(const struct option *option, char *text, size_t size)
{
    /* this help comes from the library and names fields */
    if (option->param || option->kind == OPTION_KIND_NAMED)
        field_names_show(option->help, text, size);
    else
        snprintf(text, size, "%s", option->help);
}

static bool takes_value(const struct option *option)
{
    return option->kind != OPTION_KIND_FLAG && option->kind != OPTION_KIND_HELP;
}

/* Moves WALK to the option NAME [size]. Returns false if there is none. */
static bool find_name(struct option_walk *walk, const char *name, size_t size)
{
    while (option_next(walk)) {
        const char *other = walk->option.name;

        if (other && strlen(other) == size && memcmp(other, name, size) == 0)
            return true;
    }
    return false;
}

bool option_is_of(const struct command *command, const char *name)
{
    return find_name(&(struct option_walk){.command = command}, name, strlen(name));
}

static bool find_letter(struct option_walk *walk, char letter)
{
    while (option_next(walk))
        if (walk->option.letter == letter)
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

        if (!find_name(&walk, name, size) || n++ > 2)
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
    struct attn_typo typo = {.typed = typed + 2, .size = size - 2};
    char hint[HINT_SIZE], form[FORMER_HINT_SIZE];

    if (size > 2 && former_hint(command, typed + 2, size - 2, value, form))
        return refuse(err, form, "unknown option '%.*s'", (int)size, typed);
    if (size > 2 && find_others(typed + 2, size - 2, hint))
        return refuse(err, hint, "'%.*s' is no option of '%s'", (int)size, typed, command->name);
    for (struct option_walk walk = {.command = command}; size > 2 && option_next(&walk);)
        if (walk.option.name)
            attn_typo_try(&typo, walk.option.name);
    if (attn_typo_meant(&typo))
        snprintf(hint, sizeof hint, "did you mean '--%s'?", attn_typo_meant(&typo));
    else
        snprintf(hint, sizeof hint, "'attn-cli %s --help' lists the options", command->name);
    return refuse(err, hint, "unknown option '%.*s'", (int)size, typed);
}

static enum attn_status append(struct text_list *list, const char *value, struct attn_error *err)
{
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);

    if (!items)
        return attn_error_no_memory(err);
    list->items = items;
    list->items[list->n++] = value;
    return ATTN_OK;
}

static enum attn_status append_named(struct named_list *list, const char *name, const char *value,
                                     struct attn_error *err)
{
    struct attn_option *items = realloc(list->items, (list->n + 1) * sizeof *items);

    if (!items)
        return attn_error_no_memory(err);
    list->items = items;
    list->items[list->n++] = (struct attn_option){name, value};
    return ATTN_OK;
}

static enum attn_status store_real(const struct option *option, const char *label,
                                   const char *value, double *number, struct attn_error *err)
{
    const double most = (double)option->max;
    const bool is_bounded = option->max != 0;
    double found;

    if (attn_parse_double(value, strlen(value), &found) && found >= (double)option->min &&
        (!is_bounded || found < most)) {
        *number = found;
        return ATTN_OK;
    }
    if (!is_bounded)
        return refuse(err, NULL, "'%s' is '%s', expected a number from %lld", label, value,
                      (long long)option->min);
    return refuse(err, NULL, "'%s' is '%s', expected a number from %lld to less than %lld", label,
                  value, (long long)option->min, (long long)option->max);
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
        const char *name = call->found[i].option.name;
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
            word_find(except, walk.option.name) < 0)
            return walk.option.name;
    return NULL;
}

bool text_ends_in(const char *text, const char *ending)
{
    const size_t size = strlen(text), n = strlen(ending);

    return size >= n && strcmp(text + size - n, ending) == 0;
}

/* Refuses VALUE for an option that already has a value. */
static enum attn_status check_once(struct call *call, const struct option *option,
                                   const char *value, struct attn_error *err)
{
    if (!takes_value(option) || option->kind == OPTION_KIND_LIST)
        return ATTN_OK;
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *before = call->given[walk.n - 1], *name = walk.option.name;

        if (before && strcmp(name, option->name) == 0)
            return refuse(err, NULL, "'--%s' was given twice: '%s' and '%s'", name, before, value);
    }
    return ATTN_OK;
}

/* Returns true if PARAM must be parsed after the rest of the command line, in the order of the
 * help. It may set a field, such as a seed, that another option also sets. */
static bool is_late(const struct attn_param *param)
{
    return param->read || param->type == ATTN_PARAM_SEEDED || param->type == ATTN_PARAM_METHOD;
}

static enum attn_status set_late(const struct call *call, struct attn_error *err)
{
    enum attn_status status;
    bool takes_help;
    char label[64];

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        const char *value = call->given[walk.n - 1];

        if (!option->param || !value || !is_late(option->param))
            continue;
        takes_help = (option->param->traits & ATTN_PARAM_TAKES_HELP) != 0;
        if (takes_help && help_is_asked(value))
            continue; /* the command prints the list of values */
        snprintf(label, sizeof label, "--%s", option->name);
        status = attn_param_set(option->param, place_of(call, option), label, value, err);
        if (status == ATTN_INVALID && takes_help)
            attn_error_hint(err, "%s help shows them", label);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* Records that the option of WALK is given, with the text VALUE. */
static enum attn_status note_given(struct call *call, const struct option_walk *walk,
                                   const char *value, struct attn_error *err)
{
    struct option_walk *found;

    if (!call->given[walk->n - 1]) {
        found = realloc(call->found, (call->n_found + 1) * sizeof *found);
        if (!found)
            return attn_error_no_memory(err);
        found[call->n_found++] = *walk;
        call->found = found;
    }
    call->given[walk->n - 1] = value;
    return ATTN_OK;
}

/* Stores VALUE for the option of WALK. LABEL is the option as typed, such as "--load", or the name
 * of an environment variable. */
static enum attn_status store(struct call *call, const struct option_walk *walk, const char *label,
                              const char *value, struct attn_error *err)
{
    const struct option *option = &walk->option;
    void *place = place_of(call, option);

    ATTN_TRY(note_given(call, walk, takes_value(option) ? value : "true", err));
    if (option->param)
        return is_late(option->param) ? ATTN_OK
                                      : attn_param_set(option->param, place, label, value, err);
    switch (option->kind) {
    case OPTION_KIND_FLAG:
        *(bool *)place = true;
        return ATTN_OK;
    case OPTION_KIND_TEXT:
        *(const char **)place = value;
        return ATTN_OK;
    case OPTION_KIND_LIST:
        return append(place, value, err);
    case OPTION_KIND_NUMBER:
        if (attn_parse_int(value, strlen(value), option->min, option->max, place))
            return ATTN_OK;
        return refuse(err, NULL, "'%s' is '%s', expected a whole number %lld to %lld", label, value,
                      (long long)option->min, (long long)option->max);
    case OPTION_KIND_REAL:
        return store_real(option, label, value, place, err);
    case OPTION_KIND_CHOICE:
        *(int *)place = word_find(option->argument, value);
        if (*(int *)place >= 0)
            return ATTN_OK;
        refuse(err, NULL, "'%s' is '%s', expected %s", label, value, option->argument);
        return attn_param_hint_word(option->argument, NULL, value, strlen(value), err);
    case OPTION_KIND_NAMED:
        return append_named(place, option->name, value, err);
    case OPTION_KIND_HELP:
    case OPTION_KIND_HEADING:
        break;
    }
    call->help = strcmp(label, "-h") == 0 ? CALL_HELP_BRIEF : CALL_HELP_WHOLE;
    return ATTN_OK;
}

/* Returns true if ARGUMENT is a long option of COMMAND, such as "--limit" or "--limit=1". */
static bool is_option(const struct command *command, const char *argument)
{
    struct option_walk walk = {.command = command};

    return strncmp(argument, "--", 2) == 0 &&
           find_name(&walk, argument + 2, strcspn(argument + 2, "="));
}

/* In older versions OPTION's name may have been a flag (command.h, `older`). If the next argument
 * is not a value of OPTION, sets *flag to that flag and returns true. */
static bool find_older(const struct call *call, const struct option *option,
                       struct option_walk *flag)
{
    const char *next = call->n_read < call->argc ? call->argv[call->n_read] : "";
    const char *older = call->command->older;
    const size_t size = strlen(option->name);

    *flag = (struct option_walk){.command = call->command};
    return older && strncmp(older, option->name, size) == 0 && older[size] == '=' &&
           word_find(option->argument, next) < 0 &&
           find_name(flag, older + size + 1, strlen(older + size + 1));
}

/* Reads an option. VALUE is attached to it ("--limit=1"); if it is NULL, the value is the next
 * argument. If that is an option, the value was forgotten. */
static enum attn_status take_option(struct call *call, const struct option_walk *walk,
                                    const char *label, const char *value, struct attn_error *err)
{
    const struct option *option = &walk->option;
    struct option_walk flag;

    if (takes_value(option) && !value) {
        const char *next = call->n_read < call->argc ? call->argv[call->n_read] : NULL;
        char hint[HINT_SIZE];
        /* number of bytes of NEXT that the message can show: the printable ones at its start */
        int n = 0;

        if (find_older(call, option, &flag))
            return store(call, &flag, label, "", err);
        while (next && n < 32 && next[n] >= ' ' && next[n] <= '~')
            n++;
        if (next && is_option(call->command, next))
            snprintf(hint, sizeof hint, "'%.*s' is an option; as the value: '--%s=%.*s'", n, next,
                     option->name, n, next);
        if (!next || is_option(call->command, next))
            return refuse(err, next ? hint : NULL, "option '%s' needs a value: %s %s", label, label,
                          option->argument);
        value = next;
        call->n_read++;
    }
    ATTN_TRY(check_once(call, option, value, err));
    return store(call, walk, label, value, err);
}

static enum attn_status take_long(struct call *call, const char *argument, struct attn_error *err)
{
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    struct option_walk walk = {.command = call->command};
    const char *next = call->n_read < call->argc ? call->argv[call->n_read] : NULL;
    char label[64];

    if (!find_name(&walk, argument + 2, size - 2))
        return refuse_unknown(call->command, argument, size, equals ? equals + 1 : next, err);
    snprintf(label, sizeof label, "--%s", walk.option.name);
    if (equals && !takes_value(&walk.option))
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
        has_rest = takes_value(&walk.option) && letters[i + 1];
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
        if (!walk.option.name)
            return append(place_of(call, &walk.option), argument, err);
    snprintf(hint, sizeof hint, "attn-cli %s %s", call->command->name, call->command->usage);
    return refuse(err, hint, "'%s' takes no argument '%s'", call->command->name, argument);
}

enum attn_status options_parse(struct call *call, struct attn_error *err)
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
    /* options that were not given take their values from environment variables */
    for (struct option_walk walk = {.command = call->command};
         call->help == CALL_HELP_NONE && option_next(&walk);) {
        const char *variable = walk.option.environment;
        const char *value = variable ? getenv(variable) : NULL;

        if (value && value[0] && !call->given[walk.n - 1])
            ATTN_TRY(store(call, &walk, variable, value, err));
    }
    return call->help == CALL_HELP_NONE ? set_late(call, err) : ATTN_OK;
}

void options_release(struct call *call)
{
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        if (walk.option.param) {
            attn_param_release(walk.option.param, place_of(call, &walk.option));
        } else if (walk.option.kind == OPTION_KIND_LIST) {
            text_list_release(place_of(call, &walk.option));
        } else if (walk.option.kind == OPTION_KIND_NAMED) {
            struct named_list *list = place_of(call, &walk.option);

            free(list->items); /* shared by several options */
            *list = (struct named_list){0};
        }
    }
    free(call->found);
    call->found = NULL;
    call->n_found = 0;
}

const char *named_list_find(const struct named_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NULL;
}

void text_list_release(struct text_list *list)
{
    free(list->items);
    *list = (struct text_list){0};
}
