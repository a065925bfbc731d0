/* tokenizer_lists.h - tiktoken's list and Mistral's tekken.json as what tokenizer_ranks.h reads. */
#ifndef ATTN_FOREIGN_TOKENIZER_LISTS_H
#define ATTN_FOREIGN_TOKENIZER_LISTS_H

#include "base/buffer.h"
#include "base/file.h"

/* Writes the pickle of an Encoding to PICKLE, with the further keys `bos`, the token in front of
 * each text, and `nfc`. FILE is a tekken.json, or a list of tiktoken, which has no pattern: the
 * class of SOURCE, the model that it is for, says it, else it is ATTN_UNSUPPORTED. */
enum attn_status attn_ranks_from_text(const struct attn_file *file,
                                      const struct attn_source *source, struct attn_buffer *pickle,
                                      struct attn_error *err);

#endif
