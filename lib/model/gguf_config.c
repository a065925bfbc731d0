/*
 * gguf_config.c - see gguf_config.h.
 *
 * Sizes are checked here, so that a message names the key of the file; the family checks the rest.
 * Numbers with a point are float32 in the file, and their text reads back as the same.
 */
#include "model/gguf_config.h"

#include "base/dtype_internal.h"
#include "base/fixed_text.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "model/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double max_number = 1e30; /* as in config_rope.c */

/* The state of writing one config. */
struct writing {
    const struct attn_gguf *gguf;
    const struct attn_family *family;
    struct attn_buffer *json;
    struct attn_error *err;
    const char *path; /* quoted, for messages */
    size_t n_layer, d_model, d_mlp, n_head, n_kv_head, d_head, n_ctx;
};

/* --- Reading keys of the architecture --------------------------------------------------------- */

/* A key as the file has it: "llama.block_count". */
struct full_key {
    char text[96];
};

static struct full_key full_key(const struct writing *w, const char *key)
{
    struct full_key full;

    snprintf(full.text, sizeof full.text, "%s.%s", w->family->gguf.architecture, key);
    return full;
}

static bool has_key(const struct writing *w, const char *key)
{
    return attn_gguf_find_pair(w->gguf, full_key(w, key).text, NULL);
}

static enum attn_status refuse_missing(const struct writing *w, const char *key)
{
    return attn_error_set(w->err, ATTN_FORMAT, "'%s' is missing in '%s'", full_key(w, key).text,
                          w->path);
}

/* A size from 1 to MAX; absent it stays, and is missing if it was 0. */
static enum attn_status get_size(const struct writing *w, const char *key, size_t max, size_t *size)
{
    ATTN_TRY(attn_gguf_get_size(w->gguf, full_key(w, key).text, size, w->err));
    if (*size == 0 && !has_key(w, key))
        return refuse_missing(w, key);
    if (*size < 1 || *size > max)
        return attn_error_set(w->err, ATTN_FORMAT, "'%s' in '%s' is %zu, expected 1 to %zu",
                              full_key(w, key).text, w->path, *size, max);
    return ATTN_OK;
}

/* A number; absent it stays. */
static enum attn_status get_real(const struct writing *w, const char *key, double *value)
{
    return attn_gguf_get_real(w->gguf, full_key(w, key).text, value, w->err);
}

/* A number from LOW to HIGH; absent it stays. */
static enum attn_status get_within(const struct writing *w, const char *key, double low,
                                   double high, double *value)
{
    ATTN_TRY(get_real(w, key, value));
    if (!has_key(w, key) || (*value >= low && *value <= high))
        return ATTN_OK;
    return attn_error_set(w->err, ATTN_FORMAT,
                          "'%s' in '%s' is %g, expected a number from %g to %g",
                          full_key(w, key).text, w->path, *value, low, high);
}

/* --- Refused keys ----------------------------------------------------------------------------- */

static enum attn_status refuse_value(const struct writing *w, const char *key, const char *what)
{
    return attn_error_set(w->err, ATTN_UNSUPPORTED,
                          "'%s' in '%s' is %s, which this version does not support",
                          full_key(w, key).text, w->path, what);
}

/* Keys of whole numbers that may only be 0, and of others that may only have one value. */
static enum attn_status refuse_extras(const struct writing *w)
{
    static const char *const counts[] = {"expert_count", "nextn_predict_layers"};
    static const struct {
        const char *key;
        double usual;
    } numbers[] = {
        {"attention.clamp_kqv", 0},
        {"attention.max_alibi_bias", 0},
        {"attention.scale", 0},
        {"logit_scale", 0},
        {"residual_scale", 0},
        {"embedding_scale", 0},
        {"rope.scaling.attn_factor", 1},
        {"rope.scaling.yarn_attn_factor", 1},
        {"rope.scaling.yarn_ext_factor", 1},
        {"rope.scaling.yarn_log_multiplier", 0},
    };
    char text[40];
    bool is_causal = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = 0;

        ATTN_TRY(attn_gguf_get_size(w->gguf, full_key(w, counts[i]).text, &n, w->err));
        snprintf(text, sizeof text, "%zu", n);
        if (n > 0)
            return refuse_value(w, counts[i], text);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = numbers[i].usual;

