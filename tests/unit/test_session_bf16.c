/*
 * test_session_bf16.c - sessions that multiply in bfloat16, by one product or three: the same bits
 * for any threads, feeds and packing, and near those in float32.
 */
#include "attn.h"
#include "base/pool.h"
#include "model/config_fields.h"
#include "tests/support/families.h"
#include "tests/support/open.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>

enum { MOST = 40 };

static const char *const directories[] = {"tests/fixtures/gpt2-long",
                                          "tests/fixtures/gpt2-wide",
                                          "tests/fixtures/gpt2-bf16",
                                          "tests/fixtures/attn-grouped",
                                          "tests/fixtures/family-llama-gqa-tied-bf16",
                                          "tests/fixtures/family-gpt-neox-parallel",
                                          "tests/fixtures/family-gemma3-text",
                                          "models/fable",
                                          ATTN_FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };

static const struct attn_model_options in_bfloat16 = {.size = sizeof in_bfloat16,
                                                      .compute = ATTN_COMPUTE_BF16};

/* Records MODEL over some ids, STEP a feed. */
static void record(struct attn_recording *recording, const struct attn_model *model,
                   const struct attn_session_options *options, size_t step)
{
    const struct attn_config *config = attn_model_config(model);
    const size_t n = config->n_ctx < MOST ? config->n_ctx : MOST;
    struct attn_error err = {0};
    int32_t ids[MOST];

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((5 * i + 1) % config->n_vocab);
    attn_recording_init(recording, config, n);
    ck_assert_msg(attn_recording_run(recording, model, options, ids, step < n ? step : n, &err) ==
                      ATTN_OK,
                  "%s", err.message);
}

/* Beside the same in one feed, on one thread, from weights as they lie. */
static void check_same(const char *directory, const struct attn_model_options *model_options,
                       bool needs_float32, int n_thread, size_t step)
{
    struct attn_model_options as_it_lies = needs_float32 ? in_bfloat16 : *model_options;
    struct attn_model *other = attn_open_model(directory, model_options), *model;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording expected, actual;
    struct attn_error err = {0};

    as_it_lies.reuse = false;
    model = attn_open_model(directory, &as_it_lies);
    options.needs_float32 = needs_float32;
    record(&expected, model, &options, MOST);
    ck_assert(attn_pool_create(n_thread, &options.pool, &err) == ATTN_OK);
    record(&actual, other, &options, step);
    attn_assert_same_recording(directory, &actual, &expected);
    attn_recording_release(&expected);
    attn_recording_release(&actual);
    attn_pool_free(options.pool);
    attn_model_free(other);
    attn_model_free(model);
}

START_TEST(threads_feeds_and_packing_do_not_change_bits)
{
    struct attn_model_options packed = ATTN_MODEL_OPTIONS_DEFAULT;

    packed.reuse = true;
    packed.compute = ATTN_COMPUTE_BF16;
    for (int i = 0; i < N_DIRECTORY; i++) {
        check_same(directories[i], &packed, false, 2, 7);
        check_same(directories[i], &in_bfloat16, false, 1, 1);
    }
}
END_TEST

/* Layers whose keys and values are rounded, and others, in one memory and in one each. */
START_TEST(layers_of_several_kinds_share_a_cache)
{
    struct attn_model *model = attn_open_model("models/fable", &in_bfloat16);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_attention attention[4];
    struct attn_recording expected, actual;

    for (int layer = 0; layer < 4; layer++)
        attention[layer] = ATTN_ATTENTION_DEFAULT;
    attention[1].kind = ATTN_ATTENTION_STRIDED;
    attention[1].stride = 3;
    attention[2].algorithm = ATTN_ALGORITHM_BLOCKWISE;
    options.attention = attention;
    options.cache = ATTN_CACHE_ALL_LAYERS;
    record(&expected, model, &options, 7);
    options.cache = ATTN_CACHE_ONE_LAYER;
    record(&actual, model, &options, MOST);
    attn_assert_same_recording("models/fable", &actual, &expected);
    attn_recording_release(&expected);
    attn_recording_release(&actual);
    attn_model_free(model);
}
END_TEST

START_TEST(a_run_that_needs_float32_has_its_bits_on_any_model)
{
    struct attn_model_options packed = ATTN_MODEL_OPTIONS_DEFAULT;

    check_same(directories[0], &ATTN_MODEL_OPTIONS_DEFAULT, true, 1, MOST);
    packed.reuse = true;
    check_same(directories[0], &packed, true, 1, MOST);
    packed.compute = ATTN_COMPUTE_BF16;
    check_same(directories[0], &packed, true, 3, MOST);
}
END_TEST

/* The largest difference of a site, as a part of the largest number. */
static double difference(const struct attn_recording *a, const struct attn_recording *b,
                         enum attn_site site, int layer)
{
    const struct attn_recorded *x = attn_recording_find(a, site, layer);
    const struct attn_recorded *y = attn_recording_find(b, site, layer);
    double worst = 0, largest = 0;

    for (size_t i = 0; i < x->n; i++) {
        worst = fmax(worst, fabs((double)x->data[i] - (double)y->data[i]));
        largest = fmax(largest, fabs((double)y->data[i]));
    }
    return worst / largest;
}

/* Within the bounds of a product in bfloat16, and different from float32. */
START_TEST(it_is_near_float32_and_not_it)
{
    struct attn_model *model = attn_open_model("models/fable", &in_bfloat16);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording exact, rounded;

    record(&rounded, model, &options, MOST);
    options.needs_float32 = true;
    record(&exact, model, &options, MOST);
    for (int layer = 0; layer < 4; layer++) {
        ck_assert_double_lt(difference(&rounded, &exact, ATTN_SITE_PATTERN, layer), 0.2);
        ck_assert_double_lt(difference(&rounded, &exact, ATTN_SITE_RESID_POST, layer), 0.1);
    }
    ck_assert_double_gt(difference(&rounded, &exact, ATTN_SITE_Q, 0), 2e-4);
    ck_assert_double_gt(difference(&rounded, &exact, ATTN_SITE_LOGITS, ATTN_NO_LAYER), 2e-4);
    ck_assert_double_lt(difference(&rounded, &exact, ATTN_SITE_LOGITS, ATTN_NO_LAYER), 0.1);
    attn_recording_release(&exact);
    attn_recording_release(&rounded);
    attn_model_free(model);
}
END_TEST

START_TEST(there_are_no_other_numbers_to_multiply)
{
    const struct attn_source source = {.directory = directories[0]};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    options.compute = ATTN_N_COMPUTE;
    ck_assert(attn_model_open(&source, &options, &model, &err) == ATTN_INVALID && model == NULL);
    ck_assert_str_eq(err.message, "'compute' is 2, expected 0 to 1");
}
END_TEST

ATTN_SUITE("session: bfloat16", threads_feeds_and_packing_do_not_change_bits,
           layers_of_several_kinds_share_a_cache,
           a_run_that_needs_float32_has_its_bits_on_any_model, it_is_near_float32_and_not_it,
           there_are_no_other_numbers_to_multiply)
