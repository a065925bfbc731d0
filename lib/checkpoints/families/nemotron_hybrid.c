/*
 * nemotron_hybrid.c - Nemotron-H and Nemotron Nano 2 (configuration_nemotron_h.py,
 * modeling_nemotron_h.py of transformers 5.23): each block has one part, which is attention without
 * positions, Mamba2 (forward/mixer.c), a plain MLP, or a mixture of such MLPs, as in Nemotron 3
 * Nano 30B-A3B:
 *
 *     resid_post = resid_pre + part(rms(resid_pre))
 *
 * Traps: the list of kinds counts, not `num_hidden_layers`. Time steps are clipped from
 * `time_step_min` on. The convolution has an activation of its own. Old files name the model
 * `backbone`. There is one shared expert, whatever `n_shared_experts` says.
 */
#include "families/mamba_internal.h"

#include <math.h>
#include <string.h>

#define BOTH(name) name "|/backbone." name
#define PART(name) BOTH("layers.#.mixer." name)
#define PART_MAP(name, shape, part, map)                                                           \
    TENSOR(PART(name ".weight"), shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map))
#define PART_BIAS(name, shape, part, map) VECTOR(PART(name ".bias"), shape, part, BIAS_OF(map))
#define PART_VECTOR(name, shape, part, place) VECTOR(PART(name), shape, part, BLOCK(mixer.place))

static const struct attn_weight_rule rules[] = {
    TABLE("embeddings.weight|embed_tokens.weight|/backbone.embeddings.weight", "VD",
          ATTN_PART_EMBEDDING, embed),
    VECTOR(BOTH("layers.#.norm.weight"), "D", ATTN_PART_NORM, NORM_W(ln1)),
    PART_MAP("q_proj", "QD", ATTN_PART_PROJECTIONS, q),
    PART_MAP("k_proj", "KD", ATTN_PART_PROJECTIONS, k),
    PART_MAP("v_proj", "WD", ATTN_PART_PROJECTIONS, v),
    PART_MAP("o_proj", "DZ", ATTN_PART_OUT_PROJ, out),
    FUSED(PART("in_proj.weight"), "iD", ATTN_PART_MIXER, MAMBA_ROWS),
    FUSED(PART("in_proj.bias"), "i", ATTN_PART_MIXER_BIAS, MAMBA_ROWS),
    PART_VECTOR("conv1d.weight", "a1d", ATTN_PART_MIXER, conv),
    PART_VECTOR("conv1d.bias", "a", ATTN_PART_MIXER_CONV_BIAS, conv_bias),
    PART_VECTOR("A_log", "g", ATTN_PART_MIXER, decay),
    PART_VECTOR("dt_bias", "g", ATTN_PART_MIXER, dt_bias),
    PART_VECTOR("D", "g", ATTN_PART_MIXER, skip),
    PART_VECTOR("norm.weight", "l", ATTN_PART_MIXER_NORM, norm),
    PART_MAP("out_proj", "Dl", ATTN_PART_MIXER_OUT, out),
    PART_BIAS("out_proj", "D", ATTN_PART_MIXER_BIAS, out),
    PART_MAP("up_proj", "FD", ATTN_PART_MLP, mlp_in),
    PART_BIAS("up_proj", "F", ATTN_PART_MLP_BIAS, mlp_in),
    PART_MAP("down_proj", "DF", ATTN_PART_MLP, mlp_out),
    PART_BIAS("down_proj", "D", ATTN_PART_MLP_BIAS, mlp_out),
    PART_MAP("gate", "nD", ATTN_PART_ROUTER, router),
    VECTOR(PART("gate.e_score_correction_bias"), "n", ATTN_PART_ROUTER_CORRECTION,
           BLOCK(router_correction)),
    PART_MAP("fc1_latent_proj", "&D", ATTN_PART_LATENT, latent_in),
    PART_BIAS("fc1_latent_proj", "&", ATTN_PART_LATENT_BIAS, latent_in),
    PART_MAP("fc2_latent_proj", "D&", ATTN_PART_LATENT, latent_out),
    PART_BIAS("fc2_latent_proj", "D", ATTN_PART_LATENT_BIAS, latent_out),
    TENSOR(PART("experts.up_proj"), "nf&", ATTN_PART_EXPERTS_FOUND, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_in)),
    TENSOR(PART("experts.down_proj"), "n&f", ATTN_PART_EXPERTS_FOUND, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_out)),
    PART_MAP("experts.@.up_proj", "f&", ATTN_PART_EXPERTS, mlp_in),
    PART_MAP("experts.@.down_proj", "&f", ATTN_PART_EXPERTS, mlp_out),
    PART_MAP("shared_experts.up_proj", "sD", ATTN_PART_SHARED_EXPERT, shared.in),
    PART_BIAS("shared_experts.up_proj", "s", ATTN_PART_SHARED_BIAS, shared.in),
    PART_MAP("shared_experts.down_proj", "Ds", ATTN_PART_SHARED_EXPERT, shared.out),
    PART_BIAS("shared_experts.down_proj", "D", ATTN_PART_SHARED_BIAS, shared.out),
    VECTOR(BOTH("norm_f.weight"), "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    END};

enum kind { ATTENTION_LAYER, MAMBA_LAYER, MLP_LAYER, EXPERTS_LAYER };

/* Refuses what a block has as its part. */
static enum attn_status refuse_kind(const struct attn_json *json, size_t layer, const char *kind,
                                    struct attn_error *err)
{
    return attn_error_set(
        err, ATTN_UNSUPPORTED,
        "layer %zu of '%s' is of kind '%s', this version reads attention, Mamba2, "
        "MLPs and experts",
        layer, attn_config_quote(json).text, attn_quote_string(kind).text);
}

/* Returns the kind that WORD names, in any spelling, or -1. */
static int kind_of(const char *word)
{
    static const char *const words[] = {[ATTENTION_LAYER] = "full_attention attention *",
                                        [MAMBA_LAYER] = "linear_attention mamba M",
                                        [MLP_LAYER] = "mlp -",
                                        [EXPERTS_LAYER] = "moe E"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (attn_text_has_word(words[i], word, strlen(word)))
            return (int)i;
    return -1;
}

/* Reads the kinds of all layers into KINDS, and their number. */
static enum attn_status read_kinds(const struct attn_json *json, int kinds[ATTN_MAX_LAYER],
                                   size_t *n_layer, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *list = attn_config_find_given(root, "layer_types"); /* the alias wins */
    const char *pattern = "ME*-"; /* of a config without any */
    size_t n = 0;

    list = list ? list : attn_config_find_given(root, "layers_block_type");
    ATTN_TRY(attn_json_get_string(json, root, "hybrid_override_pattern", &pattern, err));
    if (list && !attn_node_is_array(list))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "layer_types", "is not a list of types");
    for (const struct attn_node *node = list ? attn_node_first(list) : NULL;
         list ? node != NULL : pattern[n] != '\0'; n++) {
        const char letter[2] = {list ? '\0' : pattern[n], '\0'};
        const char *word = list ? attn_node_string(node) : letter;

        if (n == ATTN_MAX_LAYER)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "layer_types", "has too many items");
        kinds[n] = word ? kind_of(word) : -1;
        if (kinds[n] < 0)
            return refuse_kind(json, n, word ? word : "", err);
        node = list ? attn_node_next(node) : NULL;
    }
    *n_layer = n;
    return n > 0 ? ATTN_OK
                 : ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "layer_types", "names no layer");
}

