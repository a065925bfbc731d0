/* recording.c - see recording.h. */
#include "tests/support/recording.h"
#include "forward/session_internal.h"
#include "tests/support/assert.h"
#include "tests/support/near.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct attn_recorded *record_of(const struct attn_recording *recording, enum attn_site site,
                                       int layer)
{
    size_t slot = layer == ATTN_NO_LAYER ? recording->dims.n_layer : (size_t)layer;

    ck_assert_uint_le(slot, recording->dims.n_layer);
    return &recording->records[slot * ATTN_N_SITE + site];
}

static float unfilled(enum attn_site site)
{
    const bool is_pattern = site == ATTN_SITE_PATTERN || site == ATTN_SITE_PATTERN_DROPPED ||
                            site == ATTN_SITE_MIXING || site == ATTN_SITE_MIXING_NORM;

    return is_pattern ? 0 : site == ATTN_SITE_ATTN_SCORES ? -INFINITY : NAN;
}

static void fill(struct attn_recorded *record, enum attn_site site)
{
    for (size_t i = 0; i < record->n; i++)
        record->data[i] = unfilled(site);
    record->n_row_told = 0;
}

static void init_record(const struct attn_recording *recording, enum attn_site site, int layer)
{
    struct attn_recorded *record = record_of(recording, site, layer);

    record->rank = attn_selection_shape(
        recording->selection, &(struct attn_location){.site = site, .layer = layer}, record->shape);
    record->n_row = 1;
    for (int i = 0; i < record->rank - 1; i++)
        record->n_row *= record->shape[i];
    if (attn_site_is_lacking(&recording->dims, site, layer))
        record->n_row = 0, record->shape[0] = 0;
    record->n = record->n_row * record->shape[record->rank - 1];
    if (attn_site_layout(site) == ATTN_LAYOUT_HEADS)
        record->n = record->n_row * record->shape[1], record->n_row = record->n;
    record->data = malloc(record->n * sizeof *record->data);
    ck_assert(record->data != NULL);
    fill(record, site);
}

/* The row of a record that holds position P of HEAD. */
static float *row_of(const struct attn_recording *recording, const struct attn_recorded *record,
                     enum attn_site site, int head, size_t p)
{
    const size_t first = attn_site_first_row(site, &recording->dims);
    size_t h = head == ATTN_ALL_HEADS ? 0 : (size_t)head;

    ck_assert_msg(p >= first, "%s has no row of position %zu", attn_site_name(site), p);
    p -= first;
    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_VECTOR:
    case ATTN_LAYOUT_PAIRS:
        return record->data + p * record->shape[1];
    case ATTN_LAYOUT_QUERY:
    case ATTN_LAYOUT_KEY:
        return record->data + (p * record->shape[1] + h) * record->shape[2];
    case ATTN_LAYOUT_HEADS:
        return record->data + h * record->shape[1] + p;
    case ATTN_LAYOUT_MATRIX:
    case ATTN_LAYOUT_RANK:
        return record->data + (h * record->shape[1] + p) * record->shape[2];
    }
    ck_abort_msg("unknown layout");
}

static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    const struct attn_recording *recording = user;
    struct attn_recorded *record = record_of(recording, event->at.site, event->at.layer);
    size_t width, n_row;

    (void)err;
    ck_assert_msg(record->data != NULL, "told of %s, which the model lacks",
                  attn_site_name(event->at.site));
    width = record->shape[record->rank - 1];
    n_row = attn_site_layout(event->at.site) == ATTN_LAYOUT_KEY ? record->shape[0]
                                                                : recording->dims.n_position;
    ck_assert_msg(event->n_col <= width && event->row0 + event->n_row <= n_row,
                  "%s, layer %d: rows %zu + %zu of %zu columns do not fit",
                  attn_site_name(event->at.site), event->at.layer, event->row0, event->n_row,
                  event->n_col);
    record->is_causal = event->is_causal;
    record->n_row_told += event->n_row;
    for (size_t r = 0; r < event->n_row; r++) {
        size_t p = event->row0 + r, visible = p + event->ahead + 1;
        bool is_hidden = event->at.site == ATTN_SITE_QK && event->is_causal;
        size_t n = is_hidden && visible < event->n_col ? visible : event->n_col;
        float *row = row_of(recording, record, event->at.site, event->at.head, p);

        if (event->keys == NULL)
            memcpy(row, event->data + r * event->ld, n * sizeof(float));
        for (size_t j = 0; event->keys != NULL && j < event->n_kept[r]; j++)
            row[event->keys[r * event->ld + j]] = event->data[r * event->ld + j];
    }
    return ATTN_OK;
}

