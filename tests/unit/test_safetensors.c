/*
 * test_safetensors.c - tensor directories of legal files, of shards with an index, and of
 * directories without weights.
 */
#include "base/memory.h"
#include "formats/tensor_files_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/image.h"
#include "tests/support/malformed.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

START_TEST(gives_names_types_shapes_and_places)
{
    static const char header[] =
        " \n{\"__metadata__\":null,"
        "\"wte\":{\"extra\":{\"x\":[1]},\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[7,19]}"
        ","
        "\"a.b\":{\"data_offsets\":[0,4],\"shape\":[],\"dtype\":\"\\u004632\"},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}} \t";
    struct attn_image image = attn_image_make(TEXT(header), 19);
    struct attn_tensor_files *st;
    struct attn_error err;
    struct attn_tensor_entry entry, found;
    const size_t start = 8 + sizeof header - 1;

    ck_assert_int_eq(attn_image_open_bytes(image.bytes, image.size, &st, &err), ATTN_OK);
    ck_assert_uint_eq(attn_tensor_files_count(st), 3);
    ck_assert_str_eq(attn_tensor_files_entry(st, 0).name, "a");
    ck_assert_str_eq(attn_tensor_files_entry(st, 1).name, "a.b");
    entry = attn_tensor_files_entry(st, 2);
    ck_assert_str_eq(entry.name, "wte");
    ck_assert_uint_eq(entry.name_size, 3);
    ck_assert_int_eq(entry.tensor.dtype, ATTN_DTYPE_BF16);
    ck_assert_int_eq(entry.tensor.rank, 2);
    ck_assert_uint_eq(entry.tensor.shape[0], 2);
    ck_assert_uint_eq(entry.tensor.shape[1], 3);
    ck_assert_uint_eq(entry.offset, start + 7);
    ck_assert_ptr_eq(entry.tensor.data, image.bytes + start + 7);
    ck_assert_int_eq(entry.shard, 0);
    ck_assert_int_eq(attn_tensor_files_entry(st, 1).tensor.rank, 0);
    ck_assert(attn_tensor_files_find(st, "wte", &found));
    ck_assert_ptr_eq(found.name, entry.name);
    ck_assert_ptr_eq(found.tensor.data, entry.tensor.data);
    ck_assert(!attn_tensor_files_find(st, "wt", &found));
    ck_assert(!attn_tensor_files_find(st, "WTE", &found));
    ck_assert(!attn_tensor_files_find(st, "__metadata__", NULL));
    ck_assert_str_eq(attn_tensor_files_path(st, 0), "m.safetensors");
    ck_assert(!attn_tensor_files_owns_address(st, entry.tensor.data)); /* not a map */
    attn_tensor_files_free(st);
    free(image.bytes);
}
END_TEST

START_TEST(accepts_what_is_strange_but_legal)
{
    for (size_t i = 0; i < attn_strange.n; i++) {
        const struct attn_header *row = &attn_strange.rows[i];
        struct attn_error err;

        ck_assert_msg(attn_image_try_header(row->text, row->size, row->n_data, &err) == ATTN_OK,
                      "%s\ngives: %s", row->text, err.message);
    }
}
END_TEST

START_TEST(keeps_the_largest_sizes_exact)
{
    struct attn_image image = attn_image_make(
        W(F32 "\"shape\":[0,18446744073709551615,9007199254740993]" AT("[0,0]")), 0);
    struct attn_tensor_files *st;
    struct attn_error err;
    struct attn_tensor_entry entry;
    const struct attn_tensor *tensor = &entry.tensor;

    ck_assert_int_eq(attn_image_open_bytes(image.bytes, image.size, &st, &err), ATTN_OK);
    ck_assert(attn_tensor_files_find(st, "w", &entry));
    ck_assert_uint_eq(tensor->shape[0], 0);
    ck_assert_uint_eq(tensor->shape[1], SIZE_MAX);
    ck_assert_uint_eq(tensor->shape[2], 9007199254740993);
    ck_assert_ptr_nonnull(tensor->data);
    attn_tensor_files_free(st);
    free(image.bytes);
}
END_TEST

