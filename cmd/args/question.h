/*
 * question.h - the common part of commands that ask a question about a model and print a table:
 * which model, how it is run, over which input, and where the table is written.
 *
 * Most questions only need a row in the library (frame/question.h). A command that has to do
 * more has a file like this:
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
 *     const struct command command_score = {QUESTION_COMMAND(score), .ask = work};
 */
#pragma once

#include "cmd/args/asked.h"
#include "cmd/args/items.h"
#include "cmd/args/model.h"
#include "cmd/args/outputs.h"
#include "cmd/args/prompt.h"
#include "cmd/args/running.h"
#include "cmd/args/selection.h"
#include "cmd/line/command.h"

#include "tool.h"

struct question_args {
    struct prompt_args prompt;
    struct items_args items;
    struct attn_answer_args answer;
    struct model_args model;
    struct attn_attention_args attention;
    struct attn_edit_texts edits;
    struct attn_places places;
    struct tables_args tables;
    bool is_explained; /* --explain (request.h) */
    struct running_args running;
};

#define QUESTION_ARGS_DEFAULT                                                                      \
    {                                                                                              \
        .tables = TABLES_ARGS_DEFAULT, .items = ITEMS_ARGS_DEFAULT, .prompt = PROMPT_ARGS_DEFAULT  \
    }

extern const struct question_args question_args_default;

/* Members of a struct command whose arguments are a struct question_args followed by those of the
 * question. */
#define QUESTION_COMMAND(which)                                                                    \
    .name = #which, .question = &attn_question_##which, .parts = question_parts,                   \
    .n_part = QUESTION_N_PART, .args_size = sizeof(struct question_args),                          \
    .defaults = &question_args_default

#define QUESTION_PART(list, member)                                                                \
    {                                                                                              \
        &(list), offsetof(struct question_args, member)                                            \
    }

/* The lists of pictures of tensors. */
#define QUESTION_TENSOR_PICTURES                                                                   \
    QUESTION_PART(option_tensor_pictures, tables.output.paths),                                    \
        QUESTION_PART(heatmap_options, tables.picture),                                            \
        QUESTION_PART(attn_picture_params, tables.picture.options),                                \
        QUESTION_PART(color_options, tables.picture)

/* The lists of pictures of tables. */
#define QUESTION_PICTURE_OPTIONS                                                                   \
    QUESTION_PART(option_table_pictures, tables.output.paths),                                     \
        QUESTION_PART(table_column_options, tables),                                               \
        QUESTION_PART(attn_picture_params, tables.picture.options)

/* The lists after those of the input, of the question itself and of pictures. */
#define QUESTION_OPTIONS                                                                           \
    MODEL_OPTIONS(offsetof(struct question_args, model)),                                          \
        QUESTION_PART(attn_attention_params, attention),                                           \
        QUESTION_PART(attn_key_mask_params, prompt.asked),                                         \
        QUESTION_PART(attn_dropout_params, attention), QUESTION_PART(attn_edit_params, edits),     \
        QUESTION_PART(attn_place_params, places),                                                  \
        QUESTION_PART(attn_table_order_params, tables.order),                                      \
        TABLES_OPTIONS(offsetof(struct question_args, tables.output)),                             \
        QUESTION_PART(running_options, running)

/* The options of a command that only asks a question. */
#define QUESTION_PARTS                                                                             \
    QUESTION_PART(option_question_input, prompt.asked),                                            \
        PROMPT_OPTIONS(offsetof(struct question_args, prompt)),                                    \
        QUESTION_PART(attn_source_params, prompt.asked),                                           \
        QUESTION_PART(attn_image_params, prompt.asked),                                            \
        QUESTION_PART(attn_picture_prompt_params, prompt.asked),                                   \
        QUESTION_PART(attn_label_params, prompt.labels),                                           \
        QUESTION_PART(attn_chat_params, prompt.asked), QUESTION_PART(attn_study_params, items),    \
        QUESTION_PART(attn_restart_params, items), QUESTION_PART(option_question, prompt.asked),   \
        QUESTION_PICTURE_OPTIONS, QUESTION_OPTIONS

enum {
    QUESTION_N_PART =
        sizeof((const struct attn_param_part[]){QUESTION_PARTS}) / sizeof(struct attn_param_part)
};
extern const struct attn_param_part question_parts[QUESTION_N_PART];

enum { QUESTION_EXAMPLE_SIZE = 160 };

