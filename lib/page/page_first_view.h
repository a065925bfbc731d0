/*
 * page_first_view.h - what a page shows before its script runs, and where none runs: all heads as
 * one picture, and a table of one of them.
 */
#ifndef ATTN_PAGE_PAGE_FIRST_VIEW_H
#define ATTN_PAGE_PAGE_FIRST_VIEW_H

#include "output/token_text.h"
#include "page/page_heads.h"

enum { ATTN_PAGE_MOST_ROWS = 64 }; /* and columns of a head that is shown as a table */

struct attn_page_first_view {
    const struct attn_writer *writer;
    const struct attn_page_heads *heads;
    const struct attn_token_texts *tokens, *source_tokens;
    const struct attn_page_head *head; /* of the table */
    const float *cells;                /* [n_row * n_column] NaN: masked; NULL: there is no table */
    int n_digit;                       /* decimals of its numbers */
};

/* Writes both to SINK, whose failure is for the caller to look at. */
enum attn_status attn_page_first_view_write(const struct attn_page_first_view *view,
                                            struct attn_sink *sink, struct attn_error *err);

/* Appends what a head is called: "layer 2, head 5"; of arrays "batch 0, head 3", "head 3". */
void attn_page_head_append_name(struct attn_buffer *out, const struct attn_page_head *head,
                                const struct attn_labels *labels);

#endif
