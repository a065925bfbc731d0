/*
 * grammar_family.c - config.json of the families beyond GPT-2, over weights that fit: rotary
 * positions as transformers writes them now and wrote them before, windows by layer, biases that
 * are named or not, keys that are absent where they have their default.
 *
 * Of a valid one the sizes and parts are read that were written, and it runs.
 */
#include "model/config_fields.h"
#include "run/run.h"
#include "tests/adversary/container.h"

#include <stdio.h>
#include <string.h>

enum family { LLAMA, MISTRAL, QWEN2, QWEN3, OLMO2, GEMMA2, GEMMA3, PHI, NEOX, NEO, N_FAMILY };

static const char *const families[] = {"llama",  "mistral",     "qwen2", "qwen3",    "olmo2",
                                       "gemma2", "gemma3_text", "phi",   "gpt_neox", "gpt_neo"};

enum kind { SIZE, SWITCH, WORD, OTHER };

/* A member of the config as it is written. */
struct member {
    char key[40];
    enum kind kind;
    char value[256]; /* JSON */
};

enum { MAX_MEMBER = 40, MAX_LAYER = 3, N_TOKEN = 2, N_CTX = 9 };

enum defect {
    NONE = -1,
    OTHER_KIND,
    OUT_OF_RANGE,
    OTHER_TYPE,
    NOT_DIVIDED,
    EXTRA,
    UNKNOWN_WORD,
    ROPE,
    TYPES,
    NO_TENSOR,
    OTHER_SHAPE,
    OTHER_TENSOR_TYPE,
    SURPLUS_BIAS,
    BAD_WEIGHTS,
    FIRST_JSON
};

static const char *const defects[] = {
    "a value of another kind",
    "a value out of range",
    "an unknown model_type",
    "heads that do not divide",
    "a part that no family has",
    "an unknown activation",
    "wrong rotary positions",
    "wrong types of layers",
    "a tensor that is missing",
    "a tensor of another shape",
    "a tensor of a type that is no float",
    "a bias that the config does not name",
    "weights that are malformed",
    ATTN_JSON_DEFECTS,
};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    enum family family;
    struct attn_config config;
    struct attn_rope rope; /* of layers without a window */
    size_t windows[MAX_LAYER];
    bool has_prefix;
    struct attn_container weights;
    struct member members[MAX_MEMBER];
    size_t n_member;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

/* --- members ---------------------------------------------------------------------------------- */

static void add(struct known *known, const char *key, enum kind kind, const char *value)
{
    struct member *member = &known->members[known->n_member++];

    FUZZ_CHECK(known->n_member <= MAX_MEMBER);
    snprintf(member->key, sizeof member->key, "%s", key);
    snprintf(member->value, sizeof member->value, "%s", value);
    member->kind = kind;
}

/* Sets KEY, which may not be there yet. */
static void set(struct known *known, const char *key, const char *value)
{
    for (size_t i = 0; i < known->n_member; i++)
        if (strcmp(known->members[i].key, key) == 0) {
            snprintf(known->members[i].value, sizeof known->members[i].value, "%s", value);
            return;
        }
    add(known, key, OTHER, value);
}

static void add_size(struct attn_case *c, struct known *known, const char *key, size_t value)
{
    char text[48];

    snprintf(text, sizeof text, attn_case_chance(c, 95) ? "%zu" : "%zu.0", value);
    add(known, key, SIZE, text);
}

/* A switch that may be left out where it has its usual value. */
static bool add_switch(struct attn_case *c, struct known *known, const char *key, bool usual)
{
    const bool value = attn_case_chance(c, 40) != usual;

    if (value != usual || attn_case_chance(c, 30))
        add(known, key, SWITCH, value ? "true" : "false");
    else if (attn_case_chance(c, 20))
        add(known, key, SWITCH, "null");
    return value;
}

static bool is_gemma(const struct known *known)
{
    return known->family == GEMMA2 || known->family == GEMMA3;
}

/* Families whose configs may have a head_dim. */
static bool has_head_dim(const struct known *known)
{
    return known->family != PHI && known->family != NEOX && known->family != NEO;
}

