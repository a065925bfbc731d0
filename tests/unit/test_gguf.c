/*
 * test_gguf.c - the container: what is in a file comes out, and whatever is wrong with it is
 * refused in one line that names the key or the tensor.
 */
#include "base/dtype_internal.h"
#include "tests/support/folder.h"
#include "tests/support/gguf_image.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a copy of BYTES of exactly its size, so that a sanitizer sees a read past the end. What is
 * opened borrows it until the next file. */
static enum attn_status try_bytes(const void *bytes, size_t size, struct attn_bundle **gguf,
                                  struct attn_error *err)
{
    static void *last;
    void *copy = malloc(size > 0 ? size : 1);
    const struct attn_blob blob = {"m.gguf", copy, size};
    const struct attn_source source = {.name = "made", .blobs = &blob, .n_blob = 1};
    struct attn_file file = {0};
    enum attn_status status;

    ck_assert_ptr_nonnull(copy);
    free(last);
    last = copy;
    memcpy(copy, bytes, size);
    *err = (struct attn_error){0};
    ck_assert(attn_file_open_part(&source, "m.gguf", ATTN_READ, &file, err) == ATTN_OK);
    *gguf = NULL;
    status = attn_gguf_take(&file, ATTN_READ, gguf, err);
    ck_assert((status == ATTN_OK) == (*gguf != NULL));
    ck_assert_ptr_null(file.data);
    ck_assert(status == ATTN_OK || err->message[0] != '\0');
    return status;
}

/* A file with a value of each type, and tensors of two. */
static struct attn_gguf_image make_image(void)
{
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    const int16_t i16 = -3;
    const uint64_t u64 = UINT64_MAX;
    const double f64 = 0.1;
    const int32_t numbers[] = {7, -8, 9};
    const float reals[] = {0.5F, 0.5F};

    attn_gguf_put_text(&image, "general.architecture", "llama");
    attn_gguf_put_u32(&image, "llama.block_count", 2);
    attn_gguf_put(&image, "i16", ATTN_GGUF_I16, &i16, sizeof i16);
    attn_gguf_put(&image, "u64", ATTN_GGUF_U64, &u64, sizeof u64);
    attn_gguf_put_f32(&image, "f32", 1.5F);
    attn_gguf_put(&image, "f64", ATTN_GGUF_F64, &f64, sizeof f64);
    attn_gguf_put(&image, "yes", ATTN_GGUF_BOOL, "\x05", 1);
    attn_gguf_put_array(&image, "numbers", ATTN_GGUF_I32, 3, numbers, sizeof numbers);
    attn_gguf_put_array(&image, "reals", ATTN_GGUF_F32, 2, reals, sizeof reals);
    attn_gguf_put_texts(&image, "tokens", (const char *const[]){"a", "", "\xff"}, 3);
    attn_gguf_put_tensor(&image, "w", 0, 2, (const size_t[]){3, 2}, 24);
    attn_gguf_put_tensor(&image, "blk.0.attn_q.weight", 8, 4, (const size_t[]){64, 2, 1, 1}, 136);
    attn_gguf_put_tensor(&image, "v", 1, 1, (const size_t[]){5}, 10);
    return image;
}

static struct attn_bundle *open_image(struct attn_gguf_image image, struct attn_buffer *bytes)
{
    struct attn_bundle *gguf;
    struct attn_error err;

    *bytes = attn_gguf_image_make(&image);
    ck_assert_msg(try_bytes(bytes->data, bytes->size, &gguf, &err) == ATTN_OK, "%s", err.message);
    return gguf;
}