/* A mapped file shows what others write to it. */
START_TEST(keeps_the_directory_of_a_file_that_is_overwritten)
{
    struct attn_image image = attn_image_make(
        TEXT("{" TENSOR("\\u0061\\\\b", "[2,1]", "[4,12]") "," TENSOR("b", "[]", "[0,4]") "}"), 12);
    struct attn_tensor_entry entry;
    struct attn_tensor_files *st;
    struct attn_error err;

    ck_assert_int_eq(attn_image_open_bytes(image.bytes, image.size, &st, &err), ATTN_OK);
    memset(image.bytes, '9', image.size - 12);
    ck_assert_str_eq(attn_tensor_files_entry(st, 0).name, "a\\b");
    ck_assert(attn_tensor_files_find(st, "a\\b", &entry));
    ck_assert_int_eq(entry.tensor.rank, 2);
    ck_assert_uint_eq(entry.tensor.shape[0], 2);
    ck_assert_uint_eq(entry.tensor.shape[1], 1);
    ck_assert_ptr_eq(entry.tensor.data, image.bytes + image.size - 8);
    ck_assert(attn_tensor_files_find(st, "b", &entry));
    ck_assert_int_eq(entry.tensor.rank, 0);
    attn_tensor_files_free(st);
    free(image.bytes);
}
END_TEST

START_TEST(reports_every_failed_allocation)
{
    struct attn_image image = attn_image_make(
        TEXT("{" TENSOR("w", "[2,1]", "[4,12]") "," TENSOR("b", "[]", "[0,4]") "}"), 12);
    struct attn_tensor_files *st = NULL;
    struct attn_error err;
    long n = 0;

    for (;; n++) {
        struct attn_file file = {.data = image.bytes,
                                 .size = image.size,
                                 .storage = ATTN_FILE_BORROWED,
                                 .path = attn_strndup("m", 1, NULL)};
        enum attn_status status;

        err = (struct attn_error){0};
        attn_alloc_fail_at(n);
        status = attn_safetensors_take(&file, &st, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(st);
        ck_assert_ptr_null(file.path);
    }
    ck_assert_int_ge(n, 5);
    attn_tensor_files_free(st);
    free(image.bytes);
}
END_TEST

START_TEST(maps_a_file_and_knows_its_addresses)
{
    struct attn_image image = attn_image_make(TEXT("{" TENSOR("w", "[2]", "[0,8]") "}"), 8);
    int descriptor = memfd_create("safetensors", MFD_CLOEXEC);
    struct attn_tensor_files *st = NULL;
    struct attn_tensor_entry entry;
    struct attn_error err = {0};
    const char *data;
    char path[32];

    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, image.bytes, image.size), (ssize_t)image.size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ck_assert_int_eq(attn_safetensors_open_file(path, ATTN_MAP, &st, &err), ATTN_OK);
    ck_assert(attn_tensor_files_find(st, "w", &entry));
    data = entry.tensor.data;
    ck_assert_mem_eq(data, "\0\1\2\3\4\5\6\7", 8);
    ck_assert(attn_tensor_files_owns_address(st, data));
    ck_assert(attn_tensor_files_owns_address(st, data + 7));
    ck_assert(attn_tensor_files_owns_address(st, data + 8 - image.size));
    ck_assert(!attn_tensor_files_owns_address(st, data + 8));
    ck_assert(!attn_tensor_files_owns_address(st, data + 7 - image.size));
    ck_assert(!attn_tensor_files_owns_address(st, NULL));
    attn_tensor_files_free(st);
    attn_tensor_files_free(NULL);
    ck_assert_int_eq(attn_safetensors_open_file(path, ATTN_READ, &st, &err), ATTN_OK);
    ck_assert(attn_tensor_files_find(st, "w", &entry));
    data = entry.tensor.data;
    ck_assert(!attn_tensor_files_owns_address(st, data));
    attn_tensor_files_free(st);
    close(descriptor);
    free(image.bytes);
}
END_TEST

#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"

/* A directory with INDEX and two shards: a, b and unused in the first, c in the second. */
struct directory {
    struct attn_image shards[2];
    struct attn_blob blobs[3];
    struct attn_source source;
};

