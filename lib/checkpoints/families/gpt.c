/*
 * gpt.c - GPT-2, GPT-Neo and GPT-NeoX as Hugging Face writes them (configuration_gpt2.py,
 * modeling_gpt2.py, and the files of gpt_neo and gpt_neox). GPT-Neo has GPT-2's block with a window
 * in every second layer; GPT-NeoX, the family of Pythia, has another block.
 *
 * Traps in GPT-2's config, with its defaults and aliases: n_inner null means 4 * n_embd; old files
 * have n_ctx instead of n_positions; an lm_head.weight in the file takes precedence over
 * tie_word_embeddings; reorder_and_upcast_attn changes nothing in float32.
 *
 * Traps in GPT-2's names: the block's matrices are Conv1D, stored [in, out]. c_attn is q, k and v
 * side by side; in each, heads are contiguous. lm_head is an nn.Linear, stored [out, in], and
 * usually absent because it is tied to wte. Files saved from GPT2LMHeadModel prefix all names
 * except lm_head with "transformer.". attn.bias is a mask, not a bias.
 *
 * Traps in GPT-Neo: scores are not divided by sqrt(E); linear maps are nn.Linear, [out, in]; q, k
 * and v have no bias. `attention_types` gives the types of the layers as [[["global", "local"],
 * 12]]: each list of names with the number of its repetitions. Old files also have the expanded
 * list, `attention_layers`.
 */
#include "families/families_internal.h"

#include <math.h>
#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define EMBEDDINGS                                                                                 \
    EMBEDDING_OF("wte.weight"), TABLE("wpe.weight", "PD", ATTN_PART_POSITIONS, positions)
#define NORM_1 LAYER_NORM("h.#.ln_1", ATTN_PART_NORM, ln1)
#define NORM_2 LAYER_NORM("h.#.ln_2", ATTN_PART_MLP_NORM, ln2)
#define END FINAL_LAYER_NORM("ln_f"), SCORE, OUTPUT_OF("/lm_head.weight")

