/*
 * safetensors.h - the tensor directory of a .safetensors file, or of the shards that an index
 * names.
 *
 *     struct attn_tensor_files *st;
 *     attn_safetensors_open_file("model.safetensors", ATTN_MAP, &st, &err);
 *     for (size_t i = 0; i < attn_tensor_files_count(st); i++)
 *         puts(attn_tensor_files_entry(st, i).name);
 *     attn_tensor_files_free(st);
 *
 * Layout of a file: u64 little-endian N, then N bytes of JSON {"NAME": {"dtype", "shape",
 * "data_offsets": [begin, end]}, ..., "__metadata__": {string: string}}, then the data, which the
 * tensors tile without holes or overlaps. Everything is checked before the directory exists: see
 * FORMAT.md of Hugging Face's safetensors (README, "Format"); stricter here: no tensor name twice.
 */
#pragma once

#include "base/sink.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens a file of safetensors or, by its first bytes, of PyTorch. */
enum attn_status attn_safetensors_open_file(const char *path, enum attn_load load,
                                            struct attn_tensor_files **out, struct attn_error *err);

/* Opens the first of these of SOURCE: `model.safetensors`, the shards of
 * `model.safetensors.index.json`, `pytorch_model.bin` and its index, the only .pt or .pth file. */
enum attn_status attn_safetensors_open(const struct attn_source *source, enum attn_load load,
                                       struct attn_tensor_files **out, struct attn_error *err);

/* A tensor that is to be written. Borrows all of it. */
struct attn_written_tensor {
    const char *name; /* UTF-8 */
    struct attn_tensor tensor;
};

/* A member of the metadata to be written. Borrows both texts. */
struct attn_written_fact {
    const char *key, *value;
};

/* Writes the header of a file with the N TENSORS, whose names must differ, and N_FACT members of
 * metadata besides "format". Spaces pad it to a multiple of 8 bytes, so that tensors are aligned
 * when the file is mapped. The data of the tensors must follow in the same order. SINK keeps a
 * failure to write. */
enum attn_status attn_safetensors_write_header(struct attn_sink *sink,
                                               const struct attn_written_fact *facts, size_t n_fact,
                                               const struct attn_written_tensor *tensors, size_t n,
                                               struct attn_error *err);

/* Writes a whole file with the N TENSORS in the order given, without metadata. */
enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err);
