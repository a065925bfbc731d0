/*
 * attribute_parts.c - attributes a logit to the parts of the model (dla of attribute.h).
 *
 * The final norm with its scale frozen is a linear map. So the logit is the projection of the
 * stream onto one direction u, and a part x of the stream writes u.x of it. u is the column of W_U
 * (of the target minus the foil), times the norm's weight, divided by its scale, and centered if
 * the norm subtracts the mean. A norm after attention maps u to another direction in the same way.
 *
 * What attention writes is the output map of z. A gate before this map is kept as in the run, so a
 * head's part is the map of its components.
 *
 * Gemma 4 multiplies its stream by a number at the end of each layer: u before that end is u times
 * it.
 *
 * An answer that reads several rows, or one through maps and lengths, has a u for each row: from
 * the gradient of the answer, with lengths frozen. A part writes the sum over rows.
 */
#include "attribute/attribute_internal.h"

#include "base/elementary.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "frame/asked.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "predict/class_label.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"
#include "trials/derivative.h"
#include "trials/readout.h"
#include "trials/sums.h"
#include "trials/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MOST = 20 };

enum { PART, STACK, LAYER, HEAD, KEY, TOKEN, ATTRIBUTION, OF_TARGET, OF_FOIL, ROW_TYPE, N_COLUMN };

