/*
 * second_sequence.h - what layers with cross-attention attend to: --source, a text or an array.
 */
#ifndef CMD_SECOND_SEQUENCE_H
#define CMD_SECOND_SEQUENCE_H

#include "array.h"
#include "options.h"
#include "token_texts.h"

#include "attn.h"

/* --source, which fills a const char *. */
extern const struct option_group source_options;

/* A text's rows are those of the embedding. Initialize with = {0}; end with _release. */
struct second_sequence {
    const float *x; /* [n, d_source] */
    size_t n;       /* 0: there is none */
    struct attn_encoding encoding;
    struct token_texts tokens; /* [n], empty for an array */
    struct array array;
    float *embedded; /* owned */
};

/* Whether VALUE is the name of an array: it ends in .npy. */
bool second_sequence_is_array(const char *value);

/* Whether VALUE, which may be NULL, is what MODEL needs. Reports and returns an exit code. */
int second_sequence_check(const char *value, const struct attn_model *model);

/* Reads VALUE; NULL gives none. TOKENIZER may be NULL for arrays. Reports and returns an exit
 * code. */
int second_sequence_read(const char *value, const struct attn_model *model,
                         const struct attn_tokenizer *tokenizer, enum attn_special special,
                         struct second_sequence *second);
void second_sequence_release(struct second_sequence *second);

#endif
