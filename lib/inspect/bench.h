/*
 * bench.h - the speed of a model on this machine, as a share of what the machine can do. `prefill`
 * feeds prompts of several lengths and passes every attention matrix to a trace, `feed` passes
 * none, `decode` feeds one token.
 *
 *     struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
 *     options.model = model, options.pool = pool, options.on_row = print;
 *     attn_bench_run(&options, &err);
 *
 * A machine that others use changes its speed from second to second. So its limits, multiply-adds
 * in registers and reading of memory, are measured again beside each round of each part, by the
 * same threads. The result is the median of the quotients: a share, not a time. The limit counts
 * multiply-adds of float32, also if products are computed in bfloat16.
 */
#ifndef ATTN_INSPECT_BENCH_H
#define ATTN_INSPECT_BENCH_H

#include "base/pool.h"
#include "kernels/gemm.h"
#include "model/model.h"
#include "tables/table.h"

#include <signal.h>

enum { ATTN_BENCH_NAME_SIZE = 48 };

/* The limits of the machine, for all threads together. */
struct attn_bench_limits {
    double flops; /* floating-point operations for each second, in registers */
    double bytes; /* bytes read from memory in each second */
};

/* The measurements of one part. */
struct attn_bench_row {
    const char *part;                /* such as "prefill"; a constant */
    char name[ATTN_BENCH_NAME_SIZE]; /* such as "128 tokens, all patterns" */
    double seconds;                  /* median time of one run of the part */
    double n_flop;                   /* floating-point operations of the part; 0: not counted */
    double n_byte;                   /* bytes that the part must read, or that a writer writes */
    double share; /* the least time that the machine needs, divided by the measured time; the least
                     time is the larger of n_flop / flops and n_byte / bytes, or for writers that of
                     plain writes; 0: no useful limit */
    struct attn_bench_limits limits; /* medians of what was measured beside the rounds; 0: the share
                                        is of another limit */
    size_t n_round;
};

/* Called for each row. Any status but ATTN_OK ends the run, which returns this status. */
typedef enum attn_status (*attn_bench_fn)(void *user, const struct attn_bench_row *row,
                                          struct attn_error *err);

struct attn_bench_options {
    const struct attn_model *model; /* borrowed; the model that is run */
    struct attn_pool *pool;         /* borrowed; NULL: only the caller's thread */
    const char *parts;              /* names of parts, separated by commas; NULL: all */
    const char *lengths; /* lengths of prompts, separated by commas; NULL: 6,32,128,512,1024,
                            as far as the model takes them */
    double seconds;      /* approximate time for each part */
    bool is_cpu; /* measures times and limits in processor time, all threads together, which a busy
                    machine changes less; for one thread */
    attn_bench_fn on_row;
    void *user;
    const volatile sig_atomic_t *cancel; /* once it is not 0, the run ends with ATTN_CANCELED */
    enum attn_gemm gemm;
    enum attn_isa isa;
};

#define ATTN_BENCH_OPTIONS_DEFAULT                                                                 \
    ((struct attn_bench_options){.seconds = 0.5, .isa = ATTN_ISA_BEST})

/* Creates a table for rows, still empty: part, name, seconds, share, gflops and gbytes_per_second
 * of the part, rounds, and limit_gflops and limit_gbytes_per_second of the machine. */
enum attn_status attn_bench_table(struct attn_table **table, struct attn_error *err);

/* Appends ROW to such a table. */
enum attn_status attn_bench_table_append(struct attn_table *table, const struct attn_bench_row *row,
                                         struct attn_error *err);

/* Runs the parts. ATTN_INVALID for an unknown part; otherwise the failure of a part. */
enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err);

#endif
