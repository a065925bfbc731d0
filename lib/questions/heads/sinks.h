/*
 * sinks.h - attention sinks: columns of patterns where heads park their weight, and the massive
 * activations of the residual stream behind them.
 *
 *     struct attn_sinks_args args = ATTN_SINKS_ARGS_DEFAULT;
 *     attn_sinks(host, &request, &args, &table, &err);
 *
 * alpha_j is the mean weight of key j over the rows that can see it (Gu et al. 2024, 2410.10781).
 * Only columns that at least 8 rows see count. A sink is a column with alpha_j above the threshold.
 * Learned sinks, which are no key, are not counted.
 */
#ifndef ATTN_HEADS_SINKS_H
#define ATTN_HEADS_SINKS_H

#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

enum attn_sinks_by {
    ATTN_SINKS_BY_HEAD = 0,
    ATTN_SINKS_BY_TOKEN = 1, /* the places of each token, of all texts */
    ATTN_SINKS_BY_LAYER = 2, /* massive activations of the stream (Sun et al. 2024, 2402.17762) */
    ATTN_SINKS_BY_PARK = 3,  /* positions that are parks (measures/parks.h) */
    ATTN_SINKS_BY_KEY =
        4 /* the weight that each position gets from the selected queries and heads */
};

struct attn_sinks_args {
    size_t size; /* size of this struct */
    enum attn_sinks_by by;
    /* above 0, and below 1 except by layer; 0: 0.3. By layer: all positions with a ratio of at
     * least this have a row; 0: the largest of each layer */
    double threshold;
    /* items to use instead of the request's input; or NULL */
    const struct attn_study_args *study;
    const char *sort; /* column to sort by (tables/table_order.h); or NULL */
    size_t n_most;    /* maximum rows; 0: all */
};

#define ATTN_SINKS_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("sinks", attn_sinks_args)

/*
 * The table has the columns
 *
 *     layer, head, kv_head, first_weight, first_rate, rate, n_other_sink, position, token,
 *         weight, value_norm
 *     token, id, n_position, rate, weight                                    by token
 *     layer, site, n_massive, largest, position, token, dim, median, ratio   by layer
 *     position, token, weight, ratio                                         by park
 *     layer, position, token, received, share                                by key
 *
 * by token sorted by rate; position 0 is the token "(first)", without an id. Over items the
 * columns position, token and dim are missing, except the token of a table by token, whose numbers
 * are means over the places of all items. Heads of cross-attention are left out.
 *
 * ARGS may be NULL. The caller owns *table. Errors have a stage; ATTN_INVALID at the stage of the
 * input for a text of fewer than 8 tokens.
 */
ATTN_API enum attn_status attn_sinks(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_sinks_args *args, struct attn_table **table,
                                     struct attn_error *err);

#endif
