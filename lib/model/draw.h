/*
 * draw.h - which weights are drawn, and how: a part of making a model (model_init.h).
 *
 *     struct attn_draw draw;
 *     attn_draw_parse("embed=randn@123", &draw, &err);
 */
#ifndef ATTN_MODEL_DRAW_H
#define ATTN_MODEL_DRAW_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Weights that are drawn together, layer by layer. X(NAME, name) */
#define ATTN_DRAW_GROUP_MAP(X)                                                                     \
    X(EMBED, "embed")                                                                              \
    X(POS, "pos")                                                                                  \
    X(HEADS, "heads") /* a layer's W_Q, W_K, W_V of the first head, then of the second, ... */     \
    X(QKV, "qkv")     /* the same tensors: W_Q of all heads, then W_K, then W_V */                 \
    X(W_O, "W_O")                                                                                  \
    X(MLP, "mlp")                                                                                  \
    X(UNEMBED, "unembed")

enum attn_draw_group {
#define ATTN_DRAW_GROUP_ENUM(name, text) ATTN_DRAW_##name,
    ATTN_DRAW_GROUP_MAP(ATTN_DRAW_GROUP_ENUM)
#undef ATTN_DRAW_GROUP_ENUM
        ATTN_N_DRAW_GROUP
};

/* X(NAME, name) */
#define ATTN_DISTRIBUTION_MAP(X)                                                                   \
    X(RANDN, "randn")   /* normal, mean 0 */                                                       \
    X(NORMAL, "normal") /* normal, of a mean and a deviation that are given */                     \
    X(RAND, "rand")     /* uniform, 0 <= x < 1 */                                                  \
    X(RANDPERM,                                                                                    \
      "randperm")       /* 0 .. n-1 in any order, n the numbers of a matrix or of one head's */    \
    X(LINEAR, "linear") /* as nn.Linear begins, its bias too; W_Q of all heads is one layer */     \
    X(GPT2, "gpt2")     /* normal, 0.02; what ends a branch 0.02 / sqrt(2 n_layer) */

enum attn_distribution {
#define ATTN_DISTRIBUTION_ENUM(name, text) ATTN_DISTRIBUTION_##name,
    ATTN_DISTRIBUTION_MAP(ATTN_DISTRIBUTION_ENUM)
#undef ATTN_DISTRIBUTION_ENUM
        ATTN_N_DISTRIBUTION
};

struct attn_draw {
    enum attn_draw_group group;
    enum attn_distribution distribution;
    double mean;      /* of normal */
    double deviation; /* of randn and normal, above 0 */
    bool has_seed;    /* the generator begins anew with SEED; otherwise it goes on */
    uint64_t seed;
};

/* "GROUP=DIST[@SEED]", DIST also randn:STD and normal:MEAN:STD; ATTN_INVALID says what is expected. */
enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err);

const char *attn_draw_group_name(enum attn_draw_group group);

#endif
