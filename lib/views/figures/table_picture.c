/* table_picture.c - see table_picture.h. Converts a table into a matrix with labels, and this into
 * a figure, or a heat map in text. */
#include "figures/table_picture_internal.h"

#include "base/status_internal.h"
#include "base/text/given.h"
#include "pictures/picture_internal.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tensors/format_internal.h"
#include "tensors/labels_internal.h"
#include "tensors/outputs_internal.h"
#include "towers/prompt/picture_prompt.h"

#include <string.h>

const struct attn_column *attn_table_picture_column(const struct attn_table_picture *picture,
                                                    const struct attn_table *table)
{
    return picture ? attn_table_column(table, attn_table_view_find(table, picture->view.values))
                   : NULL;
}

enum attn_status attn_table_picture_show(struct attn_table_picture *picture,
                                         const struct attn_table *table, const char *name,
                                         struct attn_error *err)
{
    struct attn_view_columns of;
    size_t column;
    enum attn_status status = ATTN_OK;

    ATTN_NEED(err, picture, table, name);
    of = attn_view_columns_find(table, &picture->view);
    column = attn_table_find(table, name);
    if (column == of.values && column < SIZE_MAX && (picture->view.traits & ATTN_VIEW_SERIES) == 0)
        return ATTN_OK;
    status = attn_view_columns_check(table, &of, column, name, err);
    if (status == ATTN_OK) {
        picture->view.values = ATTN_TABLE_COLUMN(column);
        picture->view.quantity = NULL; /* it described the previous column */
        picture->view.traits &= ~(unsigned)ATTN_VIEW_SERIES;
    }
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_table_picture_check(const struct attn_output *output, struct attn_error *err)
{
    const struct attn_format *format;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(output, "output", err) || !attn_is_given(output->format, "format", err))
        return ATTN_INVALID;
    format = output->format;
    if (!format->tensors || !format->tensors->draw)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` draws no table", format->name);
    if (output->path && attn_format_is_directory(format, output->path))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is a directory, a table is one picture",
                           attn_quote_string(output->path).text);
    if (format->tensors->check)
        status = format->tensors->check(
            output->path ? attn_quote_string(output->path).text : format->name, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Returns true if OF is drawn as parts, which is a figure in every format. */
static bool has_parts(const struct attn_table_picture *of)
{
    return (of->view.traits & ATTN_VIEW_PARTS) != 0;
}

/* Returns true if the columns of OF are positions of a picture that was run, or its rows and
 * columns those of cells or tiles of a picture in a text. */
static bool is_of_patches(const struct attn_table *table, const struct attn_table_picture *of)
{
    if (of->run && of->run->seen && of->view.figure == ATTN_FIGURE_PATCHES)
        return true;
    return of->run && of->run->backdrop &&
           attn_table_role(table, attn_table_view_find(table, of->view.columns)) ==
               ATTN_ROLE_POSITION;
}

/* Returns the picture behind the numbers of DRAWING, which is of patches. */
static const struct attn_backdrop *find_backdrop(struct attn_table_drawing *drawing)
{
    const struct attn_labels *run = drawing->of.run;
    const char *only = drawing->of.view.only;

    if (!run->seen || !only || strcmp(only, "tile") != 0)
        return run->seen ? run->seen : run->backdrop;
    drawing->tiles = *run->seen;
    drawing->tiles.n_row = attn_labels_prompt(run)->images[0].tile_rows;
    drawing->tiles.n_col = attn_labels_prompt(run)->images[0].tile_cols;
    return &drawing->tiles;
}

/* Decides what is drawn: the figure that the user chose, otherwise the usual one. Tokens that are
 * patches of a picture are a map over it, unless another figure is chosen. A page draws no maps of
 * groups. */
static void decide(struct attn_table_drawing *drawing)
{
    struct attn_table_picture *of = &drawing->of;
    struct attn_table_view *view = &of->view;
    enum attn_figure kind = drawing->options->figure;
    const bool is_over = is_of_patches(drawing->table, drawing->picture);
    const bool takes_map = kind == ATTN_FIGURE_DEFAULT || kind == ATTN_FIGURE_MATRIX ||
                           kind == ATTN_FIGURE_GRID || kind == ATTN_FIGURE_PATCHES;

    *of = *drawing->picture;
    if ((view->traits & ATTN_VIEW_SPANS) != 0 && !attn_table_has_spans(of)) /* without a text */
        view->figure = ATTN_FIGURE_BARS;
    if (view->figure == ATTN_FIGURE_TOKENS && is_over && takes_map && of->n_label == 0) {
        view->figure = ATTN_FIGURE_PATCHES;
        view->rows = ATTN_ROLE_PART;
    }
    if (kind == ATTN_FIGURE_DEFAULT && (is_over || view->figure != ATTN_FIGURE_PATCHES))
        kind = view->figure;
    if (has_parts(of) || kind == ATTN_FIGURE_DEFAULT || kind == ATTN_FIGURE_GRID ||
        (kind == ATTN_FIGURE_PATCHES && is_over && drawing->is_page && of->n_label > 0))
        kind = ATTN_FIGURE_MATRIX;
    drawing->kind = kind;
    drawing->is_over = is_over;
    if (drawing->is_page && !attn_figure_is_plot(kind))
        of->n_label = 0; /* all groups share rows and columns */
}

/* Returns ATTN_INVALID if DRAWING cannot be drawn. */
static enum attn_status check(const struct attn_table_drawing *drawing, struct attn_error *err)
{
    const enum attn_figure kind = drawing->kind;
    const bool is_map = kind == ATTN_FIGURE_PATCHES && drawing->is_over;

    if (kind != ATTN_FIGURE_MATRIX && kind != ATTN_FIGURE_TOKENS && !attn_figure_is_plot(kind) &&
        !is_map)
        return attn_error_set(err, ATTN_INVALID, "'`figure %s`' draws no table, expected %s",
                              attn_figure_name(kind),
                              attn_figure_names(ATTN_FIGURE_OF_TABLE, " or ").text);
    if (is_map && (drawing->options->n_patch_row > 0 || drawing->options->patches))
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure patches`' of a table is over its picture, expected nothing "
                              "after it");
    return ATTN_OK;
}

