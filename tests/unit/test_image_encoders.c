/*
 * test_image_encoders.c - pictures through a session: the grid of their patches, one feed with the
 * same bits whatever runs beside it, the one row of a classifier, configs that lie about sizes.
 * Their tensors are compared with float64 in test_family_fixtures.c.
 */
#include "base/buffer.h"
#include "catalog/cost.h"
#include "tests/support/encoders.h"
#include "tests/support/kept.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/parts.h"
#include "tests/support/recording.h"
#include "tests/support/recording_pixels.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "towers/image_patches.h"
#include "trace/site_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[ATTN_N_IMAGE_ENCODER] = {ATTN_IMAGE_ENCODERS};

/* A model of the archive and its last picture. */
struct subject {
    struct attn_model *model;
    float *pixels; /* owns */
    size_t size[2];
    size_t n; /* positions */
};

static struct subject open_subject(const char *name)
{
    struct subject s = {.model = attn_encoder_open(name)};
    char member[64], path[ATTN_ENCODER_PATH_SIZE];
    struct attn_image_grid grid;
    struct attn_error err = {0};
    struct attn_npy array;
    size_t n;

    for (int k = 0;; k++) {
        snprintf(member, sizeof member, "%s/expected.npz/%d/pixels.npy", name, k);
        attn_encoder_path(member, path);
        if (!attn_npy_read(path, &array))
            break;
        s.size[0] = array.shape[1], s.size[1] = array.shape[2];
        attn_npy_release(&array);
        free(s.pixels);
        s.pixels = attn_npy_load_floats(path, &n);
    }
    ck_assert(attn_model_image_grid(s.model, s.size[0], s.size[1], &grid, &err) == ATTN_OK);
    s.n = grid.n_front + grid.n_row * grid.n_col;
    return s;
}

static void close_subject(struct subject *s)
{
    attn_model_free(s->model);
    free(s->pixels);
}

static struct attn_session *create(const struct subject *s, struct attn_session_options *options)
{
    struct attn_session *session = NULL;
    struct attn_error err = {0};

    options->n_max = s->n;
    ck_assert_msg(attn_session_create(s->model, options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    return session;
}

static void feed(struct attn_session *session, const struct subject *s)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_session_feed_pixels(session, s->pixels, s->size[0], s->size[1], &err) ==
                      ATTN_OK,
                  "%s", err.message);
}

/* An attn_record_fn. */
static void record(struct attn_recording *recording, const void *subject,
                   const struct attn_session_options *options)
{
    const struct subject *s = subject;
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(s->model), s->n);
    ck_assert_msg(attn_recording_run_pixels(recording, s->model, options, s->pixels, s->size,
                                            &err) == ATTN_OK,
                  "%s", err.message);
}

START_TEST(bits_depend_on_nothing_beside_the_picture)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_IMAGE_ENCODER; i++) {
        struct subject s = open_subject(names[i]);

        attn_assert_same_however_run(record, &s, s.model, &ATTN_SESSION_OPTIONS_DEFAULT);
        close_subject(&s);
    }
    attn_encoders_remove();
}
END_TEST

/* Of queries 0 and -1 alone, each site by itself: `embed` has no row of [CLS], and logits are there
 * whatever the queries are. */