enum { SHOW_PARTS = 2, SHOW_TOKENS = 4, SHOW_SIDES = 8 };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum model", .shown = SHOW_PARTS),
    ATTN_COLUMNS_HEAD(STACK, 0),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER, .shown = SHOW_TOKENS),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_TOKENS),
    [ATTRIBUTION] = ATTN_COLUMN_QUANTITY("attribution", 4, NULL, SIGNED, "part of @",
                                         .traits = ATTN_TRAIT_RANKED),
    [OF_TARGET] = ATTN_COLUMN_QUANTITY("attribution_target", 4, NULL, SIGNED,
                                       "part of the logit of the target", .shown = SHOW_SIDES,
                                       .help = "what the part adds to the logit of the target"),
    [OF_FOIL] = ATTN_COLUMN_QUANTITY("attribution_foil", 4, NULL, SIGNED,
                                     "part of the logit of the foil", .shown = SHOW_SIDES,
                                     .help = "what the part adds to the logit of the foil"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* What the parts are projected onto: the target alone, the foil alone, or their difference. */
enum side { SIDE_TARGET, SIDE_FOIL, BOTH };

/* Attention in a layer. */
struct branch {
    struct attn_location at;
    size_t n_head, width; /* H and Ev */
    double factor;        /* of the output; 0: no factor */
    const struct attn_linear *out;
    const float
        *read; /* [H, n, width] what the output map reads: z with its gate; NULL: no attention */
};

struct logit_split {
    struct attn_frame frame; /* its capture has the rows that the answer reads */
    const struct attn_attribute_args *args;
    const struct attn_weights *weights;
    struct attn_answer answer;
    double model;      /* the logit, or the difference of two */
    size_t first, n;   /* first row that the answer reads, and number of rows; [n] below */
    double *column;    /* [n, D] gradient after the final norm; for a single row, a column of W_U */
    double *scale;     /* [n] scale of the final norm, or 1 */
    double *last;      /* [n, D] u after the last layer */
    double *carried;   /* [n_layer + 1] by what the numbers from a layer on multiply its input */
    double *direction; /* [n, D] u of what the current layer writes */
    /* [n, D] u before the scales of the current layer's attention; and before the norm that follows
     * the attention, which comes before the scales */
    double *after_norm, *before_norm;
    size_t n_z;    /* the largest H*Ev */
    double *along; /* [H, n, Ev] W_O u of the current branch */
    float *read;   /* [n_z, n] for branches */
    double *row;   /* [D] scratch */
    float *panel;  /* scratch of the foil that is nothing, as sums; else NULL */
    double *sums;
    double sum, size;             /* size: sum of the absolute values of the terms of `sum` */
    enum side side;               /* the current walk over the parts; those of sides come first, */
    double *sides[2];             /* [number of parts] owned by the frame; and keep their numbers */
    size_t n_side, i_side;        /* room, and the next part */
    struct attn_found_cell *keys; /* [n_key] keys that heads read from, for by_token */
    size_t n_key;
    const float *stream; /* into the current layer */
};

static const struct attn_dims *dims_of(const struct logit_split *split)
{
    return attn_asked_dims(split->frame.run);
}

/* --- The run ---------------------------------------------------------------------------------- */

/* Returns the sites from which z is computed: the values and the weights. */
static struct attn_site_set pattern_sites(const struct logit_split *split)
{
    const bool is_dropped = attn_run_attention(split->frame.run)[0].dropout > 0;

    return ATTN_SITES(ATTN_SITE_V, is_dropped ? ATTN_SITE_PATTERN_DROPPED : ATTN_SITE_PATTERN);
}

/* Runs the model, records the rows of each part that the answer reads, and reads the model's
 * logit. */
static enum attn_status keep(struct logit_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_answer *answer = &split->answer;
    const bool by_token = split->args->by == ATTN_ATTRIBUTE_BY_TOKEN;
    struct attn_site_set sites = ATTN_SITES(
        ATTN_SITE_EMBED, ATTN_SITE_RESID_PRE, ATTN_SITE_Z, ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT,
        ATTN_SITE_LAYER_OUT, ATTN_SITE_RESID_POST, ATTN_SITE_LN_FINAL);
    const struct attn_site_set gated =
        attn_sites_common(ATTN_SITES(ATTN_SITE_GATE), dims_of(split)->sites);
    const struct attn_site_set patterns =
        by_token ? pattern_sites(split) : (struct attn_site_set){0};
    float *logits = attn_frame_alloc(frame, frame->config->n_vocab, sizeof *logits);
    struct attn_watch watch = {.places = {.first_query = split->first, .n_query = split->n},
                               .capture = &frame->capture,
                               .session = &frame->session};

    if (frame->config->stack.has_encoder) /* the stream after the first block of a pair */
        attn_sites_add(&sites, ATTN_SITE_RESID_MID);
    ATTN_TRY(attn_frame_memory(frame, err));
    watch.sites = attn_sites_join(attn_sites_join(sites, gated), patterns);
    ATTN_TRY(attn_watch(frame->run, &watch, err));
    ATTN_TRY(attn_session_logits_at(frame->session, answer->position, 1, logits, err));
    split->model = attn_answer_value(answer, logits, 0);
    if (frame->answer) {
        frame->answer->metric =
            attn_answer_metric_name(answer->has_foil ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOGIT);
        frame->answer->row = "model";
        frame->answer->value = split->model;
        frame->answer->has_right = answer->has_foil;
        frame->answer->right = answer->has_foil ? attn_answer_right(answer, logits) : 0;
    }
    return ATTN_OK;
}

/* Returns true if the run has an edit of one of SITES in the layer of AT. */
static bool has_edit(const struct logit_split *split, struct attn_site_set sites,
                     const struct attn_location *at)
{
    struct attn_location own;
    bool is_edited = false;

    for (enum attn_site site = 0; site < ATTN_N_SITE; site++)
        is_edited = is_edited || (attn_sites_have(sites, site) &&
                                  attn_location_find(dims_of(split), at, site, &own) &&
                                  attn_asked_is_changed(split->frame.run, &own));
    return is_edited;
}

/* Returns true if all of Z [WIDTH] of a head is 0. */
static bool is_switched_off(const float *z, size_t width)
{
    size_t i = 0;

    while (i < width && z[i] == 0)
        i++;
    return i == width;
}

/* Whether the first part is all that the first layer reads, rather than the embedding alone. */
static bool begins_late(const struct logit_split *split)
{
    return split->frame.config->positions == ATTN_POSITIONS_LEARNED ||
           attn_backward_reads_embeddings(attn_asked_model(split->frame.run));
}

/* Returns an error for edits after which the logit is not the sum of the parts. */
static enum attn_status check_edits(const struct logit_split *split, struct attn_error *err)
{
    const struct attn_site_set later =
        ATTN_SITES(ATTN_SITE_LN_FINAL, ATTN_SITE_POOLED, ATTN_SITE_IMAGE_EMBED,
                   ATTN_SITE_TEXT_EMBED, ATTN_SITE_SENTENCE_EMBED, ATTN_SITE_LOGITS);
    size_t n;
    const struct attn_edit *edits = attn_run_edits(split->frame.run, ATTN_STACK_DECODER, &n);
    const bool by_token = split->args->by == ATTN_ATTRIBUTE_BY_TOKEN;

    for (size_t i = 0; i < n; i++) {
        const enum attn_site site = edits[i].at.site;

        if (attn_sites_have(later, site))
            return attn_error_set(
                err, ATTN_INVALID,
                "'%s' is edited, and a logit is the sum of what is written before "
                "that",
                attn_site_name(site));
        if (site == ATTN_SITE_RESID_PRE && edits[i].at.layer <= 0 && begins_late(split))
            return attn_error_set(
                err, ATTN_INVALID,
                "'%s' of layer 0 is edited, and cannot be told from the part of the %s there",
                attn_site_name(site),
                attn_backward_reads_embeddings(attn_asked_model(split->frame.run))
                    ? "embedding, which is made"
                    : "positions, which is added");
        if (by_token &&
            (site == ATTN_SITE_ATTN_OUT || (site == ATTN_SITE_Z && edits[i].op != ATTN_EDIT_ZERO)))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' is edited, and `by token` splits what heads read before "
                                  "that; heads can be switched off",
                                  attn_site_name(site));
    }
    return ATTN_OK;
}

/* Returns what in the model prevents a decomposition into a sum, or NULL. */
static const char *find_obstacle(const struct logit_split *split)
{
    const struct attn_config *config = split->frame.config;
    const struct attn_sentence *sentence = &attn_asked_model(split->frame.run)->sentence;
    bool has_activation = config->head_act_fn;

    for (size_t i = 0; i < sentence->n_step; i++) {
        has_activation = has_activation || sentence->steps[i].has_activation;
        if (sentence->steps[i].norm.w.data)
            return "normalizes the vector that it makes of its rows";
    }
    if (has_activation)
        return "is an encoder: its output layer reads what an activation made of the stream";
    for (unsigned left = sentence->pools; left > 0; left >>= 4)
        if ((left & 15) == ATTN_POOLED_MAX)
            return "makes its vector of the largest number of each column";
    return config->pool_head                     ? "pools its rows by attention and an MLP"
           : config->stream                      ? "weighs its stream anew in each layer"
           : config->norm_place == ATTN_NORM_SUM ? "normalizes its stream after each sum"
           : !config->has_residual               ? "has no residual stream"
                                                 : NULL;
}

