/*
 * version.h - which version this is.
 *
 *     if (strcmp(attn_version(), ATTN_VERSION) != 0)
 *         puts("compiled with the headers of another version");
 */
#ifndef ATTN_BASE_VERSION_H
#define ATTN_BASE_VERSION_H

#include "base/api.h"

/* Of these headers, and the one place that says it. The first two numbers are those of the shared
 * library's name. */
#define ATTN_VERSION "0.1.0"

/* The day of that version, which the manual page says; to be changed with it. */
#define ATTN_VERSION_DATE "2026-11-20"

ATTN_API const char *attn_version(void); /* of the library that runs */

#endif
