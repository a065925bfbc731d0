/*
 * vocabulary.c - see vocabulary.h.
 *
 * The file is read as a stream of JSON tokens: building a tree of GPT-2's 50,257 members would take
 * longer than everything else about opening. Duplicate keys are detected when the hash table is
 * filled.
 */
#include "tokenizer/vocabulary.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"

#include <string.h>

enum {
    MAX_HOLES = 1000000,
    /* Estimated bytes of JSON per member, half of them the key's; few members have less. */
    MEMBER_SIZE = 16
};

/* Allocates memory for N more entries and SIZE more bytes of keys. */
static enum attn_status reserve(struct attn_vocabulary *vocabulary, size_t n, size_t size,
                                struct attn_error *err)
{
    if (!vocabulary->entries) {
        ATTN_TRY(
            ATTN_NEW(vocabulary->entries, attn_alloc_large(n, sizeof *vocabulary->entries, err)));
        vocabulary->capacity = n;
    }
    if (vocabulary->capacity - vocabulary->n < n)
        ATTN_TRY(ATTN_GROW(vocabulary->entries, vocabulary->capacity, vocabulary->n + n, err));
    if (size > UINT32_MAX - vocabulary->keys.size)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokens of a vocabulary have more than %u bytes", UINT32_MAX);
    (void)attn_buffer_reserve(&vocabulary->keys, size);
    return attn_buffer_check(&vocabulary->keys, err);
}

/* Adds an entry whose key of SIZE bytes has been written after the other keys. */
static void add_entry(struct attn_vocabulary *vocabulary, size_t size, int32_t id)
{
    const uint32_t begin = (uint32_t)vocabulary->keys.size;

    vocabulary->entries[vocabulary->n++] =
        (struct attn_vocabulary_entry){begin, (uint32_t)size, id};
    vocabulary->keys.size += size;
}

enum attn_status attn_vocabulary_add(struct attn_vocabulary *vocabulary, const char *key,
                                     size_t size, int32_t id, struct attn_error *err)
{
    ATTN_TRY(reserve(vocabulary, 1, size, err));
    if (size > 0) /* KEY may be NULL then */
        memcpy(vocabulary->keys.data + vocabulary->keys.size, key, size);
    add_entry(vocabulary, size, id);
    return ATTN_OK;
}

enum attn_status attn_vocabulary_read_object(struct attn_vocabulary *vocabulary,
                                             struct attn_json_reader *reader, size_t n_byte,
                                             struct attn_error *err)
{
    struct attn_buffer *keys = &vocabulary->keys;
    struct attn_json_token token;

    ATTN_TRY(reserve(vocabulary, n_byte / MEMBER_SIZE, n_byte / 2, err));
    ATTN_TRY(attn_json_next(reader, &token, err));
    if (token.type != ATTN_JSON_OBJECT_BEGIN)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is not an object {\"token\": id, ...}",
                              attn_quote_string(reader->name).text);
    for (;;) {
        const size_t capacity = keys->capacity < UINT32_MAX ? keys->capacity : UINT32_MAX;
        uint32_t plain_id;
        uint64_t id;
        size_t size;
        char *key;

        /* Read consecutive members without escapes, while there is memory. */
        while (vocabulary->n < vocabulary->capacity &&
               attn_json_read_count(reader, keys->data + keys->size, capacity - keys->size, &size,
                                    &plain_id))
            add_entry(vocabulary, size, (int32_t)plain_id);
        ATTN_TRY(attn_json_next(reader, &token, err));
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        ATTN_TRY(reserve(vocabulary, 1, token.size, err));
        key = keys->data + keys->size;
        size = attn_json_unescape_to(&token, key);
        ATTN_TRY(attn_json_next(reader, &token, err));
        if (!attn_json_uint(&token, &id) || id > INT32_MAX) {
            const char *mark = token.type == ATTN_JSON_STRING ? "\"" : "";

            attn_error_set(err, ATTN_FORMAT,
                           "'%s' in '%s' has id %s%s%s, expected an integer from 0 to %d",
                           attn_quote(key, size).text, attn_quote_string(reader->name).text, mark,
                           attn_quote(token.text, token.size).text, mark, INT32_MAX);
            if (vocabulary->n == 0 && *mark && size == 7 && memcmp(key, "version", size) == 0)
                attn_error_hint(err, "it has the form of tokenizer.json, and is read so if its "
                                     "name ends in tokenizer.json");
            return ATTN_FORMAT;
        }
        add_entry(vocabulary, size, (int32_t)id);
    }
}

