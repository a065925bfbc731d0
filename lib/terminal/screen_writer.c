/*
 * screen_writer.c - the first screen of a run: its tokens, all heads as thumbnails, and one head
 * with its numbers: the one that looks most at tokens other than the first token, the
 * previous one or the token itself. It is a place to start. At most 60 lines, unless the terminal
 * is narrow.
 *
 * Patterns are kept pooled to what a line holds, and of each head's context vectors what the table
 * will show; which head is drawn is known when all have come.
 */
#include "terminal/heatmap_internal.h"
#include "terminal/panel_table.h"

#include "analysis/metric.h"
#include "base/escape.h"
#include "base/memory.h"
#include "output/picture_internal.h"
#include "output/writer.h"

#include <math.h>
#include <string.h>

enum {
    MOST_LINES = 60,
    MOST_TOKEN_LINES = 4,
    MOST_ROWS = 16,      /* of numbers */
    MOST_HALF_ROWS = 32, /* of half blocks: 16 lines */
    LEAST_VECTORS = 2,   /* context vectors that are shown, before thumbnails become smaller */
    N_COMPONENT = 8,
    /* the model, what is empty between the parts, the names of both tables, why this head, the
     * header of the vectors, where to go next */
    N_FIXED = 10
};

struct screen_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_panel_table table;
    struct attn_levels *levels; /* owns; of the pattern */
    struct attn_thumbnails thumbnails;
    struct attn_measurement *far; /* owns */
    struct attn_text_limits limits;
    struct attn_text_panels *vectors; /* [n_layer] owns; of z */
    enum attn_site site;              /* of the matrices */
};

/* --- Opening --------------------------------------------------------------------------------- */

/* How many context vectors and which thumbnails fit. */
static void plan(struct screen_writer *w)
{
    const struct attn_level_matrix *first = &w->levels->items[0];
    const size_t n_position = w->base.n_position;
    const size_t n_matrix = attn_heatmap_n_line(&w->map, first);
    const struct attn_figure_axis tokens = attn_heatmap_axis(&w->map.tokens[0]);
    size_t n_token, n_vector, left;

    attn_heatmap_draw_items(&w->map, &tokens, "", MOST_TOKEN_LINES, &n_token, NULL);
    left = MOST_LINES - N_FIXED - n_token;
    left = left > n_matrix ? left - n_matrix : 1;
    n_vector = n_position <= LEAST_VECTORS ? n_position : LEAST_VECTORS + 1; /* with "..." */
    attn_thumbnails_plan(&w->thumbnails, &w->map, w->levels, w->site,
                         left > n_vector ? left - n_vector : 1);
    left = left > w->thumbnails.n_line ? left - w->thumbnails.n_line : 0;
    if (left < n_vector)
        left = n_vector;
    w->limits = (struct attn_text_limits){left, N_COMPONENT};
    if (n_position > left) /* one line is "..." */
        w->limits.positions = left - 1;
    if (w->limits.positions > MOST_ROWS)
        w->limits.positions = MOST_ROWS;
}

static enum attn_status open_screen(struct attn_writer *writer, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_metric_settings settings = {.n_recalled = 1, .ids = writer->labels.ids};
    const attn_site_set sites = attn_levels_sites(writer);

    ATTN_TRY(attn_heatmap_init(&w->map, writer, writer->sink, err));
    w->map.most_number_rows = MOST_ROWS;
    w->site =
        sites & ATTN_SITE_BIT(ATTN_SITE_PATTERN) ? ATTN_SITE_PATTERN : ATTN_SITE_PATTERN_LOWRANK;
    ATTN_TRY(attn_panel_table_init(&w->table, writer, true, err));
    ATTN_TRY(attn_levels_create(writer, ATTN_SITE_BIT(w->site), &w->levels, err));
    attn_levels_limit(w->levels, MOST_HALF_ROWS, attn_heatmap_most_columns(writer));
    ATTN_TRY(attn_measurement_create(attn_metric_find("far"), &settings, selection,
                                     writer->options.pool, &w->far, err));
    w->vectors = attn_alloc(attn_selection_dims(selection)->n_layer, sizeof *w->vectors, err);
    if (!w->vectors)
        return ATTN_NO_MEMORY;
    plan(w);
    return ATTN_OK;
}

static enum attn_status event_screen(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    size_t whole; /* all are drawn at the end */

    if (event->site == ATTN_SITE_Z) {
        const struct attn_text_panel shape = attn_text_panel_of(event, place, &w->limits);

        return attn_text_panels_keep(&w->vectors[event->layer], &shape, event, place, err);
    }
    if (event->site == ATTN_SITE_PATTERN)
        attn_measurement_add(w->far, event, NULL);
    return attn_levels_take(w->levels, event, place, &whole, err);
}

/* --- Printing -------------------------------------------------------------------------------- */

/* "fable: 4 layers of 8 heads, 7 tokens", of Llama also ", 1 of them added by the tokenizer" */
static enum attn_status draw_model(struct screen_writer *w, struct attn_error *err)
{
    const struct attn_labels *labels = &w->base.labels;
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const size_t n_added = labels->n_front + labels->n_back;
    const char *noun = w->base.options.picture->merges_words ? "word"
                       : labels->ids                         ? "token"
                                                             : "position";

