/* numpy_file.h - parts of numpy's files: headers of arrays (.npy), and records and checksums of zip
 * archives (.npz). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records of a zip archive with uncompressed files (PKWARE APPNOTE 6.3); zip64 if a size, an offset
 * or a count needs it. All time stamps are 1980-01-01, so that equal content makes equal
 * archives. */
enum { ATTN_ZIP_NAME_SIZE = 80, ATTN_ZIP_RECORD_SIZE = 160 };

/* A file in the archive. */
struct attn_zip_entry {
    char name[ATTN_ZIP_NAME_SIZE]; /* ASCII, terminated */
    uint64_t size;                 /* size of the content in bytes */
    uint64_t offset;               /* offset of its local header in the archive */
    uint32_t crc;                  /* CRC-32 of the content */
    /* for streams: CRC and size are in a record after the content (attn_zip_description) */
    bool is_described;
};

/* These write one record to OUT and return its length. */
size_t attn_zip_local_header(const struct attn_zip_entry *entry,
                             unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_description(const struct attn_zip_entry *entry,
                            unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_central_header(const struct attn_zip_entry *entry,
                               unsigned char out[ATTN_ZIP_RECORD_SIZE]);

/* Writes the end of an archive. N_ENTRY is the number of central headers, which begin at OFFSET and
 * have SIZE bytes in all. */
size_t attn_zip_end(uint64_t n_entry, uint64_t offset, uint64_t size,
                    unsigned char out[ATTN_ZIP_RECORD_SIZE]);

/*
 * The checksum of zip archives (CRC-32 of ISO 3309), for data that is written in any order.
 *
 * A CRC is linear: each piece of a file contributes a part that only depends on the piece and on
 * the number of bytes after it. So the rows of a tensor may be written in any order:
 *
 *     sum = attn_crc32_begin(total);
 *     sum ^= attn_crc32_piece(&crc, bytes, n, total - offset - n);    // for each piece, once
 */
enum { ATTN_CRC32_STRIDE = 16 }; /* bytes per step */

struct attn_crc32 {
    /* table[i][b] is the part of byte b if i bytes follow it */
    uint32_t table[ATTN_CRC32_STRIDE][256];
    /* The processor can multiply polynomials, which gives the same sums several times faster. */
    bool has_folding;
};

void attn_crc32_init(struct attn_crc32 *crc);

uint32_t attn_crc32_begin(uint64_t total);
uint32_t attn_crc32_piece(const struct attn_crc32 *crc, const void *bytes, size_t n,
                          uint64_t n_after);

/* The header of an array in NPY format 1.0 (numpy.lib.format). */
enum { ATTN_NPY_HEADER_SIZE = 256, ATTN_NPY_RANK_MAX = 5 };

/* Writes to OUT the header of an array in C order with DTYPE ("<f4") and shape [rank]. Returns its
 * length, a multiple of 64 and at least LEAST: a caller that will know the shape later can so
 * overwrite the header in place. */
size_t attn_npy_header(const char *dtype, const size_t *shape, int rank, size_t least,
                       char out[ATTN_NPY_HEADER_SIZE]);
