/*
 * attribute_pairs.c - attributes the score that a head gives to a key to pairs of writers
 * (attribute.h).
 *
 * The stream that a layer reads is a sum of what embedding, positions, heads, biases and MLPs have
 * written. With the scales of norms frozen at their numbers in the run, query and key are linear in
 * it, and the score is a sum over pairs: a writer of the query and a writer of the key.
 *
 * A map A [D, E] leads from the stream to a query or a key: the weights of the norm, the mean taken
 * off, the map of the head. Writers as wide as the stream are multiplied by A. For a head the
 * product of W_O and A is computed once, unless there are few positions.
 */
#include "questions/attribute_internal.h"

#include "attention/attention_internal.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "edits/edits_internal.h"
#include "forward/rotary.h"
#include "forward/step_internal.h"
#include "gradient/backward.h"
#include "input/position.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "questions/parts.h"
#include "questions/questions_internal.h"
#include "questions/readout.h"
#include "questions/sums.h"
#include "run/trial.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

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

/* The biases of norms that follow the sums of a layer. */
static const char attn_norm_bias[] = "attn_norm_bias", mlp_norm_bias[] = "mlp_norm_bias";

/* A part of the stream, or of the map from it: a head of a layer of attention, what belongs to that
 * layer, or with ATTN_NO_LAYER a part outside the layers. */
struct writer {
    const char *part;
    struct attn_location at; /* of z */
};

/* The queries or the keys of the score. */
struct side {
    const struct attn_linear *map;        /* W_Q or W_K of the layer */
    const struct attn_norm_weights *norm; /* the norm of its heads */
    enum attn_site site;                  /* q or k, before that norm */
    enum attn_site rotated;               /* the same after norm and rotation */
    size_t head;                          /* among the heads of the map */
    size_t *rows;                         /* [n] positions, ascending */
    size_t n, n_row;                      /* n_row: positions in the text, or in the source */
    bool is_of_source;                    /* keys of a source, whose rows are one writer */
    double *stream;                       /* [D, E] map from the stream, for a norm of scale 1 */
    double *branch;       /* [D, E] the same from the output of the current layer's heads */
    double *scale;        /* [n] scale of the norm before the layer, or 1 */
    double *branch_scale; /* [n] scale of the norm after the current layer's heads, or 1 */
    double *head_scale;   /* [n] scale of the norm of the head, or 1 */
    double *length;       /* [n] length of the vector if scores are cosines, or 1 */
    double *weight;       /* [E] weight of the norm of the head, or 1 */
    double *bias;         /* [3, E] bias of that norm, of the map, and of the norm before the layer,
                             mapped */
    double
        *branch_bias; /* [2, E] of the current layer: b_O, to be scaled; bias of the norm after */
    double *heads;    /* [H, n, E] the heads of the current layer */
    double *x;        /* [n, E] the current writer */
    double *wide;     /* [D] scratch */
    struct writer *writers;
    size_t n_writer;
};

struct pair_split {
    struct attn_frame frame; /* its capture has the writers */
    const struct attn_attribute_args *args;
    const struct attn_block_weights *weights; /* of the layer of the score */
    char *spec;                               /* owned by the frame; the copy of `score` */
    struct attn_number_list of_queries, of_keys;
    struct attn_head_list of_heads;
    struct attn_location at;             /* the head */
    size_t layer;                        /* the index of its layer of attention */
    const struct attn_model *model;      /* that of the run, or its encoder, which has the head */
    const struct attn_config *config;    /* of that model */
    const struct attn_dims *dims;        /* of that model; borrowed from the run */
    const struct attn_sequence *text;    /* which it reads */
    const struct attn_attention *layers; /* [n_layer] its attention */
    unsigned char *is_query, *is_key;    /* [T], [S]; S is keys.n_row */
    float *products;                     /* [n_query, S] q k^T of the queries */
    unsigned char *is_seen;              /* [n_query, S] keys that a query sees */
    struct side queries, keys;
    struct attn_rotary rotary; /* its tables are owned by the frame */
    double factor;             /* factor of the scores */
    double *q;                 /* [n_writer, n_query, E] the queries' writers */
    double *near, *far; /* [n_writer, E], [n_writer, n_query, E] mean over the keys of the score,
                           and over all keys that the query sees, of the keys' writers */
    double *scratch;    /* [n_thread, n_scratch] */
    size_t n_scratch;
    const struct side *side;      /* whose heads are computed */
    struct attn_location current; /* the layer of these heads */
    double sum[2];                /* score and relative */
    double size;                  /* sum of the absolute values of the terms of `sum` */
};

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
    return !config->has_residual ? "has no residual stream"
           : config->qk_norm == ATTN_QK_NORM_ALL_HEADS && attn_config_norms_mean(config)
               ? "takes a mean over all heads off its queries"
               : NULL;
}

/* Returns an error for edits after which the score is not the sum of the writers. */
static enum attn_status check_edits(const struct pair_split *split, struct attn_error *err)
{
    const struct attn_site_set stream =
        ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST,
                   ATTN_SITE_NORMALIZED_RESID_MID, ATTN_SITE_NORMALIZED_RESID_POST);
    const struct attn_site_set of_score =
        ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K, ATTN_SITE_QK);
    const struct attn_edit_list *list = &split->frame.run->edits;
    const bool is_of_encoder = split->at.stack == ATTN_STACK_ENCODER;
    const struct attn_edit *edits = is_of_encoder ? attn_edits_of_encoder(list) : list->items;
    const size_t n = is_of_encoder ? list->n_encoder : list->n;

    if (is_of_encoder && n == 0 && list->n > 0)
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
static void take_head(struct pair_split *split, const struct attn_location *at)
{
    const struct attn_run *run = split->frame.run;
    const bool is_encoder = at->stack == ATTN_STACK_ENCODER;

    split->at = *at;
    split->at.site = ATTN_SITE_PATTERN;
    split->layer = attn_location_index(at);
    split->model = is_encoder ? run->model->encoder : run->model;
    split->config = &split->model->config;
    split->dims = is_encoder ? &run->encoder_dims : attn_selection_dims(run->selection);
    split->text = is_encoder ? &run->source : &run->text;
    split->layers = is_encoder ? split->config->attention : run->attention.layers;
}

