/* explain_figure.c - the arithmetic of one row as a figure. Columns: key, k, score, exponential,
 * weight, v, weight times v, with input and query above k, and the context vector below the last. q
 * and k share a scale of colors, and so do products and their sum. In print columns are narrow, the
 * weight is w, and the heading is the caption. */
#include "explain/explain_internal.h"

#include "base/escape.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "encode/colormap_internal.h"
#include "encode/float_text.h"
#include "encode/shapes.h"
#include "encode/text_table.h"
#include "figures/figure_internal.h"
#include "formats/ndarray_internal.h"
#include "writers/format_internal.h"
#include "writers/outputs_internal.h"
#include "writers/picture_internal.h"
#include "writers/token_text.h"
#include "writers/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PAD = 12,
    PITCH = 22,            /* from one key to the next */
    STRIP = 14,            /* height of a vector */
    STRIP_WIDTH = 192,     /* of a vector, about, */
    LEAST_STRIP = 48,      /* at least, in print */
    WIDEST_CELL = 16,      /* of a component */
    BETWEEN = 26,          /* columns, */
    CLOSE = 10,            /* in print */
    CROP = PAD - 6,        /* of the margin in print */
    SCORE = 56,            /* width of the numbers */
    BAR = 70,              /* width of exp(0), half of it in print */
    WEIGHT = 44,           /* width of a weight */
    MOST_KEYS = 700,       /* 16,384 units hold 744 */
    MOST_COMPONENTS = 512, /* of a vector that is drawn */
    RAMP_CELL = 4,         /* width of a color of a scale */
    MOST_RAMP = 24,        /* colors, */
    LEAST_RAMP = 18,       /* as its vectors have room */
    RAMP_HEIGHT = 8,
    LABEL_COLUMNS = 14,
    TITLE_SIZE = 15,
    TEXT_SIZE = 13,
    SMALL_SIZE = 11,
    NAME_SIZE = 64, /* of a text with numbers */
};

/* Colors and positions of the figure. */
struct sheet {
    const struct attn_explanation *row;
    const struct attn_labels *labels;
    const struct attn_picture_options *picture;
    const struct attn_format *format;
    struct attn_shapes *shapes;
    struct attn_token_texts texts[2]; /* of the run, and of its source */
    struct attn_color_scale scale;    /* of weights */
    const struct attn_colormap *map;
    uint32_t ink, faint, frame;
    bool is_printed;
    double room, between;                            /* the least width, from column to column */
    double label, k, score, bar, weight, v, product; /* columns */
    double right;                                    /* the end of the last one */
    double top, bottom;                              /* of the keys */
    double k_cell, v_cell;                           /* width of a component */
    double k_most, v_most, z_most; /* the largest absolute component of q and k, v, z */
    struct attn_buffer scratch;
};

/* --- Measures --------------------------------------------------------------------------------- */

static double largest_of(const float *vector, size_t n, double most)
{
    for (size_t i = 0; vector && i < n; i++)
        if (isfinite(vector[i]))
            most = fmax(most, fabs((double)vector[i]));
    return most;
}

static void find_largest(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;

    sheet->k_most = largest_of(row->q, row->d_head, 0);
    sheet->z_most = largest_of(row->z, row->d_value, 0);
    for (size_t i = 0; i < row->n_cell; i++) {
        const struct attn_explained_key *key = &row->keys[i];
        const double share = fabs((double)key->kept), most = largest_of(key->v, row->d_value, 0);

        sheet->k_most = largest_of(key->k, row->d_head, sheet->k_most);
        sheet->v_most = fmax(sheet->v_most, most);
        sheet->z_most = fmax(sheet->z_most, share * most);
    }
}

static double bar_width(bool is_printed)
{
    return is_printed ? BAR / 2.0 : BAR;
}

/* The width of one of N components; 0: the vector is not drawn. */
static double cell_of(size_t n, double strip)
{
    if (n == 0 || n > MOST_COMPONENTS)
        return 0;
    return fmax(1, fmin(WIDEST_CELL, floor(strip / (double)n)));
}

static double text_width(size_t n_column, double size)
{
    return ceil((double)n_column * size * ATTN_SHAPES_EM);
}

