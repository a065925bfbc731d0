/* tensor_names.h - gives the tensors of files the names that families know: leaves out what other
 * programs put in front of them, and the parts of a model that are not read. */
#ifndef ATTN_MODEL_TENSOR_NAMES_H
#define ATTN_MODEL_TENSOR_NAMES_H

#include "model/family.h"
#include "model/model.h"

struct attn_tensor_files;

/* Renames the tensors of FILES, of a model of NAMING. With a PART, all that is not of the text part
 * and of TOWER, if that is not NULL, is left out; NULL: the model has no other part. Notes in
 * OPTIONS what was in front of the names. Returns ATTN_UNSUPPORTED for files with an adapter
 * inside. */
enum attn_status
attn_tensor_names_read(struct attn_tensor_files *files, const struct attn_family *naming,
                       const struct attn_decoder_part *part, const struct attn_family *tower,
                       const struct attn_model_options *options, struct attn_error *err);

/* Returns the name of a tensor of a text part without what is in front of it. */
const char *attn_tensor_names_of_part(const char *name);

#endif
