/*
 * sha256.h - SHA-256 (FIPS 180-4) of bytes that come in pieces.
 *
 *     struct attn_sha256 hash;
 *     uint8_t digest[ATTN_SHA256_SIZE];
 *     attn_sha256_init(&hash);
 *     attn_sha256_update(&hash, bytes, size);
 *     attn_sha256_digest(&hash, digest);
 */
#ifndef ATTN_KERNELS_SHA256_H
#define ATTN_KERNELS_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_SHA256_SIZE = 32, ATTN_SHA256_BLOCK = 64 };

/* Adds N blocks of 64 bytes to STATE. */
typedef void attn_sha256_fn(uint32_t state[8], const uint8_t *blocks, size_t n);

/* A copy continues independently of the original. */
struct attn_sha256 {
    attn_sha256_fn *add_blocks;
    uint32_t state[8];
    uint64_t n_byte;                 /* so far */
    uint8_t rest[ATTN_SHA256_BLOCK]; /* the last n_byte % 64 of these bytes */
};

void attn_sha256_init(struct attn_sha256 *hash);
void attn_sha256_update(struct attn_sha256 *hash, const void *bytes, size_t size);

/* The digest of all bytes so far. HASH can get more bytes afterwards. */
void attn_sha256_digest(const struct attn_sha256 *hash, uint8_t digest[ATTN_SHA256_SIZE]);

/* In portable C; attn_sha256_init chooses the processor's SHA instructions if it has them. */
attn_sha256_fn attn_sha256_add_portable;

#endif
