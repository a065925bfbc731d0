/*
 * sound.h - reads sound from a file, for models of speech: WAV, FLAC, OGG and what else libsndfile
 * reads. Nothing else needs that library, which is opened when a sound is read.
 *
 *     struct attn_ndarray samples = {0};
 *     attn_sound_read("speech.wav", &samples, &err);
 *     request.source.embeddings = &samples;
 *     ...
 *     attn_ndarray_release(&samples);
 */
#ifndef ATTN_SOUND_SOUND_H
#define ATTN_SOUND_SOUND_H

#include "base/status.h"
#include "formats/ndarray.h"

/* Reads the sound in PATH, of 16,000 samples a second, as *samples: the mean of its channels, from
 * -1 to 1, of rank 1. Its first 17 minutes are read. The name of *samples borrows PATH.
 * ATTN_UNSUPPORTED for another rate, with the commands that convert it; ATTN_IO without libsndfile.
 */
ATTN_API enum attn_status attn_sound_read(const char *path, struct attn_ndarray *samples,
                                          struct attn_error *err);

#endif
