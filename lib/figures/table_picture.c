/* table_picture.c - see table_picture.h. */
#include "figures/table_picture.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "figures/figure.h"
#include "figures/table_grid.h"
#include "output/format_internal.h"
#include "output/outputs_internal.h"
#include "output/picture_internal.h"
#include "output/writer.h"

#include <string.h>

/* It draws the numbers themselves, and no figure. */
static bool draws_grids(const struct attn_format *format)
{
    return format->tensors && format->tensors->draw_grid;
}

/* PNG takes pixels, all others points. */
static bool is_in_points(const struct attn_format *format)
{
    return format != &attn_png_format;
}

static bool draws_figures(const struct attn_format *format)
{
    return format->tensors && format->tensors->draw;
}

enum attn_status attn_table_picture_check(const struct attn_output *output, struct attn_error *err)
{
    if (!attn_is_given(output, "output", err) || !attn_is_given(output->format, "format", err))
        return ATTN_INVALID;
    const struct attn_format *format = output->format;
    enum attn_status status = ATTN_OK;

    if (!draws_figures(format) && !draws_grids(format)) {
        attn_error_set(err, ATTN_INVALID, "--%s draws no table", format->name);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (output->path && attn_format_is_directory(format, output->path)) {
        attn_error_set(err, ATTN_INVALID, "'%s' is a directory, a table is one picture",
                       attn_quote_string(output->path).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (format->tensors->check)
        status = format->tensors->check(
            output->path ? attn_quote_string(output->path).text : format->name, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

static enum attn_status draw_figure(const struct attn_figure_grid *grid,
                                    const struct attn_picture_options *picture,
                                    const struct attn_format *format, struct attn_shapes *shapes,
                                    struct attn_error *err)
{
    const struct attn_figure_content content = {.kind = ATTN_FIGURE_MATRIX,
                                                .grid = grid,
                                                .picture = picture,
                                                .n = 1,
                                                .is_in_points = is_in_points(format)};

    ATTN_TRY(attn_figure_measure(&content, err));
    return attn_figure_draw(&content, shapes, err);
}

/* Writes GRID, or the figure that it became, to SINK. */
static enum attn_status write_picture(const struct attn_figure_grid *grid,
                                      const struct attn_shapes *shapes,
                                      const struct attn_picture_options *picture,
                                      const struct attn_format *format, struct attn_sink *sink,
                                      struct attn_error *err)
{
    size_t n_unknown;

    return draws_grids(format) ? format->tensors->draw_grid(grid, picture, sink, err)
                               : format->tensors->draw(shapes, sink, &n_unknown, err);
}

enum attn_status attn_table_picture_write(const struct attn_table *table,
                                          const struct attn_table_grid *grid,
                                          const struct attn_picture_options *picture,
                                          const struct attn_output *output, struct attn_error *err)
{
    if (!attn_is_given(table, "table", err) || !attn_is_given(grid, "grid", err) ||
        !attn_is_given(output, "output", err))
        return ATTN_INVALID;
    struct attn_picture_options read = ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_table_cells cells = {0};
    struct attn_shapes shapes = {0};
    struct attn_sink *file = NULL;
    enum attn_status status;

    status = attn_picture_options_read(picture, &read, err);
    picture = &read;
    if (status == ATTN_OK)
        status = attn_table_picture_check(output, err);
    if (status == ATTN_OK && !attn_output_is_given(output, err))
        status = ATTN_INVALID;
    if (status == ATTN_OK)
        status = attn_table_cells_read(table, grid, picture->color_scale, &cells, err);
    if (status == ATTN_OK && !draws_grids(output->format))
        status = draw_figure(&cells.figure, picture, output->format, &shapes, err);
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK && output->path)
        status = attn_output_create_file(output, &file, err);
    if (status == ATTN_OK)
        status = write_picture(&cells.figure, &shapes, picture, output->format,
                               file ? file : output->sink, err);
    if (status == ATTN_OK)
        status = file ? attn_sink_commit(file, err) : attn_sink_check(output->sink, err);
    attn_sink_free(file);
    attn_table_cells_release(&cells);
    attn_shapes_release(&shapes);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
