/*
 * bench.c - the table of parts, how one part is measured, and a run of some of them. The limits of
 * the machine are measured beside each part, by the threads that do the work.
 */
#include "bench/bench_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool_internal.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "base/thread.h"
#include "model/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_BYTES = 256 << 20, /* several times the largest cache */
    N_RANDOM = 1 << 22,
};

#define PART_MAP(X)                                                                                \
    X(limit)                                                                                       \
    X(product)                                                                                     \
    X(pack)                                                                                        \
    X(softmax)                                                                                     \
    X(attention)                                                                                   \
    X(prefill)                                                                                     \
    X(feed)                                                                                        \
    X(gradients)                                                                                   \
    X(decode)                                                                                      \
    X(batch)                                                                                       \
    X(load)                                                                                        \
    X(write)

static const struct {
    const char *name;
    attn_bench_part_fn run;
} parts[] = {
#define PART_ROW(name) {#name, attn_bench_##name},
    PART_MAP(PART_ROW)
#undef PART_ROW
};
enum { N_PART = sizeof parts / sizeof *parts };

const char *attn_bench_parts(void)
{
#define PART_NAME(name) "," #name
    return (PART_MAP(PART_NAME)) + 1;
#undef PART_NAME
}

enum attn_status attn_bench_table(struct attn_table **table, struct attn_error *err)
{
#define FIGURES(n) .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIGURES, .digits = (n)
    static const struct attn_column columns[] = {
        {.name = "part", .type = ATTN_VALUE_TEXT},
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "seconds", .unit = "s", FIGURES(9)},
        {.name = "share", FIGURES(4)},
        {.name = "gflops", .unit = "GFLOP/s", FIGURES(6)},
        {.name = "gbytes_per_second", .unit = "GB/s", FIGURES(6)},
        {.name = "rounds", .type = ATTN_VALUE_INTEGER},
        {.name = "limit_gflops", .unit = "GFLOP/s", FIGURES(6)},
        {.name = "limit_gbytes_per_second", .unit = "GB/s", FIGURES(6)},
    };
#undef FIGURES

    return attn_table_create("bench", columns, sizeof columns / sizeof *columns, table, err);
}

enum attn_status attn_bench_table_append(struct attn_table *table, const struct attn_bench_row *row,
                                         struct attn_error *err)
{
    const struct attn_cell cells[] = {
        attn_cell_text(row->part, strlen(row->part)),
        attn_cell_text(row->name, strlen(row->name)),
        attn_cell_real(row->seconds),
        attn_cell_real(row->share),
        attn_cell_real(1e-9 * row->n_flop / row->seconds),
        attn_cell_real(1e-9 * row->n_byte / row->seconds),
        attn_cell_integer((int64_t)row->n_round),
        attn_cell_real(1e-9 * row->limits.flops),
        attn_cell_real(1e-9 * row->limits.bytes),
    };

    return attn_table_append(table, cells, sizeof cells / sizeof *cells, err);
}

/* --- Times and lengths ------------------------------------------------------------------------ */

enum { SPIN_ROUNDS = 100000, READ_BYTES = 64 << 20, MAX_ROUNDS = 1000, MIN_ROUNDS = 5 };

/* A round of a short part is as many runs of it as take so long. */
static const double shortest_round = 1e-3;

size_t attn_bench_length(const struct attn_bench *bench, size_t i)
{
    static const size_t lengths[] = {6, 32, 128, 512, 1024};

    if (i >= sizeof lengths / sizeof *lengths || lengths[i] > bench->config->n_ctx)
        return 0;
    return lengths[i];
}

int32_t attn_bench_id(const struct attn_bench *bench, size_t i)
{
    return (int32_t)((i * 7919 + 13) % bench->config->n_vocab);
}

/* --- Limits ----------------------------------------------------------------------------------- */

struct reading {
    const struct attn_bench *bench;
    size_t first, n; /* floats of the memory that are read this time */
};

static void spin(void *context, size_t task, int worker)
{
    const struct attn_bench *bench = context;

    (void)task, (void)worker;
    bench->gemm.kernels->spin(SPIN_ROUNDS);
}

static void read_memory(void *context, size_t task, int worker)
{
    const struct reading *reading = context;
    const size_t n = reading->n / (size_t)reading->bench->n_thread;
    volatile float seen;

    (void)worker;
    seen = reading->bench->gemm.kernels->sum(reading->bench->memory + reading->first + task * n, n);
    (void)seen;
}

/* Another part of the memory each time, which the caches have forgotten. */
static struct reading next_read(struct attn_bench *bench)
{
    struct reading reading = {bench, bench->next_read, READ_BYTES / sizeof(float)};

    bench->next_read += reading.n;
    if (bench->next_read + reading.n > bench->n_memory)
        bench->next_read = 0;
    return reading;
}

static struct attn_bench_limits find_limits(struct attn_bench *bench)
{
    const size_t n_thread = (size_t)bench->n_thread;
    struct reading reading = next_read(bench);
    const double per_thread = bench->gemm.kernels->spin(1) * SPIN_ROUNDS;
    struct attn_bench_limits limits;
    double begun = attn_clock_seconds();

    attn_pool_run(bench->options->pool, n_thread, spin, bench);
    limits.flops = 2 * per_thread * (double)n_thread / (attn_clock_seconds() - begun);
    begun = attn_clock_seconds();
    attn_pool_run(bench->options->pool, n_thread, read_memory, &reading);
    limits.bytes = READ_BYTES / (attn_clock_seconds() - begun);
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

/* Seconds of one run: the mean of N. */
static enum attn_status time_round(const struct attn_bench_part *part, size_t n, double *seconds,
                                   struct attn_error *err)
{
    double begun;

