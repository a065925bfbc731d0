/*
 * patch_estimate.h - what patches (patch.h) would do, estimated for all parts by about two runs,
 * and some of them checked.
 *
 *     struct attn_patch_estimate_args args = ATTN_PATCH_ESTIMATE_ARGS_DEFAULT;
 *     args.corrupted.text = "The key to the door", args.corrupted.n_text = 19;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     args.site = "z";
 *     attn_patch_estimate(host, &clean, &args, &table, &sum, &err);
 *
 * With a the tensor of a part, and g the gradient of the metric m with respect to it, in the run
 * that is patched (base):
 *
 *     estimate = sum (a_source - a_base) g / (m_source - m_base)
 *
 *     atp     g as it is. For q, k and pattern the softmax is computed again: sum (P' - P) dP, with
 *             P' of the source's q or k (Nanda; Kramar et al. 2403.00745)
 *     relp    g by the rules of RelP: norms and activations are constant factors (2508.21258)
 *     ig      the mean of g at points between the embeddings of both texts (2403.17806)
 *
 * An estimate follows a straight line from the run that is patched. So the largest are patched
 * exactly, and as many others that are drawn at random. The table has the rows `base` and `source`,
 * then one a part:
 *
 *     part, layer, position, token, estimate, value, effect, check
 *     part, layer, head, estimate, ...            of a head at all positions, or kv_head
 *     part, layer, head, position, token, ...     by position: pattern by query
 *     part, layer, neuron, estimate, ...          mlp_post: those with the largest, and the drawn
 *
 * With places each is a part: position is its name, token is missing.
 *
 * Over items (study.h) sums are averaged before they are divided by the mean difference, so that
 * estimates have no sd. Nothing is patched then, and all neurons are rows.
 *
 * `check` is `top` or `random` in rows that were patched, which alone have value and effect: those
 * of attn_patch, bit for bit.
 */
#ifndef ATTN_EXPERIMENT_PATCH_ESTIMATE_H
#define ATTN_EXPERIMENT_PATCH_ESTIMATE_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

/* X(ID, number, name) */
#define ATTN_ESTIMATE_METHOD_MAP(X)                                                                \
    X(ATP, 0, "atp")                                                                               \
    X(RELP, 1, "relp")                                                                             \
    X(IG, 2, "ig")

enum attn_estimate_method {
#define ATTN_ESTIMATE_METHOD_ENUM(id, number, ...) ATTN_ESTIMATE_##id = (number),
    ATTN_ESTIMATE_METHOD_MAP(ATTN_ESTIMATE_METHOD_ENUM)
#undef ATTN_ESTIMATE_METHOD_ENUM
        ATTN_N_ESTIMATE_METHOD = 0 ATTN_ESTIMATE_METHOD_MAP(ATTN_COUNT)
};

struct attn_study_args;  /* experiment/study.h */
struct attn_patch_place; /* experiment/patch.h */

struct attn_patch_estimate_args {
    size_t size;                    /* of this struct */
    struct attn_input corrupted;    /* as of attn_patch, and the next three */
    struct attn_answer_args answer; /* any metric but kl */
    const char *site;               /* also "mlp_post" */
    bool is_to_noise;
    enum attn_estimate_method method;
    size_t n_point;      /* of ig; 0: 5 */
    bool is_by_position; /* of heads: each position by itself */
    size_t n_most;       /* rows of mlp_post, of one pair; 0: 20 */
    size_t n_verified;   /* so many of the largest are patched, and of the others, drawn; 0: none */
    uint64_t seed;       /* of those that are drawn */
    size_t kept_bytes;   /* what fits into as many is not computed again: less time, the same
                            numbers; 512 MiB */
    const struct attn_study_args *study;   /* pairs clean, corrupted instead of both; or NULL */
    const struct attn_patch_place *places; /* [n_place] as of attn_patch: each is a part */
    size_t n_place;
};

#define ATTN_PATCH_ESTIMATE_ARGS_DEFAULT                                                           \
    ((struct attn_patch_estimate_args){.size = sizeof(struct attn_patch_estimate_args),            \
                                       .n_verified = 10,                                           \
                                       .kept_bytes = 536870912})

/* Parts that were patched: how their estimates agree with their effects. NaN: fewer than two, or
 * all of them are equal. */
struct attn_estimate_check {
    size_t n;
    double pearson, spearman;
};

struct attn_patch_estimate_sum {
    double clean, corrupted;                /* the metric of both runs */
    struct attn_estimate_check top, random; /* the largest estimates; those drawn of the rest */
    double random_most;                     /* the largest |effect| of those; NaN: none was drawn */
    double least;                           /* the smallest |effect| of the top; NaN: likewise */
    size_t n_above;                         /* drawn ones with a larger |effect| than that */
    double most_missed;    /* at most this share of the rest has a larger one, with 95 % confidence;
                           exact where all of the rest were drawn. NaN: likewise */
    size_t n_part, n_feed; /* parts; runs, whole or from a later layer */
};

/*
 * The input of REQUEST is the clean text. The caller owns *table. Errors have a stage, as those of
 * attn_patch; ATTN_INVALID at that of options where there are no gradients. Notes which run is
 * patched, where the texts differ, and what the checks say.
 */
ATTN_API enum attn_status
attn_patch_estimate(struct attn_host *host, const struct attn_request *request,
                    const struct attn_patch_estimate_args *args, struct attn_table **table,
                    struct attn_patch_estimate_sum *sum, struct attn_error *err);

#endif
