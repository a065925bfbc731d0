/*
 * gguf.h - the metadata and the tensors of a GGUF file, or of its shards.
 *
 *     struct attn_bundle *gguf;
 *     size_t n_layer;
 *     attn_gguf_take(&file, ATTN_MAP, &gguf, &err); // by attn_file_open
 *     attn_gguf_get_size(gguf, "llama.block_count", &n_layer, &err);
 *
 * Layout, little-endian: "GGUF", u32 version, u64 tensors, u64 pairs; each pair a key, a u32 type
 * and a value; each tensor a name, u32 dimensions, their u64 sizes (the contiguous one first), a
 * u32 type, a u64 offset; zeros up to the alignment, then the data, which the tensors tile. See
 * ggml's docs/gguf.md. All of it is checked before the directory exists, and the data are not
 * touched.
 *
 * Values stay where they lie in the file: arrays of strings are read by attn_gguf_next_text, which
 * compares each size with the bytes that are left, so that a map may change while it is read.
 */
#pragma once

#include "base/file.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of a source that is a GGUF file, as model.safetensors is for the other format. */
#define ATTN_GGUF_PART "model.gguf"
/* The part that reads pictures for that model (towers/families/gguf_projector.h). */
#define ATTN_MMPROJ_PART "mmproj.gguf"
/* The same, found beside the model and not named by the user. */
#define ATTN_FOUND_MMPROJ_PART "found-mmproj.gguf"

/* Whether the model in SOURCE is a GGUF file: SOURCE has one, and has no safetensors. */
bool attn_gguf_is_source(const struct attn_source *source);

struct attn_bundle; /* one file or several shards; owns their mapped files */

/* Whether FILE begins as a GGUF file does. */
bool attn_gguf_is_file(const struct attn_file *file);

/* Returns the text [*size] of KEY if that is the first key of FILE, without reading the others;
 * NULL if it is not. Converters write "general.architecture" first. Borrowed from FILE. */
const char *attn_gguf_first_text(const struct attn_file *file, const char *key, size_t *size);

/* Reads FILE, or all shards if FILE is the first one. Takes FILE over, and releases it also on
 * failure. LOAD says how the other shards are opened. */
enum attn_status attn_gguf_take(struct attn_file *file, enum attn_load load,
                                struct attn_bundle **out, struct attn_error *err);

void attn_gguf_free(struct attn_bundle *gguf); /* NULL is allowed */

/* Returns the tensors, which belong to GGUF. Names are as in the file; shapes are [out, in]. */
const struct attn_tensor_files *attn_gguf_files(const struct attn_bundle *gguf);
const char *attn_gguf_path(const struct attn_bundle *gguf); /* of the first file */

/* --- Metadata --------------------------------------------------------------------------------- */

/* X(name, number, bytes, word): the types of values. Bytes 0: the size varies. */
#define ATTN_GGUF_TYPE_MAP(X)                                                                      \
    X(U8, 0, 1, "u8")                                                                              \
    X(I8, 1, 1, "i8")                                                                              \
    X(U16, 2, 2, "u16")                                                                            \
    X(I16, 3, 2, "i16")                                                                            \
    X(U32, 4, 4, "u32")                                                                            \
    X(I32, 5, 4, "i32")                                                                            \
    X(F32, 6, 4, "f32")                                                                            \
    X(BOOL, 7, 1, "bool")                                                                          \
    X(STRING, 8, 0, "string")                                                                      \
    X(ARRAY, 9, 0, "array")                                                                        \
    X(U64, 10, 8, "u64")                                                                           \
    X(I64, 11, 8, "i64")                                                                           \
    X(F64, 12, 8, "f64")

enum attn_gguf_type {
#define ATTN_GGUF_TYPE_ENUM(name, number, bytes, word) ATTN_GGUF_##name = (number),
    ATTN_GGUF_TYPE_MAP(ATTN_GGUF_TYPE_ENUM)
#undef ATTN_GGUF_TYPE_ENUM
        ATTN_N_GGUF_TYPE
};

/* A pair of the first file, with a position in its items. A copy has its own position. */
struct attn_gguf_pair {
    const char *key; /* ended by NUL */
    bool is_array;
    enum attn_gguf_type type; /* type of the value; if it is an array, of its items */
    uint64_t n; /* number of items that were not read yet; at first 1 if it is no array */
    const unsigned char *at, *end; /* the next item; the end of the items in the file */
};

size_t attn_gguf_n_pair(const struct attn_bundle *gguf);

/* Returns pair I of 0 .. n-1, in ascending order of key. */
struct attn_gguf_pair attn_gguf_pair(const struct attn_bundle *gguf, size_t i);
bool attn_gguf_find_pair(const struct attn_bundle *gguf, const char *key,
                         struct attn_gguf_pair *pair);

/* Get the value of KEY. A missing key leaves *out as it is. A size may be of any integer type, if
 * the value fits and is not negative; a real of any type of floating-point numbers. An array whose
 * items are all equal counts as one such item. All else is ATTN_FORMAT; the message names the key.
 */
enum attn_status attn_gguf_get_size(const struct attn_bundle *gguf, const char *key, size_t *out,
                                    struct attn_error *err);
enum attn_status attn_gguf_get_real(const struct attn_bundle *gguf, const char *key, double *out,
                                    struct attn_error *err);
enum attn_status attn_gguf_get_bool(const struct attn_bundle *gguf, const char *key, bool *out,
                                    struct attn_error *err);
/* Gets a string that lies in the file and has no NUL at its end. A missing key leaves *text as it
 * is. */
enum attn_status attn_gguf_get_text(const struct attn_bundle *gguf, const char *key,
                                    const char **text, size_t *size, struct attn_error *err);

/* Finds the pair of KEY, an array of TYPE. ATTN_FORMAT if it is none. If KEY is missing, PAIR is an
 * array without items. */
enum attn_status attn_gguf_get_array(const struct attn_bundle *gguf, const char *key,
                                     enum attn_gguf_type type, struct attn_gguf_pair *pair,
                                     struct attn_error *err);

/* Each reads the next item of PAIR, which must have the type of the function. False at the end, or
 * if the file was changed so that the item would lie outside of it. Integers become int64_t; a
 * larger u64 becomes INT64_MAX. */
bool attn_gguf_next_text(struct attn_gguf_pair *pair, const char **text, size_t *size);
bool attn_gguf_next_int(struct attn_gguf_pair *pair, int64_t *value);
bool attn_gguf_next_real(struct attn_gguf_pair *pair, double *value);
