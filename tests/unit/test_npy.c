/*
 * test_npy.c - arrays of every type, byte order and layout are read as numpy reads them; what is
 * strange but legal is taken.
 */
#include "formats/npy.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/npy.h"
#include "tests/support/npy_image.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DICT(descr, order, shape)                                                                  \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"
#define TEXT(literal) literal, sizeof literal - 1

static struct attn_npy_file *open_image(const struct attn_npy_image *image)
{
    struct attn_npy_file *npy;
    struct attn_error err;

    ck_assert_msg(attn_npy_image_open(image, image->size, &npy, &err) == ATTN_OK, "%s",
                  err.message);
    return npy;
}

/* Fails unless the file holds EXPECTED [n], bit for bit. */
static void assert_floats(const struct attn_npy_image *image, const float *expected, size_t n)
{
    struct attn_npy_file *npy = open_image(image);
    float actual[64];

    ck_assert_uint_eq(attn_npy_n_element(npy), n);
    attn_npy_read_floats(npy, actual);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(&actual[i], &expected[i], sizeof *actual) == 0 ||
                          (isnan(actual[i]) && isnan(expected[i])),
                      "element %zu is %a, expected %a", i, (double)actual[i], (double)expected[i]);
    attn_npy_free(npy);
}

/* The elements of each type in little endian, and what they are. */
static const struct {
    const char *descr, *name;
    size_t size;
    unsigned char bytes[16];
    float values[2];
} types[] = {
    {"b1", "bool", 1, {1, 0}, {1, 0}},
    {"i1", "int8", 1, {0x80, 0x7f}, {-128, 127}},
    {"u1", "uint8", 1, {0x80, 0xff}, {128, 255}},
    {"i2", "int16", 2, {0x00, 0x80, 0x34, 0x12}, {-32768, 4660}},
    {"u2", "uint16", 2, {0x00, 0x80, 0xff, 0xff}, {32768, 65535}},
    {"i4", "int32", 4, {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 1}, {-1, 16777216}}, /* 2^24+1 to even */
    {"u4", "uint32", 4, {0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff}, {0x1p31F, 0x1p32F}},
    /* 2^60 + 2^36 + 1 is just above the middle of two floats, as 2^63 + 2^39 + 1 is: rounding twice
     * would go down. */
    {"i8",
     "int64",
     8,
     {1, 0, 0, 0, 0x10, 0, 0, 0x10, 0xfe, 255, 255, 255, 255, 255, 255, 255},
     {0x1.000002p60F, -2}},
    {"u8",
     "uint64",
     8,
     {1, 0, 0, 0, 0x80, 0, 0, 0x80, 255, 255, 255, 255, 255, 255, 255, 255},
     {0x1.000002p63F, 0x1p64F}},
    {"f2", "float16", 2, {0x00, 0x3c, 0x01, 0x80}, {1, -0x1p-24F}},
    {"f4", "float32", 4, {0, 0, 0x80, 0x3f, 0xdb, 0x0f, 0x49, 0x40}, {1, 0x1.921fb6p1F}},
    {"f8",
     "float64",
     8,
     {0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0, 0, 0, 0, 0, 0, 4, 0xc0},
     {0.1F, -2.5F}},
};

START_TEST(reads_every_type_in_both_byte_orders)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int version = 1; version <= 3; version++)
            for (int is_big = 0; is_big < 2; is_big++) {
                unsigned char bytes[16];
                char text[128];
                const size_t size = types[i].size;
                struct attn_npy_image image;
                struct attn_npy_file *npy;

                for (size_t b = 0; b < 2 * size; b++)
                    bytes[b] = types[i].bytes[is_big ? b / size * size + size - 1 - b % size : b];
                snprintf(text, sizeof text,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (2,), }\n",
                         is_big ? '>' : '<', types[i].descr);
                image = attn_npy_image_make(version, text, strlen(text), bytes, 2 * size);
                assert_floats(&image, types[i].values, 2);
                npy = open_image(&image);
                ck_assert_str_eq(attn_npy_dtype_name(npy), types[i].name);
                attn_npy_free(npy);
            }
}
END_TEST

