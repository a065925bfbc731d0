/* file.h - one input file as bytes: mapped, read, or borrowed from a blob. */
#pragma once

#include "base/source.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_file {
    const unsigned char *data; /* [size]; not NULL once open, even if the file is empty */
    size_t size;               /* bytes */
    enum { ATTN_FILE_BORROWED, ATTN_FILE_MAPPED, ATTN_FILE_ALLOCATED, ATTN_FILE_HELD } storage;
    int descriptor; /* owns, for mapped and held files; -1 if too many files are open */
    size_t max;     /* for a held file: maximum size in bytes */
    char *path; /* owns; for messages: "gpt2/config.json", or "built-in/config.json" for a blob */
};

/* Opens PATH, which the user named: a regular file, or a pipe, which is read to its end and may
 * block. Directories and devices are errors. */
enum attn_status attn_file_open(const char *path, enum attn_load load, struct attn_file *file,
                                struct attn_error *err);

/* Opens PATH, which was found in a folder: a regular file, or a link to one. Never blocks. */
enum attn_status attn_file_open_regular(const char *path, enum attn_load load,
                                        struct attn_file *file, struct attn_error *err);

/* Opens such a file and reads it into memory. ATTN_FORMAT if it has more than MAX bytes. */
enum attn_status attn_file_read_regular(const char *path, size_t max, struct attn_file *file,
                                        struct attn_error *err);

/* Fails with ATTN_FORMAT if FILE is a pointer of Git LFS or, unless it IS_TEXT, a page of HTML,
 * which failed downloads leave. */
enum attn_status attn_file_check_kind(const struct attn_file *file, bool is_text,
                                      struct attn_error *err);

/* Opens part NAME of SOURCE: an override (attn_file_open), a blob, or a regular DIRECTORY/NAME. */
enum attn_status attn_file_open_part(const struct attn_source *source, const char *name,
                                     enum attn_load load, struct attn_file *file,
                                     struct attn_error *err);

/* X(part, bytes): maximum sizes of the text files beside the weights, several times the largest
 * known ones: 2 KB of config, 256,000 tokens (33 MB of tokenizer.json), 92,000 tensors in an
 * index. */
#define ATTN_TEXT_BOUND_MAP(X)                                                                     \
    X("config.json", 1 << 20)                                                                      \
    X("heads.json", 16 << 20)                                                                      \
    X("generation_config.json", 1 << 20)                                                           \
    X("preprocessor_config.json", 1 << 20)                                                         \
    X("processor_config.json", 1 << 20)                                                            \
    X("special_tokens_map.json", 2 << 20)                                                          \
    X("tokenizer_config.json", 16 << 20)                                                           \
    X("added_tokens.json", 16 << 20)                                                               \
    X("vocab.json", 16 << 20)                                                                      \
    X("vocab.txt", 16 << 20)                                                                       \
    X("merges.txt", 16 << 20)                                                                      \
    X("source.spm", 64 << 20)                                                                      \
    X("target.spm", 64 << 20)                                                                      \
    X("target_vocab.json", 64 << 20)                                                               \
    X("spiece.model", 64 << 20)                                                                    \
    X("sentencepiece.bpe.model", 64 << 20)                                                         \
    X("tokenizer.model", 64 << 20)                                                                 \
    X("tokenizer.json", 128 << 20)                                                                 \
    X("model.safetensors.index.json", 32 << 20)                                                    \
    X("pytorch_model.bin.index.json", 32 << 20)                                                    \
    X("meta.pkl", 16 << 20)                                                                        \
    X("tokenizer.bin", 16 << 20)

enum { ATTN_TEXT_MAX = 64 << 20 }; /* maximum bytes of any other part */

/* Reads part NAME of SOURCE into memory. ATTN_FORMAT if it exceeds its maximum size, without
 * reading further. */
enum attn_status attn_file_read_part(const struct attn_source *source, const char *name,
                                     struct attn_file *file, struct attn_error *err);

/* Like attn_file_read_part, but a regular file is only opened; attn_file_read_held reads it later.
 * If that fails, FILE is not changed. */
enum attn_status attn_file_hold_part(const struct attn_source *source, const char *name,
                                     struct attn_file *file, struct attn_error *err);
enum attn_status attn_file_read_held(struct attn_file *file, struct attn_error *err);

/* Return the path, or the blob, that replaces part NAME; NULL without a replacement. */
const char *attn_source_override(const struct attn_source *source, const char *name);
const struct attn_blob *attn_source_blob(const struct attn_source *source, const char *name);

/* Returns true if part NAME exists. It may still be unreadable. */
bool attn_source_has_part(const struct attn_source *source, const char *name);

/* Returns the memory of SIZE bytes at DATA, in a mapped file, to the system; they are read again
 * when they are next touched. For scattered reads, where the system reads ahead too much. */
void attn_file_drop_pages(const void *data, size_t size);

/* Copies SIZE bytes at DATA, in a mapped file, to COPY by reading the file, because touching pages
 * of a map is slower than a copy. Returns false if the file cannot be read; COPY is then
 * unspecified. */
bool attn_file_read_again(const struct attn_file *file, const void *data, size_t size, void *copy);

/* releases and zeroes; a zeroed struct is allowed */
void attn_file_release(struct attn_file *file);
