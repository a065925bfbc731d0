/*
 * attribute_pairs.c - attributes the score that a head gives to a key to pairs of writers
 * (attribute.h), which attribute_sides.c computes.
 *
 * The stream that a layer reads is a sum of what embedding, positions, heads, biases and MLPs have
 * written. With the scales of norms frozen at their numbers in the run, query and key are linear in
 * it, and the score is a sum over pairs: a writer of the query and a writer of the key.
 */
#include "attribute/attribute_sides.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "edits/edits_internal.h"
#include "frame/parts.h"
#include "input/position.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"
#include "trials/sums.h"
#include "trials/trial.h"

#include <math.h>
#include <string.h>

enum {
    QUERY_PART,
    QUERY_STACK,
    QUERY_LAYER,
    QUERY_HEAD,
    KEY_PART,
    KEY_STACK,
    KEY_LAYER,
    KEY_HEAD,
    OWN_PART, /* of the key, without columns of the query */
    OWN_STACK,
    OWN_LAYER,
    OWN_HEAD,
    SCORE,
    RELATIVE,
    ROW_TYPE,
    N_COLUMN
};

#define PARTS_OF(...)                                                                              \
    {                                                                                              \
        .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "sum model",                    \
        .name = __VA_ARGS__                                                                        \
    }

enum { SHOW_QUERY = 2, SHOW_PAIR = 4, SHOW_KEY = 8 };

static const struct attn_column columns[N_COLUMN] = {
    [QUERY_PART] = PARTS_OF("query_part", .shown = SHOW_QUERY),
    [QUERY_STACK] = ATTN_COLUMN_STACK("query_stack", .shown = SHOW_QUERY),
    [QUERY_LAYER] = ATTN_COLUMN_OF(LAYER, "query_layer", INTEGER, .shown = SHOW_QUERY),
    [QUERY_HEAD] = ATTN_COLUMN_OF(HEAD, "query_head", INTEGER, .shown = SHOW_QUERY),
    [KEY_PART] = ATTN_COLUMN_OF(OTHER_PART, "key_part", TEXT, .shown = SHOW_PAIR),
    [KEY_STACK] = ATTN_COLUMN_STACK("key_stack", .shown = SHOW_PAIR),
    [KEY_LAYER] = ATTN_COLUMN_OF(OTHER_LAYER, "key_layer", INTEGER, .shown = SHOW_PAIR),
    [KEY_HEAD] = ATTN_COLUMN_OF(OTHER_HEAD, "key_head", INTEGER, .shown = SHOW_PAIR),
    [OWN_PART] = PARTS_OF("key_part", .shown = SHOW_KEY),
    [OWN_STACK] = ATTN_COLUMN_STACK("key_stack", .shown = SHOW_KEY),
    [OWN_LAYER] = ATTN_COLUMN_OF(LAYER, "key_layer", INTEGER, .shown = SHOW_KEY),
    [OWN_HEAD] = ATTN_COLUMN_OF(HEAD, "key_head", INTEGER, .shown = SHOW_KEY),
    [SCORE] = ATTN_COLUMN_QUANTITY("score", 4, NULL, SIGNED, "score"),
    [RELATIVE] = ATTN_COLUMN_QUANTITY("relative", 4, NULL, SIGNED, "relative score",
                                      .traits = ATTN_TRAIT_RANKED),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum { DEFAULT_MOST = 20 };

/* --- Checks ----------------------------------------------------------------------------------- */

static enum attn_status check(const void *given, struct attn_error *err)
{
    const struct attn_attribute_args *args = given;

    ATTN_TRY(attn_attribute_check(given, err));
    return args->by == ATTN_ATTRIBUTE_BY_TOKEN
               ? attn_error_set(err, ATTN_INVALID,
                                "`by token` splits a logit, expected `by` pair, query or key")
               : ATTN_OK;
}

/* Returns what in the model prevents that the stream is a sum of writers, or NULL. */
static const char *find_obstacle(const struct attn_config *config)
{
    return !config->has_residual       ? "has no residual stream"
           : config->places.n_conv > 0 ? "has a convolution beside its first layer"
           : config->has_attn_gate     ? "has layers with gates"
           : config->layer_dims        ? "has layers of unequal sizes"
           : config->qk_norm == ATTN_QK_NORM_ALL_HEADS && attn_config_norms_mean(config)
               ? "takes a mean over all heads off its queries"
               : NULL;
}

/* Returns an error for edits after which the score is not the sum of the writers. */
static enum attn_status check_edits(const struct attn_pair_split *split, struct attn_error *err)
{
    const struct attn_site_set stream =
        ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST,
                   ATTN_SITE_NORMALIZED_RESID_MID, ATTN_SITE_NORMALIZED_RESID_POST);
    const struct attn_site_set of_score =
        ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K, ATTN_SITE_QK);
    const struct attn_run *run = split->frame.run;
    size_t n, n_other = 0;
    const struct attn_edit *edits = attn_run_edits(run, split->at.stack, &n);

    if (split->at.stack == ATTN_STACK_ENCODER && n == 0)
        attn_run_edits(run, ATTN_STACK_DECODER, &n_other);
    if (n_other > 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "all edits are of the decoder, and the score of a head of the encoder "
            "does not depend on it");
    for (size_t i = 0; i < n; i++) {
        const struct attn_edit *edit = &edits[i];
        const enum attn_site site = edit->at.site;
        const bool is_here =
            edit->at.layer == ATTN_ALL_LAYERS || attn_location_index(&edit->at) == split->layer;

        if (attn_sites_have(stream, site) || site == ATTN_SITE_ATTN_OUT)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' is edited, and a score is split into what heads, MLPs and "
                                  "embeddings write",
                                  attn_site_name(site));
        if (is_here && (attn_sites_have(of_score, site) ||
                        (site == ATTN_SITE_ATTN_SCORES && edit->op != ATTN_EDIT_MASK)))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' of layer %d is edited, and what is left of the score there "
                                  "is no sum of writers",
                                  attn_site_name(site), split->at.layer);
    }
    return ATTN_OK;
}

