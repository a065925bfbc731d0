/* test_bench.c - what a bench measures and tells; not how fast anything is. */
#include "tests/bench/parts/parts.h"
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

    ck_assert_msg(run("prefill,feed,decode", &seen, &err) == ATTN_OK, "%s", err.message);
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
    ck_assert_str_eq(err.message,
                     "unknown part 'encode', expected some of prefill,feed,decode,product,pack,"
                     "softmax,attention,gradients,batch,load,write");
    ck_assert_uint_eq(seen.n_row, 0);
}
END_TEST

START_TEST(who_is_told_may_end_it)
{
    struct seen seen = {.parts = "", .stop_after = 2};
    struct attn_error err = {0};

    ck_assert(run("prefill,feed,decode", &seen, &err) == ATTN_IO);
    ck_assert_str_eq(err.message, "enough");
    ck_assert_uint_eq(seen.n_row, 2);
}
END_TEST

START_TEST(lengths_are_read)
{
    static const char *const wrong[] = {"", "6,", "6,,7", "0", "six", "18"};
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    struct seen seen = {.parts = ""};
    struct attn_error err = {0};

    options.model = model;
    options.parts = "feed";
    options.lengths = "7,3";
    options.seconds = 0;
    options.on_row = take;
    options.user = &seen;
    ck_assert(attn_bench_run(&options, &err) == ATTN_OK);
    ck_assert_uint_eq(seen.n_row, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.lengths = wrong[i];
        ck_assert_msg(attn_bench_run(&options, &err) == ATTN_INVALID, "%s", wrong[i]);
    }
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("bench", measures_every_part_that_is_asked_for, counts_what_a_part_needs,
           an_unknown_part_is_refused, who_is_told_may_end_it, lengths_are_read)
