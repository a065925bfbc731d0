/* family.c - see family.h: the list of families, and reading a config of any family. */
#include "model/family.h"

#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "model/tower_reader.h"

#include <string.h>

#define FAMILY_ROW(name) &attn_family_##name,
static const struct attn_family *const families[] = {ATTN_FAMILY_MAP(FAMILY_ROW)};
#undef FAMILY_ROW

static const size_t n_family = sizeof families / sizeof *families;

const struct attn_family *attn_family_at(size_t i)
{
    return i < n_family ? families[i] : attn_families[i - n_family];
}

const struct attn_family *attn_family_find(const char *model_type)
{
    const struct attn_family *family;

    for (size_t i = 0; (family = attn_family_at(i)); i++)
        if (strcmp(family->model_type, model_type) == 0)
            break;
    return family;
}

enum attn_status attn_family_find_type(const struct attn_json *json, const char **type,
                                       struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *list = attn_node_find(root, "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *first = item ? attn_node_string(item) : NULL;
    const struct attn_family *family;

    ATTN_TRY(attn_json_get_string(json, root, "model_type", type, err));
    if (*type)
        return ATTN_OK;
    if (attn_node_find(root, "d_vocab") && attn_node_find(root, "n_layers")) {
        *type = "transformer_lens";
        return ATTN_OK;
    }
    for (size_t i = 0; first && (family = attn_family_at(i)); i++)
        if (family->architecture &&
            strncmp(first, family->architecture, strlen(family->architecture)) == 0) {
            *type = family->model_type;
            return ATTN_OK;
        }
    return ATTN_OK;
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
            config->end_ids[config->n_end_id++] = id;
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
                                               "auto_map",
                                               "begin_suppress_tokens",
                                               "suppress_tokens",
                                               "attn_layer_indices",
                                               "bad_words_ids",
                                               "blocks",
                                               "eos_token_id",
                                               "full_attn_idxs",
                                               "language_config",
                                               "llm_config",
                                               "id2label",
                                               "image_grid_pinpoints",
                                               "image_size",
                                               "labels",
                                               "layer_types",
                                               "layers_block_type",
                                               "mlp_only_layers",
                                               "mlp_multipliers",
                                               "ssm_multipliers",
                                               "no_rope_layers",
                                               "patch_size",
                                               "per_layer_config",
                                               "pos_att_type",
                                               "pruned_heads",
                                               "rope_parameters",
                                               "rope_scaling",
                                               "time_step_limit",
                                               "text_config",
                                               "text_config_dict",
                                               "vision_config",
                                               "vision_config_dict",
                                               NULL};

/* Types whose encoders are not read; those whose pictures are read are rows of vision_family.c. */
static const struct attn_decoder_part text_parts[] = {
    {"shieldgemma2", "gemma3_text", "pictures are", false, false, ATTN_TIES_AS_TEXT, NULL},
    {"idefics2", "mistral", "pictures are", false, false, ATTN_TIES_NOT, NULL},
    {"vipllava", "llama", "pictures are", false, false, ATTN_TIES_NOT, NULL},
    {"llava_next_video", "llama", "pictures are", false, false, ATTN_TIES_AS_TEXT, NULL},
    {"video_llava", "llama", "pictures are", false, false, ATTN_TIES_NOT, NULL},
    {"ovis2", "qwen2", "pictures are", false, false, ATTN_TIES, NULL},
    {"qwen3_vl_moe", "qwen3_vl_moe_text", "pictures are", false, false, ATTN_TIES_NOT, NULL},
    {"gemma4", "gemma4_text", "pictures and sound are", false, true, ATTN_TIES, NULL},
    {"qwen3_5", "qwen3_5_text", "pictures are", false, false, ATTN_TIES_AS_TEXT, NULL},
    {"aya_vision", "cohere2", "pictures are", false, false, ATTN_TIES, NULL},
    {"cohere2_vision", "cohere2", "pictures are", false, false, ATTN_TIES, NULL},
    {"voxtral", "llama", "sound is", false, false, ATTN_TIES_AS_TEXT, NULL},
    {"qwen2_audio", "qwen2", "sound is", false, false, ATTN_TIES_AS_TEXT, NULL},
    {"granite_speech", "granite", "sound is", false, false, ATTN_TIES, NULL},
};

/* Returns part number I of all decoders beside encoders; NULL after the last. */
static const struct attn_decoder_part *part_at(size_t i)
{
    size_t n = 0;

    for (; attn_tower_reader && attn_tower_reader->part_at(n); n++)
        if (n == i)
            return attn_tower_reader->part_at(n);
    return i - n < sizeof text_parts / sizeof *text_parts ? &text_parts[i - n] : NULL;
}

/* Model types that are not supported, with the reason, and the nearest type that is. */
static const struct refused_type {
    const char *types; /* separated by spaces */
    const char *reason, *nearest;
} refused_types[] = {
    /* texts */
    {"deberta xlnet transfo-xl", "its scores have terms of positions", NULL},
    {"xlm flaubert squeezebert mobilebert canine perceiver mra yoso nystromformer "
     "gte ibert",
     "its blocks are not read", NULL},
    {"esmc esm3 evolla", "its blocks are not read", "esm"},
    {"longformer big_bird reformer funnel convbert", "it has attention of its own", NULL},
    {"roberta-prelayernorm xlm-roberta-xl megatron-bert",
     "its norms stand before attention and MLP", NULL},
    {"layoutlm layoutlmv2 layoutlmv3 layoutxlm lilt bros markuplm tapas udop",
     "it has positions on a page", NULL},
    {"ernie ernie_m rembert roc_bert splinter data2vec-text luke bert-generation nezha xmod",
     "its embedding or its blocks differ from BERT's", "bert"},
    {"roformer", "it turns positions", NULL},
    {"modernbert-decoder", "a decoder with ModernBERT's blocks", "modernbert"},
    {"fnet", "it has no attention", NULL},
    {"openai-gpt ctrl biogpt cpmant persimmon gpt_neox_japanese diffllama doge bitnet blt "
     "vaultgemma jais2 hrm_text cwm moshi",
     "its blocks are not read", NULL},
    /* two stacks */
    {"longt5", "its encoder attends to blocks of the text", "t5"},
    {"switch_transformers nllb-moe", "it has two stacks and experts", NULL},
    {"led bigbird_pegasus pegasus_x", "it has two stacks, and attention of its own", NULL},
    {"blenderbot-small fsmt mvp plbart prophetnet xlm-prophetnet t5gemma t5gemma2 trocr rag",
     "it has two stacks of a kind that is not read", NULL},
    {"encoder-decoder vision-encoder-decoder speech-encoder-decoder", "it is made of two models",
     NULL},
    /* pictures */
    {"swin swinv2 beit data2vec-vision donut-swin", "its scores have a bias of positions", NULL},
    {"vit_mae vit_msn ijepa", "it reads a part of the patches", NULL},
    {"siglip2 siglip2_vision_model", "its pictures are lists of patches of any shape", "siglip"},
    {"convnext convnextv2 dinov3_convnext resnet regnet bit efficientnet mobilenet_v1 mobilenet_v2 "
     "poolformer focalnet hgnet_v2",
     "an encoder of pictures without attention", NULL},
    {"cvt levit pvt pvt_v2 segformer mobilevit mobilevitv2 dinat hiera swiftformer vitdet "
     "imagegpt pixio radio timm_wrapper",
     "an encoder of pictures whose blocks are not read", NULL},
    {"detr conditional_detr deformable_detr dab-detr rt_detr rt_detr_v2 rf_detr yolos d_fine "
     "table-transformer mask2former maskformer oneformer grounding-dino omdet-turbo sam sam2 sam3 "
     "sam_hq eomt",
     "it finds objects in pictures", NULL},
    {"dpt depth_anything depth_pro glpn zoedepth", "it measures depth in pictures", NULL},
    {"videomae timesformer vivit vjepa2 videoprism", "it reads films", NULL},
    {"align altclip blip chinese_clip clipseg groupvit owlvit owlv2 xclip flava metaclip_2 aimv2 "
     "bridgetower vision-text-dual-encoder",
     "two towers of another kind", "clip"},
    {"clap", "two towers, of sound and texts", NULL},
    /* pictures or sound, and texts */
    {"mllama", "its decoder has layers of cross-attention to pictures", "llama"},
    {"colpali", "its prompt is trained to be seen both ways", "gemma"},
    {"phi4_multimodal", "its decoder has adapters for pictures and sound inside", "phi3"},
    {"glm4v glm4v_moe glm_ocr glm46v", "its positions have sections in another order", "glm4"},
    {"internvl_chat",
     "its keys are not those of transformers: take the files whose name ends in -hf", "internvl"},
    {"florence2", "it reads pictures and text, with BART inside", "bart"},
    {"gemma3n gemma3n_text", "four streams (AltUp)", "gemma3_text"},
    {"gemma4_unified", "it reads pictures and sound without towers", "gemma4"},
    {"gemma4_assistant gemma4_unified_assistant", "it drafts tokens for another model", "gemma4"},
    {"lfm2_vl lfm3_vl", "it reads pictures and text, and has layers without attention maps",
     "lfm2"},
    {"qwen3_5_moe", "it reads pictures and text, and has experts between its layers", "qwen3_5"},
    {"blip-2 instructblip instructblipvideo kosmos-2 kosmos-2.5 fuyu emu3 idefics molmo molmo2 "
     "minicpmv janus chameleon git pix2struct aria got_ocr2 deepseek_vl "
     "deepseek_vl_hybrid deepseek_ocr2 perception_lm fast_vlm ovis visual_bert vilt lxmert "
     "llava_llama llava_qwen llava_mistral phi3_v llava_qwen2 moondream moondream1 moondream3 "
     "cogvlm minicpmo pi0 "
     "ernie4_5_vl_moe video_llama_3 qwen2_5_vl_moe kimi_k25 kimi_vl",
     "it reads pictures and text", NULL},
    {"qwen2_5_omni qwen3_omni_moe", "it reads and speaks", "qwen2"},
    {"audioflamingo3 voxtral_realtime granite_speech_plus kyutai_speech_to_text ultravox "
     "vibevoice glmasr qwen3_asr",
     "it reads sound and text", NULL},
    {"hubert wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm sew sew-d unispeech unispeech-sat "
     "data2vec-audio audio-spectrogram-transformer parakeet_ctc parakeet_encoder lasr_ctc",
     "an encoder of sound", NULL},
    {"speech_to_text speecht5 seamless_m4t seamless_m4t_v2 moonshine pop2piano canary",
     "it hears or speaks, with blocks that are not read", "whisper"},
    {"encodec mimi dac xcodec snac", "codes of sound", NULL},
    {"bark vits musicgen musicgen_melody csm dia fastspeech2_conformer", "it speaks or plays",
     NULL},
    {"decision_transformer autoformer informer patchtst patchtsmixer time_series_transformer "
     "timesfm",
     "it reads series of numbers", NULL},
    /* layers without maps, and other attention */
    {"qwen3_5_moe_text", "Gated DeltaNet between experts", "qwen3_5_text"},
    {"olmo_hybrid", "Gated DeltaNet of another form", "qwen3_5_text"},
    {"lfm2_moe", "short convolutions between experts", "lfm2"},
    {"zamba2", "Mamba2 and attention that layers share", "bamba"},
    {"mamba mamba2 falcon_mamba", "layers without attention maps (a state space)", NULL},
    {"rwkv xlstm", "layers without attention maps (a recurrence)", NULL},
    {"jamba zamba recurrent_gemma kimi_linear bailing_hybrid",
     "layers without attention maps, between others", "llama"},
    {"deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 glm4_moe_lite glm_moe_dsa longcat_flash "
     "mistral4 youtu",
     "keys and values from a smaller vector (MLA)", "qwen3"},
    {"minimax minimax_m2 llama4 llama4_text dbrx ernie4_5_moe glm4_moe dots1 hunyuan_v1_moe "
     "jetmoe flex_olmo afmoe exaone_moe solar_open arctic grok-1 cohere2_moe granitemoe_swa "
     "mimo_v2_flash step3p5 laguna",
     "mixture of experts of a kind that is not read", "mixtral"},
    /* code of their own, and forms of 2023 */
    {"minicpm", "transformers 5.23 does not have it, its config needs code of its own", "granite"},
    {"internlm internlm2", "transformers 5.23 does not have it, its config needs code of its own",
     "internlm3"},
    {"minicpm3", "keys and values from a smaller vector (MLA)", "granite"},
    {"baichuan", "its config needs code of its own", "llama"},
    {"chatglm", "its config needs code of its own", "glm4"},
    {"qwen", "its config needs code of its own", "qwen2"},
    {"stablelm_epoch", "a form of 2023", "stablelm"},
    {"RefinedWeb RefinedWebModel", "a form of 2023", "falcon"},
};

/* Keys of a config, or parts of its type, that say what a model of an unknown type is. */
static const struct {
    const char *key, *word, *reason;
} telling[] = {
    {"auto_map", NULL, "its config needs code of its own"},
    {"vision_config", "_vl", "it reads pictures and text"},
    {"audio_config", "asr", "it reads sound and text"},
    {NULL, "ocr", "it reads pictures and text"},
    {NULL, "omni", "it reads pictures, sound and text"},
    {NULL, "vision", "a part that reads pictures"},
    {NULL, "audio", "a part that reads sound"},
    {NULL, "speech", "it reads sound"},
    {NULL, "detr", "it finds objects in pictures"},
    {NULL, "sam", "it finds objects in pictures"},
    {"kv_lora_rank", NULL, "keys and values from a smaller vector (MLA)"},
    {"num_experts", NULL, "mixture of experts of a kind that is not read"},
    {"num_local_experts", NULL, "mixture of experts of a kind that is not read"},
    {"n_routed_experts", NULL, "mixture of experts of a kind that is not read"},
    {"conv_dim", NULL, "an encoder of sound"},
    {"num_mel_bins", NULL, "it reads sound"},
    {"image_size", "vit", "an encoder of pictures of a kind that is not read"},
    {"num_channels", NULL, "it reads pictures"},
    {"decoder_layers", NULL, "it has two stacks of a kind that is not read"},
    {"state_size", NULL, "layers without attention maps (a state space)"},
    {NULL, "", "no rule here describes its blocks"},
};

static const struct refused_type *find_refused(const char *type)
{
    for (size_t i = 0; i < sizeof refused_types / sizeof *refused_types; i++)
        if (attn_text_has_word(refused_types[i].types, type, strlen(type)))
            return &refused_types[i];
    return NULL;
}

/* Returns the reason why TYPE, a type without a row, is not read. */
static const char *find_reason(const struct attn_json *json, const char *type)
{
    size_t i = 0;

    if (attn_family_find(type))
        return "it is no decoder";
    while (!(telling[i].word && strstr(type, telling[i].word)) &&
           !(telling[i].key && attn_config_find_given(attn_json_root(json), telling[i].key)))
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
    for (size_t i = 0; !refused && part_at(i); i++)
        if (strncmp(type, part_at(i)->type, 3) == 0)
            attn_typo_try(&typo, part_at(i)->type);
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
    const struct attn_decoder_part *part;

    for (size_t i = 0; (part = part_at(i)); i++)
        if (strcmp(part->type, model_type) == 0)
            break;
    return part;
}

/* Reads the ids that stand for pictures and sound. */
static void read_part_ids(const struct attn_json *json, struct attn_config *config)
{
    static const char *const keys[] = {"image_token_id", "audio_token_id", "video_token_id"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        config->part_ids[i] = (int32_t)find_number(json, keys[i], (int64_t)config->n_token - 1, 0);
}

/* Reads the config of the decoder of a text PART. Its keys are in an object, or, in files of
 * Qwen2-VL of transformers 4, at the top. Of the top, only the tokens that end a text count, and
 * whether the output is tied. */
static enum attn_status read_part(struct attn_json *json, const struct attn_decoder_part *part,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    static const char *const sections[] = {"text_config", "llm_config", "language_config"};
    /* Transformers applies it to SmolVLM, and passes it over in the others. */
    static const struct attn_config_extra of_top[] = {{"is_causal", ATTN_WISH_FALSE},
                                                      {.key = NULL}};
    const struct attn_node *root = attn_json_root(json), *section = NULL;
    const char *type = part->text_type;
    bool is_tied = part->ties == ATTN_TIES;
    const struct attn_family *its;
    struct attn_family read;
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
    ATTN_TRY(attn_config_refuse(json, root, of_top, err));
    read = *its;
    read.form.sees_prompt = part->sees_prompt;
    attn_json_enter(json, section);
    status = read_tower(json, &read, config, layers, err);
    attn_json_enter(json, NULL);
    ATTN_TRY(status);
    attn_family_read_end_ids(json, config);
    if (read.form.replaces_parts)
        read_part_ids(json, config);
    ATTN_TRY(attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err));
    if (config->output == ATTN_OUTPUT_TIED && part->ties == ATTN_TIES_AS_TEXT)
        is_tied = true;
    if (config->output != ATTN_OUTPUT_NONE)
        config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return attn_tower_reader
               ? attn_tower_reader->read_config(json, part->type, section, config, layers, err)
               : ATTN_OK;
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
        return attn_json_refuse(json, err, ATTN_FORMAT, key, "is not an object");
    *section = node;
    return ATTN_OK;
}

/* Whether the config of JSON is of SigLIP's classifier of pictures, which has one tower. */
static bool is_siglip_classifier(const struct attn_json *json)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *name = item ? attn_node_string(item) : NULL;

    return name && strcmp(name, "SiglipForImageClassification") == 0;
}

