/* families.h - the list of families of texts. A family is a row attn_family_NAME in a file of this
 * room, and a name here: lib/parts.c alone includes this file. */
#pragma once

#include "model/family.h"

/* All families, in the order in which messages list them. X(name): the row is attn_family_NAME. */
/* clang-format off */
#define ATTN_FAMILY_MAP(X) \
    X(gpt2) X(nanogpt) X(gpt_neo) X(gpt_neox) \
    X(llama) X(mistral) X(qwen2) X(qwen3) X(olmo2) X(olmo3) X(olmo) X(gemma) X(gemma2) \
    X(gemma3_text) X(gemma4_text) X(phi) X(phi3) X(ministral) X(smollm3) X(granite) X(stablelm) \
    X(starcoder2) X(cohere) X(cohere2) X(glm) X(glm4) X(helium) X(exaone4) \
    X(ministral3) X(ernie4_5) X(hunyuan_v1_dense) X(arcee) X(apertus) X(nemotron) X(seed_oss) \
    X(internlm3) X(xglm) X(opt) X(gptj) X(codegen) \
    X(gpt_bigcode) X(bloom) \
    X(mixtral) X(qwen2_moe) X(qwen3_moe) X(olmoe) X(gpt_oss) X(granitemoe) X(granitemoeshared) \
    X(granitemoehybrid) X(phimoe) X(mpt) X(falcon) \
    X(lfm2) X(lfm3) X(qwen3_5_text) X(qwen3_next) X(bamba) X(falcon_h1) X(nemotron_h) \
    X(qwen2_vl_text) X(qwen2_5_vl_text) X(qwen3_vl_text) X(qwen3_vl_moe_text) \
    X(t5) X(mt5) X(umt5) X(bart) X(mbart) X(marian) X(pegasus) X(m2m_100) X(blenderbot) \
    X(whisper) \
    X(bert) X(roberta) X(xlm_roberta) X(camembert) X(mpnet) X(deberta_v2) X(distilbert) \
    X(electra) X(albert) \
    X(modernbert) X(nomic_bert) X(jina_embeddings_v3) X(eurobert) \
    X(esm) \
    X(attn)
/* clang-format on */

ATTN_FAMILY_MAP(ATTN_FAMILY_DECLARE)
