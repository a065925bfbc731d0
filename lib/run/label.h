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
 * A host for REQUEST, which has labels, over HOST, whose model is of a directory with two towers:
 * both stay, and so do the labels, as long as *labelled, which the caller frees. Errors have a
 * stage.
 */
enum attn_status attn_label_host(struct attn_host *host, const struct attn_request *request,
                                 struct attn_host **labelled, struct attn_error *err);

#endif
