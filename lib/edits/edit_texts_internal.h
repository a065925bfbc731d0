/* edit_texts_internal.h - the list of parameters that fill a struct attn_edit_texts. */
#ifndef ATTN_EDITS_EDIT_TEXTS_INTERNAL_H
#define ATTN_EDITS_EDIT_TEXTS_INTERNAL_H

#include "base/param.h"
#include "edits/edit_texts.h"

extern const struct attn_param_list attn_edit_params;

#endif
