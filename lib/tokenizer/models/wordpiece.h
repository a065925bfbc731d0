/*
 * wordpiece.h - the model of BERT (Wu et al. 2016): a word is split into the longest tokens from
 * its beginning on, and the tokens after the first have a prefix, "##". A word for which that does
 * not work, or that is too long, is one unknown token.
 */
#ifndef ATTN_TOKENIZER_MODELS_WORDPIECE_H
#define ATTN_TOKENIZER_MODELS_WORDPIECE_H

#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

/* Initialize with = {0}, set the first ones; attn_wordpiece_model_finish before it encodes. End
 * with attn_wordpiece_model_release. */
struct attn_wordpiece_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    char *prefix;           /* owns; [n_prefix] and a NUL, of tokens after the first; NULL: none */
    size_t n_prefix;
    char *unk; /* owns; [n_unk] the key for unknown words */
    size_t n_unk;
    size_t max_character; /* characters of a word; longer words are unknown */
    size_t n_longest;     /* bytes of the longest key */
    int32_t unk_id;       /* of `unk`, -1 when the vocabulary lacks it */
};

/* Finds the tokens that the rest is made of; the vocabulary is there by now. */
void attn_wordpiece_model_finish(struct attn_wordpiece_model *model);
void attn_wordpiece_model_release(struct attn_wordpiece_model *model);

/* The stage; its data is a struct attn_wordpiece_model, which it borrows. */
extern const struct attn_text_stage_kind attn_wordpiece_stage;

#endif
