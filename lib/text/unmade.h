/*
 * unmade.h - tokens of a byte-level vocabulary that no text can have: they are neither a byte, nor
 * what a merge makes, nor special. They show that a merges.txt was cut. With such a file texts
 * would get other ids.
 *
 * GPT-2 has none: its 50,257 tokens are 256 bytes, what 50,000 merges make, and <|endoftext|>.
 * Others have a few that people added by hand, like RoBERTa's <mask> and madeupword0000. A merge
 * cannot make those, since it joins what lies within one piece of a text (split.h) and they are
 * several. So:
 *
 *     one piece, three or more    the list is not the vocabulary's own: refused
 *     one piece, one or two       a note
 *     several pieces              a note
 */
#ifndef ATTN_TEXT_UNMADE_H
#define ATTN_TEXT_UNMADE_H

#include "text/bpe_model.h"
#include "text/pattern.h"

/*
 * Looks for them in the vocabulary of MODEL, which has its merges and bytes by now; IS_SPECIAL
 * [n_vocab] are no such tokens, and PATTERN splits texts. PATH is that of the merges, for messages.
 * ATTN_FORMAT where the list is refused. *note is a line to tell the user, which the caller owns, or
 * NULL.
 */
enum attn_status attn_unmade_check(const struct attn_bpe_model *model, const bool *is_special,
                                   const struct attn_pattern *pattern, const char *path,
                                   char **note, struct attn_error *err);

#endif
