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

static struct figure_writer *figure_of(struct attn_writer *writer)
{
    return (struct figure_writer *)writer;
}

/* --- What is drawn ------------------------------------------------------------------------- */

/* Checks one figure of all matrices. */
static enum attn_status check_one(const struct figure_writer *w, struct attn_error *err)
{
    const enum attn_site site = attn_levels_at(w->levels, 0)->site;

    for (size_t i = 1; i < w->content.n; i++) {
        const enum attn_site other = attn_levels_at(w->levels, i)->site;

        if (other == site)
            continue;
        attn_error_set(err, ATTN_INVALID, "'%s' and '%s' are selected, one figure draws one site",
                       attn_site_name(site), attn_site_name(other));
        attn_error_hint(err, "choose with `sites`, or give a directory for one figure per matrix");
        return ATTN_INVALID;
    }
    if (w->content.n == 1 || w->content.kind == ATTN_FIGURE_GRID)
        return attn_figure_measure(&w->content, err);
    attn_error_set(err, ATTN_INVALID, "%zu matrices are selected, '`figure %s`' draws one",
                   w->content.n, attn_figure_name(w->content.kind));
    attn_error_hint(err, "choose one, as with `heads 0.0`, or give a directory: `%s figures/`",
                    w->base.format->name);
    return ATTN_INVALID;
}

/* The figure of matrix I alone. */
static struct attn_figure_content content_of(const struct figure_writer *w, size_t i)
{
    struct attn_figure_content content = w->content;

    content.first = i;
    content.n = 1;
    return content;
}

/* --- Files --------------------------------------------------------------------------------- */

static enum attn_status append_name(const struct figure_writer *w, size_t i,
                                    struct attn_buffer *name, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_levels_at(w->levels, i);

    attn_writer_append_file_name(name, &w->base, matrix->site, matrix->layer, matrix->head);
    return attn_buffer_check(name, err);
}

/* Checks the figure of each matrix, and lists its file. NAME is empty, for the caller to
 * release. */
static enum attn_status check_each(struct figure_writer *w, struct attn_buffer *name,
                                   struct attn_error *err)
{
    struct attn_file_names *files = &w->base.run->files;

    for (size_t i = 0; i < w->content.n; i++) {
        const struct attn_figure_content content = content_of(w, i);

        ATTN_TRY(attn_figure_measure(&content, err));
    }
    for (size_t i = 0; i < w->content.n; i++) {
        name->size = 0;
        ATTN_TRY(append_name(w, i, name, err));
        attn_file_names_append(files, name->data);
    }
    return attn_buffer_check(&files->text, err);
}

/* SHAPES is empty, for the caller to release. */
static enum attn_status draw_figure(struct figure_writer *w,
                                    const struct attn_figure_content *content,
                                    struct attn_shapes *shapes, struct attn_sink *sink,
                                    struct attn_error *err)
{
    size_t n_unknown = 0;

    ATTN_TRY(attn_figure_draw(content, shapes, err));
    ATTN_TRY(w->base.ops->draw(shapes, sink, &n_unknown, err));
    ATTN_TRY(attn_sink_check(sink, err));
    w->n_unknown += n_unknown;
    for (size_t i = content->first; i < content->first + content->n; i++)
        w->n_not_finite += attn_levels_at(w->levels, i)->n_not_finite;
    return ATTN_OK;
}

static enum attn_status write_figure(struct figure_writer *w,
                                     const struct attn_figure_content *content,
                                     struct attn_sink *sink, struct attn_error *err)
{
    struct attn_shapes shapes = {0};
    const enum attn_status status = draw_figure(w, content, &shapes, sink, err);

    attn_shapes_release(&shapes);
    return status;
}

/* Makes the file of matrix I in the directory. */
static enum attn_status create_file(const struct figure_writer *w, size_t i,
                                    struct attn_sink **sink, struct attn_error *err)
{
    struct attn_buffer name = {0};
    enum attn_status status = append_name(w, i, &name, err);

