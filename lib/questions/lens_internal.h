/* lens_internal.h - the parts of the lens: lens.c reads streams, lens_fit.c fits a Jacobian lens,
 * lens_jacobian.c has its file. Private to lens*.c. */
#ifndef ATTN_QUESTIONS_LENS_INTERNAL_H
#define ATTN_QUESTIONS_LENS_INTERNAL_H

#include "questions/frame.h"
#include "questions/lens.h"

extern const struct attn_procedure attn_lens_fit;

/* Checks that MODEL is a decoder whose tokens see earlier tokens only, with two or more layers. */
enum attn_status attn_jacobian_check(const struct attn_model *model, struct attn_error *err);

/* --- The file (lens_jacobian.c) --------------------------------------------------------------- */

/* The mean derivatives of the last stream by that of each layer but the last. */
struct attn_jacobian {
    size_t n, d;               /* number of matrices; width of the stream */
    const float *data;         /* [n, d, d]; rows belong to the last stream */
    float *owned;              /* owns the data; NULL: they are in `npy` */
    struct attn_npz *npz;      /* owns; or NULL */
    struct attn_npy_file *npy; /* owns; or NULL */
};

/* What is recorded beside the matrices. Borrowed. */
struct attn_jacobian_facts {
    size_t n_text, skip, first;
    const char *corpus; /* name of the file of texts */
};

/* Reads the file or takes the array of ARGS, for the model of HOST. Sends a note to NOTES if the
 * file was fitted to other weights. Errors have a stage. Release *jacobian after a failure, too. */
enum attn_status attn_jacobian_read(const struct attn_lens_args *args, const struct attn_host *host,
                                    const struct attn_notes *notes, struct attn_jacobian *jacobian,
                                    struct attn_error *err);
void attn_jacobian_release(struct attn_jacobian *jacobian); /* {0} is allowed */

/* Sets Y [d] to matrix I times X [d]. Sums are double, in index order. */
void attn_jacobian_apply(const struct attn_jacobian *jacobian, size_t i, const float *x, float *y);

/* Writes JACOBIAN, which was fitted to MODEL, to SINK. */
enum attn_status attn_jacobian_write(const struct attn_jacobian *jacobian,
                                     const struct attn_jacobian_facts *facts,
                                     const struct attn_model *model, struct attn_sink *sink,
                                     struct attn_error *err);

#endif
