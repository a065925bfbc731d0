/* clang-format off */
/*
 * heatmap_internal.h - matrices as text. All are drawn as sheets (heatmap_sheet.c): rows and
 * columns of cells of one size, with labels above and at the left. A cell is a number or a text on
 * its color, a shade, half a character, or a letter; a cell of a sheet of heads is a whole matrix,
 * a thumbnail.
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
 * Without colors the characters are the same where there are numbers; half blocks become shades. A
 * masked cell is blank, on light terminals grey. A weight that rounds to 0 is `.`, the hidden first
 * key is `--`, NaN and infinity are `!!`.
 */
/* clang-format on */
#pragma once

#include "base/buffer.h"
#include "base/sink.h"
#include "measures/analysis_internal.h"
#include "measures/head_kind.h"
#include "pictures/colormap.h"
#include "pictures/grid.h"

/* --- Lines with colors ------------------------------------------------------------------------ */

/*
 * Lines of text with colored letters and background. An SGR sequence is written where a color
 * changes, and a reset at the end of a line with colors.
 *
 *     struct attn_color_line line = {.depth = ATTN_DEPTH_256};
 *     attn_color_line_paint(&line, attn_paint_behind(attn_ink_of(map, theme, level), line.depth));
 *     attn_color_line_append(&line, " 48", 3);
 *     attn_color_line_paint(&line, ATTN_PAINT_NONE);
 *     attn_color_line_write(&line, sink, &err);       // with a line end
 *     attn_buffer_release(&line.text);
 */

/* One color, in the forms that the color depths of terminals need. */
struct attn_ink {
    bool is_set;         /* false: the terminal's default color */
    struct attn_rgb rgb; /* for a depth of 24 bits */
    int index;           /* for a depth of 256 colors */
};

/* The colors of characters, and whether they are underlined. */
struct attn_paint {
    struct attn_ink text, ground;
    bool is_underlined;
};

#define ATTN_PAINT_NONE ((struct attn_paint){.is_underlined = false})

struct attn_ink attn_ink_of(const struct attn_colormap *map, enum attn_theme theme, int level);

/* Returns COLOR as an ink, with the nearest of the 256 colors of a terminal. */
struct attn_ink attn_ink_nearest(struct attn_rgb color);

/* Returns a paint with INK as background, and with black or white letters, whichever can be read on
 * it. */
struct attn_paint attn_paint_behind(struct attn_ink ink, enum attn_color_depth depth);

/* Appends TEXT [size] to OUT in its paint, followed by a reset. OUT has no other paint. */
void attn_paint_append(struct attn_buffer *out, struct attn_paint paint,
                       enum attn_color_depth depth, const char *text, size_t size);

/* Initialize with the depth. Can be used again after a write. */
struct attn_color_line {
    enum attn_color_depth depth;
    struct attn_buffer text;
    struct attn_paint paint; /* for the text that is appended next */
    struct attn_paint last;  /* that the last escape sequence set */
    bool is_colored;         /* the line has colored or underlined characters */
};

void attn_color_line_paint(struct attn_color_line *line, struct attn_paint paint);
void attn_color_line_append(struct attn_color_line *line, const char *text, size_t size);
void attn_color_line_string(struct attn_color_line *line, const char *text);
void attn_color_line_blanks(struct attn_color_line *line, size_t n);

/* Ends the line and writes it to SINK, without the blanks at its end that have no background. If
 * SINK is NULL, the line is dropped. */
enum attn_status attn_color_line_write(struct attn_color_line *line, struct attn_sink *sink,
                                       struct attn_error *err);

/* --- A map ------------------------------------------------------------------------------------ */

