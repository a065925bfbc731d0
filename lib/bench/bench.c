/* bench.c - the table of parts, and a run of some of them. */
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

    ATTN_TRY(ATTN_ALLOC(bench->memory, bench->n_memory, err));
    ATTN_TRY(ATTN_ALLOC(bench->random, bench->n_random, err));
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
