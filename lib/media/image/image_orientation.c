/* image_orientation.c - see image_file_internal.h. Files may be malicious: each read is checked
 * against the bytes that are left, and both loops only go forward. */
#include "image/image_file_internal.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MISSING = 0, AS_IT_IS = 1, MIRRORED_AND_TURNED = 5, LAST = 8 };

enum {
    MARKER_OF_SCAN = 0xda, /* the pixels follow */
    MARKER_OF_END = 0xd9,
    MARKER_OF_EXIF = 0xe1, /* APP1 */
    TAG = 0x112,           /* the tag "Orientation" */
    ENTRY_SIZE = 12,
    TYPE_SHORT = 3,
    TYPE_LONG = 4,
    TYPE_SIGNED_SHORT = 8,
    TYPE_SIGNED_LONG = 9,
    TYPE_IFD = 13,
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

/* Returns the first value of ENTRY, which is part of TIFF. */
static int read_entry(const struct bytes *tiff, const struct bytes *entry)
{
    const uint32_t type = number_at(entry, 2, 2), count = number_at(entry, 4, 4);
    const size_t n = type == TYPE_SHORT || type == TYPE_SIGNED_SHORT                     ? 2
                     : type == TYPE_LONG || type == TYPE_SIGNED_LONG || type == TYPE_IFD ? 4
                                                                                         : 0;
    const size_t at = number_at(entry, 8, 4);
    const bool is_inside = n > 0 && count <= 4 / n;
    uint32_t value = 0;

    if (n > 0 && is_inside && count > 0)
        value = number_at(entry, 8, n);
    else if (n > 0 && count > 0 && count <= tiff->size / n && at <= tiff->size - count * n)
        value = number_at(tiff, at, n);
    return value >= AS_IT_IS && value <= LAST ? (int)value : AS_IT_IS;
}

/* Returns the orientation of a TIFF: byte order, the number 42, and the offset of the first
 * directory, which begins with the number of its entries. MISSING if it has none. */
static int read_tiff(struct bytes tiff)
{
    size_t at, n;

    if (tiff.size >= sizeof exif && memcmp(tiff.data, exif, sizeof exif) == 0)
        tiff.data += sizeof exif, tiff.size -= sizeof exif;
    if (tiff.size < 8 || tiff.data[0] != tiff.data[1] ||
        (tiff.data[0] != 'I' && tiff.data[0] != 'M') || tiff.data[2] + tiff.data[3] != 42 ||
        tiff.data[2] * tiff.data[3] != 0) /* Pillow accepts 42 in either byte order */
        return MISSING;
    tiff.is_little = tiff.data[0] == 'I';
    at = number_at(&tiff, 4, 4);
    if (at > tiff.size - 2)
        return MISSING;
    n = number_at(&tiff, at, 2);
    for (at += 2; n > 0 && tiff.size - at >= ENTRY_SIZE; at += ENTRY_SIZE, n--) {
        const struct bytes entry = {tiff.data + at, ENTRY_SIZE, tiff.is_little};

        if (number_at(&entry, 0, 2) == TAG)
            return read_entry(&tiff, &entry);
    }
    return MISSING;
}

/* Returns the digit of tiff:Orientation in XMP, an attribute or an element; MISSING without one. */
static int read_xmp(struct bytes xmp)
{
    static const char name[] = "tiff:Orientation";
    const size_t n = sizeof name - 1;

    for (; xmp.size > n + 2; xmp.data++, xmp.size--) {
        const unsigned char *after = xmp.data + n;

        if (memcmp(xmp.data, name, n) != 0)
            continue;
        after += after[0] == '>' ? 1 : after[0] == '=' && after[1] == '"' ? 2 : 0;
        if (after > xmp.data + n && *after >= '0' && *after <= '9')
            return *after >= '1' && *after <= '0' + LAST ? *after - '0' : AS_IT_IS;
    }
    return MISSING;
}

/* Finds the first chunk NAME from LEFT.data on: a name, a size and, in a WebP, an even number of
 * bytes; or, in a PNG, a size, a name, bytes and a checksum. Empty if there is none. */
static struct bytes find_chunk(struct bytes left, const char *name)
{
    const bool is_webp = left.is_little;
    const size_t n_around = is_webp ? 8 : 12;

    while (left.size >= n_around) {
        const size_t n = number_at(&left, is_webp ? 4 : 0, 4);
        const size_t n_filled = n + (is_webp ? n % 2 : 0);

        if (n > left.size - n_around)
            break;
        if (memcmp(left.data + (is_webp ? 0 : 4), name, 4) == 0)
            return (struct bytes){left.data + 8, n, false};
        if (n_filled > left.size - n_around)
            break;
        left.data += n_around + n_filled, left.size -= n_around + n_filled;
    }
    return (struct bytes){NULL, 0, false};
}

bool attn_image_find_chunk(const unsigned char *data, size_t size, const char *name,
                           const unsigned char **chunk, size_t *n)
{
    const struct bytes found = find_chunk((struct bytes){data + 8, size - 8, false}, name);

    *chunk = found.data;
    *n = found.size;
    return found.data;
}

/* Finds the first marker APP1 of a JPEG whose bytes begin with NAME [n], and returns what follows
 * this name. Empty if there is none. LEFT begins after the marker "start of image". */
static struct bytes find_marker(struct bytes left, const char *name, size_t n_name)
{
    while (left.size >= 4 && left.data[0] == 0xff) {
        const unsigned marker = left.data[1];
        const size_t n = number_at(&left, 2, 2); /* includes these two bytes */

        if (marker == 0xff) { /* a marker may begin with several 0xff */
            left.data++, left.size--;
            continue;
        }
        if (marker == MARKER_OF_SCAN || marker == MARKER_OF_END || n < 2 || n > left.size - 2)
            break;
        if (marker == MARKER_OF_EXIF && n >= 2 + n_name && memcmp(left.data + 4, name, n_name) == 0)
            return (struct bytes){left.data + 4 + n_name, n - 2 - n_name, false};
        left.data += 2 + n, left.size -= 2 + n;
    }
    return (struct bytes){NULL, 0, false};
}

int attn_image_orientation(const unsigned char *data, size_t size)
{
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/"; /* ends with NUL */
    const bool is_webp =
        size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
    const bool is_png = size >= 8 && memcmp(data, "\x89PNG", 4) == 0;
    const size_t skip = is_webp ? 12 : is_png ? 8 : 2;
    struct bytes left = {data + skip, size - skip, is_webp};
    int found;

    if (size < skip)
        return AS_IT_IS;
    found = read_tiff(is_webp  ? find_chunk(left, "EXIF")
                      : is_png ? find_chunk(left, "eXIf")
                               : find_marker(left, exif, sizeof exif));
    if (found == MISSING)
        found = read_xmp(is_webp  ? find_chunk(left, "XMP ")
                         : is_png ? find_chunk(left, "iTXt")
                                  : find_marker(left, xmp, sizeof xmp));
    return found == MISSING ? AS_IT_IS : found;
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
                              .permit = image->permit,
                              .lays_on_white = image->lays_on_white,
                              .is_transparent = image->is_transparent};

    if (orientation == AS_IT_IS)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(made.rgb, attn_alloc_uninitialized(made.height * made.width, 3, err)));
    for (size_t y = 0; y < made.height; y++)
        for (size_t x = 0; x < made.width; x++)
            memcpy(made.rgb + (y * made.width + x) * 3, pixel_of(image, orientation, y, x), 3);
    attn_image_release(image);
    *image = made;
    return ATTN_OK;
}
