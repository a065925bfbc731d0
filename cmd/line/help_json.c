/* help_json.c - see help_json.h. Tables are those of questions: each question is asked for the
 * columns of its answer, with its defaults and with each of its arguments alone. */
#include "cmd/line/help_json.h"

#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 1024, MOST_TABLES = 32 };

/* Begins an object on a line of its own, whose first key NAME has the text VALUE. */
static void begin_object(struct attn_json_writer *json, const char *name, const char *value)
{
    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_text(attn_json_key(json, name), value);
}

/* --- Options ---------------------------------------------------------------------------------- */

/* Types of options by the types of parameters; others are "spec": a text of the form `syntax`. */
static const char *const param_types[] = {
    [ATTN_PARAM_FLAG] = "flag",   [ATTN_PARAM_COUNT] = "int",     [ATTN_PARAM_SEED] = "int",
    [ATTN_PARAM_REAL] = "number", [ATTN_PARAM_CHOICE] = "choice", [ATTN_PARAM_SWITCH] = "choice",
    [ATTN_PARAM_TEXT] = "text",   [ATTN_PARAM_LIST] = "list",     [ATTN_PARAM_ID] = "int",
    [ATTN_PARAM_TEXTS] = "text",  [ATTN_PARAM_INPUT] = "text",    [ATTN_PARAM_IMAGE] = "path",
    [ATTN_PARAM_IMAGES] = "path", [ATTN_PARAM_SIZED] = "text",    [ATTN_PARAM_IDS] = "ids",
    [ATTN_PARAM_ID_LISTS] = "ids"};

static const char *type_of(const struct attn_param *param)
{
    const size_t n = sizeof param_types / sizeof *param_types;
    const char *type = (size_t)param->type < n ? param_types[param->type] : NULL;
    const char *form = option_argument(param);
    const bool is_plain = !form || form[strcspn(form, "[:=@|*")] == '\0';

    if (type && strcmp(type, "text") == 0 && form && is_plain &&
        (strncmp(form, "FILE", 4) == 0 || word_find("DIR|PATH", form) >= 0))
        return "path";
    if (type && strcmp(type, "text") == 0 && form && word_find("LIST|SITE", form) >= 0)
        return "spec"; /* names, which the library reads */
    return type && (is_plain || strcmp(type, "text") != 0) ? type : "spec";
}

/* Writes what a MINOR version may do to an option, a table, a column or a command. */
static void push_stability(struct attn_json_writer *json, bool is_preview)
{
    attn_json_text(attn_json_key(json, "stability"), is_preview ? "preview" : "stable");
}

/* Whether a MINOR version may change COMMAND, its tables and their columns. */
static bool is_new(const struct command *command)
{
    return strstr(command_summary(command), "(preview)");
}

static void push_words(struct attn_json_writer *json, const char *words)
{
    attn_json_begin(json, '[');
    for (size_t n; words && *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        attn_json_string(json, words, n);
    }
    attn_json_end(json);
}

/* Writes the word of PARAM that has VALUE; if none of its values is VALUE, the first, which changes
 * nothing; null if it has no values. */
static void push_choice(struct attn_json_writer *json, const struct attn_param *param, int value)
{
    const char *words = param->words;
    size_t i = 0;

    for (; words && (param->values ? param->values[i] : (int)i) != value; i++)
        words = strchr(words, '|') ? strchr(words, '|') + 1 : NULL;
    if (!words && param->values)
        words = param->words;
    attn_json_string(json, words, words ? strcspn(words, "|") : 0);
}

/* Writes the default of PARAM, whose field is at AT. A number that cannot be given means that the
 * default depends on something else, which the help says: null. */
