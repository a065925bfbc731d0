/* features.c - attn-cli features: which features of a dictionary fire, and from which head and word
 * they come. The number of a feature of z is linear in z, and z is pattern times value, so that it
 * is the sum over heads and keys of weight times (value times the encoder's column).
 *
 * Each answer is a procedure: the features of each position, the sum, the fit, the texts of many.
 * They share what is opened once: the dictionary, its tensor and the features that are listed. */
#include "foreign/dictionary_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "frame/asked.h"
#include "frame/frame.h"
#include "frame/parts.h"
#include "frame/questions_internal.h"
#include "measures/head_cards_internal.h"
#include "stream/items_internal.h"
#include "tables/text_table.h"
#include "trials/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum by { BY_TOKEN, BY_HEAD, BY_KEY, BY_BOTH = BY_HEAD | BY_KEY };

enum { DEFAULT_TOP = 5 };

struct features_args {
    size_t size;
    const struct attn_study_args *study;
    struct attn_answer_args answer;
    const char *dictionary, *site;
    struct attn_number_list features;
    enum by by;
    size_t n_top;
    bool has_fit;
};

/* --- Columns ---------------------------------------------------------------------------------- */

enum {
    SHOW_TOKENS = 2,
    SHOW_PRE = 4,
    SHOW_PARTS = 8,
    SHOW_HEADS = 16,
    SHOW_KEYS = 32,
    SHOW_RIGHT = 64
};

