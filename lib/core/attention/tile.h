/*
 * tile.h - a tile: a few query rows of one head, with their inputs, the unmasked cells of their
 * matrices, and the rows to store for the trace. The engines (dense, gather, blockwise, linear)
 * each compute one tile at a time.
 *
 * The unmasked cells are a prefix of each row, or are listed if the kind or the mask keeps other
 * cells. For the files of this layer.
 */
#pragma once

#include "attention/attention.h"
#include "attention/kv.h"
#include "base/random.h"
#include "trace/edit.h"

#include <stdatomic.h>

enum {
    ATTN_QUERY_TILE = 32, /* maximum number of rows */
    ATTN_N_MATRIX_SITE = ATTN_SITE_PATTERN_LOWRANK - ATTN_SITE_QK + 1,
};

/* Which weights dropout keeps: given cells, or bits drawn from torch's stream for all weights of a
 * layer. */
struct attn_dropout {
    const struct attn_mask_matrix *given; /* NULL: the bits apply */
    const uint64_t *bits; /* [n_head, n_query, n_key], beginning with head first_head */
    size_t first_head;
    size_t n_query, n_key;
    float factor; /* 1 / (1 - p) */
};

/* Draws for N weights whether each is kept, from RANDOM, which is torch's stream. Sets BITS. */
void attn_dropout_draw(struct attn_random *random, double dropout, size_t n, uint64_t *bits);

/* What DeBERTa (He et al. 2006.03654) adds to the scores of a sequence: the products of each query
 * and each key with the places of the layer. A place is a row for a distance i - j. */
struct attn_place_terms {
    const float *c2p;    /* [n_head, n_query, ld_c2p] queries times places; NULL: not added */
    const float *p2c;    /* [n_head, n, ld_p2c] places times keys; NULL: not added */
    const int32_t *rows; /* rows[i - j] is the place of the query i and the key j */
    size_t n, n_query, n_key, ld_c2p, ld_p2c;
    size_t row0;                 /* the position of the first query */
    const float *keys, *queries; /* [n, heads side by side] of the places: the other factors */
};

/* Returns what query i and key j get by C2P, else by P2C, before the scale. */
float attn_place_term_at(const struct attn_place_terms *places, bool is_c2p, size_t head, size_t i,
                         size_t j);

/* The data of one layer in one feed that the tiles of all its heads share. */
struct attn_layer_feed {
    /* With a resolved stride; its mask is `none` if keys come from a source. */
    const struct attn_attention *attention;
    const struct attn_head_shape *shape;
    size_t sequence;         /* the number of the sequence, for events */
    struct attn_location at; /* the layer, for selection, events and edits */
    int random_layer;   /* the number from which random attention draws: the layer's index, or for
                           arrays that of the layer that they stand for */
    size_t row0, n_row; /* positions row0 .. row0+n_row-1 */
    size_t n_key;       /* S */
    size_t ahead;       /* row r is at position r + ahead among the keys */
    size_t ldz;         /* floats from one row of z to the next */
    const struct attn_dropout *dropout;    /* NULL: no dropout */
    const struct attn_place_terms *places; /* NULL: none */
    const int32_t *key_mask;               /* [n_key] 0 masks this key; NULL: no key is masked */
    const struct attn_edit *edits;         /* [n_edit] edits of the sequence */
    size_t n_edit;
    /* [n_edit] set to true for edits that change a value; NULL: not needed. */
    atomic_bool *has_effect;
    size_t n_uncounted; /* number of these edits that are not counted (struct attn_edit_target) */
    const struct attn_edit_calls *calls; /* NULL: none of these edits is a function of a matrix */
};

/* The buffers for watched matrices. */
struct attn_watched_rows {
    float *sites[ATTN_N_MATRIX_SITE]; /* one for each matrix site, from ATTN_SITE_QK on: [n_row,
                                         ld]; NULL: not watched */
    bool is_streamed;                 /* they exceed the caches: store them past the caches */
    size_t ld;     /* n_key; if cells are listed, the largest number of cells in a row */
    int32_t *keys; /* [n_row, ld] the listed cells, and n_cell [n_row] their numbers; else NULL */
    size_t *n_cell;
};

