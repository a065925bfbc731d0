/*
 * gguf_config.c - see gguf_config.h.
 *
 * Sizes are checked here, so that messages name the keys of the file; the family checks the rest.
 * Non-integer numbers are float32 in the file, and are written so that they read back unchanged.
 */
#include "gguf/gguf_config.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "formats/float_text.h"
#include "formats/tensor_files_internal.h"
#include "gguf/gguf_keys.h"
#include "gguf/gguf_layers.h"
#include "gguf/projector_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double max_number = 1e30; /* as in config_rope.c */

/* Whether the file has lists of factors for rotary positions, or one of the two. */
static bool has_lists(const struct attn_gguf_writing *w)
{
    return attn_gguf_has_tensor(w, ATTN_ROPE_LONG) || attn_gguf_has_tensor(w, ATTN_ROPE_SHORT);
}

#define NOT_SUPPORTED ", which this version does not support"

/* --- Refused keys ----------------------------------------------------------------------------- */

static void refuse_extras(struct attn_gguf_writing *w)
{
    const bool is_mixture =
        w->family->form.defaults.n_expert > 0 || w->family->form.may_have_experts;
    const bool is_of_granite = w->family->form.score_factor_key; /* attention_multiplier */
    const bool has_mixers = w->form->mixer.word;
    const char *const counts[] = {has_mixers ? NULL : "nextn_predict_layers", "expert_group_count",
                                  "leading_dense_block_count", is_mixture ? NULL : "expert_count"};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t n = counts[i] ? attn_gguf_key_count(w, counts[i], 0) : 0;

        if (n > 0)
            attn_gguf_refuse(w, ATTN_UNSUPPORTED, counts[i], "is %zu" NOT_SUPPORTED, n);
    }
    if (attn_gguf_key_count(w, "expert_gating_func", 1) != 1)
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "expert_gating_func",
                         "is another one than softmax" NOT_SUPPORTED);
    if (w->status == ATTN_OK && is_mixture && attn_gguf_has_tensor(w, "blk.0.ffn_gate.0.weight"))
        w->status = attn_error_set(w->err, ATTN_UNSUPPORTED,
                                   "'%s' has a tensor for each expert, as files of 2023: convert "
                                   "the model anew",
                                   w->path);
    if (!attn_gguf_key_bool(w, "attention.causal", true))
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "attention.causal", "is false" NOT_SUPPORTED);
    /* Only Granite's code in llama.cpp leaves positions out then. */
    if (is_of_granite && !has_mixers && !attn_gguf_key_bool(w, "rope.scaling.finetuned", true))
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "rope.scaling.finetuned", "is false" NOT_SUPPORTED);
    if (w->status == ATTN_OK && !w->family->form.rope.has_longrope && has_lists(w))
        w->status = attn_error_set(
            w->err, ATTN_UNSUPPORTED, "'%s' has a tensor '%s'" NOT_SUPPORTED, w->path,
            attn_gguf_has_tensor(w, ATTN_ROPE_LONG) ? ATTN_ROPE_LONG : ATTN_ROPE_SHORT);
}

/* --- Sizes ------------------------------------------------------------------------------------ */

static void read_sizes(struct attn_gguf_writing *w)
{
    struct attn_tensor_entry up;

    w->n_ctx = attn_gguf_key_size(w, "context_length", ATTN_MAX_CTX, 0);
    w->d_model = attn_gguf_key_size(w, "embedding_length", ATTN_MAX_WIDTH, 0);
    w->n_head = attn_gguf_key_size(w, "attention.head_count", ATTN_MAX_WIDTH, 0);
    attn_gguf_read_layers(w);
    /* GPT-2's converter always writes 4 D, so the shape of the tensor is used. */
    if (w->family->form.has_no_heads_keys &&
        attn_tensor_files_find(attn_gguf_files(w->gguf), "blk.0.ffn_up.weight", &up) &&
        up.tensor.rank == 2)
        w->d_mlp = up.tensor.shape[0];
    attn_gguf_check_divides(w, "attention.head_count_kv", w->n_kv_head, "attention.head_count",
                            w->n_head);
    if (!attn_gguf_has_key(w, "attention.key_length"))
        attn_gguf_check_divides(w, "attention.head_count", w->n_head, "embedding_length",
                                w->d_model);
    attn_gguf_read_widths(w);
}

/* --- Members of the config -------------------------------------------------------------------- */

