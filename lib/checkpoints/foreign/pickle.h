/*
 * pickle.h - reads Python's pickles of dictionaries, lists, texts, numbers and tensors, as
 * torch.save and pickle.dump write them. Nothing is run: a call of a name that is not listed in
 * pickle.c becomes an opaque value.
 *
 *     struct attn_pickle *pickle;
 *     attn_pickle_read(&file, 0, file.size, &pickle, &err);
 *     attn_pickle_value sizes = attn_pickle_find(pickle, attn_pickle_root(pickle), "vocab_size");
 *     attn_pickle_free(pickle);
 *
 * A value is a number below 2^32 that its pickle explains. Values may contain themselves, so
 * nothing here is recursive. Memory is at most twice the size of the file, and 64 MiB.
 */
#pragma once

#include "base/dtype.h"
#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t attn_pickle_value;

enum { ATTN_PICKLE_NONE = 0 }; /* None, and the value that a search does not find */

enum attn_pickle_type {
    ATTN_PICKLE_OTHER, /* None, a number of numpy */
    ATTN_PICKLE_REAL,
    ATTN_PICKLE_BOOL,
    ATTN_PICKLE_INT,
    ATTN_PICKLE_LONG, /* an integer of more than 8 bytes */
    ATTN_PICKLE_TEXT, /* str or bytes */
    ATTN_PICKLE_LIST,
    ATTN_PICKLE_TUPLE,
    ATTN_PICKLE_DICT,
    ATTN_PICKLE_NAME,    /* module.name */
    ATTN_PICKLE_STORAGE, /* the bytes of tensors, by their key */
    ATTN_PICKLE_TENSOR,
    /* the result of a call that is not made; it may have a dictionary or a text as its state */
    ATTN_PICKLE_OPAQUE,
};

struct attn_pickle; /* borrows the bytes of its file */

/* Reads the pickle of FILE that begins at byte BEGIN and ends before END. */
enum attn_status attn_pickle_read(const struct attn_file *file, size_t begin, size_t end,
                                  struct attn_pickle **pickle, struct attn_error *err);
void attn_pickle_free(struct attn_pickle *pickle); /* NULL is allowed */

attn_pickle_value attn_pickle_root(const struct attn_pickle *pickle);
size_t attn_pickle_end(const struct attn_pickle *pickle); /* offset of the byte after the pickle */

enum attn_pickle_type attn_pickle_type(const struct attn_pickle *pickle, attn_pickle_value value);

/* Return the bytes of a text or of a long integer, in the file; NULL for other values. */
const char *attn_pickle_text(const struct attn_pickle *pickle, attn_pickle_value value,
                             size_t *size);

/* Stores an integer or a bool in *number. False for other values. */
bool attn_pickle_int(const struct attn_pickle *pickle, attn_pickle_value value, int64_t *number);

/* Stores a float, an integer or a bool in *number. False for other values. */
bool attn_pickle_real(const struct attn_pickle *pickle, attn_pickle_value value, double *number);

/* Walks through the items of a list or a tuple, or through keys and values of a dictionary in turn.
 * Begins with *cell as attn_pickle_first returns it. False at the end. */
uint32_t attn_pickle_first(const struct attn_pickle *pickle, attn_pickle_value value);
bool attn_pickle_next(const struct attn_pickle *pickle, uint32_t *cell, attn_pickle_value *item);

/* Returns the value of KEY in the dictionary VALUE, or in the state of an opaque one;
 * ATTN_PICKLE_NONE if it is absent, or VALUE is no dictionary. */
attn_pickle_value attn_pickle_find(const struct attn_pickle *pickle, attn_pickle_value value,
                                   const char *key);

/* Returns the state of an opaque value; ATTN_PICKLE_NONE for others. */
attn_pickle_value attn_pickle_state(const struct attn_pickle *pickle, attn_pickle_value value);

/* A storage: its key, type of elements and their number. */
struct attn_pickle_storage {
    const char *key;
    size_t n_key;
    enum attn_dtype dtype;
    uint64_t n;
};

/* Fills STORAGE. Returns false if VALUE is not a storage. */
bool attn_pickle_get_storage(const struct attn_pickle *pickle, attn_pickle_value value,
                             struct attn_pickle_storage *storage);

/* Returns the storage number I of all that the pickle mentions, in this order; ATTN_PICKLE_NONE
 * after the last. A storage of several tensors is mentioned several times. */
attn_pickle_value attn_pickle_storage(const struct attn_pickle *pickle, size_t i);

/* The arguments of a tensor: its storage, the offset of its first element, and tuples of sizes and
 * strides. They are what the file has: nothing is checked. */
struct attn_pickle_tensor {
    attn_pickle_value storage, offset, sizes, strides;
};

bool attn_pickle_get_tensor(const struct attn_pickle *pickle, attn_pickle_value value,
                            struct attn_pickle_tensor *tensor);

/* Sets the error that VALUE, an opaque one, would need a call. Returns ATTN_UNSUPPORTED. */
enum attn_status attn_pickle_refuse(const struct attn_pickle *pickle, attn_pickle_value value,
                                    struct attn_error *err);
