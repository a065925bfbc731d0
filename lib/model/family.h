/* family.h - the families of models: how each writes its config.json and names its tensors. A
 * family is a row, attn_family_NAME in a file of families/, and a name in ATTN_FAMILY_MAP. */
#ifndef ATTN_MODEL_FAMILY_H
#define ATTN_MODEL_FAMILY_H

#include "model/config_internal.h"

/*
 * The part of a model that a tensor belongs to. X(ID, GROUP, NEED, IS_SO): GROUP draws it when a
 * model is made (model_init.h), and NEED is
 *
 *     PART     needed when IS_SO
 *     BIAS     the same, and refused in a file whose config lacks it: so a family lists every
 *              bias that other files of its kind may hold
 *     FOUND    used when the file has it and IS_SO
 *     OUTPUT   needed when IS_SO, otherwise used when the file has it
 *
 * IS_SO sees the config and the facts that find_need (weights.c) derives from it.
 */
#define ATTN_WEIGHT_PART_MAP(X)                                                                    \
    X(EMBEDDING, EMBED, PART, true)        /* or a tied output matrix */                           \
    X(POSITIONS, POS, PART, has_positions) /* learned ones */                                      \
    X(REGISTERS, EMBED, PART, config->image.n_register > 0)                                        \
    X(SOURCE_POSITIONS, POS, PART, has_source_positions)                                           \
    X(SINES, POS, FOUND, config->stack.makes_positions) /* learned positions that may be made */   \
    X(SOUND, MLP, PART, config->stack.n_mel > 0 && config->is_encoder)                             \
    X(RELATIVE_BIAS, POS, PART, config->stack.n_bucket > 0)                                        \
    X(LOGITS_BIAS_FOUND, UNEMBED, FOUND, has_output)                                               \
    X(TYPES, POS, PART, config->n_type > 0)                                                        \
    X(EMBED_NORM, NONE, PART, config->has_embed_norm)                                              \
    X(ROW_NORM, NONE, PART, config->embeds_normed)                                                 \
    X(EMBED_MAP, MLP, PART, config->has_embed_map)                                                 \
    X(NORM, NONE, PART, is_pre && !is_bare) /* before attention, or the single one of a block */   \
    X(POST_NORM, NONE, PART, is_post)       /* after attention */                                  \
    X(PROJECTIONS, QKV, PART, config->has_projections)                                             \
    X(QKV_BIAS, QKV, BIAS, config->has_qkv_bias)                                                   \
    X(QK_NORM, NONE, PART, config->qk_norm != ATTN_QK_NORM_NONE)                                   \
    X(OUT_PROJ, W_O, PART, config->has_out_proj)                                                   \
    X(OUT_BIAS, W_O, BIAS, config->has_out_bias)                                                   \
    X(MLP_NORM, NONE, PART, is_mlp_pre)                                                            \
    X(MLP_POST_NORM, NONE, PART, is_mlp_post)                                                      \
    X(SINKS, NONE, PART, config->has_sinks)                                                        \
    X(ROUTER, MLP, PART, has_experts)                                                              \
    X(EXPERTS_FOUND, MLP, FOUND, has_experts) /* one tensor of all; shapes begin with n */         \
    X(EXPERTS, MLP, PART, has_experts)        /* in one, or, with @ for its number, of each */     \
    X(EXPERT_BIAS, MLP, BIAS, has_experts && config->has_expert_bias) /* of the router */          \
    X(EXPERT_BIASES, MLP, BIAS, has_experts && config->has_expert_bias)                            \
    X(SHARED_BIAS, MLP, BIAS, false)                                                               \
    X(SHARED_EXPERT, MLP, PART, has_experts && config->d_shared_expert > 0)                        \
    X(MLP, MLP, PART, has_mlp)                                                                     \
    X(MLP_GATE, MLP, PART, has_gate)                                                               \
    X(MLP_BIAS, MLP, BIAS, has_mlp && config->has_mlp_bias)                                        \
    X(MLP_GATE_BIAS, MLP, BIAS, has_gate && config->has_mlp_bias)                                  \
    X(MLP_PLAIN, MLP, PART, has_plain) /* where a gated MLP has other names */                     \
    X(MLP_PLAIN_BIAS, MLP, PART, has_plain && config->has_mlp_bias)                                \
    X(LAYER_SCALE, NONE, PART, config->has_layer_scale)                                            \
    X(MLP_BIAS_FOUND, MLP, FOUND, has_mlp)                                                         \
    X(MID_NORM, NONE, PART, is_sum) /* after the sums */                                           \
    X(END_NORM, NONE, PART, is_sum)                                                                \
    X(FINAL_NORM, NONE, PART, has_final)                                                           \
    X(HEAD, MLP, PART, has_head) /* an MLM head; files without it have no logits */                \
    X(HEAD_BIAS, MLP, has_head ? BIAS : PART, has_head && config->has_head_bias)                   \
    X(HEAD_NORM, NONE, PART, has_head)                                                             \
    X(CLASS_HEAD, MLP, PART, has_class_head) /* the same before the matrix of classes */           \
    X(CLASS_HEAD_BIAS, MLP, has_class_head ? BIAS : PART, has_class_head && config->has_head_bias) \
    X(CLASS_HEAD_NORM, NONE, PART, has_class_head)                                                 \
    X(CLASS_HEAD_NORM_BIAS, NONE, has_class_head ? BIAS : PART, has_class_head &&is_layer_norm)    \
    X(CLASS, UNEMBED, PART, has_output && config->task == ATTN_TASK_SEQUENCE) /* matrix, bias */   \
    X(TOKEN_CLASS, UNEMBED, PART, has_output && config->task == ATTN_TASK_TOKENS)                  \
    X(SPAN_CLASS, UNEMBED, PART, has_output && config->task == ATTN_TASK_SPANS)                    \
    X(OUTPUT, UNEMBED, PART, has_own) /* a separate output matrix */                               \
    X(OUTPUT_FOUND, UNEMBED, may_have_own ? OUTPUT : PART,                                         \
      may_have_own &&has_own) /* the same, even if the config is tied */                           \
    X(OUTPUT_MAP, MLP, PART, config->has_output_map)                                               \
    X(OUTPUT_BIAS, UNEMBED, has_output &&is_vocabulary ? BIAS : PART,                              \
      has_output &&is_vocabulary && config->has_output_bias)                                       \
    X(PROJECTION, UNEMBED, PART, config->d_projected > 0) /* files of a tower may lack it */       \
    X(LOGIT_SCALE, NONE, PART, config->has_two_towers)                                             \
    X(OUTPUT_BIAS_FOUND, UNEMBED, FOUND, has_own)                                                  \
    X(NORM_BIAS, NONE, BIAS,                                                                       \
      is_pre && !is_bare && is_layer_norm) /* of norms, where files have names for all */          \
    X(POST_NORM_BIAS, NONE, BIAS, is_post &&is_layer_norm)                                         \
    X(MLP_NORM_BIAS, NONE, BIAS, is_mlp_pre &&is_layer_norm)                                       \
    X(MLP_POST_NORM_BIAS, NONE, BIAS, is_mlp_post &&is_layer_norm)                                 \
    X(FINAL_NORM_BIAS, NONE, BIAS, has_final &&is_layer_norm)                                      \
    X(EMBED_NORM_BIAS, NONE, BIAS, config->has_embed_norm &&is_layer_norm)                         \
    X(HEAD_NORM_BIAS, NONE, has_head ? BIAS : PART, has_head &&is_layer_norm)                      \
    X(TASK, NONE, PART, false)        /* a classifier, whose head has the names of an MLM head */  \
    X(CONTACTS, NONE, FOUND, true)    /* the regression from patterns to contacts */               \
    X(FREQUENCIES, NONE, FOUND, true) /* of rotary positions */                                    \
    X(IGNORED, NONE, PART, false)     /* buffers that are no weights */