static void add_sizes(struct attn_case *c, struct known *known)
{
    struct attn_config *config = &known->config;
    const bool is_neo = known->family == NEO, is_plain = is_neo || known->family == NEOX;

    config->n_kv_head = 1 + attn_case_below(c, 2);
    config->n_head = config->n_kv_head * (1 + attn_case_below(c, 2));
    if (is_plain)
        config->n_kv_head = config->n_head;
    config->d_head = config->d_value = 4 * (1 + attn_case_below(c, 2));
    config->d_model = config->n_head * config->d_head;
    if (has_head_dim(known) && attn_case_chance(c, 50))
        config->d_model = config->n_head * (1 + attn_case_below(c, 5));
    config->d_mlp = 1 + attn_case_below(c, 9);
    config->n_ctx = N_CTX;
    add_size(c, known, "vocab_size", config->n_vocab);
    add_size(c, known, "hidden_size", config->d_model);
    add_size(c, known, "intermediate_size", config->d_mlp);
    add_size(c, known, is_neo ? "num_layers" : "num_hidden_layers", config->n_layer);
    add_size(c, known, is_neo ? "num_heads" : "num_attention_heads", config->n_head);
    add_size(c, known, "max_position_embeddings", config->n_ctx);
    if (!is_plain)
        add_size(c, known, "num_key_value_heads", config->n_kv_head);
    if (has_head_dim(known))
        add_size(c, known, "head_dim", config->d_head);
}

/* An object for ROPE, without braces. */
static void write_rope(struct attn_case *c, struct attn_rope *rope, bool is_old, char *text,
                       size_t size)
{
    static const char *const types[] = {"default", "linear", "llama3", "yarn", "dynamic"};
    size_t used = 0;

    rope->type = (enum attn_rope_type)attn_case_below(c, 5);
    if (rope->type != ATTN_ROPE_DEFAULT || !is_old || attn_case_chance(c, 50))
        used = (size_t)snprintf(text, size, "\"%s\":\"%s\",",
                                is_old && attn_case_chance(c, 50) ? "type" : "rope_type",
                                types[rope->type]);
    if (rope->type != ATTN_ROPE_DEFAULT)
        used += (size_t)snprintf(text + used, size - used, "\"factor\":%g,", rope->factor);
    if (rope->type == ATTN_ROPE_LLAMA3)
        used += (size_t)snprintf(text + used, size - used,
                                 "\"low_freq_factor\":1,\"high_freq_factor\":4.0,"
                                 "\"original_max_position_embeddings\":4,");
    if (rope->type == ATTN_ROPE_YARN && attn_case_chance(c, 50))
        used += (size_t)snprintf(text + used, size - used,
                                 "\"beta_fast\":null,\"truncate\":false,\"mscale\":1.0,");
    if (!is_old)
        used += (size_t)snprintf(text + used, size - used, "\"rope_theta\":%g,", rope->theta);
    if (used > 0)
        used--; /* the last comma */
    text[used] = '\0';
}

static void add_rope(struct attn_case *c, struct known *known)
{
    const bool is_old = attn_case_chance(c, 50), is_neox = known->family == NEOX;
    const bool is_partial = is_neox || known->family == PHI;
    struct attn_rope *rope = &known->rope;
    char text[200], object[256], number[32];

    rope->theta = attn_case_chance(c, 50) ? 10000 : 500;
    rope->factor = 2;
    rope->d_rotary = is_partial ? known->config.d_head / 2 : known->config.d_head;
    write_rope(c, rope, is_old && known->family != GEMMA3, text, sizeof text);
    if (known->family == GEMMA3)
        snprintf(object, sizeof object, "{\"full_attention\":{%s}}", text);
    else if (is_partial && !is_old)
        snprintf(object, sizeof object, "{\"partial_rotary_factor\":0.5,%s}", text);
    else
        snprintf(object, sizeof object, "{%s}", text);
    add(known, is_old && known->family != GEMMA3 ? "rope_scaling" : "rope_parameters", OTHER,
        object);
    if (!is_old || known->family == GEMMA3)
        return;
    snprintf(number, sizeof number, "%g", rope->theta);
    add(known, is_neox ? "rotary_emb_base" : "rope_theta", OTHER, number);
    if (is_partial)
        add(known, is_neox ? "rotary_pct" : "partial_rotary_factor", OTHER, "0.5");
}

