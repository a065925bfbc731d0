/*
 * figure_internal.h - figures: matrices, with names of their rows and columns, as a list of shapes.
 * Each kind of figure has its file (figure_matrix.c, figure_grid.c, ...), and figure_writer.c
 * writes them. Colors, heading, legend, labels and cells are common to all kinds.
 *
 *     struct attn_figure_content content = {.kind = ATTN_FIGURE_GRID, .grid = grid};
 *     struct attn_shapes shapes = {0};
 *     status = attn_figure_measure(&content, &err);       // before anything is computed
 *     status = attn_figure_draw(&content, &shapes, &err); // when all cells have come
 *     attn_shapes_release(&shapes);
 *
 * Layouts do not load fonts: the width of a text is estimated from its columns. Nothing is cut to
 * fit; a figure that would be too large is an error.
 */
#pragma once

#include "base/memory.h"
#include "base/note.h"
#include "pictures/colormap_internal.h"
#include "pictures/grid.h"
#include "pictures/picture.h"
#include "pictures/picture_internal.h"
#include "pictures/shapes.h"
#include "pictures/table_view.h"

#include <string.h>

struct attn_figure_content {
    enum attn_figure kind; /* not ATTN_FIGURE_DEFAULT */
    const struct attn_grid *grid;
    const struct attn_picture_options *picture;
    bool is_in_points; /* `cell` is given in points, not in pixels */
    /* for causes and a life: the table that is drawn, and how; or NULL */
    const struct attn_table *table;
    const struct attn_table_picture *of;
};

/* Returns true if `cell` is in points for files of FORMAT; PNG uses pixels. */
static inline bool attn_figure_is_in_points(const struct attn_format *format)
{
    return format != &attn_png_format;
}

/* Sends a note with the caption of a printed figure: title, colors, text. ON_NOTE may be NULL. */
void attn_figure_note_caption(const struct attn_shapes *shapes, attn_note_fn on_note, void *user);

/* Sends a note if labels are smaller than requested in OPTIONS, or in print much smaller than
 * usual; if IS_PIXELS, also if the resolution differs from the requested one. ON_NOTE may be
 * NULL. */
void attn_figure_note_size(const struct attn_shapes *shapes,
                           const struct attn_picture_options *options, bool is_pixels,
                           attn_note_fn on_note, void *user);

/* Returns ATTN_INVALID if this kind of figure cannot show the selection, or if the figure would
 * have more than 16,384 units a side or 64 million in all. Works before the cells are computed. */
enum attn_status attn_figure_measure(const struct attn_figure_content *content,
                                     struct attn_error *err);

/* Draws the figure into SHAPES, which must be {0}. Release SHAPES after a failure, too. */
enum attn_status attn_figure_draw(const struct attn_figure_content *content,
                                  struct attn_shapes *shapes, struct attn_error *err);

/* Lengths in units. */
enum {
    ATTN_FIGURE_PAD = 12,     /* margin of the figure */
    ATTN_FIGURE_GAP = 5,      /* gap between labels and cells */
    ATTN_FIGURE_ASIDE = 22,   /* gap between a matrix and its legend */
    ATTN_FIGURE_HATCHED = 6,  /* minimum side of cells that are hatched and separated by lines */
    ATTN_FIGURE_LABELLED = 9, /* minimum side of cells that all have labels */
    ATTN_FIGURE_LYING = 50,   /* height of a horizontal legend, with its name and ticks */
};

enum { ATTN_FIGURE_PARTS = 4 }; /* in print, sides of cells are multiples of 1/4 unit */

#define ATTN_FIGURE_BAR 0.28  /* height of the bar of a head as a part of its cell */
#define ATTN_FIGURE_LEAST 6.0 /* font size of the smallest easily readable letters, in points */

/* Returns true if a figure has a requested width and the look of a journal: proportional font,
 * words only in the caption, no margin. */
static inline bool attn_figure_is_printed(const struct attn_picture_options *options)
{
    return options->figure_width > 0;
}

/* Returns the points per unit, computed from the requested font size; the default is 8 points in
 * print, otherwise 9. */
