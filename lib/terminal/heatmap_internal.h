/* clang-format off */
/*
 * heatmap_internal.h - matrices as text. All are sheets (heatmap_sheet.c): rows and columns of
 * cells of one size, with labels above and at the left. A cell is a number or a text on its
 * colour, a shade, half a character, or a letter (heatmap_cells.c); a cell of a sheet of heads is
 * a whole matrix, a thumbnail.
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
 * masked cell is blank, on light terminals grey; a weight that rounds to 0 is `.`, the hidden first
 * key `--`, and one not finite `!!`.
 */
/* clang-format on */
#ifndef ATTN_TERMINAL_HEATMAP_INTERNAL_H
#define ATTN_TERMINAL_HEATMAP_INTERNAL_H

#include "analysis/analysis_internal.h"
#include "analysis/head_kind.h"
#include "encode/color_line.h"
#include "grid/grid.h"

/* Initialize with = {0}; end with attn_heatmap_release. */
struct attn_heatmap {
    const struct attn_writer *writer; /* borrowed; NULL: a table is drawn: */
    const struct attn_grid *table;    /* borrowed */
    const struct attn_picture_options *picture;
    struct attn_sink *sink;            /* borrowed */
    struct attn_token_texts tokens[2]; /* tokens of the run, and of its source */
    struct attn_color_line line;
    struct attn_buffer label;          /* the next part of the line; empty between calls */
    size_t width;                      /* columns */
    size_t most_number_rows;           /* matrices with more rows are drawn without numbers */
    struct attn_color_range ranges[2]; /* of the rows in the line that is drawn */
    bool is_counting;                  /* lines instead of writing them: */
    size_t n_line;
};

/* WRITER has the labels and the options of pictures. HAS_LABELS: tokens are shown as pictures show
 * them (attn_token_labels_init). */
enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   bool has_labels, struct attn_error *err);
void attn_heatmap_release(struct attn_heatmap *map);

/* --- Lines (heatmap_lines.c) ------------------------------------------------------------------ */

/* The columns of text, of PICTURE or by default. */
size_t attn_heatmap_width(const struct attn_picture_options *picture);

/* What is drawn until the end is only counted. Returns the number of lines. */
void attn_heatmap_begin_count(struct attn_heatmap *map);
size_t attn_heatmap_end_count(struct attn_heatmap *map);

/* Appends the label to the line, and empties it; or ends the line with it. */
void attn_heatmap_put_label(struct attn_heatmap *map);
enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err);

/* Ends the line with the label, broken at N_GAP or more blanks to fit the width, or at any blank in
 * longer parts, and empties it. */
enum attn_status attn_heatmap_end_text(struct attn_heatmap *map, size_t n_gap,
                                       struct attn_error *err);

/* What stands at the end of a text that was cut. */
const char *attn_heatmap_ellipsis(const struct attn_heatmap *map);

/* Ends a name that was appended to the label from BEGIN on. Returns its columns. */
size_t attn_heatmap_end_label(struct attn_heatmap *map, size_t begin);

/* Appends the text of row or column I of AXIS to the label. Returns its columns. */
size_t attn_heatmap_append_name(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                                size_t i);

/* Makes the label of row or column I of AXIS: its position and, if HAS_NAME, its text, or the text
 * alone. Returns its columns. */
size_t attn_heatmap_make_label(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                               size_t i, bool has_name);

/* Returns the axis of all positions of a run, or of its source, for attn_heatmap_draw_items. */
static inline struct attn_grid_axis attn_heatmap_axis(const struct attn_token_texts *tokens)
{
    return (struct attn_grid_axis){.n = tokens->n, .texts = tokens};
}

/* Draws HEAD, which may be "", and the labels of AXIS, "keys: 0 eat 1 dessert", in MOST_LINES lines
 * at most, "..." for the rest. */
enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_grid_axis *axis, const char *head,
                                         size_t most_lines, struct attn_error *err);

/* "token", or "word" or "position": what the rows and columns of a pattern are. */
const char *attn_heatmap_noun(const struct attn_writer *writer);

/* --- Cells (heatmap_cells.c) ------------------------------------------------------------------ */

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

struct attn_heatmap_cell {
    enum attn_cell_kind kind;
    float value;
    double place;   /* 0..1, of a value */
    bool is_beyond; /* the last row: the terminal's ground */
};

/* The cell of MATRIX, whose colours show RANGE; one beyond its last row is masked. */
struct attn_heatmap_cell attn_heatmap_cell(const struct attn_heatmap_colors *colors,
                                           struct attn_color_range range,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           size_t column);

/* The colour of CELL, with readable text on it. */
struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors,
                                     struct attn_heatmap_cell cell, enum attn_color_depth depth);

/* Appends the mark of a cell without a value, "--" or "!!" or nothing, to the label. */
void attn_heatmap_append_mark(struct attn_heatmap *map, enum attn_cell_kind kind);

/* Puts CELL in WIDTH columns: the label, its text of USED columns, flush right on its colour.
 * Without a text it is the colour alone, or without colours two shades. */
void attn_heatmap_put_cell(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                           struct attn_heatmap_cell cell, size_t used, size_t width);

/* Puts one character for two cells; without colours or half blocks, the character of the larger
 * value. */
void attn_heatmap_put_halves(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                             struct attn_heatmap_cell upper, struct attn_heatmap_cell lower);

/* Returns the shade of a number, for output without colours. */
const char *attn_heatmap_shade(const struct attn_heatmap *map,
                               const struct attn_heatmap_colors *colors, double place);

