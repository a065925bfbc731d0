/* bench.c - the table of rows, and a run of the chosen parts. */
#include "inspect/bench_internal.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool_internal.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "model/model_internal.h"
#include "tables/table_internal.h"

#include <math.h>
#include <string.h>

enum {
    MEMORY_BYTES = 256 << 20, /* several times the size of the largest cache */
    N_RANDOM = 1 << 22,
};

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
        {.name = ATTN_ROW_TYPE, .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_ROW_TYPE},
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
        attn_cell_text(ATTN_ROW_DATA, strlen(ATTN_ROW_DATA)),
    };

    return attn_table_append(table, cells, sizeof cells / sizeof *cells, err);
}

/* Marks in WANTED those of KINDS [n] that LIST names; all if LIST is NULL. */
static enum attn_status read_parts(const char *list, const struct attn_bench_kind *kinds, size_t n,
                                   bool *wanted, struct attn_error *err)
{
    char names[128];
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        attn_fixed_text_append(names, sizeof names, &used, i > 0 ? ",%s" : "%s", kinds[i].name);
        wanted[i] = !list;
    }
    for (const char *at = list; at && *at != '\0'; at += *at == ',') {
        const size_t size = strcspn(at, ",");
        size_t i = 0;

        while (i < n && (strlen(kinds[i].name) != size || memcmp(at, kinds[i].name, size) != 0))
            i++;
        if (i == n)
            return attn_error_set(err, ATTN_INVALID, "unknown part '%s', expected some of %s",
                                  attn_quote(at, size).text, names);
        wanted[i] = true;
        at += size;
    }
    return ATTN_OK;
}

static enum attn_status run_parts(struct attn_bench *bench, const struct attn_bench_kind *kinds,
                                  size_t n, const bool *wanted, struct attn_error *err)
{
    struct attn_random random;

    ATTN_TRY(ATTN_ALLOC(bench->memory, bench->n_memory, err));
    ATTN_TRY(ATTN_ALLOC(bench->random, bench->n_random, err));
    attn_random_seed(&random, 1);
    attn_random_fill_uniform(&random, bench->random, bench->n_random, -1, 1);
    for (size_t i = 0; i < bench->n_memory; i += bench->n_random)
        memcpy(bench->memory + i, bench->random, bench->n_random * sizeof *bench->memory);
    for (size_t i = 0; i < n; i++)
        if (wanted[i]) {
            bench->part = kinds[i].name;
            ATTN_TRY(kinds[i].run(bench, err));
        }
    return ATTN_OK;
}

/* Sets the lengths of prompts: those of LIST, or by default those that the model takes. */
static enum attn_status read_lengths(const char *list, struct attn_bench *bench,
                                     struct attn_error *err)
{
    const char *text = list ? list : "6,32,128,512,1024";
    const size_t n_ctx = bench->config->n_ctx;

    for (size_t n = 0;; text++) {
        const size_t size = strcspn(text, ",");
        int64_t length;

        if (!attn_parse_int(text, size, 1, INT32_MAX, &length) || n == ATTN_BENCH_MOST_LENGTHS)
            return attn_error_set(err, ATTN_INVALID,
                                  "lengths is '%s', expected up to %d numbers of tokens, "
                                  "separated by commas",
                                  attn_quote_string(list).text, ATTN_BENCH_MOST_LENGTHS);
        if ((size_t)length <= n_ctx)
            bench->lengths[n++] = (size_t)length;
        else if (list)
            return attn_error_set(err, ATTN_INVALID,
                                  "lengths has %lld tokens, the model takes at most %zu",
                                  (long long)length, n_ctx);
        text += size;
        if (*text == '\0')
            return ATTN_OK;
    }
}

enum attn_status attn_bench_run_kinds(const struct attn_bench_options *options,
                                      const struct attn_bench_kind *kinds, size_t n,
                                      struct attn_error *err)
{
    struct attn_bench bench = {.options = options,
                               .config = attn_model_config(options->model),
                               .n_memory = MEMORY_BYTES / sizeof(float),
                               .n_random = N_RANDOM};
    bool wanted[ATTN_BENCH_MOST_KINDS];
    enum attn_status status;

    ATTN_TRY(read_parts(options->parts, kinds, n, wanted, err));
    ATTN_TRY(read_lengths(options->lengths, &bench, err));
    bench.n_thread = options->pool ? attn_pool_n_thread(options->pool) : 1;
    bench.gemm = attn_gemm_engine_start_for(options->model->compute, options->gemm, options->isa,
                                            (double)INFINITY);
    if (bench.gemm.lacks_memory)
        return attn_error_no_memory(err);
    status = run_parts(&bench, kinds, n, wanted, err);
    attn_free(bench.memory);
    attn_free(bench.random);
    return status;
}

enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err)
{
    static const struct attn_bench_kind kinds[] = {
        {"prefill", attn_bench_prefill}, {"feed", attn_bench_feed}, {"decode", attn_bench_decode}};

    return attn_bench_run_kinds(options, kinds, sizeof kinds / sizeof *kinds, err);
}