static void put_sizes(const struct attn_gguf_writing *w, size_t n_vocab)
{
    const struct attn_config_names *names =
        w->family->form.names ? w->family->form.names : &attn_config_usual_names;

    attn_gguf_put_size(w, names->n_vocab, n_vocab);
    attn_gguf_put_size(w, names->d_model, w->d_model);
    attn_gguf_put_size(w, names->d_mlp, w->d_mlp);
    attn_gguf_put_size(w, names->n_layer, w->n_layer);
    attn_gguf_put_size(w, names->n_head, w->n_head);
    attn_gguf_put_size(w, names->n_ctx, w->n_ctx);
    if (w->form->members)
        attn_buffer_append_format(w->json, ",\n%s", w->form->members);
    if (w->form->members && w->family->form.has_no_heads_keys) {
        attn_gguf_put_size(w, "num_kv_heads", w->n_kv_head);
        attn_gguf_put_size(w, "num_ln_in_parallel_attn",
                           attn_gguf_has_tensor(w, "blk.0.attn_norm_2.weight") ? 2 : 1);
    }
    if (!w->family->form.has_no_heads_keys) {
        attn_gguf_put_size(w, "num_key_value_heads", w->n_kv_head);
        attn_gguf_put_size(w, "head_dim", w->d_head);
    }
}

/* Whether the file is a Gemma 3 of Ollama with its tower inside, which lacks the epsilon of norms
 * and bases of frequencies: they are those of the family. */
static bool is_of_ollama(const struct attn_gguf_writing *w)
{
    return strcmp(w->family->model_type, "gemma3_text") == 0 &&
           attn_gguf_has_key(w, "vision.block_count");
}

/* Writes the epsilon of norms. The key depends on whether the norms subtract the mean. */
static void put_eps(struct attn_gguf_writing *w)
{
    const enum attn_norm norm = w->family->form.defaults.norm;
    const bool is_rms = norm == ATTN_NORM_RMSNORM || norm == ATTN_NORM_RMSNORM_PLUS_ONE;
    const char *key = is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    const double usual = is_of_ollama(w) ? 1e-6 : 0;
    const double eps = attn_gguf_key_real(w, key, 0, 1, usual);

    if (!is_of_ollama(w))
        attn_gguf_require(w, key);
    if (w->family->form.eps_key)
        attn_gguf_put_real(w, w->family->form.eps_key, eps);
}

/* Writes the keys about experts. If experts and MLPs have different widths, the keys are those of
 * Qwen. */
static void put_experts(struct attn_gguf_writing *w)
{
    const struct attn_config *defaults = &w->family->form.defaults;
    const char *const shared = "expert_shared_feed_forward_length";
    const size_t d_expert = attn_gguf_key_size(w, "expert_feed_forward_length", ATTN_MAX_WIDTH,
                                               defaults->d_expert > 0 ? 0 : w->d_mlp);

    attn_gguf_copy_size(w, "num_experts", "expert_count", ATTN_MAX_LAYER, 0);
    attn_gguf_copy_size(w, "num_experts_per_tok", "expert_used_count", ATTN_MAX_LAYER, 0);
    if (defaults->d_expert > 0)
        attn_gguf_put_size(w, "moe_intermediate_size", d_expert);
    else
        w->d_mlp = d_expert;
    if (defaults->d_shared_expert > 0 || attn_gguf_key_count(w, shared, 0) > 0)
        attn_gguf_copy_size(w,
                            defaults->has_shared_gate ? "shared_expert_intermediate_size"
                                                      : "shared_intermediate_size",
                            shared, ATTN_MAX_WIDTH, 0);
    attn_gguf_put_bool(w, "norm_topk_prob",
                       attn_gguf_key_bool(w, "expert_weights_norm", w->form->normalizes_experts));
}

/* Finds the vector NAME of factors of frequencies, and checks that they are above 0. */
static enum attn_status find_factors(const struct attn_bundle *gguf, const char *name,
                                     struct attn_tensor_entry *entry, struct attn_error *err)
{
    const char *path = attn_gguf_path(gguf);
    float factor;

    if (!attn_tensor_files_find(attn_gguf_files(gguf), name, entry) ||
        entry->tensor.dtype != ATTN_DTYPE_F32 || entry->tensor.rank != 1)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no vector '%s' of F32",
                              attn_quote_string(path).text, name);
    for (size_t i = 0; i < entry->tensor.shape[0]; i++) {
        memcpy(&factor, (const char *)entry->tensor.data + i * sizeof factor, sizeof factor);
        if (!(factor > 0 && (double)factor < max_number))
            return attn_refuse_in(err, ATTN_FORMAT, path, name,
                                  "holds %g at element %zu, expected a number above 0",
                                  (double)factor, i);
    }
    return ATTN_OK;
}