/* --- The head and the cells ------------------------------------------------------------------- */

/* Makes AT the head that is split. */
static void take_head(struct attn_pair_split *split, const struct attn_location *at)
{
    const struct attn_run *run = split->frame.run;
    const bool is_encoder = at->stack == ATTN_STACK_ENCODER;

    split->at = *at;
    split->at.site = ATTN_SITE_PATTERN;
    split->layer = attn_location_index(at);
    split->stack.model = is_encoder ? attn_asked_model(run)->encoder : attn_asked_model(run);
    split->stack.config = &split->stack.model->config;
    split->stack.dims = attn_asked_stack_dims(run, at->stack);
    split->stack.text = is_encoder ? attn_asked_source(run) : attn_asked_text(run);
    split->stack.layers = is_encoder ? split->stack.config->attention : attn_run_attention(run);
}

/* Finds the only head that the list of heads in `score` names. */
static enum attn_status find_head(struct attn_pair_split *split, struct attn_error *err)
{
    struct attn_selection *chosen;
    struct attn_parts heads = {.n = 0};
    enum attn_status status;

    ATTN_TRY(
        attn_select_heads(&split->names.heads, attn_asked_dims(split->frame.run), &chosen, err));
    status = attn_parts_list(chosen, ATTN_ALL_OF(ONLY, ATTN_SITE_Z), 0, &heads, err);
    if (status == ATTN_OK && heads.n != 1)
        status = attn_error_set(err, ATTN_INVALID, "'%s' are %zu heads, expected one head",
                                attn_head_list_quote(&split->names.heads).text, heads.n);
    if (status == ATTN_OK)
        take_head(split, &heads.items[0].at);
    attn_selection_free(chosen);
    attn_free(heads.items);
    return status;
}

