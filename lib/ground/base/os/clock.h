/* clock.h - a monotonic clock in seconds, from an arbitrary start, for measuring durations. */
#pragma once

#include "base/os/os.h"

static inline double attn_clock_seconds(void)
{
    return 1e-9 * (double)attn_os_nanoseconds();
}
