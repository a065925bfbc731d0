/*
 * safetensors_writer.h - writes a .safetensors file of float32 tensors (safetensors.h has the
 * layout).
 */
#ifndef ATTN_FORMATS_SAFETENSORS_WRITER_H
#define ATTN_FORMATS_SAFETENSORS_WRITER_H

#include "base/sink.h"

#include <stddef.h>

enum { ATTN_WRITTEN_MAX_RANK = 3 };

/* One tensor. Borrows all of it. */
struct attn_written_tensor {
    const char *name; /* UTF-8 */
    int rank;
    size_t shape[ATTN_WRITTEN_MAX_RANK]; /* elements; their number was allocated, so it fits */
    const float *data;
};

/*
 * Writes the N TENSORS in the order given, their names all different. The header is padded with
 * spaces to a multiple of 8 bytes, so that a map has them aligned. Failures of SINK stick to it.
 */
enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err);

#endif