/* Returns where a column of WIDTH begins. Advances *AT to the next column, unless WIDTH is 0. */
static double take_column(const struct sheet *sheet, double *at, double width, size_t n_head_column)
{
    const double begin = *at;

    if (width > 0)
        *at += fmax(width, text_width(n_head_column, SMALL_SIZE)) + sheet->between;
    return begin;
}

/* Places columns of vectors about as wide as STRIP after labels of N_LABEL columns of text. */
static void place_columns(struct sheet *sheet, double strip, size_t n_label)
{
    const struct attn_explanation *row = sheet->row;
    const bool is_printed = sheet->is_printed;
    double at = PAD;

    sheet->k_cell = row->has_products ? cell_of(row->d_head, strip) : 0;
    sheet->v_cell = row->has_values ? cell_of(row->d_value, strip) : 0;
    sheet->label = take_column(sheet, &at, text_width(n_label, TEXT_SIZE), 0);
    sheet->k = take_column(sheet, &at, sheet->k_cell * (double)row->d_head, is_printed ? 7 : 11);
    sheet->score = take_column(sheet, &at, SCORE, 5);
    sheet->bar = take_column(sheet, &at, bar_width(is_printed), is_printed ? 3 : 20);
    sheet->weight = take_column(sheet, &at, WEIGHT, is_printed ? 4 : 9);
    sheet->v = take_column(sheet, &at, sheet->v_cell * (double)row->d_value, is_printed ? 7 : 11);
    sheet->product =
        take_column(sheet, &at, sheet->v_cell * (double)row->d_value, is_printed ? 8 : 13);
    sheet->right = at - sheet->between;
    sheet->shapes->width = fmax(sheet->right + PAD, sheet->room);
}

/* --- Pieces ----------------------------------------------------------------------------------- */

static void add_text(struct sheet *sheet, double x, double y, double size, const char *text)
{
    const struct attn_shape_text line = {.x = x, .y = y, .size = size, .color = sheet->faint};

    attn_shapes_add_string(sheet->shapes, &line, text);
}

/* A vector as cells. */
struct strip {
    double x, y, cell;   /* cell: width of a component; 0: it is not drawn */
    const float *vector; /* [n] */
    size_t n;
    double most, factor; /* times `factor`, this number has the last color */
};

static void add_strip(struct sheet *sheet, struct strip strip)
{
    const struct attn_shape_cells cells = {.x = strip.x,
                                           .y = strip.y,
                                           .width = strip.cell,
                                           .height = STRIP,
                                           .n_row = 1,
                                           .n_col = strip.n};
    uint16_t *colors;

    if (strip.cell == 0 || !strip.vector)
        return;
    colors = attn_shapes_add_cells(sheet->shapes, &cells);
    for (size_t i = 0; colors && i < strip.n; i++) {
        const double value = isfinite(strip.vector[i]) ? (double)strip.vector[i] : 0;
        const double share = strip.most > 0 ? strip.factor * value / strip.most : 0;

        colors[i] = (uint16_t)lround((fmax(-1, fmin(1, share)) + 1) / 2 * (ATTN_N_COLOR - 1));
    }
}

static void add_line(struct sheet *sheet, double x, double y, double x2, double y2, uint32_t color)
{
    attn_shapes_add_line(sheet->shapes, (struct attn_shape_line){x, y, x2, y2, 1, 1, color});
}

/* "3 eat", or "3" without tokens. */
static const char *name_of(struct sheet *sheet, const struct attn_token_texts *texts,
                           size_t position)
{
    size_t n;
    const char *text = texts->n > 0 ? attn_token_text(texts, position, &n) : NULL;

    sheet->scratch.size = 0;
    attn_buffer_append_format(&sheet->scratch, "%zu", position);
    if (text) {
        attn_buffer_append_char(&sheet->scratch, ' ');
        attn_text_append_label(&sheet->scratch, text, n, LABEL_COLUMNS, "");
    }
    return attn_buffer_string(&sheet->scratch) ? sheet->scratch.data : "";
}

/* The label of a key; in print, like those of other figures, with a position if the word repeats.
 */
