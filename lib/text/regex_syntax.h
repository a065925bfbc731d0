/*
 * regex_syntax.h - rewrites a pattern of Oniguruma, in the syntax of Ruby, for PCRE2.
 */
#ifndef ATTN_TEXT_REGEX_SYNTAX_H
#define ATTN_TEXT_REGEX_SYNTAX_H

#include "base/buffer.h"

/* Appends to OUT what means for PCRE2 (UTF, UCP, multi-line) what TEXT [size] means there.
 * ATTN_UNSUPPORTED where nothing does; NAME is the file's, for the message. */
enum attn_status attn_regex_rewrite(const char *text, size_t size, const char *name,
                                    struct attn_buffer *out, struct attn_error *err);

#endif
