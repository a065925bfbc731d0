/* attribute_tokens.c - attributes an answer to tokens (attribute.h). Each method takes one backward
 * pass, except ig, which takes one for each point between the baseline and the text. Sums are in
 * double precision. */
#include "attribute/attribute_baselines.h"

#include "attention/keys.h"
#include "base/status_internal.h"
#include "gradient/gradient.h"
#include "kernels/kernels.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "run/run_pass.h"
#include "tokenizer/words.h"
#include "trace/capture.h"
#include "trials/derivative.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_POINTS = 50, KEPT_BYTES = 512 << 20, BLOCK_BYTES = 64 << 20 };

enum { STEP, TARGET, PART, POSITION, ID, TOKEN, ATTRIBUTION, AMOUNT, ROW_TYPE, N_COLUMN };

enum { SHOW_TARGETS = 2, SHOW_SIGNED = 4, SHOW_AMOUNTS = 8 };

static const struct attn_column columns[N_COLUMN] = {
    [STEP] = ATTN_COLUMN("step", INTEGER, .shown = SHOW_TARGETS,
                         .help = "position of the target that the row is about, from 0"),
    [TARGET] = ATTN_COLUMN_WITH("target", TEXT, DETAIL, .shown = SHOW_TARGETS,
                                .help = "text of the target"),
    [PART] = ATTN_COLUMN_PART("sum model"),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [ID] = ATTN_COLUMN_OF(ID, "id", INTEGER, .traits = ATTN_TRAIT_DETAIL),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .traits = ATTN_TRAIT_DETAIL),
    ATTN_ATTRIBUTION_COLUMNS(ATTRIBUTION),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const char *const names[] = {
#define METHOD_NAME(id, number, name, sum) [ATTN_ATTRIBUTE_##id] = (name),
    ATTN_ATTRIBUTE_METHOD_MAP(METHOD_NAME)
#undef METHOD_NAME
};

static const bool has_sum[] = {
#define METHOD_HAS_SUM(id, number, name, sum) [ATTN_ATTRIBUTE_##id] = (sum),
    ATTN_ATTRIBUTE_METHOD_MAP(METHOD_HAS_SUM)
#undef METHOD_HAS_SUM
};

static bool is_relevance(const struct attn_attribution *a)
{
    return a->args->method == ATTN_ATTRIBUTE_RELEVANCE ||
           a->args->method == ATTN_ATTRIBUTE_RELEVANCE_NORM;
}

static enum attn_site relevance_site(const struct attn_attribution *a)
{
    return a->args->method == ATTN_ATTRIBUTE_RELEVANCE ? ATTN_SITE_RELEVANCE
                                                       : ATTN_SITE_RELEVANCE_NORM;
}

/* Returns the number of tokens that the current target is attributed to. */
static size_t n_token_of(const struct attn_attribution *a)
{
    return a->args->n_target > 0 ? a->answer.position + 1 : a->n_text;
}

/* Sets WEIGHTS [T] to the share of the answer that each row after the last layer has. The sum is 1.
 * One row has all of it, or the rows whose mean is read have equal shares. */
static void weigh_rows(const struct attn_answer *answer, double *weights)
{
    const struct attn_config *config = attn_model_config(answer->of.model);
    const struct attn_sequence *text = answer->of.text;
    const bool is_pooled = config->pooling != ATTN_POOLING_NONE;
    const bool is_mean = attn_config_has_mean(config) || config->pool_head;
    const bool has_half = config->pooling == ATTN_POOLING_FIRST_AND_MEAN;
    const bool is_sentence = config->is_sentence && is_pooled;
    const unsigned pools = answer->of.model->sentence.pools;
    const size_t first = is_mean ? 0 : text->grid.n_front;
    const double n_seen = (double)attn_key_mask_count(text->key_mask, text->n);

    memset(weights, 0, text->n * sizeof *weights);
    for (size_t i = first; (is_mean || has_half) && i < text->n; i++)
        weights[i] = attn_key_mask_keeps(text->key_mask, i)
                         ? (has_half ? 0.5 : 1) / (n_seen - (double)first)
                         : 0;
    if (config->task == ATTN_TASK_SPANS) {
        weights[answer->target] += 0.5;
        weights[answer->target_last] += 0.5;
        return;
    }
    for (unsigned left = is_sentence ? pools : 0; left > 0; left >>= 4) {
        /* the largest values count as those of the mean of all rows */
        const enum attn_pooled pool = left & 15,
                               mean = pool == ATTN_POOLED_WEIGHTED ? pool : ATTN_POOLED_MEAN;
        const double total = attn_pooled_total(mean, text->key_mask, text->n);
        const bool is_one = pool == ATTN_POOLED_FIRST || pool == ATTN_POOLED_LAST;

        for (size_t i = 0; i < text->n; i++) {
            const bool is_seen = attn_key_mask_pools(text->key_mask, i);
            const double share = is_seen ? attn_pooled_weight(mean, i) / total : 0;

            weights[i] += (!is_one ? share : i == attn_pooled_row(pool, text->key_mask, text->n)) /
                          (double)attn_sentence_n_pool(&answer->of.model->sentence);
        }
    }
    if (config->pooling == ATTN_POOLING_FIRST_TWO)
        weights[0] = weights[1] = 0.5;
    else if (!is_mean && !is_sentence)
        weights[is_pooled ? attn_config_pooled_row(config, text->ids, text->n)
                          : answer->position] += has_half ? 0.5 : 1;
}