static enum attn_status check(const struct logit_split *split, struct attn_error *err)
{
    const struct attn_quote name =
        attn_quote_string(attn_model_name(attn_asked_model(split->frame.run)));
    const struct attn_config *config = split->frame.config;
    const char *obstacle = find_obstacle(split);

    if (obstacle) {
        attn_error_set(err, ATTN_INVALID, "'%s' %s, so its logits are not a sum of parts",
                       name.text, obstacle);
        if (config->stack.has_encoder)
            attn_error_hint(err, "`method grad_x_input` or `method ig` attributes to the tokens "
                                 "of both texts");
        return ATTN_INVALID;
    }
    if (!split->args->answer.target && !split->args->answer.target_id &&
        config->pooling != ATTN_POOLING_PROJECTED && config->n_vocab > 1)
        return attn_error_set(err, ATTN_INVALID, "expected `target`, the %s whose logit is split",
                              attn_model_has_labels(attn_asked_model(split->frame.run)) ? "label"
                                                                                        : "token");
    return check_edits(split, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct logit_split *split = state;
    struct attn_frame *frame = &split->frame;
    const size_t d = frame->config->d_model;
    struct attn_answer_args answer;
    enum attn_status status;

    split->args = frame->args;
    split->weights = &attn_asked_model(frame->run)->weights;
    answer = split->args->answer;
    answer.metric = ATTN_ANSWER_AUTO; /* dla does not use a metric */
    status = attn_error_at(check(split, err), ATTN_STAGE_OPTIONS, err);
    if (frame->answer)
        frame->answer->is_general = status != ATTN_OK;
    ATTN_TRY(status);
    ATTN_TRY(attn_frame_find_answer(frame, &answer, &split->answer, err));
    split->answer.metric = split->answer.has_foil ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOGIT;
    split->first = split->answer.position;
    split->n = 1;
    if (frame->config->pooling != ATTN_POOLING_NONE)
        split->n = attn_config_pooled_rows(frame->config, attn_asked_text(frame->run)->ids,
                                           attn_asked_n(frame->run), &split->first);
    split->column = attn_frame_alloc(frame, split->n * d, sizeof(double));
    split->scale = attn_frame_alloc(frame, split->n, sizeof(double));
    split->last = attn_frame_alloc(frame, split->n * d, sizeof(double));
    split->carried = attn_frame_alloc(frame, frame->config->n_layer + 1, sizeof(double));
    split->direction = attn_frame_alloc(frame, split->n * d, sizeof(double));
    split->after_norm = attn_frame_alloc(frame, split->n * d, sizeof(double));
    split->before_norm = attn_frame_alloc(frame, split->n * d, sizeof(double));
    split->row = attn_frame_alloc(frame, d, sizeof(double));
    split->n_z = frame->config->n_head * frame->config->d_value;
    split->along = attn_frame_alloc(frame, split->n * split->n_z, sizeof(double));
    split->read = attn_frame_alloc(frame, split->n * split->n_z, sizeof(float));
    if (split->answer.has_foil &&
        (split->answer.foil == ATTN_FOIL_NOTHING || split->args->sides == ATTN_SIDES_MEAN)) {
        split->panel = attn_frame_alloc(frame, d * ATTN_READOUT_PANEL, sizeof(float));
        split->sums = attn_frame_alloc(frame, d * ATTN_READOUT_PANEL, sizeof(double));
    }
    ATTN_TRY(attn_frame_memory(frame, err));
    if (frame->config->has_output_map)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "logits of this model are not split: a map is before its output matrix");
    if (split->args->by == ATTN_ATTRIBUTE_BY_TOKEN && frame->config->has_attn_gate)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by token` does not split layers %s yet, which '%s' has",
                           attn_config_unread_layers(frame->config),
                           attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text);
    if (split->args->by == ATTN_ATTRIBUTE_BY_TOKEN &&
        !attn_sites_are_empty(
            attn_sites_without(pattern_sites(split), attn_asked_dims(frame->run)->sites))) {
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by token` needs a pattern, and this attention has none");
    }
    return attn_error_at(keep(split, err), ATTN_STAGE_MODEL, err);
}

/* Returns the recorded rows of SITE in the layer of AT; NULL if it has none. */
static const float *kept(const struct logit_split *split, enum attn_site site,
                         const struct attn_location *at)
{
    struct attn_location own;

    return attn_location_find(dims_of(split), at, site, &own)
               ? attn_capture_tensor(split->frame.capture, &own)
               : NULL;
}

