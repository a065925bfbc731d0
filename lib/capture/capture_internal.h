/* capture_internal.h - captures that reuse memory, and their tensors by block. For the library. */
#ifndef ATTN_CAPTURE_CAPTURE_INTERNAL_H
#define ATTN_CAPTURE_CAPTURE_INTERNAL_H

#include "base/memory.h"
#include "capture/capture.h"

/* As attn_capture_create, but takes memory from SPARE and returns it there. SPARE may be NULL. */
enum attn_status attn_capture_create_in(struct attn_spare *spare,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err);

/* As attn_capture_tensor, attn_capture_head and attn_capture_has_cell, but for block number BLOCK
 * of the model itself, not of the encoder's part. */
const float *attn_capture_block(const struct attn_capture *capture, enum attn_site site, int block);
const float *attn_capture_block_head(const struct attn_capture *capture, enum attn_site site,
                                     int block, int head);
bool attn_capture_block_has_cell(const struct attn_capture *capture, enum attn_site site, int block,
                                 size_t i);

#endif
