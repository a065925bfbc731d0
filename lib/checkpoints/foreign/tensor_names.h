/* tensor_names.h - the names of tensors in files of other programs (attn_rename_tensors). */
#pragma once

#include "model/model_internal.h"

extern attn_rename_fn attn_tensor_names_read;

/* Returns the name of a tensor of a text part without what is in front of it. */
const char *attn_tensor_names_of_part(const char *name);
