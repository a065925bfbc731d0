/* table_picture.c - see table_picture.h. Converts a table into a matrix with labels, and this into
 * a figure, or a heat map in text. */
#include "pictures/table_picture_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "input/pixels.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tables/text_table.h"
#include "tensors/format_internal.h"
#include "tensors/outputs_internal.h"
#include "tensors/picture_internal.h"

#include <string.h>

const struct attn_column *attn_table_picture_column(const struct attn_table_picture *picture,
                                                    const struct attn_table *table)
{
    return attn_table_column(table, attn_table_view_find(table, picture->view.values));
}

enum attn_status attn_table_picture_show(struct attn_table_picture *picture,
                                         const struct attn_table *table, const char *name,
                                         struct attn_error *err)
{
    struct attn_view_columns of;
    size_t column;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(picture, "picture", err) || !attn_is_given(table, "table", err) ||
        !attn_is_given(name, "name", err))
        return ATTN_INVALID;
    of = attn_view_columns_find(table, &picture->view);
    column = attn_table_find(table, name);
    if (column == of.values && column < SIZE_MAX && (picture->view.traits & ATTN_VIEW_SHARES) == 0)
        return ATTN_OK;
    status = attn_view_columns_check(table, &of, column, name, err);
    if (status == ATTN_OK) {
        picture->view.values = ATTN_TABLE_COLUMN(column);
        picture->view.quantity = NULL; /* it described the previous column */
        picture->view.traits &= ~(unsigned)ATTN_VIEW_SHARES;
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
    if (!format->tensors || (!format->tensors->draw && !format->tensors->draw_grid))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` draws no table", format->name);
    if (output->path && attn_format_is_directory(format, output->path))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is a directory, a table is one picture",
                           attn_quote_string(output->path).text);
    if (format->tensors->check)
        status = format->tensors->check(
            output->path ? attn_quote_string(output->path).text : format->name, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

struct table_picture {
    struct attn_picture_options options;
    const struct attn_output *output;
    struct attn_table_cells cells;
    struct attn_backdrop tiles;
    struct attn_shapes shapes; /* empty if the format draws the cells without shapes */
    const struct attn_table *table;
    const struct attn_table_picture *of;
};

/* Returns true if OF is drawn as parts, which is a figure in every format. */
static bool has_parts(const struct attn_table_picture *of)
{
    return (of->view.traits & ATTN_VIEW_PARTS) != 0;
}

static bool needs_shapes(enum attn_figure kind)
{
    return attn_figure_is_plot(kind) || kind == ATTN_FIGURE_PATCHES;
}

/* Returns true if the columns of OF are positions of a picture that was run, or its rows and
 * columns those of cells or tiles of a picture in a text. */
static bool is_of_patches(const struct attn_table *table, const struct attn_table_picture *of)
{
    if (of->run && of->run->seen && of->view.figure == ATTN_FIGURE_PATCHES)
        return true;
    return of->run && of->run->backdrop &&
           attn_table_has_role(table, attn_table_view_find(table, of->view.columns),
                               ATTN_ROLE_POSITION);
}

/* Returns the picture behind the numbers of OF, which is of patches. OWN is room for its tiles. */
static const struct attn_backdrop *find_backdrop(const struct attn_table_picture *of,
                                                 struct attn_backdrop *own)
{
    if (!of->run->seen || !of->view.only || strcmp(of->view.only, "tile") != 0)
        return of->run->seen ? of->run->seen : of->run->backdrop;
    *own = *of->run->seen;
    own->n_row = of->run->pixels->tile_rows;
    own->n_col = of->run->pixels->tile_cols;
    return own;
}

/* Returns OF; or if its tokens are patches of a picture, fills *PATCHES with a map over that
 * picture and returns it. */
static const struct attn_table_picture *over_picture(const struct attn_table *table,
                                                     const struct attn_table_picture *of,
                                                     struct attn_table_picture *patches)
{
    if (of->view.figure != ATTN_FIGURE_TOKENS || !is_of_patches(table, of))
        return of;
    *patches = *of;
    patches->view.figure = ATTN_FIGURE_PATCHES;
    patches->view.rows = ATTN_ROLE_PART;
    return patches;
}

/* Returns the kind of figure to draw: ASKED if the user chose one, otherwise the default of OF.
 * Plots and maps are not drawn in a terminal, and maps of groups not in a page (OUTPUT NULL). */
static enum attn_figure kind_of(enum attn_figure asked, const struct attn_table *table,
                                const struct attn_table_picture *of,
                                const struct attn_output *output)
{
    const bool lacks_text = (of->view.traits & ATTN_VIEW_SPANS) != 0 && !attn_table_has_spans(of);
    const enum attn_figure usual = lacks_text ? ATTN_FIGURE_BARS : of->view.figure;
    const bool is_of_positions = is_of_patches(table, of);
    const bool is_drawn =
        !output || (output->format && output->format->tensors &&
                    (!needs_shapes(usual) || !output->format->tensors->draw_grid));

    if (has_parts(of))
        return ATTN_FIGURE_MATRIX;
    if (asked == ATTN_FIGURE_DEFAULT && is_drawn)
        asked = usual == ATTN_FIGURE_PATCHES && !is_of_positions ? asked : usual;
    if (asked == ATTN_FIGURE_PATCHES && (!output ? of->n_label > 0 || !is_of_positions
                                                 : output->format && output->format->tensors &&
                                                       output->format->tensors->draw_table))
        asked = ATTN_FIGURE_GRID;
    return asked == ATTN_FIGURE_DEFAULT || asked == ATTN_FIGURE_GRID ? ATTN_FIGURE_MATRIX : asked;
}

/* Returns ATTN_INVALID if KIND draws no table. IS_MAP: it draws one over the picture of the run. */
static enum attn_status check_figure(enum attn_figure kind, bool is_map, struct attn_error *err)
{
    if (kind == ATTN_FIGURE_MATRIX || kind == ATTN_FIGURE_TOKENS || attn_figure_is_plot(kind) ||
        is_map)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "'`figure %s`' draws no table, expected %s",
                          attn_figure_name(kind),
                          attn_figure_names(ATTN_FIGURE_OF_TABLE, " or ").text);
}

/* Returns ATTN_INVALID if the format cannot draw PICTURE as KIND. */
static enum attn_status check_kind(enum attn_figure kind, const struct table_picture *picture,
                                   struct attn_error *err)
{
    const struct attn_format *format = picture->output->format;
    const bool is_map = kind == ATTN_FIGURE_PATCHES && is_of_patches(picture->table, picture->of);

    ATTN_TRY(check_figure(kind, is_map, err));
    if (is_map && picture->options.n_patch_row > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure patches`' of a table is over its picture, and takes no "
                              "rows and columns");
    if (picture->of->n_label > 0 && format->tensors->draw_grid)
        return attn_table_refuse_groups("a heat map", err);
    if (needs_shapes(kind) && format->tensors->draw_grid)
        return attn_error_set(err, ATTN_INVALID, "'`%s`' draws no '`figure %s`'", format->name,
                              attn_figure_name(kind));
    return ATTN_OK;
}

