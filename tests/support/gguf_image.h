/*
 * gguf_image.h - GGUF files made in memory for tests, right or wrong in one place.
 *
 *     struct attn_gguf_image image = ATTN_GGUF_IMAGE;
 *     attn_gguf_put_u32(&image, "llama.block_count", 2);
 *     attn_gguf_put_tensor(&image, "token_embd.weight", 0, 2, (size_t[]){4, 3}, 48);
 *     bytes = attn_gguf_image_make(&image);      // and image is empty again
 *     ...
 *     attn_buffer_release(&bytes);
 */
#pragma once

#include "base/buffer.h"
#include "gguf/gguf.h"

#include <stddef.h>
#include <stdint.h>

struct attn_gguf_image {
    struct attn_buffer pairs, tensors, data;
    uint64_t n_pair, n_tensor;
    size_t alignment;
    uint32_t version;
};

#define ATTN_GGUF_IMAGE ((struct attn_gguf_image){.alignment = 32, .version = 3})

/* A pair of any TYPE, a number, and the SIZE bytes of its value. */
void attn_gguf_put(struct attn_gguf_image *image, const char *key, uint32_t type, const void *value,
                   size_t size);
void attn_gguf_put_u32(struct attn_gguf_image *image, const char *key, uint32_t value);
void attn_gguf_put_f32(struct attn_gguf_image *image, const char *key, float value);
void attn_gguf_put_text(struct attn_gguf_image *image, const char *key, const char *value);

/* An array of N items of TYPE, whose SIZE bytes are at ITEMS. */
void attn_gguf_put_array(struct attn_gguf_image *image, const char *key, uint32_t type, uint64_t n,
                         const void *items, size_t size);
void attn_gguf_put_texts(struct attn_gguf_image *image, const char *key, const char *const *texts,
                         size_t n);

/* A tensor of TYPE, a number, with DIMS [n_dim], the contiguous one first, and N_BYTE bytes 0, 1, 2
 * ... of data where the format wants them. */
void attn_gguf_put_tensor(struct attn_gguf_image *image, const char *name, uint32_t type,
                          uint32_t n_dim, const size_t *dims, size_t n_byte);

/* The same with the shape, in our order, and the data of TENSOR. */
void attn_gguf_put_data(struct attn_gguf_image *image, const char *name, uint32_t type,
                        const struct attn_tensor *tensor);

/* The file; the image is empty after it. */
struct attn_buffer attn_gguf_image_make(struct attn_gguf_image *image);
