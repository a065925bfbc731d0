/*
 * log_mel.h - the spectrogram that a model of speech reads, made of samples as
 * WhisperFeatureExtractor of transformers makes it.
 *
 *     ATTN_TRY(attn_log_mel_make(model, samples, pool, &mel, err));
 *     ... mel.data [n_mel, 2 n_ctx] ...
 *     attn_free((void *)(uintptr_t)mel.data);
 *
 * Frames of n_fft samples with the periodic Hann window, centred on every n_hop-th sample, mirrored
 * at both ends; their power in bands of the mel scale (Slaney's, of area 1); log10, at least -10
 * and at most 8 below the largest; (x + 4) / 4. All sums are in double precision.
 */
#ifndef ATTN_SOUND_LOG_MEL_H
#define ATTN_SOUND_LOG_MEL_H

#include "base/status.h"
#include "formats/ndarray.h"

struct attn_model;
struct attn_pool;

/* Returns the number of samples that MODEL, an encoder of sound, hears. */
size_t attn_log_mel_n_sample(const struct attn_model *model);

/* Makes MEL, whose data the caller frees, of SAMPLES for the encoder MODEL. Fewer samples are
 * followed by silence, more are left out. ATTN_UNSUPPORTED if preprocessor_config.json asks for
 * anything else. */
enum attn_status attn_log_mel_make(const struct attn_model *model,
                                   const struct attn_ndarray *samples, struct attn_pool *pool,
                                   struct attn_ndarray *mel, struct attn_error *err);

#endif
