/*
 * speech_times.h - when each word of a transcript was spoken, by the cross-attention of a model of
 * speech (token_times.h).
 *
 *     struct attn_ndarray sound = {.rank = 1, .shape = {n, 1}, .data = values};
 *     request.source.embeddings = &sound; // samples, 16,000 a second
 *     attn_speech_times(host, &request, NULL, &table, &err);
 */
#ifndef ATTN_QUESTIONS_SPEECH_TIMES_H
#define ATTN_QUESTIONS_SPEECH_TIMES_H

#include "run/run.h"
#include "tables/table.h"

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
