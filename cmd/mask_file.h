/* mask_file.h - which query may attend to which key, from a .npy file of 0 and 1. */
#ifndef CMD_MASK_FILE_H
#define CMD_MASK_FILE_H

#include "attn.h"

/* What the cells are about. */
struct mask_sizes {
    size_t n_batch; /* 0: there are no batches */
    size_t n_head;  /* of one batch */
    size_t n_query, n_key;
};

/*
 * Reads PATH: [T, S], [H, T, S] or with batches [B, H, T, S]; bool, integers or floats. Sets MATRIX,
 * whose heads are then 1 or all heads of all batches, and CELLS, which it borrows: free() them.
 * Reports what is wrong and returns an exit code.
 */
int mask_file_read(const char *path, const struct mask_sizes *sizes,
                   struct attn_mask_matrix *matrix, unsigned char **cells);

#endif
