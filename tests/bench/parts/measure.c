/* measure.c - measures one part. The limits of the machine are measured beside each round, by
 * the threads that do the work. */
#include "tests/bench/parts/parts.h"

#include "base/os/clock.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "model/config_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* --- Times ------------------------------------------------------------------------------------ */

enum { SPIN_ROUNDS = 100000, READ_BYTES = 64 << 20, MAX_ROUNDS = 1000, MIN_ROUNDS = 5 };

/* Short parts are run several times in a round, so that a round takes at least this long. */
static const double shortest_round = 1e-3;

static double clock_seconds(const struct attn_bench *bench)
{
    return bench->options->is_cpu ? (double)clock() / CLOCKS_PER_SEC : attn_clock_seconds();
}

int32_t attn_bench_id(const struct attn_bench *bench, size_t i)
{
    return (int32_t)((i * 7919 + 13) % bench->config->n_token);
}

/* --- Limits ----------------------------------------------------------------------------------- */

struct memory_read {
    const struct attn_bench *bench;
    size_t first, n; /* the range of floats that is read */
};

static void spin(void *context, size_t task, int worker)
{
    const struct attn_bench *bench = context;

    (void)task, (void)worker;
    bench->gemm.kernels->spin(SPIN_ROUNDS);
}

static void read_memory(void *context, size_t task, int worker)
{
    const struct memory_read *read = context;
    const size_t n = read->n / (size_t)read->bench->n_thread;
    volatile float seen;

    (void)worker;
    seen = read->bench->gemm.kernels->sum(read->bench->memory + read->first + task * n, n);
    (void)seen;
}

/* Returns the next range of the memory to read. By the time a range comes again, the caches have
 * lost it. */
static struct memory_read next_read(struct attn_bench *bench)
{
    struct memory_read read = {bench, bench->next_read, READ_BYTES / sizeof(float)};

    bench->next_read += read.n;
    if (bench->next_read + read.n > bench->n_memory)
        bench->next_read = 0;
    return read;
}

static struct attn_bench_limits find_limits(struct attn_bench *bench)
{
    const size_t n_thread = (size_t)bench->n_thread;
    struct memory_read read = next_read(bench);
    const double per_thread = bench->gemm.kernels->spin(1) * SPIN_ROUNDS;
    struct attn_bench_limits limits;
    double begun = clock_seconds(bench);

    attn_pool_run(bench->options->pool, n_thread, spin, bench);
    limits.flops = 2 * per_thread * (double)n_thread / (clock_seconds(bench) - begun);
    begun = clock_seconds(bench);
    attn_pool_run(bench->options->pool, n_thread, read_memory, &read);
    limits.bytes = READ_BYTES / (clock_seconds(bench) - begun);
    return limits;
}

/* --- Rounds ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    return attn_compare_numbers(*(const double *)a, *(const double *)b);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Runs PART N times; *seconds is the mean time of one run. */
static enum attn_status time_round(const struct attn_bench *bench,
                                   const struct attn_bench_part *part, size_t n, double *seconds,
                                   struct attn_error *err)
{
    double begun;

    if (part->prepare)
        ATTN_TRY(part->prepare(part->context, err));
    begun = clock_seconds(bench);
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(part->run(part->context, err));
    *seconds = (clock_seconds(bench) - begun) / (double)n;
    return ATTN_OK;
}

/* The measurements of all rounds. */
struct rounds {
    double seconds[MAX_ROUNDS], shares[MAX_ROUNDS];
    double flops[MAX_ROUNDS],
        bytes[MAX_ROUNDS]; /* limits of the machine; unused for parts with their own limit */
};

/* Measures, for round I, the least number of seconds that the machine needs for a run. */
static double find_limit(struct attn_bench *bench, const struct attn_bench_part *part,
                         struct rounds *rounds, size_t i)
{
    struct attn_bench_limits limits;
    double computing, read;

    if (part->limit)
        return part->limit(part->context);
    limits = find_limits(bench);
    rounds->flops[i] = limits.flops;
    rounds->bytes[i] = limits.bytes;
    computing = part->n_flop / limits.flops;
    read = part->n_byte / limits.bytes;
    return computing > read ? computing : read;
}

enum attn_status attn_bench_measure(struct attn_bench *bench, const struct attn_bench_part *part,
                                    struct attn_error *err)
{
    const struct attn_bench_options *options = bench->options;
    struct attn_bench_row row = {
        .part = bench->part, .n_flop = part->n_flop, .n_byte = part->n_byte};
    const double begun = attn_clock_seconds();
    struct rounds rounds;
    size_t n_run = 1;
    double first;

    snprintf(row.name, sizeof row.name, "%.*s", ATTN_BENCH_NAME_SIZE - 1, part->name);
    ATTN_TRY(time_round(bench, part, 1, &first, err)); /* also warms up */
    if (first < shortest_round && !part->prepare)
        n_run = (size_t)(shortest_round / (first + 1e-9)) + 1;
    while (row.n_round < MAX_ROUNDS &&
           (row.n_round < MIN_ROUNDS || attn_clock_seconds() - begun < options->seconds)) {
        const double limit = find_limit(bench, part, &rounds, row.n_round);

        ATTN_TRY(time_round(bench, part, n_run, &rounds.seconds[row.n_round], err));
        rounds.shares[row.n_round] = limit / rounds.seconds[row.n_round];
        row.n_round++;
    }
    row.seconds = median(rounds.seconds, row.n_round);
    row.share = median(rounds.shares, row.n_round);
    if (!part->limit)
        row.limits = (struct attn_bench_limits){median(rounds.flops, row.n_round),
                                                median(rounds.bytes, row.n_round)};
    return options->on_row(options->user, &row, err);
}