enum {
    PART,
    POSITION,
    TOKEN,
    FEATURE,
    ACTIVATION,
    PRE,
    HEAD,
    KEY,
    KEY_TOKEN,
    CONTRIBUTION,
    ROW_TYPE,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum bias model", .shown = SHOW_PARTS),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [FEATURE] = ATTN_COLUMN("feature", INTEGER, .help = "number of the feature, from 0"),
    [ACTIVATION] =
        ATTN_COLUMN_QUANTITY("activation", 4, NULL, POSITIVE, "activation", .shown = SHOW_TOKENS),
    [PRE] = ATTN_COLUMN_QUANTITY("pre", 4, NULL, SIGNED, "number before the activation function",
                                 .shown = SHOW_PRE),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER, .shown = SHOW_KEYS),
    [KEY_TOKEN] = ATTN_COLUMN_OF(TOKEN, "key_token", TEXT, .shown = SHOW_KEYS),
    [CONTRIBUTION] = ATTN_COLUMN_QUANTITY("contribution", 6, NULL, SIGNED,
                                          "part of the feature's number", .shown = SHOW_PARTS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const struct attn_table_view views[] = {
    {.rows = ATTN_ROLE_HEAD,
     .columns = ATTN_ROLE_KEY,
     .texts = ATTN_TABLE_COLUMN(KEY_TOKEN),
     .values = ATTN_TABLE_COLUMN(CONTRIBUTION)},
    {.rows = ATTN_ROLE_HEAD, .columns = ATTN_ROLE_HEAD, .values = ATTN_TABLE_COLUMN(CONTRIBUTION)},
    {.rows = ATTN_ROLE_KEY,
     .columns = ATTN_ROLE_KEY,
     .texts = ATTN_TABLE_COLUMN(KEY_TOKEN),
     .values = ATTN_TABLE_COLUMN(CONTRIBUTION)},
    {.rows = ATTN_ROLE_POSITION,
     .columns = ATTN_ROLE_POSITION,
     .texts = ATTN_ROLE_TOKEN,
     .values = ATTN_TABLE_COLUMN(ACTIVATION)},
};

enum { T_FEATURE, RANK, ID, T_POSITION, T_TOKEN, T_ACTIVATION, AROUND, T_ROW_TYPE, N_TEXT_COLUMN };

static const struct attn_column text_columns[N_TEXT_COLUMN] = {
    [T_FEATURE] = ATTN_COLUMN("feature", INTEGER, .help = "number of the feature, from 0"),
    [RANK] = ATTN_COLUMN("rank", INTEGER, .shown = ATTN_SHOWN_ALONE,
                         .help = "place of the text among all, from 1"),
    [ID] = ATTN_COLUMN("id", TEXT, .shown = ATTN_SHOWN_ALONE, .help = "id of the item"),
    [T_POSITION] = ATTN_COLUMN("position", INTEGER),
    [T_TOKEN] = ATTN_COLUMN("token", TEXT),
    [T_ACTIVATION] = ATTN_COLUMN_QUANTITY("activation", 4, NULL, POSITIVE, "activation"),
    [AROUND] =
        ATTN_COLUMN("text", TEXT, .shown = ATTN_SHOWN_ALONE, .help = "the words around the token"),
    [T_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum { F_PART, L0, FVE, COSINE, VALUE, CHANGE, KL, SAME_TOP, RIGHT, F_ROW_TYPE, N_FIT_COLUMN };

static const struct attn_column fit_columns[N_FIT_COLUMN] = {
    [F_PART] = ATTN_COLUMN_PART("base"),
    [L0] = ATTN_COLUMN_REAL("l0", 2, NULL, POSITIVE,
                            .help = "mean number of features that fire at a position"),
    [FVE] = ATTN_COLUMN_REAL(
        "fve", 4, NULL, SIGNED,
        .help = "1 - sum |x - x'|^2 / sum |x - mean x|^2, x' the rebuilt vector; at most 1"),
    [COSINE] =
        ATTN_COLUMN_REAL("cosine", 4, NULL, SIGNED, .help = "mean cosine of x and x', -1 to 1"),
    ATTN_COLUMNS_REPLY(VALUE, 0, SHOW_RIGHT),
    [F_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(TEXT, "sae", "PATH", struct features_args, dictionary,
               "the dictionary: a folder of sae-lens, Gemma Scope, dictionary_learning or "
               "sparsify, or its file of weights; `sae` fable/sae is the one of the built-in "
               "model"),
    ATTN_PARAM(TEXT, "site", "SITE:LAYER[.HEAD]", struct features_args, site,
               "the tensor that it reads; default: as its config says"),
    ATTN_PARAM(LIST, "feature", "LIST", struct features_args, features,
               "these features, from 0, with the number before the activation function: "
               "17,23,100-110; default: those that fire",
               .second = offsetof(struct features_args, features.n)),
    ATTN_PARAM(CHOICE, "by", NULL, struct features_args, by,
               "rows: token (default), a row for each position and feature; others split the "
               "number of a feature of z: head, key or head,key",
               .words = "token|head|key|head,key"),
    ATTN_PARAM_QUERIES(
        "positions; default: all that the tokenizer did not add, and `by` head or key the "
        "one with the largest number of each feature. An item may have its own",
        .keys = "queries"),
    ATTN_PARAM(COUNT, "top", "K", struct features_args, n_top,
               "the K largest features of each position, of `items` the K texts of each feature; "
               "default: 5, 0: all",
               .most = INT32_MAX, .traits = ATTN_PARAM_HAS_ZERO),
    ATTN_PARAM(FLAG, "fit", NULL, struct features_args, has_fit,
               "instead: how well the dictionary rebuilds its tensor, and what that does to the "
               "answer, whose metric is ce without `target`"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Features", param_rows);
static const struct attn_param_part param_parts[] = {
    {&params, 0},
    ATTN_QUESTION_ANSWER(struct features_args),
};

static const struct attn_param_rule rules[] = {
    {.given = "by", .needs = "feature", .time = ATTN_PARAM_BOTH},
    {.given = "fit", .excludes = "feature|by", .time = ATTN_PARAM_BOTH},
    {.given = "top", .excludes = "fit|by"},
    {.given = "top", .when = "feature", .needs = "items"},
    {.given = "feature", .when = "items", .excludes = "group_by|paired|bootstrap|cluster|fdr"},
    {.given = "items",
     .needs = "feature|fit",
     .hint = "`feature` gives the texts in which a feature is largest, `fit` means over all",
     .time = ATTN_PARAM_BOTH},
    {.given = "items", .excludes = "by", .time = ATTN_PARAM_BOTH},
    {.given = "target|target_id|foil|foil_id|at|metric", .needs = "fit"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_features = {
    .name = "features",
    .summary = "features of a sparse autoencoder, by head and word (preview)",
    .description =
        "Reads a dictionary of features (a sparse autoencoder) and prints those that fire\n"
        "at each position. `feature` with `by` head,key splits the number of a feature of\n"
        "z: from which head and from which word it came. The parts and the bias add up to\n"
        "the number of the model, exactly. `fit` says whether the dictionary fits the\n"
        "model, `items` finds the texts in which a feature is largest.\n"
        "\n"
        "An activation says that the vector has a part along a learned direction. It\n"
        "does not say what the direction means, nor that the answer uses it; `project`\n"
        "measures that: 'z:2=PATH#17' takes feature 17 out. `steer` 'z:2=PATH#17*8' adds\n"
        "8 of it.\n",
    .examples = "  attn-cli features -m fable `sae` fable/sae \"The keys to the cabinet\"\n"
                "  attn-cli features -m fable `sae` fable/sae `feature` 275 `by` head,key \\\n"
                "    \"The keys to the cabinet\"\n"
                "  attn-cli features -m fable `sae` fable/sae `fit` \"The keys to the cabinet\"\n",
    ATTN_QUESTION_PARAMS(param_parts, rules),
    ATTN_QUESTION_ARGS(struct features_args, .size = sizeof(struct features_args),
                       .n_top = DEFAULT_TOP),
    .choose = choose_procedure,
};

/* --- What is opened once ---------------------------------------------------------------------- */

/* A feature of the list, and the texts in which it is largest, as rows of `texts`. */
struct listed {
    size_t i;
    struct attn_sae_feature feature;
    struct attn_firings texts;
    double n_text, n_position; /* where it fires */
};

struct plan {
    struct attn_dictionary *dictionary; /* owns */
    struct attn_location at;
    struct listed *listed; /* [n] in the store */
    size_t n, n_top;
    struct attn_table *texts;  /* owns; those that were among the largest so far; or NULL */
    struct attn_items *again;  /* borrowed; the items, if `around` is shown; or NULL */
    char **around;             /* [rows of `texts`] in the store: "The [keys] to the" */
    struct attn_store *store;  /* owns */
    double n_text, n_position; /* of all items */
};

/* Checks that MODEL has the tensor, and that it is as wide as the vectors of the dictionary: z of a
 * head, or without one of all heads side by side. */
static enum attn_status check_tensor(const struct attn_model *model, const struct plan *plan,
                                     struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_dims dims = attn_config_dims(config, 1);
    const struct attn_location *at = &plan->at;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const size_t n_layer = attn_config_n_whole_layer(config);
    const bool is_z = at->site == ATTN_SITE_Z, is_whole = is_z && at->head == ATTN_ALL_HEADS;
    struct attn_dims own;
    size_t n_head, width;

    if (model->encoder || attn_stack_is_encoder(at->stack))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'features' does not answer about encoders beside a decoder");
    if ((size_t)at->layer >= n_layer)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' has no layer %d, expected 0 to %zu",
                           name.text, at->layer, n_layer - 1);
    own = attn_location_dims(&dims, at);
    n_head = own.n_head; /* of z */
    width = attn_site_width(at->site, &own) * (is_whole ? n_head : 1);
    if ((is_z ? !is_whole && (size_t)at->head >= n_head
              : at->head != ATTN_ALL_HEADS || attn_site_layout(at->site) != ATTN_LAYOUT_VECTOR) ||
        !attn_asked_has(&dims, at))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' has no rows of %s", name.text,
                           attn_dictionary_tensor(at).text);
    if (width != plan->dictionary->d)
        return attn_refuse(err, ATTN_STAGE_MODEL, "'%s' is of %zu numbers, and %s of '%s' has %zu",
                           attn_quote_string(plan->dictionary->path).text, plan->dictionary->d,
                           attn_dictionary_tensor(at).text, name.text, width);
    return ATTN_OK;
}

/* Finds the tensor of the dictionary: that of SITE, if it is given. */
static enum attn_status find_tensor(const struct attn_request *request, const char *site,
                                    struct plan *plan, struct attn_error *err)
{
    const struct attn_dictionary *dictionary = plan->dictionary;
    const struct attn_quote path = attn_quote_string(dictionary->path);
    struct attn_intervention read = ATTN_INTERVENTION_DEFAULT;
    bool is_tensor;

    plan->at = dictionary->at;
    if (!site && plan->at.layer == ATTN_NO_LAYER) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' names %s%s, expected a tensor of a layer",
                    path.text, dictionary->hook ? "" : "no tensor",
                    dictionary->hook ? attn_quote_string(dictionary->hook).text : "");
        return attn_error_hint(err, "`site` z:2 names the one that it reads");
    }
    if (!site)
        return ATTN_OK;
    is_tensor = attn_intervention_read(ATTN_EDIT_ZERO, site, NULL, &read, NULL) == ATTN_OK &&
                read.op == ATTN_EDIT_ZERO && !read.heads.text && read.at.layer >= 0;
    plan->at = read.at;
    attn_intervention_release(&read);
    if (!is_tensor)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`site` '%s' is no tensor of a layer, expected SITE:LAYER[.HEAD]",
                           attn_quote_string(site).text);
    if (dictionary->at.layer != ATTN_NO_LAYER &&
        (dictionary->at.site != plan->at.site ||
         attn_location_compare(&dictionary->at, &plan->at) != 0))
        attn_note(request->on_note, request->user, ATTN_NOTE_FEATURES,
                  "the features of '%s' are of %s", path.text,
                  attn_dictionary_tensor(&dictionary->at).text);
    return ATTN_OK;
}

/* Reads the features of LIST. */
static enum attn_status list_features(const struct attn_number_list *list, struct plan *plan,
                                      struct attn_error *err)
{
    const size_t n = plan->dictionary->n;
    size_t n_listed = 0;
    unsigned char *flags;
    double *column;

    if (!attn_number_list_is_given(list))
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(&plan->store, flags, n, err));
    ATTN_TRY(attn_error_at(
        attn_error_in(attn_number_list_flag(list, "features", n, flags, err), "feature", err),
        ATTN_STAGE_OPTIONS, err));
    for (size_t i = 0; i < n; i++)
        n_listed += flags[i];
    ATTN_TRY(ATTN_STORE_ALLOC(&plan->store, plan->listed, n_listed, err));
    for (size_t i = 0; i < n; i++) {
        if (!flags[i])
            continue;
        ATTN_TRY(ATTN_STORE_ALLOC(&plan->store, column, plan->dictionary->d, err));
        plan->listed[plan->n].i = i;
        plan->listed[plan->n++].feature =
            attn_dictionary_feature(plan->dictionary, i, column, NULL);
    }
    return ATTN_OK;
}

/* Opens what ARGS name. */
static enum attn_status open_plan(const struct attn_procedure_call *call,
                                  const struct features_args *args, struct plan *plan,
                                  struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_rows rows = {.columns = text_columns, .n = N_TEXT_COLUMN};
    const struct attn_dictionary *dictionary;

    if (!args->dictionary)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`sae` is not given, the dictionary of features");
    ATTN_TRY(
        attn_error_at(attn_options_read(call->request, &request, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(call->host, err));
    ATTN_TRY(attn_dictionary_open(args->dictionary, &plan->dictionary, err));
    dictionary = plan->dictionary;
    ATTN_TRY(find_tensor(&request, args->site, plan, err));
    ATTN_TRY(check_tensor(attn_host_model(call->host), plan, err));
    if (args->by != BY_TOKEN && plan->at.site != ATTN_SITE_Z)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' is no sum over heads and keys, expected a dictionary of 'z'",
                           attn_site_name(plan->at.site));
    attn_note(request.on_note, request.user, ATTN_NOTE_FEATURES,
              "%s, %s, %s, %zu numbers, %zu features", dictionary->form, dictionary->kind_name,
              attn_dictionary_tensor(&plan->at).text, dictionary->d, dictionary->n);
    plan->n_top = args->n_top;
    if (args->study && args->study->is_read &&
        attn_items_are_of_file(args->study->items, &(uint64_t){0}))
        plan->again = args->study->items;
    ATTN_TRY(attn_rows_create(&rows, ATTN_TABLE_FEATURES_ITEMS, err));
    plan->texts = rows.table;
    return list_features(&args->features, plan, err);
}

static void close_plan(struct plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        attn_free(plan->listed[i].texts.items);
    attn_table_free(plan->texts);
    attn_store_release(&plan->store);
    attn_dictionary_free(plan->dictionary);
}

/* --- One text --------------------------------------------------------------------------------- */

struct features {
    struct attn_frame frame;
    const struct features_args *args;
    const struct plan *plan; /* borrowed */
    struct attn_number_list queries;
    struct attn_dims own;         /* sizes of the layer */
    size_t n, n_row;              /* positions, and those that count */
    size_t *rows, *row_of;        /* [n_row] their positions; [n] their rows, or SIZE_MAX */
    float *x;                     /* [n_row, d] the tensor there; of a fit, what it becomes */
    double *pre;                  /* [n_row, plan->n] the numbers of the listed features */
    struct attn_firings *firings; /* [n_row]; own their items */
    float *values;                /* [n, G, Ev] those of the heads */
    /* The numbers that are split: at the queries, or for each feature the largest. [.., n_part + 1]
     * what comes from each head, each key or both, NaN: the query does not see it; and the sum of
     * the magnitudes. */
    double *parts;
    size_t *most; /* [plan->n] rows of the largest numbers */
    struct attn_answer answer;
};

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct features *f = state;
    struct attn_frame *frame = &f->frame;

    (void)err;
    f->args = frame->args;
    f->plan = frame->plan;
    f->queries = frame->request.selection.queries;
    if (frame->item)
        f->queries = attn_number_list_or(frame->item->queries, f->queries);
    attn_question_choose_nothing(&frame->request);
    return ATTN_OK;
}

static uint64_t shows(const void *state)
{
    const struct features *f = state;
    const enum by by = f->args->by;

    return (by != BY_TOKEN   ? SHOW_PARTS
            : f->plan->n > 0 ? SHOW_TOKENS | SHOW_PRE
                             : SHOW_TOKENS) |
           (by & BY_HEAD ? SHOW_HEADS : 0) | (by & BY_KEY ? SHOW_KEYS : 0) |
           (f->frame.item && attn_metric_has_right(f->args->answer.metric) ? SHOW_RIGHT : 0);
}

/* Return the number of parts of a number along the keys, and of all. */
static size_t n_key_of(const struct features *f)
{
    return f->args->by & BY_KEY ? f->n : 1;
}

static size_t n_part_of(const struct features *f)
{
    return f->args->by & BY_HEAD ? f->own.n_head * n_key_of(f) : n_key_of(f);
}

/* Returns the parts of feature I of the list in row ROW; NULL: they are not asked. */
static double *parts_of(const struct features *f, size_t row, size_t i)
{
    const bool is_given = attn_number_list_is_given(&f->queries);

    return is_given || f->most[i] == row
               ? f->parts + (is_given ? row * f->plan->n + i : i) * (n_part_of(f) + 1)
               : NULL;
}

/* Adds row R of a pattern, times the values along COLUMN, to PARTS. */
static void add_row(const struct features *f, const struct attn_trace_event *event, size_t r,
                    const double *column, double *parts)
{
    const size_t width = f->own.d_value, n_group = f->own.n_kv_head;
    const size_t head = (size_t)event->at.head, group = head / (f->own.n_head / n_group);
    struct attn_row weights = attn_event_row(event, r);
    struct attn_cells cells;

    while (attn_row_next(&weights, &cells))
        for (size_t c = 0; c < cells.n; c++) {
            const size_t key = cells.first + c;
            const float *value = f->values + (key * n_group + group) * width;
            double *part = &parts[(f->args->by & BY_HEAD ? head * n_key_of(f) : 0) +
                                  (f->args->by & BY_KEY ? key : 0)];
            double x = 0, size = 0;

            for (size_t j = 0; j < width; j++) {
                x += (double)value[j] * column[j];
                size += fabs((double)value[j] * column[j]);
            }
            x *= (double)cells.values[c];
            *part = isnan(*part) ? x : *part + x;
            parts[n_part_of(f)] += size * fabs((double)cells.values[c]);
        }
}

/* Keeps the rows of the tensor that count, and the values, and adds the rows of a pattern, which
 * come after these (attn_trace_fn). */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct features *f = user;
    const int own = f->plan->at.head, head = event->at.head > 0 ? event->at.head : 0;
    const size_t first = own == ATTN_ALL_HEADS ? (size_t)head : 0, n_col = event->n_col;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t position = event->row0 + r, row = f->row_of[position];
        float *to = NULL;

        if (event->at.site == ATTN_SITE_V)
            to = f->values + (position * f->own.n_kv_head + (size_t)head) * n_col;
        else if (row == SIZE_MAX || (own != ATTN_ALL_HEADS && event->at.head != own))
            continue;
        else if (event->at.site == f->plan->at.site)
            to = f->x + row * f->plan->dictionary->d + first * n_col;
        if (to)
            memcpy(to, event->data + r * event->ld, n_col * sizeof *to);
        for (size_t i = 0; i < f->plan->n && !to; i++)
            if (parts_of(f, row, i))
                add_row(f, event, r, f->plan->listed[i].feature.column + first * f->own.d_value,
                        parts_of(f, row, i));
    }
    return ATTN_OK;
}

