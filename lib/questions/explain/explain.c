/* explain.c - collects the tensors of one row of a run, computes the numbers in between, and checks
 * them. */
#include "explain/explain.h"

#include "attention/attend.h"
#include "attention/attention_internal.h"
#include "attention/heads.h"
#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/rotary.h"
#include "kernels/kernels.h"
#include "trace/trace_internal.h"
#include "trials/sums.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_explain_args, .size = sizeof(struct attn_explain_args))

struct attn_explainer {
    struct attn_explanation row;
    struct attn_attention attention;     /* attention of the layer */
    struct attn_dims dims;               /* sizes of its stack, and of the layer */
    struct attn_location keys_at;        /* the layer whose keys and values it attends to */
    struct attn_explained_key *keys;     /* [n_key] indexed by key until attn_explainer_finish */
    float *x, *q, *z;                    /* [D], [E], [Ev] */
    float *attn_out;                     /* [d_out] */
    float *projected_q, *normed_q;       /* [E] each */
    float *frequencies;                  /* [E/2] */
    float *k, *v;                        /* [n_key, E], [n_key, Ev] */
    struct attn_arena arena;             /* owns all of these */
    enum attn_site query_site, key_site; /* the sites of q and k from which scores are computed */
    double turn_factor;                  /* factor of cosines and sines, and of rotated queries */
    const struct attn_rope *rope;        /* NULL: without rotary positions */
    const int32_t *key_mask;             /* [n_key] keys with 0 are masked; or NULL */
    bool has_knockout;                   /* the run has edits that hide keys */
    bool may_round;                      /* the run possibly multiplied in bfloat16 */
    struct attn_selection *selection;    /* owns */
    struct attn_trace trace;
};

/* --- Collecting ------------------------------------------------------------------------------- */

static bool is_hidden(const struct attn_explainer *explainer, size_t key)
{
    return explainer->key_mask && explainer->key_mask[key] == 0;
}

/* Stores the cells of a matrix row, indexed by key. */
static void keep_cells(struct attn_explainer *explainer, const struct attn_trace_event *event)
{
    const struct attn_row row = attn_event_row(event, 0);

    if (event->at.site == ATTN_SITE_PATTERN)
        explainer->row.n_visible = 0;
    for (size_t i = 0; i < row.n; i++) {
        const size_t at = row.keys ? (size_t)row.keys[i] : i;
        struct attn_explained_key *key = &explainer->keys[at];

        if (is_hidden(explainer, at))
            continue;
        explainer->row.n_visible += event->at.site == ATTN_SITE_PATTERN;
        if (event->at.site == ATTN_SITE_QK)
            key->fit = row.values[i];
        else if (event->at.site == ATTN_SITE_C2P)
            key->c2p = row.values[i];
        else if (event->at.site == ATTN_SITE_P2C)
            key->p2c = row.values[i];
        else if (event->at.site == ATTN_SITE_ATTN_SCORES)
            key->score = row.values[i];
        else if (event->at.site == ATTN_SITE_PATTERN_DROPPED)
            key->kept = row.values[i];
        else
            key->weight = key->kept = row.values[i], key->is_visible = true;
    }
}

/* Returns true if the tensor AT belongs to the attention of ROW. */
static bool is_of_row(const struct attn_location *row, const struct attn_location *at)
{
    return at->layer == row->layer && at->stack == row->stack;
}

/* Whether the explainer keeps the tensor AT. */
static bool is_kept(const struct attn_explainer *explainer, const struct attn_location *at)
{
    return is_of_row(attn_site_layout(at->site) == ATTN_LAYOUT_KEY ? &explainer->keys_at
                                                                   : &explainer->row.at,
                     at);
}