enum attn_status attn_vocabulary_read(struct attn_vocabulary *vocabulary,
                                      const struct attn_file *file, struct attn_error *err)
{
    struct attn_json_reader reader =
        attn_json_reader_init((const char *)file->data, file->size, file->path);
    struct attn_json_token token;

    ATTN_TRY(attn_vocabulary_read_object(vocabulary, &reader, file->size, err));
    return attn_json_next(&reader, &token, err); /* the end of the file */
}

/* Moves each entry whose id is below N to the index of its id. Other entries are left out. */
static enum attn_status sort_entries(struct attn_vocabulary *vocabulary, size_t n, const char *name,
                                     struct attn_error *err)
{
    const char *keys = vocabulary->keys.data;
    struct attn_vocabulary_entry *sorted, *other;
    size_t n_sorted = 0;

    vocabulary->n_finished = n;
    while (n_sorted < vocabulary->n && vocabulary->entries[n_sorted].id == (int32_t)n_sorted)
        n_sorted++;
    if (n_sorted == vocabulary->n)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(sorted, attn_alloc_uninitialized(n, sizeof *sorted, err)));
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct attn_vocabulary_entry){.id = -1};
    for (size_t i = 0; i < vocabulary->n; i++) {
        const struct attn_vocabulary_entry *entry = &vocabulary->entries[i];

        if (entry->id < 0 || (size_t)entry->id >= n)
            continue;
        other = &sorted[entry->id];
        if (other->id >= 0) {
            (void)attn_error_set(err, ATTN_FORMAT, "'%s' and '%s' in '%s' have the same id %d",
                                 attn_quote(keys + other->begin, other->size).text,
                                 attn_quote(keys + entry->begin, entry->size).text,
                                 attn_quote_string(name).text, (int)entry->id);
            attn_free(sorted);
            return ATTN_FORMAT;
        }
        *other = *entry;
    }
    attn_free(vocabulary->entries);
    vocabulary->entries = sorted;
    vocabulary->n = vocabulary->capacity = n;
    return ATTN_OK;
}

static bool is_key(const struct attn_vocabulary *vocabulary,
                   const struct attn_vocabulary_entry *entry, const char *key, size_t size)
{
    return entry->size == size && memcmp(vocabulary->keys.data + entry->begin, key, size) == 0;
}

/* Returns the id of SLOT, or -1 if it is free. */
static int32_t id_of(uint64_t slot)
{
    return slot == UINT64_MAX ? -1 : (int32_t)(uint32_t)slot;
}

/* Returns the slot of KEY, or the free slot where it would be. *mark is the upper half of its hash.
 */
static uint64_t *find_slot(const struct attn_vocabulary *vocabulary, const char *key, size_t size,
                           uint64_t *mark)
{
    const size_t mask = vocabulary->n_slot - 1;
    const uint64_t hash = attn_hash_bytes(vocabulary->seed, key, size);
    size_t i = (size_t)hash & mask;

    *mark = hash >> 32 << 32;
    for (uint64_t slot; (slot = vocabulary->slots[i]) != UINT64_MAX; i = (i + 1) & mask)
        if ((slot ^ hash) >> 32 == 0 &&
            is_key(vocabulary, &vocabulary->entries[id_of(slot)], key, size))
            break;
    return &vocabulary->slots[i];
}

static void drop_index(struct attn_vocabulary *vocabulary)
{
    attn_free(vocabulary->slots);
    vocabulary->slots = NULL;
}

enum attn_status attn_vocabulary_index(struct attn_vocabulary *vocabulary, const char *name,
                                       struct attn_error *err)
{
    size_t n_slot = 2;

    if (vocabulary->slots)
        return ATTN_OK;
    while (n_slot < vocabulary->n_key * 2)
        n_slot *= 2;
    ATTN_TRY(ATTN_NEW(vocabulary->slots, attn_alloc_large(n_slot, sizeof *vocabulary->slots, err)));
    memset(vocabulary->slots, 0xff, n_slot * sizeof *vocabulary->slots); /* UINT64_MAX */
    vocabulary->n_slot = n_slot;
    vocabulary->seed = attn_hash_seed();
    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);
        uint64_t *slot, mark;

        if (vocabulary->entries[i].id < 0)
            continue;
        slot = find_slot(vocabulary, key, size, &mark);
        if (id_of(*slot) >= 0) {
            attn_error_set(err, ATTN_FORMAT, "'%s' is in '%s' twice, with ids %d and %zu",
                           attn_quote(key, size).text, attn_quote_string(name).text,
                           (int)id_of(*slot), i);
            drop_index(vocabulary);
            return ATTN_FORMAT;
        }
        *slot = mark | i;
    }
    return ATTN_OK;
}

