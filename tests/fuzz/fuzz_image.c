/*
 * fuzz_image.c - any bytes as a picture: PNG, JPEG, WebP or .npy.
 *
 * It is read or refused in one line. One that is read has as many pixels as it may, and can be
 * resized. A picture of more is refused before it is allocated.
 */
#include "base/memory.h"
#include "formats/tensor_files_internal.h"
#include "image/image_file_internal.h"
#include "tests/fuzz/fuzz.h"

static void resize(const struct attn_image *image)
{
    for (int filter = ATTN_IMAGE_LANCZOS; filter <= ATTN_IMAGE_BICUBIC; filter++) {
        struct attn_image resized = {0};
        struct attn_error err = {0};
        const enum attn_status status =
            attn_image_resize(image, 5, 7, (enum attn_image_filter)filter, &resized, &err);

        attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_UNSUPPORTED) | FUZZ_BIT(ATTN_NO_MEMORY));
        FUZZ_CHECK((status == ATTN_OK) == (resized.rgb != NULL));
        attn_image_release(&resized);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attn_file file = attn_fuzz_file("fuzz.png", data, size);
    struct attn_image image = {0};
    struct attn_ndarray values = {0};
    struct attn_error err = {0};
    const enum attn_status status = attn_image_read_file("fuzz.png", &file, &image, &values, &err);

    if (attn_image_orientation(data, size) != 1) /* also of what is no whole JPEG */
        FUZZ_CHECK(attn_image_orientation(data, size) <= 8);
    /* A library may not be installed, and may run out of memory. */
    attn_fuzz_check_error(status, &err,
                          FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED) |
                              FUZZ_BIT(ATTN_INVALID) | FUZZ_BIT(ATTN_IO) |
                              FUZZ_BIT(ATTN_NO_MEMORY));
    FUZZ_CHECK((status == ATTN_OK) == (image.rgb != NULL || values.data != NULL));
    FUZZ_CHECK(!image.rgb || !values.data);
    if (image.rgb) {
        FUZZ_CHECK(image.height > 0 && image.width > 0);
        FUZZ_CHECK(image.height <= ATTN_IMAGE_MAX_PIXELS / image.width);
        if (image.height * image.width < 1 << 16)
            resize(&image);
    }
    FUZZ_CHECK(!values.data || (values.rank == 3 && attn_ndarray_n_element(&values) > 0));
    attn_image_release(&image);
    attn_ndarray_release(&values);
    attn_file_release(&file);
    return 0;
}
