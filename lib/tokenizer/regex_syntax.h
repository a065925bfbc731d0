/* regex_syntax.h - rewrites a pattern of Oniguruma, in the syntax of Ruby, for PCRE2. */
#ifndef ATTN_TOKENIZER_REGEX_SYNTAX_H
#define ATTN_TOKENIZER_REGEX_SYNTAX_H

#include "base/buffer.h"

#include <stdbool.h>

/* How a property is written: its name where PCRE2 has our version of Unicode, the name and the
 * characters that came later where it has that of Debian 12, else all characters. PCRE2 compiles
 * and finds a name faster. */
enum attn_property_form {
    ATTN_PROPERTY_CHARACTERS,
    ATTN_PROPERTY_NAME,          /* Unicode ATTN_UNICODE_VERSION */
    ATTN_PROPERTY_NAME_AND_LATER /* Unicode 14 */
};

/* The form for PCRE2 as it is installed. */
enum attn_property_form attn_property_form_find(void);

/* Rewrites TEXT [size], a pattern of Oniguruma, for PCRE2 (UTF, UCP, multi-line), and appends it to
 * OUT, with properties in FORM. ATTN_UNSUPPORTED if there is no equivalent; NAME is the file, for
 * messages. */
enum attn_status attn_regex_rewrite(const char *text, size_t size, const char *name,
                                    enum attn_property_form form, struct attn_buffer *out,
                                    struct attn_error *err);

#endif
