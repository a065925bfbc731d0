/*
 * vocabulary.h - the keys of vocab.json (and added_tokens.json), by id and by key.
 *
 * Add every key with its id, then finish: the ids must be 0..n-1, each once, and no key may be
 * there twice.
 */
#ifndef ATTN_TEXT_VOCABULARY_H
#define ATTN_TEXT_VOCABULARY_H

#include "base/buffer.h"
#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

struct attn_vocabulary_entry {
    size_t begin, size; /* of the key in `keys`, bytes */
    int32_t id;
};

/* Initialize with = {0}; end with attn_vocabulary_release. */
struct attn_vocabulary {
    struct attn_buffer keys;               /* the keys one after another */
    struct attn_vocabulary_entry *entries; /* owns; [n], by id once finished */
    size_t n, capacity;
    int32_t *slots; /* owns; [n_slot] ids by hash of the key, -1 where free */
    size_t n_slot;  /* power of two, at least 2 n */
};

/* Adds the members of FILE, a JSON object {"key": id}. */
enum attn_status attn_vocabulary_read(struct attn_vocabulary *vocabulary,
                                      const struct attn_file *file, struct attn_error *err);

enum attn_status attn_vocabulary_add(struct attn_vocabulary *vocabulary, const char *key,
                                     size_t size, int32_t id, struct attn_error *err);

/* Sorts and indexes what was added; NAME is the file's, for messages. May be called again after
 * more was added. */
enum attn_status attn_vocabulary_finish(struct attn_vocabulary *vocabulary, const char *name,
                                        struct attn_error *err);

void attn_vocabulary_release(struct attn_vocabulary *vocabulary);

/* The id of KEY, or -1. */
int32_t attn_vocabulary_find(const struct attn_vocabulary *vocabulary, const char *key,
                             size_t size);

/* The key of ID, 0 <= ID < n; not terminated. Borrowed. */
static inline const char *attn_vocabulary_key(const struct attn_vocabulary *vocabulary, int32_t id,
                                              size_t *size)
{
    *size = vocabulary->entries[id].size;
    return vocabulary->keys.data + vocabulary->entries[id].begin;
}

/* --- Hash functions of the tokenizer's tables: the same on every machine --------------------- */

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
