/*
 * token_times.h - when each token of a transcript was spoken, from the cross-attention of a model
 * of speech: the method of openai-whisper (timing.py) and of transformers.
 *
 *     attn_token_times(&pattern, &table, &err); // columns token, frame, begin, end
 *
 * The weights of each head are standardized over the tokens and smoothed by a median of 7 frames.
 * Dynamic time warping then finds the monotone path through the mean of the heads with the largest
 * sum. A token begins where the path first meets it, in frames of 0.02 s, and ends where the next
 * one begins.
 */
#ifndef ATTN_QUESTIONS_TOKEN_TIMES_H
#define ATTN_QUESTIONS_TOKEN_TIMES_H

#include "formats/ndarray.h"
#include "tables/table.h"

/* Computes the times of tokens from WEIGHTS [H, T, S] or [T, S], the patterns of the alignment
 * heads: T tokens, S frames. Leave out rows of tokens without a time, such as
 * <|startoftranscript|>, and frames after the end of the sound. The caller owns *table.
 * ATTN_INVALID for another rank, and for NaN or infinity. Needs 21 bytes for each token and
 * frame. */
ATTN_API enum attn_status attn_token_times(const struct attn_ndarray *weights,
                                           struct attn_table **table, struct attn_error *err);

#endif