static const char *label_of(struct sheet *sheet, const struct attn_explained_key *key)
{
    const struct attn_token_texts *texts = &sheet->texts[sheet->row->is_cross];
    const struct attn_grid_axis axis = {.n = texts->n, .texts = texts};
    struct attn_figure_pen pen = {.is_printed = true, .scratch = sheet->scratch};
    size_t n;

    if (!sheet->is_printed || texts->n == 0)
        return name_of(sheet, texts, key->key);
    attn_figure_label(&pen, &axis, key->key, &n);
    sheet->scratch = pen.scratch;
    return attn_buffer_string(&sheet->scratch) ? sheet->scratch.data : "";
}

static void lay_out(struct sheet *sheet)
{
    size_t n_label = sheet->is_printed ? 0 : LABEL_COLUMNS + 5;
    double strip = STRIP_WIDTH;

    for (size_t i = 0; sheet->is_printed && i < sheet->row->n_cell; i++) {
        const char *name = label_of(sheet, &sheet->row->keys[i]);
        const size_t n = attn_text_width(name, strlen(name));

        n_label = n > n_label ? n : n_label;
    }
    do
        place_columns(sheet, strip--, n_label);
    while (sheet->is_printed && sheet->shapes->width > sheet->room && strip >= LEAST_STRIP);
    sheet->top = sheet->is_printed ? 88 : 132;
    sheet->bottom = sheet->top + (double)sheet->row->n_cell * PITCH;
    sheet->shapes->height = sheet->bottom + PITCH + PAD + 60;
    sheet->shapes->is_proportional = sheet->is_printed;
}

