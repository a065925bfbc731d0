#include "base/dtype_internal.h"

#include "base/text/fixed_text.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bits;            /* bits per number */
    size_t n_value, n_byte; /* values and bytes per block */
} dtypes[] = {
#define DTYPE_ROW(name, number, bits) [ATTN_DTYPE_##name] = {#name, bits, 1, 0},
    ATTN_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
#define DTYPE_ROW(name, number, code, values, bytes)                                               \
    [ATTN_DTYPE_##name] = {#name, 0, values, bytes},
        ATTN_BLOCK_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *attn_dtype_name(enum attn_dtype dtype)
{
    return (size_t)dtype < ATTN_N_DTYPE ? dtypes[dtype].name : "unknown";
}

size_t attn_dtype_bits(enum attn_dtype dtype)
{
    return (size_t)dtype < ATTN_N_DTYPE ? dtypes[dtype].bits : 0;
}

size_t attn_dtype_block(enum attn_dtype dtype)
{
    return (size_t)dtype < ATTN_N_DTYPE ? dtypes[dtype].n_value : 1;
}

size_t attn_dtype_n_byte(enum attn_dtype dtype, size_t n)
{
    const size_t bits = attn_dtype_bits(dtype);

    if (attn_dtype_block(dtype) > 1)
        return n / dtypes[dtype].n_value * dtypes[dtype].n_byte;
    return n / 8 * bits + (n % 8 * bits + 7) / 8; /* avoids overflow of n * bits */
}

size_t attn_tensor_n_element(const struct attn_tensor *tensor)
{
    size_t n = 1;

    for (int i = 0; i < tensor->rank; i++)
        n *= tensor->shape[i];
    return n;
}

const char *attn_shape_text(int rank, const size_t *shape, char text[ATTN_SHAPE_TEXT_SIZE])
{
    size_t n = 0;

    attn_fixed_text_append(text, ATTN_SHAPE_TEXT_SIZE, &n, "[");
    for (int i = 0; i < rank; i++)
        attn_fixed_text_append(text, ATTN_SHAPE_TEXT_SIZE, &n, i > 0 ? ", %zu" : "%zu", shape[i]);
    attn_fixed_text_append(text, ATTN_SHAPE_TEXT_SIZE, &n, "]");
    return text;
}

size_t attn_tensor_n_byte(const struct attn_tensor *tensor)
{
    return attn_dtype_n_byte(tensor->dtype, attn_tensor_n_element(tensor));
}

float attn_half_value(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    uint32_t wide;
    float value;

    if (exponent == 0) { /* zero or subnormal: exactly mantissa * 2^-24 */
        value = (float)mantissa * 0x1p-24F;
        return sign ? -value : value;
    }
    wide = sign | (exponent == 31 ? 255U << 23 : (exponent + 112) << 23) | mantissa << 13;
    memcpy(&value, &wide, sizeof value);
    return value;
}
