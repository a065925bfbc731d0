/*
 * test_output_npy.c - a folder of NPY files: every number of every site, the files there are, and
 * what failures leave.
 */
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct attn_dims small = {
    .n_layer = 2,
    .n_head = 4,
    .n_kv_head = 2,
    .d_model = 7,
    .d_head = 2,
    .d_value = 3,
    .d_mlp = 5,
    .n_vocab = 11,
    .n_position = 6,
    .n_rank = 4,
};

static struct attn_made_up_run made;

static void set_up(const char *sites, const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, &small, NULL);
    attn_made_up_run_select(&made, sites, heads, queries);
    attn_folder_enter();
}

/* Removes the folder d; returns how many files were in it beside the manifest. */
static int remove_files(void)
{
    DIR *entries = opendir("d");
    struct dirent *entry;
    int n = 0;

    ck_assert_ptr_nonnull(entries);
    while ((entry = readdir(entries)))
        n += unlinkat(dirfd(entries), entry->d_name, 0) == 0 &&
             strcmp(entry->d_name, "run.json") != 0;
    closedir(entries);
    ck_assert_int_eq(rmdir("d"), 0);
    return n;
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

/* Which of the numbers I of a site's array belongs where. */
static float value_at(enum attn_site site, int layer, const size_t shape[3], size_t i)
{
    enum attn_site_layout layout = attn_site_layout(site);

    if (!attn_site_has_heads(site))
        return attn_made_up_value(site, layer, ATTN_ALL_HEADS, i / shape[1], i % shape[1]);
    if (layout == ATTN_LAYOUT_HEADS)
        return attn_made_up_value(site, layer, (int)(i / shape[1]), i % shape[1], 0);
    if (layout == ATTN_LAYOUT_MATRIX || layout == ATTN_LAYOUT_RANK)
        return attn_made_up_value(site, layer, (int)(i / shape[2] / shape[1]),
                                  i / shape[2] % shape[1], i % shape[2]);
    return attn_made_up_value(site, layer, (int)(i / shape[2] % shape[1]), i / shape[2] / shape[1],
                              i % shape[2]);
}

/* The file of a site of the whole run. */
static void ck_assert_site(enum attn_site site, int layer)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], path[ATTN_SITE_ARCHIVE_NAME_SIZE + 8];
    struct attn_npy array;
    size_t shape[3];

    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "d/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "there is no '%s'", path);
    ck_assert_int_eq(array.rank, attn_selection_shape(
                                     made.selection,
                                     &(struct attn_location){.site = site, .layer = layer}, shape));
    for (int i = 0; i < array.rank; i++)
        ck_assert_uint_eq(array.shape[i], shape[i]);
    for (size_t i = 0; i < array.n; i++)
        ck_assert_msg((float)array.values[i] == value_at(site, layer, shape, i),
                      "%s: number %zu is %g", path, i, array.values[i]);
    attn_npy_release(&array);
}

START_TEST(holds_every_tensor_in_a_file_of_its_own)
{
    set_up("*", "all", "all");
    for (size_t n_row = 2; n_row <= 6; n_row += 4) {
        attn_written_to(&made, "npy", "d", n_row, 0);
        for (int site = 0; site < ATTN_N_SITE; site++)
            for (int layer = 0; layer < (int)small.n_layer; layer++)
                if (attn_sites_have(made.dims.sites, site))
                    ck_assert_site(site, attn_site_is_in_layer(site) ? layer : ATTN_NO_LAYER);
        ck_assert_int_eq(access("d/ids.npy", R_OK), 0);
        ck_assert_int_eq(access("d/tokens.npy", R_OK), 0);
        ck_assert_int_eq(remove_files(), 2 + attn_made_up_run_n_tensor(&made));
    }
    tear_down();
}
END_TEST