void attn_recording_init(struct attn_recording *recording, const struct attn_config *config,
                         size_t n_position)
{
    attn_recording_init_source(recording, config, n_position, 0);
}

void attn_recording_init_source(struct attn_recording *recording, const struct attn_config *config,
                                size_t n_position, size_t n_source)
{
    struct attn_dims dims = attn_config_dims(config, n_position);

    dims.n_source = n_source;
    attn_recording_init_dims(recording, &dims);
}

void attn_recording_init_dims(struct attn_recording *recording, const struct attn_dims *dims)
{
    struct attn_error err = {0};

    memset(recording, 0, sizeof *recording);
    recording->dims = *dims;
    ck_assert_msg(attn_selection_create(&recording->dims, &recording->selection, &err) == ATTN_OK &&
                      attn_selection_set_sites(recording->selection, recording->dims.sites, &err) ==
                          ATTN_OK,
                  "%s", err.message);
    recording->trace =
        (struct attn_trace){.selection = recording->selection, .on_event = keep, .user = recording};
    recording->records =
        calloc((recording->dims.n_layer + 1) * ATTN_N_SITE, sizeof *recording->records);
    ck_assert(recording->records != NULL);
    for (int site = 0; site < ATTN_N_SITE; site++) {
        if (!attn_sites_have(recording->dims.sites, site))
            continue;
        if (!attn_site_is_in_layer((enum attn_site)site)) {
            init_record(recording, (enum attn_site)site, ATTN_NO_LAYER);
            continue;
        }
        for (size_t layer = 0; layer < recording->dims.n_layer; layer++)
            init_record(recording, (enum attn_site)site, (int)layer);
    }
}

void attn_recording_release(struct attn_recording *recording)
{
    for (size_t i = 0; i < (recording->dims.n_layer + 1) * ATTN_N_SITE; i++)
        free(recording->records[i].data);
    free(recording->records);
    attn_selection_free(recording->selection);
    memset(recording, 0, sizeof *recording);
}

const struct attn_recorded *attn_recording_find(const struct attn_recording *recording,
                                                enum attn_site site, int layer)
{
    return record_of(recording, site, layer);
}

static const char *site_of_slot(size_t i, size_t *layer)
{
    *layer = i / ATTN_N_SITE;
    return attn_site_name((enum attn_site)(i % ATTN_N_SITE));
}

void attn_recording_assert_complete(const struct attn_recording *recording)
{
    for (size_t i = 0; i < (recording->dims.n_layer + 1) * ATTN_N_SITE; i++) {
        const struct attn_recorded *record = &recording->records[i];
        size_t layer;
        const char *name = site_of_slot(i, &layer);

        ck_assert_msg(record->n_row_told == record->n_row ||
                          (record->n_row_told == 0 &&
                           attn_site_is_lacking(&recording->dims, (enum attn_site)(i % ATTN_N_SITE),
                                                (int)layer)),
                      "%s, layer %zu: %zu rows were told, expected %zu", name, layer,
                      record->n_row_told, record->n_row);
    }
}

enum attn_status attn_recording_start(struct attn_recording *recording,
                                      const struct attn_model *model,
                                      const struct attn_session_options *options,
                                      struct attn_session **session, struct attn_error *err)
{
    struct attn_session_options own = *options;

