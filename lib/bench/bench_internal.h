/* bench_internal.h - what the files of bench.h share. */
#ifndef ATTN_BENCH_BENCH_INTERNAL_H
#define ATTN_BENCH_BENCH_INTERNAL_H

#include "bench/bench.h"
#include "kernels/linear.h"
#include "kernels/panels.h"

struct attn_bench {
    const struct attn_bench_options *options;
    const struct attn_config *config;
    struct attn_gemm_engine gemm;
    int n_thread;
    float *memory; /* [n_memory] more than any cache holds; owned */
    size_t n_memory, next_read;
    float *random; /* [n_random] numbers between -1 and 1; owned */
    size_t n_random;
};

/* Something that can be done again and again. */
struct attn_bench_part {
    const char *part;
    const char *name;
    double n_flop, n_byte;
    double (*limit)(void *context); /* seconds that it takes at least, measured; NULL: what n_flop
                                       and n_byte take at the machine's limits */
    enum attn_status (*prepare)(void *context,
                                struct attn_error *err); /* not timed; NULL: nothing */
    enum attn_status (*run)(void *context, struct attn_error *err);
    void *context;
};

/* Measures PART and tells it. */
enum attn_status attn_bench_measure(struct attn_bench *bench, const struct attn_bench_part *part,
                                    struct attn_error *err);

/* Seconds since some time. */
double attn_bench_now(void);

/* bench_limits.c: both limits, in some milliseconds. */
struct attn_bench_limits attn_bench_find_limits(struct attn_bench *bench);

/* One function a part: bench_products.c, bench_attention.c, bench_sessions.c, bench_batch.c,
 * bench_files.c. */
typedef enum attn_status (*attn_bench_part_fn)(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_limit(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_product(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_pack(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_softmax(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_attention(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_prefill(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_decode(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_batch(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_load(struct attn_bench *bench, struct attn_error *err);
enum attn_status attn_bench_write(struct attn_bench *bench, struct attn_error *err);

/* Numbers of tokens that are tried, ascending, as far as the model takes them: at most 1024. */
size_t attn_bench_length(const struct attn_bench *bench, size_t i); /* 0 behind the last */

#endif
