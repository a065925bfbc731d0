/*
 * weights.h - the weights of a model as views into its files, bound once by tables of names and
 * shapes.
 *
 * Binding copies and reads nothing: a matrix has the address, layout and type of its elements, and
 * the kernels pack and convert the parts that a product needs.
 */
#pragma once

#include "base/memory.h"
#include "formats/safetensors.h"
#include "kernels/linear.h"
#include "model/family.h"
#include "trace/places_extra.h"

#include <stddef.h>

/* y = normalize(x) * w + b. If the config lacks the norm, w and b have no data; b of an RMSNorm has
 * none either. */
struct attn_norm_weights {
    struct attn_vector w, b; /* [D]; for q and k [E], or [H*E] and [G*E]; for mlp_post [F] */
    bool is_other; /* a LayerNorm where the config's norms are not, or an RMSNorm where they are
                      LayerNorms */
    float eps;     /* 0: that of the config */
};

/* The vectors of a layer without attention. attn_weights_bind makes floats of them, and the taps
 * of all channels lie side by side in conv, the oldest token first: [K, channels]. */
struct attn_mixer_weights {
    struct attn_vector conv, conv_bias;
    struct attn_vector decay;   /* [Hm] -exp(A_log), as GGUF files have it */
    struct attn_vector dt_bias; /* [Hm] added to the input of the decay */
    struct attn_vector skip;    /* [Hm] the share of mixer_v that Mamba2 adds to mixer_z */
    struct attn_vector norm;    /* of mixer_z: [dv], in Mamba2 [Hm*dv] */
};

/* One MLP of a mixture. */
struct attn_expert {
    struct attn_linear gate, in, out; /* [D, f], [D, f], [f, D] */
};

/* Experts of a layer that are converted to the layout of the kernels when a token first chooses
 * them: packed, or converted from Hugging Face's MXFP4. */
struct attn_lazy_experts {
    struct {
        const unsigned char *blocks, *scales; /* in the file; NULL: experts are packed instead */
        unsigned char *made; /* owns; the converted blocks, with their scales, of the experts that
                                were chosen */
        size_t n;            /* number of blocks in a map of one expert */
    } mxfp4[2];              /* [0] for gate and up, [1] for down */
    const struct attn_tensor_files *st; /* files of the experts, to release their pages */
    enum attn_compute compute;          /* number format for which they are packed */
    const struct attn_kernels *kernels; /* whose layout they are packed in */
    struct attn_monitor *monitor;       /* owns; held while an expert is converted */
    size_t n_expert;
    atomic_bool is_made[]; /* [n_expert] converted already */
};

enum { ATTN_BLOCK_N_NORM = 16, ATTN_BLOCK_N_LINEAR = 24 };

enum { ATTN_MODEL_N_LINEAR = 7 };

/* The weights of a block. Linear maps and norms that a config lacks have no data. The unions give
 * access to all norms and all maps as arrays. */
