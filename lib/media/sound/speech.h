/* speech.h - what a model of speech says of its sound: its spectrogram, and the times of words. */
#pragma once

#include "model/model_internal.h"

struct attn_speech {
    size_t n_fft, n_hop;       /* samples in a frame, and from one frame to the next */
    struct attn_error failure; /* why sound cannot be read; arrays can */
    char *alignment_heads; /* owns the heads that align words with sound, "cross:2.1"; or NULL */
    size_t n_median;       /* frames of the median filter */
    struct attn_error bad_heads, bad_median; /* why one of them is wrong */
};
