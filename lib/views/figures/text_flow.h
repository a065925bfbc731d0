/*
 * text_flow.h - the text of a figure that shows one row: its tokens in lines, as they stand in the
 * text, token by token.
 *
 *     ATTN_TRY(attn_flow_open(pen, line, &flow, err));
 *     right = attn_flow_measure(pen, &flow);
 *     for (size_t i = 0; i < flow.matrix->n_column; i++)
 *         spot = attn_flow_next(pen, &flow, i);
 */
#ifndef ATTN_FIGURES_TEXT_FLOW_H
#define ATTN_FIGURES_TEXT_FLOW_H

#include "figures/figure_internal.h"

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

#endif