START_TEST(reads_halves_of_every_sort)
{
    static const unsigned short bits[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3555,
                                          0xc000, 0x7bff, 0x7c00, 0xfc00, 0x7e01};
    const float values[] = {0.0F,  -0.0F, 0x1p-24F, 0x1.ff8p-15F, 0x1p-14F, 0x1.554p-2F,
                            -2.0F, 65504, INFINITY, -INFINITY,    NAN};
    struct attn_npy_image image =
        attn_npy_image_make(1, TEXT(DICT("<f2", "False", "(11,)")), bits, sizeof bits);

    assert_floats(&image, values, 11);
}
END_TEST

START_TEST(rounds_large_and_small_doubles_as_numpy_does)
{
    const double wide[] = {1e300,        -1e300,      1e-50,    0x1.000001p0,
                           0x1.000003p0, (double)NAN, -HUGE_VAL};
    const float values[] = {INFINITY, -INFINITY, 0, 1, 0x1.000004p0F, NAN, -INFINITY};
    struct attn_npy_image image =
        attn_npy_image_make(1, TEXT(DICT("<f8", "False", "(7,)")), wide, sizeof wide);

    assert_floats(&image, values, 7);
}
END_TEST

START_TEST(gives_fortran_order_as_c_order)
{
    unsigned char bytes[24];
    float values[24];
    struct attn_npy_image image;

    /* The element at [i, j, k] of [2, 3, 4] is 100 i + 10 j + k. */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                bytes[i + 2 * (j + 3 * k)] = (unsigned char)(100 * i + 10 * j + k);
                values[(i * 3 + j) * 4 + k] = (float)(100 * i + 10 * j + k);
            }
    image = attn_npy_image_make(1, TEXT(DICT("|u1", "True", "(2, 3, 4)")), bytes, sizeof bytes);
    assert_floats(&image, values, 24);
    image = attn_npy_image_make(1, TEXT(DICT("|u1", "True", "(24,)")), values, 24);
    ck_assert_uint_eq(image.size, image.n_header + 24);
}
END_TEST

START_TEST(says_shape_and_rank)
{
    char text[ATTN_SHAPE_TEXT_SIZE];
    struct attn_npy_image image = attn_npy_image_zeros(DICT("<i2", "False", "(2, 1, 3)"), 12);
    struct attn_npy_file *npy = open_image(&image);

    ck_assert_int_eq(attn_npy_tensor(npy).rank, 3);
    ck_assert_uint_eq(attn_npy_tensor(npy).shape[0], 2);
    ck_assert_uint_eq(attn_npy_tensor(npy).shape[2], 3);
    ck_assert_uint_eq(attn_npy_n_element(npy), 6);
    ck_assert_int_eq(attn_npy_tensor(npy).dtype, ATTN_DTYPE_I16);
    ck_assert_str_eq(attn_shape_text(attn_npy_tensor(npy).rank, attn_npy_tensor(npy).shape, text),
                     "[2, 1, 3]");
    ck_assert_str_eq(attn_npy_path(npy), "x.npy");
    attn_npy_free(npy);
}
END_TEST

