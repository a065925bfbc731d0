/*
 * test_safetensors_refused.c - every class of malformed .safetensors file is refused, with a
 * message that names the file and what is wrong.
 */
#include "base/buffer.h"
#include "tests/support/image.h"
#include "tests/support/malformed.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

START_TEST(refuses_a_wrong_size_of_the_header)
{
    static const char header[] = "{" TENSOR("w", "[2]", "[0,8]") "}";
    const uint64_t n = sizeof header - 1;
    const uint64_t sizes[] = {0,
                              n - 1,
                              n + 1,
                              n + 8,
                              n + 9,
                              100000001,
                              ((uint64_t)1 << 32) + n,
                              (uint64_t)1 << 63,
                              UINT64_MAX,
                              UINT64_MAX - 7,
                              __builtin_bswap64(n)};
    struct attn_image image = attn_image_make(header, n, 8);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct attn_error err;

        memcpy(image.bytes, &sizes[i], 8);
        ck_assert_msg(attn_image_try(image, image.size, &err) == ATTN_FORMAT, "accepted %llu",
                      (unsigned long long)sizes[i]);
    }
    free(image.bytes);
}
END_TEST

START_TEST(says_what_is_wrong_with_the_size)
{
    struct attn_image image = attn_image_make("{}", 2, 0);
    struct attn_error err;

    ck_assert_int_eq(attn_image_try(image, 5, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'m.safetensors' has 5 bytes, expected a safetensors file, whose "
                                  "first 8 bytes are the size of its header");
    image.bytes[1] = 1;
    ck_assert_int_eq(attn_image_try(image, image.size, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message,
                     "'m.safetensors' has 10 bytes and a header of 258 bytes, expected "
                     "a safetensors file with a header of at most 2");
    free(image.bytes);
}
END_TEST

START_TEST(refuses_a_header_above_100_million_bytes)
{
    size_t size = 8 + 100000001;
    unsigned char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct attn_tensor_files *st;
    struct attn_error err;
    uint64_t n = 100000001;

    ck_assert_ptr_ne(bytes, MAP_FAILED);
    memcpy(bytes, &n, 8);
    ck_assert_int_eq(attn_image_open_bytes(bytes, size, &st, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "with a header of at most 100000000"));
    n = 100000000; /* as large as may be: now its text is looked at */
    memcpy(bytes, &n, 8);
    ck_assert_int_eq(attn_image_open_bytes(bytes, size, &st, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "has '\\x00' at byte 8, expected a value"));
    munmap(bytes, size);
}
END_TEST

START_TEST(recognises_what_people_take_for_safetensors)
{
    static const struct {
        const char *start, *hint;
    } rows[] = {{"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
                {"PK\3\4..........", "ZIP"},
                {"GGUF............", "GGUF"},
                {"<!DOCTYPE html>.", "a page of HTML"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_tensor_files *st;
        struct attn_error err;

        ck_assert_int_eq(attn_image_open_bytes((const unsigned char *)rows[i].start,
                                               strlen(rows[i].start), &st, &err),
                         ATTN_FORMAT);
        ck_assert(strstr(err.hint, rows[i].hint) || strstr(err.message, rows[i].hint));
    }
}
END_TEST

START_TEST(refuses_every_malformed_header)
{
    for (size_t g = 0; g < attn_n_malformed_group; g++)
        for (size_t i = 0; i < attn_malformed_groups[g].n; i++) {
            const struct attn_header *row = &attn_malformed_groups[g].rows[i];
            struct attn_error err;
            enum attn_status status =
                attn_image_try_header(row->text, row->size, row->n_data, &err);

            ck_assert_msg(status == ATTN_FORMAT, "status %d for %s", status, row->text);
            ck_assert_ptr_nonnull(strstr(err.message, "'m.safetensors'"));
            ck_assert_msg(strstr(err.message, row->message) != NULL, "%s\ngives: %s", row->text,
                          err.message);
        }
}
END_TEST

START_TEST(refuses_deep_nesting_without_recursion)
{
    char *text = malloc(100000);
    struct attn_error err;

    ck_assert_ptr_nonnull(text);
    memset(text, '[', 100000);
    ck_assert_int_eq(attn_image_try_header(text, 100000, 0, &err), ATTN_FORMAT);
    for (int i = 0; i < 20000; i++)
        memcpy(text + 5 * i, "{\"a\":", 5);
    ck_assert_int_eq(attn_image_try_header(text, 100000, 0, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "at most 64 levels"));
    free(text);
}
END_TEST

START_TEST(refuses_one_range_for_a_thousand_tensors)
{
    struct attn_buffer text = {0};
    struct attn_error err;

    for (int i = 0; i < 1000; i++)
        attn_buffer_append_format(&text, "%c" TENSOR("t%d", "[1]", "[0,4]"), i > 0 ? ',' : '{', i);
    attn_buffer_append_string(&text, "}");
    ck_assert_int_eq(attn_image_try_header(text.data, text.size, 4, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "begins at byte 0 of the data, expected 4"));
    attn_buffer_release(&text);
}
END_TEST

START_TEST(calls_more_than_16_dimensions_unsupported)
{
    struct attn_buffer text = {0};
    struct attn_error err;

    ck_assert_int_eq(
        attn_image_try_header(W(F32 "\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]" AT("[0,4]")), 4,
                              &err),
        ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "'w' in 'm.safetensors' has 17 dimensions, expected at most 16");
    attn_buffer_append_string(&text, "{\"w\":{" F32 "\"shape\":[1");
    for (int i = 1; i < 5000; i++)
        attn_buffer_append_string(&text, ",1");
    attn_buffer_append_string(&text, "]" AT("[0,4]") "}}");
    ck_assert_int_eq(attn_image_try_header(text.data, text.size, 4, &err), ATTN_UNSUPPORTED);
    attn_buffer_release(&text);
}
END_TEST

START_TEST(refuses_a_file_cut_anywhere)
{
    struct attn_image image = attn_image_make(TEXT("{" TENSOR("w", "[2]", "[0,8]") "} "), 8);
    struct attn_error err;

    for (size_t size = 0; size < image.size; size++)
        ck_assert_msg(attn_image_try(image, size, &err) == ATTN_FORMAT, "accepted %zu bytes", size);
    ck_assert_int_eq(attn_image_try(image, image.size, &err), ATTN_OK);
    free(image.bytes);
}
END_TEST

START_TEST(survives_every_flipped_bit)
{
    struct attn_image image =
        attn_image_make(TEXT("{\"__metadata__\":{\"a\":\"b\"}," TENSOR(
                            "w", "[2,1]", "[4,12]") "," TENSOR("b", "[]", "[0,4]") "}  "),
                        12);
    size_t n_bit = 8 * (image.size - 12), n_refused = 0;

    for (size_t bit = 0; bit < n_bit; bit++) {
        struct attn_error err;

        image.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        n_refused += attn_image_try(image, image.size, &err) == ATTN_FORMAT;
        image.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    /* Other names and texts are as good as these; nearly everything else matters. */
    ck_assert_uint_gt(n_refused, n_bit * 3 / 4);
    ck_assert_uint_lt(n_refused, n_bit);
    free(image.bytes);
}
END_TEST

ATTN_SUITE("safetensors_refused", refuses_a_wrong_size_of_the_header,
           says_what_is_wrong_with_the_size, refuses_a_header_above_100_million_bytes,
           recognises_what_people_take_for_safetensors, refuses_every_malformed_header,
           refuses_deep_nesting_without_recursion, refuses_one_range_for_a_thousand_tensors,
           calls_more_than_16_dimensions_unsupported, refuses_a_file_cut_anywhere,
           survives_every_flipped_bit)