START_TEST(tensors_come_by_name_in_our_order_of_sizes)
{
    struct attn_buffer bytes;
    struct attn_bundle *gguf = open_image(make_image(), &bytes);
    struct attn_tensor_entry tensor;

    ck_assert_uint_eq(attn_tensor_files_count(attn_gguf_files(gguf)), 3);
    ck_assert_str_eq(attn_tensor_files_entry(attn_gguf_files(gguf), 0).name, "blk.0.attn_q.weight");
    ck_assert_str_eq(attn_tensor_files_entry(attn_gguf_files(gguf), 1).name, "v");
    ck_assert(attn_tensor_files_find(attn_gguf_files(gguf), "blk.0.attn_q.weight", &tensor));
    ck_assert_int_eq(tensor.tensor.dtype, ATTN_DTYPE_Q8_0);
    ck_assert_int_eq(tensor.tensor.rank, 2);
    ck_assert_uint_eq(tensor.tensor.shape[0], 2);
    ck_assert_uint_eq(tensor.tensor.shape[1], 64);
    ck_assert_uint_eq(attn_tensor_n_byte(&tensor.tensor), 136);
    ck_assert_mem_eq(tensor.tensor.data, bytes.data + tensor.offset, 136);
    ck_assert_uint_eq(((const unsigned char *)tensor.tensor.data)[1], 1);
    ck_assert(attn_tensor_files_find(attn_gguf_files(gguf), "v", &tensor));
    ck_assert_int_eq(tensor.tensor.rank, 1);
    ck_assert(!attn_tensor_files_find(attn_gguf_files(gguf), "blk.0.attn_q", &tensor));
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
}
END_TEST

START_TEST(values_come_by_key)
{
    struct attn_buffer bytes;
    struct attn_bundle *gguf = open_image(make_image(), &bytes);
    struct attn_gguf_pair pair;
    struct attn_error err = {0};
    const char *text = NULL;
    size_t size = 99, n = 0;
    int64_t number;
    double real = 0;
    bool is = false;

    ck_assert_uint_eq(attn_gguf_n_pair(gguf), 10);
    ck_assert_str_eq(attn_gguf_pair(gguf, 0).key, "f32");
    ck_assert(attn_gguf_get_size(gguf, "llama.block_count", &size, &err) == ATTN_OK && size == 2);
    ck_assert(attn_gguf_get_size(gguf, "nothing", &size, &err) == ATTN_OK && size == 2);
    ck_assert(attn_gguf_get_size(gguf, "u64", &size, &err) == ATTN_OK && size == INT64_MAX);
    ck_assert(attn_gguf_get_real(gguf, "f32", &real, &err) == ATTN_OK && real == 1.5);
    ck_assert(attn_gguf_get_real(gguf, "f64", &real, &err) == ATTN_OK && real == 0.1);
    ck_assert(attn_gguf_get_real(gguf, "reals", &real, &err) == ATTN_OK && real == 0.5);
    ck_assert(attn_gguf_get_bool(gguf, "yes", &is, &err) == ATTN_OK && is);
    ck_assert(attn_gguf_get_text(gguf, "general.architecture", &text, &size, &err) == ATTN_OK);
    ck_assert(size == 5 && memcmp(text, "llama", 5) == 0);
    ck_assert(attn_gguf_get_array(gguf, "tokens", ATTN_GGUF_STRING, &pair, &err) == ATTN_OK);
    for (; attn_gguf_next_text(&pair, &text, &size); n++)
        ck_assert(size == (n != 1) && (size == 0 || text[0] == (n == 0 ? 'a' : '\xff')));
    ck_assert_uint_eq(n, 3);
    ck_assert(attn_gguf_get_array(gguf, "numbers", ATTN_GGUF_I32, &pair, &err) == ATTN_OK);
    ck_assert(attn_gguf_next_int(&pair, &number) && number == 7);
    ck_assert(attn_gguf_next_int(&pair, &number) && number == -8);
    ck_assert(attn_gguf_next_int(&pair, &number) && !attn_gguf_next_int(&pair, &number));
    ck_assert(attn_gguf_get_array(gguf, "nothing", ATTN_GGUF_I32, &pair, &err) == ATTN_OK);
    ck_assert(pair.n == 0 && !attn_gguf_next_int(&pair, &number));
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
}
END_TEST

