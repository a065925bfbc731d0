/*
 * adapter.h - a LoRA adapter as peft saves it: low-rank changes of a model's linear maps, and
 * modules that replace those of the model.
 *
 *     struct attn_adapter *adapter;
 *     attn_adapter_open(&source, ATTN_MAP, &adapter, &err); // NULL: SOURCE has no adapter
 *     attn_adapter_apply(adapter, &target, &err);
 *     attn_adapter_free(adapter); // after the weights
 *
 * W becomes W + scale * B A in float32, where scale is alpha / r, or alpha / sqrt(r) with
 * use_rslora. A changed map is a copy of 4 bytes a weight; all others stay in their file. Names are
 * those of Hugging Face's modules, also for a GGUF file, whose tensors have other names.
 */
#ifndef ATTN_MODEL_ADAPTER_H
#define ATTN_MODEL_ADAPTER_H

#include "base/source.h"
#include "model/weights.h"

/* Parts of a source with an adapter: they are read only if they are overrides. */
#define ATTN_ADAPTER_CONFIG "adapter_config.json"
#define ATTN_ADAPTER_WEIGHTS "adapter_model.safetensors"

struct attn_pool;

/* One changed map, or one replaced tensor. */
struct attn_adapter_change {
    char *module;             /* owns; such as "model.layers.0.self_attn.q_proj" */
    char *tensor;             /* owns; its weight, or the tensor that is replaced */
    const char *name;         /* of `a`, or of `whole`; borrowed from the file */
    struct attn_tensor a, b;  /* [r, in], [out, r] */
    struct attn_tensor whole; /* the new tensor; data is NULL for a low-rank change */
    size_t rank;              /* r */
    int n_dim; /* dimensions of the tensor in the model, once applied, and their sizes: */
    size_t shape[ATTN_WEIGHT_MAX_RANK];
    double scale;
    double of_change, of_base; /* sums of squares of scale * B A and of W, once applied */
    bool is_used;
};

struct attn_adapter {
    struct attn_tensor_files *files;     /* owns */
    struct attn_adapter_change *changes; /* [n] owns; in the order of the names in the file */
    size_t n;
    char *base; /* owns; the model for which it was made, as its config has it; or NULL */
};

/* The weights that an adapter changes. */
struct attn_adapter_target {
    struct attn_weights *weights;
    struct attn_config *config;
    bool is_gguf, is_part;  /* is_part: of a model with other parts, which are not read */
    struct attn_pool *pool; /* or NULL */
};

/* Opens the adapter of SOURCE. Sets *adapter to NULL if SOURCE has none. ATTN_UNSUPPORTED, with the
 * name of the field, for an adapter that is not plain LoRA; ATTN_FORMAT if files are malformed. */
enum attn_status attn_adapter_open(const struct attn_source *source, enum attn_load load,
                                   struct attn_adapter **adapter, struct attn_error *err);
void attn_adapter_free(struct attn_adapter *adapter); /* NULL is allowed */

/* Applies the changes of ADAPTER that are about TARGET, whose weights are bound and not packed. The
 * weights borrow from ADAPTER. A model with an encoder has two targets. */
enum attn_status attn_adapter_apply(struct attn_adapter *adapter,
                                    const struct attn_adapter_target *target,
                                    struct attn_error *err);

/* Returns ATTN_UNSUPPORTED, and names the module, if a change of ADAPTER was not applied, unless it
 * is of the other tower of a model of CONFIG, whose family is NAMING, or IS_PART and the change is
 * of another part. */
enum attn_status attn_adapter_check_used(const struct attn_adapter *adapter,
                                         const struct attn_family *naming,
                                         const struct attn_config *config, bool is_part,
                                         const char *model, struct attn_error *err);

#endif
