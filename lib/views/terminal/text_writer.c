/* clang-format off */
/*
 * text_writer.c - tables for reading: the tokens, then the watched sites layer by layer.
 *
 *     layer 0, head 0: pattern
 *        query    Life      is   short
 *     0  Life   1.0000       .       .
 *     1  is     0.6012  0.3988       .
 *
 * Large arrays are shortened in the middle as numpy does, so only the cells that will be shown are
 * kept: a panel for each site and shown head. Events of a layer may arrive interleaved, in blocks
 * of rows. A layer is printed, in the order of sites and heads, when it and all layers before it
 * are complete (gradients arrive last layer first). If anything was left out, the last line says
 * so.
 */
/* clang-format on */
#include "pictures/picture_internal.h"
#include "tensors/writer.h"
#include "terminal/panel_table.h"

#include "base/memory.h"
#include "tensors/format_internal.h"
#include "trace/trace_internal.h"

/* Panels that are printed together: those of one layer, or of the sites before or after the
 * layers. */
struct group {
    struct attn_text_panels panels;
    size_t n_site_left; /* number of sites that are still incomplete */
};

struct text_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_panel_table table;
    struct attn_text_limits limits;
    struct group *groups; /* [n_group] owns: embed, the layers, ln_final and logits */
    size_t n_group, at;   /* number of groups, and index of the next one to print */
    bool has_printed;     /* print an empty line before the next table */
    /* the largest size of the arrays that were shortened, or 0 */
    size_t most_positions, most_projected, most_components;
};

static struct group *group_of(struct text_writer *w, enum attn_site site, int layer)
{
    if (attn_site_is_in_layer(site))
        return &w->groups[layer + 1];
    return &w->groups[site == ATTN_SITE_EMBED ? 0 : w->n_group - 1];
}

static void note_shortened(struct window window, size_t *most)
{
    if (is_shortened(window) && window.n > *most)
        *most = window.n;
}

/* Prints an empty line, except at the beginning. */
static void print_separator(struct text_writer *w)
{
    if (w->has_printed)
        attn_sink_write(w->base.sink, "\n", 1);
    w->has_printed = true;
}

/* Prints the panels of a group, each below its name, and releases them. */
static enum attn_status print_group(struct text_writer *w, struct group *group,
                                    struct attn_error *err)
{
    attn_text_panels_sort(&group->panels);
    for (size_t i = 0; i < group->panels.n; i++) {
        const struct attn_text_panel *panel = &group->panels.items[i];

        print_separator(w);
        /* unlike a reset this keeps an allocation failure, which finish_text reports */
        w->map.label.size = 0;
        attn_matrix_name_append(&w->base, &panel->at, panel->image, &w->map.label);
        attn_buffer_append_char(&w->map.label, '\n');
        attn_sink_write(w->base.sink, w->map.label.data, w->map.label.size);
        ATTN_TRY(attn_panel_table_write(&w->table, panel, SIZE_MAX, w->base.sink, err));
    }
    attn_text_panels_release(&group->panels); /* after a failure the writer releases them */
    return ATTN_OK;
}

static void add_token_row(struct text_writer *w, size_t position, bool is_quoted)
{
    const struct attn_labels *labels = &w->base.labels;

    attn_text_table_number(&w->table.table, position);
    if (labels->ids)
        attn_text_table_number(&w->table.table, (size_t)labels->ids[position]);
    if (w->map.tokens[0].n > 0) {
        size_t size;
        const char *text = attn_token_text(&w->map.tokens[0], position, &size);
        const char *quote = is_quoted ? "'" : "";

        w->map.label.size = 0;
        attn_buffer_append_string(&w->map.label, quote);
        attn_buffer_append(&w->map.label, text, size);
        attn_buffer_append_string(&w->map.label, quote);
        attn_text_table_cell(&w->table.table, w->map.label.data, w->map.label.size);
    }
    if (labels->n_front + labels->n_back > 0 || labels->texts)
        attn_text_table_string(&w->table.table, attn_token_is_added(labels, position) ? "added"
                                                : labels->texts && labels->texts[position] == 2
                                                    ? "pair"
                                                    : "");
}

/* Prints a table of the tokens; those that the tokenizer added are marked. */
static enum attn_status print_tokens(struct text_writer *w, struct attn_error *err)
{
    const struct attn_labels *labels = &w->base.labels;
    const struct window rows = window_of(w->base.n_position, w->limits.positions);
    const bool has_tokens = w->map.tokens[0].n > 0;
    const bool has_added = labels->n_front + labels->n_back > 0 || labels->texts;
    const size_t n_column = 1 + (labels->ids != NULL) + has_tokens + has_added;
    bool is_quoted = false; /* a token begins or ends with a blank, which only quotes show */

