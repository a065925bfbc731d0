/*
 * version.h - the version of the library.
 *
 *     if (strcmp(attn_version(), ATTN_VERSION) != 0)
 *         puts("compiled with the headers of another version");
 */
#ifndef ATTN_BASE_VERSION_H
#define ATTN_BASE_VERSION_H

#include "base/api.h"

/* The version of these headers, defined only here. Between releases it is that of the next one with
 * ".dev0"; packages have the number of the build instead. `make release` changes it. */
#define ATTN_VERSION "1.0.0-rc1.dev0"

/* The version of the binary interface, incremented when programs that use attn.h must be recompiled
 * (attn.h has the rule). The shared library is named after it: libattn.so.1. */
#define ATTN_ABI 1

/* The date of that version, printed in the manual page and kept in packages. */
#define ATTN_VERSION_DATE "2026-11-22"

/* Versions of Unicode: for letters, numbers and scripts in patterns of tokenizers, and for their
 * other parts. Each matches what the library tokenizers 0.23 uses there. BERT's is for accents,
 * punctuation and controls. */
#define ATTN_UNICODE_VERSION "16.0.0"
#define ATTN_UNICODE_NORMAL_FORMS "9.0.0"
#define ATTN_UNICODE_LOWER_CASE "17.0.0"
#define ATTN_UNICODE_BERT "8.0.0"
#define ATTN_UNICODE_VERSIONS                                                                      \
    ATTN_UNICODE_VERSION " (normal forms " ATTN_UNICODE_NORMAL_FORMS                               \
                         ", lower case " ATTN_UNICODE_LOWER_CASE ", BERT " ATTN_UNICODE_BERT ")"

ATTN_API const char *attn_version(void); /* version of the library at run time */

#endif
