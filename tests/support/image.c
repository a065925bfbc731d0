/* image.c - see image.h. */
#include "tests/support/image.h"

#include "base/memory.h"
#include "formats/tensor_files_internal.h"
#include "tests/support/assert.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

struct attn_image attn_image_make(const char *header, size_t n_header, size_t n_data)
{
    struct attn_image image = {.size = 8 + n_header + n_data};

    image.bytes = malloc(image.size);
    ck_assert_ptr_nonnull(image.bytes);
    for (int i = 0; i < 8; i++)
        image.bytes[i] = (unsigned char)((uint64_t)n_header >> 8 * i);
    memcpy(image.bytes + 8, header, n_header);
    for (size_t i = 0; i < n_data; i++)
        image.bytes[8 + n_header + i] = (unsigned char)i;
    return image;
}

enum attn_status attn_image_open_bytes(const unsigned char *bytes, size_t size,
                                       struct attn_tensor_files **st, struct attn_error *err)
{
    struct attn_file file = {.data = bytes,
                             .size = size,
                             .storage = ATTN_FILE_BORROWED,
                             .path = attn_strndup("m.safetensors", 13, NULL)};
    enum attn_status status;

    *err = (struct attn_error){0};
    *st = NULL;
    status = attn_safetensors_take(&file, st, err);
    ck_assert_ptr_null(file.path); /* taken over in any case */
    ck_assert_int_eq(status, err->status);
    ck_assert_int_eq(status == ATTN_OK, *st != NULL);
    return status;
}

enum attn_status attn_image_try(struct attn_image image, size_t size, struct attn_error *err)
{
    unsigned char *copy = malloc(size + (size == 0));
    struct attn_tensor_files *st;
    enum attn_status status;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, image.bytes, size);
    status = attn_image_open_bytes(copy, size, &st, err);
    attn_tensor_files_free(st);
    free(copy);
    return status;
}

enum attn_status attn_image_try_header(const char *header, size_t n_header, size_t n_data,
                                       struct attn_error *err)
{
    struct attn_image image = attn_image_make(header, n_header, n_data);
    enum attn_status status = attn_image_try(image, image.size, err);

    free(image.bytes);
    return status;
}
