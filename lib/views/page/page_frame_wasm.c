/* page_frame_wasm.c - the module writes the document of a page alone: the page that runs it is the
 * frame. See page_internal.h. */
#include "page/page_internal.h"
#include "page/page_live.h"

#include "base/sink_internal.h"
#include "base/status_internal.h"

bool attn_page_has_frame(void)
{
    return false;
}

enum attn_status attn_page_frame_begin(struct attn_page *page, struct attn_error *err)
{
    if (!page->base.options.picture->live)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "the module writes no page that runs a model");
}

enum attn_status attn_page_frame_end(struct attn_page *page, struct attn_error *err)
{
    (void)page;
    (void)err;
    return ATTN_OK;
}

enum attn_status attn_page_frame_figure(const struct attn_sink *svg, struct attn_sink *sink,
                                        struct attn_error *err)
{
    const char *bytes;
    size_t n;

    ATTN_TRY(attn_sink_check(svg, err));
    bytes = attn_sink_bytes(svg, &n);
    attn_sink_write(sink, bytes, n);
    return ATTN_OK;
}

bool attn_page_live_has_text(const char *text)
{
    (void)text;
    return true;
}
