/*
 * test_gguf_hybrids.c - GGUF files of models whose layers mix tokens without attention, and of
 * Gemma 4, whose layers have several sizes: each gives the bits of its directory of Hugging Face,
 * or the same but for rounding where its sums have another order, and what does not fit in it is
 * named.
 */
#include "gguf/gguf.h"
#include "tests/support/gguf_image.h"
#include "tests/support/gguf_models.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 13 };

static const int32_t ids[N] = {5, 11, 11, 13, 29, 5, 11, 39, 12, 17, 5, 11, 13};

#define FAMILY(name) name, "tests/fixtures/family-" name
static const struct hybrid {
    const char *name;
    const char *directory; /* NULL: there is none with these values */
    bool is_near;          /* factors are in the weights, or mixer_out is summed in another order */
} hybrids[] = {{FAMILY("bamba"), false},
               {FAMILY("falcon-h1"), true},
               {FAMILY("gemma4"), false},
               {"gemma4-experts", "tests/fixtures/names-gemma4-experts", false},
               {"gemma4-experts-q8", NULL, false}, /* layers begin within blocks of a table */
               {FAMILY("gemma4-text"), false},
               {FAMILY("granitemoehybrid"), false},
               {FAMILY("lfm2"), false},
               {FAMILY("nemotron-h"), false},
               {FAMILY("qwen3-5"), true},
               {FAMILY("qwen3-5-text"), false},
               {FAMILY("qwen3-next"), false}};

enum { N_HYBRID = sizeof hybrids / sizeof *hybrids };

static struct attn_buffer read_file(const char *name)
{
    struct attn_buffer bytes;
    char member[40];

    snprintf(member, sizeof member, "%s.gguf", name);
    bytes = attn_gguf_member("hybrids", member);
    ck_assert_msg(!bytes.has_failed, "'%s' is missing", member);
    return bytes;
}

static enum attn_status open_bytes(const struct attn_buffer *bytes, struct attn_model **model,
                                   struct attn_error *err)
{
    const struct attn_blob blob = {"model.gguf", bytes->data, bytes->size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};

    return attn_model_open(&source, NULL, model, err);
}

/* Runs MODEL over the ids, STEP at a time, and releases it. */
static void record(struct attn_model *model, size_t step, struct attn_recording *recording)
{
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), N);
    ck_assert_msg(attn_recording_run(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, step,
                                     &err) == ATTN_OK,
                  "%s", err.message);
    attn_model_free(model);
}

static void record_file(const struct attn_buffer *bytes, size_t step,
                        struct attn_recording *recording)
{
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_msg(open_bytes(bytes, &model, &err) == ATTN_OK, "%s", err.message);
    record(model, step, recording);
}

static void record_directory(const char *directory, struct attn_recording *recording)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(&source, NULL, &model, &err) == ATTN_OK, "%s", err.message);
    record(model, N, recording);
}

/* Every site of both, within a share of its largest value. */
static void assert_near(const char *name, const struct attn_recording *actual,
                        const struct attn_recording *expected)
{
    const size_t n = (actual->dims.n_layer + 1) * ATTN_N_SITE;

    for (size_t i = 0; i < n; i++) {
        const struct attn_recorded *a = &actual->records[i], *b = &expected->records[i];
        float largest = 0, distance = 0;

        ck_assert_uint_eq(a->n, b->n);
        for (size_t k = 0; b->data && k < b->n; k++) {
            const float x = fabsf(b->data[k]), y = fabsf(a->data[k] - b->data[k]);

            largest = isfinite(x) && x > largest ? x : largest;
            distance = isfinite(y) && y > distance ? y : distance;
        }
        ck_assert_msg(distance <= 2e-5F * largest, "%s, site %zu of layer %zu: %g of %g", name,
                      i % ATTN_N_SITE, i / ATTN_N_SITE, (double)distance, (double)largest);
    }
}

START_TEST(files_have_the_bits_of_their_directories)
{
    for (size_t i = 0; i < N_HYBRID; i++) {
        struct attn_buffer bytes = read_file(hybrids[i].name);
        struct attn_recording whole, parts, expected;

        record_file(&bytes, N, &whole);
        record_file(&bytes, 3, &parts);
        attn_assert_same_recording("in parts", &parts, &whole);
        if (hybrids[i].directory) {
            record_directory(hybrids[i].directory, &expected);
            if (hybrids[i].is_near)
                assert_near(hybrids[i].name, &whole, &expected);
            else
                attn_assert_same_recording(hybrids[i].name, &whole, &expected);
            attn_recording_release(&expected);
        }
        attn_recording_release(&whole);
        attn_recording_release(&parts);
        attn_buffer_release(&bytes);
    }
}
END_TEST