/* Returns the recorded rows of SITE, which is outside the layers. */
static const float *kept_outside(const struct logit_split *split, enum attn_site site)
{
    return kept(split, site, &(struct attn_location){.layer = ATTN_NO_LAYER});
}

/* Returns the output of the last layer. */
static const float *kept_last(const struct logit_split *split)
{
    const struct attn_location last =
        attn_layer_at(dims_of(split), ATTN_SITE_RESID_POST, split->frame.config->n_layer - 1);

    return kept(split, ATTN_SITE_RESID_POST, &last);
}

/* --- Directions ------------------------------------------------------------------------------- */

static double dot(const double *u, const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += u[i] * (double)x[i];
    return sum;
}

/* Returns U.X [n], and adds the size of its terms to split->size. */
static double project(struct logit_split *split, const double *u, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        split->size += fabs(u[i] * (double)x[i]);
    return dot(u, x, n);
}

/* Returns the projection of a bias vector, which is added to each row, onto U [n, D]. */
static double bias_along(struct logit_split *split, const struct attn_vector *bias, const double *u)
{
    const size_t d = split->frame.config->d_model;
    double sum = 0;

    attn_vector_elements(bias, 0, d, split->row);
    for (size_t i = 0; i < split->n * d; i++) {
        sum += u[i] * split->row[i % d];
        split->size += fabs(u[i] * split->row[i % d]);
    }
    return sum;
}

static double logits_scale(const struct logit_split *split)
{
    const double scale = split->frame.config->logits_scale;

    return scale > 0 ? scale : 1;
}

/* The logits that a walk adds up: those of two tokens with signs. */
struct side_logits {
    int32_t ids[2];
    double signs[2];
};

static struct side_logits logits_of(const struct logit_split *split)
{
    const struct attn_answer *answer = &split->answer;
    const bool is_centered = split->args->sides == ATTN_SIDES_MEAN;

    if (split->side == BOTH)
        return (struct side_logits){{answer->target, answer->foil}, {1, answer->has_foil ? -1 : 0}};
    return (struct side_logits){
        {split->side == SIDE_TARGET ? answer->target : answer->foil, ATTN_FOIL_NOTHING},
        {1, is_centered ? -1 : 0}};
}

/* Sets `column` for a single row, to the columns of W_U that the current walk adds up. */
static void find_column(struct logit_split *split)
{
    const struct side_logits own = logits_of(split);
    const size_t d = split->frame.config->d_model;
    const struct attn_matrix *unembed = &split->weights->unembed.weight;

    memset(split->column, 0, d * sizeof *split->column);
    for (int i = 0; i < 2; i++) { /* the first logit, and the one that is subtracted */
        const double sign = own.signs[i];
        const int32_t id = own.ids[i];

        if (sign == 0)
            continue;
        if (id == ATTN_FOIL_NOTHING)
            attn_readout_mean(unembed, split->panel, split->sums, split->row);
        else
            attn_matrix_column(unembed, (size_t)id, split->row);
        for (size_t k = 0; k < d; k++)
            split->column[k] += sign * split->row[k];
    }
    for (size_t i = 0; i < d; i++)
        split->column[i] *= logits_scale(split);
}

/* Copies the gradients of rows that the answer reads to `column` (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct logit_split *split = user;
    const size_t d = event->n_col;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        for (size_t i = 0; i < d && event->row0 + r - split->first < split->n; i++)
            split->column[(event->row0 + r - split->first) * d + i] =
                (double)event->data[r * event->ld + i];
    return ATTN_OK;
}

/* Sets `column` by a backward pass from the answer to the final norm, with lengths frozen. */
static enum attn_status find_gradient(struct logit_split *split, struct attn_error *err)
{
    const struct attn_run *run = split->frame.run;
    const struct attn_derivative_options options = {
        .rule = ATTN_BACKWARD_ATTNLRP,
        .gradients = {ATTN_SITES(ATTN_SITE_LN_FINAL_GRAD), on_gradient, split},
        .skips_zeros = true};
    struct attn_derivative *derivative;
    enum attn_status status;

    ATTN_TRY(attn_derivative_create(run, &split->answer, &options, &derivative, err));
    status = attn_derivative_backward_of(derivative, split->first, split->n, kept_last(split), err);
    attn_derivative_free(derivative);
    return status;
}

static enum attn_status find_direction(struct logit_split *split, struct attn_error *err)
{
    const struct attn_config *config = split->frame.config;
    const struct attn_norm_weights *norm = &split->weights->ln_final;
    const size_t d = config->d_model;
    const float *stream = kept_last(split);

    if (split->n == 1 && config->pooling != ATTN_POOLING_PROJECTED)
        find_column(split);
    else
        ATTN_TRY(find_gradient(split, err));
    memcpy(split->last, split->column, split->n * d * sizeof *split->column);
    for (size_t i = 0; i < split->n; i++) {
        split->scale[i] = 1;
        if (!config->has_final_norm)
            continue;
        for (size_t k = 0; k < d; k++)
            split->row[k] = (double)stream[i * d + k];
        split->scale[i] = attn_readout_scale(config, norm, split->row, d);
        attn_readout_before_norm(config, norm, split->scale[i], 1, split->row, split->last + i * d);
    }
    split->carried[config->n_layer] = 1;
    for (size_t layer = config->n_layer; layer-- > 0;) {
        const struct attn_location at = attn_layer_at(dims_of(split), ATTN_SITE_Z, layer);
        const struct attn_block_weights *w = attn_block_at(split->weights, &at);
        double factor = 1;

        if (w->scalar.data)
            attn_vector_elements(&w->scalar, 0, 1, &factor);
        split->carried[layer] = split->carried[layer + 1] * factor;
    }
    return ATTN_OK;
}

