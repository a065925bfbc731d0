/*
 * gguf_layers.c - see gguf_layers.h.
 *
 * Traps of Gemma 4: the sizes of all layers are lists, and `rope_freqs.weight` says how much of a
 * head layers without a window rotate. Traps of hybrids: a layer without key heads has no
 * attention, and a layer without an MLP may be of one part. Layers after the last predict further
 * tokens, but are counted (`nextn_predict_layers`). Granite rotates positions only if
 * `rope.scaling.finetuned`.
 */
#include "gguf/gguf_layers.h"

#include "base/memory.h"
#include "gguf/gguf_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Refuses the list of KEY unless it has an item for each layer of the file. */
static void check_list(struct attn_gguf_writing *w, const char *key,
                       const struct attn_gguf_pair *list)
{
    if (list->n != w->n_layer + w->n_left_out)
        attn_gguf_refuse(w, ATTN_FORMAT, key,
                         "has %" PRIu64 " items, expected %zu, one for each layer", list->n,
                         w->n_layer + w->n_left_out);
}

/* Reads KEY, one number or one for each layer, into LIST [n_layer]. Returns the last that is not 0.
 * The others must be equal to it or 0, unless layers differ: then none is 0. */
static size_t read_list(struct attn_gguf_writing *w, const char *key, size_t usual, size_t *list)
{
    const int differ = w->form->layers_differ;
    struct attn_gguf_pair pair = {0};
    size_t most = 0;

    if (!attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &pair) || !pair.is_array) {
        most = attn_gguf_key_size(w, key, ATTN_MAX_WIDTH, usual);
        for (size_t layer = 0; layer < w->n_layer; layer++)
            list[layer] = most;
        return most;
    }
    check_list(w, key, &pair);
    for (size_t layer = 0; layer < w->n_layer && w->status == ATTN_OK; layer++) {
        int64_t value = -1;

        if (!attn_gguf_next_int(&pair, &value) || value < differ || value > ATTN_MAX_WIDTH)
            attn_gguf_refuse(w, ATTN_FORMAT, key, "has no number from %d to %d for layer %zu",
                             differ, ATTN_MAX_WIDTH, layer);
        else if (!differ && value > 0 && most > 0 && (size_t)value != most)
            attn_gguf_refuse(w, ATTN_UNSUPPORTED, key,
                             "is %" PRId64 " in layer %zu and %zu in an earlier one, which this "
                             "version does not support",
                             value, layer, most);
        list[layer] = (size_t)value;
        most = value > 0 ? (size_t)value : most;
    }
    return most;
}

void attn_gguf_read_layers(struct attn_gguf_writing *w)
{
    const size_t n = attn_gguf_key_size(w, "block_count", ATTN_MAX_LAYER, 0);
    const char *left_out = "nextn_predict_layers";
    size_t n_kv, n_mlp;

    w->n_left_out = attn_gguf_key_count(w, left_out, 0);
    if (w->n_left_out >= n)
        attn_gguf_refuse(w, ATTN_FORMAT, left_out, "is %zu of %zu layers", w->n_left_out, n);
    if (w->status != ATTN_OK)
        return;
    w->n_layer = n - w->n_left_out;
    if (!w->form->has_lists) {
        w->d_mlp = attn_gguf_key_size(w, "feed_forward_length", ATTN_MAX_WIDTH, 0);
        w->n_kv_head = attn_gguf_key_size(w, "attention.head_count_kv", ATTN_MAX_WIDTH, w->n_head);
        return;
    }
    w->status = ATTN_ALLOC(w->kv_heads, w->n_layer, w->err);
    if (w->status == ATTN_OK)
        w->status = ATTN_ALLOC(w->mlps, w->n_layer, w->err);
    if (w->status != ATTN_OK)
        return;
    n_kv = read_list(w, "attention.head_count_kv", w->n_head, w->kv_heads);
    n_mlp = read_list(w, "feed_forward_length", 0, w->mlps);
    w->n_kv_head = n_kv > 0 ? n_kv : w->n_head;
    w->d_mlp = n_mlp > 0 ? n_mlp : 1;
    if (w->form->layers_differ)
        w->d_mlp = w->mlps[0];
    for (size_t layer = 0; layer < w->n_layer && w->form->layers_differ; layer++)
        attn_gguf_check_divides(w, "attention.head_count_kv", w->kv_heads[layer],
                                "attention.head_count", w->n_head);
}

