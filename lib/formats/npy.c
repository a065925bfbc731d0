/*
 * npy.c - opens a .npy file and converts its elements, one at a time or all in place.
 */
#include "formats/npy.h"

#include "base/escape.h"
#include "base/memory.h"
#include "formats/npy_layout.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct attn_npy_file {
    struct attn_file file; /* owns */
    struct attn_npy_layout layout;
};

enum attn_status attn_npy_take(struct attn_file *file, struct attn_npy_file **out,
                               struct attn_error *err)
{
    struct attn_npy_file *npy = attn_alloc(1, sizeof *npy, err);
    enum attn_status status;

    if (npy == NULL) {
        attn_file_close(file);
        return ATTN_NO_MEMORY;
    }
    npy->file = *file;
    *file = (struct attn_file){0};
    status = attn_npy_read_layout(&npy->file, &npy->layout, err);
    if (status != ATTN_OK) {
        attn_npy_close(npy);
        return status;
    }
    *out = npy;
    return ATTN_OK;
}

enum attn_status attn_npy_open(const char *path, enum attn_load load, struct attn_npy_file **out,
                               struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status = attn_file_open(path, load, &file, err);

    return status == ATTN_OK ? attn_npy_take(&file, out, err) : status;
}

void attn_npy_close(struct attn_npy_file *npy)
{
    if (npy == NULL)
        return;
    attn_file_close(&npy->file);
    attn_free(npy);
}

const char *attn_npy_path(const struct attn_npy_file *npy)
{
    return npy->file.path;
}

int attn_npy_rank(const struct attn_npy_file *npy)
{
    return npy->layout.rank;
}

const size_t *attn_npy_shape(const struct attn_npy_file *npy)
{
    return npy->layout.shape;
}

size_t attn_npy_n_element(const struct attn_npy_file *npy)
{
    return npy->layout.n_element;
}

enum attn_dtype attn_npy_dtype(const struct attn_npy_file *npy)
{
    return npy->layout.dtype;
}

const char *attn_npy_dtype_name(const struct attn_npy_file *npy)
{
    switch (npy->layout.dtype) {
    case ATTN_DTYPE_BOOL:
        return "bool";
    case ATTN_DTYPE_I8:
        return "int8";
    case ATTN_DTYPE_I16:
        return "int16";
    case ATTN_DTYPE_I32:
        return "int32";
    case ATTN_DTYPE_I64:
        return "int64";
    case ATTN_DTYPE_U8:
        return "uint8";
    case ATTN_DTYPE_U16:
        return "uint16";
    case ATTN_DTYPE_U32:
        return "uint32";
    case ATTN_DTYPE_U64:
        return "uint64";
    case ATTN_DTYPE_F16:
        return "float16";
    case ATTN_DTYPE_F32:
        return "float32";
    default:
        return "float64";
    }
}

const char *attn_npy_shape_text(const struct attn_npy_file *npy,
                                char text[ATTN_NPY_SHAPE_TEXT_SIZE])
{
    size_t n = 0;

    text[n++] = '[';
    for (int i = 0; i < npy->layout.rank; i++)
        n += (size_t)snprintf(text + n, ATTN_NPY_SHAPE_TEXT_SIZE - n, i > 0 ? ", %zu" : "%zu",
                              npy->layout.shape[i]);
    text[n++] = ']';
    text[n] = '\0';
    return text;
}

static size_t element_size(const struct attn_npy_layout *layout)
{
    return attn_dtype_bits(layout->dtype) / 8;
}

/* The element that lies I-th in the file, as an unsigned number. */
static uint64_t read_bits(const struct attn_npy_file *npy, size_t i)
{
    const struct attn_npy_layout *layout = &npy->layout;
    const size_t size = element_size(layout);
    const unsigned char *at = npy->file.data + layout->data_start + i * size;
    uint64_t bits = 0;

    for (size_t b = 0; b < size; b++)
        bits = bits << 8 | at[layout->is_big_endian ? b : size - 1 - b];
    return bits;
}

