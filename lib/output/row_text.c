/* row_text.c - see row_text.h. */
#include "output/row_text.h"

enum { PIECE_CELLS = 1 << 13 }; /* a tenth of a millisecond, 100 KiB of numbers */

struct rows {
    const struct attn_writer *writer;
    const struct attn_trace_event *event;
    const struct attn_place *place;
    attn_row_text_fn append_row;
    size_t n_at_once; /* rows of a piece */
};

/* An attn_piece_fn. */
static void append_rows(const void *context, size_t i, struct attn_buffer *text)
{
    const struct rows *rows = context;
    size_t begin = i * rows->n_at_once, n = rows->event->n_row - begin;

    if (n > rows->n_at_once)
        n = rows->n_at_once;
    for (size_t r = begin; r < begin + n; r++)
        rows->append_row(rows->writer, rows->event, rows->place, r, text);
}

enum attn_status attn_row_text_write(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, attn_row_text_fn append_row,
                                     struct attn_sink *sink, struct attn_error *err)
{
    struct rows rows = {writer, event, place, append_row,
                        PIECE_CELLS / (place->extent.n_col + 1) + 1};
    size_t n_piece = (event->n_row - 1) / rows.n_at_once + 1;
    enum attn_status status = ATTN_OK;

    if (!writer->pieces)
        status = attn_pieces_create(writer->options.pool, &writer->pieces, err);
    return status == ATTN_OK
               ? attn_pieces_write(writer->pieces, n_piece, append_rows, &rows, sink, err)
               : status;
}
