/*
 * thread.h - threads, and monitors in which threads wait for each other.
 *
 *     struct attn_thread thread;
 *     attn_thread_start(work, user, &thread);
 *     attn_thread_join(&thread);
 *
 * A monitor is a lock with numbered conditions for which threads wait:
 *
 *     attn_monitor_enter(monitor);
 *     while (!has_work(user))
 *         attn_monitor_wait(monitor, WORK);     // releases the lock; woken by:
 *     attn_monitor_leave(monitor);              // attn_monitor_wake(monitor, WORK)
 */
#pragma once

#include "base/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns true if CANCEL is given and not 0. A signal handler may set it on any thread, so it is
 * read atomically: sig_atomic_t alone is only safe within one thread. */
static inline bool attn_is_canceled(const volatile sig_atomic_t *cancel)
{
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

struct attn_thread {
    uintptr_t id; /* the system's identifier */
};

/* Runs WORK in a new thread. Signals are blocked in it, except those that the thread itself causes
 * (a bus error in a mapped file), so that the program's handlers run on its own threads. Returns
 * false if the system cannot start a thread. */
bool attn_thread_start(void *(*work)(void *user), void *user, struct attn_thread *thread);
void attn_thread_join(struct attn_thread *thread);

struct attn_monitor;

/* Creates a monitor with N_CONDITION conditions, 1..8. The only error is ATTN_NO_MEMORY. */
enum attn_status attn_monitor_create(int n_condition, struct attn_monitor **monitor,
                                     struct attn_error *err);
void attn_monitor_free(struct attn_monitor *monitor); /* no thread may be inside; NULL is allowed */

/* Locks the monitor: only one thread is inside at a time. */
void attn_monitor_enter(struct attn_monitor *monitor);
void attn_monitor_leave(struct attn_monitor *monitor);

/* Waits for CONDITION. Call with the monitor held; it is held on return. Wakeups may be spurious,
 * so check again. */
void attn_monitor_wait(struct attn_monitor *monitor, int condition);

/* Wake all threads that wait for CONDITION, or one of them. Call with the monitor held. Costs
 * nothing if no thread waits. */
void attn_monitor_wake(struct attn_monitor *monitor, int condition);
void attn_monitor_wake_one(struct attn_monitor *monitor, int condition);