/* Reads the sizes and the parts of the layers of Mamba2. */
static enum attn_status read_mamba(const struct attn_json *json, struct attn_config *config,
                                   struct attn_mixer_dims *mixer, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *activation = "silu";
    const struct {
        const char *key, *old;
        size_t *size;
    } sizes[] = {{"mamba_num_heads", NULL, &mixer->n_head},
                 {"mamba_head_dim", NULL, &mixer->d_value},
                 {"n_groups", "mamba_n_groups", &mixer->n_key_head},
                 {"ssm_state_size", NULL, &mixer->d_key},
                 {"conv_kernel", "mamba_d_conv", &mixer->n_tap}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *key =
            sizes[i].old && attn_node_find(root, sizes[i].old) ? sizes[i].old : sizes[i].key;

        ATTN_TRY(attn_json_get_size(json, root, key, 1, ATTN_MAX_LAYER, sizes[i].size, err));
    }
    ATTN_TRY(attn_config_check_divides(json, "n_groups", mixer->n_key_head, "mamba_num_heads",
                                       mixer->n_head, err));
    config->step_least = 0.001;
    config->step_most = (double)INFINITY;
    ATTN_TRY(attn_json_get_double(
        json, root, attn_node_find(root, "mamba_dt_min") ? "mamba_dt_min" : "time_step_min", 0,
        1e30, &config->step_least, err));
    ATTN_TRY(attn_json_get_string(json, root, "mamba_hidden_act", &activation, err));
    config->gates_first = true;
    return attn_config_set_activation(json, &config->mixer_act_fn, "mamba_hidden_act", activation,
                                      err);
}

/* Checks what the router is to choose of. */
static enum attn_status check_router(const struct attn_json *json, const struct attn_config *config,
                                     struct attn_error *err)
{
    const struct attn_router_config *router = &config->router;
    const size_t n = config->n_expert;

    ATTN_TRY(
        attn_config_check_divides(json, "n_group", router->n_group, "n_routed_experts", n, err));
    if (router->n_group > 1 && n / router->n_group < 2)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "n_group",
                                "is %zu, expected groups of two experts and more of %zu",
                                router->n_group, n);
    if (router->n_group_used > router->n_group)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "topk_group", "is %zu of %zu groups",
                                router->n_group_used, router->n_group);
    if (config->n_expert_used <= n / router->n_group * router->n_group_used)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "num_experts_per_tok",
                            "is %zu of %zu experts in the chosen groups", config->n_expert_used,
                            n / router->n_group * router->n_group_used);
}

