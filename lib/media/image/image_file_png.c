/*
 * image_file_png.c - see image_file_internal.h. The only file that uses libpng.
 *
 * libpng reports a failure to a function that must not return. Ours jumps back into decode(). So
 * decode() must not change local variables: all state is in `struct png_reading`, whose owner
 * releases it. libpng allocates memory itself, at most 8 MB for each chunk.
 */
#include "image/image_file_internal.h"

#include "base/memory.h"
#include "base/os/dynamic.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "image/image_functions.h"

#include <assert.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char library_name[] = "libpng16.so.16";

struct png_library {
    void *library;
    ATTN_PNG_MAP(ATTN_DYNAMIC_POINTER)
};

static const struct attn_image_library png_library = {
    "PNG", library_name, "libpng16-16",
    (const char *const[]){ATTN_PNG_MAP(ATTN_DYNAMIC_NAME) NULL}};

struct png_reading {
    struct png_library png;
    const struct attn_file *file;
    struct attn_image *image;
    struct attn_error *err;
    FILE *stream; /* owns, as the next two; reads the bytes of the file */
    png_struct *reader;
    png_info *info;
    uint32_t width, height;
    int depth;
    bool is_wide_gray; /* 16 bits of gray, which Pillow limits to 255 */
    jmp_buf jump;      /* where to go when libpng fails */
    char text[128];    /* the message of libpng; empty: no failure */
};

/* Returns our state of READER. Only libpng knows it in a callback, and the pointer to libpng's
 * function that returns it is itself in that state; so the function is looked up again. libpng is
 * in memory already. */
static struct png_reading *find_reading(const png_struct *reader)
{
    void *library = attn_dynamic_find(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *(*get_error_ptr)(const png_struct *png), *found;
    struct png_reading *reading;

    assert(library); /* libpng itself calls us */
    found = dlsym(library, "png_get_error_ptr");
    memcpy(&get_error_ptr, &found, sizeof found);
    reading = get_error_ptr(reader);
    dlclose(library);
    return reading;
}

static _Noreturn void on_error(png_struct *reader, const char *text)
{
    struct png_reading *reading = find_reading(reader);

    snprintf(reading->text, sizeof reading->text, "%s", text);
    longjmp(reading->jump, 1);
}

/* Ignores warnings: other programs show such pictures, too. */
static void on_warning(png_struct *reader, const char *text)
{
    (void)reader, (void)text;
}

/* Checks that the file is large enough for the rows of the picture: deflate makes at most 1032
 * bytes from one. */
static enum attn_status check_size(const struct png_reading *reading, int depth, int color)
{
    const uint64_t n_channel = color & ATTN_PNG_COLOR_MASK_PALETTE
                                   ? 1
                                   : (color & ATTN_PNG_COLOR_MASK_COLOR ? 3 : 1) +
                                         (color & ATTN_PNG_COLOR_MASK_ALPHA ? 1 : 0);
    const uint64_t row = (reading->width * n_channel * (unsigned)depth + 7) / 8 + 1;

    if (attn_saturated_mul(row, reading->height) / 1032 <= reading->file->size)
        return ATTN_OK;
    return attn_error_set(reading->err, ATTN_FORMAT,
                          "'%s' has a header of %u x %u pixels, more than its %zu bytes can hold",
                          attn_quote_string(reading->file->path).text, (unsigned)reading->width,
                          (unsigned)reading->height, reading->file->size);
}

/* Reads the header, and chooses the format of rows. */
static enum attn_status begin(struct png_reading *reading)
{
    const struct png_library *png = &reading->png;
    int depth = 0, color = 0;

