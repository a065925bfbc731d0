/*
 * head_patterns.h - the typical pattern of each head: the mean over texts of its weights between
 * the first tokens. A survey fills it, and a poster draws it:
 *
 *     attn_head_patterns_create(n_layer, n_head, &patterns, &err);
 *     args.patterns = patterns;                                        // experiment/survey.h
 *     attn_head_patterns_free(patterns);
 */
#ifndef ATTN_ANALYSIS_HEAD_PATTERNS_H
#define ATTN_ANALYSIS_HEAD_PATTERNS_H

#include "base/api.h"
#include "base/status.h"

#include <stddef.h>

enum { ATTN_PATTERN_SIDE = 24 }; /* tokens */

struct attn_head_patterns;

/* The caller frees *PATTERNS. */
ATTN_API enum attn_status attn_head_patterns_create(size_t n_layer, size_t n_head,
                                                    struct attn_head_patterns **patterns,
                                                    struct attn_error *err);
ATTN_API void attn_head_patterns_free(struct attn_head_patterns *patterns); /* NULL is allowed */

#endif
