#pragma once

#include "base/buffer.h"
#include "params/param.h"

/* Sets and returns ATTN_INVALID: "'top' is 'x', expected ...". */
enum attn_status attn_param_refuse(struct attn_error *err, const char *label, const char *text,
                                   const char *format, ...) ATTN_PRINTF(4, 5);

/* Appends text number I of PARAM, of type TEXTS or NAMED, in HOME to OUT. Returns false if there is
 * none. */
bool attn_param_write(const struct attn_param *param, const void *home, size_t i,
                      struct attn_buffer *out);

/* Returns true if PARAM has another value in HOME than in DEFAULTS. */
bool attn_param_is_set(const struct attn_param *param, const void *home, const void *defaults);

/* Returns the index of WORD [size] in LIST, "sum|token", or -1. */
int attn_param_find_word(const char *list, const char *word, size_t size);
