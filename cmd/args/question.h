/*
 * question.h - what the commands share that ask about a model and print a table: which model, how
 * it is run, over which input, and where the table goes.
 *
 * A question needs no more than its row in the library (study/question.h). A command that does more
 * than ask has a file:
 *
 *     static enum attn_status work(struct question *question, struct attn_error *err)
 *     {
 *         struct attn_score_args *how = question->how;
 *
 *         ATTN_TRY(question_check(question, err));
 *         ATTN_TRY(question_begin(question, err));
 *         ATTN_TRY(attn_score(question->host, &question->request, how, &question->table, &sum,
 *                             err));
 *         return question_write(question, err);
 *     }
 *
 *     static enum attn_status score(struct call *call, struct attn_error *err)
 *     {
 *         struct question question = {.call = call, .example = EXAMPLE};
 *
 *         return question_answer(&question, work, err);
 *     }
 *
 *     const struct command command_score = {QUESTION_COMMAND(score), .work = score};
 */
#ifndef CMD_QUESTION_H
#define CMD_QUESTION_H

#include "cmd/args/answer.h"
#include "cmd/args/attention.h"
#include "cmd/args/items.h"
#include "cmd/args/model.h"
#include "cmd/args/outputs.h"
#include "cmd/args/prompt.h"
#include "cmd/args/running.h"
#include "cmd/args/selection.h"
#include "cmd/line/command.h"

#include "tool.h"

/* A file of texts instead of one text, for commands that take a mean over many. */
struct texts_args {
    const char *path; /* NULL: not given */
    bool is_lines;    /* each line is a text, and not an object */
};

struct question_args {
    struct prompt_args prompt;
    struct texts_args texts;
    struct items_args items;
    struct attn_answer_args answer;
    struct model_args model;
    struct attn_attention_args attention;
    struct attn_edit_texts edits;
    struct attn_places places;
    struct tables_args tables;
    struct running_args running;
};

#define QUESTION_ARGS_DEFAULT                                                                      \
    {                                                                                              \
        .tables.output.precision = -1, .items = ITEMS_ARGS_DEFAULT, .prompt = PROMPT_ARGS_DEFAULT  \
    }

extern const struct question_args question_args_default;

/* Fields of a command whose arguments are a struct question_args, and those of the question. */
#define QUESTION_COMMAND(which)                                                                    \
    .name = #which, .question = &attn_question_##which, OPTION_PARTS(question_parts),              \
    .args_size = sizeof(struct question_args), .defaults = &question_args_default

/* Options that fill a struct question_args: those of the question, and of its request; pictures;
 * the rest. */
extern const struct option_group question_own_options, question_picture_options, question_options;

/* These after the input, --texts and --items. */
extern const struct option_part question_parts[4];

/* Checks that there is a text, or --texts instead. */
enum attn_status texts_check(const struct call *call, const struct texts_args *args,
                             const struct prompt_args *prompt, const char *example,
                             struct attn_error *err);

/* Initialize with the call and what the command knows. */
struct question {
    struct call *call;
    const struct question_args *args; /* NULL: the command's arguments, which begin with these */
    bool reuse;                       /* the model will run many times */
    bool has_place_rows;              /* --positions makes rows */
    const char *name; /* of the question (attn_question_picture); NULL: it has no pictures. The
                         command's question, unless the work changes it */
    void *how;        /* its arguments; or NULL */
    const struct attn_study_args *study; /* of many texts or items, also in `how`; or NULL */
    const char *unit;                    /* of its progress, "texts"; NULL: "runs" */
    const char *example;               /* a whole command, for hints; NULL: the question's first */
    void *own;                         /* data of the command for its work */
    struct attn_table_picture picture; /* of the table; not copied. The command sets what
                                          attn_question_picture leaves */
    const char *file; /* that an option of the command names and that shapes rows; or NULL */
    struct attn_edit_texts edits;         /* those of `args`; owns the texts that it reads */
    struct attn_attention_args attention; /* the same */
    struct model_source source;
    struct attn_host *host;
    struct attn_request request; /* the input and how to run it */
    struct text text;            /* owns; the input's */
    struct items items;          /* many items or texts instead of one input */
    struct attn_table *table;    /* owns; the answer */
    struct attn_table *drawn;    /* owns; pictures show it instead; or NULL */
    struct attn_table *unsorted; /* owns; the answer before it was sorted */
};

/* Calls WORK to find and write the answer, or prints the values of an option whose value is `help`.
 * Frees everything. */
enum attn_status question_answer(struct question *question,
                                 enum attn_status (*work)(struct question *, struct attn_error *),
                                 struct attn_error *err);

/* Checks the shared options, and opens the host. */
enum attn_status question_open(struct question *question, struct attn_error *err);

/* Reads the input of the shared options into the request. */
enum attn_status question_read(struct question *question, struct attn_error *err);

/* If --items is given, opens it and the host, and sets `study`. */
enum attn_status question_begin_items(struct question *question, struct attn_error *err);

/* Opens the host and the input: --items, as question_begin_items does, or --texts in the same way;
 * or one text, which is read into the request. */
enum attn_status question_begin(struct question *question, struct attn_error *err);

/* Sorts the table and writes it to the outputs; after the text of items also a line about their
 * sum. A table of many texts or items is written even if the sort column does not exist: it may
 * have taken hours. */
enum attn_status question_write(struct question *question, struct attn_error *err);

/* Refuses options that do not go together, by the rules of the question. */
enum attn_status question_check(const struct question *question, struct attn_error *err);

/* Whether notes are wanted. */
bool question_is_noted(const struct question *question);

#endif
