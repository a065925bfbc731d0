/* pool_internal.h - what pool.h declares for the library alone. */
#ifndef ATTN_BASE_POOL_INTERNAL_H
#define ATTN_BASE_POOL_INTERNAL_H

#include "base/pool.h"

#include <stdbool.h>

/*
 * Runs every task once and returns when all are done; tasks are handed out in ascending order. One
 * task, or a pool of one, runs on the caller as worker 0; so do all tasks when POOL is NULL. Writes
 * of the tasks are visible to the caller. A task must not run others on the same pool.
 */
void attn_pool_run(struct attn_pool *pool, size_t n_task, attn_task_fn task, void *context);

/* Until attn_pool_unlock every run works alone on its caller's thread: for callers with threads of
 * their own. False if a run is in progress, or the pool is locked already. */
bool attn_pool_lock(struct attn_pool *pool);
void attn_pool_unlock(struct attn_pool *pool);

#endif
