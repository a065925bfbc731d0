/*
 * typo.c - the optimal string alignment distance (Damerau 1964), with three rows of the table.
 */
#include "typo.h"

#include <string.h>

enum { MAX_NAME = 40 }; /* longer than any name we have: anything beyond is far from all of them */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    if (n_a > MAX_NAME || n_b > MAX_NAME)
        return MAX_NAME;
    size_t rows[3][MAX_NAME + 1]; /* rows[i % 3][j]: the first i of a against the first j of b */
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], rows[(i + 1) % 3][j - 2] + 1, row[j]);
        }
    }
    return rows[n_a % 3][n_b];
}

int is_near(size_t distance, size_t size)
{
    return distance <= (size > 5 ? 2 : 1);
}
