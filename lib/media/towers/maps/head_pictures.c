/* head_pictures.c - see head_pictures.h. */
#include "towers/maps/head_pictures.h"

#include "base/memory.h"
#include "towers/maps/blobs.h"

#include <math.h>
#include <stdlib.h>

static const double most_in_bottom_row = 0.05;
enum { FIRST_LAYER = 2 };

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
    head->entropy = attn_spatial_entropy(map, n_row, n_col, map + n, &n_blob);
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
