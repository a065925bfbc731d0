/*
 * hash.h - the two hash functions of the tokenizer's tables. Both are the same on every machine.
 */
#ifndef ATTN_TEXT_HASH_H
#define ATTN_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Spreads the bits of VALUE: the finalizer of MurmurHash3 (Appleby 2011), a bijection. */
static inline uint64_t attn_hash_mix(uint64_t value)
{
    value = (value ^ (value >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ (value >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ (value >> 33);
}

/* FNV-1a (Fowler, Noll, Vo 1991): the keys are a few bytes long. */
static inline uint64_t attn_hash_bytes(const char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return attn_hash_mix(hash);
}

#endif
