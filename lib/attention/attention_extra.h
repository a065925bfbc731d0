/*
 * attention_extra.h - parses and writes the kind of an attention, and lists the sites that it has.
 *
 *     struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
 *     attn_attention_parse("window:64", &attention, &err);
 */
#ifndef ATTN_ATTENTION_ATTENTION_EXTRA_H
#define ATTN_ATTENTION_ATTENTION_EXTRA_H

#include "attention/attention.h"

/* Parses a kind with its parameters, such as "hybrid:32:64", into ATTENTION. Other fields stay
 * unchanged. Returns ATTN_INVALID for an unknown kind (the message lists all kinds), and for
 * parameters that are missing, superfluous, below 1, or not whole numbers. */
ATTN_API enum attn_status attn_attention_parse(const char *text, struct attn_attention *attention,
                                               struct attn_error *err);

enum { ATTN_ATTENTION_TEXT_SIZE = 96 };

/* Writes the kind of ATTENTION with all its parameters to TEXT. Returns the length. */
ATTN_API size_t attn_attention_text(const struct attn_attention *attention,
                                    char text[ATTN_ATTENTION_TEXT_SIZE]);

/* Sets the matrix sites of DIMS to those that at least one of ATTENTION [n_layer] has, and sets
 * n_rank. For the selection of a run that does not use the model's own attention. */
ATTN_API void attn_attention_set_dims(const struct attn_attention *attention,
                                      struct attn_dims *dims);

#endif
