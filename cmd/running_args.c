/* running_args.c - see running_args.h. */
#include "running_args.h"

#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct option running_rows[] = {
    {.name = "threads",
     .letter = 't',
     .argument = "N",
     .heading = "Other",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = 1024,
     .offset = offsetof(struct running_args, threads),
     .environment = "ATTN_CLI_THREADS",
     .help = "threads to use; default: the cores this process may run on, or one for little work; "
             "results do not depend on it"},
    {.name = "quiet",
     .letter = 'q',
     .heading = "Other",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct running_args, is_quiet),
     .help = "no notes on standard error, only errors"},
    {.name = "verbose",
     .letter = 'v',
     .heading = "Other",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct running_args, is_verbose),
     .help = "say on standard error what is done and how long it takes"},
};

const struct option_group running_options = OPTION_GROUP(running_rows);

/* The index of VARIABLE's value among the words of LIST ("a|b"), OTHERWISE when it is not there. */
static int test_switch(const char *variable, const char *list, int otherwise)
{
    const char *value = getenv(variable);
    int index = 0;
    for (const char *word = list; value && *word; index++) {
        size_t size = strcspn(word, "|");
        if (strlen(value) == size && memcmp(value, word, size) == 0)
            return index;
        word += size + (word[size] == '|');
    }
    return otherwise;
}

enum attn_isa running_isa(void)
{
    return (enum attn_isa)test_switch("ATTN_CLI_ISA", "baseline|avx2|avx512", ATTN_ISA_BEST);
}

enum attn_gemm running_gemm(void)
{
    return (enum attn_gemm)test_switch("ATTN_CLI_GEMM", "auto|jit|portable", ATTN_GEMM_AUTO);
}

int running_start_pool(const struct running_args *args, double multiply_adds,
                       struct attn_pool **pool)
{
    /* A core does these in 1 ms; to start and join a thread takes 0.1 ms, and 10 where all are busy. */
    const double few = 16e6;
    bool is_little = args->threads == 0 && multiply_adds < few;
    struct attn_error err = {0};
    if (attn_pool_create(is_little ? 1 : (int)args->threads, pool, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    return EXIT_DONE;
}

void stopwatch_note(struct stopwatch *watch, const struct running_args *args, const char *what)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (what && args->is_verbose)
        note("%s in %.2f ms", what, 1e3 * (seconds - watch->begun));
    watch->begun = seconds;
}
