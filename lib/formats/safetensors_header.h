/*
 * safetensors_header.h - one .safetensors file that is already open; inside the formats layer only.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_HEADER_H
#define ATTN_FORMATS_SAFETENSORS_HEADER_H

#include "base/buffer.h"
#include "base/file.h"
#include "formats/safetensors.h"

/*
 * Checks the header of FILE and that its tensors tile the data. *entries [*count], sorted by name,
 * belongs to the caller (attn_free); their names lie in NAMES, which the caller releases, and their
 * data in FILE. On failure NAMES may hold something.
 */
enum attn_status attn_safetensors_read_header(const struct attn_file *file,
                                              struct attn_buffer *names,
                                              struct attn_safetensors_entry **entries,
                                              size_t *count, struct attn_error *err);

/* A directory of FILE alone, which it takes over (closes it on failure too). */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_safetensors **out,
                                       struct attn_error *err);

/* Order by name: bytes as memcmp. For qsort over entries. */
int attn_safetensors_compare_names(const void *a, const void *b);

#endif