START_TEST(each_site_alone_has_the_bits_of_all_together)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_IMAGE_ENCODER; i++) {
        struct subject s = open_subject(names[i]);
        const struct attn_dims dims = attn_config_dims(attn_model_config(s.model), s.n);
        struct attn_recording expected;

        record(&expected, &s, &ATTN_SESSION_OPTIONS_DEFAULT);
        for (int site = 0; site < ATTN_N_SITE; site++) {
            const bool is_in_layer = attn_site_is_in_layer((enum attn_site)site);
            const int layer = is_in_layer ? (int)dims.n_layer - 1 : ATTN_NO_LAYER;
            const struct attn_recorded *all = attn_recording_find(&expected, site, layer);
            const size_t n_row =
                site == ATTN_SITE_LOGITS || site == ATTN_SITE_POOLED || site == ATTN_SITE_EMBED ? 1
                                                                                                : 2;
            const size_t width = all->shape[1];
            struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
            struct attn_selection *selection;
            struct attn_session *session;
            struct attn_capture *capture;
            struct attn_error err = {0};
            const float *values;
            size_t shape[3];

            if (!attn_sites_have(dims.sites, site) ||
                attn_site_layout((enum attn_site)site) != ATTN_LAYOUT_VECTOR)
                continue;
            selection = attn_select_last(&dims, (enum attn_site)site, "0,-1");
            ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
            options.trace = attn_capture_trace(capture);
            session = create(&s, &options);
            feed(session, &s);
            values = attn_kept(capture, (enum attn_site)site, layer);
            ck_assert_int_eq(
                attn_selection_shape(
                    selection,
                    &(struct attn_location){.layer = layer, .site = (enum attn_site)site}, shape),
                2);
            ck_assert_uint_eq(shape[0], n_row);
            ck_assert_uint_eq(shape[1], width);
            attn_assert_same_bits(attn_site_name((enum attn_site)site),
                                  values + (n_row - 1) * width,
                                  all->data + (all->n_row - 1) * width, width);
            if (n_row == 2)
                attn_assert_same_bits(attn_site_name((enum attn_site)site), values, all->data,
                                      width);
            attn_session_free(session);
            attn_capture_free(capture);
            attn_selection_free(selection);
        }
        attn_recording_release(&expected);
        close_subject(&s);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(a_classifier_has_one_row_of_logits)
{
    static const char *const classifiers[] = {"vit", "dinov2", "dinov2_with_registers"};

    attn_encoders_unpack();
    for (int i = 0; i < 3; i++) {
        struct subject s = open_subject(classifiers[i]);
        const struct attn_config *config = attn_model_config(s.model);
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_recording all;
        struct attn_session *session;
        struct attn_error err = {0};
        const struct attn_recorded *expected;
        const size_t positions[] = {0};
        const float *logits;
        float copy[8];

        record(&all, &s, &options);
        expected = attn_recording_find(&all, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
        ck_assert_uint_eq(config->n_vocab, 4);
        ck_assert_uint_eq(expected->n, 4);
        ck_assert_str_eq(config->labels[3], "LABEL_3");
        options.has_logits = true;
        options.cache = i == 0 ? ATTN_CACHE_ALL_LAYERS : ATTN_CACHE_ONE_LAYER;
        session = create(&s, &options);
        feed(session, &s);
        ck_assert(attn_session_logits(session, &logits, &err) == ATTN_OK);
        attn_assert_same_bits("logits", logits, expected->data, 4);
        ck_assert(attn_session_logits_at(session, 0, 1, copy, &err) == ATTN_OK);
        attn_assert_same_bits("logits at 0", copy, expected->data, 4);
        ck_assert(attn_session_logits_of(session, positions, 1, copy, &err) == ATTN_OK);
        attn_assert_same_bits("logits of 0", copy, expected->data, 4);
        ck_assert(attn_session_logits_last(session, copy, &err) == ATTN_OK);
        attn_assert_same_bits("last logits", copy, expected->data, 4);
        attn_assert_invalid(attn_session_logits_at(session, 1, 1, copy, &err), &err,
                            "1 positions from 1 on are not among the 1 that were fed");
        attn_session_free(session);
        attn_recording_release(&all);
        close_subject(&s);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(a_file_without_its_classifier_has_no_logits)
{
    char directory[ATTN_ENCODER_PATH_SIZE];
    struct attn_parts parts;
    struct attn_model *model;
    struct attn_error err = {0};
    unsigned char *name;

    attn_encoders_unpack();
    attn_encoder_path("vit", directory);
    parts = attn_parts_load(directory);
    for (int i = 0; i < 2; i++) { /* weight and bias become tensors that are not used */
        name = memmem(parts.weights.bytes, parts.weights.size, "\"classifier.", 12);
        ck_assert_ptr_nonnull(name);
        name[1] = 'x';
    }
    ck_assert(attn_parts_open(&parts, &model, &err) == ATTN_OK);
    ck_assert_int_eq(attn_model_config(model)->output, ATTN_OUTPUT_NONE);
    ck_assert_uint_eq(attn_model_config(model)->n_vocab, 0);
    ck_assert_ptr_null(attn_model_config(model)->labels);
    ck_assert(!attn_config_dims(attn_model_config(model), 7).is_pooled);
    attn_model_free(model);
    attn_parts_release(&parts);
    attn_encoders_remove();
}
END_TEST

/* Two streams of one picture side by side, from the middle of the model. */
START_TEST(a_pack_from_a_layer_has_the_bits_of_the_picture)
{
    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_IMAGE_ENCODER; i++) {
        struct subject s = open_subject(names[i]);
        const struct attn_config *config = attn_model_config(s.model);
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        const struct attn_session_sequence sequences[] = {{.n = s.n}, {.n = s.n}};
        struct attn_recording all;
        struct attn_session *session;
        struct attn_error err = {0};
        const float *resid[2];
        float logits[16];

        if (config->output == ATTN_OUTPUT_NONE) {
            close_subject(&s);
            continue;
        }
        record(&all, &s, &options);
        resid[0] = resid[1] = attn_recording_find(&all, ATTN_SITE_RESID_PRE, 1)->data;
        options.n_max = 2 * s.n, options.n_sequence = 2, options.cache = ATTN_CACHE_ONE_LAYER;
        options.has_logits = true;
        ck_assert(attn_session_create(s.model, &options, &session, &err) == ATTN_OK);
        attn_feed_pack(session, 1, resid, NULL, sequences, 2);
        ck_assert(attn_session_logits_last(session, logits, &err) == ATTN_OK);
        for (size_t k = 0; k < 2; k++)
            attn_assert_same_bits(names[i], logits + k * 4,
                                  attn_recording_find(&all, ATTN_SITE_LOGITS, ATTN_NO_LAYER)->data,
                                  4);
        attn_session_free(session);
        attn_recording_release(&all);
        close_subject(&s);
    }
    attn_encoders_remove();
}
END_TEST

/* An edit of `embed` does not reach [CLS]; one of the logits names row 0. */
START_TEST(edits_reach_patches_and_the_row_of_a_classifier)
{
    const struct attn_edit embed = {
        .at.site = ATTN_SITE_EMBED, .row1 = SIZE_MAX, .col1 = SIZE_MAX, .op = ATTN_EDIT_ZERO};
    struct attn_edit edit = {
        .at.site = ATTN_SITE_LOGITS, .row1 = 1, .col0 = 1, .col1 = 2, .op = ATTN_EDIT_ZERO};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording plain, edited;
    struct attn_session *session;
    struct attn_error err = {0};
    const struct attn_recorded *a, *b;
    const float *logits;
    struct subject s;

    attn_encoders_unpack();
    s = open_subject("dinov2");
    record(&plain, &s, &options);
    options.edits = &embed, options.n_edit = 1;
    record(&edited, &s, &options);
    a = attn_recording_find(&plain, ATTN_SITE_RESID_PRE, 0);
    b = attn_recording_find(&edited, ATTN_SITE_RESID_PRE, 0);
    attn_assert_same_bits("[CLS]", b->data, a->data, a->shape[1]);
    ck_assert(memcmp(b->data + a->shape[1], a->data + a->shape[1], a->shape[1] * sizeof(float)));
    options.edits = &edit;
    options.has_logits = true;
    session = create(&s, &options);
    feed(session, &s);
    ck_assert(attn_session_logits(session, &logits, &err) == ATTN_OK);
    ck_assert(logits[1] == 0 && logits[0] != 0);
    attn_session_free(session);
    edit.row0 = 1, edit.row1 = 2;
    options.n_max = s.n;
    attn_assert_invalid(attn_session_create(s.model, &options, &session, &err), &err,
                        "an edit of 'logits' names positions 1 to 2, expected some of 0 to 1");
    attn_recording_release(&plain);
    attn_recording_release(&edited);
    close_subject(&s);
    attn_encoders_remove();
}
END_TEST

START_TEST(a_picture_is_fed_at_once_and_nothing_else)
{
    static const int32_t ids[] = {0, 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_model *text;
    struct subject s;
    float x[64] = {0};

    attn_encoders_unpack();
    s = open_subject("vit");
    session = create(&s, &options);
    attn_assert_invalid(attn_session_feed(session, ids, 2, &err), &err,
                        "reads pictures, not tokens");
    attn_assert_invalid(attn_session_feed_embeddings(session, x, 2, &err), &err,
                        "reads pictures, not embeddings");
    attn_assert_invalid(attn_model_embed(s.model, ids, 2, x, &err), &err,
                        "reads pictures, not tokens");
    attn_assert_invalid(attn_session_feed_pixels(session, s.pixels, 9, 13, &err), &err,
                        "a picture has 13 x 9 pixels, '");
    attn_assert_invalid(attn_session_feed_pixels(session, NULL, 13, 9, &err), &err,
                        "'pixels' is NULL");
    s.pixels[40] = NAN;
    attn_assert_invalid(attn_session_feed_pixels(session, s.pixels, 13, 9, &err), &err,
                        "row 4 of the picture is not finite");
    s.pixels[40] = 0;
    feed(session, &s);
    attn_assert_invalid(attn_session_feed_pixels(session, s.pixels, 13, 9, &err), &err,
                        "takes its whole sequence in one feed");
    attn_session_reset(session);
    feed(session, &s);
    attn_session_free(session);
    close_subject(&s);
    text = attn_encoder_open("bert");
    options.n_max = 4;
    ck_assert(attn_session_create(text, &options, &session, &err) == ATTN_OK);
    attn_assert_invalid(attn_session_feed_pixels(session, x, 4, 4, &err), &err,
                        "reads tokens, not pictures");
    attn_session_free(session);
    attn_model_free(text);
    attn_encoders_remove();
}
END_TEST

START_TEST(grids_are_those_of_the_size)
{
    static const struct {
        const char *model;
        size_t height, width, n_front, n_row, n_col;
        const char *message; /* NULL: there is a grid */
    } rows[] = {
        {"vit", 13, 9, 1, 3, 2, NULL},
        {"vit", 12, 9, 0, 0, 0, "reads 9 x 13"},
        {"clip_vision_model", 12, 12, 1, 3, 3, NULL},
        {"clip_vision_model", 24, 24, 0, 0, 0, "reads 12 x 12"},
        {"dinov2", 13, 13, 1, 3, 3, NULL},
        {"dinov2", 7, 400, 1, 1, 100, NULL},
        {"dinov2", 3, 400, 0, 0, 0, "has 400 x 3 pixels, expected a patch"},
        {"dinov2", 0, 4, 0, 0, 0, "expected a patch"},
        {"dinov2", SIZE_MAX, SIZE_MAX, 0, 0, 0, "has too many patches"},
        {"dinov2", 1000000000, 1000000000, 0, 0, 0, "has too many patches"},
        {"dinov2_with_registers", 15, 17, 3, 5, 5, NULL},
    };

    attn_encoders_unpack();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_model *model = attn_encoder_open(rows[i].model);
        struct attn_image_grid grid = {0};
        struct attn_error err = {0};
        const enum attn_status status =
            attn_model_image_grid(model, rows[i].height, rows[i].width, &grid, &err);

        if (rows[i].message)
            attn_assert_invalid(status, &err, rows[i].message);
        ck_assert_uint_eq(grid.n_front, rows[i].n_front);
        ck_assert_uint_eq(grid.n_row, rows[i].n_row);
        ck_assert_uint_eq(grid.n_col, rows[i].n_col);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(parameters_are_those_of_the_file)
{
    static const size_t n_ignored[ATTN_N_IMAGE_ENCODER] = {0, 12, 12, 0}; /* of mask_token */

    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_IMAGE_ENCODER; i++) {
        struct attn_model *model = attn_encoder_open(names[i]);
        const struct attn_parameters p = attn_model_parameters(model);
        ck_assert_uint_eq(p.embedding + p.positions + p.attention + p.mlp + p.norms + p.output,
                          attn_encoder_n_element(model) - n_ignored[i]);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

/* --- configs ---------------------------------------------------------------------------------- */

/* The keys of the fixture NAME, one of which is another. */
static struct attn_buffer write_config(const char *name, const char *key, const char *value)
{
    const bool is_clip = strcmp(name, "clip_vision_model") == 0;
    const char *keys[][2] = {
        {"hidden_size", "12"},
        {"num_hidden_layers", "2"},
        {"num_attention_heads", "3"},
        {is_clip || strcmp(name, "vit") == 0 ? "intermediate_size" : "mlp_ratio",
         is_clip || strcmp(name, "vit") == 0 ? "17" : "2"},
        {"image_size", is_clip                    ? "12"
                       : strcmp(name, "vit") == 0 ? "[13,9]"
                                                  : "13"},
        {"patch_size", "4"},
        {"num_channels", "3"},
        {"num_labels", "4"},
        {"id2label", "null"},
        {"qkv_bias", "true"},
        {"use_swiglu_ffn", "false"},
        {"quantization_config", "null"},
    };
    struct attn_buffer text = {0};

    attn_buffer_append_format(&text, "{\"model_type\":\"%s\"", name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        attn_buffer_append_format(&text, ",\"%s\":%s", keys[i][0],
                                  strcmp(keys[i][0], key) == 0 ? value : keys[i][1]);
    attn_buffer_append_string(&text, "}");
    return text;
}

static enum attn_status open_changed(const char *name, const char *key, const char *value,
                                     struct attn_error *err)
{
    char directory[ATTN_ENCODER_PATH_SIZE];
    struct attn_buffer config = write_config(name, key, value);

    attn_encoder_path(name, directory);
    *err = (struct attn_error){0};
    return attn_parts_try_config(directory, &config, err);
}

START_TEST(configs_that_lie_are_refused_in_a_line)
{
    static const struct {
        const char *model, *key, *value, *message; /* message NULL: the model opens */
    } rows[] = {
        {"vit", "", "", NULL},
        {"dinov2", "", "", NULL},
        {"clip_vision_model", "", "", NULL},
        {"vit", "image_size", "1000000000",
         "is 1000000000, expected an integer from 1 to 16777216"},
        {"vit", "image_size", "16777216", "cut into more than 16777216"},
        {"vit", "image_size", "[13]",
         "'image_size' in 'm/config.json' is a list of something else"},
        {"vit", "image_size", "[13,9,3]", "expected pixels, or [height, width]"},
        {"vit", "image_size", "[13,0]", "'image_size'"},
        {"vit", "image_size", "[13,\"9\"]", "'image_size'"},
        {"vit", "image_size", "\"13\"", "'image_size'"},
        {"vit", "image_size", "{}", "'image_size'"},
        {"vit", "image_size", "12",
         "'vit.embeddings.position_embeddings' in 'm/model.safetensors' "
         "has shape [1, 7, 12], expected [1, 10, 12]"},
        {"vit", "patch_size", "0", "'patch_size' in 'm/config.json' is 0"},
        {"vit", "patch_size", "[4,0]", "'patch_size'"},
        {"vit", "patch_size", "14", "is 14 x 14, larger than 'image_size', 13 x 9"},
        {"vit", "patch_size", "3", "has shape [12, 3, 4, 4], expected [12, 3, 3, 3]"},
        {"vit", "num_channels", "0", "'num_channels'"},
        {"vit", "num_channels", "16777216", "a patch in 'm/config.json' has 4 x 4 pixels of"},
        {"vit", "num_labels", "0", "'num_labels'"},
        {"vit", "num_labels", "1073741824", "'classifier.weight'"},
        {"vit", "num_labels", "1073741825", "'num_labels'"},
        {"vit", "id2label", "{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\",\"3\":\"d\"}", NULL},
        {"vit", "id2label", "{\"0\":\"a\",\"1\":\"b\",\"3\":\"c\",\"2\":\"d\"}", NULL},
        {"vit", "id2label", "{\"0\":\"a\"}", NULL}, /* num_labels counts */
        {"vit", "id2label", "{\"0\":\"a\",\"4\":\"b\",\"1\":\"c\",\"2\":\"d\"}",
         "'4' of 'id2label'"},
        {"vit", "id2label", "{\"0\":\"a\",\"00\":\"b\",\"1\":\"c\",\"2\":\"d\"}",
         "'00' of 'id2label'"},
        {"vit", "id2label", "{\"0\":\"a\",\"-1\":\"b\",\"1\":\"c\",\"2\":\"d\"}",
         "'-1' of 'id2label'"},
        {"vit", "id2label", "{\"0\":\"a\",\"99999999999999999999\":\"b\",\"1\":\"c\",\"2\":\"d\"}",
         "of 'id2label'"},
        {"vit", "id2label", "{\"0\":5,\"1\":\"b\",\"2\":\"c\",\"3\":\"d\"}", "'0' of 'id2label'"},
        {"vit", "id2label", "[\"a\"]", NULL}, /* no object: not read */
        {"vit", "num_attention_heads", "5", "num_attention_heads 5 does not divide hidden_size 12"},
        {"vit", "qkv_bias", "false", "says that the map has no bias"},
        {"vit", "qkv_bias", "0", "'qkv_bias'"},
        {"vit", "quantization_config", "{\"bits\":4}", "'quantization_config'"},
        {"dinov2", "mlp_ratio", "0", "makes an MLP of width 0"},
        {"dinov2", "mlp_ratio", "16777216", "makes an MLP of width 201326592"},
        {"dinov2", "mlp_ratio", "-1", "'mlp_ratio'"},
        {"dinov2", "mlp_ratio", "2.05", NULL}, /* int(12 * 2.05) */
        {"dinov2", "use_swiglu_ffn", "true",
         "'dinov2.encoder.layer.0.mlp.weights_in.weight' is "
         "missing"},
        {"clip_vision_model", "image_size", "16", "expected [17, 12]"},
    };

    attn_encoders_unpack();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_error err;
        const enum attn_status status =
            open_changed(rows[i].model, rows[i].key, rows[i].value, &err);

        if (rows[i].message)
            ck_assert_msg((status == ATTN_FORMAT || status == ATTN_UNSUPPORTED) &&
                              strstr(err.message, rows[i].message) != NULL,
                          "%s: %s gives %s", rows[i].key, rows[i].value, err.message);
        else
            ck_assert_msg(status == ATTN_OK, "%s: %s gives %s", rows[i].key, rows[i].value,
                          err.message);
    }
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("image encoders", bits_depend_on_nothing_beside_the_picture,
           each_site_alone_has_the_bits_of_all_together, a_classifier_has_one_row_of_logits,
           a_file_without_its_classifier_has_no_logits,
           a_pack_from_a_layer_has_the_bits_of_the_picture,
           edits_reach_patches_and_the_row_of_a_classifier,
           a_picture_is_fed_at_once_and_nothing_else, grids_are_those_of_the_size,
           parameters_are_those_of_the_file, configs_that_lie_are_refused_in_a_line)
