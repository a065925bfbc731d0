/* The thread pool. Run it under MODE=tsan too. */
#include "base/memory.h"
#include "base/pool_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static struct attn_pool *create_pool(int n_thread)
{
    struct attn_pool *pool = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_pool_create(n_thread, &pool, &err) == ATTN_OK, "%s", err.message);
    return pool;
}

/* What the tasks of one run did; plain memory where the pool promises that no other task writes. */
struct record {
    int n_thread;
    int *n_done;             /* [n_task] how often each task ran */
    size_t *by_worker;       /* [n_thread * 8] tasks of each worker, a cache line each */
    atomic_bool is_misled;   /* a worker's number was out of range */
    atomic_bool is_unsorted; /* a worker got tasks in descending order */
};

static void record_task(void *context, size_t task, int worker)
{
    struct record *record = context;
    size_t *mine = record->by_worker + 8 * worker;

    if (worker < 0 || worker >= record->n_thread) {
        record->is_misled = true;
        return;
    }
    if (mine[0] > 0 && task < mine[1])
        record->is_unsorted = true;
    mine[0]++;
    mine[1] = task;
    record->n_done[task]++;
}

static void run_recorded(struct attn_pool *pool, size_t n_task)
{
    int n_thread = attn_pool_n_thread(pool);
    size_t sum = 0;
    struct record record = {
        .n_thread = n_thread,
        .n_done = attn_alloc(n_task, sizeof(int), NULL),
        .by_worker = attn_alloc(8 * (size_t)n_thread, sizeof(size_t), NULL),
    };

    attn_pool_run(pool, n_task, record_task, &record);
    for (size_t i = 0; i < n_task; i++) {
        if (record.n_done[i] != 1)
            ck_abort_msg("task %zu of %zu ran %d times", i, n_task, record.n_done[i]);
    }
    for (int i = 0; i < n_thread; i++)
        sum += record.by_worker[8 * i];
    ck_assert_uint_eq(sum, n_task);
    ck_assert(!record.is_misled && !record.is_unsorted);
    attn_free(record.n_done);
    attn_free(record.by_worker);
}

START_TEST(every_task_runs_once)
{
    static const int n_threads[] = {1, 2, 3, 8, 40};
    static const size_t n_tasks[] = {0, 1, 2, 3, 7, 8, 9, 100, 1000, 20000};

    for (size_t i = 0; i < sizeof n_threads / sizeof *n_threads; i++) {
        struct attn_pool *pool = create_pool(n_threads[i]);

        ck_assert_int_eq(attn_pool_n_thread(pool), n_threads[i]);
        for (size_t j = 0; j < sizeof n_tasks / sizeof *n_tasks; j++)
            run_recorded(pool, n_tasks[j]);
        attn_pool_free(pool);
    }
    run_recorded(NULL, 5);
}
END_TEST

/* Each task adds to its own cell, without atomics: runs must see what earlier ones wrote. */
static void add_task(void *context, size_t task, int worker)
{
    size_t *cells = context;

    (void)worker;
    cells[task] += task + 1;
}

START_TEST(runs_follow_each_other)
{
    enum { N_RUN = 10000, N_TASK = 5 };

    for (int n_thread = 2; n_thread <= 4; n_thread++) {
        struct attn_pool *pool = create_pool(n_thread);
        size_t cells[N_TASK] = {0};

        for (int i = 0; i < N_RUN; i++) {
            attn_pool_run(pool, N_TASK, add_task, cells);
            if (cells[N_TASK - 1] != (size_t)(i + 1) * N_TASK)
                ck_abort_msg("run %d is not seen by the caller", i);
            cells[0]++; /* and the caller's writes are seen by the next run */
        }
        for (size_t i = 0; i < N_TASK; i++)
            ck_assert_uint_eq(cells[i], N_RUN * (i + 1) + (i == 0 ? N_RUN : 0));
        attn_pool_free(pool);
    }
}
END_TEST

START_TEST(runs_after_a_pause_wake_the_threads)
{
    struct attn_pool *pool = create_pool(2);

    for (int i = 0; i < 20; i++) {
        run_recorded(pool, 50);
        usleep(1000); /* long enough to fall asleep */
    }
    attn_pool_free(pool);
}
END_TEST

/* Two tasks that can only end together. */
static void meet_task(void *context, size_t task, int worker)
{
    atomic_int *n_arrived = context;

    (void)task, (void)worker;
    atomic_fetch_add(n_arrived, 1);
    while (atomic_load(n_arrived) < 3)
        sched_yield();
}

START_TEST(tasks_run_at_the_same_time)
{
    struct attn_pool *pool = create_pool(3);
    atomic_int n_arrived;

    for (int i = 0; i < 20; i++) {
        n_arrived = 0;
        attn_pool_run(pool, 3, meet_task, &n_arrived);
        if (i % 2)
            usleep(500);
    }
    attn_pool_free(pool);
}
END_TEST

