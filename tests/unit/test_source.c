/*
 * test_source.c - cross-attention: keys and values from a source of another length and width,
 * against float64, and for any way of feeding.
 */
#include "attn.h"
#include "tests/support/expected.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A model with a source and a text. */
struct scene {
    struct attn_model *model;
    struct attn_recording recording;
    int32_t *ids;
    size_t n;
    float *source; /* [n_source, d_source] */
    size_t n_source;
};

static void scene_open(struct scene *scene, const char *model, const char *folder)
{
    const struct attn_source where = {.directory = model};
    struct attn_error err = {0};
    struct attn_npy array;
    char path[200];

    ck_assert_msg(attn_model_open(&where, &ATTN_MODEL_OPTIONS_DEFAULT, &scene->model, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    snprintf(path, sizeof path, "%s/ids.npy", folder);
    scene->ids = attn_npy_read_ids(path, &scene->n);
    snprintf(path, sizeof path, "%s/source.npy", folder);
    ck_assert(attn_npy_read(path, &array));
    scene->n_source = array.shape[0];
    scene->source = malloc(array.n * sizeof *scene->source);
    ck_assert_ptr_nonnull(scene->source);
    for (size_t i = 0; i < array.n; i++)
        scene->source[i] = (float)array.values[i];
    attn_npy_release(&array);
    attn_recording_init_source(&scene->recording, attn_model_config(scene->model), scene->n,
                               scene->n_source);
}

static void scene_close(struct scene *scene)
{
    attn_recording_release(&scene->recording);
    attn_model_free(scene->model);
    free(scene->ids);
    free(scene->source);
}

static struct attn_session *make_session(const struct scene *scene,
                                         const struct attn_recording *recording,
                                         enum attn_cache cache)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};

    options.n_max = scene->n;
    options.n_source = scene->n_source;
    options.cache = cache;
    options.trace = &recording->trace;
    ck_assert_msg(attn_session_create(scene->model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    return session;
}

/* Feeds the text STEP tokens at a time. */
static void record(const struct scene *scene, const struct attn_recording *recording, size_t step,
                   enum attn_cache cache)
{
    struct attn_session *session = make_session(scene, recording, cache);
    struct attn_error err = {0};

    ck_assert(attn_session_set_source(session, scene->source, scene->n_source, &err) == ATTN_OK);
    for (size_t i = 0; i < scene->n; i += step)
        ck_assert_msg(attn_session_feed(session, scene->ids + i,
                                        scene->n - i < step ? scene->n - i : step, &err) == ATTN_OK,
                      "%s", err.message);
    attn_session_free(session);
}

static void check_row(void *user, const struct attn_expected_row *row)
{
    double *worst = user;

    for (size_t i = 0; i < row->n; i++) {
        const double x = (double)row->actual[i], wanted = row->expected[i];
        const bool is_hidden = row->site == ATTN_SITE_QK && i >= row->n_visible;
        const double error =
            is_hidden || x == wanted ? 0 : fabs(x - wanted) / fmax(1, fabs(wanted));

        ck_assert_msg(error <= 2e-6, "%s, layer %d, position %zu: %.9g, expected %.17g",
                      attn_site_name(row->site), row->layer, row->position, x, wanted);
        *worst = fmax(*worst, error);
    }
}

static void check_scene(const char *model, const char *folder, size_t n_site)
{
    struct scene scene;
    double worst = 0;

    scene_open(&scene, model, folder);
    record(&scene, &scene.recording, scene.n, ATTN_CACHE_ALL_LAYERS);
    ck_assert_uint_eq(attn_expected_each(folder, &scene.recording, 0, check_row, &worst), n_site);
    printf("%s: largest difference from float64 %.2e\n", model, worst);
    scene_close(&scene);
}

START_TEST(a_source_of_its_own_length_gives_the_numbers_of_the_article)
{
    check_scene("tests/fixtures/golden-000-cross-attention", "tests/golden/000_cross_attention", 6);
}
END_TEST

START_TEST(a_source_of_its_own_width_gives_the_numbers_of_the_article)
{
    check_scene("tests/fixtures/golden-004-cross-attention", "tests/golden/004_cross_attention.npz",
                6);
}
END_TEST

START_TEST(self_and_cross_layers_may_alternate)
{
    check_scene("tests/fixtures/attn-cross", "tests/fixtures/attn-cross/expected.npz", 32);
}
END_TEST

START_TEST(learned_positions_are_added_to_a_source)
{
    check_scene("tests/fixtures/attn-source-positions",
                "tests/fixtures/attn-source-positions/expected.npz", 31);
}
END_TEST

START_TEST(positions_of_a_source_are_added_once_and_limit_it)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording again;
    struct attn_session *session;
    struct attn_error err = {0};
    struct scene scene;

    scene_open(&scene, "tests/fixtures/attn-source-positions",
               "tests/fixtures/attn-source-positions/expected.npz");
    record(&scene, &scene.recording, scene.n, ATTN_CACHE_ALL_LAYERS);
    attn_recording_init_source(&again, attn_model_config(scene.model), scene.n, scene.n_source);
    session = make_session(&scene, &again, ATTN_CACHE_ALL_LAYERS);
    ck_assert(attn_session_set_source(session, scene.source, 3, &err) == ATTN_OK);
    ck_assert(attn_session_set_source(session, scene.source, scene.n_source, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, scene.ids, scene.n, &err) == ATTN_OK);
    attn_session_reset(session);
    ck_assert(attn_session_feed(session, scene.ids, scene.n, &err) == ATTN_OK);
    attn_assert_same_recording("after a reset", &again, &scene.recording);
    attn_session_free(session);
    options.n_max = scene.n;
    options.n_source = attn_model_config(scene.model)->n_source + 1;
    ck_assert(attn_session_create(scene.model, &options, &session, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "a source of 13 rows is too long, expected at most 12");
    attn_recording_release(&again);
    scene_close(&scene);
}
END_TEST

START_TEST(a_source_equal_to_the_input_is_self_attention)
{
    const struct attn_source where = {.directory = "tests/fixtures/golden-000-self-attention"};
    const struct attn_recorded *embed, *self, *cross;
    struct attn_recording expected;
    struct attn_model *model;
    struct attn_error err = {0};
    struct scene scene;

    scene_open(&scene, "tests/fixtures/golden-000-cross-attention",
               "tests/golden/000_cross_attention");
    ck_assert(attn_model_open(&where, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK);
    attn_recording_init(&expected, attn_model_config(model), scene.n);
    ck_assert(attn_recording_run(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT, scene.ids,
                                 scene.n, &err) == ATTN_OK);
    embed = attn_recording_find(&expected, ATTN_SITE_EMBED, ATTN_NO_LAYER);
    scene.n_source = scene.n;
    memcpy(scene.source, embed->data, embed->n * sizeof(float));
    attn_recording_release(&scene.recording);
    attn_recording_init_source(&scene.recording, attn_model_config(scene.model), scene.n, scene.n);
    record(&scene, &scene.recording, scene.n, ATTN_CACHE_ALL_LAYERS);
    self = attn_recording_find(&expected, ATTN_SITE_Z, 0);
    cross = attn_recording_find(&scene.recording, ATTN_SITE_Z, 0);
    attn_assert_same_bits("z", cross->data, self->data, self->n);
    attn_recording_release(&expected);
    attn_model_free(model);
    scene_close(&scene);
}
END_TEST

START_TEST(rows_of_the_embedding_are_what_a_feed_begins_with)
{
    static const char *const models[] = {"models/tiny-gpt2", "tests/fixtures/gpt2-f16",
                                         "tests/fixtures/gpt2-bf16"};
    const int32_t ids[] = {5, 0, 11, 5}, outside[] = {1, 1 << 20}, negative[] = {-1};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct attn_source where = {.directory = models[i]};
        const struct attn_recorded *embed;
        struct attn_recording recording;
        struct attn_model *model;
        struct attn_error err = {0};
        float x[4 * 64];

        ck_assert(attn_model_open(&where, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK);
        attn_recording_init(&recording, attn_model_config(model), 4);
        ck_assert(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, 4,
                                     &err) == ATTN_OK);
        embed = attn_recording_find(&recording, ATTN_SITE_EMBED, ATTN_NO_LAYER);
        ck_assert_uint_le(embed->n, sizeof x / sizeof *x);
        ck_assert_int_eq(attn_model_embed(model, ids, 4, x, &err), ATTN_OK);
        attn_assert_same_bits("embed", x, embed->data, embed->n);
        ck_assert_int_eq(attn_model_embed(model, negative, 1, x, NULL), ATTN_INVALID);
        ck_assert_int_eq(attn_model_embed(model, outside, 2, x, &err), ATTN_INVALID);
        ck_assert_ptr_nonnull(
            strstr(err.message, "token id 1048576 at position 1 is out of range"));
        attn_recording_release(&recording);
        attn_model_free(model);
    }
}
END_TEST

START_TEST(steps_and_caches_do_not_change_bits)
{
    struct attn_recording other;
    struct scene scene;

    scene_open(&scene, "tests/fixtures/attn-cross", "tests/fixtures/attn-cross/expected.npz");
    record(&scene, &scene.recording, scene.n, ATTN_CACHE_ALL_LAYERS);
    for (size_t step = 1; step <= scene.n; step++) {
        attn_recording_init_source(&other, attn_model_config(scene.model), scene.n, scene.n_source);
        record(&scene, &other, step,
               step == scene.n ? ATTN_CACHE_ONE_LAYER : ATTN_CACHE_ALL_LAYERS);
        attn_assert_same_recording("in steps", &other, &scene.recording);
        attn_recording_release(&other);
    }
    scene_close(&scene);
}
END_TEST

START_TEST(a_source_outlives_rewinding_and_changes_only_after_a_reset)
{
    struct attn_session *session;
    struct attn_error err = {0};
    struct scene scene;

    scene_open(&scene, "tests/fixtures/attn-cross", "tests/fixtures/attn-cross/expected.npz");
    session = make_session(&scene, &scene.recording, ATTN_CACHE_ALL_LAYERS);
    ck_assert(attn_session_feed(session, scene.ids, 1, NULL) == ATTN_INVALID); /* none set */
    ck_assert(attn_session_set_source(session, scene.source, scene.n_source + 1, NULL) ==
              ATTN_INVALID);
    ck_assert(attn_session_set_source(session, scene.source, 0, NULL) == ATTN_INVALID);
    ck_assert(attn_session_set_source(session, scene.source, scene.n_source, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, scene.ids, 3, &err) == ATTN_OK);
    ck_assert(attn_session_set_source(session, scene.source, 1, NULL) == ATTN_INVALID);
    ck_assert(attn_session_rewind(session, 2, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, scene.ids + 2, 1, &err) == ATTN_OK);
    attn_session_reset(session);
    ck_assert(attn_session_set_source(session, scene.source, 1, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, scene.ids, 3, &err) == ATTN_OK);
    attn_session_free(session);
    scene_close(&scene);
}
END_TEST

ATTN_SUITE("source", a_source_of_its_own_length_gives_the_numbers_of_the_article,
           a_source_of_its_own_width_gives_the_numbers_of_the_article,
           self_and_cross_layers_may_alternate, learned_positions_are_added_to_a_source,
           positions_of_a_source_are_added_once_and_limit_it,
           a_source_equal_to_the_input_is_self_attention,
           rows_of_the_embedding_are_what_a_feed_begins_with, steps_and_caches_do_not_change_bits,
           a_source_outlives_rewinding_and_changes_only_after_a_reset)
