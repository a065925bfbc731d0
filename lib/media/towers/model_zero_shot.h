/* model_zero_shot.h - a classifier that is made of a tower and the vectors of labels. */
#ifndef ATTN_TOWERS_MODEL_ZERO_SHOT_H
#define ATTN_TOWERS_MODEL_ZERO_SHOT_H

#include "model/model.h"

/* Texts or pictures that the input is compared with. */
struct attn_zero_shot_labels {
    const char *const *names; /* [n] */
    const float *embeds;      /* [n, d_projected]: the vector of each */
    size_t n;
    double scale;  /* factor of the cosines */
    bool has_bias; /* SigLIP: each label has a probability for itself, the sigmoid of its logit */
    float bias;    /* is added to the scaled cosines */
};

/* Creates a classifier: MODEL, a tower or a sentence model, whose logits are the scaled cosines of
 * its vector and those of LABELS. Borrows MODEL and the names. */
enum attn_status attn_model_zero_shot(const struct attn_model *model,
                                      const struct attn_zero_shot_labels *labels,
                                      struct attn_model **labelled, struct attn_error *err);

/* Returns exp(logit_scale), the factor of cosines, of MODEL, the tower of texts. */
double attn_model_logit_scale(const struct attn_model *model);

/* Whether MODEL, the tower of texts, has a bias of logits, which is SigLIP's. *bias is its value.
 */
bool attn_model_logit_bias(const struct attn_model *model, float *bias);

#endif
