/* attention_internal.h - declarations about attention and its kinds that only the library uses. */
#pragma once

#include "attention/keys.h"
#include "attention/kind.h"
#include "trace/location.h"

/* Sets the stride of strided attention, if it was not given, to sqrt(N_KEY), rounded up. */
void attn_attention_resolve_stride(struct attn_attention *attention, size_t n_key);

/* Lets blocks that name no columns be those of a grid of N_COLUMN. */
void attn_attention_resolve_grid(struct attn_attention *attention, size_t n_column);

/* Returns the number of blocks of ATTENTION whose positions see each other; and block number I. */
static inline size_t attn_attention_n_block(const struct attn_attention *attention)
{
    return (attention->block.end > 0) + (attention->blocks ? attention->blocks->n : 0);
}

static inline const struct attn_mask_block *
attn_attention_block(const struct attn_attention *attention, size_t i)
{
    return i == 0 ? &attention->block : &attention->blocks->items[i - 1];
}

/* Numbers that are added to scores: for ALiBi (Press et al. 2108.12409), slope * (j - i), with one
 * slope for each head; for T5 (Raffel et al. 1910.10683), one number for each distance. */
struct attn_score_bias {
    bool is_of_key;    /* adds bfloat16(slope * j) instead, before the scale and not after it */
    bool is_of_places; /* adds products with places, which are not here (struct attn_place_terms) */
    size_t farthest;   /* keys at larger distances have the bias of this distance; 0: ALiBi */
    float slopes[]; /* [n_head] slopes, or [n_head, 2 * farthest + 1] biases of the distances j - i,
                       which begin at -farthest */
};

/* Returns the number that BIAS adds to the score of query i and key j in HEAD; 0 for places. */
float attn_score_bias_at(const struct attn_score_bias *bias, size_t head, size_t i, size_t j);

enum attn_gives {
    ATTN_GIVES_NOT,
    ATTN_GIVES_DIRECTLY,  /* the site is an intermediate result */
    ATTN_GIVES_ON_DEMAND, /* watched rows are computed only because they are watched */
};

/* How ATTENTION computes SITE, a matrix site or z. ATTN_GIVES_NOT for all other sites. */
enum attn_gives attn_attention_gives(const struct attn_attention *attention, enum attn_site site);

/* Returns the set of matrix sites that ATTENTION has, with z. */
struct attn_site_set attn_attention_sites(const struct attn_attention *attention);

/* Returns the number of pairs of a query and a key that are computed in one head, that is, that
 * kind and mask keep, for N_QUERY rows. With a causal mask the last row is at the last key. The
 * result is 0 for linear attention and n_query * R for low-rank attention. The stride must be
 * resolved. Random attention draws by the layer and the head of AT. */
uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query, size_t n_key,
                               const struct attn_location *at);

/* Checks that the options of ATTENTION can be combined. Returns ATTN_INVALID with a message that
 * names the conflict and the reason, for example for causal low-rank attention. IS_CROSS: keys come
 * from a source, so that no mask can be causal. Linear attention ignores is_scaled and factor. */
enum attn_status attn_attention_check(const struct attn_attention *attention, bool is_cross,
                                      struct attn_error *err);

/* Checks that N_KEY keys are enough. Returns ATTN_INVALID for low-rank attention with more mixtures
 * than keys. */
enum attn_status attn_attention_check_keys(const struct attn_attention *attention, size_t n_key,
                                           struct attn_error *err);

/* --- Kinds. Each is one struct attn_kind, attn_kind_NAME, in a file of kinds/ ----------------- */

/* The kinds of ATTN_ATTENTION_KIND_MAP in the order in which they are listed. */
extern const enum attn_attention_kind attn_attention_kind_order[ATTN_N_ATTENTION_KIND];

enum attn_kind_param_type {
    ATTN_KIND_PARAM_NONE,    /* ends the list of parameters */
    ATTN_KIND_PARAM_COUNT,   /* size_t, >= 1 */
    ATTN_KIND_PARAM_SEED,    /* uint64_t */
    ATTN_KIND_PARAM_FEATURE, /* enum attn_feature, by its name */
    ATTN_KIND_PARAM_RAW,     /* bool: the word "raw" */
};

/* One parameter of a kind: a field of its text between colons. */
struct attn_kind_param {
    enum attn_kind_param_type type;
    const char *name; /* its name in messages, "W" */
    size_t offset;    /* of the field in struct attn_attention */
    bool is_optional; /* may be missing, and is 0 then */
};

enum { ATTN_KIND_MAX_PARAM = 2 };

