/* input_extra.h - what an input has, which of its positions a list names, and unusual spaces in it.
 */
#ifndef ATTN_INPUT_INPUT_EXTRA_H
#define ATTN_INPUT_INPUT_EXTRA_H

#include "input/input.h"
#include "trace/lists.h"

struct attn_sequence;

/* Initialize with = {0}: no space is missing or superfluous. */
struct attn_spaces {
    /* Which text would be glued to the preceding word: "target", "foil" or "continuation"; NULL if
     * no text would be. */
    const char *what;
    const char *text; /* its text; borrowed */
    bool is_at_end;   /* the text ends in a space */
};

/* Whether INPUT has anything to read as a sequence, and whether that is text, which needs a
 * tokenizer. */
ATTN_API bool attn_input_is_given(const struct attn_input *input);
ATTN_API bool attn_input_is_text(const struct attn_input *input);

/* Sets the FLAGS [T] of the positions in LIST to 1 and leaves the others unchanged. Errors have the
 * stage ATTN_STAGE_OPTIONS. */
ATTN_API enum attn_status attn_positions_find(const struct attn_sequence *sequence,
                                              const struct attn_number_list *list,
                                              unsigned char *flags, struct attn_error *err);

#endif
