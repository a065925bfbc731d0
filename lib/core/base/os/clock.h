/* clock.h - clocks in seconds, for measuring durations. The first is monotonic, from an arbitrary
 * start. */
#ifndef ATTN_BASE_CLOCK_H
#define ATTN_BASE_CLOCK_H

#include "base/os/os.h"

static inline double attn_clock_seconds(void)
{
    return 1e-9 * (double)attn_os_nanoseconds();
}

/* Returns the processor time of all threads of this process. */
static inline double attn_clock_cpu_seconds(void)
{
    return attn_os_cpu_seconds();
}

#endif