static void *run_many(void *argument)
{
    size_t cells[16] = {0};

    for (int i = 0; i < 3000; i++)
        attn_pool_run(argument, 1 + (size_t)i % 16, add_task, cells);
    /* Task 0 is in every run, the last in one of 16. */
    return cells[0] == 3000 && cells[15] == 3000 / 16 * 16 ? argument : NULL;
}

START_TEST(callers_share_a_pool)
{
    struct attn_pool *pool = create_pool(3);
    pthread_t others[3];

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&others[i], NULL, run_many, pool), 0);
    ck_assert_ptr_eq(run_many(pool), pool);
    for (int i = 0; i < 3; i++) {
        void *result;

        pthread_join(others[i], &result);
        ck_assert_ptr_eq(result, pool);
    }
    attn_pool_free(pool);
}
END_TEST

struct second {
    struct attn_pool *pool;
    atomic_int n_foreign; /* runs of a second caller in which another thread took part */
};

static void foreign_task(void *context, size_t task, int worker)
{
    pthread_t *caller = context;

    (void)task;
    if (worker != 0 || !pthread_equal(*caller, pthread_self()))
        *caller = pthread_self();
}

static void *run_beside(void *argument)
{
    struct second *second = argument;
    pthread_t self = pthread_self(), caller = self;

    attn_pool_run(second->pool, 100, foreign_task, &caller);
    if (!pthread_equal(caller, self))
        second->n_foreign++;
    return NULL;
}

static void start_second_caller(void *context, size_t task, int worker)
{
    pthread_t thread;

    (void)worker;
    if (task == 0 && pthread_create(&thread, NULL, run_beside, context) == 0)
        pthread_join(thread, NULL);
}

START_TEST(a_second_caller_works_alone_as_worker_0)
{
    struct second second = {.pool = create_pool(4)};

    attn_pool_run(second.pool, 4, start_second_caller, &second);
    ck_assert_int_eq(second.n_foreign, 0);
    attn_pool_free(second.pool);
}
END_TEST

START_TEST(one_task_stays_with_the_caller)
{
    struct attn_pool *pool = create_pool(4);
    pthread_t self = pthread_self(), caller = self;

    for (int i = 0; i < 100; i++)
        attn_pool_run(pool, 1, foreign_task, &caller);
    ck_assert(pthread_equal(caller, self));
    attn_pool_free(pool);
}
END_TEST

/* New threads get stacks of SIZE bytes; returns what it was. */
static size_t set_stack_size(size_t size)
{
    pthread_attr_t attributes;
    size_t before;

    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before);
    pthread_attr_setstacksize(&attributes, size);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
    return before;
}

START_TEST(works_where_threads_cannot_be_started)
{
    struct attn_pool *none = create_pool(8), *some = create_pool(8);
    size_t before;

    run_recorded(some, 2);                    /* starts one */
    before = set_stack_size((size_t)1 << 47); /* more than there are addresses */
    for (int i = 0; i < 3; i++) {
        run_recorded(none, 100);
        run_recorded(some, 100);
    }
    set_stack_size(before);
    attn_pool_free(none);
    attn_pool_free(some);
}
END_TEST

/* The cores that a worker may run on, told while the caller waits in the other task. */
struct whereabouts {
    cpu_set_t cores;
    atomic_bool is_known;
};

static void tell_cores(void *context, size_t task, int worker)
{
    struct whereabouts *at = context;

    (void)task;
    if (worker == 0) {
        while (!at->is_known)
            sched_yield();
    } else {
        ck_assert_int_eq(sched_getaffinity(0, sizeof at->cores, &at->cores), 0);
        at->is_known = true;
    }
}

static void find_cores(struct attn_pool *pool, struct whereabouts *at)
{
    at->is_known = false;
    attn_pool_run(pool, 2, tell_cores, at);
}

/* Leaves this thread the COUNT first cores of ALL. */
static void keep_cores(const cpu_set_t *all, int count)
{
    cpu_set_t kept = *all;

    for (int core = CPU_SETSIZE - 1; CPU_COUNT(&kept) > count; core--)
        CPU_CLR(core, &kept);
    ck_assert_int_eq(sched_setaffinity(0, sizeof kept, &kept), 0);
}

/* Stores the cores of the caller in *ALL and keeps COUNT of them; false if there are fewer. */
static bool find_cores_to_keep(cpu_set_t *all, int count)
{
    ck_assert_int_eq(sched_getaffinity(0, sizeof *all, all), 0);
    if (CPU_COUNT(all) < count)
        return false;
    keep_cores(all, count);
    return true;
}

