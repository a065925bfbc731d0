/* thread.c - see thread.h. */
#include "base/thread.h"

#include "base/memory.h"

#include <assert.h>
#include <signal.h>

enum { MAX_CONDITIONS = 8 };

bool attn_thread_start(void *(*work)(void *user), void *user, struct attn_thread *thread)
{
    static const int own_faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    bool is_started;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    is_started = pthread_create(&thread->id, NULL, work, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

void attn_thread_join(struct attn_thread *thread)
{
    pthread_join(thread->id, NULL);
}

struct attn_monitor {
    pthread_mutex_t lock;
    int n_condition;
    pthread_cond_t conditions[MAX_CONDITIONS]; /* [n_condition] */
    int n_waiting[MAX_CONDITIONS];             /* for each */
};

enum attn_status attn_monitor_create(int n_condition, struct attn_monitor **monitor,
                                     struct attn_error *err)
{
    struct attn_monitor *made = attn_alloc(1, sizeof *made, err);

    assert(n_condition <= MAX_CONDITIONS);
    if (!made)
        return ATTN_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL); /* without attributes it cannot fail */
    for (int i = 0; i < n_condition; i++)
        pthread_cond_init(&made->conditions[i], NULL);
    made->n_condition = n_condition;
    *monitor = made;
    return ATTN_OK;
}

void attn_monitor_free(struct attn_monitor *monitor)
{
    if (!monitor)
        return;
    for (int i = 0; i < monitor->n_condition; i++)
        pthread_cond_destroy(&monitor->conditions[i]);
    pthread_mutex_destroy(&monitor->lock);
    attn_free(monitor);
}

void attn_monitor_enter(struct attn_monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
}

void attn_monitor_leave(struct attn_monitor *monitor)
{
    pthread_mutex_unlock(&monitor->lock);
}

void attn_monitor_wait(struct attn_monitor *monitor, int condition)
{
    monitor->n_waiting[condition]++;
    pthread_cond_wait(&monitor->conditions[condition], &monitor->lock);
    monitor->n_waiting[condition]--;
}

void attn_monitor_wake(struct attn_monitor *monitor, int condition)
{
    if (monitor->n_waiting[condition] > 0)
        pthread_cond_broadcast(&monitor->conditions[condition]);
}

void attn_monitor_wake_one(struct attn_monitor *monitor, int condition)
{
    if (monitor->n_waiting[condition] > 0)
        pthread_cond_signal(&monitor->conditions[condition]);
}
