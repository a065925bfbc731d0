/* clock.h - a monotonic clock, in seconds from an arbitrary start, for measuring durations. */
#ifndef ATTN_BASE_CLOCK_H
#define ATTN_BASE_CLOCK_H

#include <time.h>

static inline double attn_clock_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