/* Windows by a list of types, or by the rule of the family. */
static void add_windows(struct attn_case *c, struct known *known)
{
    const bool is_qwen = known->family == QWEN2 || known->family == QWEN3;
    const bool is_neo = known->family == NEO;
    const size_t width = 1 + attn_case_below(c, 3);
    bool is_on = true; /* a list that lets layers slide is refused otherwise */
    char text[128] = "[";
    size_t used = 1;

    if (known->family == MISTRAL) {
        add_size(c, known, "sliding_window", width);
        for (size_t i = 0; i < known->config.n_layer; i++)
            known->windows[i] = width;
    }
    if (!is_qwen && !is_neo && !is_gemma(known))
        return;
    if (is_qwen)
        is_on = attn_case_chance(c, 70);
    for (size_t i = 0; i < known->config.n_layer; i++) {
        const char *const names[] = {is_neo ? "\"global\"" : "\"full_attention\"",
                                     is_neo ? "\"local\"" : "\"sliding_attention\""};
        const bool has_window = is_on && attn_case_chance(c, 50);

        known->windows[i] = has_window ? width : 0;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "," : "",
                                 names[has_window]);
    }
    snprintf(text + used, sizeof text - used, "]");
    add(known, is_neo ? "attention_layers" : "layer_types", OTHER, text);
    add_size(c, known, is_neo ? "window_size" : "sliding_window", width);
    if (is_qwen && is_on)
        add(known, "use_sliding_window", SWITCH, "true");
}

static void add_parts(struct attn_case *c, struct known *known)
{
    struct attn_config *config = &known->config;
    const bool is_layernorm = known->family >= PHI;
    bool is_tied;

    config->norm = is_layernorm      ? ATTN_NORM_LAYERNORM
                   : is_gemma(known) ? ATTN_NORM_RMSNORM_PLUS_ONE
                                     : ATTN_NORM_RMSNORM;
    config->norm_place = is_gemma(known)          ? ATTN_NORM_AROUND
                         : known->family == OLMO2 ? ATTN_NORM_POST
                                                  : ATTN_NORM_PRE;
    config->has_gated_mlp = !is_layernorm;
    config->has_mlp_bias = is_layernorm;
    config->qk_norm = known->family == OLMO2                              ? ATTN_QK_NORM_ALL_HEADS
                      : known->family == QWEN3 || known->family == GEMMA3 ? ATTN_QK_NORM_PER_HEAD
                                                                          : ATTN_QK_NORM_NONE;
    config->has_qkv_bias = known->family == QWEN2 || known->family == PHI;
    config->has_out_bias = known->family == PHI || known->family == NEO;
    if (known->family == LLAMA || known->family == QWEN3 || known->family == OLMO2 ||
        is_gemma(known))
        config->has_qkv_bias = config->has_out_bias = add_switch(c, known, "attention_bias", false);
    if (known->family == NEOX)
        config->has_qkv_bias = config->has_out_bias = add_switch(c, known, "attention_bias", true);
    if (known->family == LLAMA)
        config->has_mlp_bias = add_switch(c, known, "mlp_bias", false);
    if (known->family == PHI && add_switch(c, known, "qk_layernorm", false))
        config->qk_norm = ATTN_QK_NORM_PER_HEAD;
    config->has_parallel_residual =
        known->family == PHI ||
        (known->family == NEOX && add_switch(c, known, "use_parallel_residual", true));
    is_tied = add_switch(c, known, "tie_word_embeddings", is_gemma(known) || known->family == NEO);
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    known->has_prefix = !is_tied || attn_case_chance(c, 60);
}

static void add_words(struct attn_case *c, struct known *known)
{
    static const char *const names[] = {"silu",      "swish", "gelu",
                                        "gelu_fast", "relu2", "quick_gelu"};
    static const char *const read[] = {"silu", "silu", "gelu", "gelu_new", "relu2", "quick_gelu"};
    const size_t i = attn_case_below(c, 6);
    char word[32];

    snprintf(word, sizeof word, "\"%s\"", names[i]);
    known->config.act_fn = read[i];
    add(known,
        is_gemma(known)        ? "hidden_activation"
        : known->family == NEO ? "activation_function"
                               : "hidden_act",
        WORD, word);
    if (attn_case_chance(c, 30))
        add(known, "architectures", OTHER, "[\"AnythingForCausalLM\"]");
    if (attn_case_chance(c, 30))
        add(known, "torch_dtype", OTHER, "\"bfloat16\"");
    if (attn_case_chance(c, 20))
        add(known, "quantization_config", OTHER, "null");
    if (attn_case_chance(c, 20))
        add(known, "num_experts", OTHER, "0");
}

