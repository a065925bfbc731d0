/* attribute_baselines.c - the baselines of integrated gradients: rows of embeddings that stand for
 * no text, or for another one. */
#include "attribute/attribute_baselines.h"

#include "base/status_internal.h"
#include "input/position.h"
#include "kernels/kernels.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "trials/derivative.h"

#include <stdio.h>
#include <string.h>

const char *const attn_baseline_names[] = {
    [ATTN_BASELINE_MEAN] = "mean", [ATTN_BASELINE_ZERO] = "zero", [ATTN_BASELINE_GIVEN] = "given",
    [ATTN_BASELINE_AUTO] = "auto", [ATTN_BASELINE_MASK] = "mask", [ATTN_BASELINE_PAD] = "pad",
    [ATTN_BASELINE_GREY] = "grey"};

static void gather(const struct attn_attribution *a, const int32_t *ids, size_t n, float *x)
{
    attn_model_gather(attn_asked_model(a->frame.run), attn_kernels_find(ATTN_ISA_BEST), ids, n, x);
}

/* Sets the baseline to the mean row of the vocabulary, at every position. */
static void find_mean(struct attn_attribution *a)
{
    const size_t n_token = a->frame.config->n_token, d = a->d;
    double *sum = a->gradient; /* [d] used as scratch, cleared afterwards */

    for (int32_t id = 0; id < (int32_t)n_token; id++) {
        attn_model_row(attn_asked_model(a->frame.run), attn_kernels_find(ATTN_ISA_BEST), id, a->b);
        for (size_t j = 0; j < d; j++)
            sum[j] += (double)a->b[j];
    }
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < d; j++)
            a->b[i * d + j] = (float)(sum[j] / (double)n_token);
    memset(sum, 0, d * sizeof *sum);
}

static enum attn_status read_given(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_request_reading *reading = &a->frame.request.reading;
    struct attn_input given = a->args->given;
    struct attn_sequence text = {0};
    enum attn_status status =
        attn_sequence_put_prompt(reading, attn_asked_model(a->frame.run), &given, &text, err);

    ATTN_THEN(status, attn_sequence_read(reading, &given, attn_asked_model(a->frame.run),
                                         attn_asked_tokenizer(a->frame.run), &text, err));
    if (status == ATTN_OK && (!text.ids || text.n != a->n_text))
        status = attn_error_set(err, ATTN_INVALID, "the baseline has %zu token%s, the text has %zu",
                                text.n, text.n == 1 ? "" : "s", a->n_text);
    ATTN_THEN(status, attn_model_check_ids(attn_asked_model(a->frame.run), text.ids, a->n, 0, err));
    if (status == ATTN_OK)
        gather(a, text.ids, a->n, a->b);
    attn_sequence_release(&text);
    return status;
}

/* Sets the baseline to the embeddings of another picture. */
static enum attn_status read_picture(struct attn_attribution *a, struct attn_error *err)
{
    struct attn_frame *frame = &a->frame;
    struct attn_request request = frame->request;
    const struct attn_image_grid *grid = &attn_asked_text(frame->run)->grid, *other;

    request.input = a->args->given;
    ATTN_TRY(attn_run_open(attn_asked_host(frame->run), frame->run, &request, &frame->other, err));
    other = &attn_asked_text(frame->other)->grid;
    if (other->n_row != grid->n_row || other->n_col != grid->n_col)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the baseline has %zu x %zu patches, the picture has %zu x %zu",
                           other->n_row, other->n_col, grid->n_row, grid->n_col);
    return attn_derivative_embed(frame->other, a->b, err);
}

/* Sets the baseline to the same row at every position: the embedding of token ID, or for pictures
 * of a patch of zeros. */
static enum attn_status repeat_row(struct attn_attribution *a, int64_t id, struct attn_error *err)
{
    const int32_t token = (int32_t)id;
    const struct attn_model *model = attn_asked_model(a->frame.run);
    const struct attn_vector *bias = &model->weights.patches.bias;

    if (id >= 0) {
        ATTN_TRY(attn_model_check_ids(model, &token, 1, 0, err));
        gather(a, &token, 1, a->b);
    } else if (bias->data) { /* without a bias, a->b is zero */
        attn_kernels_find(ATTN_ISA_BEST)->convert(bias->data, bias->dtype, a->d, a->b);
    }
    for (size_t i = 1; i < a->n; i++)
        memcpy(a->b + i * a->d, a->b, a->d * sizeof *a->b);
    return ATTN_OK;
}

/* Flags the positions that keep their embedding. */
static enum attn_status find_kept(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_sequence *text = attn_asked_text(a->frame.run);
    const struct attn_encoding *encoding = &text->encoding;
    const struct attn_number_list *given = &a->args->baseline_keep;
    const bool has_given = attn_number_list_is_given(given);

    if (has_given && (given->n > 0 || strcmp(given->text, "none") != 0))
        ATTN_TRY(
            attn_error_in(attn_positions_find(text, given, a->kept, err), "baseline_keep", err));
    for (size_t i = 0; i < encoding->n && i < a->n && !has_given && a->frame.config->is_encoder;
         i++)
        a->kept[i] = i < encoding->n_front || i + encoding->n_back >= encoding->n ||
                     (encoding->texts && encoding->texts[i] == ATTN_TEXT_NONE);
    for (size_t i = 0; i < text->grid.n_front; i++)
        a->kept[i] = true;
    return ATTN_OK;
}

