/* gguf_vocabulary.h - the tokenizer in a GGUF file. */
#pragma once

#include "tokenizer/tokenizer_internal.h"

/* Reads TOKENIZER from the metadata of a GGUF file. */
enum attn_status attn_tokenizer_gguf_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);