/* Finds the only head that the list of heads in `score` names. */
static enum attn_status find_head(struct pair_split *split, struct attn_error *err)
{
    struct attn_selection *chosen;
    struct attn_parts heads = {.n = 0};
    enum attn_status status;

    ATTN_TRY(attn_select_heads(&split->of_heads, attn_selection_dims(split->frame.run->selection),
                               &chosen, err));
    status = attn_parts_list(chosen, ATTN_ALL_OF(ONLY, ATTN_SITE_Z), 0, &heads, err);
    if (status == ATTN_OK && heads.n != 1)
        status = attn_error_set(err, ATTN_INVALID, "'%s' are %zu heads, expected one head",
                                attn_head_list_quote(&split->of_heads).text, heads.n);
    if (status == ATTN_OK)
        take_head(split, &heads.items[0].at);
    attn_selection_free(chosen);
    attn_free(heads.items);
    return status;
}

/* Cuts the text of `score` into queries, keys and head. */
static enum attn_status cut_score(struct pair_split *split, const char *text,
                                  struct attn_error *err)
{
    const size_t size = strlen(text) + 1;

    split->spec = attn_frame_alloc(&split->frame, size, 1);
    ATTN_TRY(attn_frame_memory(&split->frame, err));
    memcpy(split->spec, text, size);
    if (attn_knockout_cut(split->spec, &split->of_queries.text, &split->of_keys.text,
                          &split->of_heads.text) &&
        split->of_heads.text)
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

static enum attn_status read_score(struct pair_split *split, struct attn_error *err)
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
        split->of_queries = score->queries;
        split->of_keys = score->keys;
        split->of_heads = score->head;
    }
    return attn_error_in(find_head(split, err), "score", err);
}

/* Finds the positions that `score` names. */
static enum attn_status find_cells(struct pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_sequence *text = split->text;
    const bool is_cross = attn_location_is_cross(split->dims, &split->at);
    const struct attn_sequence *of_keys = is_cross ? &frame->run->source : text;
    const size_t n_all = text->n + of_keys->n;

    split->keys.is_of_source = is_cross;
    split->queries.n_row = text->n;
    split->keys.n_row = of_keys->n;
    split->is_query = attn_frame_alloc(frame, n_all, 1);
    split->queries.rows = attn_frame_alloc(frame, n_all, sizeof *split->queries.rows);
    ATTN_TRY(attn_frame_memory(frame, err));
    split->is_key = split->is_query + text->n;
    split->keys.rows = split->queries.rows + text->n;
    ATTN_TRY(attn_positions_find(text, &split->of_queries, split->is_query, err));
    ATTN_TRY(attn_positions_find(of_keys, &split->of_keys, split->is_key, err));
    split->queries.n = 0;
    for (size_t i = 0; i < split->queries.n_row; i++)
        if (split->is_query[i])
            split->queries.rows[split->queries.n++] = i;
    return ATTN_OK;
}

/* Returns why query I of the text does not see key J. */
static const char *find_reason(const struct pair_split *split, size_t i, size_t j)
{
    const struct attn_attention *attention = &split->layers[split->layer];
    const struct attn_sequence *source = &split->frame.run->source;
    const int32_t *mask = (split->keys.is_of_source ? source : split->text)->key_mask;

    return j >= attn_keys_ahead(attention, i, SIZE_MAX) ? "the key comes later"
           : mask && mask[j] == 0                       ? "the key is masked"
           : attention->kind == ATTN_ATTENTION_WINDOW   ? "the key is outside the window"
           : attention->kind == ATTN_ATTENTION_FULL     ? "the key is masked"
                                                        : "this attention leaves the key out";
}

/* Checks that each query sees each key, and lists the keys up to the last that a query sees. */
static enum attn_status check_cells(struct pair_split *split, struct attn_error *err)
{
    const size_t n = split->keys.n_row;
    size_t last = 0;

    for (size_t q = 0; q < split->queries.n; q++)
        for (size_t j = 0; j < n; j++) {
            const size_t i = split->queries.rows[q];

            last = split->is_seen[q * n + j] && j > last ? j : last;
            if (split->is_key[j] && !split->is_seen[q * n + j])
                return attn_refuse(err, ATTN_STAGE_OPTIONS,
                                   "`score` has the cell %zu>%zu, which head %d.%d does not see: "
                                   "%s",
                                   i, j, split->at.layer, split->at.head, find_reason(split, i, j));
        }
    for (size_t j = 0; j <= last; j++)
        split->keys.rows[j] = j;
    split->keys.n = last + 1;
    return ATTN_OK;
}

/* --- The run ---------------------------------------------------------------------------------- */

/* Reads the rows of the head whose score is split (attn_trace_fn). */
static enum attn_status on_score(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct pair_split *split = user;
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
        for (size_t j = 0; event->at.site == ATTN_SITE_ATTN_SCORES && j < n; j++)
            split->is_seen[q * n + j] = row[j] > -INFINITY;
    }
    return ATTN_OK;
}

