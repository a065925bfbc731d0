/* inspection_differences.c - the attention of each layer, and how a model differs from GPT-2, for
 * readers. GPT-2: LayerNorm before
 * attention and MLP, learned positions, causal attention to all keys with scores / sqrt(d_head), a
 * bias in every map of a block, gelu_new, and the embedding as its output matrix. */
#include "inspect/inspection_internal.h"

#include "attention/attention_internal.h"
#include "base/buffer.h"
#include "base/fixed_text.h"
#include "base/status_internal.h"
#include "model/vision_family.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_SIZE = 256, MAX_GROUP = 4 };

/* Appends to `words`, of which `used` bytes are in use. */
#define say(...) attn_fixed_text_append(words, WORDS_SIZE, &used, __VA_ARGS__)

/* State while the table is filled, with the first failure. */
struct difference_list {
    const struct attn_config *config;
    struct attn_table *table;
    enum attn_status status;
    struct attn_error *err;
};

static void append(struct difference_list *list, const char *part, const char *words, size_t size)
{
    const struct attn_cell row[] = {attn_cell_text(part, strlen(part)),
                                    attn_cell_text(words, size)};

    if (list->status == ATTN_OK)
        list->status = attn_table_append(list->table, row, 2, list->err);
}

/* Appends a row if IS_THERE, which says whether the model has the difference. */
static ATTN_PRINTF(4, 5) void add(struct difference_list *list, bool is_there, const char *part,
                                  const char *format, ...)
{
    char words[WORDS_SIZE];
    va_list args;

    if (!is_there)
        return;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    append(list, part, words, strlen(words));
}

/* --- Differences by layer --------------------------------------------------------------------- */

/* Describes how LAYER differs from GPT-2; writes nothing if it does not. Parts of layers that
 * attend to the source of an encoder are not described. */
typedef void (*describe_fn)(const struct attn_config *config, size_t layer, char words[WORDS_SIZE]);

/* Appends a row for the layers with these WORDS: "layers 0-4, 6: ...", or without numbers if all
 * layers have them. */
static void add_by_words(struct difference_list *list, const char *part, describe_fn describe,
                         const char *words)
{
    const size_t n_layer = attn_config_n_whole_layer(list->config);
    const size_t n_part = attn_config_n_part(list->config);
    struct attn_buffer layers = {0}, text = {0};
    char other[WORDS_SIZE];
    size_t n = 0;

    for (size_t first = 0, last; first < n_layer; first = last + 1) {
        for (last = first; last < n_layer; last++) {
            describe(list->config, last * n_part, other);
            if (strcmp(other, words) != 0)
                break;
        }
        if (last > first)
            attn_buffer_append_format(&layers, n > 0 ? ", %zu" : "%zu", first);
        if (last > first + 1)
            attn_buffer_append_format(&layers, "-%zu", last - 1);
        n += last - first;
    }
    if (n < n_layer) {
        attn_buffer_append_string(&text, n == 1 ? "layer " : "layers ");
        attn_buffer_append(&text, layers.data, layers.size);
        attn_buffer_append_string(&text, ": ");
    }
    attn_buffer_append_string(&text, words);
    if (layers.has_failed || text.has_failed)
        list->status = attn_error_no_memory(list->err);
    append(list, part, text.data, text.size);
    attn_buffer_release(&layers);
    attn_buffer_release(&text);
}

/* Appends a row for each group of layers with the same description. */
static void add_by_layer(struct difference_list *list, const char *part, describe_fn describe)
{
    const size_t n_part = attn_config_n_part(list->config);
    char groups[MAX_GROUP][WORDS_SIZE], words[WORDS_SIZE];
    size_t n = 0;

    for (size_t layer = 0; layer < list->config->n_layer; layer += n_part) {
        size_t i = 0;

        describe(list->config, layer, words);
        while (i < n && strcmp(words, groups[i]) != 0)
            i++;
        if (i == MAX_GROUP) {
            add(list, true, part, "in each layer otherwise");
            return;
        }
        if (i == n)
            memcpy(groups[n++], words, sizeof words);
    }
    for (size_t i = 0; i < n; i++)
        if (groups[i][0] != '\0')
            add_by_words(list, part, describe, groups[i]);
}