    if (n_column == 1)
        return ATTN_OK;
    for (size_t p = 0; p < w->map.tokens[0].n && !is_quoted; p++) {
        size_t size;
        const char *text = attn_token_text(&w->map.tokens[0], p, &size);

        is_quoted = size == 0 || text[0] == ' ' || text[size - 1] == ' ';
    }
    print_separator(w);
    note_shortened(rows, &w->most_positions);
    attn_text_table_begin(&w->table.table, n_column);
    for (size_t c = n_column - has_tokens - has_added; c < n_column; c++)
        attn_text_table_flush_left(&w->table.table, c);
    attn_text_table_string(&w->table.table, "position");
    if (labels->ids)
        attn_text_table_string(&w->table.table, "id");
    if (has_tokens)
        attn_text_table_string(&w->table.table, "token");
    if (has_added)
        attn_text_table_string(&w->table.table, "");
    for (size_t r = 0; r < rows.n_shown; r++) {
        if (has_gap(rows, r))
            attn_panel_table_add_gap(&w->table);
        add_token_row(w, window_thing(rows, r), is_quoted);
    }
    return attn_text_table_write(&w->table.table, w->base.sink, err);
}

static enum attn_status open_text(struct attn_writer *writer, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;

    w->n_group = attn_selection_dims(writer->labels.selection)->n_layer + 2;
    ATTN_TRY(ATTN_ALLOC(w->groups, w->n_group, err));
    w->limits = attn_text_limits;
    for (struct attn_selection_walk at = {0}; attn_selection_next(writer->labels.selection, &at);)
        group_of(w, at.at.site, attn_selection_slot(writer->labels.selection, &at.at))
            ->n_site_left++;
    w->table.map = &w->map;
    ATTN_TRY(attn_heatmap_init(&w->map, writer, false, err));
    return print_tokens(w, err);
}

static enum attn_status event_text(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;
    struct group *group =
        group_of(w, event->at.site, attn_selection_slot(writer->labels.selection, &event->at));
    const struct attn_text_panel shape = attn_text_panel_of(event, place, &w->limits);
    const bool is_rank = attn_site_layout(shape.at.site) == ATTN_LAYOUT_RANK;

    ATTN_TRY(attn_text_panels_keep(&group->panels, &shape, event, place, err));
    note_shortened(shape.rows, &w->most_positions);
    note_shortened(shape.columns, attn_site_has_keys(shape.at.site) ? &w->most_positions
                                  : is_rank                         ? &w->most_projected
                                                                    : &w->most_components);
    group->n_site_left -= place->is_last;
    for (; w->at < w->n_group && w->groups[w->at].n_site_left == 0; w->at++)
        ATTN_TRY(print_group(w, &w->groups[w->at], err));
    return ATTN_OK;
}

/* Prints "Shortened: 6 of 12 heads, 16 of 60 positions are shown; `csv DIR` or `npz FILE` writes
 * all". */
static enum attn_status finish_text(struct attn_writer *writer, struct attn_error *err)
{
    struct text_writer *w = (struct text_writer *)writer;
    const struct {
        size_t most, limit;
        const char *what;
    } parts[] = {
        {w->most_positions, w->limits.positions, "positions"},
        {w->most_projected, w->limits.positions, "projected keys"},
        {w->most_components, w->limits.components, "vector components"},
    };
    const char *separator = "Shortened: ";

    w->map.label.size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].most == 0)
            continue;
        attn_buffer_append_format(&w->map.label, "%s%zu of %zu %s", separator, parts[i].limit,
                                  parts[i].most, parts[i].what);
        separator = ", ";
    }
    if (w->map.label.size == 0)
        return attn_buffer_check(&w->map.label, err);
    separator = " are shown; ";
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);

        if (!format->is_suggested)
            continue;
        attn_buffer_append_format(&w->map.label, "%s`%s %s`", separator, format->name,
                                  format->argument);
        separator = " or ";
    }
    attn_buffer_append_string(&w->map.label, " writes all\n");
    attn_picture_name_fields(writer->options.picture, &w->map.label);
    print_separator(w);
    attn_sink_write(writer->sink, w->map.label.data, w->map.label.size);
    return attn_buffer_check(&w->map.label, err);
}

static void release_text(struct attn_writer *writer)
{
    struct text_writer *w = (struct text_writer *)writer;

    for (size_t i = 0; w->groups && i < w->n_group; i++)
        attn_text_panels_release(&w->groups[i].panels);
    attn_free(w->groups);
    attn_text_table_release(&w->table.table);
    attn_heatmap_release(&w->map);
}

const struct attn_format attn_text_format = {
    .name = "text",
    .medium = ATTN_MEDIUM_TENSORS,
    .title = "text",
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct text_writer),
            .open = open_text,
            .event = event_text,
            .finish = finish_text,
            .release = release_text,
        },
    .has_tables = true,
    .table_form = ATTN_TABLE_ALIGNED,
};
