/* zero_shot.c - see zero_shot.h. */
#include "predict/zero_shot.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/session_pack.h"
#include "model/model_internal.h"

#include <string.h>

enum { N_TOGETHER = 32 }; /* texts that are fed at once */

struct labelling {
    struct attn_host *texts; /* borrowed: the tower of texts */
    const struct attn_request_predict *question;
    const struct attn_request_reading *reading;
    struct attn_encoding *encodings; /* [n_label] owns */
    struct attn_session *session;    /* owns */
    float *embeds;                   /* [n_label, d_projected] owns */
};

static enum attn_status check(const struct attn_host *host, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(host->model);

    if (config->has_two_towers && config->image.patch_height > 0)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "`label` compares a picture with texts: %s",
                       config->has_two_towers ? "give one as `image`"
                                              : "it needs a model with two towers, as CLIP is");
}

/* The tokens of each label, with those that the tokenizer adds. */
static enum attn_status encode(struct labelling *labelling, struct attn_error *err)
{
    const struct attn_request_predict *question = labelling->question;
    const struct attn_model *model = labelling->texts->model;
    const size_t n_ctx = attn_model_config(model)->n_ctx;
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer;

    ATTN_TRY(attn_host_tokenizer(labelling->texts, &tokenizer, err));
    options.special = labelling->reading->special;
    options.special_tokens = labelling->reading->special_tokens;
    options.cancel = labelling->texts->options.cancel;
    for (size_t i = 0; i < question->n_label; i++) {
        const char *text = question->labels[i];
        struct attn_encoding *encoding = &labelling->encodings[i];

        ATTN_TRY(attn_tokenizer_encode(tokenizer, text, strlen(text), &options, encoding, err));
        if (encoding->n == 0 || encoding->n > n_ctx)
            return attn_error_set(err, ATTN_INVALID,
                                  "the label '%s' has %zu tokens, '%s' takes 1 to %zu",
                                  attn_quote_string(text).text, encoding->n,
                                  attn_quote_string(attn_model_name(model)).text, n_ctx);
    }
    return ATTN_OK;
}

/* Feeds the labels from FIRST on, N of them. */
static enum attn_status embed(struct labelling *labelling, size_t first, size_t n,
                              struct attn_error *err)
{
    const size_t d = attn_model_config(labelling->texts->model)->d_projected;
    struct attn_session_sequence sequences[N_TOGETHER];

    for (size_t i = 0; i < n; i++) {
        const struct attn_encoding *encoding = &labelling->encodings[first + i];

        sequences[i] = (struct attn_session_sequence){.ids = encoding->ids, .n = encoding->n};
    }
    attn_session_reset(labelling->session);
    ATTN_TRY(attn_session_feed_many(labelling->session, sequences, n, err));
    return attn_session_projections(labelling->session, labelling->embeds + first * d, err);
}

static enum attn_status embed_all(struct labelling *labelling, struct attn_error *err)
{
    const struct attn_host *texts = labelling->texts;
    const size_t n = labelling->question->n_label;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_sequence = n < N_TOGETHER ? n : N_TOGETHER;
    for (size_t first = 0; first < n; first += N_TOGETHER) {
        size_t n_row = 0;

        for (size_t i = first; i < n && i < first + N_TOGETHER; i++)
            n_row += labelling->encodings[i].n;
        options.n_max = n_row > options.n_max ? n_row : options.n_max;
    }
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_projections = true;
    options.pool = texts->pool;
    options.cancel = texts->options.cancel;
    options.isa = texts->options.isa;
    options.gemm = texts->options.gemm;
    ATTN_TRY(attn_session_create(texts->model, &options, &labelling->session, err));
    for (size_t first = 0; first < n; first += N_TOGETHER)
        ATTN_TRY(embed(labelling, first, n - first < N_TOGETHER ? n - first : N_TOGETHER, err));
    return ATTN_OK;
}

/* The classifier, as the model of a host with the threads of HOST. */
static enum attn_status make_host(const struct labelling *labelling, struct attn_host *host,
                                  struct attn_host **labelled, struct attn_error *err)
{
    const struct attn_zero_shot_labels labels = {
        .names = labelling->question->labels,
        .embeds = labelling->embeds,
        .n = labelling->question->n_label,
        .scale = attn_model_logit_scale(labelling->texts->model)};
    struct attn_model *model = NULL;
    struct attn_host *made = attn_alloc(1, sizeof *made, err);
    const enum attn_status status =
        made ? attn_model_zero_shot(host->model, &labels, &model, err) : ATTN_NO_MEMORY;

    if (status != ATTN_OK) {
        attn_free(made);
        return status;
    }
    made->options = host->options;
    made->model = model;
    made->tokenizer_failure = host->tokenizer_failure;
    made->pictures = host->pictures;
    made->pool = host->pool;
    made->is_later = made->is_labelled = true;
    made->other = labelling->texts;
    *labelled = made;
    return ATTN_OK;
}

static enum attn_status label(struct labelling *labelling, struct attn_host *host,
                              struct attn_host **labelled, struct attn_error *err)
{
    const size_t n = labelling->question->n_label;

    ATTN_TRY(check(host, err));
    ATTN_TRY(attn_host_tower(host, ATTN_TOWER_TEXT, &labelling->texts, err));
    labelling->encodings = attn_alloc(n, sizeof *labelling->encodings, err);
    labelling->embeds =
        attn_alloc(n, attn_model_config(host->model)->d_projected * sizeof(float), err);
    if (!labelling->encodings || !labelling->embeds)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_error_at(encode(labelling, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(attn_error_at(embed_all(labelling, err), ATTN_STAGE_MODEL, err));
    return make_host(labelling, host, labelled, err);
}

enum attn_status attn_zero_shot_choose_host(struct attn_host **host, const struct attn_input *input,
                                            const struct attn_request_predict *question,
                                            const struct attn_request_reading *reading,
                                            struct attn_host **labelled, struct attn_error *err)
{
    const bool is_picture = input->image || input->pixels;
    struct labelling labelling = {.question = question, .reading = reading};
    enum attn_status status;

    ATTN_TRY(attn_host_tower(*host, is_picture ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT, host, err));
    if (question->n_label == 0)
        return ATTN_OK;
    status = label(&labelling, *host, labelled, err);
    if (status == ATTN_OK)
        *host = *labelled;
    attn_session_free(labelling.session);
    for (size_t i = 0; labelling.encodings && i < question->n_label; i++)
        attn_encoding_release(&labelling.encodings[i]);
    attn_free(labelling.encodings);
    attn_free(labelling.embeds);
    return status;
}
