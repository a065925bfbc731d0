/* nanochat_stream.h - what nanochat of 2026 does to the stream beside its blocks. */
#pragma once

#include "forward/forward_internal.h"

enum { ATTN_N_SMEAR = 24 }; /* components of the stream that its gate reads */

extern const struct attn_stream_steps attn_nanochat_stream;