static void push_field(struct attn_json_writer *json, const struct attn_param *param,
                       const char *at)
{
    const double real = param->type == ATTN_PARAM_REAL ? *(const double *)(const void *)at : 0;
    const size_t count = param->type == ATTN_PARAM_COUNT ? *(const size_t *)(const void *)at : 0;
    const uint64_t seed = param->type == ATTN_PARAM_SEED ? *(const uint64_t *)(const void *)at : 0;
    const double least = (double)param->least;
    const bool is_real = (param->traits & ATTN_PARAM_IS_OPEN ? real > least : real >= least) &&
                         (param->most == 0 || real <= (double)param->most);

    if (param->type == ATTN_PARAM_FLAG)
        attn_json_bool(json, *(const bool *)at);
    else if (param->type == ATTN_PARAM_COUNT && count > 0 && count <= INT32_MAX)
        attn_json_size(json, count);
    else if (param->type == ATTN_PARAM_SEED && seed <= INT64_MAX)
        attn_json_size(json, seed);
    else if (param->type == ATTN_PARAM_REAL && is_real)
        attn_json_double(json, real);
    else if (param->type == ATTN_PARAM_CHOICE)
        push_choice(json, param, *(const int *)(const void *)at);
    else if (param->type == ATTN_PARAM_SWITCH)
        push_choice(json, param, *(const bool *)at);
    else if (param->type == ATTN_PARAM_TEXT || param->type == ATTN_PARAM_LIST)
        attn_json_text(json, *(const char *const *)(const void *)at);
    else
        attn_json_null(json);
}

/* Writes the default of PARAM, whose struct is at HOME. A field of the caller's has no default. */
static void push_param(struct attn_json_writer *json, const struct attn_param *param,
                       const char *home)
{
    if (param->home != ATTN_PARAM_OF_CALLER)
        push_field(json, param, home + param->offset);
    else if (param->type == ATTN_PARAM_FLAG)
        attn_json_bool(json, false);
    else
        attn_json_null(json);
}

/* Writes the options of COMMAND that the parameters of NAMES set. */
static void push_names(struct attn_json_writer *json, const struct command *command,
                       const char *names)
{
    char label[OPTION_LABEL_SIZE];

    for (struct option_walk walk = {.command = command}; names && option_next(&walk);)
        if (walk.name && word_find(names, walk.param->name) >= 0)
            attn_json_text(json, option_label(&walk, label));
}

/* Writes what PARAM needs, or excludes, whatever else is given. */
static void push_rules(struct attn_json_writer *json, const struct command *command,
                       const struct attn_param *param, bool is_needed)
{
    const struct attn_param_rules none = {0};
    const struct attn_param_rules *rules = command->question ? &command->question->rules : &none;

    attn_json_begin(attn_json_key(json, is_needed ? "requires" : "excludes"), '[');
    for (size_t i = 0; i < rules->n; i++) {
        const struct attn_param_rule *rule = &rules->items[i];

        if (!rule->when && !rule->unless && word_find(rule->given, param->name) >= 0)
            push_names(json, command, is_needed ? rule->needs : rule->excludes);
    }
    attn_json_end(json);
}