struct attn_tile {
    const struct attn_layer_feed *feed;
    int head;
    size_t row0, n_row; /* rows row0 .. row0+n_row-1 */
    size_t n_key;       /* S of the feed; the number of mixtures R for low-rank attention */
    const float *q;     /* [n_row, d_head], stride shape->ldq */
    const float *given; /* [n_row, n_key] scores that replace the products; NULL: not given */
    const struct attn_kv *kv;
    struct attn_watched_rows watched;
    float *z;            /* [n_row, d_value], stride ldz of the feed; NULL: not needed */
    float *sink_weights; /* [n_row], stride ld_sink; NULL: not needed */
    size_t ld_sink;
};

/* Whether the unmasked cells are listed for this attention, because they are no prefix. */
bool attn_attention_is_listed(const struct attn_attention *attention);

/* Whether SITE leaves out masked cells. qk of full attention has all cells, and so have scores that
 * are masked after the softmax. */
bool attn_attention_masks(const struct attn_attention *attention, enum attn_site site);

/* Returns the site of the softmax: pattern, or pattern_lowrank. */
enum attn_site attn_attention_pattern_site(const struct attn_attention *attention);

/* Returns the factor of the scores of TILE: factor / (sqrt(d_head) + eps), or `factor` if scores
 * are not scaled. */
float attn_tile_scale(const struct attn_tile *tile);

/* Some cells of row I: those of the n KEYS, or if KEYS is NULL, of keys first to first+n-1, which
 * may exceed the last key. */
struct attn_tile_span {
    size_t i;
    const int32_t *keys;
    size_t first, n;
};

/* Whether scores need more than scaling: a bias, a cap or a mask. */
bool attn_tile_is_scored(const struct attn_tile *tile);

/* Turns X [n], the products of the cells of SPAN, into scores: scaled, biased, capped, and -inf for
 * masked keys. UNCAPPED receives the scores before the cap; NULL: not needed. */
void attn_tile_score(const struct attn_tile *tile, const struct attn_kernels *kernels,
                     const struct attn_tile_span *span, float *x, float *uncapped);

/* Computes the softmax of the first n_valid of X [n] times SCALE, together with the sink. Returns
 * the weight of the sink, 0 without sinks. */
struct attn_softmax_row {
    float *x;
    size_t n_valid, n;
    float scale;
};
float attn_tile_softmax(const struct attn_tile *tile, const struct attn_kernels *kernels,
                        const struct attn_softmax_row *row);

/* The unmasked cells in each row of a tile. */
struct attn_tile_cells {
    const int32_t *keys; /* [n_row, ld] listed cells; NULL: each row has a prefix of n cells */
    size_t ld;
    size_t n[ATTN_QUERY_TILE];
    size_t first, last; /* columns first .. last-1 are computed */
};

/* Width of the pieces in which columns are computed, so that few masked cells are computed. */
enum { ATTN_HALF_PANEL = ATTN_PANEL / 2 };

/* Sets the range of columns to compute: half panels, at least one, from the first to the last key
 * that a row of TILE needs; all columns if IS_WHOLE. */
void attn_tile_choose_columns(const struct attn_tile *tile, bool is_whole,
                              struct attn_tile_cells *cells);

/* Sets the masked cells of row I within the computed columns to VALUE. ROW is that row. */
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

/* Returns how many int32_t of scratch are needed to list the cells of a tile if the lists are not
 * watched; 0 if no lists are needed. */
size_t attn_tile_list_size(const struct attn_attention *attention, size_t n_key);

/* Finds the unmasked cells of TILE. Lists are written to the watched rows, or to SCRATCH if they
 * are not watched. */
void attn_tile_find_cells(const struct attn_tile *tile, int32_t *scratch,
                          struct attn_tile_cells *cells);

/* Returns the number of keys that row I of the tile may see, for attention whose cells are not
 * listed: they are a prefix. */
size_t attn_tile_n_visible(const struct attn_tile *tile, size_t i);

bool attn_tile_is_edited(const struct attn_tile *tile, enum attn_site site);

/* Returns the buffer for watched rows of SITE; NULL if it is not watched. */
static inline float *attn_tile_watched(const struct attn_tile *tile, enum attn_site site)
{
    return tile->watched.sites[site - ATTN_SITE_QK];
}

/* Applies dropout to x [n], cells of row ROW: those of KEYS; if NULL, of keys 0 to n-1. */
void attn_tile_drop(const struct attn_tile *tile, size_t row, const int32_t *keys, size_t n,
                    float *x);
