/*
 * grammar_npy.c - .npy files: versions, types, byte orders, orders, shapes, and every way of
 * writing the header.
 *
 * What was written valid is read back: type, shape, every element as a float, and as cells where
 * all are 0 or 1.
 */
#include "formats/npy.h"
#include "tests/adversary/npy_text.h"

#include <stdlib.h>
#include <string.h>

static const char types[][4] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                "u2", "u4", "u8", "f2", "f4", "f8"};
static const char *const type_names[] = {"bool",   "int8",    "int16",   "int32",
                                         "int64",  "uint8",   "uint16",  "uint32",
                                         "uint64", "float16", "float32", "float64"};

enum { N_TYPE = sizeof types / sizeof *types, MAX_SIZE = 5 };

struct known {
    struct attn_npy_text array;
    int type; /* index of types */
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

/* Any bits; often small whole numbers, or those of the ends of a type. */
static uint64_t choose_bits(struct attn_case *c, const struct attn_npy_text *array)
{
    const unsigned n_bit = 8U * (unsigned)(array->type[1] - '0');
    const uint64_t mask = n_bit == 64 ? UINT64_MAX : (UINT64_C(1) << n_bit) - 1;
    uint64_t bits = attn_case_bits(c);

    if (array->type[0] == 'b')
        return bits & 1;
    switch (attn_case_below(c, 4)) {
    case 0:
        return attn_npy_text_whole(array, (unsigned)(bits % 3));
    case 1:
        bits = (UINT64_MAX << bits % 64) ^ (attn_case_chance(c, 50) ? UINT64_MAX : 0);
        break;
    default:
        break;
    }
    return bits & mask;
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    struct attn_npy_text *array = &known->array;
    const int defect = attn_case_defect(c, attn_npy_defects, ATTN_NPY_N_DEFECT);
    const bool is_mask = attn_case_chance(c, 15), is_float = attn_case_chance(c, 50);

    known->type = (int)(is_float ? 9 + attn_case_below(c, 3) : attn_case_below(c, N_TYPE));
    memcpy(array->type, types[known->type], sizeof array->type);
    attn_npy_text_choose_order(c, array);
    array->is_fortran = attn_case_chance(c, 30);
    array->rank = (int)attn_case_below(c, 5);
    for (int i = 0; i < array->rank; i++)
        array->shape[i] = attn_case_chance(c, 5) ? 0 : 1 + attn_case_below(c, MAX_SIZE);
    for (size_t i = 0; i < ATTN_NPY_TEXT_MAX; i++)
        array->bits[i] = is_mask ? attn_npy_text_whole(array, (unsigned)attn_case_below(c, 2))
                                 : choose_bits(c, array);
    attn_npy_text_write(c, array, defect, attn_case_file(c, "a.npy"));
    /* The tool computes the attention that scores of two to four dimensions give. */
    if (c->meant != ATTN_MEANT_VALID || (is_float && array->rank >= 2 && array->n > 0))
        attn_case_run(c, 4, "attend", "--scores", "a.npy", "--json", "out.json", "-q", NULL);
}

static bool is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void check_cells(const struct attn_npy_text *array, const struct attn_npy_file *npy)
{
    unsigned char cells[ATTN_NPY_TEXT_MAX];
    struct attn_error err = {0};
    const enum attn_status status = attn_npy_read_cells(npy, cells, &err);
    bool is_mask = true;

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    for (size_t i = 0; i < array->n; i++) {
        const double value = attn_npy_text_value(array, i);

        is_mask = is_mask && (value == 0 || value == 1);
        FUZZ_CHECK(status != ATTN_OK || cells[i] == (value != 0));
    }
    FUZZ_CHECK((status == ATTN_OK) == is_mask);
}

static void check_read(const struct known *known, const struct attn_npy_file *npy)
{
    const struct attn_npy_text *array = &known->array;
    float floats[ATTN_NPY_TEXT_MAX];

    FUZZ_CHECK(attn_npy_tensor(npy).rank == array->rank);
    for (int i = 0; i < array->rank; i++)
        FUZZ_CHECK(attn_npy_tensor(npy).shape[i] == array->shape[i]);
    FUZZ_CHECK(attn_npy_n_element(npy) == array->n);
    FUZZ_CHECK(strcmp(attn_npy_dtype_name(npy), type_names[known->type]) == 0);
    attn_npy_read_floats(npy, floats);
    for (size_t i = 0; i < array->n; i++)
        FUZZ_CHECK(is_same(floats[i], attn_npy_text_float(array, i)));
    check_cells(array, npy);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct attn_buffer *bytes = attn_case_find(c, "a.npy");
    struct attn_file file = attn_fuzz_file("a.npy", (const uint8_t *)bytes->data, bytes->size);
    struct attn_npy_file *npy = NULL;
    const enum attn_status status = attn_npy_take(&file, ATTN_NPY_NUMBERS, &npy, err);

    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID)
        check_read((const struct known *)c->known.bytes, npy);
    attn_npy_free(npy);
    return status;
}

const struct attn_grammar attn_grammar_npy = {.name = "npy",
                                              .make = make,
                                              .take = take,
                                              .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                         FUZZ_BIT(ATTN_UNSUPPORTED)};
