/*
 * shapes.h - a picture as a list of shapes: cells, boxes, text, lines and dots. It doesn't depend
 * on fonts or file formats: figure_svg.c and figure_cairo.c write it to files.
 *
 *     struct attn_shapes shapes = {.width = 400, .height = 300, .paper = 0xffffff};
 *     attn_shapes_set_palette(&shapes, palette, n_color);
 *     uint16_t *colors = attn_shapes_add_cells(&shapes, &cells);
 *     ... colors[r * cells.n_col + c] = 17 ...
 *     attn_shapes_add_string(&shapes, &(struct attn_shape_text){.x = 10, .y = 8, .size = 13.5},
 *                            "query");
 *     status = attn_shapes_check(&shapes, &err);      // reports any failure above
 *     attn_shapes_release(&shapes);
 *
 * A unit of length is usually two thirds of a point, which is 4/3 pixels in a PNG of 144 dpi. So
 * files of all formats have the same layout. x goes right and y down from the top left corner; of
 * text y is the baseline. A column of text is as wide as ATTN_SHAPES_EM times the font size, as in
 * monospaced fonts. Colors are 0xRRGGBB.
 */
#pragma once

#include "base/buffer.h"

#include <stdint.h>

#define ATTN_SHAPES_EM 0.6           /* width of a column / font size */
#define ATTN_SHAPES_POINTS (2.0 / 3) /* points per unit, by default */
#define ATTN_SHAPES_DPI 144.0        /* pixels per inch of a PNG, by default */

enum attn_shape_kind {
    ATTN_SHAPE_CELLS, /* a matrix of squares */
    ATTN_SHAPE_BOX,
    ATTN_SHAPE_TEXT,
    ATTN_SHAPE_LINE,
    ATTN_SHAPE_CURVE,
    ATTN_SHAPE_DOT,
    ATTN_SHAPE_BAND,
    ATTN_SHAPE_PICTURE, /* one of the list's pictures */
    ATTN_SHAPE_GROUP, /* begins a group with the attributes in its mark, or without them ends it */
};

enum attn_text_anchor { ATTN_ANCHOR_START, ATTN_ANCHOR_MIDDLE, ATTN_ANCHOR_END };

/* In the structs of all kinds, the numbers that attn_shapes_crop changes come first. */
struct attn_shape_cells {
    double x, y, width, height; /* x, y: of the matrix; width, height: of one cell; integers */
    size_t n_row, n_col;
    bool is_veil; /* transparent: drawn with the opacities of the palette */
    size_t first; /* index of its first color in `colors` */
};

/* Picture NUMBER of the list, which may be drawn at many places. */
struct attn_shape_picture {
    double x, y, width, height;
    size_t number;
};

/* The pixels of a picture of the list, [height, width, 3] bytes. */
struct attn_shape_pixels {
    size_t height, width;
    size_t first; /* their first byte in `pixels` */
};

struct attn_shape_box {
    double x, y, width, height;
    uint32_t color;
};

/* A straight line. Similar lines that follow each other are drawn together. */
struct attn_shape_line {
    double x, y, x2, y2;
    double width, opacity; /* opacity is 0..1 */
    uint32_t color;
};

/* A cubic Bezier curve from x, y to x2, y2, with flat ends. */
struct attn_shape_curve {
    double x, y, control_x, control_y, control_x2, control_y2, x2, y2;
    double width;
    uint32_t color;
};

/* A disc, or a ring of WIDTH around the circle of RADIUS. */
struct attn_shape_dot {
    double x, y, radius, width; /* width 0: a disc */
    uint32_t color;
    double opacity; /* above 0, to 1; 0 is 1, too */
};

/* The area between two lines, from X to X2. Consecutive similar bands are drawn together. */
struct attn_shape_band {
    double x, top, bottom, x2, top2, bottom2;
    double opacity; /* 0..1 */
    uint32_t color;
};

struct attn_shape_text {
    double x, y; /* of the anchor, on the baseline */
    double size; /* font size */
    uint32_t color;
    enum attn_text_anchor anchor;
    bool is_turned; /* turned by 90 degrees, read from bottom to top */
    bool is_bold;
    bool has_isolates; /* U+2068 and U+2069 stay (figures/figure_title.c) */
    size_t first, n;   /* range of its bytes in `text`, UTF-8 without controls; set by _add_text */
};