/* As float64, or with one tensor for q, k and v in the layers with attention. Gated DeltaNet of
 * Qwen 3 has another one of that name; layers of Gemma 4 may lack k and v. */
START_TEST(other_forms_of_a_file_give_the_same_bits)
{
    static const unsigned forms[] = {ATTN_GGUF_AS_F64, ATTN_GGUF_FUSED};

    for (size_t i = 0; i < N_HYBRID; i++) {
        const size_t n_form = strpbrk(hybrids[i].name, "34") ? 1 : 2;
        struct attn_buffer bytes = read_file(hybrids[i].name);
        struct attn_recording expected;

        record_file(&bytes, N, &expected);
        for (size_t k = 0; k < n_form; k++) {
            struct attn_buffer other = attn_gguf_rewrite(&bytes, forms[k]);
            struct attn_recording actual;

            record_file(&other, N, &actual);
            attn_assert_same_recording(hybrids[i].name, &actual, &expected);
            attn_recording_release(&actual);
            attn_buffer_release(&other);
        }
        attn_recording_release(&expected);
        attn_buffer_release(&bytes);
    }
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

/* Without output.weight the output is tied; layer 4 is left out; without v, values of Gemma 4 are
 * keys. */
static bool may_be_missing(const char *model, const char *name)
{
    return strncmp(name, "output.", 7) == 0 || strncmp(name, "blk.4.", 6) == 0 ||
           (strncmp(model, "gemma4", 6) == 0 && strstr(name, "attn_v.weight"));
}

START_TEST(a_tensor_that_is_missing_or_turned_is_named)
{
    for (size_t i = 0; i < N_HYBRID; i++) {
        struct attn_buffer whole = read_file(hybrids[i].name), damaged;
        struct attn_error err;
        char name[64];

        for (size_t k = 0; attn_gguf_damage(&whole, k, false, name, &damaged); k += attn_one_of(3))
            if (attn_gguf_try(&damaged, &err) == ATTN_OK)
                ck_assert_msg(may_be_missing(hybrids[i].name, name), "%s without '%s' is a model",
                              hybrids[i].name, name);
            else
                ck_assert_msg(strstr(err.message, "missing in") != NULL ||
                                  strstr(err.message, " has no ") != NULL ||
                                  strstr(err.message, " is of a part") != NULL,
                              "%s without '%s': %s", hybrids[i].name, name, err.message);
        attn_buffer_release(&damaged);
        attn_gguf_try_turned(&whole, hybrids[i].name);
        attn_buffer_release(&whole);
    }
}
END_TEST

/* A byte of the metadata or of a tensor's entry is another one. */
START_TEST(other_bytes_of_metadata_are_refused_or_run)
{
    uint32_t random = 1;
    size_t n_ok = 0, n = 0;

    for (size_t i = 0; i < N_HYBRID; i++) {
        const size_t end = (i + 1) * 700 / attn_one_in(14);
        struct attn_buffer whole = read_file(hybrids[i].name);

        n_ok += attn_gguf_try_bits(&whole, end - n, &random);
        n = end;
        attn_buffer_release(&whole);
    }
    ck_assert_msg(n_ok > 0 && n_ok < n, "%zu of %zu opened", n_ok, n);
}
END_TEST

/* Returns the place of the value of KEY in BYTES, after the number of its type. */
static char *find_value(const struct attn_buffer *bytes, const char *key)
{
    const size_t size = strlen(key);

    for (size_t i = 0; i + size < bytes->size; i++)
        if (memcmp(bytes->data + i, key, size) == 0)
            return bytes->data + i + size + 4;
    ck_abort_msg("'%s' is missing", key);
    return NULL;
}

/* Each row puts a number at a place of a key's value: of a list, items follow its type and length.
 */
START_TEST(lists_and_sizes_that_do_not_fit_are_named)
{
    static const struct {
        const char *name, *key;
        size_t at;
        uint32_t value;
        const char *message;
    } rows[] = {
        {"lfm2", "lfm2.attention.head_count_kv", 12 + 4, 1,
         "'blk.1.attn_k.weight' in 'm/model.gguf' has shape [12, 24], expected [6, 24]"},
        {"lfm2", "lfm2.attention.head_count_kv", 12 + 8, 4,
         "'lfm2.attention.head_count_kv' in 'm/model.gguf' is 4 in layer 2 and 2 in an earlier "
         "one, "
         "which this version does not support"},
        {"lfm2", "lfm2.attention.head_count_kv", 12, 0xffffffff,
         "'lfm2.attention.head_count_kv' in 'm/model.gguf' has no number from 0 to 16777216 for "
         "layer 0"},
        {"lfm2", "lfm2.block_count", 0, 2,
         "'lfm2.attention.head_count_kv' in 'm/model.gguf' has 3 items, expected 2, one for each "
         "layer"},
        {"lfm2", "lfm2.shortconv.l_cache", 0, 0,
         "'lfm2.shortconv.l_cache' in 'm/model.gguf' is 0, expected 1 to 4096"},
        {"lfm2", "lfm2.shortconv.l_cache", 0, 4,
         "'blk.0.shortconv.conv.weight' in 'm/model.gguf' has shape [24, 3], expected [24, 4]"},
        {"qwen3-5", "qwen35.nextn_predict_layers", 0, 5,
         "'qwen35.nextn_predict_layers' in 'm/model.gguf' is 5 of 5 layers"},
        {"qwen3-5", "qwen35.ssm.time_step_rank", 0, 6,
         "'qwen35.ssm.time_step_rank' 6 in 'm/model.gguf' does not divide "
         "'qwen35.ssm.inner_size' 20"},
        {"qwen3-5", "qwen35.ssm.group_count", 0, 3,
         "'qwen35.ssm.group_count' 3 in 'm/model.gguf' does not divide "
         "'qwen35.ssm.time_step_rank' 4"},
        {"qwen3-5", "qwen35.block_count", 0, 4,
         "'qwen35.attention.recurrent_layers' in 'm/model.gguf' has 5 items, expected 4, one for "
         "each layer"},
        {"granitemoehybrid", "granitehybrid.ssm.inner_size", 0, 60,
         "'granitehybrid.embedding_length' 24 in 'm/model.gguf' does not divide "
         "'granitehybrid.ssm.inner_size' 60"},
        {"nemotron-h", "nemotron_h.feed_forward_length", 12 + 4, 31, "is 30 in layer 4 and 31"},
        {"gemma4", "gemma4.feed_forward_length", 12 + 4, 21,
         "'gemma4.feed_forward_length' in 'm/model.gguf' is 21 in layer 1, expected one width"},
        {"gemma4", "gemma4.feed_forward_length", 12, 0,
         "'gemma4.feed_forward_length' in 'm/model.gguf' has no number from 1 to 16777216 for "
         "layer 0"},
        {"gemma4-text", "gemma4.attention.shared_kv_layers", 0, 2,
         "'num_kv_shared_layers' in 'm/model.gguf' is 2, but no layer before them has the keys"},
        {"gemma4", "gemma4.attention.key_length_swa", 0, 6,
         "'gemma4.attention.value_length_swa' in 'm/model.gguf' is 8 beside keys of 6"},
        {"gemma4-text", "gemma4.attention.head_count_kv", 12, 3,
         "'gemma4.attention.head_count_kv' 3 in 'm/model.gguf' does not divide "
         "'gemma4.attention.head_count' 4"},
        {"gemma4-text", "gemma4.rope.dimension_count_swa", 0, 9,
         "'gemma4.rope.dimension_count_swa' in 'm/model.gguf' is 9, of heads of 8"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_buffer bytes = read_file(rows[i].name);
        struct attn_error err;

        memcpy(find_value(&bytes, rows[i].key) + rows[i].at, &rows[i].value, sizeof rows[i].value);
        ck_assert_msg(attn_gguf_try(&bytes, &err) != ATTN_OK, "row %zu is a model", i);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "row %zu: %s", i, err.message);
    }
}
END_TEST

ATTN_SUITE("gguf_hybrids", files_have_the_bits_of_their_directories,
           other_forms_of_a_file_give_the_same_bits, a_tensor_that_is_missing_or_turned_is_named,
           other_bytes_of_metadata_are_refused_or_run, lists_and_sizes_that_do_not_fit_are_named)
