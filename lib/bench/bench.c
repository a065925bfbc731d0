/* bench.c - the table of parts, and how one is measured. */
#include "bench/bench_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "model/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MEMORY_BYTES = 256 << 20, /* several times the largest cache */
    N_RANDOM = 1 << 22,
    MOST_ROUNDS = 1000,
    LEAST_ROUNDS = 5,
};

/* A round of a short part is as many runs of it as take so long. */
static const double least_round = 1e-3;

#define PART_MAP(X)                                                                                \
    X(limit)                                                                                       \
    X(product)                                                                                     \
    X(pack)                                                                                        \
    X(softmax)                                                                                     \
    X(attention)                                                                                   \
    X(prefill)                                                                                     \
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

double attn_bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

size_t attn_bench_length(const struct attn_bench *bench, size_t i)
{
    static const size_t lengths[] = {6, 32, 128, 512, 1024};

    if (i >= sizeof lengths / sizeof *lengths || lengths[i] > bench->config->n_ctx)
        return 0;
    return lengths[i];
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Seconds of one run: the mean of N. */
static enum attn_status time_round(const struct attn_bench_part *part, size_t n, double *seconds,
                                   struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    double begun;

    if (part->prepare)
        status = part->prepare(part->context, err);
    begun = attn_bench_now();
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = part->run(part->context, err);
    *seconds = (attn_bench_now() - begun) / (double)n;
    return status;
}

/* What was measured in each round. */
struct rounds {
    double seconds[MOST_ROUNDS], shares[MOST_ROUNDS];
    double flops[MOST_ROUNDS], bytes[MOST_ROUNDS]; /* limits of the machine; unused for parts with a
                                                      limit of their own */
};

/* Seconds that the machine needs at least, measured now, for round I. */
static double find_limit(struct attn_bench *bench, const struct attn_bench_part *part,
                         struct rounds *rounds, size_t i)
{
    struct attn_bench_limits limits;
    double computing, reading;

    if (part->limit)
        return part->limit(part->context);
    limits = attn_bench_find_limits(bench);
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
        .part = part->part, .n_flop = part->n_flop, .n_byte = part->n_byte};
    struct rounds rounds;
    double first;
    const double begun = attn_bench_now();
    enum attn_status status = time_round(part, 1, &first, err); /* also warms up */
    const bool is_short = first < least_round && !part->prepare;
    const size_t n_run = is_short ? (size_t)(least_round / (first + 1e-9)) + 1 : 1;

    snprintf(row.name, sizeof row.name, "%s", part->name);
    while (status == ATTN_OK && row.n_round < MOST_ROUNDS &&
           (row.n_round < LEAST_ROUNDS || attn_bench_now() - begun < options->seconds)) {
        const double limit = find_limit(bench, part, &rounds, row.n_round);

        if (options->cancel && *options->cancel != 0)
            return attn_error_set(err, ATTN_CANCELED, "canceled");
        status = time_round(part, n_run, &rounds.seconds[row.n_round], err);
        rounds.shares[row.n_round] = limit / rounds.seconds[row.n_round];
        row.n_round++;
    }
    if (status != ATTN_OK)
        return status;
    row.seconds = median(rounds.seconds, row.n_round);
    row.share = median(rounds.shares, row.n_round);
    if (!part->limit)
        row.limits = (struct attn_bench_limits){median(rounds.flops, row.n_round),
                                                median(rounds.bytes, row.n_round)};
    return options->on_row(options->user, &row, err);
}

/* Whether LIST, which may be NULL for all, has NAME. */
static bool has_part(const char *list, const char *name)
{
    const size_t size = strlen(name);

    if (!list)
        return true;
    for (const char *at = list; *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");

        if (n == size && memcmp(at, name, size) == 0)
            return true;
        at += n;
    }
    return false;
}

static enum attn_status check_parts(const char *list, struct attn_error *err)
{
    for (const char *at = list; at && *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        bool is_known = false;

        for (size_t i = 0; i < N_PART; i++)
            is_known =
                is_known || (strlen(parts[i].name) == n && memcmp(at, parts[i].name, n) == 0);
        if (!is_known)
            return attn_error_set(err, ATTN_INVALID, "unknown part '%s', expected some of %s",
                                  attn_quote(at, n).text, attn_bench_parts());
        at += n;
    }
    return ATTN_OK;
}

enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err)
{
    struct attn_bench bench = {.options = options,
                               .config = attn_model_config(options->model),
                               .n_memory = MEMORY_BYTES / sizeof(float),
                               .n_random = N_RANDOM};
    struct attn_random random;
    enum attn_status status = check_parts(options->parts, err);

    if (status != ATTN_OK)
        return status;
    bench.n_thread = options->pool ? attn_pool_n_thread(options->pool) : 1;
    bench.gemm = attn_gemm_engine_start_for(options->model->compute, options->gemm, options->isa,
                                            (double)INFINITY);
    if (bench.gemm.lacks_memory)
        return attn_error_no_memory(err);
    bench.memory = attn_alloc(bench.n_memory, sizeof *bench.memory, err);
    bench.random = attn_alloc(bench.n_random, sizeof *bench.random, err);
    status = !bench.memory || !bench.random ? ATTN_NO_MEMORY : ATTN_OK;
    if (status == ATTN_OK) {
        attn_random_seed(&random, 1);
        attn_random_fill_uniform(&random, bench.random, bench.n_random, -1, 1);
        for (size_t i = 0; i < bench.n_memory; i += bench.n_random)
            memcpy(bench.memory + i, bench.random, bench.n_random * sizeof *bench.memory);
    }
    for (size_t i = 0; status == ATTN_OK && i < N_PART; i++)
        if (has_part(options->parts, parts[i].name))
            status = parts[i].run(&bench, err);
    attn_free(bench.memory);
    attn_free(bench.random);
    return status;
}
