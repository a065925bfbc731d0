/*
 * pool.c - see pool.h.
 *
 * The caller opens a run. Workers that are awake join it and take tasks until all are taken. The
 * caller takes tasks too, then closes the run and waits for the workers that joined, never for
 * others: on busy cores a run is no slower than the caller alone.
 *
 * A worker on its caller's core would only compete with the caller, and some schedulers place the
 * threads of a young process there, so workers avoid that core at first. Later they may run
 * anywhere: on busy cores, a worker that must not use the core on which its caller waits would wait
 * itself.
 *
 * Threads spin briefly, then sleep. Waking needs no system call if no thread sleeps.
 */
#include "base/pool_internal.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/system.h"
#include "base/text/given.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MAX_THREAD = 1024,
    /* Longer than most steps of a forward pass that only the caller computes, and about as long as
     * a sleeping thread takes to wake. Longer spinning would take the cores away from other
     * processes. */
    SPIN_NANOSECONDS = 50 * 1000,
    YOUNG_NANOSECONDS = 100 * 1000 * 1000, /* how long workers avoid the core of their caller */
};

/* The door combines two flags and the number of workers inside in one word, so that it changes
 * atomically. */
#define DOOR_INSIDE 0xffffu
#define DOOR_OPEN 0x10000u
#define DOOR_CALLER_SLEEPS 0x20000u /* the last worker to leave wakes the caller */

struct worker {
    struct attn_pool *pool;
    int index; /* 1 .. n_thread - 1 */
    struct attn_thread thread;
};

struct attn_pool {
    int n_thread;           /* includes the caller */
    int64_t spin;           /* nanoseconds to spin before sleeping */
    struct worker *workers; /* owns [n_thread]; the last one is unused */
    atomic_flag is_taken;   /* a run is in progress; only its caller may access the fields below */
    int n_started;          /* number of threads that run */
    bool cannot_start;      /* the system refused another thread */
    int caller_core;        /* core that workers avoid; -1: none */
    bool is_young;          /* workers avoid the core of their caller */
    int64_t born;           /* when the first worker started, in nanoseconds */

    /* The current run. Changes only while the door is closed and no worker is inside. */
    attn_task_fn task;
    void *context;
    size_t n_task;

    /* On separate cache lines, because all threads contend for them. */
    _Alignas(ATTN_ALIGNMENT) atomic_size_t next; /* index of the next task */
    _Alignas(ATTN_ALIGNMENT) atomic_uint door;
    /* number of runs so far; workers wait for it to change */
    _Alignas(ATTN_ALIGNMENT) atomic_uint n_run;
    atomic_uint n_asleep; /* number of workers that sleep */
    atomic_bool is_closing;
};

/* --- waiting ------------------------------------------------------------------------------ */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Spins until *WORD differs from VALUE. Returns false if that takes too long. */
static bool spin_until_changed(atomic_uint *word, unsigned value, int64_t nanoseconds)
{
    int64_t start;

    if (atomic_load(word) != value)
        return true;
    if (nanoseconds == 0)
        return false;
    start = attn_os_nanoseconds();
    do {
        for (int i = 0; i < 16; i++) {
            relax();
            if (atomic_load(word) != value)
                return true;
        }
    } while (attn_os_nanoseconds() - start < nanoseconds);
    return false;
}

/* --- workers ------------------------------------------------------------------------------ */

static void run_tasks(struct attn_pool *pool, int worker)
{
    size_t task;

    while ((task = atomic_fetch_add(&pool->next, 1)) < pool->n_task)
        pool->task(pool->context, task, worker);
}

static bool enter(struct attn_pool *pool)
{
    unsigned door = atomic_load(&pool->door);

    while (door & DOOR_OPEN) {
        if (atomic_compare_exchange_weak(&pool->door, &door, door + 1))
            return true;
    }
    return false;
}

static void leave(struct attn_pool *pool)
{
    if (atomic_fetch_sub(&pool->door, 1) == (DOOR_CALLER_SLEEPS | 1))
        attn_wake(&pool->door, 1);
}

