/*
 * gguf_models.h - the models of fixtures/gguf/models.zip, their twins in safetensors, and the same
 * models written in other ways.
 *
 *     struct attn_buffer gguf = attn_gguf_member("models", "llama_q8_0/model.gguf");
 *     struct attn_buffer twin = attn_gguf_twin("llama_q8_0", &gguf, ATTN_TWIN_RIGHT);
 *
 * A twin holds the decoded values in Hugging Face's names and order of rows. It is made by the
 * lines "tensor" of twin.txt, and must have the digests there, which are those of a model that the
 * package gguf, llama.cpp's converter and transformers agreed on (PROVENANCE.md).
 */
#pragma once

#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTN_GGUF_MODEL_MAP(X)                                                                     \
    X(gemma2_q8_0)                                                                                 \
    X(gemma3_q4_0)                                                                                 \
    X(gpt2_q8_0)                                                                                   \
    X(gptneox_bf16)                                                                                \
    X(llama_f32)                                                                                   \
    X(llama_k_mixture)                                                                             \
    X(llama_q8_0)                                                                                  \
    X(mistral_f16)                                                                                 \
    X(olmo2_q4_1)                                                                                  \
    X(phi2_q8_0)                                                                                   \
    X(qwen2_q5)                                                                                    \
    X(qwen3_iq4_nl)                                                                                \
    X(smollm_q4_0)

/* More of them, whose tokens are stand-ins. */
#define ATTN_GGUF_DECODER_MAP(X)                                                                   \
    X(bloom_q8_0)                                                                                  \
    X(cohere2_f16)                                                                                 \
    X(cohere_q8_0)                                                                                 \
    X(exaone4_f16)                                                                                 \
    X(exaone4_full_q8_0)                                                                           \
    X(falcon_40b_f16)                                                                              \
    X(falcon_7b_q8_0)                                                                              \
    X(gemma_f16)                                                                                   \
    X(glm4_q8_0)                                                                                   \
    X(gpt_oss_f16)                                                                                 \
    X(gpt_oss_mxfp4)                                                                               \
    X(granite_q8_0)                                                                                \
    X(granitemoe_q8_0)                                                                             \
    X(mixtral_q8_0)                                                                                \
    X(mpt_f16)                                                                                     \
    X(olmo3_q8_0)                                                                                  \
    X(olmo_f16)                                                                                    \
    X(olmoe_f16)                                                                                   \
    X(phi3_q8_0)                                                                                   \
    X(phi3_window_f16)                                                                             \
    X(qwen2moe_f16)                                                                                \
    X(qwen3moe_q8_0)                                                                               \
    X(smollm3_f16)                                                                                 \
    X(stablelm_f16)                                                                                \
    X(stablelm_parallel_q8_0)                                                                      \
    X(starcoder2_f16)                                                                              \
    X(starcoder_q8_0)

/* A member of fixtures/gguf/ARCHIVE.zip, to be released; has_failed where there is none. */
struct attn_buffer attn_gguf_member(const char *archive, const char *name);

enum attn_twin {
    ATTN_TWIN_RIGHT,
    ATTN_TWIN_AS_IT_LIES, /* wrong: no row is moved, and no 1 is taken off */
};

/* The model.safetensors of model NAME whose file is GGUF, to be released. Digests are checked where
 * it is right, and the line has one. */
struct attn_buffer attn_gguf_twin(const char *name, const struct attn_buffer *gguf,
                                  enum attn_twin twin);

/* The same from the lines of RECIPE. */
struct attn_buffer attn_gguf_twin_by(const char *recipe, const struct attn_buffer *bytes,
                                     enum attn_twin twin);

/* The file of BYTES without its tensor NUMBER, or if IS_TURNED with the two sizes of the tensor
 * exchanged; *name is its name. False after the last tensor. */
bool attn_gguf_damage(const struct attn_buffer *bytes, size_t number, bool is_turned, char name[64],
                      struct attn_buffer *damaged);

/* Opens damaged BYTES and releases them; what opens is run. An error has one line. */
enum attn_status attn_gguf_try(struct attn_buffer *bytes, struct attn_error *err);

/* Exchanges the two sizes of a tensor of WHOLE, the file of MODEL, one tensor after the other. What
 * is refused names a shape, or what was expected. */
void attn_gguf_try_turned(const struct attn_buffer *whole, const char *model);

/* Tries N files that differ from WHOLE in a bit of the metadata or of a tensor's entry, which is
 * drawn from *RANDOM. Returns how many open. */
size_t attn_gguf_try_bits(const struct attn_buffer *whole, size_t n, uint32_t *random);

/* How a file says the same in another way; bits. */
enum attn_gguf_form {
    ATTN_GGUF_AS_F64 = 1,    /* all tensors but vectors are F64 */
    ATTN_GGUF_AS_F32 = 2,    /* or F32 */
    ATTN_GGUF_FUSED = 4,     /* q, k and v are attn_qkv, if their types are equal */
    ATTN_GGUF_SPLIT = 8,     /* and attn_qkv is three of equal size */
    ATTN_GGUF_WITH_BIAS = 16 /* each attn_q, attn_k, attn_v and attn_output has a bias */
};

/* The file BYTES written so, to be released. */
struct attn_buffer attn_gguf_rewrite(const struct attn_buffer *bytes, unsigned form);

/* Part NO of COUNT of it, every COUNT-th tensor, to be released; number 0 has the metadata. */
struct attn_buffer attn_gguf_shard(const struct attn_buffer *bytes, uint32_t no, uint32_t count);
