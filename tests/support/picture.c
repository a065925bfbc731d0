/* picture.c - see picture.h. */
#include "tests/support/picture.h"

#include "figures/figure_internal.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* What is read of a file so far. */
struct reading {
    struct attn_picture *picture;
    unsigned char type;
    const unsigned char *palette; /* [3 * n_color] */
    size_t n_color;
    unsigned char *packed; /* all IDAT chunks */
    size_t n_packed;
};

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* CRC-32 bit by bit. */
static uint32_t sum_of(const unsigned char *bytes, size_t n)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
}

static void append(char **text, const char *more, size_t n)
{
    size_t size = *text ? strlen(*text) : 0;

    *text = realloc(*text, size + n + 1);
    memcpy(*text + size, more, n);
    (*text)[size + n] = '\0';
}

static void take_text(struct attn_picture *picture, const char *data, size_t n, size_t n_between)
{
    size_t n_name = strnlen(data, n);

    ck_assert_uint_le(n_name + n_between, n);
    append(&picture->texts, data, n_name);
    append(&picture->texts, "=", 1);
    append(&picture->texts, data + n_name + n_between, n - n_name - n_between);
    append(&picture->texts, "\n", 1);
}

static void take_chunk(struct reading *reading, const char *name, const unsigned char *data,
                       size_t n)
{
    append(&reading->picture->chunks, name, 4);
    append(&reading->picture->chunks, " ", 1);
    if (strncmp(name, "IHDR", 4) == 0) {
        ck_assert_uint_eq(n, 13);
        reading->picture->width = number_at(data);
        reading->picture->height = number_at(data + 4);
        ck_assert_uint_eq(data[8], 8);
        reading->type = data[9];
    } else if (strncmp(name, "PLTE", 4) == 0) {
        reading->palette = data;
        reading->n_color = n / 3;
    } else if (strncmp(name, "tEXt", 4) == 0) {
        take_text(reading->picture, (const char *)data, n, 1);
    } else if (strncmp(name, "iTXt", 4) == 0) {
        take_text(reading->picture, (const char *)data, n, 5);
    } else if (strncmp(name, "IDAT", 4) == 0) {
        memcpy(reading->packed + reading->n_packed, data, n);
        reading->n_packed += n;
    }
}

static void read_chunks(struct reading *reading, const unsigned char *bytes, size_t size)
{
    size_t at = 8;

    ck_assert_uint_gt(size, at);
    ck_assert_mem_eq(bytes, "\x89PNG\r\n\x1a\n", 8);
    while (at < size) {
        size_t n;

        ck_assert_uint_le(12, size - at);
        n = number_at(bytes + at);
        ck_assert_uint_le(n, size - at - 12);
        ck_assert_uint_eq(number_at(bytes + at + 8 + n), sum_of(bytes + at + 4, n + 4));
        take_chunk(reading, (const char *)bytes + at + 4, bytes + at + 8, n);
        at += n + 12;
    }
}

static uint32_t color_at(const struct reading *reading, const unsigned char *row, size_t x)
{
    const unsigned char *rgb = row + 3 * x;

    if (reading->type == 3) {
        ck_assert_uint_lt(row[x], reading->n_color);
        rgb = reading->palette + 3 * (size_t)row[x];
    }
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

static void unpack(struct reading *reading)
{
    struct attn_picture *picture = reading->picture;
    const size_t n_byte = 1 + picture->width * (reading->type == 3 ? 1 : 3);
    uLongf size = picture->height * n_byte;
    unsigned char *rows = malloc(size);

    ck_assert_int_eq(uncompress(rows, &size, reading->packed, reading->n_packed), Z_OK);
    ck_assert_uint_eq(size, picture->height * n_byte);
    picture->pixels = malloc(picture->height * picture->width * sizeof *picture->pixels);
    for (size_t y = 0; y < picture->height; y++) {
        ck_assert_int_eq(rows[y * n_byte], 0);
        for (size_t x = 0; x < picture->width; x++)
            picture->pixels[y * picture->width + x] = color_at(reading, rows + y * n_byte + 1, x);
    }
    free(rows);
}

void attn_picture_read(const void *bytes, size_t size, struct attn_picture *picture)
{
    struct reading reading = {.picture = picture, .packed = malloc(size)};

    *picture = (struct attn_picture){0};
    append(&picture->texts, "", 0);
    read_chunks(&reading, bytes, size);
    ck_assert(strncmp(picture->chunks, "IHDR ", 5) == 0);
    ck_assert_str_eq(picture->chunks + strlen(picture->chunks) - 5, "IEND ");
    ck_assert(reading.type == 2 || (reading.type == 3 && reading.palette));
    unpack(&reading);
    free(reading.packed);
}

void attn_picture_release(struct attn_picture *picture)
{
    free(picture->pixels);
    free(picture->texts);
    free(picture->chunks);
    *picture = (struct attn_picture){0};
}

/* --- Colors ---------------------------------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

/* A linear component of sRGB as 0..255. */
static uint32_t encoded(double c)
{
    c = fmin(1, fmax(0, c));
    return (uint32_t)lround(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055));
}

/* Ottosson 2020, https://bottosson.github.io/posts/oklab */
static uint32_t blues_at(double t)
{
    const double lightness = 1 - 0.74 * t, chroma = 0.155 * sin(pi * t);
    const double hue = (250 + 15 * t) * pi / 180, a = chroma * cos(hue), b = chroma * sin(hue);
    const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);

    return encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16 |
           encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8 |
           encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

static int distance(uint32_t a, uint32_t b)
{
    return abs((int)(a >> 16) - (int)(b >> 16)) + abs((int)(a >> 8 & 255) - (int)(b >> 8 & 255)) +
           abs((int)(a & 255) - (int)(b & 255));
}

/* Roundings of other mathematics may differ by one. */
int attn_blues_level(uint32_t color)
{
    for (int level = 0; level < 256; level++)
        if (distance(blues_at(level / 255.0), color) == 0)
            return level;
    for (int level = 0; level < 256; level++)
        if (distance(blues_at(level / 255.0), color) <= 1)
            return level;
    return -1;
}

void attn_blues_assert(const char *what, uint32_t color, double weight)
{
    const int level = attn_blues_level(color);

    ck_assert_msg(level >= 0, "%s: #%06x is no color of the map", what, color);
    ck_assert_msg(fabs(level - 255 * sqrt(weight)) <= 1, "%s: #%06x is level %d, %g is %g", what,
                  color, level, weight, 255 * sqrt(weight));
}

bool attn_can_draw(void)
{
    struct attn_error err = {0};

    if (attn_figure_cairo_check("a figure", &err) == ATTN_OK)
        return true;
    ck_assert_ptr_nonnull(strstr(err.message, "which is not installed"));
    attn_skip_test("PNG and PDF: there is no libpangocairo ('make deps-draw' installs it)");
    return false;
}

bool attn_is_drawn(const struct attn_format *format)
{
    return strcmp(format->name, "png") == 0 || strcmp(format->name, "pdf") == 0;
}
