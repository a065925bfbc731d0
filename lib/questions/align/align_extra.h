/* align_extra.h - tables that are no questions: links between words, times of spoken tokens. */
#ifndef ATTN_ALIGN_ALIGN_EXTRA_H
#define ATTN_ALIGN_ALIGN_EXTRA_H

#include "formats/ndarray.h"
#include "run/run.h"
#include "tables/table.h"

/*
 * Scores links between words that another program made (fast_align, eflomal,
 * SimAlign), against links made by people. Needs no model.
 *
 *     attn_link_scores("forward.talp", "gold.txt:1", &table, &err); // n, ..., recall, aer
 *
 * A file has a line for each pair of texts, in the form of Pharaoh: "0-0 1-2", words of the source
 * and of the text. "1p2" and "1?2" are possible links of gold.
 * Words count from 0, or from 1 if ":1" follows the name of the file.
 */

/* Counts over all lines of both files, and precision, recall and alignment error rate
 * (align/align.h). A pair without gold links counts, too. The caller owns *table. ATTN_INVALID
 * for other numbers of lines, other forms of links, and words above 4095. */
ATTN_API enum attn_status attn_link_scores(const char *links, const char *gold,
                                           struct attn_table **table, struct attn_error *err);

/*
 * When each token of a transcript was spoken, from the cross-attention of a model
 * of speech: the method of openai-whisper (timing.py) and of transformers.
 *
 *     attn_token_times(&pattern, &table, &err); // columns token, frame, begin, end
 *
 * The weights of each head are standardized over the tokens and smoothed by a median of 7 frames.
 * Dynamic time warping then finds the monotone path through the mean of the heads with the largest
 * sum. A token begins where the path first meets it, in frames of 0.02 s, and ends where the next
 * one begins.
 */

/* Computes the times of tokens from WEIGHTS [H, T, S] or [T, S], the patterns of the alignment
 * heads: T tokens, S frames. Leave out rows of tokens without a time, such as
 * <|startoftranscript|>, and frames after the end of the sound. The caller owns *table.
 * ATTN_INVALID for another rank, and for NaN or infinity. Needs 21 bytes for each token and
 * frame. */
ATTN_API enum attn_status attn_token_times(const struct attn_ndarray *weights,
                                           struct attn_table **table, struct attn_error *err);

/*
 * When each word of a transcript was spoken, by the cross-attention of a model of
 * speech.
 *
 *     struct attn_ndarray sound = {.rank = 1, .shape = {n, 1}, .data = values};
 *     request.source.embeddings = &sound; // samples, 16,000 a second
 *     attn_speech_times(host, &request, NULL, &table, &err);
 */

/*
 * Runs the text or ids of REQUEST, the transcript after a start token, over its source, a sound or
 * a spectrogram. HEADS are those of cross-attention that align, as in selections, "cross:2.1";
 * NULL: `alignment_heads` of the model's generation_config.json, or without it all of the upper
 * half of the layers, with a note, as openai-whisper. The steps are those of its timing.py: an end
 * token is added if it is missing, frames after the end of a sound are left out and rows divided
 * by their sums, a token has the row of the token before it, which predicts it, and weights are
 * standardized over all rows. The table has a row for each word, a run without white space, or for
 * each id between the first and the end token:
 *
 *     word_index, word, begin, end       in seconds
 *
 * Tokens that the tokenizer added, and special ones in the text, have no time. The caller owns
 * *table. Errors have a stage: ATTN_INVALID without a source, for a model that does not hear, for
 * heads that attend to no source, and for a text without a token before its first word.
 */
ATTN_API enum attn_status attn_speech_times(struct attn_host *host,
                                            const struct attn_request *request, const char *heads,
                                            struct attn_table **table, struct attn_error *err);

#endif
