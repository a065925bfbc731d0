/*
 * hash.h - hash functions of tables whose keys come from files.
 *
 * The author of a file can choose keys that collide under any known function, and n keys then take
 * n squared steps. So each table draws a random seed when it is built. Results must not depend on
 * the seed, so such a table is never iterated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns a random number; if the system provides none, one that depends on where the process was
 * loaded. */
uint64_t attn_hash_seed(void);

/* Mixes the bits of VALUE, a key xored with the seed of its table, with the finalizer of
 * MurmurHash3 (Appleby 2011), a bijection. */
static inline uint64_t attn_hash_mix(uint64_t value)
{
    value = (value ^ (value >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ (value >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ (value >> 33);
}

/* Returns all bytes, at most 8, as one word; bytes in the middle may be used twice. */
static inline uint64_t attn_hash_word(const char *bytes, size_t size)
{
    uint32_t first = 0, last = 0;

    if (size >= 4) {
        memcpy(&first, bytes, 4);
        memcpy(&last, bytes + size - 4, 4);
        return (uint64_t)first << 32 | last;
    }
    return size == 0
               ? 0
               : (uint64_t)(unsigned char)bytes[0] << 16 |
                     (uint64_t)(unsigned char)bytes[size / 2] << 8 | (unsigned char)bytes[size - 1];
}

/* Hashes short keys, eight bytes at a time. The result depends on the byte order. */
static inline uint64_t attn_hash_bytes(uint64_t seed, const char *bytes, size_t size)
{
    uint64_t hash = seed ^ size, word;

    for (; size > 8; bytes += 8, size -= 8) {
        memcpy(&word, bytes, 8);
        hash = attn_hash_mix(hash ^ word);
    }
    return attn_hash_mix(hash ^ attn_hash_word(bytes, size));
}
