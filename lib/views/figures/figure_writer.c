/* figure_writer.c - the formats of figures: one file, or a directory with a file for each matrix,
 * named as in CSV. Figures are checked before the run. In a directory, a figure is written when its
 * matrix is complete, and its cells are freed. */
#include "figures/figure_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "figures/table_axis.h"
#include "pictures/picture_internal.h"
#include "tensors/labels_internal.h"
#include "tensors/view.h"
#include "towers/pixels.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/model_stack.h"

struct figure_writer {
    struct attn_writer base;
    struct attn_levels *levels;        /* owns */
    struct attn_token_texts tokens[2]; /* tokens of the text, and of the source */
    struct attn_store *store;          /* owns; has the arrays of `heads`, and the backdrops */
    /* [n_backdrop] the pictures that maps are drawn over */
    struct attn_backdrop *backdrops;
    size_t n_backdrop;
    bool has_maps;             /* of pictures in a text */
    enum attn_map_layer layer; /* the cells that they have; of pictures without tiles the whole */
    bool is_usual;             /* `layer` is chosen by the weights, when they are known */
    struct attn_grid grid;     /* all matrices */
    struct attn_figure_content content; /* content of the figure of `grid` */
    struct attn_table_axis heads;       /* for a figure of heads: their names, owns the texts, */
    struct attn_level_matrix of_heads;  /* owns; and their rows, in one matrix */
    size_t n_unknown;    /* number of texts with characters that no installed font has */
    size_t n_not_finite; /* number of cells with NaN or infinity */
    bool has_noted_size;
};

/* --- The content of a figure --------------------------------------------------------------- */

/* Whether a figure shows the heads of one query. */
static bool is_of_heads(const struct figure_writer *w)
{
    return w->content.kind == ATTN_FIGURE_HEADS || w->content.kind == ATTN_FIGURE_UNDER;
}

/* Makes the one matrix of a figure of heads, a row for each. */
static enum attn_status join_heads(struct figure_writer *w, struct attn_error *err)
{
    const struct attn_level_matrix *first = w->levels->items;
    struct attn_table_axis *axis = &w->heads;

    if (w->base.directory || !attn_site_has_heads(first->at.site)) {
        attn_error_set(err, ATTN_INVALID, "'`figure %s`' draws the heads of a site into one file",
                       attn_figure_name(w->content.kind));
        return attn_error_hint(err, w->base.directory
                                        ? "the path names a directory"
                                        : "choose a site with heads: `sites pattern`");
    }
    ATTN_TRY(attn_table_axis_create(axis, 1, w->levels->n, &w->store, err));
    ATTN_TRY(attn_level_matrix_create(w->levels->n, first->n_column, &w->of_heads, err));
    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_location *at = &first[i].at, *before = &first[i > 0 ? i - 1 : 0].at;
        const bool has_own = attn_writer_has_own_keys(&w->base, at);

        if (has_own != attn_writer_has_own_keys(&w->base, &first->at) ||
            first[i].n_column != first->n_column) {
            attn_error_set(err, ATTN_INVALID,
                           "the heads look at different texts, '`figure %s`' shows one",
                           attn_figure_name(w->content.kind));
            return attn_error_hint(err, "`sites`, `layers` and `heads` choose");
        }
        axis->begins[i] = at->stack != before->stack || at->layer != before->layer;
        attn_grid_append_layer(&axis->texts.bytes, at);
        attn_buffer_append_format(&axis->texts.bytes, ".%d", at->head);
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
    }
    ATTN_TRY(attn_table_axis_end(axis, "head", err));
    axis->axis.begins = axis->begins;
    w->of_heads.at = first->at;
    w->grid = attn_grid_of_run(&w->base, w->tokens, &w->of_heads, 1);
    w->grid.rows = &axis->axis;
    w->grid.heads = w->levels->items;
    return ATTN_OK;
}

