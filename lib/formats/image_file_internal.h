/* image_file_internal.h - one function for each format of pictures that another library reads. */
#ifndef ATTN_FORMATS_IMAGE_FILE_INTERNAL_H
#define ATTN_FORMATS_IMAGE_FILE_INTERNAL_H

#include "base/file.h"
#include "formats/image_file.h"

#include <stdint.h>

/* Reads FILE, which begins with the signature of the format, into IMAGE, which is {0}. After a
 * failure it may own memory. */
enum attn_status attn_image_read_png(const struct attn_file *file, struct attn_image *image,
                                     struct attn_error *err);
enum attn_status attn_image_read_jpeg(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err);

/* As attn_image_read, of FILE, which is open and may be taken over (zeroed). */
enum attn_status attn_image_read_file(const char *path, struct attn_file *file,
                                      struct attn_image *image, struct attn_ndarray *values,
                                      struct attn_error *err);

/* Allocates IMAGE for WIDTH x HEIGHT pixels, the size in the header of the file PATH, unless it is
 * too large. */
enum attn_status attn_image_allocate(const char *path, uint64_t width, uint64_t height,
                                     struct attn_image *image, struct attn_error *err);

#endif