    if (labels->model)
        attn_buffer_append_format(&w->map.label, "%s: ", attn_quote_string(labels->model).text);
    attn_buffer_append_format(&w->map.label, "%zu layer%s of %zu head%s, %zu %s%s", dims->n_layer,
                              dims->n_layer == 1 ? "" : "s", dims->n_head,
                              dims->n_head == 1 ? "" : "s", w->base.n_position, noun,
                              w->base.n_position == 1 ? "" : "s");
    if (n_added > 0)
        attn_buffer_append_format(&w->map.label, ", %zu of them added by the tokenizer", n_added);
    return attn_heatmap_end_line(&w->map, err);
}

/* The matrix of the head with the largest `far`, the first of equal ones. */
static const struct attn_level_matrix *choose(const struct screen_writer *w, double *largest)
{
    const struct attn_level_matrix *chosen = &w->levels->items[0];

    *largest = 0;
    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_level_matrix *m = &w->levels->items[i];
        double far[ATTN_METRIC_MOST];

        attn_measurement_find(w->far, m->layer, m->head, far);
        if (far[0] > *largest) {
            *largest = far[0];
            chosen = m;
        }
    }
    return chosen;
}

static enum attn_status draw_vectors(struct screen_writer *w,
                                     const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_text_panel *panel =
        attn_text_panels_find(&w->vectors[matrix->layer], ATTN_SITE_Z, matrix->layer, matrix->head);

    if (!panel)
        return ATTN_OK;
    attn_sink_write(w->base.sink, "\n", 1);
    attn_matrix_name_append(&w->base, ATTN_SITE_Z, matrix->layer, matrix->head, &w->map.label);
    attn_buffer_append_string(&w->map.label, ", the context vectors");
    ATTN_TRY(attn_heatmap_end_line(&w->map, err));
    return attn_panel_table_write(&w->table, panel, w->map.width, w->base.sink, err);
}

/* "heads 3.2: another head   html FILE: all, in a browser   csv DIR: numbers", each as the reader
 * names it. */
static enum attn_status draw_next(struct screen_writer *w, const struct attn_level_matrix *matrix,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);
    const int n_head = (int)dims->n_head, step = n_head > 2 ? 2 : 1;
    const char *gap = dims->n_layer > 10 || n_head > 10 ? "  " : "   ";
    const int layer = n_head > 1 ? matrix->layer : (matrix->layer + 1) % (int)dims->n_layer;

    attn_sink_write(w->base.sink, "\n", 1);
    attn_buffer_append_format(&w->map.label,
                              "`heads %d.%d`: another head%s`html FILE`: all, in a browser%s"
                              "`csv DIR`: numbers",
                              layer, (matrix->head + step) % n_head, gap, gap);
    attn_picture_name_fields(w->base.options.picture, &w->map.label);
    return attn_heatmap_end_line(&w->map, err);
}

static enum attn_status finish_screen(struct attn_writer *writer, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    const struct attn_figure_axis tokens = attn_heatmap_axis(&w->map.tokens[0]);
    double far;
    const struct attn_level_matrix *matrix = choose(w, &far);

    ATTN_TRY(draw_model(w, err));
    if (tokens.n > 0)
        ATTN_TRY(attn_heatmap_draw_items(&w->map, &tokens, "", MOST_TOKEN_LINES, NULL, err));
    attn_sink_write(writer->sink, "\n", 1);
    ATTN_TRY(attn_thumbnails_draw(&w->thumbnails, err));
    attn_sink_write(writer->sink, "\n", 1);
    ATTN_TRY(attn_heatmap_name(&w->map, matrix, err));
    attn_color_line_string(
        &w->map.line,
        far > 0 ? "(of all heads, it looks most at other tokens than the first, previous and own)"
                : "(no head looks at other tokens than the first, the previous and its own)");
    ATTN_TRY(attn_heatmap_end_line(&w->map, err));
    ATTN_TRY(attn_heatmap_draw(&w->map, matrix, err));
    ATTN_TRY(draw_vectors(w, matrix, err));
    if (writer->options.picture->name_fields)
        ATTN_TRY(draw_next(w, matrix, err));
    return attn_buffer_check(&w->map.label, err);
}

static void release_screen(struct attn_writer *writer)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    const size_t n_layer = attn_selection_dims(writer->labels.selection)->n_layer;

    for (size_t i = 0; w->vectors && i < n_layer; i++)
        attn_text_panels_release(&w->vectors[i]);
    attn_free(w->vectors);
    attn_heatmap_release(&w->map);
    attn_panel_table_release(&w->table);
    attn_levels_free(w->levels);
    attn_measurement_free(w->far);
}

static const struct attn_writer_ops ops = {
    .size = sizeof(struct screen_writer),
    .open = open_screen,
    .event = event_screen,
    .finish = finish_screen,
    .release = release_screen,
};

const struct attn_format attn_screen_format = {
    .name = "screen",
    .title = "screen",
    .is_picture = true,
    .tensors = &ops,
};
