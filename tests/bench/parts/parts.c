/*
 * parts.c - how fast a model and its parts are, as shares of what the machine can do (make
 * bench-parts).
 *
 *     bench_parts [--model MODEL] [--threads N] [--parts LIST] [--lengths N,...] [--seconds S]
 *                 [--compute bf16] [--clock cpu] [--isa avx2]
 *
 * prefill: prompts, with every attention matrix. feed: without. decode: a token at a time. product:
 * linear maps as a feed runs them, each layer's weights from memory. pack: their weights into
 * panels. softmax: of one thread. attention: a layer's heads, every matrix kept. gradients: a feed
 * and its backward pass. batch: many short texts, one at a time and several at once. load: opening,
 * and with the first 6 tokens. write: every writer beside write(2) of as many bytes, into the
 * current folder, where nothing stays. Rows are CSV.
 */
#include "tests/bench/parts/parts.h"

#include "base/status_internal.h"
#include "catalog/catalog.h"
#include "model/config_fields.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum attn_status write_row(void *user, const struct attn_bench_row *row,
                                  struct attn_error *err)
{
    (void)user, (void)err;
    printf("%s,\"%s\",%.9g,%.4g,%.6g,%.6g,%zu,%.6g,%.6g\n", row->part, row->name, row->seconds,
           row->share, 1e-9 * row->n_flop / row->seconds, 1e-9 * row->n_byte / row->seconds,
           row->n_round, 1e-9 * row->limits.flops, 1e-9 * row->limits.bytes);
    fflush(stdout);
    return ATTN_OK;
}

static void read_arguments(int argc, char **argv, struct attn_bench_options *options, int *n_thread,
                           struct attn_model_options *model, const char **name)
{
    static const struct option names[] = {
        {"model", 1, NULL, 'm'},   {"threads", 1, NULL, 't'}, {"parts", 1, NULL, 'p'},
        {"seconds", 1, NULL, 's'}, {"compute", 1, NULL, 'c'}, {"lengths", 1, NULL, 'l'},
        {"clock", 1, NULL, 'k'},   {"isa", 1, NULL, 'i'},     {NULL, 0, NULL, 0}};

    for (int c; (c = getopt_long(argc, argv, "m:t:", names, NULL)) != -1;) {
        if (c == 'm')
            *name = optarg;
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

/* Opens the model NAME: a folder, a GGUF file, or one of the models of this project. */
static enum attn_status open_model(const char *name, const struct attn_model_options *options,
                                   struct attn_model **model, struct attn_error *err)
{
    static struct attn_catalog_found found; /* bench_source borrows from it */
    const char *folder = "models";
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    const struct attn_config *config;

    catalog.folders = &folder, catalog.n_folder = 1;
    ATTN_TRY(attn_catalog_find(&catalog, name, &found, err));
    bench_source = found.source;
    ATTN_TRY(attn_model_open(&bench_source, options, model, err));
    config = attn_model_config(*model);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->n_token == 0 || config->is_cross[layer])
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' reads more than one text, and there is none", name);
    return ATTN_OK;
}

static enum attn_status measure(int argc, char **argv, struct attn_error *err)
{
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_pool *pool;
    struct attn_model *model;
    const char *name = "fable";
    int n_thread = 0;

    read_arguments(argc, argv, &options, &n_thread, &model_options, &name);
    ATTN_TRY(attn_pool_create(n_thread, &pool, err));
    model_options.reuse = true;
    model_options.pool = pool;
    model_options.isa = options.isa;
    ATTN_TRY(open_model(name, &model_options, &model, err));
    puts("part,name,seconds,share,gflops,gbytes_per_second,rounds,limit_gflops,"
         "limit_gbytes_per_second");
    options.model = model;
    options.pool = pool;
    options.on_row = write_row;
    return attn_bench_run(&options, err);
}

int main(int argc, char **argv)
{
    struct attn_error err = {0};

    if (measure(argc, argv, &err) == ATTN_OK)
        return 0;
    fprintf(stderr, "bench_parts: %s\n", err.message);
    return 1;
}