/* Writes the tensor NAME, a factor for each pair of components, as the list KEY. */
static void put_list(struct attn_gguf_writing *w, const char *key, const char *name)
{
    struct attn_tensor_entry entry;

    if (w->status == ATTN_OK)
        w->status = find_factors(w->gguf, name, &entry, w->err);
    if (w->status != ATTN_OK)
        return;
    attn_buffer_append_format(w->json, "\"%s\": [", key);
    for (size_t i = 0; i < entry.tensor.shape[0]; i++) {
        char text[ATTN_FLOAT_TEXT_SIZE];
        float factor;

        memcpy(&factor, (const char *)entry.tensor.data + i * sizeof factor, sizeof factor);
        attn_buffer_append_format(w->json, "%s%.*s", i == 0 ? "" : ", ",
                                  (int)attn_format_float(factor, text), text);
    }
    attn_buffer_append_string(w->json, "], ");
}

/* Writes the lists for short and long texts. Trap: for type "yarn", llama.cpp's converter writes
 * YaRN's factor of cosines and sines, but Hugging Face uses that of longrope. */
static void put_longrope(struct attn_gguf_writing *w)
{
    const size_t n =
        attn_gguf_key_size(w, "rope.scaling.original_context_length", ATTN_MAX_CTX, w->n_ctx);
    const double factor = attn_gguf_key_real(w, "rope.scaling.attn_factor", 0, max_number, 1);
    double scale = (double)w->n_ctx / (double)n;

    attn_gguf_put_size(w, "original_max_position_embeddings", n);
    attn_buffer_append_string(w->json, ",\n\"rope_scaling\": {");
    put_list(w, "short_factor", ATTN_ROPE_SHORT);
    put_list(w, "long_factor", ATTN_ROPE_LONG);
    scale = scale > 1 ? attn_log(scale) : 0;
    if (attn_gguf_has_key(w, "rope.scaling.attn_factor") &&
        fabs(factor - sqrt(1 + scale / attn_log((double)n))) > 1e-5 &&
        fabs(factor - 1 - 0.1 * scale) > 1e-5)
        attn_buffer_append_format(w->json, "\"attention_factor\": %.9g, ", factor);
    attn_buffer_append_string(w->json, "\"rope_type\": \"longrope\"}");
}

/* Writes how queries grow with their position. Trap: of mscale and mscale_all_dim the file has only
 * the second; the first is 1 in all models. */
static void put_growth(struct attn_gguf_writing *w)
{
    if (!w->family->form.rope.has_growth)
        return;
    const double growth = attn_gguf_key_real(w, "attention.temperature_scale", 0, max_number, 0);
    const double mscale =
        attn_gguf_key_real(w, "rope.scaling.yarn_log_multiplier", 0, max_number, 0);
    const size_t n =
        attn_gguf_key_size(w, "rope.scaling.original_context_length", ATTN_MAX_CTX, w->n_ctx);
    const size_t n_growth = attn_gguf_key_size(w, "attention.temperature_length", ATTN_MAX_CTX, n);

    if (n_growth != n)
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "attention.temperature_length",
                         "is %zu" NOT_SUPPORTED, n_growth);
    attn_buffer_append_format(w->json, ", \"llama_4_scaling_beta\": %.9g", growth);
    if (mscale > 0)
        attn_buffer_append_format(w->json, ", \"mscale\": 1, \"mscale_all_dim\": %.9g", mscale);
}

/* Writes YaRN scaling by FACTOR. */
static void put_yarn(struct attn_gguf_writing *w, double factor)
{
    const size_t n =
        attn_gguf_key_size(w, "rope.scaling.original_context_length", ATTN_MAX_CTX, w->n_ctx);
    const double fast = attn_gguf_key_real(w, "rope.scaling.yarn_beta_fast", 0, max_number, 32);
    const double slow = attn_gguf_key_real(w, "rope.scaling.yarn_beta_slow", 0, max_number, 1);

    attn_buffer_append_format(w->json,
                              ",\n\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": %.17g, "
                              "\"original_max_position_embeddings\": %zu, \"beta_fast\": %.17g, "
                              "\"beta_slow\": %.17g%s",
                              factor, n, fast, slow,
                              w->form->yarn_is_exact ? ", \"truncate\": false" : "");
    put_growth(w);
    attn_buffer_append_char(w->json, '}');
}

/* Writes how many frequencies turn by time, row and column. */
static void put_sections(struct attn_gguf_writing *w)
{
    static const char key[] = "rope.dimension_sections";
    struct attn_gguf_pair list = {0};
    int64_t numbers[4] = {0};
    size_t n = 0;

    attn_gguf_require(w, key);
    attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list);
    while (n < 4 && attn_gguf_next_int(&list, &numbers[n]))
        n++;
    if (!list.is_array || n < 3 || list.n > 0 || numbers[3] != 0)
        attn_gguf_refuse(w, ATTN_FORMAT, key, "is not understood, expected three numbers and 0");
    attn_buffer_append_format(w->json,
                              ",\n\"rope_scaling\": {\"rope_type\": \"default\", "
                              "\"mrope_section\": [%lld, %lld, %lld]}",
                              (long long)numbers[0], (long long)numbers[1], (long long)numbers[2]);
}