static inline double attn_figure_unit(const struct attn_picture_options *options)
{
    const double usual = attn_figure_is_printed(options) ? 8 : 9;

    return ATTN_SHAPES_POINTS * (options->font_size > 0 ? options->font_size : usual) / 9;
}

/* Font sizes in units. */
struct attn_figure_letters {
    double axis;  /* of titles of axes; in print the requested size, of which others are parts */
    double label; /* of rows and columns */
    double tick;  /* of legends and positions */
    double word;  /* of a text that is drawn as a text */
};

#define ATTN_FIGURE_TEXT 13.5   /* font size of labels on a screen: 9 points */
#define ATTN_FIGURE_LABEL 0.875 /* in print, as a part of that of titles: 7 of 8 points */

/* The place of the picture in a figure, and where the legend goes. */
struct attn_figure_layout {
    /* right end, top and height of the picture; 0: not known yet */
    double right, top, height;
    bool lies; /* the legend is horizontal, below the picture */
};

/* Content with folded keys: a column is a key, or a run of keys without a position. */
struct attn_figure_fold {
    const struct attn_figure_content *whole; /* the content without folds */
    struct attn_figure_content content;
    struct attn_grid grid;
    struct attn_level_matrix matrix; /* owns its cells */
    struct attn_grid_axis columns;
    struct attn_token_texts texts; /* owns */
    size_t *positions;             /* [matrix.n_column] owns */
    bool hides;                    /* keys of small weights are folded */
};

/* A figure that is being drawn. */
struct attn_figure_pen {
    const struct attn_figure_content *content;
    enum attn_figure kind; /* of the content; tokens for arcs over several lines of text */
    const struct attn_picture_options *options;
    struct attn_shapes *shapes;
    struct attn_color_scale scale;
    const struct attn_colormap *map;
    const char *quantity; /* name and unit of the quantity that colors show */
    size_t part;          /* the part whose legend is drawn; 0 unless the grid has parts */
    bool is_printed;      /* attn_figure_is_printed */
    bool is_measuring;    /* only shapes->width and shapes->height are computed */
    double room;          /* requested width in units, or 0 */
    double growth;        /* factor by which cells are enlarged to fill the width */
    double unit;          /* points per unit */
    struct attn_figure_letters letters; /* in print of the same points, whatever a unit is */
    double label;                       /* font size of the smallest labels of rows and columns */
    struct attn_figure_layout layout;
    bool is_fitted;      /* the scale ends at the largest number on a patch, or of all matrices */
    bool is_even;        /* all numbers are small, so the scale ends above the largest */
    bool is_short;       /* numbers of a table have a decimal less, for which cells have room */
    bool is_veiled;      /* cells are transparent, over a picture */
    uint32_t grounds[2]; /* the darkest and the lightest color of that picture */
    /* the subtitle ends with the text; kinds of figures that draw the text clear it */
    bool has_text;
    /* kinds of cells that were drawn, listed in the legend */
    bool has_kind[ATTN_CELL_NOT_FINITE + 1];
    /* colors of text, of less important text, of lines and of frames */
    uint32_t ink, faint, rule, frame;
    uint32_t kinds; /* of heads that the legend has instead of a ramp, bits of their numbers */
    const char *strength; /* what makes the hues of kinds strong; NULL: the weight beside parks */
    struct attn_buffer subtitle; /* the part before the text; its items end in "; " */
    /* what the picture shows, in words: it is the title, unless the user gave one, and the title is
     * the first item of the subtitle; or empty */
    struct attn_buffer finding;
    struct attn_buffer scratch;
    struct attn_figure_fold fold; /* folded keys, or empty */
    struct attn_store *store;     /* of attn_figure_alloc */
};

/* Draws one kind of figure: sets the size of the shapes, and adds them unless pen->is_measuring.
 * figure_NAME.c has one, attn_figure_draw_NAME, which a row of pictures/figure_rows.h names. */
typedef enum attn_status (*attn_figure_fn)(struct attn_figure_pen *pen, struct attn_error *err);
extern const attn_figure_fn attn_figure_draw_tokens; /* instead of arcs over several lines */
/* Maps over a picture, and columns of a table side by side. */
enum attn_status attn_figure_draw_maps(struct attn_figure_pen *pen, struct attn_error *err);
enum attn_status attn_figure_draw_parts(struct attn_figure_pen *pen, struct attn_error *err);

