/*
 * text_writer.c - tables for reading: the tokens, then layer by layer what was watched.
 *
 *     layer 0, head 0: pattern
 *        query    Life      is   short
 *     0  Life   1.0000       .       .
 *     1  is     0.6012  0.3988       .
 *
 * Large things are shortened in the middle as numpy does, so only the cells that will be shown are
 * kept: a panel for each site and shown head. The sites of a layer may come interleaved in blocks
 * of rows; the layer is printed when all of it has come, in the order of sites and heads. When
 * anything was left out the last line says so.
 */
#include "output/float_text.h"
#include "output/text_panel.h"
#include "output/text_table.h"
#include "output/token_text.h"

#include "base/memory.h"

#include <string.h>

enum {
    LABEL_WIDTH = 10, /* of a token beside or above a matrix */
    DIGITS = 4,
    TOKEN_COLUMN = 1, /* the second column of a matrix, flush left */
};

/* What is printed together: a layer, or the sites of the model before or after them. */
struct group {
    struct attn_text_panels panels;
    size_t n_site_left; /* sites that are not complete */
};

struct text_writer {
    struct attn_writer base;
    struct attn_token_texts tokens, source_tokens;
    struct attn_text_table table;
    struct attn_buffer label; /* scratch */
    struct group *groups;     /* [n_group] owns: embed, the layers, ln_final and logits */
    size_t n_group;
    bool has_printed; /* so that the next table has an empty line before it */
    /* the largest of each that was shortened; 0: none was */
    size_t most_heads, most_positions, most_projected, most_components;
};

static struct group *group_of(struct text_writer *w, enum attn_site site, int layer)
{
    if (attn_site_is_in_layer(site))
        return &w->groups[layer + 1];
    return &w->groups[site == ATTN_SITE_EMBED ? 0 : w->n_group - 1];
}

static enum attn_status count_site(struct attn_writer *writer, void *user, enum attn_site site,
                                   int layer, struct attn_error *err)
{
    (void)user;
    (void)err;
    group_of((struct text_writer *)writer, site, layer)->n_site_left++;
    return ATTN_OK;
}

static void note_shortened(struct window window, size_t *most)
{
    if (is_shortened(window) && window.n > *most)
        *most = window.n;
}

static void note_what_is_left_out(struct text_writer *w, const struct attn_text_panel *panel)
{
    enum attn_site_layout layout = attn_site_layout(panel->site);

    note_shortened(panel->heads, &w->most_heads);
    note_shortened(panel->rows, &w->most_positions);
    note_shortened(panel->columns, layout == ATTN_LAYOUT_MATRIX ? &w->most_positions
                                   : layout == ATTN_LAYOUT_RANK ? &w->most_projected
                                                                : &w->most_components);
}

/* --- Printing ------------------------------------------------------------------------------ */

static void print(struct text_writer *w, const char *text)
{
    attn_sink_write(w->base.sink, text, strlen(text));
}

/* The empty line between two things, the first of which may be nothing. */
static void print_separator(struct text_writer *w)
{
    if (w->has_printed)
        print(w, "\n");
    w->has_printed = true;
}

/* Empties the label; unlike a reset of the buffer this keeps a failure, for finish_text to find. */
static void begin_label(struct text_writer *w)
{
    w->label.size = 0;
}

/* A token for the edge of a matrix: without the blanks around it, which BPE tokens begin with, and
 * cut to LABEL_WIDTH. A token of blanks alone is quoted. */
static void add_label(struct text_writer *w, const struct attn_token_texts *tokens, size_t position)
{
    size_t size, width;
    const char *text = attn_token_text(tokens, position, &size);

    begin_label(w);
    for (; size > 0 && *text == ' '; size--)
        text++;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    width = attn_text_width(text, size);
    if (size == 0) {
        text = attn_token_text(tokens, position, &size);
        attn_buffer_append_format(&w->label, "'%.*s'", (int)attn_text_fit(text, size, 8), text);
    } else if (width > LABEL_WIDTH) {
        attn_buffer_append(&w->label, text, attn_text_fit(text, size, LABEL_WIDTH - 1));
        attn_buffer_append_string(&w->label, "\xe2\x80\xa6"); /* U+2026, an ellipsis */
    } else {
        attn_buffer_append(&w->label, text, size);
    }
    attn_text_table_cell(&w->table, w->label.data, w->label.size);
}

