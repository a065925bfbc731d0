/* nanochat_stream.h - what nanochat of 2026 does to the stream beside its blocks. */
#ifndef ATTN_FOREIGN_NANOCHAT_STREAM_H
#define ATTN_FOREIGN_NANOCHAT_STREAM_H

#include "forward/forward_internal.h"

extern const struct attn_stream_steps attn_nanochat_stream;

#endif
