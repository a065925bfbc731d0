/* command.c - the table of commands. */
#include "cmd/line/command.h"

#include "cmd/line/field_names.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

/* The commands, one per line; cmd/<name>.c defines command_<name>. The help lists the commands of
 * questions between these two lists. */
#define FIRST_MAP(X)                                                                               \
    X(run)                                                                                         \
    X(attend)                                                                                      \
    X(tokenize)                                                                                    \
    X(init)                                                                                        \
    X(inspect)                                                                                     \
    X(models)

#define LAST_MAP(X)                                                                                \
    X(completion)                                                                                  \
    X(help)

/* Commands of questions that need a file of their own. */
#define QUESTION_MAP(X)                                                                            \
    X(heads)                                                                                       \
    X(ablate)                                                                                      \
    X(align)                                                                                       \
    X(attribute)                                                                                   \
    X(diff)                                                                                        \
    X(examples)                                                                                    \
    X(generate)                                                                                    \
    X(lens)                                                                                        \
    X(patch)                                                                                       \
    X(circuit)                                                                                     \
    X(score)                                                                                       \
    X(sinks)

#define COMMAND_EXTERN(name) extern const struct command command_##name;
FIRST_MAP(COMMAND_EXTERN)
QUESTION_MAP(COMMAND_EXTERN)
LAST_MAP(COMMAND_EXTERN)
#undef COMMAND_EXTERN

#define COMMAND_ADDRESS(name) &command_##name,
static const struct command *const first[] = {FIRST_MAP(COMMAND_ADDRESS)};
static const struct command *const last[] = {LAST_MAP(COMMAND_ADDRESS)};
#undef COMMAND_ADDRESS

enum { N_FIRST = sizeof first / sizeof *first, N_LAST = sizeof last / sizeof *last };

#define QUESTION_NUMBER(name) AT_##name,
enum { ATTN_QUESTION_MAP(QUESTION_NUMBER) N_QUESTION };
#undef QUESTION_NUMBER

#define QUESTION_COMMAND(name) [AT_##name] = &command_##name,
static const struct command *const own[N_QUESTION] = {QUESTION_MAP(QUESTION_COMMAND)};
#undef QUESTION_COMMAND

const struct command *command_at(size_t i)
{
    size_t n = 0; /* questions without arguments come last; they have no command */

    if (i < N_FIRST)
        return first[i];
    i -= N_FIRST;
    while (n < N_QUESTION && question_commands[n].question->n_part > 0)
        n++;
    if (i < n)
        return own[i] ? own[i] : &question_commands[i];
    return i - n < N_LAST ? last[i - n] : NULL;
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
    return command->question ? command->question->summary : command->summary;
}

const char *command_description(const struct command *command)
{
    return command->question ? field_names_of_help(command->question->description)
                             : command->description;
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

/* Returns true if TEXT can be shown in a hint without escapes and in full. */
static bool is_shown(const char *text)
{
    char *escaped;
    bool is_same;

    if (strlen(text) > HINT_SIZE / 4 || attn_escape(text, strlen(text), &escaped, NULL) != ATTN_OK)
        return false;
    is_same = strcmp(escaped, text) == 0;
    attn_free(escaped);
    return is_same;
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
    if (attn_typo_meant(&typo))
        snprintf(hint, sizeof hint, "did you mean '%s'?", attn_typo_meant(&typo));
    else if (name[0] != '-' && is_text(name) && is_shown(name))
        write_run(name, hint);
    else if (name[0] != '-' && is_text(name))
        snprintf(hint, sizeof hint, "attn-cli run TEXT");
    return refuse(err, hint, "unknown %s '%s'", what, name);
}
