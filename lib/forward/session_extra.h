/* session_extra.h - inputs of a session other than token ids. */
#ifndef ATTN_FORWARD_SESSION_EXTRA_H
#define ATTN_FORWARD_SESSION_EXTRA_H

#include "forward/session.h"

/* Sets the source of the layers with cross-attention: X [n, d_source], copied. Learned positions of
 * a source are added. Keys and values are projected once, during the next feed. Returns
 * ATTN_INVALID if something was fed before (reset first), for more rows than options.n_source, for
 * rows that are not finite, and for a model without cross-attention. */
ATTN_API enum attn_status attn_session_set_source(struct attn_session *session, const float *x,
                                                  size_t n, struct attn_error *err);

/* Feeds tokens like attn_session_feed, with their TYPES [n], 0 to n_type-1, for encoders of two
 * texts; NULL: all are 0. Returns ATTN_INVALID also for other types, and for a model without types.
 */
ATTN_API enum attn_status attn_session_feed_types(struct attn_session *session, const int32_t *ids,
                                                  const int32_t *types, size_t n,
                                                  struct attn_error *err);

/* Feeds embeddings X [n, d_embed] instead of tokens, otherwise like attn_session_feed; learned
 * positions are still added. Returns ATTN_INVALID also for rows that are not finite; and instead of
 * ATTN_FORMAT if the weights are finite and options.embeddings_name or options.source_name is set,
 * to name it. */
ATTN_API enum attn_status attn_session_feed_embeddings(struct attn_session *session, const float *x,
                                                       size_t n, struct attn_error *err);

/* Feeds a picture, PIXELS [n_channel, height, width] from the model's preprocessor, otherwise like
 * attn_session_feed. It is cut into patches, which follow [CLS] and registers;
 * attn_model_image_grid returns the number of positions, which are all in one feed. Returns
 * ATTN_INVALID also for sizes that it refuses, and for numbers that are not finite. */
ATTN_API enum attn_status attn_session_feed_pixels(struct attn_session *session,
                                                   const float *pixels, size_t height, size_t width,
                                                   struct attn_error *err);

#endif
