/* figure_text.c - what a figure says: labels of rows and columns, and of what it is. */
#include "figures/figure_internal.h"

#include "base/path.h"
#include "encode/text_table.h"
#include "trace/site_internal.h"

#include <string.h>

enum { LABEL_COLUMNS = 14 };

double attn_figure_text_width(size_t n, double size)
{
    return (double)n * size * ATTN_SHAPES_EM;
}

size_t attn_figure_position(const struct attn_figure_axis *axis, size_t i)
{
    return axis->positions ? axis->positions[i] : i;
}

const char *attn_figure_label(struct attn_figure_pen *pen, const struct attn_figure_axis *axis,
                              size_t i, size_t *n)
{
    struct attn_buffer *label = &pen->scratch;
    const size_t position = attn_figure_position(axis, i);
    const size_t at = axis->has_own_texts ? i : position;
    const char *text;
    size_t size;

    label->size = 0;
    if (!axis->texts) {
        attn_buffer_append_format(label, "%zu", position);
        *n = label->size;
        return label->data;
    }
    text = attn_token_text(axis->texts, at, &size);
    for (; size > 0 && *text == ' '; size--)
        text++;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    if (size == 0) {
        text = attn_token_text(axis->texts, at, &size);
        attn_buffer_append_format(label, "'%.*s'",
                                  (int)attn_text_fit(text, size, LABEL_COLUMNS - 2), text);
    } else if (attn_text_width(text, size) > LABEL_COLUMNS) {
        attn_buffer_append(label, text, attn_text_fit(text, size, LABEL_COLUMNS - 1));
        attn_buffer_append_string(label, "\xe2\x80\xa6"); /* U+2026, an ellipsis */
    } else {
        attn_buffer_append(label, text, size);
    }
    *n = label->size;
    return label->data;
}

static size_t count_digits(size_t n)
{
    size_t digits = 1;

    for (; n >= 10; n /= 10)
        digits++;
    return digits;
}

static void measure_axis(struct attn_figure_pen *pen, struct attn_figure_axis *axis)
{
    for (size_t i = 0; i < axis->n; i++) {
        const size_t n_digit = count_digits(attn_figure_position(axis, i));
        size_t size, width;
        const char *text = attn_figure_label(pen, axis, i, &size);

        width = text ? attn_text_width(text, size) : 0;
        axis->most_columns = width > axis->most_columns ? width : axis->most_columns;
        axis->n_digit = n_digit > axis->n_digit ? n_digit : axis->n_digit;
    }
}

static const struct attn_token_texts *texts_or_none(const struct attn_token_texts *texts)
{
    return texts && texts->n > 0 ? texts : NULL;
}

/* The tokens of what a layer attends to. */
static const struct attn_token_texts *key_texts(const struct attn_figure_pen *pen, int layer)
{
    const struct attn_figure_content *content = pen->content;

    return texts_or_none(attn_writer_has_own_keys(content->writer, layer) ? content->tokens
                                                                          : content->source_tokens);
}

struct attn_figure_axis attn_figure_rows(struct attn_figure_pen *pen,
                                         const struct attn_level_matrix *matrix)
{
    const enum attn_site_layout layout = attn_site_layout(matrix->site);
    const bool is_key = layout == ATTN_LAYOUT_KEY;
    struct attn_figure_axis axis = {.n = matrix->n_row};

    if (pen->content->grid) {
        axis = *pen->content->grid->rows;
        measure_axis(pen, &axis);
        return axis;
    }
    axis.texts = is_key ? key_texts(pen, matrix->layer) : texts_or_none(pen->content->tokens);
    axis.positions = is_key ? NULL : pen->content->writer->queries;
    axis.title = attn_site_has_keys(matrix->site) || layout == ATTN_LAYOUT_RANK
                     ? "query: attends"
                     : attn_writer_row_name(pen->content->writer, matrix->site);
    measure_axis(pen, &axis);
    return axis;
}

struct attn_figure_axis attn_figure_columns(struct attn_figure_pen *pen,
                                            const struct attn_level_matrix *matrix)
{
    const enum attn_site_layout layout = attn_site_layout(matrix->site);
    struct attn_figure_axis axis = {.n = matrix->n_column, .title = "component"};

    if (pen->content->grid)
        axis = *pen->content->grid->columns;

    else if (layout == ATTN_LAYOUT_RANK)
        axis.title = "projected key";
    else if (attn_site_has_keys(matrix->site)) {
        axis.title = "key: attended to";
        axis.texts = key_texts(pen, matrix->layer);
    }
    measure_axis(pen, &axis);
    return axis;
}

/* --- What it is ------------------------------------------------------------------------------- */

static void append_part(struct attn_buffer *out, const char *name, int number)
{
    if (out->size > 0)
        attn_buffer_append_string(out, ", ");
    attn_buffer_append_format(out, "%s %d", name, number);
}

static void append_model(struct attn_buffer *out, const char *model)
{
    size_t size;
    const char *name = attn_path_last(model, &size);

    attn_buffer_append(out, name, size);
}

/* What the matrices have in common. */
static void append_matrices(struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_writer *writer = pen->content->writer;
    const struct attn_level_matrix *first = attn_figure_matrix(pen, 0);
    const struct attn_array_axes *axes = writer->labels.axes;
    const struct attn_head_number number =
        attn_writer_head_number(writer, first->site, first->head);
    bool has_one_layer = first->layer != ATTN_NO_LAYER && !axes;
    bool has_one_head = attn_site_has_heads(first->site) && (!axes || axes->rank > 2);
    bool has_one_batch = axes && axes->rank == 4;

    for (size_t i = 1; i < pen->content->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);
        const struct attn_head_number other =
            attn_writer_head_number(writer, matrix->site, matrix->head);

        has_one_layer &= matrix->layer == first->layer;
        has_one_head &= other.head == number.head;
        has_one_batch &= other.batch == number.batch;
    }
    if (writer->labels.model)
        append_model(out, writer->labels.model);
    if (has_one_layer)
        append_part(out, "layer", first->layer);
    if (has_one_batch)
        append_part(out, "batch", number.batch);
    if (has_one_head)
        append_part(out, "head", number.head);
}

void attn_figure_append_subject(struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_figure_grid *grid = pen->content->grid;

    if (!grid)
        append_matrices(pen, out);
    else if (grid->model)
        append_model(out, grid->model);
}