static void describe_rope(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_rope *rope = &config->rope[layer];
    const struct attn_layer_dims own = attn_config_layer_dims(config, layer);
    size_t used = 0;

    words[0] = '\0';
    if (attn_config_is_mixer(config, layer))
        return;
    if (rope->d_rotary == 0) {
        snprintf(words, WORDS_SIZE, "turn no positions");
        return;
    }
    say("rotary%s, theta %.15g", rope->turns_neighbours ? ": neighbours" : "", rope->theta);
    if (rope->d_rotary < own.d_head)
        say(", of the first %zu of %zu components of a head", rope->d_rotary, own.d_head);
    if (rope->is_centred)
        say(", by row and column of the centre of a patch");
    else if (rope->is_axial || rope->is_alternating)
        say(", by row and column of a patch");
    else if (rope->sections[0] > 0)
        say(", frequencies %zu, %zu, %zu%s by time, row and column of a cell", rope->sections[0],
            rope->sections[1], rope->sections[2], rope->is_interleaved ? ", in turn," : "");
    switch (rope->type) {
    case ATTN_ROPE_DEFAULT:
        break;
    case ATTN_ROPE_PROPORTIONAL:
        say(", of %zu of %zu pairs of a head", rope->n_pair, rope->d_rotary / 2);
        if (rope->factor != 1)
            say(", positions / %.15g", rope->factor);
        break;
    case ATTN_ROPE_LINEAR:
        say(", positions / %.15g", rope->factor);
        break;
    case ATTN_ROPE_LLAMA3:
        say(", low frequencies / %.15g (llama3, trained on %.15g tokens)", rope->factor,
            rope->n_original);
        break;
    case ATTN_ROPE_YARN:
        say(", low frequencies / %.15g, q and k * %.6g (yarn, trained on %.15g tokens)",
            rope->factor, rope->attention_factor, rope->n_original);
        break;
    case ATTN_ROPE_LONGROPE:
        if (rope->long_attention_factor > 0)
            say(", a list of factors, q and k * %.6g up to %.15g tokens, * %.6g beyond (longrope)",
                rope->attention_factor, rope->n_original, rope->long_attention_factor);
        else
            say(", two lists of factors, up to %.15g tokens and beyond, q and k * "
                "%.6g (longrope)",
                rope->n_original, rope->attention_factor);
        break;
    case ATTN_ROPE_DYNAMIC:
        say(", as written up to %zu tokens (dynamic)", config->n_ctx);
        break;
    }
    if (rope->query_growth > 0)
        say(", q * 1 + %.6g ln(1 + position / %.15g), the quotient rounded down",
            rope->query_growth, rope->n_original);
}

static void describe_keys(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_attention *attention = &config->attention[layer];

    words[0] = '\0';
    if (config->is_cross[layer])
        snprintf(words, WORDS_SIZE, "a query sees the source");
    else if (attention->kind == ATTN_ATTENTION_WINDOW && attention->mask == ATTN_MASK_NONE)
        snprintf(words, WORDS_SIZE, "a query sees its own token and %zu to each side",
                 attention->window - 1);
    else if (attention->kind == ATTN_ATTENTION_WINDOW)
        snprintf(words, WORDS_SIZE, "a query sees its own token and the %zu before it",
                 attention->window - 1);
    else if (attention->kind == ATTN_ATTENTION_BLOCK && config->image.patch_height > 0)
        snprintf(words, WORDS_SIZE, "a query sees the patches of its window of %zu x %zu",
                 attention->count, attention->count);
    else if (attention->mask == ATTN_MASK_NONE)
        snprintf(words, WORDS_SIZE, "a query also sees the %s after it",
                 config->image.patch_height > 0 ? "patches" : "tokens");
}