START_TEST(takes_a_number_alone_and_arrays_of_nothing)
{
    static const struct {
        const char *text;
        size_t n_data, n_element;
        const char *shape;
    } rows[] = {
        {DICT("<f8", "False", "()"), 8, 1, "[]"},
        {DICT("<f8", "False", "(0, 3)"), 0, 0, "[0, 3]"},
        {DICT("<f8", "True", "(3, 0)"), 0, 0, "[3, 0]"},
        /* The sizes beside a 0 do not matter, however they multiply. */
        {DICT("<f8", "True", "(18446744073709551615, 18446744073709551615, 0)"), 0, 0,
         "[18446744073709551615, 18446744073709551615, 0]"},
        {DICT("|u1", "True", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 1, 1,
         "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_npy_image image = attn_npy_image_zeros(rows[i].text, rows[i].n_data);
        struct attn_npy_file *npy = open_image(&image);
        char text[ATTN_SHAPE_TEXT_SIZE];
        unsigned char cell = 9;
        float value = 9;

        ck_assert_uint_eq(attn_npy_n_element(npy), rows[i].n_element);
        ck_assert_str_eq(
            attn_shape_text(attn_npy_tensor(npy).rank, attn_npy_tensor(npy).shape, text),
            rows[i].shape);
        attn_npy_read_floats(npy, &value);
        ck_assert_int_eq(attn_npy_read_cells(npy, &cell, NULL), ATTN_OK);
        ck_assert(rows[i].n_element == 0 ? value == 9 && cell == 9 : value == 0 && cell == 0);
        attn_npy_free(npy);
    }
}
END_TEST

START_TEST(the_longest_shape_has_a_text)
{
    struct attn_npy_image image;
    struct attn_npy_file *npy;
    char header[600] = "{'descr': '|u1', 'fortran_order': False, 'shape': (0";
    char text[ATTN_SHAPE_TEXT_SIZE];

    for (int i = 1; i < ATTN_MAX_RANK; i++)
        strncat(header, ",18446744073709551615", sizeof header - strlen(header) - 1);
    strncat(header, ")}", sizeof header - strlen(header) - 1);
    image = attn_npy_image_zeros(header, 0);
    npy = open_image(&image);
    ck_assert_uint_eq(
        strlen(attn_shape_text(attn_npy_tensor(npy).rank, attn_npy_tensor(npy).shape, text)),
        2 + 1 + 22 * 15);
    attn_npy_free(npy);
}
END_TEST

START_TEST(takes_other_ways_to_write_the_same_header)
{
    static const char *const headers[] = {
        "{'descr':'<f4','fortran_order':False,'shape':(1,)}",
        "{\"shape\": (1,), \"fortran_order\": True, \"descr\": \"<f4\"}",
        " \t\r\n{ 'shape' : ( 1 , ) , 'descr' : '<f4' , 'fortran_order' : False , } \t\r\n",
        "{'fortran_order': False, 'shape': (1, 1, 1), 'descr': '<f4'}          \n",
    };
    const float one = 1;

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct attn_npy_image image =
            attn_npy_image_make(1, headers[i], strlen(headers[i]), &one, sizeof one);

        assert_floats(&image, &one, 1);
    }
}
END_TEST

START_TEST(gives_floats_in_place_only_where_they_are_floats)
{
    static const struct {
        const char *text; /* the data begin at byte 64 when it has 54 */
        bool is_in_place;
    } rows[] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(2,2)}  \n", true},
        {"{'descr':'<f4','fortran_order':True,'shape':(2,2,)}  \n", false},
        {"{'descr':'<f4','fortran_order':True,'shape':(4,)}    \n", true}, /* the same either way */
        {"{'descr':'>f4','fortran_order':False,'shape':(2,2)}  \n", false},
        {"{'descr':'<i4','fortran_order':False,'shape':(2,2)}  \n", false},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,2)} \n", false}, /* at byte 63 */
    };
    const float values[] = {1, 2, 3, 4};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_npy_image image =
            attn_npy_image_make(1, rows[i].text, strlen(rows[i].text), values, sizeof values);
        struct attn_npy_file *npy = open_image(&image);
        const float *floats = attn_npy_floats_in_place(npy);

        ck_assert_msg((floats != NULL) == rows[i].is_in_place, "row %zu", i);
        if (floats != NULL)
            ck_assert_int_eq(memcmp(floats, values, sizeof values), 0);
        attn_npy_free(npy);
    }
}
END_TEST

START_TEST(reads_cells_of_every_type)
{
    static const char *const descrs[] = {"|b1", "<i8", ">u2", "<f2", ">f8"};
    static const unsigned char data[][16] = {{1, 0},
                                             {1, 0, 0, 0, 0, 0, 0, 0},
                                             {0, 1, 0, 0},
                                             {0, 0x3c, 0, 0x80}, /* 1, -0 */
                                             {0x3f, 0xf0}};
    static const size_t sizes[] = {1, 8, 2, 2, 8};

    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        char text[128];
        unsigned char cells[2] = {9, 9};
        struct attn_npy_image image;
        struct attn_npy_file *npy;

        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}",
                 descrs[i]);
        image = attn_npy_image_make(1, text, strlen(text), data[i], 2 * sizes[i]);
        npy = open_image(&image);
        ck_assert_int_eq(attn_npy_read_cells(npy, cells, NULL), ATTN_OK);
        ck_assert(cells[0] == 1 && cells[1] == 0);
        attn_npy_free(npy);
    }
}
END_TEST

