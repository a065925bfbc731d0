/* session_pack.c - see session_pack.h: feeds of several sequences, and the logits of each. */
#include "forward/session_internal.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/step_internal.h"
#include "trace/blocks_internal.h"

#include <string.h>

/* Checks that N sequences can be fed at once to the layers from FIRST on. */
static enum attn_status check_many(const struct attn_session *session, size_t first,
                                   const struct attn_session_sequence *sequences, size_t n,
                                   struct attn_error *err)
{
    const struct attn_forward *f = &session->forward;
    const struct attn_config *config = &f->model->config;
    size_t n_row = 0;

    if (n == 0 || n > f->n_sequence)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu sequences cannot be fed at once, the session holds 1 to %zu", n,
                              f->n_sequence);
    for (size_t i = 0; i < n; i++) {
        const struct attn_session_sequence *sequence = &sequences[i];
        struct attn_dims dims = f->dims;

        dims.n_position = sequence->n;
        if (sequence->n == 0 || sequence->n > attn_session_max_positions(f))
            return attn_error_set(err, ATTN_INVALID,
                                  "sequence %zu has %zu tokens, expected 1 to %zu", i, sequence->n,
                                  attn_session_max_positions(f));
        for (size_t layer = first; layer < dims.n_layer; layer++) {
            ATTN_TRY(attn_session_check_matrices(session, layer, sequence->n, err));
            if (!config->is_cross[layer])
                ATTN_TRY(attn_attention_check_keys(&f->attention[layer], sequence->n, err));
            if (sequence->key_mask)
                ATTN_TRY(attn_key_mask_check_kind(&f->attention[layer], err));
        }
        if (sequence->n_logit > sequence->n || sequence->logit0 > sequence->n - sequence->n_logit)
            return attn_error_set(
                err, ATTN_INVALID,
                "sequence %zu has %zu tokens, and no logits at %zu positions from "
                "%zu on",
                i, sequence->n, sequence->n_logit, sequence->logit0);
        if (!sequence->key_mask && f->key_mask && sequence->n != f->n_key_mask)
            return attn_error_set(err, ATTN_INVALID,
                                  "`key_mask` has %zu item%s, expected one for each of %zu tokens",
                                  f->n_key_mask, f->n_key_mask == 1 ? "" : "s", sequence->n);
        if (sequence->key_mask && !config->is_encoder)
            return attn_error_set(err, ATTN_INVALID, "'%s' is no encoder, so it takes no key mask",
                                  attn_quote_string(f->model->name).text);
        if (sequence->key_mask)
            ATTN_TRY(attn_key_mask_check(sequence->key_mask, sequence->n, 2, err));
        if (sequence->edits)
            ATTN_TRY(attn_session_check_edits(f->attention, &dims, sequence->edits,
                                              sequence->n_edit, err));
        if (sequence->n > f->dims.n_position - n_row)
            return attn_error_set(err, ATTN_INVALID,
                                  "the tokens of %zu sequences are too many, the session holds %zu",
                                  n, f->dims.n_position);
        n_row += sequence->n;
    }
    for (size_t layer = 0; n > 1 && layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return attn_error_set(err, ATTN_INVALID,
                                  "layer %zu of '%s' attends to a source: one sequence is fed at a "
                                  "time",
                                  layer, attn_quote_string(f->model->name).text);
    if (session->n_position > 0 && !session->is_broken)
        return attn_error_set(err, ATTN_INVALID,
                              "several sequences are fed from their beginning, the session must be "
                              "reset first");
    return attn_session_check_feed(session, first, sequences[0].n, err);
}

/* Allocates the flags for the edits of all sequences, and clears them. */
static enum attn_status clear_effects(struct attn_session *session,
                                      const struct attn_session_sequence *sequences, size_t n,
                                      struct attn_error *err)
{
    size_t n_edit = 0;

    for (size_t i = 0; i < n; i++)
        n_edit += sequences[i].edits ? sequences[i].n_edit : session->n_edit;
    ATTN_TRY(ATTN_GROW(session->has_effect, session->effect_capacity, n_edit, err));
    for (size_t i = 0; i < n_edit; i++)
        atomic_store_explicit(&session->has_effect[i], false, memory_order_relaxed);
    return ATTN_OK;
}

