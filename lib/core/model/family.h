/* family.h - the families of models: how each writes its config.json and names its tensors. A
 * family is a row attn_family_NAME, which lib/parts.c lists (families/families.h). */
#pragma once

#include "model/config_internal.h"
#include "model/model.h"

struct attn_tensor_files;

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
    X(EMBEDDING, EMBED, PART, true)        /* or of a tied output matrix */                        \
    X(POSITIONS, POS, PART, has_positions) /* learned ones */                                      \
    X(REGISTERS, EMBED, PART, config->image.n_register > 0)                                        \
    X(SOURCE_POSITIONS, POS, PART, has_source_positions)                                           \
    X(SINES, POS, FOUND, config->stack.makes_positions) /* computed if the file lacks them */      \
    X(CONNECTOR, MLP, PART, config->vision.d_feature > 0)                                          \
    X(CONNECTOR_BIAS, MLP, BIAS, config->vision.d_feature > 0 && !config->vision.lacks_bias)       \
    X(LINE_END, MLP, PART, config->vision.d_feature > 0 && config->vision.joins_tiles)             \
    X(DEEP, MLP, PART, config->vision.n_deep > 0) /* @ is the number of one of them */             \
    X(SOUND, MLP, PART, config->stack.n_mel > 0 && config->is_encoder)                             \
    X(RELATIVE_BIAS, POS, PART, config->stack.n_bucket > 0)                                        \
    X(LOGITS_BIAS_FOUND, UNEMBED, FOUND, has_output)                                               \
    X(TYPES, POS, PART, config->n_type > 0)                                                        \
    X(PLACES, POS, PART, config->places.n > 0)                                                     \
    X(PLACE_NORM, NONE, PART, config->places.has_norm)                                             \
    X(PLACE_KEY, QKV, PART, config->places.has_own_maps && config->places.has_c2p)                 \
    X(PLACE_QUERY, QKV, PART, config->places.has_own_maps && config->places.has_p2c)               \
    X(CONVOLUTION, MLP, PART, config->places.n_conv > 0)                                           \
    X(CONVOLUTION_NORM, NONE, PART, config->places.n_conv > 0)                                     \
    X(EMBED_NORM, NONE, PART, config->has_embed_norm)                                              \
    X(ROW_NORM, NONE, PART, config->embeds_normed)                                                 \
    X(EMBED_MAP, MLP, PART, config->has_embed_map)                                                 \
    X(NORM, NONE, PART, is_pre && !is_bare) /* before attention, or the single one of a block */   \
    X(POST_NORM, NONE, PART, is_post)       /* after attention */                                  \
    X(PROJECTIONS, QKV, PART, has_attention && config->has_projections)                            \
    X(HEAD_GATE, QKV, PART, has_attention && config->has_attn_gate)                                \
    X(KEYS, QKV, PART, has_attention && !shares_keys)                                              \
    X(VALUES, QKV, PART, has_values)                                                               \
    X(VALUE_BIAS, QKV, BIAS, has_values && config->has_qkv_bias)                                   \
    X(PROJECTIONS_APART, QKV, FOUND,                                                               \
      has_attention && config->has_projections) /* instead of a later joined tensor */             \
    X(QKV_BIAS, QKV, BIAS, has_attention && config->has_qkv_bias)                                  \
    X(KEY_BIAS, QKV, BIAS, has_attention && config->has_key_bias && !shares_keys)                  \
    X(OWN_QUERY_BIAS, QKV, BIAS, has_attention && config->has_query_bias)                          \
    X(OWN_VALUE_BIAS, QKV, BIAS, has_attention && config->has_value_bias)                          \
    X(QK_NORM, NONE, PART, has_attention && config->qk_norm != ATTN_QK_NORM_NONE)                  \
    X(KEY_NORM, NONE, PART, has_attention && !shares_keys)                                         \
    X(OUT_PROJ, W_O, PART, has_attention && config->has_out_proj)                                  \
    X(OUT_BIAS, W_O, BIAS, has_attention && config->has_out_bias)                                  \
    X(MIXER, QKV, PART, is_mixer) /* of a layer without attention */                               \
    X(MIXER_NORM, NONE, PART, is_mixer && !config->lacks_mixer_norm)                               \
    X(MIXER_OUT_BIAS, W_O, BIAS, is_mixer && config->has_mixer_out_bias)                           \
    X(MIXER_OUT, W_O, PART, is_mixer)                                                              \
    X(MIXER_CONV_BIAS, NONE, BIAS, is_mixer && config->has_mixer_conv_bias)                        \
    X(MIXER_BIAS, QKV, BIAS, is_mixer && config->has_mixer_bias)                                   \
    X(MLP_NORM, NONE, PART, is_mlp_pre)                                                            \
    X(MLP_POST_NORM, NONE, PART, is_mlp_post)                                                      \
    X(SINKS, NONE, PART, config->has_sinks)                                                        \
    X(ROUTER, MLP, PART, has_experts)                                                              \
    X(EXPERTS_FOUND, MLP, FOUND, has_experts)  /* one tensor for all; its shape begins with n */   \
    X(EXPERTS_TURNED, MLP, FOUND, has_experts) /* as the one before, in files with [in, out] */    \
    X(EXPERTS, MLP, PART, has_experts)         /* one tensor for all, or one each, with @ */       \
    X(EXPERT_BIAS, MLP, BIAS, has_experts && config->has_expert_bias) /* bias of the router */     \
    X(EXPERT_BIASES, MLP, BIAS, has_experts && config->has_expert_bias)                            \
    X(ROUTER_CORRECTION, MLP, PART, has_experts && config->expert_weights == ATTN_EXPERTS_SIGMOID) \
    X(EXPERT_NORMS, NONE, PART, has_experts && config->has_expert_norms)                           \
    X(LATENT, MLP, PART, has_experts && config->d_latent > 0) /* around the experts */             \
    X(LATENT_BIAS, MLP, BIAS, has_experts && config->d_latent > 0 && config->has_mlp_bias)         \
    X(SHARED_BIAS, MLP, BIAS, has_experts && config->d_shared_expert > 0 && config->has_mlp_bias)  \
    X(SHARED_EXPERT, MLP, PART, has_experts && config->d_shared_expert > 0)                        \
    X(SHARED_GATE, MLP, PART, has_experts && config->has_shared_gate)                              \
    X(MLP, MLP, PART, has_mlp)                                                                     \
    X(MLP_GATE, MLP, PART, has_gate)                                                               \
    X(MLP_BIAS, MLP, BIAS, has_mlp && config->has_mlp_bias)                                        \
    X(MLP_GATE_BIAS, MLP, BIAS, has_gate && config->has_mlp_bias)                                  \
    X(MLP_APART, MLP, FOUND, has_gate) /* instead of a later tensor of the gate and mlp_in */      \
    X(MLP_PLAIN, MLP, PART, has_plain) /* a plain MLP with other names than the gated one */       \
    X(MLP_PLAIN_BIAS, MLP, PART, has_plain && config->has_mlp_bias)                                \
    X(LAYER_INPUT, MLP, PART, config->d_layer_input > 0) /* of Gemma 4 */                          \
    X(LAYER_SCALAR, NONE, PART, config->has_layer_scalar)                                          \
    X(STREAM, EMBED, FOUND, config->stream != NULL)                                                \
    X(XIELU, NONE, PART, has_mlp && config->xielu)                                                 \
    X(MLP_INNER_NORM, NONE, PART, config->has_mlp_norm)                                            \
    X(LAYER_SCALE, NONE, PART, config->has_layer_scale)                                            \
    X(MLP_BIAS_FOUND, MLP, FOUND, has_mlp)                                                         \
    X(MID_NORM, NONE, PART, is_sum) /* norms after the sums */                                     \
    X(END_NORM, NONE, PART, is_sum)                                                                \
    X(FINAL_NORM, NONE, PART, has_final)                                                           \
    X(HEAD, MLP, PART, has_head) /* an MLM head; files without it have no logits */                \
    X(HEAD_BIAS, MLP, has_head ? BIAS : PART, has_head && config->has_head_bias)                   \
    X(HEAD_NORM, NONE, PART, has_head)                                                             \
    X(CLASS_HEAD, MLP, PART, has_class_head) /* the layer before the matrix of a classifier */     \
    X(CLASS_HEAD_BIAS, MLP, has_class_head ? BIAS : PART, has_class_head && config->has_head_bias) \
    X(SECOND_CLASS, MLP, PART, config->pooling == ATTN_POOLING_FIRST_TWO)                          \
    X(CLASS_HEAD_NORM, NONE, PART, has_class_head)                                                 \
    X(CLASS_HEAD_NORM_BIAS, NONE, has_class_head ? BIAS : PART, has_class_head &&is_layer_norm)    \
    X(CLASS, UNEMBED, PART,                                                                        \
      has_output && config->task == ATTN_TASK_SEQUENCE &&                                          \
          config->pooling != ATTN_POOLING_FIRST_TWO) /* matrix, bias */                            \
    X(TOKEN_CLASS, UNEMBED, PART,                                                                  \
      config->output == ATTN_OUTPUT_OWN && config->task == ATTN_TASK_TOKENS)                       \
    X(SPAN_CLASS, UNEMBED, PART, has_output && config->task == ATTN_TASK_SPANS)                    \
    X(OUTPUT, UNEMBED, PART, has_own) /* a separate output matrix */                               \
    X(OUTPUT_FOUND, UNEMBED, is_vocabulary ? OUTPUT : PART,                                        \
      has_own) /* its own, even if the config ties them */                                         \
    X(OUTPUT_MAP, MLP, PART, config->has_output_map)                                               \
    X(OUTPUT_BIAS, UNEMBED, has_output &&is_vocabulary ? BIAS : PART,                              \
      has_output &&is_vocabulary && config->has_output_bias)                                       \
    X(PROJECTION, UNEMBED, PART, config->d_projected > 0) /* files of one tower may lack it */     \
    X(POOL_HEAD, MLP, PART, config->pool_head)                                                     \
    X(LOGIT_SCALE, NONE, PART, config->has_two_towers)                                             \
    X(OUTPUT_BIAS_FOUND, UNEMBED, FOUND, config->output == ATTN_OUTPUT_OWN) /* also of labels */   \
    X(NORM_BIAS, NONE, BIAS,                                                                       \
      is_pre && !is_bare && is_layer_norm) /* biases of norms, for files that name them all */     \
    X(POST_NORM_BIAS, NONE, BIAS, is_post &&is_layer_norm)                                         \
    X(MLP_NORM_BIAS, NONE, BIAS, is_mlp_pre &&is_layer_norm)                                       \
    X(MLP_POST_NORM_BIAS, NONE, BIAS, is_mlp_post &&is_layer_norm)                                 \
    X(FINAL_NORM_BIAS, NONE, BIAS, has_final &&is_layer_norm && !config->has_final_rms)            \
    X(EMBED_NORM_BIAS, NONE, BIAS, config->has_embed_norm &&is_layer_norm)                         \
    X(HEAD_NORM_BIAS, NONE, has_head ? BIAS : PART, has_head &&is_layer_norm)                      \
    X(TASK, NONE, PART, false)        /* a classifier whose head has the names of an MLM head */   \
    X(CONTACTS, NONE, FOUND, true)    /* the regression from patterns to contacts */               \
    X(FREQUENCIES, NONE, FOUND, true) /* frequencies of rotary positions */                        \
    X(IGNORED, NONE, PART, false)     /* buffers that are not weights */

