/* family.c - see family.h: the list of families, and reading a config of any family. */
#include "model/family.h"

#include "base/edit_distance.h"
#include "base/status_internal.h"

#include <string.h>

#define FAMILY_ROW(name) &attn_family_##name,
static const struct attn_family *const families[] = {ATTN_FAMILY_MAP(FAMILY_ROW)};
#undef FAMILY_ROW

static const size_t n_family = sizeof families / sizeof *families;

const struct attn_family *attn_family_find(const char *model_type)
{
    for (size_t i = 0; i < n_family; i++)
        if (strcmp(families[i]->model_type, model_type) == 0)
            return families[i];
    return NULL;
}

const struct attn_family *attn_family_at(size_t i)
{
    return i < n_family ? families[i] : NULL;
}

/* Finds the model_type of a config. Old directories lack it; then `architectures` determines it. */
static enum attn_status find_type(const struct attn_json *json, const char **type,
                                  struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *list = attn_node_find(root, "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *first = item ? attn_node_string(item) : NULL;

    ATTN_TRY(attn_json_get_string(json, root, "model_type", type, err));
    if (*type)
        return ATTN_OK;
    if (attn_node_find(root, "d_vocab") && attn_node_find(root, "n_layers")) {
        *type = attn_family_transformer_lens.model_type;
        return ATTN_OK;
    }
    for (size_t i = 0; first && i < n_family; i++)
        if (families[i]->architecture &&
            strncmp(first, families[i]->architecture, strlen(families[i]->architecture)) == 0) {
            *type = families[i]->model_type;
            return ATTN_OK;
        }
    return attn_error_set(
        err, ATTN_FORMAT,
        "'model_type' is missing in '%s', expected a type that is read, as 'gpt2'",
        attn_config_quote(json).text);
}

/* Reads eos_token_id, an id or a list of ids. Ids that are not tokens of the model are ignored. */
void attn_family_read_end_ids(const struct attn_json *json, struct attn_config *config)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), "eos_token_id");
    const bool is_list = node && attn_node_is_array(node);
    int64_t id;

    if (!node || attn_node_is_null(node))
        return;
    config->n_end_id = 0;
    for (node = is_list ? attn_node_first(node) : node; node;
         node = is_list ? attn_node_next(node) : NULL)
        if (config->n_end_id < ATTN_CONFIG_N_END && attn_node_int(node, &id) && id >= 0 &&
            (uint64_t)id < config->n_token)
            config->end_ids[config->n_end_id++] = (int32_t)id;
}

/* Returns the number at KEY if it is in 0 to MOST, else OTHERWISE. */
static int64_t find_number(const struct attn_json *json, const char *key, int64_t most,
                           int64_t otherwise)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), key);
    int64_t value;

    return node && attn_node_int(node, &value) && value >= 0 && value <= most ? value : otherwise;
}

/* Reads a list of forbidden tokens, or of forbidden sequences, of which only those with one token
 * are kept. IS_FIRST: they are forbidden only at the begin. */
static void read_bad_ids(const struct attn_json *json, const char *key, bool is_first,
                         struct attn_stack_config *stack, size_t n_token)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), key);
    size_t *n = is_first ? &stack->n_bad_first_id : &stack->n_bad_id;
    int64_t id;

    list = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    for (; list; list = attn_node_next(list)) {
        const struct attn_node *node = attn_node_is_array(list) ? attn_node_first(list) : list;

        if (!node || (node != list && attn_node_next(node)) || !attn_node_int(node, &id) ||
            id < 0 || (uint64_t)id >= n_token)
            continue;
        if (stack->n_bad_id + stack->n_bad_first_id < ATTN_CONFIG_N_BAD)
            stack->bad_ids[is_first ? ATTN_CONFIG_N_BAD - 1 - *n : *n] = (int32_t)id;
        ++*n;
    }
}

void attn_family_read_generation(const struct attn_json *json, struct attn_config *config)
{
    struct attn_stack_config *stack = &config->stack;
    const int64_t last = (int64_t)config->n_token - 1, most = ATTN_MAX_WIDTH;

    stack->n_bad_id = stack->n_bad_first_id = 0;
    stack->n_beam = (size_t)find_number(json, "num_beams", most, 0);
    stack->n_no_repeat = (size_t)find_number(json, "no_repeat_ngram_size", most, 0);
    stack->n_least = (size_t)find_number(json, "min_length", most, 0);
    stack->start_id = (int32_t)find_number(json, "decoder_start_token_id", last, stack->start_id);
    stack->forced_begin_id = (int32_t)find_number(json, "forced_bos_token_id", last, -1);
    read_bad_ids(json, "bad_words_ids", false, stack, config->n_token);
    read_bad_ids(json, "suppress_tokens", false, stack, config->n_token);
    read_bad_ids(json, "begin_suppress_tokens", true, stack, config->n_token);
}

