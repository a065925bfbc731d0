/*
 * test_output_safetensors.c - the file of all tensors, read back and compared with the arrays of
 * NPY files.
 */
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", " \"is\"", "\xff"};

static struct attn_made_up_run made;

static void set_up(const char *sites, const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, &attn_made_up_small, words);
    attn_made_up_run_select(&made, sites, heads, queries);
    attn_folder_enter();
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

/* Fails unless the file d/NAME.npy ends with the numbers of the entry; removes it. */
static void assert_array(const struct attn_tensor_entry *entry)
{
    size_t n_byte = attn_tensor_n_byte(&entry->tensor);
    char path[100], bytes[8192];
    size_t size;
    FILE *file;

    snprintf(path, sizeof path, "d/%s.npy", entry->name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert_uint_lt(n_byte, size);
    ck_assert_uint_lt(size, sizeof bytes);
    ck_assert_msg(memcmp(bytes + size - n_byte, entry->tensor.data, n_byte) == 0, "%s", path);
    ck_assert_str_eq(attn_dtype_name(entry->tensor.dtype),
                     strstr(bytes + 10, "<i8") ? "I64" : "F32");
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(holds_the_tensors_of_other_forms)
{
    static const char *const heads[] = {"all", "0.1,1.0"}, *const queries[] = {"all", "0,2"};

    for (int i = 0; i < 2; i++) {
        struct attn_tensor_files *st;
        struct attn_error err = {0};

        set_up("*", heads[i], queries[i]);
        attn_written_to(&made, "npy", "d", 1, 0);
        attn_written_to(&made, "safetensors", "a.safetensors", 2, 0);
        ck_assert_msg(attn_safetensors_open_file("a.safetensors", ATTN_READ, &st, &err) == ATTN_OK,
                      "%s", err.message);
        for (size_t e = 0; e < attn_tensor_files_count(st); e++) {
            struct attn_tensor_entry entry = attn_tensor_files_entry(st, e);

            assert_array(&entry);
        }
        attn_tensor_files_free(st);
        /* Texts cannot be tensors. */
        ck_assert_int_eq(unlink("d/tokens.npy") | unlink("d/run.json") | rmdir("d"), 0);
        tear_down();
    }
}
END_TEST

START_TEST(the_metadata_says_what_was_run)
{
    static const struct attn_option options[] = {{"heads", "0.0"}, {"sites", "z\n"}};
    static const char expected[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"version\":\"" ATTN_VERSION "\",\"model\":\"a b\","
        "\"options\":\"{\\\"heads\\\": \\\"0.0\\\",\\\"sites\\\": \\\"z\\\\n\\\"}\","
        "\"tokens\":\"[\\\"Life\\\",\\\" \\\\\\\"is\\\\\\\"\\\",\\\"\\\\\\\\xff\\\"]\"},"
        "\"ids\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[0,24]},";
    char bytes[2048] = "";
    FILE *file;

    set_up("z", "0.0", "all");
    made.run.model = "a b";
    made.run.options = options;
    made.run.n_option = 2;
    attn_written_to(&made, "safetensors", "a.safetensors", 1, 0);
    file = fopen("a.safetensors", "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(bytes, 1, sizeof bytes - 1, file), sizeof expected);
    fclose(file);
    ck_assert_int_eq(bytes[0] % 8, 0);
    ck_assert_msg(memcmp(bytes + 8, expected, sizeof expected - 1) == 0, "%s", bytes + 8);
    tear_down();
}
END_TEST

/* Fails unless a pipe gets what the file a.safetensors has. */
static void assert_pipe(size_t step)
{
    struct stat info;
    char bytes[1 << 15];
    int ends[2];
    char path[30];
    ssize_t n;

    ck_assert_int_eq(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    attn_written_to(&made, "safetensors", path, SIZE_MAX, step);
    close(ends[1]);
    n = read(ends[0], bytes, sizeof bytes);
    close(ends[0]);
    ck_assert_int_eq(stat("a.safetensors", &info), 0);
    ck_assert_int_eq(n, info.st_size);
    attn_folder_assert("a.safetensors", bytes, (size_t)n);
}

START_TEST(a_pipe_gets_the_same_bytes)
{
    for (size_t step = 0; step < 3; step++) {
        set_up("embed,q,attn_scores,pattern,z,resid_*,logits", "all", "all");
        attn_written_to(&made, "safetensors", "a.safetensors", 2, 0);
        assert_pipe(step);
        tear_down();
    }
}
END_TEST

START_TEST(failures_leave_no_file)
{
    struct attn_error err = {0};

    set_up("pattern,z", "0.1", "all");
    attn_written_fails_whole(&made, "safetensors", "a.safetensors");
    ck_assert_int_eq(attn_written_try(&made, "safetensors", "absent/a", &err), ATTN_IO);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_written_try(&made, "safetensors", "/dev/full", &err), ATTN_IO);
    tear_down();
}
END_TEST

ATTN_SUITE("output_safetensors", holds_the_tensors_of_other_forms, the_metadata_says_what_was_run,
           a_pipe_gets_the_same_bytes, failures_leave_no_file)
