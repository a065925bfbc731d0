#pragma once

#include "base/dtype.h"

#include <stdint.h>

const char *attn_dtype_name(enum attn_dtype dtype); /* "F32" */
size_t attn_dtype_bits(enum attn_dtype dtype);      /* 32, for example; 0 for block types */

/* Returns the number of values in a block of DTYPE; 1 for types that store each number
 * separately. */
size_t attn_dtype_block(enum attn_dtype dtype);

/* Returns the bytes of N values, which must be whole blocks; rounded up if a number has fewer than
 * 8 bits. */
size_t attn_dtype_n_byte(enum attn_dtype dtype, size_t n);

enum { ATTN_SHAPE_TEXT_SIZE = 22 * ATTN_MAX_RANK + 3 };

/* Formats a shape for messages, "[3, 4]". Returns TEXT. */
const char *attn_shape_text(int rank, const size_t *shape, char text[ATTN_SHAPE_TEXT_SIZE]);

size_t attn_tensor_n_element(const struct attn_tensor *tensor);
size_t attn_tensor_n_byte(const struct attn_tensor *tensor); /* rounded up */

/* Converts an IEEE half (1 bit of sign, 5 of exponent, 10 of mantissa) to float. */
float attn_half_value(uint32_t bits);
