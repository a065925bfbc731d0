/*
 * test_encoders.c - sessions of encoders: a sequence goes through in one feed, with the same bits
 * whatever runs beside it; token types; files without a head. Their tensors are compared with
 * float64 in test_family_fixtures.c.
 */
#include "extra.h"
#include "tests/support/encoders.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[ATTN_N_ENCODER] = {ATTN_ENCODERS};
static const int32_t ids[] = {2, 19, 24, 4, 28, 20, 26, 17, 3, 1, 31, 8, 39, 12, 1, 7, 30};
static const int32_t types[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1};
static const int32_t key_mask[] = {1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0};
enum { N = sizeof ids / sizeof *ids };

/* The types of the tokens, where MODEL has any but one. */
static const int32_t *types_of(const struct attn_model *model)
{
    return attn_model_config(model)->n_type > 1 ? types : NULL;
}

/* An attn_record_fn of a model. */
static void record(struct attn_recording *recording, const void *subject,
                   const struct attn_session_options *options)
{
    const struct attn_model *model = subject;
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), N);
    ck_assert_msg(attn_recording_run_types(recording, model, options, ids, types_of(model), &err) ==
                      ATTN_OK,
                  "%s", err.message);
}

START_TEST(bits_depend_on_nothing_beside_the_text)
{
    attn_encoders_unpack();
    for (int i = 0; i < 2 * ATTN_N_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i / 2]);
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

        options.key_mask = i % 2 == 1 ? key_mask : NULL;
        options.n_key_mask = N;
        attn_assert_same_however_run(record, model, model, &options);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

/* Keeps the values of one site of one layer. */
struct kept {
    float values[N * 64];
    size_t n;
};

static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    struct kept *kept = user;

    (void)err;
    for (size_t i = 0; i < event->n_row; i++, kept->n += event->n_col)
        memcpy(kept->values + kept->n, event->data + i * event->ld, event->n_col * sizeof(float));
    return ATTN_OK;
}

START_TEST(each_site_alone_has_the_bits_of_all_together)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i]);
        const struct attn_dims dims = attn_config_dims(attn_model_config(model), N);
        struct attn_recording expected;

        record(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT);
        for (int site = 0; site < ATTN_N_SITE; site++) {
            const int layer =
                attn_site_is_in_layer((enum attn_site)site) ? (int)dims.n_layer - 1 : ATTN_NO_LAYER;
            const struct attn_recorded *all = attn_recording_find(&expected, site, layer);
            struct attn_selection *selection;
            struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
            struct attn_session *session;
            struct kept kept = {.n = 0};
            struct attn_trace trace = {.on_event = keep, .user = &kept};
            struct attn_error err = {0};

            if (!attn_sites_have(dims.sites, site) ||
                attn_site_layout((enum attn_site)site) != ATTN_LAYOUT_VECTOR)
                continue;
            selection = attn_select_last(&dims, (enum attn_site)site, NULL);
            trace.selection = selection;
            options.n_max = N;
            options.trace = &trace;
            ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
            ck_assert(attn_session_feed_types(session, ids, types_of(model), N, &err) == ATTN_OK);
            ck_assert_uint_eq(kept.n, all->n);
            attn_assert_same_bits(attn_site_name((enum attn_site)site), kept.values, all->data,
                                  all->n);
            attn_session_free(session);
            attn_selection_free(selection);
        }
        attn_recording_release(&expected);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

/* A pack of MODEL beside its texts alone. N_LOGIT 1: logits are asked for at one position of each,
 * and the last layer is computed for that alone. */
static void compare_pack(const struct attn_model *model, size_t n_logit)
{
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    const struct attn_session_sequence sequences[] = {
        {.ids = ids, .n = 5, .logit0 = 2 * n_logit, .n_logit = n_logit},
        {.ids = ids + 3,
         .n = N - 3,
         .types = types_of(model),
         .key_mask = key_mask,
         .logit0 = (N - 3) / 2 * n_logit,
         .n_logit = n_logit},
        {.ids = ids + 9, .n = 1, .n_logit = n_logit}};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    float together[64], alone[64];
    size_t first = 0;

    ck_assert_uint_le(n_vocab, 64);
    options.n_max = 32, options.n_sequence = 3, options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert_msg(attn_session_feed_many(session, sequences, 3, &err) == ATTN_OK, "%s",
                  err.message);
    for (size_t s = 0; s < 3; first += sequences[s++].n) {
        const size_t position = first + sequences[s].n / 2; /* not the last */
        struct attn_session *single;

        options.n_max = sequences[s].n, options.n_sequence = 0;
        options.key_mask = sequences[s].key_mask, options.n_key_mask = sequences[s].n;
        ck_assert(attn_session_create(model, &options, &single, &err) == ATTN_OK);
        ck_assert(attn_session_feed_types(single, sequences[s].ids, sequences[s].types,
                                          sequences[s].n, &err) == ATTN_OK);
        ck_assert(attn_session_logits_of(session, &position, 1, together, &err) == ATTN_OK);
        ck_assert(attn_session_logits_at(single, sequences[s].n / 2, 1, alone, &err) == ATTN_OK);
        attn_assert_same_bits(attn_model_name(model), together, alone, n_vocab);
        attn_session_free(single);
    }
    first = 4; /* the last position of the first */
    ck_assert((attn_session_logits_of(session, &first, 1, together, &err) == ATTN_OK) ==
              (n_logit == 0));
    attn_session_free(session);
}