/* Checks the single figure of all matrices. */
static enum attn_status check_one(struct figure_writer *w, struct attn_error *err)
{
    const enum attn_site site = w->levels->items[0].at.site;
    const size_t n_image = attn_levels_n_image(w->levels->items, w->levels->n);

    for (size_t i = 1; i < w->levels->n; i++) {
        const enum attn_site other = w->levels->items[i].at.site;

        if (other == site)
            continue;
        attn_error_set(err, ATTN_INVALID, "'%s' and '%s' are selected, one figure draws one site",
                       attn_site_name(site), attn_site_name(other));
        return attn_error_hint(err, "choose one with `sites`, without `grad`, or give a directory "
                                    "for one figure per matrix");
    }
    if (w->content.kind == ATTN_FIGURE_GRID && n_image > 1) {
        attn_error_set(err, ATTN_INVALID,
                       "'`figure grid`' has one map of each head, and there are maps over %zu "
                       "pictures",
                       n_image);
        return attn_error_hint(err, "`figure patches` draws a map over each");
    }
    if (is_of_heads(w))
        ATTN_TRY(join_heads(w, err));
    if (w->grid.n == 1 || w->content.kind == ATTN_FIGURE_GRID ||
        attn_figure_is_plot(w->content.kind) || /* plots need a table; they are refused later */
        attn_figure_is_map(w->content.kind, w->content.picture))
        return attn_figure_measure(&w->content, err);
    attn_error_set(err, ATTN_INVALID, "%zu matrices are selected, '`figure %s`' draws one",
                   w->grid.n, attn_figure_name(w->content.kind));
    return attn_error_hint(err,
                           "choose one, as with `heads 0.0`, or give a directory: `%s figures/`",
                           w->base.format->name);
}

/* --- Files --------------------------------------------------------------------------------- */

/* Returns the grid of N matrices from index FIRST on. */
static struct attn_grid grid_of(const struct figure_writer *w, size_t first, size_t n)
{
    struct attn_grid grid = attn_grid_of_run(&w->base, w->tokens, &w->levels->items[first], n);

    if (attn_figure_is_map(w->content.kind, w->content.picture) && w->n_backdrop > 0)
        grid.backdrop = w->backdrops;
    return grid;
}

/* Checks the figure of each matrix, and lists the files to write. */
static enum attn_status check_each(struct figure_writer *w, struct attn_error *err)
{
    for (size_t i = 0; i < w->grid.n; i++) {
        const struct attn_grid grid = grid_of(w, i, 1);
        struct attn_figure_content content = w->content;

        content.grid = &grid;
        ATTN_TRY(attn_figure_measure(&content, err));
    }
    for (size_t i = 0; i < w->grid.n; i++)
        ATTN_TRY(attn_writer_list_file(&w->base, &w->levels->items[i].at, w->levels->items[i].image,
                                       err));
    return ATTN_OK;
}

/* Draws and writes one figure. SHAPES must be {0}; the caller releases it. */
static enum attn_status draw_figure(struct figure_writer *w,
                                    const struct attn_figure_content *content,
                                    struct attn_shapes *shapes, struct attn_sink *sink,
                                    struct attn_error *err)
{
    size_t n_unknown = 0;

    ATTN_TRY(attn_figure_draw(content, shapes, err));
    if (!w->has_noted_size)
        attn_figure_note_size(shapes, content->picture, !content->is_in_points,
                              w->base.options.on_note, w->base.options.user);
    w->has_noted_size = true;
    attn_figure_note_caption(shapes, w->base.options.on_note, w->base.options.user);
    ATTN_TRY(w->base.ops->draw(shapes, sink, &n_unknown, err));
    w->n_unknown += n_unknown;
    for (size_t i = 0; i < content->grid->n; i++)
        w->n_not_finite += content->grid->matrices[i].n_not_finite;
    return attn_sink_check(sink, err);
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

/* Lays the picture of BACKDROP, number I in the text, out in the cells of LAYER. */
static void lay_out(const struct figure_writer *w, size_t i, enum attn_map_layer layer,
                    struct attn_backdrop *backdrop)
{
    const struct attn_prompt_image *image = &attn_labels_prompt(&w->base.labels)->images[i];
    const bool is_whole = layer == ATTN_MAP_WHOLE || image->grid_rows == 0;

