/* pool_internal.h - what pool.h declares for the library alone. */
#ifndef ATTN_BASE_POOL_INTERNAL_H
#define ATTN_BASE_POOL_INTERNAL_H

#include "base/pool.h"

#include <stdbool.h>

/* Runs every task once, handed out in ascending order, and returns when all are done; their writes
 * are visible to the caller then. One task, a pool of one, or all tasks if POOL is NULL, run on the
 * caller as worker 0. A task must not run others on the same pool. */
void attn_pool_run(struct attn_pool *pool, size_t n_task, attn_task_fn task, void *context);

/* Makes every run until attn_pool_unlock work alone on its caller's thread: for callers with their
 * own threads. False if a run is in progress, or the pool is locked already. */
bool attn_pool_lock(struct attn_pool *pool);
void attn_pool_unlock(struct attn_pool *pool);

#endif