/* Writes linear or YaRN scaling as `rope_scaling`; nothing if the file has no scaling. */
static void put_scaling(struct attn_gguf_writing *w)
{
    const bool has_factor =
        attn_gguf_has_key(w, "rope.scaling.factor") || attn_gguf_has_key(w, "rope.scale_linear");
    const char *type = has_factor ? "linear" : "none";
    size_t size = strlen(type);
    double factor;

    if (has_lists(w)) {
        put_longrope(w);
        return;
    }
    factor = attn_gguf_key_real(w, "rope.scale_linear", 0, max_number, 0);
    factor = attn_gguf_key_real(w, "rope.scaling.factor", 0, max_number, factor);
    factor = factor > 0 ? factor : 1;
    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_text(w->gguf, attn_gguf_full_key(w, "rope.scaling.type").text,
                                       &type, &size, w->err);
    if (w->family->form.rope.has_sections && attn_text_has_word("none", type, size)) {
        put_sections(w);
    } else if (w->family->form.rope.has_sections) {
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "rope.scaling.type", "is '%s'" NOT_SUPPORTED,
                         attn_quote(type, size).text);
    } else if (attn_text_has_word("linear", type, size)) {
        attn_buffer_append_format(
            w->json, ",\n\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": %.17g}", factor);
    } else if (attn_text_has_word("yarn", type, size)) {
        put_yarn(w, factor);
    } else if (!attn_text_has_word("none", type, size)) {
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "rope.scaling.type",
                         "is '%s', this version reads none, linear and yarn",
                         attn_quote(type, size).text);
    } else if (w->family->form.rope.without_object) { /* it would have another default */
        attn_buffer_append_string(w->json, ",\n\"rope_scaling\": {\"rope_type\": \"default\"");
        if (w->family->form.rope.has_growth)
            attn_buffer_append_format(w->json, ", \"original_max_position_embeddings\": %zu",
                                      w->n_ctx);
        put_growth(w);
        attn_buffer_append_char(w->json, '}');
    }
}

static void put_rope(struct attn_gguf_writing *w)
{
    const struct attn_config_form *form = &w->family->form;
    const bool turns_whole_heads = form->rope.default_partial == 1 && !form->rope.takes_share;
    const struct attn_rope_keys *windows = &form->rope_of_windows;
    double theta, local;
    size_t d_rotary;

    if (!form->rope.theta)
        return;
    theta = is_of_ollama(w) ? form->rope.default_theta : 10000;
    theta = attn_gguf_key_real(w, "rope.global.freq_base", 1, max_number, theta); /* of Ollama */
    theta = attn_gguf_key_real(w, "rope.freq_base", 1, max_number, theta);
    attn_gguf_put_real(w, form->rope.theta, theta);
    local = windows->theta ? windows->default_theta : theta;
    local = attn_gguf_key_real(w, "rope.local.freq_base", 1, max_number, local);
    local = attn_gguf_key_real(w, "rope.freq_base_swa", 1, max_number, local);
    if (windows->theta)
        attn_gguf_put_real(w, windows->theta, local);
    else if (windows->default_theta > 0)
        attn_buffer_append_format(
            w->json, ",\n\"rope_parameters\": {\"sliding_attention\": {\"rope_theta\": %.17g}}",
            local);
    d_rotary = attn_gguf_key_size(w, "rope.dimension_count", ATTN_MAX_WIDTH, w->d_head);
    if (d_rotary > w->d_head || (turns_whole_heads && d_rotary != w->d_head))
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, "rope.dimension_count",
                         "is %zu, of heads of %zu" NOT_SUPPORTED, d_rotary, w->d_head);
    if (!turns_whole_heads)
        attn_gguf_put_real(w, form->rope.partial, attn_gguf_share_of(d_rotary, w->d_head));
    put_scaling(w);
}

