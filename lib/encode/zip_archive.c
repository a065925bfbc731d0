/* zip_archive.c - see zip_archive.h. Numbers in records are little-endian. */
#include "encode/zip_archive.h"

#include <string.h>

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    MADE_ON_UNIX = 3 << 8,
    DATE = 1 << 5 | 1, /* 1980-01-01 */
    MODE = 0100644,    /* of the unpacked file: regular, rw-r--r-- */
    ZIP64_EXTRA = 1,
    IS_DESCRIBED = 1 << 3, /* general purpose flag */
};

static unsigned char *put(unsigned char *out, uint64_t value, int n_byte)
{
    for (int i = 0; i < n_byte; i++)
        *out++ = (unsigned char)(value >> 8 * i);
    return out;
}

static unsigned char *put_name(unsigned char *out, const char *name)
{
    size_t n = strlen(name);

    memcpy(out, name, n);
    return out + n;
}

/* A field of 32 bits: all ones say that the number is in the zip64 extra field. */
static unsigned char *put_capped(unsigned char *out, uint64_t value)
{
    return put(out, value < UINT32_MAX ? value : UINT32_MAX, 4);
}

static bool is_large(uint64_t value)
{
    return value >= UINT32_MAX;
}

/* Version, flags, method 0 (stored), time, date, CRC, both sizes, the name's length: the part that
 * local and central headers share. */
static unsigned char *put_shared(unsigned char *out, const struct attn_zip_entry *entry,
                                 bool is_zip64)
{
    out = put(out, is_zip64 ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    out = put(out, entry->is_described ? IS_DESCRIBED : 0, 2);
    out = put(out, 0, 2);
    out = put(out, 0, 2);
    out = put(out, DATE, 2);
    out = put(out, entry->crc, 4);
    out = put_capped(out, entry->size);
    out = put_capped(out, entry->size);
    return put(out, strlen(entry->name), 2);
}

size_t attn_zip_local_header(const struct attn_zip_entry *entry,
                             unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    struct attn_zip_entry local = *entry;
    bool is_zip64 = is_large(entry->size);
    unsigned char *at = put(out, 0x04034b50, 4);

    if (local.is_described) {
        local.crc = 0;
        local.size = is_zip64 ? UINT32_MAX : 0;
    }
    at = put_shared(at, &local, is_zip64);
    at = put(at, is_zip64 ? 20 : 0, 2);
    at = put_name(at, entry->name);
    if (is_zip64) {
        at = put(at, ZIP64_EXTRA, 2);
        at = put(at, 16, 2);
        at = put(at, entry->is_described ? 0 : entry->size, 8);
        at = put(at, entry->is_described ? 0 : entry->size, 8);
    }
    return (size_t)(at - out);
}

size_t attn_zip_description(const struct attn_zip_entry *entry,
                            unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    int n_byte = is_large(entry->size) ? 8 : 4;
    unsigned char *at = put(out, 0x08074b50, 4);

    at = put(at, entry->crc, 4);
    at = put(at, entry->size, n_byte);
    at = put(at, entry->size, n_byte);
    return (size_t)(at - out);
}

size_t attn_zip_central_header(const struct attn_zip_entry *entry,
                               unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    size_t extra = (is_large(entry->size) ? 16 : 0) + (is_large(entry->offset) ? 8 : 0);
    bool is_zip64 = extra > 0;
    unsigned char *at = put(out, 0x02014b50, 4);

    at = put(at, MADE_ON_UNIX | (is_zip64 ? VERSION_ZIP64 : VERSION_PLAIN), 2);
    at = put_shared(at, entry, is_zip64);
    at = put(at, is_zip64 ? 4 + extra : 0, 2);
    at = put(at, 0, 2); /* comment */
    at = put(at, 0, 2); /* disk */
    at = put(at, 0, 2); /* internal attributes */
    at = put(at, (uint64_t)MODE << 16, 4);
    at = put_capped(at, entry->offset);
    at = put_name(at, entry->name);
    if (is_zip64) {
        at = put(at, ZIP64_EXTRA, 2);
        at = put(at, extra, 2);
    }
    if (is_large(entry->size)) {
        at = put(at, entry->size, 8);
        at = put(at, entry->size, 8);
    }
    if (is_large(entry->offset))
        at = put(at, entry->offset, 8);
    return (size_t)(at - out);
}

static unsigned char *put_zip64_end(unsigned char *out, uint64_t n_entry, uint64_t offset,
                                    uint64_t size)
{
    out = put(out, 0x06064b50, 4);
    out = put(out, 44, 8); /* bytes of this record that follow */
    out = put(out, MADE_ON_UNIX | VERSION_ZIP64, 2);
    out = put(out, VERSION_ZIP64, 2);
    out = put(out, 0, 4); /* this disk */
    out = put(out, 0, 4); /* disk of the central headers */
    out = put(out, n_entry, 8);
    out = put(out, n_entry, 8);
    out = put(out, size, 8);
    out = put(out, offset, 8);
    out = put(out, 0x07064b50, 4); /* where that record is */
    out = put(out, 0, 4);
    out = put(out, offset + size, 8);
    return put(out, 1, 4); /* disks */
}

size_t attn_zip_end(uint64_t n_entry, uint64_t offset, uint64_t size,
                    unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    uint64_t n_capped = n_entry < UINT16_MAX ? n_entry : UINT16_MAX;
    unsigned char *at = out;

    if (n_entry >= UINT16_MAX || is_large(offset) || is_large(size))
        at = put_zip64_end(at, n_entry, offset, size);
    at = put(at, 0x06054b50, 4);
    at = put(at, 0, 2); /* this disk */
    at = put(at, 0, 2); /* disk of the central headers */
    at = put(at, n_capped, 2);
    at = put(at, n_capped, 2);
    at = put_capped(at, size);
    at = put_capped(at, offset);
    at = put(at, 0, 2); /* comment */
    return (size_t)(at - out);
}
