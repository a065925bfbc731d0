/* npy_image.c - see npy_image.h. */
#include "tests/support/npy_image.h"

#include "base/memory.h"
#include "formats/npy.h"
#include "tests/support/assert.h"
#include "tool.h"

#include <string.h>

struct attn_npy_image attn_npy_image_make(int version, const char *text, size_t n_text,
                                          const void *data, size_t n_data)
{
    struct attn_npy_image image = {.bytes = "\x93NUMPY", .size = 8};
    const size_t n_length = version == 1 ? 2 : 4;

    ck_assert_uint_le(8 + n_length + n_text + n_data, sizeof image.bytes);
    image.bytes[6] = (unsigned char)version;
    for (size_t i = 0; i < n_length; i++)
        image.bytes[image.size++] = (unsigned char)(n_text >> 8 * i);
    memcpy(image.bytes + image.size, text, n_text);
    image.size += n_text;
    image.n_header = image.size;
    if (n_data > 0)
        memcpy(image.bytes + image.size, data, n_data);
    image.size += n_data;
    return image;
}

struct attn_npy_image attn_npy_image_zeros(const char *text, size_t n_data)
{
    static const unsigned char zeros[ATTN_NPY_IMAGE_MAX];

    return attn_npy_image_make(1, text, strlen(text), zeros, n_data);
}

enum attn_status attn_npy_image_open(const struct attn_npy_image *image, size_t size,
                                     struct attn_npy_file **npy, struct attn_error *err)
{
    struct attn_file file = {.data = attn_alloc(size, 1, NULL),
                             .size = size,
                             .storage = ATTN_FILE_ALLOCATED,
                             .path = attn_strndup("x.npy", 5, NULL)};
    enum attn_status status;

    ck_assert(file.data != NULL && file.path != NULL);
    memcpy((void *)(uintptr_t)file.data, image->bytes, size);
    *err = (struct attn_error){0};
    *npy = NULL;
    status = attn_npy_take(&file, ATTN_NPY_NUMBERS, npy, err);
    ck_assert_ptr_null(file.path); /* taken over in any case */
    ck_assert_int_eq(status, err->status);
    ck_assert_int_eq(status == ATTN_OK, *npy != NULL);
    return status;
}

enum attn_status attn_npy_image_try(const struct attn_npy_image *image, size_t size,
                                    struct attn_error *err)
{
    struct attn_npy_file *npy;
    enum attn_status status = attn_npy_image_open(image, size, &npy, err);

    attn_npy_free(npy);
    return status;
}
