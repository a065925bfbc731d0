/* part_sums.h - first-order estimates for `patch` and `ablate`. Private to lib/questions. */
#pragma once

#include "gradient/backward.h"
#include "trials/reply.h"

/*
 * First-order estimates of how the metric changes if a part of one run is replaced by
 * the same part of another run, or by the values of edits, for all parts at once:
 * sum (a_source - a_base) g, where g is the gradient of the metric at the base.
 *
 *     struct attn_part_sums_options options = {.answer = &answer, .source = run, .site = site};
 *     attn_part_sums_find(&options, &sums, &err);
 *     sums.values[(layer * sums.n_unit + head) * sums.n_row + position];
 *     attn_free(sums.values), attn_free(sums.encoder);
 *
 * For q, k and the pattern the softmax is recomputed: sum (P' - P) dP. Models with a source have
 * sums of the other sites, and with has_encoder also of the heads of their encoder.
 */

struct attn_part_sums_options {
    const struct attn_answer *answer; /* the answer in the base run */
    /* two runs with equal numbers of positions. SOURCE may be NULL: `edits` then replace the parts
     * of a site whose gradients are its own, all but q, k and pattern */
    const struct attn_run *base, *source;
    const struct attn_edit *edits; /* [n_edit] of whole tensors: ZERO, or REPLACE by `data` */
    size_t n_edit;
    enum attn_site site;
    enum attn_backward_rule rule;
    size_t n_point;            /* number of points of integrated gradients; 0: the gradient at the
                                  base alone */
    bool is_each;              /* for k: each key separately, not all keys of a head together */
    const unsigned char *rows; /* [T] flags of the replaced positions; NULL: all */
    bool has_encoder;          /* sums of the encoder, too; not of mlp_post */
    size_t kept_bytes;         /* trials/derivative.h */
    /* called with the number of feeds; or NULL */
    void (*on_progress)(void *user, size_t n_done, size_t n_total);
    void *user;
};

struct attn_part_sums {
    struct attn_reply base, source;
    /* parts of a layer: heads; for k and v key/value heads; for mlp_post neurons; otherwise 1 */
    size_t n_unit, n_encoder_unit;
    size_t n_row; /* rows of a part: positions; 1 for mlp_post */
    size_t n_feed;
    /* [n_layer, n_unit, n_row]. For k, unless `is_each`, the row is the position of the query that
     * reads the keys, not that of the key */
    double *values;
    /* [n_layer, n_encoder_unit] of the encoder, over all positions of the source; or NULL */
    double *encoder;
};

/* `kept_bytes` of questions. */
#define ATTN_PART_SUMS_KEPT 536870912

/* Fills SUMS, whose arrays the caller frees. Errors have a stage. */
enum attn_status attn_part_sums_find(const struct attn_part_sums_options *options,
                                     struct attn_part_sums *sums, struct attn_error *err);