/* Runs the model, and records the writers. */
static enum attn_status watch(struct pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const size_t n = split->keys.n_row;
    const struct attn_site_set scores = ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES);
    struct attn_site_set sites =
        ATTN_SITES(ATTN_SITE_EMBED, ATTN_SITE_RESID_PRE, ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_ROT_Q,
                   ATTN_SITE_ROT_K, ATTN_SITE_Z, ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT);
    struct attn_watch watch = {.of = split->at.stack == ATTN_STACK_ENCODER ? ATTN_WATCH_ENCODER
                                                                           : ATTN_WATCH_TEXT,
                               .last = &split->at,
                               .capture = &frame->capture,
                               .event_sites = scores,
                               .on_event = on_score,
                               .user = split};

    if (!attn_sites_are_empty(attn_sites_without(scores, split->dims->sites)))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "this attention has no scores to split");
    if (split->config->norm_place == ATTN_NORM_SUM)
        attn_sites_extend(&sites, ATTN_SITES(ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST));
    split->products = attn_frame_alloc(frame, (split->queries.n + 1) * n, sizeof(float));
    split->is_seen = attn_frame_alloc(frame, split->queries.n * n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    watch.sites = sites;
    return attn_watch(frame->run, &watch, err);
}

static enum attn_status prepare_cells(struct pair_split *split, struct attn_error *err)
{
    const char *obstacle;

