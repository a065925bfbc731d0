/* recording_pixels.c - see recording_pixels.h. It is a file of its own, as the core feeds no
 * pixels. */
#include "tests/support/recording_pixels.h"

#include "towers/image_patches.h"

enum attn_status attn_recording_run_pixels(struct attn_recording *recording,
                                           const struct attn_model *model,
                                           const struct attn_session_options *options,
                                           const float *pixels, const size_t size[2],
                                           struct attn_error *err)
{
    struct attn_session *session = NULL;
    enum attn_status status = attn_recording_start(recording, model, options, &session, err);

    if (status == ATTN_OK)
        status = attn_session_feed_pixels(session, pixels, size[0], size[1], err);
    attn_session_free(session);
    if (status == ATTN_OK)
        attn_recording_assert_complete(recording);
    return status;
}