    backdrop->n_row = is_whole ? image->rows : image->grid_rows;
    backdrop->n_col = is_whole ? image->columns : image->grid_cols;
}

/* Reads the maps [N] from number FIRST on, whose layers of the model are complete, in the cells
 * that are chosen for each picture. */
static enum attn_status read_maps(struct figure_writer *w, size_t first, size_t n,
                                  struct attn_error *err)
{
    const struct attn_level_matrix *items = w->levels->items;
    const struct attn_picture_maps *maps = *w->base.labels.maps;
    enum attn_status status = ATTN_OK;
    struct attn_location *ats;
    size_t n_at = 0;

    ATTN_TRY(ATTN_ALLOC(ats, n, err));
    for (size_t i = first; i < first + n; i++)
        if (items[i].image == items[first].image)
            ats[n_at++] = items[i].at;
    for (size_t k = 0; k < w->n_backdrop; k++) {
        const bool is_tiled = attn_labels_prompt(&w->base.labels)->images[k].grid_rows > 0;
        const enum attn_map_layer layer = !is_tiled ? ATTN_MAP_WHOLE
                                          : w->is_usual
                                              ? attn_picture_maps_usual_layer(maps, k, ats, n_at)
                                              : w->layer;

        lay_out(w, k, layer, &w->backdrops[k]);
        for (size_t i = first; i < first + n && status == ATTN_OK; i++)
            if (items[i].image == k)
                status = attn_levels_read_map(w->levels, i, layer, err);
    }
    attn_free(ats);
    return status;
}

/* Writes the file of matrix I in the directory. */
static enum attn_status write_file(struct figure_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = &w->levels->items[i];
    const struct attn_grid grid = grid_of(w, i, 1);
    struct attn_figure_content content = w->content;
    struct attn_sink *sink;
    enum attn_status status;

    content.grid = &grid;
    if (w->has_maps)
        ATTN_TRY(read_maps(w, i, 1, err));
    ATTN_TRY(attn_writer_create_file(&w->base, &matrix->at, matrix->image, &sink, err));
    status = write_figure(w, &content, sink, err);
    attn_levels_drop(w->levels, i);
    if (status == ATTN_OK)
        return attn_directory_commit_file(w->base.directory, sink, err);
    attn_sink_free(sink);
    return status;
}

/* --- The formats --------------------------------------------------------------------------- */

/* Returns true if heads are drawn over the picture of the run by default. */
static bool shows_maps(const struct figure_writer *w)
{
    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_level_matrix *matrix = &w->levels->items[i];

        if (matrix->image >= w->n_backdrop ||
            !attn_grid_fits_backdrop(&w->backdrops[matrix->image], matrix))
            return false;
    }
    return w->backdrops->is_in_text || w->base.n_query == w->base.n_position ||
           w->base.n_query == 1 || w->levels->n == 1;
}

/* Returns the position of cell number CELL of the pictures in the text of W. */
static size_t find_cell(const struct figure_writer *w, size_t cell)
{
    size_t p = 0;

    while (w->base.labels.region[p] != ATTN_REGION_PICTURE || cell-- > 0)
        p++;
    return p;
}

/* Sets w->backdrops to OWN, the first picture; in a text to all, in the cells of w->layer. */
static enum attn_status set_backdrops(struct figure_writer *w, const struct attn_backdrop *own,
                                      struct attn_error *err)
{
    const struct attn_picture_prompt *prompt =
        own->is_in_text ? attn_labels_prompt(&w->base.labels) : NULL;
    const size_t n = prompt ? prompt->n_image : 1;

