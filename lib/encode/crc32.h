/*
 * crc32.h - the checksum of zip archives (CRC-32 of ISO 3309) of data that comes in any order.
 *
 * A CRC is linear: every piece of a file adds its own part, which depends on the piece and on the
 * number of bytes after it. So a tensor may be written row by row in whatever order the rows come:
 *
 *     sum = attn_crc32_begin(total);
 *     sum ^= attn_crc32_piece(&crc, bytes, n, total - offset - n);    // for each piece, once
 */
#ifndef ATTN_ENCODE_CRC32_H
#define ATTN_ENCODE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_CRC32_STRIDE = 16 }; /* bytes taken at once */

struct attn_crc32 {
    uint32_t table[ATTN_CRC32_STRIDE][256]; /* [i][b]: what byte b adds with i bytes after it */
    bool
        has_folding; /* the processor multiplies polynomials: the same sums, several times faster */
};

void attn_crc32_init(struct attn_crc32 *crc);

uint32_t attn_crc32_begin(uint64_t total);
uint32_t attn_crc32_piece(const struct attn_crc32 *crc, const void *bytes, size_t n,
                          uint64_t n_after);

#endif
