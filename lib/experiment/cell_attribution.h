/*
 * cell_attribution.h - which cells of the patterns an answer depends on, by gradients.
 *
 *     struct attn_cell_attribution_args args = ATTN_CELL_ATTRIBUTION_ARGS_DEFAULT;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_table *table;
 *     attn_attribute_cells(host, &request, &args, &table, &err);
 *
 * One backward pass gives, for every weight P of a query on a key, dP, the derivative of the metric
 * with respect to P. The cells with the largest |P dP| are rows of
 *
 *     layer, head, query, key, token     the token of the key
 *     weight             P
 *     attn_x_grad        P dP
 *     knockout           what the metric is estimated to change by when the key is masked for this
 *                        query and the other weights of the row grow to add up to 1: P times the
 *                        mean of dP over the other keys, each counted by its weight, minus P dP.
 *                        None where the row has no other key
 */
#ifndef ATTN_EXPERIMENT_CELL_ATTRIBUTION_H
#define ATTN_EXPERIMENT_CELL_ATTRIBUTION_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_cell_attribution_args {
    size_t size;                    /* of this struct */
    struct attn_answer_args answer; /* any metric but kl */
    size_t n_most;                  /* rows; 0: 20 */
};

#define ATTN_CELL_ATTRIBUTION_ARGS_DEFAULT                                                         \
    ((struct attn_cell_attribution_args){.size = sizeof(struct attn_cell_attribution_args)})

/* The caller owns *table. Errors have a stage; ATTN_INVALID at that of options where there are no
 * gradients. */
ATTN_API enum attn_status attn_attribute_cells(struct attn_host *host,
                                               const struct attn_request *request,
                                               const struct attn_cell_attribution_args *args,
                                               struct attn_table **table, struct attn_error *err);

#endif
