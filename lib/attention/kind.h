/*
 * kind.h - kinds of attention as users write them, what goes together, and what each gives.
 *
 *     struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
 *     attn_attention_parse("window:64", &attention, &err);
 *     attn_attention_check(&attention, false, &err);
 */
#ifndef ATTN_ATTENTION_KIND_H
#define ATTN_ATTENTION_KIND_H

#include "attention/attention.h"
#include "base/status.h"
#include "trace/site.h"

/*
 * Reads a kind with its parameters, as in "hybrid:32:64", into ATTENTION; the rest of it stays.
 * ATTN_INVALID for an unknown kind (the message lists them) and for parameters that are missing,
 * too many, below 1, or no whole numbers.
 */
ATTN_API enum attn_status attn_attention_parse(const char *text, struct attn_attention *attention,
                                               struct attn_error *err);

enum { ATTN_ATTENTION_TEXT_SIZE = 96 };

/* The kind as it is written, with all its parameters. Returns the length. */
ATTN_API size_t attn_attention_text(const struct attn_attention *attention,
                                    char text[ATTN_ATTENTION_TEXT_SIZE]);

ATTN_API const char *attn_attention_kind_name(enum attn_attention_kind kind);    /* "window" */
ATTN_API const char *attn_attention_kind_written(enum attn_attention_kind kind); /* "window:W" */
ATTN_API const char *attn_attention_kind_summary(enum attn_attention_kind kind); /* what it keeps */

/*
 * Whether the parts go together. ATTN_INVALID says which do not, and why: low-rank attention that
 * is causal, say. IS_CROSS: keys come from a source, so that nothing is causal. Linear attention
 * takes is_scaled and factor and does not use them.
 */
ATTN_API enum attn_status attn_attention_check(const struct attn_attention *attention,
                                               bool is_cross, struct attn_error *err);

/* Gives `strided` its stride for N_KEY keys, where none was given. */
ATTN_API void attn_attention_settle(struct attn_attention *attention, size_t n_key);

enum attn_gives {
    ATTN_GIVES_NOT,
    ATTN_GIVES_DIRECTLY,  /* it is a step on the way */
    ATTN_GIVES_ON_DEMAND, /* rows that are watched are computed for that alone */
};

/* How it comes to a matrix site, or z; ATTN_GIVES_NOT for all others. */
ATTN_API enum attn_gives attn_attention_gives(const struct attn_attention *attention,
                                              enum attn_site site);

/* The matrix sites (ATTN_SITE_BIT) that it has, and z. */
ATTN_API uint64_t attn_attention_sites(const struct attn_attention *attention);

/*
 * Pairs of a query and a key for which something is computed, in one head: those that kind and mask
 * leave. N_QUERY rows; the last of them stands at the last key when the mask is causal. Linear
 * attention computes none (0), low-rank n_query * R. Settled.
 */
ATTN_API uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query,
                                        size_t n_key, int layer, int head);

/* Makes the matrix sites of DIMS those that any of ATTENTION [n_layer] gives, and sets n_rank: for
 * the selection of a run whose attention is not the model's own. */
ATTN_API void attn_attention_set_dims(const struct attn_attention *attention,
                                      struct attn_dims *dims);

#endif
