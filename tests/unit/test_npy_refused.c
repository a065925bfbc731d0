/*
 * test_npy_refused.c - every class of malformed .npy file is refused, with a message that names the
 * file and what is wrong.
 */
#include "tests/support/npy_image.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

/* The three members, and a header of them. */
#define DESCR "'descr': '<f4'"
#define ORDER "'fortran_order': False"
#define SHAPE "'shape': (2,)"
#define WITH(members) "{" members ", }\n"
#define WITH_DESCR(value) WITH("'descr': " value ", " ORDER ", " SHAPE)
#define WITH_ORDER(value) WITH(DESCR ", 'fortran_order': " value ", " SHAPE)
#define WITH_SHAPE(value) WITH(DESCR ", " ORDER ", 'shape': " value)

/* A header, the bytes after it, and part of what is said of them. */
struct row {
    const char *text;
    size_t n_data;
    const char *message;
};

static void assert_refused(const struct row *rows, size_t n, enum attn_status expected)
{
    for (size_t i = 0; i < n; i++) {
        struct attn_npy_image image = attn_npy_image_zeros(rows[i].text, rows[i].n_data);
        struct attn_error err;
        enum attn_status status = attn_npy_image_try(&image, image.size, &err);

        ck_assert_msg(status == expected, "status %d for %s", status, rows[i].text);
        ck_assert_ptr_nonnull(strstr(err.message, "'x.npy'"));
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s\ngives: %s", rows[i].text,
                      err.message);
    }
}

#define ASSERT_REFUSED(rows, status) assert_refused(rows, sizeof(rows) / sizeof *(rows), status)

START_TEST(accepts_the_header_that_the_others_are_made_of)
{
    struct attn_npy_image image = attn_npy_image_zeros(WITH(DESCR ", " ORDER ", " SHAPE), 8);
    struct attn_error err;

    ck_assert_int_eq(attn_npy_image_try(&image, image.size, &err), ATTN_OK);
}
END_TEST