/* --- Gradients -------------------------------------------------------------------------------- */

/* Returns the sum of the positions, which are wider than embeddings, times their gradient D [n,
 * D]. */
static double sum_places(const struct attn_attribution *a, const float *d)
{
    double sum = 0;

    for (size_t i = 0; i < n_token_of(a) * a->frame.config->d_model; i++)
        sum += (double)a->places.mapped[i] * (double)d[i];
    return sum;
}

/* Receives the gradients (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attn_attribution *a = user;

    (void)err;
    if (event->at.site == ATTN_SITE_PATTERN_X_GRAD)
        attn_relevance_add(a->relevance, event);
    else if (a->places.mapped)
        a->places.pos = sum_places(a, event->data);
    return ATTN_OK;
}

/* Selects the sites to record. */
static enum attn_status choose(struct attn_attribution *a, struct attn_error *err)
{
    struct attn_frame *frame = &a->frame;

    if (!is_relevance(a))
        return ATTN_OK;
    ATTN_TRY(
        attn_derivative_select(frame->run, ATTN_SITES(relevance_site(a)), &frame->selection, err));
    ATTN_TRY(attn_selection_set_layers(frame->selection, "-1", err));
    weigh_rows(&a->answer, a->weights);
    for (size_t i = 0; i < a->n_text; i++)
        if (a->weights[i] > 0)
            ATTN_TRY(attn_selection_add_queries(frame->selection, ATTN_STACK_ONLY, i, 1, err));
    ATTN_TRY(attn_relevance_create(frame->selection, relevance_site(a),
                                   attn_host_pool(frame->host, 1e9), &a->relevance, err));
    return attn_capture_create(frame->selection, &frame->capture, err);
}

/* Sets the answer to target number GOAL, if there are several targets. */
static void aim(struct attn_attribution *a, size_t goal)
{
    const size_t position = a->n_text - a->n_goal + goal;

    if (a->args->n_target == 0)
        return;
    a->answer.target = attn_asked_text(a->frame.run)->ids[position];
    a->answer.position = position - 1;
}

/* For each target of the block that begins with FIRST: computes the metric at X, stores it in
 * `model`, and, unless WEIGHT is 0, adds WEIGHT times the gradient at X. */
static enum attn_status add_gradients(struct attn_attribution *a, const float *x, double weight,
                                      size_t first, struct attn_error *err)
{
    const size_t size = a->n * a->d;
    const float *found;

    for (size_t i = 0; i < a->n_block && first + i < a->n_goal; i++) {
        aim(a, first + i);
        ATTN_TRY(i == 0 ? attn_derivative_feed(a->derivative, x, &a->model[i], err)
                        : attn_derivative_value(a->derivative, &a->model[i], err));
        if (weight == 0)
            continue;
        ATTN_TRY(attn_derivative_backward(a->derivative, err));
        a->places.sums[i] = a->places.pos;
        found = attn_derivative_embedding(a->derivative);
        for (size_t k = 0; k < size; k++)
            a->gradient[i * size + k] += weight * (double)found[k];
    }
    return ATTN_OK;
}

/* --- Methods ---------------------------------------------------------------------------------- */