/* --- weights: the tensors that FAMILIES of transformers have ---------------------------------- */

static void tensor(struct attn_case *c, struct known *known, const char *name, size_t rows,
                   size_t columns)
{
    static const enum attn_dtype types[] = {ATTN_DTYPE_F32, ATTN_DTYPE_F32, ATTN_DTYPE_BF16,
                                            ATTN_DTYPE_F16};
    struct attn_planned_tensor *added =
        attn_container_add(&known->weights, name, types[attn_case_below(c, 4)], 0);

    added->rank = columns > 0 ? 2 : 1;
    added->shape[0] = rows;
    added->shape[1] = columns;
}

/* PREFIX.NAME, the prefix as the file has it. */
static void named(struct attn_case *c, struct known *known, const char *name, size_t rows,
                  size_t columns)
{
    char full[ATTN_CONTAINER_NAME_SIZE];
    const char *prefix = known->family == NEO    ? "transformer."
                         : known->family == NEOX ? "gpt_neox."
                                                 : "model.";

    snprintf(full, sizeof full, "%s%s", known->has_prefix ? prefix : "", name);
    tensor(c, known, full, rows, columns);
}

/* A tensor of layer LAYER: FOLDER.LAYER.NAME.weight, and its bias. */
struct part {
    const char *name;
    size_t rows, columns;
    bool is_there, has_bias;
};

static void add_layer(struct attn_case *c, struct known *known, size_t layer,
                      const struct part *parts, size_t n)
{
    const char *folder = known->family == NEO ? "h" : "layers";
    char name[ATTN_CONTAINER_NAME_SIZE];

    for (size_t i = 0; i < n; i++) {
        if (!parts[i].is_there)
            continue;
        snprintf(name, sizeof name, "%s.%zu.%s.weight", folder, layer, parts[i].name);
        named(c, known, name, parts[i].rows, parts[i].columns);
        snprintf(name, sizeof name, "%s.%zu.%s.bias", folder, layer, parts[i].name);
        if (parts[i].has_bias)
            named(c, known, name, parts[i].rows, 0);
    }
}

static void add_llama_layer(struct attn_case *c, struct known *known, size_t layer)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, f = config->d_mlp, e = config->d_head;
    const size_t q = config->n_head * e, k = config->n_kv_head * e;
    const bool is_phi = known->family == PHI, is_olmo = known->family == OLMO2;
    const bool has_qk = config->qk_norm != ATTN_QK_NORM_NONE;
    const bool is_gated = config->has_gated_mlp;
    const struct part parts[] = {
        {"input_layernorm", d, 0, !is_olmo, is_phi},
        {"post_attention_layernorm", d, 0, !is_phi, false},
        {"pre_feedforward_layernorm", d, 0, is_gemma(known), false},
        {"post_feedforward_layernorm", d, 0, is_gemma(known) || is_olmo, false},
        {"self_attn.q_proj", q, d, true, config->has_qkv_bias},
        {"self_attn.k_proj", k, d, true, config->has_qkv_bias},
        {"self_attn.v_proj", k, d, true, config->has_qkv_bias},
        {"self_attn.o_proj", d, q, !is_phi, config->has_out_bias},
        {"self_attn.dense", d, q, is_phi, true},
        {"self_attn.q_norm", is_olmo ? q : e, 0, has_qk && !is_phi, false},
        {"self_attn.k_norm", is_olmo ? k : e, 0, has_qk && !is_phi, false},
        {"self_attn.q_layernorm", e, 0, has_qk && is_phi, true},
        {"self_attn.k_layernorm", e, 0, has_qk && is_phi, true},
        {"mlp.gate_proj", f, d, is_gated, config->has_mlp_bias},
        {"mlp.up_proj", f, d, is_gated, config->has_mlp_bias},
        {"mlp.down_proj", d, f, is_gated, config->has_mlp_bias},
        {"mlp.fc1", f, d, is_phi, true},
        {"mlp.fc2", d, f, is_phi, true},
    };

    add_layer(c, known, layer, parts, sizeof parts / sizeof *parts);
}

