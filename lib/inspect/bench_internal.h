/* bench_internal.h - declarations that the files of this room share. */
#ifndef ATTN_INSPECT_BENCH_INTERNAL_H
#define ATTN_INSPECT_BENCH_INTERNAL_H

#include "forward/session.h"
#include "inspect/bench.h"
#include "kernels/gemm_internal.h"

enum { ATTN_BENCH_MOST_LENGTHS = 16 };

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

/* A group of parts: its name in a list, and the function that measures them. */
typedef enum attn_status attn_bench_part_fn(struct attn_bench *bench, struct attn_error *err);
struct attn_bench_kind {
    const char *name;
    attn_bench_part_fn *run;
};
attn_bench_part_fn attn_bench_prefill, attn_bench_feed, attn_bench_decode;

enum { ATTN_BENCH_MOST_KINDS = 16 };

/* As attn_bench_run, with KINDS [n] instead of its own kinds. */
enum attn_status attn_bench_run_kinds(const struct attn_bench_options *options,
                                      const struct attn_bench_kind *kinds, size_t n,
                                      struct attn_error *err);

#endif
