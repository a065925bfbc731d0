/*
 * test_output_events.c - events that no run tells: what is not finite, what does not fit the
 * selection or comes out of order, and runs that end early.
 */
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const letters[ATTN_MADE_UP_MAX] = {"a", "b", "c"};

static struct attn_made_up_run made;
static struct attn_error err;
static struct attn_sink *sink;
static struct attn_writer *writer;

/* Opens a writer of FORMAT in memory. */
static void set_up(const char *format, const struct attn_dims *dims, const char *sites,
                   const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, dims, dims->n_position == 3 ? letters : NULL);
    attn_made_up_run_select(&made, sites, heads, queries);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_msg(attn_writer_create_sink(attn_format_find(format), sink, &made.run,
                                          &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
}

static void tear_down(void)
{
    attn_writer_free(writer);
    attn_sink_free(sink);
    attn_made_up_run_release(&made);
}

/* Fails unless the writer, which is completed, has written TEXT. */
static void assert_written(const char *text)
{
    const char *seen;
    size_t size;

    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
    attn_sink_write(sink, "", 1);
    seen = attn_sink_bytes(sink, &size);
    ck_assert_msg(strstr(seen, text) != NULL, "expected\n%s\nin\n%s", text, seen);
}

START_TEST(qk_has_no_mask_and_scores_may_be_infinite)
{
    static const float rows[] = {1, 2, 3, -INFINITY, 5, 6, 7, 8, 9};
    static const char *const expected[] = {"\n0|a,1,2,3\n1|b,-inf,5,6\n2|c,7,8,9\n",
                                           "\n0|a,1,,\n1|b,-inf,5,\n2|c,7,8,9\n"};
    struct attn_trace_event event = {
        .at.head = 1, .n_row = 3, .n_col = 3, .ld = 3, .data = rows, .is_causal = true};

    for (int i = 0; i < 2; i++) {
        event.at.site = i == 0 ? ATTN_SITE_QK : ATTN_SITE_ATTN_SCORES;
        set_up("csv", &attn_made_up_small, attn_site_name(event.at.site), "0.1", "all");
        ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
        assert_written(expected[i]);
        tear_down();
    }
}
END_TEST

/* JSON has no words for them. */
START_TEST(what_is_not_finite_is_null)
{
    static const float row[3] = {NAN, -INFINITY, 1e-7F};
    const struct attn_trace_event event = {.at.site = ATTN_SITE_EMBED,
                                           .at.layer = ATTN_NO_LAYER,
                                           .at.head = ATTN_ALL_HEADS,
                                           .n_row = 1,
                                           .n_col = 3,
                                           .ld = 3,
                                           .data = row};

    set_up("json", &attn_made_up_small, "embed", "all", "0");
    ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
    assert_written("[null,null,1e-07]");
    tear_down();
}
END_TEST

START_TEST(rows_out_of_order_are_refused)
{
    static const float row[3] = {1, 2, 3};
    struct attn_trace_event event = {.at.site = ATTN_SITE_EMBED,
                                     .at.layer = ATTN_NO_LAYER,
                                     .at.head = ATTN_ALL_HEADS,
                                     .n_row = 1,
                                     .n_col = 3,
                                     .ld = 3,
                                     .data = row};

    set_up("json", &attn_made_up_small, "embed", "all", "all");
    for (event.row0 = attn_made_up_small.n_position; event.row0-- > 0;)
        ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "rows came out of order");
    tear_down();
}
END_TEST

START_TEST(events_outside_the_selection_are_refused)
{
    static const float data[8];
    static const struct {
        enum attn_site site;
        int layer, head;
        size_t row0, n_row, n_col, ld;
    } cases[] = {
        {ATTN_SITE_PATTERN, 1, 1, 1, 1, 3, 3}, /* the one that fits */
        {ATTN_SITE_Z, 1, 1, 1, 1, 3, 3},       {ATTN_SITE_PATTERN, 0, 1, 1, 1, 3, 3},
        {ATTN_SITE_PATTERN, 1, 0, 1, 1, 3, 3}, {ATTN_SITE_PATTERN, 1, 1, 0, 1, 3, 3},
        {ATTN_SITE_PATTERN, 1, 1, 1, 3, 3, 3}, {ATTN_SITE_PATTERN, 1, 1, 1, 1, 4, 4},
        {ATTN_SITE_PATTERN, 7, 1, 1, 1, 3, 3}, {ATTN_SITE_PATTERN, 1, 1, 1, 1, 3, 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_trace_event event = {.at.site = cases[i].site,
                                               .at.layer = cases[i].layer,
                                               .at.head = cases[i].head,
                                               .row0 = cases[i].row0,
                                               .n_row = cases[i].n_row,
                                               .n_col = cases[i].n_col,
                                               .ld = cases[i].ld,
                                               .data = data};

        set_up("text", &attn_made_up_small, "pattern", "1.1", "1,2");
        ck_assert_int_eq(attn_writer_event(writer, &event, &err), i == 0 ? ATTN_OK : ATTN_INVALID);
        ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID); /* rows are missing */
        tear_down();
    }
}
END_TEST

