/*
 * window.h - what is shown of a long row of things: all, or the first and the last few.
 */
#ifndef ATTN_OUTPUT_WINDOW_H
#define ATTN_OUTPUT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* N things of which n_shown are shown: when that is fewer, `half` at the beginning, the others at
 * the end. */
struct window {
    size_t n, n_shown, half;
};

static inline struct window window_of(size_t n, size_t limit)
{
    return (struct window){n, n < limit ? n : limit, limit / 2};
}

static inline bool is_shortened(struct window w)
{
    return w.n_shown < w.n;
}

/* Where thing I is shown, or SIZE_MAX. */
static inline size_t window_place(struct window w, size_t i)
{
    size_t n_hidden = w.n - w.n_shown;

    if (i < w.half || n_hidden == 0)
        return i;
    return i < w.half + n_hidden ? SIZE_MAX : i - n_hidden;
}

/* Which thing is shown at PLACE. */
static inline size_t window_thing(struct window w, size_t place)
{
    return place < w.half ? place : place + (w.n - w.n_shown);
}

/* Whether the gap comes just before PLACE. */
static inline bool has_gap(struct window w, size_t place)
{
    return is_shortened(w) && place == w.half;
}

#endif
