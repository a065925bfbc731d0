/*
 * weights.h - the weights of a model as views into its files, bound once by tables of names and
 * shapes.
 *
 * Nothing is copied or read here: a matrix holds the address, layout and type of its elements, and
 * the kernels pack and convert the parts that a product needs.
 */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include "base/memory.h"
#include "formats/safetensors.h"
#include "kernels/linear.h"
#include "model/family.h"

#include <stddef.h>

/* y = normalize(x) * w + b. A norm that a config lacks has no data, nor has b of an RMSNorm. */
struct attn_norm_weights {
    struct attn_vector w, b; /* [D]; of q and k [E], or [H*E] and [G*E] */
};

/* One MLP of a mixture. */
struct attn_expert {
    struct attn_linear gate, in, out; /* [D, f], [D, f], [f, D] */
};

/* Experts of a layer that are put in the order of kernels when a token first chooses them: packed,
 * or of Hugging Face's MXFP4. */
struct attn_lazy_experts {
    struct {
        const unsigned char *blocks, *scales; /* in the file; NULL: experts are packed */
        unsigned char *made; /* owns; the blocks with their scales, of experts that are made */
        size_t n;            /* blocks of an expert */
    } mxfp4[2];              /* gate and up, and down */
    const struct attn_tensor_files *st; /* of experts that are packed */
    enum attn_compute compute;          /* for which they are packed */
    struct attn_monitor *monitor;       /* owns; held while an expert is made */
    size_t n_expert;
    atomic_bool is_made[]; /* [n_expert] */
};

enum { ATTN_BLOCK_N_NORM = 10, ATTN_BLOCK_N_LINEAR = 12 };

enum { ATTN_MODEL_N_LINEAR = 5 };

/* Linear maps that a config lacks have no data. Both lists are for code that treats all alike. */
struct attn_block_weights {
    union {
        struct {
            struct attn_norm_weights ln1, ln2;              /* before attention, before the MLP */
            struct attn_norm_weights ln1_post, ln2_post;    /* of their outputs */
            struct attn_norm_weights mid_norm, end_norm;    /* norm of the stream, after each sum */
            struct attn_norm_weights attn_scale, mlp_scale; /* layer scale: w alone, a factor for
                                                               each component, no norm */
            struct attn_norm_weights q_norm, k_norm;
        };
        struct attn_norm_weights norms[ATTN_BLOCK_N_NORM];
    };
    union {
        struct {
            struct attn_linear q, k, v;  /* [D, H*E], [D, G*E], [D, G*Ev], heads side by side */
            struct attn_linear out;      /* [H*Ev, D] */
            struct attn_linear mlp_gate; /* [D, F] */
            struct attn_linear mlp_in;   /* [D, F] */
            struct attn_linear mlp_out;  /* [F, D] */
            struct attn_linear router;   /* [D, N], of a layer with experts */
            struct attn_expert shared;   /* the expert of every token */
            struct attn_linear shared_router; /* [D, 1] */
        };
        struct attn_linear linears[ATTN_BLOCK_N_LINEAR]; /* in the order of the equations */
    };
    struct attn_vector sinks;       /* [H] */
    struct attn_expert *experts;    /* [n_expert] borrowed from attn_weights; NULL: an MLP */
    struct attn_lazy_experts *lazy; /* owns; NULL: experts are read as they lie */
};
_Static_assert(offsetof(struct attn_block_weights, k_norm) ==
                   offsetof(struct attn_block_weights, norms[ATTN_BLOCK_N_NORM - 1]),
               "the list has every norm");
_Static_assert(offsetof(struct attn_block_weights, shared_router) ==
                   offsetof(struct attn_block_weights, linears[ATTN_BLOCK_N_LINEAR - 1]),
               "the list has every map");

/* Whether map LINEAR of a block, an index of its list, is one of the MLP; else of attention. */
static inline bool attn_block_linear_is_mlp(size_t linear)
{
    return linear >= (offsetof(struct attn_block_weights, mlp_gate) -
                      offsetof(struct attn_block_weights, linears)) /
                         sizeof(struct attn_linear);
}

