/*
 * head_patterns.h - the typical pattern of each head: its weights between the first tokens,
 * averaged over texts. A survey fills it, and a poster draws it:
 *
 *     attn_head_patterns_create(n_layer, n_head, &patterns, &err);
 *     args.patterns = patterns; // experiment/survey.h
 *     attn_head_patterns_free(patterns);
 */
#ifndef ATTN_ANALYSIS_HEAD_PATTERNS_H
#define ATTN_ANALYSIS_HEAD_PATTERNS_H

#include "base/api.h"
#include "base/status.h"

#include <stddef.h>

enum { ATTN_PATTERN_SIDE = 24 }; /* number of tokens */

struct attn_head_patterns;

/* Creates patterns without texts. The caller frees *patterns. */
ATTN_API enum attn_status attn_head_patterns_create(size_t n_layer, size_t n_head,
                                                    struct attn_head_patterns **patterns,
                                                    struct attn_error *err);
ATTN_API void attn_head_patterns_free(struct attn_head_patterns *patterns); /* NULL is allowed */

#endif
