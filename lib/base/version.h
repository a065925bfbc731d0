/*
 * version.h - which version this is.
 *
 *     if (strcmp(attn_version(), ATTN_VERSION) != 0)
 *         puts("compiled with the headers of another version");
 */
#ifndef ATTN_BASE_VERSION_H
#define ATTN_BASE_VERSION_H

#include "base/api.h"

/* Of these headers, and the one place that says it. */
#define ATTN_VERSION "0.2.0"

/* Of the binary interface: one more when programs must be compiled again. The shared library is
 * named by it, libattn.so.1. */
#define ATTN_ABI 1

/* The day of that version, which the manual page says; to be changed with it. */
#define ATTN_VERSION_DATE "2026-11-21"

ATTN_API const char *attn_version(void); /* of the library that runs */

#endif