static bool has_tokens(const struct text_writer *w)
{
    return w->tokens.n > 0;
}

/* Whether the tokenizer added tokens of its own, which the table of tokens tells then. */
static bool has_added(const struct text_writer *w)
{
    return w->base.labels.n_front + w->base.labels.n_back > 0;
}

/* The tokens of what a layer attends to. */
static const struct attn_token_texts *key_tokens(const struct text_writer *w, int layer)
{
    return attn_writer_has_own_keys(&w->base, layer) ? &w->tokens : &w->source_tokens;
}

/* A line of labels above the columns: TOKENS, or NULL for numbers. CORNER says what the rows
 * are. */
static void add_header(struct text_writer *w, const struct attn_text_panel *panel,
                       const char *corner, const struct attn_token_texts *tokens)
{
    if (has_tokens(w))
        attn_text_table_string(&w->table, ""); /* above the positions */
    attn_text_table_string(&w->table, corner);
    for (size_t c = 0; c < panel->columns.n_shown; c++) {
        if (has_gap(panel->columns, c))
            attn_text_table_string(&w->table, "...");
        if (tokens)
            add_label(w, tokens, window_thing(panel->columns, c));
        else
            attn_text_table_number(&w->table, window_thing(panel->columns, c));
    }
}

static void add_headers(struct text_writer *w, const struct attn_text_panel *panel)
{
    const char *corner = attn_writer_row_name(&w->base, panel->site);
    const struct attn_token_texts *tokens = key_tokens(w, panel->layer);

    if (attn_site_layout(panel->site) != ATTN_LAYOUT_MATRIX || tokens->n == 0) {
        add_header(w, panel, corner, NULL);
        return;
    }
    if (is_shortened(panel->columns)) /* one cannot count them then */
        add_header(w, panel, "", NULL);
    add_header(w, panel, corner, tokens);
}

static void add_row(struct text_writer *w, const struct attn_text_panel *panel, size_t row)
{
    bool is_key = attn_site_layout(panel->site) == ATTN_LAYOUT_KEY;
    const struct attn_token_texts *tokens = is_key ? key_tokens(w, panel->layer) : &w->tokens;
    size_t position = window_thing(panel->rows, row);

    if (!is_key)
        position = w->base.queries[position];
    attn_text_table_number(&w->table, position);
    if (has_tokens(w) && tokens->n == 0)
        attn_text_table_string(&w->table, "");
    else if (has_tokens(w))
        add_label(w, tokens, position);
    for (size_t c = 0; c < panel->columns.n_shown; c++) {
        size_t at = row * panel->columns.n_shown + c;
        char number[ATTN_FIXED_TEXT_SIZE];

        if (has_gap(panel->columns, c))
            attn_text_table_string(&w->table, "...");
        if (panel->is_visible[at])
            attn_text_table_cell(&w->table, number,
                                 attn_float_text_fixed(panel->values[at], DIGITS, number));
        else
            attn_text_table_string(&w->table, ".");
    }
}

static void add_gap_row(struct text_writer *w)
{
    attn_text_table_string(&w->table, "...");
    for (size_t c = 1; c < w->table.n_column; c++)
        attn_text_table_string(&w->table, "");
}