static void describe_scores(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_attention *attention = &config->attention[layer];
    const bool has_factor = attention->factor < 1 || attention->factor > 1;
    const char *between = "";
    size_t used = 0;

    words[0] = '\0';
    if (!attention->is_scaled && !has_factor)
        say("not divided by sqrt(d_head)");
    else if (!attention->is_scaled)
        say("times %.6g, not 1 / sqrt(d_head)", attention->factor);
    else if (has_factor)
        say("also times %.6g", attention->factor);
    if (used > 0)
        between = "; ";
    if (attention->score_cap > 0)
        say("%s%.15g * tanh(score / %.15g), before the mask", between, attention->score_cap,
            attention->score_cap);
}

static void describe_dense(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    snprintf(words, WORDS_SIZE, "%s", config->is_dense[layer] ? "dense, without experts" : "");
}

/* Describes a layer's attention, not compared with GPT-2: "full, causal, scores / sqrt(d_head)". */
static void describe_attention(const struct attn_config *config, size_t layer,
                               char words[WORDS_SIZE])
{
    const struct attn_attention *attention = &config->attention[layer];
    const bool has_factor = attention->factor < 1 || attention->factor > 1;
    size_t used = 0;

    if (!attn_config_has_attention(config, layer)) {
        say("no attention");
        return;
    }
    say("%s", attn_attention_kind_name(attention->kind));
    if (attention->kind == ATTN_ATTENTION_WINDOW || attention->kind == ATTN_ATTENTION_BLOCK)
        say(":%zu", attention->kind == ATTN_ATTENTION_BLOCK ? attention->count : attention->window);
    say(", %s, scores", config->is_cross[layer]               ? "to the source"
                        : attention->mask == ATTN_MASK_CAUSAL ? "causal"
                                                              : "no mask");
    if (attention->is_scaled && attention->eps > 0)
        say(" / (sqrt(d_head) + %g)", attention->eps);
    else if (attention->is_scaled || !has_factor)
        say("%s", attention->is_scaled ? " / sqrt(d_head)" : " not scaled");
    if (has_factor)
        say(" * %g", attention->factor);
}

/* Returns true if two layers have the same attention and positions. */
static bool is_same_layer(const struct attn_config *config, size_t one, size_t other)
{
    static const describe_fn parts[] = {describe_attention, describe_scores, describe_rope};
    const size_t n = config->positions == ATTN_POSITIONS_ROTARY ? 3 : 2;
    char words[2][WORDS_SIZE];

    for (size_t i = 0; i < n; i++) {
        parts[i](config, one, words[0]);
        parts[i](config, other, words[1]);
        if (strcmp(words[0], words[1]) != 0)
            return false;
    }
    return true;
}

enum attn_status attn_layers_append(const struct attn_config *config, struct attn_table *table,
                                    struct attn_error *err)
{
    struct difference_list list = {.config = config, .table = table, .err = err};
    const size_t n = config->n_layer;

    for (size_t first = 0, last; first < n; first = last) {
        char label[64] = "attention", words[WORDS_SIZE];

        last = first + 1;
        while (last < n && is_same_layer(config, first, last))
            last++;
        if (config->stack.has_encoder)
            snprintf(label, sizeof label, first % 2 == 0 ? "attention %zu" : "cross %zu",
                     first / 2);
        else if (last - first < n && last == first + 1)
            snprintf(label, sizeof label, "attention %zu", first);
        else if (last - first < n)
            snprintf(label, sizeof label, "attention %zu-%zu", first, last - 1);
        describe_attention(config, first, words);
        append(&list, label, words, strlen(words));
    }
    return list.status;
}

/* --- Differences of all layers ---------------------------------------------------------------- */

