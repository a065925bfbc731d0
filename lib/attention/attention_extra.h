/*
 * attention_extra.h - kinds of attention as users write them, and the sites that they give.
 *
 *     struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
 *     attn_attention_parse("window:64", &attention, &err);
 */
#ifndef ATTN_ATTENTION_ATTENTION_EXTRA_H
#define ATTN_ATTENTION_ATTENTION_EXTRA_H

#include "attention/attention.h"

/* Reads a kind with its parameters, as in "hybrid:32:64", into ATTENTION; the rest of it stays.
 * ATTN_INVALID for an unknown kind (the message lists them) and for parameters that are missing,
 * too many, below 1, or no whole numbers. */
ATTN_API enum attn_status attn_attention_parse(const char *text, struct attn_attention *attention,
                                               struct attn_error *err);

enum { ATTN_ATTENTION_TEXT_SIZE = 96 };

/* The kind as it is written, with all its parameters. Returns the length. */
ATTN_API size_t attn_attention_text(const struct attn_attention *attention,
                                    char text[ATTN_ATTENTION_TEXT_SIZE]);

/* Makes the matrix sites of DIMS those that any of ATTENTION [n_layer] gives, and sets n_rank: for
 * the selection of a run whose attention is not the model's own. */
ATTN_API void attn_attention_set_dims(const struct attn_attention *attention,
                                      struct attn_dims *dims);

#endif