enum attn_weight_part {
#define ATTN_WEIGHT_PART_ENUM(id, group, need, is_so) ATTN_PART_##id,
    ATTN_WEIGHT_PART_MAP(ATTN_WEIGHT_PART_ENUM)
#undef ATTN_WEIGHT_PART_ENUM
};

/* How a tensor is stored in the file, and so what it becomes. */
enum attn_weight_kind {
    ATTN_WEIGHT_TENSOR, /* struct attn_tensor, unchanged */
    ATTN_WEIGHT_VECTOR, /* struct attn_vector, flat: b_Q [H, E] has H*E elements */
    ATTN_WEIGHT_IN_OUT, /* struct attn_matrix for y = x W as it is stored; [H, Ev, D] is read as
                           [H*Ev, D] */
    ATTN_WEIGHT_OUT_IN, /* struct attn_matrix, transposed (nn.Linear) */
    ATTN_WEIGHT_HEADS,  /* struct attn_matrix from [heads, in, width]: one matrix per head */
    ATTN_WEIGHT_VECTOR_OF_HEADS, /* struct attn_vector [heads, n] from one tensor [n] per head; @ in
                                    the name is the number of the head */
    /* The weights of several maps in one tensor; if it has one dimension, their biases: */
    ATTN_WEIGHT_QKV_MATRIX,   /* q, k and v side by side, [in, out] */
    ATTN_WEIGHT_QKV_ROWS,     /* [out, in]: all of q, then all of k, then all of v */
    ATTN_WEIGHT_QKV_HEADS,    /* [out, in]: for each key/value head, its queries, its k and its v */
    ATTN_WEIGHT_QVK_QUARTERS, /* [out, in], in four parts: q, v and k of a quarter of the heads each
                               */
    ATTN_WEIGHT_QUERY_GATE_HEADS, /* [out, in]: for each head, its queries and its gate */
    ATTN_WEIGHT_MAMBA_ROWS,       /* [out, in]: mixer_gate, then mixer_in, then mixer_decay */
    ATTN_WEIGHT_DELTA_HEADS,      /* [out, in]: for each head of keys, mixer_in and mixer_gate */
    ATTN_WEIGHT_FACTOR_HEADS,     /* [out, in]: for each head of keys, beta and the decay */
    ATTN_WEIGHT_GATED_ROWS,       /* [out, in]: the gate, then mlp_in */
    ATTN_WEIGHT_GATED_MATRIX,     /* [in, out]: the columns of the gate, then those of mlp_in */
    ATTN_WEIGHT_ALTERNATE_MATRIX, /* [in, out]: columns of the gate and of mlp_in alternate */
    ATTN_WEIGHT_ALTERNATE_ROWS,   /* [out, in]: rows of the gate and of mlp_in alternate */
    ATTN_WEIGHT_FRAMES /* the patch map of one frame; NAME.1, ... are those of the others */
};