/* An IEEE half: 1 bit of sign, 5 of exponent, 10 of mantissa. */
static float half_value(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    uint32_t wide;
    float value;

    if (exponent == 0) { /* zeros and subnormals: mantissa * 2^-24, exactly */
        value = (float)mantissa * 0x1p-24F;
        return sign ? -value : value;
    }
    wide = sign | (exponent == 31 ? 255U << 23 : (exponent + 112) << 23) | mantissa << 13;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* The number that BITS stand for; exact but for integers of 64 bits. */
static double bits_value(enum attn_dtype dtype, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float single;
    double wide;

    switch (dtype) {
    case ATTN_DTYPE_I8:
        return (int8_t)bits;
    case ATTN_DTYPE_I16:
        return (int16_t)bits;
    case ATTN_DTYPE_I32:
        return (int32_t)bits;
    case ATTN_DTYPE_I64:
        return (double)(int64_t)bits;
    case ATTN_DTYPE_F16:
        return (double)half_value(low);
    case ATTN_DTYPE_F32:
        memcpy(&single, &low, sizeof single);
        return (double)single;
    case ATTN_DTYPE_F64:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    default:
        return (double)bits;
    }
}

/* The same as a float, rounded once. */
static float bits_float(enum attn_dtype dtype, uint64_t bits)
{
    if (dtype == ATTN_DTYPE_I64)
        return (float)(int64_t)bits;
    if (dtype == ATTN_DTYPE_U64)
        return (float)bits;
    return (float)bits_value(dtype, bits);
}

/* Elements in C order, and where they lie in the file: an index that counts the last dimension
 * fastest. */
struct walk {
    const struct attn_npy_layout *layout;
    size_t index[ATTN_MAX_RANK]; /* of the element, in Fortran order */
    size_t stride[ATTN_MAX_RANK];
    size_t at; /* elements before it in the file */
};

static struct walk start_walk(const struct attn_npy_layout *layout)
{
    struct walk walk = {.layout = layout};
    size_t stride = 1;

    for (int d = 0; d < layout->rank; d++) {
        walk.stride[d] = stride;
        stride *= layout->shape[d]; /* may wrap around only where there are no elements */
    }
    return walk;
}

static void step(struct walk *walk)
{
    const struct attn_npy_layout *layout = walk->layout;

    if (!layout->is_fortran_order) {
        walk->at++;
        return;
    }
    for (int d = layout->rank - 1; d >= 0; d--) {
        walk->at += walk->stride[d];
        if (++walk->index[d] < layout->shape[d])
            return;
        walk->at -= walk->stride[d] * layout->shape[d];
        walk->index[d] = 0;
    }
}

const float *attn_npy_floats_in_place(const struct attn_npy_file *npy)
{
    const struct attn_npy_layout *layout = &npy->layout;
    const unsigned char *data = npy->file.data + layout->data_start;
    const bool is_native = layout->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

    if (layout->dtype != ATTN_DTYPE_F32 || !is_native || (uintptr_t)data % sizeof(float) != 0 ||
        (layout->is_fortran_order && layout->rank > 1))
        return NULL;
    return (const float *)(const void *)data;
}

void attn_npy_read_floats(const struct attn_npy_file *npy, float *out)
{
    const struct attn_npy_layout *layout = &npy->layout;
    const float *in_place = attn_npy_floats_in_place(npy);
    struct walk walk = start_walk(layout);

    if (in_place != NULL) {
        memcpy(out, in_place, layout->n_element * sizeof *out);
        return;
    }
    for (size_t i = 0; i < layout->n_element; i++, step(&walk))
        out[i] = bits_float(layout->dtype, read_bits(npy, walk.at));
}

/* Says what stands in the I-th cell in C order. */
static enum attn_status refuse_cell(const struct attn_npy_file *npy, size_t i, double value,
                                    struct attn_error *err)
{
    const struct attn_npy_layout *layout = &npy->layout;
    size_t index[ATTN_MAX_RANK], n = 0;
    char place[ATTN_NPY_SHAPE_TEXT_SIZE] = "";

    for (int d = layout->rank - 1; d >= 0; d--) {
        index[d] = i % layout->shape[d];
        i /= layout->shape[d];
    }
    for (int d = 0; d < layout->rank; d++)
        n += (size_t)snprintf(place + n, sizeof place - n, d > 0 ? ", %zu" : "%zu", index[d]);
    return attn_error_set(err, ATTN_FORMAT, "'%s' has %g at [%s], expected 0 or 1",
                          attn_quote_string(npy->file.path).text, value, place);
}

enum attn_status attn_npy_read_cells(const struct attn_npy_file *npy, unsigned char *out,
                                     struct attn_error *err)
{
    const struct attn_npy_layout *layout = &npy->layout;
    struct walk walk = start_walk(layout);

    for (size_t i = 0; i < layout->n_element; i++, step(&walk)) {
        const double value = bits_value(layout->dtype, read_bits(npy, walk.at));

        if (value != 0 && value != 1)
            return refuse_cell(npy, i, value, err);
        out[i] = value != 0;
    }
    return ATTN_OK;
}