static void add_gpt_layer(struct attn_case *c, struct known *known, size_t layer)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, f = config->d_mlp;
    const bool is_neo = known->family == NEO, is_neox = !is_neo;
    const struct part parts[] = {
        {"ln_1", d, 0, is_neo, true},
        {"ln_2", d, 0, is_neo, true},
        {"attn.attention.q_proj", d, d, is_neo, false},
        {"attn.attention.k_proj", d, d, is_neo, false},
        {"attn.attention.v_proj", d, d, is_neo, false},
        {"attn.attention.out_proj", d, d, is_neo, true},
        {"mlp.c_fc", f, d, is_neo, true},
        {"mlp.c_proj", d, f, is_neo, true},
        {"input_layernorm", d, 0, is_neox, true},
        {"post_attention_layernorm", d, 0, is_neox, true},
        {"attention.query_key_value", 3 * d, d, is_neox, config->has_qkv_bias},
        {"attention.dense", d, d, is_neox, config->has_out_bias},
        {"mlp.dense_h_to_4h", f, d, is_neox, true},
        {"mlp.dense_4h_to_h", d, f, is_neox, true},
    };

    add_layer(c, known, layer, parts, sizeof parts / sizeof *parts);
}

static void add_weights(struct attn_case *c, struct known *known)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, v = config->n_vocab;
    const bool is_neo = known->family == NEO, is_neox = known->family == NEOX;
    const char *norm = is_neo                 ? "ln_f"
                       : is_neox              ? "final_layer_norm"
                       : known->family == PHI ? "final_layernorm"
                                              : "norm";
    char name[ATTN_CONTAINER_NAME_SIZE];

    named(c, known,
          is_neo    ? "wte.weight"
          : is_neox ? "embed_in.weight"
                    : "embed_tokens.weight",
          v, d);
    if (is_neo)
        named(c, known, "wpe.weight", config->n_ctx, d);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        (is_neo || is_neox ? add_gpt_layer : add_llama_layer)(c, known, layer);
    snprintf(name, sizeof name, "%s.weight", norm);
    named(c, known, name, d, 0);
    snprintf(name, sizeof name, "%s.bias", norm);
    if (known->family >= PHI)
        named(c, known, name, d, 0);
    if (config->output == ATTN_OUTPUT_OWN)
        tensor(c, known, is_neox && attn_case_chance(c, 50) ? "embed_out.weight" : "lm_head.weight",
               v, d);
    if (known->family == PHI)
        tensor(c, known, "lm_head.bias", v, 0);
}

/* --- defects ---------------------------------------------------------------------------------- */

/* Gives a size, switch or word a value of another kind, or a size one out of range. */
static void set_wrong(struct attn_case *c, struct known *known, bool is_kind)
{
    static const char *const kinds[][5] = {
        [SIZE] = {"\"3\"", "true", "[]", "{}", "[3]"},
        [SWITCH] = {"1", "0", "\"true\"", "[]", "{}"},
        [WORD] = {"1", "true", "[]", "{}", "[\"silu\"]"},
    };
    static const char *const ranges[] = {"0", "-1", "1.5", "1e30", "18446744073709551617"};
    struct member *member;

    do
        member = &known->members[attn_case_below(c, known->n_member)];
    while (member->kind == OTHER || (!is_kind && member->kind != SIZE));
    snprintf(member->value, sizeof member->value, "%s",
             (is_kind ? kinds[member->kind] : ranges)[attn_case_below(c, 5)]);
}

static void set_rope(struct attn_case *c, struct known *known)
{
    static const char *const wrong[] = {
        "{\"rope_type\":\"longrope\",\"factor\":2}",
        "{\"rope_type\":\"linear\"}",
        "{\"rope_type\":\"linear\",\"factor\":0}",
        "{\"rope_type\":\"llama3\",\"factor\":2,\"low_freq_factor\":4,\"high_freq_factor\":1}",
        "{\"rope_type\":\"yarn\",\"factor\":\"2\"}",
        "{\"rope_type\":7}",
        "{\"rope_theta\":-1}",
        "{\"mrope_section\":[1,1]}",
        "[]",
        "\"linear\""};

    if (known->family == GEMMA3) /* what it lacks would be taken from there */
        set(known, "rope_parameters", "null");
    if (known->family == NEO) /* its positions are learned */
        set(known, "window_size", "\"rope\"");
    else
        set(known, "rope_scaling", wrong[attn_case_below(c, 10)]);
}

