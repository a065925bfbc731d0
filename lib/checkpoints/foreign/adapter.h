/*
 * adapter.h - a LoRA adapter as peft saves it: low-rank changes of a model's linear maps, and
 * modules that replace those of the model.
 *
 * W becomes W + scale * B A in float32, where scale is alpha / r, or alpha / sqrt(r) with
 * use_rslora. A changed map is a copy of 4 bytes a weight; all others stay in their file. Names are
 * those of Hugging Face's modules, also for a GGUF file, whose tensors have other names.
 */
#pragma once

#include "model/model_internal.h"

/* One changed map, or one replaced tensor. */
struct attn_adapter_change {
    char *module;             /* owns; such as "model.layers.0.self_attn.q_proj" */
    char *tensor;             /* owns; its weight, or the tensor that is replaced */
    const char *name;         /* of `a`, or of `whole`; borrowed from the file */
    struct attn_tensor a, b;  /* [r, in], [out, r] */
    struct attn_tensor whole; /* the new tensor; data is NULL for a low-rank change */
    bool is_of_base;          /* `whole` is a tensor of the base model, not of a saved module */
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
