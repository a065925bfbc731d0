/*
 * eurobert.c - EuroBERT as Hugging Face writes it (configuration_eurobert.py,
 * modeling_eurobert.py): Llama's blocks, in which every token sees every token.
 *
 *     logits = f U^T, f = rms(post) after the last block
 *     classes: classifier(gelu(dense(f_i))) of each row, then the mean of the rows ("late"); or of
 *         the mean of f, or of f_0
 *
 * Trap: lm_head has a bias if mlp_bias is set.
 */
#include "families/llama_internal.h"

#include <string.h>

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    QKV,
    OUT_MAP("layers.#.self_attn.o_proj"),
    GATED_MLP,
    NORMS_OF_LLAMA,
    OUTPUT_OF("/lm_head.weight"),
    OUTPUT_BIAS_OF("/lm_head.bias"),
    MATRIX("/dense.weight", "DD", ATTN_PART_CLASS_HEAD, head),
    VECTOR("/dense.bias", "D", ATTN_PART_CLASS_HEAD_BIAS, MODEL(head.bias)),
    CLASSES("/classifier", ATTN_PART_CLASS),
    CLASSES("/classifier", ATTN_PART_TOKEN_CLASS),
    IGNORED("layers.#.self_attn.rotary_emb.inv_freq"),
    IGNORED("rotary_emb.inv_freq"),
};

static enum attn_status read_eurobert(ATTN_CONFIG_ARGS)
{
    static const struct {
        const char *name;
        enum attn_pooling pooling;
    } known[] = {{"late", ATTN_POOLING_MEAN_OF_HEADS},
                 {"mean", ATTN_POOLING_MEAN},
                 {"bos", ATTN_POOLING_FIRST}};
    const char *pooling = "late";
    size_t i = 0;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->has_output_bias = config->has_mlp_bias;
    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "classifier_pooling", &pooling, err));
    while (i < sizeof known / sizeof *known && strcmp(known[i].name, pooling) != 0)
        i++;
    if (i == sizeof known / sizeof *known)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "classifier_pooling",
                                "is '%s', expected 'late', 'mean' or 'bos'",
                                attn_quote_string(pooling).text);
    config->pooling = known[i].pooling;
    return ATTN_OK;
}

const struct attn_family attn_family_eurobert = {
    FAMILY("eurobert", "EuroBert", "model.", rules), .read_config = read_eurobert,
    .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE | 1U << ATTN_TASK_TOKENS, .act_fn = "gelu"},
    .form = {KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias")),
             .is_divided = true,
             .defaults = {BLOCK_OF_LLAMA, .is_encoder = true, .has_head_bias = true,
                          SIZES(128256, 768, 3072, 12, 12, 0, 0, 8192, 1e-5F)}}};