static size_t n_point_of(const struct attn_attribution *a)
{
    return a->args->n_point > 0 ? a->args->n_point : DEFAULT_POINTS;
}

static enum attn_status integrate(struct attn_attribution *a, size_t first, struct attn_error *err)
{
    const size_t n_point = n_point_of(a), n_all = (a->n_goal + a->n_block - 1) / a->n_block;

    for (size_t i = 0; i < n_point; i++) {
        const double weight = attn_derivative_place(i, n_point, a->b, a->e, a->n * a->d, a->x);

        ATTN_TRY(add_gradients(a, a->x, weight, first, err));
        attn_frame_report(&a->frame, first / a->n_block * (n_point + 2) + i + 1,
                          n_all * (n_point + 2));
    }
    ATTN_TRY(add_gradients(a, a->b, 0, first, err));
    memcpy(a->baseline, a->model, a->n_block * sizeof *a->model);
    ATTN_TRY(add_gradients(a, a->e, 0, first, err));
    for (size_t i = 0; i < a->n_block; i++)
        a->model[i] -= a->baseline[i];
    return ATTN_OK;
}

/* Computes the attributions to target GOAL of the block: for ig the mean gradient times the
 * distance from the baseline; otherwise the gradient times e, or its length. */
static void multiply(struct attn_attribution *a, size_t goal)
{
    const double *gradient = a->gradient + goal * a->n * a->d;
    const bool is_ig = a->args->method == ATTN_ATTRIBUTE_IG;
    const bool is_length = a->args->method == ATTN_ATTRIBUTE_SALIENCY;

    a->places.pos = a->places.mapped ? a->places.sums[goal] : 0;
    a->places.types = 0;
    memset(a->attribution, 0, a->n * sizeof *a->attribution);
    for (size_t i = 0; i < a->n; i++) {
        double sum = 0;

        if (i >= n_token_of(a) && i < a->n_text)
            continue;
        for (size_t j = i * a->d; j < (i + 1) * a->d; j++) {
            const double e = (double)a->e[j] - (is_ig ? (double)a->b[j] : 0);

            sum += is_length ? gradient[j] * gradient[j] : e * gradient[j];
            a->places.pos +=
                ((double)a->places.placed[j] - (double)a->places.typed[j]) * gradient[j];
            a->places.types += ((double)a->places.typed[j] - (double)a->e[j]) * gradient[j];
        }
        a->attribution[i] = is_length ? sqrt(sum) : sum;
    }
}

/* Resets the sums for another target. */
static enum attn_status choose_again(struct attn_attribution *a, struct attn_error *err)
{
    attn_capture_free(a->frame.capture);
    attn_selection_free(a->frame.selection);
    attn_relevance_free(a->relevance);
    a->frame.capture = NULL;
    a->frame.selection = NULL;
    a->relevance = NULL;
    return choose(a, err);
}

static enum attn_status find_relevance(struct attn_attribution *a, size_t goal,
                                       struct attn_error *err)
{
    const struct attn_location last = attn_layer_at(
        attn_asked_dims(a->frame.run), relevance_site(a), a->frame.config->n_layer - 1);
    const float *row;

    if (goal > 0) {
        aim(a, goal);
        ATTN_TRY(choose_again(a, err));
        ATTN_TRY(attn_derivative_value(a->derivative, a->model, err));
    } else {
        ATTN_TRY(attn_derivative_feed(a->derivative, a->e, a->model, err));
    }
    ATTN_TRY(attn_derivative_backward(a->derivative, err));
    ATTN_TRY(attn_relevance_emit(a->relevance, attn_capture_trace(a->frame.capture), err));
    row = attn_capture_tensor(a->frame.capture, &last);
    memset(a->attribution, 0, a->n * sizeof *a->attribution);
    for (size_t query = 0; query < a->n; query++) {
        if (a->weights[query] <= 0)
            continue;
        /* without the identity, which would hide the other tokens */
        for (size_t i = 0; i < n_token_of(a); i++)
            a->attribution[i] += a->weights[query] * ((double)row[i] - (i == query ? 1 : 0));
        row += a->n;
    }
    return ATTN_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void name_target(const struct attn_attribution *a, struct attn_cell row[N_COLUMN])
{
    if (a->args->n_target == 0)
        return;
    row[STEP] = attn_cell_integer((int64_t)a->answer.position + 1);
    row[TARGET] = attn_asked_token(a->frame.run, a->answer.position + 1);
}

/* Appends one row for the tokens FIRST .. LAST-1 of TOKENS, a token or a word. TEXT is scratch and
 * must be empty. */
static enum attn_status append_tokens(struct attn_attribution *a,
                                      const struct attn_sequence *tokens, size_t first, size_t last,
                                      struct attn_buffer *text, struct attn_error *err)
{
    const bool is_source = tokens == attn_asked_source(a->frame.run);
    struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(is_source ? "source" : "token"),
                                      [POSITION] = attn_cell_integer((int64_t)first)};
    double sum = 0;