    if (status == ATTN_OK)
        status = attn_directory_create_file(w->base.directory, name.data, sink, err);
    attn_buffer_release(&name);
    return status;
}

static enum attn_status write_file(struct figure_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_figure_content content = content_of(w, i);
    struct attn_sink *sink;
    enum attn_status status;

    ATTN_TRY(create_file(w, i, &sink, err));
    status = write_figure(w, &content, sink, err);
    if (status == ATTN_OK)
        status = attn_directory_commit_file(w->base.directory, sink, err);
    else
        attn_sink_free(sink);
    attn_levels_drop(w->levels, i);
    return status;
}

/* --- The formats --------------------------------------------------------------------------- */

/* The levels, for the kind of figure that is asked for, or that suits so many matrices; in a
 * directory each is alone. */
static enum attn_status open_levels(struct figure_writer *w, struct attn_error *err)
{
    const attn_site_set sites = attn_levels_sites(&w->base);
    struct attn_levels_limits limits;

    w->content.kind = w->base.options.picture->figure;
    if (w->content.kind == ATTN_FIGURE_DEFAULT)
        w->content.kind = attn_levels_count(&w->base, sites) > 1 && !w->base.directory
                              ? ATTN_FIGURE_GRID
                              : ATTN_FIGURE_MATRIX;
    limits = attn_figure_limits(w->content.kind);
    return attn_levels_create(&w->base, sites, &limits, &w->levels, err);
}

static enum attn_status open_figure(struct attn_writer *writer, struct attn_error *err)
{
    struct figure_writer *w = figure_of(writer);
    struct attn_buffer name = {0};
    enum attn_status status;

    ATTN_TRY(open_levels(w, err));
    ATTN_TRY(attn_token_labels_init(&w->tokens, &writer->labels, err));
    ATTN_TRY(attn_token_labels_init_source(&w->source_tokens, &writer->labels, err));
    w->content.writer = writer;
    w->content.picture = writer->options.picture;
    w->content.levels = w->levels;
    w->content.n = attn_levels_n(w->levels);
    w->content.is_in_points = attn_figure_is_in_points(writer->format);
    w->content.tokens = &w->tokens;
    w->content.source_tokens = &w->source_tokens;
    w->rows_left = attn_alloc(w->content.n, sizeof *w->rows_left, err);
    if (!w->rows_left)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < w->content.n; i++)
        w->rows_left[i] = attn_levels_at(w->levels, i)->n_row;
    status = writer->directory ? check_each(w, &name, err) : check_one(w, err);
    attn_buffer_release(&name);
    return status;
}

static enum attn_status event_figure(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, struct attn_error *err)
{
    struct figure_writer *w = figure_of(writer);
    const struct attn_level_matrix *matrix =
        attn_levels_find(w->levels, event->site, event->layer, event->head);
    size_t i;

    ATTN_TRY(attn_levels_take(w->levels, event, place, err));
    if (!writer->directory || !matrix)
        return ATTN_OK;
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
    struct figure_writer *w = figure_of(writer);

    if (!writer->directory)
        ATTN_TRY(write_figure(w, &w->content, writer->sink, err));
    note_oddities(w);
    return ATTN_OK;
}

static void release_figure(struct attn_writer *writer)
{
    struct figure_writer *w = figure_of(writer);

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

#define FIGURE_OPS(draw_function, check_function)                                                  \
    {                                                                                              \
        .size = sizeof(struct figure_writer), .check = (check_function), .open = open_figure,      \
        .event = event_figure, .finish = finish_figure, .release = release_figure,                 \
        .draw = (draw_function)                                                                    \
    }

static const struct attn_writer_ops png_ops =
    FIGURE_OPS(attn_figure_png_write, attn_figure_cairo_check);
static const struct attn_writer_ops svg_ops = FIGURE_OPS(write_svg, NULL);
static const struct attn_writer_ops pdf_ops =
    FIGURE_OPS(attn_figure_pdf_write, attn_figure_cairo_check);

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