START_TEST(refuses_what_is_no_dict)
{
    static const struct row rows[] = {
        {"", 8, "the header of 'x.npy' ends, expected '{'"},
        {" \n", 8, "ends, expected '{'"},
        {"[]", 8, "has '[]' at byte 10 of its header, expected '{'"},
        {"None", 8, "expected '{'"},
        {"{", 8, "ends, expected a key in quotes, or '}'"},
        {"{}", 8, "the header of 'x.npy' has no 'descr'"},
        {"{,}", 8, "has ',}' at byte 11"},
        {"{" DESCR ", " ORDER ", " SHAPE, 8, "ends, expected ',' or '}'"},
        {"{" DESCR ", " ORDER ", " SHAPE ",", 8, "ends, expected a key"},
        {"{" DESCR " " ORDER ", " SHAPE "}", 8, "expected ',' or '}'"},
        {"{" DESCR ",, " ORDER ", " SHAPE "}", 8, "expected a key"},
        {"{" DESCR ", " ORDER ", " SHAPE "}}", 8, "expected blanks to the end of the header"},
        {"{" DESCR ", " ORDER ", " SHAPE "} # comment\n", 8, "has '# comment\\n' at byte"},
        {"{" DESCR ", " ORDER ", " SHAPE "}\f\n", 8, "has '\\x0c\\n' at byte"},
        {"dict(descr='<f4')", 8, "has 'dict(descr='<f4')'"},
        {"__import__('os').system('true')", 8, "has '__import__('os').system(' at byte 10"},
        {"\xef\xbb\xbf{" DESCR ", " ORDER ", " SHAPE "}", 8, "expected '{'"}, /* byte order mark */
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(refuses_keys_that_are_missing_unknown_or_twice)
{
    static const struct row rows[] = {
        {WITH(ORDER ", " SHAPE), 8, "has no 'descr'"},
        {WITH(DESCR ", " SHAPE), 8, "has no 'fortran_order'"},
        {WITH(DESCR ", " ORDER), 8, "has no 'shape'"},
        {WITH(DESCR ", " DESCR ", " ORDER ", " SHAPE), 8, "has the key 'descr' twice"},
        {WITH(DESCR ", " ORDER ", " SHAPE ", " SHAPE), 8, "has the key 'shape' twice"},
        {WITH(DESCR ", " ORDER ", " ORDER ", " SHAPE), 8, "has the key 'fortran_order' twice"},
        {WITH(DESCR ", " ORDER ", " SHAPE ", 'extra': 1"), 8, "has the key 'extra', expected"},
        {WITH("'Descr': '<f4', " ORDER ", " SHAPE), 8, "has the key 'Descr'"},
        {WITH("'descr ': '<f4', " ORDER ", " SHAPE), 8, "has the key 'descr '"},
        {WITH("'': '<f4', " ORDER ", " SHAPE), 8, "has the key ''"},
        {WITH("'\\x64escr': '<f4', " ORDER ", " SHAPE), 8, "has the key '\\\\x64escr'"},
        {WITH("descr: '<f4', " ORDER ", " SHAPE), 8, "expected a key in quotes"},
        {WITH("u'descr': '<f4', " ORDER ", " SHAPE), 8, "expected a key in quotes"},
        {WITH("'descr\": '<f4', " ORDER ", " SHAPE), 8, "has the key 'descr\": '"},
        {"{'descr", 8, "has ''descr' at byte 11 of its header, expected a key in quotes"},
        {WITH("'descr' '<f4', " ORDER ", " SHAPE), 8, "expected ':'"},
        {WITH("'descr', " ORDER ", " SHAPE), 8, "expected ':'"},
        {WITH("'descr':: '<f4', " ORDER ", " SHAPE), 8, "expected a type like '<f4'"},
        {"{'descr'", 8, "ends, expected ':'"},
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(refuses_types_that_are_malformed)
{
    static const struct row rows[] = {
        {WITH_DESCR("None"), 8, "expected a type like '<f4'"},
        {WITH_DESCR("4"), 8, "expected a type like '<f4'"},
        {WITH_DESCR("{}"), 8, "expected a type like '<f4'"},
        {WITH_DESCR("'=f4'"), 8, "has the type '=f4', whose first character is no byte order"},
        {WITH_DESCR("'|f4'"), 8, "has the type '|f4'"},
        {WITH_DESCR("' f4'"), 8, "has the type ' f4'"},
        {WITH_DESCR("'=u1'"), 8, "has the type '=u1'"},
        {"{'descr': ", 8, "ends, expected a type like '<f4'"},
        {"{'descr': '<f4", 8, "has ''<f4' at byte 20 of its header, expected a type like '<f4'"},
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(calls_other_types_by_their_names)
{
    static const struct row rows[] = {
        {WITH_DESCR("'|O'"), 8, "holds Python objects ('|O')"},
        {WITH_DESCR("'|O8'"), 8, "holds Python objects ('|O8')"},
        {WITH_DESCR("'<c8'"), 8, "holds complex numbers ('<c8')"},
        {WITH_DESCR("'>c16'"), 8, "holds complex numbers ('>c16')"},
        {WITH_DESCR("'|V8'"), 8, "holds records ('|V8')"},
        {WITH_DESCR("[('a', '<f4'), ('b', '<i4')]"), 8, "holds records ('[('a', '<f4')"},
        {WITH_DESCR("('<f4', (2,))"), 8, "holds records ('('<f4', (2,))"},
        {WITH_DESCR("'|S8'"), 8, "holds bytes of text ('|S8')"},
        {WITH_DESCR("'|a8'"), 8, "holds bytes of text ('|a8')"},
        {WITH_DESCR("'<U2'"), 8, "holds text ('<U2')"},
        {WITH_DESCR("'<M8[ns]'"), 8, "holds dates ('<M8[ns]')"},
        {WITH_DESCR("'<m8[s]'"), 8, "holds spans of time ('<m8[s]')"},
        {WITH_DESCR("'<f16'"), 8, "holds numbers of another type ('<f16')"},
        {WITH_DESCR("'<f3'"), 8, "holds numbers of another type ('<f3')"},
        {WITH_DESCR("'<i16'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'<b4'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'<f44'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'f4'"), 8, "holds numbers of another type ('f4')"},
        {WITH_DESCR("'<F4'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'float32'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'\\x3cf4'"), 8, "holds numbers of another type"},
        {WITH_DESCR("'<'"), 8, "holds numbers of another type"},
        {WITH_DESCR("''"), 8, "holds numbers of another type ('')"},
    };

    ASSERT_REFUSED(rows, ATTN_UNSUPPORTED);
}
END_TEST

START_TEST(refuses_orders_that_are_not_true_or_false)
{
    static const struct row rows[] = {
        {WITH_ORDER("0"), 8, "expected True or False"},
        {WITH_ORDER("None"), 8, "expected True or False"},
        {WITH_ORDER("'False'"), 8, "expected True or False"},
        {WITH_ORDER("false"), 8, "expected True or False"},
        {WITH_ORDER("FALSE"), 8, "expected True or False"},
        {WITH_ORDER("Fals"), 8, "expected True or False"},
        {WITH_ORDER("Falsehood"), 8, "has 'hood, 'shape': (2,), }\\n' at byte"},
        {WITH_ORDER(""), 8, "expected True or False"},
        {"{'fortran_order': ", 8, "ends, expected True or False"},
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(refuses_shapes_that_are_no_tuples_of_sizes)
{
    static const struct row rows[] = {
        {WITH_SHAPE("2"), 8, "expected a tuple of sizes"},
        {WITH_SHAPE("[2]"), 8, "expected a tuple of sizes"},
        {WITH_SHAPE("None"), 8, "expected a tuple of sizes"},
        {WITH_SHAPE("'(2,)'"), 8, "expected a tuple of sizes"},
        {WITH_SHAPE("(2)"), 8, "has a shape that is a number in brackets"},
        {WITH_SHAPE("(,)"), 8, "has ',), }\\n' at byte"},
        {WITH_SHAPE("(2,,)"), 8, "expected a size"},
        {WITH_SHAPE("(2 1)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(2,"), 8, "expected a size"},
        {WITH_SHAPE("(-2,)"), 8, "has '-2,), }\\n' at byte"},
        {WITH_SHAPE("(+2,)"), 8, "expected a size"},
        {WITH_SHAPE("(2.0,)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(2e0,)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(2L,)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(0x2,)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(1_0,)"), 8, "expected ',' or ')'"},
        {WITH_SHAPE("(02,)"), 8, "has '02,), }\\n' at byte"},
        {WITH_SHAPE("(00,)"), 0, "expected a size"},
        {WITH_SHAPE("('2',)"), 8, "expected a size"},
        {WITH_SHAPE("(True,)"), 4, "expected a size"},
        {WITH_SHAPE("(None,)"), 4, "expected a size"},
        {WITH_SHAPE("((2,),)"), 8, "expected a size"},
        {WITH_SHAPE("(18446744073709551616,)"), 8, "expected a size"}, /* 2^64 */
        {WITH_SHAPE("(18446744073709551618,)"), 8, "expected a size"}, /* 2^64 + 2 */
        {WITH_SHAPE("(99999999999999999999999999,)"), 8, "expected a size"},
        {"{'shape': (2", 8, "ends, expected ',' or ')'"},
        {"{'shape': ", 8, "ends, expected a tuple of sizes"},
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(calls_more_than_16_dimensions_unsupported)
{
    static const struct row rows[] = {
        {WITH_SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 4,
         "has more than 16 dimensions, expected at most that"},
        {WITH_SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0)"), 0, "has more than 16 dimensions"},
    };

    ASSERT_REFUSED(rows, ATTN_UNSUPPORTED);
}
END_TEST

START_TEST(refuses_sizes_that_differ_from_the_data)
{
    static const struct row rows[] = {
        {WITH_SHAPE("(2,)"), 7, "has 7 bytes of data, expected 8, as its shape says: it is trunc"},
        {WITH_SHAPE("(2,)"), 9, "has 9 bytes of data, expected 8, as its shape says"},
        {WITH_SHAPE("(2,)"), 0, "has 0 bytes of data"},
        {WITH_SHAPE("(0,)"), 1, "has 1 bytes of data, expected 0"},
        {WITH_SHAPE("(2, 0)"), 8, "has 8 bytes of data, expected 0"},
        {WITH_SHAPE("()"), 8, "has 8 bytes of data, expected 4"},
        {WITH_SHAPE("()"), 0, "has 0 bytes of data, expected 4"},
        /* Products that wrap around to what is there. */
        {WITH_SHAPE("(4294967296, 4294967296)"), 0, "whose size does not fit 64 bits"},
        {WITH_SHAPE("(4611686018427387904,)"), 0, "whose size does not fit 64 bits"},
        {WITH_SHAPE("(4611686018427387906,)"), 8, "whose size does not fit 64 bits"},
        {WITH_SHAPE("(18446744073709551615, 18446744073709551615)"), 4, "does not fit 64 bits"},
        {WITH_SHAPE("(4294967298,)"), 8, "expected 17179869192"}, /* 2^32 + 2 */
        {WITH_SHAPE("(4611686018427387903,)"), 8, "expected 18446744073709551612"},
        {WITH("'descr': '<f8', " ORDER ", " SHAPE), 8, "expected 16"},
        {WITH("'descr': '|b1', " ORDER ", " SHAPE), 8, "expected 2"},
    };

    ASSERT_REFUSED(rows, ATTN_FORMAT);
}
END_TEST

START_TEST(refuses_a_wrong_start)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *hint;
    } rows[] = {
        {"", 0, "np.save"},
        {"\x93NUMPY", 6, "np.save"},
        {"\x93NUMPY\1", 7, "np.save"},
        {"\x92NUMPY\1\0\0\0", 10, "np.save"},
        {"\x93numpy\1\0\0\0", 10, "np.save"},
        {"1,2,3\n4,5,6\n", 12, "np.save"},
        {"PK\3\4............", 16, "it looks like a .npz archive"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_npy_image image = {.size = rows[i].size};
        struct attn_error err;

        memcpy(image.bytes, rows[i].bytes, rows[i].size);
        ck_assert_int_eq(attn_npy_image_try(&image, image.size, &err), ATTN_FORMAT);
        ck_assert_str_eq(err.message, "'x.npy' does not begin as a .npy file does");
        ck_assert_msg(strstr(err.hint, rows[i].hint) != NULL, "%s", err.hint);
    }
}
END_TEST

START_TEST(refuses_other_versions)
{
    static const unsigned char versions[][2] = {{0, 0}, {0, 1}, {1, 1}, {4, 0}, {3, 1}, {255, 0}};

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct attn_npy_image image = attn_npy_image_zeros(WITH(DESCR ", " ORDER ", " SHAPE), 8);
        struct attn_error err;
        char message[96];

        memcpy(image.bytes + 6, versions[i], 2);
        snprintf(message, sizeof message,
                 "'x.npy' has version %d.%d of .npy, expected 1.0, 2.0 or 3.0", versions[i][0],
                 versions[i][1]);
        ck_assert_int_eq(attn_npy_image_try(&image, image.size, &err), ATTN_UNSUPPORTED);
        ck_assert_str_eq(err.message, message);
    }
}
END_TEST

START_TEST(refuses_a_wrong_size_of_the_header)
{
    static const char text[] = WITH(DESCR ", " ORDER ", " SHAPE);
    struct attn_npy_image image = attn_npy_image_zeros(text, 8);
    struct attn_error err;

    for (unsigned size = 0; size < 1 << 16; size++) {
        const enum attn_status expected = size == sizeof text - 1 ? ATTN_OK : ATTN_FORMAT;

        image.bytes[8] = (unsigned char)size;
        image.bytes[9] = (unsigned char)(size >> 8);
        ck_assert_msg(attn_npy_image_try(&image, image.size, &err) == expected, "%u", size);
    }
    ck_assert_str_eq(err.message, "'x.npy' has 76 bytes and a header of 65535, expected more bytes "
                                  "than the header has");
}
END_TEST

START_TEST(limits_long_headers)
{
    static const struct {
        unsigned char length[4];
        enum attn_status status;
        const char *message;
    } rows[] = {
        {{0, 0, 1, 0}, ATTN_FORMAT, "a header of 65536, expected more bytes"},
        {{1, 0, 1, 0}, ATTN_UNSUPPORTED, "has a header of 65537 bytes, expected at most 65536"},
        {{255, 255, 255, 255}, ATTN_UNSUPPORTED, "has a header of 4294967295 bytes"},
    };
    static const char text[] = WITH(DESCR ", " ORDER ", " SHAPE);

    for (int version = 2; version <= 3; version++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct attn_npy_image image =
                attn_npy_image_make(version, text, sizeof text - 1, "12345678", 8);
            struct attn_error err;

            memcpy(image.bytes + 8, rows[i].length, 4);
            ck_assert_int_eq(attn_npy_image_try(&image, image.size, &err), rows[i].status);
            ck_assert_ptr_nonnull(strstr(err.message, rows[i].message));
        }
}
END_TEST

START_TEST(refuses_a_file_cut_anywhere)
{
    static const char text[] = WITH(DESCR ", " ORDER ", " SHAPE);

    for (int version = 1; version <= 3; version++) {
        struct attn_npy_image image =
            attn_npy_image_make(version, text, sizeof text - 1, "12345678", 8);
        struct attn_error err;

        for (size_t size = 0; size < image.size; size++)
            ck_assert_msg(attn_npy_image_try(&image, size, &err) == ATTN_FORMAT,
                          "accepted %zu bytes", size);
        ck_assert_int_eq(attn_npy_image_try(&image, image.size, &err), ATTN_OK);
    }
}
END_TEST

START_TEST(survives_every_other_byte_of_the_header)
{
    struct attn_npy_image image =
        attn_npy_image_zeros("{" DESCR ", " ORDER ", 'shape': (2, 1), }  \n", 8);
    enum { N_BLANK = 10 };
    size_t n_accepted = 0;

    for (size_t at = 0; at < image.n_header; at++) {
        const unsigned char original = image.bytes[at];

        for (unsigned byte = 0; byte < 256; byte++) {
            struct attn_npy_file *npy;
            struct attn_error err;

            image.bytes[at] = (unsigned char)byte;
            if (attn_npy_image_open(&image, image.size, &npy, &err) == ATTN_OK) {
                ck_assert_uint_eq(attn_dtype_bits(attn_npy_tensor(npy).dtype), 32);
                ck_assert_uint_eq(attn_npy_n_element(npy), 2);
                n_accepted++;
            }
            attn_npy_free(npy);
        }
        image.bytes[at] = original;
    }
    /* Itself at each place; three other blanks for each; '>'; i and u for f; one of four blanks for
     * the 1 or for the last comma. */
    ck_assert_uint_eq(n_accepted, image.n_header + 3 * N_BLANK + 1 + 2 + 4 + 4);
}
END_TEST

ATTN_SUITE("npy_refused", accepts_the_header_that_the_others_are_made_of, refuses_what_is_no_dict,
           refuses_keys_that_are_missing_unknown_or_twice, refuses_types_that_are_malformed,
           calls_other_types_by_their_names, refuses_orders_that_are_not_true_or_false,
           refuses_shapes_that_are_no_tuples_of_sizes, calls_more_than_16_dimensions_unsupported,
           refuses_sizes_that_differ_from_the_data, refuses_a_wrong_start, refuses_other_versions,
           refuses_a_wrong_size_of_the_header, limits_long_headers, refuses_a_file_cut_anywhere,
           survives_every_other_byte_of_the_header)
