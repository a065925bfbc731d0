/*
 * png_file.h - PNG files of 8-bit RGB, or of up to 256 colors. Rows have no filter: those of a
 * picture of cells are mostly equal, which deflate finds by itself. Equal images give equal bytes.
 *
 *     struct attn_png_image image = {.width = 640, .height = 480, .fill_row = fill, .user = user};
 *     attn_png_write(&image, sink, &err);
 */
#ifndef ATTN_ENCODE_PNG_FILE_H
#define ATTN_ENCODE_PNG_FILE_H

#include "base/buffer.h"
#include "base/sink.h"

#include <stdint.h>

/* Fills row Y: red, green and blue of each pixel [3 * width], or indices of the palette [width]. */
typedef void (*attn_png_row_fn)(void *user, size_t y, unsigned char *row);

/* A note, in a chunk tEXt, or iTXt beyond ASCII. */
struct attn_png_text {
    const char *name;  /* 1 to 79 printable characters of ASCII, terminated */
    const char *value; /* [n] UTF-8 */
    size_t n;
};

struct attn_png_image {
    size_t width, height;    /* pixels, 1 to 2^31 - 1 */
    const uint32_t *palette; /* [n_color] 0xRRGGBB, at most 256; NULL: RGB */
    size_t n_color;
    double density; /* pixels a point, for pHYs; 0: not said */
    attn_png_row_fn fill_row;
    void *user;                        /* for fill_row */
    const struct attn_png_text *texts; /* [n_text] */
    size_t n_text;
};

/* Puts COLOR, 0xRRGGBB, at TO as three bytes; returns where the next goes. */
static inline unsigned char *attn_png_put_color(unsigned char *to, uint32_t color)
{
    *to++ = (unsigned char)(color >> 16);
    *to++ = (unsigned char)(color >> 8);
    *to++ = (unsigned char)color;
    return to;
}

/* Writes IMAGE to SINK; the caller checks SINK for errors. May fail with ATTN_NO_MEMORY. */
enum attn_status attn_png_write(const struct attn_png_image *image, struct attn_sink *sink,
                                struct attn_error *err);

/* Appends the file of IMAGE to OUT as base64, for a document that holds it. */
enum attn_status attn_png_append_base64(const struct attn_png_image *image, struct attn_buffer *out,
                                        struct attn_error *err);

#endif