/* Copies what belongs to the row (attn_trace_fn). */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_explainer *explainer = user;
    const struct {
        enum attn_site site;
        float *to;
        size_t first;
    } kept[] = {
        {explainer->query_site, explainer->q, 0}, {explainer->key_site, explainer->k, event->row0},
        {ATTN_SITE_RESID_PRE, explainer->x, 0},   {ATTN_SITE_ATTN_OUT, explainer->attn_out, 0},
        {ATTN_SITE_Q, explainer->projected_q, 0}, {ATTN_SITE_V, explainer->v, event->row0},
        {ATTN_SITE_Z, explainer->z, 0},
    };

    (void)err;
    if (!is_kept(explainer, &event->at))
        return ATTN_OK;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (size_t r = 0; event->at.site == kept[i].site && r < event->n_row; r++)
            memcpy(kept[i].to + (kept[i].first + r) * event->n_col, event->data + r * event->ld,
                   event->n_col * sizeof(float));
    if (event->at.site == ATTN_SITE_ATTN_OUT)
        explainer->row.attn_out = explainer->attn_out;
    if (attn_sites_have(ATTN_SITES(ATTN_SITE_C2P, ATTN_SITE_P2C, ATTN_SITE_QK,
                                   ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                                   ATTN_SITE_PATTERN_DROPPED),
                        event->at.site))
        keep_cells(explainer, event);
    return ATTN_OK;
}

/* --- Creating --------------------------------------------------------------------------------- */

/* The first selected head and the last selected query, and how many are selected. */
struct chosen_row {
    size_t n_head, n_query;
    struct attn_location at;
    size_t query;
};

/* Returns the stack that is explained: the encoder if only that is selected. */
static enum attn_model_stack find_stack(const struct attn_selection *selection)
{
    return attn_selection_is_of_encoder(selection) ? ATTN_STACK_ENCODER : ATTN_STACK_ONLY;
}

static struct chosen_row find_row(const struct attn_selection *selection)
{
    const enum attn_model_stack stack = find_stack(selection);
    const struct attn_dims *dims = attn_dims_of(attn_selection_dims(selection), stack);
    const bool has_encoder =
        !attn_sites_are_empty(attn_selection_sites_of(selection, ATTN_STACK_ENCODER));
    struct chosen_row chosen = {.at = attn_head_at(dims, ATTN_SITE_PATTERN, 0)};
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER}, of_encoder = at;

    while (attn_dims_next_head(dims, &at))
        if (attn_selection_has_head(selection, &at) && chosen.n_head++ == 0)
            chosen.at = at;
    while (has_encoder && dims->encoder && chosen.n_head > 0 &&
           attn_dims_next_head(dims->encoder, &of_encoder))
        chosen.n_head += attn_selection_has_head(selection, &of_encoder);
    for (size_t query = 0; query < dims->n_position; query++)
        if (attn_selection_has_query(selection, stack, query)) {
            chosen.query = query;
            chosen.n_query++;
        }
    return chosen;
}

/* Adds a hint with the options that select a single row. */
static void hint_at_row(const struct attn_dims *dims, const struct chosen_row *chosen,
                        bool is_array, struct attn_error *err)
{
    char of_layer[64] = "", query[32] = "-1", which[32] = "the last query";
    struct attn_head_name head = attn_location_name(&chosen->at);
    const struct attn_location *at = &chosen->at;
    const char *stack = attn_model_stack_name(at->stack);

    if (is_array) {
        snprintf(head.text, sizeof head.text, "%d", at->head);
    } else {
        snprintf(of_layer, sizeof of_layer, " of %s%slayer %d", stack, stack[0] ? " " : "",
                 at->layer);
    }
    if (chosen->query + 1 < dims->n_position) {
        snprintf(query, sizeof query, "%zu", chosen->query);
        snprintf(which, sizeof which, "query %zu", chosen->query);
    }
    attn_error_hint(err, "`heads %s` `queries %s` chooses head %d%s and %s", head.text, query,
                    at->head, of_layer, which);
}

/* Refuses edits of the head AT, after which its numbers do not follow from each other. Knockouts
 * only hide keys. */
static enum attn_status check_edits(const struct attn_explain_args *args,
                                    const struct attn_location *at, struct attn_error *err)
{
    const struct attn_site_set later =
        ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                   ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_Z, ATTN_SITE_ATTN_OUT, ATTN_SITE_ROT_Q);

    for (size_t i = 0; i < args->n_edit; i++) {
        const struct attn_edit *edit = &args->edits[i];

        if (edit->op != ATTN_EDIT_MASK && is_of_row(at, &edit->at) &&
            (edit->at.head == at->head ||
             (edit->at.head == ATTN_ALL_HEADS && attn_sites_have(later, edit->at.site))))
            return attn_error_set(
                err, ATTN_INVALID, "'`explain`' shows head %s, %s", attn_location_name(at).text,
                edit->op == ATTN_EDIT_ZERO ? "which is ablated" : "which is edited");
    }
    return ATTN_OK;
}