struct attn_block_weights {
    union {
        struct {
            struct attn_norm_weights ln1, ln2;           /* before attention, before the MLP */
            struct attn_norm_weights ln1_post, ln2_post; /* after attention, after the MLP */
            /* Norms of the stream after each addition. */
            struct attn_norm_weights mid_norm, end_norm;
            /* Layer scale: only w, a factor for each component, without a norm. */
            struct attn_norm_weights attn_scale, mlp_scale;
            struct attn_norm_weights mlp_norm;   /* of mlp_post */
            struct attn_norm_weights layer_norm; /* of what the input of the layer adds */
            /* Before the router, before the experts, after them, and after the shared expert. */
            struct attn_norm_weights router_norm, experts_norm, experts_post, shared_post;
            struct attn_norm_weights q_norm, k_norm;
        };
        struct attn_norm_weights norms[ATTN_BLOCK_N_NORM];
    };
    union {
        struct {
            struct attn_linear q, k, v; /* [D, H*E], [D, G*E], [D, G*Ev], heads side by side */
            struct attn_linear place_k, place_q; /* [D, H*E] of places; or none */
            struct attn_linear attn_gate;        /* [D, H*Ev] */
            /* Of a layer without attention: the input of its convolution, the gate of its output,
             * beta, and the decay. */
            struct attn_linear mixer_in, mixer_gate, mixer_beta, mixer_decay;
            struct attn_linear out;       /* [H*Ev, D], or [Hm*dv, D] */
            struct attn_linear mixer_out; /* [Hm*dv, D], beside attention */
            struct attn_linear mlp_gate;  /* [D, F] */
            struct attn_linear mlp_in;    /* [D, F] */
            struct attn_linear mlp_out;   /* [F, D] */
            struct attn_linear router;    /* [D, N], in a layer with experts */
            /* [D, d_latent], [d_latent, D]: before and after the experts */
            struct attn_linear latent_in, latent_out;
            struct attn_expert shared;        /* the expert that every token uses */
            struct attn_linear shared_router; /* [D, 1] */
            struct attn_linear layer_gate;    /* [D, P], P the width of the layer's input */
            struct attn_linear layer_out;     /* [P, D] */
        };
        struct attn_linear linears[ATTN_BLOCK_N_LINEAR]; /* in the order of the equations */
    };
    struct attn_mixer_weights mixer;
    struct attn_vector router_correction;       /* [N] is added to sigmoids for the choice */
    struct attn_vector expert_scale;            /* [N] factors of expert_weights, or none */
    struct attn_vector sinks;                   /* [H] sinks */
    struct attn_vector scalar;                  /* [1] the factor of resid_post, or none */
    struct attn_tensor value_table, value_gate; /* [V, G*E], [G, n_value_gate] of config.stream */
    struct attn_tensor relative_bias; /* [n_bucket, H], if each layer has a table of its own */
    struct attn_vector xielu[4];      /* alpha_p, alpha_n, beta, eps of xIELU: one number each */
    struct attn_expert *experts;      /* [n_expert] borrowed from attn_weights; NULL: an MLP */
    struct attn_lazy_experts *lazy;   /* owns; NULL: experts are used as they are stored */
};
_Static_assert(offsetof(struct attn_block_weights, k_norm) ==
                   offsetof(struct attn_block_weights, norms[ATTN_BLOCK_N_NORM - 1]),
               "the list has every norm");
_Static_assert(offsetof(struct attn_block_weights, layer_out) ==
                   offsetof(struct attn_block_weights, linears[ATTN_BLOCK_N_LINEAR - 1]),
               "the list has every map");

/* Whether map number LINEAR of a block belongs to the MLP, and not to attention. */
static inline bool attn_block_linear_is_mlp(size_t linear)
{
    return linear >= (offsetof(struct attn_block_weights, mlp_gate) -
                      offsetof(struct attn_block_weights, linears)) /
                         sizeof(struct attn_linear);
}

/* The head of SigLIP's pictures: one query, which attends to all rows, and an MLP. */
struct attn_pool_head {
    struct attn_vector probe; /* [D], the input of the query; data is NULL if there is no head */
    struct attn_linear qkv;   /* [D, 3 D]: all of q, all of k, all of v */
    struct attn_linear out, mlp_in, mlp_out;
    struct attn_norm_weights norm; /* before the MLP */
};

/* The connector of DeepStack, which makes rows from an earlier layer of a tower. */
struct attn_deep_weights {
    struct attn_norm_weights norm; /* of the patches of a cell side by side: LayerNorm */
    struct attn_linear in, out;
};