static enum attn_status draw(struct table_picture *picture, struct attn_error *err)
{
    const struct attn_table_picture *of = picture->of;
    const struct attn_output *output = picture->output;
    const enum attn_figure kind = kind_of(picture->options.figure, picture->table, of, output);
    struct attn_grid *figure = &picture->cells.grid;
    struct attn_figure_content content = {.kind = kind,
                                          .grid = figure,
                                          .picture = &picture->options,
                                          .is_in_points = attn_figure_is_in_points(output->format),
                                          .table = picture->table,
                                          .of = of};

    ATTN_TRY(attn_table_picture_check(output, err));
    if (!attn_output_is_given(output, err))
        return ATTN_INVALID;
    ATTN_TRY(check_kind(kind, picture, err));
    /* the format lays out the table itself */
    if (output->format->tensors->draw_table && !has_parts(of))
        return ATTN_OK;
    ATTN_TRY(
        attn_table_cells_read(picture->table, of, kind, &picture->options, &picture->cells, err));
    if (output->format->tensors->draw_grid) /* the format writes the numbers without a figure */
        return ATTN_OK;
    if (kind == ATTN_FIGURE_PATCHES) {
        figure->backdrop = find_backdrop(of, &picture->tiles);
        if (picture->options.figure == ATTN_FIGURE_DEFAULT &&
            !attn_grid_fits_backdrop(figure->backdrop, figure->matrices))
            content.kind = ATTN_FIGURE_MATRIX; /* not all positions: drawn as a matrix */
    }
    ATTN_TRY(attn_figure_measure(&content, err));
    ATTN_TRY(attn_figure_draw(&content, &picture->shapes, err));
    attn_figure_note_size(&picture->shapes, &picture->options, !content.is_in_points,
                          picture->options.on_note, picture->options.user);
    attn_figure_note_caption(&picture->shapes, picture->options.on_note, picture->options.user);
    return ATTN_OK;
}

/* Writes the picture (attn_output_fn). */
static enum attn_status write_picture(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct table_picture *picture = user;
    const struct attn_writer_ops *ops = picture->output->format->tensors;
    size_t n_unknown;

    if (ops->draw_table && !has_parts(picture->of))
        return ops->draw_table(picture->table, picture->of, &picture->options, sink, err);
    if (ops->draw_grid)
        return ops->draw_grid(&picture->cells.grid, &picture->options, sink, err);
    return ops->draw(&picture->shapes, sink, &n_unknown, err);
}

