/*
 * bert.h - the stages of BERT's normalizer, and one that is like them. None needs data.
 */
#ifndef ATTN_TOKENIZER_STAGES_BERT_H
#define ATTN_TOKENIZER_STAGES_BERT_H

#include "tokenizer/pipeline.h"

/* Which steps are taken. */
struct attn_bert_normalizer {
    bool cleans;     /* controls are left out, white space becomes spaces */
    bool sets_apart; /* spaces around ideographs */
    bool strips_accents;
    bool lowers;
};

/* Adds the stages of the normalizer, in its order. */
enum attn_status attn_bert_add_normalizer(struct attn_pipeline *pipeline,
                                          const struct attn_bert_normalizer *normalizer,
                                          struct attn_error *err);

/* Controls are left out (character_class.h). */
extern const struct attn_text_stage_kind attn_bert_clean;

/* Each white space becomes a space. */
extern const struct attn_text_stage_kind attn_bert_blank;

/* A space is put on each side of ideographs. */
extern const struct attn_text_stage_kind attn_bert_set_apart;

/* Accents are left out: after the normal form D that leaves letters without them. */
extern const struct attn_text_stage_kind attn_bert_strip_accents;

/* Marks of all kinds are left out. */
extern const struct attn_text_stage_kind attn_bert_strip_marks;

#endif
