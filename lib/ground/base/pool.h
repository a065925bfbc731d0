/*
 * pool.h - a few threads that share the work of one call. Results never depend on the number of
 * threads.
 *
 * A pool may serve many sessions; when two run at once, one of them works alone on its own thread.
 * The first run that needs threads starts them. Between runs they spin for some microseconds, then
 * sleep. The pool's threads avoid the core of the thread that runs it; if that thread moves, the
 * next run adjusts them.
 */
#ifndef ATTN_BASE_POOL_H
#define ATTN_BASE_POOL_H

#include "base/status.h"

#include <stddef.h>

struct attn_pool;

/* N_THREAD is 1..1024, including the caller; 0 means one per core that this process may run on. If
 * threads cannot be started, the pool works with those that it has. */
ATTN_API enum attn_status attn_pool_create(int n_thread, struct attn_pool **pool,
                                           struct attn_error *err);
ATTN_API int attn_pool_n_thread(const struct attn_pool *pool);

/* No run may be in progress. NULL is allowed. */
ATTN_API void attn_pool_free(struct attn_pool *pool);

/* Performs one task: TASK 0 .. n_task-1, on WORKER 0 .. n_thread-1 (the index of its scratch
 * memory). */
typedef void (*attn_task_fn)(void *context, size_t task, int worker);

#endif
