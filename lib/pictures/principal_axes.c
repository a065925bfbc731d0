/*
 * principal_axes.c - see principal_axes.h.
 *
 * For n rows of d numbers, X [n, d], computes X X^T or X^T X, whichever is smaller. Subspace
 * iteration finds its first eigenvectors: a block of vectors is multiplied by the matrix and made
 * orthogonal, again and again, until the lengths of the first vectors converge. The block has more
 * vectors than needed, so that similar variances of neighbouring axes do not slow it down.
 */
#include "pictures/principal_axes.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <math.h>

enum {
    N_AXIS = ATTN_PRINCIPAL_AXES,
    BLOCK = 8,        /* number of vectors in the block */
    MOST_STEPS = 500, /* enough for 12 digits if each variance is a tenth above the next */
};

static const double converged = 1e-12; /* relative change of a length in one step */
/* a shorter remainder, relative to the vector, is rounding error */
static const double rounding = 1e-11;

/* A symmetric matrix [n, n], and the block of vectors that converges to its eigenvectors. */
struct subspace {
    size_t n, n_vector;
    double *matrix;          /* [n, n] owns */
    double *block, *product; /* [n_vector, n] own */
    double lengths[BLOCK];   /* lengths of the products, which converge to the eigenvalues */
};

static double dot(const double *a, const double *b, size_t n, size_t stride)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i * stride] * b[i * stride];
    return sum;
}

static enum attn_status open_space(struct subspace *space, size_t n, struct attn_error *err)
{
    space->n = n;
    space->n_vector = n < BLOCK ? n : BLOCK;
    ATTN_TRY(ATTN_ALLOC(space->matrix, attn_size_mul(n, n), err));
    ATTN_TRY(ATTN_ALLOC(space->block, BLOCK * n, err));
    ATTN_TRY(ATTN_ALLOC(space->product, BLOCK * n, err));
    /* fixed start vectors, all different and without a regular pattern */
    for (size_t v = 0; v < space->n_vector; v++)
        for (size_t i = 0; i < n; i++)
            space->block[v * n + i] =
                attn_cos((double)(v + 1) * (double)(i + 1) * 1.6180339887498949);
    return ATTN_OK;
}

/* Makes the products orthogonal (Gram and Schmidt) and of length 1, and stores them as the new
 * block. Returns the change of the first N_AXIS lengths, relative to the largest. */
static double make_orthogonal(struct subspace *space)
{
    const size_t n = space->n;
    double change = 0;

    for (size_t v = 0; v < space->n_vector; v++) {
        double *vector = space->product + v * n;
        const double before = sqrt(dot(vector, vector, n, 1));
        double length;

        for (size_t u = 0; u < v; u++) {
            const double share = dot(vector, space->block + u * n, n, 1);

            for (size_t i = 0; i < n; i++)
                vector[i] -= share * space->block[u * n + i];
        }
        length = sqrt(dot(vector, vector, n, 1));
        if (length < before * rounding) /* only rounding error is left */
            length = 0;
        if (v < N_AXIS && space->lengths[0] > 0)
            change = fmax(change, fabs(length - space->lengths[v]) / space->lengths[0]);
        else if (v < N_AXIS)
            change = 1;
        space->lengths[v] = length;
        for (size_t i = 0; i < n; i++)
            space->block[v * n + i] = length > 0 ? vector[i] / length : 0;
    }
    return change;
}

static void set_points(const struct subspace *space, const double *rows, size_t n_row, size_t n_col,
                       double *points, double shares[N_AXIS])
{
    double total = 0;

    for (size_t i = 0; i < space->n; i++)
        total += space->matrix[i * space->n + i];
    for (size_t a = 0; a < N_AXIS && a < space->n_vector; a++) {
        double largest = 0;

        for (size_t r = 0; r < n_row; r++) {
            const double *vector = space->block + a * space->n;
            const double at = n_col < n_row ? dot(rows + r * n_col, vector, n_col, 1)
                                            : vector[r] * sqrt(space->lengths[a]);

            points[r * N_AXIS + a] = at;
            if (fabs(at) > fabs(largest) * (1 + 1e-9))
                largest = at;
        }
        for (size_t r = 0; r < n_row && largest < 0; r++)
            points[r * N_AXIS + a] = -points[r * N_AXIS + a];
        shares[a] = total > 0 ? space->lengths[a] / total : 0;
    }
}

/* Subtracts the mean from the rows, and computes the matrix of dot products of rows or, if
 * IS_OF_COLUMNS, of columns. */
static void fill_matrix(struct subspace *space, double *rows, size_t n_row, size_t n_col,
                        bool is_of_columns)
{
    for (size_t c = 0; c < n_col; c++) {
        double mean = 0;

        for (size_t r = 0; r < n_row; r++)
            mean += rows[r * n_col + c];
        mean /= (double)n_row;
        for (size_t r = 0; r < n_row; r++)
            rows[r * n_col + c] -= mean;
    }
    for (size_t i = 0; i < space->n; i++)
        for (size_t k = 0; k <= i; k++) {
            const double product = is_of_columns
                                       ? dot(rows + i, rows + k, n_row, n_col)
                                       : dot(rows + i * n_col, rows + k * n_col, n_col, 1);

            space->matrix[i * space->n + k] = space->matrix[k * space->n + i] = product;
        }
}

/* Finds the first N_AXIS eigenvectors of the matrix. */
static void find_vectors(struct subspace *space)
{
    const size_t n = space->n;
    double change = 1;

    for (int step = 0; step < MOST_STEPS && !(change < converged); step++) {
        for (size_t v = 0; v < space->n_vector; v++)
            for (size_t i = 0; i < n; i++)
                space->product[v * n + i] = dot(space->matrix + i * n, space->block + v * n, n, 1);
        change = make_orthogonal(space);
    }
}

enum attn_status attn_principal_axes_find(double *rows, size_t n_row, size_t n_col, double *points,
                                          double shares[N_AXIS], struct attn_error *err)
{
    const bool is_of_columns = n_col < n_row;
    struct subspace space = {0};
    const enum attn_status status = open_space(&space, is_of_columns ? n_col : n_row, err);

    if (status == ATTN_OK) {
        fill_matrix(&space, rows, n_row, n_col, is_of_columns);
        find_vectors(&space);
        set_points(&space, rows, n_row, n_col, points, shares);
    }
    attn_free(space.matrix);
    attn_free(space.block);
    attn_free(space.product);
    return status;
}
