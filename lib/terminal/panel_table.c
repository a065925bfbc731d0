/* panel_table.c - see panel_table.h. */
#include "terminal/panel_table.h"

#include "encode/color_scale_internal.h"
#include "encode/float_text.h"
#include "output/picture_internal.h"
#include "trace/site_internal.h"

#include <math.h>
#include <string.h>

enum {
    LABEL_WIDTH = 10, /* of a token beside or above a matrix */
    DIGITS = 4,
    TOKEN_COLUMN = 1, /* the second column of a matrix, flush left */
};

static void begin(struct attn_panel_table *t, const struct attn_writer *writer)
{
    t->writer = writer;
    t->digits = DIGITS;
    t->table.depth = writer->options.picture->depth;
}

enum attn_status attn_panel_table_init(struct attn_panel_table *t, const struct attn_writer *writer,
                                       struct attn_error *err)
{
    enum attn_status status = attn_token_texts_init(&t->tokens, &writer->labels, err);

    begin(t, writer);
    return status == ATTN_OK ? attn_token_texts_init_source(&t->source_tokens, &writer->labels, err)
                             : status;
}

enum attn_status attn_panel_table_init_labels(struct attn_panel_table *t,
                                              const struct attn_writer *writer,
                                              struct attn_error *err)
{
    enum attn_status status = attn_token_labels_init(&t->tokens, &writer->labels, err);

    begin(t, writer);
    return status == ATTN_OK
               ? attn_token_labels_init_source(&t->source_tokens, &writer->labels, err)
               : status;
}

void attn_panel_table_release(struct attn_panel_table *t)
{
    attn_token_texts_release(&t->tokens);
    attn_token_texts_release(&t->source_tokens);
    attn_text_table_release(&t->table);
    attn_buffer_release(&t->label);
}

/* A token for the edge of a matrix: without the blanks around it, which BPE tokens begin with, and
 * cut to LABEL_WIDTH. A token of blanks alone is quoted. */
static void make_label(struct attn_panel_table *t, const struct attn_token_texts *tokens,
                       size_t position)
{
    size_t size;
    const char *text = attn_token_text(tokens, position, &size);

    t->label.size = 0; /* unlike a reset this keeps a failure, which the write finds */
    for (; size > 0 && *text == ' '; size--)
        text++;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    if (size == 0) {
        text = attn_token_text(tokens, position, &size);
        attn_buffer_append_format(&t->label, "'%.*s'", (int)attn_text_fit(text, size, 8), text);
    } else {
        attn_text_append_cut(&t->label, text, size, LABEL_WIDTH);
    }
}

static void add_label(struct attn_panel_table *t, const struct attn_token_texts *tokens,
                      size_t position)
{
    make_label(t, tokens, position);
    attn_text_table_cell(&t->table, t->label.data, t->label.size);
}

bool attn_panel_table_has_tokens(const struct attn_panel_table *t)
{
    return t->tokens.n > 0;
}

/* The tokens of what a layer attends to. */
static const struct attn_token_texts *key_tokens(const struct attn_panel_table *t, int layer)
{
    return attn_writer_has_own_keys(t->writer, layer) ? &t->tokens : &t->source_tokens;
}

/* A line of labels above the columns: TOKENS, or NULL for numbers. CORNER says what the rows
 * are. */
static void add_header(struct attn_panel_table *t, const struct attn_text_panel *panel,
                       const char *corner, const struct attn_token_texts *tokens)
{
    if (attn_panel_table_has_tokens(t))
        attn_text_table_string(&t->table, ""); /* above the positions */
    attn_text_table_string(&t->table, corner);
    for (size_t c = 0; c < panel->columns.n_shown; c++) {
        if (has_gap(panel->columns, c))
            attn_text_table_string(&t->table, "...");
        if (tokens)
            add_label(t, tokens, window_thing(panel->columns, c));
        else
            attn_text_table_number(&t->table, window_thing(panel->columns, c));
    }
}

/* Columns of the positions and labels of its rows. */
static size_t label_columns(struct attn_panel_table *t, const struct attn_text_panel *panel)
{
    const char *corner = attn_writer_row_name(t->writer, panel->site);
    size_t widest = strlen(corner), digits = 1;

    for (size_t n = t->writer->n_position; n > 10; n /= 10)
        digits++;
    if (!attn_panel_table_has_tokens(t))
        return digits > widest ? digits : widest;
    for (size_t r = 0; r < panel->rows.n_shown; r++) {
        const size_t row = window_thing(panel->rows, r);
        size_t width;

        make_label(t, &t->tokens, t->writer->queries[row]);
        width = attn_text_width(t->label.data, t->label.size);
        widest = width > widest ? width : widest;
    }
    if (is_shortened(panel->rows) && digits < strlen("..."))
        digits = strlen("...");
    return digits + 2 + widest;
}

