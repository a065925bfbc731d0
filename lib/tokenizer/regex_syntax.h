/* regex_syntax.h - rewrites a pattern of Oniguruma, in the syntax of Ruby, for PCRE2. */
#ifndef ATTN_TOKENIZER_REGEX_SYNTAX_H
#define ATTN_TOKENIZER_REGEX_SYNTAX_H

#include "base/buffer.h"

#include <stdbool.h>

/* Rewrites TEXT [size], a pattern of Oniguruma, for PCRE2 (UTF, UCP, multi-line), and appends it to
 * OUT. ATTN_UNSUPPORTED if there is no equivalent; NAME is the file, for messages. If
 * HAS_NUMBERS, properties are written as ranges of characters, for a PCRE2 whose Unicode is not
 * ATTN_UNICODE_VERSION. */
enum attn_status attn_regex_rewrite(const char *text, size_t size, const char *name,
                                    bool has_numbers, struct attn_buffer *out,
                                    struct attn_error *err);

#endif