static void add_norms(struct difference_list *list)
{
    static const char *const kinds[] = {
        [ATTN_NORM_NONE] = "none",
        [ATTN_NORM_LAYERNORM] = "LayerNorm",
        [ATTN_NORM_RMSNORM] = "RMSNorm: no mean is taken off, nothing is added",
        [ATTN_NORM_RMSNORM_PLUS_ONE] =
            "RMSNorm, times 1 + weight: no mean is taken off, nothing is added",
        [ATTN_NORM_LAYERNORM_NO_BIAS] = "LayerNorm without a bias",
        [ATTN_NORM_LAYERNORM_NO_WEIGHT] = "LayerNorm without weights",
        [ATTN_NORM_LAYERNORM_PLUS_ONE] = "LayerNorm, times 1 + weight",
        [ATTN_NORM_RMSNORM_NO_WEIGHT] = "RMSNorm without weights: no mean is taken off"};
    static const char *const places[] = {
        [ATTN_NORM_PRE] = "",
        [ATTN_NORM_POST] = "after attention and MLP, not before them",
        [ATTN_NORM_AROUND] = "before and after attention and MLP",
        [ATTN_NORM_SUM] = "after each sum: the stream itself is normalized"};
    const struct attn_config *config = list->config;

    add(list, config->norm != ATTN_NORM_LAYERNORM, "norms", "%s", kinds[config->norm]);
    add(list, config->norm != ATTN_NORM_NONE && config->norm_place != ATTN_NORM_PRE, "norms", "%s",
        places[config->norm_place]);
    add(list, config->has_single_norm, "norms", "one in a block, before %s",
        config->is_mlp ? "its one part" : "both attention and MLP");
    add(list, config->begins_without_norm, "norms", "none before attention in layer 0");
    add(list,
        config->norm != ATTN_NORM_NONE && config->norm_place != ATTN_NORM_SUM &&
            !config->has_final_norm,
        "norms", "none at the end");
}

/* Describes the heads of LAYER, whose sizes differ from those of others. */
static void describe_heads(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_layer_dims own = attn_config_layer_dims(config, layer);
    size_t used = 0;

    words[0] = '\0';
    say("%zu of width %zu", config->n_head, own.d_head);
    if (own.kv_layer != layer)
        say(", which attend to the keys and values of layer %zu", own.kv_layer);
    else
        say(", %zu key/value head%s%s", own.n_kv_head, own.n_kv_head == 1 ? "" : "s",
            attn_config_has_keys_as_values(config, layer) ? ", values are the keys" : "");
}

static void add_heads(struct difference_list *list)
{
    static const char *const norms[] = {
        [ATTN_QK_NORM_NONE] = "",
        [ATTN_QK_NORM_PER_HEAD] = "normalized, each head by itself",
        [ATTN_QK_NORM_ALL_HEADS] = "normalized, all heads of a token at once",
        [ATTN_QK_NORM_EACH_HEAD] = "normalized, each head by itself with its own weights"};
    const struct attn_config *config = list->config;

    add(list, !config->has_projections, "heads", "q, k and v are the input of the block itself");
    if (config->layer_dims)
        add_by_layer(list, "heads", describe_heads);
    add(list, !config->layer_dims && config->n_kv_head < config->n_head, "heads",
        "%zu key/value head%s, each for %zu query heads", config->n_kv_head,
        config->n_kv_head == 1 ? "" : "s", config->n_head / config->n_kv_head);
    add(list, !config->layer_dims && config->n_head * config->d_head != config->d_model, "heads",
        "%zu of width %zu, together %zu, where d_model is %zu", config->n_head, config->d_head,
        config->n_head * config->d_head, config->d_model);
    add(list, config->qk_norm != ATTN_QK_NORM_NONE, "q and k", "%s%s", norms[config->qk_norm],
        config->qk_norm_is_late ? ", after they are turned" : "");
    add(list, config->qkv_clip > 0, "q, k and v", "kept within %.15g", config->qkv_clip);
}

