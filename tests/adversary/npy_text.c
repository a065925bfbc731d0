/* npy_text.c - see npy_text.h. */
#include "tests/adversary/npy_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum defect {
    NONE = -1,
    BAD_MAGIC,
    BAD_VERSION,
    LONG_LENGTH,
    NO_DESCR,
    NO_ORDER,
    NO_SHAPE,
    TWO_KEYS,
    OTHER_KEY,
    OBJECTS,
    OTHER_TYPE,
    RECORDS,
    NO_BYTE_ORDER,
    OTHER_BYTE_ORDER,
    BOOLEAN_WORD,
    SHAPE_NUMBER,
    SHAPE_LIST,
    NEGATIVE_SIZE,
    LEADING_ZERO,
    REAL_SIZE,
    HUGE_SHAPE,
    MANY_DIMENSIONS,
    NO_BRACE,
    BEHIND_DICT,
    SHORT_DATA,
    LONG_DATA,
    LONG_HEADER
};

const char *const attn_npy_defects[ATTN_NPY_N_DEFECT] = {
    "another magic",
    "another version",
    "a header longer than the file",
    "no descr",
    "no fortran_order",
    "no shape",
    "a key twice",
    "another key",
    "objects",
    "a type of other numbers",
    "records",
    "no byte order",
    "an unknown byte order",
    "true in place of True",
    "a shape that is a number",
    "a shape that is a list",
    "a negative size",
    "a size with a leading zero",
    "a size that is no whole number",
    "a shape beyond 64 bits",
    "17 dimensions",
    "no closing brace",
    "something behind the dict",
    "too little data",
    "too much data",
    "a header above 65536 bytes",
};

static size_t element_size(const struct attn_npy_text *array)
{
    return (size_t)(array->type[1] - '0');
}

void attn_npy_text_count(struct attn_npy_text *array)
{
    array->n = 1;
    for (int i = 0; i < array->rank; i++)
        array->n *= array->shape[i];
    FUZZ_CHECK(array->n <= ATTN_NPY_TEXT_MAX);
}

void attn_npy_text_choose_order(struct attn_case *c, struct attn_npy_text *array)
{
    array->order = "<>|"[attn_case_below(c, array->type[1] == '1' ? 3 : 2)];
}

/* Sign, exponent and mantissa, put together by the C library. */
static double half(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double mantissa = (double)(bits & 1023);
    double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);

    if (exponent == 31)
        value = mantissa == 0 ? (double)INFINITY : (double)NAN;
    return bits & 0x8000 ? -value : value;
}

static int64_t signed_value(uint64_t bits, size_t size)
{
    const unsigned shift = (unsigned)(64 - 8 * size);

    return (int64_t)(bits << shift) >> shift;
}

double attn_npy_text_value(const struct attn_npy_text *array, size_t i)
{
    const uint64_t bits = array->bits[i];
    const uint32_t low = (uint32_t)bits;
    double wide;
    float single;

    switch (array->type[0]) {
    case 'i':
        return (double)signed_value(bits, element_size(array));
    case 'f':
        if (array->type[1] == '2')
            return half(bits);
        memcpy(&single, &low, sizeof single);
        memcpy(&wide, &bits, sizeof wide);
        return array->type[1] == '4' ? (double)single : wide;
    default:
        return (double)bits;
    }
}

float attn_npy_text_float(const struct attn_npy_text *array, size_t i)
{
    if (array->type[0] == 'i')
        return (float)signed_value(array->bits[i], element_size(array));
    if (array->type[0] == 'u' || array->type[0] == 'b')
        return (float)array->bits[i];
    return (float)attn_npy_text_value(array, i);
}

uint64_t attn_npy_text_whole(const struct attn_npy_text *array, unsigned value)
{
    static const uint64_t halves[] = {0, 0x3c00, 0x4000}, singles[] = {0, 0x3f800000, 0x40000000},
                          doubles[] = {0, 0x3ff0000000000000, 0x4000000000000000};

    if (array->type[0] != 'f')
        return value;
    return (array->type[1] == '2' ? halves : array->type[1] == '4' ? singles : doubles)[value];
}

/* --- the header ------------------------------------------------------------------------------- */

static void blank(struct attn_case *c, struct attn_buffer *out)
{
    while (attn_case_chance(c, 15))
        attn_buffer_append_char(out, attn_case_chance(c, 80) ? ' ' : '\t');
}