START_TEST(a_value_of_another_type_is_refused_by_its_key)
{
    struct attn_buffer bytes;
    struct attn_bundle *gguf = open_image(make_image(), &bytes);
    struct attn_gguf_pair pair;
    struct attn_error err = {0};
    const char *text;
    size_t size;
    double real;
    bool is;

#define REFUSED(call, words)                                                                       \
    do {                                                                                           \
        err = (struct attn_error){0};                                                              \
        ck_assert((call) != ATTN_OK);                                                              \
        ck_assert_str_eq(err.message, words);                                                      \
    } while (0)
    REFUSED(attn_gguf_get_size(gguf, "f32", &size, &err),
            "'f32' in 'made/m.gguf' is of type f32, expected a whole number");
    REFUSED(attn_gguf_get_size(gguf, "yes", &size, &err),
            "'yes' in 'made/m.gguf' is of type bool, expected a whole number");
    REFUSED(attn_gguf_get_size(gguf, "tokens", &size, &err),
            "'tokens' in 'made/m.gguf' is an array of string, expected a whole number");
    REFUSED(attn_gguf_get_size(gguf, "i16", &size, &err),
            "'i16' in 'made/m.gguf' is -3, expected 0 or more");
    REFUSED(attn_gguf_get_size(gguf, "numbers", &size, &err),
            "'numbers' in 'made/m.gguf' is 7 in one layer and -8 in another, expected one number "
            "for all");
    REFUSED(attn_gguf_get_real(gguf, "i16", &real, &err),
            "'i16' in 'made/m.gguf' is of type i16, expected a number of type f32");
    REFUSED(attn_gguf_get_bool(gguf, "i16", &is, &err),
            "'i16' in 'made/m.gguf' is of type i16, expected a bool");
    REFUSED(attn_gguf_get_text(gguf, "tokens", &text, &size, &err),
            "'tokens' in 'made/m.gguf' is an array of string, expected a string");
    REFUSED(attn_gguf_get_array(gguf, "numbers", ATTN_GGUF_STRING, &pair, &err),
            "'numbers' in 'made/m.gguf' is an array of i32, expected an array of string");
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
}
END_TEST

START_TEST(a_file_that_was_cut_is_refused_wherever)
{
    struct attn_gguf_image image = make_image();
    struct attn_buffer bytes = attn_gguf_image_make(&image);
    struct attn_bundle *gguf;
    struct attn_error err;

    for (size_t size = 0; size < bytes.size; size++)
        ck_assert_msg(try_bytes(bytes.data, size, &gguf, &err) != ATTN_OK, "took %zu bytes", size);
    ck_assert_str_eq(err.message, "'made/m.gguf' is short of 1 of its 714 bytes");
    ck_assert_str_eq(err.hint, "a download that broke off? fetch it again");
    attn_buffer_append_string(&bytes, "what comes after the data does no harm");
    ck_assert(try_bytes(bytes.data, bytes.size, &gguf, &err) == ATTN_OK);
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
}
END_TEST

/* What is wrong with a file in one place, and what is said of it. */
struct fault {
    const char *what;
    void (*make)(struct attn_gguf_image *image);
    const char *words;
};

static void put_bad_alignment(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, "general.alignment", 24);
}

static void put_alignment_of_a_type(struct attn_gguf_image *image)
{
    attn_gguf_put_text(image, "general.alignment", "32");
}

static void put_key_twice(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, "llama.block_count", 2);
}

static void put_empty_key(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, "", 2);
}

static void put_bad_key(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, "a\xff", 2);
}

static void put_unknown_type(struct attn_gguf_image *image)
{
    attn_gguf_put(image, "k", 13, "abcd", 4);
}

static void put_array_of_arrays(struct attn_gguf_image *image)
{
    attn_gguf_put_array(image, "k", ATTN_GGUF_ARRAY, 1, "abcdefghijkl", 12);
}