    name_target(a, row);
    for (size_t i = first; i < last; i++) {
        sum += a->attribution[i + (is_source ? a->n_text : 0)];
        if (tokens->tokens.bytes)
            attn_buffer_append(text, tokens->tokens.bytes[i], tokens->tokens.sizes[i]);
    }
    ATTN_TRY(attn_buffer_check(text, err));
    if (tokens->tokens.bytes)
        row[TOKEN] = attn_cell_text(text->data, text->size);
    if (tokens->ids && !a->args->merges_words)
        row[ID] = attn_cell_integer(tokens->ids[first]);
    row[ATTRIBUTION] = row[AMOUNT] = attn_cell_real(sum);
    return attn_frame_append(&a->frame, row, err);
}

static enum attn_status append_part(struct attn_attribution *a, const char *part, double x,
                                    struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(part), [ATTRIBUTION] = attn_cell_real(x)};

    name_target(a, row);
    return attn_frame_append(&a->frame, row, err);
}

static enum attn_status append_sums(struct attn_attribution *a, double model,
                                    struct attn_error *err)
{
    const bool is_ig = a->args->method == ATTN_ATTRIBUTE_IG;
    const bool has_pos = !is_ig && a->frame.config->positions == ATTN_POSITIONS_LEARNED;
    const bool has_types = !is_ig && a->frame.config->n_type > 0;
    const struct attn_weights *weights = &attn_asked_model(a->frame.run)->weights;
    double sum = (has_pos ? a->places.pos : 0) + (has_types ? a->places.types : 0);

    if (!has_sum[a->args->method])
        return ATTN_OK;
    for (size_t i = 0; i < a->n; i++)
        sum += a->attribution[i];
    if (has_pos)
        ATTN_TRY(append_part(a, "pos", a->places.pos, err));
    if (has_types)
        ATTN_TRY(append_part(a, "types", a->places.types, err));
    ATTN_TRY(append_part(a, "sum", sum, err));
    ATTN_TRY(append_part(a, "model", model, err));
    if (a->frame.item || a->args->n_target > 0) /* the table shows the difference instead */
        return ATTN_OK;
    if (fabs(sum - model) > 0.05 * fabs(model) && is_ig)
        attn_note(a->frame.request.on_note, a->frame.request.user, ATTN_NOTE_ATTRIBUTION_SUM,
                  "the attributions add up to %.4g, but the model's value is %.4g: use more points "
                  "than %zu; if more do not help, the model jumps on the way from this baseline",
                  sum, model, n_point_of(a));
    else if (a->args->method == ATTN_ATTRIBUTE_GRAD_X_INPUT && weights->ln_embed.w.data)
        attn_note(a->frame.request.on_note, a->frame.request.user, ATTN_NOTE_ATTRIBUTION_SUM,
                  "a norm follows the embedding, so the shares of each position, its token, "
                  "position and type, add up to 0, not to the model's value of %.4g",
                  model);
    else if (fabs(sum - model) > 0.05 * fabs(model))
        attn_note(a->frame.request.on_note, a->frame.request.user, ATTN_NOTE_ATTRIBUTION_SUM,
                  "the attributions add up to %.4g, but the model's value is %.4g: by "
                  "this method they agree only for a linear model",
                  sum, model);
    return ATTN_OK;
}

