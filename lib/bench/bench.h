/*
 * bench.h - the speed of a model on this machine, relative to the limits of the machine: `prefill`
 * feeds prompts of several lengths and delivers every attention matrix, `feed` delivers none,
 * `decode` feeds one token.
 *
 *     struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
 *     options.model = model, options.pool = pool, options.on_row = print;
 *     attn_bench_run(&options, &err);
 *
 * Machines that are shared change from second to second. So the limits, multiply-adds on registers
 * and reading of memory, are measured by the same threads again beside each round of each part, and
 * the result is the median of the quotients: a share, not a time. Multiply-adds of the limit are
 * those of float32 also where products are made in bfloat16.
 */
#ifndef ATTN_BENCH_BENCH_H
#define ATTN_BENCH_BENCH_H

#include "base/pool.h"
#include "base/table.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "model/model.h"

#include <signal.h>

enum { ATTN_BENCH_NAME_SIZE = 48 };

/* The limits of the machine, all threads together. */
struct attn_bench_limits {
    double flops; /* floating-point operations a second, on registers */
    double bytes; /* read from memory a second */
};

/* The measurements of one part. */
struct attn_bench_row {
    const char *part;                /* "prefill"; constant */
    char name[ATTN_BENCH_NAME_SIZE]; /* "128 tokens, all patterns" */
    double seconds;                  /* median of a round */
    double n_flop;                   /* floating-point operations that it needs; 0: not counted */
    double n_byte;                   /* bytes that it must read, or that a writer writes */
    double share; /* of the limit: the larger of n_flop / peak and n_byte / bandwidth, or plain
                     writes of n_byte, divided by the time; 0: no useful limit */
    struct attn_bench_limits limits; /* measured beside the rounds, medians; 0: the share is of
                                        something else */
    size_t n_round;
};

/* Returning anything but ATTN_OK ends the run, which returns that status. */
typedef enum attn_status (*attn_bench_fn)(void *user, const struct attn_bench_row *row,
                                          struct attn_error *err);

struct attn_bench_options {
    const struct attn_model *model; /* borrowed; its shapes and weights are run */
    struct attn_pool *pool;         /* borrowed; NULL: the caller's thread alone */
    const char *parts;              /* names separated by commas; NULL: all */
    double seconds;                 /* for each part, about */
    attn_bench_fn on_row;
    void *user;
    const volatile sig_atomic_t *cancel; /* not 0: ATTN_CANCELED */
    enum attn_gemm gemm;
    enum attn_isa isa;
};

#define ATTN_BENCH_OPTIONS_DEFAULT                                                                 \
    ((struct attn_bench_options){.seconds = 0.5, .isa = ATTN_ISA_BEST})

/* A table for rows, without any: part, name, seconds, share, gflops, gbytes_per_second (both a
 * second), rounds, and the limits as limit_gflops, limit_gbytes_per_second. */
enum attn_status attn_bench_table(struct attn_table **table, struct attn_error *err);

/* Appends ROW to that table. */
enum attn_status attn_bench_table_append(struct attn_table *table, const struct attn_bench_row *row,
                                         struct attn_error *err);

/* Runs them. ATTN_INVALID for an unknown part; otherwise the failure of a part. */
enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err);

#endif
