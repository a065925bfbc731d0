/*
 * option.h - the options of a command: rows of struct attn_param (params/param.h), from which
 * parsing, help, manual and completions come.
 *
 * Rows come in lists. A list has a heading and fills one struct, and several commands may have it.
 * A command names its lists, and where each list's struct lies in its own struct of arguments:
 *
 *     static const struct attn_param rows[] = {
 *         ATTN_PARAM(COUNT, "length", "T", struct inspect_args, length, "count the cost of ..."),
 *     };
 *     static const struct attn_param_part parts[] = {
 *         {&model_options, offsetof(struct inspect_args, model)},
 *         {OPTION_LIST("Output", rows), 0},
 *     };
 *     const struct command command_inspect = {.name = "inspect", OPTION_PARTS(parts)};
 *
 * A row without a name, of the type TEXTS, stands for the arguments that are not options. Every
 * command also has --help and --help-all as its last options.
 */
#pragma once

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

struct command;

/* A list that only one command has. */
#define OPTION_LIST(title, rows) (&(const struct attn_param_list)ATTN_PARAM_LIST(title, rows))

/* A row of the type TEXTS that fills TYPE.MEMBER, a struct text_list. */
#define OPTION_TEXTS(word, what, type, member, ...)                                                \
    ATTN_PARAM(TEXTS, word, what, type, member, __VA_ARGS__,                                       \
               .second = offsetof(type, member) + offsetof(struct text_list, n))

/* Stand for the parameters of the command's question, which fill its arguments: those that belong
 * to its input, and the others. The offset is that of the request, which some of them fill. */
extern const struct attn_param_list option_question_input, option_question;

/* Stand for the options of the library's formats, which fill a struct format_paths: of tensors, of
 * tables, and of pictures of each. */
extern const struct attn_param_list option_tensor_formats, option_tensor_pictures,
    option_table_formats, option_table_pictures;

enum { OPTION_MOST_FORMATS = 24 };

/* The values of these options by the number of the format (attn_format_at); NULL: not given. */
struct format_paths {
    const char *of[OPTION_MOST_FORMATS];
};

/* The members of a command that list its options. */
#define OPTION_PARTS(array) .parts = (array), .n_part = sizeof(array) / sizeof *(array)

/*
 * An iterator over all options of a command:
 *
 *     for (struct option_walk walk = {.command = command}; option_next(&walk);)
 *         puts(walk.name);
 */
struct option_walk {
    const struct command *command;
    const struct attn_param *param; /* this option */
    const char *name;               /* its name, with dashes; NULL: plain arguments */
    size_t offset;       /* offset of the struct that it fills in the command's arguments */
    const char *heading; /* heading of the current rows */
    bool begins;         /* this option is the first one with a name under its heading */
    size_t n;            /* number of options so far, including this one */
    const char *shown;   /* heading of the last option that has a name */
    size_t part, sub;    /* index of the list, and of the list of the question in it */
    size_t row;          /* index of the next row */
};

/* Moves to the first or next option. Returns false after the last. */
bool option_next(struct option_walk *walk);

size_t options_count(const struct command *command);

/* Whether COMMAND has the option or the setting NAME. */
bool option_is_of(const struct command *command, const char *name);

/* Whether the option of WALK has settings. */
bool option_has_settings(const struct option_walk *walk);

/* Whether the value of the option of WALK is a text, or may be the file of one. */
bool option_is_text(const struct option_walk *walk);

/* Whether the value of the option of WALK is an input, which may begin with what it is: ids:5,17,3.
 */
bool option_takes_forms(const struct option_walk *walk);

/* Walks to the next form of the option OF. Returns false after the last. */
bool option_next_form(struct option_walk *walk, const struct option_walk *of);

enum { OPTION_FORMS_SIZE = 96 };

/* Writes the forms that the value of the option of WALK may have, with BETWEEN between them:
 * "ids:LIST, image:FILE". Returns false if it has none. */
bool option_write_forms(const struct option_walk *walk, const char *between,
                        char forms[OPTION_FORMS_SIZE]);

/* The name of the option of WALK, of an argument its placeholder. The second gives for a form the
 * name of its option: of "target-ids", the form "ids:", "target". */
const char *option_own_name(const struct option_walk *walk);
const char *option_name(const struct option_walk *walk);

/* VALUE of the option of WALK as it was typed: "ids:5" of a form, which has "5". */
const char *option_typed(const struct option_walk *walk, const char *value);

/* Whether PARAM is --help or --help-all; and whether it takes values that may be repeated. */
bool option_is_help(const struct attn_param *param);
bool option_is_list(const struct attn_param *param);

/* Whether the value of PARAM is one of its words. */
bool option_is_choice(const struct attn_param *param);

/* Returns the placeholder of the value of PARAM, or its words; NULL for flags. */
const char *option_argument(const struct attn_param *param);

enum { OPTION_LABEL_SIZE = 64 };

/* Writes the name of the option of WALK to LABEL, which is returned: "--load", "--style dpi", for a
 * form "--target ids:". */
const char *option_label(const struct option_walk *walk, char label[OPTION_LABEL_SIZE]);

/* Writes the help of the option of WALK to TEXT [size], with the names of its settings if
 * LISTS_SETTINGS. */
void option_help(const struct option_walk *walk, bool lists_settings, char *text, size_t size);
