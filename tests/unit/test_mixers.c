/*
 * test_mixers.c - layers that mix tokens without attention: a text at once and in parts has the
 * same bits, on any threads and instructions, in a pack and after a rewind; and
 * mixing times the values is the output. The bits of Gemma 4, whose layers have unequal
 * sizes and share keys, too.
 */
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "trace/site_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 13 };

static const char *const directories[] = {"tests/fixtures/family-lfm2",
                                          "tests/fixtures/family-qwen3-5-text",
                                          "tests/fixtures/family-qwen3-next",
                                          "tests/fixtures/family-bamba",
                                          "tests/fixtures/family-gemma4",
                                          "tests/fixtures/family-gemma4-text",
                                          "tests/fixtures/family-lfm3",
                                          "tests/fixtures/family-nemotron-h",
                                          "tests/fixtures/family-falcon-h1",
                                          "tests/fixtures/names-nemotron-h",
                                          "tests/fixtures/names-nemotron-h-joined"};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };

static const int32_t ids[N] = {5, 11, 11, 13, 29, 5, 11, 40, 12, 17, 5, 11, 13};

static struct attn_model *open_model(const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model *model;
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    return model;
}

static void record_in_steps(const struct attn_model *model, size_t step,
                            struct attn_recording *recording)
{
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), N);
    ck_assert_msg(attn_recording_run(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, step,
                                     &err) == ATTN_OK,
                  "%s", err.message);
}

static void record_whole(struct attn_recording *recording, const void *model,
                         const struct attn_session_options *options)
{
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), N);
    ck_assert_msg(attn_recording_run(recording, model, options, ids, N, &err) == ATTN_OK, "%s",
                  err.message);
}

START_TEST(feeds_of_any_size_give_the_same_bits)
{
    static const size_t steps[] = {1, 2, 3, 5, 12};

    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_model *model = open_model(directories[i]);
        struct attn_recording whole, parts;

        record_in_steps(model, N, &whole);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            record_in_steps(model, steps[k], &parts);
            attn_assert_same_recording(directories[i], &parts, &whole);
            attn_recording_release(&parts);
        }
        attn_recording_release(&whole);
        attn_model_free(model);
    }
}
END_TEST

START_TEST(threads_and_instructions_change_no_bit)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_model *model = open_model(directories[i]);

        attn_assert_same_however_run(record_whole, model, model, &ATTN_SESSION_OPTIONS_DEFAULT);
        attn_model_free(model);
    }
}
END_TEST

/* The last logits of SESSION. */
static const float *logits_of(struct attn_session *session)
{
    const float *logits;
    struct attn_error err = {0};

    ck_assert_msg(attn_session_logits(session, &logits, &err) == ATTN_OK, "%s", err.message);
    return logits;
}

static struct attn_session *start(const struct attn_model *model, size_t n_sequence)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};

    options.n_max = 2 * N;
    options.has_logits = true;
    options.n_sequence = n_sequence;
    options.cache = n_sequence > 1 ? ATTN_CACHE_ONE_LAYER : ATTN_CACHE_ALL_LAYERS;
    ck_assert_msg(attn_session_create(model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    return session;
}

START_TEST(a_rewind_forgets_what_came_later)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_model *model = open_model(directories[i]);
        struct attn_session *whole = start(model, 1), *rewound = start(model, 1);
        const size_t n_vocab = attn_model_config(model)->n_vocab;
        struct attn_error err = {0};

        ck_assert(attn_session_feed(whole, ids, N, &err) == ATTN_OK);
        ck_assert(attn_session_feed(rewound, ids, 7, &err) == ATTN_OK);
        ck_assert(attn_session_feed(rewound, ids, 4, &err) == ATTN_OK);
        ck_assert_msg(attn_session_rewind(rewound, 7, &err) == ATTN_OK, "%s", err.message);
        ck_assert(attn_session_feed(rewound, ids + 7, N - 7, &err) == ATTN_OK);
        attn_assert_same_bits("rewound", logits_of(rewound), logits_of(whole), n_vocab);
        ck_assert(attn_session_rewind(rewound, 0, &err) == ATTN_OK);
        ck_assert(attn_session_feed(rewound, ids, N, &err) == ATTN_OK);
        attn_assert_same_bits("reset", logits_of(rewound), logits_of(whole), n_vocab);
        attn_session_free(rewound);
        attn_session_free(whole);
        attn_model_free(model);
    }
}
END_TEST

START_TEST(texts_of_a_pack_do_not_mix)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_model *model = open_model(directories[i]);
        const size_t n_vocab = attn_model_config(model)->n_vocab;
        const struct attn_session_sequence sequences[] = {{.ids = ids, .n = 6},
                                                          {.ids = ids + 3, .n = N - 3}};
        struct attn_session *pack = start(model, 2), *one = start(model, 1);
        float *logits = malloc(2 * n_vocab * sizeof *logits);
        struct attn_error err = {0};

        ck_assert(logits != NULL);
        ck_assert_msg(attn_session_feed_many(pack, sequences, 2, &err) == ATTN_OK, "%s",
                      err.message);
        ck_assert(attn_session_logits_last(pack, logits, &err) == ATTN_OK);
        for (int k = 0; k < 2; k++) {
            attn_session_reset(one);
            ck_assert(attn_session_feed(one, sequences[k].ids, sequences[k].n, &err) == ATTN_OK);
            attn_assert_same_bits("pack", logits + (size_t)k * n_vocab, logits_of(one), n_vocab);
        }
        free(logits);
        attn_session_free(one);
        attn_session_free(pack);
        attn_model_free(model);
    }
}
END_TEST

