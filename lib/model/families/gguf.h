/* gguf.h - the names of tensors in GGUF files. */
#ifndef ATTN_MODEL_FAMILIES_GGUF_H
#define ATTN_MODEL_FAMILIES_GGUF_H

#include "model/family.h"

/* How GGUF files name the tensors of FAMILY: a row that has rules alone. */
const struct attn_family *attn_family_of_gguf(const struct attn_family *family);

#endif
