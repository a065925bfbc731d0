/*
 * model_init.h - makes a model directory with seeded random weights: a model of the articles, or a
 * toy.
 *
 *     const char *const settings[] = {"d_model=3", "d_head=2", "d_value=4"};
 *     struct attn_draw draws[2];
 *     attn_draw_parse("embed=randn@123", &draws[0], &err);
 *     attn_draw_parse("heads=rand@123", &draws[1], &err);
 *     struct attn_init_options options = {.size = sizeof options,
 *         .settings = settings, .n_setting = 3, .words = &list,
 *         .draws = draws, .n_draw = 2, .n_embedding_row = 50000};
 *     attn_init_create(&options, &init, &err);
 *     attn_init_write(init, "life", &err);
 *     attn_init_free(init);
 *
 * The random generator is PyTorch's for the CPU, without AVX2 (base/random.h). Weights of norms
 * begin as 1, their biases as 0. Other biases are 0 unless they are drawn with `linear`; with
 * "bias": true in the config each linear map has a bias.
 */
#pragma once

#include "base/status.h"
#include "tokenizer/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Groups of weights that are drawn together, layer by layer: X(NAME, name). */
#define ATTN_DRAW_GROUP_MAP(X)                                                                     \
    X(EMBED, "embed")                                                                              \
    X(POS, "pos")                                                                                  \
    X(HEADS, "heads") /* W_Q, W_K, W_V of a layer's first head, then of its second head, ... */    \
    X(QKV, "qkv")     /* the same weights: W_Q of all heads, then W_K, then W_V */                 \
    X(W_O, "W_O")                                                                                  \
    X(MLP, "mlp")                                                                                  \
    X(UNEMBED, "unembed")

enum attn_draw_group {
#define ATTN_DRAW_GROUP_ENUM(name, text) ATTN_DRAW_##name,
    ATTN_DRAW_GROUP_MAP(ATTN_DRAW_GROUP_ENUM)
#undef ATTN_DRAW_GROUP_ENUM
        ATTN_N_DRAW_GROUP
};

/* The distributions: X(NAME, name). */
#define ATTN_DISTRIBUTION_MAP(X)                                                                   \
    X(RANDN, "randn")       /* normal with mean 0 */                                               \
    X(NORMAL, "normal")     /* normal with a given mean and deviation */                           \
    X(RAND, "rand")         /* uniform, 0 <= x < 1 */                                              \
    X(RANDPERM, "randperm") /* 0 .. n-1 in random order, for each matrix or head */                \
    X(LINEAR, "linear")     /* as nn.Linear draws, also the bias; W_Q of all heads is one layer */ \
    X(GPT2, "gpt2") /* normal, deviation 0.02; the last matrix of a branch 0.02 / sqrt(2 n_layer)  \
                     */

enum attn_distribution {
#define ATTN_DISTRIBUTION_ENUM(name, text) ATTN_DISTRIBUTION_##name,
    ATTN_DISTRIBUTION_MAP(ATTN_DISTRIBUTION_ENUM)
#undef ATTN_DISTRIBUTION_ENUM
        ATTN_N_DISTRIBUTION
};

struct attn_draw {
    enum attn_draw_group group;
    enum attn_distribution distribution;
    double mean;      /* mean of NORMAL */
    double deviation; /* deviation of RANDN and NORMAL, above 0 */
    bool has_seed;    /* the generator starts again from `seed`; else it continues */
    uint64_t seed;
};

/* Parses "GROUP=DIST[@SEED]" into DRAW. DIST is the name of a distribution, randn:STD or
 * normal:MEAN:STD. The message of ATTN_INVALID names the form. */
enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err);

/* What to make. Everything is borrowed until attn_init_create returns. */
struct attn_init_options {
    size_t size;                 /* size of this struct */
    const char *config;          /* path of a config.json to start from, or NULL */
    const char *const *settings; /* [n_setting] "KEY=VALUE", which sets a key of the config; the
                                    last one of a key counts */
    size_t n_setting;
    /* The vocabulary; NULL: no vocab.json, so that texts are given as ids. */
    const struct attn_word_list *words;
    /* [n_draw], done in this order; groups without a draw follow, drawn as gpt2, in the order
     * embed, pos, qkv, W_O, mlp, unembed. */
    const struct attn_draw *draws;
    size_t n_draw;
    uint64_t seed;          /* seed of the generator before the first draw */
    size_t n_embedding_row; /* number of rows to draw, of which the first n_vocab are kept; 0:
                               n_vocab. At most 2^28 numbers are drawn and dropped */
};

#define ATTN_INIT_OPTIONS_DEFAULT                                                                  \
    ((struct attn_init_options){.size = sizeof(struct attn_init_options)})

struct attn_init; /* a model in memory, not yet in a directory */

/* Checks the options and draws the weights. ATTN_INVALID for wrong settings and draws, ATTN_FORMAT
 * and ATTN_UNSUPPORTED for a wrong config that results, ATTN_IO if the file of the config cannot be
 * read. */
enum attn_status attn_init_create(const struct attn_init_options *given, struct attn_init **init,
                                  struct attn_error *err);

/* Writes config.json, vocab.json and model.safetensors to DIRECTORY, which must not exist or be
 * empty. On failure (ATTN_IO) the directory is as it was before. */
enum attn_status attn_init_write(const struct attn_init *init, const char *directory,
                                 struct attn_error *err);

void attn_init_free(struct attn_init *init); /* NULL is allowed */
