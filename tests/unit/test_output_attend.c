/*
 * test_output_attend.c - what the formats make of attention on arrays: plain names, and the axes of
 * the inputs.
 */
#include "attn.h"
#include "tests/support/folder.h"
#include "tests/support/npy.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two queries and three keys, of which causal queries see two and three. */
static const bool is_cross[] = {true};
static const struct attn_dims small = {
    .n_layer = 1,
    .n_head = 4,
    .n_kv_head = 2,
    .d_head = 2,
    .d_value = 2,
    .n_position = 2,
    .n_rank = 2,
    .n_source = 3,
    .is_cross = is_cross,
};

static const struct attn_array_axes two = {.rank = 2, .n_batch = 1};
static const struct attn_array_axes three = {.rank = 3, .n_batch = 1};
static const struct attn_array_axes four = {.rank = 4, .n_batch = 2};

static struct attn_made_up_run made;

static void set_up(const struct attn_array_axes *axes, const char *sites, const char *heads)
{
    struct attn_dims dims = small;

    if (axes == &two)
        dims.n_head = dims.n_kv_head = 1;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, sites, heads, "all");
    made.ahead = 1;
    made.run.axes = axes;
    made.run.model = NULL;
    made.run.ids = NULL;
    made.run.tokens = NULL;
    attn_folder_enter();
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

static void ck_assert_text(const char *format, const char *expected)
{
    char *text = attn_written_text(&made, format, &ATTN_WRITER_OPTIONS_DEFAULT);

    ck_assert_str_eq(text, expected);
    free(text);
}

/* The document holds PART. */
static void ck_assert_json(const char *part)
{
    char *text = attn_written_text(&made, "json", &ATTN_WRITER_OPTIONS_DEFAULT);

    ck_assert_msg(strstr(text, part) != NULL, "expected\n%sin\n%s", part, text);
    free(text);
}