static void make_directory(struct directory *dir, const char *index)
{
    dir->shards[0] =
        attn_image_make(TEXT("{" TENSOR("b", "[]", "[0,4]") "," TENSOR(
                            "unused", "[2]", "[4,12]") "," TENSOR("a", "[]", "[12,16]") "}"),
                        16);
    dir->shards[1] = attn_image_make(TEXT("{" TENSOR("c", "[3]", "[0,12]") "}"), 12);
    dir->blobs[0] = (struct attn_blob){"model.safetensors.index.json", index, strlen(index)};
    dir->blobs[1] = (struct attn_blob){SHARD_1, dir->shards[0].bytes, dir->shards[0].size};
    dir->blobs[2] = (struct attn_blob){SHARD_2, dir->shards[1].bytes, dir->shards[1].size};
    dir->source = (struct attn_source){.name = "m", .blobs = dir->blobs, .n_blob = 3};
}

static void free_directory(struct directory *dir)
{
    free(dir->shards[0].bytes);
    free(dir->shards[1].bytes);
}

/* In another order than that of the files, and within a file than that of the names. */
static const char good_index[] = "{\"metadata\":{\"total_size\":1},\"weight_map\":{\"b\":\"" SHARD_1
                                 "\",\"c\":\"" SHARD_2 "\",\"a\":\"" SHARD_1 "\"}}";

START_TEST(joins_shards_by_the_index)
{
    struct directory dir;
    struct attn_tensor_files *st = NULL;
    struct attn_error err = {0};
    struct attn_tensor_entry entry;

    make_directory(&dir, good_index);
    ck_assert_int_eq(attn_safetensors_open(&dir.source, ATTN_MAP, &st, &err), ATTN_OK);
    ck_assert_uint_eq(attn_tensor_files_count(st), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(*attn_tensor_files_entry(st, i).name, "abc"[i]);
    ck_assert(!attn_tensor_files_find(st, "unused", NULL));
    ck_assert(attn_tensor_files_find(st, "a", &entry));
    ck_assert_int_eq(*(const char *)entry.tensor.data, 12);
    ck_assert_str_eq(attn_tensor_files_path(st, entry.shard), "m/" SHARD_1);
    ck_assert(attn_tensor_files_find(st, "c", &entry));
    ck_assert_uint_eq(entry.tensor.shape[0], 3);
    ck_assert_str_eq(attn_tensor_files_path(st, entry.shard), "m/" SHARD_2);
    attn_tensor_files_free(st);
    free_directory(&dir);
}
END_TEST

#define MAP(members) "{\"weight_map\":{" members "}}"

START_TEST(refuses_a_wrong_index)
{
    static const struct {
        const char *index, *message;
        enum attn_status status;
    } rows[] = {
        {"{}", "'m/model.safetensors.index.json' has no 'weight_map'", ATTN_FORMAT},
        {"{\"weight_map\":[]}", "has no 'weight_map'", ATTN_FORMAT},
        {"{\"weight_map\":null}", "has no 'weight_map'", ATTN_FORMAT},
        {MAP(""), "has no 'weight_map'", ATTN_FORMAT},
        {"{\"weight_map\":", "'m/model.safetensors.index.json' ends at byte 14", ATTN_FORMAT},
        {MAP("\"a\":1"), "'a' in the weight_map of 'm/model.safetensors.index.json' is no string",
         ATTN_FORMAT},
        {MAP("\"a\":\"x/m.safetensors\""), "cannot open 'm/x/m.safetensors'", ATTN_IO},
        {MAP("\"a\":\"./m.safetensors\""), "cannot open 'm/m.safetensors'", ATTN_IO},
        {MAP("\"a\":\"x/../m.safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\".//m.safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"/m.safetensors\""), "expected the name of a .safetensors file", ATTN_FORMAT},
        {MAP("\"a\":\"x\\\\m.safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"..safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"a..safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\".safetensors\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"\""), "expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"m.bin\""), "is 'm.bin', expected the name", ATTN_FORMAT},
        {MAP("\"a\":\"m.safetensors\\u0000.safetensors\""), "without NUL", ATTN_FORMAT},
        {MAP("\"a\":\"" SHARD_1 "\",\"a\":\"" SHARD_2 "\""), "a second time", ATTN_FORMAT},
        {MAP("\"a\":\"" SHARD_1 "\",\"d\":\"" SHARD_1 "\""),
         "'d' is not in 'm/" SHARD_1 "', expected as model.safetensors.index.json says",
         ATTN_FORMAT},
        {MAP("\"a\":\"" SHARD_1 "\",\"b\":\"" SHARD_2 "\""),
         "'b' is in 'm/" SHARD_1 "', expected in "
         "another file only, as model.safetensors.index.json says",
         ATTN_FORMAT},
        {MAP("\"a\":\"" SHARD_1 "\",\"c\":\"model-00003-of-00003.safetensors\""),
         "cannot open 'm/model-00003-of-00003.safetensors'", ATTN_IO},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct directory dir;
        struct attn_tensor_files *st = NULL;
        struct attn_error err = {0};

        make_directory(&dir, rows[i].index);
        ck_assert_int_eq(attn_safetensors_open(&dir.source, ATTN_MAP, &st, &err), rows[i].status);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s\ngives: %s", rows[i].index,
                      err.message);
        ck_assert_ptr_null(st);
        free_directory(&dir);
    }
}
END_TEST

