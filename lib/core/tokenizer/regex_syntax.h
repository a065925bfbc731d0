/* regex_syntax.h - rewrites a pattern from Oniguruma's Ruby syntax to PCRE2's. */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

/* How a property is written: by its name if PCRE2 has our version of Unicode; by its name plus the
 * characters added later if PCRE2 has the version of Debian 12; otherwise as a list of all
 * characters. Names are faster to compile and to match. */
enum attn_property_form {
    ATTN_PROPERTY_CHARACTERS,
    ATTN_PROPERTY_NAME,          /* Unicode ATTN_UNICODE_VERSION */
    ATTN_PROPERTY_NAME_AND_LATER /* Unicode 14 */
};

/* Returns the form for the installed PCRE2. */
enum attn_property_form attn_property_form_find(void);

/* Rewrites TEXT [size], a pattern for Oniguruma, for PCRE2 (UTF, UCP, multi-line), and appends it
 * to OUT, with properties in FORM. Returns ATTN_UNSUPPORTED if there is no equivalent. NAME is the
 * file, for messages. */
enum attn_status attn_regex_rewrite(const char *text, size_t size, const char *name,
                                    enum attn_property_form form, struct attn_buffer *out,
                                    struct attn_error *err);