/* The rule for one tensor of a family. In its name, # stands for the number of the layer; < and >
 * for the number of a pair of layers, of which the first (<) or the second (>) has the tensor; a
 * name /name never gets the prefix. Shapes are letters: V D H G E F as in trace/site.h, B d_embed,
 * T n_type, J = 2F, M d_projected, P n_ctx plus the positions before the first, U d_value, b
 * n_bucket, p the places, v n_conv, = D / n_conv_group, m n_mel, S d_model or d_source, X d_source,
 * N n_source, y and z the shapes of the norms of q and k, Q = H*E, K = G*E, W = G*U, Z = H*U, A = Q
 * + K + W. For pictures: C n_channel, h patch_height, w patch_width, R n_register, I the patches of
 * a picture, and 1 for [CLS], k the patches of a cell side by side, o d_feature. For classifiers: Y
 * the labels, L the width that their matrix reads. For mixtures: n n_expert, f d_expert, j = 2f, &
 * what experts read, s d_shared_expert, t = 2s. c is the heads of all layers, e is E / 2, and 1 is
 * one. For layers without attention: q the rows of mixer_in, a the channels of the convolution, d
 * its taps, g Hm, v dv, l Hm*dv, u 2*Hm, p q + l and i p + g, which are others than those above;
 * and r is 2*H*U. x is the width of the inputs of layers, ! those of all, % the tokens that have
 * some; * n_layer, ^ n_value_gate, ~ n_stream_gate. */
