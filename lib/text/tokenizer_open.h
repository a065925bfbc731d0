/*
 * tokenizer_open.h - a tokenizer that reads no more than it is asked for.
 *
 *     attn_tokenizer_open_lazily(&source, NULL, NULL, &tokenizer, &err);
 *     attn_tokenizer_decode(tokenizer, ids, n, &text, &size, &err);       // no merges are read
 */
#ifndef ATTN_TEXT_TOKENIZER_OPEN_H
#define ATTN_TEXT_TOKENIZER_OPEN_H

#include "text/tokenizer.h"

/*
 * The same as attn_tokenizer_open, but reads what only encoding takes, merges above all, when the
 * first text is encoded. What is wrong with it is a failure of encoding then, at
 * ATTN_STAGE_MODEL; ON_NOTE, which may be NULL, gets what is odd, on the thread that encodes.
 * Blobs of SOURCE are borrowed until the tokenizer is closed.
 */
enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err);

/* What is odd about the vocabulary and no failure, as a line to report; NULL: nothing. Borrowed. */
const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer);

/* Likewise for those who ask for details: that vocab.json beside tokenizer.json was not read. */
const char *attn_tokenizer_detail(const struct attn_tokenizer *tokenizer);

#endif