/* Returns N zeroed elements of SIZE, which are valid until the figure is drawn; NULL on failure,
 * with ERR set. */
static inline void *attn_figure_alloc(struct attn_figure_pen *pen, size_t n, size_t size,
                                      struct attn_error *err)
{
    void *bytes = attn_store_take(&pen->store, attn_size_mul(n, size), err);

    return bytes ? memset(bytes, 0, n * size) : NULL;
}
#define ATTN_FIGURE_ALLOC(pen, pointer, n, err)                                                    \
    (((pointer) = attn_figure_alloc((pen), (n), sizeof *(pointer), (err))) ? ATTN_OK               \
                                                                           : ATTN_NO_MEMORY)

/* Returns the font size in units of letters of 6 points, the smallest that are easy to read. */
static inline double attn_figure_least_letters(const struct attn_figure_pen *pen)
{
    return ATTN_FIGURE_LEAST / (pen->shapes->points > 0 ? pen->shapes->points : pen->unit);
}

/* Whether KIND shows patches or cells over the picture that the model saw. */
static inline bool attn_figure_is_map(enum attn_figure kind,
                                      const struct attn_picture_options *options)
{
    return kind == ATTN_FIGURE_PATCHES && options->n_patch_row == 0;
}

/* Whether KIND draws a table alone. A page embeds such a figure as it is; a terminal cannot show
 * it. */
static inline bool attn_figure_is_plot(enum attn_figure kind)
{
    return kind == ATTN_FIGURE_ANSWER ||
           (attn_figure_traits(kind) & (ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE)) ==
               ATTN_FIGURE_OF_TABLE;
}

/* Returns the word for the groups of the table, "items" or "groups". */
const char *attn_figure_groups_word(const struct attn_figure_pen *pen);

/* Makes the title of a strip: "Head 2.5 changes the prediction most in 32 of 36 items", of the
 * column PART. */
void attn_figure_name_strip(struct attn_figure_pen *pen, size_t part);

/* Returns ATTN_INVALID unless the matrix has queries as rows and keys as columns. */
enum attn_status attn_figure_check_keys(const struct attn_figure_pen *pen, struct attn_error *err);

/* Appends "query 7 it; " to the subtitle of a run. Returns ATTN_INVALID unless it is the one of N
 * queries. */
enum attn_status attn_figure_name_query(struct attn_figure_pen *pen, size_t n,
                                        struct attn_error *err);

/* Folds runs of two or more keys whose weights are all below 1 % into columns with their sums, "...
 * 6 words", if there are more than MOST keys, and names it in the subtitle. Queries and the three
 * strongest keys of each stay, but not the strongest of each head of a query. Before the run there
 * is nothing to do. */
enum attn_status attn_figure_fold(struct attn_figure_pen *pen, size_t most, struct attn_error *err);

/* Shows all keys again, and releases the fold. */
void attn_figure_unfold(struct attn_figure_pen *pen);

enum { ATTN_FIGURE_FEW = 40 }; /* keys of a short text, which none folds */

/* What sorts the parts of a figure, as their first member: a number and an index. */
struct attn_figure_rank {
    double number;
    size_t index;
};

/* Compares by descending magnitude of the numbers, then by the index (qsort). */
int attn_figure_by_rank(const void *a, const void *b);

/* Returns matrix I of the content, from 0. */
static inline const struct attn_level_matrix *attn_figure_matrix(const struct attn_figure_pen *pen,
                                                                 size_t i)
{
    return &pen->content->grid->matrices[i];
}

/* --- The frame (figure_frame.c) ------------------------------------------------------------ */

/* Returns true if the legend lists the kinds of heads instead of a ramp. */
static inline bool attn_figure_has_kinds(const struct attn_figure_pen *pen)
{
    return pen->content->kind == ATTN_FIGURE_MAP || pen->kinds != 0;
}

