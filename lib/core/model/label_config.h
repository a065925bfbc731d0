/* label_config.h - what the logits of a model mean: tokens, or the labels of a classifier. */
#ifndef ATTN_MODEL_LABEL_CONFIG_H
#define ATTN_MODEL_LABEL_CONFIG_H

/* What a row of logits is about. */
enum attn_task {
    ATTN_TASK_VOCABULARY = 0, /* a token: the next, or the one at its position */
    ATTN_TASK_SEQUENCE = 1,   /* a label of a whole text or picture */
    ATTN_TASK_TOKENS = 2,     /* a label of each token */
    ATTN_TASK_SPANS = 3,      /* whether an answer begins, and ends, at the position */
    ATTN_N_TASK
};

/* How the logits z of labels are interpreted. */
enum attn_label_kind {
    ATTN_LABELS_SINGLE = 0, /* exactly one label applies: probabilities are softmax(z) */
    ATTN_LABELS_MULTI = 1,  /* each label applies independently: sigmoid(z) */
    ATTN_LABELS_SCORE = 2,  /* one label, whose value is z; its probability is sigmoid(z) */
    ATTN_LABELS_VALUE = 3,  /* values without probabilities: a regression, cosines */
    ATTN_N_LABEL_KIND
};

#endif
