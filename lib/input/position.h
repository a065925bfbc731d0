/*
 * position.h - positions as a user names them: by number, or by a word of the text. For the files
 * of this layer and above.
 *
 *     attn_positions_number(&text, "0,it#2", &numbers, &err);    // "0,7": what selections take
 *
 * An item of a list that begins with a digit, `-` or `+`, and `all`, is a number as
 * trace/selection.h has it. Any other is a word:
 *
 *     it       the word, with or without the space before it      ' it'   only with that space
 *     it#2     the second time that it occurs                     "it#2"  these four characters
 *
 * In a protein `K17` is the residue K at position 17.
 *
 * A name among the sequence's places (struct attn_places) stands for the list that it names. In
 * quotes, with #N or with a space before it it is a word all the same.
 *
 * In a picture a place is `row,column` of a patch, `0-2,3-4` a rectangle of them, or [CLS] or
 * [REG0]; alone a number is that of a position.
 *
 * Bytes of the text that a mark has named (records/items.h) are "\x01BEGIN-END", which no user
 * writes.
 *
 * In double quotes a word may look like a number and hold commas, dashes and #. A word is found
 * where whole tokens make it and no letter or digit goes on with it on either side. One of several
 * tokens is all of them.
 */
#ifndef ATTN_INPUT_POSITION_H
#define ATTN_INPUT_POSITION_H

#include "input/sequence.h"

/* The list SPEC with numbers instead of words, owned by the caller (attn_free). ATTN_INVALID for a
 * word that does not occur, or occurs more than once and has no #N: the message lists the places;
 * and where tokens have no text. */
enum attn_status attn_positions_number(const struct attn_sequence *sequence, const char *spec,
                                       char **numbers, struct attn_error *err);

/* Sets the FLAGS [T] of the positions in the list SPEC; the others are left as they are. Stage
 * ATTN_STAGE_OPTIONS, as for the next two. */
enum attn_status attn_positions_find(const struct attn_sequence *sequence, const char *spec,
                                     unsigned char *flags, struct attn_error *err);

/* Finds the one position that SPEC names: a number, or a word, whose last token it is. FIELD is its
 * name in messages, "at". */
enum attn_status attn_position_find(const struct attn_sequence *sequence, const char *field,
                                    const char *spec, size_t *position, struct attn_error *err);

/* The same of neighbours, the first and the last in RANGE: FIRST-LAST, or all tokens of a word. */
enum attn_status attn_position_range(const struct attn_sequence *sequence, const char *field,
                                     const char *spec, size_t range[2], struct attn_error *err);

/* Where keys are looked up, and the flags that are set. All borrowed. */
struct attn_keys {
    const struct attn_config *config;
    const struct attn_sequence *text, *source;
    const struct attn_selection *heads; /* only keys that these attend to; NULL: all heads */
    unsigned char *of_text, *of_source; /* [T], [S] */
};

/* Sets the flags of the keys in the list SPEC: of the text for layers that attend to it, of the
 * source for layers that attend to that. If only one of the two has all of them, the flags of the
 * other are not set. */
enum attn_status attn_positions_find_keys(const struct attn_keys *keys, const char *spec,
                                          struct attn_error *err);

#endif
