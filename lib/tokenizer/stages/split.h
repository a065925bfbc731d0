/*
 * split.h - stages that split a slice into pieces, at the matches of a pattern or by characters.
 */
#ifndef ATTN_TOKENIZER_STAGES_SPLIT_H
#define ATTN_TOKENIZER_STAGES_SPLIT_H

#include "tokenizer/pipeline.h"
#include "tokenizer/regex.h"

/*
 * Each match is a piece, and so is the text between two matches (Isolated). The data is a struct
 * attn_regex, which the stage owns. Malformed bytes are separate pieces, which go to the model.
 */
extern const struct attn_text_stage_kind attn_split_isolated;

/* A match ends the piece before it, and after another match is a piece (MergedWithPrevious). */
extern const struct attn_text_stage_kind attn_split_after;

/* The same from right to left: a match begins the piece after it (MergedWithNext). */
extern const struct attn_text_stage_kind attn_split_before;

/* The text between two matches is a piece; the matches are left out (Removed). */
extern const struct attn_text_stage_kind attn_split_removed;

/* Each match is a piece; the text between two matches is left out (Removed, inverted). */
extern const struct attn_text_stage_kind attn_split_matches;

/* The text between white space is a piece. No data. */
extern const struct attn_text_stage_kind attn_split_white_space;

/* The same, and each punctuation character is one by itself, as BERT has it (character_class.h). No
 * data. */
extern const struct attn_text_stage_kind attn_split_bert;

#endif
