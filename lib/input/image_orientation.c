/* image_orientation.c - see image_file_internal.h. Files may be malicious: each read is checked
 * against the bytes that are left, and both loops only go forward. */
#include "input/image_file_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { AS_IT_IS = 1, MIRRORED_AND_TURNED = 5, LAST = 8 };

enum {
    MARKER_OF_SCAN = 0xda, /* the pixels follow */
    MARKER_OF_END = 0xd9,
    MARKER_OF_EXIF = 0xe1, /* APP1 */
    TAG = 0x112,           /* the tag "Orientation" */
    ENTRY_SIZE = 12,
    TYPE_SHORT = 3,
    TYPE_LONG = 4,
};

static const char exif[] = "Exif\0"; /* ends with two NUL, of which C adds one */

/* The bytes that were not read yet. */
struct bytes {
    const unsigned char *data;
    size_t size;
    bool is_little; /* numbers begin with their lowest byte */
};

/* Returns the number of N bytes at OFFSET, which must be inside BYTES. */
static uint32_t number_at(const struct bytes *bytes, size_t offset, size_t n)
{
    uint32_t number = 0;

    for (size_t i = 0; i < n; i++)
        number = number << 8 | bytes->data[offset + (bytes->is_little ? n - 1 - i : i)];
    return number;
}

/* Returns the orientation that ENTRY of a TIFF directory has. */
static int read_entry(const struct bytes *entry)
{
    const uint32_t type = number_at(entry, 2, 2), count = number_at(entry, 4, 4);
    uint32_t value = 0;

    if (count == 1 && (type == TYPE_SHORT || type == TYPE_LONG))
        value = number_at(entry, 8, type == TYPE_SHORT ? 2 : 4);
    return value >= AS_IT_IS && value <= LAST ? (int)value : AS_IT_IS;
}

/* Returns the orientation of a TIFF: byte order, the number 42, and the offset of the first
 * directory, which begins with the number of its entries. */
static int read_tiff(struct bytes tiff)
{
    size_t at, n;

    if (tiff.size < 8 || tiff.data[0] != tiff.data[1] ||
        (tiff.data[0] != 'I' && tiff.data[0] != 'M') || tiff.data[2] + tiff.data[3] != 42 ||
        tiff.data[2] * tiff.data[3] != 0) /* Pillow accepts 42 in either byte order */
        return AS_IT_IS;
    tiff.is_little = tiff.data[0] == 'I';
    at = number_at(&tiff, 4, 4);
    if (at > tiff.size - 2)
        return AS_IT_IS;
    n = number_at(&tiff, at, 2);
    for (at += 2; n > 0 && tiff.size - at >= ENTRY_SIZE; at += ENTRY_SIZE, n--) {
        const struct bytes entry = {tiff.data + at, ENTRY_SIZE, tiff.is_little};

        if (number_at(&entry, 0, 2) == TAG)
            return read_entry(&entry);
    }
    return AS_IT_IS;
}

/* Returns the orientation of a WebP: after 12 bytes come chunks of a name, a size and an even
 * number of bytes. */
static int read_chunks(struct bytes left)
{
    left.is_little = true;
    left.data += 12, left.size -= 12;
    while (left.size >= 8) {
        const size_t n = number_at(&left, 4, 4);

        if (n > left.size - 8)
            break;
        if (memcmp(left.data, "EXIF", 4) == 0) {
            const size_t skip =
                n >= sizeof exif && memcmp(left.data + 8, exif, sizeof exif) == 0 ? sizeof exif : 0;

            return read_tiff((struct bytes){left.data + 8 + skip, n - skip, false});
        }
        if (n + n % 2 > left.size - 8)
            break;
        left.data += 8 + n + n % 2, left.size -= 8 + n + n % 2;
    }
    return AS_IT_IS;
}

int attn_image_orientation(const unsigned char *data, size_t size)
{
    struct bytes left = {data, size, false};

    if (size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0)
        return read_chunks(left);

    if (size < 2)
        return AS_IT_IS;
    left.data += 2, left.size -= 2; /* the marker "start of image" */
    while (left.size >= 4 && left.data[0] == 0xff) {
        const unsigned marker = left.data[1];
        const size_t n = number_at(&left, 2, 2); /* includes these two bytes */

        if (marker == 0xff) { /* a marker may begin with several 0xff */
            left.data++, left.size--;
            continue;
        }
        if (marker == MARKER_OF_SCAN || marker == MARKER_OF_END || n < 2 || n > left.size - 2)
            break;
        if (marker == MARKER_OF_EXIF && n >= 2 + sizeof exif &&
            memcmp(left.data + 4, exif, sizeof exif) == 0)
            return read_tiff(
                (struct bytes){left.data + 4 + sizeof exif, n - 2 - sizeof exif, false});
        left.data += 2 + n, left.size -= 2 + n;
    }
    return AS_IT_IS;
}

/* Returns the pixel of IMAGE that goes to row Y and column X of the result. */
static const unsigned char *pixel_of(const struct attn_image *image, int orientation, size_t y,
                                     size_t x)
{
    const bool is_turned = orientation >= MIRRORED_AND_TURNED;
    size_t row = is_turned ? x : y, column = is_turned ? y : x;

    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        row = image->height - 1 - row;
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = image->width - 1 - column;
    return image->rgb + (row * image->width + column) * 3;
}

enum attn_status attn_image_turn(struct attn_image *image, int orientation, struct attn_error *err)
{
    const bool is_turned = orientation >= MIRRORED_AND_TURNED;
    struct attn_image made = {.height = is_turned ? image->width : image->height,
                              .width = is_turned ? image->height : image->width,
                              .permit = image->permit};

    if (orientation == AS_IT_IS)
        return ATTN_OK;
    made.rgb = attn_alloc_uninitialized(made.height * made.width, 3, err);
    if (!made.rgb)
        return ATTN_NO_MEMORY;
    for (size_t y = 0; y < made.height; y++)
        for (size_t x = 0; x < made.width; x++)
            memcpy(made.rgb + (y * made.width + x) * 3, pixel_of(image, orientation, y, x), 3);
    attn_image_release(image);
    *image = made;
    return ATTN_OK;
}