/* "layer 0, head 3: pattern", "batch 0, head 3: pattern", "pattern" */
static void print_title(struct text_writer *w, const struct attn_text_panel *panel)
{
    const struct attn_array_axes *axes = w->base.labels.axes;
    struct attn_head_number number = attn_writer_head_number(&w->base, panel->site, panel->head);

    begin_label(w);
    if (axes && axes->rank == 4)
        attn_buffer_append_format(&w->label, "batch %d", number.batch);
    else if (!axes && panel->layer != ATTN_NO_LAYER)
        attn_buffer_append_format(&w->label, "layer %d", panel->layer);
    if (attn_site_has_heads(panel->site) && (!axes || axes->rank > 2))
        attn_buffer_append_format(&w->label, "%shead %d", w->label.size > 0 ? ", " : "",
                                  number.head);
    attn_buffer_append_format(&w->label, "%s%s", w->label.size > 0 ? ": " : "",
                              attn_site_name(panel->site));
    if (attn_site_layout(panel->site) == ATTN_LAYOUT_MATRIX)
        attn_picture_append_view(w->base.options.picture, &w->label);
    attn_buffer_append_char(&w->label, '\n');
    attn_sink_write(w->base.sink, w->label.data, w->label.size);
}

static enum attn_status print_panel(struct text_writer *w, const struct attn_text_panel *panel,
                                    struct attn_error *err)
{
    size_t n_label = has_tokens(w) ? 2 : 1;

    if (has_gap(panel->heads, panel->head_place)) {
        print_separator(w);
        print(w, "...\n");
    }
    print_separator(w);
    print_title(w, panel);
    attn_text_table_begin(&w->table,
                          n_label + panel->columns.n_shown + is_shortened(panel->columns));
    if (has_tokens(w))
        attn_text_table_flush_left(&w->table, TOKEN_COLUMN);
    add_headers(w, panel);
    for (size_t r = 0; r < panel->rows.n_shown; r++) {
        if (has_gap(panel->rows, r))
            add_gap_row(w);
        add_row(w, panel, r);
    }
    return attn_text_table_write(&w->table, w->base.sink, err);
}

static enum attn_status print_group(struct text_writer *w, struct group *group,
                                    struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int site = 0; site < ATTN_N_SITE; site++)
        for (size_t head = 0; head < ATTN_SHOWN_HEADS; head++)
            for (size_t i = 0; i < group->panels.n && status == ATTN_OK; i++)
                if ((int)group->panels.items[i].site == site &&
                    group->panels.items[i].head_place == head)
                    status = print_panel(w, &group->panels.items[i], err);
    attn_text_panels_release(&group->panels);
    return status;
}

/* Whether any token begins or ends with a blank, so that only quotes show where it ends. */
static bool needs_quotes(const struct text_writer *w)
{
    for (size_t p = 0; p < w->tokens.n; p++) {
        size_t size;
        const char *text = attn_token_text(&w->tokens, p, &size);

        if (size == 0 || text[0] == ' ' || text[size - 1] == ' ')
            return true;
    }
    return false;
}

static void add_token_row(struct text_writer *w, size_t position, bool is_quoted)
{
    attn_text_table_number(&w->table, position);
    if (w->base.labels.ids)
        attn_text_table_number(&w->table, (size_t)w->base.labels.ids[position]);
    if (has_tokens(w)) {
        size_t size;
        const char *text = attn_token_text(&w->tokens, position, &size);
        const char *quote = is_quoted ? "'" : "";

        begin_label(w);
        attn_buffer_append_string(&w->label, quote);
        attn_buffer_append(&w->label, text, size);
        attn_buffer_append_string(&w->label, quote);
        attn_text_table_cell(&w->table, w->label.data, w->label.size);
    }
    if (has_added(w))
        attn_text_table_string(&w->table,
                               attn_token_is_added(&w->base.labels, position) ? "added" : "");
}

static enum attn_status print_tokens(struct text_writer *w, struct attn_error *err)
{
    size_t n_column = 1 + (w->base.labels.ids != NULL) + has_tokens(w) + has_added(w);
    struct window rows = window_of(w->base.n_position, ATTN_SHOWN_POSITIONS);
    bool is_quoted = needs_quotes(w);

    if (n_column == 1)
        return ATTN_OK;
    print_separator(w);
    note_shortened(rows, &w->most_positions);
    attn_text_table_begin(&w->table, n_column);
    for (size_t c = n_column - has_tokens(w) - has_added(w); c < n_column; c++)
        attn_text_table_flush_left(&w->table, c);
    attn_text_table_string(&w->table, "position");
    if (w->base.labels.ids)
        attn_text_table_string(&w->table, "id");
    if (has_tokens(w))
        attn_text_table_string(&w->table, "token");
    if (has_added(w))
        attn_text_table_string(&w->table, "");
    for (size_t r = 0; r < rows.n_shown; r++) {
        if (has_gap(rows, r))
            add_gap_row(w);
        add_token_row(w, window_thing(rows, r), is_quoted);
    }
    return attn_text_table_write(&w->table, w->base.sink, err);
}

