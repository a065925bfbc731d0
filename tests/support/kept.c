/* kept.c - see kept.h. */
#include "tests/support/kept.h"

const float *attn_kept(const struct attn_capture *capture, enum attn_site site, int layer)
{
    return attn_capture_tensor(capture, &(struct attn_location){.layer = layer, .site = site});
}

const float *attn_kept_head(const struct attn_capture *capture, enum attn_site site, int layer,
                            int head)
{
    return attn_capture_head(capture,
                             &(struct attn_location){.layer = layer, .head = head, .site = site});
}

bool attn_kept_cell(const struct attn_capture *capture, enum attn_site site, int layer, size_t i)
{
    return attn_capture_has_cell(capture, &(struct attn_location){.layer = layer, .site = site}, i);
}
