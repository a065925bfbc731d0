/*
 * question.h - what the commands share that ask about a model and print a table: which model, how
 * it is run, over which input, and where the table goes.
 *
 *     static enum attn_status work(struct question *question, struct attn_error *err)
 *     {
 *         ATTN_TRY(question_begin(question, &how.study, err));
 *         ATTN_TRY(attn_lens(question->host, &question->request, &how, &question->table, err));
 *         return question_write(question, err);
 *     }
 *
 *     struct question question = {.call = call, .example = EXAMPLE};
 *     return question_answer(&question, work, err);
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
    struct attention_args attention;
    struct ablation_args ablation;
    struct tables_args tables;
    struct running_args running;
};

#define QUESTION_ARGS_DEFAULT                                                                      \
    {                                                                                              \
        .attention = ATTENTION_ARGS_DEFAULT, .tables.output.precision = -1,                        \
        .items = ITEMS_ARGS_DEFAULT                                                                \
    }

/* Options that fill a struct question_args: the input, --texts and --items; pictures, for commands
 * whose tables have them; the rest. Some commands have items_options and answer_options, too. */
extern const struct option_group question_input_options, question_picture_options, question_options;

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
    const char *name;    /* of the question (attn_question_picture); NULL: it has no pictures */
    const void *how;     /* its arguments; or NULL */
    const char *unit;    /* of its progress, "texts"; NULL: "runs" */
    const char *example; /* a whole command, for hints */
    void *own;           /* data of the command for its work */
    struct attn_table_picture picture; /* of the table; not copied. The command sets what
                                          attn_question_picture leaves */
    const char *file; /* that an option of the command names and that shapes rows; or NULL */
    struct ablation_args edits; /* interventions; owns their tables */
    struct model_source source;
    struct attn_host *host;
    struct attn_request request; /* the input and how to run it */
    struct text text;            /* owns; the input's */
    struct items items;          /* many items or texts instead of one input */
    struct attn_attention_change changed;
    struct attn_mask_array mask;
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

/* If --items is given, opens it and the host: *study is for the experiment, borrowed until
 * question_answer returns. Else *study stays NULL. */
enum attn_status question_begin_items(struct question *question,
                                      const struct attn_study_args **study, struct attn_error *err);

/* Opens the host and the input: --items, as question_begin_items does, or --texts in the same way;
 * or one text, which is read into the request. */
enum attn_status question_begin(struct question *question, const struct attn_study_args **study,
                                struct attn_error *err);

/* Sorts the table and writes it to the outputs; after the text of items also a line about their
 * sum. A table of many texts or items is written even if the sort column does not exist: it may
 * have taken hours. */
enum attn_status question_write(struct question *question, struct attn_error *err);

/* The same for a table of one text; pictures label its positions by the tokens of a run. */
enum attn_status question_write_labelled(struct question *question, struct attn_error *err);

/* Refuses options that do not go together, by the rules of ROW. */
enum attn_status question_check(const struct question *question, const struct attn_question *row,
                                struct attn_error *err);

/* Whether notes are wanted. */
bool question_is_noted(const struct question *question);

#endif
