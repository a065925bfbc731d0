/* attribute_baselines.h - attribution to tokens (attribute_tokens.c) and the baseline that `ig`
 * begins from. Private to both. */
#pragma once

#include "attribute/attribute_internal.h"

/* What is added to the embeddings of tokens, and what that contributes. */
struct attn_attribution_places {
    float *typed, *placed; /* [n, d] e plus types, and e plus types and positions */
    float *mapped;         /* [n, D] positions that are added to the mapped embedding; or NULL */
    double *sums;          /* [n_block] sum of `mapped` times their gradient, for each target */
    double pos, types;     /* the parts of positions and of types */
};

struct attn_attribution {
    struct attn_frame frame; /* its capture has the relevance */
    const struct attn_attribute_args *args;
    struct attn_answer answer;
    struct attn_derivative *derivative; /* owns */
    struct attn_relevance *relevance;   /* owns; or NULL */
    enum attn_baseline baseline_kind;   /* resolved, never AUTO */
    size_t n, d;      /* n: number of tokens of the text and of the source; d: De */
    size_t n_text;    /* number of tokens of the text */
    float *e, *b, *x; /* [n, d] embeddings: of the text, of the baseline, of a point between them */
    struct attn_attribution_places places;
    double *weights;     /* [n] weights of the rows that the answer reads */
    unsigned char *kept; /* [n] positions that keep their embedding in the baseline */
    /* number of targets, and of targets processed together; 1 and 1 for one answer */
    size_t n_goal, n_block;
    double *gradient;    /* [n_block, n, d] gradient of one pass, or mean over passes */
    double *attribution; /* [n] */
    bool *begins;        /* [n] true where a word begins */
    double *model;       /* [n_block] the metric; for ig minus the metric at the baseline */
    double *baseline;    /* [n_block] */
};

enum { ATTN_BASELINE_MOST = 36 }; /* maximum bytes of a baseline's text in a title */

extern const char *const attn_baseline_names[]; /* [ATTN_N_BASELINE] "mean" */

/* Resolves the default baseline of A. Returns an error for a baseline that the input does not
 * support. */
enum attn_status attn_baseline_choose(struct attn_attribution *a, struct attn_error *err);

/* Fills a->b, after the embeddings of the text are in a->e. */
enum attn_status attn_baseline_find(struct attn_attribution *a, struct attn_error *err);

/* Returns true if the embedding is directly followed by a norm, so that its scale has no effect. */
bool attn_baseline_is_undone(const struct attn_attribution *a);
