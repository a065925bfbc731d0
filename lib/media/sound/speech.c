/* speech.c - reads what Whisper's files say of its sound. */
#include "sound/speech.h"

#include "base/memory.h"
#include "formats/json.h"

/* Reads the heads of MODEL that align words with sound from JSON, generation_config.json. What is
 * no list of [layer, head] is passed over, as by transformers until it is used. */
static enum attn_status read_alignment(const struct attn_json *json, const struct attn_model *model,
                                       struct attn_speech *speech, struct attn_error *err)
{
    const struct attn_node *item = attn_node_find(attn_json_root(json), "alignment_heads");
    const struct attn_config *config = &model->config;
    struct attn_buffer text = {0};
    int64_t n_layer = 0;

    for (size_t i = 0; i < config->n_layer; i++)
        n_layer += config->is_cross[i];

    item = item && attn_node_is_array(item) ? attn_node_first(item) : NULL;
    for (; item; item = attn_node_next(item)) {
        const struct attn_node *layer = attn_node_is_array(item) ? attn_node_first(item) : NULL;
        const struct attn_node *head = layer ? attn_node_next(layer) : NULL;
        int64_t at[2];

        if (!head || !attn_node_int(layer, &at[0]) || !attn_node_int(head, &at[1]))
            continue;
        if (at[0] < 0 || at[1] < 0 || at[0] >= n_layer || at[1] >= (int64_t)config->n_head)
            ATTN_JSON_REFUSE(json, &speech->bad_heads, ATTN_FORMAT, "alignment_heads",
                             "has [%lld, %lld], the decoder has %lld layer%s of %zu head%s: it is "
                             "another size's file",
                             (long long)at[0], (long long)at[1], (long long)n_layer,
                             n_layer == 1 ? "" : "s", config->n_head,
                             config->n_head == 1 ? "" : "s");
        attn_buffer_append_format(&text, "%scross:%lld.%lld", text.size > 0 ? "," : "",
                                  (long long)at[0], (long long)at[1]);
    }
    if (text.size == 0)
        return attn_buffer_check(&text, err);
    return ATTN_NEW(speech->alignment_heads, attn_buffer_take(&text, err));
}

/* Reads the width of the median filter for times of words, which is odd, from config.json. */
static void read_median(const struct attn_json *json, struct attn_speech *speech)
{
    static const char key[] = "median_filter_width";

    speech->n_median = 7;
    if (attn_json_get_size(json, attn_json_root(json), key, 1, 99, &speech->n_median,
                           &speech->bad_median) == ATTN_OK &&
        speech->n_median % 2 == 0)
        ATTN_JSON_REFUSE(json, &speech->bad_median, ATTN_FORMAT, key,
                         "is %zu, expected an odd number", speech->n_median);
}

/* Reads how ENCODER makes a spectrogram of sound. A failure is kept until there is sound. */
static void read_sound(const struct attn_source *source, const struct attn_model *encoder,
                       struct attn_speech *sound)
{
    static const char name[] = "preprocessor_config.json";
    struct attn_error *err = &sound->failure;
    size_t rate = 16000, n_mel = encoder->config.stack.n_mel;
    struct attn_json *json = NULL;
    double dither = 0;

    sound->n_fft = 400, sound->n_hop = 160;
    if (n_mel == 0 || !attn_source_has_part(source, name) ||
        attn_json_read_part(source, name, NULL, &json, err) != ATTN_OK)
        return;
    const struct attn_node *root = attn_json_root(json);

    if (attn_json_get_size(json, root, "n_fft", 16, 4096, &sound->n_fft, err) == ATTN_OK &&
        attn_json_get_size(json, root, "hop_length", 1, 4096, &sound->n_hop, err) == ATTN_OK &&
        attn_json_get_size(json, root, "sampling_rate", 16000, 16000, &rate, err) == ATTN_OK &&
        attn_json_get_size(json, root, "feature_size", n_mel, n_mel, &n_mel, err) == ATTN_OK &&
        attn_json_get_double(json, root, "dither", 0, 0, &dither, err) == ATTN_OK &&
        (sound->n_fft % 2 != 0 || sound->n_fft > 2 * encoder->config.n_ctx * sound->n_hop))
        ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "n_fft",
                         "is %zu, expected an even number of the samples heard", sound->n_fft);
    attn_json_free(json);
}

static enum attn_status read_speech(const struct attn_source *source,
                                    struct attn_json *const json[2], struct attn_model *model,
                                    struct attn_error *err)
{
    struct attn_speech *speech;

    ATTN_TRY(ATTN_ALLOC(speech, 1, err));
    model->encoder->speech = speech;
    read_median(json[0], speech);
    read_sound(source, model->encoder, speech);
    return json[1] ? read_alignment(json[1], model, speech, err) : ATTN_OK;
}

static void free_speech(struct attn_speech *speech)
{
    attn_free(speech->alignment_heads);
    attn_free(speech);
}

const struct attn_speech_reader attn_speech_of_whisper = {read_speech, free_speech};