/* Initialize with = {0}; end with attn_heatmap_release. */
struct attn_heatmap {
    const struct attn_writer *writer; /* borrowed */
    const struct attn_picture_options *picture;
    struct attn_sink *sink;            /* borrowed */
    struct attn_token_texts tokens[2]; /* tokens of the text, and of the source */
    struct attn_color_line line;
    struct attn_buffer label;          /* text to be printed next; empty between calls */
    size_t width;                      /* columns of the output */
    size_t most_number_rows;           /* matrices with more rows are drawn without numbers */
    struct attn_color_range ranges[2]; /* color ranges of the rows on the current line */
    bool is_counting;                  /* true: lines are counted, not written */
    size_t n_line;
};

/* WRITER provides the labels and the picture options. HAS_LABELS: prepares the tokens as pictures
 * show them (attn_token_labels_init). */
enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   bool has_labels, struct attn_error *err);
void attn_heatmap_release(struct attn_heatmap *map);

/* --- Lines (heatmap_lines.c) ------------------------------------------------------------------ */

/* Returns the width of the output in columns: as set in PICTURE, or the default. */
size_t attn_heatmap_width(const struct attn_picture_options *picture);

/* From here to the end of counting, lines are counted instead of written. */
void attn_heatmap_begin_count(struct attn_heatmap *map);
size_t attn_heatmap_end_count(struct attn_heatmap *map);

/* Appends the label to the line and empties it. */
void attn_heatmap_put_label(struct attn_heatmap *map);
enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err);

/* Prints the label as one or more lines of at most the map's width and empties it. Lines break at
 * gaps of N_GAP or more blanks, or at single blanks if a part is too long. */
enum attn_status attn_heatmap_end_text(struct attn_heatmap *map, size_t n_gap,
                                       struct attn_error *err);

/* Returns the characters that mark a shortened text. */
const char *attn_heatmap_ellipsis(const struct attn_heatmap *map);

/* Shortens the name that was appended to the label from byte BEGIN on, if it is too long. Returns
 * its columns. */
size_t attn_heatmap_end_label(struct attn_heatmap *map, size_t begin);

/* Appends the text of row or column I of AXIS to the label. Returns its columns. */
size_t attn_heatmap_append_name(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                                size_t i);

/* Writes the label of row or column I of AXIS: its position followed by its text if HAS_NAME,
 * otherwise only one of them. Returns its columns. */
size_t attn_heatmap_make_label(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                               size_t i, bool has_name);

/* Returns the axis of all positions of a run, or of its source, for attn_heatmap_draw_items. */
static inline struct attn_grid_axis attn_heatmap_axis(const struct attn_token_texts *tokens)
{
    return (struct attn_grid_axis){.n = tokens->n, .texts = tokens};
}

/* Draws HEAD, which may be "", and the items of AXIS, "keys: 0 eat 1 dessert", in at most
 * MOST_LINES lines; "..." replaces the rest. */
enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_grid_axis *axis, const char *head,
                                         size_t most_lines, struct attn_error *err);

/* Returns what the rows and columns of a pattern stand for: "token", "word" or "position". */
const char *attn_heatmap_noun(const struct attn_writer *writer);

/* --- Cells (heatmap_sheet.c) ------------------------------------------------------------------ */

/* How the numbers of a matrix are colored. */
struct attn_heatmap_colors {
    const struct attn_colormap *map;
    enum attn_theme theme;
    struct attn_color_scale scale;
    struct attn_color_range range;
    struct attn_ink masked; /* background of masked cells; not set: the terminal's background */
};

struct attn_heatmap_colors attn_heatmap_colors(const struct attn_heatmap *map,
                                               const struct attn_level_matrix *matrix);

struct attn_heatmap_cell {
    enum attn_cell_kind kind;
    float value;
    double place;   /* 0..1, position of a value on the scale */
    bool is_beyond; /* below the last row: drawn on the terminal's background */
};

/* Returns the cell of MATRIX with its color on the scale of RANGE; a cell beyond the last row is
 * masked. */
struct attn_heatmap_cell attn_heatmap_cell(const struct attn_heatmap_colors *colors,
                                           struct attn_color_range range,
                                           const struct attn_level_matrix *matrix, size_t row,
                                           size_t column);

