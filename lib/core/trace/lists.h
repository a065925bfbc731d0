/*
 * lists.h - positions, layers and heads as a request names them: a program has them as numbers, a
 * person writes a text.
 *
 *     struct attn_number_list last_two = {.items = (const int64_t[]){-2, -1}, .n = 2};
 *     struct attn_number_list word = {.text = "it#2"}; // found after the text is tokenized
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
#include <stdint.h>

struct attn_number_list {
    /* A list in the form of trace/selection.h. For positions it may have words of the text and
     * names of places. NULL: not given. */
    const char *text;
    const int64_t *items; /* [n] from 0; -1 is the last one */
    size_t n;
};

struct attn_head_list {
    const char *text; /* a list in the form of trace/selection.h; NULL: not given */
    /* [n] heads, as attn_selection_add_head takes them; their sites are ignored. */
    const struct attn_location *items;
    size_t n;
};

#endif
