/* table_caption.c - see table_caption.h. */
#include "figures/table_caption_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "figures/table_picture_internal.h"
#include "tables/table_writer_internal.h"

#include <string.h>

enum { MOST_TEXT = 200 }; /* columns of a text */

/* Appends "; NAME: TEXT", cut. */
static void append_sentence(struct attn_buffer *out, const char *name, const char *text, size_t n)
{
    struct attn_buffer printable = {0};

    if (!text)
        return;
    attn_escape_append(&printable, text, n);
    attn_buffer_append_format(out, name ? "; %s: " : "; ", name);
    attn_text_append_cut(out, printable.data, printable.size, MOST_TEXT, ATTN_ELLIPSIS);
    out->has_failed |= printable.has_failed;
    attn_buffer_release(&printable);
}

const char *attn_table_caption(const struct attn_table *table, const struct attn_table_grid *grid,
                               struct attn_buffer *out)
{
    const size_t values = grid->values ? attn_table_find(table, grid->values) : SIZE_MAX;
    struct attn_table_words words = {0};

    if (values < SIZE_MAX)
        attn_table_words_find(&words, attn_table_column(table, values), grid);
    attn_buffer_append_string(out, words.title ? words.title : attn_table_name(table));
    out->has_failed |= words.bytes.has_failed;
    attn_table_words_release(&words);
    append_sentence(out, NULL, grid->model, grid->model ? strlen(grid->model) : 0);
    append_sentence(out, grid->text_name, grid->text, grid->n_text);
    append_sentence(out, grid->other_name, grid->other, grid->n_other);
    return attn_buffer_string(out);
}

enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                            const struct attn_table_grid *grid,
                                            enum attn_table_form form, int precision,
                                            struct attn_sink *sink, struct attn_error *err)
{
    struct attn_buffer caption = {0};
    struct attn_table_fit fit = {0};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(grid, "grid", err) ||
        !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    fit.caption = attn_table_caption(table, grid, &caption);
    fit.n_group = grid->n_label;
    status = attn_buffer_check(&caption, err);
    if (status == ATTN_OK)
        status = attn_table_write_fitted(table, form, precision, &fit, sink, err);
    attn_buffer_release(&caption);
    return status;
}
