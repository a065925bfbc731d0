/* input_params.h - the parameters for the input of a request: its kind, and how it is read. */
#pragma once

#include "params/param.h"
#include "params/param_rules.h"
#include "run/request.h"

/* Parameters of a struct attn_request: how texts are read; numbers instead of a text; a second text
 * and types; the key mask; the tiles of a picture; a conversation; the source. */
extern const struct attn_param_list attn_reading_params, attn_numbers_params, attn_pair_params,
    attn_key_mask_params, attn_picture_prompt_params, attn_chat_params, attn_source_params;

/* Rules about parameters of an input that exclude or need each other. */
extern const struct attn_param_rules attn_input_rules;

/* Implements attn_param.read. TEXT becomes the text of the struct attn_input at `offset`; if it
 * names a .npy file, the rows in the file become its embeddings, which attn_param_release frees
 * with attn_input_release_rows. Errors have the stage ATTN_STAGE_INPUT. */
enum attn_status attn_input_read_source(const struct attn_param *param, void *home,
                                        const char *label, const char *text,
                                        struct attn_error *err);
void attn_input_release_rows(const struct attn_param *param, void *home);

/* Gives OTHER the continuation of INPUT, unless it has one. */
void attn_input_share_answer(const struct attn_input *input, struct attn_input *other);

/* Copies the second text, the types and the key mask of INPUT to OTHER, and shares its answer. */
void attn_input_share(const struct attn_input *input, struct attn_input *other);