        ATTN_TRY(get_real(w, numbers[i].key, &value));
        snprintf(text, sizeof text, "%g", value);
        if (value < numbers[i].usual || value > numbers[i].usual)
            return refuse_value(w, numbers[i].key, text);
    }
    ATTN_TRY(attn_gguf_get_bool(w->gguf, full_key(w, "attention.causal").text, &is_causal, w->err));
    if (!is_causal)
        return refuse_value(w, "attention.causal", "false");
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "rope_factors_long.weight" : "rope_factors_short.weight";

        if (attn_tensor_files_find(attn_gguf_files(w->gguf), name, NULL))
            return attn_error_set(w->err, ATTN_UNSUPPORTED,
                                  "'%s' has a tensor '%s', which this version does not support",
                                  w->path, name);
    }
    return ATTN_OK;
}

/* --- Sizes ------------------------------------------------------------------------------------ */

static enum attn_status refuse_division(const struct writing *w, const char *key, size_t n,
                                        const char *whole_key, size_t whole)
{
    return attn_error_set(w->err, ATTN_FORMAT, "'%s' %zu in '%s' does not divide '%s' %zu",
                          full_key(w, key).text, n, w->path, full_key(w, whole_key).text, whole);
}

static enum attn_status read_sizes(struct writing *w)
{
    struct attn_tensor_entry up;
    size_t d_value;

    ATTN_TRY(get_size(w, "block_count", ATTN_MAX_LAYER, &w->n_layer));
    ATTN_TRY(get_size(w, "context_length", ATTN_MAX_CTX, &w->n_ctx));
    ATTN_TRY(get_size(w, "embedding_length", ATTN_MAX_WIDTH, &w->d_model));
    ATTN_TRY(get_size(w, "attention.head_count", ATTN_MAX_WIDTH, &w->n_head));
    ATTN_TRY(get_size(w, "feed_forward_length", ATTN_MAX_WIDTH, &w->d_mlp));
    /* GPT-2's converter writes 4 D, whatever it was: the tensor decides. */
    if (w->family->form.has_no_heads_keys &&
        attn_tensor_files_find(attn_gguf_files(w->gguf), "blk.0.ffn_up.weight", &up) &&
        up.tensor.rank == 2)
        w->d_mlp = up.tensor.shape[0];
    w->n_kv_head = w->n_head;
    ATTN_TRY(get_size(w, "attention.head_count_kv", ATTN_MAX_WIDTH, &w->n_kv_head));
    if (w->n_head % w->n_kv_head != 0)
        return refuse_division(w, "attention.head_count_kv", w->n_kv_head, "attention.head_count",
                               w->n_head);
    if (!has_key(w, "attention.key_length") && w->d_model % w->n_head != 0)
        return refuse_division(w, "attention.head_count", w->n_head, "embedding_length",
                               w->d_model);
    w->d_head = w->d_model / w->n_head;
    if (has_key(w, "attention.key_length"))
        ATTN_TRY(get_size(w, "attention.key_length", ATTN_MAX_WIDTH, &w->d_head));
    d_value = w->d_head;
    ATTN_TRY(get_size(w, "attention.value_length", ATTN_MAX_WIDTH, &d_value));
    if (d_value != w->d_head) {
        char text[40];

        snprintf(text, sizeof text, "%zu beside keys of %zu", d_value, w->d_head);
        return refuse_value(w, "attention.value_length", text);
    }
    return ATTN_OK;
}

/* --- Members of the config -------------------------------------------------------------------- */

static void put_size(const struct writing *w, const char *key, size_t n)
{
    attn_buffer_append_format(w->json, ",\n\"%s\": %zu", key, n);
}

static void put_real(const struct writing *w, const char *key, double value)
{
    attn_buffer_append_format(w->json, ",\n\"%s\": %.17g", key, value);
}

static void put_sizes(const struct writing *w, size_t n_vocab)
{
    const struct attn_config_names *names =
        w->family->form.names ? w->family->form.names : &attn_config_usual_names;

    put_size(w, names->n_vocab.name, n_vocab);
    put_size(w, names->d_model.name, w->d_model);
    put_size(w, names->d_mlp.name, w->d_mlp);
    put_size(w, names->n_layer.name, w->n_layer);
    put_size(w, names->n_head.name, w->n_head);
    put_size(w, names->n_ctx.name, w->n_ctx);
    if (!w->family->form.has_no_heads_keys) {
        put_size(w, "num_key_value_heads", w->n_kv_head);
        put_size(w, "head_dim", w->d_head);
    }
}

/* The family's epsilon, which has another name where norms subtract the mean. */
static enum attn_status put_eps(const struct writing *w)
{
    const bool is_rms = w->family->form.defaults.norm != ATTN_NORM_LAYERNORM;
    const char *key = is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    double eps = -1;