static void put(struct attn_case *c, struct attn_buffer *out, const char *text)
{
    attn_buffer_append_string(out, text);
    blank(c, out);
}

static void put_quoted(struct attn_case *c, struct attn_buffer *out, const char *text)
{
    const char quote = attn_case_chance(c, 80) ? '\'' : '"';

    attn_buffer_append_format(out, "%c%s%c", quote, text, quote);
    blank(c, out);
}

static void put_type(struct attn_case *c, const struct attn_npy_text *array, enum defect defect,
                     struct attn_buffer *out)
{
    static const char *const others[] = {"<c8",    "<c16", "<f16", "<i3", "<U7",  "|S4", "|V8",
                                         "<M8[s]", "<m8",  "<f1",  "f4",  "<f44", "",    "<b2"};
    char text[8];

    snprintf(text, sizeof text, "%c%s", array->order, array->type);
    if (defect == OBJECTS)
        put_quoted(c, out, "|O");
    else if (defect == OTHER_TYPE)
        put_quoted(c, out, others[attn_case_below(c, sizeof others / sizeof *others)]);
    else if (defect == RECORDS)
        put(c, out, "[('x', '<f4'), ('y', '<i2')]");
    else if (defect == NO_BYTE_ORDER)
        put_quoted(c, out, array->type[1] == '1' ? "i1" : "|i2");
    else if (defect == OTHER_BYTE_ORDER)
        put_quoted(c, out, attn_case_chance(c, 50) ? "!f4" : "\\x3cf4");
    else
        put_quoted(c, out, text);
}

/* What stands in place of a size. */
static void put_size(struct attn_case *c, size_t size, enum defect defect, struct attn_buffer *out)
{
    if (defect == NEGATIVE_SIZE)
        attn_buffer_append_format(out, "-%zu", size + 1);
    else if (defect == LEADING_ZERO)
        attn_buffer_append_format(out, "0%zu", size);
    else if (defect == REAL_SIZE)
        attn_buffer_append_format(out, attn_case_chance(c, 50) ? "%zu.0" : "%zuL", size);
    else if (defect == HUGE_SHAPE)
        attn_buffer_append_string(out, attn_case_chance(c, 50) ? "18446744073709551616"
                                                               : "4611686018427387905");
    else
        attn_buffer_append_format(out, "%zu", size);
    blank(c, out);
}

static void put_shape(struct attn_case *c, const struct attn_npy_text *array, enum defect defect,
                      struct attn_buffer *out)
{
    const int at = array->rank > 0 ? (int)attn_case_below(c, (size_t)array->rank) : 0;

    if (defect == SHAPE_NUMBER) {
        put(c, out, attn_case_chance(c, 50) ? "7" : "(7)");
        return;
    }
    put(c, out, defect == SHAPE_LIST ? "[" : "(");
    if (defect == MANY_DIMENSIONS)
        put(c, out, "1,");
    for (int i = 0; i < array->rank; i++) {
        put_size(c, array->shape[i], i == at ? defect : NONE, out);
        if (i + 1 < array->rank || array->rank == 1 || attn_case_chance(c, 10))
            put(c, out, ",");
    }
    put(c, out, defect == SHAPE_LIST ? "]" : ")");
}

static void put_member(struct attn_case *c, const struct attn_npy_text *array, size_t member,
                       enum defect defect, struct attn_buffer *out)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};

    put_quoted(c, out, names[member]);
    put(c, out, ":");
    if (member == 0)
        put_type(c, array, defect, out);
    else if (member == 2)
        put_shape(c, array, defect, out);
    else if (defect == BOOLEAN_WORD)
        put(c, out, array->is_fortran ? "true" : "0");
    else
        put(c, out, array->is_fortran ? "True" : "False");
}

static void put_dict(struct attn_case *c, const struct attn_npy_text *array, enum defect defect,
                     struct attn_buffer *out)
{
    size_t order[3] = {0, 1, 2};
    bool has_comma = true;