enum attn_weight_part {
#define ATTN_WEIGHT_PART_ENUM(id, group, need, is_so) ATTN_PART_##id,
    ATTN_WEIGHT_PART_MAP(ATTN_WEIGHT_PART_ENUM)
#undef ATTN_WEIGHT_PART_ENUM
};

/* The form that a tensor is stored in. */
enum attn_weight_kind {
    ATTN_WEIGHT_TENSOR, /* struct attn_tensor, as it is */
    ATTN_WEIGHT_VECTOR, /* struct attn_vector, flat: b_Q [H, E] has H*E elements */
    ATTN_WEIGHT_IN_OUT, /* struct attn_matrix, y = x W as it lies; [H, Ev, D] reads as [H*Ev, D] */
    ATTN_WEIGHT_OUT_IN, /* struct attn_matrix, transposed (nn.Linear) */
    ATTN_WEIGHT_HEADS,  /* struct attn_matrix from [heads, in, width]: one matrix a head */
    ATTN_WEIGHT_VECTOR_OF_HEADS, /* struct attn_vector [heads, n] from a tensor [n] for each head,
                                    whose number @ stands for */
    /* The weights of several maps, or, with one dimension, their biases: */
    ATTN_WEIGHT_QKV_MATRIX, /* q, k and v side by side, [in, out] */
    ATTN_WEIGHT_QKV_ROWS,   /* [out, in]: all of q, all of k, all of v */
    ATTN_WEIGHT_QKV_HEADS,  /* [out, in]: of the first key/value head its queries, k and v, then of
                               the second, ... */
    ATTN_WEIGHT_QVK_QUARTERS, /* [out, in], in four parts: q, v and k of a quarter of the heads */
    ATTN_WEIGHT_GATED_ROWS,   /* [out, in]: the gate, then mlp_in */
    ATTN_WEIGHT_ALTERNATE_MATRIX, /* [in, out]: columns of the gate and mlp_in in turn */
    ATTN_WEIGHT_ALTERNATE_ROWS    /* the same, [out, in] */
};

