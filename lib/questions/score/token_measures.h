/* token_measures.h - what a decoder computes for each token of a text beside its surprisal: the
 * probability of a space, the entropy, the lens of each layer, and how the weights of heads move.
 * score/word_rows.c sums them over words. Private to lib/questions/score. */
#ifndef ATTN_SCORE_TOKEN_MEASURES_H
#define ATTN_SCORE_TOKEN_MEASURES_H

#include "score/score.h"
#include "stream/token_reader.h"

/*
 * The numbers of a token, in bits. p is the distribution before it, and S are the tokens that begin
 * with white space, and the end of the text.
 *
 *     SPACE           -log2 of the sum of p over S, if the token begins with white space and is
 *                     not the first of the text, else 0
 *     END             the same of the distribution after the last token; other tokens have none
 *     ENTROPY         -sum p log2 p
 *     NAE .. EMD      of its row of weights, the mean over the heads (cmd/manual/words.md)
 *     LENS + l        its surprisal if the stream before layer l is read by the output layer
 */
enum attn_token_number {
    ATTN_TOKEN_SPACE,
    ATTN_TOKEN_END,
    ATTN_TOKEN_ENTROPY,
    ATTN_TOKEN_NAE,
    ATTN_TOKEN_DNAE,
    ATTN_TOKEN_MD,
    ATTN_TOKEN_EMD,
    ATTN_TOKEN_LENS
};

/* What all texts share. Zeroed; attn_token_measures_release ends it. */
struct attn_token_measures {
    struct attn_token_reader reader; /* what attn_run_many takes; borrows from this struct */
    unsigned which;                  /* bits of enum attn_word_measure */
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer;
    float *spaces; /* [n_vocab] owns; 1 for the tokens of S, else 0; or NULL */
};

/* Initializes MEASURES for texts of the model of HOST. */
enum attn_status attn_token_measures_init(struct attn_token_measures *measures,
                                          struct attn_host *host,
                                          const struct attn_tokenizer *tokenizer, unsigned which,
                                          struct attn_error *err);
void attn_token_measures_release(struct attn_token_measures *measures);

#endif
