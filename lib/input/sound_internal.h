/*
 * sound_internal.h - reads sound from a file: WAV, FLAC, OGG and what else libsndfile reads.
 * Nothing else needs that library, which is opened when a sound is read.
 *
 *     struct attn_ndarray samples = {0};
 *     if (attn_sound_is_file("speech.wav"))
 *         status = attn_sound_read("speech.wav", &samples, &err);
 *     attn_free((void *)(uintptr_t)samples.data);
 */
#ifndef ATTN_INPUT_SOUND_INTERNAL_H
#define ATTN_INPUT_SOUND_INTERNAL_H

#include "base/status.h"
#include "formats/ndarray.h"

/* Samples a second that models of speech take. */
enum { ATTN_SOUND_RATE = 16000 };

/* Whether the regular file PATH begins as a WAV, FLAC or OGG does. */
bool attn_sound_is_file(const char *path);

/* Reads the sound in PATH, of ATTN_SOUND_RATE, as *samples: the mean of its channels, from -1 to 1,
 * of rank 1 (attn_ndarray_is_sound). The first 17 minutes are read. Its name borrows PATH; the
 * caller frees its data. ATTN_UNSUPPORTED for another rate, with the commands that convert it;
 * ATTN_IO without libsndfile. */
enum attn_status attn_sound_read(const char *path, struct attn_ndarray *samples,
                                 struct attn_error *err);

#endif
