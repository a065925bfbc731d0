/* families_internal.h - shared by the files of this folder. */
#ifndef ATTN_MODEL_FAMILIES_FAMILIES_INTERNAL_H
#define ATTN_MODEL_FAMILIES_FAMILIES_INTERNAL_H

#include "model/family.h"
#include "model/weights.h"

/* --- Tables of tensors (struct attn_weight_rule)
 * ------------------------------------------------ */

/* Where a tensor belongs: in a block, or in the model. */
#define BLOCK(member) offsetof(struct attn_block_weights, member)
#define MODEL(member) offsetof(struct attn_weights, member)
#define NORM_W(norm) (BLOCK(norm) + offsetof(struct attn_norm_weights, w))
#define NORM_B(norm) (BLOCK(norm) + offsetof(struct attn_norm_weights, b))

#define VECTOR(name, shape, part, place)                                                           \
    {                                                                                              \
        name, shape, part, ATTN_WEIGHT_VECTOR, place                                               \
    }

/* A map of a block and its bias; KIND determines which dimension is the input. */
#define MAP(kind, name, shape, part, bias_shape, bias_part, map)                                   \
    {name ".weight", shape, part, kind, BLOCK(map) + offsetof(struct attn_linear, weight)},        \
        VECTOR(name ".bias", bias_shape, bias_part,                                                \
               BLOCK(map) + offsetof(struct attn_linear, bias))
/* nn.Linear, [out, in], and Conv1D, [in, out]. */
#define LINEAR(...) MAP(ATTN_WEIGHT_OUT_IN, __VA_ARGS__)
#define CONV1D(...) MAP(ATTN_WEIGHT_IN_OUT, __VA_ARGS__)

/* A LayerNorm, in a block or at the end. */
#define LAYER_NORM(name, part, norm)                                                               \
    VECTOR(name ".weight", "D", part, NORM_W(norm)), VECTOR(name ".bias", "D", part, NORM_B(norm))
#define FINAL_LAYER_NORM(name)                                                                     \
    VECTOR(name ".weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),                          \
        VECTOR(name ".bias", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.b))

/* The fields of every family of Hugging Face: its type, how `architectures` begins without one, the
 * prefix of its tensors, their table. */
#define FAMILY(type, for_what, before, list)                                                       \
    .model_type = (type), .architecture = (for_what), .prefix = (before), .rules = (list),         \
    .n_rule = sizeof(list) / sizeof *(list), .vocabulary_key = "vocab_size"

/* A tensor that is not read, such as a buffer that is not a weight. */
#define NOT_READ(name, part)                                                                       \
    {                                                                                              \
        name, "", part, ATTN_WEIGHT_TENSOR, 0                                                      \
    }
#define IGNORED(name) NOT_READ(name, ATTN_PART_IGNORED)

/* --- GGUF ------------------------------------------------------------------------------------- */

/* How GGUF files name the tensors of FAMILY: a row that has rules alone. */
const struct attn_family *attn_family_of_gguf(const struct attn_family *family);

#endif
