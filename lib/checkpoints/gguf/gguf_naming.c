/*
 * gguf_naming.c - the tensors of GGUF files, whose names are the same for all families
 * (gguf-py/gguf/tensor_mapping.py). A tensor may be missing if the config lacks its part, too.
 *
 * Traps: llama.cpp rotates neighbouring components of a head, Hugging Face rotates halves; so
 * llama.cpp's converter interleaves the rows of q and k for `llama` and a few related families
 * (struct attn_gguf_form). The 1 of Gemma's norms has been added to their weights. q, k and v may
 * be one tensor, with all rows of q first. One tensor may contain the gate and then ffn_up.
 *
 * Of towers for pictures nothing is transposed; the patch map of Qwen is cut into its frames, and
 * the norm of Gemma's connector has the 1 in it. In files of LLaVA ffn_up may be the second map of
 * the MLP, and ffn_down the first.
 */
#include "families/families_internal.h"

#include "gguf/gguf_config.h"
#include "gguf/gguf_naming.h"

#include <stdio.h>
#include <string.h>

#define NORM(name, part, norm)                                                                     \
    VECTOR("blk.#." name ".weight", "D", part, NORM_W(norm)),                                      \
        VECTOR("blk.#." name ".bias", "D", part##_BIAS, NORM_B(norm))
#define EXPERTS(name, shape, n_bias, map)                                                          \
    {"blk.#." name ".weight", "n" shape, ATTN_PART_EXPERTS, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map)},   \
        VECTOR("blk.#." name ".bias", "n" n_bias, ATTN_PART_EXPERT_BIASES, BIAS_OF(map))
#define LAYER_MAP(name, shape, part, map)                                                          \
    TENSOR("blk.#." name ".weight", shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map))
#define SHARED(name, shape, map) LAYER_MAP(name, shape, ATTN_PART_SHARED_EXPERT, map)

/* The maps of q, k and v, which may be one; in Qwen 3.5, q with its gates; and in Gemma 4, where
 * layers may lack their own k and v. Norms of q and k follow. */