START_TEST(reports_every_failed_allocation_with_shards)
{
    struct directory dir;
    struct attn_tensor_files *st = NULL;
    struct attn_error err;
    enum attn_status status;
    long n = 0;

    make_directory(&dir, good_index);
    for (;; n++) {
        attn_alloc_fail_at(n);
        err = (struct attn_error){0};
        status = attn_safetensors_open(&dir.source, ATTN_MAP, &st, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(st);
    }
    ck_assert_int_gt(n, 15);
    attn_tensor_files_free(st);
    free_directory(&dir);
}
END_TEST

START_TEST(prefers_the_single_file)
{
    struct directory dir;
    struct attn_tensor_files *st = NULL;
    struct attn_error err = {0};

    make_directory(&dir, good_index);
    dir.blobs[1].name = "model.safetensors"; /* so the index could not be followed */
    ck_assert_int_eq(attn_safetensors_open(&dir.source, ATTN_MAP, &st, &err), ATTN_OK);
    ck_assert(attn_tensor_files_find(st, "unused", NULL));
    ck_assert(!attn_tensor_files_find(st, "c", NULL));
    attn_tensor_files_free(st);
    free_directory(&dir);
}
END_TEST

START_TEST(does_not_fall_back_to_the_index_for_missing_weights_that_were_named)
{
    const struct attn_override override = {"model.safetensors", "no/such.safetensors"};
    struct directory dir;
    struct attn_tensor_files *st = NULL;
    struct attn_error err = {0};

    make_directory(&dir, good_index);
    dir.source.overrides = &override;
    dir.source.n_override = 1;
    ck_assert_int_eq(attn_safetensors_open(&dir.source, ATTN_MAP, &st, &err), ATTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot open 'no/such.safetensors'"));
    ck_assert_str_eq(err.hint, "");
    free_directory(&dir);
}
END_TEST

START_TEST(says_what_a_directory_without_weights_should_hold)
{
    struct attn_blob blob = {"config.json", "{}", 2};
    struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tensor_files *st = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_safetensors_open(&source, ATTN_MAP, &st, &err), ATTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "'m/model.safetensors'"));
    ck_assert_str_eq(err.hint,
                     "a model directory holds model.safetensors or pytorch_model.bin, or an "
                     "index with the files that it names");
    err = (struct attn_error){0};
    source.fetch = "hf download m";
    ck_assert_int_eq(attn_safetensors_open(&source, ATTN_MAP, &st, &err), ATTN_IO);
    ck_assert_str_eq(err.hint, "hf download m");
}
END_TEST

ATTN_SUITE("safetensors", gives_names_types_shapes_and_places, accepts_what_is_strange_but_legal,
           keeps_the_largest_sizes_exact, keeps_the_directory_of_a_file_that_is_overwritten,
           reports_every_failed_allocation, maps_a_file_and_knows_its_addresses,
           joins_shards_by_the_index, refuses_a_wrong_index,
           reports_every_failed_allocation_with_shards, prefers_the_single_file,
           does_not_fall_back_to_the_index_for_missing_weights_that_were_named,
           says_what_a_directory_without_weights_should_hold)
