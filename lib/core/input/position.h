/* clang-format off */
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
 * Further forms are a text, characters of the text, and a text from the item:
 *
 *     "The keys are rusty."    any text in double quotes, which occurs once, or #N follows
 *     chars:120:480            characters, counted in code points as in Python's text[120:480]
 *     key:NAME                 the text in the key NAME of the item; #N may follow
 *
 * They have all tokens that share with them a character that is not white space. A text that whole
 * words and whole tokens make somewhere is only looked for there.
 *
 * In a protein `K17` is the residue K at position 17.
 *
 * A name among the sequence's places (struct attn_places) stands for the list that it names. In
 * quotes, with #N or with a space before it it is a word all the same.
 *
 * In a picture a place is `row,column` of a patch, `0-2,3-4` a rectangle of them, or [CLS] or
 * [REG0]; alone a number is that of a position.
 *
 * Bytes of the text that a mark has named (stream/items.h) are "\x01BEGIN-END", which no user
 * writes.
 *
 * In double quotes a text may look like a number and hold commas, dashes and #. A word is found
 * where whole tokens make it and no letter or digit goes on with it on either side. One of several
 * tokens is all of them.
 */
/* clang-format on */
#pragma once

#include "input/input_extra.h"
#include "input/sequence.h"
#include "params/param.h"
#include "trace/lists.h"

/* In lists of places, the names of the texts that `key:NAME` finds begin so. Their SPEC is the text
 * itself. */
#define ATTN_PLACE_KEY "key:"

/* The parameter that names positions, in a struct attn_places. */
extern const struct attn_param_list attn_place_params;

/* Checks that all of PLACES, which may be NULL, and of the lists after it have names and positions.
 */
enum attn_status attn_places_check(const struct attn_places *places, struct attn_error *err);

/* Replaces the words of the list SPEC by numbers. The caller frees the result (attn_free).
 * ATTN_INVALID for a word that does not occur, for a word that occurs more than once and has no #N
 * (the message lists its positions), and if tokens have no text. */
enum attn_status attn_positions_number(const struct attn_sequence *sequence, const char *spec,
                                       char **numbers, struct attn_error *err);

/* Finds the one position that LIST names: a number, or the last token of a word. FIELD is the
 * field's name in messages, "at". */
enum attn_status attn_position_find(const struct attn_sequence *sequence, const char *field,
                                    const struct attn_number_list *list, size_t *position,
                                    struct attn_error *err);

/* Finds a range of positions, FIRST-LAST or all tokens of a word. RANGE receives the first and the
 * last. */
enum attn_status attn_position_range(const struct attn_sequence *sequence, const char *field,
                                     const struct attn_number_list *list, size_t range[2],
                                     struct attn_error *err);

/* The sequences in which keys are looked up, and the flags to set. All borrowed. */
struct attn_keys {
    const struct attn_config *config;
    const struct attn_sequence *text, *source;
    const struct attn_selection *heads; /* only keys of these heads; NULL: all heads */
    unsigned char *of_text, *of_source; /* [T] for the text, [S] for the source */
};

/* Sets the flags of the keys in LIST, in the text for self-attention and in the source for
 * attention to the source. If only one of the two sequences has all keys of the list, the flags of
 * the other do not change. */
enum attn_status attn_positions_find_keys(const struct attn_keys *keys,
                                          const struct attn_number_list *list,
                                          struct attn_error *err);
