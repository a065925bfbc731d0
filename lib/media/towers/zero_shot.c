/*
 * zero_shot.c - see zero_shot.h. A tower or a sentence model becomes a classifier, whose labels are
 * texts or pictures.
 *
 *     logits[i] = exp(logit_scale) * cos(image_embed, text_embed of label i)
 *         + logit_bias, in SigLIP
 *     logits[i] = cos(sentence_embed, sentence_embed of label i)
 *
 * The output layer divides the input's vector by its length. The lengths of the labels' vectors and
 * the scale are part of the rows of the output matrix.
 */
#include "towers/zero_shot.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/session_pack.h"
#include "input/pass.h"
#include "input/sequence.h"
#include "kernels/kernels.h"
#include "model/model_internal.h"
#include "predict/prediction.h"
#include "towers/before_pictures.h"

#include <math.h>
#include <string.h>

enum { N_TOGETHER = 32 }; /* number of texts that are fed together */

struct labelling {
    struct attn_host *labels; /* borrowed: the host that computes the labels */
    const struct attn_request_predict *question;
    const struct attn_request_reading *reading;
    struct attn_encoding *encodings; /* [n] owns; the tokens of labels that are texts or ids */
    int32_t **masks;                 /* [n] owns; their key masks, or NULL */
    struct attn_session *session;    /* owns */
    const char **names;              /* [n] owns the array, not the names */
    float *embeds;                   /* [n, d_projected] owns; the vectors of the labels */
    size_t n;
};

static size_t n_image(const struct attn_request_predict *question)
{
    return question->more ? question->more->n_image : 0;
}

/* Checks that the model of HOST accepts the labels: texts for a picture or a sentence, pictures for
 * a text. */
static enum attn_status check(const struct attn_host *host,
                              const struct attn_request_predict *question, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(host->model);
    const bool is_picture = config->image.patch_height > 0;
    const size_t n = n_image(question), n_text = attn_predict_n_label(question) - n;

    if (config->is_sentence ? n == 0
                            : config->has_two_towers && (is_picture ? n == 0 : n_text == 0))
        return ATTN_OK;
    if (config->has_two_towers && n > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`label_image` compares a text with pictures, and %s given",
                           is_picture ? "`image` is" : "labels that are texts are");
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "`label` compares a picture with texts: %s",
                       config->has_two_towers
                           ? "give one as `image`"
                           : "it needs a model with two towers, as CLIP is, or one of sentences");
}

/* Tokenizes label number I, a text, with the tokens that the tokenizer adds. */
static enum attn_status encode_text(struct labelling *labelling, size_t i, struct attn_error *err)
{
    struct attn_request_reading reading = *labelling->reading;
    const char *text = labelling->question->labels[i];
    struct attn_input input = {.text = text, .n_text = strlen(text)};
    const struct attn_tokenizer *tokenizer;
    struct attn_sequence sequence = {.cancel = labelling->labels->options.cancel};
    enum attn_status status;

    ATTN_TRY(attn_host_tokenizer(labelling->labels, &tokenizer, err));
    labelling->names[i] = text;
    if (reading.prompt_name && strcmp(reading.prompt_name, "off") != 0)
        reading.prompt_name = NULL; /* a prompt that is named is one of the text */
    status = attn_sequence_put_prompt(&reading, labelling->labels->model, &input, &sequence, err);
    ATTN_THEN(status, attn_sequence_encode(&reading, &input, tokenizer, &sequence, err));
    if (status == ATTN_OK && labelling->labels->model->sentence.omits_prompt &&
        sequence.n_prompt > 0)
        status = attn_sentences->omit_prompt(&reading, tokenizer, &sequence, err);
    labelling->encodings[i] = sequence.encoding;
    labelling->masks[i] = sequence.made_mask;
    sequence.encoding = (struct attn_encoding){.ids = NULL};
    sequence.made_mask = NULL;
    attn_sequence_release(&sequence);
    ATTN_TRY(status);
    return attn_encoding_pad(attn_model_config(labelling->labels->model), &labelling->encodings[i],
                             err);
}

