/*
 * heads.h - measures of where every head looks, over one text or many, and the type of head that
 * follows from them.
 *
 *     struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
 *     args.has_probe = true;                                  // a repeated sequence of random ids
 *     struct attn_table *table;
 *     attn_heads(host, &request, &args, &table, &err);
 *
 * The table has a row per head: its number, the measures (measures/measure.h), its type
 * (measures/head_kind.h), the weight that it parks (measures/parks.h), and with some arguments
 *
 *     sink_mass, distant     with n_near: mean weight on the first n_sink keys, over the rows after
 *                    them; on keys that are neither these nor less than n_near away, over the rows
 *                    that have such keys (Xiao et al. 2309.17453)
 *     retrieval, needle_mass, n_retrieval     with probe.is_needle: the share of the rows of the
 *                    second needle whose largest weight is on the token to be copied; the mean
 *                    weight there; the number of these rows (Wu et al. 2404.15574, whose model
 *                    generates the copy)
 *     rest_CLASS     with has_shares: the part of each class of measures/head_mix.h in what is not
 *                    parked
 *     weight, percentile     with from and to: mean over the rows of `from` of the weight on the
 *                    columns of `to`; the share of all pairs of a word and an earlier word whose
 *                    weight in this head is smaller. In layers that attend to a source, `to` is in
 *                    the source, and a pair is a word of the text and a word of the source
 *     change         change of the metric when the head's z is zero (ablate/ablate.h)
 *
 * With `effects` it has what the head does for the answer: direct, what it writes to the logit
 * (attribute/attribute.h); ablated, which is `change`; patched, the change by its z in the run of
 * the clean text (circuit/patch.h); and patched_share, that as a share of the difference of both
 * texts.
 *
 * In a model with an encoder and a decoder, the heads of the encoder come first; their layers are
 * numbered after those of the decoder. `pattern` and `from` are about
 * the text: with them the encoder is left out.
 *
 * Over items, each counted once, every measure is a mean, and numbers of rows are added up. With
 * `probe.n` the probes are items.
 */
#ifndef ATTN_HEADS_HEADS_H
#define ATTN_HEADS_HEADS_H

#include "formats/ndarray.h"
#include "measures/measure.h"
#include "predict/answer.h"
#include "run/run.h"

struct attn_study_args; /* means/study.h */

/* Bits: what heads do for an answer, as other questions find it. */
enum attn_heads_effect {
    ATTN_HEADS_DIRECT = 1,  /* `value` of attribute */
    ATTN_HEADS_ABLATED = 2, /* `change` of ablate */
    ATTN_HEADS_PATCHED = 4, /* `change` and `effect` of patch, with site z */
    /* `weight` without `percentile`. Alone, without `measures`, it saves the time for the others */
    ATTN_HEADS_WEIGHT = 8,
    ATTN_HEADS_OF_ANSWER = 7
};

/* Which input of later heads is compared with the outputs of earlier ones; NONE: no such table. */
enum attn_heads_composition {
    ATTN_HEADS_COMPOSITION_NONE = 0,
    ATTN_HEADS_COMPOSITION_Q = 1,
    ATTN_HEADS_COMPOSITION_K = 2,
    ATTN_HEADS_COMPOSITION_V = 3
};

/* By pair the table is that of attn_similarity (heads_extra.h), of one text. */
enum attn_heads_by { ATTN_HEADS_BY_HEAD = 0, ATTN_HEADS_BY_LAYER = 1, ATTN_HEADS_BY_PAIR = 2 };

