/* clang-format off */
/*
 * heatmap_internal.h - a matrix, or a column of a table, as text: percents or numbers on their
 * colours where they fit, else half a character a cell, else several cells a half. And thumbnails:
 * all heads of a run as small pictures of half blocks; or a map of heads, one cell each.
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
 * masked cell is blank, a weight that rounds to 0 is `.`, the hidden first key `--`, and one not
 * finite `!!`.
 */
/* clang-format on */
#ifndef ATTN_TERMINAL_HEATMAP_INTERNAL_H
#define ATTN_TERMINAL_HEATMAP_INTERNAL_H

#include "analysis/analysis_internal.h"
#include "analysis/head_kind.h"
#include "encode/color_line.h"
#include "figures/figure_internal.h"

/* Initialize with = {0}; end with attn_heatmap_release. */
struct attn_heatmap {
    const struct attn_writer *writer; /* borrowed; NULL: a table is drawn: */
    const struct attn_grid *table;    /* borrowed */
    const struct attn_picture_options *picture;
    struct attn_sink *sink;            /* borrowed */
    struct attn_token_texts tokens[2]; /* tokens of the run, and of its source */
    struct attn_color_line line;
    struct attn_buffer label; /* the next part of the line; empty between calls */
    size_t width;             /* columns */
    size_t most_number_rows;  /* matrices with more rows are drawn without numbers */
};

/* WRITER has the labels and the options of pictures. */
enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   struct attn_sink *sink, struct attn_error *err);
void attn_heatmap_release(struct attn_heatmap *map);

/* Maximum number of columns that attn_heatmap_draw draws; larger matrices are pooled. */
size_t attn_heatmap_most_columns(const struct attn_writer *writer);

/* Writes the line above a matrix, or appends its words to the label. */
void attn_heatmap_append_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix);

/* "token", or "word" or "position": what the rows and columns of a pattern are. */
const char *attn_heatmap_noun(const struct attn_writer *writer);

/* Appends the layer of AT as the label of a row: "layer 1", or "cross 1". */
void attn_heatmap_append_layer(struct attn_heatmap *map, const struct attn_location *at);
enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Draws header and rows, and a note if the matrix is pooled. */
enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Whether its cells have room for their numbers. */
bool attn_heatmap_has_numbers(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix);

/* Number of lines that attn_heatmap_draw writes. */
size_t attn_heatmap_n_line(struct attn_heatmap *map, const struct attn_level_matrix *matrix);

/* Whether all matrices of LEVELS have a column for each patch of the picture, and it fits the width
 * (heatmap_patches.c). */
bool attn_heatmap_shows_patches(const struct attn_heatmap *map, const struct attn_levels *levels);

/* Draws ROW of MATRIX, which is not pooled, over the picture, with name and legend. */
enum attn_status attn_heatmap_draw_patches(struct attn_heatmap *map,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           struct attn_error *err);

/* Draws the legend of colours or shades. */
enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix,
                                     struct attn_error *err);

/* clang-format off */
/* The numbers of a table, or the texts of its cells, each on its colour, columns in as many blocks
 * as the width needs; words, ticks and columns that stand apart are those of its figure:
 *
 *     change of logit(are) without each head
 *     fable; The keys to the cabinet
 *     layer      0     1     2
 *         0   -0.1  -2.5   0.3
 *     colors:  -2  -1  0  1  2  linear
 */
/* clang-format on */
enum attn_status attn_heatmap_draw_table(const struct attn_grid *table,
                                         const struct attn_picture_options *picture,
                                         struct attn_sink *sink, struct attn_error *err);

/* --- Parts, for others that draw them --------------------------------------------------------- */

/* Appends the label to the line, and empties it; or ends the line with it. */
void attn_heatmap_put_label(struct attn_heatmap *map);
enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err);

/* Ends the line with the label, broken at N_GAP or more blanks to fit the width, or at any blank in
 * longer parts, and empties it. With N_LINE it only counts lines. */
enum attn_status attn_heatmap_end_text(struct attn_heatmap *map, size_t n_gap, size_t *n_line,
                                       struct attn_error *err);

/* The colours of a matrix. */
struct attn_heatmap_colors {
    const struct attn_colormap *map;
    enum attn_theme theme;
    struct attn_color_scale scale;
    struct attn_color_range range;
    uint32_t hue;           /* 0xRRGGBB, mixed with the ground, instead of the map; or 0 */
    struct attn_ink masked; /* of masked cells; not set: the terminal's ground */
};

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_heatmap *map,
                                               const struct attn_level_matrix *matrix);

/* Writes a number on the colour of VALUE. */
struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors, double value,
                                     enum attn_color_depth depth);

/* The upper or the lower half of a character. */
struct attn_heatmap_half {
    enum attn_cell_kind kind;
    float value;
    double place;   /* 0..1, of a value */
    bool is_beyond; /* the last row */
};

/* Appends one character for both halves; without colours or half blocks, the character of the
 * larger value. */
void attn_heatmap_put_halves(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                             struct attn_heatmap_half upper, struct attn_heatmap_half lower);

/* Returns the shade of a number, for output without colours. */
const char *attn_heatmap_shade(const struct attn_heatmap *map,
                               const struct attn_heatmap_colors *colors, double place);

/* Ends with the label and the scale, "0 to 1, square root" around colours or shades, on one line or
 * two. With N_LINE it only counts lines. */
enum attn_status attn_heatmap_end_legend(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors, size_t *n_line,
                                         struct attn_error *err);

/* Returns the axis of all positions of a run, or of its source, for attn_heatmap_draw_items. */
static inline struct attn_grid_axis attn_heatmap_axis(const struct attn_token_texts *tokens)
{
    return (struct attn_grid_axis){.n = tokens->n, .texts = tokens};
}

