/* command.c - the table of commands. */
#include "cmd/line/command.h"

#include "cmd/line/field_names.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "parts.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define QUESTION_NUMBER(name) AT_##name,
enum { ATTN_QUESTION_MAP(QUESTION_NUMBER) N_QUESTION };
#undef QUESTION_NUMBER

extern const struct command command_run, command_generate, command_score, command_diff,
    command_heads, command_probe, command_sinks, command_lens, command_align, command_examples,
    command_ablate, command_patch, command_circuit, command_attribute, command_models,
    command_inspect, command_tokenize, command_attend, command_init, command_batch,
    command_completion, command_help;

const char *const command_groups[] = {"look", "measure", "cause", "files and models", NULL};

/* The commands in the order of the help; cmd/<name>.c defines command_<name>. A question without a
 * file of its own and without a row here comes last, in the group "measure". */
static const struct {
    const char *group; /* of command_groups */
    const struct command *command;
    const char *words; /* what it is for, in at most four words */
} rows[] = {
    {"look", &command_run, "attention to words, pictures"},
    {"look", &command_generate, "what comes next"},
    {"look", &command_score, "surprise of each token"},
    {"look", &command_diff, "two texts or models"},
    {"measure", &command_heads, "what each head does"},
    {"measure", &command_probe, "induction, retrieval heads"},
    {"measure", &command_sinks, "where weight is parked"},
    {"measure", &command_lens, "what each layer knows"},
    {"measure", &question_commands[AT_spans], "which context is used"},
    {"measure", &command_align, "words of two texts"},
    {"measure", &question_commands[AT_features], "features of autoencoders"},
    {"measure", &command_examples, "heads on a corpus"},
    {"cause", &command_ablate, "switch parts off"},
    {"cause", &command_patch, "swap parts between texts"},
    {"cause", &command_circuit, "edges between parts"},
    {"cause", &command_attribute, "parts of a logit"},
    {"files and models", &command_models, "models found by name"},
    {"files and models", &command_inspect, "what a model has"},
    {"files and models", &command_tokenize, "text to token ids"},
    {"files and models", &command_attend, "attention of arrays"},
    {"files and models", &command_init, "make a model"},
    {"files and models", &command_batch, "lines of JSON"},
    {"files and models", &command_completion, "complete command lines"},
    {"files and models", &command_help, "commands, options, topics"},
};

enum { N_ROW = sizeof rows / sizeof *rows };

static bool has_row(const struct attn_question *question)
{
    for (size_t i = 0; i < N_ROW; i++)
        if (rows[i].command->question == question)
            return true;
    return false;
}

const struct command *command_at(size_t i)
{
    if (i < N_ROW)
        return rows[i].command;
    i -= N_ROW;
    /* questions without arguments come last; they have no command */
    for (size_t n = 0; n < N_QUESTION && question_commands[n].question->n_part > 0; n++)
        if (!has_row(question_commands[n].question) && i-- == 0)
            return &question_commands[n];
    return NULL;
}

const char *command_group_at(size_t i)
{
    return i < N_ROW ? rows[i].group : "measure";
}

const char *command_words_at(size_t i)
{
    return i < N_ROW ? rows[i].words : "";
}

const struct command *command_find(const char *name)
{
    const struct command *command;

    for (size_t i = 0; (command = command_at(i)) != NULL; i++)
        if (strcmp(command->name, name) == 0)
            break;
    return command;
}

const char *command_summary(const struct command *command)
{
    return command->summary ? command->summary : command->question->summary;
}

const char *command_description(const struct command *command)
{
    return command->description ? field_names_of_help(command->description)
           : command->question  ? field_names_of_help(command->question->description)
                                : NULL;
}

const char *command_example_lines(const struct command *command)
{
    return command->examples || !command->question || !command->question->examples
               ? command->examples
               : field_names_of_help(command->question->examples);
}

const char *command_lacks(const struct command *command)
{
    return command->lacks || !command->question ? command->lacks : command->question->lacks;
}

enum { HINT_SIZE = ATTN_ERROR_HINT_SIZE };

/* Returns true if NAME looks like a text, because it has a blank or a character that isn't
 * ASCII. */
static bool is_text(const char *name)
{
    for (; *name; name++)
        if (*name == ' ' || (unsigned char)*name >= 0x80)
            return true;
    return false;
}

/* Writes the command line that runs TEXT, quoted for a shell. */
static void write_run(const char *text, char hint[HINT_SIZE])
{
    /* has characters that are special in double quotes */
    const bool is_quoted = strpbrk(text, "\"$!`") != NULL;
    const char *quote = is_quoted ? "'" : "\"";
    size_t used = 0;

    attn_fixed_text_append(hint, HINT_SIZE, &used, "attn-cli run %s", quote);
    for (; *text; text++)
        attn_fixed_text_append(hint, HINT_SIZE, &used, is_quoted && *text == '\'' ? "'\\%c'" : "%c",
                               *text);
    attn_fixed_text_append(hint, HINT_SIZE, &used, "%s", quote);
}

enum attn_status command_refuse_unknown(const char *what, const char *name, struct attn_error *err)
{
    char hint[HINT_SIZE] = "'attn-cli --help' lists the commands";
    struct attn_typo typo = {.typed = name, .size = strlen(name)};
    const struct command *command;

    for (size_t i = 0; (command = command_at(i)) != NULL; i++)
        attn_typo_try(&typo, command->name);
    attn_typo_try_as(&typo, "logit-lens", "lens");
    for (size_t i = 0; i < n_topic && strcmp(what, "command or topic") == 0; i++)
        attn_typo_try(&typo, topics[i].name);
    if (topic_hint(name, hint))
        return refuse(err, hint, "unknown %s '%s'", what, name);
    if (attn_typo_meant(&typo))
        snprintf(hint, sizeof hint, "did you mean '%s'?", attn_typo_meant(&typo));
    else if (name[0] != '-' && is_text(name) && strlen(name) <= HINT_SIZE / 4 &&
             strcmp(attn_quote_string(name).text, name) == 0) /* shown without escapes, in full */
        write_run(name, hint);
    else if (name[0] != '-' && is_text(name))
        snprintf(hint, sizeof hint, "attn-cli run TEXT");
    return refuse(err, hint, "unknown %s '%s'", what, name);
}