/* Sets `direction` for what is written before the end of LAYER. */
static void enter_layer(struct logit_split *split, size_t layer)
{
    for (size_t i = 0; i < split->n * split->frame.config->d_model; i++)
        split->direction[i] = split->last[i] * split->carried[layer];
}

/* --- Branches --------------------------------------------------------------------------------- */

/* Returns z of the layer of AT, times the sigmoid of its gate if it has one. */
static const float *read_heads(struct logit_split *split, const struct branch *branch)
{
    const struct attn_config *config = split->frame.config;
    const float *z = kept(split, ATTN_SITE_Z, &branch->at),
                *gate = kept(split, ATTN_SITE_GATE, &branch->at);
    const size_t width = branch->width, n = split->n;

    if (!gate)
        return z;
    for (size_t i = 0; i < branch->n_head * n * width; i++) {
        const size_t head = i / (n * width), row = i / width % n, k = i % width;
        const size_t at = config->gates_heads ? row * branch->n_head + head
                                              : (row * branch->n_head + head) * width + k;

        split->read[i] = (float)((double)z[i] / (1 + attn_exp(-(double)gate[at])));
    }
    return split->read;
}

/* Returns the attention of the layer of AT; without heads if it has none. */
static struct branch find_attention(struct logit_split *split, const struct attn_location *at)
{
    const struct attn_config *config = split->frame.config;
    const double own = config->factors.attn_out;
    struct branch branch = {.at = *at,
                            .width = attn_location_dims(dims_of(split), at).d_value,
                            .factor = own > 0 ? own : config->residual_scale,
                            .out = &attn_block_at(split->weights, at)->out};

    if (kept(split, ATTN_SITE_Z, at)) {
        branch.n_head = config->n_head;
        branch.read = read_heads(split, &branch);
    }
    return branch;
}

/* Adds what HEAD writes in row I, before a norm, to Y [D]. */
static void add_head(const struct logit_split *split, const struct branch *branch, size_t head,
                     size_t i, double *y)
{
    const struct attn_config *config = split->frame.config;
    const float *read = branch->read + (head * split->n + i) * branch->width;

    attn_readout_add_head(config, &branch->out->weight, head, read, y);
}

/* Computes row I of split->after_norm and of split->before_norm for BRANCH. */
static void go_before_branch(struct logit_split *split, const struct branch *branch, size_t i)
{
    const struct attn_block_weights *w = attn_block_at(split->weights, &branch->at);
    const struct attn_config *config = split->frame.config;
    const size_t d = config->d_model;
    double *u = split->after_norm + i * d, *before = split->before_norm + i * d, scale;

    memcpy(u, split->direction + i * d, d * sizeof *u);
    for (size_t k = 0; k < d && branch->factor > 0; k++)
        u[k] *= branch->factor;
    attn_vector_elements(&w->attn_scale.w, 0, d, split->row);
    for (size_t k = 0; w->attn_scale.w.data && k < d; k++)
        u[k] *= split->row[k];
    /* the scale of the norm is that of the whole sum */
    attn_vector_elements(&branch->out->bias, 0, d, before);
    for (size_t head = 0; w->ln1_post.w.data && head < branch->n_head; head++)
        add_head(split, branch, head, i, before);
    scale = attn_readout_scale(config, &w->ln1_post, before, d);
    memcpy(before, u, d * sizeof *before);
    if (w->ln1_post.w.data)
        attn_readout_before_norm(config, &w->ln1_post, scale, 1, split->row, before);
}

/* Sets split->before_norm, the directions onto which the heads of BRANCH are projected, and
 * `along`, the weight of each component that they read. If the answer reads a mean, rows differ
 * only in their scale. */
static void find_branch_direction(struct logit_split *split, const struct branch *branch)
{
    const struct attn_block_weights *w = attn_block_at(split->weights, &branch->at);
    const size_t d = split->frame.config->d_model, width = branch->width;
    const size_t n = split->n;

    enter_layer(split, attn_location_index(&branch->at));
    for (size_t i = 0; i < n; i++) {
        const double *column = split->column + i * d;
        const bool is_scaled =
            i > 0 && !w->ln1_post.w.data && memcmp(column, column - d, d * sizeof *column) == 0;

        go_before_branch(split, branch, i);
        for (size_t head = 0; head < branch->n_head; head++) {
            double *along = split->along + (head * n + i) * width;

            for (size_t k = 0; is_scaled && k < width; k++)
                along[k] = along[k - width] * (split->scale[i - 1] / split->scale[i]);
            if (!is_scaled)
                attn_readout_along(split->frame.config, &branch->out->weight, head,
                                   split->before_norm + i * d, along);
        }
    }
}

