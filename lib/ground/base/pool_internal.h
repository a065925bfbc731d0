#pragma once

#include "base/pool.h"

#include <stdbool.h>

/* Runs every task once, started in ascending order, and returns when all are done; their writes are
 * then visible to the caller. A single task, or all tasks if the pool has one thread or POOL is
 * NULL, run on the caller as worker 0. A task must not use the same pool. */
void attn_pool_run(struct attn_pool *pool, size_t n_task, attn_task_fn task, void *context);

/* Makes each run until attn_pool_unlock use only its caller's thread, for callers with their own
 * threads. Returns false if a run is in progress, or the pool is locked already. */
bool attn_pool_lock(struct attn_pool *pool);
void attn_pool_unlock(struct attn_pool *pool);
