/*
 * charsmap.h - the stage of a charsmap of SentencePiece, in the way of the library tokenizers
 * (`Precompiled`).
 *
 * A charsmap maps characters to replacements: a trie, and the strings that it leads to. The text is
 * processed in grapheme clusters. A cluster of less than 6 bytes that begins with a prefix in the
 * trie is replaced whole by the replacement of its shortest such prefix, so marks after it are
 * lost; in other clusters each character is replaced. SentencePiece itself takes the longest prefix
 * and continues after it.
 */
#ifndef ATTN_TOKENIZER_STAGES_CHARSMAP_H
#define ATTN_TOKENIZER_STAGES_CHARSMAP_H

#include "tokenizer/pipeline.h"

/*
 * Adds a stage of the charsmap that TEXT [size] is in base64: the bytes of the trie (u32), the
 * trie, and strings that end with NUL. ATTN_FORMAT, naming NAME, for malformed base64, wrong sizes,
 * a trie with offsets out of range, and strings that are not UTF-8.
 */
enum attn_status attn_charsmap_add(struct attn_pipeline *pipeline, const char *text, size_t size,
                                   const char *name, struct attn_error *err);

#endif