static enum attn_status check(const struct attn_explain_args *args, const struct chosen_row *chosen,
                              struct attn_error *err)
{
    const enum attn_model_stack stack = find_stack(args->selection);
    const struct attn_location *at = &chosen->at;
    const enum attn_attention_kind kind = args->attention[attn_location_index(at)].kind;

    if (chosen->n_head != 1 || chosen->n_query != 1) {
        attn_error_set(err, ATTN_INVALID,
                       "'`explain`' shows one row, found %zu head%s and %zu quer%s selected",
                       chosen->n_head, chosen->n_head == 1 ? "" : "s", chosen->n_query,
                       chosen->n_query == 1 ? "y" : "ies");
        hint_at_row(attn_dims_of(attn_selection_dims(args->selection), stack), chosen, args->arrays,
                    err);
        return ATTN_INVALID;
    }
    if (kind == ATTN_ATTENTION_LINEAR || kind == ATTN_ATTENTION_LOWRANK)
        return attn_error_set(
            err, ATTN_INVALID,
            "'`explain`' shows a softmax over keys, and linear and low-rank attention have none");
    return check_edits(args, at, err);
}

/* Selects the row, with the sites that the explanation and the run need. */
static enum attn_status select_row(struct attn_explainer *explainer,
                                   const struct attn_selection *of_run, struct attn_error *err)
{
    struct attn_dims seen = *attn_selection_dims(of_run);
    const struct attn_explanation *row = &explainer->row;
    const enum attn_model_stack stack = find_stack(of_run);
    const struct attn_site_set sites = ATTN_SITES(
        ATTN_SITE_RESID_PRE, ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_V, ATTN_SITE_ROT_Q,
        ATTN_SITE_ROT_K, ATTN_SITE_C2P, ATTN_SITE_P2C, ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
        ATTN_SITE_PATTERN, ATTN_SITE_Z, ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_ATTN_OUT);
    struct attn_site_set wanted = attn_selection_sites(of_run);

    attn_sites_extend(&wanted, attn_sites_common(sites, attn_dims_of(&seen, stack)->sites));
    seen.lacking = NULL; /* allows scores with and without rotation, whichever the model has */
    ATTN_TRY(attn_selection_create(&seen, &explainer->selection, err));
    explainer->trace = (struct attn_trace){
        .selection = explainer->selection, .on_event = on_event, .user = explainer};
    if (stack == ATTN_STACK_ENCODER) {
        attn_selection_clear_sites(explainer->selection);
        ATTN_TRY(attn_selection_add_sites(explainer->selection, stack, wanted, err));
    } else {
        ATTN_TRY(attn_selection_set_sites(explainer->selection, wanted, err));
    }
    ATTN_TRY(attn_selection_add_head(explainer->selection, &row->at, err));
    if (!is_of_row(&row->at, &explainer->keys_at))
        ATTN_TRY(attn_selection_add_head(explainer->selection, &explainer->keys_at, err));
    return attn_selection_add_queries(explainer->selection, stack, row->query, 1, err);
}

/* Assigns memory for the row from the arena. For arrays, sizes that do not apply are 0. */
static void plan(struct attn_explainer *explainer)
{
    struct attn_explanation *row = &explainer->row;
    struct attn_arena *arena = &explainer->arena;

    const size_t n = row->dims->d_head, n_value = row->dims->d_value;

    row->x = explainer->x = attn_arena_take(arena, row->dims->d_model, sizeof(float));
    explainer->attn_out =
        attn_arena_take(arena, attn_site_width(ATTN_SITE_ATTN_OUT, row->dims), sizeof(float));
    row->q = explainer->q = attn_arena_take(arena, n, sizeof(float));
    explainer->projected_q = attn_arena_take(arena, n, sizeof(float));
    explainer->normed_q = attn_arena_take(arena, n, sizeof(float));
    explainer->frequencies = attn_arena_take(arena, n, sizeof(float));
    row->z = explainer->z = attn_arena_take(arena, n_value, sizeof(float));
    explainer->k = attn_arena_take(arena, row->n_key, n * sizeof(float));
    explainer->v = attn_arena_take(arena, row->n_key, n_value * sizeof(float));
    row->keys = explainer->keys = attn_arena_take(arena, row->n_key, sizeof *explainer->keys);
}

