/* figure_internal.h - colors, heading, legend, labels and cells of all kinds of figures. */
#ifndef ATTN_FIGURES_FIGURE_INTERNAL_H
#define ATTN_FIGURES_FIGURE_INTERNAL_H

#include "base/sink.h"
#include "encode/colormap_internal.h"
#include "encode/float_text.h"
#include "figures/figure.h"

/* Lengths in units. */
enum {
    ATTN_FIGURE_PAD = 12,     /* around everything */
    ATTN_FIGURE_GAP = 5,      /* between labels and cells */
    ATTN_FIGURE_SMALL = 11,   /* size of the font of legends and positions */
    ATTN_FIGURE_AXIS = 12,    /* of the titles of axes */
    ATTN_FIGURE_ASIDE = 22,   /* between a matrix and its legend */
    ATTN_FIGURE_HATCHED = 6,  /* the side of a cell from which it is hatched and has lines around */
    ATTN_FIGURE_LABELLED = 9, /* the side from which each row has its label */
    ATTN_FIGURE_LYING = 50,   /* height of a legend that lies, with its name and ticks */
};

enum { ATTN_FIGURE_PARTS = 4 }; /* of a unit: steps of the sides of cells in print */

#define ATTN_FIGURE_LEAST 5.0 /* points of the smallest letters that are read with ease */
#define ATTN_FIGURE_TEXT 13.5 /* size of the font of labels: 9 points */

/* Whether a figure has the width of a column, and the look of a journal: proportional type, words
 * only in the caption, no margin. */
static inline bool attn_figure_is_printed(const struct attn_picture_options *options)
{
    return options->figure_width > 0;
}

/* Points a unit, by the size of the font, which is 8 points in print. */
static inline double attn_figure_unit(const struct attn_picture_options *options)
{
    const double usual = attn_figure_is_printed(options) ? 8 : 9;

    return ATTN_SHAPES_POINTS * (options->font_size > 0 ? options->font_size : usual) / 9;
}

/* Where the picture in a figure is, and the legend. */
struct attn_figure_layout {
    double right, top, height; /* of the picture: its right end, top and height; 0: not known yet */
    bool lies;                 /* the legend is below it */
};

/* A figure that is being drawn. */
struct attn_figure_pen {
    const struct attn_figure_content *content;
    const struct attn_picture_options *options;
    struct attn_shapes *shapes;
    struct attn_color_scale scale;
    const struct attn_colormap *map;
    const char *quantity; /* the quantity of the colors, with the unit */
    size_t part;          /* whose legend is drawn; 0 unless the grid has parts */
    bool is_printed;      /* attn_figure_is_printed */
    bool is_measuring;    /* only shapes->width and ->height are wanted */
    double room;          /* the requested width, in units, or 0 */
    double growth;        /* of cells, as they have room */
    double label;         /* size of the smallest labels of rows and columns */
    struct attn_figure_layout layout;
    bool is_fitted;      /* the scale ends at the largest number on a patch, or of all matrices */
    bool is_even;        /* all numbers are small: the scale ends above the largest */
    bool is_veiled;      /* cells let a picture through */
    uint32_t grounds[2]; /* its darkest and its lightest color */
    bool has_text; /* the subtitle ends in the text: true, until a kind that shows it clears it */
    bool has_kind[ATTN_CELL_NOT_FINITE + 1]; /* of cells that were drawn, for the legend */
    uint32_t ink, faint, rule, frame;        /* of text, less important text, lines, frames */
    struct attn_buffer subtitle;             /* precedes the text; parts end in "; " */
    struct attn_buffer scratch;
};

/* One kind of figure: sets the size of the shapes, and unless it is measured adds them. */
typedef enum attn_status (*attn_figure_fn)(struct attn_figure_pen *pen, struct attn_error *err);

