#include "tensors/format_internal.h"

#include "formats/float_text.h"

#include <math.h>
#include <string.h>

/* Appends `,value` for each cell. */
static void append_cells(struct attn_buffer *text, const struct attn_cells *cells, int precision,
                         const char *nothing)
{
    const size_t size = strlen(nothing);
    char *out = NULL;

    for (size_t i = 0; i < cells->n; i++) {
        /* reserves memory for several numbers, because a call for each would be noticeably
         * slower */
        if (i % ATTN_NUMBERS_AT_ONCE == 0)
            out = attn_buffer_reserve(text,
                                      (size_t)ATTN_NUMBERS_AT_ONCE * (1 + ATTN_NUMBER_TEXT_SIZE));
        if (!out)
            return;
        *out++ = ',';
        if (size == 0 || isfinite(cells->values[i]))
            out += attn_number_text(cells->values[i], precision, out);
        else
            out = (char *)memcpy(out, nothing, size) + size;
        text->size = (size_t)(out - text->data);
    }
}

/* Appends `,` and NOTHING for each of N masked cells. */
static void append_masked(struct attn_buffer *text, size_t n, const char *nothing)
{
    const size_t size = 1 + strlen(nothing);
    char *out = attn_buffer_reserve(text, n * size);

    if (!out)
        return;
    memset(out, ',', n * size);
    for (size_t i = 0; size > 1 && i < n; i++)
        memcpy(out + i * size + 1, nothing, size - 1);
    text->size += n * size;
}

void attn_row_append_text(struct attn_buffer *text, struct attn_row row, size_t width,
                          int precision, const char *nothing)
{
    struct attn_cells cells;
    size_t at = 0;

    while (attn_row_next(&row, &cells)) {
        append_masked(text, cells.first - at, nothing);
        append_cells(text, &cells, precision, nothing);
        at = cells.first + cells.n;
    }
    append_masked(text, width - at, nothing);
}

void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width, int precision)
{
    const size_t begin = out->size;

    attn_row_append_text(out, row, width, precision, "null");
    if (!out->has_failed)
        out->data[begin] = '['; /* replaces the first comma */
    attn_buffer_append_char(out, ']');
}