    ATTN_TRY(read_score(split, err));
    obstacle = find_obstacle(split->config);
    if (obstacle)
        return attn_error_set(
            err, ATTN_INVALID, "'%s' %s, so its scores are no sums over pairs of writers",
            attn_quote_string(attn_model_name(split->frame.run->model)).text, obstacle);
    ATTN_TRY(check_edits(split, err));
    return attn_error_in(find_cells(split, err), "score", err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct pair_split *split = state;

    split->args = split->frame.args;
    ATTN_TRY(attn_error_at(prepare_cells(split, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(watch(split, err), ATTN_STAGE_MODEL, err));
    return check_cells(split, err);
}

/* Returns the recorded rows of SITE in the layer of AT; NULL if it has none. */
static const float *kept(const struct pair_split *split, enum attn_site site,
                         const struct attn_location *at)
{
    struct attn_location own;

    return attn_location_find(split->dims, at, site, &own)
               ? attn_capture_tensor(split->frame.capture, &own)
               : NULL;
}

/* Returns the recorded embeddings; NULL if there are none. */
static const float *kept_embeddings(const struct pair_split *split)
{
    return kept(split, ATTN_SITE_EMBED, &(struct attn_location){.layer = ATTN_NO_LAYER});
}

/* --- Maps and scales -------------------------------------------------------------------------- */

/* Computes C [m, n] = A [m, k] B [k, n]. */
static void multiply(const double *a, const double *b, size_t m, size_t k, size_t n, double *c)
{
    memset(c, 0, m * n * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < k; j++) {
            const double x = a[i * k + j], *row = b + j * n;

            for (size_t e = 0; e < n; e++)
                c[i * n + e] += x * row[e];
        }
}

/* Reads the map of SIDE's head, W [D, E], into side->stream. ROW [D] is scratch. */
static void read_map(const struct pair_split *split, struct side *side, double *row)
{
    const size_t d = split->config->d_model, width = split->config->d_head;

    for (size_t e = 0; e < width; e++) {
        const size_t column = side->head * width + e;

        if (side->map->weight.data)
            attn_matrix_column(&side->map->weight, column, row);
        for (size_t i = 0; i < d; i++) /* without a map heads read separate parts of the stream */
            side->stream[i * width + e] = side->map->weight.data ? row[i] : i == column;
    }
}

/* Copies row R of SIDE of a site with N_HEAD heads [n_head, n_row, E] to X [n_head, E]. */
static void copy_heads(const struct pair_split *split, const struct side *side, enum attn_site site,
                       size_t r, size_t n_head, double *x)
{
    const size_t width = split->config->d_head;
    const float *found = kept(split, site, &split->at);

    for (size_t i = 0; i < n_head * width; i++)
        x[i] = (double)found[(i / width * side->n_row + side->rows[r]) * width + i % width];
}

/* Rotates X [E], a query or a key at position ROW. */
static void rotate(const struct pair_split *split, size_t row, double *x)
{
    const struct attn_rope *rope = split->rotary.rope;
    const size_t n = rope ? rope->d_rotary / 2 : 0;

    for (size_t i = 0; i < n; i++) {
        double *a = &x[rope->turns_neighbours ? 2 * i : i];
        double *b = &x[rope->turns_neighbours ? 2 * i + 1 : i + n];
        const double c = (double)split->rotary.cosines[row * n + i],
                     s = (double)split->rotary.sines[row * n + i], first = *a;

        *a = first * c - *b * s;
        *b = *b * c + first * s;
    }
}

static double length_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum > 0 ? sqrt(sum) : 1;
}

/* Sets the scales of SIDE: of the norm before the layer, and of the norm of the head. X [n_head, E]
 * is scratch. */
static void find_scales(const struct pair_split *split, struct side *side, size_t n_head, double *x)
{
    const struct attn_config *config = split->config;
    const size_t width = config->d_head, d = config->d_model;
    const bool is_joint = config->qk_norm == ATTN_QK_NORM_ALL_HEADS;
    const bool has_norm = split->weights->ln1.w.data && !side->is_of_source;
    const float *stream = kept(split, ATTN_SITE_RESID_PRE, &split->at);
    double *head = x + side->head * width;

    for (size_t r = 0; r < side->n; r++) {
        for (size_t i = 0; i < d && has_norm; i++)
            side->wide[i] = (double)stream[side->rows[r] * d + i];
        side->scale[r] =
            has_norm ? attn_readout_scale(config, &split->weights->ln1, side->wide, d) : 1;
        copy_heads(split, side, side->site, r, n_head, x);
        if (config->qk_norm_is_late)
            rotate(split, side->rows[r], head);
        side->head_scale[r] = side->norm->w.data
                                  ? attn_readout_scale(config, side->norm, is_joint ? x : head,
                                                       is_joint ? n_head * width : width)
                                  : 1;
        side->length[r] = 1;
        if (split->layers[split->layer].similarity == ATTN_SIMILARITY_DOT)
            continue;
        copy_heads(split, side, side->rotated, r, n_head, x);
        side->length[r] = length_of(head, width);
    }
}

/* Adds V [D] times MAP [D, E] to X [E]. */
static void add_mapped(const struct pair_split *split, const double *v, const double *map,
                       double *x)
{
    const size_t d = split->config->d_model, width = split->config->d_head;

    for (size_t i = 0; i < d; i++)
        for (size_t e = 0; e < width; e++)
            x[e] += v[i] * map[i * width + e];
}

/* Reads the map of SIDE's head with the norm before the layer, and the vectors of its norms. ROW is
 * scratch. */
static void read_maps(const struct pair_split *split, struct side *side, double *row)
{
    const struct attn_config *config = split->config;
    const struct attn_norm_weights *before = &split->weights->ln1;
    const size_t width = config->d_head, first = side->head * width, d = config->d_model;
    const size_t of_norm = config->qk_norm == ATTN_QK_NORM_PER_HEAD ? 0 : first;

    for (size_t e = 0; e < width; e++)
        side->weight[e] = 1;
    if (side->norm->w.data)
        attn_readout_factors(config, side->norm, of_norm, width, side->weight);
    attn_vector_elements(&side->norm->b, of_norm, width, side->bias);
    attn_vector_elements(&side->map->bias, first, width, side->bias + width);
    if (side->is_of_source)
        return;
    read_map(split, side, row);
    attn_vector_elements(&before->b, 0, d, row);
    add_mapped(split, row, side->stream, side->bias + 2 * width);
    if (before->w.data)
        attn_readout_before_norm(config, before, 1, width, row, side->stream);
}

/* Returns true if the first part is all that the first layer reads, rather than the embedding
 * alone: after a norm or a map, and in encoders of sound, which have no embedding. */
static bool begins_late(const struct pair_split *split)
{
    return attn_backward_reads_embeddings(split->model) || !kept_embeddings(split);
}

static void list_writers(const struct pair_split *split, struct side *side)
{
    const struct attn_config *config = split->config;
    const bool is_sum = config->norm_place == ATTN_NORM_SUM;
    const struct attn_location outside = {
        .layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS, .site = ATTN_SITE_Z};
    struct attn_location at = outside;
    struct writer *to = side->writers;

    *to++ = (struct writer){side->is_of_source ? "source" : "embed", outside};
    if (!side->is_of_source && config->positions == ATTN_POSITIONS_LEARNED && !begins_late(split))
        *to++ = (struct writer){"pos", outside};
    while (!side->is_of_source && attn_dims_next_layer(split->dims, &at) &&
           attn_location_index(&at) < split->layer) {
        const struct attn_block_weights *w = attn_block_at(&split->model->weights, &at);

        for (at.head = 0; at.head < (int)config->n_head; at.head++)
            *to++ = (struct writer){"head", at};
        at.head = ATTN_ALL_HEADS;
        if (w->out.bias.data || w->ln1_post.b.data)
            *to++ = (struct writer){"attn_bias", at};
        if (is_sum)
            *to++ = (struct writer){attn_norm_bias, at};
        if (!kept(split, ATTN_SITE_MLP_OUT, &at))
            continue;
        *to++ = (struct writer){"mlp", at};
        if (is_sum)
            *to++ = (struct writer){mlp_norm_bias, at};
    }
    if (!side->is_of_source && split->weights->ln1.b.data)
        *to++ = (struct writer){"norm_bias", outside};
    if (side->map->bias.data || side->norm->b.data || config->qkv_clip > 0)
        *to++ = (struct writer){"bias", outside};
    side->n_writer = (size_t)(to - side->writers);
}

/* Allocates SIDE, whose positions are known, and reads its maps. N_HEAD is the number of heads of
 * its map. */
static enum attn_status prepare_side(struct pair_split *split, struct side *side, size_t n_head,
                                     struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_config *config = split->config;
    const size_t d = config->d_model, width = config->d_head, n = side->n;
    const size_t n_most = split->layer * (config->n_head + 4) + 4;
    double *row = attn_frame_alloc(frame, d + n_head * width, sizeof *row);

    side->stream = attn_frame_alloc(frame, 2 * width + 1, d * sizeof(double));
    side->scale = attn_frame_alloc(frame, 4 * n + 6 * width, sizeof(double));
    side->heads = attn_frame_alloc(frame, (config->n_head + 1) * n, width * sizeof(double));
    side->writers = attn_frame_alloc(frame, n_most, sizeof *side->writers);
    ATTN_TRY(attn_frame_memory(frame, err));
    side->branch = side->stream + d * width;
    side->wide = side->branch + d * width;
    side->branch_scale = side->scale + n;
    side->head_scale = side->branch_scale + n;
    side->length = side->head_scale + n;
    side->weight = side->length + n;
    side->bias = side->weight + width;
    side->branch_bias = side->bias + 3 * width;
    side->x = side->heads + config->n_head * n * width;
    list_writers(split, side);
    read_maps(split, side, row);
    find_scales(split, side, n_head, row);
    return ATTN_OK;
}

/* --- One writer ------------------------------------------------------------------------------- */

/* Adds to SIDE's bias what clipping after a norm over all heads changes. */
static void add_clipped(const struct pair_split *split, struct side *side, size_t r)
{
    const double most = split->config->qkv_clip;
    const size_t width = split->config->d_head;
    const float *x =
        kept(split, side->site, &split->at) + (side->head * side->n_row + side->rows[r]) * width;

    for (size_t e = 0; e < width; e++) {
        const double normed = (double)x[e] * side->weight[e] / side->head_scale[r];

        side->x[r * width + e] += fmin(fmax(normed, -most), most) - normed;
    }
}

/* Applies the norm of the head to X [E], row R of side->x. IS_BIAS: it is the part of biases. */
static void normalize(const struct pair_split *split, struct side *side, size_t r, bool is_bias)
{
    const struct attn_config *config = split->config;
    const size_t width = config->d_head;
    double *x = side->x + r * width, mean = 0;

    for (size_t e = 0; side->norm->w.data && attn_config_norms_mean(config) && e < width; e++)
        mean += x[e] / (double)width;
    for (size_t e = 0; e < width; e++)
        x[e] =
            (x[e] - mean) * side->weight[e] / side->head_scale[r] + (is_bias ? side->bias[e] : 0);
    if (is_bias && config->qkv_clip > 0 && config->qk_norm == ATTN_QK_NORM_ALL_HEADS)
        add_clipped(split, side, r);
}

/* Applies the norm of the head, the rotation and the factor of queries to side->x. */
static void finish_rows(const struct pair_split *split, struct side *side, bool is_bias)
{
    const struct attn_config *config = split->config;
    const size_t width = config->d_head;
    const bool is_late = config->qk_norm_is_late;

    for (size_t r = 0; r < side->n; r++) {
        double *x = side->x + r * width, factor = 1 / side->length[r];

        if (!is_late)
            normalize(split, side, r, is_bias);
        rotate(split, side->rows[r], x);
        if (is_late)
            normalize(split, side, r, is_bias);
        if (config->positions == ATTN_POSITIONS_ROTARY && side == &split->queries)
            factor *= (double)attn_rope_query_factor(
                &config->rope[split->layer],
                attn_position_number(&split->rotary.positions, 0, side->rows[r]));
        for (size_t e = 0; e < width; e++)
            x[e] *= factor;
    }
}

/* Stores side->x, that of writer number INDEX: of queries as it is, of keys its means over the keys
 * of the score and over the keys that each query sees. */
static void store_rows(struct pair_split *split, struct side *side, size_t index)
{
    const size_t width = split->config->d_head, n = split->keys.n_row;
    const size_t n_query = split->queries.n, size = n_query * width;

    if (side == &split->queries) {
        memcpy(split->q + index * size, side->x, size * sizeof *side->x);
        return;
    }
    for (size_t q = 0; q <= n_query; q++) { /* at n_query the keys of the score */
        const unsigned char *keys = q < n_query ? split->is_seen + q * n : split->is_key;
        double *mean =
            q < n_query ? split->far + index * size + q * width : split->near + index * width;
        size_t n_key = 0;

        for (size_t j = 0; j < side->n; j++) {
            n_key += keys[j];
            for (size_t e = 0; keys[j] && e < width; e++)
                mean[e] += side->x[j * width + e];
        }
        for (size_t e = 0; e < width; e++)
            mean[e] /= (double)n_key;
    }
}

/* --- Writers of the stream -------------------------------------------------------------------- */

/* Copies to side->wide what WRITER, as wide as the stream, has written at POSITION. */
static void read_wide(const struct pair_split *split, struct side *side,
                      const struct writer *writer, size_t position)
{
    const size_t d = split->config->d_model, n_front = split->text->grid.n_front;
    const bool is_pos = strcmp(writer->part, "pos") == 0;
    const bool is_all = begins_late(split);
    const bool has_embed = !is_all && position >= n_front; /* [CLS] of a picture has no patch */
    const float *embed = has_embed ? kept_embeddings(split) + (position - n_front) * d : NULL;
    const bool is_mlp = writer->at.layer != ATTN_NO_LAYER;
    const struct attn_location first = attn_layer_at(split->dims, ATTN_SITE_RESID_PRE, 0);
    const float *x = is_mlp ? kept(split, ATTN_SITE_MLP_OUT, &writer->at)
                            : kept(split, ATTN_SITE_RESID_PRE, &first);

    x += position * d;
    for (size_t i = 0; i < d; i++)
        side->wide[i] = is_mlp || is_all ? (double)x[i]
                        : is_pos         ? (double)x[i] - (embed ? (double)embed[i] : 0)
                        : embed          ? (double)embed[i]
                                         : 0;
}

/* Sets side->x to what WRITER has written. */
static void map_wide(const struct pair_split *split, struct side *side, const struct writer *writer)
{
    const size_t width = split->config->d_head;

    memset(side->x, 0, side->n * width * sizeof *side->x);
    for (size_t r = 0; r < side->n; r++) {
        read_wide(split, side, writer, side->rows[r]);
        add_mapped(split, side->wide, side->stream, side->x + r * width);
        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] /= side->scale[r];
    }
}

/* Sets side->x to what the rows of the source have written: the keys less the bias of their map. */
static void map_source(const struct pair_split *split, struct side *side)
{
    const size_t width = split->config->d_head;

    for (size_t r = 0; r < side->n; r++) {
        const float *k = kept(split, side->site, &split->at) +
                         (side->head * side->n_row + side->rows[r]) * width;

        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] = (double)k[e] - side->bias[width + e];
    }
}