struct attn_weights {
    struct attn_tensor embed;          /* [V, De] */
    struct attn_tensor positions;      /* [first_position + n_ctx, De], or for pictures positions of
                                          [CLS] and the patches; data is NULL if there are none */
    struct attn_vector cls, registers; /* [De] and [n_register * De], for pictures */
    struct attn_tensor relative_bias;  /* [n_bucket, H]; data is NULL if there is none */
    struct attn_tensor types;          /* [n_type, De]; data is NULL if there are none */
    struct attn_tensor places;         /* [n, D] of DeBERTa; data is NULL if there are none */
    struct attn_tensor layer_inputs;   /* [tokens, n_layer * P]; data is NULL if there are none */
    struct attn_tensor source_positions; /* [n_source, d_source]; data is NULL if there are none */
    /* Of config.stream: [n_layer], [n_layer], [1], [1], [1, n_stream_gate]. */
    struct attn_vector stream_scales, embed_scales, previous_scale, backout_scale;
    struct attn_tensor previous_gate;
    struct attn_tensor logit_scale; /* one number, for models with two towers */
    struct attn_vector logit_bias;  /* [1] of SigLIP; data is NULL if there is none */
    struct attn_pool_head pool;
    /* [n_layer * n_head] and [1], the regression for contacts. */
    struct attn_vector contacts, contacts_bias;
    /* [d_head / 2] rotary frequencies in the file; n is 0 if there are none. */
    struct attn_vector frequencies;
    struct attn_block_weights *blocks; /* owns; [n_layer] */
    size_t n_block;
    struct attn_norm_weights ln_row, ln_embed, ln_final, ln_head, ln_place, ln_conv;
    struct attn_norm_weights ln_layer_input; /* [P] of each layer's share of layer_map */
    struct attn_expert *experts;             /* owns; [layers with experts][n_expert] */
    const float *sinks;                      /* in `made`; [n_layer, n_head], or NULL */
    const float *row_norm; /* in `made`; [2, De] weight and bias of ln_row, or NULL */
    /* [3 n_mel, D], [3 D, D]: the convolutions of an encoder of sound. */
    struct attn_linear sound[2];
    struct attn_linear connector;          /* [merge * merge * D, d_feature], of a tower */
    struct attn_norm_weights ln_connector; /* of a cell, as config.vision.cells; or none */
    struct attn_linear connector_merge;    /* [merge * merge * D, D], before it; or none */
    struct attn_linear connector_in;       /* [merge * merge * D, the same], before it; or none */
    struct attn_vector line_end;           /* [d_feature], where tiles are joined */
    struct attn_deep_weights deep[ATTN_MOST_DEEP]; /* in the order of vision.deep */
    union {
        struct {
            struct attn_linear unembed;    /* [De, V]; for a classifier it may be [2 De, V] */
            struct attn_linear embed_map;  /* [De, D] */
            struct attn_linear head;       /* [D, De]: the MLM head */
            struct attn_linear projection; /* [D, d_projected] */
            struct attn_linear patches;    /* [channels * pixels of a patch, De] */
            struct attn_linear conv;       /* [D * n_conv, D], of DeBERTa */
            struct attn_linear layer_map;  /* [D, n_layer * P] */
        };
        /* The maps outside of the blocks, the largest first. */
        struct attn_linear linears[ATTN_MODEL_N_LINEAR];
    };
    float *made; /* owns; weights that are not used as the file has them: ones for norms without
                    weights, joined norms of single heads, and vectors as float32 */
    size_t n_made;
    struct attn_arena packed; /* owns the memory of attn_weights_pack */
    float **changed;          /* owns; [n_changed] matrices of attn_weights_add */
    size_t n_changed, changed_capacity;
    bool is_reused; /* attn_weights_pack was called, even if it packed nothing */
    /* Owns; the transposed maps of attn_weights_turn; no other weights. */
    struct attn_weights *turned;
    struct attn_monitor *turning; /* owns; held while `turned` is made */
};

/* Returns the weights of the layer of AT. */
static inline const struct attn_block_weights *attn_block_at(const struct attn_weights *weights,
                                                             const struct attn_location *at)
{
    return &weights->blocks[attn_location_index(at)];
}

enum { ATTN_WEIGHT_NAME_SIZE = 128, ATTN_WEIGHT_MAX_RANK = 5 };

/* A tensor that a model needs. */
struct attn_weight_spec {
    const struct attn_weight_rule *rule;
    int layer;                        /* the first layer that has it; 0 outside of the layers */
    char name[ATTN_WEIGHT_NAME_SIZE]; /* with the family's prefix */
    int rank;
    size_t shape[ATTN_WEIGHT_MAX_RANK];
};

/* Lists the tensors that a model of CONFIG needs: before the layers, layer by layer, after the
 * layers. WITH_BIASES also lists biases that a file may lack. The caller frees *specs [*n]. */
enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       struct attn_weight_spec **specs, size_t *n,
                                       struct attn_error *err);

/* Finds every tensor that CONFIG needs in ST, by the rules of FAMILY or of GGUF, checks types and
 * shapes, and fills WEIGHTS, which borrows ST. Sets config->output to ATTN_OUTPUT_OWN if there is a
 * separate output matrix, and to ATTN_OUTPUT_NONE if an MLM head is missing. Release WEIGHTS also
 * after a failure. */
enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_family *family,
                                   const struct attn_tensor_files *st, struct attn_error *err);

