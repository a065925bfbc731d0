/*
 * test_output_text.c - the tables for reading: exact for a small run, shortened for a long one.
 */
#include "tables/text_table.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", "is", "short"};

START_TEST(shows_tokens_then_each_layer)
{
    static const char expected[] = "position  id  token\n"
                                   "       0  10  Life\n"
                                   "       1  11  is\n"
                                   "       2  12  short\n"
                                   "\n"
                                   "layer 1, head 0: pattern\n"
                                   "   query       Life          is      short\n"
                                   "0  Life   7424.0000           .          .\n"
                                   "1  is     7424.2500  -7424.2344          .\n"
                                   "2  short  7424.5000  -7424.4844  7424.5312\n"
                                   "\n"
                                   "layer 1, head 0: z\n"
                                   "   token          0           1\n"
                                   "0  Life   8448.0000  -8447.9844\n"
                                   "1  is     8448.2500  -8448.2344\n"
                                   "2  short  8448.5000  -8448.4844\n";
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern,z", "1.0", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_str_eq(text, expected);
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(says_which_tokens_were_added)
{
    static const char expected[] = "position  id  token\n"
                                   "       0  10  Life   added\n"
                                   "       1  11  is\n"
                                   "       2  12  short  added\n"
                                   "\n";
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern", "1.0", "all");
    made.run.n_front = 1, made.run.n_back = 1;
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_msg(strncmp(text, expected, sizeof expected - 1) == 0, "%s", text);
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(shows_every_site_once_in_order)
{
    static const char *const titles[] = {
        "\nembed\n",
        "\nlayer 0: resid_pre\n",
        "\nlayer 0, head 0: q\n",
        "\nlayer 0, head 1: q\n",
        "\nlayer 0, key/value head 0 of heads 0-1: k\n",
        "\nlayer 0, key/value head 0 of heads 0-1: v\n",
        "\nlayer 0, head 0: qk\n",
        "\nlayer 0, head 1: attn_scores\n",
        "\nlayer 0, head 0: pattern\n",
        "\nlayer 0, head 1: z\n",
        "\nlayer 0: attn_out\n",
        "\nlayer 0: resid_post\n",
        "\nlayer 1: resid_pre\n",
        "\nln_final\n",
        "\nlogits\n",
    };
    struct attn_made_up_run made;
    const char *at;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "*", "all", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    at = text;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        at = strstr(at, titles[i]);
        ck_assert_msg(at != NULL, "'%s' is missing or too early", titles[i]);
        ck_assert_msg(strstr(at + 1, titles[i]) == NULL, "'%s' comes twice", titles[i]);
    }
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(blocks_and_feeds_give_the_same_text)
{
    struct attn_made_up_run made;
    struct attn_dims dims = attn_made_up_small;
    char *whole, *blocks, *steps;

    dims.n_position = 20;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, "pattern,attn_scores,z,k,logits", "all", "all");
    whole = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    blocks = attn_written_in_parts(&made, "text", 3, 0);
    steps = attn_written_in_parts(&made, "text", 0, 7);
    ck_assert_str_eq(blocks, whole);
    ck_assert_str_eq(steps, whole);
    free(whole), free(blocks), free(steps);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(long_runs_are_shortened_and_say_so)
{
    static const char last[] = "\n\nShortened: 16 of 60 positions, 8 of 11 vector components are "
                               "shown; `csv DIR` or `npz FILE` writes all\n";
    struct attn_made_up_run made;
    struct attn_dims dims = attn_made_up_small;
    size_t n_line = 0;
    char *text;

    dims.n_layer = 1, dims.n_head = 9, dims.n_kv_head = 3, dims.d_value = 11, dims.n_position = 60;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, "pattern,z", "all", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_str_eq(text + strlen(text) - strlen(last), last);
    for (const char *p = text; *p; p++)
        n_line += *p == '\n';
    /* token table 1+17, nine patterns 3+17 and nine z 2+17 with an empty line each, the last line
     * with one */
    ck_assert_uint_eq(n_line, 18 + 9 * 21 + 9 * 20 + 2);
    ck_assert_ptr_nonnull(strstr(text, " 3  ...  "));
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(projected_keys_are_shortened_as_keys_are)
{
    struct attn_dims dims = attn_made_up_small;
    struct attn_made_up_run made;
    const char *title;
    char *text;

    dims.n_rank = 20;
    attn_made_up_run_init(&made, &dims, words);
    attn_made_up_run_select(&made, "pattern_lowrank", "0.0", "0");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    title = strstr(text, "pattern_lowrank\n");
    ck_assert_ptr_nonnull(title);
    ck_assert_ptr_nonnull(strstr(title, "  7  ...  "));
    ck_assert_ptr_nonnull(strstr(title, "...          12 "));
    ck_assert_ptr_nonnull(strstr(text, "\nShortened: 16 of 20 projected keys are shown; "));
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(sixteen_positions_are_not_shortened)
{
    struct attn_made_up_run made;
    struct attn_dims dims = attn_made_up_small;
    char *text;

    dims.n_position = 16;
    attn_made_up_run_init(&made, &dims, NULL);
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_ptr_null(strstr(text, "..."));
    ck_assert_ptr_null(strstr(text, "Shortened"));
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(queries_keep_their_positions)
{
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern", "0.1", "2");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_ptr_nonnull(strstr(text, "   query       Life          is      short\n"
                                       "2  short  7232.5000  -7232.4844  7232.5312\n"));
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(qk_has_no_mask)
{
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "qk", "0.0", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_ptr_null(strstr(strstr(text, "qk"), " .")); /* no masked cell */
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(tokens_with_blanks_are_quoted_and_labels_trimmed)
{
    static const char *const odd[ATTN_MADE_UP_MAX] = {" a", " ", "incomprehensible"};
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, odd);
    attn_made_up_run_select(&made, "pattern", "0.0", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_ptr_nonnull(strstr(text, "       0  10  ' a'\n       1  11  ' '\n"
                                       "       2  12  'incomprehensible'\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n0  a           7168.0000"));
    ck_assert_ptr_nonnull(strstr(text, "\n1  ' '         7168.2500"));
    ck_assert_ptr_nonnull(strstr(text, "\n2  incompreh\xe2\x80\xa6  7168.5000"));
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(wide_and_hostile_tokens_line_up)
{
    static const char *const odd[ATTN_MADE_UP_MAX] = {
        "\xe7\x8c\xab\xe7\x8c\xab", "\x1b[31m",
        ("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
         "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80")};
    struct attn_made_up_run made;
    size_t width = 0;
    char *text, *line;

    attn_made_up_run_init(&made, &attn_made_up_small, odd);
    attn_made_up_run_select(&made, "pattern", "0.0", "all");
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_ptr_null(strchr(text, 0x1b));
    line = strstr(text, "   query");
    for (int i = 0; i < 4; i++) { /* every row ends in the same column of a terminal */
        size_t size = strcspn(line, "\n");

        if (i > 0)
            ck_assert_uint_eq(attn_text_width(line, size), width);
        width = attn_text_width(line, size);
        line += size + 1;
    }
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(positions_stand_for_tokens_when_there_are_none)
{
    struct attn_made_up_run made;
    char *text;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern", "0.0", "all");
    made.run.ids = NULL, made.run.tokens = NULL, made.run.token_sizes = NULL;
    text = attn_written_in_parts(&made, "text", SIZE_MAX, 0);
    ck_assert_str_eq(text, "layer 0, head 0: pattern\n"
                           "query          0           1          2\n"
                           "    0  7168.0000           .          .\n"
                           "    1  7168.2500  -7168.2344          .\n"
                           "    2  7168.5000  -7168.4844  7168.5312\n");
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(a_full_device_is_reported)
{
    struct attn_made_up_run made;
    struct attn_error err = {0};
    struct attn_writer *writer;
    enum attn_status status;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    ck_assert_int_eq(attn_writer_open(attn_format_find("text"),
                                      &(struct attn_writer_target){.path = "/dev/full"}, &made.run,
                                      &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    status = attn_made_up_run_play(&made, writer, SIZE_MAX, &err);
    if (status == ATTN_OK)
        status = attn_writer_finish(writer, &err);
    ck_assert_int_eq(status, ATTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "/dev/full"));
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_IO); /* and again */
    attn_writer_free(writer);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(events_outside_the_selection_are_refused)
{
    struct attn_made_up_run made;
    const float data[8] = {0};
    const struct attn_trace_event good = {.at.site = ATTN_SITE_PATTERN,
                                          .at.layer = 1,
                                          .at.head = 1,
                                          .row0 = 1,
                                          .n_row = 1,
                                          .n_col = 3,
                                          .ld = 3,
                                          .data = data};
    struct attn_trace_event events[8];

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern", "1.1", "1,2");
    for (int i = 0; i < 8; i++)
        events[i] = good;
    events[0].at.site = ATTN_SITE_Z;
    events[1].at.layer = 0;
    events[2].at.head = 0;
    events[3].row0 = 0;
    events[4].n_row = 3;
    events[5].n_col = 4, events[5].ld = 4;
    events[6].at.layer = 7;
    events[7].ld = 2;
    for (int i = -1; i < 8; i++) {
        struct attn_error err = {0};
        struct attn_writer *writer;
        struct attn_sink *sink;

        ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
        ck_assert_int_eq(attn_writer_create_sink(attn_format_find("text"), sink, &made.run,
                                                 &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                         ATTN_OK);
        ck_assert_int_eq(attn_writer_event(writer, i < 0 ? &good : &events[i], &err),
                         i < 0 ? ATTN_OK : ATTN_INVALID);
        ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID); /* rows are missing */
        attn_writer_free(writer);
        attn_sink_free(sink);
    }
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(every_failed_allocation_is_reported)
{
    struct attn_made_up_run made;
    struct attn_sink *sink;
    struct attn_error err = {0};
    enum attn_status status = ATTN_NO_MEMORY;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern,z,logits", "all", "all");
    ck_assert_int_eq(attn_sink_create_descriptor(open("/dev/null", O_WRONLY), "null", &sink, &err),
                     ATTN_OK);
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_writer *writer = NULL;

        attn_alloc_fail_at(n);
        status = attn_writer_create_sink(attn_format_find("text"), sink, &made.run,
                                         &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err);
        if (status == ATTN_OK)
            status = attn_made_up_run_play(&made, writer, SIZE_MAX, &err);
        if (status == ATTN_OK)
            status = attn_writer_finish(writer, &err);
        attn_alloc_fail_off();
        attn_writer_free(writer);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_int_lt(n, 1000);
    }
    attn_sink_free(sink);
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("output_text", shows_tokens_then_each_layer, says_which_tokens_were_added,
           shows_every_site_once_in_order, blocks_and_feeds_give_the_same_text,
           long_runs_are_shortened_and_say_so, projected_keys_are_shortened_as_keys_are,
           sixteen_positions_are_not_shortened, queries_keep_their_positions, qk_has_no_mask,
           tokens_with_blanks_are_quoted_and_labels_trimmed, wide_and_hostile_tokens_line_up,
           positions_stand_for_tokens_when_there_are_none, a_full_device_is_reported,
           events_outside_the_selection_are_refused, every_failed_allocation_is_reported)