/* Sets side->x to the bias of the norm before the layer. */
static void map_norm_bias(const struct pair_split *split, struct side *side)
{
    const size_t width = split->config->d_head;

    for (size_t i = 0; i < side->n * width; i++)
        side->x[i] = side->bias[2 * width + i % width];
}

/* Sets side->x to the bias of the map. With clipping it is what the stream has not written. */
static void map_bias(const struct pair_split *split, struct side *side)
{
    const struct attn_config *config = split->config;
    const size_t width = config->d_head, d = config->d_model, n = side->n_row;
    const bool is_clipped = config->qkv_clip > 0 && config->qk_norm != ATTN_QK_NORM_ALL_HEADS;
    const float *stream = kept(split, ATTN_SITE_RESID_PRE, &split->at);
    const float *found = kept(split, side->site, &split->at) + side->head * n * width;

    for (size_t r = 0; r < side->n; r++) {
        double *x = side->x + r * width;

        memcpy(x, side->bias + width, width * sizeof *x);
        if (!is_clipped)
            continue;
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)stream[side->rows[r] * d + i] / side->scale[r];
        memset(x, 0, width * sizeof *x);
        add_mapped(split, side->wide, side->stream, x);
        for (size_t e = 0; e < width; e++)
            x[e] = (double)found[side->rows[r] * width + e] - x[e] - side->bias[2 * width + e];
    }
}

