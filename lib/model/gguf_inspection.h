/*
 * gguf_inspection.h - what is said of a GGUF file beside its tensors: the name of its mixture of
 * types, its metadata, and what its converter changed.
 *
 *     puts(attn_gguf_mixture(gguf));                       // "Q4_K_M"
 *     attn_gguf_metadata_append(gguf, table, &err);        // llama.block_count, u32, 1, "22", true
 *     attn_gguf_conversion_append(gguf, &family->gguf, table, &err); // q and k, "read in ..."
 */
#ifndef ATTN_MODEL_GGUF_INSPECTION_H
#define ATTN_MODEL_GGUF_INSPECTION_H

#include "base/table.h"
#include "formats/gguf.h"
#include "model/family.h"

/*
 * The name that `general.file_type` stands for, static; NULL where it has none or does not agree
 * with the tensors. It agrees when more than half of the values in the matrices of the blocks have
 * the type that it is named after, or the one that stands in for that where rows are not whole
 * blocks.
 */
const char *attn_gguf_mixture(const struct attn_gguf *gguf);

/* Appends a row for each pair: key, type, n, value (missing of long arrays), is_known: it is read,
 * or it describes the file. */
enum attn_status attn_gguf_metadata_append(const struct attn_gguf *gguf, struct attn_table *table,
                                           struct attn_error *err);

/* Appends a row for each way in which GGUF, of a family with this FORM, differs from Hugging Face's
 * files: part, difference. */
enum attn_status attn_gguf_conversion_append(const struct attn_gguf *gguf,
                                             const struct attn_gguf_form *form,
                                             struct attn_table *table, struct attn_error *err);

#endif