/* Runs the text up to the layer, for its tensors of SITES. */
static enum attn_status watch(struct features *f, struct attn_site_set sites,
                              struct attn_error *err)
{
    struct attn_location layer = f->plan->at;
    const struct attn_watch asked = {.sites = sites,
                                     .places = {.first = &layer, .last = &layer},
                                     .is_silent = f->parts,
                                     .is_only = true,
                                     .on_event = on_event,
                                     .user = f};

    layer.head = ATTN_ALL_HEADS;
    return attn_watch(f->frame.run, &asked, err);
}

/* Runs the text, keeps the tensor at the positions that count, and finds the numbers of the listed
 * features. */
static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct features *f = state;
    struct attn_frame *frame = &f->frame;
    const size_t d = f->plan->dictionary->d, n = f->plan->n;
    unsigned char *flags = attn_frame_alloc(frame, attn_asked_n(frame->run), 1);

    f->n = attn_asked_n(frame->run);
    f->own = attn_location_dims(attn_asked_dims(frame->run), &f->plan->at);
    f->rows = attn_frame_alloc(frame, f->n, sizeof *f->rows);
    f->row_of = attn_frame_alloc(frame, f->n, sizeof *f->row_of);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_asked_positions(frame->run, &f->queries, "queries", flags, err));
    for (size_t i = 0; i < f->n; i++) {
        f->row_of[i] = flags[i] != 0 ? f->n_row : SIZE_MAX;
        if (f->row_of[i] != SIZE_MAX)
            f->rows[f->n_row++] = i;
    }
    f->x = attn_frame_alloc(frame, f->n_row * d, sizeof *f->x);
    f->pre = attn_frame_alloc(frame, f->n_row * n, sizeof *f->pre);
    f->firings = attn_frame_alloc(frame, f->n_row, sizeof *f->firings);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(watch(f, ATTN_SITES(f->plan->at.site), err));
    for (size_t k = 0; k < f->n_row * n; k++) {
        f->pre[k] = attn_feature_pre(&f->plan->listed[k % n].feature, f->x + k / n * d, d);
        ATTN_TRY(attn_feature_check(&f->plan->listed[k % n].feature, f->pre[k], err));
    }
    return ATTN_OK;
}