/* One tensor of a family. In a name # stands for the layer's number, < and > for that of a pair of
 * layers whose first or second has the tensor; /name never has the prefix.
 * Shapes are letters: V D H G E F as in trace/site.h, B d_embed, T n_type, J = 2F, M d_projected, P
 * n_ctx and the positions before the first, U d_value, b n_bucket, m n_mel, S d_model or d_source,
 * X d_source, N n_source, y and z those of norms of q and k, Q = H*E, K = G*E, W = G*U, Z = H*U, A
 * = Q + K + W. Of pictures: C n_channel, h patch_height, w patch_width, R n_register, I = 1 + the
 * patches of a picture. Of classifiers: Y the labels, L the width that their matrix reads. Of
 * mixtures: n n_expert, f d_expert, j = 2f, s d_shared_expert. c heads of all layers, e E / 2. 1 is
 * one. */
struct attn_weight_rule {
    const char *name; /* after the prefix; another spelling, of older files, follows a | */
    const char *shape;
    enum attn_weight_part part;
    enum attn_weight_kind kind;
    size_t offset; /* offset of the tensor in attn_block_weights, or in attn_weights for names
                      without # */
};

/* How GGUF files hold models of a family: constants of llama.cpp's code, which metadata lack, and
 * the changes of its converter. */
struct attn_gguf_form {
    const char *architecture; /* `general.architecture`; NULL: no GGUF file is of this family */
    const char *marker;       /* a key, which is above 0 in files of this family: an earlier family
                                 has the same architecture; NULL: no such key */
    size_t default_window;    /* width of the windows of files without the key; 0: no windows */
    size_t n_layer_large;     /* the model with this many layers scales scores by D / H; 0: none */
    bool has_interleaved_heads;  /* rows of q and k: the halves of a head alternate */
    bool has_interleaved_biases; /* and so do their biases */
    bool has_divisors;           /* rope_freqs.weight divides frequencies */
    bool normalizes_experts;     /* weights of experts add to 1, unless a key says otherwise */
    bool yarn_is_exact;          /* bounds of YaRN are not rounded */
    double alibi_bias;           /* `attention.max_alibi_bias` must be this; 0: must be missing */
    const char *members;      /* of the config of all files, as JSON; with the numbers of key heads
                                 and of norms as Falcon writes them; NULL: none */
    const char *clip_section; /* the object of the config that has clip_qkv; NULL: the root */
    bool lacks_norm_if_parallel;   /* a block whose attention and MLP are parallel has no ffn_norm,
                                      whatever use_parallel_residual is */
    const char *part, *difference; /* how these tensors differ from Hugging Face's; NULL: they do
                                      not */
};

