/*
 * pool.h - a few threads that share the work of one call. Results never depend on how many there
 * are.
 *
 * A pool may serve many sessions; when two run at once, one of them works alone on its own thread.
 * The first run that needs threads starts them. Between runs they spin for some microseconds, then
 * sleep. Only the pool's threads keep off the core of the thread that runs it; when that moves, the
 * next run moves them.
 */
#ifndef ATTN_BASE_POOL_H
#define ATTN_BASE_POOL_H

#include "base/status.h"

#include <stddef.h>

struct attn_pool;

/* N_THREAD 1..1024 counts the caller's; 0 means the cores this process may run on. Where threads
 * cannot be started the pool works with those it has. */
ATTN_API enum attn_status attn_pool_create(int n_thread, struct attn_pool **pool,
                                           struct attn_error *err);
ATTN_API int attn_pool_n_thread(const struct attn_pool *pool);

/* No run may be in progress; NULL is allowed. */
ATTN_API void attn_pool_free(struct attn_pool *pool);

/* One piece of work: TASK 0 .. n_task-1, on WORKER 0 .. n_thread-1 (index of its scratch). */
typedef void (*attn_task_fn)(void *context, size_t task, int worker);

#endif