static enum attn_status fill_baseline(struct attn_attribution *a, struct attn_error *err)
{
    int32_t mask = 0;

    switch (a->baseline_kind) {
    case ATTN_BASELINE_GIVEN:
        return attn_asked_text(a->frame.run)->pixels
                   ? read_picture(a, err)
                   : attn_error_at(read_given(a, err), ATTN_STAGE_INPUT, err);
    case ATTN_BASELINE_MEAN:
        find_mean(a);
        return ATTN_OK;
    case ATTN_BASELINE_MASK:
        attn_mask_id(attn_asked_tokenizer(a->frame.run), &mask);
        return repeat_row(a, mask, err);
    case ATTN_BASELINE_PAD:
        return repeat_row(a, a->frame.config->pad_id, err);
    case ATTN_BASELINE_GREY:
        return repeat_row(a, -1, err);
    default:
        return ATTN_OK; /* a->b is zero */
    }
}

/* Sends a note about the default baseline, because it is not a text. */
static void note_baseline(const struct attn_attribution *a)
{
    if (a->args->baseline == ATTN_BASELINE_AUTO && a->baseline_kind == ATTN_BASELINE_MEAN &&
        !a->frame.is_one_of_many)
        attn_note(a->frame.request.on_note, a->frame.request.user, ATTN_NOTE_BASELINE,
                  "the baseline is the mean embedding of the vocabulary at each position, which is "
                  "no text: `baseline_text`, of as many tokens, asks which words make the "
                  "difference from another text");
}

enum attn_status attn_baseline_find(struct attn_attribution *a, struct attn_error *err)
{
    note_baseline(a);
    ATTN_TRY(fill_baseline(a, err));
    for (size_t i = 0; i < a->n; i++)
        if (a->kept[i])
            memcpy(a->b + i * a->d, a->e + i * a->d, a->d * sizeof *a->b);
    return ATTN_OK;
}

bool attn_baseline_is_undone(const struct attn_attribution *a)
{
    const struct attn_weights *weights = &attn_asked_model(a->frame.run)->weights;

    return weights->ln_embed.w.data && !weights->types.data && !weights->positions.data;
}

enum attn_status attn_baseline_choose(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;
    const struct attn_quote name = attn_quote_string(attn_model_name(attn_asked_model(run)));
    const struct attn_model *encoder = attn_asked_model(run)->encoder;
    const bool is_picture = attn_asked_text(run)->pixels;
    const bool shares_rows =
        !encoder || encoder->weights.embed.data == attn_asked_model(run)->weights.embed.data;
    const struct attn_input *given = &a->args->given;
    enum attn_baseline *kind = &a->baseline_kind;
    int32_t mask;
    const bool has_mask =
        a->frame.config->is_encoder && attn_mask_id(attn_asked_tokenizer(run), &mask);

    *kind = a->args->baseline;
    if (*kind == ATTN_BASELINE_AUTO &&
        (attn_input_is_given(given) || given->image || given->pixels))
        *kind = ATTN_BASELINE_GIVEN;
    if ((*kind == ATTN_BASELINE_GIVEN && attn_asked_source(run)->n > 0) ||
        ((*kind == ATTN_BASELINE_MEAN || *kind == ATTN_BASELINE_PAD) && !shares_rows))
        return attn_error_set(
            err, ATTN_INVALID, "`baseline` %s does not fit the source, expected zero%s",
            *kind == ATTN_BASELINE_GIVEN ? "of another text" : attn_baseline_names[*kind],
            shares_rows ? ", mean or pad" : "");
    if (*kind == ATTN_BASELINE_AUTO)
        *kind = is_picture     ? ATTN_BASELINE_GREY
                : !shares_rows ? ATTN_BASELINE_ZERO
                : has_mask     ? ATTN_BASELINE_MASK
                               : ATTN_BASELINE_MEAN;
    if (is_picture ? *kind == ATTN_BASELINE_MEAN || *kind == ATTN_BASELINE_MASK ||
                         *kind == ATTN_BASELINE_PAD
                   : *kind == ATTN_BASELINE_GREY)
        return attn_error_set(err, ATTN_INVALID, "`baseline` %s is for %s, expected %s",
                              attn_baseline_names[*kind], is_picture ? "texts" : "pictures",
                              is_picture ? "grey, zero or another picture"
                                         : "mask, pad, mean, zero or another text");
    if (*kind == ATTN_BASELINE_MASK && !has_mask)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no mask token for `baseline` mask",
                              name.text);
    if (*kind == ATTN_BASELINE_PAD && a->frame.config->pad_id < 0)
        return attn_error_set(err, ATTN_INVALID,
                              "config.json of '%s' has no 'pad_token_id' for `baseline` pad",
                              name.text);
    if (*kind == ATTN_BASELINE_ZERO && attn_baseline_is_undone(a))
        return attn_error_set(err, ATTN_INVALID,
                              "a norm follows the embedding of '%s' at once and undoes its scale, "
                              "so nothing lies between zero and the text: `baseline` zero has no "
                              "meaning",
                              name.text);
    return find_kept(a, err);
}