/* Ids drawn without replacement, without special tokens, and repeated. */
struct attn_heads_probe {
    /* ids before repetition; 0: min(50, n_ctx / 2, number of ids), of a needle min(1000, n_ctx - 8,
     * number of ids) */
    size_t length;
    size_t repeats; /* number of repetitions; 0: 2 */
    uint64_t seed;
    /* number of probes, which use this seed and the following ones; 0: one, without NAME_sd */
    size_t n;
    /* A needle in a haystack: the ids come once, and at the end the 8 from number
     * needle_depth * (length - 9), rounded down, come again. */
    bool is_needle;
    double needle_depth; /* 0 to 1 */
    /* Of texts that the model writes itself: the types of heads that views show. */
    bool is_own;
    const void *later[4]; /* NULL: room for fields of later versions, here and below */
};

/* Of texts with a picture. */
struct attn_heads_picture {
    bool is_localized;     /* finds the heads that point at what the answer is about */
    size_t n_kept;         /* over items, a head is selected if its rank is at most this; 0: 10 */
    enum attn_tower tower; /* ATTN_TOWER_IMAGE: the heads of the tower of pictures, also of one
                              beside a decoder, whose input is a picture alone */
    const void *later[4];
};

/* Tables of weights, which read no input: at most one. */
struct attn_heads_weights {
    bool is_by_head; /* a row for each head (heads/head_maps.h) */
    /* Pairs of heads, the 20 largest unless n_most is given:
     *     from_layer, from_head, to_layer, to_head, score, baseline (1/sqrt(D)) */
    enum attn_heads_composition composition;
    /* "2.5", "2.5:ov" or "2.5:qk", the head and the map whose singular directions are listed, with
     * ":N" N of them, else 5; or NULL: direction, singular, share, gap, side, rank, id, token,
     * value */
    const char *svd;
    size_t n_top; /* of svd: tokens on each side; 0: 5 */
    const void *later[4];
};

struct attn_heads_args {
    size_t size;    /* size of this struct */
    bool has_probe; /* measures `probe` instead of the request's input */
    struct attn_heads_probe probe;
    attn_measure_set measures;          /* ATTN_MEASURE_BIT of the columns; 0: the usual ones */
    double threshold;                   /* share above which one class names a head; 0: 0.5 */
    const struct attn_ndarray *pattern; /* [T, T] the pattern P; or NULL */
    struct attn_number_list from, to;   /* positions; both or none is given */
    bool has_effect;
    unsigned effects;               /* set of enum attn_heads_effect */
    struct attn_answer_args answer; /* of `change` and of `effects` */
    struct attn_input corrupted; /* for PATCHED: the corrupted text of circuit/patch.h. Items have
                                    their own, and the clean text */
    const char *sort;            /* as in tables/table_order.h; NULL: by layer and head */
    size_t n_most;               /* maximum number of rows; 0: all */
    const struct attn_study_args *study; /* items to use instead of all inputs; or NULL */
    /* what all selected heads do in the texts is added here, for cards; or NULL. It must be new */
    struct attn_head_cards *cards;
    enum attn_heads_by by; /* LAYER: of texts with a picture */
    /* measures the weight that is not parked (measures/parks.h), each row of it divided by its
     * sum, without types */
    bool renormalizes;
    bool has_shares; /* adds the shares of all classes of the rest, rest_self to rest_elsewhere */
    size_t n_sink, n_near; /* K and W of sink_mass and distant; n_near 0: without these columns */
    struct attn_heads_picture picture;
    struct attn_heads_weights weights;
};

#define ATTN_HEADS_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("heads", attn_heads_args)

/* Surveys the input of REQUEST, or items, or probes. Memory does not grow with their number. ARGS
 * may be NULL. The caller owns *table. Errors have a stage. */
ATTN_API enum attn_status attn_heads(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_heads_args *args, struct attn_table **table,
                                     struct attn_error *err);

/* Reads types of heads, unless HOST's model brings them along, in FOLDER and keeps them there, in a
 * folder named by the version and the weights: sizes and times of their files, names and shapes of
 * the tensors. Call it before the first run. */
ATTN_API enum attn_status attn_heads_keep_types(struct attn_host *host, const char *folder,
                                                struct attn_error *err);

#endif