    own.n_max = recording->dims.n_position;
    own.trace = &recording->trace;
    for (size_t i = 0; i < (recording->dims.n_layer + 1) * ATTN_N_SITE; i++) {
        fill(&recording->records[i], (enum attn_site)(i % ATTN_N_SITE));
    }
    return attn_session_create(model, &own, session, err);
}

enum attn_status attn_recording_run_types(struct attn_recording *recording,
                                          const struct attn_model *model,
                                          const struct attn_session_options *options,
                                          const int32_t *ids, const int32_t *types,
                                          struct attn_error *err)
{
    struct attn_session *session = NULL;
    enum attn_status status = attn_recording_start(recording, model, options, &session, err);

    if (status == ATTN_OK)
        status = attn_session_feed_types(session, ids, types, recording->dims.n_position, err);
    attn_session_free(session);
    if (status == ATTN_OK)
        attn_recording_assert_complete(recording);
    return status;
}

enum attn_status attn_recording_run(struct attn_recording *recording,
                                    const struct attn_model *model,
                                    const struct attn_session_options *options, const int32_t *ids,
                                    size_t step, struct attn_error *err)
{
    struct attn_session *session;
    size_t n = recording->dims.n_position;
    enum attn_status status = attn_recording_start(recording, model, options, &session, err);

    if (status != ATTN_OK)
        return status;
    for (size_t i = 0; i < n && status == ATTN_OK; i += step)
        status = attn_session_feed(session, ids + i, n - i < step ? n - i : step, err);
    attn_session_free(session);
    if (status == ATTN_OK)
        attn_recording_assert_complete(recording);
    return status;
}

void attn_assert_same_recording(const char *what, const struct attn_recording *actual,
                                const struct attn_recording *expected)
{
    ck_assert_uint_eq(actual->dims.n_layer, expected->dims.n_layer);
    for (size_t i = 0; i < (actual->dims.n_layer + 1) * ATTN_N_SITE; i++) {
        const struct attn_recorded *a = &actual->records[i], *b = &expected->records[i];
        size_t layer;
        const char *name = site_of_slot(i, &layer);
        char text[160];

        snprintf(text, sizeof text, "%s: %s, layer %zu", what, name, layer);
        ck_assert_msg(a->n == b->n, "%s: %zu values, expected %zu", text, a->n, b->n);
        attn_assert_same_bits(text, a->data, b->data, a->n);
    }
}

void attn_assert_same_however_run(attn_record_fn record, const void *subject,
                                  const struct attn_model *model,
                                  const struct attn_session_options *options)
{
    struct attn_session_options other = *options;
    struct attn_recording expected, actual;
    struct attn_error err = {0};
    struct attn_pool *pool;

    record(&expected, subject, options);
    ck_assert(attn_pool_create(3, &pool, &err) == ATTN_OK);
    other.pool = pool;
    other.reads_once = true;
    other.cache = ATTN_CACHE_ONE_LAYER;
    other.has_logits = attn_model_config(model)->output != ATTN_OUTPUT_NONE;
    record(&actual, subject, &other);
    attn_assert_same_recording("3 threads", &actual, &expected);
    attn_recording_release(&actual);
    for (int isa = 0; isa < ATTN_ISA_BEST; isa++) {
        other = *options;
        other.isa = (enum attn_isa)isa;
        other.gemm = ATTN_GEMM_PORTABLE;
        record(&actual, subject, &other);
        attn_assert_same_recording("another instruction set", &actual, &expected);
        attn_recording_release(&actual);
    }
    attn_recording_release(&expected);
    attn_pool_free(pool);
}

struct attn_selection *attn_select_last(const struct attn_dims *dims, enum attn_site site,
                                        const char *queries)
{
    struct attn_selection *selection;
    struct attn_error err = {0};

    ck_assert(attn_selection_create(dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, ATTN_SITES(site), &err) == ATTN_OK);
    if (attn_site_is_in_layer(site))
        ck_assert(attn_selection_set_layers(selection, "-1", &err) == ATTN_OK);
    if (queries)
        ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, queries, &err) == ATTN_OK);
    return selection;
}