/* Copies q, k and v from the arrays, because their trace has no events for these. */
static void copy_arrays(struct attn_explainer *explainer, const struct attn_attend_args *arrays)
{
    struct attn_explanation *row = &explainer->row;
    const size_t query = (size_t)row->at.head * arrays->n_query + row->query;
    const size_t key = (size_t)row->kv_head * arrays->n_key;

    const size_t n = row->dims->d_head, n_value = row->dims->d_value;

    row->q = arrays->q ? explainer->q : NULL;
    row->z = arrays->v ? explainer->z : NULL;
    if (row->q) {
        memcpy(explainer->q, arrays->q + query * n, n * sizeof(float));
        memcpy(explainer->k, arrays->k + key * n, row->n_key * n * sizeof(float));
    }
    if (row->z)
        memcpy(explainer->v, arrays->v + key * n_value, row->n_key * n_value * sizeof(float));
}

/* Takes the rotation of the layer, and the numbers of the query among POSITIONS. */
static void take_rope(struct attn_explainer *explainer, const struct attn_config *config,
                      const struct attn_position_numbers *positions)
{
    const struct attn_explanation *row = &explainer->row;
    struct attn_explained_rotation *rotation = &explainer->row.rotation;
    const struct attn_rope *rope = &config->rope[attn_location_index(&row->at)];

    explainer->rope = rope;
    for (size_t axis = 0; axis < 3; axis++)
        rotation->numbers[axis] = attn_position_number(positions, axis, row->query);
    rotation->projected = explainer->projected_q;
    rotation->normed = explainer->normed_q;
    rotation->frequencies = explainer->frequencies;
    rotation->n_pair = rope->d_rotary / 2;
    rotation->turns_neighbours = rope->turns_neighbours;
    rotation->has_qk_norm = config->qk_norm != ATTN_QK_NORM_NONE;
    explainer->turn_factor = (double)attn_rope_factor(rope, row->n_key) *
                             (double)attn_rope_query_factor(rope, rotation->numbers[0]);
    attn_rope_find_frequencies(rope, row->n_key, explainer->frequencies);
}

/* Prepares EXPLAINER for the row CHOSEN of ARGS. */
static enum attn_status prepare(struct attn_explainer *explainer,
                                const struct attn_explain_args *args,
                                const struct chosen_row *chosen, struct attn_error *err)
{
    const struct attn_dims *dims = &explainer->dims;
    const struct attn_config *config = args->config;
    const size_t layer = attn_location_index(&chosen->at);

    assert(args->attention); /* attn_explainer_create has checked it */
    explainer->attention = args->attention[layer];
    explainer->dims = attn_location_dims(
        attn_dims_of(attn_selection_dims(args->selection), find_stack(args->selection)),
        &chosen->at);
    explainer->keys_at = chosen->at;
    if (dims->layers)
        explainer->keys_at.layer = (int)dims->layers[layer].kv_layer;
    explainer->row = (struct attn_explanation){
        .attention = &explainer->attention,
        .at = chosen->at,
        .kv_head = chosen->at.head / (int)(dims->n_head / dims->n_kv_head),
        .query = chosen->query,
        .is_cross = !args->arrays && attn_location_is_cross(dims, &chosen->at),
        .dims = dims,
        .n_key = attn_location_n_key(dims, &chosen->at),
    };
    explainer->key_mask = explainer->row.is_cross ? args->source_mask : args->key_mask;
    for (size_t i = 0; i < args->n_edit; i++)
        explainer->has_knockout |= args->edits[i].op == ATTN_EDIT_MASK;
    explainer->may_round = args->compute == ATTN_COMPUTE_BF16;
    explainer->query_site = attn_site_of_scores(dims, ATTN_LAYOUT_QUERY);
    explainer->key_site = attn_site_of_scores(dims, ATTN_LAYOUT_KEY);
    ATTN_TRY(select_row(explainer, args->selection, err));
    plan(explainer);
    ATTN_TRY(attn_arena_allocate_zeroed(&explainer->arena, err));
    plan(explainer);
    if (args->arrays)
        copy_arrays(explainer, args->arrays);
    if (config && config->positions == ATTN_POSITIONS_ROTARY)
        take_rope(explainer, config, &args->positions);
    return ATTN_OK;
}

