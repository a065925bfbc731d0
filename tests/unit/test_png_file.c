/* test_png_file.c - PNG files: pixels, texts and sums, by a reader of the test's own. */
#include "pictures/png_file.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"

#include <string.h>

enum { WIDTH = 301, HEIGHT = 97 };

static const uint32_t palette[] = {0x000000, 0x102030, 0xfffefd, 0x7f0080, 0xc8c8c8};

static uint32_t rgb_at(size_t x, size_t y)
{
    return (uint32_t)((x * 2654435761U) ^ (y * 40503U)) & 0xffffff;
}

/* An attn_png_row_fn. */
static void fill_rgb(void *user, size_t y, unsigned char *row)
{
    (void)user;
    for (size_t x = 0; x < WIDTH; x++) {
        const uint32_t color = rgb_at(x, y);

        *row++ = (unsigned char)(color >> 16);
        *row++ = (unsigned char)(color >> 8);
        *row++ = (unsigned char)color;
    }
}

/* An attn_png_row_fn. */
static void fill_indices(void *user, size_t y, unsigned char *row)
{
    (void)user;
    for (size_t x = 0; x < WIDTH; x++)
        row[x] = (unsigned char)((x * y + x) % 5);
}

/* An attn_png_row_fn. */
static void fill_one(void *user, size_t y, unsigned char *row)
{
    (void)user;
    (void)y;
    *row = 0;
}

static const struct attn_png_text texts[] = {{"Title", "a title", 7}, {"Text", "caf\xc3\xa9", 5}};

static const struct attn_png_image rgb_image = {.width = WIDTH,
                                                .height = HEIGHT,
                                                .density = 1.5,
                                                .fill_row = fill_rgb,
                                                .texts = texts,
                                                .n_text = 2};

/* Writes IMAGE and reads it back. */
static void pass(const struct attn_png_image *image, struct attn_picture *picture)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    const void *bytes;
    size_t size;

    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_int_eq(attn_png_write(image, sink, &err), ATTN_OK);
    bytes = attn_sink_bytes(sink, &size);
    attn_picture_read(bytes, size, picture);
    attn_sink_free(sink);
    ck_assert_uint_eq(picture->width, image->width);
    ck_assert_uint_eq(picture->height, image->height);
}

START_TEST(every_pixel_comes_back)
{
    struct attn_picture picture;

    pass(&rgb_image, &picture);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            ck_assert_uint_eq(picture.pixels[y * WIDTH + x], rgb_at(x, y));
    attn_picture_release(&picture);
}
END_TEST

START_TEST(indices_stand_for_colors)
{
    struct attn_png_image image = rgb_image;
    struct attn_picture picture;

    image.palette = palette;
    image.n_color = 5;
    image.fill_row = fill_indices;
    pass(&image, &picture);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            ck_assert_uint_eq(picture.pixels[y * WIDTH + x], palette[(x * y + x) % 5]);
    attn_picture_release(&picture);
}
END_TEST

/* Latin letters go as tEXt, which is Latin-1 and not UTF-8; all else as iTXt. */
START_TEST(texts_come_back_and_no_date_is_written)
{
    struct attn_picture picture;

    pass(&rgb_image, &picture);
    ck_assert_str_eq(picture.texts, "Title=a title\nText=caf\xc3\xa9\n");
    ck_assert_ptr_nonnull(strstr(picture.chunks, "IHDR pHYs tEXt iTXt IDAT "));
    ck_assert_ptr_null(strstr(picture.chunks, "tIME"));
    attn_picture_release(&picture);
}
END_TEST

START_TEST(one_pixel_is_a_picture)
{
    const struct attn_png_image image = {
        .width = 1, .height = 1, .palette = palette + 3, .n_color = 1, .fill_row = fill_one};
    struct attn_picture picture;

    pass(&image, &picture);
    ck_assert_uint_eq(picture.pixels[0], palette[3]);
    ck_assert_str_eq(picture.chunks, "IHDR PLTE IDAT IEND ");
    attn_picture_release(&picture);
}
END_TEST

ATTN_SUITE("png_file", every_pixel_comes_back, indices_stand_for_colors,
           texts_come_back_and_no_date_is_written, one_pixel_is_a_picture)
