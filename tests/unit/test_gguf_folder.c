/* Tags of GGUF files: which file each means, and that every file has one. */
#include "catalog/catalog_internal.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

START_TEST(a_tag_is_a_whole_part_of_a_name_in_any_case)
{
    static const struct {
        const char *file, *tag;
        bool has;
    } cases[] = {
        {"Llama-3.2-1B-Q4_K_M.gguf", "Q4_K_M", true},
        {"Llama-3.2-1B-Q4_K_M.gguf", "q4_k_m", true},
        {"Llama-3.2-1B-Q4_K_M.gguf", "Q4_K", false},
        {"Llama-3.2-1B-Q4_K_M.gguf", "K_M", true},
        {"Llama-3.2-1B-Q4_K_M.gguf", "_M", false},
        {"Llama-3.2-1B-Q4_K_M.gguf", "3.2", true},
        {"model.Q8_0.gguf", "Q8_0", true},
        {"model_f16.gguf", "F16", true},
        {"x-BF16.gguf", "F16", false},
        {"x-BF16.gguf", "BF16", true},
        {"F16.gguf", "F16", true},
        {"BF16/x-00001-of-00002.gguf", "BF16", false}, /* '/' comes after it */
        {"BF16/Q8_0-00001-of-00002.gguf", "Q8_0", true},
        {"BF16/x-BF16-00001-of-00002.gguf", "BF16", true},
        {"UD-Q4_K_XL.gguf", "Q4_K_XL", true},
        {"UD-Q4_K_XL.gguf", "UD-Q4_K_XL", true},
        {"x-F16", "F16", false}, /* nothing comes after it */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_gguf_folder folder = {.path = "d", .name = "owner/name"};
        char path[ATTN_PATH_SIZE];

        ck_assert(attn_path_names_add(&folder.files, cases[i].file, NULL) == ATTN_OK);
        ck_assert_msg((attn_gguf_folder_choose(&folder, cases[i].tag, path, NULL) == ATTN_OK) ==
                          cases[i].has,
                      "%s in %s", cases[i].tag, cases[i].file);
        attn_path_names_release(&folder.files);
    }
    ck_assert(attn_gguf_is_tag("Q4_K_M") && attn_gguf_is_tag("x y") && !attn_gguf_is_tag("") &&
              !attn_gguf_is_tag("a:b") && !attn_gguf_is_tag("a@b"));
}
END_TEST

/* Adds NAMES, ended by NULL, to FOLDER. */
static void add_files(struct attn_gguf_folder *folder, const char *const *names)
{
    for (; *names; names++)
        ck_assert(attn_path_names_add(&folder->files, *names, NULL) == ATTN_OK);
}

START_TEST(each_file_has_a_tag_that_means_it_alone)
{
    static const char *const names[] = {
        "a-1.5-Q4_K_M.gguf", "a-1.5-UD-Q4_K_M.gguf", "a-1.5-UD-IQ1_S.gguf",
        "a-1.5.f16.gguf",    "a_q5_1.gguf",          "BF16/a-1.5-BF16-00001-of-00003.gguf",
        "a-Q8_0.gguf",       "b-Q8_0.gguf",          "plain.gguf",
        "one/same.gguf",     "two/same.gguf",        NULL};
    static const char *const tags[] = {"Q4_K_M", "UD-Q4_K_M", "UD-IQ1_S", "f16",
                                       "q5_1",   "BF16",      "a-Q8_0",   "b-Q8_0",
                                       "plain",  "one/same",  "two/same", "two/plain"};
    struct attn_gguf_folder folder = {.path = "d", .name = "owner/name"};
    char tag[ATTN_GGUF_TAG_SIZE], path[ATTN_PATH_SIZE], expected[ATTN_PATH_SIZE];
    struct attn_error err = {0};

    add_files(&folder, names);
    for (size_t i = 0; i < folder.files.n; i++) {
        attn_gguf_folder_write_tag(&folder, i, tag);
        ck_assert_str_eq(tag, tags[i]);
        ck_assert_msg(attn_gguf_folder_choose(&folder, tag, path, &err) == ATTN_OK, "%s",
                      err.message);
        snprintf(expected, sizeof expected, "d/%s", names[i]);
        ck_assert_str_eq(path, expected);
    }
    ck_assert(attn_gguf_folder_choose(&folder, NULL, path, &err) == ATTN_OK);
    ck_assert_str_eq(path, "d/a-1.5-Q4_K_M.gguf");
    ck_assert(attn_gguf_folder_choose(&folder, "Q8_0", path, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "'owner/name' has 2 models of tag 'Q8_0'"));
    ck_assert(attn_gguf_folder_choose(&folder, "same", path, &err) == ATTN_INVALID);
    err = (struct attn_error){0};
    ck_assert(attn_gguf_folder_choose(&folder, "Q5_K_M", path, &err) == ATTN_INVALID);
    ck_assert_msg(strstr(err.message, "has no model of tag 'Q5_K_M', only 'Q4_K_M', 'UD-"), "%s",
                  err.message);
    attn_path_names_release(&folder.files);
}
END_TEST

