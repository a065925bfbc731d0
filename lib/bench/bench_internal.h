/* bench_internal.h - declarations that the files of bench.h share. */
#ifndef ATTN_BENCH_BENCH_INTERNAL_H
#define ATTN_BENCH_BENCH_INTERNAL_H

#include "bench/bench.h"
#include "forward/session.h"
#include "kernels/gemm_internal.h"

struct attn_bench {
    const struct attn_bench_options *options;
    const struct attn_config *config;
    const char *part; /* the part that runs, by its name */
    struct attn_gemm_engine gemm;
    int n_thread;
    float *memory; /* [n_memory] more than any cache holds; owned */
    size_t n_memory, next_read;
    float *random; /* [n_random] numbers between -1 and 1; owned */
    size_t n_random;
};

/* Something that can be done again and again. */
struct attn_bench_part {
    char name[2 * ATTN_BENCH_NAME_SIZE]; /* of its row, which cuts it */
    double n_flop, n_byte;
    /* Seconds that it takes at least, measured; NULL: what n_flop and n_byte take at the machine's
     * limits. */
    double (*limit)(void *context);
    enum attn_status (*prepare)(void *context, struct attn_error *err); /* not timed; or NULL */
    enum attn_status (*run)(void *context, struct attn_error *err);
    void *context;
};

/* Measures PART and reports its row. */
enum attn_status attn_bench_measure(struct attn_bench *bench, const struct attn_bench_part *part,
                                    struct attn_error *err);

/* Numbers of tokens that are tried, ascending, as far as the model takes them: at most 1024. */
size_t attn_bench_length(const struct attn_bench *bench, size_t i); /* 0 after the last */

/* Token I of the sequence that is fed. */
int32_t attn_bench_id(const struct attn_bench *bench, size_t i);

/* Takes what a trace delivers, and does nothing with it: attn_trace.on_event. */
enum attn_status attn_bench_ignore(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err);

/* The options of a session over N positions; TRACE may be NULL. */
struct attn_session_options attn_bench_session_options(const struct attn_bench *bench, size_t n,
                                                       const struct attn_trace *trace);

/* A kind of parts: its name in a list of them, and what measures each. */
typedef enum attn_status attn_bench_part_fn(struct attn_bench *bench, struct attn_error *err);
struct attn_bench_kind {
    const char *name;
    attn_bench_part_fn *run;
};
attn_bench_part_fn attn_bench_prefill, attn_bench_feed, attn_bench_decode;

enum { ATTN_BENCH_MOST_KINDS = 16 };

/* attn_bench_run with other KINDS [n] than its own. */
enum attn_status attn_bench_run_kinds(const struct attn_bench_options *options,
                                      const struct attn_bench_kind *kinds, size_t n,
                                      struct attn_error *err);

#endif
