/*
 * recording.h - runs a model and keeps every tensor it tells of, for tests to compare.
 *
 *     struct attn_recording recording;
 *     attn_recording_init(&recording, attn_model_config(model), n);
 *     attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n, &err);
 *     const struct attn_recorded *z = attn_recording_find(&recording, ATTN_SITE_Z, 0); // [T, H,
 * Ev] attn_recording_release(&recording);
 *
 * recording.trace may also be given to a session of the caller's. Everything is compared bit for
 * bit by attn_assert_same_recording.
 */
#pragma once

#include "attn.h"

/* One site of one layer, whole: heads assembled, [T, n], [T, H, n], [S, G, n] or [H, T, S]. */
struct attn_recorded {
    float *data; /* owned; NULL when the model lacks the site */
    int rank;
    size_t shape[3];
    size_t n;          /* elements */
    size_t n_row;      /* rows: n / last dimension */
    size_t n_row_told; /* rows that events have filled */
    bool is_causal;    /* matrices: as the events said */
};

struct attn_recording {
    struct attn_dims dims;
    struct attn_selection *selection; /* owned; every site, layer, head and query */
    struct attn_trace trace;          /* points here: a recording must not be moved */
    struct attn_recorded *records;    /* [(n_layer + 1), ATTN_N_SITE]; sites of the model last */
};

/*
 * Cells that no event fills: patterns 0, scores -inf, others NaN. Cells of qk that the causal mask
 * hides are always NaN, since a model may or may not compute them.
 */
void attn_recording_init(struct attn_recording *recording, const struct attn_config *config,
                         size_t n_position);

/* The same for a model with cross-attention to a source of N_SOURCE rows. */
void attn_recording_init_source(struct attn_recording *recording, const struct attn_config *config,
                                size_t n_position, size_t n_source);

/* The same for whatever DIMS describes. */
void attn_recording_init_dims(struct attn_recording *recording, const struct attn_dims *dims);
void attn_recording_release(struct attn_recording *recording);

/* LAYER is ATTN_NO_LAYER for sites of the model. Check data for NULL. */
const struct attn_recorded *attn_recording_find(const struct attn_recording *recording,
                                                enum attn_site site, int layer);

/*
 * Feeds IDS [dims.n_position], STEP at a time, to a new session with OPTIONS (n_max and trace are
 * set here). Fails the current test when rows were told twice or not at all; what the session
 * reports is returned.
 */
enum attn_status attn_recording_run(struct attn_recording *recording,
                                    const struct attn_model *model,
                                    const struct attn_session_options *options, const int32_t *ids,
                                    size_t step, struct attn_error *err);

/* The same in one feed, of tokens of TYPES; NULL: all are 0. */
enum attn_status attn_recording_run_types(struct attn_recording *recording,
                                          const struct attn_model *model,
                                          const struct attn_session_options *options,
                                          const int32_t *ids, const int32_t *types,
                                          struct attn_error *err);

/* A session with OPTIONS for RECORDING, which holds nothing; and the check after a feed that all
 * came. */
enum attn_status attn_recording_start(struct attn_recording *recording,
                                      const struct attn_model *model,
                                      const struct attn_session_options *options,
                                      struct attn_session **session, struct attn_error *err);
void attn_recording_assert_complete(const struct attn_recording *recording);

/* What a session with OPTIONS tells of SUBJECT, whatever that is. */
typedef void (*attn_record_fn)(struct attn_recording *recording, const void *subject,
                               const struct attn_session_options *options);

/* Fails the current test unless a session of MODEL with OPTIONS has the same bits on three threads,
 * with the least memory, and with every instruction set. */
void attn_assert_same_however_run(attn_record_fn record, const void *subject,
                                  const struct attn_model *model,
                                  const struct attn_session_options *options);

/* The selection of SITE alone, in the last layer that has it. QUERIES NULL: of all. */
struct attn_selection *attn_select_last(const struct attn_dims *dims, enum attn_site site,
                                        const char *queries);

/* Fails the current test unless both hold the same bits in every site; WHAT names the comparison.
 */
void attn_assert_same_recording(const char *what, const struct attn_recording *actual,
                                const struct attn_recording *expected);