/* Adds which maps of a block have a bias, unless all have one. */
static void add_biases(struct difference_list *list)
{
    static const char *const apart[] = {"", "q", "k", "q and k", "v", "q and v", "k and v"};
    const struct attn_config *config = list->config;
    const int i_apart =
        config->has_query_bias + 2 * config->has_key_bias + 4 * config->has_value_bias;
    const bool is_apart = !config->has_qkv_bias && i_apart > 0 && i_apart < 7;
    const struct {
        bool is_there, has_bias;
        const char *name;
    } maps[] = {{config->has_projections, config->has_qkv_bias || i_apart > 0,
                 is_apart ? apart[i_apart] : "q, k and v"},
                {config->has_out_proj, config->has_out_bias, "the output projection"},
                {config->d_mlp > 0, config->has_mlp_bias || config->has_expert_bias, "the MLP"}};
    const char *with[3];
    size_t n_map = 0, n = 0;

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        n_map += maps[i].is_there;
        if (maps[i].is_there && maps[i].has_bias)
            with[n++] = maps[i].name;
    }
    if (n == n_map && !is_apart)
        return;
    if (n == 3)
        add(list, true, "biases", "of %s, %s and %s alone", with[0], with[1], with[2]);
    else if (n == 0)
        add(list, true, "biases", "none in the maps of a block");
    else if (n == 1)
        add(list, true, "biases", "of %s alone", with[0]);
    else
        add(list, true, "biases", "of %s and %s alone", with[0], with[1]);
}

static bool is_factor(double factor)
{
    return factor > 0 && (factor < 1 || factor > 1);
}

/* Adds how many experts there are, and how they are weighted. */
static void add_experts(struct difference_list *list)
{
    const struct attn_config *config = list->config;
    const struct attn_router_config *router = &config->router;
    const char *shared = config->d_shared_expert > 0 ? ", and a shared one" : "";
    const bool is_sigmoid = config->expert_weights == ATTN_EXPERTS_SIGMOID;

    add(list, config->n_expert > 0 && !is_sigmoid, "experts",
        "%zu of %zu a token, of width %zu, weights %s 1%s", config->n_expert_used, config->n_expert,
        config->d_expert,
        config->expert_weights == ATTN_EXPERTS_SOFTMAX_ALL    ? "sum to less than"
        : config->expert_weights == ATTN_EXPERTS_SOFTMAX_NEAR ? "do not sum to"
                                                              : "sum to",
        shared);
    add(list, is_sigmoid, "experts",
        "%zu of %zu a token, of width %zu, weights are sigmoids%s, times %.6g%s",
        config->n_expert_used, config->n_expert, config->d_expert,
        router->is_normalized ? " divided by their sum" : "", router->factor, shared);
    add(list, is_sigmoid && router->n_group > 1, "experts", "chosen in %zu of %zu groups",
        router->n_group_used, router->n_group);
    add(list, config->d_latent > 0, "experts",
        "read and write %zu numbers, by a map on either side", config->d_latent);
    add(list, config->has_expert_norms, "experts", "each weight is then multiplied by a factor");
    add(list, config->has_expert_norms, "experts",
        "norms before the router and the experts, after their sum and after the shared one");
}

