/*
 * options.c - reads a command line against a command's options. A mistake is reported with what was
 * expected, and for a name that does not exist with the one that was probably meant.
 */
#include "cmd/line/options.h"

#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option help_rows[] = {
    OPTION_AT(HELP, "help", NULL, 0,
              "print this help; -h prints only examples and the names of the options",
              .letter = 'h'),
};

static const struct option_group help_options = OPTION_GROUP("Other", help_rows);

/* Copies row I of GROUP; returns whether there is one. */
static bool find_row(const struct option_group *group, size_t i, struct option *row)
{
    if (group->make_row)
        return group->make_row(i, row);
    if (i < group->n)
        *row = group->rows[i];
    return i < group->n;
}

bool option_next(struct option_walk *walk)
{
    static const struct option_part last = {&help_options, 0};
    const struct command *command = walk->command;
    struct option *option = &walk->option;

    while (walk->part <= command->n_part) {
        const struct option_part part =
            walk->part < command->n_part ? command->parts[walk->part] : last;
        const bool is_large = part.group->n_part > 0;
        const struct option_part sub = is_large ? part.group->parts[walk->sub] : part;

        if (walk->row == 0)
            walk->heading = sub.group->heading;
        if (!find_row(sub.group, walk->row++, option)) {
            walk->row = 0;
            walk->sub = walk->sub + 1 < part.group->n_part ? walk->sub + 1 : 0;
            walk->part += walk->sub == 0;
        } else if (option->kind == OPTION_KIND_HEADING) {
            walk->heading = option->heading;
        } else {
            option->heading = walk->heading;
            option->offset += sub.offset + (is_large ? part.offset : 0);
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

/* The command line, and what is read of it. */
struct parser {
    const struct command *command;
    char *base; /* the command's struct of arguments */
    char **argv;
    int argc;
    int next;           /* index of the argument after the one being read */
    const char **given; /* [options_count] the text of each value, NULL where there is none */
};

static bool takes_value(const struct option *option)
{
    return option->kind != OPTION_KIND_FLAG && option->kind != OPTION_KIND_HELP;
}

/* Walks to the option of that NAME [size]; returns whether there is one. */
static bool find_name(struct option_walk *walk, const char *name, size_t size)
{
    while (option_next(walk)) {
        const char *other = walk->option.name;
        if (other && strlen(other) == size && memcmp(other, name, size) == 0)
            return true;
    }
    return false;
}

static bool find_letter(struct option_walk *walk, char letter)
{
    while (option_next(walk))
        if (walk->option.letter == letter)
            return true;
    return false;
}

enum { HINT_SIZE = 128 };

/* Writes which other commands have the option --NAME [size]; false when none has it. */
static bool find_others(const char *name, size_t size, char hint[HINT_SIZE])
{
    size_t used = 0, n = 0;
    for (size_t i = 0; i < n_command; i++) {
        struct option_walk walk = {.command = commands[i]};
        if (!find_name(&walk, name, size) || n++ > 2)
            continue;
        attn_fixed_text_append(hint, HINT_SIZE, &used, "%s'attn-cli %s'", used > 0 ? ", " : "",
                               commands[i]->name);
    }
    if (n > 0)
        attn_fixed_text_append(hint, HINT_SIZE, &used, "%s",
                               n == 1  ? " has it"
                               : n > 3 ? " and others have it"
                                       : " have it");
    return n > 0;
}

static int report_unknown(const struct command *command, const char *typed, size_t size)
{
    char hint[HINT_SIZE];
    if (size > 2 && find_others(typed + 2, size - 2, hint))
        return report_problem(EXIT_USAGE, hint, "'%.*s' is no option of '%s'", (int)size, typed,
                              command->name);
    struct typo typo = {.typed = typed + 2, .size = size - 2};
    for (struct option_walk walk = {.command = command}; size > 2 && option_next(&walk);)
        if (walk.option.name)
            typo_try(&typo, walk.option.name);
    if (typo_meant(&typo))
        snprintf(hint, sizeof(hint), "did you mean '--%s'?", typo_meant(&typo));
    else
        snprintf(hint, sizeof(hint), "'attn-cli %s --help' lists the options", command->name);
    return report_problem(EXIT_USAGE, hint, "unknown option '%.*s'", (int)size, typed);
}

static int append(struct text_list *list, const char *value)
{
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items)
        return report_no_memory();
    list->items = items;
    list->items[list->n++] = value;
    return OPTIONS_OK;
}

static int append_named(struct named_list *list, const char *name, const char *value)
{
    struct attn_option *items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items)
        return report_no_memory();
    list->items = items;
    list->items[list->n++] = (struct attn_option){name, value};
    return OPTIONS_OK;
}

static int store_number(const struct option *option, const char *label, const char *value,
                        int64_t *number)
{
    if (attn_parse_int(value, strlen(value), option->min, option->max, number))
        return OPTIONS_OK;
    return report_problem(EXIT_USAGE, NULL, "'%s' is '%s', expected a whole number %lld to %lld",
                          label, value, (long long)option->min, (long long)option->max);
}

static int store_real(const struct option *option, const char *label, const char *value,
                      double *number)
{
    double found;
    bool is_bounded = option->max != 0;
    if (attn_parse_double(value, strlen(value), &found) && found >= (double)option->min &&
        (!is_bounded || found < (double)option->max)) {
        *number = found;
        return OPTIONS_OK;
    }
    if (!is_bounded)
        return report_problem(EXIT_USAGE, NULL, "'%s' is '%s', expected a number from %lld", label,
                              value, (long long)option->min);
    return report_problem(EXIT_USAGE, NULL,
                          "'%s' is '%s', expected a number from %lld to less than %lld", label,
                          value, (long long)option->min, (long long)option->max);
}

static int store_choice(const struct option *option, const char *label, const char *value,
                        int *choice)
{
    const char *words = option->argument;
    size_t size = strlen(value);
    for (int i = 0;; i++) {
        size_t word = strcspn(words, "|");
        if (word == size && memcmp(words, value, size) == 0) {
            *choice = i;
            return OPTIONS_OK;
        }
        if (words[word] == '\0')
            return report_problem(EXIT_USAGE, NULL, "'%s' is '%s', expected %s", label, value,
                                  option->argument);
        words += word + 1;
    }
}

/* Refuses VALUE for an option that has one, perhaps by another name. */
static int check_once(const struct parser *parser, const struct option *option, const char *value)
{
    if (!takes_value(option) || option->kind == OPTION_KIND_LIST)
        return OPTIONS_OK;
    for (struct option_walk walk = {.command = parser->command}; option_next(&walk);) {
        const char *before = parser->given[walk.n - 1], *name = walk.option.name;
        bool has_same_place =
            option->kind != OPTION_KIND_NAMED && walk.option.offset == option->offset;
        if (before && strcmp(name, option->name) == 0)
            return report_problem(EXIT_USAGE, NULL, "'--%s' was given twice: '%s' and '%s'", name,
                                  before, value);
        if (before && has_same_place)
            return report_problem(
                EXIT_USAGE, NULL,
                "'--%s' and '--%s' are one option and were both given: '%s' and '%s'", name,
                option->name, before, value);
    }
    return OPTIONS_OK;
}

/* VALUE for the option that WALK is at. LABEL is what the user wrote, "--load" or the name of a
 * variable. */
static int store(const struct parser *parser, const struct option_walk *walk, const char *label,
                 const char *value)
{
    const struct option *option = &walk->option;
    void *place = parser->base + option->offset;
    parser->given[walk->n - 1] = takes_value(option) ? value : "true";
    switch (option->kind) {
    case OPTION_KIND_FLAG:
        *(bool *)place = true;
        return OPTIONS_OK;
    case OPTION_KIND_TEXT:
        *(const char **)place = value;
        return OPTIONS_OK;
    case OPTION_KIND_LIST:
        return append(place, value);
    case OPTION_KIND_NUMBER:
        return store_number(option, label, value, place);
    case OPTION_KIND_REAL:
        return store_real(option, label, value, place);
    case OPTION_KIND_CHOICE:
        return store_choice(option, label, value, place);
    case OPTION_KIND_NAMED:
        return append_named(place, option->name, value);
    case OPTION_KIND_HELP:
    case OPTION_KIND_HEADING:
        break;
    }
    return help_print(parser->command, strcmp(label, "-h") == 0);
}

/* VALUE is the one attached to the option, or NULL: then it is the next argument. */
static int take_option(struct parser *parser, const struct option_walk *walk, const char *label,
                       const char *value)
{
    const struct option *option = &walk->option;
    if (takes_value(option) && !value) {
        if (parser->next == parser->argc)
            return report_problem(EXIT_USAGE, NULL, "option '%s' needs a value: %s %s", label,
                                  label, option->argument);
        value = parser->argv[parser->next++];
    }
    int code = check_once(parser, option, value);
    if (code != OPTIONS_OK)
        return code;
    return store(parser, walk, label, value);
}

static int take_long(struct parser *parser, const char *argument)
{
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    struct option_walk walk = {.command = parser->command};
    if (!find_name(&walk, argument + 2, size - 2))
        return report_unknown(parser->command, argument, size);
    char label[64];
    snprintf(label, sizeof(label), "--%s", walk.option.name);
    if (equals && !takes_value(&walk.option))
        return report_problem(EXIT_USAGE, NULL, "option '%s' takes no value", label);
    return take_option(parser, &walk, label, equals ? equals + 1 : NULL);
}

/* "-t4", "-t" "4", "-qv", "-qt4". */
static int take_letters(struct parser *parser, const char *letters)
{
    for (size_t i = 0; letters[i]; i++) {
        char label[3] = {'-', letters[i], '\0'};
        struct option_walk walk = {.command = parser->command};
        if (!find_letter(&walk, letters[i]))
            return report_unknown(parser->command, label, 2);
        bool has_rest = takes_value(&walk.option) && letters[i + 1];
        int code = take_option(parser, &walk, label, has_rest ? letters + i + 1 : NULL);
        if (code != OPTIONS_OK || has_rest)
            return code;
    }
    return OPTIONS_OK;
}

static int take_plain(const struct parser *parser, const char *argument)
{
    for (struct option_walk walk = {.command = parser->command}; option_next(&walk);)
        if (!walk.option.name)
            return append((void *)(parser->base + walk.option.offset), argument);
    return report_problem(EXIT_USAGE, NULL, "'%s' takes no argument '%s'", parser->command->name,
                          argument);
}

/* Variables that stand for options that were not given. */
static int take_environment(const struct parser *parser)
{
    for (struct option_walk walk = {.command = parser->command}; option_next(&walk);) {
        const char *variable = walk.option.environment;
        const char *value = variable ? getenv(variable) : NULL;
        if (!value || !value[0] || parser->given[walk.n - 1])
            continue;
        int code = store(parser, &walk, variable, value);
        if (code != OPTIONS_OK)
            return code;
    }
    return OPTIONS_OK;
}

int options_parse(const struct command *command, int argc, char **argv, void *args)
{
    const char **given = calloc(options_count(command) + 1, sizeof *given); /* never 0 */
    int code = given ? options_parse_noting(command, argc, argv, args, given) : report_no_memory();
    free(given);
    return code;
}

int options_parse_noting(const struct command *command, int argc, char **argv, void *args,
                         const char **given)
{
    struct parser parser = {
        .command = command, .base = args, .argv = argv, .argc = argc, .given = given};
    int code = OPTIONS_OK;
    bool is_ended = false;
    while (code == OPTIONS_OK && parser.next < argc) {
        const char *argument = argv[parser.next++];
        if (is_ended || argument[0] != '-' || !argument[1])
            code = take_plain(&parser, argument);
        else if (strcmp(argument, "--") == 0)
            is_ended = true;
        else if (argument[1] == '-')
            code = take_long(&parser, argument);
        else
            code = take_letters(&parser, argument + 1);
    }
    return code == OPTIONS_OK ? take_environment(&parser) : code;
}

const char *named_list_find(const struct named_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NULL;
}

void named_list_release(struct named_list *list)
{
    free(list->items);
    *list = (struct named_list){0};
}

void text_list_release(struct text_list *list)
{
    free(list->items);
    *list = (struct text_list){0};
}

void typo_try(struct typo *typo, const char *name)
{
    struct attn_letters typed, known;
    if (!attn_letters_read(typo->typed, typo->size, &typed) ||
        !attn_letters_read(name, strlen(name), &known))
        return;
    size_t distance = attn_edit_distance(&typed, &known);
    if (typo->nearest && distance >= typo->distance)
        return;
    typo->nearest = name;
    typo->distance = distance;
}

const char *typo_meant(const struct typo *typo)
{
    size_t most = typo->size > 5 ? 2 : 1;
    return typo->nearest && typo->distance <= most ? typo->nearest : NULL;
}
