/*
 * tile.h - a few query rows of one head: what goes in, which cells of their matrices count, and
 * what watchers get.
 *
 * Cells that count are a prefix of each row, or listed where a kind or a mask leaves others. For
 * the files of this layer.
 */
#ifndef ATTN_ATTENTION_TILE_H
#define ATTN_ATTENTION_TILE_H

#include "attention/attention.h"
#include "trace/edit.h"

enum {
    ATTN_QUERY_TILE = 32, /* rows, at most */
    ATTN_N_MATRIX_SITE = ATTN_SITE_PATTERN_LOWRANK - ATTN_SITE_QK + 1,
};

/* Keys and values of one key/value head. Borrowed memory; how the keys lie depends on the engine. */
struct attn_kv {
    float *keys;   /* panels [n_max / 64 rounded up][d_head][64], or rows [n_max, d_head] */
    float *values; /* [n_max rounded up to 64][attn_dense_ld_value]; rows not yet written are 0 */
    float *state;  /* linear attention's sums over the first n_summed keys; NULL for other kinds */
    size_t n_summed;
};

/* Which weights stay: cells as given, or bits drawn from torch's stream for all of a layer. */
struct attn_dropout {
    const struct attn_mask_matrix *given; /* NULL: bits */
    const uint64_t *bits;                 /* [n_head, n_query, n_key], from first_head on */
    size_t first_head;
    size_t n_query, n_key;
    float factor; /* 1 / (1 - p) */
};

/* Where watched matrices go. */
struct attn_tile_keep {
    float *sites[ATTN_N_MATRIX_SITE]; /* from ATTN_SITE_QK on: [n_row, ld]; NULL: nobody watches */
    bool is_streamed;                 /* they are larger than caches: store past these */
    size_t ld;                        /* n_key, or for listed cells the most that a row holds */
    int32_t *keys;                    /* [n_row, ld] listed cells, with n_kept [n_row]; else NULL */
    size_t *n_kept;
};

struct attn_tile {
    const struct attn_attention *attention; /* settled; its mask is `none` where keys come from a
                                               source */
    float scale;                            /* attn_attention_scale */
    const float *q;                         /* [n_row, d_head] */
    const float *given;                     /* [n_row, n_key] in place of products; NULL: none */
    const struct attn_kv *kv;
    size_t row0, n_row;                 /* rows row0 .. row0+n_row-1 */
    size_t n_key;                       /* S */
    size_t ahead;                       /* row r stands at position r + ahead among the keys */
    const struct attn_dropout *dropout; /* NULL: none */
    struct attn_tile_keep keep;
    float *z; /* [n_row, d_value], stride ldz; NULL when nobody needs it */
    size_t ldz;
    int layer, head;               /* for edits and lists */
    const struct attn_edit *edits; /* those of the session */
    size_t n_edit;
};

/* Whether the cells that count are listed, for this attention. */
bool attn_attention_is_listed(const struct attn_attention *attention);

/* Whether SITE lacks the cells that do not count: qk of full attention has them all, and so have
 * scores that are masked after the softmax. */
bool attn_attention_masks(const struct attn_attention *attention, enum attn_site site);

/* The site that holds the softmax: pattern, or pattern_lowrank. */
enum attn_site attn_attention_pattern_site(const struct attn_attention *attention);

/* What scores are multiplied by: factor / (sqrt(d_head) + eps), or factor alone when not scaled. */
float attn_attention_scale(const struct attn_attention *attention, size_t d_head);

/* The cells that count in each row of a tile. */
struct attn_tile_cells {
    const int32_t *keys; /* [n_row, ld]; NULL: prefixes */
    size_t ld;
    size_t n[ATTN_QUERY_TILE];
};

/* Numbers of int32_t that listing needs as scratch when nobody keeps the lists; 0: prefixes. */
size_t attn_tile_list_size(const struct attn_attention *attention, size_t n_key);

/* Finds them; lists go where the tile keeps them, else into SCRATCH. */
void attn_tile_find_cells(const struct attn_tile *tile, int32_t *scratch,
                          struct attn_tile_cells *cells);

bool attn_tile_is_edited(const struct attn_tile *tile, enum attn_site site);

/* Where watchers want SITE; NULL: nobody does. */
static inline float *attn_tile_kept(const struct attn_tile *tile, enum attn_site site)
{
    return tile->keep.sites[site - ATTN_SITE_QK];
}

/* y[j] = what dropout leaves of x[j], n cells of a row, for KEYS or, NULL, for keys 0 .. n-1. */
void attn_tile_drop(const struct attn_tile *tile, size_t row, const int32_t *keys, size_t n,
                    float *x);

#endif
