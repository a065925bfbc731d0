/* sound_internal.h - which files are sounds, for options and keys that also take arrays; and the
 * part of attn_sound_read that uses libsndfile, which a static program lacks. */
#pragma once

#include "sound/sound.h"

#include <stdbool.h>

/* Samples a second that models of speech take. */
enum { ATTN_SOUND_RATE = 16000 };

/* Whether the regular file PATH begins as a WAV, FLAC or OGG does. */
bool attn_sound_is_file(const char *path);

/* Reads the file PATH of a source: a sound, or an array [S, d_source]. */
enum attn_status attn_source_file_read(const char *path, struct attn_ndarray *rows,
                                       struct attn_error *err);

/* As attn_sound_read, of a file that can be opened. */
enum attn_status attn_sound_file_read(const char *path, struct attn_ndarray *samples,
                                      struct attn_error *err);
