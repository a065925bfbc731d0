/*
 * attribute.c - see attribute.h.
 *
 * The final norm with its scale frozen is a linear map. So the logit is the projection of the
 * stream onto one direction u, and a part x of the stream writes u.x of it. u is the column of W_U
 * (of the target minus the foil), times the norm's weight, divided by its scale, and centered if
 * the norm subtracts the mean. A norm after attention maps u to another direction in the same way.
 */
#include "experiment/attribute_internal.h"

#include "base/dtype_internal.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "predict/prediction.h"
#include "study/trial.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MOST = 20 };

enum { PART, LAYER, HEAD, KEY, TOKEN, LOGIT, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum model"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [LOGIT] = ATTN_COLUMN_QUANTITY("logit", 4, NULL, SIGNED, "logit of the token"),
};

struct logit_split {
    struct attn_frame frame; /* its capture has the row of the position */
    const struct attn_attribute_args *args;
    const struct attn_weights *weights;
    struct attn_answer answer;
    double model;        /* the logit, or the difference of two */
    double *column;      /* [D] of W_U, the target's minus the foil's */
    double *direction;   /* [D] u */
    double *before_norm; /* [D] u before the norm after attention of the current layer */
    double *along;       /* [H*Ev] W_O u of that layer */
    double *row;         /* [D] scratch */
    double sum;
    struct attn_found_cell *keys; /* [n_key] by token */
    size_t n_key;
};

/* --- The run ---------------------------------------------------------------------------------- */

/* The sites of values and of the weights that z is made of. */
static attn_site_set pattern_sites(const struct logit_split *split)
{
    const bool is_dropped = split->frame.run->attention.layers[0].dropout > 0;

    return ATTN_SITE_BIT(ATTN_SITE_V) |
           ATTN_SITE_BIT(is_dropped ? ATTN_SITE_PATTERN_DROPPED : ATTN_SITE_PATTERN);
}

/* Runs the model, keeps the row of each part at the position, and reads the model's own logit. */
static enum attn_status keep(struct logit_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_answer *answer = &split->answer;
    const bool by_token = split->args->by_token;
    const attn_site_set sites =
        ATTN_SITE_BIT(ATTN_SITE_EMBED) | ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) |
        ATTN_SITE_BIT(ATTN_SITE_Z) | ATTN_SITE_BIT(ATTN_SITE_ATTN_OUT) |
        ATTN_SITE_BIT(ATTN_SITE_MLP_OUT) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST) |
        ATTN_SITE_BIT(ATTN_SITE_LN_FINAL) | (by_token ? pattern_sites(split) : 0);
    float *logits = attn_frame_alloc(frame, frame->config->n_vocab, sizeof *logits);
    struct attn_trial trial = attn_trial_of(frame->run);

    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_frame_select(frame, sites, err));
    ATTN_TRY(attn_selection_add_queries(frame->selection, answer->position, 1, err));
    ATTN_TRY(attn_capture_create(frame->selection, &frame->capture, err));
    trial.trace = attn_capture_trace(frame->capture);
    ATTN_TRY(attn_trial_run(&trial, &frame->session, err));
    attn_trial_note_idle(frame->run, frame->session);
    ATTN_TRY(attn_session_logits_at(frame->session, answer->position, 1, logits, err));
    split->model =
        (double)logits[answer->target] - (answer->has_foil ? (double)logits[answer->foil] : 0);
    if (frame->answer)
        *frame->answer = (struct attn_study_answer){
            .metric = attn_answer_metric_name(answer->has_foil ? ATTN_ANSWER_LOGIT_DIFF
                                                               : ATTN_ANSWER_LOGIT),
            .row = "model",
            .value = split->model,
            .has_right = answer->has_foil,
            .is_right = answer->has_foil && split->model > 0,
        };
    return ATTN_OK;
}

/* Whether the run has an edit of one of SITES in LAYER. */
static bool has_edit(const struct logit_split *split, attn_site_set sites, int layer)
{
    const struct attn_edit_list *edits = &split->frame.run->edits;
    bool is_edited = false;

    for (int site = 0; site < ATTN_N_SITE; site++)
        is_edited =
            is_edited || ((sites & ATTN_SITE_BIT(site)) != 0 &&
                          attn_edits_touch(edits->items, edits->n, (enum attn_site)site, layer));
    return is_edited;
}