struct attn_weights {
    struct attn_tensor embed;                   /* [V, De] */
    struct attn_tensor positions;               /* [first_position + n_ctx, De], or of [CLS] and the
                                                   patches; data NULL: none */
    struct attn_vector cls, registers;          /* [De], [n_register * De] of pictures */
    struct attn_tensor relative_bias;           /* [n_bucket, H]; data NULL: none */
    struct attn_tensor types;                   /* [n_type, De]; data NULL: none */
    struct attn_tensor source_positions;        /* [n_source, d_source]; data NULL: none */
    struct attn_tensor logit_scale;             /* [], where there are two towers */
    struct attn_vector contacts, contacts_bias; /* [n_layer * n_head], [1] of their regression */
    struct attn_vector frequencies;             /* [d_head / 2] of rotary positions; n 0: none */
    struct attn_block_weights *blocks;          /* owns; [n_layer] */
    size_t n_block;
    struct attn_norm_weights ln_row, ln_embed, ln_final, ln_head;
    struct attn_expert *experts; /* owns; [layers with experts][n_expert] */
    const float *sinks;          /* made; [n_layer, n_head], or NULL */
    const float *row_norm;       /* made; [2, De] weight and bias of ln_row, or NULL */
    struct attn_linear
        sound[2]; /* [3 n_mel, D], [3 D, D]: the convolutions of an encoder of sound */
    union {
        struct {
            struct attn_linear unembed;    /* [De, V]; a classifier's may be [2 De, V] */
            struct attn_linear embed_map;  /* [De, D] */
            struct attn_linear head;       /* [D, De]: the MLM head */
            struct attn_linear projection; /* [D, d_projected] */
            struct attn_linear patches;    /* [channels * pixels of a patch, De] */
        };
        struct attn_linear linears[ATTN_MODEL_N_LINEAR]; /* outside of the blocks; the largest
                                                            first */
    };
    float *made; /* owns; weights that are not in the file as they are used: ones of norms without
                    weights, those of single heads, joined, and vectors as float32 */
    size_t n_made;
    struct attn_arena packed;     /* owns what attn_weights_pack made */
    bool is_reused;               /* it was called, whatever it packed */
    struct attn_weights *turned;  /* owns; what attn_weights_turn made, the maps of blocks alone */
    struct attn_monitor *turning; /* owns; held meanwhile */
};

enum { ATTN_WEIGHT_NAME_SIZE = 128, ATTN_WEIGHT_MAX_RANK = 4 };

/* A tensor that a model has. */
struct attn_weight_spec {
    const struct attn_weight_rule *rule;
    char name[ATTN_WEIGHT_NAME_SIZE]; /* with the family's prefix */
    int rank;
    size_t shape[ATTN_WEIGHT_MAX_RANK];
};

/* Lists the tensors that a model of CONFIG needs in *specs [*n], to be freed: before the layers,
 * layer by layer, after the layers. WITH_BIASES adds the biases that a file may lack. */
enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       struct attn_weight_spec **specs, size_t *n,
                                       struct attn_error *err);

/* Finds every tensor that CONFIG needs in ST, by the rules of FAMILY or GGUF, checks types and
 * shapes, and fills WEIGHTS, which borrows ST. A separate output matrix makes config->output
 * ATTN_OUTPUT_OWN, a missing MLM head ATTN_OUTPUT_NONE. Release WEIGHTS also after a failure. */
enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_family *family,
                                   const struct attn_tensor_files *st, struct attn_error *err);

/* How weights are packed. */
struct attn_packing {
    enum attn_compute compute;
    size_t most_of_blocks;  /* bytes that the panels of all blocks may take */
    size_t most_of_experts; /* and those of all experts */
    struct attn_pool *pool; /* NULL: the caller's thread alone */
};

/* Makes a packed copy of every matrix, and gives back the pages of ST that hold them. Blocks stay
 * packed for products in float32 if decoding takes less time than reading their panels, or if
 * panels would take more than PACKING allows: each feed decodes these anew. An expert is packed
 * when a token first chooses it. */
enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err);

/* Makes a packed copy of the transposed maps of all blocks, weights->turned, unless it is there;
 * those of blocks of numbers, or with columns at uneven distances, stay unpacked. A backward pass
 * packs transposed weights in each run: where it runs often, the copy saves a tenth of its time,
 * and takes as much memory as the weights. Products have the same bits. Any thread. */
enum attn_status attn_weights_turn(const struct attn_weights *weights,
                                   const struct attn_config *config,
                                   const struct attn_tensor_files *st, struct attn_pool *pool,
                                   struct attn_error *err);

/* Multiply-adds of a row in the linear maps of a block. */
double attn_weights_work_of_block(const struct attn_weights *weights,
                                  const struct attn_config *config);

/* Puts EXPERT of a layer in the order that kernels read, once, before it is multiplied: experts
 * that nobody chose are not read. Any thread. Without memory for panels it stays as it is. */
void attn_weights_make_expert(const struct attn_block_weights *block, size_t expert,
                              struct attn_pool *pool);

void attn_weights_release(struct attn_weights *weights);

/* Whether LAYER has the weights of the layer before it. */
bool attn_weights_are_shared(const struct attn_config *config, size_t layer);

/* Whether NAMING has a rule for a tensor NAME, of any layer, that a model of CONFIG may have. */
bool attn_weights_know(const struct attn_family *naming, const struct attn_config *config,
                       const char *name);

/* For a GGUF file: ATTN_UNSUPPORTED names a tensor that was not bound, unless it is known to be
 * unused. Such a tensor is the only sign of a part of the model that would be left out. */
enum attn_status attn_weights_check_unused(const struct attn_family *naming,
                                           const struct attn_config *config,
                                           const struct attn_tensor_files *st,
                                           struct attn_error *err);

/* Looks for a value that is not finite in the tensors of LAYER (ATTN_NO_LAYER: outside the layers),
 * after a result was not finite: ATTN_FORMAT naming the first tensor, or ATTN_OK. */
enum attn_status attn_weights_find_non_finite(const struct attn_family *naming,
                                              const struct attn_tensor_files *st, int layer,
                                              struct attn_error *err);

#endif