struct attn_grid_axis attn_figure_rows(struct attn_figure_pen *pen,
                                       const struct attn_level_matrix *matrix);
struct attn_grid_axis attn_figure_columns(struct attn_figure_pen *pen,
                                          const struct attn_level_matrix *matrix);

/* Returns the groups of a table; for other matrices one group without a name. */
struct attn_grid_axis attn_figure_groups(struct attn_figure_pen *pen);

/* Returns the label of row or column I, valid until the next call: a shortened token without
 * surrounding blanks, or a position. */
const char *attn_figure_label(struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                              size_t i, size_t *n);
/* LABEL [size] names a piece of a character, with the number of the piece. Returns its bytes
 * without that number. */
size_t attn_figure_character_size(const char *label, size_t size);
void attn_figure_add_label(struct attn_figure_pen *pen, const struct attn_shape_text *text,
                           const struct attn_grid_axis *axis, size_t i);

/* Returns a text of SIZE at X, Y (see struct attn_shape_text). */
static inline struct attn_shape_text attn_figure_text(double x, double y, double size,
                                                      uint32_t color, enum attn_text_anchor anchor)
{
    return (struct attn_shape_text){.x = x, .y = y, .size = size, .color = color, .anchor = anchor};
}

/* Adds the scratch buffer, and empties it. */
static inline void attn_figure_add_scratch(struct attn_figure_pen *pen, struct attn_shape_text at)
{
    attn_shapes_add_text(pen->shapes, &at, pen->scratch.data, pen->scratch.size);
    pen->scratch.size = 0;
}

/* Returns the background of a cell without a value, of KIND; it is paler in print. */
uint32_t attn_figure_ground(const struct attn_figure_pen *pen, enum attn_cell_kind kind);

/* Returns the width of the widest label of AXIS. */
double attn_figure_label_width(const struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                               double size);

/* Returns the width of N columns of text. */
static inline double attn_figure_text_width(size_t n, double size)
{
    return (double)n * size * ATTN_SHAPES_EM;
}

/* Adds the name of an axis in faint letters: centered at X, Y; with X = 0 rotated, at the left of
 * the figure, centered at Y. */
void attn_figure_add_axis_name(struct attn_figure_pen *pen, double x, double y, const char *name);

/* Sets the width of the figure so that its title and everything up to RIGHT fit, with a margin, and
 * adds title and subtitle at the top: two lines each for the title and each text, cut to that
 * width. In print only a title set by the user is shown. Returns their height. The subtitle must be
 * complete. */
double attn_figure_add_heading(struct attn_figure_pen *pen, double right);

/* Lays out a figure whose picture ends at RIGHT and has height HEIGHT; ABOVE is the room needed
 * above it. The legend stands beside the picture if it is no higher; it goes below if LIES, or if
 * it does not fit beside. Adds the heading; sets pen->layout and the size of the shapes. The legend
 * is added after the picture (figure.c). */
void attn_figure_set_frame(struct attn_figure_pen *pen, double right, double above, double height,
                           bool lies);

/* Size of the legend: a ramp with ticks, and the kinds of cells without a value. */
struct attn_figure_size {
    double width, height;
};
struct attn_figure_size attn_figure_legend_size(const struct attn_figure_pen *pen);

/* Adds the legend where attn_figure_set_frame placed it. */
void attn_figure_add_legend(struct attn_figure_pen *pen);

/* Add the parts of the legend: a horizontal ramp of WIDTH, and the kinds of cells side by side. */
void attn_figure_add_lying_ramp(struct attn_figure_pen *pen, double x, double y, double width);
void attn_figure_add_cell_kinds(struct attn_figure_pen *pen, double x, double y);

/* --- Letters (figure_letters.c) ------------------------------------------------------------ */

/* Returns the width of TEXT [n] as a multiple of the font size: in print the sum of the widths of
 * its letters, otherwise estimated from its columns. */
double attn_figure_string_width(const struct attn_figure_pen *pen, const char *text, size_t n);

enum { ATTN_FIGURE_FAINT = 2 }; /* percent from which a token in a cell has a color */

