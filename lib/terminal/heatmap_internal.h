/*
 * heatmap_internal.h - a matrix, or a column of a table, as text: percents or numbers on their
 * colours where they fit, else half a character a cell, else several cells a half. And thumbnails:
 * all heads of a run as small pictures of half blocks.
 *
 *     struct attn_heatmap map = {0};
 *     attn_heatmap_init(&map, writer, sink, &err);
 *     attn_heatmap_name(&map, matrix, &err);      // "layer 3, head 0: pattern, in percent"
 *     attn_heatmap_draw(&map, matrix, &err);
 *     attn_heatmap_legend(&map, matrix, &err);
 *     attn_heatmap_release(&map);
 *
 *         query       0   1   2              head  0       1       2
 *       0 Life      100                    layer 0 █▒      █░      █▓
 *       1 is         79  21                        █▒▒░    ▒▓▓▓    ▓▓█
 *       2 short       4  96   .
 *
 * Without colours the characters are the same where there are numbers; half blocks become shades. A
 * masked cell is blank, a weight that rounds to 0 is `.`, the hidden first key `--`, and what is
 * not finite `!!`.
 */
#ifndef ATTN_TERMINAL_HEATMAP_INTERNAL_H
#define ATTN_TERMINAL_HEATMAP_INTERNAL_H

#include "encode/color_line.h"
#include "figures/figure_internal.h"

/* Initialize with = {0}; end with attn_heatmap_release. */
struct attn_heatmap {
    const struct attn_writer *writer;     /* borrowed; NULL: what is drawn is of a table: */
    const struct attn_figure_grid *table; /* borrowed */
    const struct attn_picture_options *picture;
    struct attn_sink *sink;            /* borrowed */
    struct attn_token_texts tokens[2]; /* of the run, and of its source */
    struct attn_color_line line;
    struct attn_buffer label; /* what comes next in the line; empty between any two calls */
    size_t width;             /* columns */
    size_t most_number_rows;  /* a matrix of more rows has no numbers */
};

/* WRITER gives labels and the options of pictures. */
enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   struct attn_sink *sink, struct attn_error *err);
void attn_heatmap_release(struct attn_heatmap *map);

/* Columns that attn_heatmap_draw can draw: a matrix of more is to be pooled. */
size_t attn_heatmap_most_columns(const struct attn_writer *writer);

/* The line above a matrix. */
enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Header and rows, and when it is pooled, how. */
enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Lines that attn_heatmap_draw takes. */
size_t attn_heatmap_n_line(struct attn_heatmap *map, const struct attn_level_matrix *matrix);

/* Which weights the colours or shades stand for, and on which scale. */
enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix,
                                     struct attn_error *err);

/* The numbers of a table, each on its colour, columns in as many blocks as the width needs:
 *
 *     fable: change
 *     layer      0     1     2
 *         0   -0.1  -2.5   0.3
 *     colors:  -2.5  -1.2  0  1.2  2.5  linear
 */
enum attn_status attn_heatmap_draw_table(const struct attn_figure_grid *table,
                                         const struct attn_picture_options *picture,
                                         struct attn_sink *sink, struct attn_error *err);

/* --- Parts, for others that draw them --------------------------------------------------------- */

/* Appends the label to the line, and empties it; or ends the line with it. */
void attn_heatmap_put_label(struct attn_heatmap *map);
enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err);

/* What of a matrix its colours need. */
struct attn_heatmap_colors {
    const struct attn_colormap *map;
    enum attn_theme theme;
    struct attn_color_scale scale;
    struct attn_color_range range;
};

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_heatmap *map,
                                               const struct attn_level_matrix *matrix);

/* A number on the colour of VALUE. */
struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors, double value,
                                     enum attn_color_depth depth);

/* Appends the character that stands for column COLUMN of rows ROW and ROW + 1, where K x K cells
 * are pooled to one. */
void attn_heatmap_half(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                       const struct attn_heatmap_colors *colors, size_t k, size_t row,
                       size_t column);

/* Appends "0 ...  1, square root", with shades or colours in the middle. */
void attn_heatmap_append_ramp(struct attn_heatmap *map, const struct attn_heatmap_colors *colors);

/* All positions of a run, or of its source, as attn_heatmap_draw_items takes them. */
static inline struct attn_figure_axis attn_heatmap_axis(const struct attn_token_texts *tokens)
{
    return (struct attn_figure_axis){.n = tokens->n, .texts = tokens};
}

/* Draws HEAD, which may be "", and the rows or columns of AXIS with their labels, "keys:  0 eat  1
 * dessert", in MOST_LINES lines at most; "..." stands for the rest. Where N_LINE is given, the
 * lines are only counted. */
enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_figure_axis *axis, const char *head,
                                         size_t most_lines, size_t *n_line, struct attn_error *err);

/* --- Thumbnails (heatmap_thumbnails.c) -------------------------------------------------------- */

/* Layers, or batches of arrays, down, heads across. A head that was not chosen is a gap. */
struct attn_thumbnails {
    struct attn_heatmap *map;         /* borrowed */
    const struct attn_levels *levels; /* borrowed */
    enum attn_site site;
    size_t n_down, n_across; /* layers and heads; batches and heads of arrays */
    size_t n_at_once;        /* heads beside each other; the others go below */
    size_t side;             /* cells of a thumbnail, at most */
    size_t pitch;            /* columns from one to the next */
    size_t step;             /* layers from one that is shown to the next */
    size_t n_line;           /* that they take, with the header and the legend */
};

/* As large as fits MOST_LINES lines, but not fewer than one line a layer; when that is too many,
 * some layers are left out. */
void attn_thumbnails_plan(struct attn_thumbnails *thumbnails, struct attn_heatmap *map,
                          const struct attn_levels *levels, enum attn_site site, size_t most_lines);

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *thumbnails,
                                      struct attn_error *err);

#endif
