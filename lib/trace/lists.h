/*
 * lists.h - heads as a request names them: a program has them as numbers, a person writes a text.
 *
 *     const struct attn_location two[] = {{.layer = 2, .head = 5}, {.layer = 3, .head = 1}};
 *     struct attn_head_list heads = {.items = two, .n = 2};
 *     struct attn_head_list same = {.text = "2.5,3.1"};
 *
 * If both are given, the numbers are used. A list without numbers and text is not given. Borrowed.
 */
#ifndef ATTN_TRACE_LISTS_H
#define ATTN_TRACE_LISTS_H

#include "trace/location.h"
#include "trace/site.h"

#include <stddef.h>

struct attn_head_list {
    const char *text; /* a list in the form of trace/selection.h; NULL: not given */
    /* [n] heads, as attn_selection_add_head takes them; their sites are ignored. */
    const struct attn_location *items;
    size_t n;
};

#endif
