/* tokenizer_ranks.h - tokenizers that are ranks of tokens: a pickle of tiktoken's Encoding, as
 * nanochat saves it; tiktoken's list and Mistral's tekken.json, which become such a pickle. */
#pragma once

#include "base/buffer.h"
#include "base/file.h"
#include "foreign/pickle.h"

/* Whether PICKLE is an object, as Encoding is, or has its keys. */
bool attn_ranks_is_pickle(const struct attn_pickle *pickle);

/* Writes the tokenizer of PICKLE, whose file is PATH, to JSON in the form of tokenizer.json. */
enum attn_status attn_ranks_write(const struct attn_pickle *pickle, const char *path,
                                  struct attn_buffer *json, struct attn_error *err);

/* Writes the pickle of an Encoding to PICKLE, with the further keys `bos`, the token in front of
 * each text, and `nfc`. FILE is a tekken.json, or a list of tiktoken, which has no pattern: the
 * class of SOURCE, the model that it is for, says it, else it is ATTN_UNSUPPORTED. */
enum attn_status attn_ranks_from_text(const struct attn_file *file,
                                      const struct attn_source *source, struct attn_buffer *pickle,
                                      struct attn_error *err);
