/*
 * model_init.h - makes a model directory with seeded weights: a model of the articles, or a toy.
 *
 *     const char *const settings[] = {"d_model=3", "d_head=2", "d_value=4"};
 *     struct attn_draw draws[2];
 *     attn_draw_parse("embed=randn@123", &draws[0], &err);
 *     attn_draw_parse("heads=rand@123", &draws[1], &err);
 *     struct attn_init_options options = {.size = sizeof options,
 *                                         .settings = settings, .n_setting = 3, .words = &list,
 *                                         .draws = draws, .n_draw = 2, .n_embedding_row = 50000};
 *     attn_init_create(&options, &init, &err);
 *     attn_init_write(init, "life", &err);
 *     attn_init_free(init);
 *
 * The generator is PyTorch's for the CPU, without AVX2 (base/random.h). Norms begin as 1 and 0,
 * biases as 0 unless they are drawn with `linear`; with "bias": true in the config every map has a
 * bias.
 */
#ifndef ATTN_MAKE_MODEL_INIT_H
#define ATTN_MAKE_MODEL_INIT_H

#include "base/status.h"
#include "tokenizer/words.h"

#include <stdbool.h>
#include <stddef.h>
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
    X(RANDN, "randn")       /* normal, mean 0 */                                                   \
    X(NORMAL, "normal")     /* normal, with a given mean and deviation */                          \
    X(RAND, "rand")         /* uniform, 0 <= x < 1 */                                              \
    X(RANDPERM, "randperm") /* 0 .. n-1 in random order, per matrix or head of it */               \
    X(LINEAR, "linear")     /* as nn.Linear, bias too; W_Q of all heads is one layer */            \
    X(GPT2, "gpt2")         /* normal, 0.02; the last map of a branch 0.02 / sqrt(2 n_layer) */

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
    bool has_seed;    /* SEED restarts the generator; otherwise it continues */
    uint64_t seed;
};

/* "GROUP=DIST[@SEED]", DIST also randn:STD and normal:MEAN:STD; ATTN_INVALID names the form. */
enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err);

/* Borrows everything until attn_init_create returns. */
struct attn_init_options {
    size_t size;                 /* of this struct */
    const char *config;          /* path of a config.json to begin with, or NULL */
    const char *const *settings; /* [n_setting] "KEY=VALUE" of its keys; the last of a key counts */
    size_t n_setting;
    const struct attn_word_list *words; /* the vocabulary; NULL: no vocab.json, ids only */
    const struct attn_draw *draws; /* [n_draw], in this order; groups without a draw follow as gpt2:
                                      embed, pos, qkv, W_O, mlp, unembed */
    size_t n_draw;
    uint64_t seed;          /* seed of the generator, before the first draw */
    size_t n_embedding_row; /* rows to draw; the first n_vocab are kept; 0: n_vocab. At most 2^28
                               numbers are drawn and dropped */
    bool is_synced;         /* attn_init_write waits until the files are on the device */
};

#define ATTN_INIT_OPTIONS_DEFAULT                                                                  \
    ((struct attn_init_options){.size = sizeof(struct attn_init_options)})

struct attn_init; /* a model in memory, not yet in a directory */

/* Checks the options and draws the weights. ATTN_INVALID for settings and draws, ATTN_FORMAT and
 * ATTN_UNSUPPORTED for the resulting config, ATTN_IO if its file cannot be read. */
enum attn_status attn_init_create(const struct attn_init_options *given, struct attn_init **init,
                                  struct attn_error *err);

/* Writes config.json, vocab.json and model.safetensors into DIRECTORY, which must be absent or
 * empty. A failure, ATTN_IO, leaves it as it was. */
enum attn_status attn_init_write(const struct attn_init *init, const char *directory,
                                 struct attn_error *err);

void attn_init_free(struct attn_init *init); /* NULL is allowed */

#endif
