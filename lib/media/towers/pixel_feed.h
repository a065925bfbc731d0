/* pixel_feed.h - feeds a picture to an encoder of pictures. */
#ifndef ATTN_TOWERS_PIXEL_FEED_H
#define ATTN_TOWERS_PIXEL_FEED_H

#include "forward/session_internal.h"

/* Feeds a picture, PIXELS [n_channel, height, width] from the model's preprocessor, otherwise like
 * attn_session_feed. It is cut into patches, which follow [CLS] and registers;
 * attn_model_image_grid returns the number of positions, which are all in one feed. Returns
 * ATTN_INVALID also for sizes that it refuses, and for numbers that are not finite. */
enum attn_status attn_session_feed_pixels(struct attn_session *session, const float *pixels,
                                          size_t height, size_t width, struct attn_error *err);

#endif