static void push_option(struct attn_json_writer *json, const struct option_walk *walk,
                        const char *args)
{
    const struct attn_param *param = walk->param;
    const bool is_choice = option_is_choice(param);
    const char *type = type_of(param);
    char label[OPTION_LABEL_SIZE], help[TEXT_SIZE];
    const char short_name[] = {'-', param->letter, '\0'};
    char forms[OPTION_FORMS_SIZE];

    begin_object(json, "name", option_label(walk, label));
    attn_json_text(attn_json_key(json, "short"), param->letter ? short_name : NULL);
    attn_json_text(attn_json_key(json, "group"), walk->heading);
    attn_json_text(attn_json_key(json, "type"), type);
    if (strcmp(type, "spec") == 0)
        attn_json_text(attn_json_key(json, "syntax"), param->argument);
    attn_json_text(attn_json_key(json, "metavar"), is_choice ? NULL : param->argument);
    attn_json_key(json, "values");
    if (is_choice)
        push_words(json, param->words);
    else
        attn_json_null(json);
    attn_json_key(json, "forms");
    push_words(json, option_write_forms(walk, "|", forms) ? forms : NULL);
    attn_json_begin(attn_json_key(json, "aliases"), '[');
    for (const char *name = param->aliases; name && *name; name += *name == '|') {
        snprintf(help, sizeof help, "--%.*s", (int)strcspn(name, "|"), name);
        attn_json_text(json, help);
        name += strcspn(name, "|");
    }
    attn_json_end(json);
    option_help(walk, true, help, sizeof help);
    push_param(attn_json_key(json, "default"), param, args + walk->offset);
    attn_json_bool(attn_json_key(json, "repeats"),
                   option_is_list(param) || param->type == ATTN_PARAM_SETTINGS);
    push_rules(json, walk->command, param, true);
    push_rules(json, walk->command, param, false);
    push_stability(json, strstr(help, "(preview)"));
    attn_json_text(attn_json_key(json, "help"), help);
    attn_json_end(json);
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* Meanings of the columns that name a row, also of those without a role that have one of NAMES. */
static const struct {
    const char *help, *names;
} roles[] = {
    [ATTN_ROLE_LAYER] = {.help = "layer, from 0"},
    [ATTN_ROLE_HEAD] = {.help = "head, from 0"},
    [ATTN_ROLE_KV_HEAD] = {.help = "key/value head, from 0"},
    [ATTN_ROLE_NEURON] = {.help = "neuron of the MLP, from 0"},
    [ATTN_ROLE_POSITION] = {"position of the token, from 0", "position"},
    [ATTN_ROLE_QUERY] = {"position of the query, from 0", "query"},
    [ATTN_ROLE_KEY] = {"position of the key, from 0", "key"},
    [ATTN_ROLE_PLACE] = {.help = "place in a ranking, from 1"},
    [ATTN_ROLE_TOKEN] = {"text of the token", "token|query_token|key_token"},
    [ATTN_ROLE_ID] = {"id of the token in the vocabulary", "id"},
    [ATTN_ROLE_SITE] = {.help = "tensor, as 'attn-cli help selection' lists them"},
    [ATTN_ROLE_PART] = {.help = "part of the model, or a total"},
    [ATTN_ROLE_SET] = {.help = "set of parts"},
    [ATTN_ROLE_NUMBER] = {.help = "number of the head, counted over all layers"},
    [ATTN_ROLE_OTHER_LAYER] = {.help = "layer of the other part, from 0"},
    [ATTN_ROLE_OTHER_HEAD] = {.help = "head of the other part, from 0"},
    [ATTN_ROLE_OTHER_NUMBER] = {.help = "number of the other head, counted over all layers"},
    [ATTN_ROLE_COUNT] = {.help = "number of items or texts in the row"},
    [ATTN_ROLE_TOTAL] = {.help = "sum of the columns before it"},
    [ATTN_ROLE_STACK] = {.help = "stack of the layer: encoder, decoder or cross"},
    [ATTN_ROLE_ROW_TYPE] =
        {.help = "data, reference, total or difference; only data belong into a mean"},
    [ATTN_ROLE_OTHER_PART] = {.help = "part of the second side"},
    [ATTN_ROLE_PICTURE_ROW] = {"row of the cell or tile of the picture, from 0", "row"},
    [ATTN_ROLE_PICTURE_COLUMN] = {"column of the cell or tile of the picture, from 0", "column"},
    [ATTN_ROLE_WRITER] = {"part that writes: input, head 2.5, MLP 2.mlp", "from"},
    [ATTN_ROLE_READER] = {"part that reads: 3.1.q, 3.0.k, 3.0.v, 3.mlp or logits", "to"},
};

/* Returns the help of COLUMN: its own, that of its role or of its name, or its quantity. */
static const char *column_help(const struct attn_column *column)
{
    for (size_t i = 1; !column->help && i < sizeof roles / sizeof *roles; i++)
        if (column->role == i || (column->role == ATTN_ROLE_VALUE && roles[i].names &&
                                  word_find(roles[i].names, column->name) >= 0))
            return roles[i].help;
    return column->help ? column->help : column->quantity;
}

/* Whether a MINOR version may change the column NAME of TABLE. */
static bool is_preview(const char *table, const char *name)
{
    static const char *const columns[][2] = {
        {"circuit", "own|position|token|type|key|looks_at|weight"},
        {"heads", "type|most|share|bottom_row|kept|selected"},
        {"probe", "type|most|share"}};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i][0], table) == 0 && word_find(columns[i][1], name) >= 0)
            return true;
    return word_find("heads|probe", table) >= 0 && strncmp(name, "rest_", strlen("rest_")) == 0;
}

