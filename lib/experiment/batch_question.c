/* batch_question.c - the arguments of a batch, registered for attn_question_find. */
#include "batch/batch_params.h"
#include "experiment/questions_internal.h"

static const struct attn_param_part parts[] = {{&attn_batch_record_params, 0},
                                               {&attn_batch_limit_params, 0},
                                               {&attn_batch_field_params, 0},
                                               {&attn_batch_edge_params, 0},
                                               {&attn_batch_writing_params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "items_format:lines",
     .excludes = "text_key|id_key|labels",
     .message = "`text_key`, `id_key` and `labels` need records, and @ lines reads texts"},
    {.given = "edges_per_query", .needs = "edges"},
};

static const struct attn_batch_args defaults = {
    .options = {.size = sizeof(struct attn_batch_options), .max_failed = -1, .precision = -1},
    .many.size = sizeof(struct attn_many_options)};

const struct attn_question attn_question_batch = {
    .name = "batch",
    ATTN_QUESTION_PARAMS(parts, rules),
    .defaults = &defaults,
    .args_size = sizeof defaults,
};
