/* bench.c - a run of the chosen parts. */
#include "tests/bench/parts/parts.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "model/model_internal.h"

#include <math.h>
#include <string.h>

struct attn_source bench_source;

/* The kinds of parts, and their names. */
static const struct kind {
    const char *name;
    attn_bench_part_fn *run;
} kinds[] = {
    {"prefill", bench_prefill},     {"feed", bench_feed},           {"decode", bench_decode},
    {"product", bench_product},     {"pack", bench_pack},           {"softmax", bench_softmax},
    {"attention", bench_attention}, {"gradients", bench_gradients}, {"batch", bench_batch},
    {"load", bench_load},           {"write", bench_write}};

enum {
    N_KIND = sizeof kinds / sizeof *kinds,
    MEMORY_BYTES = 256 << 20, /* several times the size of the largest cache */
    N_RANDOM = 1 << 22,
};

/* Marks in WANTED [N_KIND] the kinds that LIST names; all if LIST is NULL. */
static enum attn_status read_parts(const char *list, bool *wanted, struct attn_error *err)
{
    char names[128];
    size_t used = 0;

    for (size_t i = 0; i < N_KIND; i++) {
        attn_fixed_text_append(names, sizeof names, &used, i > 0 ? ",%s" : "%s", kinds[i].name);
        wanted[i] = !list;
    }
    for (const char *at = list; at && *at != '\0'; at += *at == ',') {
        const size_t size = strcspn(at, ",");
        size_t i = 0;

        while (i < N_KIND &&
               (strlen(kinds[i].name) != size || memcmp(at, kinds[i].name, size) != 0))
            i++;
        if (i == N_KIND)
            return attn_error_set(err, ATTN_INVALID, "unknown part '%s', expected some of %s",
                                  attn_quote(at, size).text, names);
        wanted[i] = true;
        at += size;
    }
    return ATTN_OK;
}

static enum attn_status run_parts(struct attn_bench *bench, const bool *wanted,
                                  struct attn_error *err)
{
    struct attn_random random;

    ATTN_TRY(ATTN_ALLOC(bench->memory, bench->n_memory, err));
    ATTN_TRY(ATTN_ALLOC(bench->random, bench->n_random, err));
    attn_random_seed(&random, 1);
    attn_random_fill_uniform(&random, bench->random, bench->n_random, -1, 1);
    for (size_t i = 0; i < bench->n_memory; i += bench->n_random)
        memcpy(bench->memory + i, bench->random, bench->n_random * sizeof *bench->memory);
    for (size_t i = 0; i < N_KIND; i++)
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

enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err)
{
    struct attn_bench bench = {.options = options,
                               .config = attn_model_config(options->model),
                               .n_memory = MEMORY_BYTES / sizeof(float),
                               .n_random = N_RANDOM};
    bool wanted[N_KIND];
    enum attn_status status;

    ATTN_TRY(read_parts(options->parts, wanted, err));
    ATTN_TRY(read_lengths(options->lengths, &bench, err));
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