/* Returns the font size of tokens in cells: in print 6 of 8 points. */
static inline double attn_figure_word_size(const struct attn_figure_pen *pen)
{
    return pen->is_printed ? 0.75 * pen->letters.axis : 12;
}

/* Returns the token in cell AT, cut, in print to the width of most words of eight letters; valid
 * until the next call. */
const char *attn_figure_word(struct attn_figure_pen *pen, size_t at, size_t *n);

/* Replaces LABEL by "blank" or "3 blanks" if it is a token of blanks in quotes, which look empty in
 * proportional letters. */
void attn_figure_name_blanks(struct attn_buffer *label);

/* Returns the width of the widest such token, as a multiple of the font size. */
double attn_figure_widest_word(struct attn_figure_pen *pen);

/* Writes VALUE to TEXT, with two decimals or in percent, and returns its bytes. */
enum { ATTN_FIGURE_NUMBER = ATTN_FIXED_TEXT_SIZE + 4 };
size_t attn_figure_write_number(bool is_percent, double value, char text[ATTN_FIGURE_NUMBER]);

/* Appends NUMBER with DIGITS decimals, at most 4, and a minus sign. */
void attn_figure_append_signed(struct attn_buffer *text, double number, int digits);

/* Writes the title that says what the picture shows, if there is a rule for it (figure_title.c). */
void attn_figure_find_title(struct attn_figure_pen *pen);

/* --- Cells (figure_cells.c) ---------------------------------------------------------------- */

/* A rectangle of cells of a matrix: N_ROW rows of N_COL cells, the first of which has index
 * FIRST. */
struct attn_figure_view {
    const struct attn_level_matrix *matrix;
    size_t first, n_row, n_col;
    bool is_veil;   /* cells are transparent, and all their colors have one range */
    size_t stride;  /* cells from one row to the next; 0: n_col */
    bool is_scarce; /* cells without a value are not drawn */
};

static inline struct attn_figure_view attn_figure_whole(const struct attn_level_matrix *matrix)
{
    return (struct attn_figure_view){
        .matrix = matrix, .n_row = matrix->n_cell_row, .n_col = matrix->n_cell_column};
}

/* Returns the number of cell I of VIEW, row by row; NaN if it has none. */
double attn_figure_number(struct attn_figure_view view, size_t i);

/* Where a rectangle of cells is drawn, in whole units. */
struct attn_figure_place {
    double x, y, side; /* side: the height of a cell */
    double width;      /* width of a cell; 0: equal to its height */
};

static inline double attn_figure_cell_width(struct attn_figure_place place)
{
    return place.width > 0 ? place.width : place.side;
}

uint32_t attn_figure_color(const struct attn_figure_pen *pen, int level); /* 0xRRGGBB */

/* Returns true if black text is more readable than white on the color of LEVEL. */
bool attn_figure_takes_black(const struct attn_figure_pen *pen, int level);

/* Draws one cell without a value, of KIND, with its hatch and a frame. */
void attn_figure_add_nothing(struct attn_figure_pen *pen, enum attn_cell_kind kind,
                             struct attn_figure_place place);

void attn_figure_add_cells(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place);

/* Draw hatches, and lines between cells, if cells are large enough. Call after all cells were
 * drawn. */
void attn_figure_add_hatches(struct attn_figure_pen *pen, struct attn_figure_view view,
                             struct attn_figure_place place);
void attn_figure_add_rules(struct attn_figure_pen *pen, struct attn_figure_view view,
                           struct attn_figure_place place);
static inline void attn_figure_add_box(struct attn_figure_pen *pen, double x, double y,
                                       double width, double height, uint32_t color)
{
    attn_shapes_add_box(pen->shapes, (struct attn_shape_box){x, y, width, height, color});
}
void attn_figure_add_line(struct attn_figure_pen *pen, const double from[2], const double to[2],
                          double width, uint32_t color);
/* Adds a rectangle with lines of WIDTH and COLOR; BOX is left, top, right, bottom. */
void attn_figure_add_outline(struct attn_figure_pen *pen, const double box[4], double width,
                             uint32_t color);
void attn_figure_add_frame(struct attn_figure_pen *pen, double x, double y, double width,
                           double height);