    ATTN_TRY(get_within(w, key, 0, 1, &eps));
    if (eps < 0 && !has_key(w, key))
        return refuse_missing(w, key);
    put_real(w, w->family->form.eps_key, eps);
    return ATTN_OK;
}

/* The share of a head that R components are, such that their number comes out again. */
static double share_of(size_t d_rotary, size_t d_head)
{
    const double share = (double)d_rotary / (double)d_head;

    return (size_t)(share * (double)d_head) < d_rotary ? nextafter(share, 1) : share;
}

/* Linear and YaRN scaling, as `rope_scaling` has it; nothing if the file has none. */
static enum attn_status put_scaling(const struct writing *w)
{
    const char *type = "none";
    size_t size = 4, n_original = w->n_ctx;
    double factor = 0, fast = 32, slow = 1;

    if (has_key(w, "rope.scaling.factor") || has_key(w, "rope.scale_linear"))
        type = "linear", size = 6;
    ATTN_TRY(
        attn_gguf_get_text(w->gguf, full_key(w, "rope.scaling.type").text, &type, &size, w->err));
    ATTN_TRY(get_within(w, "rope.scale_linear", 0, max_number, &factor));
    ATTN_TRY(get_within(w, "rope.scaling.factor", 0, max_number, &factor));
    if (size == 4 && memcmp(type, "none", 4) == 0)
        return ATTN_OK;
    factor = factor > 0 ? factor : 1;
    if (size == 6 && memcmp(type, "linear", 6) == 0) {
        attn_buffer_append_format(
            w->json, ",\n\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": %.17g}", factor);
        return ATTN_OK;
    }
    if (size != 4 || memcmp(type, "yarn", 4) != 0)
        return attn_error_set(w->err, ATTN_UNSUPPORTED,
                              "'%s' in '%s' is '%s', this version reads none, linear and yarn",
                              full_key(w, "rope.scaling.type").text, w->path,
                              attn_quote(type, size).text);
    ATTN_TRY(get_size(w, "rope.scaling.original_context_length", ATTN_MAX_CTX, &n_original));
    ATTN_TRY(get_within(w, "rope.scaling.yarn_beta_fast", 0, max_number, &fast));
    ATTN_TRY(get_within(w, "rope.scaling.yarn_beta_slow", 0, max_number, &slow));
    attn_buffer_append_format(w->json,
                              ",\n\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": %.17g, "
                              "\"original_max_position_embeddings\": %zu, \"beta_fast\": %.17g, "
                              "\"beta_slow\": %.17g}",
                              factor, n_original, fast, slow);
    return ATTN_OK;
}

static enum attn_status put_rope(const struct writing *w)
{
    const struct attn_config_form *form = &w->family->form;
    const bool turns_whole_heads = form->rope.default_partial == 1;
    double theta = 10000, local = form->rope_of_windows.default_theta;
    size_t d_rotary = w->d_head;

    if (!form->rope.theta)
        return ATTN_OK;
    ATTN_TRY(get_within(w, "rope.global.freq_base", 1, max_number, &theta)); /* Ollama's name */
    ATTN_TRY(get_within(w, "rope.freq_base", 1, max_number, &theta));
    put_real(w, form->rope.theta, theta);
    if (form->rope_of_windows.theta) {
        ATTN_TRY(get_within(w, "rope.local.freq_base", 1, max_number, &local));
        ATTN_TRY(get_within(w, "rope.freq_base_swa", 1, max_number, &local));
        put_real(w, form->rope_of_windows.theta, local);
    }
    ATTN_TRY(get_size(w, "rope.dimension_count", ATTN_MAX_WIDTH, &d_rotary));
    if (d_rotary > w->d_head || (turns_whole_heads && d_rotary != w->d_head)) {
        char text[60];

        snprintf(text, sizeof text, "%zu, of heads of %zu", d_rotary, w->d_head);
        return refuse_value(w, "rope.dimension_count", text);
    }
    if (!turns_whole_heads)
        put_real(w, form->rope.partial, share_of(d_rotary, w->d_head));
    return put_scaling(w);
}

/* The first n - 1 of every N layers have a window, or an array lists these layers. */
static enum attn_status find_pattern(const struct writing *w, size_t *n,
                                     struct attn_gguf_pair *list)
{
    *n = w->family->form.windows.full_every;
    *list = (struct attn_gguf_pair){0};
    if (!attn_gguf_find_pair(w->gguf, full_key(w, "attention.sliding_window_pattern").text, list) ||
        !list->is_array)
        return get_size(w, "attention.sliding_window_pattern", ATTN_MAX_LAYER, n);
    if (list->type == ATTN_GGUF_BOOL && list->n == w->n_layer)
        return ATTN_OK;
    return attn_error_set(w->err, ATTN_FORMAT,
                          "'%s' in '%s' has %" PRIu64 " items, expected %zu of type bool, one for "
                          "each layer",
                          full_key(w, "attention.sliding_window_pattern").text, w->path, list->n,
                          w->n_layer);
}