/* Decides what DRAWING shows, and lays out its numbers. */
static enum attn_status lay_out(struct attn_table_drawing *drawing, struct attn_error *err)
{
    struct attn_grid *grid = &drawing->cells.grid;

    decide(drawing);
    ATTN_TRY(check(drawing, err));
    ATTN_TRY(attn_table_cells_read(drawing->table, &drawing->of, drawing->kind, drawing->options,
                                   &drawing->cells, err));
    if (drawing->kind == ATTN_FIGURE_PATCHES) {
        grid->backdrop = find_backdrop(drawing);
        if ((drawing->is_page || drawing->options->figure == ATTN_FIGURE_DEFAULT) &&
            !attn_grid_fits_backdrop(grid->backdrop, grid->matrices))
            drawing->kind = ATTN_FIGURE_MATRIX; /* not all positions: drawn as a matrix */
    }
    drawing->is_text = drawing->kind == ATTN_FIGURE_TOKENS;
    drawing->is_figure = attn_figure_is_plot(drawing->kind) ||
                         drawing->kind == ATTN_FIGURE_PATCHES ||
                         (drawing->is_text && attn_table_has_spans(&drawing->of));
    return ATTN_OK;
}

/* Adds the shapes of the figure. If it is too large, and not MUST be drawn, there are none. */
static enum attn_status add_shapes(struct attn_table_drawing *drawing, bool is_in_points, bool must,
                                   struct attn_error *err)
{
    const struct attn_figure_content content = {.kind = drawing->kind,
                                                .grid = &drawing->cells.grid,
                                                .picture = drawing->options,
                                                .is_in_points = is_in_points,
                                                .table = drawing->table,
                                                .of = &drawing->of};
    struct attn_error unseen = {0};
    const enum attn_status status = attn_figure_measure(&content, &unseen);

    drawing->has_shapes = status == ATTN_OK;
    if (status == ATTN_OK)
        return attn_figure_draw(&content, &drawing->shapes, err);
    return must || status == ATTN_NO_MEMORY ? attn_error_copy(err, &unseen) : ATTN_OK;
}

enum attn_status attn_table_drawing_create(struct attn_table_drawing *drawing,
                                           const struct attn_table *table,
                                           const struct attn_table_picture *picture,
                                           const struct attn_picture_options *options,
                                           struct attn_error *err)
{
    enum attn_status status;

