/* family_guess.h - the family of a model whose config does not name it.
 *
 * Models of 2019 have a config without `model_type`. Their tensors are often those of one family
 * alone. */
#ifndef ATTN_FAMILIES_FAMILY_GUESS_H
#define ATTN_FAMILIES_FAMILY_GUESS_H

#include "formats/tensor_files_internal.h"
#include "model/family.h"

/* Finds the family that alone has the tensors of ST, of a config without a type. ATTN_FORMAT, with
 * the line that JSON lacks, if it is none or several. */
enum attn_status attn_family_guess(const struct attn_json *json, const struct attn_tensor_files *st,
                                   const struct attn_family **found, struct attn_error *err);

#endif
