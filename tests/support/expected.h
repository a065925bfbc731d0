/*
 * expected.h - walks through what a folder or archive says a recording must hold.
 *
 * It has one .npy file a site, named as in archives ("blocks.0.attn.hook_z.npy"), heads
 * assembled. The walk goes in the order of computation, so the first row that differs is where
 * things went wrong.
 */
#pragma once

#include "tests/support/recording.h"

/* One row of one site: a vector of a position (and head), or the scores of a query. */
struct attn_expected_row {
    enum attn_site site;
    int layer;        /* or ATTN_NO_LAYER */
    int head;         /* or ATTN_ALL_HEADS */
    size_t position;  /* of the query; of the key in k and v */
    size_t n_visible; /* matrices: keys that the mask leaves, else n */
    size_t n;         /* values */
    const float *actual;
    const double *expected;
};

/* As a row0: each file holds the last rows, as many as it has. */
enum { ATTN_EXPECTED_LAST_ROWS = -1 };

typedef void (*attn_expected_fn)(void *user, const struct attn_expected_row *row);

/*
 * Calls FN for every row of every file in FOLDER, which may be an archive "expected.npz"; files
 * hold the rows from ROW0 on, except of k and v, which are whole. Fails the current test when a
 * shape differs or the model lacks the site. Returns how many sites had a file.
 */
size_t attn_expected_each(const char *folder, const struct attn_recording *recording, size_t row0,
                          attn_expected_fn fn, void *user);