/* Whether z of HEAD of LAYER is 0 at the position. */
static bool is_switched_off(const struct logit_split *split, int layer, int head)
{
    const size_t width = split->frame.config->d_value;
    const float *z = attn_capture_tensor(split->frame.capture, ATTN_SITE_Z, layer);
    size_t i = 0;

    while (i < width && z[(size_t)head * width + i] == 0)
        i++;
    return i == width;
}

/* Refuses edits after which the logit is not the sum of the parts. */
static enum attn_status check_edits(const struct logit_split *split, struct attn_error *err)
{
    const struct attn_edit_list *edits = &split->frame.run->edits;
    const bool by_token = split->args->by_token;

    for (size_t i = 0; i < edits->n; i++) {
        const enum attn_site site = edits->items[i].site;

        if (site == ATTN_SITE_LN_FINAL || site == ATTN_SITE_LOGITS)
            return attn_error_set(
                err, ATTN_INVALID,
                "'%s' is edited, and a logit is the sum of what is written before "
                "that",
                attn_site_name(site));
        if (site == ATTN_SITE_RESID_PRE && edits->items[i].layer <= 0 &&
            split->frame.config->positions == ATTN_POSITIONS_LEARNED)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' of layer 0 is edited, and cannot be told from the part of "
                                  "the positions, which is added there",
                                  attn_site_name(site));
        if (by_token && (site == ATTN_SITE_ATTN_OUT ||
                         (site == ATTN_SITE_Z && edits->items[i].op != ATTN_EDIT_ZERO)))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' is edited, and `by_token` splits what heads read before "
                                  "that; heads can be switched off",
                                  attn_site_name(site));
    }
    return ATTN_OK;
}

static enum attn_status check(const struct logit_split *split, struct attn_error *err)
{
    const struct attn_run *run = split->frame.run;