static enum attn_status append_sequence(struct attn_attribution *a,
                                        const struct attn_sequence *tokens, size_t n,
                                        struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;

    if (a->args->merges_words && n > 0)
        attn_words_mark(tokens == attn_asked_source(run) ? attn_asked_source_tokenizer(run)
                                                         : attn_asked_tokenizer(run),
                        tokens->ids, n, a->begins);
    for (size_t first = 0, last; first < n; first = last) {
        struct attn_buffer text = {0};
        enum attn_status status;

        last = first + 1;
        while (a->args->merges_words && last < n && !a->begins[last])
            last++;
        status = append_tokens(a, tokens, first, last, &text, err);
        attn_buffer_release(&text);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

static enum attn_status append_all(struct attn_attribution *a, double model, struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;

    ATTN_TRY(append_sequence(a, attn_asked_source(run), attn_asked_source(run)->n, err));
    ATTN_TRY(append_sequence(a, attn_asked_text(run), n_token_of(a), err));
    return append_sums(a, model, err);
}

/* Adds the method to the facts about the table, which JSON output contains. */
static enum attn_status add_about(struct attn_attribution *a, struct attn_error *err)
{
    static const struct attn_column about_columns[] = {
        ATTN_COLUMN("method", TEXT),
        ATTN_COLUMN("metric", TEXT),
        ATTN_COLUMN("baseline", TEXT), /* this and the next column are only for ig */
        ATTN_COLUMN("points", INTEGER),
    };
    const struct attn_cell cells[] = {
        attn_cell_string(names[a->args->method]),
        attn_cell_string(attn_answer_metric_name(a->answer.metric)),
        attn_cell_string(attn_baseline_names[a->baseline_kind]),
        attn_cell_integer((int64_t)n_point_of(a)),
    };

    return attn_table_set_about(a->frame.rows.table, about_columns, cells,
                                a->args->method == ATTN_ATTRIBUTE_IG ? 4 : 2, err);
}

/* --- The procedure ---------------------------------------------------------------------------- */

static enum attn_status check_metric(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;

    if (a->args->merges_words &&
        (!attn_asked_text(run)->tokens.bytes ||
         (attn_asked_source(run)->n > 0 && !attn_asked_source(run)->tokens.bytes)))
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    ATTN_TRY(attn_gradient_check(
        attn_asked_model(run), attn_run_attention(run),
        is_relevance(a) ? ATTN_SITES(relevance_site(a)) : (struct attn_site_set){0}, err));
    if (!attn_asked_model(run)->encoder && attn_asked_source(run)->n > 0 &&
        a->frame.config->d_source != a->d)
        return attn_error_set(err, ATTN_INVALID,
                              "rows of the source have %zu numbers, and embeddings %zu",
                              a->frame.config->d_source, a->d);
    if (a->args->method == ATTN_ATTRIBUTE_GRAD_X_INPUT && attn_baseline_is_undone(a)) {
        attn_error_set(err, ATTN_INVALID,
                       "a norm follows the embedding of '%s' at once, so every share of "
                       "grad_x_input is 0",
                       attn_quote_string(attn_model_name(attn_asked_model(run))).text);
        return attn_error_hint(err, "`method ig`");
    }
    if (a->args->method == ATTN_ATTRIBUTE_IG)
        ATTN_TRY(attn_baseline_choose(a, err));
    return attn_answer_check_goal(&a->answer, err);
}

/* Finds the answer; with several targets, the first one. Also sets how many targets are processed
 * together: one for relevance, whose sums are for one target. */
static enum attn_status find_answer(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_sequence *text = attn_asked_text(a->frame.run);
    size_t n_target = a->args->n_target;
    struct attn_answer_args asked = a->args->answer;
    int64_t at;

    if (n_target == 0) {
        ATTN_TRY(attn_frame_find_answer(&a->frame, &asked, &a->answer, err));
        a->answer.first_token = text->n_given;
        return ATTN_OK;
    }
    if (a->frame.config->is_encoder || a->frame.config->task != ATTN_TASK_VOCABULARY)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "several targets are next tokens, and '%s' predicts none",
                           attn_quote_string(attn_model_name(attn_asked_model(a->frame.run))).text);
    if (n_target == SIZE_MAX && a->n_text > 1)
        n_target = a->n_text - 1;
    if (!text->ids || n_target >= a->n_text)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the text has %zu token%s, expected more than the %zu targets",
                           text->ids ? a->n_text : 0, a->n_text == 1 ? "" : "s",
                           n_target == SIZE_MAX ? 1 : n_target);
    at = (int64_t)(a->n_text - n_target) - 1;
    asked.at = (struct attn_number_list){.items = &at, .n = 1};
    asked.target_id = &text->ids[a->n_text - n_target];
    a->n_goal = n_target;
    if (!is_relevance(a))
        a->n_block = BLOCK_BYTES / sizeof(double) / a->d / a->n;
    a->n_block = a->n_block == 0 ? 1 : a->n_block > n_target ? n_target : a->n_block;
    return attn_frame_find_answer(&a->frame, &asked, &a->answer, err);
}