const char *const attn_family_config_keys[] = {"alignment_heads",
                                               "architectures",
                                               "attn_config",
                                               "attention_layers",
                                               "attention_types",
                                               "begin_suppress_tokens",
                                               "suppress_tokens",
                                               "bad_words_ids",
                                               "blocks",
                                               "eos_token_id",
                                               "language_config",
                                               "llm_config",
                                               "id2label",
                                               "image_size",
                                               "labels",
                                               "layer_types",
                                               "layers_block_type",
                                               "mlp_only_layers",
                                               "no_rope_layers",
                                               "patch_size",
                                               "pruned_heads",
                                               "quantization_config",
                                               "rope_parameters",
                                               "rope_scaling",
                                               "text_config",
                                               "text_config_dict",
                                               "vision_config",
                                               "vision_config_dict",
                                               NULL};

static const struct attn_decoder_part text_parts[] = {
    {"gemma3", "gemma3_text", "pictures are", false},
    {"shieldgemma2", "gemma3_text", "pictures are", false},
    {"mistral3", "mistral", "pictures are", false},
    {"idefics2", "mistral", "pictures are", false},
    {"smolvlm", "llama", "pictures are", false},
    {"idefics3", "llama", "pictures are", false},
    {"llava", "llama", "pictures are", false},
    {"vipllava", "llama", "pictures are", false},
    {"llava_next", "llama", "pictures are", false},
    {"llava_next_video", "llama", "pictures are", false},
    {"video_llava", "llama", "pictures are", false},
    {"llava_onevision", "qwen2", "pictures are", false},
    {"internvl", "qwen2", "pictures are", false},
    {"ovis2", "qwen2", "pictures are", false},
    {"qwen2_vl", "qwen2_vl_text", "pictures are", true},
    {"qwen2_5_vl", "qwen2_5_vl_text", "pictures are", true},
    {"qwen3_vl", "qwen3_vl_text", "pictures are", false},
    {"qwen3_vl_moe", "qwen3_vl_moe_text", "pictures are", false},
    {"aya_vision", "cohere2", "pictures are", false},
    {"cohere2_vision", "cohere2", "pictures are", false},
    {"voxtral", "llama", "sound is", false},
    {"qwen2_audio", "qwen2", "sound is", false},
    {"granite_speech", "granite", "sound is", false},
};

/* Model types that are not supported, with the reason, and the nearest type that is. */
static const struct refused_type {
    const char *types; /* separated by spaces */
    const char *reason, *nearest;
} refused_types[] = {
    {"longt5", "its encoder attends to blocks of the text", "t5"},
    {"switch_transformers", "it has two stacks and experts", NULL},
    {"led", "it has two stacks, and attention of its own", NULL},
    {"encoder-decoder vision-encoder-decoder", "it is made of two models", NULL},
    {"deberta deberta-v2 xlnet", "its scores have terms of positions", NULL},
    {"mpnet swin beit", "its scores have a bias of positions", NULL},
    {"xlm nomic_bert squeezebert", "its blocks are not read", NULL},
    {"esmc esm3 evolla", "its blocks are not read", "esm"},
    {"longformer big_bird reformer funnel convbert", "it has attention of its own", NULL},
    {"roberta-prelayernorm xlm-roberta-xl", "its norms stand before attention and MLP", NULL},
    {"layoutlm", "it has positions on a page", NULL},
    {"deit", "it has a token of distillation beside [CLS]", NULL},
    {"vit_mae", "it reads a part of the patches", NULL},
    {"siglip siglip_vision_model", "its picture has no [CLS]", NULL},
    {"dinov3_vit", "it turns positions of patches", NULL},
    {"hubert wav2vec2", "encoders of sound are not read", NULL},
    {"qwen3_next qwen3_5 qwen3_5_text", "layers without attention maps (Gated DeltaNet)", "qwen3"},
    {"mamba mamba2 falcon_mamba", "layers without attention maps (a state space)", NULL},
    {"rwkv", "layers without attention maps (a recurrence)", NULL},
    {"jamba falcon_h1 lfm2 bamba zamba2 nemotron_h recurrent_gemma",
     "layers without attention maps, between others", "llama"},
    {"deepseek_v2 deepseek_v3", "keys and values from a smaller vector (MLA)", "qwen3"},
    {"minimax llama4 dbrx ernie4_5_moe glm4_moe dots1 hunyuan_v1_moe lfm2_moe",
     "mixture of experts of a kind that is not read", "mixtral"},
    {"gemma3n gemma4", "its blocks have further parts", "gemma3_text"},
    {"minicpm", "transformers 5.23 does not have it, its config needs code of its own", "granite"},
    {"internlm2", "transformers 5.23 does not have it, its config needs code of its own",
     "internlm3"},
    {"minicpm3", "keys and values from a smaller vector (MLA)", "granite"},
    {"baichuan", "its config needs code of its own", "llama"},
    {"chatglm", "its config needs code of its own", "glm4"},
    {"qwen", "its config needs code of its own", "qwen2"},
    {"stablelm_epoch", "a form of 2023", "stablelm"},
    {"RefinedWeb RefinedWebModel", "a form of 2023", "falcon"},
    {"mllama", "it reads pictures and text", "llama"},
    {"paligemma", "it reads pictures and text", "gemma3_text"},
};

