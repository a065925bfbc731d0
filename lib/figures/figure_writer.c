/*
 * figure_writer.c - the formats of figures: one file of all chosen matrices, or a directory with
 * one of each, named as CSV names them. What is drawn is checked, also its size, before anything is
 * computed. In a directory a figure is written when the last row of its matrix has come, and its
 * cells are dropped.
 */
#include "figures/figure_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "output/picture_internal.h"
#include "trace/selection_internal.h"

#include <stdio.h>

struct figure_writer {
    struct attn_writer base;
    struct attn_levels *levels; /* owns */
    size_t *rows_left;          /* [n] of each matrix, owns */
    struct attn_token_texts tokens, source_tokens;
    struct attn_figure_content content; /* of all matrices */
    size_t n_unknown;                   /* texts with characters of which no font is installed */
    size_t n_not_finite;                /* cells */
};

/* --- What is drawn ----------------------------------------------------------------------------- */

/* The sites that are named, or else patterns, or else what is selected. */
static uint64_t find_sites(const struct attn_writer *writer)
{
    const uint64_t selected = attn_selection_sites(writer->labels.selection);
    const uint64_t named = writer->options.picture->sites & selected;
    const uint64_t pattern = ATTN_SITE_BIT(ATTN_SITE_PATTERN) & selected;
    const uint64_t lowrank = ATTN_SITE_BIT(ATTN_SITE_PATTERN_LOWRANK) & selected;

    return named ? named : pattern ? pattern : lowrank ? lowrank : selected;
}

static enum attn_status refuse_sites(const struct attn_level_matrix *a,
                                     const struct attn_level_matrix *b, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' and '%s' are selected, one figure draws one site",
                   attn_site_name(a->site), attn_site_name(b->site));
    attn_error_hint(err, "choose with --sites, or give a directory for one figure per matrix");
    return ATTN_INVALID;
}

static enum attn_status refuse_many(const struct figure_writer *w, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "%zu matrices are selected, '--figure %s' draws one",
                   w->content.n, attn_figure_name(w->content.kind));
    attn_error_hint(err, "choose one, as with --heads 0.0, or give a directory: --%s figures/",
                    w->base.format->name);
    return ATTN_INVALID;
}

/* Checks one figure of all matrices. */
static enum attn_status check_one(const struct figure_writer *w, struct attn_error *err)
{
    const struct attn_level_matrix *first = attn_levels_at(w->levels, 0);

    for (size_t i = 1; i < w->content.n; i++)
        if (attn_levels_at(w->levels, i)->site != first->site)
            return refuse_sites(first, attn_levels_at(w->levels, i), err);
    if (w->content.n > 1 && w->content.kind != ATTN_FIGURE_GRID)
        return refuse_many(w, err);
    return attn_figure_measure(&w->content, err);
}

/* The figure of matrix I alone. */
static struct attn_figure_content content_of(const struct figure_writer *w, size_t i)
{
    struct attn_figure_content content = w->content;

    content.first = i;
    content.n = 1;
    return content;
}

static enum attn_status check_each(const struct figure_writer *w, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < w->content.n && status == ATTN_OK; i++) {
        const struct attn_figure_content content = content_of(w, i);

        status = attn_figure_measure(&content, err);
    }
    return status;
}

/* The kind that is asked for, or what suits N matrices; in a directory each is alone. */
static enum attn_figure kind_of(const struct attn_writer *writer, size_t n)
{
    const enum attn_figure asked = writer->options.picture->figure;

    if (asked != ATTN_FIGURE_DEFAULT)
        return asked;
    return n > 1 && !writer->directory ? ATTN_FIGURE_GRID : ATTN_FIGURE_MATRIX;
}

/* --- Files ------------------------------------------------------------------------------------- */

static enum attn_status append_name(const struct figure_writer *w, size_t i,
                                    struct attn_buffer *name, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_levels_at(w->levels, i);

    attn_writer_append_file_name(name, &w->base, matrix->site, matrix->layer, matrix->head);
    return attn_buffer_check(name, err);
}