/* Draws the block's input at the query, and an arrow to q; not in print. Arrays have no input. */
static void add_input(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;
    const double y = sheet->top - 56, middle = y + STRIP / 2.0, to = sheet->k - 6;
    const double room = sheet->k - sheet->label - BETWEEN;
    const double cell = row->d_model > 0 ? floor(room / (double)row->d_model) : 0;
    const double width = fmin(cell, WIDEST_CELL) * (double)row->d_model;
    char name[NAME_SIZE];
    double most;

    if (sheet->labels->axes || width == 0 || sheet->k_cell == 0 || sheet->is_printed)
        return;
    most = largest_of(row->x, row->d_model, 0);
    add_strip(sheet, (struct strip){sheet->label, y, fmin(cell, WIDEST_CELL), row->x, row->d_model,
                                    most, 1});
    snprintf(name, sizeof name, "x, from %.3g to %.3g", -most, most);
    add_text(sheet, sheet->label, y - 6, SMALL_SIZE, name);
    for (int i = -1; i <= 1; i++)
        add_line(sheet, i == 0 ? sheet->label + width + 4 : to - 5, middle + 4 * i, to, middle,
                 sheet->faint);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Draws the vectors of the query, of each key, and their sum. */
static void add_strips(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;

    add_strip(sheet, (struct strip){sheet->k, sheet->top - 56, sheet->k_cell, row->q, row->d_head,
                                    sheet->k_most, 1});
    for (size_t i = 0; i < row->n_cell; i++) {
        const struct attn_explained_key *key = &row->keys[i];
        const double y = sheet->top + (double)i * PITCH + 3;

        add_strip(sheet, (struct strip){sheet->k, y, sheet->k_cell, key->k, row->d_head,
                                        sheet->k_most, 1});
        add_strip(sheet, (struct strip){sheet->v, y, sheet->v_cell, key->v, row->d_value,
                                        sheet->v_most, 1});
        add_strip(sheet, (struct strip){sheet->product, y, sheet->v_cell, key->v, row->d_value,
                                        sheet->z_most, (double)key->kept});
    }
    add_strip(sheet, (struct strip){sheet->product, sheet->bottom + 12, sheet->v_cell, row->z,
                                    row->d_value, sheet->z_most, 1});
}

static void add_weight(struct sheet *sheet, const struct attn_explained_key *key, double y)
{
    const struct attn_color_range range = attn_color_range(&sheet->scale, 0, 1);
    const double weight = isfinite(key->kept) ? (double)key->kept : 0;
    const struct attn_rgb color = attn_colormap_color(
        sheet->map, sheet->picture->theme, attn_color_level(&sheet->scale, range, weight));
    struct attn_shape_text text = {.x = sheet->weight + WEIGHT / 2.0,
                                   .y = y + 14,
                                   .size = SMALL_SIZE,
                                   .color = attn_rgb_takes_black(color) ? 0 : 0xffffff,
                                   .anchor = ATTN_ANCHOR_MIDDLE};
    char number[ATTN_FIXED_TEXT_SIZE];

    attn_shapes_add_box(sheet->shapes, (struct attn_shape_box){sheet->weight, y + 2, WEIGHT,
                                                               PITCH - 4, attn_rgb_number(color)});
    attn_shapes_add_text(sheet->shapes, &text, number,
                         attn_float_text_fixed((float)(100 * weight), 1, number));
}

static void add_key(struct sheet *sheet, size_t i)
{
    const struct attn_explained_key *key = &sheet->row->keys[i];
    const bool is_strongest = i == sheet->row->strongest;
    const double y = sheet->top + (double)i * PITCH, y2 = y + PITCH;
    const double x = PAD - 5, x2 = sheet->right + 5;
    const double bar = bar_width(sheet->is_printed);
    struct attn_shape_text text = {.x = sheet->label,
                                   .y = y + 15,
                                   .size = TEXT_SIZE,
                                   .color = key->is_visible ? sheet->ink : sheet->faint,
                                   .is_bold = is_strongest};
    char number[ATTN_FIXED_TEXT_SIZE];

    attn_shapes_add_string(sheet->shapes, &text, label_of(sheet, key));
    text.x = sheet->score + SCORE;
    text.anchor = ATTN_ANCHOR_END;
    text.is_bold = false;
    attn_shapes_add_text(sheet->shapes, &text, number,
                         attn_float_text_fixed(key->score, 3, number));
    attn_shapes_add_box(sheet->shapes, (struct attn_shape_box){sheet->bar, y + 5,
                                                               fmax(0.5, bar * key->exponential),
                                                               PITCH - 10, sheet->frame});
    add_weight(sheet, key, y);
    if (is_strongest) {
        const double corners[5][2] = {{x, y}, {x2, y}, {x2, y2}, {x, y2}, {x, y}};

        for (int k = 0; k < 4; k++)
            attn_shapes_add_line(sheet->shapes, (struct attn_shape_line){
                                                    corners[k][0], corners[k][1], corners[k + 1][0],
                                                    corners[k + 1][1], 1.5, 1, sheet->ink});
    }
}

/* --- Heads of columns ------------------------------------------------------------------------- */

static void add_names(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;
    const double y = sheet->top - 10;

    add_text(sheet, sheet->label, y, SMALL_SIZE, "key");
    if (sheet->k_cell > 0) {
        add_text(sheet, sheet->k, y, SMALL_SIZE, "k");
        add_text(sheet, sheet->k, sheet->top - 62, SMALL_SIZE, "q");
    }
    add_text(sheet, sheet->score + SCORE - text_width(5, SMALL_SIZE), y, SMALL_SIZE, "score");
    add_text(sheet, sheet->bar, y, SMALL_SIZE, sheet->is_printed ? "exp" : "exp(score - largest)");
    add_text(sheet, sheet->weight, y, SMALL_SIZE, sheet->is_printed ? "w, %" : "weight, %");
    if (sheet->v_cell > 0) {
        add_text(sheet, sheet->v, y, SMALL_SIZE, "v");
        add_text(sheet, sheet->product, y, SMALL_SIZE, sheet->is_printed ? "w x v" : "weight x v");
        add_text(sheet, sheet->product - text_width(4, SMALL_SIZE), sheet->bottom + 23, SMALL_SIZE,
                 "z");
        add_line(sheet, sheet->product, sheet->bottom + 6,
                 sheet->product + sheet->v_cell * (double)row->d_value, sheet->bottom + 6,
                 sheet->ink);
    }
}

/* Draws the color scale of the vectors NAME, from -MOST to MOST, below the strips of WIDTH at X. */
static void add_scale(struct sheet *sheet, double x, double width, double most, const char *name)
{
    const double y = sheet->bottom + 46;
    const double least = sheet->is_printed ? 2 : LEAST_RAMP;
    const double n_color = fmax(least, fmin(MOST_RAMP, floor(width / RAMP_CELL)));
    const struct attn_shape_cells cells = {.x = x,
                                           .y = y,
                                           .width = RAMP_CELL,
                                           .height = RAMP_HEIGHT,
                                           .n_row = 1,
                                           .n_col = (size_t)n_color};
    uint16_t *colors = attn_shapes_add_cells(sheet->shapes, &cells);
    struct attn_shape_text end = {.x = x + n_color * RAMP_CELL,
                                  .y = y + RAMP_HEIGHT + 12,
                                  .size = SMALL_SIZE,
                                  .color = sheet->faint,
                                  .anchor = ATTN_ANCHOR_END};
    char number[NAME_SIZE];

    for (size_t i = 0; colors && i < cells.n_col; i++)
        colors[i] = (uint16_t)lround((double)i / (n_color - 1) * (ATTN_N_COLOR - 1));
    add_text(sheet, x, y - 5, SMALL_SIZE, name);
    snprintf(number, sizeof number, sheet->is_printed ? "\xc2\xb1%.2g" : "-%.2g", most);
    add_text(sheet, x, end.y, SMALL_SIZE, number);
    if (sheet->is_printed)
        return;
    snprintf(number, sizeof number, "%.2g", most);
    attn_shapes_add_string(sheet->shapes, &end, number);
}

static void add_scales(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;
    const double v_width = sheet->v_cell * (double)row->d_value;

    if (sheet->k_cell > 0)
        add_scale(sheet, sheet->k, sheet->k_cell * (double)row->d_head, sheet->k_most, "q, k");
    if (sheet->v_cell == 0)
        return;
    add_scale(sheet, sheet->v, v_width, sheet->v_most, "v");
    add_scale(sheet, sheet->product, v_width, sheet->z_most,
              sheet->is_printed ? "w x v, z" : "weight x v, z");
}

/* "query 7 it; strongest key: 1 chicken, 53.1 %", after the title in print */
static void add_heading(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;
    const struct attn_shape_text title = {
        .x = PAD, .y = PAD + 14, .size = TITLE_SIZE, .color = sheet->ink, .is_bold = true};
    struct attn_buffer said = {0};
    char number[ATTN_FIXED_TEXT_SIZE] = "";
    size_t n;
    const char *text = attn_shapes_note(sheet->shapes, "Title", &n);

    attn_buffer_append(&said, text, n);
    if (!sheet->is_printed) {
        attn_shapes_add_text(sheet->shapes, &title, said.data, said.size);
        said.size = 0;
    }
    attn_buffer_append_format(&said, said.size > 0 ? "; query %s" : "query %s",
                              name_of(sheet, &sheet->texts[0], row->query));
    if (row->n_cell > 0) {
        const struct attn_explained_key *key = &row->keys[row->strongest];

        number[attn_float_text_fixed((float)(100 * (double)key->kept), 1, number)] = '\0';
        attn_buffer_append_format(&said, "; strongest key: %s, %s %%",
                                  name_of(sheet, &sheet->texts[sheet->row->is_cross], key->key),
                                  number);
    }
    attn_buffer_append_string(&said, "; blue is below 0, orange above");
    if (sheet->is_printed)
        attn_buffer_append_string(&said, "; w: weight.");
    if (sheet->is_printed)
        attn_shapes_add_note(sheet->shapes, "Caption", said.data, said.size);
    else if (attn_buffer_string(&said))
        add_text(sheet, PAD, PAD + 34, 12, said.data);
    sheet->shapes->text.has_failed |= said.has_failed;
    attn_buffer_release(&said);
}

/* --- The figure ------------------------------------------------------------------------------- */

static void add_notes(struct sheet *sheet)
{
    const struct attn_explanation *row = sheet->row;
    const char *model = sheet->labels->model ? sheet->labels->model : "arrays";
    size_t n_name;
    const char *name = attn_path_last(model, &n_name);
    struct attn_buffer *out = &sheet->scratch;
    const char *stack = attn_model_stack_name(row->at.stack);

    out->size = 0;
    if (sheet->picture->title)
        attn_buffer_append_string(out, sheet->picture->title);
    else
        attn_buffer_append_format(out, "%.*s, %s%slayer %d, head %d: one row, step by step",
                                  (int)n_name, name, stack, stack[0] ? " " : "", row->at.layer,
                                  row->at.head);
    attn_shapes_add_note(sheet->shapes, "Title", out->data, out->size);
    attn_shapes_add_note(sheet->shapes, "Software", "attn-cli " ATTN_VERSION,
                         strlen("attn-cli " ATTN_VERSION));
}

static void set_colors(struct sheet *sheet)
{
    const bool is_dark = sheet->picture->theme == ATTN_THEME_DARK;
    const struct attn_colormap *diverging = attn_colormap_find("diverging");
    uint32_t palette[ATTN_N_COLOR];

    for (int i = 0; i < ATTN_N_COLOR; i++)
        palette[i] = attn_rgb_number(attn_colormap_color(diverging, sheet->picture->theme, i));
    attn_shapes_set_palette(sheet->shapes, palette, ATTN_N_COLOR);
    sheet->scale = attn_color_scale_of(sheet->picture->color_scale, ATTN_RANGE_SHARE, false);
    sheet->map =
        attn_picture_colormap(sheet->picture, &sheet->scale, is_dark ? "viridis" : "blues");
    sheet->ink = is_dark ? 0xe8e8e8 : 0x1a1a1a;
    sheet->faint = is_dark ? 0xa0a0a0 : 0x595959;
    sheet->frame = is_dark ? 0x6a6a6a : 0x9a9a9a;
    sheet->shapes->paper = is_dark ? 0x121212 : 0xffffff;
}

/* An attn_output_fn. */
static enum attn_status write_sheet(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct sheet *sheet = user;
    size_t n_unknown;

    return sheet->format->tensors->draw(sheet->shapes, sink, &n_unknown, err);
}

static enum attn_status draw(struct sheet *sheet, struct attn_error *err)
{
    ATTN_TRY(attn_token_labels_init(sheet->texts, sheet->labels, err));
    set_colors(sheet);
    find_largest(sheet);
    lay_out(sheet);
    add_notes(sheet);
    add_input(sheet);
    add_strips(sheet);
    for (size_t i = 0; i < sheet->row->n_cell; i++)
        add_key(sheet, i);
    add_names(sheet);
    add_scales(sheet);
    add_heading(sheet);
    if (sheet->is_printed)
        attn_shapes_crop(sheet->shapes, CROP, 1);
    attn_figure_set_size(sheet->shapes, sheet->picture);
    ATTN_TRY(attn_shapes_check(sheet->shapes, err));
    return attn_buffer_check(&sheet->scratch, err);
}

static enum attn_status check(const struct attn_explanation *row, const struct attn_output *output,
                              struct attn_error *err)
{
    if (output->path && attn_format_is_directory(output->format, output->path))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' is a directory, `explain` draws one figure",
                           attn_quote_string(output->path).text);
    if (row->n_cell <= MOST_KEYS)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "the row has %zu keys, a figure of `explain` at most %d",
                   row->n_cell, MOST_KEYS);
    attn_error_hint(err, "`figure tokens` shows the weights of such a row");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