START_TEST(without_a_tag_some_types_come_first)
{
    static const char *const names[] = {"a-Q6_K.gguf", "a-F16.gguf", "a-Q8_0.gguf",
                                        "a-Q4_K_M.gguf"};
    static const char *const taken[] = {"d/a-Q6_K.gguf", NULL, "d/a-Q8_0.gguf", "d/a-Q4_K_M.gguf"};
    struct attn_gguf_folder folder = {.path = "d", .name = "owner/name"};
    char path[ATTN_PATH_SIZE];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert(attn_path_names_add(&folder.files, names[i], NULL) == ATTN_OK);
        ck_assert((attn_gguf_folder_choose(&folder, NULL, path, NULL) == ATTN_OK) ==
                  (taken[i] != NULL));
        if (taken[i])
            ck_assert_str_eq(path, taken[i]);
    }
    attn_path_names_release(&folder.files);
}
END_TEST

START_TEST(what_goes_with_a_model_is_left_out)
{
    static const char *const names[] = {
        "a-Q8_0.gguf",           "mmproj-F16.gguf", "a-imatrix.gguf",  "mtp-a.gguf",
        "eagle3-a.gguf",         "dflash-a.gguf",   "a-dspark-x.gguf", "a-00001-of-00002.gguf",
        "a-00002-of-00002.gguf", "a-MMPROJ.gguf",   ".gguf",           ".hidden.gguf",
        "a.gguf.part",           "a.GGUF",          "1/2/deep.gguf",   "1/2/3/deeper.gguf",
        "mmproj/b.gguf"};
    static const char *const kept[] = {"a-00001-of-00002.gguf", "a-Q8_0.gguf", "mmproj/b.gguf",
                                       "1/2/deep.gguf"};
    struct attn_gguf_folder folder = {.path = ".", .name = "."};

    attn_folder_enter();
    mkdir("1", 0700), mkdir("1/2", 0700), mkdir("1/2/3", 0700), mkdir("mmproj", 0700);
    mkdir("folder.gguf", 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        attn_folder_write(names[i], "x", 1);
    ck_assert(attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_DEEP, NULL) == ATTN_OK);
    ck_assert_uint_eq(folder.files.n, sizeof kept / sizeof *kept);
    for (size_t i = 0; i < folder.files.n; i++)
        ck_assert_str_eq(folder.files.names[i], kept[i]);
    attn_path_names_release(&folder.files);
    ck_assert(attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_FLAT, NULL) == ATTN_OK);
    ck_assert_uint_eq(folder.files.n, 2);
    attn_path_names_release(&folder.files);
    ck_assert_int_eq(system("rm -rf ./*"), 0);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("gguf folder", a_tag_is_a_whole_part_of_a_name_in_any_case,
           each_file_has_a_tag_that_means_it_alone, without_a_tag_some_types_come_first,
           what_goes_with_a_model_is_left_out)