static void push_column(struct attn_json_writer *json, const struct command *command,
                        const char *table, const struct attn_column *column)
{
    static const char *const types[] = {
        [ATTN_VALUE_INTEGER] = "integer", [ATTN_VALUE_REAL] = "number",
        [ATTN_VALUE_TEXT] = "string",     [ATTN_VALUE_BOOLEAN] = "boolean",
        [ATTN_VALUE_LIST] = "integers",   [ATTN_VALUE_REALS] = "numbers"};
    char shown[TEXT_SIZE] = "", help[TEXT_SIZE];
    const char *text = column_help(column);
    const bool is_always = column->role == ATTN_ROLE_ROW_TYPE || column->role == ATTN_ROLE_COUNT;

    for (size_t used = 0; text && *text; text++) /* @ stands for the number that was asked for */
        attn_fixed_text_append(shown, sizeof shown, &used,
                               *text == *ATTN_ANSWER ? "%.0sthe answer" : "%.1s", text);
    field_names_show(shown, help, sizeof help);
    begin_object(json, "name", column->name);
    attn_json_text(attn_json_key(json, "type"), types[column->type]);
    attn_json_text(attn_json_key(json, "unit"), column->unit);
    attn_json_text(attn_json_key(json, "null"), is_always ? NULL
                                                : column->role == ATTN_ROLE_VALUE
                                                    ? "not defined for this row"
                                                    : "the row is a mean, a reference or a total");
    push_stability(json, is_new(command) || is_preview(table, column->name));
    attn_json_text(attn_json_key(json, "help"), help[0] ? help : NULL);
    attn_json_end(json);
}

/* The tables of a command that were written, by their columns. */
struct shown_tables {
    const struct command *command;
    bool has_names_only;
    const struct attn_column *columns[MOST_TABLES];
    size_t n;
};

/* The table NAME. WHEN is the option that gives it, and WORDS its values, "dla|ig"; or NULL. */
struct shown_table {
    const char *name, *when, *words;
    const struct attn_column *columns; /* [n] */
    size_t n;
    bool has_row_types; /* one more column */
};

/* Writes TABLE, or its name. */
static void push_columns(struct attn_json_writer *json, const struct shown_tables *shown,
                         const struct shown_table *table)
{
    static const struct attn_column row_type = ATTN_COLUMN_ROW_TYPE;
    const char *lacks = shown->command->lacks_columns, *when = table->when;
    const char *end = when ? strrchr(table->name, '.') : NULL;
    /* if the option ends the name, all its words give this table */
    const char *words = end && strcmp(end + 1, when) == 0 ? NULL : table->words;
    char option[TEXT_SIZE];

    if (shown->has_names_only) {
        attn_json_text(json, table->name);
        return;
    }
    begin_object(json, "name", table->name);
    snprintf(option, sizeof option, "--%s%s%s", when ? when : "", words ? " " : "",
             words ? words : "");
    attn_json_text(attn_json_key(json, "when"), when ? option : NULL);
    attn_json_begin(attn_json_key(json, "columns"), '[');
    for (size_t i = 0; i < table->n; i++)
        if (!lacks || word_find(lacks, table->columns[i].name) < 0)
            push_column(json, shown->command, table->name, &table->columns[i]);
    if (table->has_row_types)
        push_column(json, shown->command, table->name, &row_type);
    attn_json_end(json);
    push_stability(json, is_new(shown->command));
    attn_json_end(json);
}

