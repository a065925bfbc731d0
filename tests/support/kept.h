/* kept.h - what a capture kept of a layer, by its number, of models of one stack. */
#pragma once

#include "trace/capture.h"

/* attn_capture_tensor, attn_capture_head and attn_capture_has_cell of LAYER. */
const float *attn_kept(const struct attn_capture *capture, enum attn_site site, int layer);
const float *attn_kept_head(const struct attn_capture *capture, enum attn_site site, int layer,
                            int head);
bool attn_kept_cell(const struct attn_capture *capture, enum attn_site site, int layer, size_t i);

/* Returns true if LAYER has SITE, which a model of DIMS has. True for sites outside of layers. */
bool attn_layer_has(const struct attn_dims *dims, enum attn_site site, int layer);

/* Returns true if SELECTION selects SITE, and LAYER has it. */
bool attn_layer_keeps(const struct attn_selection *selection, enum attn_site site, int layer);