static enum attn_status list_files(struct figure_writer *w, struct attn_error *err)
{
    struct attn_file_names *files = &w->base.run->files;
    struct attn_buffer name = {0};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < w->content.n && status == ATTN_OK; i++) {
        attn_buffer_reset(&name);
        status = append_name(w, i, &name, err);
        if (status == ATTN_OK)
            attn_file_names_append(files, name.data);
    }
    attn_buffer_release(&name);
    return status == ATTN_OK ? attn_buffer_check(&files->text, err) : status;
}

static enum attn_status write_figure(struct figure_writer *w,
                                     const struct attn_figure_content *content,
                                     struct attn_sink *sink, struct attn_error *err)
{
    struct attn_shapes shapes = {0};
    enum attn_status status = attn_figure_draw(content, &shapes, err);

    size_t n_unknown = 0;

    if (status == ATTN_OK)
        status = w->base.ops->draw(&shapes, sink, &n_unknown, err);
    if (status == ATTN_OK)
        status = attn_sink_check(sink, err);
    w->n_unknown += n_unknown;
    for (size_t i = content->first; i < content->first + content->n; i++)
        w->n_not_finite += attn_levels_at(w->levels, i)->n_not_finite;
    attn_shapes_release(&shapes);
    return status;
}

/* Writes the file of matrix I into the directory. */
static enum attn_status write_file(struct figure_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_figure_content content = content_of(w, i);
    struct attn_buffer name = {0};
    struct attn_sink *sink = NULL;
    enum attn_status status = append_name(w, i, &name, err);

    if (status == ATTN_OK)
        status = attn_directory_create_file(w->base.directory, name.data, &sink, err);
    attn_buffer_release(&name);
    if (status == ATTN_OK)
        status = write_figure(w, &content, sink, err);
    if (status == ATTN_OK)
        status = attn_directory_commit_file(w->base.directory, sink, err);
    else
        attn_sink_free(sink);
    attn_levels_drop(w->levels, i);
    return status;
}

/* --- The formats ------------------------------------------------------------------------------- */

static enum attn_status open_levels(struct figure_writer *w, struct attn_error *err)
{
    const uint64_t sites = find_sites(&w->base);
    const enum attn_figure asked = w->base.options.picture->figure;
    struct attn_levels_limits limits = attn_figure_limits(asked);
    enum attn_status status = attn_levels_create(&w->base, sites, &limits, &w->levels, err);
    size_t n;

    if (status != ATTN_OK)
        return status;
    n = attn_levels_n(w->levels);
    w->content.kind = kind_of(&w->base, n);
    if (w->content.kind == asked)
        return ATTN_OK;
    attn_levels_free(w->levels);
    w->levels = NULL;
    limits = attn_figure_limits(w->content.kind);
    return attn_levels_create(&w->base, sites, &limits, &w->levels, err);
}

static enum attn_status open_figure(struct attn_writer *writer, bool is_in_points,
                                    struct attn_error *err)
{
    struct figure_writer *w = (struct figure_writer *)writer;
    enum attn_status status = open_levels(w, err);

    if (status == ATTN_OK)
        status = attn_token_labels_init(&w->tokens, &writer->labels, err);
    if (status == ATTN_OK)
        status = attn_token_labels_init_source(&w->source_tokens, &writer->labels, err);
    if (status != ATTN_OK)
        return status;
    w->content.writer = writer;
    w->content.picture = writer->options.picture;
    w->content.levels = w->levels;
    w->content.n = attn_levels_n(w->levels);
    w->content.is_in_points = is_in_points;
    w->content.tokens = &w->tokens;
    w->content.source_tokens = &w->source_tokens;
    w->rows_left = attn_alloc(w->content.n, sizeof *w->rows_left, err);
    if (!w->rows_left)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < w->content.n; i++)
        w->rows_left[i] = attn_levels_at(w->levels, i)->n_row;
    if (!writer->directory)
        return check_one(w, err);
    status = check_each(w, err);
    return status == ATTN_OK ? list_files(w, err) : status;
}

static enum attn_status event_figure(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, struct attn_error *err)
{
    struct figure_writer *w = (struct figure_writer *)writer;
    enum attn_status status = attn_levels_take(w->levels, event, place, err);
    const struct attn_level_matrix *matrix =
        attn_levels_find(w->levels, event->site, event->layer, event->head);
    size_t i;

