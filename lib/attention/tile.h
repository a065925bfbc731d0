/*
 * tile.h - a few query rows of one head: inputs, the unmasked cells of their matrices, and the rows
 * for watchers. The engines (dense, gather, blockwise, linear) each compute one tile at a time.
 *
 * Unmasked cells are a prefix of each row, or listed where a kind or a mask keeps others. For the
 * files of this layer.
 */
#ifndef ATTN_ATTENTION_TILE_H
#define ATTN_ATTENTION_TILE_H

#include "attention/attention.h"
#include "attention/kv.h"
#include "base/random.h"
#include "trace/edit.h"

#include <stdatomic.h>

enum {
    ATTN_QUERY_TILE = 32, /* rows, at most */
    ATTN_N_MATRIX_SITE = ATTN_SITE_PATTERN_LOWRANK - ATTN_SITE_QK + 1,
};

/* Which weights stay: cells as given, or bits drawn from torch's stream for all of a layer. */
struct attn_dropout {
    const struct attn_mask_matrix *given; /* NULL: bits */
    const uint64_t *bits;                 /* [n_head, n_query, n_key], from first_head on */
    size_t first_head;
    size_t n_query, n_key;
    float factor; /* 1 / (1 - p) */
};

/* Draws which of N weights stay from RANDOM: torch's stream. */
void attn_dropout_draw(struct attn_random *random, double dropout, size_t n, uint64_t *bits);

/* One layer in one feed: the fields that the tiles of all its heads share. */
struct attn_layer_feed {
    const struct attn_attention *attention; /* its stride is resolved; its mask is `none` where keys
                                               come from a source */
    const struct attn_head_shape *shape;
    size_t sequence;                    /* of events */
    int layer;                          /* layer of the selection, events and edits */
    int random_layer;                   /* whose keys random attention draws: `layer`, or the one
                                           that arrays stand for */
    size_t row0, n_row;                 /* positions row0 .. row0+n_row-1 */
    size_t n_key;                       /* S */
    size_t ahead;                       /* row r stands at position r + ahead among the keys */
    size_t ldz;                         /* floats from one row of z to the next */
    const struct attn_dropout *dropout; /* NULL: none */
    const int32_t *key_mask;            /* [n_key] 0: this key is masked; NULL: no key is masked */
    const struct attn_edit *edits;      /* [n_edit] edits of the sequence */
    size_t n_edit;
    atomic_bool *has_effect; /* [n_edit] set for edits that change a value; NULL: not needed */
    size_t n_uncounted;      /* of these edits (struct attn_edit_target) */
};

/* Where watched matrices go. */
struct attn_watched_rows {
    float *sites[ATTN_N_MATRIX_SITE]; /* from ATTN_SITE_QK on: [n_row, ld]; NULL: not watched */
    bool is_streamed;                 /* they are larger than caches: store past these */
    size_t ld;                        /* n_key, or for listed cells the largest number in a row */
    int32_t *keys; /* [n_row, ld] listed cells, with n_cell [n_row] of them; else NULL */
    size_t *n_cell;
};

struct attn_tile {
    const struct attn_layer_feed *feed;
    int head;
    size_t row0, n_row; /* rows row0 .. row0+n_row-1 */
    size_t n_key;       /* S of the feed, or the mixtures R of low-rank attention */
    const float *q;     /* [n_row, d_head], stride shape->ldq */
    const float *given; /* [n_row, n_key] scores instead of products; NULL: none */
    const struct attn_kv *kv;
    struct attn_watched_rows watched;
    float *z;            /* [n_row, d_value], stride ldz of the feed; NULL: not needed */
    float *sink_weights; /* [n_row], stride ld_sink; NULL: not needed */
    size_t ld_sink;
};

/* Whether the cells that count are listed, for this attention. */
bool attn_attention_is_listed(const struct attn_attention *attention);

/* Whether SITE lacks the cells that do not count: qk of full attention has them all, and so have
 * scores that are masked after the softmax. */
bool attn_attention_masks(const struct attn_attention *attention, enum attn_site site);

/* The site that holds the softmax: pattern, or pattern_lowrank. */
enum attn_site attn_attention_pattern_site(const struct attn_attention *attention);

/* The scale of the scores of TILE: factor / (sqrt(d_head) + eps), or factor if not scaled. */
float attn_tile_scale(const struct attn_tile *tile);

/* Cells of row I: n KEYS, or NULL: keys first .. first+n-1, which may pass the last one. */
struct attn_tile_span {
    size_t i;
    const int32_t *keys;
    size_t first, n;
};

/* Whether scores are more than scaled products. */
bool attn_tile_is_scored(const struct attn_tile *tile);

/* X [n] of SPAN: from products to scores, scaled, biased, capped; masked keys get -inf. UNCAPPED
 * keeps those before the cap; NULL: not needed. */
void attn_tile_score(const struct attn_tile *tile, const struct attn_kernels *kernels,
                     const struct attn_tile_span *span, float *x, float *uncapped);

/* The softmax of scores: of the first n_valid of X [n] times SCALE, and the sink. Returns the
 * weight of the sink, 0 without sinks. */
struct attn_softmax_row {
    float *x;
    size_t n_valid, n;
    float scale;
};
float attn_tile_softmax(const struct attn_tile *tile, const struct attn_kernels *kernels,
                        struct attn_softmax_row row);

/* The cells that count in each row of a tile. */
struct attn_tile_cells {
    const int32_t *keys; /* [n_row, ld]; NULL: prefixes */
    size_t ld;
    size_t n[ATTN_QUERY_TILE];
    size_t first, last; /* columns first .. last-1 are computed */
};

enum { ATTN_HALF_PANEL = ATTN_PANEL / 2 }; /* keys in a piece: few masked cells are computed */

/* Finds the columns to compute: half panels, at least one, from the first to the last key that a
 * row of TILE needs, or all if IS_WHOLE. */
void attn_tile_choose_columns(const struct attn_tile *tile, bool is_whole,
                              struct attn_tile_cells *cells);

/* Sets the computed cells of row I, which is ROW, that are masked. */
void attn_tile_fill_masked(const struct attn_tile_cells *cells, size_t i, float value, float *row);

static inline size_t attn_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The stride between rows of a matrix of scores, in floats. Avoids multiples of 4 KiB, which share
 * a cache set. */
static inline size_t attn_tile_ld(const struct attn_head_shape *shape)
{
    return attn_round_up(shape->n_max, ATTN_PANEL) + 16;
}

/* Numbers of int32_t that listing needs as scratch when the lists are not watched; 0: prefixes. */
size_t attn_tile_list_size(const struct attn_attention *attention, size_t n_key);

/* Finds them; lists go where watchers want them, else into SCRATCH. */
void attn_tile_find_cells(const struct attn_tile *tile, int32_t *scratch,
                          struct attn_tile_cells *cells);

/* Keys that row I of the tile may look at, for attention whose cells are not listed: a prefix. */
size_t attn_tile_n_visible(const struct attn_tile *tile, size_t i);

bool attn_tile_is_edited(const struct attn_tile *tile, enum attn_site site);

/* Where watchers want SITE; NULL: it is not watched. */
static inline float *attn_tile_watched(const struct attn_tile *tile, enum attn_site site)
{
    return tile->watched.sites[site - ATTN_SITE_QK];
}

/* Applies dropout to x[j], n cells of a row, for KEYS or, NULL, for keys 0 .. n-1. */
void attn_tile_drop(const struct attn_tile *tile, size_t row, const int32_t *keys, size_t n,
                    float *x);

#endif