static enum attn_status put_windows(const struct writing *w)
{
    const struct attn_gguf_form *form = &w->family->gguf;
    size_t width = form->default_window, n = 0;
    struct attn_gguf_pair list;

    if (w->family->form.windows.rule != ATTN_WINDOWS_BY_LIST && !form->refuses_windows)
        return ATTN_OK;
    ATTN_TRY(
        attn_gguf_get_size(w->gguf, full_key(w, "attention.sliding_window").text, &width, w->err));
    if (form->refuses_windows)
        return width == 0 ? ATTN_OK : refuse_value(w, "attention.sliding_window", "set");
    ATTN_TRY(find_pattern(w, &n, &list));
    if (width > 0)
        put_size(w, "sliding_window", width);
    attn_buffer_append_string(w->json, ",\n\"layer_types\": [");
    for (size_t layer = 0; layer < w->n_layer; layer++) {
        int64_t has_window = layer % n < n - 1;

        if (list.is_array)
            attn_gguf_next_int(&list, &has_window);
        attn_buffer_append_format(w->json, "%s\"%s_attention\"", layer > 0 ? ", " : "",
                                  width > 0 && has_window ? "sliding" : "full");
    }
    attn_buffer_append_char(w->json, ']');
    return ATTN_OK;
}

/* Keys of Gemma alone. */
static enum attn_status put_gemma(const struct writing *w)
{
    const struct attn_config_form *form = &w->family->form;
    const bool is_large = w->n_layer == w->family->gguf.n_layer_large;
    double score_cap = form->score_cap, logits_cap = form->defaults.logits_cap;

    if (form->query_scalar > 0)
        put_real(w, "query_pre_attn_scalar",
                 is_large ? (double)w->d_model / (double)w->n_head : (double)w->d_head);
    ATTN_TRY(get_within(w, "attn_logit_softcapping", 0, max_number, &score_cap));
    ATTN_TRY(get_within(w, "final_logit_softcapping", 0, max_number, &logits_cap));
    if (form->score_cap > 0 && score_cap > 0)
        put_real(w, "attn_logit_softcapping", score_cap);
    else if (form->score_cap > 0)
        attn_buffer_append_string(w->json, ",\n\"attn_logit_softcapping\": null");
    if (form->has_logits_cap_key && logits_cap > 0)
        put_real(w, "final_logit_softcapping", logits_cap);
    else if (form->has_logits_cap_key)
        attn_buffer_append_string(w->json, ",\n\"final_logit_softcapping\": null");
    return ATTN_OK;
}

static bool has_tensor(const struct writing *w, const char *name)
{
    return attn_tensor_files_find(attn_gguf_files(w->gguf), name, NULL);
}

/* Parts that are there when their tensors are. */
static enum attn_status put_parts(const struct writing *w)
{
    const struct attn_config_form *form = &w->family->form;
    bool is_parallel = false;

    attn_buffer_append_format(w->json, ",\n\"tie_word_embeddings\": %s",
                              has_tensor(w, "output.weight") ? "false" : "true");
    if (form->has_attention_bias_key &&
        (has_tensor(w, "blk.0.attn_q.bias") || has_tensor(w, "blk.0.attn_qkv.bias")))
        attn_buffer_append_string(w->json, ",\n\"attention_bias\": true");
    if (form->has_mlp_bias_key && has_tensor(w, "blk.0.ffn_up.bias"))
        attn_buffer_append_string(w->json, ",\n\"mlp_bias\": true");
    if (!form->has_parallel_key)
        return ATTN_OK;
    if (!has_key(w, "use_parallel_residual"))
        return refuse_missing(w, "use_parallel_residual");
    ATTN_TRY(attn_gguf_get_bool(w->gguf, full_key(w, "use_parallel_residual").text, &is_parallel,
                                w->err));
    attn_buffer_append_format(w->json, ",\n\"use_parallel_residual\": %s",
                              is_parallel ? "true" : "false");
    return ATTN_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status find_architecture(struct writing *w)
{
    const char *name = NULL;
    size_t size = 0, used = 0;
    char names[200];

    ATTN_TRY(attn_gguf_get_text(w->gguf, "general.architecture", &name, &size, w->err));
    if (!name) {
        attn_error_set(w->err, ATTN_FORMAT, "'general.architecture' is missing in '%s'", w->path);
        return ATTN_FORMAT;
    }
    for (size_t i = 0; (w->family = attn_family_at(i)); i++) {
        const char *known = w->family->gguf.architecture;

        if (!known)
            continue;
        if (strlen(known) == size && memcmp(known, name, size) == 0)
            return ATTN_OK;
        attn_fixed_text_append(names, sizeof names, &used, "%s%s", used > 0 ? ", " : "", known);
    }
    attn_error_set(w->err, ATTN_UNSUPPORTED,
                   "'general.architecture' in '%s' is '%s', which is not read", w->path,
                   attn_quote(name, size).text);
    attn_error_hint(w->err, "architectures that are read: %s", names);
    return ATTN_UNSUPPORTED;
}

enum attn_status attn_gguf_write_config(const struct attn_gguf *gguf, struct attn_buffer *json,
                                        struct attn_error *err)
{
    const struct attn_quote path =
        attn_quote_string(attn_tensor_files_path(attn_gguf_files(gguf), 0));
    struct writing w = {.gguf = gguf, .json = json, .err = err, .path = path.text};
    struct attn_tensor_entry embed;