/* Returns the table that the question gives for ARGS. */
static struct shown_table find_table(const struct shown_tables *shown, const void *args,
                                     const char *when)
{
    const struct attn_question_call asked = {.question = shown->command->question->name,
                                             .args = args};
    struct shown_table table = {.when = when};

    table.columns = attn_question_schema(&asked, &table.name, &table.n);
    if (!when)
        table.name = shown->command->name; /* `probe` asks `heads` */
    return table;
}

/* Writes TABLE, unless another way to ask gave it. */
static void push_table(struct attn_json_writer *json, struct shown_tables *shown,
                       const struct shown_table *table)
{
    size_t i = 0;

    while (i < shown->n && shown->columns[i] != table->columns)
        i++;
    if (table->n == 0 || i < shown->n || shown->n == MOST_TABLES)
        return;
    shown->columns[shown->n++] = table->columns;
    push_columns(json, shown, table);
}

/* Writes the tables that OPTION gives, set alone in ARGS, which have the defaults: each once, with
 * all words of the option that give it. */
static void push_tables_of(struct attn_json_writer *json, struct shown_tables *shown,
                           const struct option_walk *option, char *args)
{
    const struct command *command = shown->command;
    const struct attn_param *param = option->param;
    char *how = args + command->args_size, word[64], words[MOST_TABLES][TEXT_SIZE];
    const char *all = param->words ? param->words : "1";
    struct shown_table tables[MOST_TABLES];
    size_t n_table = 0, i, used[MOST_TABLES] = {0};

    if (param->home != ATTN_PARAM_OF_ARGS || param->type == ATTN_PARAM_OWN ||
        option->offset < command->args_size)
        return;
    for (size_t n; *all && n_table < MOST_TABLES; all += n + (all[n] == '|')) {
        n = strcspn(all, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, all);
        memcpy(how, command->question->defaults, command->question->args_size);
        if (attn_param_set(param, args + option->offset, param->name, word, NULL) == ATTN_OK) {
            tables[n_table] = find_table(shown, how, option->name);
            for (i = 0; tables[i].columns != tables[n_table].columns;)
                i++;
            n_table += i == n_table;
            attn_fixed_text_append(words[i], sizeof words[i], &used[i], "%s%s",
                                   used[i] > 0 ? "|" : "", word);
            tables[i].words = param->words ? words[i] : NULL;
        }
        attn_param_release(param, args + option->offset);
    }
    for (i = 0; i < n_table; i++)
        push_table(json, shown, &tables[i]);
}

/* Writes the tables of COMMAND's question, or their names. ARGS has the defaults; it is changed. */
static void push_tables(struct attn_json_writer *json, const struct command *command, char *args,
                        bool has_names_only)
{
    static const char given;
    struct shown_tables shown = {.command = command, .has_names_only = has_names_only};
    const struct attn_question *question = command->question;
    char *how = args + command->args_size;
    struct command_table own = {.table = NULL};
    struct shown_table table;

    for (size_t i = 0;
         command->tabulate && command->tabulate(i, &own, NULL) == ATTN_OK && own.table; i++) {
        push_columns(json, &shown,
                     &(struct shown_table){attn_table_name(own.table), own.when, NULL,
                                           attn_table_column(own.table, 0),
                                           attn_table_n_column(own.table), own.has_row_types});
        attn_table_free(own.table);
        own = (struct command_table){.table = NULL};
    }
    if (!question || question->args_size == 0)
        return;
    table = find_table(&shown, how, NULL);
    push_table(json, &shown, &table);
    if (question->study > 0) {
        *(const void **)(void *)(how + question->study) = &given;
        table = find_table(&shown, how, "items");
        push_table(json, &shown, &table);
    }
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        push_tables_of(json, &shown, &walk, args);
}

/* --- Commands --------------------------------------------------------------------------------- */

/* Allocates the arguments of COMMAND with their defaults. */
static char *create_args(const struct command *command)
{
    const struct attn_question *question = command->question;
    char *args = calloc(1, command->args_size + (question ? question->args_size : 0) + 1);

    if (args)
        options_set_defaults(command, args);
    return args;
}

