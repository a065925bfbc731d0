/* bench_limits.c - what the machine can do, measured by the threads that do the work. */
#include "base/pool_internal.h"
#include "bench/bench_internal.h"

enum { SPIN_ROUNDS = 100000, READ_BYTES = 64 << 20 };

struct work {
    const struct attn_bench *bench;
    size_t first, n; /* floats of the memory that are read this time */
};

static void spin(void *context, size_t task, int worker)
{
    const struct work *work = context;

    (void)task, (void)worker;
    work->bench->gemm.kernels->spin(SPIN_ROUNDS);
}

static void read_memory(void *context, size_t task, int worker)
{
    const struct work *work = context;
    const size_t n = work->n / (size_t)work->bench->n_thread;
    volatile float seen;

    (void)worker;
    seen = work->bench->gemm.kernels->sum(work->bench->memory + work->first + task * n, n);
    (void)seen;
}

/* Another part of the memory each time, which the caches have forgotten. */
static struct work next_read(struct attn_bench *bench)
{
    struct work work = {bench, bench->next_read, READ_BYTES / sizeof(float)};

    bench->next_read += work.n;
    if (bench->next_read + work.n > bench->n_memory)
        bench->next_read = 0;
    return work;
}

struct attn_bench_limits attn_bench_find_limits(struct attn_bench *bench)
{
    const size_t n_thread = (size_t)bench->n_thread;
    struct work work = next_read(bench);
    const double per_thread = bench->gemm.kernels->spin(1) * SPIN_ROUNDS;
    struct attn_bench_limits limits;
    double begun = attn_bench_now();

    attn_pool_run(bench->options->pool, n_thread, spin, &work);
    limits.flops = 2 * per_thread * (double)n_thread / (attn_bench_now() - begun);
    begun = attn_bench_now();
    attn_pool_run(bench->options->pool, n_thread, read_memory, &work);
    limits.bytes = READ_BYTES / (attn_bench_now() - begun);
    return limits;
}

/* The limits themselves, as rows: a round of each is what stands beside every other part. */
static enum attn_status run_spin(void *context, struct attn_error *err)
{
    struct attn_bench *bench = context;
    struct work work = {bench, 0, 0};

    (void)err;
    attn_pool_run(bench->options->pool, (size_t)bench->n_thread, spin, &work);
    return ATTN_OK;
}

static enum attn_status run_read(void *context, struct attn_error *err)
{
    struct attn_bench *bench = context;
    struct work work = next_read(bench);

    (void)err;
    attn_pool_run(bench->options->pool, (size_t)bench->n_thread, read_memory, &work);
    return ATTN_OK;
}

enum attn_status attn_bench_limit(struct attn_bench *bench, struct attn_error *err)
{
    const double n_spin = 2 * bench->gemm.kernels->spin(1) * SPIN_ROUNDS * (double)bench->n_thread;
    const struct attn_bench_part parts[] = {
        {.part = "limit", .name = "multiply-adds", .n_flop = n_spin, .run = run_spin},
        {.part = "limit", .name = "reading memory", .n_byte = READ_BYTES, .run = run_read},
    };
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < 2; i++) {
        struct attn_bench_part part = parts[i];

        part.context = bench;
        status = attn_bench_measure(bench, &part, err);
    }
    return status;
}
