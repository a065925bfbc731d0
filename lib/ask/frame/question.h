/* question.h - a question about a model: the single definition of its arguments and of which of
 * them go together. Options of commands, methods of Python and the defaults of items are derived
 * from it. frame/questions.h finds questions by name. */
#ifndef ATTN_FRAME_QUESTION_H
#define ATTN_FRAME_QUESTION_H

#include "params/param.h"
#include "params/param_rules.h"
#include "run/host.h"
#include "run/request.h"

struct attn_procedure; /* functions that answer it (frame/frame.h) */

struct attn_question {
    const char *name;
    const char *summary; /* one line */
    /* paragraphs; lines are broken at 80 columns, parameters are in backquotes */
    const char *description;
    const char *examples; /* command lines for its help; parameters are in backquotes */
    const char *inputs;   /* names of its texts, "clean|corrupted"; NULL: text */
    /* fields of a request that the question does not support, "image|embeds"; or NULL */
    const char *lacks;
    bool has_place_rows; /* named positions make rows, so nothing else needs to use them */
    const struct attn_param_part *parts; /* [n_part] its parameters, in the order of the help */
    size_t n_part;
    struct attn_param_rules rules;
    const void *defaults; /* [args_size] default arguments */
    size_t args_size;
    size_t study; /* offset of the pointer to a study (means/study.h) in the arguments */
    /* the procedure that answers it; or NULL if `choose` selects one */
    const struct attn_procedure *procedure;
    const struct attn_procedure *(*choose)(const void *args); /* returns the procedure for ARGS */
    /* What takes fewer runs, with parameters in backquotes: part of a note; or NULL. */
    const char *quicker;
    /* Whether it can replace ARGS about REQUEST; NULL without `quicker`. */
    bool (*has_quicker)(const struct attn_host *host, const struct attn_request *request,
                        const void *args);
};

/* Initializers of the fields of a question. */
#define ATTN_QUESTION_PARAMS(part_rows, rule_rows)                                                 \
    .parts = (part_rows), .n_part = sizeof(part_rows) / sizeof *(part_rows),                       \
    .rules = {(rule_rows), sizeof(rule_rows) / sizeof *(rule_rows)}
#define ATTN_QUESTION_ARGS(type, ...)                                                              \
    .defaults = &(const type){__VA_ARGS__}, .args_size = sizeof(type),                             \
    .study = offsetof(type, study)

/* The parameters of the request that choose queries and heads; the first argument is the help. */
#define ATTN_PARAM_QUERIES(...)                                                                    \
    ATTN_PARAM(LIST, "queries", "SPEC", struct attn_request, selection.queries, __VA_ARGS__,       \
               .home = ATTN_PARAM_OF_REQUEST,                                                      \
               .second = offsetof(struct attn_request, selection.queries.n))
#define ATTN_PARAM_HEADS(...)                                                                      \
    ATTN_PARAM(LIST, "heads", "SPEC", struct attn_request, selection.heads, __VA_ARGS__,           \
               .home = ATTN_PARAM_OF_REQUEST)

/* Rows of the parameters that choose the answer, if the arguments TYPE have an `answer`. */
#define ATTN_QUESTION_ANSWER(type)                                                                 \
    {&attn_target_params, offsetof(type, answer)}, {&attn_foil_params, offsetof(type, answer)},    \
        {&attn_at_params, offsetof(type, answer)},                                                 \
    {                                                                                              \
        &attn_metric_params, offsetof(type, answer)                                                \
    }

/* Returns an error if arguments that are given do not go together. Works before a model is
 * opened. */
ATTN_API enum attn_status attn_question_check(const struct attn_question *question,
                                              attn_param_given_fn is_given, void *user,
                                              struct attn_error *err);

#endif