/* Cuts the text of `score` into queries, keys and head. */
static enum attn_status cut_score(struct attn_pair_split *split, const char *text,
                                  struct attn_error *err)
{
    const size_t size = strlen(text) + 1;

    split->names.spec = attn_frame_alloc(&split->frame, size, 1);
    ATTN_TRY(attn_frame_memory(&split->frame, err));
    memcpy(split->names.spec, text, size);
    if (attn_knockout_cut(split->names.spec, &split->names.queries.text, &split->names.keys.text,
                          &split->names.heads.text) &&
        split->names.heads.text)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "`score` is '%s', expected QUERY>KEY@LAYER.HEAD",
                   attn_quote_string(text).text);
    return attn_error_hint(err, "'it>cat@2.5' is the score that head 2.5 at 'it' gives to 'cat'");
}

/* Returns the name of an argument that is about an answer; NULL: none is given. For lists, which
 * the rules of parameters do not see. */
static const char *find_of_answer(const struct attn_attribute_args *args)
{
    const struct attn_answer_args *answer = &args->answer;

    return args->method != ATTN_ATTRIBUTE_DLA                ? "method"
           : answer->target || answer->target_id             ? "target"
           : answer->foil || answer->foil_id                 ? "foil"
           : attn_number_list_is_given(&answer->at)          ? "at"
           : answer->metric != ATTN_ANSWER_AUTO              ? "metric"
           : args->merges_words                              ? "merge_words"
           : args->baseline != ATTN_BASELINE_AUTO            ? "baseline"
           : attn_number_list_is_given(&args->baseline_keep) ? "baseline_keep"
                                                             : NULL;
}

static enum attn_status read_score(struct attn_pair_split *split, struct attn_error *err)
{
    const struct attn_score_cells *score = &split->args->score;

    if (!attn_score_has_lists(score)) {
        ATTN_TRY(cut_score(split, score->text, err));
    } else {
        if (!attn_is_given(attn_number_list_is_given(&score->queries), "score.queries", err) ||
            !attn_is_given(attn_number_list_is_given(&score->keys), "score.keys", err) ||
            !attn_is_given(attn_head_list_is_given(&score->head), "score.head", err))
            return ATTN_INVALID;
        if (find_of_answer(split->args))
            return attn_error_set(err, ATTN_INVALID,
                                  "`%s` and `score` do not go together: a score is no answer of "
                                  "the model",
                                  find_of_answer(split->args));
        split->names.queries = score->queries;
        split->names.keys = score->keys;
        split->names.heads = score->head;
    }
    return attn_error_in(find_head(split, err), "score", err);
}

/* Finds the positions that `score` names. */
static enum attn_status find_cells(struct attn_pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_sequence *text = split->stack.text;
    const bool is_cross = attn_location_is_cross(split->stack.dims, &split->at);
    const struct attn_sequence *of_keys = is_cross ? attn_asked_source(frame->run) : text;
    const size_t n_all = text->n + of_keys->n;

    split->keys.is_of_source = is_cross;
    split->queries.n_row = text->n;
    split->keys.n_row = of_keys->n;
    split->queries.is_named = attn_frame_alloc(frame, n_all, 1);
    split->queries.rows = attn_frame_alloc(frame, n_all, sizeof *split->queries.rows);
    ATTN_TRY(attn_frame_memory(frame, err));
    split->keys.is_named = split->queries.is_named + text->n;
    split->keys.rows = split->queries.rows + text->n;
    ATTN_TRY(attn_positions_find(text, &split->names.queries, split->queries.is_named, err));
    ATTN_TRY(attn_positions_find(of_keys, &split->names.keys, split->keys.is_named, err));
    split->queries.n = 0;
    for (size_t i = 0; i < split->queries.n_row; i++)
        if (split->queries.is_named[i])
            split->queries.rows[split->queries.n++] = i;
    return ATTN_OK;
}

