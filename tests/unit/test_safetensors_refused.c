/*
 * test_safetensors_refused.c - every class of malformed .safetensors file is refused, with a message
 * that names the file and what is wrong.
 */
#include "base/buffer.h"
#include "tests/support/image.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct refused {
    const char *header;
    size_t n_header, n_data;
    const char *message; /* part of it */
};

static void assert_refused(const struct refused *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct attn_error err;
        enum attn_status status =
            attn_image_try_header(rows[i].header, rows[i].n_header, rows[i].n_data, &err);

        ck_assert_msg(status == ATTN_FORMAT, "status %d for %s", status, rows[i].header);
        ck_assert_ptr_nonnull(strstr(err.message, "'m.safetensors'"));
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s\ngives: %s", rows[i].header,
                      err.message);
    }
}

#define ASSERT_REFUSED(rows) assert_refused(rows, sizeof rows / sizeof *rows)

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
    struct attn_safetensors *st;
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
    } rows[] = {{"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
                {"PK\3\4..........", "ZIP"},
                {"GGUF............", "GGUF"},
                {"<!DOCTYPE html>.", "web page"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_safetensors *st;
        struct attn_error err;

        ck_assert_int_eq(attn_image_open_bytes((const unsigned char *)rows[i].start,
                                               strlen(rows[i].start), &st, &err),
                         ATTN_FORMAT);
        ck_assert_ptr_nonnull(strstr(err.hint, rows[i].hint));
    }
}
END_TEST

START_TEST(refuses_text_that_is_no_strict_json_object)
{
    static const struct refused rows[] = {
        {TEXT(""), 0, "ends at byte 8, expected a value"},
        {TEXT("    "), 0, "ends at byte 12, expected a value"},
        {TEXT("[]"), 0, "has '[' at byte 8, expected an object"},
        {TEXT("\"{}\""), 0, "has '{}' at byte 8, expected an object"},
        {TEXT("null"), 0, "has 'null' at byte 8, expected an object"},
        {TEXT("{\"a\xff\":null}"), 0, "has '\\xff' at byte 11, expected valid UTF-8"},
        {TEXT("{\"\xc0\xaf\":null}"), 0, "valid UTF-8"},
        {TEXT("{\"\xed\xa0\xbd\":null}"), 0, "valid UTF-8"},
        {TEXT("{\"\\ud83d\":null}"), 0, "surrogate"},
        {TEXT("\xef\xbb\xbf{}"), 0, "a byte order mark at byte 8"},
        {TEXT("{\"a\nb\":null}"), 0, "no control character"},
        {TEXT("{\"\\a\":null}"), 0, "after a backslash"},
        {TEXT("{\"a"), 0, "at the end of a string"},
        {TEXT("{} {}"), 0, "the end of the text"},
        {TEXT("{}x"), 0, "the end of the text"},
        {TEXT("{}\0\0"), 0, "the end of the text"},
        {TEXT("{}\f"), 0, "the end of the text"},
        {TEXT("{'w':null}"), 0, "a key in quotes"},
        {TEXT("{/* w */}"), 0, "a key in quotes"},
        {TEXT("{" TENSOR("w", "[]", "[0,4]") ",}"), 4, "a key in quotes"},
        {TEXT("{\"w\":NaN}"), 0, "has 'NaN' at byte 13, expected a value"},
    };

    ASSERT_REFUSED(rows);
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

START_TEST(refuses_wrong_members)
{
    static const struct refused rows[] = {
        {TEXT("{\"w\":null}"), 0, "has 'null' at byte 13, expected an object with dtype"},
        {TEXT("{\"w\":[]}"), 0, "an object with dtype"},
        {TEXT("{\"w\":\"F32\"}"), 0, "an object with dtype"},
        {TEXT("{\"w\":{}}"), 0, "'w' in 'm.safetensors' has no dtype"},
        {W("\"shape\":[2]" AT("[0,8]")), 8, "has no dtype"},
        {W("\"dtype\":\"F32\"" AT("[0,8]")), 8, "has no shape"},
        {W("\"dtype\":\"F32\",\"shape\":[2]"), 8, "has no data_offsets"},
        {W("\"Dtype\":\"F32\",\"shape\":[2]" AT("[0,8]")), 8, "has no dtype"},
        {W(F32 "\"SHAPE\":[2]" AT("[0,8]")), 8, "has no shape"},
        {W(F32 PAIR "\"data_offsets\":[0,8]"), 8, "the key 'dtype' a second time"},
        {W(PAIR "\"shape\":[2]" AT("[0,8]")), 8, "the key 'shape' a second time"},
        {W(PAIR "\"x\":1,\"x\":1" AT("[0,8]")), 8, "the key 'x' a second time"},
        {W("\"dtype\":\"f32\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'f32', expected a type"},
        {W("\"dtype\":\"F33\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'F33', expected"},
        {W("\"dtype\":\"Q4_0\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'Q4_0', expected"},
        {W("\"dtype\":\"F32\\u0000\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'F32\\\\u0000'"},
        {W("\"dtype\":\"\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype '', expected"},
        {W("\"dtype\":32,\"shape\":[2]" AT("[0,8]")), 8, "has '32' at byte"},
        {W("\"dtype\":null,\"shape\":[2]" AT("[0,8]")), 8, "expected the name of a type"},
        {W(F32 "\"shape\":null" AT("[0,8]")), 8, "expected an array of integers"},
        {W(F32 "\"shape\":{}" AT("[0,8]")), 8, "expected an array of integers"},
        {W(F32 "\"shape\":\"2\"" AT("[0,8]")), 8, "expected an array of integers"},
        {W(F32 "\"shape\":[-2]" AT("[0,8]")), 8, "has '-2' at byte 37, expected an integer from 0"},
        {W(F32 "\"shape\":[2.0]" AT("[0,8]")), 8, "has '2.0' at byte"},
        {W(F32 "\"shape\":[2e0]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[2.5]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[true]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[null]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[\"2\"]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[[2]]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[18446744073709551616]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[1e400]" AT("[0,8]")), 8, "expected an integer"},
        {W(F32 "\"shape\":[00002]" AT("[0,8]")), 8, "has '0002' at byte"},
        {W(F32 "\"shape\":[+2]" AT("[0,8]")), 8, "has '+' at byte"},
        {W(F32 "\"shape\":[0x2]" AT("[0,8]")), 8, "has 'x2' at byte"},
        {W(PAIR "\"data_offsets\":null"), 8, "expected an array of integers"},
        {W(PAIR "\"data_offsets\":{}"), 8, "expected an array of integers"},
        {W(PAIR "\"data_offsets\":8"), 8, "expected an array of integers"},
        {W(PAIR "\"data_offsets\":[]"), 8, "has 0 data_offsets"},
        {W(PAIR "\"data_offsets\":[0]"), 8, "has 1 data_offsets"},
        {W(PAIR "\"data_offsets\":[0,8,8]"), 8, "has 3 data_offsets"},
        {W(PAIR "\"data_offsets\":[\"0\",\"8\"]"), 8, "expected an integer"},
        {W(PAIR "\"data_offsets\":[-8,0]"), 8, "expected an integer"},
        {W(PAIR "\"data_offsets\":[0.0,8.0]"), 8, "expected an integer"},
        {W(PAIR "\"data_offsets\":[0,8e0]"), 8, "expected an integer"},
        {W(PAIR "\"data_offsets\":[0,18446744073709551616]"), 8, "expected an integer"},
        {TEXT("{\"w\\u0000\":{" PAIR "\"data_offsets\":[0,8]}}"), 8, "a tensor's name without NUL"},
        {TEXT("{" TENSOR("w", "[1]", "[0,4]") "," TENSOR("w", "[1]", "[0,4]") "}"), 4,
         "the key 'w' a second time at byte 62"},
        {TEXT("{" TENSOR("w", "[1]", "[0,4]") "," TENSOR("\\u0077", "[1]", "[4,8]") "}"), 8,
         "a second time"},
    };

    ASSERT_REFUSED(rows);
}
END_TEST

START_TEST(refuses_metadata_that_is_no_map_of_strings)
{
    static const struct refused rows[] = {
        {TEXT("{\"__metadata__\":{\"a\":1}}"), 0,
         "has '1' at byte 29, expected an object of strings"},
        {TEXT("{\"__metadata__\":{\"a\":null}}"), 0, "expected an object of strings"},
        {TEXT("{\"__metadata__\":{\"a\":{}}}"), 0, "expected an object of strings"},
        {TEXT("{\"__metadata__\":[]}"), 0, "expected an object of strings"},
        {TEXT("{\"__metadata__\":\"a\"}"), 0, "expected an object of strings"},
        {TEXT("{" TENSOR("__metadata__", "[]", "[0,4]") "}"), 4, "expected an object of strings"},
        {TEXT("{\"__metadata__\":{},\"__metadata__\":{}}"), 0, "a second time"},
    };

    ASSERT_REFUSED(rows);
}
END_TEST

START_TEST(refuses_data_that_is_not_tiled)
{
#define A(offsets) TENSOR("a", "[1]", offsets)
#define B(offsets) TENSOR("b", "[1]", offsets)
    static const struct refused rows[] = {
        {W(PAIR "\"data_offsets\":[8,0]"), 8, "[8, 0], expected a begin and an end within 8 bytes"},
        {W(PAIR "\"data_offsets\":[0,8]"), 0, "[0, 8], expected a begin and an end within 0 bytes"},
        {W(PAIR "\"data_offsets\":[0,8]"), 7, "within 7 bytes of data"},
        {W(PAIR "\"data_offsets\":[18446744073709551608,0]"), 8, "a begin and an end"},
        {W(PAIR "\"data_offsets\":[4294967296,4294967304]"), 8, "a begin and an end"},
        {W(PAIR "\"data_offsets\":[4,12]"), 12, "begins at byte 4 of the data, expected 0"},
        {W(PAIR "\"data_offsets\":[0,8]"), 9, "has 9 bytes of data, expected 8"},
        {W(PAIR "\"data_offsets\":[0,8]"), 30, "has 30 bytes of data, expected 8"},
        {TEXT("{}"), 1, "has 1 bytes of data, expected 0"},
        {TEXT("{\"__metadata__\":{}}"), 8, "has 8 bytes of data, expected 0"},
        {TEXT("{" A("[0,4]") "," B("[8,12]") "}"), 12,
         "'b' in 'm.safetensors' begins at byte 8 of the data, expected 4"},
        {TEXT("{" B("[0,4]") "," A("[2,6]") "}"), 6,
         "'a' in 'm.safetensors' begins at byte 2 of the data, expected 4"},
        {TEXT("{" A("[0,4]") "," B("[0,4]") "}"), 4, "begins at byte 0 of the data, expected 4"},
        {TEXT("{" TENSOR("a", "[3]", "[0,12]") "," B("[4,8]") "}"), 12, "begins at byte 4"},
        {TEXT("{" A("[0,4]") "," TENSOR("e", "[0]", "[2,2]") "}"), 4, "begins at byte 2"},
        {TEXT("{" A("[0,4]") "," TENSOR("e", "[0]", "[5,5]") "}"), 4, "within 4 bytes"},
    };
#undef A
#undef B

    ASSERT_REFUSED(rows);
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

START_TEST(refuses_sizes_that_do_not_match_or_overflow)
{
    static const struct refused rows[] = {
        {W(F32 "\"shape\":[3]" AT("[0,8]")), 8,
         "'w' in 'm.safetensors' has shape [3] of F32, which is 12 bytes, expected 8 as between "
         "its "
         "data_offsets [0, 8]"},
        {W("\"dtype\":\"F16\",\"shape\":[2]" AT("[0,8]")), 8, "which is 4 bytes, expected 8"},
        {W(F32 "\"shape\":[]" AT("[0,16]")), 16, "shape [] of F32, which is 4 bytes, expected 16"},
        {W(F32 "\"shape\":[0,7]" AT("[0,8]")), 8, "shape [0, 7] of F32, which is 0 bytes"},
        {W("\"dtype\":\"F4\",\"shape\":[3]" AT("[0,1]")), 1, "shape [3] of F4, expected a whole"},
        {W("\"dtype\":\"F6_E2M3\",\"shape\":[3]" AT("[0,2]")), 2, "of F6_E2M3, expected a whole"},
        {W(F32 "\"shape\":[4294967296,4294967296]" AT("[0,0]")), 0, "below 2^61"},
        {W(F32 "\"shape\":[4611686018427387905]" AT("[0,4]")), 4, "below 2^61"},
        {W(F32 "\"shape\":[4611686018427387904]" AT("[0,0]")), 0, "below 2^61"},
        {W("\"dtype\":\"U8\",\"shape\":[2305843009213693953]" AT("[0,1]")), 1, "below 2^61"},
        {W(F32 "\"shape\":[18446744073709551615,18446744073709551615,0]" AT("[0,0]")), 0,
         "below 2^61"},
        {W("\"dtype\":\"U8\",\"shape\":[9007199254740993]" AT("[0,9007199254740992]")), 8,
         "within 8 bytes"},
        {W(F32 "\"shape\":[4294967298]" AT("[0,8]")), 8, "which is 17179869192 bytes, expected 8"},
        {W(F32 "\"shape\":[9223372036854775808,2]" AT("[0,0]")), 0, "below 2^61"},
    };

    ASSERT_REFUSED(rows);
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
           recognises_what_people_take_for_safetensors, refuses_text_that_is_no_strict_json_object,
           refuses_deep_nesting_without_recursion, refuses_wrong_members,
           refuses_metadata_that_is_no_map_of_strings, refuses_data_that_is_not_tiled,
           refuses_one_range_for_a_thousand_tensors, refuses_sizes_that_do_not_match_or_overflow,
           calls_more_than_16_dimensions_unsupported, refuses_a_file_cut_anywhere,
           survives_every_flipped_bit)
