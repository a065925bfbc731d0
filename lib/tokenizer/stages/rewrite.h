/*
 * rewrite.h - a text written anew character by character, with the way back of the library
 * tokenizers.
 *
 * The library does not say what a new character was made of. Each carries `change`: how many
 * characters more (1: it was put in) or less (-n: n were left out after it) there are with it than
 * before. The way back counts along, so it is the same also where that is not what happened, as
 * when marks have changed places.
 */
#ifndef ATTN_TOKENIZER_STAGES_REWRITE_H
#define ATTN_TOKENIZER_STAGES_REWRITE_H

#include "tokenizer/pipeline.h"

/* Where the way back has come to. Set the first four; `before` is where the character before `at`
 * begins. */
struct attn_rewrite {
    struct attn_layer *layer;
    const char *text; /* [size] of the slice that the layer is made of */
    size_t size, at, before;
};

/* Appends CODE_POINT to the layer. */
void attn_rewrite_put(struct attn_rewrite *rewrite, uint32_t code_point, int change);

#endif
