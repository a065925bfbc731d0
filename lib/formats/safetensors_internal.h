/*
 * safetensors_internal.h - one .safetensors file that is already open. For this layer and tests.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_INTERNAL_H
#define ATTN_FORMATS_SAFETENSORS_INTERNAL_H

#include "base/file.h"
#include "formats/safetensors.h"
#include "formats/tensor_files_internal.h"

/*
 * Checks the header of FILE and that its tensors tile the data. *text is a copy of it and *records
 * [*count], sorted by name, point into it: checked values stay valid when the file is overwritten.
 * Both belong to the caller (attn_free).
 */
enum attn_status attn_safetensors_read_header(const struct attn_file *file, char **text,
                                              struct attn_tensor_record **records, size_t *count,
                                              struct attn_error *err);

/* A directory of FILE alone, which it takes over (closes it on failure too). */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_tensor_files **out,
                                       struct attn_error *err);

#endif