static enum attn_status use_ids(struct labelling *labelling, size_t i,
                                const struct attn_label_ids *given, struct attn_error *err)
{
    struct attn_encoding *encoding = &labelling->encodings[i];

    labelling->names[i] = given->name;
    if (!ATTN_IS_KNOWN(given->later, "labels", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_model_check_ids(labelling->labels->model, given->ids, given->n, 0, err));
    ATTN_TRY(ATTN_ALLOC(encoding->ids, given->n, err));
    if (given->n > 0)
        memcpy(encoding->ids, given->ids, given->n * sizeof *given->ids);
    encoding->n = given->n;
    return ATTN_OK;
}

static enum attn_status encode(struct labelling *labelling, struct attn_error *err)
{
    const struct attn_request_predict *question = labelling->question;
    const struct attn_model *model = labelling->labels->model;
    const size_t n_ctx = attn_model_config(model)->n_ctx;

    for (size_t i = 0; i < labelling->n; i++) {
        ATTN_TRY(i < question->n_label
                     ? encode_text(labelling, i, err)
                     : use_ids(labelling, i, &question->more->ids[i - question->n_label], err));
        if (labelling->encodings[i].n == 0 || labelling->encodings[i].n > n_ctx)
            return attn_error_set(
                err, ATTN_INVALID, "the label '%s' has %zu tokens, '%s' takes 1 to %zu",
                attn_quote_string(labelling->names[i]).text, labelling->encodings[i].n,
                attn_quote_string(attn_model_name(model)).text, n_ctx);
    }
    return ATTN_OK;
}

/* Computes the vectors of N labels, from label FIRST on. */
static enum attn_status embed(struct labelling *labelling, size_t first, size_t n,
                              struct attn_error *err)
{
    const size_t d = attn_model_config(labelling->labels->model)->d_projected;
    struct attn_session_sequence sequences[N_TOGETHER];

    for (size_t i = 0; i < n; i++) {
        const struct attn_encoding *encoding = &labelling->encodings[first + i];

        sequences[i] = (struct attn_session_sequence){
            .ids = encoding->ids, .n = encoding->n, .key_mask = labelling->masks[first + i]};
    }
    attn_session_reset(labelling->session);
    ATTN_TRY(attn_session_feed_many(labelling->session, sequences, n, err));
    return attn_session_projections(labelling->session, labelling->embeds + first * d, err);
}

/* Returns the options of a session that computes vectors with the model of HOST. */
static struct attn_session_options session_options(const struct attn_host *host)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_projections = true;
    options.pool = host->pool;
    options.cancel = host->options.cancel;
    options.isa = host->options.isa;
    options.gemm = host->options.gemm;
    return options;
}

static enum attn_status embed_all(struct labelling *labelling, struct attn_error *err)
{
    const struct attn_host *texts = labelling->labels;
    const size_t n = labelling->n;
    struct attn_session_options options = session_options(texts);

    options.n_sequence = n < N_TOGETHER ? n : N_TOGETHER;
    for (size_t first = 0; first < n; first += N_TOGETHER) {
        size_t n_row = 0;

        for (size_t i = first; i < n && i < first + N_TOGETHER; i++)
            n_row += labelling->encodings[i].n;
        options.n_max = n_row > options.n_max ? n_row : options.n_max;
    }
    ATTN_TRY(attn_session_create(texts->model, &options, &labelling->session, err));
    for (size_t first = 0; first < n; first += N_TOGETHER)
        ATTN_TRY(embed(labelling, first, n - first < N_TOGETHER ? n - first : N_TOGETHER, err));
    return ATTN_OK;
}