static void release(void *state)
{
    struct features *f = state;

    for (size_t i = 0; f->firings && i < f->n_row; i++)
        attn_free(f->firings[i].items);
}

static int by_feature(const void *a, const void *b)
{
    const struct attn_firing *x = a, *y = b;

    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Encodes the rows that count: the MOST largest of each, 0 all. If there is a list, only a
 * dictionary whose features depend on each other, and sorts each row by feature. */
static enum attn_status encode(struct features *f, size_t most, struct attn_error *err)
{
    const struct attn_encoded of = {f->x, f->n_row, most, attn_host_pool(f->frame.host, 1e9),
                                    f->firings};

    if (f->plan->n > 0 && f->plan->dictionary->kind != ATTN_DICTIONARY_TOPK)
        return ATTN_OK;
    ATTN_TRY(attn_dictionary_encode(f->plan->dictionary, &of, err));
    for (size_t row = 0; row < f->n_row && f->plan->n > 0; row++)
        ATTN_SORT(f->firings[row].items, f->firings[row].n, by_feature);
    return ATTN_OK;
}

/* Returns the activation of feature I of the list in row ROW of those that count. */
static float activation_of(const struct features *f, size_t i, size_t row)
{
    const struct listed *listed = &f->plan->listed[i];
    const struct attn_firings *firings = &f->firings[row];
    const struct attn_firing wanted = {.feature = listed->i};
    const bool fires =
        f->plan->dictionary->kind != ATTN_DICTIONARY_TOPK ||
        (firings->n > 0 && bsearch(&wanted, firings->items, firings->n, sizeof wanted, by_feature));

    return fires ? attn_feature_activate(&listed->feature, (float)f->pre[row * f->plan->n + i]) : 0;
}

static struct attn_cell token_of(const struct features *f, size_t position)
{
    return attn_asked_token(f->frame.run, position);
}

/* Appends the row of FEATURE in row ROW of those that count, whose other CELLS are filled. */
static enum attn_status append(struct features *f, size_t row, size_t feature,
                               struct attn_cell *cells, struct attn_error *err)
{
    cells[POSITION] = attn_cell_integer((int64_t)f->rows[row]);
    cells[TOKEN] = token_of(f, f->rows[row]);
    cells[FEATURE] = attn_cell_integer((int64_t)feature);
    return attn_frame_append(&f->frame, cells, err);
}

/* --- The features of each position ------------------------------------------------------------ */

static enum attn_status ask_tokens(struct features *f, struct attn_error *err)
{
    const struct attn_request *request = &f->frame.request;
    const size_t n = f->plan->n;
    struct attn_cell cells[N_COLUMN] = {0};
    size_t n_firing = 0;

    ATTN_TRY(encode(f, n > 0 ? 0 : f->args->n_top, err));
    for (size_t k = 0; k < f->n_row * n; k++) {
        cells[ACTIVATION] = attn_cell_real((double)activation_of(f, k % n, k / n));
        cells[PRE] = attn_cell_real(f->pre[k]);
        ATTN_TRY(append(f, k / n, f->plan->listed[k % n].i, cells, err));
    }
    for (size_t row = 0; row < f->n_row && n == 0; row++)
        for (size_t i = 0; i < f->firings[row].n; i++, n_firing++) {
            cells[ACTIVATION] = attn_cell_real((double)f->firings[row].items[i].activation);
            ATTN_TRY(append(f, row, f->firings[row].items[i].feature, cells, err));
        }
    if (n == 0 && n_firing == 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_FEATURES, "no feature fires");
    return ATTN_OK;
}

/* --- From which head and word ----------------------------------------------------------------- */

/* Refuses a layer whose z is not the sum of PATTERN times values in this run. */
static enum attn_status check_sum(const struct features *f, const struct attn_location *pattern,
                                  struct attn_error *err)
{
    const struct attn_run *run = f->frame.run;
    const struct attn_location *z = &f->plan->at;
    const struct attn_dims *dims = attn_asked_dims(run);
    const struct attn_location v = attn_location_in(dims, z, ATTN_SITE_V);
    const enum attn_attention_kind kind = attn_run_attention(run)[attn_location_index(z)].kind;
    const char *what = f->frame.config->has_attn_gate   ? "a gate is behind it"
                       : kind == ATTN_ATTENTION_LINEAR  ? "attention is linear"
                       : kind == ATTN_ATTENTION_LOWRANK ? "attention is low-rank"
                       : attn_asked_is_changed(run, z)  ? "an intervention changes it"
                       : !attn_asked_has(dims, &v) || !attn_asked_has(dims, pattern)
                           ? "the layer has no values of its own"
                           : NULL;

    return what ? attn_refuse(err, ATTN_STAGE_OPTIONS,
                              "z of layer %d is not pattern times value: %s", z->layer, what)
                : ATTN_OK;
}

/* Appends PARTS, those of feature I of the list in row ROW, and their total. */
static enum attn_status append_parts(struct features *f, size_t row, size_t i, const double *parts,
                                     struct attn_error *err)
{
    static const char *const names[] = {"sum", "bias", "model"};
    const struct listed *listed = &f->plan->listed[i];
    const size_t n_key = n_key_of(f), n_part = n_part_of(f);
    double totals[] = {0, listed->feature.constant, f->pre[row * f->plan->n + i]};
    struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string("cell")};
    struct attn_sum sum = {.size = parts[n_part],
                           .n_rounded = (double)f->n,
                           .compute = attn_model_compute(f->frame.run->model)};
    char what[64];

    for (size_t k = 0; k < n_part; k++) {
        if (isnan(parts[k]))
            continue;
        totals[0] += parts[k];
        cells[HEAD] = attn_cell_integer((int64_t)(k / n_key));
        cells[KEY] = attn_cell_integer((int64_t)(k % n_key));
        cells[KEY_TOKEN] = token_of(f, k % n_key);
        cells[CONTRIBUTION] = attn_cell_real(parts[k]);
        ATTN_TRY(append(f, row, listed->i, cells, err));
    }
    sum.value = totals[0] + totals[1];
    snprintf(what, sizeof what, "parts of feature %zu and its bias", listed->i);
    ATTN_TRY(attn_sum_check(&sum, what, totals[2], err));
    cells[HEAD] = cells[KEY] = cells[KEY_TOKEN] = attn_cell_missing();
    for (size_t k = 0; k < sizeof totals / sizeof *totals; k++) {
        cells[PART] = attn_cell_string(names[k]);
        cells[CONTRIBUTION] = attn_cell_real(totals[k]);
        ATTN_TRY(append(f, row, listed->i, cells, err));
    }
    return ATTN_OK;
}

