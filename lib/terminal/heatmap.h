/*
 * heatmap.h - a matrix as text: percents on their colours where they fit, else half a character a
 * cell, else several cells a half.
 *
 *     struct attn_heatmap map = {0};
 *     attn_heatmap_init(&map, writer, sink, &err);
 *     attn_heatmap_name(&map, matrix, &err);      // "layer 3, head 0: pattern, in percent"
 *     attn_heatmap_draw(&map, matrix, &err);
 *     attn_heatmap_legend(&map, matrix, &err);
 *     attn_heatmap_release(&map);
 *
 *         query       0   1   2
 *       0 Life      100
 *       1 is         79  21
 *       2 short       4  96   .
 *
 * Without colours the characters are the same where there are numbers; half blocks become shades. A
 * masked cell is blank, a weight that rounds to 0 is `.`, the hidden first key `--`, and what is
 * not finite `!!`.
 */
#ifndef ATTN_TERMINAL_HEATMAP_H
#define ATTN_TERMINAL_HEATMAP_H

#include "encode/color_line.h"
#include "encode/colormap_internal.h"
#include "figures/levels.h"
#include "output/token_text.h"

/* Initialize with = {0}; end with attn_heatmap_release. */
struct attn_heatmap {
    struct attn_writer *writer; /* borrowed */
    struct attn_sink *sink;     /* borrowed */
    struct attn_token_texts tokens, source_tokens;
    struct attn_color_line line;
    struct attn_buffer label; /* scratch */
    size_t width;             /* columns */
    size_t most_number_rows;  /* a matrix of more rows has no numbers */
};

/* WRITER gives labels and the options of pictures. */
enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   struct attn_sink *sink, struct attn_error *err);
void attn_heatmap_release(struct attn_heatmap *map);

/* How a matrix is pooled, so that attn_heatmap_draw can draw it. */
struct attn_levels_limits attn_heatmap_limits(const struct attn_writer *writer);

/* The sites that are drawn of a run: those that are named, or else its pattern, or else all. */
attn_site_set attn_heatmap_sites(const struct attn_writer *writer);

/* The line above a matrix. */
enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Header and rows, and when it is pooled, how. */
enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Lines that attn_heatmap_draw takes. */
size_t attn_heatmap_n_line(struct attn_heatmap *map, const struct attn_level_matrix *matrix);

/* Whether the colours mean something else in each matrix, so that each needs its legend. */
bool attn_heatmap_has_own_range(const struct attn_heatmap *map,
                                const struct attn_level_matrix *matrix);

/* Which weights the colours or shades stand for, and on which scale. */
enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix,
                                     struct attn_error *err);

/* --- Cells of half a character, for others that draw them ------------------------------------ */

/* What of a matrix its colours need. */
struct attn_heatmap_colors {
    const struct attn_colormap *map;
    enum attn_theme theme;
    struct attn_color_scale scale;
    struct attn_color_range range;
};

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_writer *writer,
                                               const struct attn_level_matrix *matrix);

/* A number on the colour of VALUE. */
struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors, double value,
                                     enum attn_color_depth depth);

/* Writes a line with each tick of the scale on its colour, and the words of the scale; where
 * each row has colours of its own, the words alone. */
enum attn_status attn_heatmap_ticks(struct attn_color_line *line,
                                    const struct attn_heatmap_colors *colors,
                                    struct attn_sink *sink, struct attn_error *err);

/* Columns of the terminal: those of PICTURE, or 80; 24 at least. */
size_t attn_heatmap_width(const struct attn_picture_options *picture);

/* Appends the character that stands for column COLUMN of rows ROW and ROW + 1, where K x K cells
 * are pooled to one. */
void attn_heatmap_half(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                       const struct attn_heatmap_colors *colors, size_t k, size_t row,
                       size_t column);

/* Appends "0 ...  1, square root", with shades or colours in the middle. */
void attn_heatmap_append_ramp(struct attn_heatmap *map, const struct attn_heatmap_colors *colors);

/* Appends the label of a position, trimmed and cut to 14 columns, padded to WIDTH. */
void attn_heatmap_append_label(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                               size_t position, size_t width);

/* Appends "  3 word", a position with its label, which takes so many columns. */
void attn_heatmap_append_item(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                              size_t position);
size_t attn_heatmap_item_width(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                               size_t position);

/* Draws HEAD and the positions of TOKENS with their labels, "keys:  0 eat  1 dessert", in
 * MOST_LINES lines at most; "..." stands for the rest. The second function counts the lines, for
 * a head of INDENT columns. */
enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_token_texts *tokens, const char *head,
                                         size_t most_lines, struct attn_error *err);
size_t attn_heatmap_n_item_line(struct attn_heatmap *map, const struct attn_token_texts *tokens,
                                size_t indent, size_t most_lines);

/* Columns of the widest label of TOKENS, 14 at most; 0 without tokens. */
size_t attn_heatmap_label_width(struct attn_heatmap *map, const struct attn_token_texts *tokens);

#endif
