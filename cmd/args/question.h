/*
 * question.h - what the commands share that ask about a model and print a table: which model, how
 * it is run, over which input, and where the table goes.
 *
 *     struct question question = {.command = &command_score, .args = &args.question};
 *     int code = question_parse(&question, argc, argv, &args);
 *     if (code == OPTIONS_OK)
 *         code = question_open(&question);
 *     if (code == EXIT_DONE)
 *         code = question_read(&question);
 *     ... a function of the library makes a table of question.host and question.request ...
 *     if (code == EXIT_DONE)
 *         code = question_write(&question, table);
 *     return question_close(&question, code);
 *
 * Each of these reports a failure and returns an exit code.
 */
#ifndef CMD_QUESTION_H
#define CMD_QUESTION_H

#include "cmd/args/attention.h"
#include "cmd/args/input.h"
#include "cmd/args/model.h"
#include "cmd/args/running.h"
#include "cmd/args/tables.h"
#include "cmd/args/texts.h"
#include "cmd/line/command.h"

#include "tool.h"

struct question_args {
    struct prompt_args prompt;
    const char *source; /* a text or a file */
    struct model_args model;
    struct attention_args attention;
    struct tables_args tables;
    struct running_args running;
};

#define QUESTION_ARGS_DEFAULT                                                                      \
    {                                                                                              \
        .attention = ATTENTION_ARGS_DEFAULT, .tables.precision = -1                                \
    }

/* The groups of options that fill the struct question_args at the offset AT: the input; the
 * rest. */
#define QUESTION_INPUT_PARTS(at)                                                                   \
    {&prompt_text_options, (at) + offsetof(struct question_args, prompt)},                         \
        {&prompt_options, (at) + offsetof(struct question_args, prompt)},                          \
        {&special_options, (at) + offsetof(struct question_args, prompt)},                         \
        {&prompt_numbers_options, (at) + offsetof(struct question_args, prompt)},                  \
    {                                                                                              \
        &source_options, (at) + offsetof(struct question_args, source)                             \
    }
#define QUESTION_PARTS(at)                                                                         \
    {&model_options, (at) + offsetof(struct question_args, model)},                                \
        {&weights_options, (at) + offsetof(struct question_args, model)},                          \
        {&compute_options, (at) + offsetof(struct question_args, model)},                          \
        {&attention_options, (at) + offsetof(struct question_args, attention)},                    \
        {&tables_options, (at) + offsetof(struct question_args, tables)},                          \
        {&running_options, (at) + offsetof(struct question_args, running)},                        \
    {                                                                                              \
        &help_options, 0                                                                           \
    }

/* Of commands whose tables have pictures, before QUESTION_PARTS. */
#define QUESTION_PICTURE_PARTS(at)                                                                 \
    {&table_pictures_options, (at) + offsetof(struct question_args, tables)},                      \
    {                                                                                              \
        &table_shapes_options, (at) + offsetof(struct question_args, tables.picture)               \
    }

/* Initialize with the command and its arguments. */
struct question {
    const struct command *command;
    struct question_args *args;
    bool reuse;                  /* the model will run many times */
    const char *unit;            /* of its progress, "texts"; NULL: "runs" */
    const char *example;         /* a whole command, for hints */
    struct attn_table_grid grid; /* what pictures draw; rows NULL: there are none of this table */
    struct attn_sink *out;       /* standard output */
    struct attn_host *host;
    struct attn_request request; /* what was read, and how to run it */
    struct input input;
    struct attn_texts *texts; /* owns; that stand in place of a text, or NULL */
    struct attn_attention_change changed;
    struct attn_mask_array mask;
};

/* Reads the command line into ARGS, the command's struct, which holds question->args. OPTIONS_OK,
 * or the exit code when the command is over. */
int question_parse(struct question *question, int argc, char **argv, void *args);

/* Checks what the shared options say, and opens the host. */
int question_open(struct question *question);

/* Reads the input of the shared options into the request. */
int question_read(struct question *question);

/* Both, or where ARGS name a file of texts, opens the host and reads these in place of the input:
 * ITEMS [*n], borrowed until question_close. */
int question_begin(struct question *question, const struct texts_args *args,
                   const struct attn_input **items, size_t *n);

int question_write(const struct question *question, const struct attn_table *table);

/* Frees everything; returns CODE, or what standard output says to it. */
int question_close(struct question *question, int code);

#endif
