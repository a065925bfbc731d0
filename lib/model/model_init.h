/*
 * model_init.h - makes a model directory with seeded weights: those of the articles, or a toy.
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
 * biases as 0 unless they are drawn with `linear`; a config with "bias": true has them everywhere.
 */
#ifndef ATTN_MODEL_MODEL_INIT_H
#define ATTN_MODEL_MODEL_INIT_H

#include "model/draw.h"
#include "text/words.h"

#include <stddef.h>
#include <stdint.h>

/* Borrows everything until attn_init_create returns. */
struct attn_init_options {
    size_t size;                 /* of this struct */
    const char *config;          /* path of a config.json to begin with, or NULL */
    const char *const *settings; /* [n_setting] "KEY=VALUE" of its keys; the last of a key counts */
    size_t n_setting;
    const struct attn_word_list *words; /* the vocabulary; NULL: no vocab.json, ids only */
    const struct attn_draw *draws;      /* [n_draw], in this order; what they leave out follows as
                                           gpt2: embed, pos, qkv, W_O, mlp, unembed */
    size_t n_draw;
    uint64_t seed;          /* the generator's before the first draw */
    size_t n_embedding_row; /* rows that are drawn, of which the first are kept; 0: as many. At most
                               2^28 numbers are drawn and not kept */
    bool is_synced;         /* attn_init_write waits until the device has the files */
};

#define ATTN_INIT_OPTIONS_DEFAULT                                                                  \
    ((struct attn_init_options){.size = sizeof(struct attn_init_options)})

struct attn_init; /* a model in memory, not yet in a directory */

/*
 * Checks the options and draws the weights. ATTN_INVALID for settings and draws, ATTN_FORMAT and
 * ATTN_UNSUPPORTED for what the config then says, ATTN_IO when its file cannot be read.
 */
enum attn_status attn_init_create(const struct attn_init_options *given, struct attn_init **init,
                                  struct attn_error *err);

/*
 * Writes config.json, vocab.json and model.safetensors into DIRECTORY, which must be absent or
 * empty and is as it was after a failure, ATTN_IO.
 */
enum attn_status attn_init_write(const struct attn_init *init, const char *directory,
                                 struct attn_error *err);

void attn_init_free(struct attn_init *init); /* NULL is allowed */

#endif