/* Appends printable TEXT to the label as the name of a token, trimmed and cut. Returns its columns.
 */
size_t attn_heatmap_append_token(struct attn_heatmap *map, const char *text, size_t size);

/* Draws HEAD, which may be "", and the labels of AXIS, "keys: 0 eat 1 dessert", in MOST_LINES lines
 * at most, "..." for the rest. With N_LINE it only counts lines. */
enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_grid_axis *axis, const char *head,
                                         size_t most_lines, size_t *n_line, struct attn_error *err);

/* --- Heads across, layers down ---------------------------------------------------------------- */

/* Its columns. On a wide terminal the second half of the layers stands beside the first, and so on.
 */
struct attn_head_columns {
    size_t left;       /* of "layer 1 " */
    size_t pitch;      /* from one head to the next */
    size_t indent;     /* of a number of one digit */
    size_t n;          /* heads per line; the others wrap to lines below */
    size_t n_beside;   /* layers beside each other */
    size_t width;      /* of a layer */
    size_t gap;        /* columns between two layers on one line */
    size_t n_together; /* heads that share keys and values, followed by a blank; 0: no blanks */
};

/* Returns the column of HEAD, counted from the first head of its line. */
static inline size_t attn_head_column(const struct attn_head_columns *columns, size_t head)
{
    return columns->left + head * columns->pitch +
           (columns->n_together > 0 ? head / columns->n_together : 0);
}

/* Finds columns for N_HEAD heads of WIDTH columns and a GAP, and N_BESIDE layers. False if heads
 * wrap, or layers do not fit. */
bool attn_head_columns_fit(struct attn_head_columns *columns, size_t most, size_t n_head,
                           size_t width, size_t gap, size_t n_beside);

/* Draws " head 0 1" above each layer of the first line, without numbers that do not fit. */
enum attn_status attn_heatmap_draw_head_numbers(struct attn_heatmap *map,
                                                const struct attn_head_columns *columns,
                                                struct attn_error *err);

/* --- Thumbnails (heatmap_thumbnails.c) -------------------------------------------------------- */

struct attn_thumbnail_cell; /* the sum of the rows of a cell */

/*
 * Layers, or batches of arrays, down, heads across. A head that was not chosen is a gap.
 *
 * A matrix of more cells than its thumbnail is pooled: a cell has the mean, over its rows, of the
 * number farthest from 0 in its columns. The first row of a causal pattern, which is 1 by
 * definition, is left out where its cell has others.
 *
 *     attn_thumbnails_plan(&t, &map, levels, ATTN_SITE_PATTERN, 40, &err);     // before the events
 *     attn_thumbnails_take(&t, event, place);                                  // with each
 *     attn_thumbnails_draw(&t, &err);
 *     attn_thumbnails_release(&t);
 */
struct attn_thumbnails {
    struct attn_heatmap *map;         /* borrowed; NULL before they are planned */
    const struct attn_levels *levels; /* borrowed */
    enum attn_site site;
    size_t n_down, n_across; /* layers and heads; batches and heads of arrays */
    size_t *numbers;         /* [n_down, n_across] owns: of levels, or SIZE_MAX */
    size_t *shown;           /* [n_shown] owns: layers that have heads */
    size_t n_shown;
    size_t n_matrix;
    size_t largest;  /* rows or columns of the largest matrix */
    bool is_trivial; /* each pattern is a single token's weight on itself */
    size_t side;     /* maximum number of cells of a thumbnail */
    struct attn_head_columns columns;
    size_t n_line;                     /* lines of the thumbnails, with header and legend */
    struct attn_thumbnail_cell *cells; /* [n_down, n_across, side, side] owns */
};

/* Plans thumbnails as large as MOST_LINES lines hold, of 5 x 5 cells or more. If these do not fit,
 * n_line is 0, and nothing is taken or drawn. Instead of those of a single token, which are all
 * alike, a sentence is drawn. */
enum attn_status attn_thumbnails_plan(struct attn_thumbnails *thumbnails, struct attn_heatmap *map,
                                      const struct attn_levels *levels, enum attn_site site,
                                      size_t most_lines, struct attn_error *err);

/* Takes an event of their site, and ignores others. */
void attn_thumbnails_take(struct attn_thumbnails *thumbnails, const struct attn_trace_event *event,
                          const struct attn_place *place);

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *thumbnails,
                                      struct attn_error *err);

void attn_thumbnails_release(struct attn_thumbnails *thumbnails);

/* --- A map of heads (heatmap_heads.c) --------------------------------------------------------- */

/*
 * One cell a head: the letter of what it looks at most, on the hue of this kind, lighter for
 * smaller mean weights on it. For models with more heads than thumbnails fit.
 *
 *       head  0 1 2 3
 *     layer 0 1█p▒1▓f░
 *     layer 1 ...
 */
struct attn_head_map {
    struct attn_heatmap *map;                  /* borrowed */
    const struct attn_selection *selection;    /* borrowed */
    const struct attn_measure_group *measures; /* borrowed; attn_head_kind_measures */
    struct attn_head_columns columns;
    size_t n_line;
};

/* Plans cells as wide as the width allows, or narrow ones if only these fit MOST_LINES lines.
 * MEASURES need no values yet. */
void attn_head_map_plan(struct attn_head_map *heads, struct attn_heatmap *map,
                        const struct attn_selection *selection,
                        const struct attn_measure_group *measures, size_t most_lines);

enum attn_status attn_head_map_draw(const struct attn_head_map *heads, struct attn_error *err);

#endif