/* Computes the embeddings of SEQUENCE, read by MODEL, into rows AT and on, and the same with types
 * and positions added. A source without an encoder has no types, and its own positions. */
static enum attn_status embed(struct attn_attribution *a, const struct attn_sequence *sequence,
                              const struct attn_model *model, size_t at, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const struct attn_embedding_rows rows = attn_sequence_rows(sequence);
    const size_t n_byte = sequence->n * a->d * sizeof *a->e, first = at * a->d;
    const size_t d_row = a->places.mapped ? a->frame.config->d_model : a->d;
    float *row = attn_frame_alloc(&a->frame, 2, d_row * sizeof *row);

    ATTN_TRY(attn_frame_memory(&a->frame, err));
    ATTN_TRY(attn_error_at(attn_sequence_embed(sequence, model, a->e + first, err),
                           ATTN_STAGE_MODEL, err));
    memcpy(a->places.typed + first, a->e + first, n_byte);
    if (sequence != attn_asked_source(a->frame.run))
        attn_model_add_types(model, kernels, &rows, row, a->places.typed + first);
    memcpy(a->places.placed + first, a->places.typed + first, n_byte);
    if (sequence != attn_asked_source(a->frame.run))
        attn_model_add_positions(model, kernels, &rows, row,
                                 a->places.mapped ? a->places.mapped : a->places.placed + first);
    return ATTN_OK;
}

static enum attn_status embed_all(struct attn_attribution *a, struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;
    const struct attn_model *encoder = attn_asked_model(run)->encoder;
    const struct attn_sequence read = attn_encoder_input(attn_asked_source(run));

    ATTN_TRY(embed(a, attn_asked_text(run), attn_asked_model(run), 0, err));
    return read.n == 0 ? ATTN_OK
                       : embed(a, encoder ? &read : attn_asked_source(run),
                               encoder ? encoder : attn_asked_model(run), a->n_text, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_attribution *a = state;
    struct attn_frame *frame = &a->frame;
    const struct attn_run *run = frame->run;
    struct attn_derivative_options options = {.gradients = {.on_event = on_gradient, .user = a}};

    a->args = frame->args;
    a->n_text = attn_asked_n(run);
    a->n = a->n_text + attn_asked_source(run)->n;
    a->d = frame->config->d_embed;
    a->n_goal = a->n_block = 1;
    a->kept = attn_frame_alloc(frame, a->n, 1);
    a->weights = attn_frame_alloc(frame, a->n, sizeof *a->weights);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(find_answer(a, err));
    ATTN_TRY(attn_error_at(check_metric(a, err), ATTN_STAGE_OPTIONS, err));
    a->e = attn_frame_alloc(frame, a->n, a->d * sizeof *a->e);
    a->b = attn_frame_alloc(frame, a->n, a->d * sizeof *a->b);
    a->x = attn_frame_alloc(frame, a->n, a->d * sizeof *a->x);
    a->places.typed = attn_frame_alloc(frame, a->n, a->d * sizeof *a->places.typed);
    a->places.placed = attn_frame_alloc(frame, a->n, a->d * sizeof *a->places.placed);
    if (attn_model_maps_first(attn_asked_model(run)))
        a->places.mapped =
            attn_frame_alloc(frame, a->n, frame->config->d_model * sizeof *a->places.mapped);
    a->places.sums = attn_frame_alloc(frame, a->n_block, sizeof *a->places.sums);
    a->gradient = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->gradient);
    a->model = attn_frame_alloc(frame, a->n_block, sizeof *a->model);
    a->baseline = attn_frame_alloc(frame, a->n_block, sizeof *a->baseline);
    a->attribution = attn_frame_alloc(frame, a->n, sizeof *a->attribution);
    a->begins = attn_frame_alloc(frame, a->n, sizeof *a->begins);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_error_at(choose(a, err), ATTN_STAGE_MODEL, err));
    options.gradients.sites =
        is_relevance(a) ? ATTN_SITES(ATTN_SITE_PATTERN_X_GRAD) : ATTN_SITES(ATTN_SITE_EMBED_GRAD);
    options.skips_zeros = !is_relevance(a); /* relevance also reads patterns */
    options.has_source = true;
    options.rule = a->args->method == ATTN_ATTRIBUTE_ATTNLRP ? ATTN_BACKWARD_ATTNLRP
                   : a->args->method == ATTN_ATTRIBUTE_RELP  ? ATTN_BACKWARD_RELP
                                                             : ATTN_BACKWARD_PLAIN;
    options.kept_bytes = KEPT_BYTES;
    if (a->args->method == ATTN_ATTRIBUTE_IG)
        options.n_run = n_point_of(a) * a->n_goal;
    ATTN_TRY(attn_derivative_create(a->frame.run, &a->answer, &options, &a->derivative, err));
    return embed_all(a, err);
}

