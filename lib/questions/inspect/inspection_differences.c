/* inspection_differences.c - the attention of each layer, and the fields in which a config differs
 * from that of a GPT-2 of its sizes. */
#include "inspect/inspection_internal.h"

#include "attention/attention_internal.h"
#include "base/text/fixed_text.h"
#include "model/config_internal.h"
#include "tables/table_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_SIZE = 256 };

/* Appends to `words`, of which `used` bytes are in use. */
#define say(...) attn_fixed_text_append(words, WORDS_SIZE, &used, __VA_ARGS__)

size_t attn_inspection_state_size(const struct attn_config *config)
{
    return attn_config_n_layer_of(config, true, config->n_layer) *
           attn_mixer_n_state(config->mixer) * sizeof(float);
}

/* --- Layers ----------------------------------------------------------------------------------- */

const char *attn_inspection_layer_kind(const struct attn_config *config, size_t layer)
{
    static const char *const mixers[] = {
        [ATTN_MIXER_CONV] = "conv", [ATTN_MIXER_DELTA] = "delta", [ATTN_MIXER_MAMBA2] = "mamba2"};

    if (attn_config_mixes_beside(config))
        return "attention+mamba2";
    if (attn_config_is_mixer(config, layer))
        return mixers[config->mixer->kind];
    if (config->is_mlp && config->is_mlp[layer])
        return attn_config_has_experts(config, layer) ? "experts" : "mlp";
    return attn_attention_kind_name(config->attention[layer].kind);
}

const char *attn_inspection_rope_type(const struct attn_rope *rope)
{
    static const char *const words[] = {
#define ROPE_WORD(id, number, word) [ATTN_ROPE_##id] = (word),
        ATTN_ROPE_MAP(ROPE_WORD)
#undef ROPE_WORD
    };

    return words[rope->type];
}

/* Describes a layer: "window:5, causal, scores / sqrt(d_head), rope_theta 10000". Names are those
 * of the table `attention`. */
static void describe_layer(const struct attn_config *config, size_t layer, char words[WORDS_SIZE])
{
    const struct attn_attention *attention = &config->attention[layer];
    const bool has_factor = attention->factor < 1 || attention->factor > 1;
    const struct attn_layer_dims own = attn_config_layer_dims(config, layer);
    size_t used = 0;

    say("%s", attn_inspection_layer_kind(config, layer));
    if (!attn_config_has_attention(config, layer))
        return;
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
    if (attention->score_cap > 0)
        say(", score_cap %.15g", attention->score_cap);
    if (config->positions == ATTN_POSITIONS_ROTARY && config->rope[layer].d_rotary > 0) {
        const struct attn_rope *rope = &config->rope[layer];

        say(", rope_theta %.15g", rope->theta);
        if (rope->type != ATTN_ROPE_DEFAULT)
            say(", rope_type %s", attn_inspection_rope_type(rope));
        if (rope->type != ATTN_ROPE_DEFAULT && rope->factor > 0)
            say(", rope_factor %.15g", rope->factor);
        if (rope->attention_factor > 0 && rope->type != ATTN_ROPE_DEFAULT)
            say(", rope_attention_factor %.6g", rope->attention_factor);
        if (rope->n_original > 0)
            say(", rope_original %.15g", rope->n_original);
        if (rope->d_rotary < own.d_head)
            say(", d_rotary %zu", rope->d_rotary);
        if (rope->sections[0] > 0)
            say(", rope_sections %zu %zu %zu", rope->sections[0], rope->sections[1],
                rope->sections[2]);
        if (rope->turns_neighbours)
            say(", rope_pairs neighbours");
    }
    if (config->layer_dims)
        say(", d_head %zu, n_kv_head %zu", own.d_head, own.n_kv_head);
    if (config->layer_dims && own.kv_layer != layer)
        say(", keys and values of layer %zu", own.kv_layer);
    if (config->n_expert > 0 && !config->is_mlp && config->is_dense[layer])
        say(", no experts");
}

enum attn_status attn_layers_append(const struct attn_config *config, struct attn_table *table,
                                    struct attn_error *err)
{
    const size_t n = config->n_layer;

