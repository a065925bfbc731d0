/* run_time.h - how long a run may take, estimated before it begins. */
#ifndef ATTN_RUN_RUN_TIME_H
#define ATTN_RUN_RUN_TIME_H

#include "base/status.h"

struct attn_run;

/* Where the request of RUN, whose text and attention are found, limits the time: notes an estimate
 * above a minute for N runs of this kind, and refuses one above the limit. Refuses a text or a
 * source of more tokens than the request takes. Stage ATTN_STAGE_INPUT. */
enum attn_status attn_run_check_time(const struct attn_run *run, size_t n, struct attn_error *err);

#endif