static void put_array_beyond_the_file(struct attn_gguf_image *image)
{
    attn_gguf_put_array(image, "k", ATTN_GGUF_U64, UINT64_MAX / 8 + 2, "", 0);
}

static void put_version_1(struct attn_gguf_image *image)
{
    image->version = 1;
}

static void put_version_4(struct attn_gguf_image *image)
{
    image->version = 4;
}

static void put_other_order(struct attn_gguf_image *image)
{
    image->version = 3U << 24;
}

static void put_many_pairs(struct attn_gguf_image *image)
{
    image->n_pair = 1000;
}

static void put_many_tensors(struct attn_gguf_image *image)
{
    image->n_tensor = UINT64_MAX;
}

static void put_tensor_twice(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "w", 0, 1, (const size_t[]){1}, 4);
}

static void put_removed_type(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 31, 1, (const size_t[]){32}, 18);
}

static void put_type_of_the_future(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 99, 1, (const size_t[]){32}, 18);
}

static void put_type_that_is_not_read(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 41, 1, (const size_t[]){128}, 18);
}

static void put_row_of_a_part(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 2, 2, (const size_t[]){48, 2}, 54);
}

static void put_no_dimensions(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 0, 0, NULL, 4);
}

static void put_dimension_of_0(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 0, 2, (const size_t[]){4, 0}, 0);
}

static void put_product_that_is_too_large(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "x", 0, 2, (const size_t[]){(size_t)1 << 40, (size_t)1 << 40}, 0);
}

static void put_long_name(struct attn_gguf_image *image)
{
    attn_gguf_put_tensor(image, "0123456789012345678901234567890123456789012345678901234567890123",
                         0, 1, (const size_t[]){1}, 4);
}

/* The last tensor begins where another is. */
static void put_overlap(struct attn_gguf_image *image)
{
    const uint64_t offset = 32;

    attn_gguf_put_tensor(image, "x", 0, 1, (const size_t[]){1}, 4);
    memcpy(image->tensors.data + image->tensors.size - 8, &offset, sizeof offset);
}