/* Sets side->x to the bias of the norm that follows a sum, as WRITER names it, and takes the map
 * and the scales of SIDE back to the sum. */
static void go_before_sum_norm(const struct pair_split *split, struct side *side,
                               const struct writer *writer)
{
    const struct attn_config *config = split->config;
    const struct attn_block_weights *w = attn_block_at(&split->model->weights, &writer->at);
    const bool is_mlp = writer->part == mlp_norm_bias;
    const struct attn_norm_weights *norm = is_mlp ? &w->end_norm : &w->mid_norm;
    const float *sum =
        kept(split, is_mlp ? ATTN_SITE_RESID_POST : ATTN_SITE_RESID_MID, &writer->at);
    const size_t d = config->d_model, width = config->d_head;

    attn_vector_elements(&norm->b, 0, d, side->wide);
    memset(side->x, 0, side->n * width * sizeof *side->x);
    for (size_t r = 0; r < side->n; r++) {
        add_mapped(split, side->wide, side->stream, side->x + r * width);
        for (size_t e = 0; e < width; e++)
            side->x[r * width + e] /= side->scale[r];
    }
    attn_readout_before_norm(config, norm, 1, width, side->wide, side->stream);
    for (size_t r = 0; r < side->n; r++) {
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)sum[side->rows[r] * d + i];
        side->scale[r] *= attn_readout_scale(config, norm, side->wide, d);
    }
}

/* --- Heads of a layer ------------------------------------------------------------------------- */

/* Sets side->branch, the map from the output of the current heads for a norm after them of scale 1,
 * and the biases of their layer. */
static void read_branch(const struct pair_split *split, struct side *side)
{
    const struct attn_config *config = split->config;
    const struct attn_block_weights *w = attn_block_at(&split->model->weights, &split->current);
    const size_t d = config->d_model, width = config->d_head;
    const double factor = config->residual_scale > 0 ? config->residual_scale : 1;
    double *vector = side->wide;

    attn_vector_elements(&w->attn_scale.w, 0, d, vector);
    for (size_t i = 0; i < d * width; i++)
        side->branch[i] = side->stream[i] * factor * (w->attn_scale.w.data ? vector[i / width] : 1);
    memset(side->branch_bias, 0, 2 * width * sizeof *side->branch_bias);
    attn_vector_elements(&w->ln1_post.b, 0, d, vector);
    add_mapped(split, vector, side->branch, side->branch_bias + width);
    if (w->ln1_post.w.data)
        attn_readout_before_norm(config, &w->ln1_post, 1, width, vector, side->branch);
    attn_vector_elements(&w->out.bias, 0, d, vector);
    add_mapped(split, vector, side->branch, side->branch_bias);
}

/* Returns true if Z W_O is computed before it is mapped, which for few positions is less work. */
static bool is_direct(const struct attn_config *config, size_t n)
{
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;

    return n * d * (of_z + width) < of_z * width * (d + n);
}

/* Maps the head number HEAD of the current layer (attn_task_fn). */
static void map_head(void *context, size_t head, int worker)
{
    const struct pair_split *split = context;
    const struct side *side = split->side;
    const struct attn_config *config = split->config;
    const struct attn_matrix *out =
        &attn_block_at(&split->model->weights, &split->current)->out.weight;
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;
    const float *found = kept(split, ATTN_SITE_Z, &split->current) + head * side->n_row * of_z;
    double *block = split->scratch + (size_t)worker * split->n_scratch;
    double *z = block + of_z * d, *made = z + side->n * of_z;
    double *x = side->heads + head * side->n * width;

    for (size_t i = 0; i < side->n * of_z; i++)
        z[i] = (double)found[side->rows[i / of_z] * of_z + i % of_z];
    if (!out->data) { /* heads occupy separate parts of the stream */
        multiply(z, side->branch + head * of_z * width, side->n, of_z, width, x);
        return;
    }
    attn_matrix_rows(out, head * of_z, of_z, block);
    if (is_direct(config, side->n)) {
        multiply(z, block, side->n, of_z, d, made);
        multiply(made, side->branch, side->n, d, width, x);
    } else {
        multiply(block, side->branch, of_z, d, width, made);
        multiply(z, made, side->n, of_z, width, x);
    }
}

/* Sets side->branch_scale to the scale of the norm after the current heads: the number by which
 * their sum, mapped, is larger than the output of their layer's attention, mapped. */