#define QK_NORMS(part)                                                                             \
    VECTOR("blk.#.attn_q_norm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),                    \
        VECTOR("blk.#.attn_k_norm.weight", "z", part, NORM_W(k_norm))
#define QKV_OF_GGUF                                                                                \
    {"blk.#.attn_qkv.weight", "AD", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_ROWS, 0},               \
        {"blk.#.attn_qkv.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_ROWS, 0},                 \
        THREE_MAPS("blk.#.attn_", ""), QK_NORMS(ATTN_PART_QK_NORM)
#define GATED_QKV_OF_GGUF                                                                          \
    FUSED("blk.#.attn_q.weight", "rD", ATTN_PART_PROJECTIONS, QUERY_GATE_HEADS),                   \
        FUSED("blk.#.attn_q.bias", "r", ATTN_PART_QKV_BIAS, QUERY_GATE_HEADS),                     \
        LINEAR("blk.#.attn_k", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),           \
        LINEAR("blk.#.attn_v", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),           \
        QK_NORMS(ATTN_PART_QK_NORM)
#define OWN_QKV_OF_GGUF                                                                            \
    LINEAR("blk.#.attn_q", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),               \
        LINEAR("blk.#.attn_k", "KD", ATTN_PART_KEYS, "K", ATTN_PART_KEY_BIAS, k),                  \
        LINEAR("blk.#.attn_v", "WD", ATTN_PART_VALUES, "W", ATTN_PART_VALUE_BIAS, v),              \
        QK_NORMS(ATTN_PART_KEY_NORM)

/* The table. Its parameters are the names of the norms before attention, before the MLP, and after
 * attention. */
#define RULES(norm, mlp_norm, post_norm)                                                           \
    RULES_OF(QKV_OF_GGUF, norm, mlp_norm, post_norm, "output_norm"), EXPERTS_APART
#define EXPERTS_APART                                                                              \
    EXPERTS("ffn_gate_exps", "fD", "f", mlp_gate), EXPERTS("ffn_up_exps", "fD", "f", mlp_in),      \
        TENSOR("blk.#.ffn_gate_inp_shexp.weight", "1D", ATTN_PART_SHARED_GATE, ATTN_WEIGHT_OUT_IN, \
               WEIGHT_OF(shared_router)),                                                          \
        SHARED("ffn_gate_shexp", "sD", shared.gate), SHARED("ffn_up_shexp", "sD", shared.in),      \
        SHARED("ffn_down_shexp", "Ds", shared.out)
#define RULES_OF(qkv, norm, mlp_norm, post_norm, final_norm)                                       \
    EMBEDDING_OF("token_embd.weight"),                                                             \
        TABLE("position_embd.weight", "PD", ATTN_PART_POSITIONS, positions),                       \
        MODEL_NORM("token_embd_norm", ATTN_PART_ROW_NORM, ln_row),                                 \
        NORM(norm, ATTN_PART_NORM, ln1), qkv,                                                      \
        VECTOR("blk.#.attn_sinks.weight", "H", ATTN_PART_SINKS, BLOCK(sinks)),                     \
        OUT_MAP("blk.#.attn_output"), NORM(post_norm, ATTN_PART_POST_NORM, ln1_post),              \
        VECTOR("blk.#." mlp_norm ".weight|blk.#." mlp_norm /* in Falcon-H1 */, "D",                \
               ATTN_PART_MLP_NORM, NORM_W(ln2)),                                                   \
        VECTOR("blk.#." mlp_norm ".bias", "D", ATTN_PART_MLP_NORM_BIAS, NORM_B(ln2)),              \
        LINEAR("blk.#.ffn_gate_inp", "nD", ATTN_PART_ROUTER, "n", ATTN_PART_EXPERT_BIAS, router),  \
        EXPERTS("ffn_down_exps", "Df", "D", mlp_out),                                              \
        LINEAR("blk.#.ffn_gate", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,           \
               mlp_gate),                                                                          \
        PLAIN_MLP("blk.#.ffn_", "up", "down"),                                                     \
        {"blk.#.ffn_up.weight", "JD", ATTN_PART_MLP_GATE, ATTN_WEIGHT_GATED_ROWS, 0},              \
        NORM("post_ffw_norm", ATTN_PART_MLP_POST_NORM, ln2_post),                                  \
        VECTOR(final_norm ".weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),                \
        VECTOR(final_norm ".bias", "D", ATTN_PART_FINAL_NORM_BIAS, MODEL(ln_final.b)),             \
        OUTPUT_OF("output.weight"), OUTPUT_BIAS_OF("output.bias"), IGNORED("blk.#.attn_rot_embd"), \
        IGNORED(ATTN_ROPE_FREQS), IGNORED(ATTN_ROPE_SHORT), IGNORED(ATTN_ROPE_LONG)

static const struct attn_weight_rule usual[] = {
    RULES("attn_norm", "ffn_norm", "post_attention_norm")};
static const struct attn_weight_rule falcon[] = {
    RULES("attn_norm_2", "attn_norm", "post_attention_norm")};
static const struct attn_weight_rule gpt_oss[] = {/* and Seed-OSS */
                                                  RULES("attn_norm", "post_attention_norm",
                                                        "ffn_norm")};

/* Gemma 4 with experts: the MLP is the one that every token uses. */
#define EXPERT_VECTOR(name, shape, place)                                                          \
    VECTOR("blk.#." name, shape, ATTN_PART_EXPERT_NORMS, place)
static const struct attn_weight_rule gemma4[] = {
    RULES_OF(OWN_QKV_OF_GGUF, "attn_norm", "ffn_norm", "post_attention_norm", "output_norm"),
    FUSED("blk.#.ffn_gate_up_exps.weight", "njD", ATTN_PART_EXPERTS, GATED_ROWS),
    SHARED("ffn_gate", "sD", shared.gate),
    SHARED("ffn_up", "sD", shared.in),
    SHARED("ffn_down", "Ds", shared.out),
    EXPERT_VECTOR("ffn_gate_inp.scale", "D", NORM_W(router_norm)),
    EXPERT_VECTOR("ffn_down_exps.scale", "n", BLOCK(expert_scale)),
    EXPERT_VECTOR("pre_ffw_norm_2.weight", "D", NORM_W(experts_norm)),
    EXPERT_VECTOR("post_ffw_norm_1.weight", "D", NORM_W(shared_post)),
    EXPERT_VECTOR("post_ffw_norm_2.weight", "D", NORM_W(experts_post)),
    TABLE("per_layer_token_embd.weight", "%!", ATTN_PART_LAYER_INPUT, layer_inputs),
    MATRIX("per_layer_model_proj.weight", "!D", ATTN_PART_LAYER_INPUT, layer_map),
    VECTOR("per_layer_proj_norm.weight", "x", ATTN_PART_LAYER_INPUT, MODEL(ln_layer_input.w)),
    LAYER_MAP("inp_gate", "xD", ATTN_PART_LAYER_INPUT, layer_gate),
    LAYER_MAP("proj", "Dx", ATTN_PART_LAYER_INPUT, layer_out),
    VECTOR("blk.#.post_norm.weight", "D", ATTN_PART_LAYER_INPUT, NORM_W(layer_norm)),
    VECTOR("blk.#.layer_output_scale.weight", "1", ATTN_PART_LAYER_SCALAR, BLOCK(scalar))};

/* --- layers without attention ----------------------------------------------------------------- */

#define MIXER_VECTOR(name, shape, part, place)                                                     \
    VECTOR("blk.#." name, shape, ATTN_PART_##part, BLOCK(mixer.place))

/* The tensors of a short convolution, of Gated DeltaNet in Qwen 3.5 and in Qwen3-Next, whose maps
 * of beta and the decay are one, and of Mamba2. */
static const struct attn_weight_rule conv[] = {
    RULES_OF(QKV_OF_GGUF, "attn_norm", "ffn_norm", "post_attention_norm", "token_embd_norm"),
    LAYER_MAP("shortconv.in_proj", "qD", ATTN_PART_MIXER, mixer_in),
    MIXER_VECTOR("shortconv.conv.weight", "ad", MIXER, conv),
    LAYER_MAP("shortconv.out_proj", "Dl", ATTN_PART_MIXER_OUT, out)};

#define DELTA_OF_GGUF                                                                              \
    RULES_OF(GATED_QKV_OF_GGUF, "attn_norm", "post_attention_norm", "ffn_norm", "output_norm"),    \
        EXPERTS_APART, LAYER_MAP("attn_qkv", "qD", ATTN_PART_MIXER, mixer_in),                     \
        LAYER_MAP("attn_gate", "lD", ATTN_PART_MIXER, mixer_gate),                                 \
        MIXER_VECTOR("ssm_conv1d.weight", "ad", MIXER, conv),                                      \
        MIXER_VECTOR("ssm_a", "g", MIXER, decay),                                                  \
        MIXER_VECTOR("ssm_dt.bias", "g", MIXER, dt_bias),                                          \
        MIXER_VECTOR("ssm_norm.weight", "v", MIXER, norm),                                         \
        LAYER_MAP("ssm_out", "Dl", ATTN_PART_MIXER_OUT, out)
static const struct attn_weight_rule delta[] = {
    DELTA_OF_GGUF, LAYER_MAP("ssm_beta", "gD", ATTN_PART_MIXER, mixer_beta),
    LAYER_MAP("ssm_alpha", "gD", ATTN_PART_MIXER, mixer_decay)};
static const struct attn_weight_rule delta_by_head[] = {
    DELTA_OF_GGUF, FUSED("blk.#.ssm_ba.weight", "uD", ATTN_PART_MIXER, FACTOR_HEADS)};

#define MAMBA_OF_GGUF(out)                                                                         \
    RULES("attn_norm", "ffn_norm", "post_attention_norm"),                                         \
        FUSED("blk.#.ssm_in.weight", "iD", ATTN_PART_MIXER, MAMBA_ROWS),                           \
        MIXER_VECTOR("ssm_conv1d.weight", "ad", MIXER, conv),                                      \
        MIXER_VECTOR("ssm_conv1d.bias", "a", MIXER_CONV_BIAS, conv_bias),                          \
        MIXER_VECTOR("ssm_a", "g", MIXER, decay),                                                  \
        MIXER_VECTOR("ssm_dt.bias", "g", MIXER, dt_bias), MIXER_VECTOR("ssm_d", "g", MIXER, skip), \
        MIXER_VECTOR("ssm_norm.weight", "l", MIXER_NORM, norm),                                    \
        LAYER_MAP("ssm_out", "Dl", ATTN_PART_MIXER_OUT, out)
static const struct attn_weight_rule mamba[] = {MAMBA_OF_GGUF(out)};
static const struct attn_weight_rule mamba_beside[] = {MAMBA_OF_GGUF(mixer_out)};

/* --- towers for pictures ---------------------------------------------------------------------- */

/* Names of llama.cpp, and of Ollama's Gemma 3. */
#define V_NORM(name, old, part, norm)                                                              \
    VECTOR("v.blk.#." name ".weight|v.blk.#." old ".weight", "D", part, NORM_W(norm)),             \
        VECTOR("v.blk.#." name ".bias|v.blk.#." old ".bias", "D", part##_BIAS, NORM_B(norm))
#define V_MAP(name, old, shape, part, bias_shape, bias_part, map)                                  \
    {"v.blk.#." name ".weight|v.blk.#." old ".weight", shape, part, ATTN_WEIGHT_OUT_IN,            \
     WEIGHT_OF(map)},                                                                              \
        VECTOR("v.blk.#." name ".bias|v.blk.#." old ".bias", bias_shape, bias_part, BIAS_OF(map))
#define V_MLP(name, old, shape, bias_shape, map)                                                   \
    V_MAP(name, old, shape, ATTN_PART_MLP, bias_shape, ATTN_PART_MLP_BIAS, map)
#define TOWER TOWER_OF("ffn_up", "ffn_down")
#define TOWER_OF(up, down)                                                                         \
    V_NORM("ln1", "layer_norm1", ATTN_PART_NORM, ln1), THREE_MAPS("v.blk.#.attn_", ""),            \
        V_MAP("attn_out", "attn_output", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),  \
        V_NORM("ln2", "layer_norm2", ATTN_PART_MLP_NORM, ln2),                                     \
        LINEAR("v.blk.#.ffn_gate", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,         \
               mlp_gate),                                                                          \
        V_MLP(up, "mlp.fc1", "FD", "F", mlp_in), V_MLP(down, "mlp.fc2", "DF", "D", mlp_out),       \
        VECTOR("v.post_ln.weight|v.post_layernorm.weight", "D", ATTN_PART_FINAL_NORM,              \
               MODEL(ln_final.w)),                                                                 \
        VECTOR("v.post_ln.bias|v.post_layernorm.bias", "D", ATTN_PART_FINAL_NORM_BIAS,             \
               MODEL(ln_final.b))
#define SIGLIP                                                                                     \
    MATRIX("v.patch_embd.weight|v.patch_embedding.weight", "DChw", ATTN_PART_EMBEDDING, patches),  \
        VECTOR("v.patch_embd.bias|v.patch_embedding.bias", "D", ATTN_PART_EMBEDDING,               \
               MODEL(patches.bias)),                                                               \
        TABLE("v.position_embd.weight|v.position_embedding.weight", "ID", ATTN_PART_POSITIONS,     \
              positions),                                                                          \
        TOWER

static const struct attn_weight_rule idefics3[] = {
    SIGLIP, MATRIX("mm.model.fc.weight", "ok", ATTN_PART_CONNECTOR, connector)};
static const struct attn_weight_rule gemma3[] = {
    SIGLIP,
    TENSOR("mm.input_projection.weight|mm.mm_input_projection.weight", "Do", ATTN_PART_CONNECTOR,
           ATTN_WEIGHT_IN_OUT, MODEL(connector.weight)),
    VECTOR("mm.soft_emb_norm.weight|mm.mm_soft_emb_norm.weight", "D", ATTN_PART_CONNECTOR,
           MODEL(ln_connector.w))};
#define QWEN                                                                                       \
    {"v.patch_embd.weight", "DChw", ATTN_PART_EMBEDDING, ATTN_WEIGHT_FRAMES,                       \
     MODEL(patches.weight)},                                                                       \
        TOWER, TWO_MAPS("mm.0", "mm.2", ATTN_PART_CONNECTOR, connector_in, connector),             \
        IGNORED("v.patch_embd.weight.1") /* the second frame */
static const struct attn_weight_rule qwen[] = {QWEN};
static const struct attn_weight_rule qwen3[] = {
    QWEN,
    FUSED("v.blk.#.attn_qkv.weight", "AD", ATTN_PART_PROJECTIONS, QKV_ROWS),
    FUSED("v.blk.#.attn_qkv.bias", "A", ATTN_PART_QKV_BIAS, QKV_ROWS),
    VECTOR("v.patch_embd.bias", "D", ATTN_PART_EMBEDDING, MODEL(patches.bias)),
    TABLE("v.position_embd.weight", "ID", ATTN_PART_POSITIONS, positions),
    VECTOR("v.deepstack.@.norm.weight", "k", ATTN_PART_DEEP, MODEL(deep[0].norm.w)),
    VECTOR("v.deepstack.@.norm.bias", "k", ATTN_PART_DEEP, MODEL(deep[0].norm.b)),
    TWO_MAPS("v.deepstack.@.fc1", "v.deepstack.@.fc2", ATTN_PART_DEEP, deep[0].in, deep[0].out)};

#define CLASS "v.class_embd"

/* The vision towers of CLIP and SigLIP, and the connector of LLaVA. */
#define LLAVA(up, down)                                                                            \
    MATRIX("v.patch_embd.weight", "DChw", ATTN_PART_EMBEDDING, patches),                           \
        TABLE("v.position_embd.weight", "ID", ATTN_PART_POSITIONS, positions), TOWER_OF(up, down), \
        PROJECTOR("mm.0", "mm.2", "ok"),                                                           \
        VECTOR("v.image_newline", "o", ATTN_PART_LINE_END, MODEL(line_end)),                       \
        IGNORED("v.post_ln.weight"), IGNORED("v.post_ln.bias")
#define OF_CLIP                                                                                    \
    VECTOR(CLASS, "D", ATTN_PART_EMBEDDING, MODEL(cls)),                                           \
        MODEL_NORM("v.pre_ln", ATTN_PART_EMBED_NORM, ln_embed)
#define OF_SIGLIP VECTOR("v.patch_embd.bias", "D", ATTN_PART_EMBEDDING, MODEL(patches.bias))
static const struct attn_weight_rule clip[] = {LLAVA("ffn_up", "ffn_down"), OF_CLIP},
                                     clip_exchanged[] = {LLAVA("ffn_down", "ffn_up"), OF_CLIP},
                                     siglip[] = {LLAVA("ffn_up", "ffn_down"), OF_SIGLIP},
                                     siglip_exchanged[] = {LLAVA("ffn_down", "ffn_up"), OF_SIGLIP};

/* The tower and the connector of InternVL. */
static const struct attn_weight_rule internvl[] = {
    SIGLIP,
    VECTOR(CLASS, "1D", ATTN_PART_EMBEDDING, MODEL(cls)),
    VECTOR("v.blk.#.attn_q_norm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),
    VECTOR("v.blk.#.attn_k_norm.weight", "z", ATTN_PART_QK_NORM, NORM_W(k_norm)),
    VECTOR("v.blk.#.ls1.weight", "D", ATTN_PART_LAYER_SCALE, NORM_W(attn_scale)),
    VECTOR("v.blk.#.ls2.weight", "D", ATTN_PART_LAYER_SCALE, NORM_W(mlp_scale)),
    VECTOR("mm.model.mlp.0.weight", "k", ATTN_PART_CONNECTOR, MODEL(ln_connector.w)),
    VECTOR("mm.model.mlp.0.bias", "k", ATTN_PART_CONNECTOR, MODEL(ln_connector.b)),
    PROJECTOR("mm.model.mlp.1", "mm.model.mlp.3", "ok")};

#define MERGER "mm.patch_merger.weight"

/* The tower of Pixtral, and the connectors of LLaVA and of Mistral 3. */
#define PIXTRAL(shape)                                                                             \
    MATRIX("v.patch_embd.weight", "DChw", ATTN_PART_EMBEDDING, patches),                           \
        VECTOR("v.pre_ln.weight", "D", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w)), TOWER,            \
        PROJECTOR("mm.1", "mm.2", shape), IGNORED("v.token_embd.img_break")
static const struct attn_weight_rule pixtral[] = {PIXTRAL("ok")},
                                     mistral3[] = {PIXTRAL("oD"),
                                                   VECTOR("mm.input_norm.weight", "D",
                                                          ATTN_PART_CONNECTOR,
                                                          MODEL(ln_connector.w)),
                                                   MATRIX(MERGER, "Dk", ATTN_PART_CONNECTOR,
                                                          connector_merge)};

/* Whether a layer of the GGUF file ST has the tensor NAME. */
static bool has_in_layers(const struct attn_config *config, const struct attn_tensor_files *st,
                          const char *name)
{
    char full[160];

    for (size_t layer = 0; layer < config->n_layer; layer++) {
        snprintf(full, sizeof full, "%sblk.%zu.%s", config->image.patch_height > 0 ? "v." : "",
                 layer, name);
        if (attn_tensor_files_find(st, full, NULL))
            return true;
    }
    return false;
}

/* Whether q, k and v of a model of CONFIG, or of a tower, are one tensor in the GGUF file ST. In
 * layers of Gated DeltaNet the tensor has another meaning. */
static bool is_fused(const struct attn_config *config, const struct attn_tensor_files *st)
{
    return !(config->mixer && config->mixer->kind == ATTN_MIXER_DELTA) &&
           has_in_layers(config, st, "attn_qkv.weight");
}

/* Sets which biases the model has, by the tensors of the GGUF file, and whether tensors are joined.
 */
static bool find_biases(struct attn_config *config, const struct attn_tensor_files *st,
                        bool has_one)
{
    const struct {
        const char *name;
        bool *has;
    } rows[] = {{has_one ? "attn_qkv.bias" : "attn_q.bias", &config->has_qkv_bias},
                {"attn_output.bias", &config->has_out_bias},
                {"ffn_up.bias", &config->has_mlp_bias},
                {"ffn_gate_inp.bias", &config->has_expert_bias},
                {"ssm_conv1d.bias", &config->has_mixer_conv_bias}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].has = has_in_layers(config, st, rows[i].name);
    config->has_output_bias = attn_tensor_files_find(st, "output.bias", NULL);
    return !has_in_layers(config, st, "ffn_gate.weight");
}

static void find_halves(const struct attn_family *naming, const struct attn_config *config,
                        bool *of_heads, bool *of_biases)
{
    const struct attn_gguf_form *form = attn_gguf_form_of(
        config->image.patch_height > 0 ? naming : attn_family_find(config->model_type));

    *of_heads = form->has_interleaved_heads;
    *of_biases = form->has_interleaved_biases;
}

static const struct attn_dialect dialect = {is_fused, find_biases, find_halves};

static const struct attn_gguf_form turned = {HALVES_ALTERNATE};

#define NAMING(list)                                                                               \
    {                                                                                              \
        .rules = (list), .n_rule = sizeof(list) / sizeof *(list), .dialect = &dialect              \
    }
/* The same of a tower whose q and k the converter has interleaved. */
#define TURNED(list)                                                                               \
    {                                                                                              \
        .rules = (list), .n_rule = sizeof(list) / sizeof *(list), .dialect = &dialect,             \
        .gguf = &turned                                                                            \
    }

/* Returns the naming of a model with the layers of CONFIG that mix without attention. */
static const struct attn_family *mixer_naming(const struct attn_config *config)
{
    static const struct attn_family of_conv = NAMING(conv), of_delta = NAMING(delta),
                                    of_delta_by_head = NAMING(delta_by_head),
                                    of_mamba = NAMING(mamba),
                                    of_mamba_beside = NAMING(mamba_beside);

    switch (config->mixer->kind) {
    case ATTN_MIXER_CONV:
        return &of_conv;
    case ATTN_MIXER_DELTA:
        return config->n_expert > 0 ? &of_delta_by_head : &of_delta;
    default:
        return attn_config_mixes_beside(config) ? &of_mamba_beside : &of_mamba;
    }
}

const struct attn_family *attn_gguf_naming(const struct attn_config *config,
                                           const struct attn_tensor_files *files)
{
    static const struct attn_family of_usual = NAMING(usual), of_falcon = NAMING(falcon),
                                    of_gpt_oss = NAMING(gpt_oss), of_gemma4 = NAMING(gemma4);

    const bool has_mlp_norm = attn_tensor_files_find(files, "blk.0.ffn_norm.weight", NULL) ||
                              attn_tensor_files_find(files, "blk.0.post_ffw_norm.weight", NULL);

    if (config->mixer)
        return mixer_naming(config);
    if (config->layer_dims)
        return &of_gemma4;
    if (attn_tensor_files_find(files, "blk.0.attn_norm_2.weight", NULL))
        return &of_falcon;
    return !has_mlp_norm && attn_tensor_files_find(files, "blk.0.post_attention_norm.weight", NULL)
               ? &of_gpt_oss
               : &of_usual;
}

bool attn_gguf_tower_has_class(const struct attn_tensor_files *files)
{
    return attn_tensor_files_find(files, CLASS, NULL);
}

bool attn_gguf_tower_exchanges(const struct attn_tensor_files *files)
{
    struct attn_tensor_entry up = {0}, norm = {0};

    return attn_tensor_files_find(files, "v.blk.0.ffn_up.weight", &up) && up.tensor.rank == 2 &&
           attn_tensor_files_find(files, "v.blk.0.ln1.weight", &norm) && norm.tensor.rank == 1 &&
           up.tensor.shape[1] != norm.tensor.shape[0] && up.tensor.shape[0] == norm.tensor.shape[0];
}

const struct attn_family *attn_gguf_tower_naming(const char *projector,
                                                 const struct attn_tensor_files *files)
{
    static const struct attn_family of_idefics3 = NAMING(idefics3), of_gemma3 = NAMING(gemma3),
                                    of_qwen = NAMING(qwen), of_qwen3 = NAMING(qwen3),
                                    of_internvl = NAMING(internvl), of_pixtral = TURNED(pixtral),
                                    of_mistral3 = TURNED(mistral3);
    static const struct attn_family of_llava[2][2] = {{NAMING(siglip), NAMING(siglip_exchanged)},
                                                      {NAMING(clip), NAMING(clip_exchanged)}};

    if (strcmp(projector, "mlp") == 0)
        return &of_llava[attn_gguf_tower_has_class(files)][attn_gguf_tower_exchanges(files)];
    if (strcmp(projector, "pixtral") == 0)
        return attn_tensor_files_find(files, MERGER, NULL) ? &of_mistral3 : &of_pixtral;
    return strcmp(projector, "idefics3") == 0         ? &of_idefics3
           : strcmp(projector, "gemma3") == 0         ? &of_gemma3
           : strcmp(projector, "qwen3vl_merger") == 0 ? &of_qwen3
           : strcmp(projector, "internvl") == 0       ? &of_internvl
                                                      : &of_qwen;
}