struct attn_weight_rule {
    /* Without the prefix; alternative spellings, of older files, follow after |. */
    const char *name;
    const char *shape;
    enum attn_weight_part part;
    enum attn_weight_kind kind;
    size_t offset; /* offset of the tensor in attn_block_weights, or in attn_weights for names
                      without # */
};

/* Files whose tensors have names of their own for all families, and hold q, k and v, and the parts
 * of an MLP, as one tensor or as several: biases are used if the file has them. */
struct attn_dialect {
    /* Whether q, k and v are one tensor in ST, of a model of CONFIG. */
    bool (*is_fused)(const struct attn_config *config, const struct attn_tensor_files *st);
    /* Sets which biases CONFIG has. Returns whether the gate and mlp_in are one tensor. */
    bool (*find_biases)(struct attn_config *config, const struct attn_tensor_files *st,
                        bool is_fused);
    /* Whether the halves of the heads alternate in the rows of q and k, and in their biases. */
    void (*find_halves)(const struct attn_family *naming, const struct attn_config *config,
                        bool *of_heads, bool *of_biases);
};

struct attn_gguf_form;

/* The classifier heads of a family. */
struct attn_class_heads {
    unsigned tasks; /* bit 1 << t is set if the family has a head for task t (enum attn_task) */
    enum attn_pooling pooling; /* pooling for whole sequences, unless read_config sets it */
    /* Activation of the layer before the matrix for whole sequences; NULL: no layer. */
    const char *act_fn;
    const char *act_key; /* a key for it; or NULL */
    bool is_in_all;      /* all heads have that layer, with the config's head_act_fn */
};

