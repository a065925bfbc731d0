/* kind.h - the kinds of attention. i is the position of a query among the keys, j the position of a
 * key. */
#ifndef ATTN_ATTENTION_KIND_H
#define ATTN_ATTENTION_KIND_H

#include "base/api.h"
#include "base/status.h"

#include <stddef.h>

/*
 * X(NAME, name, how it is written): the row of a kind is attn_kind_name. The pairs (i, j) that are
 * kept, the mask aside:
 *
 *   full      all
 *   window    |i-j| < W
 *   strided   |i-j| < S, or S divides i-j; S is sqrt of the keys, rounded up, by default
 *             (Child et al. 1904.10509)
 *   log       |i-j| is 0 or a power of two
 *   random    i = j, and K-1 other keys, drawn by seed, layer, head and row
 *   block     floor(i/B) = floor(j/B); with C, of positions in a grid of C columns, row by row,
 *             this holds for their rows and for their columns
 *   hybrid    |i-j| < W, or S divides i-j
 *   sink      j < K, or |i-j| < W (Xiao et al. 2309.17453)
 *
 * A number as large as the number of keys keeps all keys. Two kinds keep no pairs:
 *
 *   linear    phi(q) (phi(k)^T v), divided by phi(q) . sum phi(k) unless raw
 *             (Katharopoulos et al. 2006.16236)
 *   lowrank   softmax(q (E k)^T scale) (F v), E and F [R, S] drawn from N(0, 1/R), R <= S
 *             (Wang et al. 2006.04768)
 */
#define ATTN_ATTENTION_KIND_MAP(X)                                                                 \
    X(FULL, 0, full, "full")                                                                       \
    X(WINDOW, 1, window, "window:W")                                                               \
    X(STRIDED, 2, strided, "strided[:S]")                                                          \
    X(LOG, 3, log, "log")                                                                          \
    X(RANDOM, 4, random, "random:K[:SEED]")                                                        \
    X(BLOCK, 5, block, "block:B[:C]")                                                              \
    X(HYBRID, 6, hybrid, "hybrid:W:S")                                                             \
    X(SINK, 9, sink, "sink:K:W")                                                                   \
    X(LINEAR, 7, linear, "linear[:elu|relu|exp][:raw]")                                            \
    X(LOWRANK, 8, lowrank, "lowrank:R[:SEED]")

enum attn_attention_kind {
#define ATTN_ATTENTION_KIND_ENUM(name, number, ...) ATTN_ATTENTION_##name = (number),
    ATTN_ATTENTION_KIND_MAP(ATTN_ATTENTION_KIND_ENUM)
#undef ATTN_ATTENTION_KIND_ENUM
        ATTN_N_ATTENTION_KIND = 0 ATTN_ATTENTION_KIND_MAP(ATTN_COUNT)
};

#endif
