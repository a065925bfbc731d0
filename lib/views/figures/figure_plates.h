/* figure_plates.h - the frame of a circuit: words are columns, layers are rows,
 * and parts of the model are plates, side by side in their columns. Curves lead from the tops of
 * plates to the feet of others, or to the box of the answer above all.
 *
 *     ... layout.plates, attn_plates_weigh(&layout, position, weight) ...
 *     attn_plates_sort(&layout);
 *     ... layout.links ...
 *     attn_plates_plan(pen, &layout, width, err);
 *     if (!pen->is_measuring)
 *         attn_plates_add(pen, &layout, &answer, other);
 */
#ifndef ATTN_FIGURES_FIGURE_PLATES_H
#define ATTN_FIGURES_FIGURE_PLATES_H

#include "figures/figure_streams.h"

enum {
    ATTN_PLATES_LINKS = 24, /* most curves, but for those into shared key heads */
    ATTN_PLATES_WORD = 16,  /* columns of text of a word */
    ATTN_PLATES_PAD = 5,    /* in a plate */
};

#define ATTN_PLATES_OPACITY 0.72 /* of the color of a curve on paper */

/* A part that is drawn. */
struct attn_plate {
    int64_t layer, head; /* head -1: an MLP */
    size_t row;          /* of the table, which has its texts; SIZE_MAX: no row */
    size_t column, line, slot, n_beside;
    double x, y, width, height; /* x, y: its left upper corner */
    double beside[2];           /* width of the curves that pass it at the left and the right */
};

/* A curve. */
struct attn_plate_link {
    const struct attn_plate *from, *to; /* NULL: the input, the answer */
    size_t row;                         /* of the table: its mark */
    double score;                       /* share of the answer */
    char letter;                        /* q, k or v of a head that reads; else 0 */
    double end;                         /* x where it ends at the answer */
    double piece[4];                    /* its longest piece; x, y of its begin and of its end */
};

/* A word, or no word if there are no places. */
struct attn_plate_column {
    int64_t position;    /* -1: no place; INT64_MAX: several other words */
    double weight;       /* of its parts */
    size_t n_slot, most; /* plates side by side, and at most */
    double x;            /* left end */
};

/* Distances. */
struct attn_plate_room {
    double far, near; /* between rows, and between those of a layer */
    double gap;       /* between plates, and between columns */
    double lane;      /* at both sides of a column, for curves */
    double widest;    /* width of a curve that carries the whole answer */
};

/* Initialize with `table`, the columns of it (`effects` has shares, `looks` words, `weights` those
 * of heads on them, `types` those of heads), and `room`. */
struct attn_plates {
    const struct attn_table *table;
    struct attn_plate_room room;
    size_t effects, looks, weights, types;
    struct attn_plate *plates; /* [n_plate] */
    size_t n_plate, n_line;
    struct attn_plate_link *links; /* [n_link] the largest first */
    size_t n_link;
    struct attn_plate_column columns[ATTN_PLATES_LINKS + 2]; /* in the order of the text */
    size_t n_column, of_input;
    size_t n_sharing;                      /* heads that share a key head, for marks */
    double pitch;                          /* from one plate to the next */
    double left, right, top, bottom, line; /* line: height of a line of text */
    struct attn_figure_streams text;       /* `taken`: what numbers must not hide */
};

/* Returns the position in ROW of the table; -1: unknown. */
int64_t attn_plates_position(const struct attn_plates *layout, size_t row);

/* Returns the column of POSITION: the last one if it is no column, that of other words if there are
 * any. */
size_t attn_plates_column(const struct attn_plates *layout, int64_t position);

/* Adds WEIGHT to the column of POSITION, of which there may be one more than curves. */
void attn_plates_weigh(struct attn_plates *layout, int64_t position, double weight);

/* Sorts the plates, before links refer to them, and finds their columns: the words whose parts
 * carry most have one each. */
void attn_plates_sort(struct attn_plates *layout);

/* Finds sizes and places, adds the heading, and allocates `taken`. WIDTH: at least that of the
 * figure, whose height the caller sets. */
enum attn_status attn_plates_plan(struct attn_figure_pen *pen, struct attn_plates *layout,
                                  double width, struct attn_error *err);

/* Draws columns with their words, layers, curves, plates and the box with the text of ANSWER.
 * OTHER, if it is a text, stands below the word of the input. */
void attn_plates_add(struct attn_figure_pen *pen, struct attn_plates *layout,
                     const struct attn_buffer *answer, struct attn_cell other);

/* Adds the scratch buffer. */
void attn_plates_add_scratch(struct attn_figure_pen *pen, struct attn_shape_text at);

/* Adds the scratch buffer as a line below the figure, cut to the width, with the middle at Y, and
 * empties it. */
void attn_plates_add_line(struct attn_figure_pen *pen, double y);

/* Adds samples of the colors of both signs. Returns the x of what comes next. */
double attn_plates_add_signs(struct attn_figure_pen *pen, double y);

#endif