/* Finds what the tensor NAME, in Hugging Face's files, is in a model of CONFIG: fills SPEC, with
 * the shape that it has there. Returns false if the model does not have or use it. */
bool attn_weights_find(const struct attn_config *config, const char *name,
                       struct attn_weight_spec *spec);

/* Whether SPEC is one tensor that WEIGHTS use as it is stored: no expert, and no vector that was
 * copied when weights were bound. */
bool attn_weights_can_change(const struct attn_weight_spec *spec);

/* Sums of squares over the elements of a change and of what it changed. */
struct attn_weight_sums {
    double of_change, of_base;
};

/* Adds CHANGE, a float32 tensor of SPEC's shape, to the maps of WEIGHTS that the tensor of SPEC
 * holds, in every layer that has it. They become float32 matrices, owned by WEIGHTS.
 * ATTN_UNSUPPORTED if they are in blocks. Call it before attn_weights_pack. */
enum attn_status attn_weights_add(struct attn_weights *weights, struct attn_config *config,
                                  const struct attn_weight_spec *spec,
                                  const struct attn_tensor *change, struct attn_weight_sums *sums,
                                  struct attn_error *err);

/* Makes TENSOR, whose shape is SPEC's, the one of WEIGHTS, which borrow its data. */
void attn_weights_replace(struct attn_weights *weights, struct attn_config *config,
                          const struct attn_weight_spec *spec, const struct attn_tensor *tensor);

/* Options for packing weights. */
struct attn_packing {
    enum attn_compute compute;
    const struct attn_kernels *kernels; /* the layout is theirs */
    size_t most_of_blocks;              /* limit in bytes for all packed weights with blocks */
    size_t most_of_experts;             /* limit in bytes for the panels of all experts */
    struct attn_pool *pool;             /* NULL: the caller's thread */
};

/* Makes a packed copy of every matrix, and releases the pages of ST that contain them. Weights with
 * blocks are not packed if that would exceed the limit in PACKING, or as tiles if these do not pay
 * (attn_linear_packed_size is 0): then each feed splits them. An expert is packed when a token
 * first chooses it. */
enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err);

/* Makes a packed, transposed copy of the maps of all blocks, weights->turned, unless it exists.
 * Maps with quantized blocks, or with columns at unequal distances, are not packed. A backward pass
 * otherwise packs transposed weights in each run: if it runs often, the copy saves a tenth of its
 * time, and takes as much memory as the weights. Products give the same bits. Any thread. */
enum attn_status attn_weights_turn(const struct attn_weights *weights,
                                   const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err);

/* Returns the multiply-adds for one row in the linear maps of a block. */
double attn_weights_work_of_block(const struct attn_weights *weights,
                                  const struct attn_config *config);

/* Converts EXPERT of a layer to the layout of the kernels, once, before it is used, so that experts
 * that are never chosen are not read. Any thread. If memory for panels is short, the expert is used
 * as it is stored. */
void attn_weights_make_expert(const struct attn_block_weights *block, size_t expert,
                              struct attn_pool *pool);

void attn_weights_release(struct attn_weights *weights);

/* Whether LAYER shares its weights with the layer before it. */
bool attn_weights_are_shared(const struct attn_config *config, size_t layer);

/* Whether NAMING has a rule for the tensor NAME, in any layer, that a model of CONFIG may have. */
bool attn_weights_know(const struct attn_family *naming, const struct attn_config *config,
                       const char *name);

/* Whether ST has the first tensor of NAMING after PREFIX; NULL: after any that NAMING has. */
bool attn_weights_are_named(const struct attn_family *naming, const char *prefix,
                            const struct attn_tensor_files *st);

/* For a GGUF file: returns ATTN_UNSUPPORTED and names a tensor that was not bound, unless it is
 * known to be unused. Such a tensor is the only sign that a part of the model would be left out. */
enum attn_status attn_weights_check_unused(const struct attn_family *naming,
                                           const struct attn_config *config,
                                           const struct attn_tensor_files *st,
                                           struct attn_error *err);

/* Searches the tensors of LAYER (ATTN_NO_LAYER: outside the layers) for NaN and infinity, after a
 * result was not finite. Returns ATTN_FORMAT and names the first such tensor, or ATTN_OK. */
enum attn_status attn_weights_find_non_finite(const struct attn_family *naming,
                                              const struct attn_tensor_files *st, int layer,
                                              struct attn_error *err);
