/* table_writer_internal.h - functions of the table writer that are private to the library. */
#pragma once

#include "base/buffer.h"
#include "formats/json_writer.h"
#include "params/param.h"
#include "tables/table_order.h"
#include "tables/table_writer.h"

enum attn_status attn_table_write_styled(const struct attn_table *table,
                                         const struct attn_table_style *style,
                                         struct attn_sink *sink, struct attn_error *err);

/* Writes TABLE in STYLE, whose form must be aligned text, LaTeX or Markdown. */
enum attn_status attn_table_write_lines(const struct attn_table *table,
                                        const struct attn_table_style *style,
                                        struct attn_sink *sink, struct attn_error *err);

/* Appends CELL of COLUMN to OUT in the form of aligned text, for a value inside a sentence. */
void attn_table_append_cell(struct attn_buffer *out, int precision,
                            const struct attn_column *column, const struct attn_cell *cell);

/* Appends CELL of COLUMN to OUT in the form of STYLE, which must not be JSON. */
void attn_table_append_styled(struct attn_buffer *out, struct attn_table_style style,
                              const struct attn_column *column, const struct attn_cell *cell);

/* Writes CELL of COLUMN as a JSON value; null if it is missing or not finite. */
void attn_table_push_cell(struct attn_json_writer *json, const struct attn_column *column,
                          const struct attn_cell *cell, int precision);

/* Writes CELL of COLUMN as a member of the object that JSON is in. */
void attn_table_push_member(struct attn_json_writer *json, const struct attn_column *column,
                            const struct attn_cell *cell, int precision);

/* Begin and end the document of a table NAME around its rows, with the members ABOUT, or NULL. */
void attn_table_begin_document(struct attn_json_writer *json, const char *name,
                               const struct attn_table *about, int precision);
void attn_table_end_document(struct attn_json_writer *json);

/* The parameters `sort` and `limit` of a struct that begins with a struct attn_table_order; the
 * arguments are their help texts. */
#define ATTN_TABLE_ORDER_PARAMS(sort_help, limit_help)                                             \
    ATTN_PARAM(TEXT, "sort", "COLUMN[:up|down]", struct attn_table_order, sort, sort_help),        \
        ATTN_PARAM(COUNT, "limit", "N", struct attn_table_order, n_most, limit_help,               \
                   .most = INT32_MAX)

/* The parameters with help texts that fit any table. */
extern const struct attn_param_list attn_table_order_params;
