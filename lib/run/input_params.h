/* input_params.h - the parameters of an input of a request: what it is, and how it is read. */
#ifndef ATTN_RUN_INPUT_PARAMS_H
#define ATTN_RUN_INPUT_PARAMS_H

#include "base/param.h"
#include "base/param_rules.h"
#include "run/request.h"

/* Of a struct attn_request: how texts are read; numbers instead of a text; what goes with a text;
 * a picture instead of a text, and labels; the second sequence. */
extern const struct attn_param_list attn_reading_params, attn_numbers_params, attn_pair_params,
    attn_key_mask_params, attn_image_params, attn_source_params;

/* Of a struct attn_request_labels: labels that are no texts. */
extern const struct attn_param_list attn_label_params;

/* What does not go together in an input. */
extern const struct attn_param_rules attn_input_rules;

/* An attn_param.read: TEXT is the name of a .npy file of the rows of a struct attn_input at
 * `offset`, which attn_param_release frees by attn_input_release_rows. Stage ATTN_STAGE_INPUT. */
enum attn_status attn_input_read_source(const struct attn_param *param, void *home,
                                        const char *label, const char *text,
                                        struct attn_error *err);
void attn_input_release_rows(const struct attn_param *param, void *home);

/* Gives OTHER the second text, the types and the mask of keys of INPUT. */
void attn_input_share(const struct attn_input *input, struct attn_input *other);

/* Sets the mask of keys of REQUEST, which its input has, for the source if there is one. */
void attn_request_place_key_mask(struct attn_request *request);

#endif