static void find_branch_scale(const struct pair_split *split, struct side *side)
{
    const struct attn_config *config = split->config;
    const size_t width = config->d_head, d = config->d_model;
    const float *out = kept(split, ATTN_SITE_ATTN_OUT, &split->current);
    const bool has_norm = attn_block_at(&split->model->weights, &split->current)->ln1_post.w.data;

    for (size_t r = 0; r < side->n; r++) {
        double product = 0, square = 0, *after = side->x;

        side->branch_scale[r] = 1;
        if (!has_norm)
            continue;
        for (size_t i = 0; i < d; i++)
            side->wide[i] = (double)out[side->rows[r] * d + i];
        memset(after, 0, width * sizeof *after);
        add_mapped(split, side->wide, side->stream, after);
        for (size_t e = 0; e < width; e++) {
            double before = side->branch_bias[e];

            for (size_t head = 0; head < config->n_head; head++)
                before += side->heads[(head * side->n + r) * width + e];
            after[e] -= side->branch_bias[width + e];
            product += before * after[e];
            square += after[e] * after[e];
        }
        if (square > 0)
            side->branch_scale[r] = product / square;
    }
}

static void map_layer(struct pair_split *split, struct side *side, const struct attn_location *at)
{
    split->side = side;
    split->current = *at;
    read_branch(split, side);
    attn_pool_run(split->frame.run->host->pool, split->config->n_head, map_head, split);
    find_branch_scale(split, side);
}

/* Sets side->x to what a head of the current layer has written, or if HEAD is negative the biases
 * after its heads. */
static void take_branch(const struct pair_split *split, struct side *side, int head)
{
    const size_t width = split->config->d_head;

    for (size_t i = 0; i < side->n * width; i++) {
        const size_t r = i / width, e = i % width;
        const double x =
            head < 0 ? side->branch_bias[e] : side->heads[(size_t)head * side->n * width + i];

        side->x[i] = (x / side->branch_scale[r] + (head < 0 ? side->branch_bias[width + e] : 0)) /
                     side->scale[r];
    }
}

/* Computes all writers of SIDE, the last first: each is mapped as if all that follows it were one
 * map. */
static enum attn_status map_side(struct pair_split *split, struct side *side,
                                 struct attn_error *err)
{
    size_t mapped = SIZE_MAX; /* the index of the layer whose heads are computed */

    for (size_t i = side->n_writer; i-- > 0;) {
        const struct writer *writer = &side->writers[i];
        const bool is_bias = strcmp(writer->part, "bias") == 0;
        const bool is_of_heads = writer->at.head >= 0 || strcmp(writer->part, "attn_bias") == 0;

        if (is_of_heads && attn_location_index(&writer->at) != mapped) {
            ATTN_TRY(attn_host_check_canceled(split->frame.run->host, err));
            map_layer(split, side, &writer->at);
            mapped = attn_location_index(&writer->at);
        }
        if (writer->part == attn_norm_bias || writer->part == mlp_norm_bias)
            go_before_sum_norm(split, side, writer);
        else if (is_of_heads)
            take_branch(split, side, writer->at.head);
        else if (is_bias)
            map_bias(split, side);
        else if (strcmp(writer->part, "norm_bias") == 0)
            map_norm_bias(split, side);
        else if (side->is_of_source)
            map_source(split, side);
        else
            map_wide(split, side, writer);
        finish_rows(split, side, is_bias);
        store_rows(split, side, i);
    }
    return ATTN_OK;
}

/* --- The score -------------------------------------------------------------------------------- */

/* Computes the angles of all positions, if the layer has rotary positions. */
static enum attn_status prepare_rotary(struct pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = split->text->n;
    struct attn_rotary *rotary = &split->rotary;
    size_t n_pair;

    rotary->positions = attn_run_positions(frame->run, split->at.stack);
    if (split->config->positions != ATTN_POSITIONS_ROTARY ||
        split->config->rope[split->layer].d_rotary == 0)
        return ATTN_OK;
    rotary->rope = &split->config->rope[split->layer];
    n_pair = rotary->rope->d_rotary / 2;
    rotary->frequencies = attn_frame_alloc(frame, 2 * n + 2, n_pair * sizeof(float));
    ATTN_TRY(attn_frame_memory(frame, err));
    rotary->cosines = rotary->frequencies + 2 * n_pair;
    rotary->sines = rotary->cosines + n * n_pair;
    attn_rope_find_frequencies(rotary->rope, 0, rotary->frequencies);
    attn_rope_find_frequencies(rotary->rope, SIZE_MAX, rotary->frequencies + n_pair);
    attn_rotary_fill(rotary, kernels, 0, n, n, frame->run->host->pool);
    return ATTN_OK;
}

static enum attn_status prepare_writers(struct pair_split *split, struct attn_error *err)
{
    struct attn_frame *frame = &split->frame;
    const struct attn_config *config = split->config;
    const size_t d = config->d_model, width = config->d_head, of_z = config->d_value;
    const size_t n_query = split->queries.n, n_key = split->keys.n;
    const size_t n_most = n_query > n_key ? n_query : n_key;
    const int n_thread = frame->run->host->pool ? attn_pool_n_thread(frame->run->host->pool) : 1;
    size_t n_made = of_z * width;

    if (is_direct(config, n_query) && n_query * d > n_made)
        n_made = n_query * d;
    if (is_direct(config, n_key) && n_key * d > n_made)
        n_made = n_key * d;
    split->n_scratch = of_z * d + n_most * of_z + n_made;
    ATTN_TRY(prepare_rotary(split, err));
    ATTN_TRY(prepare_side(split, &split->queries, config->n_head, err));
    ATTN_TRY(prepare_side(split, &split->keys, config->n_kv_head, err));
    split->scratch = attn_frame_alloc(frame, (size_t)n_thread, split->n_scratch * sizeof(double));
    split->q = attn_frame_alloc(frame, split->queries.n_writer * n_query, width * sizeof(double));
    split->near =
        attn_frame_alloc(frame, split->keys.n_writer * (n_query + 1), width * sizeof(double));
    ATTN_TRY(attn_frame_memory(frame, err));
    split->far = split->near + split->keys.n_writer * width;
    return ATTN_OK;
}