static enum attn_status begin_many(struct attn_session *session,
                                   const struct attn_session_sequence *sequences, size_t n,
                                   struct attn_error *err)
{
    struct attn_forward *f = &session->forward;
    atomic_bool *has_effect;

    ATTN_TRY(clear_effects(session, sequences, n, err));
    has_effect = session->has_effect;
    for (size_t i = 0; i < n; i++) {
        const bool has_own = sequences[i].edits;

        f->parts[i] = (struct attn_feed_part){
            .n_row = sequences[i].n,
            .ids = sequences[i].ids,
            .types = sequences[i].types,
            .key_mask = sequences[i].key_mask ? sequences[i].key_mask : f->key_mask,
            .logit0 = sequences[i].logit0,
            .n_logit = sequences[i].n_logit,
            .edits = has_own ? sequences[i].edits : session->edits,
            .n_edit = has_own ? sequences[i].n_edit : session->n_edit};
        f->parts[i].n_uncounted = has_own ? sequences[i].n_uncounted : 0;
        if (f->parts[i].n_edit > 0)
            f->parts[i].has_effect = has_effect;
        has_effect = has_effect ? has_effect + f->parts[i].n_edit : NULL;
    }
    attn_decoder_begin(f, n, err);
    f->feed.is_pack = true;
    return ATTN_OK;
}

enum attn_status attn_session_feed_many(struct attn_session *session,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err)
{
    if (!attn_is_given(session, "session", err) ||
        (n > 0 && !attn_is_given(sequences, "sequences", err)))
        return ATTN_INVALID;
    struct attn_forward *f = &session->forward;

    ATTN_TRY(check_many(session, 0, sequences, n, err));
    for (size_t i = 0; i < n; i++) {
        enum attn_status status =
            attn_model_check_ids(f->model, sequences[i].ids, sequences[i].n, 0, err);

        if (status == ATTN_OK && sequences[i].types)
            status = attn_model_check_types(f->model, sequences[i].types, sequences[i].n, err);
        if (status != ATTN_OK && n > 1)
            attn_error_hint(err, "it is in sequence %zu of %zu", i, n);
        ATTN_TRY(status);
    }
    ATTN_TRY(begin_many(session, sequences, n, err));
    for (size_t i = 0; i < n; i++)
        attn_session_gather(f, sequences[i].ids, sequences[i].n,
                            f->resid + f->parts[i].first * f->model->config.d_embed);
    return attn_session_run_feed(session);
}

/* Copies Z of one sequence, in the layout of a capture, to its rows of the feed. */
static void spread_z(const struct attn_forward *f, const struct attn_feed_part *part,
                     const float *z)
{
    const size_t n_head = f->dims.n_head;
    const size_t d = attn_forward_shape(f, (size_t)f->feed.first_layer).d_value;

    for (size_t h = 0; h < n_head; h++)
        for (size_t row = 0; row < part->n_row; row++)
            memcpy(f->z + ((part->first + row) * n_head + h) * d, z + (h * part->n_row + row) * d,
                   d * sizeof *z);
}

enum attn_status attn_session_feed_from(struct attn_session *session,
                                        const struct attn_session_start *start,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err)
{
    struct attn_forward *f = &session->forward;
    const size_t d = f->dims.d_model;
    const int layer = attn_location_block(&start->at);

    ATTN_TRY(attn_session_check_layer(f, layer, err));
    ATTN_TRY(check_many(session, (size_t)layer, sequences, n, err));
    ATTN_TRY(begin_many(session, sequences, n, err));
    f->feed.first_layer = layer;
    f->feed.has_z = start->z;
    for (size_t i = 0; i < n; i++) {
        memcpy(f->resid + f->parts[i].first * d, start->resid[i],
               f->parts[i].n_row * d * sizeof(float));
        if (start->z)
            spread_z(f, &f->parts[i], start->z[i]);
    }
    return attn_session_run_feed(session);
}

size_t attn_session_n_edited_row_of(const struct attn_session *session, size_t sequence)
{
    return session->forward.parts[sequence].n_edited;
}