/* What a shape stands for, in words of its figure: a range of bytes in `text`; n = 0: nothing. In
 * SVG it is the "data-i" of the element, or if it begins with "data-", its attributes. */
struct attn_mark {
    size_t first, n;
};

struct attn_shape {
    enum attn_shape_kind kind;
    struct attn_mark
        mark; /* of a line, curve, dot, band or text; a marked line or band is drawn alone */
    union {
        struct attn_shape_cells cells;
        struct attn_shape_box box;
        struct attn_shape_line line;
        struct attn_shape_curve curve;
        struct attn_shape_dot dot;
        struct attn_shape_band band;
        struct attn_shape_text text;
        struct attn_shape_picture picture;
    };
};

/* A note about the picture that is stored in the file but not drawn, such as "model": "fable". */
struct attn_shape_note {
    const char *name; /* borrowed; terminated */
    size_t first, n;  /* range of its value in `text` */
};

enum { ATTN_SHAPES_COLORS = 272, ATTN_SHAPES_NOTES = 12 };

/* Initialize with = {0}; free with attn_shapes_release. */
struct attn_shapes {
    double width, height;  /* in units; integers */
    double points;         /* points per unit; 0: ATTN_SHAPES_POINTS */
    double dpi;            /* pixels per inch of a PNG; 0: ATTN_SHAPES_DPI */
    double cell;           /* side of the smallest cells, which must be whole pixels; or 0 */
    double label;          /* size of the smallest labels in units; 0: unknown */
    const char *font;      /* a font family to try before the usual ones, borrowed; or NULL */
    bool is_proportional;  /* `font` is proportional, not monospaced */
    uint32_t paper;        /* background color */
    struct attn_mark mark; /* mark of the shapes that are added next */
    uint32_t palette[ATTN_SHAPES_COLORS];
    uint8_t opacities[ATTN_SHAPES_COLORS]; /* opacity of each color in veils; 255: opaque */
    size_t n_color;
    struct attn_buffer pictures; /* struct attn_shape_pixels */
    struct attn_buffer pixels;   /* the bytes of all pictures */
    struct attn_buffer shapes;   /* struct attn_shape, in the order in which they are drawn */
    struct attn_buffer colors;   /* uint16_t: indices of the palette, for all cells */
    struct attn_buffer text;     /* the bytes of all texts */
    struct attn_shape_note notes[ATTN_SHAPES_NOTES];
    size_t n_note;
};

/* Copies the N colors of PALETTE; N is at most ATTN_SHAPES_COLORS. */
void attn_shapes_set_palette(struct attn_shapes *shapes, const uint32_t *palette, size_t n);

/* Adds a picture, whose number is that of those before it. Returns memory for its pixels [height,
 * width, 3], which the caller fills before it adds another one; NULL after a failure. */
unsigned char *attn_shapes_add_pixels(struct attn_shapes *shapes, size_t height, size_t width);

/* Returns the pictures [*n]. */
const struct attn_shape_pixels *attn_shapes_pictures(const struct attn_shapes *shapes, size_t *n);

void attn_shapes_add_picture(struct attn_shapes *shapes, struct attn_shape_picture picture);

/* Fills ROW with row Y of PICTURE, scaled to HEIGHT rows of WIDTH pixels, 0xRRGGBB. Each pixel is a
 * mean. */
void attn_shapes_picture_row(const struct attn_shapes *shapes,
                             const struct attn_shape_pixels *picture, size_t height, size_t width,
                             size_t y, uint32_t *row);

/* Adds CELLS and returns memory for their colors [n_row, n_col]; NULL after a failure. The caller
 * fills it before it adds other cells. */
uint16_t *attn_shapes_add_cells(struct attn_shapes *shapes, const struct attn_shape_cells *cells);

/* Sets the mark of the lines, curves, dots, bands and texts that are added next, at most 255
 * bytes. */
