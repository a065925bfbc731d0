/* blobs.c - see blobs.h. */
#include "towers/maps/blobs.h"

#include "base/elementary.h"

#include <math.h>

static const double least = 0.001; /* of B in a blob */

/* Sums B over the blob that contains cell FIRST and sets it to 0 there. STACK holds the cells whose
 * neighbours are still to be looked at. */
static double take_blob(double *b, double *stack, size_t n_row, size_t n_col, size_t first)
{
    size_t n = 1;
    double sum = b[first];

    stack[0] = (double)first;
    b[first] = 0;
    while (n > 0) {
        const size_t cell = (size_t)stack[--n], row = cell / n_col, col = cell % n_col;

        for (size_t y = row > 0 ? row - 1 : 0; y <= row + 1 && y < n_row; y++)
            for (size_t x = col > 0 ? col - 1 : 0; x <= col + 1 && x < n_col; x++) {
                const size_t other = y * n_col + x;

                if (b[other] <= least)
                    continue;
                sum += b[other];
                b[other] = 0;
                stack[n++] = (double)other;
            }
    }
    return sum;
}

double attn_spatial_entropy(const double *map, size_t n_row, size_t n_col, double *scratch,
                            size_t *n_blob)
{
    const size_t n = n_row * n_col;
    double *b = scratch, *stack = scratch + n;
    double mean = 0, sum = 0, entropy = 0;

    for (size_t i = 0; i < n; i++)
        mean += isnan(map[i]) ? 0 : map[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        b[i] = isnan(map[i]) ? 0 : fmax(0, map[i] - 2 * mean);
        sum += b[i];
    }
    *n_blob = 0;
    for (size_t i = 0; i < n; i++) {
        const double p = b[i] > least ? take_blob(b, stack, n_row, n_col, i) / sum : 0;

        entropy -= p > 0 ? p * attn_log(p) : 0;
        *n_blob += p > 0;
    }
    return sum > 0 ? entropy : (double)NAN;
}
