/* test_bench.c - what a bench measures and tells; not how fast anything is. */
#include "inspect/bench.h"
#include "inspect/processor.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    char parts[512]; /* each told part, followed by ';' */
    size_t n_row;
    size_t stop_after; /* rows; 0: never */
    double first_flop;
    double n_byte; /* of the last */
};

static enum attn_status take(void *user, const struct attn_bench_row *row, struct attn_error *err)
{
    struct seen *seen = user;
    const size_t size = strlen(seen->parts);

    ck_assert_msg(row->seconds > 0 && isfinite(row->seconds), "%s", row->name);
    ck_assert_msg(row->share >= 0 && isfinite(row->share), "%s", row->name);
    ck_assert_uint_ge(row->n_round, 5);
    ck_assert(row->limits.flops > 0 && row->limits.bytes > 0);
    if (strstr(seen->parts, row->part) == NULL)
        snprintf(seen->parts + size, sizeof seen->parts - size, "%s;", row->part);
    if (seen->n_row == 0)
        seen->first_flop = row->n_flop;
    seen->n_byte = row->n_byte;
    seen->n_row++;
    if (seen->n_row == seen->stop_after)
        return attn_error_set(err, ATTN_IO, "enough");
    return ATTN_OK;
}

/* Measures PARTS as briefly as can be. */
static enum attn_status run(const char *parts, struct seen *seen, struct attn_error *err)
{
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    enum attn_status status;

    options.model = model;
    options.parts = parts;
    options.seconds = 0;
    options.on_row = take;
    options.user = seen;
    status = attn_bench_run(&options, err);
    attn_model_free(model);
    return status;
}

START_TEST(measures_every_part_that_is_asked_for)
{
    struct seen seen = {.parts = ""};
    struct attn_error err = {0};

    ck_assert_msg(run(NULL, &seen, &err) == ATTN_OK, "%s", err.message);
    ck_assert_str_eq(seen.parts, "prefill;feed;decode;");
}
END_TEST

/* In the order of all parts, whatever that of the names. */
START_TEST(counts_what_a_part_needs)
{
    struct seen seen = {.parts = ""};
    struct attn_error err = {0};

    ck_assert(run("decode,prefill", &seen, &err) == ATTN_OK);
    ck_assert_str_eq(seen.parts, "prefill;decode;");
    ck_assert_uint_eq(seen.n_row, 2);
    /* 3 heads of width 5 over 21 pairs in each of 2 layers, 10 multiply-adds each, and more */
    ck_assert(seen.first_flop > 2 * 2 * 3 * 21 * 10);
    ck_assert(seen.n_byte > 0);
}
END_TEST

START_TEST(an_unknown_part_is_refused)
{
    struct seen seen = {.parts = ""};
    struct attn_error err = {0};

    ck_assert(run("decode,encode", &seen, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "unknown part 'encode', expected some of prefill,feed,decode");
    ck_assert_uint_eq(seen.n_row, 0);
}
END_TEST

START_TEST(who_is_told_may_end_it)
{
    struct seen seen = {.parts = "", .stop_after = 2};
    struct attn_error err = {0};

    ck_assert(run(NULL, &seen, &err) == ATTN_IO);
    ck_assert_str_eq(err.message, "enough");
    ck_assert_uint_eq(seen.n_row, 2);
}
END_TEST

START_TEST(a_bench_can_be_canceled)
{
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    const volatile sig_atomic_t cancel = 1;
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    struct seen seen = {.parts = ""};
    struct attn_error err = {0};

    options.model = model;
    options.on_row = take;
    options.user = &seen;
    options.cancel = &cancel;
    ck_assert(attn_bench_run(&options, &err) == ATTN_CANCELED);
    ck_assert_uint_eq(seen.n_row, 0);
    attn_model_free(model);
}
END_TEST

/* --- Processors ------------------------------------------------------------------------------ */

static struct attn_processor read_processor(const char *text)
{
    struct attn_processor processor;

    attn_processor_read(text, strlen(text), &processor);
    return processor;
}

START_TEST(a_processor_is_told_with_its_numbers_and_features)
{
    /* Zen 5 and Sapphire Rapids; two hardware threads a core in the second */
    struct attn_processor x =
        read_processor("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
                       "model name\t: AMD EPYC\nsiblings\t: 2\ncpu cores\t: 2\n"
                       "flags\t\t: fpu sse2 avx2 avx512f avx512bw avx512_bf16\n\n"
                       "processor\t: 1\ncpu family\t: 26\n");

    ck_assert_str_eq(x.name, "AMD EPYC, family 26, model 2");
    ck_assert_str_eq(x.features, "avx2 avx512f avx512_bf16");
    ck_assert_uint_eq(x.n_thread, 2);
    ck_assert_uint_eq(x.n_core, 2);
    x = read_processor("processor: 0\nprocessor: 1\nprocessor: 2\nprocessor: 3\n"
                       "cpu family : 6\nmodel : 143\nmodel name : Intel(R) Xeon(R)\n"
                       "siblings : 4\ncpu cores : 2\n"
                       "flags : amx_bf16 avx512f avx512_fp16 amx_tile avx512_bf16 avx2");
    ck_assert_str_eq(x.name, "Intel(R) Xeon(R), family 6, model 143");
    ck_assert_str_eq(x.features, "avx2 avx512f avx512_bf16 avx512_fp16 amx_bf16");
    ck_assert_uint_eq(x.n_thread, 4);
    ck_assert_uint_eq(x.n_core, 2);
    x = read_processor("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve svebf16\n"
                       "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
    ck_assert_str_eq(x.name, "ARM implementer 0x41, part 0xd40");
    ck_assert_str_eq(x.features, "asimd sve");
    ck_assert_uint_eq(x.n_thread, 1);
    ck_assert_uint_eq(x.n_core, 0);
}
END_TEST

START_TEST(what_is_not_said_of_a_processor_stays_unknown)
{
    char text[600] = "model name : ";
    struct attn_processor x = read_processor("");

    ck_assert_str_eq(x.name, "unknown processor");
    ck_assert_str_eq(x.features, "");
    ck_assert_uint_eq(x.n_thread + x.n_core, 0);
    x = read_processor("model\nsiblings : many\ncpu cores : 2\nprocessors : 3\nflags :");
    ck_assert_str_eq(x.name, "unknown processor");
    ck_assert_uint_eq(x.n_thread + x.n_core, 0);
    memset(text + 13, 'x', sizeof text - 14); /* a name that has no room is cut */
    ck_assert_uint_eq(strlen(read_processor(text).name), ATTN_PROCESSOR_TEXT_SIZE - 1);
    attn_processor_find(&x);
    ck_assert_str_ne(x.name, "");
}
END_TEST

ATTN_SUITE("bench", measures_every_part_that_is_asked_for, counts_what_a_part_needs,
           an_unknown_part_is_refused, who_is_told_may_end_it, a_bench_can_be_canceled,
           a_processor_is_told_with_its_numbers_and_features,
           what_is_not_said_of_a_processor_stays_unknown)