/* --- Parts ------------------------------------------------------------------------------------ */

/* Appends a part AT, NULL: one outside the layers. */
static enum attn_status append(struct logit_split *split, const char *part,
                               const struct attn_location *at, double logit, struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(part), [ATTRIBUTION] = attn_cell_real(logit)};

    if (at)
        attn_location_put(at, &row[STACK]);
    if (at && at->head != ATTN_ALL_HEADS)
        row[HEAD] = attn_cell_integer(at->head);
    split->sum += logit;
    if (split->side != BOTH) {
        split->sides[split->side][split->i_side++] = logit;
        return ATTN_OK;
    }
    if (split->n_side > 0) {
        row[OF_TARGET] = attn_cell_real(split->sides[SIDE_TARGET][split->i_side]);
        row[OF_FOIL] = attn_cell_real(split->sides[SIDE_FOIL][split->i_side++]);
    }
    return attn_frame_append(&split->frame, row, err);
}

/* Appends the heads of BRANCH, and its biases. */
static enum attn_status append_branch(struct logit_split *split, const struct branch *branch,
                                      struct attn_error *err)
{
    const struct attn_block_weights *w = attn_block_at(split->weights, &branch->at);
    const size_t n = split->n * branch->width;
    struct attn_location one = branch->at;

    if (!branch->read)
        return ATTN_OK;
    find_branch_direction(split, branch);
    for (size_t head = 0; head < branch->n_head; head++) {
        one.head = (int)head;
        ATTN_TRY(append(split, "head", &one,
                        project(split, split->along + head * n, branch->read + head * n, n), err));
    }
    if (!branch->out->bias.data && !w->ln1_post.b.data)
        return ATTN_OK;
    return append(split, "attn_bias", &branch->at,
                  bias_along(split, &branch->out->bias, split->before_norm) +
                      bias_along(split, &w->ln1_post.b, split->after_norm),
                  err);
}

/* Appends what edits of the stream, or of the sum of the heads, added in the layer of AT: the
 * difference between the streams AFTER and before it, minus WRITTEN, the sum of its other parts. */
static enum attn_status append_edit(struct logit_split *split, const struct attn_location *at,
                                    const float *after, double written, struct attn_error *err)
{
    const struct attn_site_set sites = ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID,
                                                  ATTN_SITE_RESID_POST, ATTN_SITE_ATTN_OUT);
    const size_t d = split->n * split->frame.config->d_model;

    if (!has_edit(split, sites, at))
        return ATTN_OK;
    return append(split, "edit", at,
                  project(split, split->last, after, d) *
                          split->carried[attn_location_index(at) + 1] -
                      project(split, split->direction, split->stream, d) - written,
                  err);
}

static enum attn_status append_layer(struct logit_split *split, const struct attn_location *at,
                                     struct attn_error *err)
{
    const double before = split->sum;
    const struct attn_location of_mlp = attn_location_in(dims_of(split), at, ATTN_SITE_MLP_OUT);
    const float *mlp = kept(split, ATTN_SITE_MLP_OUT, at);
    const float *input = kept(split, ATTN_SITE_LAYER_OUT, at);
    /* resid_mid if the layer has no MLP */
    const float *after = kept(split, attn_location_output(dims_of(split), at), at);
    const size_t d = split->n * split->frame.config->d_model;
    struct branch branch;

    enter_layer(split, attn_location_index(at));
    branch = find_attention(split, at);
    ATTN_TRY(append_branch(split, &branch, err));
    if (mlp)
        ATTN_TRY(append(split, "mlp", &of_mlp, project(split, split->direction, mlp, d), err));
    if (input)
        ATTN_TRY(
            append(split, "per_layer_input", at, project(split, split->direction, input, d), err));
    ATTN_TRY(append_edit(split, at, after, split->sum - before, err));
    split->stream = after;
    return ATTN_OK;
}

/* Returns what the output bias adds to the logits of the current walk; of nothing, the mean. */
static double find_output_bias(const struct logit_split *split)
{
    const struct side_logits own = logits_of(split);
    const size_t n_vocab = split->frame.config->n_vocab;
    double bias = 0;

    for (int i = 0; i < 2; i++) {
        const bool is_mean = own.ids[i] == ATTN_FOIL_NOTHING;
        const size_t n = own.signs[i] == 0 ? 0 : is_mean ? n_vocab : 1;
        double sum = 0, one;

        for (size_t k = 0; k < n; k++) {
            attn_vector_elements(&split->weights->unembed.bias, is_mean ? k : (size_t)own.ids[i], 1,
                                 &one);
            sum += one;
        }
        bias += n > 0 ? own.signs[i] * sum / (double)n : 0;
    }
    return bias * logits_scale(split);
}

static enum attn_status append_output(struct logit_split *split, struct attn_error *err)
{
    const struct attn_config *config = split->frame.config;
    const struct attn_weights *weights = split->weights;
    const struct attn_sentence *sentence = &attn_asked_model(split->frame.run)->sentence;
    const bool has_norm = config->has_final_norm;
    const float *read = has_norm ? kept_outside(split, ATTN_SITE_LN_FINAL) : kept_last(split);
    double bias = find_output_bias(split);
    bool has_bias = weights->unembed.bias.data;
    struct attn_sum sum;