static void put_windows(struct attn_gguf_writing *w)
{
    static const char *const key = "attention.sliding_window_pattern";
    const enum attn_window_rule rule = w->family->form.windows.rule;
    struct attn_gguf_pair list = {0};
    size_t width, n = 0;

    if (rule != ATTN_WINDOWS_BY_LIST && rule != ATTN_WINDOWS_IN_ALL)
        return;
    width = attn_gguf_key_count(w, "attention.sliding_window", w->form->default_window);
    if (width > 0)
        attn_gguf_put_size(w, "sliding_window", width);
    else
        attn_buffer_append_string(w->json, ",\n\"sliding_window\": null");
    if (rule == ATTN_WINDOWS_IN_ALL)
        return;
    /* The first n - 1 of every N layers have a window, or those of an array. */
    if (!attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list) || !list.is_array)
        n = attn_gguf_key_size(w, key, ATTN_MAX_LAYER, w->family->form.windows.full_every);
    else if (list.type != ATTN_GGUF_BOOL || list.n != w->n_layer)
        attn_gguf_refuse(w, ATTN_FORMAT, key,
                         "has %" PRIu64 " items, expected %zu of type bool, one for each layer",
                         list.n, w->n_layer);
    attn_buffer_append_string(w->json, ",\n\"layer_types\": [");
    for (size_t layer = 0; layer < w->n_layer; layer++) {
        int64_t has_window = n > 0 && layer % n < n - 1;

        if (list.is_array)
            attn_gguf_next_int(&list, &has_window);
        attn_buffer_append_format(w->json, "%s\"%s_attention\"", layer > 0 ? ", " : "",
                                  width > 0 && has_window ? "sliding" : "full");
    }
    attn_buffer_append_char(w->json, ']');
}

/* Whether configs of the family have KEY as a number. */
static bool has_number(const struct attn_config_form *form, const char *key)
{
    return attn_config_has_switch(form, key) ||
           (form->score_factor_key && strcmp(form->score_factor_key, key) == 0) ||
           (form->score_cap > 0 && strcmp(key, "attn_logit_softcapping") == 0);
}

/* Writes factors, and limits of scores and logits; 0 means none. A number that the family's configs
 * do not have must have its usual value, unless it is ignored. */
