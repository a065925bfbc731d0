/*
 * vocabulary.h - the tokens of a tokenizer, by id and by key.
 *
 * Add every key with its id, then finish: no id and no key may be there twice.
 */
#ifndef ATTN_TEXT_VOCABULARY_H
#define ATTN_TEXT_VOCABULARY_H

#include "base/buffer.h"
#include "base/file.h"
#include "formats/json_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_vocabulary_entry {
    size_t begin, size; /* of the key in `keys`, bytes */
    int32_t id;         /* -1 where there is none */
};

/* Initialize with = {0}; end with attn_vocabulary_release. */
struct attn_vocabulary {
    struct attn_buffer keys;               /* the keys one after another */
    struct attn_vocabulary_entry *entries; /* owns; [n], by id once finished */
    size_t n;                              /* ids, once finished: the highest and one more */
    size_t n_key;                          /* of these that have a key */
    size_t capacity;
    int32_t *slots; /* owns; [n_slot] ids by hash of the key, -1 where free */
    size_t n_slot;  /* power of two, at least 2 n */
};

/* Adds the members of FILE, a JSON object {"key": id}. */
enum attn_status attn_vocabulary_read(struct attn_vocabulary *vocabulary,
                                      const struct attn_file *file, struct attn_error *err);

enum attn_status attn_vocabulary_add(struct attn_vocabulary *vocabulary, const char *key,
                                     size_t size, int32_t id, struct attn_error *err);

/* Adds the members of the object that READER is about to enter. */
enum attn_status attn_vocabulary_read_object(struct attn_vocabulary *vocabulary,
                                             struct attn_json_reader *reader,
                                             struct attn_error *err);

/* Sorts and indexes what was added, whose ids must be 0..n-1; NAME is the file's, for messages. May
 * be called again after more was added. */
enum attn_status attn_vocabulary_finish(struct attn_vocabulary *vocabulary, const char *name,
                                        struct attn_error *err);

/* The same for ids that may have holes: not above twice their number and a million. */
enum attn_status attn_vocabulary_finish_with_holes(struct attn_vocabulary *vocabulary,
                                                   const char *name, struct attn_error *err);

void attn_vocabulary_release(struct attn_vocabulary *vocabulary);

/* The id of KEY, or -1. */
int32_t attn_vocabulary_find(const struct attn_vocabulary *vocabulary, const char *key,
                             size_t size);

static inline bool attn_vocabulary_has(const struct attn_vocabulary *vocabulary, int32_t id)
{
    return id >= 0 && (size_t)id < vocabulary->n && vocabulary->entries[id].id >= 0;
}

/* The key of ID, 0 <= ID < n; not terminated; of no size where there is none. Borrowed. */
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