    ATTN_TRY(find_architecture(&w));
    ATTN_TRY(refuse_extras(&w));
    ATTN_TRY(read_sizes(&w));
    if (!attn_tensor_files_find(attn_gguf_files(gguf), "token_embd.weight", &embed) ||
        embed.tensor.rank != 2)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no matrix 'token_embd.weight', expected the embedding",
                              path.text);
    attn_buffer_append_format(json, "{\"model_type\": \"%s\"", w.family->model_type);
    put_sizes(&w, embed.tensor.shape[0]);
    attn_buffer_append_format(json, ",\n\"%s\": \"%s\"", w.family->form.activation_key,
                              w.family->form.defaults.act_fn);
    ATTN_TRY(put_eps(&w));
    ATTN_TRY(put_rope(&w));
    ATTN_TRY(put_windows(&w));
    ATTN_TRY(put_gemma(&w));
    ATTN_TRY(put_parts(&w));
    attn_buffer_append_string(json, "}\n");
    return attn_buffer_check(json, err);
}

/* --- Facts that no config.json has ------------------------------------------------------------ */

/* The tokens that end a text, a turn or a message. A key of a wrong type has no effect: the
 * tokenizer checks it, and a run by ids needs no tokenizer. */
static void read_end_ids(const struct attn_gguf *gguf, struct attn_config *config)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};

    config->n_end_id = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct attn_error unused = {0};
        size_t id = SIZE_MAX;
        bool is_known = false;

        if (attn_gguf_get_size(gguf, keys[i], &id, &unused) != ATTN_OK)
            continue;
        for (size_t j = 0; j < config->n_end_id; j++)
            is_known = is_known || config->end_ids[j] == (int32_t)id;
        if (id < config->n_vocab && !is_known)
            config->end_ids[config->n_end_id++] = (int32_t)id;
    }
}

enum attn_status attn_gguf_finish_config(const struct attn_gguf *gguf, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_quote path =
        attn_quote_string(attn_tensor_files_path(attn_gguf_files(gguf), 0));
    struct attn_tensor_entry entry;
    size_t n;

    if (config->norm == ATTN_NORM_RMSNORM_PLUS_ONE)
        config->norm = ATTN_NORM_RMSNORM;
    read_end_ids(gguf, config);
    if (!attn_family_find(config->model_type)->gguf.has_interleaved_heads ||
        !attn_tensor_files_find(attn_gguf_files(gguf), ATTN_ROPE_FREQS, &entry))
        return ATTN_OK;
    n = layers->rope[0].d_rotary / 2;
    if (entry.tensor.dtype != ATTN_DTYPE_F32 || attn_tensor_n_element(&entry.tensor) != n)
        return attn_error_set(
            err, ATTN_FORMAT,
            "'rope_freqs.weight' in '%s' has %zu elements of type %s, expected %zu "
            "of F32",
            path.text, attn_tensor_n_element(&entry.tensor), attn_dtype_name(entry.tensor.dtype),
            n);
    ATTN_TRY(ATTN_ALLOC(layers->divisors, n, err));
    memcpy(layers->divisors, entry.tensor.data, n * sizeof *layers->divisors);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(layers->divisors[i]) || layers->divisors[i] <= 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'rope_freqs.weight' in '%s' holds %g at element %zu, expected a "
                                  "number above 0",
                                  path.text, (double)layers->divisors[i], i);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer].divisors = layers->divisors;
    return ATTN_OK;
}