START_TEST(young_workers_keep_off_the_callers_core)
{
    const struct timespec youth = {.tv_nsec = 150 * 1000 * 1000};
    struct whereabouts at;
    struct attn_pool *pool;
    cpu_set_t all;

    if (!find_cores_to_keep(&all, 2))
        return;
    for (int i = 0; i < 20; i++) {
        const int before = sched_getcpu();

        pool = create_pool(2);
        find_cores(pool, &at);
        ck_assert_int_eq(CPU_COUNT(&at.cores), 1);
        ck_assert(before != sched_getcpu() || !CPU_ISSET(before, &at.cores));
        if (i % 5 == 4) { /* go to the other core */
            keep_cores(&at.cores, 1);
            keep_cores(&all, 2);
        }
        if (i == 19) {
            nanosleep(&youth, NULL);
            find_cores(pool, &at);
            ck_assert_int_eq(CPU_COUNT(&at.cores), 2);
        }
        attn_pool_free(pool);
    }
}
END_TEST

START_TEST(young_workers_follow_the_caller)
{
    struct whereabouts at;
    struct attn_pool *pool;
    cpu_set_t all;

    if (!find_cores_to_keep(&all, 2))
        return;
    pool = create_pool(2);
    for (int i = 0; i < 20; i++) {
        const int before = sched_getcpu();

        find_cores(pool, &at);
        if (CPU_COUNT(&at.cores) == 2) /* it was not quick enough */
            break;
        ck_assert(before != sched_getcpu() || !CPU_ISSET(before, &at.cores));
        keep_cores(&at.cores, 1); /* go to the other core */
        keep_cores(&all, 2);
    }
    attn_pool_free(pool);
}
END_TEST

/* Needs three cores: with two there is never one too few. */
START_TEST(a_caller_with_few_cores_leaves_workers_theirs)
{
    struct whereabouts at;
    struct attn_pool *pool;
    cpu_set_t all, mine;

    if (!find_cores_to_keep(&all, 3))
        return;
    pool = create_pool(3);
    find_cores(pool, &at);
    mine = at.cores; /* to another core, and two in all for a caller and two workers */
    ck_assert_int_eq(sched_setaffinity(0, sizeof mine, &mine), 0);
    find_cores(pool, &at);
    ck_assert_int_eq(CPU_COUNT(&at.cores), 2);
    attn_pool_free(pool);
}
END_TEST

START_TEST(more_threads_than_cores_go_anywhere)
{
    struct whereabouts at;
    struct attn_pool *pool;
    cpu_set_t all;

    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    keep_cores(&all, 1);
    pool = create_pool(2);
    keep_cores(&all, CPU_COUNT(&all));
    find_cores(pool, &at);
    ck_assert(CPU_EQUAL(&at.cores, &all));
    attn_pool_free(pool);
}
END_TEST

START_TEST(unused_pools_start_no_thread)
{
    for (int i = 0; i < 1000; i++)
        attn_pool_free(create_pool(1 + i));
    attn_pool_free(NULL);
}
END_TEST

START_TEST(thread_counts_out_of_range_are_refused)
{
    struct attn_pool *pool = NULL;
    struct attn_error err = {0};
    cpu_set_t set;

    ck_assert_int_eq(attn_pool_create(-1, &pool, NULL), ATTN_INVALID);
    ck_assert_int_eq(attn_pool_create(1025, &pool, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "1025 threads, expected 1 to 1024 or 0 for all cores");
    ck_assert_ptr_null(pool);

    pool = create_pool(0);
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    ck_assert_int_eq(attn_pool_n_thread(pool), CPU_COUNT(&set));
    attn_pool_free(pool);
    ck_assert_int_eq(attn_pool_n_thread(NULL), 1);
}
END_TEST

START_TEST(creation_survives_lack_of_memory)
{
    struct attn_pool *pool = NULL;
    long n = 0;

    for (;; n++) {
        struct attn_error err = {0};
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_pool_create(4, &pool, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(pool);
    }
    ck_assert_int_eq(n, 2);
    attn_pool_free(pool);
}
END_TEST

ATTN_SUITE("base pool", every_task_runs_once, runs_follow_each_other,
           runs_after_a_pause_wake_the_threads, tasks_run_at_the_same_time, callers_share_a_pool,
           a_second_caller_works_alone_as_worker_0, one_task_stays_with_the_caller,
           works_where_threads_cannot_be_started, young_workers_keep_off_the_callers_core,
           young_workers_follow_the_caller, a_caller_with_few_cores_leaves_workers_theirs,
           more_threads_than_cores_go_anywhere, unused_pools_start_no_thread,
           thread_counts_out_of_range_are_refused, creation_survives_lack_of_memory)
