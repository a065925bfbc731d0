/*
 * shapes.h - a picture as a list of shapes: cells, boxes, text, lines and dots. It knows no font
 * and no file: figure_svg.c and figure_cairo.c write it.
 *
 *     struct attn_shapes shapes = {.width = 400, .height = 300, .paper = 0xffffff};
 *     attn_shapes_set_palette(&shapes, palette, n_color);
 *     uint16_t *colors = attn_shapes_add_cells(&shapes, &cells);
 *     ... colors[r * cells.n_col + c] = 17 ...
 *     attn_shapes_add_string(&shapes, &(struct attn_shape_text){.x = 10, .y = 8, .size = 13.5},
 *                            "query");
 *     status = attn_shapes_check(&shapes, &err);      // the first failure sticks
 *     attn_shapes_release(&shapes);
 *
 * A unit of length is usually two thirds of a point, 4/3 pixels of a PNG of 144 dpi, so that all
 * files are laid out alike. x goes right and y down from the top left corner; of text y is the
 * baseline. A column of text takes ATTN_SHAPES_EM of the size of its font, as in monospaced fonts.
 * Colors are 0xRRGGBB.
 */
#ifndef ATTN_ENCODE_SHAPES_H
#define ATTN_ENCODE_SHAPES_H

#include "base/buffer.h"

#include <stdint.h>

#define ATTN_SHAPES_EM 0.6           /* the width of a column, in sizes of the font */
#define ATTN_SHAPES_POINTS (2.0 / 3) /* points a unit, by default */
#define ATTN_SHAPES_DPI 144.0        /* pixels an inch of a PNG, by default */

enum attn_shape_kind {
    ATTN_SHAPE_CELLS, /* a matrix of squares */
    ATTN_SHAPE_BOX,
    ATTN_SHAPE_TEXT,
    ATTN_SHAPE_LINE,
    ATTN_SHAPE_DOT,
    ATTN_SHAPE_BAND,
    ATTN_SHAPE_PICTURE, /* the picture of the list */
};

enum attn_text_anchor { ATTN_ANCHOR_START, ATTN_ANCHOR_MIDDLE, ATTN_ANCHOR_END };

/* All kinds begin with numbers of attn_shapes_crop. */
struct attn_shape_cells {
    double x, y, width, height; /* of one cell is width by height; whole numbers */
    size_t n_row, n_col;
    bool is_veil; /* transparent, with the opacities of the palette */
    size_t first; /* its colors begin here in `colors` */
};

/* The list has one picture, which may be drawn in many places. */
struct attn_shape_picture {
    double x, y, width, height;
};

struct attn_shape_box {
    double x, y, width, height;
    uint32_t color;
};

/* A straight line. Similar neighbours are drawn as one. */
struct attn_shape_line {
    double x, y, x2, y2;
    double width, opacity; /* opacity 0..1 */
    uint32_t color;
};

struct attn_shape_dot {
    double x, y, radius;
    uint32_t color;
};

/* The area between two lines from X to X2. Similar neighbours are drawn as one. */
struct attn_shape_band {
    double x, top, bottom, x2, top2, bottom2;
    double opacity; /* 0..1 */
    uint32_t color;
};

struct attn_shape_text {
    double x, y; /* of the anchor, on the baseline */
    double size; /* of the font */
    uint32_t color;
    enum attn_text_anchor anchor;
    bool is_turned; /* by 90 degrees: it is read upwards */
    bool is_bold;
    size_t first, n; /* its bytes in `text`, UTF-8 without controls; set by _add_text */
};

struct attn_shape {
    enum attn_shape_kind kind;
    size_t tag; /* of a line or a dot: 0, or it is drawn alone, in SVG as the element "row-TAG-1" */
    union {
        struct attn_shape_cells cells;
        struct attn_shape_box box;
        struct attn_shape_line line;
        struct attn_shape_dot dot;
        struct attn_shape_band band;
        struct attn_shape_text text;
        struct attn_shape_picture picture;
    };
};

/* Something that is said of the picture in the file, and not drawn: "model", "fable". */
struct attn_shape_note {
    const char *name; /* borrowed; terminated */
    size_t first, n;  /* its value in `text` */
};

enum { ATTN_SHAPES_COLORS = 272, ATTN_SHAPES_NOTES = 12 };

