#include "cmd/args/running.h"

#include "cmd/line/report.h"

#include "tool.h"

#include <stdlib.h>

static const struct attn_param running_rows[] = {
    ATTN_PARAM(COUNT, "threads", "N", struct running_args, threads,
               "number of threads; default: the cores that this process may use, or 1 when "
               "there is little work. Results do not depend on it",
               .letter = 't', .variable = "ATTN_CLI_THREADS", .least = 1, .most = 1024),
    ATTN_PARAM(FLAG, "quiet", NULL, struct running_args, is_quiet,
               "no notes on standard error, only errors", .letter = 'q'),
    ATTN_PARAM(FLAG, "verbose", NULL, struct running_args, is_verbose,
               "say on standard error what is done and how long it takes", .letter = 'v'),
};

const struct attn_param_list running_options = ATTN_PARAM_LIST("Other", running_rows);

/* Returns the index in LIST of the value of the environment variable VARIABLE; OTHERWISE if it is
 * not in LIST. */
static int test_switch(const char *variable, const char *list, int otherwise)
{
    const char *value = getenv(variable);
    const int found = value ? word_find(list, value) : -1;

    return found < 0 ? otherwise : found;
}

enum attn_isa running_isa(void)
{
    return (enum attn_isa)test_switch("ATTN_CLI_ISA", "baseline|avx2|avx512|neon|relaxed",
                                      ATTN_ISA_BEST);
}

enum attn_gemm running_gemm(void)
{
    return (enum attn_gemm)test_switch("ATTN_CLI_GEMM", "auto|jit|portable", ATTN_GEMM_AUTO);
}

void stopwatch_note(struct stopwatch *watch, const struct running_args *args, const char *what)
{
    const double seconds = attn_clock_seconds();

    if (what && args->is_verbose)
        note("%s in %.2f ms", what, 1e3 * (seconds - watch->begun));
    watch->begun = seconds;
}