enum attn_status attn_table_drawing_use(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        const struct attn_picture_options *options,
                                        attn_table_drawing_fn use, void *user,
                                        struct attn_error *err)
{
    struct attn_table_cells cells = {.note = ""};
    struct attn_backdrop tiles;
    struct attn_shapes shapes = {0};
    const bool is_asked =
        options->figure == ATTN_FIGURE_DEFAULT || options->figure == ATTN_FIGURE_PATCHES;
    struct attn_table_picture patches;
    struct attn_table_picture whole =
        is_asked && picture->n_label == 0 ? *over_picture(table, picture, &patches) : *picture;
    struct attn_table_drawing drawing = {.table = table,
                                         .picture = picture,
                                         .kind = kind_of(options->figure, table, &whole, NULL),
                                         .figure = &cells.grid};
    struct attn_figure_content content = {.grid = &cells.grid,
                                          .picture = options,
                                          .is_in_points = true,
                                          .table = table,
                                          .of = &whole};
    const bool is_plot = attn_figure_is_plot(drawing.kind);
    bool needs_figure;
    /* discarded: without a figure, the page shows the table alone */
    struct attn_error unseen = {0};
    enum attn_status status;

    /* otherwise all groups share rows and columns */
    whole.n_label = is_plot ? picture->n_label : 0;
    if (options->figure == ATTN_FIGURE_PATCHES && !is_of_patches(table, &whole))
        status = check_figure(ATTN_FIGURE_PATCHES, false, err); /* it would have no effect */
    else
        status = check_figure(drawing.kind, drawing.kind == ATTN_FIGURE_PATCHES, err);
    if (status == ATTN_OK)
        status = attn_table_cells_read(table, &whole, drawing.kind, options, &cells, err);
    if (status == ATTN_OK && drawing.kind == ATTN_FIGURE_PATCHES) {
        cells.grid.backdrop = find_backdrop(&whole, &tiles);
        if (!attn_grid_fits_backdrop(cells.grid.backdrop, cells.grid.matrices))
            drawing.kind = ATTN_FIGURE_MATRIX; /* not all positions: drawn as a matrix */
    }
    content.kind = drawing.kind;
    drawing.is_figure = needs_figure =
        needs_shapes(drawing.kind) ||
        (drawing.kind == ATTN_FIGURE_TOKENS && attn_table_has_spans(&whole));
    if (status == ATTN_OK && (needs_figure || picture->n_label == 0)) {
        status = attn_figure_measure(&content, &unseen);
        if (status == ATTN_OK) {
            status = attn_figure_draw(&content, &shapes, err);
            drawing.shapes = &shapes;
        } else if (needs_figure || status == ATTN_NO_MEMORY) {
            status = attn_error_copy(err, &unseen);
        } else {
            status = ATTN_OK;
        }
    }
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    drawing.rows = cells.rows.of_rows;
    drawing.columns = cells.columns.of_rows;
    if (status == ATTN_OK)
        status = use(user, &drawing, err);
    attn_table_cells_release(&cells);
    attn_shapes_release(&shapes);
    return status;
}

enum attn_status attn_table_picture_write(const struct attn_table *table,
                                          const struct attn_table_picture *picture,
                                          const struct attn_picture_options *options,
                                          const struct attn_output *output, struct attn_error *err)
{
    struct attn_table_picture patches;
    struct table_picture made = {
        .options = ATTN_PICTURE_OPTIONS_DEFAULT, .output = output, .table = table, .of = picture};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(picture, "picture", err) ||
        !attn_is_given(output, "output", err) ||
        !attn_is_given(picture->view.rows > 0, "rows", err) ||
        !attn_is_given(picture->view.columns > 0 || has_parts(picture), "columns", err) ||
        !attn_is_given(picture->view.values > 0, "values", err))
        return ATTN_INVALID;
    status = attn_picture_options_read(options, &made.options, err);
    made.of = over_picture(table, picture, &patches);
    if (status == ATTN_OK)
        status = draw(&made, err);
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK)
        status = attn_output_write(output, write_picture, &made, err);
    attn_table_cells_release(&made.cells);
    attn_shapes_release(&made.shapes);
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

    if (!attn_is_given(table, "table", err) || !attn_is_given(picture, "picture", err) ||
        !attn_is_given(style, "style", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
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
    if (status == ATTN_OK)
        status = attn_table_write_styled(table, &whole, sink, err);
    attn_table_words_release(&words);
    attn_buffer_release(&caption);
    return status;
}
