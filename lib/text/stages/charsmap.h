/*
 * charsmap.h - the stage of a charsmap of SentencePiece, in the way of the library tokenizers
 * (`Precompiled`).
 *
 * A charsmap says which characters become which others: a trie, and the strings that it leads to.
 * The text goes in grapheme clusters. One of less than 6 bytes that begins with what the trie has
 * is replaced whole by what its shortest such prefix becomes, so marks after that are lost; of
 * others each character is. SentencePiece itself takes the longest prefix and goes on after it.
 */
#ifndef ATTN_TEXT_STAGES_CHARSMAP_H
#define ATTN_TEXT_STAGES_CHARSMAP_H

#include "text/pipeline.h"

/*
 * Adds a stage of the charsmap that TEXT [size] is in base64: the bytes of the trie (u32), the
 * trie, and strings that end with NUL. ATTN_FORMAT, naming NAME, when it is no base64, when its
 * sizes are others than it says, when the trie leads out of it, and for strings that are not
 * UTF-8.
 */
enum attn_status attn_charsmap_add(struct attn_pipeline *pipeline, const char *text, size_t size,
                                   const char *name, struct attn_error *err);

#endif
