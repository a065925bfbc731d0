/* vocabularies_internal.h - readers of files of vocabularies. */
#pragma once

#include "tokenizer/tokenizer_internal.h"

/* Reads TOKENIZER from BERT's vocab.txt. */
enum attn_status attn_tokenizer_bert_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err);

/* Reads TOKENIZER from SentencePiece's files by the rules of ROW: tokenizer.model; or source.spm,
 * target.spm and vocab.json; or spiece.model. */
enum attn_status attn_tokenizer_spm_read(struct attn_tokenizer *tokenizer,
                                         const struct attn_source *source,
                                         const struct attn_class *found,
                                         const struct attn_class_row *row, struct attn_error *err);

/* Whether SOURCE has source.spm or target.spm of Marian. If only one is missing, it is reported,
 * because vocab.json is not a vocabulary then. */
bool attn_tokenizer_spm_is_marian(const struct attn_source *source);

/* A token that merges can make, with its score. */
struct attn_scored_token {
    float score;
    int32_t id;
};

/* Derives the merges of TOKENIZER, a BPE, from TOKENS [n], which it sorts. The vocabulary must be
 * indexed. */
enum attn_status attn_scored_merge(struct attn_tokenizer *tokenizer,
                                   struct attn_scored_token *tokens, size_t n,
                                   struct attn_error *err);