size_t attn_panel_table_width(struct attn_panel_table *t, const struct attn_text_panel *panel)
{
    size_t width = label_columns(t, panel) + (is_shortened(panel->columns) ? 2 + strlen("...") : 0);

    for (size_t c = 0; c < panel->columns.n_shown; c++) {
        size_t widest = 0;

        for (size_t r = 0; r < panel->rows.n_shown; r++) {
            char number[ATTN_FIXED_TEXT_SIZE];
            const float value = panel->values[r * panel->columns.n_shown + c];
            const size_t n = attn_float_text_fixed(value, t->digits, number);

            widest = n > widest ? n : widest;
        }
        width += 2 + widest;
    }
    return width;
}

static void add_headers(struct attn_panel_table *t, const struct attn_text_panel *panel)
{
    const char *corner = attn_writer_row_name(t->writer, panel->site);
    const struct attn_token_texts *tokens = key_tokens(t, panel->layer);

    if (!attn_site_has_keys(panel->site) || tokens->n == 0) {
        add_header(t, panel, corner, NULL);
        return;
    }
    if (is_shortened(panel->columns)) /* one cannot count them then */
        add_header(t, panel, "", NULL);
    add_header(t, panel, corner, tokens);
}

/* Weights stand on their colours, where each has the same in every matrix. */
static struct attn_paint paint_of(const struct attn_panel_table *t,
                                  const struct attn_text_panel *panel, float value)
{
    const struct attn_picture_options *picture = t->writer->options.picture;
    const struct attn_color_scale scale = attn_color_scale_of(
        picture->color_scale, attn_site_range(panel->site), picture->is_difference);
    const struct attn_color_range range = attn_color_range(&scale, 0, 1);
    const struct attn_colormap *map = attn_picture_colormap(picture, &scale, "viridis");

    if (picture->depth == ATTN_DEPTH_NONE || !isfinite(value) || scale.span == ATTN_SPAN_MATRIX ||
        scale.span == ATTN_SPAN_ROW)
        return ATTN_PAINT_NONE;
    return attn_paint_behind(
        attn_ink_of(map, picture->theme, attn_color_level(&scale, range, (double)value)),
        picture->depth);
}

static void add_row(struct attn_panel_table *t, const struct attn_text_panel *panel, size_t row)
{
    bool is_key = attn_site_layout(panel->site) == ATTN_LAYOUT_KEY;
    const struct attn_token_texts *tokens = is_key ? key_tokens(t, panel->layer) : &t->tokens;
    size_t position = window_thing(panel->rows, row);

    if (!is_key)
        position = t->writer->queries[position];
    attn_text_table_number(&t->table, position);
    if (attn_panel_table_has_tokens(t) && tokens->n == 0)
        attn_text_table_string(&t->table, "");
    else if (attn_panel_table_has_tokens(t))
        add_label(t, tokens, position);
    for (size_t c = 0; c < panel->columns.n_shown; c++) {
        size_t at = row * panel->columns.n_shown + c;
        char number[ATTN_FIXED_TEXT_SIZE];

        if (has_gap(panel->columns, c))
            attn_text_table_string(&t->table, "...");
        if (panel->is_visible[at])
            attn_text_table_painted(&t->table, paint_of(t, panel, panel->values[at]), number,
                                    attn_float_text_fixed(panel->values[at], t->digits, number));
        else
            attn_text_table_string(&t->table, ".");
    }
}

void attn_panel_table_add_gap(struct attn_panel_table *t)
{
    attn_text_table_string(&t->table, "...");
    for (size_t c = 1; c < t->table.n_column; c++)
        attn_text_table_string(&t->table, "");
}

enum attn_status attn_panel_table_write(struct attn_panel_table *t,
                                        const struct attn_text_panel *panel, struct attn_sink *sink,
                                        struct attn_error *err)
{
    const size_t n_label = attn_panel_table_has_tokens(t) ? 2 : 1;

    attn_text_table_begin(&t->table,
                          n_label + panel->columns.n_shown + is_shortened(panel->columns));
    if (attn_panel_table_has_tokens(t))
        attn_text_table_flush_left(&t->table, TOKEN_COLUMN);
    add_headers(t, panel);
    for (size_t r = 0; r < panel->rows.n_shown; r++) {
        if (has_gap(panel->rows, r))
            attn_panel_table_add_gap(t);
        add_row(t, panel, r);
    }
    ATTN_TRY(attn_buffer_check(&t->label, err));
    return attn_text_table_write(&t->table, sink, err);
}