static void put_factors(struct attn_gguf_writing *w)
{
    const struct attn_config_form *form = &w->family->form;
    const double alibi_bias = w->form->alibi_bias;
    const struct {
        const char *key, *names[2]; /* in the file and in config.json; without names, KEY is both */
        double usual;
        bool is_needed, is_ignored;
    } rows[] = {
        {.key = "attention.clamp_kqv", .names = {"clip_qkv"}},
        {.key = "attention.max_alibi_bias", .usual = alibi_bias, .is_needed = alibi_bias > 0},
        {.key = "expert_weights_scale", .usual = 1},
        {.key = "rope.scaling.attn_factor", .usual = 1, .is_ignored = has_lists(w)},
        {.key = "rope.scaling.yarn_attn_factor", .usual = 1},
        {.key = "rope.scaling.yarn_ext_factor", .usual = 1},
        {.key = "rope.scaling.yarn_log_multiplier", .is_ignored = form->rope.has_growth},
        {.key = "attention.scale", .names = {"attention_multiplier"}, .is_needed = true},
        {.key = "embedding_scale", .names = {"embedding_multiplier"}},
        {.key = "residual_scale", .names = {"residual_multiplier"}},
        {.key = "logit_scale", .names = {"logit_scale", "logits_scaling"}, .is_needed = true},
        {.key = "attn_logit_softcapping", .usual = form->score_cap, .is_ignored = true},
        {.key = "final_logit_softcapping", .usual = form->defaults.logits_cap, .is_ignored = true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *key = rows[i].key, *section = i == 0 ? w->form->clip_section : NULL;
        const bool has_second = rows[i].names[1] && has_number(form, rows[i].names[1]);
        const char *name = rows[i].names[0] ? rows[i].names[has_second] : key;
        const bool is_read = section || has_number(form, name);
        const double value = attn_gguf_key_real(w, key, 0, max_number, rows[i].usual);

        if (rows[i].is_needed && (is_read || rows[i].usual > 0))
            attn_gguf_require(w, key);
        if (is_read ? rows[i].is_needed && value == 0
                    : !rows[i].is_ignored && fabs(value - rows[i].usual) > 0)
            attn_gguf_refuse(w, ATTN_UNSUPPORTED, key, "is %g" NOT_SUPPORTED, value);
        if (section && value > 0)
            attn_buffer_append_format(w->json, ",\n\"%s\": {\"%s\": %.9g}", section, name, value);
        else if (is_read && value > 0)
            attn_gguf_put_real(w, name, value);
        else if (is_read)
            attn_buffer_append_format(w->json, ",\n\"%s\": null", name);
    }
}

/* Writes the parts that are present if their tensors are. Biases are detected when tensors are
 * bound. */
static void put_parts(struct attn_gguf_writing *w)
{
    static const char *const keys[] = {"qk_layernorm", "use_qk_norm", "use_parallel_residual"};
    bool is_there[] = {attn_gguf_has_tensor(w, "blk.0.attn_q_norm.weight"),
                       attn_gguf_has_tensor(w, "blk.0.attn_q_norm.weight"),
                       !attn_gguf_has_tensor(w, "blk.0.ffn_norm.weight")};

    attn_gguf_put_bool(w, "tie_word_embeddings", !attn_gguf_has_tensor(w, "output.weight"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!attn_config_has_switch(&w->family->form, keys[i]))
            continue;
        if (i == 2 && !w->form->lacks_norm_if_parallel) {
            attn_gguf_require(w, keys[i]);
            is_there[i] = attn_gguf_key_bool(w, keys[i], false);
        }
        attn_gguf_put_bool(w, keys[i], is_there[i]);
    }
}

/* --- All of it -------------------------------------------------------------------------------- */

/* Architectures whose files cannot be read; names are separated by spaces. */
static const struct {
    const char *names, *reason;
} refused_architectures[] = {
    {"phimoe", "its files lack the factors 'short_mscale' and 'long_mscale', which the directory "
               "of Hugging Face has"},
    {"qwen3vlmoe",
     "it reads pictures and text, and its text part is read from the directory of Hugging Face"},
    {"internlm2 baichuan xverse orion deepseek exaone minicpm codeshell refact plamo jais chatglm "
     "maincoder mellum llama-embed",
     "it is near llama, and has no row yet"},
    {"bert modern-bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3 neo-bert eurobert "
     "gemma-embedding t5 t5encoder",
     "encoders are read from the directory of Hugging Face"},
    {"mamba mamba2 rwkv6 rwkv7 arwkv7 rwkv6qwen2",
     "it has no attention, so there is no attention map to show"},
    {"jamba kimi-linear plamo2",
     "its layers without attention are of another kind than those that are read"},
    {"deepseek2 deepseek32 deepseek4 minicpm3 plm glm-dsa mistral4",
     "its keys and values are narrow (MLA)"},
    {"gemma3n deci openelm bitnet cogvlm", "its blocks have further parts"},
    {"llama4 dbrx grok arctic glm4moe ernie4_5-moe hunyuan-moe bailingmoe bailingmoe2 dots1 afmoe "
     "minimax-m2 smallthinker grovemoe exaone-moe cohere2moe mimo2 step35 qwen35moe lfm2moe "
     "nemotron_h_moe",
     "its mixture of experts is of another kind than those that are read"},
    {"dream llada llada-moe rnd1", "it fills in masked words, and has no order of reading"},
    {"clip wavtokenizer-dec eagle3 dflash", "it is no language model"},
    {"controlvector", "it is a control vector of llama.cpp"},
};

static enum attn_status refuse_architecture(const struct attn_gguf_writing *w, const char *name,
                                            size_t size, const char *known)
{
    const struct attn_quote quote = attn_quote(name, size);
    const char *reason = NULL;

    for (size_t i = 0; i < sizeof refused_architectures / sizeof *refused_architectures; i++)
        if (attn_text_has_word(refused_architectures[i].names, name, size))
            reason = refused_architectures[i].reason;
    attn_error_set(w->err, ATTN_UNSUPPORTED,
                   "'general.architecture' in '%s' is '%s', which is not read%s%s", w->path,
                   quote.text, reason ? ": " : "", reason ? reason : "");
    if (attn_text_has_word("controlvector", name, size))
        attn_error_hint(w->err, ATTN_FOREIGN_DIRECTIONS, w->path);
    else if (!reason)
        attn_error_hint(w->err, "architectures that are read: %s", known);
    return ATTN_UNSUPPORTED;
}

/* Checks that the file contains a model. */
static enum attn_status check_type(const struct attn_gguf_writing *w)
{
    static const char *const types[][2] = {{"adapter", ", an adapter"},
                                           {"mmproj", ", the picture part of a model"},
                                           {"vocab", ", a tokenizer without a model"},
                                           {"imatrix", ", a table for quantization"}};
    const char *name = NULL, *meaning = "";
    size_t size = 0;

    ATTN_TRY(attn_gguf_get_text(w->gguf, "general.type", &name, &size, w->err));
    if (!name || attn_text_has_word("model", name, size))
        return ATTN_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (attn_text_has_word(types[i][0], name, size))
            meaning = types[i][1];
    attn_error_set(w->err, ATTN_UNSUPPORTED,
                   "'general.type' in '%s' is '%s'%s, expected the model's own file", w->path,
                   attn_quote(name, size).text, meaning);
    if (meaning == types[0][1])
        attn_error_hint(w->err, ATTN_FOREIGN_MERGE_GGUF);
    return ATTN_UNSUPPORTED;
}

static enum attn_status find_architecture(struct attn_gguf_writing *w)
{
    const char *name = NULL;
    size_t size = 0, used = 0;
    const struct attn_family *found = NULL;
    char names[600];

    ATTN_TRY(attn_gguf_get_text(w->gguf, "general.architecture", &name, &size, w->err));
    if (!name) {
        attn_error_set(w->err, ATTN_FORMAT, "'general.architecture' is missing in '%s'", w->path);
        return ATTN_FORMAT;
    }
    for (size_t i = 0; (w->family = attn_families[i]); i++) {
        const struct attn_gguf_form *form = attn_gguf_form_of(w->family);
        if (!form->architecture)
            continue;
        if (!form->marker)
            attn_fixed_text_append(names, sizeof names, &used, "%s%s", used > 0 ? ", " : "",
                                   form->architecture);
        if (strlen(form->architecture) != size || memcmp(form->architecture, name, size) != 0)
            continue;
        w->prefix = form->architecture;
        if (form->marker ? attn_gguf_key_count(w, form->marker, 0) > 0 : !found)
            found = w->family;
        ATTN_TRY(w->status);
    }
    w->family = found;
    w->form = found ? attn_gguf_form_of(found) : NULL;
    return found ? ATTN_OK : refuse_architecture(w, name, size, names);
}

/* Writes the members of the config of the text part, for N_VOCAB tokens. */
static void put_members(struct attn_gguf_writing *w, size_t n_vocab)
{
    const struct attn_config_form *form = &w->family->form;

    put_factors(w);
    if (form->defaults.n_expert > 0 &&
        (!w->form->has_lists || attn_gguf_key_count(w, "expert_count", 0) > 0))
        put_experts(w);
    put_sizes(w, n_vocab);
    if (form->activation_key)
        attn_buffer_append_format(w->json, ",\n\"%s\": \"%s\"", form->activation_key,
                                  form->defaults.act_fn);
    put_eps(w);
    put_rope(w);
    put_windows(w);
    attn_gguf_put_layers(w);
    if (form->query_scalar > 0)
        attn_gguf_put_real(w, "query_pre_attn_scalar",
                           w->n_layer == w->form->n_layer_large
                               ? (double)w->d_model / (double)w->n_head
                               : (double)w->d_head);
    put_parts(w);
}

/* Writes the config of the text part, which has the model_type TYPE; NULL: that of its family. */
static enum attn_status write_text(const struct attn_bundle *gguf, const char *type,
                                   struct attn_buffer *json, struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_gguf_path(gguf));
    struct attn_gguf_writing w = {.gguf = gguf, .json = json, .err = err, .path = path.text};
    struct attn_tensor_entry embed = {0};

    ATTN_TRY(check_type(&w));
    ATTN_TRY(find_architecture(&w));
    refuse_extras(&w);
    read_sizes(&w);
    if (w.status == ATTN_OK &&
        (!attn_tensor_files_find(attn_gguf_files(gguf), "token_embd.weight", &embed) ||
         embed.tensor.rank != 2))
        w.status = attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has no matrix 'token_embd.weight', expected the embedding",
                                  path.text);
    attn_buffer_append_format(json, "{\"model_type\": \"%s\"", type ? type : w.family->model_type);
    if (w.status == ATTN_OK)
        put_members(&w, embed.tensor.shape[0]);
    attn_buffer_append_string(json, "}\n");
    attn_gguf_release_layers(&w);
    return w.status != ATTN_OK ? w.status : attn_buffer_check(json, err);
}