    if (split->frame.config->image.patch_height > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' reads pictures, and logits of next tokens are split",
                              attn_quote_string(attn_model_name(run->model)).text);
    if (split->frame.config->is_encoder)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' is an encoder: its output layer reads what an activation made "
                              "of the stream, so its logits are not a sum of parts",
                              attn_quote_string(attn_model_name(run->model)).text);
    if (!split->frame.config->has_residual)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no residual stream, so its logits are not a sum of parts",
                              attn_quote_string(attn_model_name(run->model)).text);
    if (!split->args->answer.target && !split->args->answer.target_id)
        return attn_error_set(err, ATTN_INVALID,
                              "expected `target`, the token whose logit is split");
    return check_edits(split, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct logit_split *split = state;
    struct attn_frame *frame = &split->frame;
    const size_t d = frame->config->d_model, n_z = frame->config->n_head * frame->config->d_value;
    struct attn_answer_args answer;
    enum attn_status status;

    split->args = frame->args;
    split->weights = &frame->run->model->weights;
    answer = split->args->answer;
    answer.metric = ATTN_ANSWER_AUTO; /* it is not used */
    status = attn_error_at(check(split, err), ATTN_STAGE_OPTIONS, err);
    if (frame->answer)
        frame->answer->is_general = status != ATTN_OK;
    ATTN_TRY(status);
    ATTN_TRY(attn_frame_find_answer(frame, &answer, &split->answer, err));
    split->column = attn_frame_alloc(frame, d, sizeof(double));
    split->direction = attn_frame_alloc(frame, d, sizeof(double));
    split->before_norm = attn_frame_alloc(frame, d, sizeof(double));
    split->row = attn_frame_alloc(frame, d, sizeof(double));
    split->along = attn_frame_alloc(frame, n_z, sizeof(double));
    ATTN_TRY(attn_frame_memory(frame, err));
    if (split->args->by_token &&
        (pattern_sites(split) & ~attn_selection_dims(frame->run->selection)->sites) != 0) {
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by_token` needs a pattern, and this attention has none");
    }
    return attn_error_at(keep(split, err), ATTN_STAGE_MODEL, err);
}

static const float *kept(const struct logit_split *split, enum attn_site site, int layer)
{
    return attn_capture_tensor(split->frame.capture, site, layer);
}

/* --- Directions ------------------------------------------------------------------------------- */

static double dot(const double *u, const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += u[i] * (double)x[i];
    return sum;
}

static bool takes_mean_off(const struct logit_split *split)
{
    return split->frame.config->norm == ATTN_NORM_LAYERNORM;
}

/* The scale by which the norm divides X [D]. */
static double norm_scale(const struct logit_split *split, const double *x)
{
    const size_t d = split->frame.config->d_model;
    double mean = 0, sum = 0;

    for (size_t i = 0; takes_mean_off(split) && i < d; i++)
        mean += x[i] / (double)d;
    for (size_t i = 0; i < d; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)d + (double)split->frame.config->norm_eps);
}

/* Maps the direction TO after a norm with WEIGHTS, frozen at SCALE, to the direction BEFORE it. */
static void go_before_norm(struct logit_split *split, const struct attn_norm_weights *weights,
                           double scale, const double *to, double *before)
{
    const size_t d = split->frame.config->d_model;
    double mean = 0;

    attn_vector_elements(&weights->w, d, split->row);
    for (size_t i = 0; i < d; i++) {
        const double w =
            split->row[i] + (split->frame.config->norm == ATTN_NORM_RMSNORM_PLUS_ONE ? 1 : 0);

        before[i] = to[i] * w / scale;
        mean += before[i] / (double)d;
    }
    for (size_t i = 0; takes_mean_off(split) && i < d; i++)
        before[i] -= mean;
}

/* The projection of a bias vector onto U. */
static double bias_along(struct logit_split *split, const struct attn_vector *bias, const double *u)
{
    const size_t d = split->frame.config->d_model;
    double sum = 0;

    attn_vector_elements(bias, d, split->row);
    for (size_t i = 0; i < d; i++)
        sum += u[i] * split->row[i];
    return sum;
}

static void find_direction(struct logit_split *split)
{
    const size_t d = split->frame.config->d_model;
    const float *stream = kept(split, ATTN_SITE_RESID_POST, (int)split->frame.config->n_layer - 1);
    const struct attn_matrix *unembed = &split->weights->unembed.weight;

    attn_matrix_column(unembed, (size_t)split->answer.target, split->column);
    if (split->answer.has_foil) {
        attn_matrix_column(unembed, (size_t)split->answer.foil, split->row);
        for (size_t i = 0; i < d; i++)
            split->column[i] -= split->row[i];
    }
    memcpy(split->direction, split->column, d * sizeof *split->column);
    if (!split->frame.config->has_final_norm)
        return;
    for (size_t i = 0; i < d; i++)
        split->row[i] = (double)stream[i];
    go_before_norm(split, &split->weights->ln_final, norm_scale(split, split->row), split->column,
                   split->direction);
}

/* Sets split->before_norm, the direction onto which the heads of LAYER are projected, and `along`,
 * the weight of each component of z. */
static void find_layer_direction(struct logit_split *split, int layer)
{
    const struct attn_block_weights *w = &split->weights->blocks[layer];
    const size_t d = split->frame.config->d_model,
                 n_z = split->frame.config->n_head * split->frame.config->d_value;
    const float *z = kept(split, ATTN_SITE_Z, layer);

    memcpy(split->before_norm, split->direction, d * sizeof *split->before_norm);
    if (w->ln1_post.w.data) { /* its scale is that of the whole sum */
        double *sum = split->before_norm;

        for (size_t i = 0; i < n_z; i++)
            split->along[i] = (double)z[i];
        attn_vector_elements(&w->out.bias, d, sum);
        attn_matrix_add_rows(&w->out.weight, 0, n_z, split->along, sum);
        go_before_norm(split, &w->ln1_post, norm_scale(split, sum), split->direction,
                       split->before_norm);
    }
    if (w->out.weight.data)
        attn_matrix_along(&w->out.weight, 0, n_z, split->before_norm, split->along);
    else /* heads lie side by side in the stream */
        memcpy(split->along, split->before_norm, n_z * sizeof *split->along);
}

/* --- Parts ------------------------------------------------------------------------------------ */

/* Appends a part. LAYER and HEAD are -1 for a part without one. */
static enum attn_status append(struct logit_split *split, const char *part, int layer, int head,
                               double logit, struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(part), [LOGIT] = attn_cell_real(logit)};

    if (layer >= 0)
        row[LAYER] = attn_cell_integer(layer);
    if (head >= 0)
        row[HEAD] = attn_cell_integer(head);
    split->sum += logit;
    return attn_frame_append(&split->frame, row, err);
}

/* Appends what edits of the stream, or of the sum of the heads, have written in LAYER, whose other
 * parts are WRITTEN: the rest of the difference between the streams before and after it. */
static enum attn_status append_edit(struct logit_split *split, int layer, double written,
                                    struct attn_error *err)
{
    const attn_site_set sites =
        ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) | ATTN_SITE_BIT(ATTN_SITE_RESID_MID) |
        ATTN_SITE_BIT(ATTN_SITE_RESID_POST) | ATTN_SITE_BIT(ATTN_SITE_ATTN_OUT);
    const size_t d = split->frame.config->d_model;
    const float *before = layer > 0 ? kept(split, ATTN_SITE_RESID_POST, layer - 1)
                          : split->frame.config->positions == ATTN_POSITIONS_LEARNED
                              ? kept(split, ATTN_SITE_RESID_PRE, 0)
                              : kept(split, ATTN_SITE_EMBED, ATTN_NO_LAYER);
    const float *after = kept(split, ATTN_SITE_RESID_POST, layer);

    if (!has_edit(split, sites, layer))
        return ATTN_OK;
    return append(split, "edit", layer, -1,
                  dot(split->direction, after, d) - dot(split->direction, before, d) - written,
                  err);
}

static enum attn_status append_layer(struct logit_split *split, int layer, struct attn_error *err)
{
    const double before = split->sum;
    const struct attn_block_weights *w = &split->weights->blocks[layer];
    const struct attn_config *config = split->frame.config;
    const float *mlp = kept(split, ATTN_SITE_MLP_OUT, layer);
    const float *z = kept(split, ATTN_SITE_Z, layer);

    find_layer_direction(split, layer);
    for (int head = 0; head < (int)config->n_head; head++) {
        const size_t at = (size_t)head * config->d_value;

        ATTN_TRY(append(split, "head", layer, head, dot(split->along + at, z + at, config->d_value),
                        err));
    }
    if (w->out.bias.data || w->ln1_post.b.data)
        ATTN_TRY(append(split, "attn_bias", layer, -1,
                        bias_along(split, &w->out.bias, split->before_norm) +
                            bias_along(split, &w->ln1_post.b, split->direction),
                        err));
    if (mlp)
        ATTN_TRY(append(split, "mlp", layer, -1, dot(split->direction, mlp, config->d_model), err));
    return append_edit(split, layer, split->sum - before, err);
}

/* Element ID of the bias of the output matrix, or 0. */
static double output_bias_of(const struct logit_split *split, int32_t id)
{
    struct attn_vector bias = split->weights->unembed.bias;
    double element = 0;

    if (bias.data) {
        bias.data = (const char *)bias.data + attn_dtype_n_byte(bias.dtype, (size_t)id);
        attn_vector_elements(&bias, 1, &element);
    }
    return element;
}

static enum attn_status append_output(struct logit_split *split, struct attn_error *err)
{
    const struct attn_config *config = split->frame.config;
    const struct attn_weights *weights = split->weights;
    const bool has_norm = config->has_final_norm;
    const float *read = has_norm ? kept(split, ATTN_SITE_LN_FINAL, ATTN_NO_LAYER)
                                 : kept(split, ATTN_SITE_RESID_POST, (int)config->n_layer - 1);
    const double foil_bias = split->answer.has_foil ? output_bias_of(split, split->answer.foil) : 0;
    const double bias = output_bias_of(split, split->answer.target) - foil_bias;

    if (has_norm && weights->ln_final.b.data)
        ATTN_TRY(append(split, "norm_bias", -1, -1,
                        bias_along(split, &weights->ln_final.b, split->column), err));
    if (weights->unembed.bias.data)
        ATTN_TRY(append(split, "output_bias", -1, -1, bias, err));
    ATTN_TRY(append(split, "sum", -1, -1, split->sum, err));
    if (config->logits_cap > 0)
        split->model = dot(split->column, read, config->d_model) + bias;
    return append(split, "model", -1, -1, split->model, err);
}

/* --- By token --------------------------------------------------------------------------------- */

/* Adds the keys that HEAD of LAYER reads to the list. */
static void read_keys(struct logit_split *split, int layer, int head)
{
    const struct attn_selection *selection = split->frame.selection;
    const struct attn_config *config = split->frame.config;
    const struct attn_dims *dims = attn_selection_dims(selection);
    const size_t width = config->d_value;
    const size_t n = config->is_cross[layer] ? dims->n_source : dims->n_position;
    const int kv_head = head / (int)(config->n_head / config->n_kv_head);
    const enum attn_site site = attn_selection_has_site(selection, ATTN_SITE_PATTERN_DROPPED)
                                    ? ATTN_SITE_PATTERN_DROPPED
                                    : ATTN_SITE_PATTERN;
    const float *pattern = attn_capture_head(split->frame.capture, site, layer, head);
    const float *v = attn_capture_head(split->frame.capture, ATTN_SITE_V, layer, kv_head);
    const double *along = split->along + (size_t)head * width;

    for (size_t key = 0; key < n && !is_switched_off(split, layer, head); key++)
        if (pattern[key] != 0)
            split->keys[split->n_key++] = (struct attn_found_cell){
                .layer = layer,
                .head = head,
                .key = key,
                .value = (double)pattern[key] * dot(along, v + key * width, width)};
}

static enum attn_status append_keys(struct logit_split *split, struct attn_error *err)
{
    const struct attn_run *run = split->frame.run;
    const struct attn_config *config = split->frame.config;
    const size_t n_most = split->args->n_most > 0 ? split->args->n_most : DEFAULT_MOST;
    const size_t n = run->text.n > run->source.n ? run->text.n : run->source.n;

    split->keys =
        attn_frame_alloc(&split->frame, config->n_layer * config->n_head, n * sizeof *split->keys);
    ATTN_TRY(attn_frame_memory(&split->frame, err));
    for (int layer = 0; layer < (int)config->n_layer; layer++) {
        find_layer_direction(split, layer);
        for (int head = 0; head < (int)config->n_head; head++)
            read_keys(split, layer, head);
    }
    if (split->n_key > 0)
        qsort(split->keys, split->n_key, sizeof *split->keys, attn_found_cell_compare);
    for (size_t i = 0; i < split->n_key && i < n_most; i++) {
        const struct attn_found_cell *read = &split->keys[i];
        const bool is_cross = config->is_cross[read->layer];
        const struct attn_cell row[N_COLUMN] = {
            [LAYER] = attn_cell_integer(read->layer),
            [HEAD] = attn_cell_integer(read->head),
            [KEY] = attn_cell_integer((int64_t)read->key),
            [TOKEN] =
                attn_cell_position(is_cross ? &run->source.tokens : &run->text.tokens, read->key),
            [LOGIT] = attn_cell_real(read->value),
        };

        ATTN_TRY(attn_frame_append(&split->frame, row, err));
    }
    return ATTN_OK;
}

int attn_found_cell_compare(const void *a, const void *b)
{
    const struct attn_found_cell *x = a, *y = b;
    const int order = attn_compare_numbers(-fabs(x->value), -fabs(y->value));

    if (order != 0)
        return order;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* --- The experiment --------------------------------------------------------------------------- */

enum attn_status attn_attribute_check(const void *given, struct attn_error *err)
{
    const struct attn_attribute_args *args = given;
    const bool is_dla = args->method == ATTN_ATTRIBUTE_DLA;

    if (!attn_is_choice(args->method, ATTN_N_ATTRIBUTE_METHOD, "method", err) ||
        !attn_is_choice(args->baseline, ATTN_BASELINE_GIVEN + 1, "baseline", err))
        return ATTN_INVALID;
    if (args->by_token && !is_dla)
        return attn_error_set(err, ATTN_INVALID, "`by_token` needs the `method` dla");
    if (attn_study_is_of_texts(args->study) && !is_dla)
        return attn_error_set(err, ATTN_INVALID,
                              "`texts` need the `method` dla: tokens and cells belong to one text");
    if (args->study && args->method == ATTN_ATTRIBUTE_ATTN_X_GRAD)
        return attn_error_set(
            err, ATTN_INVALID,
            "`method` attn_x_grad and `items` do not go together: cells belong to one text");
    if (args->n_target > 0 && (is_dla || args->method == ATTN_ATTRIBUTE_ATTN_X_GRAD))
        return attn_error_set(err, ATTN_INVALID, "several targets need a `method` of tokens");
    if (args->n_target > 0 && args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "several targets and `items` do not go together: each item has its "
                              "own tokens");
    if (args->n_target > 0 &&
        (args->answer.target || args->answer.target_id || args->answer.at ||
         args->answer.metric == ATTN_ANSWER_CE || args->answer.metric == ATTN_ANSWER_KL))
        return attn_error_set(err, ATTN_INVALID,
                              "several targets set `target` and `at`, and need a `metric` of one "
                              "token");
    if (args->by_token && args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "`by_token` and `%s` do not go together: keys belong to one text",
                              attn_study_is_of_items(args->study) ? "items" : "texts");
    return ATTN_OK;
}

enum attn_status attn_attribute_take_item(void *args, struct attn_request *request,
                                          const struct attn_item *item, struct attn_error *err)
{
    struct attn_attribute_args *given = args;

    (void)request;
    if (given->method == ATTN_ATTRIBUTE_DLA)
        given->answer.metric = ATTN_ANSWER_AUTO; /* it is not used */
    return attn_item_answer(item, &given->answer, err);
}

static uint64_t hidden(const void *state)
{
    const struct logit_split *split = state;
    const struct attn_attribute_args *args = split->frame.args;

    return args->by_token ? ATTN_COLUMN_BIT(PART) : ATTN_COLUMN_BIT(KEY) | ATTN_COLUMN_BIT(TOKEN);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct logit_split *split = state;
    const struct attn_config *config = split->frame.config;
    double embed, both;

    find_direction(split);
    if (split->args->by_token)
        return append_keys(split, err);
    embed = dot(split->direction, kept(split, ATTN_SITE_EMBED, ATTN_NO_LAYER), config->d_model);
    both = dot(split->direction, kept(split, ATTN_SITE_RESID_PRE, 0), config->d_model);
    ATTN_TRY(append(split, "embed", -1, -1, embed, err));
    if (config->positions == ATTN_POSITIONS_LEARNED)
        ATTN_TRY(append(split, "pos", -1, -1, both - embed, err));
    for (int layer = 0; layer < (int)config->n_layer; layer++)
        ATTN_TRY(append_layer(split, layer, err));
    return append_output(split, err);
}

static const struct attn_experiment experiment = {
    .name = "attribute",
    .columns = columns,
    .n_column = N_COLUMN,
    .needs_output = true,
    .state_size = sizeof(struct logit_split),
    .takes_texts = true,
    .study = offsetof(struct attn_attribute_args, study),
    .take_item = attn_attribute_take_item,
    .answer = offsetof(struct attn_attribute_args, answer),
    .check = attn_attribute_check,
    .prepare = prepare,
    .hidden = hidden,
    .ask = ask,
};

enum attn_status attn_attribute(struct attn_host *host, const struct attn_request *request,
                                const struct attn_attribute_args *given, struct attn_table **table,
                                struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, NULL};

    const struct attn_experiment *asked;

    (void)attn_options_read(given, &args, NULL); /* the inquiry reports its failure */
    asked = args.method == ATTN_ATTRIBUTE_DLA           ? &experiment
            : args.method == ATTN_ATTRIBUTE_ATTN_X_GRAD ? &attn_attribute_cells
                                                        : &attn_attribute_tokens;
    return attn_experiment_perform(asked, &inquiry, err);
}

/* --- Several targets -------------------------------------------------------------------------- */

/* Copies the ids of the text of RUN and those of CONTINUATION. */
static enum attn_status append_continuation(const struct attn_run *run, const char *continuation,
                                            struct attn_generation *made, struct attn_error *err)
{
    const struct attn_answer_scope scope = attn_run_answer_scope(run);
    const struct attn_request_predict question = {.next = &continuation, .n_next = 1};
    struct attn_continuations encoded = {0};
    enum attn_status status;

    if (!scope.tokenizer)
        return attn_error_copy(err, scope.no_tokenizer);
    if (!run->text.ids)
        return attn_error_set(err, ATTN_INVALID, "the input has no tokens to continue");
    status = attn_continuations_encode(&scope, &question, &encoded, err);
    if (status == ATTN_OK) {
        made->n_prompt = run->text.n;
        made->n = encoded.encodings->n;
        status = ATTN_ALLOC(made->ids, made->n_prompt + made->n, err);
    }
    if (status == ATTN_OK) {
        memcpy(made->ids, run->text.ids, made->n_prompt * sizeof *made->ids);
        memcpy(made->ids + made->n_prompt, encoded.encodings->ids, made->n * sizeof *made->ids);
    }
    attn_continuations_release(&encoded);
    return status;
}

enum attn_status attn_attribute_continue(struct attn_host *host, const struct attn_request *request,
                                         size_t n_most, const char *continuation,
                                         struct attn_generation *made, struct attn_error *err)
{
    const struct attn_generate_args args = {.size = sizeof args, .n_most = n_most};
    struct attn_run *run = NULL;
    enum attn_status status;

    if (!continuation) {
        ATTN_TRY(attn_generate(host, request, &args, made, err));
        if (made->n > 0 && made->n_prompt > 0)
            return ATTN_OK;
        attn_generation_release(made);
        return attn_refuse(err, ATTN_STAGE_INPUT, "the text ends here: the model adds no token");
    }
    ATTN_TRY(attn_run_prepare(host, request, &run, err));
    *made = (struct attn_generation){0};
    status =
        attn_error_at(append_continuation(run, continuation, made, err), ATTN_STAGE_INPUT, err);
    attn_run_free(run);
    return status;
}

/* The row after those of the target that ROW of TABLE is about. */
static size_t end_of_target(const struct attn_table *table, size_t row)
{
    const int64_t step = attn_table_cell(table, row, 0).integer;

    while (row < attn_table_n_row(table) && attn_table_cell(table, row, 0).integer == step)
        row++;
    return row;
}

static bool is_of_token(const struct attn_table *table, size_t row)
{
    return attn_table_cell(table, row, attn_table_find(table, "position")).type !=
           ATTN_VALUE_MISSING;
}

/* Names the columns of a matrix by the rows of TABLE from FIRST on, those of its last target. */
static enum attn_status create_matrix(const struct attn_table *table, size_t first,
                                      struct attn_table **matrix, struct attn_error *err)
{
    const size_t n = attn_table_n_row(table) - first;
    const size_t part = attn_table_find(table, "part"), token = attn_table_find(table, "token");
    const size_t position = attn_table_find(table, "position");
    struct attn_buffer names = {0};
    struct attn_column *made = attn_alloc(n + 2, sizeof *made, err);
    enum attn_status status = made ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; made && i < n; i++) {
        const bool is_token = is_of_token(table, first + i);
        const struct attn_cell text = attn_table_cell(table, first + i, is_token ? token : part);

        if (is_token) {
            attn_buffer_append_integer(&names, attn_table_cell(table, first + i, position).integer);
            attn_buffer_append_char(&names, '|');
        }
        attn_escape_append(&names, text.text, text.size);
        attn_buffer_append_char(&names, '\0');
    }
    if (status == ATTN_OK)
        status = attn_buffer_check(&names, err);
    if (status == ATTN_OK) {
        const char *name = names.data;

        made[0] = *attn_table_column(table, 0);
        made[1] = *attn_table_column(table, 1);
        for (size_t i = 0; i < n; i++, name += strlen(name) + 1) {
            made[i + 2] = *attn_table_column(table, attn_table_find(table, "attribution"));
            made[i + 2].name = name;
        }
        status = attn_table_create("attribution", made, n + 2, matrix, err);
    }
    attn_buffer_release(&names);
    attn_free(made);
    return status;
}

enum attn_status attn_attribute_matrix(const struct attn_table *table, struct attn_table **matrix,
                                       struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table), value = attn_table_find(table, "attribution");
    size_t last = 0;
    struct attn_table *made = NULL;
    struct attn_cell *cells;
    enum attn_status status;

    if (!attn_is_given(matrix, "matrix", err) ||
        !attn_is_given(n_row > 0 && attn_table_find(table, "step") == 0, "table", err))
        return ATTN_INVALID;
    while (end_of_target(table, last) < n_row)
        last = end_of_target(table, last);
    ATTN_TRY(ATTN_ALLOC(cells, n_row - last + 2, err));
    status = create_matrix(table, last, &made, err);
    for (size_t row = 0; status == ATTN_OK && row < n_row;) {
        const size_t first = row, end = end_of_target(table, row);

        memset(cells, 0, (n_row - last + 2) * sizeof *cells);
        cells[0] = attn_table_cell(table, row, 0);
        cells[1] = attn_table_cell(table, row, 1);
        for (; row < end; row++) { /* parts stand at the end of a row */
            const size_t at = is_of_token(table, row) ? row - first : n_row - last + row - end;

            cells[at + 2] = attn_table_cell(table, row, value);
        }
        status = attn_table_append(made, cells, n_row - last + 2, err);
    }
    attn_free(cells);
    if (status == ATTN_OK)
        status = attn_table_copy_about(table, made, err);
    if (status == ATTN_OK)
        *matrix = made;
    else
        attn_table_free(made);
    return status;
}
