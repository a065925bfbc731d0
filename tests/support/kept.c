/* kept.c - see kept.h. */
#include "tests/support/kept.h"

#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

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

bool attn_layer_has(const struct attn_dims *dims, enum attn_site site, int layer)
{
    return !attn_site_is_lacking(dims, site, layer);
}

bool attn_layer_keeps(const struct attn_selection *selection, enum attn_site site, int layer)
{
    return attn_sites_have(attn_selection_sites(selection), site) &&
           attn_layer_has(attn_selection_dims(selection), site, layer);
}