    if (status != ATTN_OK || !writer->directory || !matrix)
        return status;
    i = (size_t)(matrix - attn_levels_at(w->levels, 0));
    w->rows_left[i] -= event->n_row < w->rows_left[i] ? event->n_row : w->rows_left[i];
    return w->rows_left[i] == 0 ? write_file(w, i, err) : ATTN_OK;
}

/* Says what a reader of the figure should know. */
static void note_oddities(const struct figure_writer *w)
{
    const struct attn_writer_options *options = &w->base.options;
    char message[200];

    if (options->on_note && w->n_not_finite > 0) {
        snprintf(message, sizeof message, "the figure has %zu %s not finite, hatched red",
                 w->n_not_finite, w->n_not_finite == 1 ? "cell that is" : "cells that are");
        options->on_note(options->user, message);
    }
    if (options->on_note && w->n_unknown > 0) {
        snprintf(message, sizeof message,
                 "%zu %s characters of which no font is installed, drawn as boxes", w->n_unknown,
                 w->n_unknown == 1 ? "label has" : "labels have");
        options->on_note(options->user, message);
    }
}

static enum attn_status finish_figure(struct attn_writer *writer, struct attn_error *err)
{
    struct figure_writer *w = (struct figure_writer *)writer;
    enum attn_status status =
        writer->directory ? ATTN_OK : write_figure(w, &w->content, writer->sink, err);

    if (status == ATTN_OK)
        note_oddities(w);
    return status;
}

static void release_figure(struct attn_writer *writer)
{
    struct figure_writer *w = (struct figure_writer *)writer;

    attn_levels_free(w->levels);
    attn_free(w->rows_left);
    attn_token_texts_release(&w->tokens);
    attn_token_texts_release(&w->source_tokens);
}

/* SVG is text: whoever shows it has fonts, or has not. */
static enum attn_status write_svg(const struct attn_shapes *shapes, struct attn_sink *sink,
                                  size_t *n_unknown, struct attn_error *err)
{
    *n_unknown = 0;
    return attn_figure_svg_write(shapes, sink, err);
}

static enum attn_status open_pixels(struct attn_writer *writer, struct attn_error *err)
{
    return open_figure(writer, false, err);
}

static enum attn_status open_points(struct attn_writer *writer, struct attn_error *err)
{
    return open_figure(writer, true, err);
}

#define FIGURE_OPS(open_function, draw_function, check_function)                                   \
    {                                                                                              \
        .size = sizeof(struct figure_writer), .check = (check_function), .open = (open_function),  \
        .event = event_figure, .finish = finish_figure, .release = release_figure,                 \
        .draw = (draw_function)                                                                    \
    }

static const struct attn_writer_ops png_ops =
    FIGURE_OPS(open_pixels, attn_figure_png_write, attn_figure_cairo_check);
static const struct attn_writer_ops svg_ops = FIGURE_OPS(open_points, write_svg, NULL);
static const struct attn_writer_ops pdf_ops =
    FIGURE_OPS(open_points, attn_figure_pdf_write, attn_figure_cairo_check);

const struct attn_format attn_png_format = {
    .name = "png",
    .argument = "PATH",
    .help = "draw a figure as PNG: one file for all that is chosen, or one per matrix when PATH is "
            "a directory or ends in '/'",
    .title = "PNG",
    .is_picture = true,
    .draws_differences = true,
    .takes_directory = true,
    .suffix = ".png",
    .tensors = &png_ops,
};

const struct attn_format attn_svg_format = {
    .name = "svg",
    .argument = "PATH",
    .help = "the same figure as SVG, in which text can be searched",
    .title = "SVG",
    .is_picture = true,
    .draws_differences = true,
    .takes_directory = true,
    .suffix = ".svg",
    .tensors = &svg_ops,
};

const struct attn_format attn_pdf_format = {
    .name = "pdf",
    .argument = "PATH",
    .help = "the same figure as PDF, for LaTeX",
    .title = "PDF",
    .is_picture = true,
    .draws_differences = true,
    .takes_directory = true,
    .suffix = ".pdf",
    .tensors = &pdf_ops,
};
