/* clock.h - clocks in seconds, for measuring durations. The first is monotonic, from an arbitrary
 * start. */
#ifndef ATTN_BASE_CLOCK_H
#define ATTN_BASE_CLOCK_H

#include <time.h>

static inline double attn_clock_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the processor time of all threads of this process. */
static inline double attn_clock_cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

#endif