static enum attn_status ask_parts(struct features *f, struct attn_error *err)
{
    const struct attn_run *run = f->frame.run;
    const bool is_dropped = attn_run_attention(run)[0].dropout > 0;
    const struct attn_location pattern =
        attn_location_in(attn_asked_dims(run), &f->plan->at,
                         is_dropped ? ATTN_SITE_PATTERN_DROPPED : ATTN_SITE_PATTERN);
    const size_t n = f->plan->n, n_part = n_part_of(f);
    const size_t n_asked = n * (attn_number_list_is_given(&f->queries) ? f->n_row : 1);

    ATTN_TRY(check_sum(f, &pattern, err));
    f->most = attn_frame_alloc(&f->frame, n, sizeof *f->most);
    f->parts = attn_frame_alloc(&f->frame, n_asked, (n_part + 1) * sizeof *f->parts);
    f->values =
        attn_frame_alloc(&f->frame, f->n * f->own.n_kv_head, f->own.d_value * sizeof *f->values);
    ATTN_TRY(attn_frame_memory(&f->frame, err));
    for (size_t k = 0; k < f->n_row * n; k++)
        if (f->pre[k] > f->pre[f->most[k % n] * n + k % n])
            f->most[k % n] = k / n;
    for (size_t k = 0; k < n_asked * (n_part + 1); k++)
        f->parts[k] = k % (n_part + 1) < n_part ? (double)NAN : 0;
    ATTN_TRY(watch(f, ATTN_SITES(ATTN_SITE_V, pattern.site), err));
    for (size_t k = 0; k < f->n_row * n; k++)
        if (parts_of(f, k / n, k % n))
            ATTN_TRY(append_parts(f, k / n, k % n, parts_of(f, k / n, k % n), err));
    return ATTN_OK;
}

