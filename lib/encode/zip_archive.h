/*
 * zip_archive.h - the records of a zip archive of stored files (PKWARE APPNOTE 6.3), zip64 where a
 * size, an offset or a count demands it. The time stamps are 1980-01-01, so equal content gives
 * equal archives.
 */
#ifndef ATTN_ENCODE_ZIP_ARCHIVE_H
#define ATTN_ENCODE_ZIP_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_ZIP_NAME_SIZE = 80, ATTN_ZIP_RECORD_SIZE = 160 };

/* One stored file. */
struct attn_zip_entry {
    char name[ATTN_ZIP_NAME_SIZE]; /* ASCII, terminated */
    uint64_t size;                 /* bytes of its content */
    uint64_t offset;               /* of its local header in the archive */
    uint32_t crc;                  /* CRC-32 of the content */
    bool is_described; /* CRC and size follow the content, for streams: then the local header has
                          neither, and attn_zip_description comes after */
};

/* Each writes one record to OUT and returns its length. A local header's length depends on the name
 * and the size alone. */
size_t attn_zip_local_header(const struct attn_zip_entry *entry,
                             unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_description(const struct attn_zip_entry *entry,
                            unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_central_header(const struct attn_zip_entry *entry,
                               unsigned char out[ATTN_ZIP_RECORD_SIZE]);

/* The end of an archive whose N_ENTRY central headers lie at OFFSET and take SIZE bytes. */
size_t attn_zip_end(uint64_t n_entry, uint64_t offset, uint64_t size,
                    unsigned char out[ATTN_ZIP_RECORD_SIZE]);

#endif
