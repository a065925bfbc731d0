/* gguf_image.c - see gguf_image.h. */
#include "tests/support/gguf_image.h"

#include "base/dtype_internal.h"
#include "tests/support/assert.h"

#include <string.h>

static void append_u32(struct attn_buffer *buffer, uint32_t value)
{
    attn_buffer_append(buffer, &value, sizeof value);
}

static void append_u64(struct attn_buffer *buffer, uint64_t value)
{
    attn_buffer_append(buffer, &value, sizeof value);
}

static void append_text(struct attn_buffer *buffer, const char *text)
{
    append_u64(buffer, strlen(text));
    attn_buffer_append_string(buffer, text);
}

void attn_gguf_put(struct attn_gguf_image *image, const char *key, uint32_t type, const void *value,
                   size_t size)
{
    append_text(&image->pairs, key);
    append_u32(&image->pairs, type);
    attn_buffer_append(&image->pairs, value, size);
    image->n_pair++;
}

void attn_gguf_put_u32(struct attn_gguf_image *image, const char *key, uint32_t value)
{
    attn_gguf_put(image, key, ATTN_GGUF_U32, &value, sizeof value);
}

void attn_gguf_put_f32(struct attn_gguf_image *image, const char *key, float value)
{
    attn_gguf_put(image, key, ATTN_GGUF_F32, &value, sizeof value);
}

void attn_gguf_put_text(struct attn_gguf_image *image, const char *key, const char *value)
{
    attn_gguf_put(image, key, ATTN_GGUF_STRING, "", 0);
    append_text(&image->pairs, value);
}

void attn_gguf_put_array(struct attn_gguf_image *image, const char *key, uint32_t type, uint64_t n,
                         const void *items, size_t size)
{
    attn_gguf_put(image, key, ATTN_GGUF_ARRAY, &type, sizeof type);
    append_u64(&image->pairs, n);
    attn_buffer_append(&image->pairs, items, size);
}

void attn_gguf_put_texts(struct attn_gguf_image *image, const char *key, const char *const *texts,
                         size_t n)
{
    attn_gguf_put_array(image, key, ATTN_GGUF_STRING, n, "", 0);
    for (size_t i = 0; i < n; i++)
        append_text(&image->pairs, texts[i]);
}

/* Zeros up to a multiple of the alignment. */
static void align(struct attn_buffer *buffer, size_t alignment)
{
    while (buffer->size % alignment != 0)
        attn_buffer_append_char(buffer, '\0');
}

/* An entry whose data come next. */
static void put_entry(struct attn_gguf_image *image, const char *name, uint32_t type,
                      uint32_t n_dim, const size_t *dims)
{
    append_text(&image->tensors, name);
    append_u32(&image->tensors, n_dim);
    for (uint32_t i = 0; i < n_dim; i++)
        append_u64(&image->tensors, dims[i]);
    append_u32(&image->tensors, type);
    align(&image->data, image->alignment);
    append_u64(&image->tensors, image->data.size);
    image->n_tensor++;
}

void attn_gguf_put_tensor(struct attn_gguf_image *image, const char *name, uint32_t type,
                          uint32_t n_dim, const size_t *dims, size_t n_byte)
{
    put_entry(image, name, type, n_dim, dims);
    for (size_t i = 0; i < n_byte; i++)
        attn_buffer_append_char(&image->data, (char)i);
}

void attn_gguf_put_data(struct attn_gguf_image *image, const char *name, uint32_t type,
                        const struct attn_tensor *tensor)
{
    size_t dims[4] = {0};

    ck_assert_int_le(tensor->rank, 4);
    for (int i = 0; i < tensor->rank; i++)
        dims[i] = tensor->shape[tensor->rank - 1 - i];
    put_entry(image, name, type, (uint32_t)tensor->rank, dims);
    attn_buffer_append(&image->data, tensor->data, attn_tensor_n_byte(tensor));
}

struct attn_buffer attn_gguf_image_make(struct attn_gguf_image *image)
{
    struct attn_buffer bytes = {0};

    attn_buffer_append_string(&bytes, "GGUF");
    append_u32(&bytes, image->version);
    append_u64(&bytes, image->n_tensor);
    append_u64(&bytes, image->n_pair);
    attn_buffer_append(&bytes, image->pairs.data, image->pairs.size);
    attn_buffer_append(&bytes, image->tensors.data, image->tensors.size);
    align(&bytes, image->alignment);
    attn_buffer_append(&bytes, image->data.data, image->data.size);
    ck_assert(!bytes.has_failed);
    attn_buffer_release(&image->pairs);
    attn_buffer_release(&image->tensors);
    attn_buffer_release(&image->data);
    *image = ATTN_GGUF_IMAGE;
    return bytes;
}