static void push_arguments(struct attn_json_writer *json, const struct command *command)
{
    const bool has_other = option_is_of(command, "file") || option_is_of(command, "ids");

    attn_json_begin(attn_json_key(json, "arguments"), '[');
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const char *name = walk.param->argument, *at;
        char twice[TEXT_SIZE];

        if (walk.name || !name)
            continue;
        at = strstr(command->usage, name);
        snprintf(twice, sizeof twice, "%s [%s]", name, name);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), name);
        attn_json_bool(attn_json_key(json, "required"),
                       at && (at == command->usage || at[-1] != '[') && !has_other);
        attn_json_bool(attn_json_key(json, "repeats"), strstr(command->usage, twice));
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the formats that COMMAND writes, and the kinds of input that it reads. */
static void push_media(struct attn_json_writer *json, const struct command *command)
{
    static const char *const inputs[][2] = {
        {"text", "file"},   {"ids", "ids"},           {"items", "items"}, {"source", "source"},
        {"image", "image"}, {"sound", "source-file"}, {"arrays", "q"}};

    attn_json_begin(attn_json_key(json, "media"), '[');
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.name && !walk.param->of && attn_format_find(walk.name))
            attn_json_text(json, walk.name);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "reads"), '[');
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (option_is_of(command, inputs[i][1]))
            attn_json_text(json, inputs[i][0]);
    attn_json_end(json);
}

/* Writes the lines of TEXT, without blanks around them. An example that ends in a backslash
 * continues. */
static void push_lines(struct attn_json_writer *json, const char *text)
{
    attn_json_begin(json, '[');
    for (const char *end; text && *text; text = *end ? end + 1 : end) {
        text += strspn(text, " ");
        end = text + strcspn(text, "\n");
        while (end > text && end[-1] == '\\' && *end)
            end += 1 + strcspn(end + 1, "\n");
        attn_json_string(json, text, (size_t)(end - text));
    }
    attn_json_end(json);
}

static enum attn_status push_command(struct attn_json_writer *json, const struct command *command,
                                     struct attn_error *err)
{
    char *args = create_args(command), usage[TEXT_SIZE];

    if (!args)
        return attn_error_no_memory(err);
    snprintf(usage, sizeof usage, "attn-cli %s %s", command->name, command->usage);
    begin_object(json, "name", command->name);
    attn_json_text(attn_json_key(json, "summary"), command_summary(command));
    attn_json_text(attn_json_key(json, "usage"), usage);
    push_arguments(json, command);
    attn_json_begin(attn_json_key(json, "options"), '[');
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.name && !walk.param->prefix)
            push_option(json, &walk, args);
    attn_json_end(json);
    push_media(json, command);
    attn_json_begin(attn_json_key(json, "tables"), '[');
    push_tables(json, command, args, true);
    attn_json_end(json);
    push_lines(attn_json_key(json, "examples"), command_example_lines(command));
    attn_json_text(attn_json_key(json, "description"), command_description(command));
    push_stability(json, is_new(command));
    attn_json_end(json);
    free(args);
    return ATTN_OK;
}

static enum attn_status push_commands(struct attn_json_writer *json, const struct command *only,
                                      struct attn_error *err)
{
    attn_json_begin(attn_json_key(json, "commands"), '[');
    for (size_t i = 0; command_at(i); i++)
        if (!only || only == command_at(i))
            ATTN_TRY(push_command(json, command_at(i), err));
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "tables"), '[');
    for (size_t i = 0; command_at(i); i++) {
        char *args = !only || only == command_at(i) ? create_args(command_at(i)) : NULL;

        if (args)
            push_tables(json, command_at(i), args, false);
        free(args);
    }
    attn_json_end(json);
    return ATTN_OK;
}

/* --- The program ------------------------------------------------------------------------------ */

static void push_row(struct attn_json_writer *json, const struct topic_row *row)
{
    begin_object(json, "name", row->name);
    attn_json_text(attn_json_key(json, "help"), row->text);
    attn_json_end(json);
}

