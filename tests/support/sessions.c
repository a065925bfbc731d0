/* sessions.c - see sessions.h. */
#include "tests/support/sessions.h"

#include "forward/session_internal.h"
#include "tests/support/suite.h"

enum attn_status attn_feed_layer(struct attn_session *session, int layer, const float *x, size_t n,
                                 struct attn_error *err)
{
    const struct attn_location at = {.layer = layer};

    return attn_session_feed_layer(session, &at, x, NULL, n, err);
}

void attn_feed_pack(struct attn_session *session, int layer, const float *const *resid,
                    const float *const *z, const struct attn_session_sequence *sequences, size_t n)
{
    const struct attn_session_start start = {{.layer = layer}, resid, z};
    struct attn_error err = {0};

    ck_assert_msg(attn_session_feed_from(session, &start, sequences, n, &err) == ATTN_OK, "%s",
                  err.message);
}

size_t attn_edited_rows(const struct attn_session *session)
{
    return attn_session_n_edited_row(session);
}

size_t attn_rows_left(const struct attn_session *session)
{
    return session->forward.feed.n_left;
}

bool attn_edit_counts(const struct attn_session *session, size_t sequence, size_t edit)
{
    return attn_session_edit_has_effect(session, sequence, edit);
}

enum attn_status attn_session_bytes(const struct attn_model *model,
                                    const struct attn_session_options *options, size_t *n_byte,
                                    struct attn_error *err)
{
    return attn_session_measure(model, options, n_byte, err);
}