static const struct attn_weight_rule gpt2_rules[] = {
    EMBEDDINGS,
    NORM_1,
    FUSED("h.#.attn.c_attn.weight", "DA", ATTN_PART_PROJECTIONS, QKV_MATRIX),
    FUSED("h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, QKV_ROWS),
    CONV1D("h.#.attn.c_proj", "DD", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM_2,
    CONV1D("h.#.mlp.c_fc", "DF", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    CONV1D("h.#.mlp.c_proj", "FD", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    END,
    IGNORED("h.#.attn.bias"),
    IGNORED("h.#.attn.masked_bias"),
};

/* nanoGPT: GPT-2 whose maps are nn.Linear, and with or without all of its biases. */
static const struct attn_weight_rule nanogpt_rules[] = {
    EMBEDDINGS,
    VECTOR("h.#.ln_1.weight", "D", ATTN_PART_NORM, NORM_W(ln1)),
    VECTOR("h.#.ln_1.bias", "D", ATTN_PART_NORM_BIAS, NORM_B(ln1)),
    FUSED("h.#.attn.c_attn.weight", "AD", ATTN_PART_PROJECTIONS, QKV_ROWS),
    FUSED("h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, QKV_ROWS),
    OUT_MAP("h.#.attn.c_proj"),
    VECTOR("h.#.ln_2.weight", "D", ATTN_PART_MLP_NORM, NORM_W(ln2)),
    VECTOR("h.#.ln_2.bias", "D", ATTN_PART_MLP_NORM_BIAS, NORM_B(ln2)),
    PLAIN_MLP("h.#.mlp.", "c_fc", "c_proj"),
    VECTOR("ln_f.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    VECTOR("ln_f.bias", "D", ATTN_PART_FINAL_NORM_BIAS, MODEL(ln_final.b)),
    OUTPUT_OF("/lm_head.weight"),
    IGNORED("h.#.attn.bias"),
};

static const struct attn_weight_rule neo_rules[] = {
    EMBEDDINGS,
    NORM_1,
    THREE_MAPS("h.#.attn.attention.", "_proj"),
    OUT_MAP("h.#.attn.attention.out_proj"),
    NORM_2,
    PLAIN_MLP("h.#.mlp.", "c_fc", "c_proj"),
    END,
    IGNORED("h.#.attn.attention.bias"),
    IGNORED("h.#.attn.attention.masked_bias"),
};

/* --- GPT-2 ------------------------------------------------------------------------------------ */

#define BLOCK_OF_GPT2                                                                              \
    ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM, .positions = ATTN_POSITIONS_LEARNED,                  \
                .has_out_bias = true, .has_mlp_bias = true, .output = ATTN_OUTPUT_TIED
#define FORM_OF_GPT2                                                                               \
    .activation_key = "activation_function", .eps_key = "layer_norm_epsilon",                      \
    .has_no_heads_keys = true

static const struct attn_config_names gpt2_names = {"vocab_size", "n_embd", "n_inner",
                                                    "n_layer",    "n_head", "n_positions"};

static enum attn_status read_gpt2(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_scaled = true, is_by_layer = false;

    ATTN_TRY(attn_json_get_size(json, root, "n_ctx", 1, ATTN_MAX_CTX, &config->n_ctx, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_bool(json, root, "scale_attn_weights", &is_scaled, err));
    ATTN_TRY(attn_json_get_bool(json, root, "scale_attn_by_inverse_layer_idx", &is_by_layer, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->attention[layer].is_scaled = is_scaled;
        if (is_by_layer)
            layers->attention[layer].factor = 1.0 / (double)(layer + 1);
    }
    return ATTN_OK;
}

const struct attn_family attn_family_gpt2 = {
    FAMILY("gpt2", "GPT2", "transformer.", gpt2_rules), SCORES, .read_config = read_gpt2,
    .gguf = &(const struct attn_gguf_form){"gpt2", .part = "matrices",
                                           .difference =
                                               "[out, in], where Hugging Face's are [in, out]"},
    .form = {FORM_OF_GPT2, .names = &gpt2_names,
             .defaults = {BLOCK_OF_GPT2, .act_fn = "gelu_new", .has_qkv_bias = true,
                          SIZES(50257, 768, 0, 12, 12, 0, 0, 1024, 1e-5F)}}};

/* Its configs are made of a checkpoint's model_args (foreign/checkpoint.h). */
const struct attn_family attn_family_nanogpt = {
    FAMILY("nanogpt", "NanoGPT", "transformer.", nanogpt_rules),
    .form = {
        FORM_OF_GPT2, .names = &gpt2_names,
        ATTN_SWITCHES(ATTN_QKV_OUT_BIAS("bias"), ATTN_MLP_BIAS("bias"),
                      ATTN_CHOICE("bias", norm, ATTN_NORM_LAYERNORM_NO_BIAS, ATTN_NORM_LAYERNORM)),
        .defaults = {BLOCK_OF_GPT2, .act_fn = "gelu", .has_qkv_bias = true,
                     SIZES(50304, 768, 0, 12, 12, 0, 0, 1024, 1e-5F)}}};

/* --- GPT-Neo ---------------------------------------------------------------------------------- */

static const struct attn_config_names neo_names = {"vocab_size",        "hidden_size",
                                                   "intermediate_size", "num_layers",
                                                   "num_heads",         "max_position_embeddings"};

/* Appends the layer types that LIST names to those of the first *N layers. Returns false if LIST
 * contains anything else. */
static bool add_names(const struct attn_node *list, size_t n_layer, bool *are_local, size_t *n)
{
    if (!attn_node_is_array(list) || !attn_node_first(list))
        return false;
    for (const struct attn_node *node = attn_node_first(list); node;
         node = attn_node_next(node), (*n)++) {
        const char *name = attn_node_string(node);
        const bool is_local = name && strcmp(name, "local") == 0;

        if (!is_local && (!name || strcmp(name, "global") != 0))
            return false;
        if (*n < n_layer)
            are_local[*n] = is_local;
    }
    return true;
}

/* Appends the layer types of LIST, which is [[[name, ...], times], ...]. */
static bool add_items(const struct attn_node *list, size_t n_layer, bool *are_local, size_t *n)
{
    if (!attn_node_is_array(list))
        return false;
    for (const struct attn_node *item = attn_node_first(list); item; item = attn_node_next(item)) {
        const struct attn_node *names = attn_node_is_array(item) ? attn_node_first(item) : NULL;
        const struct attn_node *times = names ? attn_node_next(names) : NULL;
        int64_t left;

        if (!times || attn_node_next(times) || !attn_node_int(times, &left) || left < 1)
            return false;
        for (; left > 0 && *n <= n_layer; left--)
            if (!add_names(names, n_layer, are_local, n))
                return false;
    }
    return true;
}

static enum attn_status read_neo(ATTN_CONFIG_ARGS)
{
    static const char *const words[] = {"global", "local"};
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *items = attn_config_find_given(root, "attention_types");
    const bool has_names = attn_config_find_given(root, "attention_layers");
    bool are_local[ATTN_MAX_LAYER], are_named[ATTN_MAX_LAYER];
    size_t window = 256, n = 0;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_size(json, root, "window_size", 1, ATTN_MAX_CTX, &window, err));
    if (items && !add_items(items, config->n_layer, are_local, &n))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "attention_types",
                                "does not hold items such as [[\"global\", \"local\"], 12], of the "
                                "types 'global' and 'local' alone");
    /* Without a list, layers are global and local in turn; this default has 24 layers. */
    for (; !items && !has_names && n < 24 && n < config->n_layer; n++)
        are_local[n] = n % 2 == 1;
    if ((items || !has_names) && n != config->n_layer)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "attention_types",
                                "names the types of %s layers than num_layers %zu",
                                n < config->n_layer ? "fewer" : "more", config->n_layer);
    ATTN_TRY(
        attn_config_read_words(json, "attention_layers", words, config->n_layer, are_named, err));
    if (items && has_names && memcmp(are_local, are_named, n) != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "attention_layers",
                                "differs from 'attention_types'");
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->attention[layer].is_scaled = false;
        if (has_names ? are_named[layer] : are_local[layer])
            attn_config_set_window(&layers->attention[layer], window);
    }
    return ATTN_OK;
}

const struct attn_family attn_family_gpt_neo = {
    FAMILY("gpt_neo", "GPTNeoFor", "transformer.", neo_rules), .read_config = read_neo,
    .form = {FORM_OF_GPT2, .names = &neo_names,
             .defaults = {BLOCK_OF_GPT2, .act_fn = "gelu_new",
                          SIZES(50257, 2048, 0, 24, 16, 0, 0, 2048, 1e-5F)}}};

/* --- GPT-NeoX --------------------------------------------------------------------------------- */

/*
 * The block of GPT-NeoX, with use_parallel_residual (the default) and without:
 *
 *     post = pre + attention(norm1(pre)) + mlp(norm2(pre))
 *     mid = pre + attention(norm1(pre)),  post = mid + mlp(norm2(mid))
 *
 * Norms are LayerNorm; the first quarter of each head is rotated by its position. Traps: the rows
 * of query_key_value are grouped by head, and within a head by q, k and v; attention.bias is a
 * mask, but attention.dense.bias is a bias; older configs write rotary_pct and rotary_emb_base,
 * older files embed_out.
 */
static const struct attn_weight_rule neox_rules[] = {
    EMBEDDING_OF("embed_in.weight"),
    LAYER_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1),
    QKV_BY_HEADS("layers.#.attention.query_key_value"),
    OUT_MAP("layers.#.attention.dense"),
    LAYER_NORM("layers.#.post_attention_layernorm", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("layers.#.mlp.", "dense_h_to_4h", "dense_4h_to_h"),
    FINAL_LAYER_NORM("final_layer_norm"),
    OUTPUT_OF("/lm_head.weight|/embed_out.weight"),
    OUTPUT_BIAS_OF("/lm_head.bias|/embed_out.bias"),
    IGNORED("layers.#.attention.bias"),
    IGNORED("layers.#.attention.masked_bias"),
    IGNORED("layers.#.attention.rotary_emb.inv_freq"),
    IGNORED("rotary_emb.inv_freq"),
};

#define FORM_OF_NEOX                                                                               \
    .has_no_heads_keys = true, .is_divided = true, .activation_key = "hidden_act",                 \
    .eps_key = "layer_norm_eps", ATTN_SWITCHES(ATTN_PARALLEL, ATTN_ATTENTION_BIAS),                \
    .rope = {.theta = "rotary_emb_base",                                                           \
             .default_theta = 10000,                                                               \
             .partial = "rotary_pct",                                                              \
             .default_partial = 0.25}
#define BLOCK_OF_NEOX                                                                              \
    ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM, .has_parallel_residual = true, .has_qkv_bias = true,  \
                .has_out_bias = true, .has_mlp_bias = true, .act_fn = "gelu",                      \
                .output = ATTN_OUTPUT_OWN

const struct attn_family attn_family_gpt_neox = {
    FAMILY("gpt_neox", NULL, "gpt_neox.", neox_rules),
    .gguf = &(const struct attn_gguf_form){"gptneox", QKV_APART},
    .form = {FORM_OF_NEOX,
             .defaults = {BLOCK_OF_NEOX, SIZES(50432, 6144, 24576, 44, 64, 0, 0, 2048, 1e-5F)}}};

/* --- GPT-J and CodeGen ------------------------------------------------------------------------ */

/*
 * The block of GPT-J and CodeGen:
 *
 *     n = ln(pre)
 *     post = (attention(n) + mlp(n)) + pre
 *
 * In each head, the first rotary_dim components are rotated, in neighbouring pairs. Trap: CodeGen
 * stores q, v and k, in this order, in four parts, each for a quarter of the heads.
 */
#define IGNORED_MASKS                                                                              \
    IGNORED("h.#.attn.bias"), IGNORED("h.#.attn.masked_bias"), IGNORED("h.#.attn.causal_mask")
#define REST_OF_J                                                                                  \
    OUT_MAP("h.#.attn.out_proj"), PLAIN_MLP("h.#.mlp.", "fc_in", "fc_out"), END,                   \
        OUTPUT_BIAS_OF("/lm_head.bias"), IGNORED_MASKS

#define WORDS EMBEDDING_OF("wte.weight"), NORM_1

static const struct attn_weight_rule gptj_rules[] = {WORDS, THREE_MAPS("h.#.attn.", "_proj"),
                                                     REST_OF_J};
static const struct attn_weight_rule codegen_rules[] = {
    WORDS, FUSED("h.#.attn.qkv_proj.weight", "AD", ATTN_PART_PROJECTIONS, QVK_QUARTERS), REST_OF_J};

static enum attn_status read_codegen(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    return attn_config_check_divides(json, "4, the number of parts of qkv_proj,", 4, "n_head",
                                     config->n_head, err);
}

#define FORM_OF_J                                                                                  \
    FORM_OF_GPT2, .names = &gpt2_names, .turns_neighbours = true,                                  \
                  .rope = {.default_theta = 10000, .count = "rotary_dim", .default_count = 64}
#define BLOCK_OF_J                                                                                 \
    ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM, .has_single_norm = true,                              \
                .has_parallel_residual = true, .has_mlp_bias = true, .act_fn = "gelu_new",         \
                .output = ATTN_OUTPUT_OWN, .has_output_bias = true,                                \
                SIZES(50400, 4096, 0, 28, 16, 0, 0, 2048, 1e-5F)

const struct attn_family attn_family_gptj = {FAMILY("gptj", "GPTJ", "transformer.", gptj_rules),
                                             .form = {FORM_OF_J, .defaults = {BLOCK_OF_J}}};
const struct attn_family attn_family_codegen = {
    FAMILY("codegen", "CodeGen", "transformer.", codegen_rules), .read_config = read_codegen,
    .form = {FORM_OF_J, .defaults = {BLOCK_OF_J}}};

/* --- GPTBigCode ------------------------------------------------------------------------------- */

/* StarCoder 1 and SantaCoder (configuration_gpt_bigcode.py): GPT-2, but heads share one key and
 * value, and maps are nn.Linear. With multi_query false, q, k and v are grouped by head. */
static const struct attn_weight_rule bigcode_rules[] = {
    EMBEDDINGS,
    NORM_1,
    QKV_BY_HEADS("h.#.attn.c_attn"),
    OUT_MAP("h.#.attn.c_proj"),
    NORM_2,
    PLAIN_MLP("h.#.mlp.", "c_fc", "c_proj"),
    END,
    IGNORED_MASKS,
};

static enum attn_status read_bigcode(ATTN_CONFIG_ARGS)
{
    bool is_multi_query = true;

    ATTN_TRY(read_gpt2(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "multi_query", &is_multi_query, err));
    config->n_kv_head = is_multi_query ? 1 : config->n_head;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].factor = 1; /* GPT-2 alone has the layer factor */
    return ATTN_OK;
}

const struct attn_family attn_family_gpt_bigcode = {
    FAMILY("gpt_bigcode", "GPTBigCode", "transformer.", bigcode_rules), .read_config = read_bigcode,
    .gguf = &(const struct attn_gguf_form){.architecture = "starcoder"},
    .form = {FORM_OF_GPT2, .names = &gpt2_names,
             .defaults = {BLOCK_OF_GPT2, .has_qkv_bias = true, .act_fn = "gelu_pytorch_tanh",
                          SIZES(50257, 768, 0, 12, 12, 0, 0, 1024, 1e-5F)}}};

/* --- OPT -------------------------------------------------------------------------------------- */

/*
 * OPT and Galactica (configuration_opt.py, modeling_opt.py): GPT-2's block. Position p is row p + 2
 * of the table. In the model of 350M the norms are applied after the sums, and two maps surround
 * the blocks:
 *
 *     pre = project_in(embed[id]) + W_pos[p + 2]
 *     mid = ln1(pre + attention(pre)),  post = ln2(mid + mlp(mid))
 *     logits = project_out(post) W_U
 *
 * Trap: the norm of a layer's MLP and the norm after the layers are both called final_layer_norm.
 */
static const struct attn_weight_rule opt_rules[] = {
    TABLE("embed_tokens.weight", "VB", ATTN_PART_EMBEDDING, embed),
    TABLE("embed_positions.weight", "PD", ATTN_PART_POSITIONS, positions),
    MATRIX("project_in.weight", "DB", ATTN_PART_EMBED_MAP, embed_map),
    LAYER_NORM("layers.#.self_attn_layer_norm", ATTN_PART_NORM, ln1),
    LAYER_NORM("layers.#.self_attn_layer_norm", ATTN_PART_MID_NORM, mid_norm),
    THREE_MAPS("layers.#.self_attn.", "_proj"),
    OUT_MAP("layers.#.self_attn.out_proj"),
    LAYER_NORM("layers.#.final_layer_norm", ATTN_PART_MLP_NORM, ln2),
    LAYER_NORM("layers.#.final_layer_norm", ATTN_PART_END_NORM, end_norm),
    PLAIN_MLP("layers.#.", "fc1", "fc2"),
    FINAL_LAYER_NORM("final_layer_norm"),
    MATRIX("project_out.weight", "BD", ATTN_PART_OUTPUT_MAP, head),
    MATRIX("/lm_head.weight", "VB", ATTN_PART_OUTPUT_FOUND, unembed),
};

static const struct attn_config_names opt_names = {
    "vocab_size",        "hidden_size",         "ffn_dim",
    "num_hidden_layers", "num_attention_heads", "max_position_embeddings"};

static enum attn_status read_opt(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    bool lacks_final_norm = false;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_embed == 0)
        config->d_embed = config->d_model;
    ATTN_TRY(attn_json_get_bool(json, root, "_remove_final_layer_norm", &lacks_final_norm, err));
    config->has_final_norm = config->norm_place == ATTN_NORM_PRE && !lacks_final_norm;
    config->has_embed_map = config->has_output_map = config->d_embed != config->d_model;
    return ATTN_OK;
}

#define NORM_KEYS                                                                                  \
    ATTN_CHOICE("do_layer_norm_before", norm_place, ATTN_NORM_SUM, ATTN_NORM_PRE),                 \
        ATTN_CHOICE("layer_norm_elementwise_affine", norm, ATTN_NORM_LAYERNORM_NO_WEIGHT,          \
                    ATTN_NORM_LAYERNORM)

const struct attn_family attn_family_opt = {
    FAMILY("opt", "OPT", "model.decoder.", opt_rules), .read_config = read_opt,
    .form = {.activation_key = "activation_function",
             .has_no_heads_keys = true,
             .names = &opt_names,
             ATTN_SWITCHES(ATTN_QKV_OUT_BIAS("enable_bias"), ATTN_MLP_BIAS("enable_bias"),
                           NORM_KEYS, ATTN_WIDTH("word_embed_proj_dim", d_embed)),
             .defaults = {BLOCK_OF_GPT2, .has_qkv_bias = true, .act_fn = "relu",
                          .first_position = 2,
                          SIZES(50272, 768, 3072, 12, 12, 0, 0, 2048, 1e-5F)}}};

/* --- XGLM ------------------------------------------------------------------------------------- */

/*
 * XGLM (configuration_xglm.py, modeling_xglm.py): OPT's block, but positions are the sines of
 * M2M100, which have no limit; position p is row p + 2. Trap: row pad_token_id is 0.
 *
 *     x = embed[id] * sqrt(D) + sines[p + 2]
 */
static const struct attn_weight_rule xglm_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    LAYER_NORM("layers.#.self_attn_layer_norm", ATTN_PART_NORM, ln1),
    THREE_MAPS("layers.#.self_attn.", "_proj"),
    OUT_MAP("layers.#.self_attn.out_proj"),
    LAYER_NORM("layers.#.final_layer_norm", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("layers.#.", "fc1", "fc2"),
    FINAL_LAYER_NORM("layer_norm"),
    OUTPUT_OF("/lm_head.weight"),
    IGNORED("embed_positions.weights"),
};

static const struct attn_config_names xglm_names = {"vocab_size", "d_model",         "ffn_dim",
                                                    "num_layers", "attention_heads", NULL};

static enum attn_status read_xglm(ATTN_CONFIG_ARGS)
{
    bool is_scaled = true;

    config->stack.zero_position = 1;
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "scale_embedding", &is_scaled, err));
    if (is_scaled)
        config->embed_scale = sqrt((double)config->d_model);
    return attn_json_get_size(json, attn_json_root(json), "pad_token_id", 0, config->n_vocab - 1,
                              &config->stack.zero_position, err);
}

const struct attn_family attn_family_xglm = {
    FAMILY("xglm", "XGLM", "model.", xglm_rules), .read_config = read_xglm,
    .form = {.activation_key = "activation_function",
             .has_no_heads_keys = true,
             .names = &xglm_names,
             .defaults = {BLOCK_OF_GPT2, .has_qkv_bias = true, .act_fn = "gelu",
                          .first_position = 2, .stack.counts_padding = true,
                          .stack.makes_positions = ATTN_SINES_M2M100,
                          SIZES(256008, 1024, 4096, 24, 16, 0, 0, SIZE_MAX, 1e-5F)}}};
