/*
 * test_output_tidy.c - tidy CSV: every byte of small files, and what it refuses.
 */
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", "a,b", " say \"hi\"\n"};

static struct attn_made_up_run made;

static void set_up(const char *sites, const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, sites, heads, queries);
}

static void ck_assert_written(const struct attn_writer_options *options, const char *expected)
{
    char *text = attn_written_text(&made, "tidy", options);

    ck_assert_str_eq(text, expected);
    free(text);
    attn_made_up_run_release(&made);
}

#define HEADER "id,layer,head,query,key,query_token,key_token,weight\n"

START_TEST(each_cell_that_is_not_masked_is_a_line)
{
    set_up("pattern,z,attn_scores", "1.0", "all");
    ck_assert_written(&ATTN_WRITER_OPTIONS_DEFAULT,
                      HEADER "0,1,0,0,0,Life,Life,7424\n"
                             "0,1,0,1,0,\"a,b\",Life,7424.25\n"
                             "0,1,0,1,1,\"a,b\",\"a,b\",-7424.2344\n"
                             "0,1,0,2,0,\" say \"\"hi\"\"\\n\",Life,7424.5\n"
                             "0,1,0,2,1,\" say \"\"hi\"\"\\n\",\"a,b\",-7424.4844\n"
                             "0,1,0,2,2,\" say \"\"hi\"\"\\n\",\" say \"\"hi\"\"\\n\",7424.5312\n");
}
END_TEST

START_TEST(a_selection_keeps_numbers_and_positions)
{
    set_up("pattern", "0.1,1.0", "1");
    ck_assert_written(&ATTN_WRITER_OPTIONS_DEFAULT,
                      HEADER "0,0,1,1,0,\"a,b\",Life,7232.25\n"
                             "0,0,1,1,1,\"a,b\",\"a,b\",-7232.2344\n"
                             "0,1,0,1,0,\"a,b\",Life,7424.25\n"
                             "0,1,0,1,1,\"a,b\",\"a,b\",-7424.2344\n");
}
END_TEST

START_TEST(the_id_is_a_field_and_precision_fixes_digits)
{
    set_up("pattern", "0.1", "0");
    ck_assert_written(&((struct attn_writer_options){.size = sizeof(struct attn_writer_options),
                                                     .precision = 3,
                                                     .own = "run, 7\n"}),
                      HEADER "\"run, 7\\n\",0,1,0,0,Life,Life,7232.000\n");
}
END_TEST

/* Each of its four ways to begin, alone and with quotes to come; in the middle it is harmless. */
START_TEST(no_cell_of_text_begins_as_a_formula)
{
    static const char *const formulas[ATTN_MADE_UP_MAX] = {"=1+1", "+", "-,\"@"};

    attn_made_up_run_init(&made, &attn_made_up_small, formulas);
    attn_made_up_run_select(&made, "pattern", "0.1", "2");
    ck_assert_written(&((struct attn_writer_options){.size = sizeof(struct attn_writer_options),
                                                     .precision = 0,
                                                     .own = "@x=\\"}),
                      HEADER "\\x40x=\\\\,0,1,2,0,\"\\x2d,\"\"@\",\\x3d1+1,7232\n"
                             "\\x40x=\\\\,0,1,2,1,\"\\x2d,\"\"@\",\\x2b,-7232\n"
                             "\\x40x=\\\\,0,1,2,2,\"\\x2d,\"\"@\",\"\\x2d,\"\"@\",7233\n");
}
END_TEST

START_TEST(without_tokens_their_fields_are_empty)
{
    set_up("pattern", "0.1", "0");
    made.run.tokens = NULL, made.run.token_sizes = NULL;
    ck_assert_written(&ATTN_WRITER_OPTIONS_DEFAULT, HEADER "0,0,1,0,0,,,7232\n");
}
END_TEST

START_TEST(blocks_and_feeds_give_the_same_lines)
{
    char *text, *other;

    set_up("qk,attn_scores,pattern", "0.1", "all");
    text = attn_written_text(&made, "tidy", &ATTN_WRITER_OPTIONS_DEFAULT);
    for (size_t n = 1; n <= 2; n++) {
        other = attn_written_in_parts(&made, "tidy", n, 0);
        ck_assert_str_eq(other, text);
        free(other);
        other = attn_written_in_parts(&made, "tidy", 0, n);
        ck_assert_str_eq(other, text);
        free(other);
    }
    free(text);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(a_selection_without_patterns_is_refused)
{
    struct attn_error err = {0};

    set_up("z,attn_scores", "all", "all");
    attn_folder_enter();
    ck_assert_int_eq(attn_written_try(&made, "tidy", "t.csv", &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "tidy CSV needs the pattern, which is not selected");
    ck_assert_str_ne(err.hint, "");
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(failures_leave_no_file)
{
    struct attn_error err = {0};

    set_up("pattern,z", "all", "all");
    attn_folder_enter();
    attn_written_fails_whole(&made, "tidy", "t.csv");
    ck_assert_int_eq(attn_written_try(&made, "tidy", "absent/t.csv", &err), ATTN_IO);
    attn_folder_leave();
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("output_tidy", each_cell_that_is_not_masked_is_a_line,
           a_selection_keeps_numbers_and_positions, the_id_is_a_field_and_precision_fixes_digits,
           no_cell_of_text_begins_as_a_formula, without_tokens_their_fields_are_empty,
           blocks_and_feeds_give_the_same_lines, a_selection_without_patterns_is_refused,
           failures_leave_no_file)
