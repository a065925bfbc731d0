/* attention_internal.h - declarations of attention and its kinds that only the library uses. */
#ifndef ATTN_ATTENTION_ATTENTION_INTERNAL_H
#define ATTN_ATTENTION_ATTENTION_INTERNAL_H

#include "attention/attention_extra.h"
#include "attention/keys.h"
#include "attention/kind.h"

/* Gives `strided` the stride for N_KEY keys, where none was given: sqrt(N_KEY), rounded up. */
void attn_attention_resolve_stride(struct attn_attention *attention, size_t n_key);

/* Numbers that are added to scores: ALiBi (Press et al. 2108.12409), slope * (j - i) of each head;
 * or the relative biases of T5 (Raffel et al. 1910.10683), a number for each distance. */
struct attn_score_bias {
    bool is_of_key;  /* bfloat16(slope * j) instead, and before the scale, not after it */
    size_t farthest; /* keys that are farther have the bias of this distance; 0: ALiBi */
    float slopes[]; /* [n_head], or [n_head, 2 * farthest + 1] the bias of each distance j - i, from
                       -farthest on */
};

/* The number that BIAS adds to the score of query i and key j in HEAD. */
float attn_score_bias_at(const struct attn_score_bias *bias, size_t head, size_t i, size_t j);

enum attn_gives {
    ATTN_GIVES_NOT,
    ATTN_GIVES_DIRECTLY,  /* it is a step on the way */
    ATTN_GIVES_ON_DEMAND, /* rows that are watched are computed for that alone */
};

/* How it computes a matrix site, or z; ATTN_GIVES_NOT for all other sites. */
enum attn_gives attn_attention_gives(const struct attn_attention *attention, enum attn_site site);

/* The matrix sites (ATTN_SITE_BIT) that it can give, and z. */
attn_site_set attn_attention_sites(const struct attn_attention *attention);

/* The number of pairs of a query and a key that are computed in one head: the pairs that kind and
 * mask keep. N_QUERY rows; if the mask is causal the last row stands at the last key. Linear
 * attention computes none (0), low-rank n_query * R. The stride is resolved. */
uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query, size_t n_key,
                               int layer, int head);

/* Whether the parts can be combined. ATTN_INVALID names the conflict and the reason, for example
 * for causal low-rank attention. IS_CROSS: keys come from a source, so that nothing can be causal.
 * Linear attention ignores is_scaled and factor. */
enum attn_status attn_attention_check(const struct attn_attention *attention, bool is_cross,
                                      struct attn_error *err);

/* Whether N_KEY keys are enough for it. ATTN_INVALID for low-rank attention with more mixtures. */
enum attn_status attn_attention_check_keys(const struct attn_attention *attention, size_t n_key,
                                           struct attn_error *err);

/* --- Kinds: one row each, attn_kind_NAME in a file of kinds/ ---------------------------------- */

/* The kinds in the order of ATTN_ATTENTION_KIND_MAP, in which they are shown. */
extern const enum attn_attention_kind attn_attention_kind_order[ATTN_N_ATTENTION_KIND];

enum attn_kind_param_type {
    ATTN_KIND_PARAM_NONE,    /* ends the list */
    ATTN_KIND_PARAM_COUNT,   /* size_t, >= 1 */
    ATTN_KIND_PARAM_SEED,    /* uint64_t */
    ATTN_KIND_PARAM_FEATURE, /* enum attn_feature, by its name */
    ATTN_KIND_PARAM_RAW,     /* bool: the word "raw" */
};

/* A part of the text between colons. */
struct attn_kind_param {
    enum attn_kind_param_type type;
    const char *name; /* "W" */
    size_t offset;    /* in struct attn_attention */
    bool is_optional; /* 0 when it is not written */
};

enum { ATTN_KIND_MAX_PARAM = 2 };

struct attn_kind {
    const char *summary; /* the keys that a query sees, for a table */
    struct attn_kind_param params[ATTN_KIND_MAX_PARAM + 1]; /* in the order of the text */
    enum attn_gives scores, pattern, pattern_lowrank;       /* scores: of qk and attn_scores */

    /* Why it cannot be had together with a part of the attention; NULL: it can. */
    const char *no_causal, *no_matrix, *no_dropout, *no_cosine, *no_eps, *no_scores;

    /*
     * Of kinds that keep pairs, else NULL. The n_key of ROW counts the visible keys, with a causal
     * mask or without a mask. The query itself may stand after all of them.
     *
     *   span      the kept keys of ROW, if they are one span of neighbouring keys, first == last
     *             for an empty one; with has_steps also every key that is a multiple of the stride
     *             away. Then keeps and list are NULL, and follow from it.
     *   keeps     whether key j, 0 <= j < n_key, is kept: the definition of the kind
     *   list      the same keys, ascending, and their number; its time grows with that number, and
     *             is short where KEYS is NULL
     *   largest   upper bound of the keys in a row with at most N_KEY keys, steps aside; NULL:
     *             attn_kind_width
     */
    struct attn_key_span (*span)(const struct attn_attention *attention,
                                 const struct attn_key_row *row);
    bool has_steps;
    bool (*keeps)(const struct attn_attention *attention, const struct attn_key_row *row, size_t j);
    size_t (*list)(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys);
    size_t (*largest)(const struct attn_attention *attention, size_t n_key);
};

#define ATTN_KIND_DECLARE(id, number, name, ...) extern const struct attn_kind attn_kind_##name;
ATTN_ATTENTION_KIND_MAP(ATTN_KIND_DECLARE)
#undef ATTN_KIND_DECLARE

/* The row of ATTENTION's kind. */
const struct attn_kind *attn_kind_find(const struct attn_attention *attention);

/* Its first parameter, the number of keys: W, S, B, K. SIZE_MAX: it has no parameter. */
size_t attn_kind_width(const struct attn_attention *attention);

const char *attn_attention_kind_name(enum attn_attention_kind kind);    /* "window" */
const char *attn_attention_kind_written(enum attn_attention_kind kind); /* "window:W" */
const char *attn_attention_kind_summary(enum attn_attention_kind kind); /* the keys it keeps */

#endif