    ATTN_TRY(ATTN_STORE_ALLOC(&w->store, w->backdrops, n, err));
    w->n_backdrop = n;
    for (size_t i = 0; i < n; i++) {
        const struct attn_prompt_image *image = prompt ? &prompt->images[i] : NULL;
        struct attn_backdrop *backdrop = &w->backdrops[i];

        *backdrop = *own;
        if (!image)
            continue;
        backdrop->n_front = find_cell(w, attn_prompt_image_whole(image));
        backdrop->rgb = image->pixels->shown;
        backdrop->height = image->pixels->shown_height;
        backdrop->width = backdrop->stride = image->pixels->shown_width;
        lay_out(w, i, w->layer, backdrop);
    }
    return ATTN_OK;
}

/* Whether the maps over a picture are those of the one query that pools it, which no heads, queries
 * or sites were chosen to replace. */
static bool shows_pooling(const struct figure_writer *w)
{
    const struct attn_selection *selection = w->base.labels.selection;
    const struct attn_picture_options *picture = w->content.picture;

    return attn_selection_has_site(selection, ATTN_SITE_POOL_PATTERN) &&
           attn_sites_are_empty(picture->sites) && attn_selection_is_all_heads(selection) &&
           attn_selection_is_all_queries(selection, ATTN_STACK_ONLY) &&
           (!picture->figure || attn_figure_is_map(picture->figure, picture));
}

/* Returns true if a picture in the text of W has tiles. */
static bool has_tiles(const struct figure_writer *w)
{
    const struct attn_picture_prompt *prompt = attn_labels_prompt(&w->base.labels);
    bool is_there = false;

    for (size_t i = 0; i < prompt->n_image; i++)
        is_there |= prompt->images[i].grid_rows > 0;
    return is_there;
}

/* Chooses the cells of the maps over pictures in a text, and returns the site whose events tell
 * that a map is complete. Until the weights are known, the larger layer is planned. */
static enum attn_site choose_layer(struct figure_writer *w)
{
    const struct attn_selection *selection = w->base.labels.selection;
    const enum attn_patches cells = w->content.picture->patches;
    const bool has_whole = attn_selection_has_site(selection, ATTN_SITE_PICTURE_MAP);
    const bool has_grid = attn_selection_has_site(selection, ATTN_SITE_PICTURE_MAP_TILES);

    w->layer = cells == ATTN_PATCHES_WHOLE   ? ATTN_MAP_WHOLE
               : cells == ATTN_PATCHES_TILES ? ATTN_MAP_TILES
               : cells == ATTN_PATCHES_BOTH  ? ATTN_MAP_BOTH
               : !has_grid                   ? ATTN_MAP_WHOLE
               : has_whole                   ? ATTN_MAP_BOTH
                                             : ATTN_MAP_TILES;
    w->is_usual = w->layer == ATTN_MAP_BOTH && cells != ATTN_PATCHES_BOTH;
    return w->layer == ATTN_MAP_TILES ? ATTN_SITE_PICTURE_MAP_TILES : ATTN_SITE_PICTURE_MAP;
}

/* Finds the pictures that maps are drawn over, and sets *SITES to the sites to draw: those of maps
 * if the pictures stand in a text. */
static enum attn_status find_backdrops(struct figure_writer *w, struct attn_site_set *sites,
                                       struct attn_error *err)
{
    const struct attn_labels *labels = &w->base.labels;
    const struct attn_picture_options *picture = w->content.picture;
    const enum attn_figure figure = picture->figure;
    const struct attn_backdrop *own = labels->backdrop ? labels->backdrop : labels->seen;
    const bool is_in_text = own && own->is_in_text;
    const char *cells = attn_patches_name(picture->patches);
    enum attn_site site;

