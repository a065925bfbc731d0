/*
 * first_sequence.h - what a model reads: tokens of a text, ids in place of them, or embeddings in
 * place of these.
 */
#ifndef CMD_FIRST_SEQUENCE_H
#define CMD_FIRST_SEQUENCE_H

#include "array.h"
#include "prompt.h"

#include "attn.h"

/* Initialize with = {0}; end with first_sequence_release. */
struct first_sequence {
    size_t n;     /* positions */
    int32_t *ids; /* [n]; owned when they were given, else those of the encoding; NULL for
                     embeddings */
    struct attn_encoding encoding; /* of a text */
    struct array embeds;           /* [n, d_model], or empty */
    struct text text;
};

/*
 * Reads what ARGS (checked by prompt_check) say. TOKENIZER may be NULL unless there is a text.
 * EXAMPLE is the hint for a text that is empty. Reports what does not fit MODEL, and returns an exit
 * code.
 */
int first_sequence_read(const struct prompt_args *args, const struct attn_model *model,
                        const struct attn_tokenizer *tokenizer, const char *example,
                        struct first_sequence *first);
void first_sequence_release(struct first_sequence *first);

#endif
