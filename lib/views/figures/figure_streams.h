/* figure_streams.h - the frame of a figure in which positions go across and layers upwards: the
 * stream of each position, the words of the text below, gaps for positions that are left out, and
 * text that does not hide other text. Its legend is that of circuits, too. */
#pragma once

#include "figures/figure_internal.h"

enum {
    ATTN_STREAMS_LEGEND = 18, /* height of a line of the legend */
    ATTN_STREAMS_LEFT = 34,   /* width for the numbers of layers */
    ATTN_LIFE_ASIDE = 112,    /* width for the ribbons and numbers at the right of a life */
};

/* Initialize with `places`, `n_layer` and `bands`. */
struct attn_figure_streams {
    struct attn_grid_axis places;
    size_t n_layer;
    /* [n_layer + 1] the heights below the stream that layer 0 reads, and of each layer */
    double *bands;
    bool *folded;        /* [n_layer] layers of a run that has one number, "0 to 17"; or NULL */
    double *xs;          /* [places.n] the middle of each position */
    double *ys;          /* [n_layer + 1] the stream that each layer reads, and the last one */
    double left, bottom; /* x of the first position, and y of the lower end of streams */
    double right;        /* x behind the last position */
    double pitch;        /* width of a position */
    bool is_turned;      /* the words of the text are rotated */
    /* [n_taken] boxes covered by text and dots; allocated before they are drawn */
    struct attn_shape_box *taken;
    size_t n_taken;
};

/* Places positions and layers. ASIDE is the width needed at the right of the last position. Sets
 * the size of the shapes; the caller adds the height of its legend. */
enum attn_status attn_streams_plan(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                                   double aside, struct attn_error *err);

/* Returns the y of height I of the stream, which layer I reads. */
static inline double attn_streams_y(const struct attn_figure_streams *streams, double i)
{
    const size_t at = i < (double)streams->n_layer ? (size_t)i : streams->n_layer - 1;

    return streams->ys[at] + (i - (double)at) * (streams->ys[at + 1] - streams->ys[at]);
}

static inline bool attn_streams_is_folded(const struct attn_figure_streams *streams, size_t layer)
{
    return streams->folded && layer < streams->n_layer && streams->folded[layer];
}

/* Returns the index of the position in CELL; -1 if it is not shown. */
int attn_streams_place(const struct attn_figure_streams *streams, struct attn_cell cell);

/* Draws the streams, the words of the text, each with the mark ",,POSITION", the gaps, and the
 * numbers of layers. */
void attn_streams_add(struct attn_figure_pen *pen, const struct attn_figure_streams *streams);

/* Adds TEXT [n] on a box of paper color. AT is its color, the y of its middle, and the x of its
 * left end or, with that anchor, of its middle. If NEEDS_ROOM, adds it only if it hides no other
 * text; returns whether it was added. */
bool attn_streams_add_text(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                           struct attn_shape_text at, const char *text, size_t n, bool needs_room);

/* Adds a LINE of the legend, with a MARK, from X on; Y is its middle. */
void attn_streams_add_line(struct attn_figure_pen *pen, double x, double y, const char *mark,
                           const char *line);

/* Adds a sample of COLOR and its name to the legend, from X on; Y is the middle of the line. The
 * name is the mark of its text, too. Returns the x of what comes next. */
double attn_streams_add_sample(struct attn_figure_pen *pen, double x, double y, const char *name,
                               uint32_t color, double opacity);

/* Adds the best token that LENS, a table of attn_lens, reads at each height of the position at
 * PLACE, with its probability, on the stream. Tokens below half of the probability are faint, and
 * the last one is bold. */
void attn_streams_add_lens(struct attn_figure_pen *pen, struct attn_figure_streams *streams,
                           const struct attn_table *lens, size_t place);

/* Returns the color of numbers above 0, or below. */
static inline uint32_t attn_streams_color(const struct attn_figure_pen *pen, double value)
{
    return attn_figure_color(pen, value < 0 ? 0 : 255);
}