/* Adds differences of the block as a whole and its MLP. */
static void add_block(struct difference_list *list)
{
    const struct attn_config *config = list->config;

    add(list, !config->has_out_proj, "block",
        "heads are put side by side, without an output projection");
    if (config->d_mlp == 0)
        add(list, true, "mlp", "none");
    else if (config->expert_limit > 0)
        add(list, true, "mlp",
            "gated: g sigmoid(%.6g g) * (u + 1), g = x W_gate up to %.6g, u = x W_in within %.6g",
            config->expert_alpha, config->expert_limit, config->expert_limit);
    else if (config->has_gated_mlp)
        add(list, true, "mlp", "gated: %s(x W_gate) * (x W_in)", config->act_fn);
    else if (strcmp(config->act_fn, "gelu_new") != 0)
        add(list, true, "mlp", "%s%s", config->act_fn,
            config->xielu ? ", by numbers of each layer" : "");
    add_experts(list);
    if (config->n_expert > 0 && !config->is_mlp)
        add_by_layer(list, "mlp", describe_dense);
    add(list, config->has_sinks, "sinks", "each row of a pattern sums to less than 1");
    add(list, config->has_layer_scale, "block",
        "what attention and MLP add is multiplied by a factor for each component");
    add(list, is_factor(config->residual_scale), "block",
        "what attention and MLP add is multiplied by %.6g", config->residual_scale);
    add(list, !config->has_residual, "block", "its input is not added to its output");
    add(list, config->has_parallel_residual, "block",
        "attention and MLP read the same input, side by side");
    add(list, config->n_group > 0, "block", "%zu layers share %zu block%s", config->n_layer,
        config->n_group, config->n_group == 1 ? "" : "s");
}

static void add_output(struct difference_list *list)
{
    const struct attn_config *config = list->config;

    add(list, config->head_act_fn, "output",
        "reads norm(%s(x W + b)), and predicts tokens at their own positions", config->head_act_fn);
    add(list, config->output == ATTN_OUTPUT_NONE, "output", "none: no logits");
    if (config->pooling != ATTN_POOLING_NONE && config->image.patch_height > 0)
        add(list, true, "output", "a classifier of %zu labels, which reads %s", config->n_vocab,
            config->pooling == ATTN_POOLING_FIRST_TWO ? "[CLS] and [DIST]: the mean of two"
            : config->pooling == ATTN_POOLING_FIRST_AND_MEAN
                ? "[CLS] beside the mean of the patches"
            : config->pooling == ATTN_POOLING_MEAN ? "the mean of the patches"
                                                   : "[CLS]");
    else if (config->output == ATTN_OUTPUT_OWN)
        add(list, true, "output", "a matrix of its own, not the embedding");
    else if (config->output == ATTN_OUTPUT_STREAM)
        add(list, true, "output", "the %zu components of the residual stream", config->d_model);
    add(list, config->has_output_bias, "output", "with a bias");
    add(list, config->has_output_map, "output", "a linear map makes rows %zu wide",
        config->d_embed);
    add(list, is_factor(config->logits_scale), "output", "logits are multiplied by %.6g",
        config->logits_scale);
    add(list, config->logits_cap > 0, "output", "logits become %.15g * tanh(logit / %.15g)",
        config->logits_cap, config->logits_cap);
}

static void add_image(struct difference_list *list)
{
    const struct attn_image_config *image = &list->config->image;
    char registers[48] = "";

    if (image->patch_height == 0)
        return;
    if (image->is_distilled)
        snprintf(registers, sizeof registers, " and [DIST], the token of distillation");
    else if (image->n_register > 0)
        snprintf(registers, sizeof registers, " and %zu register%s", image->n_register,
                 image->n_register == 1 ? "" : "s");
    add(list, true, "embedding", "a linear map of each patch of %zu x %zu pixels%s%s",
        image->patch_width, image->patch_height, image->lacks_class ? "" : ", after [CLS]",
        registers);
    add(list, image->height > 0, "positions", "of %zu row%s of %zu patches, %s",
        image->height / image->patch_height, image->height / image->patch_height == 1 ? "" : "s",
        image->width / image->patch_width,
        image->resample == ATTN_RESAMPLE_NONE ? "and no other picture is read"
                                              : "resampled for other pictures");
}

