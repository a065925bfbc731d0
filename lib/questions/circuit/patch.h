/*
 * patch.h - activation patching: which parts of a model carry the difference between two texts. One
 * text runs with a tensor taken from the run of the other (names as in TransformerLens's
 * patching.py), or the effect is estimated with gradients.
 *
 *     struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
 *     args.corrupted.text = "The key to the door", args.corrupted.n_text = 19;
 *     args.answer.target = " are", args.answer.foil = " is", args.site = "resid_pre";
 *     attn_patch(host, &clean, &args, &table, &sum, &err);
 *
 * To restore, the corrupted text runs with one part of the clean run: effect = (m - m_corrupted) /
 * (m_clean - m_corrupted), which is 1 if the part restores the answer and 0 if it changes nothing.
 * To noise, the clean text runs with a part of the corrupted run: effect = (m - m_clean) /
 * (m_corrupted - m_clean). The first rows of the table are `base`, the run that is patched, and
 * `source`, the other run. Then there is a row per part:
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
 * these sites are positions or words of the source (input/position.h). A head without such rows has
 * no value.
 *
 * With `path` the parts are edges: the reader at the end of an edge, and nothing else, reads the
 * stream of the base and what the writer writes in the source minus what it writes in the base:
 *
 *     part, from, to, value, effect
 *
 * Over items (study.h) the column change, value minus the value of `base`, comes after value, and
 * effect is a ratio of means: the mean change as a share of the change of `source`. It has no sd
 * and se, and is missing with `paired`. Without places all items need as many tokens as the first.
 *
 * Sites with heads are patched in the heads of the request's selection alone.
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
 * Rows with `check` were patched. Only these have value and effect, which are bit-identical to
 * those of an exact patch. Over items sums are averaged before they are divided by the mean
 * difference, so that estimates have no sd. No part is patched then, and every neuron has a row.
 */
#ifndef ATTN_CIRCUIT_PATCH_H
#define ATTN_CIRCUIT_PATCH_H

#include "predict/answer.h"
#include "run/item.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

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

/* Auto: noise with `path`, which is what attn_circuit estimates; else restore. */
enum attn_patch_direction {
    ATTN_PATCH_DIRECTION_AUTO = 0,
    ATTN_PATCH_DIRECTION_NOISE = 1,
    ATTN_PATCH_DIRECTION_RESTORE = 2
};

struct attn_patch_args {
    size_t size; /* size of this struct */
    /* the corrupted input: a text or ids with as many tokens as the clean text, or a picture with
     * as many rows and columns of patches */
    struct attn_input corrupted;
    /* `at` is a place in the clean text. Estimates support any metric but kl */
    struct attn_answer_args answer;
    const char *site; /* one of the sites above; NULL: resid_pre */
    enum attn_patch_direction direction;
    size_t n_control; /* number of random choices of a head; 0: no controls. Exact patches only */
    uint64_t seed; /* seed of the controls, or of the parts that are drawn to check an estimate */
    /* [n_place] places of the clean text to patch, instead of single positions; for sites without
     * heads; or NULL */
    const struct attn_item_place *places;
    size_t n_place;
    /* items with clean and corrupted, instead of both inputs; or NULL */
    const struct attn_study_args *study;
    /* source of the corrupted run, with as many rows as the source of the request, which is the
     * default. Exact patches only */
    struct attn_input corrupted_source;
    enum attn_patch_method method;
    /* The following fields are for estimates. */
    size_t n_point;      /* points of ig; 0: 5 */
    bool is_by_position; /* one row per head and position */
    size_t n_most;       /* number of rows for mlp_post, for a single pair; 0: 20 */
    /* how many of the largest estimates are checked by exact patches, and how many randomly drawn
     * others */
    size_t n_verified;
    /* memory for tensors that are kept instead of recomputed: faster, with equal results */
    size_t kept_bytes;
    const char *path; /* edges, "2.5:3.1.q,*:logits", instead of parts; or NULL */
    bool is_frozen;   /* norms between the ends of a path have the scales of the base */
};

#define ATTN_PATCH_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("patch", attn_patch_args)

/* Correlations between the estimates and the effects of patched parts. NaN if there are fewer than
 * two parts, or all are equal. */
struct attn_estimate_check {
    size_t n;
    double pearson, spearman;
};

struct attn_patch_sum {
    size_t size;             /* of this struct */
    double clean, corrupted; /* the metric of both runs */
    size_t n_row;            /* number of rows that the first patch changed */
    size_t n_feed;           /* number of runs, complete or from a later layer on */
    /* The following fields are for estimates. */
    size_t n_part;
    /* checks of the largest estimates, and of parts drawn from the rest */
    struct attn_estimate_check top, random;
    double random_most; /* the largest |effect| of a drawn part; NaN: no part was drawn */
    double least;       /* the smallest |effect| of a part in the top; NaN: no part was patched */
    size_t n_above;     /* number of drawn parts whose |effect| is larger than `least` */
    /* upper bound, with 95 % confidence, of the share of the rest that has a larger |effect| than
     * `least`; exact if all of the rest were drawn. NaN: no part was drawn */
    double most_missed;
};

/* Sets SUM [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_patch_sum *attn_patch_sum_init(struct attn_patch_sum *sum, size_t size);
#define ATTN_PATCH_SUM_DEFAULT ATTN_DEFAULT_OF(attn_patch_sum)

/* The input of REQUEST is the clean text. Parts are patched in parallel on the host's threads; each
 * run starts at the layer of its part. The caller owns *table. Errors have a stage. The stage of
 * the input with ATTN_INVALID: the texts have different numbers of tokens, or the metrics (over
 * items, their means) differ by less than 1e-4, so that there is no difference to restore. The
 * stage of options with ATTN_INVALID: an estimate needs gradients that are not supported. Estimates
 * send notes about which run is patched, where the texts differ, and the result of the checks. */
ATTN_API enum attn_status attn_patch(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_patch_args *args, struct attn_table **table,
                                     struct attn_patch_sum *sum, struct attn_error *err);

#endif