/* Reads KEY, the width of the keys of a head, which VALUE_KEY, that of its values, must equal. */
static size_t read_width(struct attn_gguf_writing *w, const char *key, const char *value_key,
                         size_t usual)
{
    const size_t d_key = attn_gguf_key_size(w, key, ATTN_MAX_WIDTH, usual);
    const size_t d_value = attn_gguf_key_size(w, value_key, ATTN_MAX_WIDTH, d_key);

    if (d_value != d_key)
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, value_key,
                         "is %zu beside keys of %zu, which this version does not support", d_value,
                         d_key);
    return d_key;
}

void attn_gguf_read_widths(struct attn_gguf_writing *w)
{
    w->d_head = w->d_wide =
        read_width(w, "attention.key_length", "attention.value_length", w->d_model / w->n_head);
    if (w->form->layers_differ)
        w->d_head =
            read_width(w, "attention.key_length_swa", "attention.value_length_swa", w->d_wide);
}

void attn_gguf_release_layers(struct attn_gguf_writing *w)
{
    attn_free(w->kv_heads);
    attn_free(w->mlps);
}

/* Writes the kinds of all layers. */
static void put_kinds(struct attn_gguf_writing *w)
{
    static const char key[] = "attention.recurrent_layers";
    const bool is_single = w->family->form.defaults.has_single_norm;
    const size_t full_every = attn_gguf_key_size(w, "full_attention_interval", ATTN_MAX_LAYER, 4);
    struct attn_gguf_pair list = {0};
    const bool has_list = attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list);

    if (has_list && (!list.is_array || list.type != ATTN_GGUF_BOOL))
        attn_gguf_refuse(w, ATTN_FORMAT, key, "is not a list of bool");
    else if (has_list)
        check_list(w, key, &list);
    if (w->status != ATTN_OK)
        return;
    attn_buffer_append_string(w->json, ",\n\"layer_types\": [");
    for (size_t layer = 0; layer < w->n_layer; layer++) {
        int64_t is_mixer = w->kv_heads ? w->kv_heads[layer] == 0 : (layer + 1) % full_every != 0;

        if (has_list)
            attn_gguf_next_int(&list, &is_mixer);
        attn_buffer_append_format(w->json, "%s\"%s\"", layer > 0 ? ", " : "",
                                  is_single && w->mlps[layer] > 0 ? "mlp"
                                  : is_mixer                      ? w->form->mixer.word
                                                                  : "full_attention");
    }
    attn_buffer_append_char(w->json, ']');
}

/* Writes the sizes of layers of Gated DeltaNet or Mamba2. */
static void put_states(struct attn_gguf_writing *w)
{
    const struct attn_gguf_mixer *keys = &w->form->mixer;
    const size_t n_head = attn_gguf_key_size(w, "ssm.time_step_rank", ATTN_MAX_LAYER, 0);
    const size_t d_all = attn_gguf_key_size(w, "ssm.inner_size", ATTN_MAX_WIDTH, 0);
    const size_t n_key_head = attn_gguf_key_size(w, "ssm.group_count", ATTN_MAX_LAYER, 0);

    attn_gguf_check_divides(w, "ssm.group_count", n_key_head, "ssm.time_step_rank", n_head);
    attn_gguf_check_divides(w, "ssm.time_step_rank", n_head, "ssm.inner_size", d_all);
    if (keys->expand)
        attn_gguf_check_divides(w, "embedding_length", w->d_model, "ssm.inner_size", d_all);
    attn_gguf_put_size(w, keys->n_head, n_head);
    attn_gguf_put_size(w, keys->d_value, d_all / n_head);
    attn_gguf_put_size(w, keys->d_all, d_all);
    attn_gguf_put_size(w, keys->expand, d_all / w->d_model);
    attn_gguf_copy_size(w, keys->d_key, "ssm.state_size", ATTN_MAX_LAYER, 0);
    attn_gguf_put_size(w, keys->n_key_head, n_key_head);
    if (keys->d_all) /* llama.cpp has the norm after the gate */
        attn_gguf_put_bool(w, "mamba_rms_norm", attn_gguf_has_tensor(w, "blk.0.ssm_norm.weight"));
}

