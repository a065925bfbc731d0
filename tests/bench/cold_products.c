/*
 * cold_products.c - products whose weights come from memory: by libxsmm, by our own loop, and as
 * the program chooses between them (make bench-cold).
 *
 * The weights of a model are larger than caches, so products of some dozen rows wait for memory
 * unless the next panel of weights is prefetched in time. libxsmm prefetches in bursts, our loop
 * evenly over all steps of k (kernels/vector_gemm.c); which is quicker depends on the processor and
 * on the rows, and pays_jit (kernels/gemm.c) decides by what was measured here. On another kind of
 * processor run this first.
 *
 * Weights of 256 MB are used in turn, some megabytes by each way, since machines that are shared
 * change from moment to moment. A line has the median and the best of GFLOP/s for each way, and the
 * median of the quotients of two neighbours in time, the program and libxsmm: above 1 the choice is
 * right. On one thread the time is the processor's, so that other work counts less.
 */
#include "base/random.h"
#include "kernels/linear.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MEMORY_BYTES = 256 << 20,
    SLICE_BYTES = 12 << 20, /* of weights by one way before it is the next one's turn */
    MOST_ROWS = 128,
    MOST_COLUMNS = 3072, /* and depth */
    MOST_SAMPLES = 4096,
};

enum way { PROGRAM, LIBXSMM, LOOP, N_WAY };
static const char *const names[N_WAY] = {"the program", "libxsmm", "our loop"};

struct bench {
    struct attn_pool *pool;
    int n_thread;
    struct attn_gemm_engine engines[N_WAY];
    size_t depth, n_col, n_matrix; /* weights of one shape, as many as fill the memory */
    float *weights;                /* [n_matrix, depth, n_col], in panels */
    float *x, *y;                  /* [MOST_ROWS, MOST_COLUMNS] */
    float **scratch;               /* [n_thread] */
};

