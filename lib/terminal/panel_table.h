/*
 * panel_table.h - what is kept of a matrix or of vectors (text_panel.h) as a table with labels.
 *
 *        query    Life      is   short
 *     0  Life   1.0000       .       .
 *     1  is     0.6012  0.3988       .
 *
 * A masked cell is `.`, what is left out `...`.
 */
#ifndef ATTN_TERMINAL_PANEL_TABLE_H
#define ATTN_TERMINAL_PANEL_TABLE_H

#include "encode/text_table.h"
#include "output/token_text.h"
#include "terminal/text_panel.h"

/* Initialize with = {0}; end with attn_panel_table_release. */
struct attn_panel_table {
    const struct attn_writer *writer; /* borrowed */
    struct attn_token_texts tokens, source_tokens;
    struct attn_text_table table;
    struct attn_buffer label; /* scratch */
    int digits;               /* after the point */
};

enum attn_status attn_panel_table_init(struct attn_panel_table *t, const struct attn_writer *writer,
                                       struct attn_error *err);

/* The same with the labels of pictures (attn_token_labels_init). */
enum attn_status attn_panel_table_init_labels(struct attn_panel_table *t,
                                              const struct attn_writer *writer,
                                              struct attn_error *err);
void attn_panel_table_release(struct attn_panel_table *t);

/* Whether rows and columns have texts beside their numbers. */
bool attn_panel_table_has_tokens(const struct attn_panel_table *t);

/* Columns that the table of PANEL takes, vectors or a matrix without labels above its columns. */
size_t attn_panel_table_width(struct attn_panel_table *t, const struct attn_text_panel *panel);

enum attn_status attn_panel_table_write(struct attn_panel_table *t,
                                        const struct attn_text_panel *panel, struct attn_sink *sink,
                                        struct attn_error *err);

/* Adds a row of "..." to the table that is being made. */
void attn_panel_table_add_gap(struct attn_panel_table *t);

#endif