/* Returns the background of CELL, and a text color that is readable on it. */
struct attn_paint attn_heatmap_paint(const struct attn_heatmap_colors *colors,
                                     struct attn_heatmap_cell cell, enum attn_color_depth depth);

/* Appends the mark of a cell without a value to the label: "--", "!!" or nothing. */
void attn_heatmap_append_mark(struct attn_heatmap *map, enum attn_cell_kind kind);

/* Prints CELL in WIDTH columns: the label, USED columns wide, right-aligned on the color of the
 * cell. Without a text only the color is printed; without colors, two shade characters. */
void attn_heatmap_put_cell(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                           struct attn_heatmap_cell cell, size_t used, size_t width);

/* Prints one character for two cells, one above the other. Without colors or half blocks, it is
 * the shade of the larger value. */
void attn_heatmap_put_halves(struct attn_heatmap *map, const struct attn_heatmap_colors *colors,
                             struct attn_heatmap_cell upper, struct attn_heatmap_cell lower);

/* Ends the legend: prints the label and the scale, "0 to 1, square root" around colors or shades,
 * on one or two lines. */
enum attn_status attn_heatmap_end_legend(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err);

/* Draws the ticks of the scale on their colors, and the name of its curve. A scale per row has no
 * ticks. */
enum attn_status attn_heatmap_draw_ticks(struct attn_heatmap *map,
                                         const struct attn_heatmap_colors *colors,
                                         struct attn_error *err);

/* --- Sheets (heatmap_sheet.c) ----------------------------------------------------------------- */

static inline size_t attn_divide_up(size_t n, size_t by)
{
    return n == 0 ? 0 : (n - 1) / by + 1;
}

struct attn_sheet_spot {
    size_t row, column, line; /* `line` counts lines within the cell */
};

/* The layout of a sheet: rows (or layers) go down, columns (or heads) across. Columns that do not
 * fit wrap to lines below. On a wide terminal the second half of the rows stands beside the first,
 * and so on. */
struct attn_sheet {
    const void *of; /* borrowed; first argument of the functions below */
    size_t n_row, n_column;

    size_t left;              /* columns of text taken by row labels and the gap after them */
    size_t pitch, cell_width; /* columns from one cell to the next, and of a cell */
    size_t n;                 /* cells per line */
    /* first column and first row of the second text, after two blanks or an empty line; 0: one
     * text */
    size_t border, border_row;
    /* number of rows side by side, the width of each, and the gap between them */
    size_t n_beside, width, gap;

    size_t corner_at; /* text column of the corner label */
    const char *corner;
    size_t label_step; /* cells between two column labels */
    bool is_right;     /* column labels are right-aligned, otherwise left-aligned */
    /* column labels that end beyond this text column are left out, except the first; so are labels
     * that touch the one before */
    size_t most_label_end;

    /* Writes the label of COLUMN into the map's label. Returns its columns. */
    size_t (*make_label)(struct attn_heatmap *map, const void *of, size_t column);
    /* Prints the row label left of the cells of row at.row, line at.line. NULL: prints the layer
     * layers[row] (or `row` if layers is NULL). Returns its columns. */
    size_t (*put_edge)(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at);
    const size_t *layers; /* borrowed */
    /* Prints one line of the cell AT. Returns its columns, or 0. */
    size_t (*put_cell)(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at);
    /* Returns the lines of the cells of ROW from cell FIRST to the end of the line. NULL: always
     * 1. */
    size_t (*count_lines)(const void *of, size_t row, size_t first);
};

/* Plans cells of CELL_WIDTH and PITCH in at most MOST columns of text, with N_BESIDE rows side by
 * side. Returns false if cells wrap to more lines, or N_BESIDE rows do not fit. */
bool attn_sheet_fit(struct attn_sheet *sheet, size_t most, size_t cell_width, size_t pitch,
                    size_t n_beside);

/* Returns the lines of the whole sheet, without the labels above. */
size_t attn_sheet_n_line(const struct attn_sheet *sheet);