START_TEST(a_pack_has_the_bits_of_single_texts)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i]);

        compare_pack(model, 0);
        compare_pack(model, 1);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

/* What is told of one tensor, beside the whole of it. */
struct beside {
    const struct attn_recorded *all;
    enum attn_site_layout layout;
    size_t n_row;
};

/* An attn_trace_fn. */
static enum attn_status compare_rows(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    struct beside *beside = user;
    const size_t *shape = beside->all->shape;
    const size_t head = event->at.head == ATTN_ALL_HEADS ? 0 : (size_t)event->at.head;

    (void)err;
    for (size_t i = 0; i < event->n_row; i++, beside->n_row++) {
        const size_t row = event->row0 + i;
        const size_t at = beside->layout == ATTN_LAYOUT_MATRIX  ? head * shape[1] + row
                          : beside->layout == ATTN_LAYOUT_QUERY ? row * shape[1] + head
                                                                : row;

        attn_assert_same_bits(attn_site_name(event->at.site), event->data + i * event->ld,
                              beside->all->data + at * event->n_col, event->n_col);
    }
    return ATTN_OK;
}

/* Rows 3 and 5 of SITE, in the last layer that has it, with bits of EXPECTED. */
static void compare_queries(const struct attn_model *model, enum attn_site site,
                            const struct attn_recording *expected)
{
    const struct attn_dims *dims = &expected->dims;
    const int layer = attn_site_is_in_layer(site) ? (int)dims->n_layer - 1 : ATTN_NO_LAYER;
    struct beside beside = {attn_recording_find(expected, site, layer), attn_site_layout(site), 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_trace trace = {.on_event = compare_rows, .user = &beside};
    struct attn_selection *selection;
    struct attn_session *session;
    struct attn_error err = {0};

    if (beside.layout == ATTN_LAYOUT_KEY || !beside.all->data)
        return;
    selection = attn_select_last(dims, site, "3,5");
    trace.selection = selection;
    options.n_max = N;
    options.trace = &trace;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed_types(session, ids, types_of(model), N, &err) == ATTN_OK);
    ck_assert_uint_eq(beside.n_row, beside.layout == ATTN_LAYOUT_VECTOR ? 2 : 2 * dims->n_head);
    attn_session_free(session);
    attn_selection_free(selection);
}

/* Every tensor of rows 3 and 5 alone: the last layer that is needed computes no others. */
START_TEST(chosen_queries_have_the_bits_of_all)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i]);
        const struct attn_dims dims = attn_config_dims(attn_model_config(model), N);
        struct attn_recording expected;

        record(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT);
        for (int site = 0; site < ATTN_N_SITE; site++)
            if (attn_sites_have(dims.sites, site))
                compare_queries(model, (enum attn_site)site, &expected);
        attn_recording_release(&expected);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(a_sequence_is_fed_at_once)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_model *model;

    attn_encoders_unpack();
    model = attn_encoder_open("bert");
    options.n_max = 9;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, 5, &err) == ATTN_OK);
    attn_assert_invalid(
        attn_session_feed(session, ids, 1, &err), &err,
        "takes its whole sequence in one feed: every token sees those after it, and 5 "
        "were fed without these");
    attn_assert_invalid(attn_session_rewind(session, 3, &err), &err, "an encoder cannot go back");
    ck_assert(attn_session_rewind(session, 0, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, 9, &err) == ATTN_OK);
    attn_session_free(session);
    attn_model_free(model);
    attn_encoders_remove();
}
END_TEST