    for (size_t first = 0, last; first < n; first = last) {
        char label[64] = "attention", words[WORDS_SIZE], other[WORDS_SIZE];

        describe_layer(config, first, words);
        for (last = first + 1; last < n; last++) {
            describe_layer(config, last, other);
            if (strcmp(words, other) != 0)
                break;
        }
        if (config->stack.has_encoder)
            snprintf(label, sizeof label, first % 2 == 0 ? "attention %zu" : "cross %zu",
                     first / 2);
        else if (last - first < n && last == first + 1)
            snprintf(label, sizeof label, "attention %zu", first);
        else if (last - first < n)
            snprintf(label, sizeof label, "attention %zu-%zu", first, last - 1);
        ATTN_TRY(attn_table_append(
            table, (struct attn_cell[]){attn_cell_string(label), attn_cell_string(words)}, 2, err));
    }
    return ATTN_OK;
}

/* --- Fields ----------------------------------------------------------------------------------- */

/* Returns the config of a GPT-2 with the sizes of CONFIG. */
static struct attn_config gpt2_of(const struct attn_config *config)
{
    struct attn_config gpt2 = {.model_type = config->model_type,
                               .n_layer = config->n_layer,
                               .n_head = config->n_head,
                               .n_kv_head = config->n_head,
                               .d_model = config->d_model,
                               .d_out = config->d_model,
                               .d_embed = config->d_model,
                               .n_ctx = config->n_ctx,
                               .n_source = config->n_source,
                               .d_source = config->d_source,
                               .n_vocab = config->n_vocab,
                               .norm = ATTN_NORM_LAYERNORM,
                               .norm_eps = config->norm_eps,
                               .has_final_norm = true,
                               .positions = ATTN_POSITIONS_LEARNED,
                               .act_fn = "gelu_new",
                               .has_projections = true,
                               .has_qkv_bias = true,
                               .has_out_proj = true,
                               .has_out_bias = true,
                               .has_mlp_bias = true,
                               .has_residual = true,
                               .output = ATTN_OUTPUT_TIED,
                               .n_token = config->n_token};

    gpt2.d_head = config->n_head * config->d_head == config->d_model
                      ? config->d_head
                      : config->d_model / config->n_head;
    gpt2.d_value = config->d_head;
    gpt2.d_mlp = config->d_mlp > 0 ? config->d_mlp : 4 * config->d_model;
    if (attn_config_turns_nothing(config))
        gpt2.positions = config->positions;
    return gpt2;
}

/* Writes the value of a field as a config is shown. */
static void write_value(const struct attn_cell *cell, char words[WORDS_SIZE])
{
    if (cell->type == ATTN_VALUE_MISSING)
        snprintf(words, WORDS_SIZE, "none");
    else if (cell->type == ATTN_VALUE_BOOLEAN)
        snprintf(words, WORDS_SIZE, "%s", cell->integer != 0 ? "yes" : "no");
    else if (cell->type == ATTN_VALUE_INTEGER)
        snprintf(words, WORDS_SIZE, "%" PRId64, cell->integer);
    else if (cell->type == ATTN_VALUE_REAL)
        snprintf(words, WORDS_SIZE, "%.8g", (double)(float)cell->real);
    else
        snprintf(words, WORDS_SIZE, "%.*s", (int)cell->size, cell->text);
}

enum attn_status attn_differences_append(const struct attn_config *config, struct attn_table *table,
                                         struct attn_error *err)
{
    const struct attn_config gpt2 = gpt2_of(config);
    const bool has_image = config->image.patch_height > 0;

    for (const struct attn_config_field *field = attn_config_fields; field->name; field++) {
        char own[WORDS_SIZE], usual[WORDS_SIZE];
        struct attn_cell cell;

        if (field->type == ATTN_CONFIG_ID || field->type == ATTN_CONFIG_ENDS ||
            (field->is_of_image && !has_image) || (field->is_of_classes && has_image))
            continue;
        cell = attn_config_cell(&gpt2, field);
        write_value(&cell, usual);
        cell = attn_config_cell(config, field);
        write_value(&cell, own);
        if (strcmp(own, usual) != 0)
            ATTN_TRY(attn_table_append(
                table, (struct attn_cell[]){attn_cell_string(field->name), attn_cell_string(own)},
                2, err));
    }
    return ATTN_OK;
}