/* The file d/NAME.npy, which is removed, has this shape (0 ends it) and begins with FIRST. */
static void ck_assert_array(const char *name, const size_t *shape, double first)
{
    struct attn_npy array;
    char path[80];
    int rank = 0;

    snprintf(path, sizeof path, "d/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "there is no '%s'", path);
    for (; shape[rank] > 0; rank++)
        ck_assert_msg(rank < array.rank && array.shape[rank] == shape[rank], "%s: axis %d", path,
                      rank);
    ck_assert_int_eq(array.rank, rank);
    ck_assert_double_eq(array.values[0], first);
    attn_npy_release(&array);
    ck_assert_int_eq(unlink(path), 0);
}

/* Files d/... are exactly these; they are removed. */
static void ck_assert_files(const char *const *names)
{
    for (; *names; names++) {
        char path[80];

        snprintf(path, sizeof path, "d/%s", *names);
        ck_assert_msg(unlink(path) == 0, "there is no '%s'", path);
    }
    ck_assert_int_eq(unlink("d/run.json") | rmdir("d"), 0);
}

START_TEST(arrays_have_the_axes_of_the_inputs)
{
    static const struct {
        const struct attn_array_axes *axes;
        size_t pattern[5], lowrank[5], k[5], z[5];
    } cases[] = {
        {&two, {2, 3}, {2, 2}, {3, 2}, {2, 2}},
        {&three, {4, 2, 3}, {4, 2, 2}, {2, 3, 2}, {4, 2, 2}},
        {&four, {2, 2, 2, 3}, {2, 2, 2, 2}, {2, 1, 3, 2}, {2, 2, 2, 2}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_up(cases[i].axes, "pattern,pattern_lowrank,k,z", "all");
        attn_written_to(&made, "npy", "d", 1, 0);
        ck_assert_array("pattern", cases[i].pattern, 7168);
        ck_assert_array("pattern_lowrank", cases[i].lowrank, 18432);
        ck_assert_array("k", cases[i].k, 3072);
        ck_assert_array("z", cases[i].z, 8192);
        ck_assert_int_eq(unlink("d/run.json") | rmdir("d"), 0);
        tear_down();
    }
}
END_TEST

START_TEST(z_goes_head_by_head)
{
    struct attn_npy z;

    set_up(&four, "z", "all");
    attn_written_to(&made, "npy", "d", 1, 0);
    ck_assert(attn_npy_read("d/z.npy", &z));
    for (size_t i = 0; i < z.n; i++)
        ck_assert_double_eq(z.values[i], (double)attn_made_up_value(ATTN_SITE_Z, 0, (int)(i / 4),
                                                                    i / 2 % 2, i % 2));
    attn_npy_release(&z);
    ck_assert_int_eq(unlink("d/z.npy"), 0);
    ck_assert_int_eq(unlink("d/run.json") | rmdir("d"), 0);
    tear_down();
}
END_TEST

START_TEST(heads_that_differ_are_numbered_through_the_batches)
{
    set_up(&four, "pattern,z", "1,2");
    attn_written_to(&made, "npy", "d", SIZE_MAX, 0);
    ck_assert_array("pattern", (size_t[]){2, 2, 3, 0}, 7168 + 64);
    ck_assert_array("z", (size_t[]){2, 2, 2, 0}, 8192 + 64);
    ck_assert_array("heads", (size_t[]){2, 0}, 1);
    ck_assert_int_eq(unlink("d/run.json") | rmdir("d"), 0);
    tear_down();
}
END_TEST

START_TEST(heads_chosen_in_every_batch_keep_its_axis)
{
    set_up(&four, "pattern,k,z", "1,3");
    attn_written_to(&made, "npy", "d", SIZE_MAX, 0);
    ck_assert_array("pattern", (size_t[]){2, 1, 2, 3, 0}, 7168 + 64);
    ck_assert_array("k", (size_t[]){2, 1, 3, 2, 0}, 3072);
    ck_assert_array("z", (size_t[]){2, 1, 2, 2, 0}, 8192 + 64);
    ck_assert_array("heads", (size_t[]){1, 0}, 1);
    ck_assert_int_eq(unlink("d/run.json") | rmdir("d"), 0);
    tear_down();
}
END_TEST

START_TEST(files_are_named_by_batch_and_head)
{
    set_up(&two, "pattern,z", "all");
    attn_written_to(&made, "csv", "d", SIZE_MAX, 0);
    ck_assert_files((const char *const[]){"pattern.csv", "z.csv", NULL});
    tear_down();
    set_up(&three, "pattern,k", "1,3");
    attn_written_to(&made, "csv", "d", SIZE_MAX, 0);
    ck_assert_files((const char *const[]){"H01.pattern.csv", "H03.pattern.csv", "H00.k.csv",
                                          "H01.k.csv", NULL});
    tear_down();
    set_up(&four, "pattern,k", "all");
    attn_written_to(&made, "csv", "d", SIZE_MAX, 0);
    ck_assert_files((const char *const[]){"B00H00.pattern.csv", "B00H01.pattern.csv",
                                          "B01H00.pattern.csv", "B01H01.pattern.csv",
                                          "B00H00.k.csv", "B01H00.k.csv", NULL});
    tear_down();
}
END_TEST

START_TEST(rows_and_keys_are_numbers_in_csv)
{
    set_up(&two, "attn_scores", "all");
    ck_assert_text("csv", "query,0,1,2\n0,6144,-6143.9844,\n1,6144.25,-6144.2344,6144.2812\n");
    tear_down();
    set_up(&two, "pattern_lowrank", "all");
    ck_assert_text("csv", "query,0,1\n0,18432,-18431.984\n1,18432.25,-18432.234\n");
    tear_down();
    set_up(&two, "z", "all");
    ck_assert_text("csv", "query,0,1\n0,8192,-8191.9844\n1,8192.25,-8192.234\n");
    tear_down();
    set_up(&two, "k", "all");
    ck_assert_text("csv",
                   "key,0,1\n0,3072,-3071.9844\n1,3072.25,-3072.2344\n2,3072.5,-3072.4844\n");
    tear_down();
}
END_TEST

START_TEST(tables_are_headed_by_batch_and_head)
{
    set_up(&four, "pattern,z", "3");
    ck_assert_text("text", "batch 1, head 1: pattern\n"
                           "query          0           1          2\n"
                           "    0  7360.0000  -7359.9844          .\n"
                           "    1  7360.2500  -7360.2344  7360.2812\n"
                           "\n"
                           "batch 1, head 1: z\n"
                           "query          0           1\n"
                           "    0  8384.0000  -8383.9844\n"
                           "    1  8384.2500  -8384.2344\n");
    tear_down();
    set_up(&three, "k", "3");
    ck_assert_text("text", "key/value head 1 of heads 2-3: k\n"
                           "key          0           1\n"
                           "  0  3136.0000  -3135.9844\n"
                           "  1  3136.2500  -3136.2344\n"
                           "  2  3136.5000  -3136.4844\n");
    tear_down();
    set_up(&two, "pattern_lowrank", "all");
    ck_assert_text("text", "pattern_lowrank\n"
                           "query           0            1\n"
                           "    0  18432.0000  -18431.9844\n"
                           "    1  18432.2500  -18432.2344\n");
    tear_down();
}
END_TEST

START_TEST(json_nests_as_the_inputs)
{
    set_up(&four, "pattern,z", "all");
    ck_assert_json("\"model\": null,\n"
                   "\"options\": {},\n"
                   "\"tokens\": null,\n"
                   "\"ids\": null,\n"
                   "\"offsets\": null,\n"
                   "\"kv_heads\": [0,0],\n"
                   "\"tensors\": {\n"
                   "\"pattern\": [[[\n"
                   "[7168,-7167.9844,null],\n"
                   "[7168.25,-7168.2344,7168.2812]],[\n"
                   "[7232,-7231.9844,null],\n"
                   "[7232.25,-7232.2344,7232.2812]]],[[\n"
                   "[7296,-7295.9844,null],\n"
                   "[7296.25,-7296.2344,7296.2812]],[\n"
                   "[7360,-7359.9844,null],\n"
                   "[7360.25,-7360.2344,7360.2812]]]],\n"
                   "\"z\": [[[\n"
                   "[8192,-8191.9844],\n"
                   "[8192.25,-8192.234]],[\n"
                   "[8256,-8255.984],\n"
                   "[8256.25,-8256.234]]],[[\n"
                   "[8320,-8319.984],\n"
                   "[8320.25,-8320.234]],[\n"
                   "[8384,-8383.984],\n"
                   "[8384.25,-8384.234]]]]\n"
                   "},\n");
    tear_down();
    set_up(&four, "z", "1");
    ck_assert_json("\"heads\": [1],\n"
                   "\"z\": [[\n"
                   "[8256,-8255.984],\n"
                   "[8256.25,-8256.234]]]\n"
                   "},\n");
    tear_down();
    set_up(&two, "z", "all");
    ck_assert_json("\"tensors\": {\n"
                   "\"z\": [\n"
                   "[8192,-8191.9844],\n"
                   "[8192.25,-8192.234]]\n"
                   "},\n");
    tear_down();
}
END_TEST

START_TEST(tidy_lists_the_heads_of_all_batches)
{
    set_up(&four, "pattern", "3");
    ck_assert_text("tidy", "id,layer,head,query,key,query_token,key_token,weight\n"
                           "0,0,3,0,0,,,7360\n"
                           "0,0,3,0,1,,,-7359.9844\n"
                           "0,0,3,1,0,,,7360.25\n"
                           "0,0,3,1,1,,,-7360.2344\n"
                           "0,0,3,1,2,,,7360.2812\n");
    tear_down();
}
END_TEST

START_TEST(axes_that_do_not_fit_are_refused)
{
    static const struct {
        struct attn_array_axes axes;
        const char *message;
    } cases[] = {
        {{1, 1}, "arrays have 1 axes, expected 2 to 4"},
        {{5, 1}, "arrays have 5 axes, expected 2 to 4"},
        {{2, 1}, "arrays of 2 axes have 4 heads, expected 1"},
        {{3, 2}, "2 batches do not divide 4 heads and 2 of keys in 3 axes"},
        {{4, 0}, "0 batches do not divide 4 heads and 2 of keys in 4 axes"},
        {{4, 4}, "4 batches do not divide 4 heads and 2 of keys in 4 axes"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_error err = {0};

        set_up(&cases[i].axes, "pattern", "all");
        ck_assert_int_eq(attn_written_try(&made, "npz", "a.npz", &err), ATTN_INVALID);
        ck_assert_str_eq(err.message, cases[i].message);
        tear_down();
    }
}
END_TEST

START_TEST(every_failed_allocation_leaves_nothing)
{
    const bool can_draw = attn_can_draw();

    for (size_t i = 0; i < attn_n_format(); i++) {
        if (!attn_format_at(i)->tensors || (attn_is_drawn(attn_format_at(i)) && !can_draw))
            continue;
        set_up(&four, "pattern,z", "1,3");
        attn_written_fails_whole(&made, attn_format_at(i)->name, "written");
        tear_down();
    }
}
END_TEST

ATTN_SUITE("output_attend", arrays_have_the_axes_of_the_inputs, z_goes_head_by_head,
           heads_that_differ_are_numbered_through_the_batches,
           heads_chosen_in_every_batch_keep_its_axis, files_are_named_by_batch_and_head,
           rows_and_keys_are_numbers_in_csv, tables_are_headed_by_batch_and_head,
           json_nests_as_the_inputs, tidy_lists_the_heads_of_all_batches,
           axes_that_do_not_fit_are_refused, every_failed_allocation_leaves_nothing)