/* Keys that say what a model of an unknown type is. */
static const struct {
    const char *key, *reason;
} telling[] = {
    {"auto_map", "its config needs code of its own"},
    {"vision_config", "it reads pictures and text"},
    {"audio_config", "it reads sound and text"},
    {"kv_lora_rank", "keys and values from a smaller vector (MLA)"},
    {"num_experts", "mixture of experts of a kind that is not read"},
    {"num_local_experts", "mixture of experts of a kind that is not read"},
    {"n_routed_experts", "mixture of experts of a kind that is not read"},
    {"conv_dim", "an encoder of sound"},
    {"num_mel_bins", "it reads sound"},
    {"image_size", "an encoder of pictures of a kind that is not read"},
    {"num_channels", "it reads pictures"},
    {"decoder_layers", "it has two stacks of a kind that is not read"},
    {"state_size", "layers without attention maps (a state space)"},
    {NULL, "no rule here describes its blocks"},
};

/* Whether WORD is one of WORDS, which spaces separate. */
static bool has_word(const char *words, const char *word)
{
    const size_t size = strlen(word);

    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");

        if (n == size && memcmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static const struct refused_type *find_refused(const char *type)
{
    for (size_t i = 0; i < sizeof refused_types / sizeof *refused_types; i++)
        if (has_word(refused_types[i].types, type))
            return &refused_types[i];
    return NULL;
}

/* Returns the reason why TYPE, a type without a row, is not read. */
static const char *find_reason(const struct attn_json *json, const char *type)
{
    size_t i = 0;

    if (attn_family_find(type))
        return "it is no decoder";
    while (telling[i].key && !attn_config_find_given(attn_json_root(json), telling[i].key))
        i++;
    return telling[i].reason;
}

/* Refuses TYPE, which the config of JSON has at the top or, IN_SECTION, in the object of a decoder.
 */
static enum attn_status refuse_type(const struct attn_json *json, const char *type,
                                    bool is_in_section, struct attn_error *err)
{
    const struct refused_type *refused = find_refused(type);
    struct attn_typo typo = {.typed = type, .size = strlen(type)};
    struct refused_type made = {.reason = ""};

    for (size_t i = 0; !refused && i < n_family; i++)
        if (strncmp(type, families[i]->model_type, 3) == 0)
            attn_typo_try(&typo, families[i]->model_type);
    for (size_t i = 0; !refused && i < sizeof text_parts / sizeof *text_parts; i++)
        if (strncmp(type, text_parts[i].type, 3) == 0)
            attn_typo_try(&typo, text_parts[i].type);
    if (!refused) {
        made.reason = find_reason(json, type);
        made.nearest = is_in_section ? NULL : attn_typo_meant(&typo);
        refused = &made;
    }
    attn_error_set(err, ATTN_UNSUPPORTED, "'model_type'%s in '%s' is '%s', which is not read: %s",
                   is_in_section ? " of 'text_config'" : "", attn_config_quote(json).text,
                   attn_quote_string(type).text, refused->reason);
    if (refused->nearest)
        attn_error_hint(err, "the nearest type that is read is '%s'", refused->nearest);
    return ATTN_UNSUPPORTED;
}

/* Reads a config of FAMILY, which has one tower. */
static enum attn_status read_tower(const struct attn_json *json, const struct attn_family *family,
                                   struct attn_config *config, struct attn_config_layers *layers,
                                   struct attn_error *err)
{
    *config = family->form.defaults;
    config->size = sizeof *config;
    config->model_type = family->model_type;
    ATTN_TRY((family->read_config ? family->read_config : attn_config_read_form)(
        json, &family->form, config, layers, err));
    if (config->image.patch_height == 0) {
        if (config->n_token == 0)
            config->n_token = config->n_vocab;
        attn_family_read_end_ids(json, config);
        attn_family_read_generation(json, config);
        ATTN_TRY(attn_config_read_classes(json, &family->heads, config, layers, err));
    }
    if (config->d_out == 0)
        config->d_out = config->d_model;
    if (config->d_embed == 0)
        config->d_embed = config->d_model;
    return attn_config_check(json, config, err);
}

const struct attn_decoder_part *attn_family_find_part(const char *model_type)
{
    for (size_t i = 0; i < sizeof text_parts / sizeof *text_parts; i++)
        if (strcmp(text_parts[i].type, model_type) == 0)
            return &text_parts[i];
    return NULL;
}

/* Reads the config of the decoder of a text PART. Its keys are in an object, or, in files of
 * Qwen2-VL of transformers 4, at the top. Of the top, only the tokens that end a text count.
 * Whether the output is tied follows from the file: it has another matrix, or none. */
static enum attn_status read_part(struct attn_json *json, const struct attn_decoder_part *part,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    static const char *const sections[] = {"text_config", "llm_config", "language_config"};
    const struct attn_node *root = attn_json_root(json), *section = NULL;
    const char *type = part->text_type;
    const struct attn_family *its;
    enum attn_status status;

    for (size_t i = 0; i < sizeof sections / sizeof *sections && !section; i++)
        ATTN_TRY(attn_config_find_object(json, root, sections[i], &section, err));
    if (!section && !part->may_lack_section)
        return attn_error_set(err, ATTN_FORMAT, "'text_config' is missing in '%s'",
                              attn_config_quote(json).text);
    if (section)
        ATTN_TRY(attn_json_get_string(json, section, "model_type", &type, err));
    its = attn_family_find(type);
    if (!its || its->form.defaults.is_encoder || its->encoder || its->towers[0])
        return refuse_type(json, type, section != NULL, err);
    ATTN_TRY(attn_config_refuse_extras(json, &its->form, err));
    attn_json_enter(json, section);
    status = read_tower(json, its, config, layers, err);
    attn_json_enter(json, NULL);
    ATTN_TRY(status);
    attn_family_read_end_ids(json, config);
    if (config->output != ATTN_OUTPUT_NONE)
        config->output = ATTN_OUTPUT_TIED;
    return ATTN_OK;
}

/* Finds the object of a two-tower config that describes TOWER. Old files may have a second object,
 * which then takes precedence (configuration_clip.py). */
static enum attn_status find_section(const struct attn_json *json, enum attn_tower tower,
                                     const struct attn_node **section, struct attn_error *err)
{
    const bool is_text = tower == ATTN_TOWER_TEXT;
    const char *key = is_text ? "text_config" : "vision_config";
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *node = attn_node_find(root, key);
    const struct attn_node *old =
        attn_node_find(root, is_text ? "text_config_dict" : "vision_config_dict");

    if (old && !attn_node_is_null(old))
        node = old;
    if (!node || attn_node_is_null(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", key,
                              attn_config_quote(json).text);
    if (!attn_node_is_object(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", key,
                              attn_config_quote(json).text);
    *section = node;
    return ATTN_OK;
}

/* Reads the config of TOWER, whose keys are in a separate object; only the width of the projection
 * is a key of the model. */
static enum attn_status read_of_two(struct attn_json *json, const struct attn_family *family,
                                    enum attn_tower tower, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *section = NULL;
    const struct attn_family *its = attn_family_find(family->towers[tower]);
    size_t d_projected = 512;
    enum attn_status status;

    if (!its)
        return refuse_type(json, family->towers[tower], false, err);
    ATTN_TRY(attn_config_refuse_extras(json, &family->form, err));
    ATTN_TRY(attn_config_get_width(json, "projection_dim", &d_projected, err));
    ATTN_TRY(find_section(json, tower, &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, its, config, layers, err);
    attn_json_enter(json, NULL);
    config->d_projected = d_projected;
    config->has_two_towers = true;
    return status;
}

enum attn_status attn_family_read_encoder(const struct attn_json *json,
                                          const struct attn_family *family,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    return read_tower(json, family->encoder, config, layers, err);
}

enum attn_status attn_family_read_config(struct attn_json *json, const struct attn_family *family,
                                         enum attn_tower tower, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const char *type = NULL;

    if (!family) {
        ATTN_TRY(find_type(json, &type, err));
        if (attn_family_find_part(type))
            return read_part(json, attn_family_find_part(type), config, layers, err);
        family = attn_family_find(type);
    }
    if (!family)
        return refuse_type(json, type, false, err);
    return family->towers[0] ? read_of_two(json, family, tower, config, layers, err)
                             : read_tower(json, family, config, layers, err);
}