/* Computes the score C[0] and the relative score C[1] of the writers A of the query and B of the
 * key, and adds the size of their terms to split->size. */
static void find_pair(struct pair_split *split, size_t a, size_t b, double c[2])
{
    const size_t width = split->config->d_head, n = split->queries.n;
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

/* Returns what is added to the score of query I and key J for their positions. */
static double position_bias(const struct pair_split *split, size_t i, size_t j)
{
    const struct attn_attention *attention = &split->layers[split->layer];
    const struct attn_score_bias *bias = attention->bias;
    const double found =
        bias
            ? (double)attn_score_bias_at(bias, attention->first_head + (size_t)split->at.head, i, j)
            : 0;

    return bias && bias->is_of_key ? split->factor * found : found;
}

/* Computes the mean over the cells: of the position bias, and with HAS_PRODUCT of the whole score
 * of the forward pass. C is as in find_pair. */
static void find_cells_mean(const struct pair_split *split, bool has_product, double c[2])
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
            score = position_bias(split, split->queries.rows[q], j);
            if (has_product)
                score += split->factor * (double)split->products[q * n + j];
            far += score;
            n_far++;
            near += split->is_key[j] ? score : 0;
            n_near += split->is_key[j];
        }
        c[0] += near / (double)n_near / (double)n_query;
        c[1] += (near / (double)n_near - far / (double)n_far) / (double)n_query;
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Fills the columns from PART on: part, stack, layer and head of WRITER. */
static void put_writer(const struct pair_split *split, const struct writer *writer,
                       struct attn_cell *part)
{
    const bool is_mlp = strcmp(writer->part, "mlp") == 0 || writer->part == mlp_norm_bias;
    const struct attn_location at =
        attn_location_in(split->dims, &writer->at, is_mlp ? ATTN_SITE_MLP_OUT : ATTN_SITE_Z);

    part[0] = attn_cell_string(writer->part);
    if (at.layer != ATTN_NO_LAYER)
        attn_location_put(&at, &part[1]);
    if (at.head != ATTN_ALL_HEADS)
        part[3] = attn_cell_integer(at.head);
}

static bool is_by_key(const struct pair_split *split)
{
    return split->args->by == ATTN_ATTRIBUTE_BY_KEY;
}

/* Appends the row of a writer of the query and one of the key, each of which may be NULL. */
static enum attn_status append(struct pair_split *split, const struct writer *query,
                               const struct writer *key, const double c[2], struct attn_error *err)
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
static enum attn_status append_whole(struct pair_split *split, const char *part, const double c[2],
                                     struct attn_error *err)
{
    const struct writer whole = {part, {.layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS}};

    return append(split, is_by_key(split) ? NULL : &whole, is_by_key(split) ? &whole : NULL, c,
                  err);
}

/* Appends the rows of all pairs, or of all writers of one side. */
static enum attn_status append_pairs(struct pair_split *split, struct attn_error *err)
{
    const enum attn_attribute_by by = split->args->by;
    const bool is_key = is_by_key(split), is_pair = !is_key && by != ATTN_ATTRIBUTE_BY_QUERY;
    const struct side *outer = is_key ? &split->keys : &split->queries;
    const struct side *inner = is_key ? &split->queries : &split->keys;

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
static enum attn_status check_sums(const struct pair_split *split, const double c[2],
                                   struct attn_error *err)
{
    const struct attn_config *config = split->config;

    for (int i = 0; i < 2; i++)
        ATTN_TRY(attn_sum_check(
            &(struct attn_sum){.value = split->sum[i],
                               .size = split->size,
                               .n_rounded = (double)(config->d_model + config->d_head +
                                                     2 * split->layer + split->keys.n),
                               .compute = attn_model_compute(split->model)},
            i > 0 ? "relative scores" : "scores", c[i], err));
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct pair_split *split = state;
    const struct attn_config *config = split->config;
    const struct attn_attention *attention = &split->layers[split->layer];
    const size_t per_key_head = config->n_head / config->n_kv_head;
    double c[2];

    split->weights = attn_block_at(&split->model->weights, &split->at);
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
    ATTN_TRY(prepare_writers(split, err));
    ATTN_TRY(map_side(split, &split->queries, err));
    ATTN_TRY(map_side(split, &split->keys, err));
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
    const struct attn_attribute_args *args = ((const struct pair_split *)state)->frame.args;

    return args->by == ATTN_ATTRIBUTE_BY_KEY     ? SHOW_KEY
           : args->by == ATTN_ATTRIBUTE_BY_QUERY ? SHOW_QUERY
                                                 : SHOW_QUERY | SHOW_PAIR;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(PART, OTHER_PART, RELATIVE),
     .parts = "attn_bias attn_norm_bias mlp mlp_norm_bias norm_bias bias",
     .inputs = "embed pos source"},
    {ATTN_VIEW_OF(LAYER, HEAD, RELATIVE),
     .parts =
         "attn_bias attn_norm_bias mlp mlp_norm_bias embed pos source norm_bias bias position_bias",
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
    .name = "score",
    .sort = "relative",
    .n_most = DEFAULT_MOST,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .state_size = sizeof(struct pair_split),
    .items.study = offsetof(struct attn_attribute_args, study),
    .question = &attn_question_attribute,
    .check = check,
    .prepare = prepare,
    .shows = shows,
    .draw = draw,
    .ask = ask,
};