enum attn_status attn_sheet_draw(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                 struct attn_error *err);

/* Returns a sheet with heads across and layers down, labelled by number. The caller sets the size
 * of cells. */
struct attn_sheet attn_sheet_of_heads(const void *of, size_t n_layer, size_t n_head,
                                      size_t most_columns);

/* --- A matrix (heatmap.c) --------------------------------------------------------------------- */

/* Maximum number of columns that attn_heatmap_draw draws; larger matrices are pooled. */
size_t attn_heatmap_most_columns(const struct attn_writer *writer);

/* Appends the title of a matrix to the label. */
void attn_heatmap_append_title(struct attn_heatmap *map, const struct attn_level_matrix *matrix);
enum attn_status attn_heatmap_name(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Draws the header and the rows, and a note if the matrix is pooled. */
enum attn_status attn_heatmap_draw(struct attn_heatmap *map, const struct attn_level_matrix *matrix,
                                   struct attn_error *err);

/* Returns true if cells are wide enough for their numbers. */
bool attn_heatmap_has_numbers(const struct attn_heatmap *map,
                              const struct attn_level_matrix *matrix);

enum attn_status attn_heatmap_legend(struct attn_heatmap *map,
                                     const struct attn_level_matrix *matrix,
                                     struct attn_error *err);

/* --- Thumbnails (heatmap_thumbnails.c) -------------------------------------------------------- */

/*
 * Layers, or batches of arrays, down, heads across. A head that is not selected is left blank.
 *
 * A matrix larger than its thumbnail is pooled: a cell takes from each of its rows the number
 * farthest from 0, and shows the mean of these numbers. The first row of a causal pattern, which is
 * 1 by definition, is left out if its cell has other rows.
 *
 *     attn_thumbnails_plan(&t, &map, levels, ATTN_SITE_PATTERN, 40, &err);     // before the events
 *     attn_thumbnails_take(&t, event, place);                                  // with each
 *     attn_thumbnails_draw(&t, &err);
 *     attn_thumbnails_release(&t);
 */
struct attn_thumbnails {
    struct attn_heatmap *map;         /* borrowed; NULL before attn_thumbnails_plan */
    const struct attn_levels *levels; /* borrowed */
    enum attn_site site;
    size_t n_down, n_across; /* layers and heads; for arrays, batches and heads */
    /* [n_down, n_across] owns: index of the head's first matrix in `levels`, or SIZE_MAX */
    size_t *numbers;
    size_t n_image; /* matrices of each head, side by side: of the images, or one */
    size_t *shown;  /* [sheet.n_row] owns: the layers with selected heads */
    size_t n_matrix;
    size_t largest; /* rows or columns of the largest matrix, whichever is more */
    bool is_lone;   /* the text has one token, whose weight on itself is 1 */
    size_t side;    /* maximum rows and columns of a thumbnail */
    struct attn_sheet sheet;
    size_t n_line;                /* lines of all thumbnails, including header and legend */
    struct attn_mean_cell *cells; /* [n_down, n_across, n_image, side, side] owns */
};

/* Plans the largest thumbnails that MOST_LINES lines hold, of 5 x 5 cells or more. If they do not
 * fit, n_line is 0, and nothing is taken or drawn. For a text of a single token, whose patterns are
 * all alike, a sentence is printed instead. */
enum attn_status attn_thumbnails_plan(struct attn_thumbnails *thumbnails, struct attn_heatmap *map,
                                      const struct attn_levels *levels, enum attn_site site,
                                      size_t most_lines, struct attn_error *err);

/* Adds an event of the site of the thumbnails; ignores other events. */
void attn_thumbnails_take(struct attn_thumbnails *thumbnails, const struct attn_trace_event *event,
                          const struct attn_place *place);

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *thumbnails,
                                      struct attn_error *err);

void attn_thumbnails_release(struct attn_thumbnails *thumbnails);
