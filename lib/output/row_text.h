/*
 * row_text.h - the rows of an event as text: a format says how one reads, and all threads of the
 * writer's pool make them.
 */
#ifndef ATTN_OUTPUT_ROW_TEXT_H
#define ATTN_OUTPUT_ROW_TEXT_H

#include "output/writer.h"

/* Appends row R of EVENT to TEXT. Runs on any thread: it only reads what WRITER has, and leaves
 * failures in TEXT. */
typedef void (*attn_row_text_fn)(const struct attn_writer *writer,
                                 const struct attn_trace_event *event,
                                 const struct attn_place *place, size_t r,
                                 struct attn_buffer *text);

/* Writes all rows of EVENT to SINK, whose failure is for the caller to look at. */
enum attn_status attn_row_text_write(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, attn_row_text_fn append_row,
                                     struct attn_sink *sink, struct attn_error *err);

#endif
