/*
 * page_heads.h - the heads of a page: which there are, and what is kept of each beside its data
 * block, as its rows come: a thumbnail, five measures, and cells that no level says.
 *
 * A level is a weight in a byte: 0 is masked, else 1 + round(254 sqrt(w)). Thumbnails are levels of
 * at most 32 x 32 cells, each the largest of k x k. Where k is above 1 there are three of them: as
 * it is, without the first key, and without it and divided by what is left, as cells that are
 * pooled cannot be divided later. Of a run that is compared there are those of chosen and of exact
 * attention, and the difference that is farthest from 0, as 128 + 127 sqrt(w), with minus below 0.
 */
#ifndef ATTN_PAGE_PAGE_HEADS_H
#define ATTN_PAGE_PAGE_HEADS_H

#include "analysis/metric.h"
#include "output/writer.h"

/* X(name): measures of a head, in the order in which the page lists them. */
#define ATTN_PAGE_MEASURE_MAP(X)                                                                   \
    X(first)                                                                                       \
    X(previous)                                                                                    \
    X(self)                                                                                        \
    X(entropy)                                                                                     \
    X(far)

enum {
#define ATTN_PAGE_MEASURE_ENUM(name) ATTN_PAGE_##name,
    ATTN_PAGE_MEASURE_MAP(ATTN_PAGE_MEASURE_ENUM)
#undef ATTN_PAGE_MEASURE_ENUM
        ATTN_PAGE_N_MEASURE,
    ATTN_PAGE_THUMB = 32,   /* cells of the side of a thumbnail, at most */
    ATTN_PAGE_N_PLANE = 3,  /* thumbnails of a head that is pooled */
    ATTN_PAGE_ID_SIZE = 32, /* of "L0H3" */
};

struct attn_page_head {
    char id[ATTN_PAGE_ID_SIZE];
    int layer, head;   /* as events have them */
    int group, number; /* layer and head; of arrays batch and head of it */
    bool is_source;    /* its keys are rows of a source */
    size_t n_row, n_column;
    size_t k;                           /* cells that are pooled; 1: none */
    size_t n_thumb_row, n_thumb_col;    /* of a thumbnail */
    size_t n_plane;                     /* of one set, 1 or ATTN_PAGE_N_PLANE */
    size_t n_thumb;                     /* of all, the difference too */
    unsigned char *thumb;               /* [n_thumb * rows * columns] owns; levels */
    double values[ATTN_PAGE_N_MEASURE]; /* NaN: there is none; set by attn_page_heads_end */
    size_t n_outside;                   /* weights below 0 or above 1 */
    struct attn_buffer not_finite;      /* "row,column,n" of each run of such cells, as JSON */
};

/* Initialize with = {0}; end with attn_page_heads_release, after a failed _init too. */
struct attn_page_heads {
    struct attn_page_head *items;                               /* [n] owns; by layer and head */
    size_t n, n_cell;                                           /* of all of them */
    size_t *first_of_layer;                                     /* [n_layer] owns */
    struct attn_measurement *measurements[ATTN_PAGE_N_MEASURE]; /* owns */
};

enum attn_status attn_page_heads_init(struct attn_page_heads *heads, struct attn_writer *writer,
                                      struct attn_error *err);
void attn_page_heads_release(struct attn_page_heads *heads);

/* The head of an event, which is of the pattern. */
struct attn_page_head *attn_page_heads_find(const struct attn_page_heads *heads,
                                            const struct attn_trace_event *event,
                                            const struct attn_place *place);

/* Adds all rows of an event to the measures. */
void attn_page_heads_measure(struct attn_page_heads *heads, const struct attn_trace_event *event);

/* Takes ROW of HEAD for its thumbnail: WEIGHTS [n_column], NaN where they are masked. */
void attn_page_head_take_row(struct attn_page_head *head, size_t row, const float *weights);

/* The same of exact attention, and of CHOSEN minus EXACT. */
void attn_page_head_take_exact(struct attn_page_head *head, size_t row, const float *chosen,
                               const float *exact);

/* After the last row of HEAD: its measures become known. */
void attn_page_heads_end(struct attn_page_heads *heads, struct attn_page_head *head);

/* The level of a weight of which SQUARE_ROOT is the root, 0 to 1; TOP is 254, or 65534 of two
 * bytes. */
static inline unsigned attn_page_level(float square_root, float top)
{
    return 1 + (unsigned)(square_root * top + 0.5F);
}

#endif
