/*
 * patch.h - where the difference between two texts lives: one run with a tensor of the other in its
 * place (activation patching; names as in TransformerLens's patching.py), or an estimate of its
 * effect by gradients.
 *
 *     struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
 *     args.corrupted.text = "The key to the door", args.corrupted.n_text = 19;
 *     args.answer.target = " are", args.answer.foil = " is", args.site = "resid_pre";
 *     attn_patch(host, &clean, &args, &table, &sum, &err);
 *
 * The corrupted text runs with one part of the clean run: effect = (m - m_corrupted) / (m_clean -
 * m_corrupted), which is 1 if the part restores the answer and 0 if it changes nothing. Towards
 * noise the clean text runs with a part of the corrupted run: effect = (m - m_clean) / (m_corrupted
 * - m_clean). The first rows of the table are `base`, the run that is patched, and `source`, the
 * other run. Then each part has a row:
 *
 *     part, layer, position, token, value, effect      resid_pre, resid_mid, resid_post, attn_out,
 *                                                      mlp_out: one position of a layer
 *     part, layer, head, value, effect                 q, z, pattern: one head, at all positions or
 *     part, layer, kv_head, value, effect              the queries of the request; k, v
 *
 * The column part has the site, value the metric. With controls the columns control and control_sd
 * follow: mean and standard deviation of the effect of randomly drawn heads. With places the
 * positions of each are patched together; its row has its name as position, and no token.
 *
 * In layers that attend to a source, the rows of k and v are those of the source, and queries of
 * these sites are positions or words of the source (input/position.h). A head without such a row
 * has no value.
 *
 * Over items (study.h) the column change, value minus the value of `base`, comes after value, and
 * effect is a ratio of means: the mean change as a share of the change of `source`. It has no sd
 * and se, and is missing with `paired`. Without places all items need as many tokens as the first.
 *
 * Every method but ATTN_PATCH_EXACT estimates the effects of all parts in about two runs. With a
 * the tensor of a part, and g the gradient of the metric m with respect to it, in the base:
 *
 *     estimate = sum (a_source - a_base) g / (m_source - m_base)
 *
 *     atp     g as it is. For q, k and pattern the softmax is computed again: sum (P' - P) dP, with
 *             P' of the source's q or k (Nanda; Kramar et al. 2403.00745)
 *     relp    g by the rules of RelP: norms and activations are constant factors (2508.21258)
 *     ig      the mean of g at points between the embeddings of both texts (2403.17806)
 *
 * An estimate extrapolates linearly from the run that is patched. So the largest estimates are
 * checked by exact patches, and so are as many other parts, drawn at random:
 *
 *     part, layer, position, token, estimate, value, effect, check
 *     part, layer, head, estimate, ...            a head at all positions, or kv_head
 *     part, layer, head, position, token, ...     by position; for pattern the query
 *     part, layer, neuron, estimate, ...          mlp_post: the largest, and the drawn ones
 *
 * `check` is `top` or `random` in rows that were patched. Only these have value and effect, which
 * are bit-identical to those of an exact patch. Over items sums are averaged before they are
 * divided by the mean difference, so that estimates have no sd. No part is patched then, and every
 * neuron has a row.
 */
#ifndef ATTN_EXPERIMENT_PATCH_H
#define ATTN_EXPERIMENT_PATCH_H

#include "base/table.h"
#include "input/record.h"
#include "predict/answer.h"
#include "run/run.h"

struct attn_study_args; /* study/study.h */

/* X(ID, number, name) */
#define ATTN_PATCH_METHOD_MAP(X)                                                                   \
    X(EXACT, 0, "exact")                                                                           \
    X(ATP, 1, "atp")                                                                               \
    X(RELP, 2, "relp")                                                                             \
    X(IG, 3, "ig")

enum attn_patch_method {
#define ATTN_PATCH_METHOD_ENUM(id, number, ...) ATTN_PATCH_##id = (number),
    ATTN_PATCH_METHOD_MAP(ATTN_PATCH_METHOD_ENUM)
#undef ATTN_PATCH_METHOD_ENUM
        ATTN_N_PATCH_METHOD = 0 ATTN_PATCH_METHOD_MAP(ATTN_COUNT)
};

struct attn_patch_args {
    size_t size;                    /* of this struct */
    struct attn_input corrupted;    /* a text or ids, with as many tokens as the clean one; or a
                                       picture with as many rows and columns of patches */
    struct attn_answer_args answer; /* `at` is a place in the clean text; estimates: any metric but
                                       kl */
    const char *site;               /* one of those above; NULL: resid_pre */
    bool is_to_noise;               /* the clean run is patched from the corrupted one */
    size_t n_control; /* number of random choices of one head; 0: no controls; exact only */
    uint64_t seed;    /* of the controls, or of the drawn parts of an estimate */
    const struct attn_item_place *places; /* [n_place] of the clean text, instead of each position
                                             by itself; for sites without heads; or NULL */
    size_t n_place;
    const struct attn_study_args *study; /* pairs clean, corrupted instead of both; or NULL */
    struct attn_input corrupted_source;  /* of the corrupted run, with as many rows as the source of
                                            the request; not given: the source of the request; exact
                                            only */
    enum attn_patch_method method;
    /* The rest is for estimates. */
    size_t n_point;      /* of ig; 0: 5 */
    bool is_by_position; /* a row per head and position */
    size_t n_most;       /* number of rows of mlp_post, of one pair; 0: 20 */
    size_t n_verified;   /* number of largest estimates that are patched, and of drawn others */
    size_t kept_bytes;   /* tensors that fit into this memory are not computed again: faster, with
                            the same numbers */
};

#define ATTN_PATCH_ARGS_DEFAULT                                                                    \
    ((struct attn_patch_args){                                                                     \
        .size = sizeof(struct attn_patch_args), .n_verified = 10, .kept_bytes = 536870912})

/* How the estimates of patched parts agree with their effects. NaN: fewer than two parts, or all of
 * them are equal. */
struct attn_estimate_check {
    size_t n;
    double pearson, spearman;
};

struct attn_patch_sum {
    double clean, corrupted; /* the metric of both runs */
    size_t n_row;            /* rows that the first patch changed */
    size_t n_feed;           /* runs, whole or from a later layer */
    /* The rest is for estimates. */
    size_t n_part;
    struct attn_estimate_check top, random; /* the largest estimates; those drawn of the rest */
    double random_most; /* the largest |effect| among the drawn; NaN: no part was drawn */
    double least;       /* the smallest |effect| of the top; NaN: no part was patched */
    size_t n_above;     /* drawn parts with a larger |effect| than `least` */
    double most_missed; /* at most this share of the rest has a larger |effect|, with 95 %
                           confidence; exact if all of the rest were drawn. NaN: none was drawn */
};

/* The input of REQUEST is the clean text. Parts are patched side by side on the host's threads,
 * each from its layer on. The caller owns *table. Errors have a stage: ATTN_INVALID at the stage of
 * the input if the texts differ in their number of tokens, and if the metrics, or their means over
 * items, differ by less than 1e-4, so that there is no difference to restore; ATTN_INVALID at that
 * of options for an estimate where gradients are missing. Estimates note which run is patched,
 * where the texts differ, and the result of the checks. */
ATTN_API enum attn_status attn_patch(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_patch_args *args, struct attn_table **table,
                                     struct attn_patch_sum *sum, struct attn_error *err);

#endif
