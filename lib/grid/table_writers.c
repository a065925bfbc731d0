/* table_writers.c - an axis of a table of pairs of writers: the parts of a model that write into
 * the residual stream, in the order in which they write. */
#include "grid/table_cells_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* The writer that a row of the table names. Writers are sorted by the fields from the first on. */
struct writer {
    int group; /* 0: before the layers, 1: in a layer, 2: after the layers */
    struct attn_location at;
    bool is_part;  /* in a layer: heads come before other parts */
    size_t number; /* of the head, or of the part among those of the view */
    struct attn_cell part;
    size_t row; /* row of the table */
};

static int compare_writers(const struct writer *x, const struct writer *y)
{
    const int order = x->group == 1 && y->group == 1 ? attn_location_order(&x->at, &y->at) : 0;

    return x->group != y->group       ? (x->group < y->group ? -1 : 1)
           : order != 0               ? order
           : x->is_part != y->is_part ? (x->is_part ? 1 : -1)
                                      : (x->number > y->number) - (x->number < y->number);
}

static int by_writer(const void *a, const void *b)
{
    const struct writer *x = a, *y = b;
    const int order = compare_writers(x, y);

    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* Reads the writer of row ROW, whose part is in COLUMN. */
static struct writer read_writer(const struct attn_table *table, const struct attn_table_view *view,
                                 size_t column, size_t row)
{
    const bool is_other = attn_table_has_role(table, column, ATTN_ROLE_OTHER_PART);
    const size_t layer =
        attn_table_find_role(table, is_other ? ATTN_ROLE_OTHER_LAYER : ATTN_ROLE_LAYER);
    const struct attn_cell head = attn_table_cell(
        table, row, attn_table_find_role(table, is_other ? ATTN_ROLE_OTHER_HEAD : ATTN_ROLE_HEAD));
    struct writer writer = {.part = attn_table_cell(table, row, column), .row = row};

    writer.group = attn_table_read_layer(table, row, layer, &writer.at)    ? 1
                   : attn_cell_word(&writer.part, view->inputs) < SIZE_MAX ? 0
                                                                           : 2;
    writer.is_part = head.type != ATTN_VALUE_INTEGER;
    writer.number = !writer.is_part ? (size_t)head.integer
                                    : attn_cell_word(&writer.part, writer.group == 0 ? view->inputs
                                                                                     : view->parts);
    return writer;
}

/* Appends the label of WRITER: "2.5", "mlp 1" or "embed". */
static void append_label(struct attn_buffer *out, const struct writer *writer)
{
    if (writer->is_part)
        attn_buffer_append(out, writer->part.text, writer->part.size);
    if (writer->is_part && writer->group == 1)
        attn_buffer_append_char(out, ' ');
    if (writer->group == 1)
        attn_grid_append_layer(out, &writer->at);
    if (!writer->is_part)
        attn_buffer_append_format(out, ".%zu", writer->number);
}

enum attn_status attn_table_writers_read(const struct attn_table *table,
                                         const struct attn_table_view *view,
                                         const size_t columns[2], struct attn_table_axis *axis,
                                         struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct writer *writers;
    size_t n = 0, n_found = 0;

    ATTN_TRY(attn_table_axis_create(axis, n_row, n_row, err));
    ATTN_TRY(ATTN_ALLOC(writers, n_row, err));
    for (size_t row = 0; row < n_row; row++)
        if (!attn_table_is_missing(table, row, columns[0]) &&
            !attn_table_is_missing(table, row, columns[1]))
            writers[n++] = read_writer(table, view, columns[0], row);
    if (n > 0)
        qsort(writers, n, sizeof *writers, by_writer);
    for (size_t i = 0; i < n; i++) {
        const bool is_new = i == 0 || compare_writers(&writers[i - 1], &writers[i]) != 0;

        if (is_new) {
            append_label(&axis->texts.bytes, &writers[i]);
            axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
            axis->positions[n_found] = n_found;
            axis->begins[n_found++] =
                i > 0 && (writers[i - 1].group != writers[i].group ||
                          attn_location_order(&writers[i - 1].at, &writers[i].at) != 0);
        }
        axis->of_rows[writers[i].row] = n_found - 1;
    }
    attn_free(writers);
    axis->axis = (struct attn_grid_axis){
        .n = n_found,
        .texts = &axis->texts,
        .positions = axis->positions,
        .has_own_texts = true,
        .is_named = true,
        .title = attn_table_has_role(table, columns[0], ATTN_ROLE_PART) ? "written into the query"
                                                                        : "written into the key",
        .begins = axis->begins};
    return attn_buffer_check(&axis->texts.bytes, err);
}