/* Fails unless the sum over j of MIXING[i, j] * v_j is z_i, for the N_HEAD heads of a layer.
 * HAS_EDITS: mixing_norm is of other cells. */
static void check_rows(const struct attn_recording *recording, int layer, size_t n_head)
{
    const struct attn_recorded *v = attn_recording_find(recording, ATTN_SITE_MIXER_V, layer);
    const struct attn_recorded *z = attn_recording_find(recording, ATTN_SITE_MIXER_Z, layer);
    const float *mixing = attn_recording_find(recording, ATTN_SITE_MIXING, layer)->data;
    const float *norms = attn_recording_find(recording, ATTN_SITE_MIXING_NORM, layer)->data;
    const size_t width = v->shape[1], dv = width / n_head;
    double largest = 0;

    for (size_t i = 0; i < z->n; i++)
        largest = fmax(largest, fabs((double)z->data[i]));
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i < N; i++) {
            const float *row = mixing + (h * N + i) * N;

            for (size_t j = i + 1; j < N; j++)
                ck_assert(row[j] == 0 && norms[(h * N + i) * N + j] == 0);
            for (size_t c = h * dv; c < (h + 1) * dv; c++) {
                double sum = 0;

                for (size_t j = 0; j <= i; j++)
                    sum += (double)row[j] * (double)v->data[j * width + c];
                ck_assert_double_le(fabs(sum - (double)z->data[i * width + c]), 1e-5 * largest);
            }
            for (size_t j = 0; j <= i; j++) {
                double length = 0;

                for (size_t c = h * dv; c < (h + 1) * dv; c++)
                    length += (double)v->data[j * width + c] * (double)v->data[j * width + c];
                ck_assert_double_le(
                    fabs(fabs((double)row[j]) * sqrt(length) - (double)norms[(h * N + i) * N + j]),
                    1e-5 * largest);
            }
        }
}

/* The same for a convolution, whose MIXING has a band for each channel. */
static void check_bands(const struct attn_recording *recording, int layer)
{
    const struct attn_recorded *v = attn_recording_find(recording, ATTN_SITE_MIXER_V, layer);
    const struct attn_recorded *z = attn_recording_find(recording, ATTN_SITE_MIXER_Z, layer);
    const struct attn_recorded *band = attn_recording_find(recording, ATTN_SITE_MIXING_BAND, layer);
    const float *norms = attn_recording_find(recording, ATTN_SITE_MIXING_NORM, layer)->data;
    const size_t d = v->shape[1], n_tap = band->shape[2];
    double largest = 0;

    for (size_t i = 0; i < z->n; i++)
        largest = fmax(largest, fabs((double)z->data[i]));
    for (size_t i = 0; i < N; i++) {
        double lengths[N] = {0};

        for (size_t c = 0; c < d; c++) {
            double sum = 0;

            for (size_t k = 0; k < n_tap; k++) {
                const double cell = (double)band->data[(c * N + i) * n_tap + k];

                ck_assert(k <= i || cell == 0);
                sum += k <= i ? cell * (double)v->data[(i - k) * d + c] : 0;
                if (k <= i)
                    lengths[i - k] += pow(cell * (double)v->data[(i - k) * d + c], 2);
            }
            ck_assert_double_le(fabs(sum - (double)z->data[i * d + c]), 1e-5 * largest);
        }
        for (size_t j = 0; j < N; j++)
            ck_assert_double_le(fabs(sqrt(lengths[j]) - (double)norms[i * N + j]), 1e-5 * largest);
    }
}

/* Checks all layers without attention. */
static void check_layers(const struct attn_recording *recording,
                         const struct attn_mixer_dims *mixer)
{
    for (int layer = 0; layer < (int)recording->dims.n_layer; layer++) {
        if (!mixer || (mixer->is_in && !mixer->is_in[layer]))
            continue;
        if (mixer->kind == ATTN_MIXER_CONV)
            check_bands(recording, layer);
        else
            check_rows(recording, layer, mixer->n_head);
    }
}

START_TEST(mixing_times_the_values_is_the_output)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_model *model = open_model(directories[i]);
        struct attn_recording recording;

        record_in_steps(model, 4, &recording);
        check_layers(&recording, attn_model_config(model)->mixer);
        attn_recording_release(&recording);
        attn_model_free(model);
    }
}
END_TEST

/* The one cell of a text of one token is beta (q . k). */
START_TEST(a_token_alone_mixes_itself)
{
    struct attn_model *model = open_model(directories[1]);
    const struct attn_mixer_dims *mixer = attn_model_config(model)->mixer;
    struct attn_recording recording;
    struct attn_error err = {0};

    attn_recording_init(&recording, attn_model_config(model), 1);
    ck_assert(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, 1, &err) ==
              ATTN_OK);
    for (size_t h = 0; h < mixer->n_head; h++) {
        const float *q = attn_recording_find(&recording, ATTN_SITE_MIXER_Q, 0)->data;
        const float *k = attn_recording_find(&recording, ATTN_SITE_MIXER_K, 0)->data;
        double sum = 0;

        for (size_t c = h * mixer->d_key; c < (h + 1) * mixer->d_key; c++)
            sum += (double)q[c] * (double)k[c];
        sum *= (double)attn_recording_find(&recording, ATTN_SITE_BETA, 0)->data[h];
        ck_assert_double_eq_tol(
            (double)attn_recording_find(&recording, ATTN_SITE_MIXING, 0)->data[h], sum, 1e-6);
    }
    attn_recording_release(&recording);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("mixers", feeds_of_any_size_give_the_same_bits, threads_and_instructions_change_no_bit,
           a_rewind_forgets_what_came_later, texts_of_a_pack_do_not_mix,
           mixing_times_the_values_is_the_output, a_token_alone_mixes_itself)