    /* Turns off the limits of libpng; ours follow. */
    png->png_set_user_limits(reading->reader, INT32_MAX, INT32_MAX);
    png->png_init_io(reading->reader, reading->stream);
    png->png_read_info(reading->reader, reading->info);
    png->png_get_IHDR(reading->reader, reading->info, &reading->width, &reading->height, &depth,
                      &color, NULL, NULL, NULL);
    ATTN_TRY(check_size(reading, depth, color));
    reading->depth = depth;
    reading->is_wide_gray = depth == 16 && color == 0;
    if (color & ATTN_PNG_COLOR_MASK_PALETTE)
        png->png_set_palette_to_rgb(reading->reader);
    else if (depth < 8)
        png->png_set_expand_gray_1_2_4_to_8(reading->reader);
    if (depth == 16 && !reading->is_wide_gray)
        png->png_set_strip_16(reading->reader);
    if (!(color & ATTN_PNG_COLOR_MASK_COLOR) && !reading->is_wide_gray)
        png->png_set_gray_to_rgb(reading->reader);
    return ATTN_OK;
}

/* Converts a row of 16-bit gray to RGB in place. Goes from the end, because the row grows. */
static void spread_gray(unsigned char *row, size_t width)
{
    for (size_t x = width; x-- > 0;) {
        const unsigned char gray = row[2 * x] > 0 ? 255 : row[2 * x + 1];

        row[3 * x] = row[3 * x + 1] = row[3 * x + 2] = gray;
    }
}

/* Treats the pixels of the color in the chunk tRNS, whose numbers have two bytes each, as
 * transparent. Trap: Pillow compares the low byte of each number with 8 bits of a pixel. */
static void take_key(const struct png_reading *reading)
{
    struct attn_image *image = reading->image;
    const unsigned char *key;
    size_t n_byte;

    if (!attn_image_find_chunk(reading->file->data, reading->file->size, "tRNS", &key, &n_byte) ||
        n_byte < 2)
        return;
    for (size_t i = 0; i < image->height * image->width; i++) {
        unsigned char *rgb = image->rgb + 3 * i;
        const unsigned scale = reading->depth == 1 ? 255 : 1;

        if (n_byte < 6 ? rgb[0] != (key[1] * scale & 0xff)
                       : rgb[0] != key[1] || rgb[1] != key[3] || rgb[2] != key[5])
            continue;
        image->is_transparent = true;
        if (image->lays_on_white)
            memset(rgb, 255, 3);
    }
}

/* Allocates the picture, and reads it. */
static enum attn_status read_rows(struct png_reading *reading)
{
    const struct png_library *png = &reading->png;
    struct attn_image *image = reading->image;
    const int n_pass = png->png_set_interlace_handling(reading->reader);
    const size_t n_wide = reading->is_wide_gray ? 1 : 0; /* one byte less for each pixel */
    size_t n_byte, stride;

    png->png_read_update_info(reading->reader, reading->info);
    n_byte = png->png_get_rowbytes(reading->reader, reading->info) / reading->width + n_wide;
    if (n_byte < 3 || n_byte > 4)
        return attn_error_set(reading->err, ATTN_UNSUPPORTED,
                              "'%s' is a PNG whose rows are not understood",
                              attn_quote_string(reading->file->path).text);
    ATTN_TRY(attn_image_allocate(reading->file->path, reading->width, reading->height, n_byte,
                                 image, reading->err));
    stride = image->width * n_byte;
    for (int pass = 0; pass < n_pass; pass++)
        for (size_t y = 0; y < image->height; y++)
            png->png_read_row(reading->reader, image->rgb + y * stride, NULL);
    png->png_read_end(reading->reader, NULL);
    for (size_t y = 0; reading->is_wide_gray && y < image->height; y++)
        spread_gray(image->rgb + y * stride, image->width);
    if (n_byte == 4)
        attn_image_take_alpha(image);
    else
        take_key(reading);
    return ATTN_OK;
}

/* Stores in ERR the failure that libpng reported. */
static enum attn_status report(const struct png_reading *reading)
{
    if (strstr(reading->text, "emory"))
        return attn_error_no_memory(reading->err);
    return attn_error_set(reading->err, ATTN_FORMAT, "'%s' is no whole PNG: %s",
                          attn_quote_string(reading->file->path).text,
                          strcmp(reading->text, "Read Error") == 0
                              ? "it ends too early"
                              : attn_quote_string(reading->text).text);
}

/* Reads the whole picture. If libpng fails, setjmp returns again, with a value that is not 0. */
static enum attn_status decode(struct png_reading *reading)
{
    const struct png_library *png = &reading->png;

    if (setjmp(reading->jump) != 0)
        return report(reading);
    reading->reader =
        png->png_create_read_struct(png->png_get_libpng_ver(NULL), reading, on_error, on_warning);
    if (reading->reader)
        reading->info = png->png_create_info_struct(reading->reader);
    if (!reading->info)
        return attn_error_no_memory(reading->err);
    ATTN_TRY(begin(reading));
    return read_rows(reading);
}

enum attn_status attn_image_read_png(const struct attn_file *file, struct attn_image *image,
                                     struct attn_error *err)
{
    struct png_reading *reading;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(reading, 1, err));
    reading->file = file;
    reading->image = image;
    reading->err = err;
    /* The cast is safe: the stream is only read. */
    reading->stream = fmemopen((void *)(uintptr_t)file->data, file->size, "rb");
    status = reading->stream ? attn_image_library_open(&png_library, file->path, &reading->png, err)
                             : attn_error_no_memory(err);
    ATTN_THEN(status, decode(reading));
    if (reading->reader)
        reading->png.png_destroy_read_struct(&reading->reader, &reading->info, NULL);
    if (reading->png.library)
        dlclose(reading->png.library);
    if (reading->stream)
        fclose(reading->stream);
    attn_free(reading);
    return status;
}
