/*
 * vocabulary.h - the tokens of a tokenizer, by id and by key.
 *
 * Add all keys with their ids, and then finish the vocabulary, which refuses duplicate ids. Index
 * it before many keys are looked up; that refuses duplicate keys.
 */
#pragma once

#include "base/buffer.h"
#include "base/file.h"
#include "formats/json_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_vocabulary_entry {
    uint32_t begin, size; /* offset of the key in `keys`, and its bytes */
    int32_t id;           /* -1: the id has no key */
};

/* Initialize with = {0}; end with attn_vocabulary_release. */
struct attn_vocabulary {
    struct attn_buffer keys;               /* all keys, concatenated */
    struct attn_vocabulary_entry *entries; /* owns; [n], by id once finished */
    size_t n;          /* number of ids, once finished: the highest id plus one */
    size_t n_key;      /* number of ids that have a key */
    size_t n_finished; /* number of sorted entries; later entries are not found */
    size_t capacity;
    /* owns; [n_slot] hash table of ids by key: the id, and above it the upper half of the key's
     * hash, so that few other keys are compared; UINT64_MAX: free; NULL: not indexed */
    uint64_t *slots;
    size_t n_slot; /* power of two, at least 2 n */
    uint64_t seed; /* seed of the hash function */
};

/* Adds the members of FILE, a JSON object {"key": id}. */
enum attn_status attn_vocabulary_read(struct attn_vocabulary *vocabulary,
                                      const struct attn_file *file, struct attn_error *err);

enum attn_status attn_vocabulary_add(struct attn_vocabulary *vocabulary, const char *key,
                                     size_t size, int32_t id, struct attn_error *err);

/* Adds the members of the object that READER is about to enter. N_BYTE is its approximate size. */
enum attn_status attn_vocabulary_read_object(struct attn_vocabulary *vocabulary,
                                             struct attn_json_reader *reader, size_t n_byte,
                                             struct attn_error *err);

/* Sorts the entries. Their ids must be 0..n-1, or, if MAY_HAVE_HOLES, at most twice their number
 * plus a million. NAME is the file, for messages. May be called again after more entries were
 * added. */
enum attn_status attn_vocabulary_finish(struct attn_vocabulary *vocabulary, const char *name,
                                        bool may_have_holes, struct attn_error *err);

/* Indexes the keys of a finished vocabulary, if not done. NAME is the file, for messages. */
enum attn_status attn_vocabulary_index(struct attn_vocabulary *vocabulary, const char *name,
                                       struct attn_error *err);

void attn_vocabulary_release(struct attn_vocabulary *vocabulary);

/* Returns the id of KEY in a finished vocabulary, or -1. Without an index, compares every key. */
int32_t attn_vocabulary_find(const struct attn_vocabulary *vocabulary, const char *key,
                             size_t size);

/* As attn_vocabulary_find, but returns -1 for ids that are marked in IS_FOREIGN, which may be NULL.
 */
static inline int32_t attn_vocabulary_find_own(const struct attn_vocabulary *vocabulary,
                                               const bool *is_foreign, const char *key, size_t size)
{
    const int32_t id = attn_vocabulary_find(vocabulary, key, size);

    return id >= 0 && is_foreign && is_foreign[id] ? -1 : id;
}

/* Returns how many bytes of keys a model may look up for a text of N bytes before it fails because
 * it takes too long. Published vocabularies need a few hundred per byte. */
static inline uint64_t attn_lookup_budget(size_t n)
{
    return ((uint64_t)n << 12) + (UINT64_C(1) << 31);
}

/* The scratch of a stage whose model looks up parts of a text. */
struct attn_lookup {
    const void *model; /* borrows */
    void *memory;      /* owns; grown by the model */
    size_t n_memory;   /* number of elements */
    uint64_t budget;   /* bytes that may still be looked up */
};

/* The functions `begin` and `end` of such a stage (pipeline.h). */
enum attn_status attn_lookup_begin(const void *model, size_t n, void **lookup,
                                   struct attn_error *err);
void attn_lookup_end(void *lookup);

static inline bool attn_vocabulary_has(const struct attn_vocabulary *vocabulary, int32_t id)
{
    return id >= 0 && (size_t)id < vocabulary->n && vocabulary->entries[id].id >= 0;
}

/* Returns the key of ID, 0 <= ID < n. It is not terminated, and has size 0 if ID has no key.
 * Borrowed. */
static inline const char *attn_vocabulary_key(const struct attn_vocabulary *vocabulary, int32_t id,
                                              size_t *size)
{
    *size = vocabulary->entries[id].size;
    return vocabulary->keys.data + vocabulary->entries[id].begin;
}

/* --- GPT-2's alphabet ------------------------------------------------------------------------- */

/* The mapping in both directions. Fill it with attn_alphabet_init. */
struct attn_alphabet {
    uint16_t code_point[256]; /* code point of a byte */
    int16_t byte[0x144];      /* byte of a code point, -1 for code points without a byte */
};

void attn_alphabet_init(struct attn_alphabet *alphabet);

/* Decodes KEY, [size] bytes of UTF-8, to OUT, which has room for SIZE bytes, and stores their
 * number. Returns false if a character of KEY is not in the alphabet. */
bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte);

/* Encodes BYTES [size] in the alphabet to OUT, which has room for 2 SIZE bytes. Returns the size of
 * the text. */
size_t attn_alphabet_from_bytes(const struct attn_alphabet *alphabet, const char *bytes,
                                size_t size, char *out);