static void set_types(struct attn_case *c, struct known *known)
{
    static const char *const wrong[] = {"[]", "[1]", "\"full_attention\"", "{}",
                                        "[\"full_attention\",\"near\",\"near\",\"near\"]"};
    const bool is_qwen = known->family == QWEN2 || known->family == QWEN3;

    if (is_qwen)
        set(known, "use_sliding_window", "true");
    if (is_qwen || is_gemma(known))
        set(known, "layer_types", wrong[attn_case_below(c, 5)]);
    else if (known->family == NEO)
        set(known, "attention_layers", wrong[attn_case_below(c, 5)]);
    else
        attn_case_is_valid(c);
}

static void set_extra(struct attn_case *c, struct known *known)
{
    static const char *const extras[][2] = {{"quantization_config", "{\"bits\":4}"},
                                            {"pruned_heads", "{\"0\":[1]}"},
                                            {"add_cross_attention", "true"},
                                            {"is_encoder_decoder", "true"},
                                            {"attention_chunk_size", "8"},
                                            {"num_experts", "4"},
                                            {"num_local_experts", "8"},
                                            {"quantization_config", "{\"quant_method\":\"eetq\"}"}};
    const size_t i = attn_case_below(c, 8);

    set(known, extras[i][0], extras[i][1]);
}

static void spoil_members(struct attn_case *c, struct known *known, enum defect defect)
{
    static const char *const types[] = {"\"llama4\"", "\"mixtral\"", "\"gemma3\"", "7", "[]"};
    char text[32];

    snprintf(text, sizeof text, "%zu", known->config.d_model + 1);
    if (defect == OTHER_KIND || defect == OUT_OF_RANGE)
        set_wrong(c, known, defect == OTHER_KIND);
    if (defect == OTHER_TYPE)
        set(known, "model_type", types[attn_case_below(c, 5)]);
    if (defect == NOT_DIVIDED)
        set(known, known->family == NEO ? "num_heads" : "num_attention_heads", text);
    if (defect == EXTRA)
        set_extra(c, known);
    if (defect == UNKNOWN_WORD)
        set(known,
            is_gemma(known)        ? "hidden_activation"
            : known->family == NEO ? "activation_function"
                                   : "hidden_act",
            attn_case_chance(c, 50) ? "\"mish\"" : "\"SILU\"");
    if (defect == ROPE)
        set_rope(c, known);
    if (defect == TYPES)
        set_types(c, known);
}

static void spoil_weights(struct attn_case *c, struct known *known, enum defect defect)
{
    struct attn_container *weights = &known->weights;
    struct attn_planned_tensor *victim = &weights->tensors[attn_case_below(c, weights->n)];

    if (defect == NO_TENSOR)
        *victim = weights->tensors[--weights->n];
    if (defect == OTHER_SHAPE)
        victim->shape[attn_case_below(c, (size_t)victim->rank)]++;
    if (defect == OTHER_TENSOR_TYPE)
        victim->dtype = attn_case_chance(c, 50) ? ATTN_DTYPE_I32 : ATTN_DTYPE_BOOL;
    if (defect == SURPLUS_BIAS && known->config.has_qkv_bias)
        attn_case_is_valid(c);
    else if (defect == SURPLUS_BIAS)
        named(c, known,
              known->family == NEO    ? "h.0.attn.attention.q_proj.bias"
              : known->family == NEOX ? "layers.0.attention.query_key_value.bias"
                                      : "layers.0.self_attn.q_proj.bias",
              3, 0);
}

/* --- the case --------------------------------------------------------------------------------- */