/* Computes the attributions to the targets of the block that begins with FIRST, and appends their
 * rows. */
static enum attn_status ask_block(struct attn_attribution *a, size_t first, struct attn_error *err)
{
    const size_t size = a->n * a->d;
    enum attn_status status;

    memset(a->gradient, 0, a->n_block * size * sizeof *a->gradient);
    if (a->args->method == ATTN_ATTRIBUTE_IG)
        status = integrate(a, first, err);
    else if (is_relevance(a))
        status = find_relevance(a, first, err);
    else
        status = add_gradients(a, a->e, 1, first, err);
    ATTN_TRY(attn_error_at(status, ATTN_STAGE_MODEL, err));
    attn_frame_report_base(&a->frame, &a->answer, attn_derivative_reply(a->derivative));
    for (size_t i = 0; i < a->n_block && first + i < a->n_goal; i++) {
        aim(a, first + i);
        if (!is_relevance(a))
            multiply(a, i);
        ATTN_TRY(append_all(a, a->model[i], err));
    }
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_attribution *a = state;

    if (a->args->method == ATTN_ATTRIBUTE_IG)
        ATTN_TRY(attn_error_at(attn_baseline_find(a, err), ATTN_STAGE_MODEL, err));
    for (size_t first = 0; first < a->n_goal; first += a->n_block)
        ATTN_TRY(ask_block(a, first, err));
    return a->frame.item ? ATTN_OK : add_about(a, err);
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct attn_table_view views[] = {
    {.rows = ATTN_TABLE_COLUMN(STEP),
     .detail = ATTN_TABLE_COLUMN(TARGET),
     .columns = ATTN_ROLE_POSITION,
     .texts = ATTN_ROLE_TOKEN,
     .values = ATTN_TABLE_COLUMN(ATTRIBUTION)},
    {ATTN_VIEW_OF(POSITION, POSITION, ATTRIBUTION), .texts = ATTN_ROLE_TOKEN},
};

/* Returns true if TABLE is about a picture: its tokens, [CLS] and patches, have no ids. */
static bool is_of_patches(const struct attn_table *table)
{
    return attn_table_n_row(table) > 0 &&
           attn_table_cell(table, 0, attn_table_find_role(table, ATTN_ROLE_ID)).type ==
               ATTN_VALUE_MISSING &&
           attn_table_cell(table, 0, attn_table_find_role(table, ATTN_ROLE_TOKEN)).type !=
               ATTN_VALUE_MISSING;
}

/* Returns true if TABLE begins with a token of a source. */
static bool has_source(const struct attn_table *table)
{
    const struct attn_cell part =
        attn_table_cell(table, 0, attn_table_find_role(table, ATTN_ROLE_PART));

    return attn_cell_word(&part, "source") == 0;
}

/* Writes the name of the baseline: the given text; otherwise its kind, read from the facts about
 * TABLE. Tables over many items have no facts; then the kind in ARGS is used. */
static void name_baseline(const struct attn_attribute_args *args, const struct attn_table *table,
                          char words[ATTN_VIEW_WORDS_SIZE])
{
    static const char *const kinds[ATTN_N_BASELINE] = {[ATTN_BASELINE_MEAN] = "mean embedding",
                                                       [ATTN_BASELINE_ZERO] = "zeros",
                                                       [ATTN_BASELINE_MASK] = "mask tokens",
                                                       [ATTN_BASELINE_PAD] = "padding",
                                                       [ATTN_BASELINE_GREY] = "grey"};
    const struct attn_input *given = &args->given;
    const struct attn_cell found = attn_table_fact(table, "baseline");
    const struct attn_cell cell = found.type != ATTN_VALUE_MISSING
                                      ? found
                                      : attn_cell_string(attn_baseline_names[args->baseline]);

    snprintf(words, ATTN_VIEW_WORDS_SIZE, "%s",
             given->image || given->pixels ? "another picture"
             : attn_input_is_given(given)  ? "another text"
                                           : "the default");
    if (given->text && given->n_text <= ATTN_BASELINE_MOST)
        snprintf(words, ATTN_VIEW_WORDS_SIZE, "'%.*s'", (int)given->n_text, given->text);
    for (size_t i = 0; i < ATTN_N_BASELINE; i++)
        if (kinds[i] && attn_cell_word(&cell, attn_baseline_names[i]) == 0)
            snprintf(words, ATTN_VIEW_WORDS_SIZE, "%s", kinds[i]);
}

static void draw(const void *given, struct attn_drawn *drawn)
{
    static const char *const methods[ATTN_N_ATTRIBUTE_METHOD] = {
        [ATTN_ATTRIBUTE_SALIENCY] = "saliency",
        [ATTN_ATTRIBUTE_GRAD_X_INPUT] = "gradient x input",
        [ATTN_ATTRIBUTE_IG] = "integrated gradients, baseline: ",
        [ATTN_ATTRIBUTE_ATTNLRP] = "AttnLRP",
        [ATTN_ATTRIBUTE_RELP] = "RelP",
        [ATTN_ATTRIBUTE_RELEVANCE] = "attention x gradient, through all layers",
        [ATTN_ATTRIBUTE_RELEVANCE_NORM] = "attention x gradient, normalized"};
    const struct attn_attribute_args *args = given;
    const bool is_relevance =
        args->method == ATTN_ATTRIBUTE_RELEVANCE || args->method == ATTN_ATTRIBUTE_RELEVANCE_NORM;
    struct attn_table_view *view = &drawn->picture->view;
    char baseline[ATTN_VIEW_WORDS_SIZE] = "";
    bool is_of_source;

    if (!drawn->table && args->n_target == 0)
        *view = views[1]; /* view of the table of a single answer */
    if (!drawn->table)
        return;
    attn_attribute_label(drawn);
    is_of_source = args->n_target > 0 && has_source(drawn->table);
    if (args->method == ATTN_ATTRIBUTE_IG)
        name_baseline(args, drawn->table, baseline);
    attn_drawn_ask(drawn, "of each %s%s (%s%.*s)",
                   args->merges_words            ? "word"
                   : is_of_patches(drawn->table) ? "patch"
                                                 : "token",
                   is_of_source ? " of the source" : "", methods[args->method],
                   ATTN_BASELINE_MOST + 2, baseline);
    view->quantity = args->method == ATTN_ATTRIBUTE_SALIENCY ? "length of the gradient of @"
                     : is_relevance                          ? "relevance for @"
                                                             : "part of @";
    if (args->n_target == 0)
        return;
    view->only = is_of_source ? "source" : NULL;
    drawn->answer.target = "token"; /* each token is a target in turn */
}

static uint64_t shows(const void *state)
{
    /* `args` of the state is not set yet */
    const struct attn_attribute_args *args = ((const struct attn_attribution *)state)->frame.args;
    const bool is_amount =
        args->method == ATTN_ATTRIBUTE_SALIENCY || args->method == ATTN_ATTRIBUTE_RELEVANCE;

    return (args->n_target > 0 ? SHOW_TARGETS : 0) | (is_amount ? SHOW_AMOUNTS : SHOW_SIGNED);
}

static void release(void *state)
{
    struct attn_attribution *a = state;

    attn_derivative_free(a->derivative);
    attn_relevance_free(a->relevance);
}

const struct attn_procedure attn_attribute_tokens = {
    .table.name = ATTN_TABLE_ATTRIBUTE_INPUT,
    ATTN_ATTRIBUTE(struct attn_attribution),
    .needs_output = true,
    .reads_unequal_layers = true, /* gradients refuse them by name */
    .items.study = offsetof(struct attn_attribute_args, study),
    .items.take_item = attn_attribute_take_item,
    .items.is_keyed = true,
    .check = attn_attribute_check,
    .draw = draw,
    .release = release,
};