enum attn_status attn_session_projections(const struct attn_session *session, float *rows,
                                          struct attn_error *err)
{
    ATTN_NEED(err, session, rows);
    const struct attn_forward *f = &session->forward;
    const size_t n = f->feed.n_part;

    if (!f->is_projected || session->n_position == 0 || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "there are no projections: %s",
                              f->is_projected ? "nothing was fed"
                                              : "the session was created without them");
    memcpy(rows, f->projected, n * f->dims.d_projected * sizeof *rows);
    return ATTN_OK;
}

/* Copies the input of the output layer in row ROW, counted over everything fed, to X as row number
 * I. */
static void pick_row(const struct attn_forward *f, size_t row, size_t i, float *x)
{
    const size_t d = f->model->weights.unembed.weight.n_row;

    memcpy(x + i * d, f->final + row * d, d * sizeof *x);
}

/* Returns the row of POSITIONS[i]; if POSITIONS is NULL, the last row of sequence number I. */
static size_t row_of(const struct attn_session *session, const size_t *positions, size_t i)
{
    const struct attn_feed_part *part = &session->forward.parts[i];

    if (positions || session->forward.dims.is_pooled)
        return positions ? positions[i] : i;
    return session->forward.feed.is_pack ? part->first + part->n_row - 1 : session->n_position - 1;
}

/* Computes the logits after N positions. If POSITIONS is NULL, these are the last positions of N
 * sequences. */
static enum attn_status unembed(struct attn_session *session, const size_t *positions, size_t n,
                                float *logits, struct attn_error *err)
{
    struct attn_forward *f = &session->forward;

    f->feed.status = ATTN_OK;
    f->feed.err = err;
    for (size_t i = 0; i < n; i++)
        pick_row(f, row_of(session, positions, i), i, f->normed); /* free after a feed */
    attn_decoder_unembed(f, f->normed, n, logits);
    for (size_t i = 0; i < n; i++)
        attn_decoder_unembed_edit(f, row_of(session, positions, i), 1,
                                  logits + i * f->dims.n_vocab);
    attn_forward_check_finite(f, logits, n * f->dims.n_vocab);
    return f->feed.status;
}

enum attn_status attn_session_logits_last(struct attn_session *session, float *logits,
                                          struct attn_error *err)
{
    ATTN_NEED(err, session, logits);

    ATTN_TRY(attn_session_check_logits(session, err));
    for (size_t i = 0; i < session->forward.feed.n_part; i++)
        ATTN_TRY(attn_session_check_position(session, row_of(session, NULL, i), err));
    return unembed(session, NULL, session->forward.feed.n_part, logits, err);
}

/* Checks that there are logits after N POSITIONS. */
static enum attn_status check_positions(const struct attn_session *session, const size_t *positions,
                                        size_t n, struct attn_error *err)
{
    ATTN_TRY(attn_session_check_logits(session, err));
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(attn_session_check_position(session, positions[i], err));
    return ATTN_OK;
}

enum attn_status attn_session_logits_of(struct attn_session *session, const size_t *positions,
                                        size_t n, float *logits, struct attn_error *err)
{
    if (!attn_is_given(session, "session", err) ||
        (n > 0 && !attn_is_given(positions, "positions", err)) ||
        !attn_is_given(logits, "logits", err))
        return ATTN_INVALID;

    ATTN_TRY(check_positions(session, positions, n, err));
    return unembed(session, positions, n, logits, err);
}

enum attn_status attn_session_final_of(struct attn_session *session, const size_t *positions,
                                       size_t n, float *rows, struct attn_error *err)
{
    ATTN_TRY(check_positions(session, positions, n, err));
    for (size_t i = 0; i < n; i++)
        pick_row(&session->forward, positions[i], i, rows);
    return ATTN_OK;
}

enum attn_status attn_session_unembed(struct attn_session *session, const float *rows, size_t n,
                                      float *logits, struct attn_error *err)
{
    struct attn_forward *f = &session->forward;

    f->feed.status = ATTN_OK;
    f->feed.err = err;
    attn_decoder_unembed(f, rows, n, logits);
    attn_forward_check_finite(f, logits, n * f->dims.n_vocab);
    return f->feed.status;
}