/* Writes what Granite 4.0 has besides. */
static void put_granite(struct attn_gguf_writing *w)
{
    const size_t n_expert = attn_gguf_key_count(w, "expert_count", 0);
    const bool turns = attn_gguf_key_bool(w, "rope.scaling.finetuned", true);

    attn_buffer_append_format(w->json, ",\n\"position_embedding_type\": \"%s\"",
                              turns ? "rope" : "nope");
    attn_gguf_put_size(w, "num_local_experts", n_expert);
    if (n_expert == 0)
        attn_gguf_put_size(w, "shared_intermediate_size", w->d_mlp);
}

/* --- Gemma 4 ---------------------------------------------------------------------------------- */

/* Returns the share of a head that layers without a window rotate: of the divisors of frequencies,
 * the first are 1, and the others so large that nothing is rotated. */
static double read_share(struct attn_gguf_writing *w)
{
    const size_t n = w->d_wide / 2;
    struct attn_tensor_entry entry;
    size_t n_turned = 0;
    bool is_so = attn_tensor_files_find(attn_gguf_files(w->gguf), ATTN_ROPE_FREQS, &entry) &&
                 entry.tensor.dtype == ATTN_DTYPE_F32 && entry.tensor.rank == 1 &&
                 entry.tensor.shape[0] == n;

    for (size_t i = 0; is_so && i < n; i++) {
        float divisor;

        memcpy(&divisor, (const char *)entry.tensor.data + i * sizeof divisor, sizeof divisor);
        is_so = (n_turned == i && divisor == 1) || divisor >= 1e30F;
        n_turned += divisor == 1;
    }
    if (!is_so && w->status == ATTN_OK)
        w->status = attn_error_set(w->err, ATTN_FORMAT,
                                   "'%s' has no vector '" ATTN_ROPE_FREQS
                                   "' of F32 with %zu elements, of which the first are 1 and the "
                                   "others 1e30",
                                   w->path, n);
    return attn_gguf_share_of(2 * n_turned, w->d_wide);
}

static void put_turns(struct attn_gguf_writing *w)
{
    const double theta = attn_gguf_key_real(w, "rope.freq_base", 1, 1e30, 10000);
    const double local = attn_gguf_key_real(w, "rope.freq_base_swa", 1, 1e30, 10000);
    const size_t d_turned =
        attn_gguf_key_size(w, "rope.dimension_count_swa", ATTN_MAX_WIDTH, w->d_head);

    if (d_turned > w->d_head)
        attn_gguf_refuse(w, ATTN_FORMAT, "rope.dimension_count_swa", "is %zu, of heads of %zu",
                         d_turned, w->d_head);
    attn_buffer_append_format(
        w->json,
        ",\n\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"proportional\", "
        "\"rope_theta\": %.17g, \"partial_rotary_factor\": %.17g}, \"sliding_attention\": "
        "{\"rope_type\": \"default\", \"rope_theta\": %.17g, \"partial_rotary_factor\": %.17g}}",
        theta, read_share(w), local, attn_gguf_share_of(d_turned, w->d_head));
}