/* The options that write all numbers: "--csv DIR or --npz FILE". */
static void append_suggested(struct attn_buffer *out)
{
    const char *separator = "";

    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);

        if (!format->is_suggested)
            continue;
        attn_buffer_append_format(out, "%s--%s %s", separator, format->name, format->argument);
        separator = " or ";
    }
}

/* "Shortened: 6 of 12 heads, 16 of 60 positions are shown; ..." */
static void print_what_is_left_out(struct text_writer *w)
{
    const struct {
        size_t most, limit;
        const char *what;
    } parts[] = {
        {w->most_heads, ATTN_SHOWN_HEADS, "heads"},
        {w->most_positions, ATTN_SHOWN_POSITIONS, "positions"},
        {w->most_projected, ATTN_SHOWN_POSITIONS, "projected keys"},
        {w->most_components, ATTN_SHOWN_COMPONENTS, "vector components"},
    };
    const char *separator = "Shortened: ";

    begin_label(w);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].most == 0)
            continue;
        attn_buffer_append_format(&w->label, "%s%zu of %zu %s", separator, parts[i].limit,
                                  parts[i].most, parts[i].what);
        separator = ", ";
    }
    if (w->label.size == 0)
        return;
    attn_buffer_append_string(&w->label, " are shown; ");
    append_suggested(&w->label);
    attn_buffer_append_string(&w->label, " writes all\n");
    print_separator(w);
    attn_sink_write(w->base.sink, w->label.data, w->label.size);
}

/* --- The format ---------------------------------------------------------------------------- */

static enum attn_status open_text(struct attn_writer *writer, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;
    enum attn_status status;

    w->n_group = attn_selection_dims(writer->labels.selection)->n_layer + 2;
    w->groups = attn_alloc(w->n_group, sizeof *w->groups, err);
    if (!w->groups)
        return ATTN_NO_MEMORY;
    status = attn_writer_each_site(writer, count_site, NULL, err);
    if (status == ATTN_OK)
        status = attn_token_texts_init(&w->tokens, &writer->labels, err);
    if (status == ATTN_OK)
        status = attn_token_texts_init_source(&w->source_tokens, &writer->labels, err);
    return status == ATTN_OK ? print_tokens(w, err) : status;
}

static enum attn_status event_text(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;
    struct group *group = group_of(w, event->site, event->layer);
    struct attn_text_panel shape = attn_text_panel_of(event, place);
    enum attn_status status = attn_text_panels_keep(&group->panels, &shape, event, place, err);

    if (status != ATTN_OK)
        return status;
    note_what_is_left_out(w, &shape);
    if (place->is_last && --group->n_site_left == 0)
        return print_group(w, group, err);
    return ATTN_OK;
}

static enum attn_status finish_text(struct attn_writer *writer, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;

    print_what_is_left_out(w);
    return attn_buffer_check(&w->label, err);
}

static void release_text(struct attn_writer *writer)
{
    struct text_writer *w = (struct text_writer *)writer;

    for (size_t i = 0; w->groups && i < w->n_group; i++)
        attn_text_panels_release(&w->groups[i].panels);
    attn_free(w->groups);
    attn_token_texts_release(&w->tokens);
    attn_token_texts_release(&w->source_tokens);
    attn_text_table_release(&w->table);
    attn_buffer_release(&w->label);
}

static const struct attn_writer_ops ops = {
    .size = sizeof(struct text_writer),
    .open = open_text,
    .event = event_text,
    .finish = finish_text,
    .release = release_text,
};

const struct attn_format attn_text_format = {
    .name = "text",
    .title = "text",
    .tensors = &ops,
    .has_tables = true,
    .table_form = ATTN_TABLE_ALIGNED,
};
