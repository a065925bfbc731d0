/*
 * parts.c - how fast the parts of a model are, as shares of what the machine can do (make
 * bench-parts). attn-cli bench measures the whole.
 *
 *     bench_parts [--model DIR] [--threads N] [--parts LIST] [--lengths N,...] [--seconds S]
 * [--compute bf16]
 *                 [--clock cpu] [--isa avx2]
 *
 * product: linear maps as a feed runs them, each layer's weights from memory. pack: their weights
 * into panels. softmax: of one thread. attention: a layer's heads, every matrix kept. gradients: a
 * feed and its backward pass. batch: many short texts, one at a time and several at once. load:
 * opening, and with the first 6 tokens. write: every writer beside write(2) of as many bytes, into
 * the current folder, where nothing stays. Rows are CSV, with the columns of attn-cli bench.
 */
#include "tests/bench/parts/parts.h"

#include "base/sink_internal.h"
#include "tables/table_writer_internal.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attn_source bench_source = {.directory = "models/fable"};

static const struct attn_bench_kind kinds[] = {
    {"product", bench_product},     {"pack", bench_pack},           {"softmax", bench_softmax},
    {"attention", bench_attention}, {"gradients", bench_gradients}, {"batch", bench_batch},
    {"load", bench_load},           {"write", bench_write}};

/* The table of rows, and where they go. */
struct output {
    struct attn_table *rows;
    struct attn_sink *sink;
};

static enum attn_status write_row(void *user, const struct attn_bench_row *row,
                                  struct attn_error *err)
{
    const struct output *output = user;
    const size_t n = attn_table_n_row(output->rows);

    ATTN_TRY(attn_bench_table_append(output->rows, row, err));
    ATTN_TRY(attn_table_write_row(output->rows, n, ATTN_TABLE_CSV, -1, output->sink, err));
    attn_sink_flush(output->sink);
    return attn_sink_check(output->sink, err);
}

static void read_arguments(int argc, char **argv, struct attn_bench_options *options, int *n_thread,
                           struct attn_model_options *model)
{
    static const struct option names[] = {
        {"model", 1, NULL, 'm'},   {"threads", 1, NULL, 't'}, {"parts", 1, NULL, 'p'},
        {"seconds", 1, NULL, 's'}, {"compute", 1, NULL, 'c'}, {"lengths", 1, NULL, 'l'},
        {"clock", 1, NULL, 'k'},   {"isa", 1, NULL, 'i'},     {NULL, 0, NULL, 0}};

    for (int c; (c = getopt_long(argc, argv, "m:t:", names, NULL)) != -1;) {
        if (c == 'm')
            bench_source.directory = optarg;
        else if (c == 't')
            *n_thread = (int)strtol(optarg, NULL, 10);
        else if (c == 'p')
            options->parts = optarg;
        else if (c == 's')
            options->seconds = strtod(optarg, NULL);
        else if (c == 'c')
            model->compute = strcmp(optarg, "bf16") == 0 ? ATTN_COMPUTE_BF16 : ATTN_COMPUTE_F32;
        else if (c == 'l')
            options->lengths = optarg;
        else if (c == 'k')
            options->is_cpu = strcmp(optarg, "cpu") == 0;
        else if (c == 'i')
            options->isa = strcmp(optarg, "avx2") == 0 ? ATTN_ISA_AVX2 : ATTN_ISA_BEST;
        else
            exit(2);
    }
}

static enum attn_status measure(int argc, char **argv, struct attn_error *err)
{
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_pool *pool;
    struct attn_model *model;
    struct output output;
    int n_thread = 0;

    read_arguments(argc, argv, &options, &n_thread, &model_options);
    ATTN_TRY(attn_pool_create(n_thread, &pool, err));
    model_options.reuse = true;
    model_options.pool = pool;
    model_options.isa = options.isa;
    ATTN_TRY(attn_model_open(&bench_source, &model_options, &model, err));
    ATTN_TRY(attn_bench_table(&output.rows, err));
    ATTN_TRY(attn_sink_create_descriptor(1, "standard output", &output.sink, err));
    ATTN_TRY(attn_table_write(output.rows, ATTN_TABLE_CSV, -1, output.sink, err));
    options.model = model;
    options.pool = pool;
    options.on_row = write_row;
    options.user = &output;
    return attn_bench_run_kinds(&options, kinds, sizeof kinds / sizeof *kinds, err);
}

int main(int argc, char **argv)
{
    struct attn_error err = {0};

    if (measure(argc, argv, &err) == ATTN_OK)
        return 0;
    fprintf(stderr, "bench_parts: %s\n", err.message);
    return 1;
}