/* Returns the columns of the longest number (or text of a table) in the cells of VIEW whose
 * magnitude is at least LEAST. */
size_t attn_figure_value_columns(const struct attn_figure_pen *pen, struct attn_figure_view view,
                                 double least);

/* Adds the bars of heads at the foot of cells of a map, if it has them. */
void attn_figure_add_bars(struct attn_figure_pen *pen, struct attn_figure_view view,
                          struct attn_figure_place place);

/* Adds the numbers in cells, if they are wanted and fit. */
void attn_figure_add_values(struct attn_figure_pen *pen, struct attn_figure_view view,
                            struct attn_figure_place place);

bool attn_figure_is_percent(const struct attn_figure_pen *pen);

/* Returns the side of a cell in whole units: the requested side, or USUAL, scaled to the available
 * room. Sets shapes->points and ->cell. */
double attn_figure_side(struct attn_figure_pen *pen, double usual);

/* --- Panels: matrices side by side (figure_grid.c) ----------------------------------------- */

enum { ATTN_PANELS_ABOVE = 38 }; /* height for the numbers of columns and their title */

/* A row (layer or batch) or a column (head) of panels. */
struct attn_panel_line {
    int number;
    size_t n_cell;   /* cells of its longest matrix */
    double at, size; /* begin and length of its panels; set by the caller */
};

/* Panels in rows (layers, or batches of arrays) and columns (heads), both ascending. Heads that are
 * not selected leave gaps. */
struct attn_figure_panels {
    struct attn_panel_line *rows, *columns; /* [n_row], [n_column] */
    size_t n_row, n_column;
};

/* Lists the rows and columns for the matrices of the content in PANELS, which must be {0}. */
enum attn_status attn_figure_panels_list(struct attn_figure_pen *pen,
                                         struct attn_figure_panels *panels, struct attn_error *err);

/* Finds the row and the column of a matrix that is listed. */
void attn_figure_panels_find(const struct attn_figure_pen *pen,
                             const struct attn_figure_panels *panels,
                             const struct attn_level_matrix *matrix, size_t *row, size_t *column);

/* Returns the width for the numbers of rows, their title and the names of stacks. */
double attn_figure_panels_left(const struct attn_figure_pen *pen);

/* Add the numbers of columns and rows, and the titles ROW and COLUMN ("layer", "head"), centered
 * along panels that end at END. */
void attn_figure_panels_add_numbers(struct attn_figure_pen *pen,
                                    const struct attn_figure_panels *panels, bool has_rows,
                                    bool has_columns);
void attn_figure_panels_add_names(struct attn_figure_pen *pen,
                                  const struct attn_figure_panels *panels, const double end[2],
                                  const char *row, const char *column);

/* --- Text (figure_tokens.c) ---------------------------------------------------------------- */

/*
 * The text of a figure that shows one row: its tokens in lines, as they stand in the text, token by
 * token.
 *
 *     ATTN_TRY(attn_flow_open(pen, line, most, &flow, err));
 *     right = attn_flow_measure(pen, &flow);
 *     for (size_t i = 0; i < flow.matrix->n_column; i++)
 *         spot = attn_flow_next(pen, &flow, i);
 */
enum {
    ATTN_FLOW_MARGIN = 3,   /* on both sides of a token */
    ATTN_FLOW_COLUMNS = 72, /* columns of a line */
};

/* The place of a token. */
struct attn_flow_spot {
    double x, y, width;
    double word;    /* x of its word, without hanging blanks */
    double blank;   /* with hangs_blanks: width of the blanks before the word */
    size_t n_blank; /* and their number */
};

/* State of the layout, which proceeds token by token. */
struct attn_text_flow {
    const struct attn_level_matrix *matrix;
    struct attn_grid_axis keys;
    double line;                /* height of a line */
    double top, right;          /* top of the first line, and right end of all */
    double end;                 /* right end of the longest line */
    bool is_leftwards;          /* the text is written from right to left */
    struct attn_flow_spot spot; /* place of the last token */
    bool hangs_blanks;          /* blanks at the begin of a line stand before it */
    bool is_broken;             /* the line ends after the last token */
};