/* Initialize with = {0}; end with attn_shapes_release. */
struct attn_shapes {
    double width, height; /* units, whole numbers */
    double points;        /* points a unit; 0: ATTN_SHAPES_POINTS */
    double dpi;           /* pixels an inch of a PNG; 0: ATTN_SHAPES_DPI */
    double cell;          /* the side of the smallest cells, which get whole pixels; or 0 */
    double label;         /* the size of the smallest labels, in units; 0: unknown */
    const char *font;     /* a family that goes before the usual ones, borrowed; or NULL */
    bool is_proportional; /* these are proportional, and not monospaced */
    uint32_t paper;       /* the colour of the ground */
    size_t tag;           /* of the lines and dots that are added next */
    uint32_t palette[ATTN_SHAPES_COLORS];
    uint8_t opacities[ATTN_SHAPES_COLORS]; /* of veils, 255: opaque */
    size_t n_color;
    struct attn_buffer pixels;            /* [picture_height, picture_width, 3] of the picture */
    size_t picture_height, picture_width; /* or 0 */
    struct attn_buffer shapes;            /* struct attn_shape, in the order of drawing */
    struct attn_buffer colors;            /* uint16_t, indices of the palette, of all cells */
    struct attn_buffer text;              /* bytes of all texts */
    struct attn_shape_note notes[ATTN_SHAPES_NOTES];
    size_t n_note;
};

/* Copies N colors, at most ATTN_SHAPES_COLORS. */
void attn_shapes_set_palette(struct attn_shapes *shapes, const uint32_t *palette, size_t n);

/* Room for the pixels [height, width, 3], for the caller to fill; NULL after a failure. */
unsigned char *attn_shapes_set_picture(struct attn_shapes *shapes, size_t height, size_t width);
void attn_shapes_add_picture(struct attn_shapes *shapes, struct attn_shape_picture picture);

/* Row Y of the picture in HEIGHT rows of WIDTH pixels, 0xRRGGBB, each a mean. */
void attn_shapes_picture_row(const struct attn_shapes *shapes, size_t height, size_t width,
                             size_t y, uint32_t *row);

/* Room for the colors [n_row, n_col] of CELLS, filled before other cells are added; NULL after a
 * failure. */
uint16_t *attn_shapes_add_cells(struct attn_shapes *shapes, const struct attn_shape_cells *cells);

void attn_shapes_add_box(struct attn_shapes *shapes, struct attn_shape_box box);
void attn_shapes_add_line(struct attn_shapes *shapes, struct attn_shape_line line);
void attn_shapes_add_dot(struct attn_shapes *shapes, struct attn_shape_dot dot);
void attn_shapes_add_band(struct attn_shapes *shapes, struct attn_shape_band band);

/* Copies N bytes of BYTES. Empty text is not added. */
void attn_shapes_add_text(struct attn_shapes *shapes, const struct attn_shape_text *text,
                          const char *bytes, size_t n);
void attn_shapes_add_string(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            const char *string);
void attn_shapes_add_number(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            size_t number);

/* Copies the value, made printable: title, description, model, ... NAME is borrowed. */
void attn_shapes_add_note(struct attn_shapes *shapes, const char *name, const char *value,
                          size_t n);

/* The value of a note [*n bytes], borrowed until more is added; NULL without it. */
const char *attn_shapes_note(const struct attn_shapes *shapes, const char *name, size_t *n);

/* Cells that follow one another in the list, drawn together; veils only with veils. */
struct attn_shape_cluster {
    const struct attn_shape *shapes; /* [n] */
    size_t n;
    size_t n_cell;              /* in all */
    double x, y, width, height; /* the rectangle around them */
    bool is_veil;
    bool is_image; /* there are too many to be drawn one by one: they are an image then; no veil */
    size_t scale;  /* pixels per unit of the image, so that viewers do not smooth it */
};

/* The cluster that begins at SHAPES [n], whose first is cells. */
struct attn_shape_cluster attn_shapes_cluster_of(const struct attn_shape *shapes, size_t n);

/* The color of each unit [width] of row Y of the rectangle, PAPER between. Veils have their opacity
 * in the upper 8 bits, and 0 between. */
void attn_shapes_cluster_row(const struct attn_shapes *shapes,
                             const struct attn_shape_cluster *cluster, size_t y, uint32_t *row);

/* Neighbouring cells of one color in a row. */
struct attn_shape_run {
    double x, y, width,
        height;     /* longer and higher by an overlap that hides seams, except for veils */
    uint16_t color; /* in the palette */
};

/* All visible runs [*n] of a cluster by color; the caller frees them. */
enum attn_status attn_shapes_runs(const struct attn_shapes *shapes,
                                  const struct attn_shape_cluster *cluster,
                                  struct attn_shape_run **runs, size_t *n, struct attn_error *err);

/* The usual families, a list as in CSS. */
const char *attn_shapes_families(const struct attn_shapes *shapes);

/* Takes N units off each side, and divides each unit by PARTS. */
void attn_shapes_crop(struct attn_shapes *shapes, double n, double parts);

/* Pixels a unit of a PNG. */
double attn_shapes_pixels(const struct attn_shapes *shapes);

/* The shapes [*n], borrowed until more is added. */
const struct attn_shape *attn_shapes_list(const struct attn_shapes *shapes, size_t *n);

/* ATTN_OK, or ATTN_NO_MEMORY when a shape could not be added. */
enum attn_status attn_shapes_check(const struct attn_shapes *shapes, struct attn_error *err);

void attn_shapes_release(struct attn_shapes *shapes);

#endif