/* Ends with the label and the scale, "0 to 1, square root" around colours or shades, on one line or
 * two. */
enum attn_status attn_heatmap_end_legend(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err);

/* Draws the ticks of the scale on their colours, and its words; for a scale per row only the words.
 */
enum attn_status attn_heatmap_draw_ticks(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err);

/* --- Sheets (heatmap_sheet.c) ----------------------------------------------------------------- */

struct attn_sheet_spot {
    size_t row, column, line; /* LINE of the cell */
};

/*
 * Rows, or layers, down; columns, or heads, across. Columns that do not fit wrap to lines below. On
 * a wide terminal the second half of the rows stands beside the first, and so on.
 */
struct attn_sheet {
    const void *of; /* for the functions below; borrowed */
    size_t n_row;
    size_t first, last; /* the columns that are drawn: LAST is not */

    size_t left;                     /* columns of text, of the labels and the gap after them */
    size_t pitch, cell_width;        /* from one cell to the next, and of it */
    size_t n;                        /* cells per line */
    size_t n_together;               /* that stand together, followed by a blank; 0: no blanks */
    size_t first_apart;              /* cells from here on are set apart by two blanks, */
    size_t apart_pitch, apart_width; /* with another width; SIZE_MAX: none */
    size_t border, border_row;       /* the second of two texts begins here, after two blanks or an
                                        empty line; 0: none */
    size_t n_beside, width, gap;     /* rows beside each other, columns of one, and between them */

    size_t corner_at; /* the column of the corner */
    const char *corner;
    size_t label_indent;   /* of labels of one column */
    size_t label_step;     /* of the cells with a label above */
    bool is_right;         /* the labels above stand flush right, else flush left */
    size_t most_label_end; /* other labels than the first that end beyond this column are left out;
                              so are those that touch the one before */

    /* Makes the label above COLUMN. Returns its columns. */
    size_t (*make_label)(struct attn_heatmap *map, const void *of, size_t column);
    /* Puts the labels left of the cells at and after AT; NULL: those of LAYERS [n_row], or of row
     * 0, 1, ... Returns its columns. */
    size_t (*put_edge)(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at);
    const size_t *layers; /* borrowed */
    /* Puts a line of the cell AT. Returns its columns, or 0. */
    size_t (*put_cell)(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at);
    /* Lines of the cells FIRST and on of ROW; NULL: 1. */
    size_t (*count_lines)(const void *of, size_t row, size_t first);
};

/* The columns of cell COLUMN. */
static inline size_t attn_sheet_cell_width(const struct attn_sheet *sheet, size_t column)
{
    return column < sheet->first_apart ? sheet->cell_width : sheet->apart_width;
}

/* Where cell COLUMN begins if the line begins with FIRST. */
size_t attn_sheet_column(const struct attn_sheet *sheet, size_t first, size_t column);

/* Finds columns for cells of CELL_WIDTH and PITCH within MOST, and N_BESIDE rows. False if cells
 * wrap, or rows do not fit. */
bool attn_sheet_fit(struct attn_sheet *sheet, size_t most, size_t cell_width, size_t pitch,
                    size_t n_beside);

/* The lines of the rows without the labels above. */
size_t attn_sheet_n_line(const struct attn_sheet *sheet);

/* Makes the label of a column without a name: its number. */
size_t attn_sheet_make_number(struct attn_heatmap *map, const void *of, size_t column);

enum attn_status attn_sheet_draw(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                 struct attn_error *err);

/* A sheet of heads across, layers down, with their numbers, without the size of its cells. */
struct attn_sheet attn_sheet_of_heads(const void *of, size_t n_layer, size_t n_head,
                                      size_t most_columns);

/* --- A matrix, or a table (heatmap.c) --------------------------------------------------------- */

/* Maximum number of columns that attn_heatmap_draw draws; larger matrices are pooled. */
size_t attn_heatmap_most_columns(const struct attn_writer *writer);

/* Writes the line above a matrix, or appends its words to the label. */
void attn_heatmap_append_title(struct attn_heatmap *map, const struct attn_level_matrix *matrix);
enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Draws header and rows, and a note if the matrix is pooled. */
enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Whether its cells have room for their numbers. */
bool attn_heatmap_has_numbers(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix);

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

/* --- Patches (heatmap_patches.c) -------------------------------------------------------------- */

/* Whether all matrices of LEVELS have a column for each patch of the picture, and it fits the
 * width. */
bool attn_heatmap_shows_patches(const struct attn_heatmap *map, const struct attn_levels *levels);

/* Draws ROW of MATRIX, which is not pooled, over the picture, with name and legend. */
enum attn_status attn_heatmap_draw_patches(struct attn_heatmap *map,
                                           const struct attn_level_matrix *matrix, size_t row,
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
    size_t *shown;           /* [sheet.n_row] owns: layers that have heads */
    size_t n_matrix;
    size_t largest; /* rows or columns of the largest matrix */
    bool is_lone;   /* each pattern is a single token's weight on itself */
    size_t side;    /* maximum number of cells of a thumbnail */
    struct attn_sheet sheet;
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
    struct attn_sheet sheet;
    size_t n_line;
};

/* Plans cells as wide as the width allows, or narrow ones if only these fit MOST_LINES lines.
 * MEASURES need no values yet. */
void attn_head_map_plan(struct attn_head_map *heads, struct attn_heatmap *map,
                        const struct attn_selection *selection,
                        const struct attn_measure_group *measures, size_t most_lines);

enum attn_status attn_head_map_draw(const struct attn_head_map *heads, struct attn_error *err);

#endif