    for (size_t i = 0; i < sentence->n_step && !has_bias; i++)
        if (sentence->steps[i].map.bias.data) { /* only maps have a bias */
            has_bias = true;
            bias = split->model - dot(split->column, read, split->n * config->d_model);
        }
    if (has_norm && weights->ln_final.b.data)
        ATTN_TRY(append(split, "norm_bias", NULL,
                        bias_along(split, &weights->ln_final.b, split->column), err));
    if (has_bias)
        ATTN_TRY(append(split, "output_bias", NULL, bias, err));
    sum = (struct attn_sum){
        .value = split->sum,
        .size = split->size + fabs(bias),
        .n_rounded = (double)(config->d_model + split->n_z + 2 * config->n_layer + split->n),
        .compute = attn_model_compute(attn_asked_model(split->frame.run))};
    ATTN_TRY(append(split, "sum", NULL, split->sum, err));
    if (config->logits_cap > 0 || split->side != BOTH)
        split->model = dot(split->column, read, split->n * config->d_model) + bias;
    if (split->side == BOTH)
        ATTN_TRY(attn_sum_check(&sum, "parts", split->model, err));
    return append(split, "model", NULL, split->model, err);
}

/* --- By token --------------------------------------------------------------------------------- */

/* Adds the keys that the head AT reads to the list. */
static void read_keys(struct logit_split *split, const struct attn_location *at)
{
    const struct attn_config *config = split->frame.config;
    const struct attn_dims *dims = attn_asked_dims(split->frame.run);
    const struct attn_dims own = attn_location_dims(dims, at);
    const size_t width = own.d_value, n = attn_location_n_key(dims, at);
    const int kv_head = at->head / (int)(config->n_head / own.n_kv_head);
    const int of_values = dims->layers ? (int)dims->layers[at->layer].kv_layer : at->layer;
    const enum attn_site site = attn_sites_have(pattern_sites(split), ATTN_SITE_PATTERN_DROPPED)
                                    ? ATTN_SITE_PATTERN_DROPPED
                                    : ATTN_SITE_PATTERN;
    const struct attn_location of_pattern = {at->stack, at->layer, at->head, site},
                               of_v = {at->stack, of_values, kv_head, ATTN_SITE_V};
    const float *pattern = attn_capture_head(split->frame.capture, &of_pattern);
    const float *v = attn_capture_head(split->frame.capture, &of_v);
    const float *z = attn_capture_head(split->frame.capture, at);
    const double *along = split->along + (size_t)at->head * split->n * width;

    for (size_t key = 0; key < n; key++) {
        struct attn_found_cell read = {.at = *at, .key = key};
        bool is_read = false;

        for (size_t i = 0; i < split->n; i++) {
            const double weight = (double)pattern[i * n + key];

            if (weight == 0 || is_switched_off(z + i * width, width))
                continue;
            is_read = true;
            read.value += weight * dot(along + i * width, v + key * width, width);
        }
        if (is_read)
            split->keys[split->n_key++] = read;
    }
}

static enum attn_status append_keys(struct logit_split *split, struct attn_error *err)
{
    const struct attn_run *run = split->frame.run;
    const struct attn_config *config = split->frame.config;
    const size_t n_most = split->args->n_most > 0 ? split->args->n_most : DEFAULT_MOST;
    const size_t n = attn_asked_n(run) > attn_asked_source(run)->n ? attn_asked_n(run)
                                                                   : attn_asked_source(run)->n;
    struct attn_location at = {.site = ATTN_SITE_Z, .layer = ATTN_NO_LAYER};

    split->keys =
        attn_frame_alloc(&split->frame, config->n_layer * config->n_head, n * sizeof *split->keys);
    ATTN_TRY(attn_frame_memory(&split->frame, err));
    while (attn_dims_next_layer(dims_of(split), &at)) {
        const struct branch branch = find_attention(split, &at);

        find_branch_direction(split, &branch);
        for (at.head = 0; at.head < (int)config->n_head; at.head++)
            read_keys(split, &at);
    }
    if (split->n_key > 0)
        qsort(split->keys, split->n_key, sizeof *split->keys, attn_found_cell_compare);
    for (size_t i = 0; i < split->n_key && i < n_most; i++) {
        const struct attn_found_cell *read = &split->keys[i];
        const bool is_cross = attn_location_is_cross(dims_of(split), &read->at);
        struct attn_cell row[N_COLUMN] = {
            [HEAD] = attn_cell_integer(read->at.head),
            [KEY] = attn_cell_integer((int64_t)read->key),
            [TOKEN] = attn_cell_position(is_cross ? &attn_asked_source(run)->tokens
                                                  : &attn_asked_text(run)->tokens,
                                         read->key),
            [ATTRIBUTION] = attn_cell_real(read->value),
        };

        attn_location_put(&read->at, &row[STACK]);
        ATTN_TRY(attn_frame_append(&split->frame, row, err));
    }
    return ATTN_OK;
}