    if (part->prepare)
        ATTN_TRY(part->prepare(part->context, err));
    begun = attn_clock_seconds();
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(part->run(part->context, err));
    *seconds = (attn_clock_seconds() - begun) / (double)n;
    return ATTN_OK;
}

/* The measurements of each round. */
struct rounds {
    double seconds[MAX_ROUNDS], shares[MAX_ROUNDS];
    double flops[MAX_ROUNDS],
        bytes[MAX_ROUNDS]; /* limits of the machine; unused for parts that define another limit */
};

/* Seconds that the machine needs at least, measured now, for round I. */
static double find_limit(struct attn_bench *bench, const struct attn_bench_part *part,
                         struct rounds *rounds, size_t i)
{
    struct attn_bench_limits limits;
    double computing, reading;

    if (part->limit)
        return part->limit(part->context);
    limits = find_limits(bench);
    rounds->flops[i] = limits.flops;
    rounds->bytes[i] = limits.bytes;
    computing = part->n_flop / limits.flops;
    reading = part->n_byte / limits.bytes;
    return computing > reading ? computing : reading;
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
    ATTN_TRY(time_round(part, 1, &first, err)); /* also warms up */
    if (first < shortest_round && !part->prepare)
        n_run = (size_t)(shortest_round / (first + 1e-9)) + 1;
    while (row.n_round < MAX_ROUNDS &&
           (row.n_round < MIN_ROUNDS || attn_clock_seconds() - begun < options->seconds)) {
        const double limit = find_limit(bench, part, &rounds, row.n_round);

        if (attn_is_canceled(options->cancel))
            return attn_error_set(err, ATTN_CANCELED, "canceled");
        ATTN_TRY(time_round(part, n_run, &rounds.seconds[row.n_round], err));
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

/* The limits themselves, as rows: a round of each is measured beside every other part. */
static enum attn_status run_spin(void *context, struct attn_error *err)
{
    struct attn_bench *bench = context;

    (void)err;
    attn_pool_run(bench->options->pool, (size_t)bench->n_thread, spin, bench);
    return ATTN_OK;
}

static enum attn_status run_read(void *context, struct attn_error *err)
{
    struct attn_bench *bench = context;
    struct reading reading = next_read(bench);

    (void)err;
    attn_pool_run(bench->options->pool, (size_t)bench->n_thread, read_memory, &reading);
    return ATTN_OK;
}

enum attn_status attn_bench_limit(struct attn_bench *bench, struct attn_error *err)
{
    const double n_spin = 2 * bench->gemm.kernels->spin(1) * SPIN_ROUNDS * (double)bench->n_thread;
    const struct attn_bench_part rows[] = {
        {.name = "multiply-adds", .n_flop = n_spin, .run = run_spin, .context = bench},
        {.name = "reading memory", .n_byte = READ_BYTES, .run = run_read, .context = bench},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ATTN_TRY(attn_bench_measure(bench, &rows[i], err));
    return ATTN_OK;
}

/* --- A run ------------------------------------------------------------------------------------ */

/* Which parts LIST names; all when it is NULL. */
static enum attn_status read_parts(const char *list, bool wanted[N_PART], struct attn_error *err)
{
    for (size_t i = 0; i < N_PART; i++)
        wanted[i] = !list;
    for (const char *at = list; at && *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        size_t i = 0;

        while (i < N_PART && (strlen(parts[i].name) != n || memcmp(at, parts[i].name, n) != 0))
            i++;
        if (i == N_PART)
            return attn_error_set(err, ATTN_INVALID, "unknown part '%s', expected some of %s",
                                  attn_quote(at, n).text, attn_bench_parts());
        wanted[i] = true;
        at += n;
    }
    return ATTN_OK;
}

static enum attn_status run_parts(struct attn_bench *bench, const bool wanted[N_PART],
                                  struct attn_error *err)
{
    struct attn_random random;

    bench->memory = attn_alloc(bench->n_memory, sizeof *bench->memory, err);
    bench->random = attn_alloc(bench->n_random, sizeof *bench->random, err);
    if (!bench->memory || !bench->random)
        return ATTN_NO_MEMORY;
    attn_random_seed(&random, 1);
    attn_random_fill_uniform(&random, bench->random, bench->n_random, -1, 1);
    for (size_t i = 0; i < bench->n_memory; i += bench->n_random)
        memcpy(bench->memory + i, bench->random, bench->n_random * sizeof *bench->memory);
    for (size_t i = 0; i < N_PART; i++)
        if (wanted[i]) {
            bench->part = parts[i].name;
            ATTN_TRY(parts[i].run(bench, err));
        }
    return ATTN_OK;
}

enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err)
{
    struct attn_bench bench = {.options = options,
                               .config = attn_model_config(options->model),
                               .n_memory = MEMORY_BYTES / sizeof(float),
                               .n_random = N_RANDOM};
    bool wanted[N_PART];
    enum attn_status status;

    ATTN_TRY(read_parts(options->parts, wanted, err));
    bench.n_thread = options->pool ? attn_pool_n_thread(options->pool) : 1;
    bench.gemm = attn_gemm_engine_start_for(options->model->compute, options->gemm, options->isa,
                                            (double)INFINITY);
    if (bench.gemm.lacks_memory)
        return attn_error_no_memory(err);
    status = run_parts(&bench, wanted, err);
    attn_free(bench.memory);
    attn_free(bench.random);
    return status;
}
