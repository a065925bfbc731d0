/*
 * safetensors_writer.h - writes a .safetensors file (safetensors.h has the layout): whole, or its
 * beginning, after which the data of the tensors follows in their order.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_WRITER_H
#define ATTN_FORMATS_SAFETENSORS_WRITER_H

#include "base/dtype.h"
#include "base/sink.h"

#include <stddef.h>

/* One tensor. Borrows all of it. */
struct attn_written_tensor {
    const char *name; /* UTF-8 */
    struct attn_tensor tensor;
};

/* A member of the metadata. Borrows both texts. */
struct attn_written_fact {
    const char *key, *value;
};

/*
 * Writes what comes before the data of the N TENSORS, whose names are all different: the header,
 * with N_FACT members of metadata beside "format". It is padded with spaces to a multiple of 8
 * bytes, so that a map has the tensors aligned. Failures of SINK stick to it.
 */
enum attn_status attn_safetensors_write_header(struct attn_sink *sink,
                                               const struct attn_written_fact *facts, size_t n_fact,
                                               const struct attn_written_tensor *tensors, size_t n,
                                               struct attn_error *err);

/* Writes a file of the N TENSORS in the order given, without metadata. */
enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err);

#endif