enum attn_status attn_gguf_write_config(const struct attn_bundle *gguf,
                                        const struct attn_bundle *projector,
                                        struct attn_buffer *json, struct attn_error *err)
{
    const char *type = NULL;

    if (!projector)
        return write_text(gguf, NULL, json, err);
    ATTN_TRY(attn_projectors->write_config(gguf, projector, &type, json, err));
    attn_buffer_append_format(
        json, ",\n\"tie_word_embeddings\": %s,\n\"text_config\": ",
        attn_tensor_files_find(attn_gguf_files(gguf), "output.weight", NULL) ? "false" : "true");
    ATTN_TRY(write_text(gguf, type, json, err));
    attn_buffer_append_string(json, "}\n");
    return attn_buffer_check(json, err);
}

/* --- Facts that a config.json cannot contain -------------------------------------------------- */

/* Adds token ID to those that end a text, unless it is one of them. */
static void add_end_id(struct attn_config *config, size_t id)
{
    const size_t most = sizeof config->end_ids / sizeof *config->end_ids;

    for (size_t j = 0; j < config->n_end_id; j++)
        if (config->end_ids[j] == (int64_t)id)
            return;
    if (id < config->n_vocab && config->n_end_id < most)
        config->end_ids[config->n_end_id++] = (int64_t)id;
}