struct attn_family {
    const char *model_type; /* as in config.json; constant */
    /* How `architectures` begins in configs without a model_type; or NULL. */
    const char *architecture;
    /* Whether JSON, without a model_type, is a config of the family, whose own files lack it; or
     * NULL. */
    bool (*is_config)(const struct attn_json *json);
    struct attn_config_form form;
    /* Fills CONFIG, which initially has the defaults of FORM, and allocates its LAYERS
     * (attn_config_allocate_layers). NULL: attn_config_read_form is used. */
    enum attn_status (*read_config)(ATTN_CONFIG_ARGS);
    struct attn_class_heads heads; /* heads that may replace the output matrix over tokens */
    const char *prefix; /* prefix of all names, or of none: files of a model without its output
                           layer lack it, and such a model has no logits unless they are tied; NULL:
                           no file has a prefix */
    const struct attn_weight_rule *rules; /* [n_rule]: tensors before the layers, in a layer, after
                                             the layers, then ignored ones */
    size_t n_rule;
    const struct attn_dialect *dialect; /* NULL: these are the names of the family's own files */
    const struct attn_gguf_form *gguf;  /* families/gguf_form.h; NULL: it has no such files */
    const char *vocabulary_key; /* key of the config for the vocabulary size: "vocab_size" */
    /* For a family with two towers, the model_type of each (enum attn_tower). Of the other fields,
     * only those before `heads` are used then, and the next two. */
    const char *towers[2];
    /* The first of `architectures` of a classifier, which is the tower of pictures alone; NULL: not
     * read. */
    const char *classifier;
    /* Completes CONFIG, that of the tower, for the classifier. */
    enum attn_status (*read_classifier)(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err);
    const struct attn_family *encoder; /* the encoder whose rows a decoder reads; or NULL */
    /* Model_type of the other tower, which the same files may contain; or NULL. */
    const char *other_tower;
    /* The family of the same configs whose files have other names, and whose keys may mean
     * something else; or NULL. */
    const struct attn_family *other_names;
};