static void wait_for_next_run(struct attn_pool *pool, unsigned seen)
{
    while (!spin_until_changed(&pool->n_run, seen, pool->spin)) {
        atomic_fetch_add(&pool->n_asleep, 1);
        attn_wait_while(&pool->n_run, seen);
        atomic_fetch_sub(&pool->n_asleep, 1);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct attn_pool *pool = worker->pool;

    for (;;) {
        /* Read before checking the door, so that a run that begins after this is not missed. */
        unsigned seen = atomic_load(&pool->n_run);

        if (atomic_load(&pool->is_closing))
            return NULL;
        if (enter(pool)) {
            run_tasks(pool, worker->index);
            leave(pool);
        }
        wait_for_next_run(pool, seen);
    }
}

/* Keeps workers off the caller's core, if they may run on enough other cores: a thread that is
 * confined to few cores must not crowd all workers there. */
static void keep_off(struct attn_pool *pool, int first_worker)
{
    for (int i = first_worker; i < pool->n_started; i++)
        attn_thread_keep_off(&pool->workers[i].thread, pool->caller_core,
                             pool->n_thread - (pool->caller_core >= 0));
}

/* Updates the core that workers avoid, as the caller may have moved since the last run. */
static void follow_caller(struct attn_pool *pool)
{
    int core;

    if (!pool->is_young)
        return;
    pool->is_young = pool->n_started == 0 || attn_os_nanoseconds() - pool->born < YOUNG_NANOSECONDS;
    core = pool->is_young ? attn_core_of_caller() : -1;
    if (core == pool->caller_core)
        return;
    pool->caller_core = core;
    keep_off(pool, 0);
}

static void start_threads(struct attn_pool *pool, int n_wanted)
{
    const int n_before = pool->n_started;

    if (n_before == 0)
        pool->born = attn_os_nanoseconds();
    while (pool->n_started < n_wanted && !pool->cannot_start) {
        struct worker *worker = &pool->workers[pool->n_started];

        worker->pool = pool;
        worker->index = pool->n_started + 1;
        if (attn_thread_start(work, worker, &worker->thread))
            pool->n_started++;
        else
            pool->cannot_start = true;
    }
    if (pool->is_young && pool->n_started > n_before)
        keep_off(pool, n_before);
}

/* --- the caller --------------------------------------------------------------------------- */

static void open_door(struct attn_pool *pool, int n_useful)
{
    atomic_store(&pool->next, 0);
    atomic_store(&pool->door, DOOR_OPEN);
    atomic_fetch_add(&pool->n_run, 1);
    if (atomic_load(&pool->n_asleep) > 0)
        attn_wake(&pool->n_run, n_useful);
}

static void close_door(struct attn_pool *pool)
{
    unsigned door = atomic_fetch_and(&pool->door, ~DOOR_OPEN) & ~DOOR_OPEN;

    for (; door & DOOR_INSIDE; door = atomic_load(&pool->door)) {
        if (spin_until_changed(&pool->door, door, pool->spin))
            continue;
        door = atomic_fetch_or(&pool->door, DOOR_CALLER_SLEEPS) | DOOR_CALLER_SLEEPS;
        if (door & DOOR_INSIDE)
            attn_wait_while(&pool->door, door);
    }
}

void attn_pool_run(struct attn_pool *pool, size_t n_task, attn_task_fn task, void *context)
{
    int n_useful;

    /* If another run uses the pool, the caller does not wait, as that run may be long. */
    if (n_task <= 1 || attn_pool_n_thread(pool) == 1 || atomic_flag_test_and_set(&pool->is_taken)) {
        for (size_t i = 0; i < n_task; i++)
            task(context, i, 0);
        return;
    }
    n_useful = n_task < (size_t)pool->n_thread ? (int)n_task - 1 : pool->n_thread - 1;
    follow_caller(pool);
    start_threads(pool, n_useful);
    pool->task = task;
    pool->context = context;
    pool->n_task = n_task;
    open_door(pool, n_useful);
    run_tasks(pool, 0);
    close_door(pool);
    atomic_flag_clear(&pool->is_taken);
}

bool attn_pool_lock(struct attn_pool *pool)
{
    return !atomic_flag_test_and_set(&pool->is_taken);
}

void attn_pool_unlock(struct attn_pool *pool)
{
    atomic_flag_clear(&pool->is_taken);
}

enum attn_status attn_pool_create(int n_thread, struct attn_pool **pool, struct attn_error *err)
{
    const int n_core = attn_core_count(MAX_THREAD);
    struct attn_pool *created;

    ATTN_NEED(err, pool);
    if (n_thread < 0 || n_thread > MAX_THREAD)
        return attn_error_set(err, ATTN_INVALID, "%d threads, expected 1 to %d or 0 for all cores",
                              n_thread, MAX_THREAD);
    ATTN_TRY(ATTN_ALLOC(created, 1, err));
    created->n_thread = n_thread > 0 ? n_thread : n_core;
    created->caller_core = -1;
    created->workers = attn_alloc((size_t)created->n_thread, sizeof *created->workers, err);
    if (!created->workers) {
        attn_free(created);
        return ATTN_NO_MEMORY;
    }
    /* With more threads than cores, a spinning thread would keep another one from working. */
    created->spin = created->n_thread <= n_core ? SPIN_NANOSECONDS : 0;
    created->is_young = created->spin > 0;
    atomic_flag_clear(&created->is_taken);
    *pool = created;
    return ATTN_OK;
}

int attn_pool_n_thread(const struct attn_pool *pool)
{
    return pool ? pool->n_thread : 1;
}

void attn_pool_free(struct attn_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->is_closing, true);
    atomic_fetch_add(&pool->n_run, 1);
    attn_wake(&pool->n_run, INT_MAX);
    for (int i = 0; i < pool->n_started; i++)
        attn_thread_join(&pool->workers[i].thread);
    attn_free(pool->workers);
    attn_free(pool);
}
