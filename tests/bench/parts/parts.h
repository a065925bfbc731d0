/*
 * parts.h - the speed of a model and of its parts on this machine, as a share of what the machine
 * can do (parts.c). `prefill` feeds prompts of several lengths and passes every attention matrix to
 * a trace, `feed` passes none, `decode` feeds one token.
 *
 * A machine that others use changes its speed from second to second. So its limits, multiply-adds
 * in registers and reading of memory, are measured again beside each round of each part, by the
 * same threads. The result is the median of the quotients: a share, not a time. The limit counts
 * multiply-adds of float32, also if products are computed in bfloat16.
 */
#pragma once

#include "base/pool.h"
#include "base/source.h"
#include "forward/session.h"
#include "kernels/gemm_internal.h"
#include "kernels/linear.h"
#include "kernels/panels.h"
#include "model/model.h"

enum { ATTN_BENCH_NAME_SIZE = 48, ATTN_BENCH_MOST_LENGTHS = 16 };

/* Where the model came from, to be opened again. */
extern struct attn_source bench_source;

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
    enum attn_gemm gemm;
    enum attn_isa isa;
};

#define ATTN_BENCH_OPTIONS_DEFAULT                                                                 \
    ((struct attn_bench_options){.seconds = 0.5, .isa = ATTN_ISA_BEST})

struct attn_bench {
    const struct attn_bench_options *options;
    const struct attn_config *config;
    const char *part; /* name of the part that is being run */
    struct attn_gemm_engine gemm;
    int n_thread;
    size_t lengths[ATTN_BENCH_MOST_LENGTHS + 1]; /* of prompts; 0 after the last */
    float *memory;                               /* [n_memory] owned; larger than any cache */
    size_t n_memory, next_read;
    float *random; /* [n_random] owned; numbers between -1 and 1 */
    size_t n_random;
};

/* Something that is run repeatedly and timed. */
struct attn_bench_part {
    char name[2 * ATTN_BENCH_NAME_SIZE]; /* the name of its row; a row may cut it */
    double n_flop, n_byte;
    /* Returns the least number of seconds that a run can take, measured now. NULL: it follows from
     * n_flop, n_byte and the limits of the machine. */
    double (*limit)(void *context);
    /* Called before each round, not timed; or NULL. */
    enum attn_status (*prepare)(void *context, struct attn_error *err);
    enum attn_status (*run)(void *context, struct attn_error *err);
    void *context;
};

/* Measures PART, and reports its row to options->on_row. */
enum attn_status attn_bench_measure(struct attn_bench *bench, const struct attn_bench_part *part,
                                    struct attn_error *err);

/* Returns token I of the sequence that is fed. */
int32_t attn_bench_id(const struct attn_bench *bench, size_t i);

/* An attn_trace.on_event that does nothing. */
enum attn_status attn_bench_ignore(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err);

/* Returns the options of a session of N positions. TRACE may be NULL. */
struct attn_session_options attn_bench_session_options(const struct attn_bench *bench, size_t n,
                                                       const struct attn_trace *trace);

/* The functions that measure the parts of a kind. */
typedef enum attn_status attn_bench_part_fn(struct attn_bench *bench, struct attn_error *err);
attn_bench_part_fn bench_prefill, bench_feed, bench_decode, bench_product, bench_pack,
    bench_softmax, bench_attention, bench_gradients, bench_batch, bench_load, bench_write;

/* Runs the parts. ATTN_INVALID for an unknown part; otherwise the failure of a part. */
enum attn_status attn_bench_run(const struct attn_bench_options *options, struct attn_error *err);