static void write_config(struct attn_case *c, const struct known *known, enum defect defect)
{
    struct attn_buffer *out = attn_case_file(c, "config.json");
    size_t order[MAX_MEMBER];

    attn_case_shuffle(c, order, known->n_member);
    attn_json_put(c, out, "{");
    for (size_t i = 0; i < known->n_member; i++) {
        if (i > 0)
            attn_json_put(c, out, ",");
        attn_json_put_key(c, out, known->members[order[i]].key);
        attn_json_put(c, out, known->members[order[i]].value);
    }
    attn_json_put(c, out, "}");
    if (defect >= FIRST_JSON)
        attn_json_spoil(c, out, (int)defect - FIRST_JSON);
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    const enum defect defect = (enum defect)attn_case_defect(c, defects, N_DEFECT);
    char type[32];

    known->family = (enum family)attn_case_below(c, N_FAMILY);
    known->config.n_layer = 1 + attn_case_below(c, MAX_LAYER);
    known->config.n_vocab = 1 + attn_case_below(c, 7);
    known->weights.is_plain = true;
    snprintf(type, sizeof type, "\"%s\"", families[known->family]);
    add(known, "model_type", OTHER, type);
    add_sizes(c, known);
    add_parts(c, known);
    add_words(c, known);
    add_windows(c, known);
    if (known->family != NEO)
        add_rope(c, known);
    spoil_members(c, known, defect);
    add_weights(c, known);
    spoil_weights(c, known, defect);
    write_config(c, known, defect);
    attn_container_write(c, &known->weights,
                         defect == BAD_WEIGHTS ? (int)attn_case_below(c, ATTN_CONTAINER_N_DEFECT)
                                               : -1,
                         attn_case_file(c, "model.safetensors"));
    attn_case_run(c, 3, "inspect", "-q", "-m", ".", NULL);
}

static void check_config(const struct known *known, const struct attn_config *read)
{
    const struct attn_config *config = &known->config;
    bool is_dynamic = false; /* positions are stretched for texts of any length */

    for (size_t layer = 0; read->rope && layer < read->n_layer; layer++)
        is_dynamic |= read->rope[layer].type == ATTN_ROPE_DYNAMIC && read->rope[layer].d_rotary > 2;
    FUZZ_CHECK(strcmp(read->model_type, families[known->family]) == 0);
    FUZZ_CHECK(read->n_layer == config->n_layer && read->n_head == config->n_head);
    FUZZ_CHECK(read->n_kv_head == config->n_kv_head && read->d_model == config->d_model);
    FUZZ_CHECK(read->d_head == config->d_head && read->d_value == config->d_value);
    FUZZ_CHECK(read->d_mlp == config->d_mlp && read->n_vocab == config->n_vocab);
    FUZZ_CHECK(read->n_ctx == (is_dynamic ? SIZE_MAX : config->n_ctx));
    FUZZ_CHECK(read->norm == config->norm);
    FUZZ_CHECK(read->norm_place == config->norm_place && read->qk_norm == config->qk_norm);
    FUZZ_CHECK(read->has_qkv_bias == config->has_qkv_bias);
    FUZZ_CHECK(read->has_out_bias == config->has_out_bias);
    FUZZ_CHECK(read->has_mlp_bias == config->has_mlp_bias);
    FUZZ_CHECK(read->has_gated_mlp == config->has_gated_mlp);
    FUZZ_CHECK(read->has_parallel_residual == config->has_parallel_residual);
    FUZZ_CHECK(read->output == config->output && strcmp(read->act_fn, config->act_fn) == 0);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_rope *rope = &read->rope[layer];
        const size_t window = read->attention[layer].kind == ATTN_ATTENTION_WINDOW
                                  ? read->attention[layer].window
                                  : 0;

        FUZZ_CHECK(window == known->windows[layer]);
        if (known->family == NEO || (known->family == GEMMA3 && window > 0))
            continue;
        FUZZ_CHECK(rope->type == known->rope.type && rope->d_rotary == known->rope.d_rotary);
        FUZZ_CHECK(!(rope->theta < known->rope.theta) && !(rope->theta > known->rope.theta));
    }
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *config = attn_case_find(c, "config.json"),
                             *weights = attn_case_find(c, "model.safetensors");
    const struct attn_blob blobs[] = {{"config.json", config->data, config->size},
                                      {"model.safetensors", weights->data, weights->size}};
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    const int32_t ids[N_TOKEN] = {0, (int32_t)known->config.n_vocab - 1};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_host *host = NULL;
    enum attn_status status;

    options.load = ATTN_READ;
    options.n_thread = 1;
    options.gemm = ATTN_GEMM_PORTABLE;
    request.input.ids = ids;
    request.input.n_id = N_TOKEN;
    status = attn_host_create(&source, &options, &host, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID) {
        check_config(known, attn_model_config(attn_host_model(host)));
        status = attn_run_request(host, &request, &result, err);
        attn_result_release(&result);
    }
    attn_host_free(host);
    return status;
}

const struct attn_grammar attn_grammar_family = {.name = "family",
                                                 .make = make,
                                                 .take = take,
                                                 .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                            FUZZ_BIT(ATTN_UNSUPPORTED)};