/* Computes the vectors of labels that are pictures, one picture at a time. */
static enum attn_status embed_pictures(struct labelling *labelling, struct attn_error *err)
{
    struct attn_host *host = labelling->labels;
    const size_t d = attn_model_config(host->model)->d_projected;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < labelling->n; i++) {
        const struct attn_input input = {.image = labelling->question->more->images[i]};
        struct attn_sequence picture = {.input = &input, .role = "image"};
        struct attn_pass pass = {
            .model = host->model, .text = &picture, .options = session_options(host)};

        labelling->names[i] = input.image;
        status = attn_image_input_read(
            &host->pictures->maker, &input,
            (struct attn_notes){host->options.on_note, host->options.user, NULL}, &picture, err);
        pass.options.n_max = picture.n;
        attn_session_free(labelling->session);
        labelling->session = NULL;
        ATTN_THEN(status, attn_pass_run(&pass, &labelling->session, err));
        ATTN_THEN(status,
                  attn_session_projections(labelling->session, labelling->embeds + i * d, err));
        attn_sequence_release(&picture);
    }
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/* Computes ROW [d] = SCALE * EMBED / its length. If EMBED is all 0, ROW is not changed. */
static void fill_row(const float *embed, size_t d, double scale, float *row)
{
    double sum = 0;

    for (size_t i = 0; i < d; i++)
        sum += (double)embed[i] * (double)embed[i];
    for (size_t i = 0; i < d && sum > 0; i++)
        row[i] = (float)((double)embed[i] / sqrt(sum) * scale);
}

/* Whether MODEL, the tower of texts, has a bias of logits, which is SigLIP's. *bias is its value.
 */
static bool find_logit_bias(const struct attn_model *model, float *bias)
{
    const struct attn_vector *vector = &model->weights.logit_bias;

    *bias = 0;
    if (vector->data)
        attn_kernels_find(ATTN_ISA_BEST)->convert(vector->data, vector->dtype, 1, bias);
    return vector->data != NULL;
}

/* Returns exp(logit_scale), the factor of cosines, of MODEL, the tower of texts. */
static double logit_scale_of(const struct attn_model *model)
{
    const struct attn_tensor *tensor = &model->weights.logit_scale;
    float scale = 0;

    attn_kernels_find(ATTN_ISA_BEST)->convert(tensor->data, tensor->dtype, 1, &scale);
    return attn_exp((double)scale);
}

/* Creates a classifier: MODEL, a tower or a sentence model, whose logits are the scaled cosines of
 * its vector and those of LABELS. TEXTS is the tower of texts. Borrows MODEL and the names. */
static enum attn_status make_model(const struct attn_model *model, const struct attn_model *texts,
                                   const struct labelling *labels, struct attn_model **labelled,
                                   struct attn_error *err)
{
    const size_t d = model->config.d_projected;
    const double scale = model->config.is_sentence ? 1 : logit_scale_of(texts);
    float bias;
    const bool has_bias = find_logit_bias(texts, &bias);
    struct attn_model *made;
    struct attn_config *config;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    *made = *model;
    made->label_rows = attn_alloc(labels->n, (d + 1) * sizeof *made->label_rows, err);
    made->label_names = attn_alloc(labels->n, sizeof *made->label_names, err);
    if (!made->label_rows || !made->label_names) {
        attn_free(made->label_rows);
        attn_free((void *)made->label_names);
        attn_free(made);
        return ATTN_NO_MEMORY;
    }
    memcpy(made->label_names, labels->names, labels->n * sizeof *made->label_names);
    for (size_t i = 0; i < labels->n; i++)
        fill_row(labels->embeds + i * d, d, scale, made->label_rows + i * d);
    for (size_t i = 0; i < labels->n; i++)
        made->label_rows[labels->n * d + i] = bias;
    config = &made->config;
    config->n_vocab = labels->n;
    config->labels = made->label_names;
    config->output = ATTN_OUTPUT_OWN;
    config->task = ATTN_TASK_SEQUENCE;
    config->pooling = ATTN_POOLING_PROJECTED;
    if (config->image.patch_height > 0)
        config->image.pooling = ATTN_POOLING_PROJECTED;
    if (config->is_sentence)
        config->label_kind = ATTN_LABELS_VALUE;
    made->weights.unembed.weight = (struct attn_matrix){.data = made->label_rows,
                                                        .dtype = ATTN_DTYPE_F32,
                                                        .n_row = d,
                                                        .n_col = labels->n,
                                                        .row_stride = 1,
                                                        .col_stride = d,
                                                        .group = labels->n};
    if (has_bias) { /* each label has a probability for itself */
        config->label_kind = ATTN_LABELS_MULTI;
        config->has_output_bias = true;
        made->weights.unembed.bias = (struct attn_vector){.data = made->label_rows + labels->n * d,
                                                          .dtype = ATTN_DTYPE_F32,
                                                          .n = labels->n,
                                                          .group = labels->n};
    }
    *labelled = made;
    return ATTN_OK;
}

