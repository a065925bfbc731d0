/*
 * label.h - a picture and texts: which of them says best what is seen. For the files of this layer.
 *
 *     logit of a label = exp(logit_scale) * cos(image_embed, text_embed)
 *
 * The tower of pictures becomes a classifier, whose labels are the texts: what is asked of any
 * classifier can be asked of it.
 */
#ifndef ATTN_RUN_LABEL_H
#define ATTN_RUN_LABEL_H

#include "run/host_internal.h"
#include "run/request.h"

/*
 * Makes *HOST the one whose model the input of REQUEST goes through: of a directory with two towers
 * that of a picture or that of a text. With labels it is a classifier: *labelled, which the caller
 * frees, and which borrows the host and the labels. Errors have a stage.
 */
enum attn_status attn_label_choose_host(struct attn_host **host, const struct attn_request *request,
                                        struct attn_host **labelled, struct attn_error *err);

#endif
