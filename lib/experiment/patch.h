/*
 * patch.h - where the difference between two texts lives: one run with a tensor of the other in its
 * place (activation patching; names as TransformerLens's patching.py).
 *
 *     struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
 *     args.corrupted.text = "The key to the door", args.corrupted.n_text = 19;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     args.site = "resid_pre";
 *     attn_patch(host, &clean, &args, &table, &sum, &err);
 *
 * The corrupted text runs with a piece of the clean run: effect = (m - m_corrupted) / (m_clean -
 * m_corrupted), 1 where that restores the answer and 0 where it does nothing. Towards noise the
 * clean text runs with a piece of the corrupted run: effect = (m - m_clean) / (m_corrupted -
 * m_clean). The table has the rows `base`, the run that is patched, and `source`, the other one,
 * then a row a piece:
 *
 *     part, layer, position, token, value, effect      resid_pre, resid_mid, resid_post, attn_out,
 *                                                      mlp_out: one position of a layer
 *     part, layer, head, value, effect                 q, z, pattern: one head, at all positions or
 *     part, layer, kv_head, value, effect              the queries of the request; k, v
 *
 * A part of a row is its site; value is the metric then. With controls control and control_sd
 * follow, mean and standard deviation of the effect of heads that were drawn. With places each is
 * patched as a whole: position is its name, token is missing.
 *
 * In layers that attend to a source the rows of k and v are those of the source, and queries of
 * these sites are positions or words of it (run/position.h). A head without such a row has no
 * value.
 *
 * Over items (study.h) the column change, value minus that of `base`, comes after value, and effect
 * is a ratio of means: the mean change as a share of that of `source`. It has no sd and se, and is
 * missing of `paired`. Without places all items need as many tokens as the first.
 */
#ifndef ATTN_EXPERIMENT_PATCH_H
#define ATTN_EXPERIMENT_PATCH_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

/* Positions of the clean text that are patched together. */
struct attn_patch_place {
    const char *name, *spec; /* a list of numbers or words (run/request.h) */
};

struct attn_patch_args {
    size_t size;                    /* of this struct */
    struct attn_input corrupted;    /* a text or ids, with as many tokens as the clean one; or a
                                       picture with as many rows and columns of patches */
    struct attn_answer_args answer; /* `at` is a place in the clean text */
    const char *site;               /* one of those above; NULL: resid_pre */
    bool is_to_noise;               /* the clean run is patched from the corrupted one */
    size_t n_control;               /* of heads: so many random choices of one; 0: no controls */
    uint64_t seed;                  /* of these */
    const struct attn_patch_place *places; /* [n_place] instead of every position by itself; of
                                              sites without heads; or NULL */
    size_t n_place;
    const struct attn_study_args *study; /* pairs clean, corrupted instead of both; or NULL */
    struct attn_input corrupted_source;  /* of the corrupted run, with as many rows as that of the
                                            request; not given: that of the request */
};

#define ATTN_PATCH_ARGS_DEFAULT ((struct attn_patch_args){.size = sizeof(struct attn_patch_args)})

struct attn_patch_sum {
    double clean, corrupted; /* the metric of both runs */
    size_t n_row;            /* rows that the first piece changed */
    size_t n_feed;           /* runs, whole or from a later layer */
};

/*
 * The input of REQUEST is the clean text. Pieces are tried side by side on the host's threads, each
 * from its layer on. The caller owns *table. Errors have a stage: ATTN_INVALID at that of the input
 * where the texts have not as many tokens, and where the metrics, or their means over items, differ
 * by less than 1e-4: there is nothing to restore.
 */
ATTN_API enum attn_status attn_patch(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_patch_args *args, struct attn_table **table,
                                     struct attn_patch_sum *sum, struct attn_error *err);

#endif
