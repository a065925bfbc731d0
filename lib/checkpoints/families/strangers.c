/* strangers.c - types of models that are not read, and why; and the family of a model whose config
 * names no type, by the names of its tensors. */
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "families/families.h"
#include "formats/tensor_files_internal.h"
#include "model/weights.h"

#include <string.h>

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

/* Model types that are not supported, with the reason, and the nearest type that is. */
static const struct {
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

/* Returns the reason why TYPE, a type without a row, is not read. */
static const char *find_reason(const struct attn_json *json, const char *type)
{
    size_t i = 0;

    while (!(telling[i].word && strstr(type, telling[i].word)) &&
           !(telling[i].key && attn_config_find_given(attn_json_root(json), telling[i].key)))
        i++;
    return telling[i].reason;
}

static const char *reason_of(const struct attn_json *json, const char *type, const char **nearest)
{
    (void)json;
    for (size_t i = 0; i < sizeof refused_types / sizeof *refused_types; i++)
        if (attn_text_has_word(refused_types[i].types, type, strlen(type))) {
            *nearest = refused_types[i].nearest;
            return refused_types[i].reason;
        }
    return NULL;
}

/* --- Configs without a type ------------------------------------------------------------------- */

/* Whether ST has the tensors of BERT with types of tokens for pairs of texts. RoBERTa's have the
 * same names, but one type. */
static bool has_pair_types(const struct attn_tensor_files *st)
{
    static const char *const names[] = {"embeddings.token_type_embeddings.weight",
                                        "bert.embeddings.token_type_embeddings.weight"};
    struct attn_tensor_entry entry;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attn_tensor_files_find(st, names[i], &entry) && entry.tensor.rank > 0 &&
            entry.tensor.shape[0] > 1)
            return true;
    return false;
}

/* Returns how many tensors of ST are named as those of FAMILY; 0 if ST lacks its first. */
static size_t count_known(const struct attn_family *family, const struct attn_tensor_files *st)
{
    const struct attn_config any = family->form.defaults;
    size_t n = 0;

    if (family->n_rule == 0 ||
        !(attn_weights_are_named(family, family->prefix ? family->prefix : "", st) ||
          attn_weights_are_named(family, "", st)))
        return 0;
    for (size_t i = 0; i < attn_tensor_files_count(st); i++)
        n += attn_weights_know(family, &any, attn_tensor_files_entry(st, i).name);
    return n;
}

/* Finds the family that alone has the tensors of ST, of a config without a type, as models of 2019
 * have. ATTN_FORMAT, with the line that JSON lacks, if it is none or several. */
static enum attn_status guess(const struct attn_json *json, const struct attn_tensor_files *st,
                              const struct attn_family **found, struct attn_error *err)
{
    const char *timm = NULL;
    /* A class that is not read may have the names of one that is. */
    const bool is_named = attn_node_find(attn_json_root(json), "architectures") != NULL;
    const struct attn_family *family;
    size_t most = 0, n = 0, n_known, used = 0;
    char names[200] = "";

    for (size_t i = 0; !is_named && (family = attn_families[i]) != NULL; i++) {
        n_known = count_known(family, st);
        if (n_known < most || n_known == 0 || family == &attn_family_nanogpt)
            continue; /* nanoGPT writes no config */
        if (n_known > most)
            n = 0, used = 0, *found = family;
        most = n_known;
        n++;
        attn_fixed_text_append(names, sizeof names, &used, "%s%s", n > 1 ? ", " : "",
                               family->model_type);
        if (family == &attn_family_bert && has_pair_types(st))
            return ATTN_OK;
    }
    if (n == 1)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT,
                   "'model_type' is missing in '%s', expected a type that is read",
                   attn_config_quote(json).text);
    if (n > 1)
        attn_error_hint(err,
                        "add \"model_type\": \"%s\" to it, or another type with such tensors: %s",
                        (*found)->model_type, names);
    else if (attn_json_get_string(json, attn_json_root(json), "architecture", &timm, NULL) ==
                 ATTN_OK &&
             timm)
        attn_error_hint(err, "it is a config of timm; hf download google/vit-base-patch16-224, for "
                             "one, fetches a ViT that is read");
    else
        attn_error_hint(err, "add the type of the model to it, as in \"model_type\": \"gpt2\"");
    return ATTN_FORMAT;
}

const struct attn_strangers attn_strangers_of_families = {
    text_parts, sizeof text_parts / sizeof *text_parts, reason_of, find_reason, guess};
