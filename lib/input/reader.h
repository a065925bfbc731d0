/* reader.h - what reads inputs other than texts, ids and arrays. For the files of this layer and
 * below. */
#ifndef ATTN_INPUT_READER_H
#define ATTN_INPUT_READER_H

#include "base/status.h"

struct attn_model;
struct attn_sequence;
struct attn_session;

/* What a sequence needs of the reader that made it. */
struct attn_reader {
    /* Feeds SEQUENCE to SESSION; NULL: it is fed as its ids or rows. */
    enum attn_status (*feed)(struct attn_session *session, const struct attn_sequence *sequence,
                             struct attn_error *err);
    /* Computes the embeddings X [n, d_embed] of SEQUENCE (attn_sequence_embed); NULL: as FEED. */
    enum attn_status (*embed)(const struct attn_sequence *sequence, const struct attn_model *model,
                              float *x, struct attn_error *err);
};

#endif