#define ATTN_FAMILY_DECLARE(name) extern const struct attn_family attn_family_##name;

enum attn_ties {
    ATTN_TIES_NOT,
    ATTN_TIES,
    ATTN_TIES_AS_TEXT /* true also if only text_config says it */
};

/* A type whose files hold a decoder of texts beside encoders of other things. */
struct attn_decoder_part {
    const char *type;
    const char *text_type; /* that of the decoder, in configs that do not say it */
    const char *others;    /* what is not read: "pictures are" */
    bool may_lack_section; /* the decoder's keys may stand at the top, as transformers 4 wrote them
                            */
    bool sees_prompt;      /* positions of a prompt see each other, so that the decoder may have
                              `use_bidirectional_attention` */
    enum attn_ties ties;   /* `tie_word_embeddings`, if the top has none */
    const struct attn_family *tower; /* the encoder of pictures, which also names the tensors of the
                                        connector; NULL: not read */
};

/* Returns the row of MODEL_TYPE, or NULL. */
const struct attn_decoder_part *attn_family_find_part(const char *model_type);

/* Finds the model_type of a config. Old directories lack it; then `architectures` determines it.
 * NULL if neither does. */
enum attn_status attn_family_find_type(const struct attn_json *json, const char **type,
                                       struct attn_error *err);

/* Returns the family of MODEL_TYPE, or NULL. */
const struct attn_family *attn_family_find(const char *model_type);

/* The families that are linked, in the order in which messages list them: ends with NULL. In
 * lib/parts.c. */
extern const struct attn_family *const attn_families[];

/* What is known about types that no row reads. */
struct attn_strangers {
    const struct attn_decoder_part
        *parts; /* [n_part]: decoders beside encoders that are not read */
    size_t n_part;
    /* Returns the reason why TYPE, of the config JSON, is not read; NULL: nothing is known. Sets
     * *NEAREST to the nearest type that is read, or leaves it. */
    const char *(*reason)(const struct attn_json *json, const char *type, const char **nearest);
    /* The reason by what the config has. */
    const char *(*guess)(const struct attn_json *json, const char *type);
    /* Finds the family that alone has the tensors of ST, of a config without a type. ATTN_FORMAT
     * if no family has them, or several do; the error has the line that JSON lacks. */
    enum attn_status (*find_family)(const struct attn_json *json,
                                    const struct attn_tensor_files *st,
                                    const struct attn_family **found, struct attn_error *err);
};
extern const struct attn_strangers *const attn_strangers; /* NULL: nothing. In lib/parts.c */

/* The keys of a config.json whose objects and lists are parsed, for attn_json_parse_named. */
extern const char *const attn_family_config_keys[];

/* Reads the config of FAMILY (NULL: of the family that it names) into CONFIG and checks that this
 * version can run it. If the family has two towers, reads that of TOWER. Release CONFIG also after
 * a failure. */
enum attn_status attn_family_read_config(struct attn_json *json, const struct attn_family *family,
                                         enum attn_tower tower, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

/* Reads the config of the encoder of FAMILY. The family must have one. */
enum attn_status attn_family_read_encoder(const struct attn_json *json,
                                          const struct attn_family *family,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* Reads the config of the tower of DECODER, a config that was read and has one, into CONFIG. */
enum attn_status attn_family_read_tower(struct attn_json *json, const struct attn_config *decoder,
                                        struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err);

/* Reads the generation settings of a decoder with an encoder. If there are two files, only the keys
 * about the begin of a text are read from the first one, because transformers reads the other keys
 * from one file only. */
void attn_family_read_generation(const struct attn_json *json, struct attn_config *config);

/* Reads the tokens that end a text, from config.json or generation_config.json. If JSON has none,
 * CONFIG is unchanged. */
void attn_family_read_end_ids(const struct attn_json *json, struct attn_config *config);
