/*
 * quantized.h - folders of safetensors that a program quantized: their weights are decoded to
 * float32 when a model is loaded, and look like any other tensors before that.
 *
 *     const struct attn_quantization *found = attn_quantization_of(attn_model_files(model));
 *     if (found)
 *         printf("%s, %zu bits\n", found->method, found->bits);
 */
#pragma once

#include "formats/tensor_files.h"
#include "model/model_internal.h"

attn_unpack_fn attn_quantized_unpack; /* the row of lib/parts.c */

/* How most quantized weights of a folder are stored. */
struct attn_quantization {
    const char *method; /* static; "MLX" */
    size_t bits;
    size_t group_size; /* 0: it has none, or they are of whole rows */
};

/* Returns how the weights of FILES are quantized, borrowed; NULL: they are not. */
const struct attn_quantization *attn_quantization_of(const struct attn_tensor_files *files);

enum { ATTN_QUANTIZATION_SIZE = 64 };

/* Writes that to TEXT, as "MLX, 4 bits, groups of 64", and returns TEXT; NULL: they are not. */
const char *attn_quantization_words(const struct attn_tensor_files *files,
                                    char text[ATTN_QUANTIZATION_SIZE]);

/* Where a quantized weight is stored. */
struct attn_quantized_place {
    size_t bits;
    size_t offset; /* of its codes in their file */
    size_t n_byte; /* of all its tensors */
};

/* Finds the place of ENTRY of FILES. False: it is stored as it is. */
bool attn_quantized_find(const struct attn_tensor_files *files,
                         const struct attn_tensor_entry *entry, struct attn_quantized_place *place);
