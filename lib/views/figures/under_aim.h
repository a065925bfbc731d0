/*
 * under_aim.h - where a head stands in a picture of all heads of one query: under which word, or
 * among those that look everywhere or that park.
 *
 * The heads of a small model stand under their strongest keys, sinks among them. Of many, most park
 * (measures/parks.h), and would hide the others: those are a number, and the others stand under
 * their strongest keys beside the sinks.
 */
#ifndef ATTN_FIGURES_UNDER_AIM_H
#define ATTN_FIGURES_UNDER_AIM_H

#include <stdbool.h>
#include <stddef.h>

enum { ATTN_UNDER_FEW = 48 }; /* most heads that all stand under their strongest keys */

#define ATTN_UNDER_LEAST 0.34 /* part of the weight on the key of a head that stands under it */
#define ATTN_UNDER_PARKED 0.5 /* weight on sinks of a head that parks, of many */

enum attn_under_place { ATTN_UNDER_WORD, ATTN_UNDER_EVERYWHERE, ATTN_UNDER_PARKS };

struct attn_under_aim {
    enum attn_under_place place;
    size_t key;    /* with the largest weight; of many heads beside sinks */
    size_t sink;   /* the sink with the largest weight; SIZE_MAX: none has any */
    double beside; /* the largest weight on a key that is no sink, 0 to 1 */
};

/* Returns the aim of a row of WEIGHTS [n]; those that are NaN count as 0. IS_SINK [n]; NULL if
 * sinks are unknown. IS_OF_MANY: the model has more than ATTN_UNDER_FEW heads. What a row has less
 * than 1 is on a sink that is no key. */
struct attn_under_aim attn_under_aim_of(const float *weights, const bool *is_sink, size_t n,
                                        bool is_of_many);

#endif
