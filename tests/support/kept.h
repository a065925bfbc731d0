/* kept.h - what a capture kept of a layer, by its number, of models of one stack. */
#ifndef ATTN_TESTS_KEPT_H
#define ATTN_TESTS_KEPT_H

#include "capture/capture.h"

/* attn_capture_tensor, attn_capture_head and attn_capture_has_cell of LAYER. */
const float *attn_kept(const struct attn_capture *capture, enum attn_site site, int layer);
const float *attn_kept_head(const struct attn_capture *capture, enum attn_site site, int layer,
                            int head);
bool attn_kept_cell(const struct attn_capture *capture, enum attn_site site, int layer, size_t i);

#endif
