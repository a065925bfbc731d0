/*
 * unigram.h - the model of SentencePiece's unigram language model (Kudo 2018): of all ways to write
 * a piece of text in tokens, the one whose scores have the highest sum.
 *
 * Sums are double. Of equal ones the one that is found first is taken: its last token begins
 * earliest. A character that is no token by itself may be unknown, at the lowest score minus 10;
 * neighbours that are unknown make one token.
 */
#ifndef ATTN_TOKENIZER_MODELS_UNIGRAM_H
#define ATTN_TOKENIZER_MODELS_UNIGRAM_H

#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

/* Initialize with = {0}, set the first ones; attn_unigram_model_finish before it encodes. End with
 * attn_unigram_model_release. */
struct attn_unigram_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    double *scores;         /* owns; [n] by id */
    size_t n, capacity;
    int32_t unk_id; /* or -1: unknown characters are errors */
    /* Unknown text becomes the tokens <0xHH> of its bytes, if all of them exist. */
    bool has_byte_fallback;
    double unk_score;
    size_t n_longest;          /* bytes of the longest key */
    int32_t fallback_ids[256]; /* of <0xHH>, or -1 */
};

/*
 * Reads a score, a number of JSON, as the library tokenizers does: its last bit may differ from the
 * nearest double, which decides between equal sums. False if it is infinite.
 */
bool attn_unigram_parse_score(const char *text, size_t size, double *score);

/* Computes the other fields; the vocabulary is complete by now. */
void attn_unigram_model_finish(struct attn_unigram_model *model);
void attn_unigram_model_release(struct attn_unigram_model *model);

/* The stage; its data is a struct attn_unigram_model, which it borrows. */
extern const struct attn_text_stage_kind attn_unigram_stage;

#endif