enum attn_status attn_figure_draw_matrix(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_grid(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_lines(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_tokens(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_points(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_patches(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_maps(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_plot(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_causes(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_parts(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_poster(struct attn_figure_pen *pen, struct attn_error *err);

/* The size of letters of 5 points, the smallest that are read with ease. */
static inline double attn_figure_least_letters(const struct attn_figure_pen *pen)
{
    return ATTN_FIGURE_LEAST /
           (pen->shapes->points > 0 ? pen->shapes->points : attn_figure_unit(pen->options));
}

/* Whether KIND draws a table, which a page shows as it is, and no terminal. */
static inline bool attn_figure_is_plot(enum attn_figure kind)
{
    return kind >= ATTN_FIGURE_BARS;
}

/* ATTN_INVALID unless rows are those of a matrix of queries and keys. */
enum attn_status attn_figure_check_keys(const struct attn_figure_pen *pen, struct attn_error *err);

/* Matrix I of the content, from 0. */
static inline const struct attn_level_matrix *attn_figure_matrix(const struct attn_figure_pen *pen,
                                                                 size_t i)
{
    return &pen->content->grid->matrices[i];
}

/* --- The frame (figure_frame.c) ------------------------------------------------------------ */

/* The legend of the kinds of heads, in place of a ramp. */
static inline bool attn_figure_has_kinds(const struct attn_figure_pen *pen)
{
    return pen->content->kind == ATTN_FIGURE_MAP || pen->content->kind == ATTN_FIGURE_POSTER;
}

/* The rows and the columns of MATRIX. */
struct attn_grid_axis attn_figure_rows(struct attn_figure_pen *pen,
                                       const struct attn_level_matrix *matrix);
struct attn_grid_axis attn_figure_columns(struct attn_figure_pen *pen,
                                          const struct attn_level_matrix *matrix);

/* The groups of a table; one without a name for other matrices. */
struct attn_grid_axis attn_figure_groups(struct attn_figure_pen *pen);

/* The label of row or column I, borrowed until the next call: a shortened token without surrounding
 * blanks, or a position. */
const char *attn_figure_label(struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                              size_t i, size_t *n);
/* The bytes of the LABEL [size] of a piece of a character without the number of the piece. */
size_t attn_figure_character_size(const char *label, size_t size);
void attn_figure_add_label(struct attn_figure_pen *pen, const struct attn_shape_text *text,
                           const struct attn_grid_axis *axis, size_t i);
/* The width of TEXT [n] in sizes of the font: in print of its letters, else of its columns. */
double attn_figure_string_width(const struct attn_figure_pen *pen, const char *text, size_t n);

/* The ground of a cell of KIND, which is no value: paler in print. */
uint32_t attn_figure_ground(const struct attn_figure_pen *pen, enum attn_cell_kind kind);

/* The width of the widest label of AXIS. */
double attn_figure_label_width(const struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                               double size);

/* The width of N columns of text. */
static inline double attn_figure_text_width(size_t n, double size)
{
    return (double)n * size * ATTN_SHAPES_EM;
}

/* Adds the name of an axis in faint letters: with its middle at X, or turned, at the left of the
 * figure with its middle at Y. */
void attn_figure_add_axis_name(struct attn_figure_pen *pen, double x, double y, const char *name);
void attn_figure_add_turned_name(struct attn_figure_pen *pen, double y, const char *name);

/* Makes the figure so wide that its title and everything up to RIGHT have room, with the pad. */
void attn_figure_set_width(struct attn_figure_pen *pen, double right);

/* The height of title and subtitle in shapes of known width. */
double attn_figure_heading_height(struct attn_figure_pen *pen);

/* Lays out a figure whose picture ends at RIGHT and is HEIGHT high, with room for what is ABOVE it:
 * the legend stands beside it, at most as high, or LIES below it, also where that has no room.
 * Sets pen->layout and the size of the shapes. */
void attn_figure_set_frame(struct attn_figure_pen *pen, double right, double above, double height,
                           bool lies);

/* Adds title and subtitle at the top: two lines of the title and of each text, cut to the width of
 * the shapes. In print only a title of the user's is there. */
void attn_figure_add_heading(struct attn_figure_pen *pen);

/* The size of the legend: a ramp with ticks, and the kinds of cells without a value. */
struct attn_figure_size {
    double width, height;
};
struct attn_figure_size attn_figure_legend_size(const struct attn_figure_pen *pen);

/* Adds it where attn_figure_set_frame has put it, after all cells. */
void attn_figure_add_legend(struct attn_figure_pen *pen);

/* Its parts: the ramp of WIDTH, and the kinds of cells side by side. */
void attn_figure_add_lying_ramp(struct attn_figure_pen *pen, double x, double y, double width);
void attn_figure_add_cell_kinds(struct attn_figure_pen *pen, double x, double y);

/* --- Cells (figure_cells.c) ---------------------------------------------------------------- */

/* A rectangle of cells: N_ROW rows of N_COL cells of the matrix, in order, from number FIRST on. */
struct attn_figure_view {
    const struct attn_level_matrix *matrix;
    size_t first, n_row, n_col;
    bool is_veil;   /* transparent; all colors have one range */
    size_t stride;  /* from one row to the next, 0: n_col */
    bool is_scarce; /* cells without a value are not drawn */
};

static inline struct attn_figure_view attn_figure_whole(const struct attn_level_matrix *matrix)
{
    return (struct attn_figure_view){
        .matrix = matrix, .n_row = matrix->n_cell_row, .n_col = matrix->n_cell_column};
}

/* Where a rectangle of cells goes; whole numbers. */
struct attn_figure_place {
    double x, y, side; /* side: the height of a cell */
    double width;      /* of a cell, 0: its height */
};

static inline double attn_figure_cell_width(struct attn_figure_place place)
{
    return place.width > 0 ? place.width : place.side;
}

uint32_t attn_figure_color(const struct attn_figure_pen *pen, int level); /* 0xRRGGBB */

/* Whether black text can be read better than white on the color of LEVEL. */
bool attn_figure_takes_black(const struct attn_figure_pen *pen, int level);

/* One cell of KIND, which is no value, with its hatch and a frame. */
void attn_figure_add_nothing(struct attn_figure_pen *pen, enum attn_cell_kind kind,
                             struct attn_figure_place place);

void attn_figure_add_cells(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place);

/* After all cells: hatches, and lines between cells, where these are large enough. */
void attn_figure_add_hatches(struct attn_figure_pen *pen, struct attn_figure_view view,
                             struct attn_figure_place place);
void attn_figure_add_rules(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place);
void attn_figure_add_line(struct attn_figure_pen *pen, const double from[2], const double to[2],
                          double width, uint32_t color);
/* Lines of WIDTH and COLOR around a rectangle: left, top, right, bottom. */
void attn_figure_add_outline(struct attn_figure_pen *pen, const double box[4], double width,
                             uint32_t color);
void attn_figure_add_frame(struct attn_figure_pen *pen, double x, double y, double width,
                           double height);

/* The columns of the longest number, or text of a table, in the cells of VIEW that are LEAST or
 * farther from 0. */
size_t attn_figure_value_columns(const struct attn_figure_pen *pen, struct attn_figure_view view,
                                 double least);

/* The numbers in cells, where they are wanted and fit. */
void attn_figure_add_values(struct attn_figure_pen *pen, struct attn_figure_view view,
                            struct attn_figure_place place);

/* Whether numbers are shown in percent. */
bool attn_figure_is_percent(const struct attn_figure_pen *pen);

/* The side of a cell in whole units: the requested one, or USUAL, scaled to the room. Sets
 * shapes->points and ->cell. */
double attn_figure_side(struct attn_figure_pen *pen, double usual);

/* --- Panels: matrices side by side (figure_panels.c) --------------------------------------- */

enum {
    ATTN_PANELS_LEFT = 48,  /* room for the numbers of rows and their name, */
    ATTN_PANELS_ABOVE = 38, /* and for those of columns */
};

/* A layer or batch, or a head, that is a row or column of panels. */
struct attn_panel_line {
    int number;
    size_t n_cell;   /* of its longest matrix */
    double at, size; /* where its panels begin, and their length; set by the caller */
};

/* Layers, or batches of arrays, down, heads across, both ascending. Missing heads leave gaps. */
struct attn_figure_panels {
    struct attn_panel_line *rows, *columns; /* [n_row], [n_column] own */
    size_t n_row, n_column;
};

/* Lists the matrices of the content in PANELS, which is {0}. Release it after a failure, too. */
enum attn_status attn_figure_panels_list(const struct attn_figure_pen *pen,
                                         struct attn_figure_panels *panels, struct attn_error *err);
void attn_figure_panels_release(struct attn_figure_panels *panels);

/* The row and the column of a matrix that is listed. */
void attn_figure_panels_find(const struct attn_figure_pen *pen,
                             const struct attn_figure_panels *panels,
                             const struct attn_level_matrix *matrix, size_t *row, size_t *column);

/* ATTN_PANELS_LEFT, and the room for the names of stacks. */
double attn_figure_panels_left(const struct attn_figure_pen *pen);

/* Adds the numbers of columns and rows, and their names, "head" and "layer", at the middle of
 * panels that end at END. */
void attn_figure_panels_add_numbers(struct attn_figure_pen *pen,
                                    const struct attn_figure_panels *panels, bool has_rows,
                                    bool has_columns);
void attn_figure_panels_add_names(struct attn_figure_pen *pen,
                                  const struct attn_figure_panels *panels, const double end[2],
                                  const char *row, const char *column);

/* --- Maps over the picture of a run (figure_map.c) ----------------------------------------- */

/* Whether the figure shows patches on the picture that the model saw. */
bool attn_figure_is_map(const struct attn_figure_pen *pen);

/* Makes the scale end at the largest number on a patch, unless the user set a scale. */
void attn_figure_fit_scale(struct attn_figure_pen *pen);

/* --- Files (figure_svg.c, figure_cairo.c) -------------------------------------------------- */

/* ATTN_OK if cairo and pango can be opened, which draw PNG and PDF; ATTN_IO at ATTN_STAGE_OUTPUT if
 * not. NAME is the output in the message. They are not linked, so that other commands start without
 * them. */
enum attn_status attn_figure_cairo_check(const char *name, struct attn_error *err);

/* Write SHAPES to SINK; the caller checks SINK for errors. *N_UNKNOWN: texts with
 * characters of which no font is installed, drawn as boxes of hex digits. Equal figures give equal
 * bytes where the same fonts are installed, and SVG everywhere. In SVG 1.1 text stays text, and
 * cells are paths, one a color, as long as there are not too many; else they are a PNG inside. */
enum attn_status attn_figure_svg_write(const struct attn_shapes *figure, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
enum attn_status attn_figure_png_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
enum attn_status attn_figure_pdf_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);

#endif