/* Two rows of a matrix of twenty columns, or of vectors, with room for four cells each. */
START_TEST(keys_that_are_no_columns_are_refused)
{
    static const struct {
        int32_t keys[8];
        size_t n_kept[2];
        enum attn_status status;
    } cases[] = {
        {{0, 1, 18, 19, 3, 7}, {4, 2}, ATTN_OK},
        {{0}, {0, 0}, ATTN_OK},
        {{0, 1, 18, 20}, {4, 0}, ATTN_INVALID},
        {{0, 1, 1, 2}, {4, 0}, ATTN_INVALID},
        {{0, 2, 1, 3}, {4, 0}, ATTN_INVALID},
        {{-1, 0, 1, 2}, {4, 0}, ATTN_INVALID},
        {{0, 1, 2, 3, INT32_MIN, 0}, {4, 2}, ATTN_INVALID},
        {{0, 1, 2, 3, 4, 5, 6, 7}, {5, 2}, ATTN_INVALID}, /* more than the room of a row */
        {{0, 1, 2, 3, 0, 1, 2, 3}, {0, 0}, ATTN_INVALID}, /* keys without numbers of them */
        {{0, 1, 2, 3, 0, 1, 2, 3}, {1, 1}, ATTN_INVALID}, /* of vectors */
    };
    enum { N_CASE = sizeof cases / sizeof *cases };
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct attn_dims dims = attn_made_up_small;

    dims.n_position = 20, dims.d_value = 4;
    for (size_t i = 0; i < N_CASE; i++) {
        const bool is_vectors = i == N_CASE - 1;
        const struct attn_trace_event event = {.at.site =
                                                   is_vectors ? ATTN_SITE_Z : ATTN_SITE_PATTERN,
                                               .n_row = 2,
                                               .n_col = is_vectors ? 4 : 20,
                                               .ld = 4,
                                               .data = values,
                                               .keys = cases[i].keys,
                                               .n_kept = i == N_CASE - 2 ? NULL : cases[i].n_kept};

        set_up("npz", &dims, "pattern,z", "0.0", "0,1");
        ck_assert_msg(attn_writer_event(writer, &event, &err) == cases[i].status, "case %zu: %s", i,
                      err.message);
        if (i >= 2 && i < N_CASE - 2)
            ck_assert_str_eq(err.message, "the keys of 'pattern' in layer 0, rows 0 to 1, are not "
                                          "ascending numbers below 20");
        tear_down();
    }
}
END_TEST

START_TEST(an_abandoned_run_leaves_whole_files_or_nothing)
{
    static const float row[3] = {1, 2, 3};
    struct attn_trace_event event = {
        .at.site = ATTN_SITE_PATTERN, .n_row = 1, .n_col = 3, .ld = 3, .data = row};

    attn_made_up_run_init(&made, &attn_made_up_small, NULL);
    attn_made_up_run_select(&made, "pattern", "0.*", "all");
    attn_folder_enter();
    for (size_t n_row = 2; n_row <= 3; n_row++) {
        ck_assert_int_eq(attn_writer_open(attn_format_find("csv"),
                                          &(struct attn_writer_target){.path = "d"}, &made.run,
                                          &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                         ATTN_OK);
        for (event.row0 = 0; event.row0 < n_row; event.row0++)
            ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
        attn_writer_free(writer);
        ck_assert_uint_eq(attn_folder_count(), n_row - 2);
    }
    attn_folder_assert("d/L00H00.pattern.csv",
                       "query,0|w,1|w,2|w\n0|w,1,2,3\n1|w,1,2,3\n2|w,1,2,3\n", 48);
    attn_written_remove("d");
    attn_folder_leave();
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(a_run_that_stops_early_leaves_nothing)
{
    const struct attn_predictions none = {0};

    attn_made_up_run_init(&made, &attn_made_up_small, NULL);
    attn_made_up_run_select(&made, "pattern", "all", "all");
    attn_folder_enter();
    ck_assert_int_eq(attn_writer_open(attn_format_find("json"),
                                      &(struct attn_writer_target){.path = "j"}, &made.run,
                                      &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    ck_assert_int_eq(attn_writer_predictions(writer, &none, &err), ATTN_INVALID);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID); /* and again */
    attn_writer_free(writer);
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("output_events", qk_has_no_mask_and_scores_may_be_infinite, what_is_not_finite_is_null,
           rows_out_of_order_are_refused, events_outside_the_selection_are_refused,
           keys_that_are_no_columns_are_refused, an_abandoned_run_leaves_whole_files_or_nothing,
           a_run_that_stops_early_leaves_nothing)