/* Writes the sizes of each layer, and returns the first layer without a window, or n_layer. */
static size_t put_sizes_of_layers(struct attn_gguf_writing *w)
{
    static const char key[] = "attention.sliding_window_pattern";
    struct attn_gguf_pair list = {0};
    size_t first = w->n_layer;

    attn_gguf_require(w, key);
    if (attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list) && !list.is_array)
        attn_gguf_refuse(w, ATTN_FORMAT, key, "is not a list of bool");
    attn_buffer_append_string(w->json, ",\n\"per_layer_config\": {");
    for (size_t layer = 0; layer < w->n_layer; layer++) {
        int64_t has_window = 1;

        attn_gguf_next_int(&list, &has_window);
        first = !has_window && first == w->n_layer ? layer : first;
        attn_buffer_append_format(
            w->json, "%s\"%zu\": {\"head_dim\": %zu, \"num_key_value_heads\": %zu}",
            layer > 0 ? ", " : "", layer, has_window ? w->d_head : w->d_wide, w->kv_heads[layer]);
    }
    attn_buffer_append_char(w->json, '}');
    return first;
}

/* Writes which layers attend to the keys of earlier ones. Their MLPs may be twice as wide. */
static void put_shared(struct attn_gguf_writing *w)
{
    const size_t n = attn_gguf_key_count(w, "attention.shared_kv_layers", 0);
    const size_t wide = w->mlps[w->n_layer - 1];

    for (size_t layer = 0; layer < w->n_layer; layer++) {
        const size_t expected = layer + n >= w->n_layer ? wide : w->mlps[0];

        if (w->mlps[layer] != expected || (wide != w->mlps[0] && wide != 2 * w->mlps[0]))
            attn_gguf_refuse(w, ATTN_UNSUPPORTED, "feed_forward_length",
                             "is %zu in layer %zu, expected one width, or twice that in the last "
                             "%zu layers",
                             w->mlps[layer], layer, n);
    }
    attn_gguf_put_size(w, "num_kv_shared_layers", n);
    attn_gguf_put_bool(w, "use_double_wide_mlp", wide != w->mlps[0]);
}

/* Writes the sizes of the experts beside the MLP, if there are any. */
static void put_mixture(struct attn_gguf_writing *w)
{
    const size_t n = attn_gguf_key_count(w, "expert_count", 0);

    attn_gguf_put_bool(w, "enable_moe_block", n > 0);
    if (n == 0)
        return;
    attn_gguf_put_size(w, "num_experts", n);
    attn_gguf_copy_size(w, "top_k_experts", "expert_used_count", ATTN_MAX_LAYER, 0);
    attn_gguf_copy_size(w, "moe_intermediate_size", "expert_feed_forward_length", ATTN_MAX_WIDTH,
                        0);
}

static void put_gemma(struct attn_gguf_writing *w)
{
    const size_t first = put_sizes_of_layers(w);
    struct attn_tensor_entry embed;
    char value[40];

    snprintf(value, sizeof value, "blk.%zu.attn_v.weight", first);
    attn_gguf_put_bool(w, "attention_k_eq_v",
                       first < w->n_layer && !attn_gguf_has_tensor(w, value));
    attn_gguf_put_size(w, "hidden_size_per_layer_input",
                       attn_gguf_key_count(w, "embedding_length_per_layer_input", 0));
    if (attn_tensor_files_find(attn_gguf_files(w->gguf), "token_embd.weight", &embed))
        attn_gguf_put_size(w, "vocab_size_per_layer_input", embed.tensor.shape[0]);
    put_shared(w);
    put_mixture(w);
    put_turns(w);
}

/* --- All of it -------------------------------------------------------------------------------- */

void attn_gguf_put_layers(struct attn_gguf_writing *w)
{
    const struct attn_gguf_mixer *keys = &w->form->mixer;

    if (w->form->layers_differ && w->status == ATTN_OK)
        put_gemma(w);
    if (!keys->n_tap)
        return;
    attn_gguf_copy_size(w, keys->n_tap, keys->n_head ? "ssm.conv_kernel" : "shortconv.l_cache",
                        ATTN_MAX_LAYER, 0);
    if (keys->n_head)
        put_states(w);
    if (keys->word)
        put_kinds(w);
    if (keys->word && w->family->form.score_factor_key)
        put_granite(w);
}