/* Opens FLOW with lines of height LINE, and names its query in the subtitle. More than MOST keys
 * are folded. Returns ATTN_INVALID unless one query is selected. */
enum attn_status attn_flow_open(struct attn_figure_pen *pen, double line, size_t most,
                                struct attn_text_flow *flow, struct attn_error *err);

/* Sets the ends of lines. Returns the right end of the longest one; the place of the last token is
 * in `spot`, with the top at 0. */
double attn_flow_measure(struct attn_figure_pen *pen, struct attn_text_flow *flow);

/* Returns the place of token I, which must follow the previous token. */
struct attn_flow_spot attn_flow_next(struct attn_figure_pen *pen, struct attn_text_flow *flow,
                                     size_t i);

/* Returns the text of key I with its blanks, or its position. */
const char *attn_flow_token(struct attn_figure_pen *pen, const struct attn_text_flow *flow,
                            size_t i, size_t *n);

/* Returns true if the query is one of the keys. */
bool attn_flow_has_query(const struct attn_figure_pen *pen, const struct attn_text_flow *flow);

/* --- Arcs (figure_arcs.c) ------------------------------------------------------------------ */

/* A bow, which connects one word of a line, the query, with another; the page draws such bows, too.
 * It begins at its foot on the query, rises to its height and ends on the middle of its key. It is
 * a cubic curve whose control points stand above its ends, at 4/3 of its height. */
struct attn_bow {
    size_t key;   /* of the caller */
    double away;  /* distance of the key from the query, below 0 to the left; 0: it has no bow */
    double width; /* becomes narrower if the feet on a side have no room */

    /* computed: */
    double foot; /* x of the middle of the foot, from the middle of the query */
    double high;
};

enum { ATTN_BOW_GAPS = 10 }; /* at most the width of all gaps between feet */

/* Lays out BOWS [n], and sorts them by distance. All feet on a side are at most WIDEST wide. A bow
 * is at most as high as CROWN and the feet of the bows within it. */
void attn_bows_lay_out(struct attn_bow *bows, size_t n, double widest, double crown);

enum {
    ATTN_ARC_WIDEST =
        16,             /* width of the arc of the largest possible weight, and of all on a side */
    ATTN_ARC_RING = 15, /* radius of the ring of the query, up to its outer edge */
    ATTN_ARC_ABOVE = 2, /* gap between a word and the end of its arc */
    ATTN_ARC_CROWN =
        54, /* maximum height of the line on which an arc without others within stands */
    ATTN_ARC_HIGH = ATTN_ARC_CROWN + ATTN_ARC_WIDEST + ATTN_BOW_GAPS
};

/* Adds the arc BOW of COLOR, whose key is at X, on a line at height Y: above it if SIGN is -1,
 * below if it is 1. */
void attn_arc_add(struct attn_figure_pen *pen, const struct attn_bow *bow, double x, double y,
                  double sign, uint32_t color);

/* --- Maps over the picture of a run (figure_map.c) ----------------------------------------- */

/* Makes the scale end at the largest number on a patch, unless the user set a scale. */
void attn_figure_fit_scale(struct attn_figure_pen *pen);

/* --- Files (figure_svg.c, figure_cairo.c) -------------------------------------------------- */

/* Returns ATTN_OK if cairo and pango, which draw PNG and PDF, can be loaded; otherwise ATTN_IO at
 * ATTN_STAGE_OUTPUT. NAME is the output, for the message. They are loaded, not linked, so that
 * other commands start without them. */
enum attn_status attn_figure_cairo_check(const char *name, struct attn_error *err);

/* Write SHAPES to SINK; the caller checks SINK for errors. *N_UNKNOWN: number of texts with
 * characters that no installed font has; they appear as boxes of hex digits. Equal figures give
 * equal bytes if the same fonts are installed; SVG gives equal bytes everywhere. In SVG 1.1 text
 * stays text, and cells are paths, one per color, or an embedded PNG if there are too many. */
enum attn_status attn_figure_svg_write(const struct attn_shapes *figure, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
enum attn_status attn_figure_png_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
enum attn_status attn_figure_pdf_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
