/* place_config.c - see place_config.h. */
#include "model/place_config.h"

#include "base/elementary.h"

#include <math.h>

size_t attn_config_place(const struct attn_place_config *config, ptrdiff_t distance)
{
    const ptrdiff_t span = (ptrdiff_t)config->n / 2, middle = (ptrdiff_t)config->n_bucket / 2;
    const ptrdiff_t far = distance < 0 ? -distance : distance;

    if (config->n_bucket > 0 && far > middle) {
        const double share = attn_log((double)far / (double)middle) /
                             attn_log((double)(config->farthest - 1) / (double)middle);
        const ptrdiff_t bucket = middle + (ptrdiff_t)ceil(share * (double)(middle - 1));

        distance = distance < 0 ? -bucket : bucket;
    }
    distance += span;
    return distance < 0 ? 0 : distance >= 2 * span ? (size_t)(2 * span) - 1 : (size_t)distance;
}
