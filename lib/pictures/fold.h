/* fold.h - folds keys that queries hardly look at, so that a long text fits into a figure: the one
 * rule for `arcs`, `tokens` and `matrix`. Stages of live pages fold words by the same (stage.js).
 */
#ifndef ATTN_PICTURES_FOLD_H
#define ATTN_PICTURES_FOLD_H

#include "pictures/grid.h"

/* The grid of a run with folded keys, and what it owns. */
struct attn_fold {
    struct attn_grid grid;
    struct attn_level_matrix matrix; /* owns its cells */
    struct attn_grid_axis columns;   /* a key, or a run of keys without a position */
    struct attn_token_texts texts;
    size_t *positions; /* [matrix.n_column] */
};

/* Folds each run of two or more keys of GRID whose weights are all below 1 % into one column with
 * their sum, "... 6 words". Queries and the three strongest keys of each query stay. *FOLD must be
 * {0}; if nothing folds, fold->positions stays NULL. Release it, after a failure, too. */
enum attn_status attn_fold_keys(const struct attn_grid *grid, struct attn_fold *fold,
                                struct attn_error *err);
void attn_fold_release(struct attn_fold *fold);

#endif