/* Reads the sizes of the layers with experts, and how they are chosen. */
static enum attn_status read_experts(const struct attn_json *json, struct attn_config *config,
                                     struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_router_config *router = &config->router;

    *router = (struct attn_router_config){1, 1, 1, true};
    config->expert_weights = ATTN_EXPERTS_SIGMOID;
    config->has_plain_experts = true;
    config->n_expert = 8;
    config->n_expert_used = 2;
    config->d_expert = config->d_shared_expert = 7688;
    ATTN_TRY(attn_json_get_size(json, root, "n_routed_experts", 1, ATTN_MAX_LAYER,
                                &config->n_expert, err));
    ATTN_TRY(attn_json_get_size(json, root, "num_experts_per_tok", 1, ATTN_MAX_LAYER,
                                &config->n_expert_used, err));
    ATTN_TRY(attn_config_get_width(json, "moe_intermediate_size", &config->d_expert, err));
    ATTN_TRY(attn_config_get_width(json, "moe_shared_expert_intermediate_size",
                                   &config->d_shared_expert, err));
    ATTN_TRY(attn_json_get_size(json, root, "moe_latent_size", 1, ATTN_MAX_WIDTH, &config->d_latent,
                                err));
    ATTN_TRY(attn_json_get_size(json, root, "n_group", 1, ATTN_MAX_LAYER, &router->n_group, err));
    ATTN_TRY(attn_json_get_size(json, root, "topk_group", 1, ATTN_MAX_LAYER, &router->n_group_used,
                                err));
    ATTN_TRY(attn_json_get_bool(json, root, "norm_topk_prob", &router->is_normalized, err));
    ATTN_TRY(
        attn_json_get_double(json, root, "routed_scaling_factor", 0, 1e30, &router->factor, err));
    return check_router(json, config, err);
}

static enum attn_status read_nemotron_h(ATTN_CONFIG_ARGS)
{
    struct attn_mixer_dims mixer = {.kind = ATTN_MIXER_MAMBA2,
                                    .n_head = 128,
                                    .n_key_head = 8,
                                    .d_key = 128,
                                    .d_value = 64,
                                    .n_tap = 4};
    int kinds[ATTN_MAX_LAYER] = {0};
    bool is_mamba[ATTN_MAX_LAYER] = {false}, is_mlp[ATTN_MAX_LAYER] = {false};
    bool has_experts[ATTN_MAX_LAYER] = {false}, has_any = false;

    ATTN_TRY(read_kinds(json, kinds, &config->n_layer, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(read_mamba(json, config, &mixer, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        is_mamba[layer] = kinds[layer] == MAMBA_LAYER;
        has_experts[layer] = kinds[layer] == EXPERTS_LAYER;
        is_mlp[layer] = kinds[layer] == MLP_LAYER || has_experts[layer];
        has_any = has_any || has_experts[layer];
    }
    if (has_any)
        ATTN_TRY(read_experts(json, config, err));
    ATTN_TRY(attn_config_set_mixers(config, layers, &mixer, is_mamba, err));
    ATTN_TRY(attn_config_set_single_parts(config, layers, is_mlp, err));
    for (size_t layer = 0; layer < config->n_layer && has_any; layer++)
        layers->is_dense[layer] = !has_experts[layer];
    if (has_any)
        attn_config_lack_mixtures(config, layers);
    return ATTN_OK;
}

static const struct attn_config_names names = {"vocab_size",          "hidden_size",
                                               "intermediate_size",   NULL,
                                               "num_attention_heads", "max_position_embeddings"};

const struct attn_family attn_family_nemotron_h = {
    FAMILY("nemotron_h", "NemotronHFor", "model.", rules), .read_config = read_nemotron_h,
    .gguf = &(const struct attn_gguf_form){"nemotron_h", HALVES_ALTERNATE, .has_lists = true,
                                           .mixer = {"conv_kernel", "ssm_state_size", "n_groups",
                                                     "mamba_num_heads", "mamba_head_dim",
                                                     .word = "mamba"}},
    .form = {.names = &names,
             .activation_key = "mlp_hidden_act",
             .eps_key = "layer_norm_epsilon",
             ATTN_SWITCHES(ATTN_MLP_BIAS("mlp_bias"), ATTN_FLAG("use_bias", has_mixer_bias),
                           ATTN_FLAG("use_conv_bias", has_mixer_conv_bias),
                           ATTN_FLAG("mamba_conv_bias", has_mixer_conv_bias)), /* the old wins */
             .defaults = {ATTN_BLOCK, .has_single_norm = true, .act_fn = "relu2",
                          .norm = ATTN_NORM_RMSNORM, .output = ATTN_OUTPUT_OWN,
                          .has_mixer_conv_bias = true,
                          SIZES(131072, 4096, 21504, 4, 32, 8, 128, 4096, 1e-5F)}}};
