/*
 * fuzz_config.c - config.json over the weights of several tiny models.
 *
 * A model opens, or says in one line why not; one that opens has sizes that fit each other, and
 * runs.
 */
#include "forward/session.h"
#include "forward/session_internal.h"
#include "model/family.h"
#include "tests/fuzz/fuzz.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

enum { N_TOKEN = 3, N_WEIGHTS = 13 };

static const struct attn_blob *weights_of(int i)
{
    static const char *const paths[N_WEIGHTS] = {
        "models/tiny-gpt2/model.safetensors",
        "models/life-is-short/model.safetensors",
        "tests/fixtures/attn-grouped/model.safetensors",
        "tests/fixtures/attn-mlp/model.safetensors",
        "tests/fixtures/attn-cross/model.safetensors",
        "tests/fixtures/attn-plain/model.safetensors",
        "tests/fixtures/gpt2-old/model.safetensors",
        "tests/fixtures/family-gpt-neo/model.safetensors",
        "tests/fixtures/family-gpt-neox-sequential/model.safetensors",
        "tests/fixtures/family-llama-biases/model.safetensors",
        "tests/fixtures/family-qwen2/model.safetensors",
        "tests/fixtures/family-gemma3-text/model.safetensors",
        "tests/fixtures/family-phi/model.safetensors"};
    static struct attn_blob blobs[N_WEIGHTS];

    if (blobs[i].data == NULL)
        blobs[i] = attn_fuzz_blob("model.safetensors", paths[i]);
    return &blobs[i];
}

static void check_sizes(const struct attn_config *config)
{
    const struct attn_dims dims = attn_config_dims(config, N_TOKEN);

    FUZZ_CHECK(config->n_layer >= 1 && config->n_layer <= ATTN_MAX_LAYER);
    FUZZ_CHECK(config->n_head >= 1 && config->n_kv_head >= 1);
    FUZZ_CHECK(config->n_head % config->n_kv_head == 0);
    FUZZ_CHECK(config->d_model >= 1 && config->d_head >= 1 && config->d_value >= 1);
    FUZZ_CHECK((config->n_vocab >= 1 || config->image.patch_height > 0) && config->n_ctx >= 1);
    FUZZ_CHECK(config->norm_eps >= 0 && config->norm_eps <= 1);
    FUZZ_CHECK(config->attention != NULL && config->is_cross != NULL);
    for (size_t i = 0; i < config->n_layer && config->positions == ATTN_POSITIONS_ROTARY; i++)
        FUZZ_CHECK(config->rope[i].d_rotary >= 2 && config->rope[i].d_rotary <= config->d_head &&
                   config->rope[i].d_rotary % 2 == 0 && config->rope[i].theta > 1);
    FUZZ_CHECK(dims.n_layer == config->n_layer && !attn_sites_are_empty(dims.sites));
}

static size_t n_token(const struct attn_config *config)
{
    return config->n_ctx < N_TOKEN ? config->n_ctx : N_TOKEN;
}

static enum attn_status set_source(struct attn_session *session, const struct attn_config *config)
{
    struct attn_error err = {0};
    float *x = calloc(2 * config->d_source, sizeof *x);
    enum attn_status status;

    FUZZ_CHECK(x != NULL);
    status = attn_session_set_source(session, x, 2, &err);
    attn_fuzz_check_error(status, &err, 0);
    free(x);
    return status;
}

/* Three tokens through a model that opened. */
static void run_model(const struct attn_model *model)
{
    const struct attn_config *config = attn_model_config(model);
    const int32_t ids[N_TOKEN] = {0, (int32_t)(config->n_vocab - 1), 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session = NULL;
    struct attn_error err = {0};
    const float *logits = NULL;
    bool has_cross = false;
    enum attn_status status;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        has_cross = has_cross || config->is_cross[layer];
    options.n_max = n_token(config);
    options.n_source = has_cross ? 2 : 0;
    options.has_logits = config->output != ATTN_OUTPUT_NONE;
    options.gemm = ATTN_GEMM_PORTABLE; /* code made at run time is nothing that ASan sees */
    status = attn_session_create(model, &options, &session, &err);
    attn_fuzz_check_error(status, &err, 0);
    if (has_cross)
        (void)set_source(session, config);
    status = attn_session_feed(session, ids, options.n_max, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT)); /* a size can make it overflow */
    if (status == ATTN_OK && options.has_logits)
        FUZZ_CHECK(attn_session_logits(session, &logits, &err) == ATTN_OK && logits != NULL);
    attn_session_free(session);
}

static void on_note(void *user, enum attn_note code, const char *message)
{
    FUZZ_CHECK(user == NULL && *attn_note_name(code) && message[0] != '\0');
    FUZZ_CHECK(attn_fuzz_is_printable(message, strlen(message)));
}

static void open_model(const uint8_t *data, size_t size, const struct attn_blob *weights)
{
    const struct attn_blob blobs[] = {{"config.json", data, size}, *weights};
    const struct attn_source source = {.name = "fuzz", .blobs = blobs, .n_blob = 2};
    const struct attn_model_options options = {
        .size = sizeof options, .load = ATTN_READ, .on_note = on_note};
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    const enum attn_status status = attn_model_open(&source, &options, &model, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    FUZZ_CHECK((status == ATTN_OK) == (model != NULL));
    if (status == ATTN_OK)
        run_model(model);
    attn_model_free(model);
}

/* Whether the config alone is accepted; then its sizes fit each other. */
static bool check_config(const uint8_t *data, size_t size)
{
    struct attn_file file = attn_fuzz_file("fuzz/config.json", data, size);
    struct attn_config config = {0};
    struct attn_config_layers layers = {0};
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_json_parse_named(&file, attn_family_config_keys, &json, &err);

    if (status == ATTN_OK)
        status = attn_family_read_config(json, NULL, ATTN_TOWER_TEXT, &config, &layers, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status == ATTN_OK)
        check_sizes(&config);
    attn_config_release(&config, &layers);
    attn_json_free(json);
    attn_file_release(&file);
    return status == ATTN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int n_weights = check_config(data, size) ? N_WEIGHTS : 1;

    for (int i = 0; i < n_weights; i++)
        open_model(data, size, weights_of(i));
    return 0;
}