void attn_shapes_set_mark(struct attn_shapes *shapes, const char *format, ...) ATTN_PRINTF(2, 3);
static inline void attn_shapes_end_mark(struct attn_shapes *shapes)
{
    shapes->mark.n = 0;
}

/* Begins a group of shapes, an element of SVG with these ATTRIBUTES [n], which are markup; and ends
 * it. */
void attn_shapes_begin_group(struct attn_shapes *shapes, const char *attributes, size_t n);
void attn_shapes_end_group(struct attn_shapes *shapes);

void attn_shapes_add_box(struct attn_shapes *shapes, struct attn_shape_box box);
void attn_shapes_add_line(struct attn_shapes *shapes, struct attn_shape_line line);
void attn_shapes_add_curve(struct attn_shapes *shapes, struct attn_shape_curve curve);
void attn_shapes_add_dot(struct attn_shapes *shapes, struct attn_shape_dot dot);
void attn_shapes_add_band(struct attn_shapes *shapes, struct attn_shape_band band);

/* These add a text and copy its N bytes, controls and invalid UTF-8 as \xNN. An empty text isn't
 * added. */
void attn_shapes_add_text(struct attn_shapes *shapes, const struct attn_shape_text *text,
                          const char *bytes, size_t n);
void attn_shapes_add_string(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            const char *string);
void attn_shapes_add_number(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            size_t number);

/* Adds a note. Copies VALUE, made printable, but a caption keeps U+2068, U+2069; borrows NAME. */
void attn_shapes_add_note(struct attn_shapes *shapes, const char *name, const char *value,
                          size_t n);

/* Returns the value of a note [*n bytes], valid until something is added; NULL if there is no such
 * note. */
const char *attn_shapes_note(const struct attn_shapes *shapes, const char *name, size_t *n);

/* Cells that follow each other in the list and are drawn together. Either all are veils or none
 * is. */
struct attn_shape_cluster {
    const struct attn_shape *shapes; /* [n] */
    size_t n;
    size_t n_cell;              /* the number of cells of all shapes */
    double x, y, width, height; /* the rectangle around them */
    bool is_veil;
    /* drawn as an image, since the cells are too many to be drawn one by one; never for veils */
    bool is_image;
    size_t scale; /* pixels per unit of the image, so many that viewers don't smooth it */
};

/* Returns the cluster that begins at SHAPES [n]. The first of these must be cells. */
struct attn_shape_cluster attn_shapes_cluster_of(const struct attn_shape *shapes, size_t n);

/* Fills ROW [width] with the color of each unit in row Y of the rectangle, or PAPER where there is
 * no cell. For veils the upper 8 bits are the opacity, 0 where there is no cell. */
void attn_shapes_cluster_row(const struct attn_shapes *shapes,
                             const struct attn_shape_cluster *cluster, size_t y, uint32_t *row);

/* Neighbouring cells of a row that have the same color. */
struct attn_shape_run {
    double x, y, width,
        height;     /* width and height include an overlap that hides seams, except for veils */
    uint16_t color; /* index in the palette */
};

/* Sets *runs to all visible runs [*n] of a cluster, sorted by color. The caller frees them. */
enum attn_status attn_shapes_runs(const struct attn_shapes *shapes,
                                  const struct attn_shape_cluster *cluster,
                                  struct attn_shape_run **runs, size_t *n, struct attn_error *err);

/* Returns the font families to use, as a CSS list. */
const char *attn_shapes_families(const struct attn_shapes *shapes);

/* Cuts N units off each side, and then multiplies all lengths by PARTS. */
void attn_shapes_crop(struct attn_shapes *shapes, double n, double parts);

/* Returns the number of pixels per unit in a PNG. */
double attn_shapes_pixels(const struct attn_shapes *shapes);

/* Returns the shapes [*n], valid until something is added. */
const struct attn_shape *attn_shapes_list(const struct attn_shapes *shapes, size_t *n);

/* Returns ATTN_NO_MEMORY if a shape could not be added, else ATTN_OK. */
enum attn_status attn_shapes_check(const struct attn_shapes *shapes, struct attn_error *err);

void attn_shapes_release(struct attn_shapes *shapes);