START_TEST(what_is_wrong_is_refused_by_name)
{
    static const struct fault faults[] = {
        {"alignment", put_bad_alignment,
         "'general.alignment' in 'made/m.gguf' is 24, expected a u32, a power of two from 1 to "
         "65536"},
        {"its type", put_alignment_of_a_type,
         "'general.alignment' in 'made/m.gguf' is of another type or 0, expected a u32, a power of "
         "two from 1 to 65536"},
        {"a key twice", put_key_twice,
         "'made/m.gguf' has the key 'llama.block_count' a second time"},
        {"an empty key", put_empty_key,
         "the key of number 10 of 'made/m.gguf' has 0 bytes, expected 1 to 65535"},
        {"bytes", put_bad_key,
         "the key of number 10 of 'made/m.gguf' is 'a\\xff', expected UTF-8 without NUL"},
        {"a type", put_unknown_type,
         "'k' in 'made/m.gguf' has values of type 13, expected a type from 0 to 12"},
        {"arrays of arrays", put_array_of_arrays,
         "'k' in 'made/m.gguf' is an array of arrays, which are not read"},
        {"an array", put_array_beyond_the_file,
         "'k' in 'made/m.gguf' has 2305843009213693953 items of type u64, and 353 bytes are after "
         "it"},
        {"version 1", put_version_1,
         "'made/m.gguf' is a GGUF file of version 1, expected version 2 or 3"},
        {"version 4", put_version_4,
         "'made/m.gguf' is a GGUF file of version 4, expected version 2 or 3"},
        {"big-endian", put_other_order,
         "'made/m.gguf' is a big-endian GGUF file, expected a little-endian one"},
        {"pairs", put_many_pairs,
         "'made/m.gguf' has 1000 pairs of metadata in 690 bytes, expected 1 to 49"},
        {"tensors", put_many_tensors,
         "'made/m.gguf' has 18446744073709551615 tensors in 690 bytes, expected at most 20"},
        {"a tensor twice", put_tensor_twice, "'made/m.gguf' has the tensor 'w' a second time"},
        {"type 31", put_removed_type,
         "type 31 (Q4_0_4_4) of tensor 'x' in 'made/m.gguf' is no longer used"},
        {"type 99", put_type_of_the_future, "type 99 of tensor 'x' in 'made/m.gguf' is not read"},
        {"type 41", put_type_that_is_not_read,
         "type 41 (Q1_0) of tensor 'x' in 'made/m.gguf' is not read"},
        {"a row", put_row_of_a_part,
         "rows of tensor 'x' in 'made/m.gguf' have 48 values, expected a multiple of 32, the block "
         "of Q4_0"},
        {"dimensions", put_no_dimensions,
         "tensor 'x' in 'made/m.gguf' has 0 dimensions, expected 1 to 4"},
        {"a dimension", put_dimension_of_0,
         "dimension 1 of tensor 'x' in 'made/m.gguf' is 0, expected 1 or more, and a product that "
         "fits"},
        {"a product", put_product_that_is_too_large,
         "dimension 1 of tensor 'x' in 'made/m.gguf' is 1099511627776, expected 1 or more, and a "
         "product that fits"},
        {"a long name", put_long_name,
         "the tensor of number 3 of 'made/m.gguf' has 64 bytes, expected 1 to 63"},
        {"an overlap", put_overlap,
         "tensor 'x' in 'made/m.gguf' begins at byte 32 of the data, expected 224, where 'v' "
         "ends, aligned to 32"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct attn_gguf_image image = make_image();
        struct attn_buffer bytes;
        struct attn_bundle *gguf;
        struct attn_error err;

        faults[i].make(&image);
        bytes = attn_gguf_image_make(&image);
        ck_assert_msg(try_bytes(bytes.data, bytes.size, &gguf, &err) != ATTN_OK, "%s",
                      faults[i].what);
        ck_assert_str_eq(err.message, faults[i].words);
        attn_buffer_release(&bytes);
    }
}
END_TEST

START_TEST(files_of_other_kinds_are_called_what_they_are)
{
    static const struct {
        const char *bytes, *words;
    } rows[] = {
        {"", "'made/m.gguf' begins with '', expected GGUF"},
        {"GGU", "'made/m.gguf' begins with 'GGU', expected GGUF"},
        {"{\"a\":1}", "'made/m.gguf' begins with '{\"a\"', expected GGUF"},
        {"tjgg\3", "'made/m.gguf' is a GGML file of before August 2023, which is too old to be "
                   "read"},
        {"GGUF\3", "'made/m.gguf' ends at byte 5, in its version, expected the rest of its header"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_bundle *gguf;
        struct attn_error err;

        ck_assert(try_bytes(rows[i].bytes, strlen(rows[i].bytes), &gguf, &err) != ATTN_OK);
        ck_assert_str_eq(err.message, rows[i].words);
    }
}
END_TEST

/* Part NO of COUNT, which says that all have N_TENSOR; its tensor is called NAME. */
static void write_part(const char *path, uint32_t no, uint32_t count, uint32_t n_tensor,
                       const char *name)
{
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_buffer bytes;

    attn_gguf_put_u32(&image, "split.no", no);
    attn_gguf_put_u32(&image, "split.count", count);
    attn_gguf_put_u32(&image, "split.tensors.count", n_tensor);
    if (name)
        attn_gguf_put_tensor(&image, name, 0, 1, (const size_t[]){2}, 8);
    bytes = attn_gguf_image_make(&image);
    attn_folder_write(path, bytes.data, bytes.size);
    attn_buffer_release(&bytes);
}

/* Opens the file, or the shards of which it is the first. */
static enum attn_status open_file(const char *path, struct attn_bundle **gguf,
                                  struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open(path, ATTN_MAP, &file, err));
    return attn_gguf_take(&file, ATTN_MAP, gguf, err);
}

static void assert_refused(const char *path, const char *words)
{
    struct attn_bundle *gguf = NULL;
    struct attn_error err = {0};

    ck_assert(open_file(path, &gguf, &err) != ATTN_OK && !gguf);
    ck_assert_str_eq(err.message, words);
}

START_TEST(shards_are_opened_beside_the_first)
{
    struct attn_bundle *gguf = NULL;
    struct attn_error err = {0};

    attn_folder_enter();
    write_part("m-00001-of-00003.gguf", 0, 3, 2, NULL);
    write_part("m-00002-of-00003.gguf", 1, 3, 2, "b");
    write_part("m-00003-of-00003.gguf", 2, 3, 2, "a");
    ck_assert_msg(open_file("m-00001-of-00003.gguf", &gguf, &err) == ATTN_OK, "%s", err.message);
    ck_assert_int_eq(attn_tensor_files_n_shard(attn_gguf_files(gguf)), 3);
    ck_assert_uint_eq(attn_tensor_files_count(attn_gguf_files(gguf)), 2);
    ck_assert_int_eq(attn_tensor_files_entry(attn_gguf_files(gguf), 0).shard, 2);
    ck_assert_str_eq(attn_tensor_files_path(attn_gguf_files(gguf), 2), "m-00003-of-00003.gguf");
    ck_assert(attn_tensor_files_owns_address(
        attn_gguf_files(gguf), attn_tensor_files_entry(attn_gguf_files(gguf), 0).tensor.data));
    ck_assert_uint_eq(attn_gguf_n_pair(gguf), 3);
    attn_gguf_free(gguf);

    assert_refused("m-00002-of-00003.gguf",
                   "'m-00002-of-00003.gguf' is a later part of a model, expected the first");
    write_part("m-00003-of-00003.gguf", 1, 3, 2, "a");
    assert_refused("m-00001-of-00003.gguf", "'m-00003-of-00003.gguf' has 'split.no' 1 and "
                                            "'split.count' 3, expected 2 and 3");
    write_part("m-00003-of-00003.gguf", 2, 3, 2, "b");
    assert_refused("m-00001-of-00003.gguf", "'m-00001-of-00003.gguf' has the tensor 'b' a second "
                                            "time");
    write_part("m-00003-of-00003.gguf", 2, 3, 2, NULL);
    assert_refused("m-00001-of-00003.gguf", "'m-00001-of-00003.gguf' and its other shards have 1 "
                                            "tensors in all, expected 2, its "
                                            "'split.tensors.count'");
    ck_assert_int_eq(remove("m-00003-of-00003.gguf"), 0);
    assert_refused("m-00001-of-00003.gguf",
                   "cannot open 'm-00003-of-00003.gguf': No such file or directory");
    ck_assert_int_eq(rename("m-00001-of-00003.gguf", "sha256-0"), 0);
    assert_refused("sha256-0",
                   "'sha256-0' is number 1 of 3 files, expected a name that ends so, as "
                   "in NAME-00001-of-00003.gguf, with the others beside it");
    attn_folder_leave();
}
END_TEST

/* None of these is waited for, and none is followed for ever. */
START_TEST(shards_may_be_links_but_no_pipes_or_folders)
{
    static const char first[] = "m-00001-of-00002.gguf", second[] = "m-00002-of-00002.gguf";
    struct attn_bundle *gguf = NULL;
    struct attn_error err = {0};

    attn_folder_enter();
    write_part(first, 0, 2, 2, "a");
    write_part("elsewhere", 1, 2, 2, "b");
    ck_assert_int_eq(symlink("elsewhere", second), 0);
    ck_assert_msg(open_file(first, &gguf, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(attn_tensor_files_count(attn_gguf_files(gguf)), 2);
    attn_gguf_free(gguf);
    ck_assert_int_eq(unlink(second), 0);

    ck_assert_int_eq(symlink(second, second), 0);
    assert_refused(first, "cannot open 'm-00002-of-00002.gguf': Too many levels of symbolic links");
    ck_assert_int_eq(unlink(second), 0);
    ck_assert_int_eq(symlink("nowhere", second), 0);
    assert_refused(first, "cannot open 'm-00002-of-00002.gguf': No such file or directory");
    ck_assert_int_eq(unlink(second), 0);
    ck_assert_int_eq(mkfifo(second, 0600), 0);
    assert_refused(first, "'m-00002-of-00002.gguf' is a FIFO, expected a file");
    ck_assert_int_eq(unlink(second), 0);
    ck_assert_int_eq(mkdir(second, 0700), 0);
    assert_refused(first, "'m-00002-of-00002.gguf' is a directory, expected a file");
    ck_assert_int_eq(rmdir(second), 0);
    write_part(second, 1, 2, 2, "b");
    ck_assert_int_eq(truncate(second, 150), 0);
    ck_assert(open_file(first, &gguf, &err) == ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "'m-00002-of-00002.gguf' "));
    attn_folder_leave();
}
END_TEST

/* Keys of the container with values of every type. */
START_TEST(keys_of_the_container_are_numbers)
{
    static const struct {
        enum attn_gguf_type type;
        size_t size;
        bool is_whole;
    } values[] = {
        {ATTN_GGUF_U8, 1, true},   {ATTN_GGUF_I8, 1, true},    {ATTN_GGUF_U16, 2, true},
        {ATTN_GGUF_I16, 2, true},  {ATTN_GGUF_U32, 4, true},   {ATTN_GGUF_I32, 4, true},
        {ATTN_GGUF_U64, 8, true},  {ATTN_GGUF_I64, 8, true},   {ATTN_GGUF_F32, 4, false},
        {ATTN_GGUF_F64, 8, false}, {ATTN_GGUF_BOOL, 1, false}, {ATTN_GGUF_STRING, 8, false},
    };
    static const char *const keys[] = {"general.alignment", "split.count"};

    for (size_t k = 0; k < 2; k++)
        for (size_t v = 0; v < 2 * sizeof values / sizeof *values; v++) {
            const bool is_array = v % 2;
            const enum attn_gguf_type type = values[v / 2].type;
            const uint64_t bits = type == ATTN_GGUF_STRING ? 0 : k == 0 ? 32 : 1;
            struct attn_gguf_image image = make_image();
            struct attn_buffer bytes;
            struct attn_bundle *gguf;
            struct attn_error err;
            enum attn_status status;

            if (is_array)
                attn_gguf_put_array(&image, keys[k], type, 1, &bits, values[v / 2].size);
            else
                attn_gguf_put(&image, keys[k], type, &bits, values[v / 2].size);
            bytes = attn_gguf_image_make(&image);
            status = try_bytes(bytes.data, bytes.size, &gguf, &err);
            /* llama.cpp demands a u32 for the alignment */
            if (k == 0 ? type == ATTN_GGUF_U32 && !is_array : values[v / 2].is_whole && !is_array)
                ck_assert_msg(status == ATTN_OK, "%s of type %d: %s", keys[k], (int)type,
                              err.message);
            else
                ck_assert_msg(status == ATTN_FORMAT && strstr(err.message, keys[k]),
                              "%s of type %d: %s", keys[k], (int)type, err.message);
            attn_gguf_free(gguf);
            attn_buffer_release(&bytes);
        }
}
END_TEST

ATTN_SUITE("gguf", tensors_come_by_name_in_our_order_of_sizes, values_come_by_key,
           a_value_of_another_type_is_refused_by_its_key, a_file_that_was_cut_is_refused_wherever,
           what_is_wrong_is_refused_by_name, files_of_other_kinds_are_called_what_they_are,
           shards_are_opened_beside_the_first, shards_may_be_links_but_no_pipes_or_folders,
           keys_of_the_container_are_numbers)