/* The heads of classes of a family. */
struct attn_class_heads {
    unsigned tasks;            /* bit 1 << t of enum attn_task: it has such a head */
    enum attn_pooling pooling; /* of whole sequences, unless read_config sets it */
    const char *act_fn; /* of the layer before the matrix for whole sequences; NULL: no layer */
    bool is_in_all;     /* all heads have the layer with the config's head_act_fn */
};

struct attn_family {
    const char *model_type;   /* as in config.json; constant */
    const char *architecture; /* how `architectures` begins in configs without model_type; NULL */
    struct attn_config_form form;
    /* Fills CONFIG, which holds the defaults of FORM, and allocates its LAYERS
     * (attn_config_allocate_layers). NULL: attn_config_read_form does it. */
    enum attn_status (*read_config)(ATTN_CONFIG_ARGS);
    struct attn_class_heads heads; /* that it may have in place of an output matrix of tokens */
    const char *prefix; /* in front of every name, or of none: files of a model without its output
                           layer have none, and then there are no logits unless they are tied; NULL:
                           no file has one */
    const struct attn_weight_rule *rules; /* [n_rule]: tensors before the layers, in a layer, after
                                             the layers, then ignored ones */
    size_t n_rule;
    bool is_gguf; /* the rules of GGUF files: biases are taken if the file has them, and q, k and v
                     may be one tensor or three */
    struct attn_gguf_form gguf;
    const char *vocabulary_key; /* key of the config: "vocab_size" */
    /* For a family with two towers, the model_type of each (enum attn_tower); only the first two of
     * the other fields are used then. */
    const char *towers[2];
    const struct attn_family *encoder; /* of a decoder that reads its rows; or NULL */
    const char *other_tower; /* the model_type of the other tower, which may be in the same files;
                                or NULL */
};

/* All families, in the order in which messages name them. X(name): the row is attn_family_NAME. */
/* clang-format off */
#define ATTN_FAMILY_MAP(X) \
    X(gpt2) X(gpt_neo) X(gpt_neox) \
    X(llama) X(mistral) X(qwen2) X(qwen3) X(olmo2) X(olmo3) X(olmo) X(gemma) X(gemma2) \
    X(gemma3_text) X(phi) X(phi3) X(ministral) X(smollm3) X(granite) X(stablelm) X(starcoder2) \
    X(cohere) X(cohere2) X(glm) X(glm4) X(helium) X(exaone4) X(opt) X(gptj) X(codegen) \
    X(gpt_bigcode) X(bloom) \
    X(mixtral) X(qwen2_moe) X(qwen3_moe) X(olmoe) X(gpt_oss) X(granitemoe) X(mpt) X(falcon) \
    X(t5) X(bart) X(marian) X(m2m_100) X(whisper) \
    X(bert) X(roberta) X(xlm_roberta) X(camembert) X(distilbert) X(electra) X(albert) \
    X(modernbert) \
    X(esm) X(vit) X(dinov2_with_registers) X(dinov2) X(clip) X(clip_text_model) \
    X(clip_vision_model) \
    X(attn)
/* clang-format on */

#define ATTN_FAMILY_DECLARE(name) extern const struct attn_family attn_family_##name;
ATTN_FAMILY_MAP(ATTN_FAMILY_DECLARE)
#undef ATTN_FAMILY_DECLARE

/* The family of MODEL_TYPE, or NULL. */
const struct attn_family *attn_family_find(const char *model_type);

/* Family number I in the order of the list; NULL after the last. */
const struct attn_family *attn_family_at(size_t i);

/* The keys of a config.json whose objects and lists are read, for attn_json_parse_named. */
extern const char *const attn_family_config_keys[];

/* Reads a CONFIG of any family and checks that it can be run. In a family with two towers it is the
 * config of TOWER. Release it also after a failure. */
enum attn_status attn_family_read_config(struct attn_json *json, enum attn_tower tower,
                                         struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

/* Reads the config of the encoder of FAMILY, which has one. */
enum attn_status attn_family_read_encoder(const struct attn_json *json,
                                          const struct attn_family *family,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* Reads how a decoder with an encoder generates. If there are two files, only those keys of the
 * first count that say how its text begins: transformers reads the others of one file. */
void attn_family_read_generation(const struct attn_json *json, struct attn_config *config);

/* Reads the tokens that end a text, from either config; without them CONFIG is unchanged. */
void attn_family_read_end_ids(const struct attn_json *json, struct attn_config *config);

#endif
