/* array.h - an array of floats from a .npy file. */
#ifndef CMD_ARRAY_H
#define CMD_ARRAY_H

#include "attn.h"

/* Initialize with = {0}; end with array_release. */
struct array {
    const char *path;            /* borrowed from the command line */
    int rank;                    /* 0: none was read */
    size_t shape[ATTN_MAX_RANK]; /* none is 0 */
    const float *data;           /* [n], C order */
    size_t n;
    struct attn_npy_file *npy; /* owns the data, unless they had to be converted */
    float *converted;          /* owned */
};

/*
 * Reads PATH. The array must hold floats, have RANK_MIN to RANK_MAX dimensions (AXES says which,
 * "[T, E]"), and hold at least one number. Reports what is wrong and returns an exit code.
 */
int array_read(const char *path, int rank_min, int rank_max, const char *axes, struct array *array);
void array_release(struct array *array);

size_t array_n_nan(const struct array *array);
bool array_is_finite(const struct array *array);

/* "[3, 4]" */
struct array_shape {
    char text[ATTN_NPY_SHAPE_TEXT_SIZE];
};
struct array_shape array_shape(const struct array *array);

#endif