static void *allocate(size_t n)
{
    void *memory = aligned_alloc(64, n * sizeof(float));

    if (memory == NULL) {
        fputs("cold_products: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static struct attn_linear map_at(const struct bench *bench, size_t i)
{
    float *data = bench->weights + i % bench->n_matrix * bench->depth * bench->n_col;

    return (struct attn_linear){.weight = {.data = data,
                                           .dtype = ATTN_DTYPE_F32,
                                           .n_row = bench->depth,
                                           .n_col = bench->n_col,
                                           .row_stride = bench->n_col,
                                           .col_stride = 1,
                                           .group = bench->n_col},
                                .packed = data};
}

/* N_ROW rows times matrix I. */
static void run(const struct bench *bench, enum way way, size_t i, size_t n_row)
{
    const struct attn_linear map = map_at(bench, i);
    const struct attn_linear_args args = {.linear = &map,
                                          .engine = &bench->engines[way],
                                          .scratch = bench->scratch,
                                          .x = bench->x,
                                          .ldx = bench->depth,
                                          .n_row = n_row,
                                          .y = bench->y,
                                          .ldy = bench->n_col,
                                          .last_col = bench->n_col};

    attn_linear_run(&args, 1, bench->pool);
}

/* Stops the program if a way has other bits than libxsmm. */
static void check(const struct bench *bench, size_t n_row)
{
    const size_t size = n_row * bench->n_col * sizeof *bench->y;
    float *expected = allocate(n_row * bench->n_col);

    run(bench, LIBXSMM, 1, n_row);
    memcpy(expected, bench->y, size);
    for (int way = 0; way < N_WAY; way++) {
        memset(bench->y, -1, size);
        run(bench, (enum way)way, 1, n_row);
        if (memcmp(bench->y, expected, size) != 0) {
            fprintf(stderr, "cold_products: other bits by %s\n", names[way]);
            exit(1);
        }
    }
    free(expected);
}

static double now(const struct bench *bench)
{
    struct timespec time;

    clock_gettime(bench->n_thread == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The line of N_ROW rows: all ways in turn, each N_ROUND times over the memory. */
static void measure(const struct bench *bench, size_t n_row, size_t n_round)
{
    static double rates[N_WAY][MOST_SAMPLES], quotients[MOST_SAMPLES];
    const size_t size = bench->depth * bench->n_col;
    const size_t slice = SLICE_BYTES / (size * sizeof(float)) + 1;
    const size_t wanted = bench->n_matrix / slice * n_round;
    const size_t n = wanted < MOST_SAMPLES ? wanted : MOST_SAMPLES;

    check(bench, n_row);
    for (size_t sample = 0, at = 0; sample < n; sample++) {
        for (size_t i = 0; i < N_WAY; i++) {
            const enum way way = (enum way)((i + sample) % N_WAY);
            const double begun = now(bench);

            for (size_t m = 0; m < slice; m++)
                run(bench, way, at++, n_row);
            rates[way][sample] = 2e-9 * (double)(n_row * size * slice) / (now(bench) - begun);
        }
        quotients[sample] = rates[PROGRAM][sample] / rates[LIBXSMM][sample];
    }
    printf("%4zu x %4zu, %3zu rows", bench->depth, bench->n_col, n_row);
    for (size_t way = 0; way < N_WAY; way++) {
        qsort(rates[way], n, sizeof **rates, compare);
        printf("%10.0f %4.0f", rates[way][n / 2], rates[way][n - 1]);
    }
    qsort(quotients, n, sizeof *quotients, compare);
    printf("%10.2f\n", quotients[n / 2]);
    fflush(stdout);
}

static void measure_shape(struct bench *bench, size_t depth, size_t n_col, size_t n_round)
{
    static const size_t rows[] = {6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

    bench->depth = depth;
    bench->n_col = n_col;
    bench->n_matrix = MEMORY_BYTES / sizeof(float) / (depth * n_col);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(bench, rows[i], n_round);
}

static void start(struct bench *bench, int n_thread)
{
    const size_t n_memory = MEMORY_BYTES / sizeof(float), n_x = (size_t)MOST_ROWS * MOST_COLUMNS;
    struct attn_random random;
    struct attn_error err = {0};

    if (attn_pool_create(n_thread, &bench->pool, &err) != ATTN_OK) {
        fprintf(stderr, "cold_products: %s\n", err.message);
        exit(1);
    }
    bench->n_thread = attn_pool_n_thread(bench->pool);
    bench->engines[PROGRAM] = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 0);
    bench->engines[LIBXSMM] = bench->engines[PROGRAM];
    bench->engines[LIBXSMM].kernels = attn_kernels_find(ATTN_ISA_AVX2); /* whose loop never calls */
    bench->engines[LOOP] = attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);
    bench->weights = allocate(n_memory);
    bench->x = allocate(n_x);
    bench->y = allocate(n_x);
    attn_random_seed(&random, 1);
    attn_random_fill_uniform(&random, bench->x, n_x, -1, 1);
    for (size_t i = 0; i < n_memory; i++)
        bench->weights[i] = bench->x[i * 7 % n_x];
    bench->scratch = calloc((size_t)bench->n_thread, sizeof *bench->scratch);
    for (int i = 0; bench->scratch != NULL && i < bench->n_thread; i++)
        bench->scratch[i] = allocate((size_t)1 << 20);
}

int main(int argc, char **argv)
{
    const size_t n_round = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    struct bench bench;

    start(&bench, argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
    printf("%d thread%s; %s\nGFLOP/s, median and best%*s", bench.n_thread,
           bench.n_thread == 1 ? "" : "s",
           bench.engines[PROGRAM].is_jit ? "libxsmm" : "the portable loop", 2, "");
    for (size_t way = 0; way < N_WAY; way++)
        printf("%-15s", names[way]);
    puts("quotient");
    measure_shape(&bench, 768, 768, n_round);
    measure_shape(&bench, 768, 2304, n_round);
    measure_shape(&bench, 768, 3072, n_round);
    measure_shape(&bench, 3072, 768, n_round);
    return 0;
}