/* Adds which layers of the tower DeepStack reads, and after which layers it adds rows. */
static void add_deep(struct difference_list *list, const struct attn_vision_config *vision)
{
    char from[8 * ATTN_MOST_DEEP] = "", to[8 * ATTN_MOST_DEEP] = "";
    size_t n_from = 0, n_to = 0;

    for (size_t k = 0; k < vision->n_deep; k++) {
        attn_fixed_text_append(from, sizeof from, &n_from, "%s%zu", k == 0 ? "" : ", ",
                               vision->deep[k]);
        attn_fixed_text_append(to, sizeof to, &n_to, "%s%zu", k == 0 ? "" : ", ", k);
    }
    add(list, vision->n_deep > 0, "deepstack",
        "further rows of the cells, made from tower layer%s %s, are added after layer%s %s",
        vision->n_deep == 1 ? "" : "s", from, vision->n_deep == 1 ? "" : "s", to);
}

/* Adds what a decoder makes of the picture in a prompt. */
static void add_pictures(struct difference_list *list)
{
    const struct attn_vision_config *vision = &list->config->vision;
    char size[64] = "of any size";

    if (vision->side > 0)
        snprintf(size, sizeof size, "of %zu x %zu pixels", vision->side, vision->side);
    add(list, true, "pictures", "%s, in cells of %zu x %zu patches of %zu x %zu pixels", size,
        vision->merge, vision->merge, vision->patch, vision->patch);
    add(list, true, "connector", "%s makes its row in the stream", vision->family->connector);
    add_deep(list, vision);
}

/* Describes how LAYER mixes tokens without attention. */
static void describe_mixer(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_mixer_dims *mixer = config->mixer;
    const bool is_beside = attn_config_mixes_beside(config);

    words[0] = '\0';
    if (config->is_mlp && config->is_mlp[layer])
        snprintf(words, WORDS_SIZE, "%s alone",
                 attn_config_has_experts(config, layer) ? "experts" : "an MLP");
    if (!attn_config_is_mixer(config, layer) && !is_beside)
        return;
    if (mixer->kind == ATTN_MIXER_CONV)
        snprintf(words, WORDS_SIZE,
                 "short convolution over %zu tokens, %zu channels: no attention map (site mixing)",
                 mixer->n_tap, config->d_model);
    else if (mixer->kind == ATTN_MIXER_MAMBA2)
        snprintf(words, WORDS_SIZE,
                 "Mamba2%s, %zu heads of %zu in %zu group%s, state of %zu, convolution of %zu: no "
                 "attention map (site mixing)",
                 is_beside ? " beside attention" : "", mixer->n_head, mixer->d_value,
                 mixer->n_key_head, mixer->n_key_head == 1 ? "" : "s", mixer->d_key, mixer->n_tap);
    else
        snprintf(words, WORDS_SIZE,
                 "Gated DeltaNet, %zu heads of %zu x %zu, convolution of %zu: no attention map "
                 "(site mixing)",
                 mixer->n_head, mixer->d_key, mixer->d_value, mixer->n_tap);
}

size_t attn_inspection_state_size(const struct attn_config *config)
{
    return attn_config_n_layer_of(config, true, config->n_layer) *
           attn_mixer_n_state(config->mixer) * sizeof(float);
}

static void add_mixers(struct difference_list *list)
{
    const struct attn_config *config = list->config;

    add(list, config->has_attn_gate, "attention", "multiplied by the sigmoid of a gate");
    add(list, config->has_value_norm, "values", "normalized, each head by itself, without weights");
    add(list, config->d_layer_input > 0, "layers",
        "each adds %zu numbers of its own of each token, through a gate", config->d_layer_input);
    add(list, config->has_layer_scalar, "layers", "each multiplies its output by a number");
    if (!config->mixer)
        return;
    add_by_layer(list, "mixer", describe_mixer);
    add(list, true, "state", "%zu bytes a text, however long it is",
        attn_inspection_state_size(config));
}

