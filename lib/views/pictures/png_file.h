/*
 * png_file.h - PNG files with 8-bit RGB or with a palette of up to 256 colors. Rows are not
 * filtered: in a picture of cells most rows equal the one before, which compresses well without a
 * filter. Equal images give equal bytes.
 *
 *     struct attn_png_image image = {.width = 640, .height = 480, .fill_row = fill, .user = user};
 *     attn_png_write(&image, sink, &err);
 */
#pragma once

#include "base/buffer.h"
#include "base/sink.h"

#include <stdint.h>

/* Fills row Y: either red, green and blue of each pixel [3 * width], or indices of the palette
 * [width]. */
typedef void (*attn_png_row_fn)(void *user, size_t y, unsigned char *row);

/* A note in the file: a chunk tEXt, or iTXt if it isn't ASCII. */
struct attn_png_text {
    const char *name;  /* 1 to 79 printable ASCII characters, terminated */
    const char *value; /* [n] UTF-8 */
    size_t n;
};

struct attn_png_image {
    size_t width, height;    /* in pixels, 1 to 2^31 - 1 */
    const uint32_t *palette; /* [n_color] 0xRRGGBB, at most 256; NULL: the rows are RGB */
    size_t n_color;
    double density; /* pixels per point, for the chunk pHYs; 0: no such chunk */
    attn_png_row_fn fill_row;
    void *user;                        /* argument of fill_row */
    const struct attn_png_text *texts; /* [n_text] */
    size_t n_text;
};

/* Writes COLOR, 0xRRGGBB, to TO as three bytes. Returns the address after them. */
static inline unsigned char *attn_png_put_color(unsigned char *to, uint32_t color)
{
    *to++ = (unsigned char)(color >> 16);
    *to++ = (unsigned char)(color >> 8);
    *to++ = (unsigned char)color;
    return to;
}

/* Writes IMAGE to SINK. The caller checks SINK for write errors. Returns ATTN_NO_MEMORY if memory
 * runs out. */
enum attn_status attn_png_write(const struct attn_png_image *image, struct attn_sink *sink,
                                struct attn_error *err);

/* Appends the PNG file of IMAGE to OUT as base64, for a document that embeds it. */
enum attn_status attn_png_append_base64(const struct attn_png_image *image, struct attn_buffer *out,
                                        struct attn_error *err);

/* The allocator of zlib's streams (z_stream), so that their memory counts as the library's. */
void *attn_deflate_allocate(void *user, unsigned count, unsigned size);
void attn_deflate_release(void *user, void *block);