/* Returns why query I of the text does not see key J. */
static const char *find_reason(const struct attn_pair_split *split, size_t i, size_t j)
{
    const struct attn_attention *attention = &split->stack.layers[split->layer];
    const struct attn_sequence *source = attn_asked_source(split->frame.run);
    const int32_t *mask = (split->keys.is_of_source ? source : split->stack.text)->key_mask;

    return j >= attn_keys_ahead(attention, i, SIZE_MAX) ? "the key comes later"
           : mask && mask[j] == 0                       ? "the key is masked"
           : attention->kind == ATTN_ATTENTION_WINDOW   ? "the key is outside the window"
           : attention->kind == ATTN_ATTENTION_FULL     ? "the key is masked"
                                                        : "this attention leaves the key out";
}

/* Checks that each query sees each key, and lists the keys up to the last that a query sees. */
static enum attn_status check_cells(struct attn_pair_split *split, struct attn_error *err)
{
    const size_t n = split->keys.n_row;
    size_t last = 0;

    for (size_t q = 0; q < split->queries.n; q++)
        for (size_t j = 0; j < n; j++) {
            const size_t i = split->queries.rows[q];

            last = split->is_seen[q * n + j] && j > last ? j : last;
            if (split->keys.is_named[j] && !split->is_seen[q * n + j])
                return attn_refuse(err, ATTN_STAGE_OPTIONS,
                                   "`score` has the cell %zu>%zu, which head %s does not see: %s",
                                   i, j, attn_location_name(&split->at).text,
                                   find_reason(split, i, j));
        }
    for (size_t j = 0; j <= last; j++)
        split->keys.rows[j] = j;
    split->keys.n = last + 1;
    return ATTN_OK;
}

/* --- The run ---------------------------------------------------------------------------------- */

/* The sites that DeBERTa adds to a score. */
static struct attn_site_set place_sites(void)
{
    return ATTN_SITES(ATTN_SITE_C2P, ATTN_SITE_P2C);
}

/* Reads the rows of the head whose score is split (attn_trace_fn). */
static enum attn_status on_score(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_pair_split *split = user;
    const size_t n = split->keys.n_row;
    float *row = split->products + split->queries.n * n; /* scratch */

    (void)err;
    if (attn_location_index(&event->at) != split->layer || event->at.head != split->at.head)
        return ATTN_OK;
    for (size_t q = 0; q < split->queries.n; q++) {
        const size_t i = split->queries.rows[q];

        if (i < event->row0 || i >= event->row0 + event->n_row)
            continue;
        attn_event_copy_row(event, i - event->row0, row, n);
        if (event->at.site == ATTN_SITE_QK)
            memcpy(split->products + q * n, row, n * sizeof *row);
        for (size_t j = 0; attn_sites_have(place_sites(), event->at.site) && j < n; j++)
            split->places[q * n + j] += (double)row[j];
        for (size_t j = 0; event->at.site == ATTN_SITE_ATTN_SCORES && j < n; j++)
            split->is_seen[q * n + j] = row[j] > -INFINITY;
    }
    return ATTN_OK;
}

/* Runs the model, and records the writers. */
static enum attn_status watch(struct attn_pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const size_t n = split->keys.n_row;
    const struct attn_site_set scores = ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES);
    struct attn_site_set sites =
        ATTN_SITES(ATTN_SITE_EMBED, ATTN_SITE_RESID_PRE, ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_ROT_Q,
                   ATTN_SITE_ROT_K, ATTN_SITE_Z, ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT);
    struct attn_watch watch = {
        .of = split->at.stack == ATTN_STACK_ENCODER ? ATTN_WATCH_ENCODER : ATTN_WATCH_TEXT,
        .places.last = &split->at,
        .capture = &frame->capture,
        .event_sites =
            attn_sites_join(scores, attn_sites_common(place_sites(), split->stack.dims->sites)),
        .on_event = on_score,
        .user = split};

    if (!attn_sites_are_empty(attn_sites_without(scores, split->stack.dims->sites)))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "this attention has no scores to split");
    if (split->stack.config->norm_place == ATTN_NORM_SUM)
        attn_sites_extend(&sites, ATTN_SITES(ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST));
    split->products = attn_frame_alloc(frame, (split->queries.n + 1) * n, sizeof(float));
    split->places = attn_frame_alloc(frame, split->queries.n * n, sizeof *split->places);
    split->is_seen = attn_frame_alloc(frame, split->queries.n * n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    watch.sites = sites;
    return attn_watch(frame->run, &watch, err);
}

