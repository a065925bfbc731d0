/* numpy_file.h - parts of numpy's files: headers of arrays (.npy), records and checksums of zip
 * archives (.npz). */
#ifndef ATTN_ENCODE_NUMPY_FILE_H
#define ATTN_ENCODE_NUMPY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The records of a zip archive of stored files (PKWARE APPNOTE 6.3), zip64 where a size, an offset
 * or a count demands it. The time stamps are 1980-01-01, so equal content gives equal archives. */
enum { ATTN_ZIP_NAME_SIZE = 80, ATTN_ZIP_RECORD_SIZE = 160 };

/* One stored file. */
struct attn_zip_entry {
    char name[ATTN_ZIP_NAME_SIZE]; /* ASCII, terminated */
    uint64_t size;                 /* bytes of its content */
    uint64_t offset;               /* of its local header in the archive */
    uint32_t crc;                  /* CRC-32 of the content */
    bool is_described; /* CRC and size follow the content in attn_zip_description, for streams */
};

/* Each writes one record to OUT and returns its length. */
size_t attn_zip_local_header(const struct attn_zip_entry *entry,
                             unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_description(const struct attn_zip_entry *entry,
                            unsigned char out[ATTN_ZIP_RECORD_SIZE]);
size_t attn_zip_central_header(const struct attn_zip_entry *entry,
                               unsigned char out[ATTN_ZIP_RECORD_SIZE]);

/* The end of an archive whose N_ENTRY central headers lie at OFFSET and take SIZE bytes. */
size_t attn_zip_end(uint64_t n_entry, uint64_t offset, uint64_t size,
                    unsigned char out[ATTN_ZIP_RECORD_SIZE]);

/*
 * The checksum of zip archives (CRC-32 of ISO 3309) of data that comes in any order.
 *
 * A CRC is linear: every piece of a file adds its own part, which depends on the piece and on the
 * number of bytes after it. So a tensor may be written row by row in whatever order the rows come:
 *
 *     sum = attn_crc32_begin(total);
 *     sum ^= attn_crc32_piece(&crc, bytes, n, total - offset - n);    // for each piece, once
 */
enum { ATTN_CRC32_STRIDE = 16 }; /* bytes taken at once */

struct attn_crc32 {
    uint32_t table[ATTN_CRC32_STRIDE][256]; /* [i][b]: the part of byte b with i bytes after it */
    /* The processor multiplies polynomials: the same sums, several times faster. */
    bool has_folding;
};

void attn_crc32_init(struct attn_crc32 *crc);

uint32_t attn_crc32_begin(uint64_t total);
uint32_t attn_crc32_piece(const struct attn_crc32 *crc, const void *bytes, size_t n,
                          uint64_t n_after);

/* The header of an NPY array (format 1.0, numpy.lib.format). */
enum { ATTN_NPY_HEADER_SIZE = 192, ATTN_NPY_RANK_MAX = 4 };

/* Writes the header of an array in C order of DTYPE ("<f4") and shape [rank] to OUT. Returns its
 * length, a multiple of 64 and LEAST or more: for a shape that will be written again when it is
 * known. */
size_t attn_npy_header(const char *dtype, const size_t *shape, int rank, size_t least,
                       char out[ATTN_NPY_HEADER_SIZE]);

#endif
