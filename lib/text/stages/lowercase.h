/*
 * lowercase.h - lower case of single characters, by Unicode's data.
 */
#ifndef ATTN_TEXT_STAGES_LOWERCASE_H
#define ATTN_TEXT_STAGES_LOWERCASE_H

#include <stddef.h>
#include <stdint.h>

/* Stores the lower case of CODE_POINT, itself when it has none; returns how many characters that
 * is: 1, or 2 for U+0130. */
size_t attn_lowercase(uint32_t code_point, uint32_t lower[2]);

#endif