    drawing->table = table;
    drawing->picture = picture;
    drawing->options = options;
    drawing->is_page = true;
    status = lay_out(drawing, err);
    if (status == ATTN_OK && (drawing->is_figure || picture->n_label == 0))
        status = add_shapes(drawing, true, drawing->is_figure, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

void attn_table_drawing_release(struct attn_table_drawing *drawing)
{
    attn_table_cells_release(&drawing->cells);
    attn_shapes_release(&drawing->shapes);
}

/* A file of a drawing. Formats that lay out the table themselves need no drawing. */
struct file {
    const struct attn_output *output;
    struct attn_table_drawing drawing;
};

static enum attn_status draw(struct file *file, struct attn_error *err)
{
    struct attn_table_drawing *drawing = &file->drawing;
    const struct attn_picture_options *options = drawing->options;
    const struct attn_format *format = file->output->format;
    const bool is_in_points = attn_figure_is_in_points(format);

    ATTN_TRY(attn_table_picture_check(file->output, err));
    if (!attn_output_is_given(file->output, err))
        return ATTN_INVALID;
    drawing->is_page = format->tensors->draw_table && !has_parts(drawing->picture);
    if (drawing->is_page) {
        decide(drawing);
        return check(drawing, err);
    }
    ATTN_TRY(lay_out(drawing, err));
    ATTN_TRY(add_shapes(drawing, is_in_points, true, err));
    attn_figure_note_size(&drawing->shapes, options, !is_in_points, options->on_note,
                          options->user);
    attn_figure_note_caption(&drawing->shapes, options->on_note, options->user);
    return ATTN_OK;
}

/* Writes the picture (attn_output_fn). */
static enum attn_status write_picture(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct file *file = user;
    const struct attn_table_drawing *drawing = &file->drawing;
    const struct attn_writer_ops *ops = file->output->format->tensors;
    size_t n_unknown;

    if (drawing->is_page)
        return ops->draw_table(drawing->table, drawing->picture, drawing->options, sink, err);
    return ops->draw(&drawing->shapes, sink, &n_unknown, err);
}

enum attn_status attn_table_picture_write(const struct attn_table *table,
                                          const struct attn_table_picture *picture,
                                          const struct attn_picture_options *options,
                                          const struct attn_output *output, struct attn_error *err)
{
    struct attn_picture_options read = ATTN_PICTURE_OPTIONS_DEFAULT;
    struct file file = {.output = output,
                        .drawing = {.table = table, .picture = picture, .options = &read}};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(picture, "picture", err) ||
        !attn_is_given(output, "output", err) ||
        !attn_is_given(picture->view.rows > 0, "rows", err) ||
        !attn_is_given(picture->view.columns > 0 || has_parts(picture), "columns", err) ||
        !attn_is_given(picture->view.values > 0, "values", err))
        return ATTN_INVALID;
    status = attn_picture_options_read(options, &read, err);
    ATTN_THEN(status, draw(&file, err));
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    ATTN_THEN(status, attn_output_write(output, write_picture, &file, err));
    attn_table_drawing_release(&file.drawing);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Appends "; NAME: TEXT", shortened. */
static void append_sentence(struct attn_buffer *out, const struct attn_figure_text *text)
{
    const char *name = text->name;

    if (text->text)
        attn_buffer_append_format(out, "; %s%s%s", name ? name : "", name ? ": " : "",
                                  attn_quote(text->text, text->n).text);
}

enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                            const struct attn_table_picture *picture,
                                            const struct attn_table_style *style,
                                            struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_column *column;
    struct attn_table_words words = {0};
    struct attn_table_style whole;
    struct attn_figure_text model = {0};
    struct attn_buffer caption = {0};
    enum attn_status status;

    ATTN_NEED(err, table, picture, style, sink);
    model.text = picture->model;
    model.n = model.text ? strlen(model.text) : 0;
    column = attn_table_picture_column(picture, table);
    if (!column && picture->view.quantity) /* all columns of a matrix are shown */
        column = attn_table_column(table, 0);
    if (column)
        attn_table_words_find(&words, column, picture);
    attn_buffer_append_string(&caption, words.title ? words.title : attn_table_name(table));
    append_sentence(&caption, &model);
    append_sentence(&caption, &picture->texts[0]);
    append_sentence(&caption, &picture->texts[1]);
    whole = *style;
    whole.n_group = picture->n_label;
    whole.has_row_types = true;
    whole.caption = attn_buffer_string(&caption);
    status = attn_buffer_check(words.bytes.has_failed ? &words.bytes : &caption, err);
    ATTN_THEN(status, attn_table_write_styled(table, &whole, sink, err));
    attn_buffer_release(&words.bytes);
    attn_buffer_release(&caption);
    return status;
}
