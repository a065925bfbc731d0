/* running.h - options of most commands: --threads, --quiet, --verbose; and, for tests, environment
 * variables that limit the instructions used. */
#pragma once

#include "cmd/line/options.h"

#include "attn.h"

struct running_args {
    size_t threads;  /* 0: attn_host_create chooses */
    bool is_quiet;   /* print no notes */
    bool is_verbose; /* print notes on steps and times */
};

/* The options of struct running_args. */
extern const struct attn_param_list running_options;

/* These read environment variables. ATTN_CLI_ISA (baseline, avx2, avx512, neon, relaxed) limits the
 * instructions used, and ATTN_CLI_GEMM (auto, jit, portable) selects how matrix products are
 * computed. Neither changes a bit of any result in float32. In bfloat16, AMX is used only with auto
 * and without a limit. */
enum attn_isa running_isa(void);
enum attn_gemm running_gemm(void);

/* Initialize with = {0}. */
struct stopwatch {
    double begun; /* when the current step began, in seconds */
};

/* If ARGS are verbose, notes WHAT and the time since the last call. If WHAT is NULL, only starts
 * the watch. */
void stopwatch_note(struct stopwatch *watch, const struct running_args *args, const char *what);