/* Adds the slopes of the first heads, "1/4 1/16". */
static void add_slopes(struct difference_list *list)
{
    const size_t n_head = list->config->n_head, n = n_head < 8 ? n_head : 8;
    const struct attn_score_bias *bias = list->config->attention[0].bias;
    char words[WORDS_SIZE];
    size_t used = 0;

    for (size_t head = 0; head < n; head++) {
        const double divisor = 1 / (double)bias->slopes[head];
        const bool is_whole = divisor == floor(divisor);

        say(is_whole ? " 1/%.0f" : " %.4g", is_whole ? divisor : 1 / divisor);
    }
    add(list, true, "positions", "none; scores get slope * %s:%s%s (ALiBi)",
        bias->is_of_key ? "position of the key" : "distance", words, n < n_head ? " ..." : "");
}

static void add_positions(struct difference_list *list)
{
    const struct attn_stack_config *stack = &list->config->stack;
    const struct attn_place_config *places = &list->config->places;

    if (places->n > 0)
        add(list, true, "positions",
            "%s; scores add the %s times %zu places of their distance%s (sites %s)",
            list->config->positions == ATTN_POSITIONS_LEARNED ? "learned" : "none",
            !places->has_p2c   ? "query"
            : !places->has_c2p ? "key"
                               : "query and the key",
            places->n, places->n_bucket > 0 ? ", by its logarithm" : "",
            !places->has_p2c   ? "c2p"
            : !places->has_c2p ? "p2c"
                               : "c2p, p2c");
    else if (stack->n_bucket > 0)
        add(list, true, "positions",
            "%s; scores get a bias by head and distance, in %zu buckets up to %zu%s",
            list->config->positions == ATTN_POSITIONS_LEARNED ? "learned" : "none", stack->n_bucket,
            stack->bucket_distance, stack->has_bias_in_layers ? ", of each layer" : "");
    else if (list->config->positions == ATTN_POSITIONS_NONE)
        add(list, true, "positions", "none");
    else if (stack->makes_positions != ATTN_SINES_NONE)
        add(list, true, "positions", "sines and cosines, not learned");
}

enum attn_status attn_differences_append(const struct attn_config *config, struct attn_table *table,
                                         struct attn_error *err)
{
    struct difference_list list = {.config = config, .table = table, .err = err};
    const struct attn_vision_family *family = config->is_encoder ? NULL : config->vision.family;

    add_image(&list);
    if (family)
        add_pictures(&list);
    add(&list, config->embed_scale > 0, "embedding", "rows times %.6g", config->embed_scale);
    add(&list, config->has_embed_norm, "embedding", "normalized, after positions%s were added",
        config->n_type > 0 ? " and token types" : "");
    add(&list, config->has_embed_map, "embedding", "%zu wide; a linear map makes it %zu wide",
        config->d_embed, config->d_model);
    add(&list, config->embeds_normed, "embedding", "each row is normalized");
    add_positions(&list);
    if (config->positions == ATTN_POSITIONS_ALIBI)
        add_slopes(&list);
    add(&list, config->first_position > 0, "positions",
        config->is_encoder ? "from %zu on; tokens %zu, which pad, are not counted"
                           : "from row %zu of their table on",
        config->first_position, config->first_position - 1);
    if (config->positions == ATTN_POSITIONS_ROTARY && !attn_config_turns_nothing(config))
        add_by_layer(&list, "positions", describe_rope);
    add(&list, config->source_positions == ATTN_POSITIONS_LEARNED, "positions",
        "learned ones of a source");
    add_norms(&list);
    add_heads(&list);
    add_by_layer(&list, "attention", describe_keys);
    add(&list, config->stack.has_encoder, "attention",
        "each layer then attends to the source, which the encoder reads");
    add(&list, family && family->opens_cells, "attention", "the cells of a picture see each other");
    add(&list, family && family->part.sees_prompt, "attention",
        "all tokens before the answer see each other, and are counted from %zu on",
        family ? family->first_position : 0);
    add_by_layer(&list, "scores", describe_scores);
    add_mixers(&list);
    add_biases(&list);
    add_block(&list);
    add_output(&list);
    return list.status;
}