enum attn_status attn_explainer_create(const struct attn_explain_args *given,
                                       struct attn_explainer **explainer, struct attn_error *err)
{
    struct attn_explain_args args = ATTN_EXPLAIN_ARGS_DEFAULT;
    struct attn_explainer *made;
    struct chosen_row chosen;

    ATTN_NEED(err, explainer);
    ATTN_TRY(attn_options_read(given, &args, err));
    if (!args.attention && args.config)
        args.attention = args.config->attention;
    if (!attn_is_given(args.selection, "selection", err) ||
        !attn_is_given(args.attention, "attention", err) ||
        (args.n_edit > 0 && !attn_is_given(args.edits, "edits", err)) ||
        !attn_is_choice(args.compute, ATTN_N_COMPUTE, "compute", err))
        return ATTN_INVALID;
    chosen = find_row(args.selection);
    ATTN_TRY(attn_error_at(check(&args, &chosen, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    ATTN_RETURN_MADE(prepare(made, &args, &chosen, err), explainer, made, attn_explainer_free);
}

const struct attn_trace *attn_explainer_trace(const struct attn_explainer *explainer)
{
    return explainer ? &explainer->trace : NULL;
}

void attn_explainer_free(struct attn_explainer *explainer)
{
    if (!explainer)
        return;
    attn_arena_release(&explainer->arena);
    attn_selection_free(explainer->selection);
    attn_free(explainer);
}

/* --- Computing -------------------------------------------------------------------------------- */

/* Returns a.b [n]. *SIZE is the sum of the absolute values of its terms. */
static double dot(const float *a, const float *b, size_t n, double *size)
{
    double sum = 0;

    *size = 0;
    for (size_t i = 0; i < n; i++) {
        const double term = (double)a[i] * (double)b[i];

        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static double length_of(const float *x, size_t n)
{
    double size;

    return sqrt(dot(x, x, n, &size));
}

/* Returns q.k, or the cosine. *SIZE is the sum of the absolute values of its terms. */
static double fit_of(const struct attn_explanation *row, const struct attn_explained_key *key,
                     double *size)
{
    const double sum = dot(row->q, key->k, row->dims->d_head, size);

    if (row->attention->similarity == ATTN_SIMILARITY_DOT)
        return sum;
    *size = 1;
    return row->q_length > 0 && key->k_length > 0 ? sum / row->q_length / key->k_length : 0;
}

/* Computes the score of KEY from its fit. For hidden keys, also q.k, which events may lack. */
static void find_score(const struct attn_explanation *row, struct attn_explained_key *key)
{
    const struct attn_score_bias *bias = row->attention->bias;
    double size;

    if (!key->is_visible && row->q)
        key->fit = (float)fit_of(row, key, &size);
    if (bias)
        key->bias = (double)attn_score_bias_at(bias, (size_t)row->at.head, row->query, key->key) *
                        (bias->is_of_key ? row->attention->factor / row->divisor : 1) +
                    (double)key->c2p + (double)key->p2c;
    key->scaled = (double)key->fit * row->attention->factor / row->divisor + key->bias;
}

/* Moves the keys that take part in the softmax to the front: all keys if the mask is applied after
 * it, otherwise the visible ones. */
static void gather_keys(struct attn_explainer *explainer)
{
    struct attn_explanation *row = &explainer->row;
    bool has_score = false;

    for (size_t i = 0; i < row->n_key; i++) {
        struct attn_explained_key key = explainer->keys[i];

        if (explainer->has_knockout && key.is_visible && key.score == -INFINITY) {
            row->n_visible--;
            continue;
        }
        if (is_hidden(explainer, i) ||
            (!key.is_visible && row->attention->masking == ATTN_MASKING_INF))
            continue;
        key.key = i;
        key.k = explainer->k + i * row->dims->d_head;
        key.v = explainer->v + i * row->dims->d_value;
        key.k_length = length_of(key.k, row->dims->d_head);
        find_score(row, &key);
        has_score = has_score || key.score != -INFINITY;
        explainer->keys[row->n_cell++] = key;
    }
    if (!has_score)
        row->n_cell = row->n_visible = 0; /* the mask hides every key in the given scores */
}

/* Inverts the rotation of q. The rotation only changes lengths by its factor, by which the result
 * is divided. */
static void turn_back(struct attn_explainer *explainer)
{
    const struct attn_explanation *row = &explainer->row;
    const struct attn_explained_rotation *rotation = &row->rotation;
    const size_t n = rotation->n_pair;

    memcpy(explainer->normed_q, explainer->q, row->dims->d_head * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const size_t number = rotation->numbers[attn_rope_axis(explainer->rope, i)];
        const float angle = (float)number * explainer->frequencies[i];
        const double c = attn_cos((double)angle) / explainer->turn_factor;
        const double s = attn_sin((double)angle) / explainer->turn_factor;
        const size_t first = rotation->turns_neighbours ? 2 * i : i;
        const size_t second = rotation->turns_neighbours ? 2 * i + 1 : i + n;
        const double a = (double)explainer->q[first], b = (double)explainer->q[second];

        explainer->normed_q[first] = (float)(a * c + b * s);
        explainer->normed_q[second] = (float)(b * c - a * s);
    }
}

static void add_exponentials(struct attn_explainer *explainer)
{
    struct attn_explanation *row = &explainer->row;
    struct attn_explained_key *keys = explainer->keys;

    for (size_t i = 0; i < row->n_cell; i++) {
        if (keys[i].score > keys[row->largest].score)
            row->largest = i;
        if (keys[i].kept > keys[row->strongest].kept)
            row->strongest = i;
    }
    for (size_t i = 0; i < row->n_cell; i++) {
        keys[i].exponential = attn_exp((double)keys[i].score - (double)keys[row->largest].score);
        row->exponential_sum += keys[i].exponential;
    }
    if (row->sink)
        row->sink_exponential = attn_exp((double)*row->sink - (double)keys[row->largest].score);
    row->exponential_sum += row->sink_exponential;
    for (size_t i = 0; i < row->n_cell; i++)
        row->visible_share += keys[i].is_visible ? keys[i].exponential / row->exponential_sum : 0;
}

/* --- Checking --------------------------------------------------------------------------------- */

/* distance of a score from the largest beyond which its exponential is 0 in float32 */
enum { LARGEST_DISTANCE = 104 };

/* Returns true if SUM equals FOUND (sums.h). SIZE is the sum of absolute terms. */
static bool is_same(double sum, double size, double n_rounded, float found)
{
    return attn_sum_is_right(&(struct attn_sum){.value = sum, .size = size, .n_rounded = n_rounded},
                             (double)found);
}

static bool are_scores_right(const struct attn_explanation *row)
{
    const bool is_cosine = row->attention->similarity != ATTN_SIMILARITY_DOT;
    for (size_t i = 0; i < row->n_cell; i++) {
        const struct attn_explained_key *key = &row->keys[i];
        const double cap = row->attention->score_cap;
        const double score = cap > 0 ? cap * attn_tanh(key->scaled / cap) : key->scaled;
        double size = 0;
        const double fit = row->q ? fit_of(row, key, &size) : 0;
        /* the cosine includes both lengths */
        double n_rounded = (double)row->dims->d_head * (is_cosine ? 3 : 1);

        if (row->q && !is_same(fit, size, n_rounded, key->fit))
            return false;
        if (key->is_visible || !row->q) {
            size = fabs(key->scaled - key->bias) + fabs(key->bias - (double)key->c2p) +
                   fabs((double)key->c2p);
            n_rounded = 0;
        } else { /* this fit was computed here, not by the run */
            size *= fabs(row->attention->factor / row->divisor);
        }
        if (!is_same(score, size, n_rounded, key->score))
            return false;
    }
    return true;
}

/* Checks the weights. Distances are measured from the largest score that is a number, as
 * exponentials may be NaN. The error of a score is half an ulp of its distance from the largest,
 * which is the relative error of its exponential. The sum is over all keys; if weights are
 * renormalized, there is a second sum over the visible keys. */
static bool are_weights_right(const struct attn_explanation *row)
{
    double largest = -(double)INFINITY, sum = 0, visible = 0;

    for (size_t i = 0; i < row->n_cell; i++)
        largest = fmax(largest, (double)row->keys[i].score);
    if (row->sink) {
        largest = fmax(largest, (double)*row->sink);
        sum = attn_exp((double)*row->sink - largest);
    }
    for (size_t i = 0; i < row->n_cell; i++) {
        const double exponential = attn_exp((double)row->keys[i].score - largest);

        sum += exponential;
        visible += row->keys[i].is_visible ? exponential : 0;
    }
    if (row->attention->masking == ATTN_MASKING_RENORMALIZE && visible > 0)
        sum = visible;
    for (size_t i = 0; i < row->n_cell; i++) {
        const struct attn_explained_key *key = &row->keys[i];
        const double distance = largest - (double)key->score;
        const double weight = key->is_visible ? attn_exp(-distance) / sum : 0;
        const double n_rounded = fmin(distance, LARGEST_DISTANCE) + 2 * (double)row->n_cell;

        if (!is_same(weight, weight, n_rounded, key->weight))
            return false;
    }
    return true;
}

static bool is_context_right(const struct attn_explanation *row)
{
    for (size_t c = 0; c < row->dims->d_value; c++) {
        double sum = 0, size = 0;

        for (size_t i = 0; i < row->n_cell; i++) {
            const double term = (double)row->keys[i].kept * (double)row->keys[i].v[c];

            sum += term;
            size += fabs(term);
        }
        if (!is_same(sum, size, (double)row->n_cell, row->z[c]))
            return false;
    }
    return true;
}

static enum attn_status check_sums(const struct attn_explanation *row, struct attn_error *err)
{
    const struct attn_explained_rotation *rotation = &row->rotation;
    const char *wrong = !are_scores_right(row)             ? "scores"
                        : !are_weights_right(row)          ? "weights"
                        : row->z && !is_context_right(row) ? "values of z"
                                                           : NULL;

    /* without a norm, the rotation is applied to the projection directly */
    for (size_t i = 0; i < row->dims->d_head && rotation->normed && !rotation->has_qk_norm; i++)
        if (!is_same((double)rotation->normed[i], row->q_length, 0, rotation->projected[i]))
            wrong = "queries";
    if (!wrong)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_CHECK,
                       "the steps of '`explain`' come to other %s than the run, in %s%slayer %d, "
                       "head %d, query %zu",
                       wrong, attn_model_stack_name(row->at.stack),
                       row->at.stack != ATTN_STACK_ONLY ? " " : "", row->at.layer, row->at.head,
                       row->query);
}

/* --- Rounding --------------------------------------------------------------------------------- */

/* Rounds X [n] to bfloat16, after a division by LENGTH, which is 1 except for cosine similarity. */
static void round_vector(float *x, size_t n, double length)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    uint16_t rounded;

    if (length != 1)
        attn_rows_normalize(x, n, 1, n);
    for (size_t i = 0; i < n; i++) {
        kernels->round_bf16(&x[i], 1, &rounded);
        kernels->convert(&rounded, ATTN_DTYPE_BF16, 1, &x[i]);
        x[i] = length != 1 ? (float)((double)x[i] * length) : x[i];
    }
}

/* Rounds all factors of the row as the run did. */
static void round_terms(struct attn_explainer *explainer)
{
    struct attn_explanation *row = &explainer->row;
    const bool is_cosine = row->attention->similarity == ATTN_SIMILARITY_COSINE;

    row->is_rounded = true;
    round_vector(explainer->q, row->dims->d_head, is_cosine ? row->q_length : 1);
    for (size_t i = 0; i < row->n_cell; i++) {
        struct attn_explained_key *key = &explainer->keys[i];

        round_vector(explainer->k + key->key * row->dims->d_head, row->dims->d_head,
                     is_cosine ? key->k_length : 1);
        round_vector(explainer->v + key->key * row->dims->d_value, row->dims->d_value, 1);
        round_vector(&key->kept, 1, 1);
        find_score(row, key);
    }
}

enum attn_status attn_explainer_finish(struct attn_explainer *explainer,
                                       const struct attn_explanation **explanation,
                                       struct attn_error *err)
{
    struct attn_explanation *row;
    enum attn_status status;

    ATTN_NEED(err, explainer, explanation);
    row = &explainer->row;
    if (explainer->rope)
        turn_back(explainer);
    row->sink = row->attention->sinks ? &row->attention->sinks[row->at.head] : NULL;
    row->q_length = length_of(explainer->q, row->dims->d_head);
    row->divisor =
        row->attention->is_scaled ? sqrt((double)row->dims->d_head) + row->attention->eps : 1;
    gather_keys(explainer);
    add_exponentials(explainer);
    status = check_sums(row, err);
    if (status != ATTN_OK && explainer->may_round) {
        round_terms(explainer);
        status = check_sums(row, err);
    }
    if (status == ATTN_OK)
        *explanation = row;
    return status;
}
