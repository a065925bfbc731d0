/* recording_pixels.h - what a session tells of a picture. */
#pragma once

#include "tests/support/recording.h"

/* As attn_recording_run, of a picture, PIXELS [n_channel, height, width]. */
enum attn_status attn_recording_run_pixels(struct attn_recording *recording,
                                           const struct attn_model *model,
                                           const struct attn_session_options *options,
                                           const float *pixels, const size_t size[2],
                                           struct attn_error *err);
