/* under_aim.c - see under_aim.h. */
#include "figures/under_aim.h"

#include <stdint.h>

struct attn_under_aim attn_under_aim_of(const float *weights, const bool *is_sink, size_t n,
                                        bool is_of_many)
{
    struct attn_under_aim aim = {.sink = SIZE_MAX};
    size_t other = 0;
    double most = 0, on_sink = 0, rest = 0;

    for (size_t k = 0; k < n; k++) {
        const bool is_other = !is_sink || !is_sink[k];
        const double weight = weights[k] > 0 ? (double)weights[k] : 0;

        rest += is_other ? weight : 0;
        if (weight > most) {
            most = weight;
            aim.key = k;
        }
        if (is_other && weight > aim.beside) {
            aim.beside = weight;
            other = k;
        }
        if (!is_other && weight > on_sink) {
            on_sink = weight;
            aim.sink = k;
        }
    }
    if (!is_of_many || !is_sink)
        rest = 1;
    else {
        aim.key = other;
        most = aim.beside;
    }
    if (1 - rest >= ATTN_UNDER_PARKED)
        aim.place = ATTN_UNDER_PARKS;
    else if (most <= 0 || most < ATTN_UNDER_LEAST * rest)
        aim.place = ATTN_UNDER_EVERYWHERE;
    return aim;
}
