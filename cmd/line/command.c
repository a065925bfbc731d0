/* command.c - the table of commands. */
#include "cmd/line/command.h"

#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include <stdio.h>
#include <string.h>

/* One line a command; cmd/<name>.c defines command_<name>. */
#define COMMAND_MAP(X)                                                                             \
    X(run)                                                                                         \
    X(attend)                                                                                      \
    X(tokenize)                                                                                    \
    X(init)                                                                                        \
    X(inspect)                                                                                     \
    X(models)                                                                                      \
    X(batch)                                                                                       \
    X(heads)                                                                                       \
    X(ablate)                                                                                      \
    X(attribute)                                                                                   \
    X(diff)                                                                                        \
    X(generate)                                                                                    \
    X(lens)                                                                                        \
    X(patch)                                                                                       \
    X(score)                                                                                       \
    X(bench)                                                                                       \
    X(completion)                                                                                  \
    X(help)

#define COMMAND_EXTERN(name) extern const struct command command_##name;
COMMAND_MAP(COMMAND_EXTERN)
#undef COMMAND_EXTERN

#define COMMAND_ADDRESS(name) &command_##name,
const struct command *const commands[] = {COMMAND_MAP(COMMAND_ADDRESS)};
#undef COMMAND_ADDRESS

const size_t n_command = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < n_command; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

enum attn_status command_refuse_unknown(const char *what, const char *name, struct attn_error *err)
{
    char hint[128] = "'attn-cli --help' lists the commands";
    struct typo typo = {.typed = name, .size = strlen(name)};

    for (size_t i = 0; i < n_command; i++)
        typo_try(&typo, commands[i]->name);
    if (typo_meant(&typo))
        snprintf(hint, sizeof hint, "did you mean '%s'?", typo_meant(&typo));
    return refuse(err, hint, "unknown %s '%s'", what, name);
}
