/* head_pictures.c - see head_pictures.h. */
#include "towers/maps/head_pictures.h"

#include "base/elementary.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static const double most_in_bottom_row = 0.05, least = 0.001;
enum { FIRST_LAYER = 2 };

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

/* Returns how scattered MAP [n_row, n_col], in which NaN counts as 0, is over a picture (Kang et
 * al. 2503.06287): with B = max(0, MAP - 2 mean(MAP)), cells with B above `least` that touch, at a
 * side or a corner, form a blob; p is the share of each blob in the sum of B, and the result the
 * entropy -sum p ln p. NaN, and 0 blobs, if all B are 0. SCRATCH has room for 2 numbers for each
 * cell. */
static double find_scatter(const double *map, size_t n_row, size_t n_col, double *scratch,
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

enum attn_status attn_head_pictures_find(const struct attn_picture_maps *maps,
                                         const struct attn_location *at,
                                         struct attn_head_picture *head, struct attn_error *err)
{
    const struct attn_picture_dims *picture = attn_picture_maps_dims(maps, 0);
    const size_t n_row = picture->n_row, n_col = picture->n_col, n = n_row * n_col;
    double *map = attn_alloc(3 * n, sizeof *map, err);
    size_t n_blob = 0;

    *head = (struct attn_head_picture){.bottom = 0};
    if (!map)
        return ATTN_NO_MEMORY;
    for (int i = 0; i < ATTN_N_SHARE; i++)
        head->shares[i] =
            attn_picture_maps_share(maps, at, ATTN_PICTURE_MEAN, (enum attn_picture_share)i);
    attn_picture_maps_fill(maps, at, (struct attn_map_choice){.row = ATTN_PICTURE_MEAN}, map);
    for (size_t i = n - n_col; i < n; i++)
        head->bottom = map[i] > head->bottom ? map[i] : head->bottom;
    head->entropy = find_scatter(map, n_row, n_col, map + n, &n_blob);
    head->n_blob = (double)n_blob;
    attn_free(map);
    return ATTN_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the one of Y [n], sorted, that is farthest from the line through the first and the last.
 */
static double find_threshold(const double *y, size_t n)
{
    const double slope = n > 1 ? (y[n - 1] - y[0]) / (double)(n - 1) : 0;
    double most = 0;
    size_t at = 0;

    for (size_t k = 0; n > 2 && k < n; k++) {
        /* the distance to the line, but for a factor that all have */
        const double distance = fabs(y[k] - y[0] - slope * (double)k);

        if (distance > most)
            most = distance, at = k;
    }
    return y[at];
}

enum attn_status attn_head_pictures_rank(const struct attn_location *ats,
                                         struct attn_head_picture *heads, size_t n,
                                         double *threshold, struct attn_error *err)
{
    double *y;

    ATTN_TRY(ATTN_ALLOC(y, n, err));
    for (size_t i = 0; i < n; i++)
        y[i] = heads[i].shares[ATTN_SHARE_PICTURE];
    qsort(y, n, sizeof *y, by_value);
    *threshold = find_threshold(y, n);
    attn_free(y);
    for (size_t i = 0; i < n; i++)
        heads[i].is_kept = heads[i].shares[ATTN_SHARE_PICTURE] >= *threshold &&
                           !isnan(heads[i].entropy) && heads[i].bottom <= most_in_bottom_row &&
                           ats[i].layer >= FIRST_LAYER;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n && heads[i].is_kept > 0; j++)
            heads[i].rank +=
                heads[j].is_kept > 0 && (heads[j].entropy < heads[i].entropy ||
                                         (heads[j].entropy <= heads[i].entropy && j <= i));
    return ATTN_OK;
}

enum attn_status attn_head_pictures_choose(const struct attn_picture_maps *maps,
                                           const struct attn_location *ats, size_t n, size_t *best,
                                           size_t *n_ranked, struct attn_error *err)
{
    struct attn_head_picture *heads = attn_alloc(n, sizeof *heads, err);
    enum attn_status status = heads ? ATTN_OK : ATTN_NO_MEMORY;
    double threshold, most = -1;

    *best = *n_ranked = 0;
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_head_pictures_find(maps, &ats[i], &heads[i], err);
    ATTN_THEN(status, attn_head_pictures_rank(ats, heads, n, &threshold, err));
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        /* a rank is above all shares, and lower ranks are better */
        const double goodness =
            heads[i].rank > 0 ? 1 + 1 / heads[i].rank : heads[i].shares[ATTN_SHARE_PICTURE];

        *n_ranked += heads[i].rank > 0;
        if (goodness > most)
            most = goodness, *best = i;
    }
    attn_free(heads);
    return status;
}