bool attn_explain_figure_is_format(const struct attn_format *format)
{
    return format->tensors && format->tensors->draw;
}

enum attn_status attn_explain_figure_write(const struct attn_explanation *row,
                                           const struct attn_labels *labels,
                                           const struct attn_picture_options *picture,
                                           const struct attn_output *output, struct attn_error *err)
{
    const bool is_printed = attn_figure_is_printed(picture);
    const double column = floor(picture->figure_width / attn_figure_unit(picture)) + 2 * CROP;
    const struct attn_labels of_stack = attn_labels_of_stack(labels);
    struct attn_shapes shapes = {0};
    struct sheet sheet = {.row = row,
                          .labels = &of_stack,
                          .picture = picture,
                          .format = output->format,
                          .shapes = &shapes,
                          .is_printed = is_printed,
                          .room = is_printed ? column : 640,
                          .between = is_printed ? CLOSE : BETWEEN};
    enum attn_status status;

    ATTN_TRY(check(row, output, err));
    status = draw(&sheet, err);
    if (status == ATTN_OK)
        status = attn_output_write(output, write_sheet, &sheet, err);
    if (status == ATTN_OK)
        attn_figure_note_caption(&shapes, picture->on_note, picture->user);
    attn_token_texts_release(sheet.texts, 2);
    attn_buffer_release(&sheet.scratch);
    attn_shapes_release(&shapes);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