START_TEST(types_are_those_of_the_model)
{
    static const int32_t large[] = {0, 2, 0}, negative[] = {-1, 0, 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_model *model;

    attn_encoders_unpack();
    options.n_max = 3;
    model = attn_encoder_open("bert");
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    attn_assert_invalid(attn_session_feed_types(session, ids, large, 3, &err), &err,
                        "token type 2 at position 1 is out of range, expected 0 to 1");
    attn_assert_invalid(attn_session_feed_types(session, ids, negative, 3, &err), &err,
                        "token type -1 at position 0");
    attn_session_free(session);
    attn_model_free(model);
    model = attn_encoder_open("distilbert");
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    attn_assert_invalid(attn_session_feed_types(session, ids, types, 3, &err), &err,
                        "has no token types");
    attn_session_free(session);
    attn_model_free(model);
    attn_encoders_remove();
}
END_TEST

/* All logits of the text in a session with OPTIONS. */
static void find_logits(const struct attn_model *model, struct attn_session_options options,
                        float *logits)
{
    struct attn_session *session;
    struct attn_error err = {0};

    options.n_max = N, options.has_logits = true;
    ck_assert_msg(attn_session_create(model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert(attn_session_feed(session, ids, N, &err) == ATTN_OK);
    ck_assert(attn_session_logits_at(session, 0, N, logits, &err) == ATTN_OK);
    attn_session_free(session);
}

START_TEST(hidden_keys_are_what_a_mask_of_cells_hides)
{
    unsigned char cells[N * N];

    for (size_t i = 0; i < sizeof cells; i++)
        cells[i] = key_mask[i % N] != 0;
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i]);
        const struct attn_config *config = attn_model_config(model);
        struct attn_attention *attention = calloc(config->n_layer, sizeof *attention);
        struct attn_session_options keys = ATTN_SESSION_OPTIONS_DEFAULT, matrix = keys, own = keys;
        float with[N * 64], expected[N * 64], without[N * 64];

        ck_assert(attention != NULL && config->n_vocab <= 64);
        for (size_t layer = 0; layer < config->n_layer; layer++) {
            attention[layer] = config->attention[layer];
            attention[layer].mask = ATTN_MASK_MATRIX;
            attention[layer].matrix = (struct attn_mask_matrix){cells, 1, N, N};
        }
        keys.key_mask = key_mask, keys.n_key_mask = N;
        matrix.attention = attention;
        find_logits(model, keys, with);
        find_logits(model, matrix, expected);
        find_logits(model, own, without);
        attn_assert_same_bits(names[i], with, expected, N * config->n_vocab);
        ck_assert(memcmp(with, without, N * config->n_vocab * sizeof *with) != 0);
        free(attention);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(a_mask_of_keys_fits_its_sequence)
{
    static const int32_t none[] = {0, 0, 0}, odd[] = {1, -1, 0}, right[] = {1, 0, 1};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_model *model;

    attn_encoders_unpack();
    model = attn_encoder_open("bert");
    options.n_max = 5, options.n_key_mask = 3;
    options.key_mask = none;
    attn_assert_invalid(attn_session_create(model, &options, &session, &err), &err,
                        "`key_mask` is 0 for all keys");
    options.key_mask = odd;
    attn_assert_invalid(attn_session_create(model, &options, &session, &err), &err,
                        "item 1 of `key_mask` is -1, expected 0 or 1");
    options.key_mask = right;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    attn_assert_invalid(attn_session_feed(session, ids, 4, &err), &err,
                        "`key_mask` has 3 items, expected one for each of 4 tokens");
    ck_assert(attn_session_feed(session, ids, 3, &err) == ATTN_OK);
    attn_session_free(session);
    attn_model_free(model);
    attn_encoders_remove();
}
END_TEST

/* RoBERTa's table of 24 positions begins at 2. */
START_TEST(positions_end_before_the_table_does)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_model *model;

    attn_encoders_unpack();
    model = attn_encoder_open("roberta");
    ck_assert_uint_eq(attn_model_config(model)->n_ctx, 22);
    options.n_max = 23;
    attn_assert_invalid(attn_session_create(model, &options, &session, &err), &err,
                        "23 positions do not fit");
    attn_model_free(model);
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("encoders", bits_depend_on_nothing_beside_the_text,
           each_site_alone_has_the_bits_of_all_together, a_pack_has_the_bits_of_single_texts,
           chosen_queries_have_the_bits_of_all, a_sequence_is_fed_at_once,
           types_are_those_of_the_model, hidden_keys_are_what_a_mask_of_cells_hides,
           a_mask_of_keys_fits_its_sequence, positions_end_before_the_table_does)