/* What commands that write the tensors of a run have (request.h). */
struct tensor_run {
    bool has_first_screen; /* prints the first screen if no output is given */
    unsigned shown;        /* enum attn_medium that is printed instead of tensors; 0: tensors */
    bool is_standard_used; /* data are written to standard output, and nothing else may be */
    struct attn_option *options; /* owned; the given options that change the run */
    /* owned; [request.n_output] followed by `n_figure` outputs that draw an explanation */
    struct attn_output *outputs;
    size_t n_figure;
    struct attn_picture_options look; /* of the outputs */
    char answer[48];                  /* the queries that write an answer (request_serve) */
    struct attn_run *run;             /* owned */
    struct attn_result result;        /* owned */
    struct stopwatch watch;
};

struct question {
    struct call *call;
    const struct question_args *args; /* the command's arguments begin with these */
    bool reuse;                       /* the model will be run many times */
    bool has_place_rows;              /* --positions makes rows */
    /* name of the question for its pictures (attn_question_picture); NULL: no pictures. By default
     * the command's question; the command may change it */
    const char *name;
    void *how; /* arguments of the question; or NULL */
    /* the study of many items, which `how` has, too; or NULL */
    const struct attn_study_args *study;
    const char *unit; /* what progress counts, "items"; NULL: "runs" */
    /* a complete command, for hints; NULL: the first example of the question */
    const char *example;
    char first_example[QUESTION_EXAMPLE_SIZE];
    void *own; /* [command->own_size] owned; data of the command */
    /* how pictures show the table; not copied. The command sets what attn_question_picture doesn't
     * set */
    struct attn_table_picture picture;
    struct attn_edit_texts edits;         /* the edits of `args`; owns the texts that it reads */
    struct attn_attention_args attention; /* the attention of `args` */
    struct model_source source;
    struct attn_host *host;
    struct attn_request request; /* the input, and how it is run */
    struct text text;            /* owned; the text of the input */
    struct items items;          /* many items, instead of one input */
    struct attn_table *table;    /* owned; the answer */
    struct attn_table *drawn;    /* owned; the table that pictures show instead; or NULL */
    struct attn_table *unsorted; /* owned; the answer before it was sorted */
    bool is_counting;            /* on_progress counts runs or items */
    struct tensor_run tensors;
    struct asked asked; /* the question of a figure, a page or the first screen */
};

/* Asks the question of CALL, whose command has `ask`. If an option has the value `help`, prints its
 * values instead. */
enum attn_status question_answer(struct call *call, struct attn_error *err);

/* Checks the common options, and opens the host. */
enum attn_status question_open(struct question *question, struct attn_error *err);

/* Opens the host with the model of the common options, and checks that no output would overwrite
 * one of its files. */
enum attn_status question_open_model(struct question *question, struct attn_error *err);

/* Reads the input that the common options name into the request. */
enum attn_status question_read(struct question *question, struct attn_error *err);

/* If --items is given, opens the items and the host, and sets `study`. */
enum attn_status question_begin_items(struct question *question, struct attn_error *err);

/* Opens the items, or the host and both texts of a pair, of which CORRUPTED is the other. EXAMPLE
 * is a hint for a call without them. */
enum attn_status question_begin_pair(struct question *question, struct attn_input *corrupted,
                                     const char *example, struct attn_error *err);

/* Opens the host and the input: --items, opened by question_begin_items, or one text, which is read
 * into the request. */
enum attn_status question_begin(struct question *question, struct attn_error *err);

/* Sorts the table and writes it to the outputs. If there are items, the text ends with a line about
 * how many. A table of items is written even if the sort column does not exist, since
 * it may have taken hours. */
enum attn_status question_write(struct question *question, struct attn_error *err);

/* Refuses combinations of options that the question does not allow. */
enum attn_status question_check(const struct question *question, struct attn_error *err);

/* Shows how much of a run of USER, a question, is done (`on_part` of struct attn_request). */
void question_on_part(void *user, size_t done, size_t total);
void question_on_progress(void *user, size_t done, size_t total); /* counts question->unit */

/* Returns true if notes are printed. */
bool question_is_noted(const struct question *question);

/* Returns true if a sum over N values is noted: of one text, or of all items as one group, asked
 * now. */
bool question_has_sum(const struct question *question, size_t n);

/* --- Listings --------------------------------------------------------------------------------- */

/* The common part of `run` and `generate` with --items: the rows of each item are written to one
 * file or to standard output; means over items are not computed. */
struct listing {
    /* options that the command allows in addition to those of every listing: by the heading they
     * are under, and by their names, "at|sites" */
    const char *headings, *names;
    /* no rows are printed without --csv, --json or --jsonl; else they are printed as CSV */
    bool has_no_rows;
    bool has_records; /* --jsonl holds a record for each item instead of rows */
};

/* Opens the items of LISTING and the host. */
enum attn_status listing_begin(struct question *question, const struct listing *listing,
                               struct attn_error *err);