START_TEST(several_feeds_fill_the_same_files)
{
    set_up("pattern,z,v,resid_mid,logits", "all", "all");
    attn_written_to(&made, "npy", "d", 0, 4);
    ck_assert_site(ATTN_SITE_PATTERN, 1);
    ck_assert_site(ATTN_SITE_Z, 0);
    ck_assert_site(ATTN_SITE_V, 1);
    ck_assert_site(ATTN_SITE_RESID_MID, 0);
    ck_assert_site(ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    remove_files();
    tear_down();
}
END_TEST

static void ck_assert_integers(const char *path, const double *expected, size_t n)
{
    struct attn_npy array;

    ck_assert_msg(attn_npy_read(path, &array), "there is no '%s'", path);
    ck_assert_uint_eq(array.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert(array.values[i] == expected[i]);
    attn_npy_release(&array);
}

START_TEST(a_selection_says_what_it_holds)
{
    struct attn_npy array;

    set_up("pattern,z", "1.1,1.3", "1,4-5");
    attn_written_to(&made, "npy", "d", SIZE_MAX, 0);
    ck_assert_integers("d/queries.npy", (double[]){1, 4, 5}, 3);
    ck_assert_integers("d/blocks.1.heads.npy", (double[]){1, 3}, 2);
    ck_assert_integers("d/ids.npy", (double[]){10, 11, 12, 13, 14, 15}, 6);
    ck_assert(attn_npy_read("d/blocks.1.attn.hook_pattern.npy", &array));
    for (size_t h = 0; h < 2; h++)
        for (size_t col = 0; col < 6; col++)
            ck_assert((float)array.values[(h * 3 + 1) * 6 + col] ==
                      attn_made_up_value(ATTN_SITE_PATTERN, 1, h ? 3 : 1, 4, col));
    attn_npy_release(&array);
    ck_assert(attn_npy_read("d/blocks.1.attn.hook_z.npy", &array));
    ck_assert_uint_eq(array.shape[0], 3);
    ck_assert_uint_eq(array.shape[1], 2);
    ck_assert((float)array.values[(2 * 2 + 1) * 3 + 2] ==
              attn_made_up_value(ATTN_SITE_Z, 1, 3, 5, 2));
    attn_npy_release(&array);
    ck_assert_int_eq(remove_files(), 6);
    tear_down();
}
END_TEST

START_TEST(a_failure_leaves_whole_files_or_nothing)
{
    struct attn_error err = {0};

    set_up("pattern,z,resid_post", "all", "1-3");
    attn_written_fails_whole(&made, "npy", "d");
    ck_assert_int_eq(attn_written_try(&made, "npy", "absent/d", &err), ATTN_IO);

    /* a full device in the middle: the arrays before it are there */
    ck_assert_int_eq(mkdir("d", 0700), 0);
    ck_assert_int_eq(symlink("/dev/full", "d/blocks.1.attn.hook_pattern.npy"), 0);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_written_try(&made, "npy", "d", &err), ATTN_IO);
    ck_assert_int_eq(access("d/blocks.0.hook_resid_post.npy", R_OK), 0);
    ck_assert_int_eq(access("d/blocks.1.attn.hook_z.npy", R_OK), -1);
    ck_assert_int_eq(remove_files(), 7); /* three small ones, three of layer 0, the link */
    tear_down();
}
END_TEST

START_TEST(a_stream_is_refused)
{
    struct attn_error err = {0};
    struct attn_writer *writer = NULL;
    struct attn_sink *sink;

    set_up("pattern", "all", "all");
    attn_sink_create_memory(&sink, &err);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("npy"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_INVALID);
    ck_assert_ptr_null(writer);
    attn_sink_free(sink);
    tear_down();
}
END_TEST

ATTN_SUITE("output_npy", holds_every_tensor_in_a_file_of_its_own, several_feeds_fill_the_same_files,
           a_selection_says_what_it_holds, a_failure_leaves_whole_files_or_nothing,
           a_stream_is_refused)