    if (attn_case_chance(c, 40))
        attn_case_shuffle(c, order, 3);
    blank(c, out);
    put(c, out, "{");
    for (int i = 0; i < 3; i++) {
        if (defect == NO_DESCR + (int)order[i])
            continue;
        put_member(c, array, order[i], defect, out);
        has_comma = i < 2 || attn_case_chance(c, 80) || defect == TWO_KEYS || defect == OTHER_KEY;
        if (has_comma)
            put(c, out, ",");
    }
    if (defect == TWO_KEYS)
        put_member(c, array, attn_case_below(c, 3), NONE, out);
    if (defect == OTHER_KEY)
        put(c, out, "'version': 1");
    if (defect != NO_BRACE)
        put(c, out, "}");
    if (defect == BEHIND_DICT)
        put(c, out, attn_case_chance(c, 50) ? "{}" : "#");
}

/* Magic, version and length. */
static void put_prefix(struct attn_case *c, size_t n_header, int version, enum defect defect,
                       struct attn_buffer *out)
{
    static const char versions[][2] = {{0, 0}, {4, 0}, {1, 1}, {2, 1}, {(char)255, 0}};
    const char pair[2] = {(char)version, 0};
    const char *shown = defect == BAD_VERSION ? versions[attn_case_below(c, 5)] : pair;
    size_t length = n_header;

    if (defect == LONG_LENGTH)
        length = version == 1 ? 65535 : n_header + 1 + ATTN_NPY_TEXT_MAX * 8;
    attn_buffer_append(out, defect == BAD_MAGIC ? "\x93NUMPZ" : "\x93NUMPY", 6);
    attn_buffer_append(out, shown, 2);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        attn_buffer_append_char(out, (char)(length >> 8 * i));
}

/* --- the data --------------------------------------------------------------------------------- */

/* Where element I, counted in C order, lies in Fortran order. */
static size_t fortran_place(const struct attn_npy_text *array, size_t i)
{
    size_t index[ATTN_MAX_RANK], place = 0;

    for (int d = array->rank - 1; d >= 0; d--) {
        index[d] = i % array->shape[d];
        i /= array->shape[d];
    }
    for (int d = array->rank - 1; d >= 0; d--)
        place = place * array->shape[d] + index[d];
    return place;
}

static void put_data(const struct attn_npy_text *array, struct attn_buffer *out)
{
    const size_t size = element_size(array), n_byte = array->n * size;
    char *data = attn_buffer_reserve(out, n_byte + 1);

    FUZZ_CHECK(data != NULL);
    for (size_t i = 0; i < array->n; i++) {
        const size_t place = array->is_fortran ? fortran_place(array, i) : i;

        for (size_t b = 0; b < size; b++)
            data[place * size + b] =
                (char)(array->bits[i] >> 8 * (array->order == '>' ? size - 1 - b : b));
    }
    out->size += n_byte;
}

void attn_npy_text_write(struct attn_case *c, struct attn_npy_text *array, int number,
                         struct attn_buffer *out)
{
    const enum defect defect = (enum defect)number;
    int version = attn_case_chance(c, 70) ? 1 : 2 + (int)attn_case_below(c, 2);
    struct attn_buffer header = {0};

    if (defect >= NEGATIVE_SIZE && defect <= HUGE_SHAPE && array->rank == 0)
        array->rank = 1, array->shape[0] = 1;
    if (defect == HUGE_SHAPE)
        for (int i = 0; i < array->rank; i++)
            array->shape[i] += array->shape[i] == 0; /* or there are no elements anyway */
    if (defect == MANY_DIMENSIONS) {                 /* put_shape adds one */
        array->rank = ATTN_MAX_RANK;
        for (int i = 0; i < array->rank; i++)
            array->shape[i] = 1;
    }
    attn_npy_text_count(array);
    put_dict(c, array, defect, &header);
    if (defect == LONG_HEADER)
        version = 2;
    while (attn_case_chance(c, 90) && header.size % 64 != 53)
        attn_buffer_append_char(&header, ' ');
    for (int i = 0; defect == LONG_HEADER && i < 65536; i++)
        attn_buffer_append_char(&header, ' ');
    if (attn_case_chance(c, 90))
        attn_buffer_append_char(&header, '\n');
    put_prefix(c, header.size, version, defect, out);
    attn_buffer_append(out, header.data, header.size);
    attn_buffer_release(&header);
    put_data(array, out);
    if (defect == SHORT_DATA)
        out->size -= 1 + attn_case_below(c, element_size(array));
    if (defect == LONG_DATA)
        attn_buffer_append(out, "12345678", 1 + attn_case_below(c, 8));
}
