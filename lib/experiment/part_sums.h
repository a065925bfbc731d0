/*
 * part_sums.h - what exchanging a part of one run for that of another would change, to first order,
 * for all parts at once: sum (a_source - a_base) g, where g is the gradient of the metric at the
 * base. For the files of this layer.
 *
 *     struct attn_part_sums_options options = {.answer = &answer, .source = run, .site = site};
 *     attn_part_sums_find(&options, &sums, &err);
 *     attn_part_sums_of(sums, layer, head)[position];
 *     attn_part_sums_free(sums);
 *
 * For q, k and the pattern the softmax is computed again: sum (P' - P) dP.
 */
#ifndef ATTN_EXPERIMENT_PART_SUMS_H
#define ATTN_EXPERIMENT_PART_SUMS_H

#include "experiment/patch.h"
#include "experiment/reply.h"

struct attn_part_sums_options {
    const struct attn_answer *answer; /* of the base run */
    const struct attn_run *source;    /* of as many positions */
    enum attn_site site;
    enum attn_patch_method method;
    size_t n_point;            /* of ig */
    bool is_each;              /* of k: each key by itself, not a head's together */
    const unsigned char *rows; /* [T] positions that are exchanged; NULL: all */
    size_t kept_bytes;         /* experiment/derivative.h */
    void (*on_progress)(void *user, size_t n_done, size_t n_total); /* feeds; or NULL */
    void *user;
};

struct attn_part_sums;

/* Errors have a stage. */
enum attn_status attn_part_sums_find(const struct attn_part_sums_options *options,
                                     struct attn_part_sums **sums, struct attn_error *err);

/* What both runs reply. */
const struct attn_reply *attn_part_sums_base(const struct attn_part_sums *sums);
const struct attn_reply *attn_part_sums_source(const struct attn_part_sums *sums);

/* Parts of a layer: heads, key/value heads of k and v, neurons of mlp_post, else 1; and rows of
 * each: positions, of mlp_post 1. */
size_t attn_part_sums_n_unit(const struct attn_part_sums *sums);
size_t attn_part_sums_n_row(const struct attn_part_sums *sums);

/* The sums of a part, [n_row]: of k, unless `is_each`, by the query that looks at its keys. */
const double *attn_part_sums_of(const struct attn_part_sums *sums, int layer, size_t unit);

size_t attn_part_sums_n_feed(const struct attn_part_sums *sums);

void attn_part_sums_free(struct attn_part_sums *sums); /* NULL is allowed */

#endif
