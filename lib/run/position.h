/*
 * position.h - positions as a user names them: by number, or by a word of the text. For the files
 * of this layer and above.
 *
 *     attn_positions_number("0,it#2", &text, &numbers, &err);    // "0,7": what selections take
 *
 * An item of a list that begins with a digit, `-` or `+`, and `all`, is a number as
 * trace/selection.h has it. Any other is a word:
 *
 *     it       the word, with or without the space before it      ' it'   only with that space
 *     it#2     the second time that it occurs                     "it#2"  these four characters
 *
 * In a picture a place is `row,column` of a patch, `0-2,3-4` a rectangle of them, or [CLS] or
 * [REG0]; alone a number is that of a position.
 *
 * In double quotes a word may look like a number and hold commas, dashes and #. A word is found
 * where whole tokens make it and no letter or digit goes on with it on either side. One of several
 * tokens is all of them.
 */
#ifndef ATTN_RUN_POSITION_H
#define ATTN_RUN_POSITION_H

#include "run/run.h"
#include "run/sequence.h"

/* The list SPEC with numbers in the place of words, owned by the caller (attn_free), of the
 * SEQUENCE that was made of INPUT. ATTN_INVALID for a word that does not occur, or occurs more than
 * once and has no #N: the message lists the places; and where tokens have no text. */
enum attn_status attn_positions_number(const char *spec, const struct attn_input *input,
                                       const struct attn_sequence *sequence, char **numbers,
                                       struct attn_error *err);

/* The one position that SPEC means in the text of RUN: a number, or a word, of which it is the last
 * token. FIELD is what messages call it, "at". Stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_run_find_position(const struct attn_run *run, const char *field,
                                        const char *spec, size_t *position, struct attn_error *err);

/* Sets those of FLAGS [T], which are 0 before, that SPEC means: a list. Likewise. */
enum attn_status attn_run_find_positions(const struct attn_run *run, const char *spec,
                                         unsigned char *flags, struct attn_error *err);

/* Whether positions are meant: of the text [T], of the source [S]; 0 before. */
struct attn_key_flags {
    unsigned char *text, *source;
};

/* Sets what SPEC means of the keys that HEADS, NULL: all, look at: of the text where they are in
 * layers that attend to it, of the source where they attend to that. Only one of the two need have
 * all of them: of the other none is set. Likewise. */
enum attn_status attn_run_find_keys(const struct attn_run *run, const struct attn_selection *heads,
                                    const char *spec, struct attn_key_flags flags,
                                    struct attn_error *err);

/* Likewise of FLAGS [S], rows of the source of RUN: numbers count them, and words are its words. */
enum attn_status attn_run_find_source_positions(const struct attn_run *run, const char *spec,
                                                unsigned char *flags, struct attn_error *err);

#endif
