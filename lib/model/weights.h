/*
 * weights.h - the weights of a model as views into its files, bound once by tables of names and
 * shapes.
 *
 * Nothing is copied or read here: a matrix says where its elements lie, in which layout and type,
 * and the kernels pack and convert what a product needs.
 */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include "base/arena.h"
#include "formats/safetensors.h"
#include "kernels/linear.h"
#include "model/config.h"

#include <stddef.h>

/* y = normalize(x) * w + b */
struct attn_norm_weights {
    struct attn_vector w, b; /* [D] */
};

enum { ATTN_BLOCK_N_LINEAR = 6 };

/* Linear maps that a config lacks have no data. */
struct attn_block_weights {
    struct attn_norm_weights ln1, ln2; /* before attention, before the MLP */
    union {
        struct {
            struct attn_linear q, k, v; /* [D, H*E], [D, G*E], [D, G*Ev], heads side by side */
            struct attn_linear out;     /* [H*Ev, D] */
            struct attn_linear mlp_in;  /* [D, F] */
            struct attn_linear mlp_out; /* [F, D] */
        };
        struct attn_linear
            linears[ATTN_BLOCK_N_LINEAR]; /* all of these, for what is done to each alike */
    };
};
_Static_assert(offsetof(struct attn_block_weights, mlp_out) ==
                   offsetof(struct attn_block_weights, linears[ATTN_BLOCK_N_LINEAR - 1]),
               "the list has every map");

struct attn_weights {
    struct attn_tensor embed;          /* [V, D] */
    struct attn_tensor positions;      /* [n_ctx, D]; data NULL: none */
    struct attn_block_weights *blocks; /* owns; [n_layer] */
    struct attn_norm_weights ln_final;
    struct attn_linear unembed; /* [D, V] */
    struct attn_arena packed;   /* owns what attn_weights_pack made */
};

/* The part of a model that a tensor belongs to: it is needed when the config has the part. */
enum attn_weight_part {
    ATTN_PART_ALWAYS,
    ATTN_PART_POSITIONS,
    ATTN_PART_NORM,
    ATTN_PART_PROJECTIONS,
    ATTN_PART_QKV_BIAS,
    ATTN_PART_OUT_PROJ,
    ATTN_PART_OUT_BIAS,
    ATTN_PART_MLP_NORM,
    ATTN_PART_MLP,
    ATTN_PART_MLP_BIAS, /* used when the file has it */
    ATTN_PART_FINAL_NORM,
    ATTN_PART_OUTPUT,       /* an output matrix of its own */
    ATTN_PART_OUTPUT_FOUND, /* the same, also used when the file has it and the config says tied */
    ATTN_PART_OUTPUT_BIAS,  /* used when the file has it */
    ATTN_PART_IGNORED       /* buffers that are no weights */
};

/* What a tensor becomes. */
enum attn_weight_kind {
    ATTN_WEIGHT_TENSOR, /* struct attn_tensor, as it is */
    ATTN_WEIGHT_VECTOR, /* struct attn_vector, flat: b_Q [H, E] has H*E elements */
    ATTN_WEIGHT_IN_OUT, /* struct attn_matrix, y = x W as it lies; [H, Ev, D] reads as [H*Ev, D] */
    ATTN_WEIGHT_OUT_IN, /* struct attn_matrix, transposed (nn.Linear) */
    ATTN_WEIGHT_HEADS,  /* struct attn_matrix from [heads, in, width]: one matrix a head */
    ATTN_WEIGHT_QKV_MATRIX, /* the weights of q, k and v side by side, [in, out] */
    ATTN_WEIGHT_QKV_VECTOR  /* their biases side by side */
};

/*
 * One tensor that a naming knows. In a name # stands for the layer's number; /name never has the
 * prefix. Shapes are letters: V D H G E F as in trace/site.h, P n_ctx, U d_value, S d_model or
 * d_source, A = H*E + G*E + G*U.
 */
struct attn_weight_rule {
    const char *name; /* behind the prefix */
    const char *shape;
    enum attn_weight_part part;
    enum attn_weight_kind kind;
    size_t offset; /* of its place in attn_block_weights, or in attn_weights for names without # */
};

/* How one family names its tensors. */
struct attn_weight_naming {
    const char *model_type;
    const char *prefix; /* in front of every name if the file has PREFIX + rules[0].name; or NULL */
    const struct attn_weight_rule *rules; /* [n_rule] */
    size_t n_rule;
};

extern const struct attn_weight_naming attn_weight_naming_gpt2;
extern const struct attn_weight_naming attn_weight_naming_attn;

enum { ATTN_WEIGHT_NAME_SIZE = 128, ATTN_WEIGHT_MAX_RANK = 3 };

/* A tensor that a model has. */
struct attn_weight_spec {
    const struct attn_weight_rule *rule;
    int layer;                        /* 0 outside the layers */
    char name[ATTN_WEIGHT_NAME_SIZE]; /* with the naming's prefix */
    int rank;
    size_t shape[ATTN_WEIGHT_MAX_RANK];
};

typedef enum attn_status (*attn_weight_spec_fn)(void *user, const struct attn_weight_spec *spec,
                                                struct attn_error *err);

/*
 * Calls FN for each tensor that a model of CONFIG needs: what comes before the layers, layer by
 * layer, what comes after. WITH_BIASES adds the biases that a file may lack. Stops at a failure of
 * FN.
 */
enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       attn_weight_spec_fn fn, void *user, struct attn_error *err);

/* Told of tensors that no rule names. */
typedef void (*attn_unused_fn)(void *user, const char *tensor_name);

/*
 * Finds every tensor that CONFIG needs in ST, checks types and shapes, and fills WEIGHTS, which
 * borrows ST. An own output matrix in the file makes config->output ATTN_OUTPUT_OWN. Release it
 * also after a failure.
 */
enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_safetensors *st, struct attn_error *err);
void attn_weights_release(struct attn_weights *weights);

/* Calls FN for each tensor of ST that the naming of MODEL_TYPE does not know. */
void attn_weights_list_unused(const char *model_type, const struct attn_safetensors *st,
                              attn_unused_fn fn, void *user);

/*
 * Looks for a value that is not finite in the tensors of LAYER (ATTN_NO_LAYER: those outside the
 * layers), after a result was not finite: ATTN_FORMAT naming the first one, ATTN_OK when there is
 * none.
 */
enum attn_status attn_weights_find_non_finite(const char *model_type,
                                              const struct attn_safetensors *st, int layer,
                                              struct attn_error *err);

#endif