/* Lets CONFIG, that of SigLIP's tower, classify the mean of its rows instead of what its head
 * pools. */
static enum attn_status read_siglip_classifier(const struct attn_json *json,
                                               struct attn_config *config,
                                               struct attn_config_layers *layers,
                                               struct attn_error *err)
{
    config->pool_head = NULL;
    config->d_projected = 0;
    config->output = ATTN_OUTPUT_OWN;
    config->has_output_bias = true;
    config->task = ATTN_TASK_SEQUENCE;
    config->pooling = config->image.pooling = ATTN_POOLING_MEAN;
    ATTN_TRY(attn_config_read_labels(json, config, layers, err));
    ATTN_TRY(attn_config_read_kind(json, config, err));
    return attn_config_check(json, config, err);
}

/* Reads the config of TOWER, whose keys are in a separate object; only the width of the projection
 * is a key of the model. */
static enum attn_status read_of_two(struct attn_json *json, const struct attn_family *family,
                                    enum attn_tower asked, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const bool is_classifier = is_siglip_classifier(json);
    const enum attn_tower tower =
        asked == ATTN_TOWER_TEXT && !is_classifier ? asked : ATTN_TOWER_IMAGE;
    const struct attn_node *section = NULL;
    const struct attn_family *its = attn_family_find(family->towers[tower]);
    size_t d_projected = family->form.defaults.d_projected;
    enum attn_status status;

    if (!its)
        return refuse_type(json, family->towers[tower], false, err);
    ATTN_TRY(attn_config_refuse_extras(json, &family->form, err));
    if (d_projected > 0)
        ATTN_TRY(attn_config_get_width(json, "projection_dim", &d_projected, err));
    ATTN_TRY(find_section(json, tower, &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, its, config, layers, err);
    attn_json_enter(json, NULL);
    if (status == ATTN_OK && is_classifier)
        return read_siglip_classifier(json, config, layers, err);
    if (d_projected > 0)
        config->d_projected = d_projected;
    config->has_two_towers = true;
    return status;
}

enum attn_status attn_family_read_tower(struct attn_json *json, const struct attn_config *decoder,
                                        struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *section = NULL;
    enum attn_status status;

    ATTN_TRY(attn_config_find_object(json, attn_json_root(json), "vision_config", &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, decoder->vision.tower, config, layers, err);
    attn_json_enter(json, NULL);
    config->vision = decoder->vision;
    config->vision.d_feature = decoder->d_model;
    if (config->vision.n_above > 0)
        config->has_final_norm = false;
    config->stack.is_of_decoder = true;
    return status;
}

enum attn_status attn_family_read_encoder(const struct attn_json *json,
                                          const struct attn_family *family,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    ATTN_TRY(read_tower(json, family->encoder, config, layers, err));
    config->stack.is_of_decoder = true;
    return ATTN_OK;
}

enum attn_status attn_family_read_config(struct attn_json *json, const struct attn_family *family,
                                         enum attn_tower tower, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const char *type = NULL;

    if (!family) {
        ATTN_TRY(attn_family_find_type(json, &type, err));
        if (!type)
            return attn_error_set(err, ATTN_FORMAT, "'model_type' is missing in '%s'",
                                  attn_config_quote(json).text);
        if (attn_family_find_part(type))
            return read_part(json, attn_family_find_part(type), config, layers, err);
        family = attn_family_find(type);
    }
    if (!family)
        return refuse_type(json, type, false, err);
    return family->towers[0] ? read_of_two(json, family, tower, config, layers, err)
                             : read_tower(json, family, config, layers, err);
}
