/*
 * derived.h - the maker of tensors that are computed from others. rollout, weighted_pattern and
 * value_zeroing are computed at the end of a layer; contacts at the end of the last one.
 *
 * It passes on those tensors of the session that the trace wants. When a layer is complete, it
 * computes the layer again from its resid_pre, with the edits of the run, and emits the derived
 * tensors after the others of that layer. A layer that is computed again has the same bits
 * (attn_session_feed_layer).
 *
 * Each kind has a file of its own, derived_NAME.c or contacts.c, which has the definition.
 */
#pragma once

#include "run/maker.h"

extern const struct attn_maker attn_derived_maker;

/* Of `received`, the weight that each key gets from the chosen queries (received.c). */
extern const struct attn_maker attn_received_maker;