    *sites = attn_levels_sites(&w->base);
    if (picture->patches && !(is_in_text && has_tiles(w)))
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure patches%s`' chooses between the tiles and the whole of a "
                              "picture beside a text, and %s",
                              cells, is_in_text ? "this one has no tiles" : "none was given");
    if (own && !is_in_text && shows_pooling(w))
        *sites = ATTN_SITES(ATTN_SITE_POOL_PATTERN);
    if (!is_in_text)
        return own ? set_backdrops(w, own, err) : ATTN_OK;
    site = choose_layer(w);
    if (!attn_selection_has_site(labels->selection, site))
        return !attn_figure_is_map(figure, picture)
                   ? ATTN_OK
                   : attn_error_set(err, ATTN_INVALID,
                                    "'`figure patches%s`' draws '%s', and `sites` lacks it", cells,
                                    attn_site_name(site));
    if (!figure ? !attn_sites_are_empty(picture->sites) && !attn_sites_have(*sites, site)
                : !attn_figure_is_map(figure, picture))
        return ATTN_OK;
    if (attn_view_hides(attn_view_of(picture)) || picture->renormalizes) {
        attn_error_set(err, ATTN_INVALID, "`%s` changes patterns, and the figure draws '%s'",
                       attn_view_name(attn_view_of(picture)), attn_site_name(site));
        return attn_error_hint(err, "`sites pattern` draws them");
    }
    *sites = ATTN_SITES(site);
    w->has_maps = true;
    return set_backdrops(w, own, err);
}

/* Lists the matrices to draw. Several queries have a map each if there is one head. */
static enum attn_status list_matrices(struct figure_writer *w, struct attn_error *err)
{
    struct attn_site_set sites;
    size_t n_map = w->base.n_query, *n_cell;

    ATTN_TRY(find_backdrops(w, &sites, err));
    ATTN_TRY(attn_levels_create(&w->base, sites, &w->levels, err));
    if (!w->has_maps)
        return ATTN_OK;
    if (attn_selection_is_all_queries(w->base.labels.selection, ATTN_STACK_ONLY))
        n_map = w->backdrops->n_usual;
    ATTN_TRY(ATTN_ALLOC(n_cell, w->n_backdrop, err));
    for (size_t i = 0; i < w->n_backdrop; i++)
        n_cell[i] = w->backdrops[i].n_row * w->backdrops[i].n_col;
    attn_levels_take_maps(w->levels, n_map, n_cell);
    attn_free(n_cell);
    return ATTN_OK;
}

static enum attn_status open_figure(struct attn_writer *writer, struct attn_error *err)
{
    enum { THUMBNAIL = 128 }; /* maximum cells of a side of a matrix in a grid */
    struct figure_writer *w = (struct figure_writer *)writer;
    size_t most;

    ATTN_TRY(attn_token_labels_init(w->tokens, &writer->labels, err));
    w->content = (struct attn_figure_content){
        .kind = writer->options.picture->figure,
        .grid = &w->grid,
        .picture = writer->options.picture,
        .is_in_points = attn_figure_is_in_points(writer->format),
    };
    ATTN_TRY(list_matrices(w, err));
    if (w->content.kind == ATTN_FIGURE_DEFAULT && shows_maps(w))
        w->content.kind = ATTN_FIGURE_PATCHES;
    if (w->content.kind == ATTN_FIGURE_DEFAULT) /* in a directory, each figure has one matrix */
        w->content.kind =
            w->levels->n > 1 && !writer->directory ? ATTN_FIGURE_GRID : ATTN_FIGURE_MATRIX;
    w->grid = grid_of(w, 0, w->levels->n);
    most = w->content.kind == ATTN_FIGURE_GRID ? THUMBNAIL : SIZE_MAX;
    attn_levels_limit(w->levels, most, most);
    return writer->directory && !is_of_heads(w) ? check_each(w, err) : check_one(w, err);
}

static enum attn_status event_figure(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, struct attn_error *err)
{
    struct figure_writer *w = (struct figure_writer *)writer;
    size_t whole;

    ATTN_TRY(attn_levels_take(w->levels, event, place, &whole, err));
    return writer->directory && whole != SIZE_MAX ? write_file(w, whole, err) : ATTN_OK;
}

/* Writes the figure, if it is a single file, and sends its notes. */
static enum attn_status finish_figure(struct attn_writer *writer, struct attn_error *err)
{
    struct figure_writer *w = (struct figure_writer *)writer;
    const struct attn_writer_options *options = &writer->options;

    for (size_t i = 0; i < w->of_heads.n_row; i++)
        attn_level_matrix_copy_row(&w->of_heads, i, &w->levels->items[i]);
    if (w->has_maps && !writer->directory)
        ATTN_TRY(read_maps(w, 0, w->levels->n, err));
    if (!writer->directory)
        ATTN_TRY(write_figure(w, &w->content, writer->sink, err));
    if (w->n_not_finite > 0)
        attn_note(options->on_note, options->user, ATTN_NOTE_NOT_FINITE,
                  "the figure has %zu %s not finite, hatched red", w->n_not_finite,
                  w->n_not_finite == 1 ? "cell that is" : "cells that are");
    if (w->n_unknown > 0)
        attn_note(options->on_note, options->user, ATTN_NOTE_NO_FONT,
                  "%zu %s characters of which no font is installed, drawn as boxes", w->n_unknown,
                  w->n_unknown == 1 ? "label has" : "labels have");
    return ATTN_OK;
}

static void release_figure(struct attn_writer *writer)
{
    struct figure_writer *w = (struct figure_writer *)writer;

    attn_levels_free(w->levels);
    attn_token_texts_release(w->tokens, 2);
    attn_token_texts_release(&w->heads.texts, 1);
    attn_store_release(&w->store);
    attn_free(w->of_heads.cells);
}

#define FIGURE_OPS(draw_function, check_function)                                                  \
    {                                                                                              \
        .size = sizeof(struct figure_writer), .check = (check_function), .open = open_figure,      \
        .event = event_figure, .finish = finish_figure, .release = release_figure,                 \
        .draw = (draw_function)                                                                    \
    }

static const struct attn_writer_ops png_ops =
    FIGURE_OPS(attn_figure_png_write, attn_figure_cairo_check);
static const struct attn_writer_ops svg_ops = FIGURE_OPS(attn_figure_svg_write, NULL);
static const struct attn_writer_ops pdf_ops =
    FIGURE_OPS(attn_figure_pdf_write, attn_figure_cairo_check);

#define FIGURE_FORMAT(format_name, format_title, ops, kind, help_text, help_of_tables)             \
    {                                                                                              \
        .name = (format_name), .argument = "PATH", .help = (help_text),                            \
        .table_help = (help_of_tables), .medium = ATTN_MEDIUM_##kind, .title = (format_title),     \
        .is_picture = true, .takes_directory = true, .suffix = "." format_name, .tensors = &(ops)  \
    }

#define SVG_HELP "the same figure as SVG, in which text can be searched"
#define PDF_HELP "the same figure as PDF, for LaTeX"

const struct attn_format attn_png_format =
    FIGURE_FORMAT("png", "PNG", png_ops, PNG,
                  "draw a figure as PNG: one file for all that is chosen, or one per matrix when "
                  "PATH is a directory or ends in '/'",
                  "draw one column of the table as PNG, layers from top to bottom; '-' is standard "
                  "output");
const struct attn_format attn_svg_format =
    FIGURE_FORMAT("svg", "SVG", svg_ops, VECTOR, SVG_HELP, SVG_HELP);
const struct attn_format attn_pdf_format =
    FIGURE_FORMAT("pdf", "PDF", pdf_ops, VECTOR, PDF_HELP, PDF_HELP);