/* Creates a host with HOST's threads, whose model is a classifier with the labels of LABELLING. */
static enum attn_status make_host(const struct labelling *labelling, struct attn_host *host,
                                  struct attn_host **labelled, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(host->model);
    const struct attn_model *texts =
        config->image.patch_height > 0 ? labelling->labels->model : host->model;
    struct attn_host *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = host->options;
    made->tokenizer = host->tokenizer;
    made->tokenizer_failure = host->tokenizer_failure;
    made->pictures = host->pictures;
    made->pool = host->pool;
    made->is_labelled = true;
    made->first = labelling->labels;
    ATTN_RETURN_MADE(make_model(host->model, texts, labelling, &made->model, err), labelled, made,
                     attn_free);
}

static enum attn_status label(struct labelling *labelling, struct attn_host *host,
                              struct attn_host **labelled, struct attn_error *err)
{
    const size_t n = labelling->n, d = attn_model_config(host->model)->d_projected;
    const bool are_pictures = n_image(labelling->question) > 0;

    ATTN_TRY(check(host, labelling->question, err));
    ATTN_TRY(attn_host_tower(host, are_pictures ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT,
                             &labelling->labels, err));
    ATTN_TRY(ATTN_ALLOC(labelling->encodings, n, err));
    ATTN_TRY(ATTN_ALLOC(labelling->masks, n, err));
    ATTN_TRY(ATTN_ALLOC(labelling->names, n, err));
    ATTN_TRY(ATTN_NEW(labelling->embeds, attn_alloc(n, d * sizeof(float), err)));
    if (are_pictures) {
        ATTN_TRY(embed_pictures(labelling, err));
    } else {
        ATTN_TRY(attn_error_at(encode(labelling, err), ATTN_STAGE_INPUT, err));
        ATTN_TRY(attn_error_at(embed_all(labelling, err), ATTN_STAGE_MODEL, err));
    }
    if (host->model->sentence.similarity)
        attn_note(host->options.on_note, host->options.user, ATTN_NOTE_ASSUMED,
                  "labels are compared by the cosine; 'similarity_fn_name' of this model is %s",
                  host->model->sentence.similarity);
    return make_host(labelling, host, labelled, err);
}

enum attn_status attn_zero_shot_choose_host(struct attn_host **host, const struct attn_input *input,
                                            const struct attn_request_predict *question,
                                            const struct attn_request_reading *reading,
                                            struct attn_host **labelled, struct attn_error *err)
{
    const bool is_picture = input->image || input->pixels;
    struct labelling labelling = {
        .question = question, .reading = reading, .n = attn_predict_n_label(question)};
    enum attn_status status;

    if ((*host)->model && attn_model_config((*host)->model)->has_two_towers)
        ATTN_TRY(
            attn_host_tower(*host, is_picture ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT, host, err));
    if (labelling.n == 0)
        return ATTN_OK;
    status = label(&labelling, *host, labelled, err);
    if (status == ATTN_OK)
        *host = *labelled;
    attn_session_free(labelling.session);
    for (size_t i = 0; labelling.encodings && i < labelling.n; i++)
        attn_encoding_release(&labelling.encodings[i]);
    for (size_t i = 0; labelling.masks && i < labelling.n; i++)
        attn_free(labelling.masks[i]);
    attn_free(labelling.encodings);
    attn_free(labelling.masks);
    attn_free((void *)labelling.names);
    attn_free(labelling.embeds);
    return status;
}