int attn_found_cell_compare(const void *a, const void *b)
{
    const struct attn_found_cell *x = a, *y = b;
    int order = attn_compare_numbers(-fabs(x->value), -fabs(y->value));

    order = order != 0 ? order : attn_location_order(&x->at, &y->at);
    if (order != 0)
        return order;
    if (x->at.head != y->at.head)
        return x->at.head < y->at.head ? -1 : 1;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* --- The procedure ---------------------------------------------------------------------------- */

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, KEY, ATTRIBUTION), .detail = ATTN_ROLE_HEAD, .texts = ATTN_ROLE_TOKEN},
    {ATTN_VIEW_OF(LAYER, HEAD, ATTRIBUTION), .asked = "written by each part of the model",
     .parts = "attn_bias mlp per_layer_input embed pos norm_bias output_bias",
     .inputs = "embed pos"},
};

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_attribute_args *args = given;
    const bool has_foil = args->answer.foil || args->answer.foil_id;

    drawn->answer.metric = has_foil ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOGIT;
    attn_attribute_label(drawn);
    if (args->by != ATTN_ATTRIBUTE_BY_TOKEN)
        return;
    if (args->n_most < SIZE_MAX)
        attn_drawn_ask(drawn, "written by heads, by the key they read from: the %zu largest",
                       args->n_most > 0 ? args->n_most : DEFAULT_MOST);
    else
        attn_drawn_ask(drawn, "written by heads, by the key they read from");
}

/* Whether target and foil are shown apart: two tokens at one position of a text. */
static bool has_sides(const struct attn_frame *frame)
{
    const struct attn_attribute_args *args = frame->args;

    return (args->answer.foil || args->answer.foil_id) && args->sides != ATTN_SIDES_NONE &&
           args->by != ATTN_ATTRIBUTE_BY_TOKEN && frame->config->pooling == ATTN_POOLING_NONE;
}

static uint64_t shows(const void *state)
{
    const struct attn_frame *frame = &((const struct logit_split *)state)->frame;
    const struct attn_attribute_args *args = frame->args;

    return (args->by == ATTN_ATTRIBUTE_BY_TOKEN ? SHOW_TOKENS : SHOW_PARTS) |
           (has_sides(frame) ? SHOW_SIDES : 0);
}

/* Walks over all parts in the directions of the current side. */
static enum attn_status walk(struct logit_split *split, struct attn_error *err)
{
    const struct attn_config *config = split->frame.config;
    const size_t d = config->d_model, n_front = attn_asked_text(split->frame.run)->grid.n_front;
    const bool is_mapped = attn_backward_reads_embeddings(attn_asked_model(split->frame.run));
    const struct attn_location first = attn_layer_at(dims_of(split), ATTN_SITE_RESID_PRE, 0);
    struct attn_location at = {.site = ATTN_SITE_Z, .layer = ATTN_NO_LAYER};
    double embed = 0, both;

    split->sum = split->size = 0;
    split->i_side = 0;
    ATTN_TRY(attn_error_at(find_direction(split, err), ATTN_STAGE_MODEL, err));
    enter_layer(split, 0);
    if (split->args->by == ATTN_ATTRIBUTE_BY_TOKEN)
        return append_keys(split, err);
    both = project(split, split->direction, kept(split, ATTN_SITE_RESID_PRE, &first), split->n * d);
    if (is_mapped)
        embed = both;
    else if (split->n > n_front) /* positions before the patches have no patch */
        embed = project(split, split->direction + n_front * d, kept_outside(split, ATTN_SITE_EMBED),
                        (split->n - n_front) * d);
    ATTN_TRY(append(split, "embed", NULL, embed, err));
    if (config->positions == ATTN_POSITIONS_LEARNED && !is_mapped)
        ATTN_TRY(append(split, "pos", NULL, both - embed, err));
    split->stream = begins_late(split) ? kept(split, ATTN_SITE_RESID_PRE, &first)
                                       : kept_outside(split, ATTN_SITE_EMBED);
    while (attn_dims_next_layer(dims_of(split), &at))
        ATTN_TRY(append_layer(split, &at, err));
    return append_output(split, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct logit_split *split = state;
    const struct attn_config *config = split->frame.config;
    const double model = split->model;

    if (has_sides(&split->frame)) { /* a layer has its heads and at most four other parts; six are
                                       outside */
        split->n_side = config->n_layer * (config->n_head + 4) + 6;
        for (int i = 0; i < 2; i++)
            split->sides[i] = attn_frame_alloc(&split->frame, split->n_side, sizeof(double));
        ATTN_TRY(attn_frame_memory(&split->frame, err));
        for (split->side = SIDE_TARGET; split->side < BOTH; split->side++)
            ATTN_TRY(walk(split, err));
    }
    split->side = BOTH;
    split->model = model;
    return walk(split, err);
}

const struct attn_procedure attn_attribute_parts = {
    .table.name = ATTN_TABLE_ATTRIBUTE,
    ATTN_ATTRIBUTE(struct logit_split),
    .needs_output = true,
    .reads_unequal_layers = true,
    .items.study = offsetof(struct attn_attribute_args, study),
    .items.take_item = attn_attribute_take_item,
    .check = attn_attribute_check,
    .draw = draw,
};