static enum attn_status ask_rows(void *state, struct attn_error *err)
{
    struct features *f = state;

    return f->args->by == BY_TOKEN ? ask_tokens(f, err) : ask_parts(f, err);
}

/* --- Does it fit? ----------------------------------------------------------------------------- */

enum { RECONSTRUCTION, ZERO, N_TRIAL };

/* Appends the edits that replace the rows that count (attn_part_edit_fn). */
static enum attn_status add_edits(void *user, size_t trial, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct features *f = user;
    const size_t d = f->plan->dictionary->d;

    for (size_t i = 0; i < f->n_row; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        edit.at = f->plan->at;
        if (edit.at.site == ATTN_SITE_Z && edit.at.head == ATTN_ALL_HEADS)
            edit.at.head = ATTN_HEADS_TOGETHER;
        edit.row0 = f->rows[i];
        edit.row1 = f->rows[i] + 1;
        edit.col1 = d;
        edit.op = trial == ZERO ? ATTN_EDIT_ZERO : ATTN_EDIT_REPLACE;
        edit.data = f->x + i * d;
        edit.ld = d;
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    return ATTN_OK;
}

/* Makes the rows that count those of their features, and fills the cells L0 to COSINE of ROW. */
static enum attn_status rebuild(struct features *f, struct attn_cell *row, struct attn_error *err)
{
    const size_t d = f->plan->dictionary->d;
    double *mean = attn_frame_alloc(&f->frame, d, sizeof *mean);
    double *made = attn_frame_alloc(&f->frame, d, sizeof *made);
    double left = 0, all = 0, cosine = 0, l0 = 0;
    const double n = (double)f->n_row;

    ATTN_TRY(attn_frame_memory(&f->frame, err));
    for (size_t k = 0; k < f->n_row * d; k++)
        mean[k % d] += (double)f->x[k] / n;
    ATTN_TRY(encode(f, 0, err));
    for (size_t i = 0; i < f->n_row; i++) {
        double along = 0, square = 0, own_square = 0;

        attn_dictionary_decode(f->plan->dictionary, &f->firings[i], made);
        for (size_t j = 0; j < d; j++) {
            float *x = &f->x[i * d + j];
            const double own =
                (double)*x +
                (f->plan->dictionary->is_centered ? (double)f->plan->dictionary->shift[j] : 0);

            *x = (float)made[j];
            left += (own - made[j]) * (own - made[j]);
            all += (own - mean[j]) * (own - mean[j]);
            along += own * made[j];
            square += made[j] * made[j];
            own_square += own * own;
        }
        cosine += along / sqrt(square * own_square) / n;
        l0 += (double)f->firings[i].n / n;
    }
    row[L0] = attn_cell_real(l0);
    row[FVE] = f->n_row > 1 && all > 0 ? attn_cell_real(1 - left / all) : attn_cell_missing();
    row[COSINE] = attn_cell_real_or_missing(cosine);
    return ATTN_OK;
}

static enum attn_status append_fit(struct features *f, const char *part, struct attn_cell *row,
                                   const struct attn_reply *reply, struct attn_error *err)
{
    row[F_PART] = attn_cell_string(part);
    attn_reply_put(&f->answer, &f->frame.trials.base, reply, &row[VALUE]);
    return attn_frame_append(&f->frame, row, err);
}

/* Lets ASKED be ce, if neither it nor OWN, that of an item, has a target. */
static void choose_metric(struct attn_answer_args *asked, const struct attn_answer_args *own)
{
    if (!asked->target && !asked->target_id && !own->target && !own->target_id &&
        asked->metric == ATTN_ANSWER_AUTO)
        asked->metric = ATTN_ANSWER_CE;
}

static enum attn_status ask_fit(void *state, struct attn_error *err)
{
    struct features *f = state;
    struct attn_trials *trials = &f->frame.trials;
    struct attn_answer_args asked = f->args->answer;
    struct attn_trial_outcome outcomes[N_TRIAL];
    struct attn_cell rows[1 + N_TRIAL][N_FIT_COLUMN] = {0};

    choose_metric(&asked, &asked);
    ATTN_TRY(attn_frame_find_answer(&f->frame, &asked, &f->answer, err));
    ATTN_TRY(attn_trials_start(f->frame.run, &f->answer, f->plan->at.site, trials, err));
    ATTN_TRY(rebuild(f, rows[0], err));
    ATTN_TRY(attn_parts_try(trials, N_TRIAL, add_edits, f, outcomes, err));
    ATTN_TRY(append_fit(f, "base", rows[1], &trials->base, err));
    ATTN_TRY(append_fit(f, "reconstruction", rows[0], &outcomes[RECONSTRUCTION].reply, err));
    ATTN_TRY(append_fit(f, "zero", rows[2], &outcomes[ZERO].reply, err));
    attn_frame_report_base(&f->frame, &f->answer, &trials->base);
    return ATTN_OK;
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_answer_args *asked = &((struct features_args *)args)->answer;

    (void)request;
    choose_metric(asked, &item->answer);
    return attn_item_answer(item, asked, err);
}

/* --- The texts of many ------------------------------------------------------------------------ */

/* Appends for each feature its largest activation, and reports where it fires. */
static enum attn_status ask_text(void *state, struct attn_error *err)
{
    struct features *f = state;
    double *counts = attn_frame_alloc(&f->frame, f->plan->n + 1, sizeof *counts);

    ATTN_TRY(attn_frame_memory(&f->frame, err));
    ATTN_TRY(encode(f, 0, err));
    counts[f->plan->n] = (double)f->n_row;
    for (size_t i = 0; i < f->plan->n; i++) {
        struct attn_cell cells[N_TEXT_COLUMN] = {
            [T_FEATURE] = attn_cell_integer((int64_t)f->plan->listed[i].i),
            [T_ACTIVATION] = attn_cell_real(0)};

        for (size_t row = 0; row < f->n_row; row++) {
            const double activation = (double)activation_of(f, i, row);

            counts[i] += activation > 0;
            if (activation <= cells[T_ACTIVATION].real)
                continue;
            cells[T_ACTIVATION] = attn_cell_real(activation);
            cells[T_POSITION] = attn_cell_integer((int64_t)f->rows[row]);
            cells[T_TOKEN] = token_of(f, f->rows[row]);
        }
        ATTN_TRY(attn_frame_append(&f->frame, cells, err));
    }
    return attn_frame_report_more(&f->frame, counts, f->plan->n + 1, err);
}

/* Adds the answer about an item (struct attn_study_gather): the row of each feature, if it is among
 * those that stay. */
static enum attn_status add_text(void *user, const struct attn_item_result *result,
                                 struct attn_error *err)
{
    struct plan *plan = user;
    struct attn_rows rows = {.columns = text_columns, .n = N_TEXT_COLUMN, .table = plan->texts};
    const double *counts = result->answer.n_beside == plan->n + 1 ? result->answer.beside : NULL;
    const struct attn_item *item = result->item;
    char number[24];

    if (attn_table_n_row(result->answer.rows) != plan->n)
        return ATTN_FORMAT;
    snprintf(number, sizeof number, "%zu", item->number);
    plan->n_text++;
    plan->n_position += counts ? counts[plan->n] : 0;
    for (size_t i = 0; i < plan->n; i++) {
        struct listed *listed = &plan->listed[i];
        struct attn_firings *texts = &listed->texts;
        struct attn_firing firing = {.feature = attn_table_n_row(plan->texts)};
        struct attn_cell cells[N_TEXT_COLUMN];

        for (size_t c = 0; c < N_TEXT_COLUMN; c++)
            cells[c] = attn_table_cell(result->answer.rows, i,
                                       attn_table_find(result->answer.rows, text_columns[c].name));
        if (cells[T_ACTIVATION].type != ATTN_VALUE_REAL)
            return ATTN_FORMAT;
        firing.activation = (float)cells[T_ACTIVATION].real;
        listed->n_text += firing.activation > 0;
        listed->n_position += counts ? counts[i] : 0;
        if (firing.activation <= texts->least)
            continue;
        cells[RANK] = attn_cell_integer((int64_t)item->number); /* until the end */
        cells[ID] = item->id ? attn_cell_text(item->id, item->n_id) : attn_cell_string(number);
        ATTN_TRY(attn_rows_append(&rows, cells, err));
        ATTN_TRY(attn_firings_add(texts, plan->n_top, firing, err));
    }
    return ATTN_OK;
}

/* Copies the words around the token of ROW from TEXT to plan->around. */
static enum attn_status keep_around(struct plan *plan, size_t row,
                                    const struct attn_card_text *text, struct attn_error *err)
{
    enum { MOST_ASIDE = 12 }; /* width on either side, and tokens before */
    const size_t at = (size_t)attn_table_cell(plan->texts, row, T_POSITION).integer;
    size_t first = at > MOST_ASIDE ? at - MOST_ASIDE : 0, last = at, n, size;
    const char *begin, *word, *end;

    if (at >= text->n_token)
        return attn_refuse(err, ATTN_STAGE_INPUT, "the items changed while they were read");
    word = attn_text_trim(attn_card_token(text, at, &n), &n);
    begin = attn_card_token(text, first, &size);
    while (first < at && attn_text_width(begin, (size_t)(word - begin)) > MOST_ASIDE)
        begin = attn_card_token(text, ++first, &size);
    end = text->tokens.data + text->ends[at];
    while (++last < text->n_token &&
           attn_text_width(word + n, (size_t)(text->tokens.data + text->ends[last] - word) - n) <=
               MOST_ASIDE)
        end = text->tokens.data + text->ends[last];
    begin += begin < word && *begin == ' ';
    size = (size_t)(end - begin) + sizeof "[]";
    ATTN_TRY(ATTN_STORE_ALLOC(&plan->store, plan->around[row], size, err));
    snprintf(plan->around[row], size, "%.*s[%.*s]%.*s", (int)(word - begin), begin, (int)n, word,
             (int)((size_t)(end - word) - n), word + n);
    return ATTN_OK;
}

/* Reads the items of plan->texts a second time, and fills plan->around. */
static enum attn_status read_again(struct plan *plan, struct attn_stream *stream,
                                   struct attn_error *err)
{
    const size_t n = attn_table_n_row(plan->texts);
    enum attn_status status = attn_items_rewind(plan->again, err);

    ATTN_THEN(status, ATTN_STORE_ALLOC(&plan->store, plan->around, n, err));
    for (size_t row = 0; status == ATTN_OK && row < n;) {
        const int64_t number = attn_table_cell(plan->texts, row, RANK).integer;
        struct attn_card_text text = {0};
        struct attn_item *item = NULL;
        struct attn_run *run = NULL;

        status = attn_stream_again(stream, (uint64_t)number, NULL, &item, &run, err);
        ATTN_THEN(status, attn_card_text_read(run, item, true, &text, err));
        while (status == ATTN_OK && row < n &&
               attn_table_cell(plan->texts, row, RANK).integer == number)
            status = keep_around(plan, row++, &text, err);
        attn_card_text_release(&text);
        attn_run_free(run);
        attn_item_free(item);
    }
    return status;
}

/* Creates the table of all items (struct attn_study_gather). */
static enum attn_status tabulate(void *user, struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err)
{
    struct plan *plan = user;
    struct attn_rows rows = {
        .columns = text_columns, .n = N_TEXT_COLUMN, .hidden[AROUND] = !plan->again};
    enum attn_status status = attn_rows_create(&rows, ATTN_TABLE_FEATURES_ITEMS, err);

    if (plan->again)
        ATTN_THEN(status, read_again(plan, stream, err));
    for (size_t i = 0; i < plan->n; i++) {
        struct attn_firings *texts = &plan->listed[i].texts;

        attn_firings_sort(texts, plan->n_top);
        for (size_t k = 0; status == ATTN_OK && k < texts->n; k++) {
            struct attn_cell cells[N_TEXT_COLUMN];

            for (size_t c = 0; c < N_TEXT_COLUMN; c++)
                cells[c] = attn_table_cell(plan->texts, texts->items[k].feature, c);
            cells[RANK] = attn_cell_integer((int64_t)k + 1);
            if (plan->again)
                cells[AROUND] = attn_cell_string(plan->around[texts->items[k].feature]);
            status = attn_rows_append(&rows, cells, err);
        }
    }
    ATTN_RETURN_MADE(status, table, rows.table, attn_table_free);
}

/* --- The procedures --------------------------------------------------------------------------- */

#define SHARED                                                                                     \
    .question = &attn_question_features, .state_size = sizeof(struct features),                    \
    .items.study = offsetof(struct features_args, study), .choose = choose, .prepare = prepare,    \
    .shows = shows, .release = release, .perform = perform

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure of_rows = {SHARED, .table.name = ATTN_TABLE_FEATURES,
                                              ATTN_PROCEDURE_TABLE(columns, views),
                                              .ask = ask_rows},
                                   of_fit = {SHARED,
                                             .table.name = ATTN_TABLE_FEATURES_FIT,
                                             ATTN_PROCEDURE_COLUMNS(fit_columns),
                                             .needs_output = true,
                                             .items.take_item = take_item,
                                             .ask = ask_fit},
                                   of_texts = {SHARED, .table.name = ATTN_TABLE_FEATURES_ITEMS,
                                               ATTN_PROCEDURE_COLUMNS(text_columns),
                                               .items.is_listed = true, .ask = ask_text};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct features_args *args = given;

    return args->has_fit ? &of_fit : args->study ? &of_texts : &of_rows;
}

/* Opens the dictionary, and performs CALL with it. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct features_args args = {.size = sizeof args, .n_top = DEFAULT_TOP};
    struct plan plan = {.n_top = 0};
    const struct attn_study_gather gather = {add_text, tabulate, &plan};
    struct attn_procedure own;
    enum attn_status status =
        attn_error_at(attn_options_read(call->given, &args, err), ATTN_STAGE_OPTIONS, err);

    own = *choose_procedure(&args);
    own.plan = &plan;
    if (own.items.is_listed)
        own.items.gather = &gather;
    ATTN_THEN(status, open_plan(call, &args, &plan, err));
    ATTN_THEN(status, attn_procedure_perform(&own, call, err));
    for (size_t i = 0; status == ATTN_OK && plan.n_text > 0 && i < plan.n; i++)
        attn_note(call->request->on_note, call->request->user, ATTN_NOTE_FEATURES,
                  "feature %zu fires in %.1f%% of the texts, at %.2f%% of their positions",
                  plan.listed[i].i, 100 * plan.listed[i].n_text / plan.n_text,
                  100 * plan.listed[i].n_position / fmax(plan.n_position, 1));
    close_plan(&plan);
    return status;
}
