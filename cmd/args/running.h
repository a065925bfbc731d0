/* running.h - how a command works, whatever it computes: --threads, --quiet, --verbose, and for
 * tests, variables that limit the instructions used. */
#ifndef CMD_RUNNING_ARGS_H
#define CMD_RUNNING_ARGS_H

#include "cmd/line/options.h"

#include "attn.h"

struct running_args {
    int64_t threads; /* 0: as attn_host_create finds */
    bool is_quiet;   /* no notes */
    bool is_verbose; /* notes on steps and times */
};

/* Options that fill a struct running_args. */
extern const struct option_group running_options;

/* The environment's ATTN_CLI_ISA (baseline, avx2, avx512, neon, relaxed) limits the instructions
 * used and ATTN_CLI_GEMM (auto, jit, portable) says how matrix products are made; neither changes a
 * bit of any result in float32. In bfloat16 only auto, without a limit, uses AMX. */
enum attn_isa running_isa(void);
enum attn_gemm running_gemm(void);

/* Initialize with = {0}. */
struct stopwatch {
    double begun; /* seconds; when the step now in progress began */
};

/* If ARGS are verbose, notes WHAT and the time since the last call; NULL only starts. */
void stopwatch_note(struct stopwatch *watch, const struct running_args *args, const char *what);

#endif