static void push_topic(struct attn_json_writer *json, const struct topic *topic, bool is_whole)
{
    struct topic_row row;

    begin_object(json, "name", topic->name);
    attn_json_text(attn_json_key(json, "summary"), topic->summary);
    if (is_whole) {
        attn_json_text(attn_json_key(json, "text"), topic->text);
        attn_json_begin(attn_json_key(json, "rows"), '[');
        for (size_t i = 0; topic_row(topic, i, &row); i++)
            push_row(json, &row);
        attn_json_end(json);
        push_lines(attn_json_key(json, "examples"), topic->examples);
    }
    attn_json_end(json);
}

static void push_topics(struct attn_json_writer *json, const struct topic *only)
{
    attn_json_begin(attn_json_key(json, "topics"), '[');
    for (size_t i = 0; i < n_topic; i++)
        if (!only || only == &topics[i])
            push_topic(json, &topics[i], only);
    attn_json_end(json);
}

/* Writes the types of models that are read, and whether a model of a type is a decoder, or what
 * else. */
static void push_models(struct attn_json_writer *json)
{
    const struct attn_family *family;

    attn_json_begin(attn_json_key(json, "models"), '[');
    for (size_t i = 0; (family = attn_families[i]) != NULL; i++) {
        const struct attn_config *config = &family->form.defaults;

        begin_object(json, "type", family->model_type);
        attn_json_begin(attn_json_key(json, "kinds"), '[');
        attn_json_text(json, family->encoder                  ? "encoder-decoder"
                             : family->towers[0]              ? "text and pictures"
                             : config->image.patch_height > 0 ? "pictures"
                             : config->is_encoder             ? "encoder"
                                                              : "decoder");
        attn_json_end(json);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the names of sites, their shapes, and their names in archives for layer 0. */
static void push_sites(struct attn_json_writer *json)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    attn_json_begin(attn_json_key(json, "sites"), '[');
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];

        attn_site_archive_name(site, 0, name);
        begin_object(json, "name", attn_site_name(site));
        attn_json_text(attn_json_key(json, "shape"), attn_site_shape_text(site));
        attn_json_text(attn_json_key(json, "archive"), name);
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void push_code(struct attn_json_writer *json, int code, const char *meaning, bool may_retry)
{
    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_integer(attn_json_key(json, "code"), code);
    attn_json_text(attn_json_key(json, "meaning"), meaning);
    attn_json_bool(attn_json_key(json, "retry"), may_retry);
    attn_json_end(json);
}

static void push_exit_codes(struct attn_json_writer *json)
{
    attn_json_begin(attn_json_key(json, "exit_codes"), '[');
#define PUSH_CODE(name, number, text, may_retry) push_code(json, number, text, may_retry);
    EXIT_MAP(PUSH_CODE)
#undef PUSH_CODE
    attn_json_end(json);
}

static void push_environment(struct attn_json_writer *json)
{
    struct topic_row row;

    attn_json_begin(attn_json_key(json, "environment"), '[');
    for (size_t i = 0; help_variable(i, &row); i++)
        push_row(json, &row);
    attn_json_end(json);
}

enum attn_status help_json_print(struct attn_sink *out, const struct command *command,
                                 const struct topic *topic, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text, .indent = 1};
    enum attn_status status = ATTN_OK;

    attn_json_begin(&json, '{');
    attn_json_head(&json, ATTN_DOCUMENT_HELP);
    attn_json_text(attn_json_key(&json, "version"), ATTN_VERSION);
    if (!topic)
        status = push_commands(&json, command, err);
    if (!command)
        push_topics(&json, topic);
    if (!command && !topic) {
        push_models(&json);
        push_sites(&json);
        push_exit_codes(&json);
        push_environment(&json);
    }
    attn_json_end(&json);
    attn_buffer_append_char(&text, '\n');
    ATTN_THEN(status, print_buffer(out, &text, err));
    attn_buffer_release(&text);
    return status;
}
