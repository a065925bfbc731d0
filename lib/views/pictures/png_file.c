/* png_file.c - see png_file.h. Writes the chunks (ISO 15948) itself; zlib compresses. */
#include "pictures/png_file.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "formats/quoting.h"

#include <string.h>
#include <zlib.h>

enum {
    LEVEL = 1,           /* compression level; 6 takes twice the time for half of the bytes */
    OUT_SIZE = 64 << 10, /* bytes of an IDAT chunk */
    DEPTH = 8,           /* bits per sample */
    TYPE_RGB = 2,
    TYPE_PALETTE = 3,
};

static const double points_per_metre = 72 / 0.0254;

/* Appends NUMBER with its highest byte first. */
static void append_number(struct attn_buffer *out, uint32_t number)
{
    number = __builtin_bswap32(number);
    attn_buffer_append(out, &number, sizeof number);
}

static void write_number(struct attn_sink *sink, uint32_t number)
{
    number = __builtin_bswap32(number);
    attn_sink_write(sink, &number, sizeof number);
}

/* Writes a chunk; NAME has four letters. */
static void write_chunk(struct attn_sink *sink, const char *name, const void *data, size_t size)
{
    uLong sum = crc32(0, (const Bytef *)name, 4);

    write_number(sink, (uint32_t)size);
    attn_sink_write(sink, name, 4);
    attn_sink_write(sink, data, size);
    if (size > 0) /* crc32() with NULL would reset the sum */
        sum = crc32(sum, data, (uInt)size);
    write_number(sink, (uint32_t)sum);
}

static bool is_ascii(const struct attn_png_text *text)
{
    for (size_t i = 0; i < text->n; i++)
        if ((unsigned char)text->value[i] >= 0x80)
            return false;
    return true;
}

/* Writes all chunks before the pixels. */
static enum attn_status write_head(const struct attn_png_image *image, struct attn_sink *sink,
                                   struct attn_error *err)
{
    const char layout[] = {DEPTH, image->palette ? TYPE_PALETTE : TYPE_RGB, 0, 0, 0};
    const uint32_t density = (uint32_t)(image->density * points_per_metre + 0.5);
    struct attn_buffer data = {0};
    enum attn_status status;

    attn_sink_write(sink, "\x89PNG\r\n\x1a\n", 8);
    append_number(&data, (uint32_t)image->width);
    append_number(&data, (uint32_t)image->height);
    attn_buffer_append(&data, layout, sizeof layout);
    write_chunk(sink, "IHDR", data.data, data.size);
    if (image->palette) {
        data.size = 0;
        for (size_t i = 0; i < image->n_color; i++) {
            unsigned char rgb[3];

            attn_png_put_color(rgb, image->palette[i]);
            attn_buffer_append(&data, rgb, sizeof rgb);
        }
        write_chunk(sink, "PLTE", data.data, data.size);
    }
    if (image->density > 0) {
        data.size = 0;
        append_number(&data, density);
        append_number(&data, density);
        attn_buffer_append_char(&data, 1); /* the unit is the metre */
        write_chunk(sink, "pHYs", data.data, data.size);
    }
    for (size_t i = 0; i < image->n_text; i++) {
        const struct attn_png_text *text = &image->texts[i];

        data.size = 0;
        attn_buffer_append(&data, text->name, strlen(text->name) + 1);
        if (!is_ascii(text)) /* two flags, a language and a translated name, all empty */
            attn_buffer_append(&data, "\0\0\0", 4);
        attn_buffer_append(&data, text->value, text->n);
        write_chunk(sink, is_ascii(text) ? "tEXt" : "iTXt", data.data, data.size);
    }
    status = attn_buffer_check(&data, err);
    attn_buffer_release(&data);
    return status;
}

void *attn_deflate_allocate(void *user, unsigned count, unsigned size)
{
    (void)user;
    return attn_alloc(count, size, NULL);
}

void attn_deflate_release(void *user, void *block)
{
    (void)user;
    attn_free(block);
}

struct pixels {
    z_stream stream;
    unsigned char *row; /* owned; [1 + bytes of a row] begins with the filter type 0 */
    unsigned char *out; /* [OUT_SIZE] owns */
    struct attn_sink *sink;
};

static void write_out(struct pixels *pixels)
{
    const size_t size = OUT_SIZE - pixels->stream.avail_out;

    if (size > 0)
        write_chunk(pixels->sink, "IDAT", pixels->out, size);
    pixels->stream.next_out = pixels->out;
    pixels->stream.avail_out = OUT_SIZE;
}

static void write_pixels(struct pixels *pixels, const struct attn_png_image *image)
{
    const size_t size = 1 + image->width * (image->palette ? 1 : 3);

    pixels->stream.avail_out = OUT_SIZE;
    pixels->stream.next_out = pixels->out;
    for (size_t y = 0; y < image->height; y++) {
        image->fill_row(image->user, y, pixels->row + 1);
        pixels->stream.next_in = pixels->row;
        pixels->stream.avail_in = (uInt)size;
        while (pixels->stream.avail_in > 0) {
            if (pixels->stream.avail_out == 0)
                write_out(pixels);
            deflate(&pixels->stream, Z_NO_FLUSH);
        }
    }
    while (deflate(&pixels->stream, Z_FINISH) != Z_STREAM_END)
        write_out(pixels);
    write_out(pixels);
}

enum attn_status attn_png_write(const struct attn_png_image *image, struct attn_sink *sink,
                                struct attn_error *err)
{
    struct pixels pixels = {
        .stream = {.zalloc = attn_deflate_allocate, .zfree = attn_deflate_release}, .sink = sink};
    enum attn_status status = ATTN_OK;

    ATTN_TRY(write_head(image, sink, err));
    pixels.row = attn_alloc(1 + image->width * (image->palette ? 1 : 3), 1, err);
    pixels.out = attn_alloc_uninitialized(OUT_SIZE, 1, err);
    if (pixels.row && pixels.out && deflateInit(&pixels.stream, LEVEL) == Z_OK) {
        write_pixels(&pixels, image);
        deflateEnd(&pixels.stream);
        write_chunk(sink, "IEND", NULL, 0);
    } else {
        status = attn_error_no_memory(err);
    }
    attn_free(pixels.row);
    attn_free(pixels.out);
    return status;
}

static enum attn_status append_base64(const struct attn_png_image *image, struct attn_sink *sink,
                                      struct attn_buffer *out, struct attn_error *err)
{
    const void *bytes;
    size_t size;

    ATTN_TRY(attn_png_write(image, sink, err));
    ATTN_TRY(attn_sink_check(sink, err));
    bytes = attn_sink_bytes(sink, &size);
    attn_base64_append(out, bytes, size);
    return attn_buffer_check(out, err);
}

enum attn_status attn_png_append_base64(const struct attn_png_image *image, struct attn_buffer *out,
                                        struct attn_error *err)
{
    struct attn_sink *sink;
    enum attn_status status;

    ATTN_TRY(attn_sink_create_memory(&sink, err));
    status = append_base64(image, sink, out, err);
    attn_sink_free(sink);
    return status;
}