struct attn_kind {
    const char *summary; /* describes the keys that a query sees, for a table */
    /* In the order of the text; ends with ATTN_KIND_PARAM_NONE. */
    struct attn_kind_param params[ATTN_KIND_MAX_PARAM + 1];
    /* How these sites are computed; `scores` is for qk and attn_scores. */
    enum attn_gives scores, pattern, pattern_lowrank;

    /* The reason why the kind cannot be combined with an option, for messages; NULL: it can be */
    const char *no_causal, *no_matrix, *no_dropout, *no_cosine, *no_eps, *no_scores;

    /*
     * Of kinds that keep pairs, else NULL. The n_key of ROW counts the visible keys, with a causal
     * mask or without a mask. The query itself may stand after all of them.
     *
     *   span      the kept keys of ROW, if they are one span of neighbouring keys, first == last
     *             for an empty one; with has_steps also every key that is a multiple of the stride
     *             away. Then keeps and list are NULL, and follow from it.
     *   is_near   keys that are listed without a span are still close together
     *   keeps     whether key j, 0 <= j < n_key, is kept: the definition of the kind
     *   list      the same keys, ascending, and their number; its time grows with that number, and
     *             is short where KEYS is NULL
     *   largest   upper bound of the keys in a row with at most N_KEY keys, steps aside; NULL:
     *             attn_kind_width
     */
    struct attn_key_span (*span)(const struct attn_attention *attention,
                                 const struct attn_key_row *row);
    bool has_steps, is_near;
    bool (*keeps)(const struct attn_attention *attention, const struct attn_key_row *row, size_t j);
    size_t (*list)(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys);
    size_t (*largest)(const struct attn_attention *attention, size_t n_key);

    const struct attn_kind_engine *engine; /* attention/heads.h; of kinds that keep no pairs */
};

/* [ATTN_N_ATTENTION_KIND] the kinds that the program has, by number (lib/parts.c); NULL: it lacks
 * the kind, which is unknown then. Each has `full` and `window`, those of models. */
extern const struct attn_kind *const attn_kinds[];
#define ATTN_KIND_DECLARE(id, number, name, ...) extern const struct attn_kind attn_kind_##name;
ATTN_ATTENTION_KIND_MAP(ATTN_KIND_DECLARE)
#undef ATTN_KIND_DECLARE

/* The span and the upper bound of kinds that keep the keys j with |i-j| < attn_kind_width. */
struct attn_key_span attn_keys_near(const struct attn_attention *attention,
                                    const struct attn_key_row *row);
size_t attn_keys_largest_near(const struct attn_attention *attention, size_t n_key);

/* The beginning of the row of such a kind, and of a parameter that is a number of keys. */
#define ATTN_KIND_PAIRS .scores = ATTN_GIVES_DIRECTLY, .pattern = ATTN_GIVES_DIRECTLY
#define ATTN_KIND_NEAR ATTN_KIND_PAIRS, .span = attn_keys_near, .largest = attn_keys_largest_near
#define ATTN_KIND_COUNT(name, field, is_optional)                                                  \
    {                                                                                              \
        ATTN_KIND_PARAM_COUNT, name, offsetof(struct attn_attention, field), is_optional           \
    }

/* Returns the description of ATTENTION's kind. */
const struct attn_kind *attn_kind_find(const struct attn_attention *attention);

/* Returns the first parameter of the kind, the number of keys: W, S, B or K. SIZE_MAX if it has no
 * parameter. */
size_t attn_kind_width(const struct attn_attention *attention);

const char *attn_attention_kind_name(enum attn_attention_kind kind);    /* "window" */
const char *attn_attention_kind_written(enum attn_attention_kind kind); /* "window:W" */
/* Describes the keys it keeps. */
const char *attn_attention_kind_summary(enum attn_attention_kind kind);

/* Parses a kind with its parameters, such as "hybrid:32:64", into ATTENTION. Other fields stay
 * unchanged. Returns ATTN_INVALID for an unknown kind (the message lists all kinds), and for
 * parameters that are missing, superfluous, below 1, or not whole numbers. */
enum attn_status attn_attention_parse(const char *text, struct attn_attention *attention,
                                      struct attn_error *err);

enum { ATTN_ATTENTION_TEXT_SIZE = 96 };

/* Writes the kind of ATTENTION with all its parameters to TEXT. Returns the length. */
size_t attn_attention_text(const struct attn_attention *attention,
                           char text[ATTN_ATTENTION_TEXT_SIZE]);

/* Sets the matrix sites of DIMS to those that at least one of ATTENTION [n_layer] has, and sets
 * n_rank. For the selection of a run that does not use the model's own attention. */
void attn_attention_set_dims(const struct attn_attention *attention, struct attn_dims *dims);
