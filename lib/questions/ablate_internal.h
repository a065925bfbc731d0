/* ablate_internal.h - what the two procedures of `ablate` share: that of heads, MLPs, layers and
 * neurons (ablate.c), and that of a picture (ablate_pictures.c). */
#ifndef ATTN_QUESTIONS_ABLATE_INTERNAL_H
#define ATTN_QUESTIONS_ABLATE_INTERNAL_H

#include "questions/ablate.h"
#include "questions/frame.h"
#include "questions/questions_internal.h"

/* The columns from number I on that say what an ablation changes: the value, those of runs without
 * a part, which are shown RUNS, and the last, which is shown WHEN. */
#define ATTN_COLUMNS_ABLATED(i, runs, when)                                                        \
    [i] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@"),                                     \
    [(i) + 1] = ATTN_COLUMN_QUANTITY("change", 6, NULL, SIGNED, "change of @",                     \
                                     .traits = ATTN_TRAIT_RANKED, .shown = (runs)),                \
    [(i) + 2] =                                                                                    \
        ATTN_COLUMN_QUANTITY("kl", 6, "nats", POSITIVE,                                            \
                             "KL divergence from the unchanged prediction", .shown = (runs)),      \
    [(i) + 3] = {.name = "same_top",                                                               \
                 .type = ATTN_VALUE_BOOLEAN,                                                       \
                 .range = ATTN_RANGE_SHARE,                                                        \
                 .quantity = "most probable token stays the same",                                 \
                 .traits = ATTN_TRAIT_LINEAR,                                                      \
                 .shown = (runs)},                                                                 \
    [(i) + 4] = ATTN_COLUMN_RIGHT(when)

/* Fills CELLS [5], these columns of a row, with REPLY; BASE is that of the unchanged run. */
void attn_ablate_put(const struct attn_answer *answer, const struct attn_reply *base,
                     const struct attn_reply *reply, struct attn_cell *cells);

/* `take_item` of both procedures. */
enum attn_status attn_ablate_take_item(void *args, struct attn_request *request,
                                       const struct attn_item *item, struct attn_error *err);

extern const struct attn_procedure attn_ablate_pictures;

#endif
