/*
 * question.h - a question about a model, told once: what it takes, and what goes together. Options
 * of commands, methods of Python and the defaults of items are made from these rows.
 * experiment/questions.h finds them.
 */
#ifndef ATTN_STUDY_QUESTION_H
#define ATTN_STUDY_QUESTION_H

#include "base/param.h"
#include "base/param_rules.h"
#include "run/request.h"

struct attn_experiment; /* the functions that answer (study/frame.h) */

struct attn_question {
    const char *name;
    const char *summary;     /* one line */
    const char *description; /* paragraphs, lines broken at 80 columns, parameters in
                                backquotes */
    const char *examples;    /* command lines for its help, parameters in backquotes */
    const char *inputs;      /* what its texts are called, "clean|corrupted"; NULL: text */
    const char *lacks;       /* what a request may have and the question cannot use, "image|embeds";
                                or NULL */
    bool takes_texts;        /* many texts instead of one, each of which counts once */
    const struct attn_param_part *parts; /* [n_part] what it takes, in the order of the help */
    size_t n_part;
    struct attn_param_rules rules;
    const void *defaults; /* [args_size] of its arguments */
    size_t args_size;
    size_t study; /* offset in these of the pointer to a study (study/study.h) */
    const struct attn_experiment *experiment;                  /* which answers it; or NULL: */
    const struct attn_experiment *(*choose)(const void *args); /* returns the one for ARGS */
};

/* Fields of a row. */
#define ATTN_QUESTION_PARAMS(part_rows, rule_rows)                                                 \
    .parts = (part_rows), .n_part = sizeof(part_rows) / sizeof *(part_rows),                       \
    .rules = {(rule_rows), sizeof(rule_rows) / sizeof *(rule_rows)}
#define ATTN_QUESTION_ARGS(type, ...)                                                              \
    .defaults = &(const type){__VA_ARGS__}, .args_size = sizeof(type),                             \
    .study = offsetof(type, study)

/* Refuses what is given and does not go together, before a model is opened. */
ATTN_API enum attn_status attn_question_check(const struct attn_question *question,
                                              attn_param_given_fn is_given, void *user,
                                              struct attn_error *err);

#endif