enum attn_status attn_vocabulary_finish(struct attn_vocabulary *vocabulary, const char *name,
                                        bool may_have_holes, struct attn_error *err)
{
    const size_t n = vocabulary->n, largest = 2 * n + MAX_HOLES;
    size_t n_id = may_have_holes ? 0 : n; /* n_id: the highest id plus one */

    drop_index(vocabulary);
    if (n == 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no tokens", attn_quote_string(name).text);
    if (n > INT32_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has %zu tokens, at most %d can be used",
                              attn_quote_string(name).text, n, INT32_MAX);
    vocabulary->n_key = n_id;
    for (size_t i = 0; i < n && may_have_holes; i++) {
        const struct attn_vocabulary_entry *entry = &vocabulary->entries[i];

        if (entry->id < 0)
            continue;
        if ((size_t)entry->id > largest)
            return attn_error_set(
                err, ATTN_UNSUPPORTED,
                "'%s' in '%s' has id %d, expected at most %zu with %zu tokens",
                attn_quote(vocabulary->keys.data + entry->begin, entry->size).text,
                attn_quote_string(name).text, (int)entry->id, largest, n);
        n_id = (size_t)entry->id >= n_id ? (size_t)entry->id + 1 : n_id;
        vocabulary->n_key++;
    }
    ATTN_TRY(sort_entries(vocabulary, n_id, name, err));
    /* If n ids below n are distinct, there is no gap; an entry that was left out makes one. */
    for (size_t i = 0; i < n && !may_have_holes; i++)
        if (vocabulary->entries[i].id < 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has %zu token%s but none with id %zu, expected ids 0..%zu",
                                  attn_quote_string(name).text, n, n == 1 ? "" : "s", i, n - 1);
    return ATTN_OK;
}

void attn_vocabulary_release(struct attn_vocabulary *vocabulary)
{
    attn_buffer_release(&vocabulary->keys);
    attn_free(vocabulary->entries);
    attn_free(vocabulary->slots);
    *vocabulary = (struct attn_vocabulary){0};
}

int32_t attn_vocabulary_find(const struct attn_vocabulary *vocabulary, const char *key, size_t size)
{
    uint64_t mark;

    if (vocabulary->slots)
        return id_of(*find_slot(vocabulary, key, size, &mark));
    for (size_t i = 0; i < vocabulary->n_finished; i++)
        if (vocabulary->entries[i].id >= 0 &&
            is_key(vocabulary, &vocabulary->entries[i], key, size))
            return (int32_t)i;
    return -1;
}

enum attn_status attn_lookup_begin(const void *model, size_t n, void **lookup,
                                   struct attn_error *err)
{
    struct attn_lookup *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    *made = (struct attn_lookup){.model = model, .budget = attn_lookup_budget(n)};
    *lookup = made;
    return ATTN_OK;
}

void attn_lookup_end(void *lookup)
{
    struct attn_lookup *made = lookup;

    attn_free(made->memory);
    attn_free(made);
}

void attn_alphabet_init(struct attn_alphabet *alphabet)
{
    unsigned next = 0x100;

    memset(alphabet->byte, 0xff, sizeof alphabet->byte); /* -1 */
    for (unsigned byte = 0; byte < 256; byte++) {
        const bool is_itself =
            (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        const unsigned code_point = is_itself ? byte : next++;

        alphabet->code_point[byte] = (uint16_t)code_point;
        alphabet->byte[code_point] = (int16_t)byte;
    }
}

bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte)
{
    size_t n = 0;

    for (size_t at = 0; at < size; at++) {
        unsigned code_point = (unsigned char)key[at];

        if (code_point >= 0x80) { /* two bytes in UTF-8: the alphabet ends at U+0143 */
            if (code_point < 0xc2 || code_point > 0xc5 || ++at == size ||
                ((unsigned char)key[at] & 0xc0) != 0x80)
                return false;
            code_point = (code_point & 0x1f) << 6 | ((unsigned char)key[at] & 0x3f);
        }
        if (code_point >= sizeof alphabet->byte / sizeof *alphabet->byte ||
            alphabet->byte[code_point] < 0)
            return false;
        out[n++] = (char)alphabet->byte[code_point];
    }
    *n_byte = n;
    return true;
}

size_t attn_alphabet_from_bytes(const struct attn_alphabet *alphabet, const char *bytes,
                                size_t size, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++) {
        char character[4];
        size_t length = attn_utf8_encode(alphabet->code_point[(unsigned char)bytes[i]], character);

        memcpy(out + n, character, length);
        n += length;
    }
    return n;
}
