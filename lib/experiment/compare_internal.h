/*
 * compare_internal.h - the two comparisons that attn_compare chooses from, with what it takes from
 * a run in plain values.
 *
 *     struct attn_compare_args args = ATTN_COMPARE_ARGS_DEFAULT;
 *     args.model = model, args.ids = ids, args.n = n;
 *     args.attention = chosen, args.selection = selection;
 *     attn_compare_run(&args, &found, &err);
 */
#ifndef ATTN_EXPERIMENT_COMPARE_INTERNAL_H
#define ATTN_EXPERIMENT_COMPARE_INTERNAL_H

#include "attention/attend.h"
#include "experiment/compare.h"
#include "model/session.h"

/* Gets rows of one head of CHOSEN attention, and the same rows of EXACT, made of the same q, k and
 * v; in the order of a trace. */
typedef enum attn_status (*attn_pattern_pair_fn)(void *user, const struct attn_trace_event *chosen,
                                                 const struct attn_trace_event *exact,
                                                 struct attn_error *err);

struct attn_pattern_pairs {
    attn_pattern_pair_fn on_pair;
    void *user;
};

struct attn_compare_args {
    size_t size;                    /* of this struct */
    const struct attn_model *model; /* the chosen run multiplies as it was opened, the exact
                                       one in float32 */
    const int32_t *ids;             /* [n], n >= 1 */
    const float *embeddings;        /* [n, d_model] instead of ids, or NULL */
    size_t n;
    const float *source; /* [n_source, d_source] for models with cross-attention, else NULL */
    size_t n_source;
    const char *embeddings_name, *source_name; /* their files, for messages; or NULL */
    const struct attn_attention *attention;    /* [n_layer] the chosen one */

    /* Layers, heads and queries that are compared, and the logits after these queries. Its sites
     * are pattern and z, or one of them where the attention has no other. */
    const struct attn_selection *selection;
    size_t n_recalled;                      /* K of ATTN_DIFFERENCE_RECALL, 1..ATTN_MOST_RECALLED */
    struct attn_pool *pool;                 /* NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel;    /* polled; not 0: ATTN_CANCELED */
    enum attn_gemm gemm;                    /* in float32 speed only */
    enum attn_isa isa;                      /* speed only */
    const struct attn_pattern_pairs *pairs; /* gets local patterns, chosen and exact; or NULL */
};

#define ATTN_COMPARE_ARGS_DEFAULT                                                                  \
    ((struct attn_compare_args){                                                                   \
        .size = sizeof(struct attn_compare_args), .n_recalled = 5, .isa = ATTN_ISA_BEST})

/*
 * Runs the model twice, and the attention of each layer beside it. ATTN_INVALID for what does not
 * go together, and for attention that is exact in every layer of a model that computes in float32;
 * otherwise fails as attn_session_create and attn_session_feed do.
 */
enum attn_status attn_compare_run(const struct attn_compare_args *given,
                                  struct attn_comparison **comparison, struct attn_error *err);

/*
 * The same of attention on arrays, whose trace is not used: errors are local, as those of layer 0.
 * SELECTION is for attn_attend_dims of GIVEN. Fails as attn_attend does.
 */
enum attn_status attn_compare_attend(const struct attn_attend_args *given,
                                     const struct attn_selection *selection, size_t n_recalled,
                                     const struct attn_pattern_pairs *pairs,
                                     struct attn_comparison **comparison, struct attn_error *err);

#endif
