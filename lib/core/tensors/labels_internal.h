/* labels_internal.h - the pictures in the text of a run, beside its labels (output.h), which have
 * no room for more fields. */
#pragma once

#include "tensors/output.h"

struct attn_picture_prompt; /* towers/prompt/picture_prompt.h */

/* `maps` of struct attn_labels points to the first member. */
struct attn_labels_pictures {
    struct attn_picture_maps *maps[2]; /* own; of the last feed, and of the neutral question */
    void (*free_maps)(struct attn_picture_maps *maps); /* set if there are some */
    const struct attn_picture_prompt *prompt;
};

/* Returns the pictures in the text; NULL if there are none. */
static inline const struct attn_picture_prompt *attn_labels_prompt(const struct attn_labels *labels)
{
    const void *maps = labels->maps;
    const struct attn_labels_pictures *pictures = maps;

    return pictures ? pictures->prompt : NULL;
}
