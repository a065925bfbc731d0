/*
 * tokenizer_files.h - tokenizers from vocab.json and what stands beside it: byte-level BPE with
 * merges.txt, words, characters.
 */
#ifndef ATTN_TEXT_TOKENIZER_FILES_H
#define ATTN_TEXT_TOKENIZER_FILES_H

#include "text/tokenizer_internal.h"

/* Sets up TOKENIZER, which is zeroed, from the files of SOURCE. */
enum attn_status attn_tokenizer_files_read(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           struct attn_error *err);

#endif
