/*
 * sha256.h - SHA-256 (FIPS 180-4) of bytes that arrive in pieces.
 *
 *     struct attn_sha256 hash;
 *     uint8_t digest[ATTN_SHA256_SIZE];
 *     attn_sha256_init(&hash);
 *     attn_sha256_update(&hash, bytes, size);
 *     attn_sha256_digest(&hash, digest);
 */
#ifndef ATTN_TOWERS_SHA256_H
#define ATTN_TOWERS_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_SHA256_SIZE = 32, ATTN_SHA256_BLOCK = 64 };

/* Processes N blocks of 64 bytes and updates STATE. */
typedef void attn_sha256_fn(uint32_t state[8], const uint8_t *blocks, size_t n);

/* The state of a hash. A copy can continue independently. */
struct attn_sha256 {
    attn_sha256_fn *add_blocks;
    uint32_t state[8];
    uint64_t n_byte;                 /* number of bytes hashed so far */
    uint8_t rest[ATTN_SHA256_BLOCK]; /* the last n_byte % 64 bytes, which do not fill a block yet */
};

void attn_sha256_init(struct attn_sha256 *hash);
void attn_sha256_update(struct attn_sha256 *hash, const void *bytes, size_t size);

/* Writes the digest of all bytes so far to DIGEST. More bytes may be added to HASH afterwards. */
void attn_sha256_digest(const struct attn_sha256 *hash, uint8_t digest[ATTN_SHA256_SIZE]);

/* The implementation in portable C. attn_sha256_init uses the processor's SHA instructions instead
 * if it has them. */
attn_sha256_fn attn_sha256_add_portable;

#endif