START_TEST(names_the_cell_that_is_neither_0_nor_1)
{
    const double rounds_to_1 = 1 + 0x1p-40, rounds_to_0 = 1e-60, nan = (double)NAN;
    const double *const bad[] = {&rounds_to_1, &rounds_to_0, &nan};
    unsigned char cells[6];
    struct attn_npy_image image =
        attn_npy_image_make(1, TEXT(DICT("|u1", "True", "(2, 3)")), "\0\1\1\0\7\1", 6);
    struct attn_npy_file *npy = open_image(&image);
    struct attn_error err = {0};

    /* The fifth byte in Fortran order: row 0 of the last column. */
    ck_assert_int_eq(attn_npy_read_cells(npy, cells, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'x.npy' has 7 at [0, 2], expected 0 or 1");
    attn_npy_free(npy);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        image = attn_npy_image_make(1, TEXT(DICT("<f8", "False", "()")), bad[i], sizeof *bad[i]);
        npy = open_image(&image);
        ck_assert_int_eq(attn_npy_read_cells(npy, cells, NULL), ATTN_FORMAT);
        attn_npy_free(npy);
    }
}
END_TEST

static void assert_same_as(const char *path, enum attn_load load, const struct attn_npy *expected)
{
    struct attn_npy_file *npy;
    struct attn_error err = {0};
    float *values;

    ck_assert_msg(attn_npy_open(path, load, ATTN_NPY_NUMBERS, &npy, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert_int_eq(attn_npy_tensor(npy).rank, expected->rank);
    ck_assert_uint_eq(attn_npy_n_element(npy), expected->n);
    values = calloc(expected->n, sizeof *values);
    ck_assert_ptr_nonnull(values);
    attn_npy_read_floats(npy, values);
    for (size_t i = 0; i < expected->n; i++)
        ck_assert(values[i] == (float)expected->values[i]);
    free(values);
    attn_npy_free(npy);
}

START_TEST(reads_what_numpy_wrote_mapped_or_not)
{
    static const char *const paths[] = {
        "tests/golden/000_cross_attention/blocks.0.attn.hook_pattern.npy",
        "tests/golden/000_cross_attention/ids.npy",
        "tests/golden/004_simple_attention/weights.npy",
        "tests/golden/000_cross_attention/source.npy",
    };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct attn_npy expected;

        ck_assert(attn_npy_read(paths[i], &expected));
        assert_same_as(paths[i], ATTN_MAP, &expected);
        assert_same_as(paths[i], ATTN_READ, &expected);
        attn_npy_release(&expected);
    }
}
END_TEST

START_TEST(reads_a_pipe)
{
    struct attn_npy_image image = attn_npy_image_zeros(DICT("<f4", "False", "(100, 2)"), 800);
    struct attn_npy_file *npy;
    int ends[2];
    char path[64];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], image.bytes, image.size), (ssize_t)image.size);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(attn_npy_open(path, ATTN_MAP, ATTN_NPY_NUMBERS, &npy, NULL), ATTN_OK);
    ck_assert_uint_eq(attn_npy_n_element(npy), 200);
    attn_npy_free(npy);
    close(ends[0]);
}
END_TEST

START_TEST(says_which_file_cannot_be_opened)
{
    struct attn_npy_file *npy = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_npy_open("no/such.npy", ATTN_MAP, ATTN_NPY_NUMBERS, &npy, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot open 'no/such.npy': No such file or directory");
    ck_assert_ptr_null(npy);
    attn_npy_free(NULL);
}
END_TEST

START_TEST(survives_every_failing_allocation)
{
    struct attn_npy_file *npy = NULL;
    enum attn_status status = ATTN_NO_MEMORY;
    long n;

    for (n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = attn_npy_open("tests/golden/000_cross_attention/ids.npy", ATTN_READ,
                               ATTN_NPY_NUMBERS, &npy, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || (status == ATTN_NO_MEMORY && npy == NULL));
    }
    ck_assert_int_eq(n, 4); /* the path, the bytes, the array, then none */
    attn_npy_free(npy);
}
END_TEST

ATTN_SUITE("npy", reads_every_type_in_both_byte_orders, reads_halves_of_every_sort,
           rounds_large_and_small_doubles_as_numpy_does, gives_fortran_order_as_c_order,
           says_shape_and_rank, takes_a_number_alone_and_arrays_of_nothing,
           the_longest_shape_has_a_text, takes_other_ways_to_write_the_same_header,
           gives_floats_in_place_only_where_they_are_floats, reads_cells_of_every_type,
           names_the_cell_that_is_neither_0_nor_1, reads_what_numpy_wrote_mapped_or_not,
           reads_a_pipe, says_which_file_cannot_be_opened, survives_every_failing_allocation)
