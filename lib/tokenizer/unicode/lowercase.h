/*
 * lowercase.h - lower case of single characters, by Unicode's data.
 */
#ifndef ATTN_TOKENIZER_UNICODE_LOWERCASE_H
#define ATTN_TOKENIZER_UNICODE_LOWERCASE_H

#include <stddef.h>
#include <stdint.h>

/* Stores the lower case of CODE_POINT, or the code point itself; returns the number of characters:
 * 1, or 2 for U+0130. */
size_t attn_lowercase(uint32_t code_point, uint32_t lower[2]);

#endif
