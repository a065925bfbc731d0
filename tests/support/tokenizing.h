/*
 * tokenizing.h - tokenizers from files written in the test, and assertions on what they give.
 */
#pragma once

#include "base/buffer.h"
#include "formats/json.h"
#include "tokenizer/tokenizer_internal.h"

#include <stddef.h>
#include <stdint.h>

/* The files of a tokenizer; NULL for those that are absent. */
struct attn_tokenizer_files {
    const char *config, *vocab, *merges, *added, *special, *hf_config;
};

enum attn_status attn_try_tokenizer(const struct attn_tokenizer_files *files,
                                    struct attn_tokenizer **tokenizer, struct attn_error *err);

/* The same by attn_tokenizer_open_lazily. */
enum attn_status attn_try_lazy_tokenizer(const struct attn_tokenizer_files *files,
                                         attn_note_fn on_note, void *user,
                                         struct attn_tokenizer **tokenizer, struct attn_error *err);

/* Fails the current test when the files are refused. */
struct attn_tokenizer *attn_make_tokenizer(const struct attn_tokenizer_files *files);

/* Fails the current test unless the files are refused with STATUS and exactly MESSAGE. */
void attn_assert_refused(const struct attn_tokenizer_files *files, enum attn_status status,
                         const char *message);

struct attn_expected_token {
    int32_t id;
    size_t begin, end;
};

/* Fails the current test unless TEXT has these N tokens. OPTIONS may be NULL: the default. */
void attn_assert_tokens(const struct attn_tokenizer *tokenizer, const char *text, size_t size,
                        const struct attn_encode_options *options,
                        const struct attn_expected_token *expected, size_t n);

/* Fails the current test unless TEXT is refused with exactly MESSAGE and HINT. */
void attn_assert_text_refused(const struct attn_tokenizer *tokenizer, const char *text, size_t size,
                              const struct attn_encode_options *options, const char *message,
                              const char *hint);

/* Calls TAKE for each line of PATH, a JSON object, and returns how many there are. */
size_t attn_each_case(char *path, const struct attn_tokenizer *tokenizer,
                      void (*take)(const struct attn_tokenizer *tokenizer,
                                   const struct attn_json *json));

const struct attn_node *attn_case_field(const struct attn_json *json, const char *key);

/* Fails the current test unless the tokens of TEXT have the ids of LIST. */
void attn_assert_ids(const struct attn_encoding *encoding, const struct attn_node *list,
                     const char *text);

/* Fails the current test unless the tokens of TEXT have the places of LIST, [begin, end] in bytes,
 * or, for a part of a character, some of its bytes. Tokens at the end that are not of the text have
 * none. */
void attn_assert_places(const struct attn_encoding *encoding, const struct attn_node *list,
                        const char *text);

/*
 * Writes the vocab.json of a byte-level BPE to OUT: token b is byte b, then 256, 257, ... are
 * TOKENS [n], written as in the file (a space is "\\u0120").
 */
void attn_write_byte_vocabulary(struct attn_buffer *out, const char *const *tokens, size_t n);
