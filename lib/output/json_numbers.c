/* json_numbers.c - see json_numbers.h. */
#include "output/json_numbers.h"

#include "encode/float_text.h"

#include <math.h>
#include <string.h>

void attn_json_append_number(struct attn_buffer *out, float value, int precision)
{
    char *text = attn_buffer_reserve(out, ATTN_NUMBER_TEXT_SIZE);

    if (!isfinite(value))
        attn_buffer_append_string(out, "null");
    else if (text)
        out->size += attn_number_text(value, precision, text);
}

/* Appends `,value` for each cell. */
static void append_cells(struct attn_buffer *text, const struct attn_cells *cells, int precision)
{
    char *out = NULL;

    for (size_t i = 0; i < cells->n; i++) {
        if (i % ATTN_NUMBERS_AT_ONCE == 0)
            out = attn_buffer_reserve(text,
                                      (size_t)ATTN_NUMBERS_AT_ONCE * (1 + ATTN_NUMBER_TEXT_SIZE));
        if (!out)
            return;
        *out++ = ',';
        if (isfinite(cells->values[i]))
            out += attn_number_text(cells->values[i], precision, out);
        else
            out = (char *)memcpy(out, "null", 4) + 4;
        text->size = (size_t)(out - text->data);
    }
}

/* Appends `,null` for each of N masked cells. */
static void append_masked(struct attn_buffer *text, size_t n)
{
    static const char null[] = ",null";
    const size_t size = sizeof null - 1;

    for (char *out = attn_buffer_reserve(text, n * size); out && n > 0; n--) {
        out = (char *)memcpy(out, null, size) + size;
        text->size += size;
    }
}

void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width, int precision)
{
    size_t begin = out->size, at = 0;
    struct attn_cells cells;

    while (attn_row_next(&row, &cells)) {
        append_masked(out, cells.first - at);
        append_cells(out, &cells, precision);
        at = cells.first + cells.n;
    }
    append_masked(out, width - at);
    if (!out->has_failed)
        out->data[begin] = '['; /* in place of the first comma */
    attn_buffer_append_char(out, ']');
}
