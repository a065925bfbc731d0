/* gguf_naming.h - the names of tensors in GGUF files. */
#pragma once

#include "model/family.h"

/* Returns the rules for the names of tensors in the GGUF files FILES of a model of CONFIG, as a
 * family without other fields. */
const struct attn_family *attn_gguf_naming(const struct attn_config *config,
                                           const struct attn_tensor_files *files);

/* The same for the tower of a projector (gguf_projector.h) of the type PROJECTOR, in FILES. */
const struct attn_family *attn_gguf_tower_naming(const char *projector,
                                                 const struct attn_tensor_files *files);

/* Whether FILES, of a tower, have a row [CLS], as CLIP's has and SigLIP's lacks. */
bool attn_gguf_tower_has_class(const struct attn_tensor_files *files);

/* Whether FILES, of a tower, have exchanged the names ffn_up and ffn_down, as the script for LLaVA
 * of 2023 does. */
bool attn_gguf_tower_exchanges(const struct attn_tensor_files *files);