static enum attn_status prepare_cells(struct attn_pair_split *split, struct attn_error *err)
{
    const char *obstacle;

    ATTN_TRY(read_score(split, err));
    obstacle = find_obstacle(split->stack.config);
    if (obstacle)
        return attn_error_set(
            err, ATTN_INVALID, "'%s' %s, so its scores are no sums over pairs of writers",
            attn_quote_string(attn_model_name(attn_asked_model(split->frame.run))).text, obstacle);
    ATTN_TRY(check_edits(split, err));
    return attn_error_in(find_cells(split, err), "score", err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_pair_split *split = state;

    split->args = split->frame.args;
    ATTN_TRY(attn_error_at(prepare_cells(split, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(watch(split, err), ATTN_STAGE_MODEL, err));
    return check_cells(split, err);
}

/* --- The score -------------------------------------------------------------------------------- */

/* Computes the score C[0] and the relative score C[1] of the writers A of the query and B of the
 * key, and adds the size of their terms to split->size. */
static void find_pair(struct attn_pair_split *split, size_t a, size_t b, double c[2])
{
    const size_t width = split->stack.config->d_head, n = split->queries.n;
    const double *near = split->near + b * width;

    c[0] = c[1] = 0;
    for (size_t i = 0; i < n; i++) {
        const double *q = split->q + (a * n + i) * width;
        const double *far = split->far + (b * n + i) * width;
        double score = 0, shared = 0, size = 0;

        for (size_t e = 0; e < width; e++) {
            score += q[e] * near[e];
            shared += q[e] * far[e];
            size += fabs(q[e] * near[e]) + fabs(q[e] * far[e]);
        }
        split->size += fabs(split->factor) * size / (double)n;
        c[0] += split->factor * score / (double)n;
        c[1] += split->factor * (score - shared) / (double)n;
    }
}

/* Returns what is added to the score of query number Q and key J for their positions. */
static double position_bias(const struct attn_pair_split *split, size_t q, size_t j)
{
    const struct attn_attention *attention = &split->stack.layers[split->layer];
    const struct attn_score_bias *bias = attention->bias;
    const double found =
        bias ? (double)attn_score_bias_at(bias, attention->first_head + (size_t)split->at.head,
                                          split->queries.rows[q], j)
             : 0;

    if (bias && bias->is_of_places)
        return split->places[q * split->keys.n_row + j];
    return bias && bias->is_of_key ? split->factor * found : found;
}

/* Computes the mean over the cells: of the position bias, and with HAS_PRODUCT of the whole score
 * of the forward pass. C is as in find_pair. */
static void find_cells_mean(const struct attn_pair_split *split, bool has_product, double c[2])
{
    const size_t n = split->keys.n_row, n_query = split->queries.n;

    c[0] = c[1] = 0;
    for (size_t q = 0; q < n_query; q++) {
        double near = 0, far = 0;
        size_t n_near = 0, n_far = 0;

        for (size_t j = 0; j < n; j++) {
            double score;

            if (!split->is_seen[q * n + j])
                continue;
            score = position_bias(split, q, j);
            if (has_product)
                score += split->factor * (double)split->products[q * n + j];
            far += score;
            n_far++;
            near += split->keys.is_named[j] ? score : 0;
            n_near += split->keys.is_named[j];
        }
        c[0] += near / (double)n_near / (double)n_query;
        c[1] += (near / (double)n_near - far / (double)n_far) / (double)n_query;
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Fills the columns from PART on: part, stack, layer and head of WRITER. */
static void put_writer(const struct attn_pair_split *split, const struct attn_pair_writer *writer,
                       struct attn_cell *part)
{
    const bool is_mlp = strcmp(writer->part, "mlp") == 0 || writer->part == attn_pair_mlp_norm_bias;
    const struct attn_location at =
        attn_location_in(split->stack.dims, &writer->at, is_mlp ? ATTN_SITE_MLP_OUT : ATTN_SITE_Z);

    part[0] = attn_cell_string(writer->part);
    if (at.layer != ATTN_NO_LAYER)
        attn_location_put(&at, &part[1]);
    if (at.head != ATTN_ALL_HEADS)
        part[3] = attn_cell_integer(at.head);
}

static bool is_by_key(const struct attn_pair_split *split)
{
    return split->args->by == ATTN_ATTRIBUTE_BY_KEY;
}

/* Appends the row of a writer of the query and one of the key, each of which may be NULL. */
static enum attn_status append(struct attn_pair_split *split, const struct attn_pair_writer *query,
                               const struct attn_pair_writer *key, const double c[2],
                               struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {
        [SCORE] = attn_cell_real(c[0]), [RELATIVE] = attn_cell_real(c[1])};

    if (query)
        put_writer(split, query, &row[QUERY_PART]);
    if (key)
        put_writer(split, key, &row[is_by_key(split) ? OWN_PART : KEY_PART]);
    return attn_frame_append(&split->frame, row, err);
}

/* Appends a row with C for the whole score, or a part of it without a writer of the other side. */
static enum attn_status append_whole(struct attn_pair_split *split, const char *part,
                                     const double c[2], struct attn_error *err)
{
    const struct attn_pair_writer whole = {part, {.layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS}};

    return append(split, is_by_key(split) ? NULL : &whole, is_by_key(split) ? &whole : NULL, c,
                  err);
}

/* Appends the rows of all pairs, or of all writers of one side. */
static enum attn_status append_pairs(struct attn_pair_split *split, struct attn_error *err)
{
    const enum attn_attribute_by by = split->args->by;
    const bool is_key = is_by_key(split), is_pair = !is_key && by != ATTN_ATTRIBUTE_BY_QUERY;
    const struct attn_pair_side *outer = is_key ? &split->keys : &split->queries;
    const struct attn_pair_side *inner = is_key ? &split->queries : &split->keys;

    for (size_t i = 0; i < outer->n_writer; i++) {
        double all[2] = {0, 0}, c[2];

        for (size_t k = 0; k < inner->n_writer; k++) {
            find_pair(split, is_key ? k : i, is_key ? i : k, c);
            all[0] += c[0];
            all[1] += c[1];
            if (is_pair)
                ATTN_TRY(append(split, &outer->writers[i], &inner->writers[k], c, err));
        }
        split->sum[0] += all[0];
        split->sum[1] += all[1];
        if (!is_pair)
            ATTN_TRY(append(split, is_key ? NULL : &outer->writers[i],
                            is_key ? &outer->writers[i] : NULL, all, err));
    }
    return ATTN_OK;
}

/* Checks that the pairs add up to the score C[0] and to the relative score C[1] of the run. */
static enum attn_status check_sums(const struct attn_pair_split *split, const double c[2],
                                   struct attn_error *err)
{
    const struct attn_config *config = split->stack.config;

    for (int i = 0; i < 2; i++)
        ATTN_TRY(attn_sum_check(
            &(struct attn_sum){.value = split->sum[i],
                               .size = split->size,
                               .n_rounded = (double)(config->d_model + config->d_head +
                                                     2 * split->layer + split->keys.n),
                               .compute = attn_model_compute(split->stack.model)},
            i > 0 ? "relative scores" : "scores", c[i], err));
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_pair_split *split = state;
    const struct attn_config *config = split->stack.config;
    const struct attn_attention *attention = &split->stack.layers[split->layer];
    const size_t per_key_head = config->n_head / config->n_kv_head;
    double c[2];

    split->weights = attn_block_at(&split->stack.model->weights, &split->at);
    split->queries.map = &split->weights->q, split->keys.map = &split->weights->k;
    split->queries.norm = &split->weights->q_norm, split->keys.norm = &split->weights->k_norm;
    split->queries.site = ATTN_SITE_Q, split->keys.site = ATTN_SITE_K;
    split->queries.rotated = ATTN_SITE_Q, split->keys.rotated = ATTN_SITE_K;
    if (config->positions == ATTN_POSITIONS_ROTARY)
        split->queries.rotated = ATTN_SITE_ROT_Q, split->keys.rotated = ATTN_SITE_ROT_K;
    split->queries.head = (size_t)split->at.head;
    split->keys.head = (size_t)split->at.head / per_key_head;
    split->factor = attention->factor;
    if (attention->is_scaled)
        split->factor /= sqrt((double)config->d_head) + attention->eps;
    ATTN_TRY(attn_pair_writers_prepare(split, err));
    ATTN_TRY(attn_pair_side_map(split, &split->queries, err));
    ATTN_TRY(attn_pair_side_map(split, &split->keys, err));
    ATTN_TRY(append_pairs(split, err));
    if (attention->bias) {
        find_cells_mean(split, false, c);
        split->sum[0] += c[0];
        split->sum[1] += c[1];
        split->size += fabs(c[0]) + fabs(c[1]);
        ATTN_TRY(append_whole(split, "position_bias", c, err));
    }
    ATTN_TRY(append_whole(split, "sum", split->sum, err));
    find_cells_mean(split, true, c);
    ATTN_TRY(check_sums(split, c, err));
    return append_whole(split, "model", c, err);
}

/* --- The procedure ---------------------------------------------------------------------------- */

static uint64_t shows(const void *state)
{
    const struct attn_attribute_args *args = ((const struct attn_pair_split *)state)->frame.args;

    return args->by == ATTN_ATTRIBUTE_BY_KEY     ? SHOW_KEY
           : args->by == ATTN_ATTRIBUTE_BY_QUERY ? SHOW_QUERY
                                                 : SHOW_QUERY | SHOW_PAIR;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(PART, OTHER_PART, RELATIVE),
     .parts = "attn_bias attn_norm_bias mlp mlp_norm_bias norm_bias bias",
     .inputs = "embed pos source"},
    {ATTN_VIEW_OF(LAYER, HEAD, RELATIVE),
     .parts = "attn_bias attn_norm_bias mlp mlp_norm_bias embed pos source "
              "norm_bias bias position_bias",
     .inputs = "embed pos source"},
};

/* Names the score in the title, and its value if TABLE has the row of the sum. */
static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_attribute_args *args = given;
    const struct attn_table *table = drawn->table;
    const size_t column = table ? attn_table_find(table, columns[RELATIVE].name) : SIZE_MAX;
    const char *score = attn_score_has_lists(&args->score) ? "a score" : args->score.text;
    size_t row = 0;

    while (column < SIZE_MAX && row < attn_table_n_row(table) && attn_table_total(table, row) != 0)
        row++;
    if (column < SIZE_MAX && row < attn_table_n_row(table))
        attn_drawn_ask(drawn, "of %s by its writers, %.2f in all", score,
                       attn_table_cell(table, row, column).real);
    else
        attn_drawn_ask(drawn, "of %s by its writers", score);
}

const struct attn_procedure attn_attribute_pairs = {
    .table.name = ATTN_TABLE_ATTRIBUTE_SCORE,
    ATTN_ATTRIBUTE(struct attn_pair_split),
    .table.sort = "relative",
    .table.n_most = DEFAULT_MOST,
    .reads_unequal_layers = true, /* refuses them by name */
    .items.study = offsetof(struct attn_attribute_args, study),
    .check = check,
    .draw = draw,
};
