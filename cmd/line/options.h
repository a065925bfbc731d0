/*
 * options.h - reads a command line against the options of a command (option.h).
 *
 * The command line may be written --name VALUE, --name=VALUE, -n VALUE, -nVALUE and -qv for flags
 * without values; names are never abbreviated and `--` ends the options. Flags and lists may be
 * repeated; an option that takes one value is refused when it is given twice. --no-NAME turns a
 * flag off. Some options have settings, --style 'theme=dark dpi=300', which are rows of the table,
 * too; they may be repeated. Variables of the environment and the file of ATTN_CLI_CONFIG have
 * values for options that are not given.
 */
#pragma once

#include "cmd/line/command.h"
#include "cmd/line/option.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values in the given order. Borrows the texts and owns the array, which is first: OPTION_TEXTS. */
struct text_list {
    const char **items;
    size_t n;
};

/* Allocates CALL->args, `given` and `sources` of CALL->command, with the command's defaults. */
enum attn_status options_open(struct call *call, struct attn_error *err);

/* Sets ARGS, those of COMMAND and then of its question, to the defaults. */
void options_set_defaults(const struct command *command, char *args);

/* Parses the command line of CALL, which is open, into CALL->args, the texts of the values into
 * CALL->given, and where each is from into CALL->sources. Borrows the command line and the
 * environment. Ends early at --help and sets CALL->help. */
enum attn_status options_parse(struct call *call, struct attn_error *err);

/* Refuses the option TYPED that stands in the place of a command, if a command has it: the hint
 * shows the first one. */
enum attn_status options_refuse_first(const char *typed, struct attn_error *err);

/* Undoes the parsing, so that CALL can be parsed again. Options that are off stay off. */
void options_reset(struct call *call);

void options_close(struct call *call);

/* Returns the index of WORD in LIST, such as "map|read"; -1 if it is not in LIST. */
int word_find(const char *list, const char *word);

bool text_ends_in(const char *text, const char *ending);

/* An attn_param_given_fn. Returns true if the parameter NAME, such as "merge_words", is given on
 * the command line of USER, a struct call. A word that is the default does not count. */
bool option_is_param_given(void *user, const char *name);

/* Whether the option of WALK is given on the command line of CALL. A default that has no effect is
 * not refused. */
bool option_is_typed(const struct call *call, const struct option_walk *walk);

/* The text of the option NAME of CALL, or NULL. */
const char *option_text(const struct call *call, const char *name);

/* Returns the first option in LIST, such as "probe|texts", that is given on the command line of
 * CALL; NULL if none is. */
const char *option_find_given(const struct call *call, const char *list);

/* Returns the first option under a heading of HEADINGS, such as "Input|Items", that is given on the
 * command line of CALL and is not in the list EXCEPT; NULL if there is none. */
const char *option_find_under(const struct call *call, const char *headings, const char *except);