/* Adds the tokens that end a turn by their names, as llama.cpp does for files without their id. */
static void find_end_ids(const struct attn_bundle *gguf, struct attn_config *config)
{
    static const char *const names[] = {
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",         "<|endoftext|>",
        "<EOT>",      "_<EOT>",     "[EOT]",   "<｜end▁of▁sentence｜>", "<end_of_utterance>"};
    struct attn_gguf_pair tokens;
    struct attn_error unused = {0};
    const char *text = NULL;
    size_t size = 0;

    if (attn_gguf_get_array(gguf, "tokenizer.ggml.tokens", ATTN_GGUF_STRING, &tokens, &unused) !=
        ATTN_OK)
        return;
    for (size_t id = 0; attn_gguf_next_text(&tokens, &text, &size); id++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == size && memcmp(text, names[i], size) == 0)
                add_end_id(config, id);
}

/* Reads the tokens that end a text, a turn or a message. A key of a wrong type is ignored: the
 * tokenizer checks it, and a run on ids needs no tokenizer. */
static void read_end_ids(const struct attn_bundle *gguf, struct attn_config *config)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};

    config->n_end_id = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct attn_error unused = {0};
        size_t id = SIZE_MAX;

        if (attn_gguf_get_size(gguf, keys[i], &id, &unused) == ATTN_OK && id != SIZE_MAX)
            add_end_id(config, id);
        else if (i == 1)
            find_end_ids(gguf, config);
    }
}

/* Reads the numbers of xIELU: an array for each of the four, or a number for all layers. */
static enum attn_status read_xielu(const struct attn_bundle *gguf, const struct attn_config *config,
                                   struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const keys[] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};
    struct attn_gguf_pair lists[4];

    for (size_t i = 0; i < 4; i++)
        if (!attn_gguf_find_pair(gguf, keys[i], &lists[i]) ||
            (lists[i].is_array && lists[i].n != config->n_layer))
            return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), keys[i],
                                  "is missing, or not a number for each of %zu layers",
                                  config->n_layer);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        double values[4] = {0};

        for (size_t i = 0; i < 4; i++) {
            struct attn_gguf_pair one = lists[i];

            if (!attn_gguf_next_real(one.is_array ? &lists[i] : &one, &values[i]) ||
                !isfinite(values[i]))
                return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), keys[i],
                                      "has no finite number for layer %zu", layer);
        }
        attn_config_set_xielu(&layers->xielu[layer], values);
    }
    return ATTN_OK;
}

/* Reads how layers without attention lie in the file, and how many layers are left out. */
static enum attn_status read_mixers(const struct attn_bundle *gguf, struct attn_config *config,
                                    struct attn_error *err)
{
    const struct attn_gguf_form *form = attn_gguf_form_of(attn_family_find(config->model_type));
    char key[96];

    config->tiles_heads =
        form->tiles_heads && config->mixer && config->mixer->n_head != config->mixer->n_key_head;
    config->mixes_by_head = false; /* the converter has restored the order of all q, k and v */
    if (!form->mixer.word)
        return ATTN_OK;
    snprintf(key, sizeof key, "%s.nextn_predict_layers", form->architecture);
    return attn_gguf_get_size(gguf, key, &config->n_left_out, err);
}

enum attn_status attn_gguf_finish_config(const struct attn_bundle *gguf, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    struct attn_tensor_entry entry;
    size_t n;

    ATTN_TRY(read_mixers(gguf, config, err));
    if (attn_norm_adds_one(config->norm))
        config->norm =
            config->norm == ATTN_NORM_RMSNORM_PLUS_ONE ? ATTN_NORM_RMSNORM : ATTN_NORM_LAYERNORM;
    read_end_ids(gguf, config);
    if (layers->xielu)
        ATTN_TRY(read_xielu(gguf, config, layers, err));
    if (!attn_gguf_form_of(attn_family_find(config->model_type))->has_divisors ||
        !attn_tensor_files_find(attn_gguf_files(gguf), ATTN_ROPE_FREQS, &entry))
        return ATTN_OK;
    ATTN_TRY(find_factors(gguf, ATTN_ROPE_FREQS, &entry, err));
    n = layers->rope[0].d_rotary / 2;
    if (entry.tensor.shape[0] != n)
        return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), ATTN_ROPE_FREQS,
                              "has %zu elements, expected %zu", entry.tensor.shape[0], n);
    ATTN_TRY(ATTN_ALLOC(layers->divisors, n, err));
    memcpy(layers->divisors, entry.tensor.data, n * sizeof *layers->divisors);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer].divisors = layers->divisors;
    return ATTN_OK;
}
