/*
 * heatmap_writer.c - matrices as heat maps for reading: one below the other, the thumbnails of all
 * (--figure grid), or the text coloured by one row (--figure tokens).
 */
#include "terminal/table_heatmap.h"
#include "terminal/thumbnails.h"
#include "terminal/token_line.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "output/picture_internal.h"
#include "trace/site_internal.h"

#include <string.h>

struct heatmap_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_levels *levels; /* owns */
    size_t *rows_left;          /* [attn_levels_n] owns; rows of each matrix that are to come */
    enum attn_figure figure;    /* matrix, grid or tokens */
    bool has_printed;           /* so that the next matrix has an empty line before it */
};

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status refuse_figure(enum attn_figure figure, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "'--figure %s' is not drawn as text, expected matrix, grid "
                   "or tokens",
                   attn_figure_name(figure));
    attn_error_hint(err, "--svg FILE draws it");
    return ATTN_INVALID;
}

static enum attn_status check_tokens(const struct heatmap_writer *w, struct attn_error *err)
{
    if (attn_levels_n(w->levels) == 1 && w->base.n_query == 1)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "'--figure tokens' draws one row of one head, and %zu rows of %zu are selected",
                   w->base.n_query, attn_levels_n(w->levels));
    attn_error_hint(err, "choose one of each, as with --heads 0.0 --queries -1");
    return ATTN_INVALID;
}

static enum attn_status open_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    const struct attn_levels_limits whole = {.n_row = SIZE_MAX, .n_column = SIZE_MAX};
    struct attn_levels_limits limits = attn_heatmap_limits(writer);
    enum attn_status status = attn_heatmap_init(&w->map, writer, writer->sink, err);

    writer->is_in_order = true;
    w->figure = writer->options.picture->figure;
    if (w->figure == ATTN_FIGURE_DEFAULT)
        w->figure = ATTN_FIGURE_MATRIX;
    if (w->figure == ATTN_FIGURE_TOKENS || writer->options.picture->values == ATTN_CELL_TEXT_ALWAYS)
        limits = whole;
    if (status == ATTN_OK && w->figure != ATTN_FIGURE_MATRIX && w->figure != ATTN_FIGURE_GRID &&
        w->figure != ATTN_FIGURE_TOKENS)
        status = refuse_figure(w->figure, err);
    if (status == ATTN_OK)
        status = attn_levels_create(writer, attn_heatmap_sites(writer), &limits, &w->levels, err);
    if (status == ATTN_OK && w->figure == ATTN_FIGURE_TOKENS)
        status = check_tokens(w, err);
    if (status != ATTN_OK)
        return status;
    w->rows_left = attn_alloc(attn_levels_n(w->levels), sizeof *w->rows_left, err);
    if (!w->rows_left)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < attn_levels_n(w->levels); i++)
        w->rows_left[i] = attn_levels_at(w->levels, i)->n_row;
    return ATTN_OK;
}

/* --- Drawing --------------------------------------------------------------------------------- */

static enum attn_status draw_title(struct heatmap_writer *w, struct attn_error *err)
{
    const char *title = w->base.options.picture->title;

    if (!title || !*title)
        return ATTN_OK;
    w->map.label.size = 0;
    attn_escape_append(&w->map.label, title, strlen(title));
    attn_color_line_append(&w->map.line, w->map.label.data, w->map.label.size);
    w->has_printed = true;
    return attn_color_line_write(&w->map.line, w->base.sink, err);
}

/* One matrix has no name where there is a title. */
static bool has_name(const struct heatmap_writer *w)
{
    return !w->base.options.picture->title || attn_levels_n(w->levels) > 1;
}

static enum attn_status draw_matrix(struct heatmap_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_levels_at(w->levels, i);
    const bool is_last = i + 1 == attn_levels_n(w->levels);
    enum attn_status status = i == 0 ? draw_title(w, err) : ATTN_OK;

    if (w->has_printed)
        attn_sink_write(w->base.sink, "\n", 1);
    w->has_printed = true;
    if (status == ATTN_OK && has_name(w))
        status = attn_heatmap_name(&w->map, matrix, err);
    if (status == ATTN_OK)
        status = w->figure == ATTN_FIGURE_TOKENS ? attn_token_line_draw(&w->map, matrix, err)
                                                 : attn_heatmap_draw(&w->map, matrix, err);
    if (status == ATTN_OK && (is_last || attn_heatmap_has_own_range(&w->map, matrix)))
        status = attn_heatmap_legend(&w->map, matrix, err);
    attn_levels_drop(w->levels, i);
    return status;
}

static enum attn_status event_heatmap(struct attn_writer *writer,
                                      const struct attn_trace_event *event,
                                      const struct attn_place *place, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    enum attn_status status = attn_levels_take(w->levels, event, place, err);

    if (status != ATTN_OK || w->figure == ATTN_FIGURE_GRID)
        return status;
    for (size_t i = 0; i < attn_levels_n(w->levels); i++) {
        const struct attn_level_matrix *m = attn_levels_at(w->levels, i);

        if (m->site != event->site || m->layer != event->layer || m->head != event->head)
            continue;
        w->rows_left[i] -= event->n_row;
        return w->rows_left[i] == 0 ? draw_matrix(w, i, err) : ATTN_OK;
    }
    return ATTN_OK;
}

static enum attn_status draw_grids(struct heatmap_writer *w, struct attn_error *err)
{
    const uint64_t sites = attn_heatmap_sites(&w->base);
    enum attn_status status = draw_title(w, err);

    for (int site = 0; site < ATTN_N_SITE && status == ATTN_OK; site++) {
        struct attn_thumbnails thumbnails;

        if (!(sites & ATTN_SITE_BIT(site)) || !attn_site_has_heads((enum attn_site)site))
            continue;
        attn_thumbnails_plan(&thumbnails, &w->map, w->levels, (enum attn_site)site, SIZE_MAX);
        if (w->has_printed)
            attn_sink_write(w->base.sink, "\n", 1);
        w->has_printed = true;
        status = attn_thumbnails_draw(&thumbnails, err);
    }
    return status;
}

static enum attn_status finish_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    enum attn_status status = w->figure == ATTN_FIGURE_GRID ? draw_grids(w, err) : ATTN_OK;

    return status == ATTN_OK ? attn_buffer_check(&w->map.label, err) : status;
}

static void release_heatmap(struct attn_writer *writer)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    attn_heatmap_release(&w->map);
    attn_levels_free(w->levels);
    attn_free(w->rows_left);
}

static const struct attn_writer_ops ops = {
    .size = sizeof(struct heatmap_writer),
    .open = open_heatmap,
    .event = event_heatmap,
    .finish = finish_heatmap,
    .release = release_heatmap,
    .draw_grid = attn_table_heatmap_write,
};

const struct attn_format attn_heatmap_format = {
    .name = "heatmap",
    .title = "heat map",
    .is_picture = true,
    .draws_differences = true,
    .tensors = &ops,
};
