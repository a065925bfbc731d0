/* npy_header.c - see npy_header.h. */
#include "encode/npy_header.h"

#include "base/fixed_text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX_SIZE = 10, ALIGNMENT = 64 }; /* magic, version, length */

size_t attn_npy_header(const char *dtype, const size_t *shape, int rank,
                       char out[ATTN_NPY_HEADER_SIZE])
{
    return attn_npy_header_padded(dtype, shape, rank, 0, out);
}

size_t attn_npy_header_padded(const char *dtype, const size_t *shape, int rank, size_t least,
                              char out[ATTN_NPY_HEADER_SIZE])
{
    char sizes[ATTN_NPY_RANK_MAX * 22 + 1] = ""; /* 20 digits, a comma and a blank each */
    size_t n = 0, text, total;

    assert(rank >= 1 && rank <= ATTN_NPY_RANK_MAX);
    for (int i = 0; i < rank; i++)
        attn_fixed_text_append(sizes, sizeof sizes, &n, i > 0 ? " %zu," : "%zu,", shape[i]);
    if (rank > 1)
        sizes[n - 1] = '\0'; /* the comma after the only size makes it a tuple */
    text =
        (size_t)snprintf(out + PREFIX_SIZE, ATTN_NPY_HEADER_SIZE - PREFIX_SIZE,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, sizes);
    total = (PREFIX_SIZE + text + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    total = total < least ? least : total;
    assert(total <= ATTN_NPY_HEADER_SIZE);
    memset(out + PREFIX_SIZE + text, ' ', total - PREFIX_SIZE - text);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - PREFIX_SIZE) & 255);
    out[9] = (char)((total - PREFIX_SIZE) >> 8);
    return total;
}
