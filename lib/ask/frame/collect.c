#include "frame/collect_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "formats/float_text.h"
#include "frame/frame.h"
#include "input/position.h"
#include "model/model_internal.h"
#include "predict/class_label.h"
#include "run/run_internal.h"
#include "stream/each_file.h"
#include "stream/items_internal.h"
#include "stream/record_arrays.h"
#include "stream/records_internal.h"
#include "trace/places_extra.h"
#include "trace/trace_internal.h"

#include <string.h>

ATTN_DEFAULTS(attn_collect_args, .size = sizeof(struct attn_collect_args))

enum {
    POSITION,
    STACK, /* attn_location_put fills it with the next two */
    LAYER,
    HEAD,
    QUERY,
    KEY,
    QUERY_TOKEN,
    KEY_TOKEN,
    WEIGHT,
    END,
    RANK,
    TOKEN,
    TOKEN_ID,
    LABEL,
    SCORE,
    PROB,
    TEXT,
    LOG_PROB,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_PLACES = 2,
    SHOW_CELLS = 4,
    SHOW_TOKENS = 8, /* `top` are tokens, or labels of the model */
    SHOW_SPANS = 16,
    SHOW_LABELS = 32, /* `top` are labels of the request */
    SHOW_SCORES = 64, /* for models without probabilities */
    SHOW_PROBS = 128,
    SHOW_NEXT = 256
};

static const struct attn_column columns[N_COLUMN] = {
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_PLACES),
    /* cells of patterns, as in a run's tidy CSV */
    ATTN_COLUMNS_HEAD(STACK, SHOW_CELLS),
    [QUERY] = ATTN_COLUMN_OF(QUERY, "query", INTEGER, .shown = SHOW_CELLS),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER, .shown = SHOW_CELLS),
    [QUERY_TOKEN] = ATTN_COLUMN_OF(TOKEN, "query_token", TEXT, .shown = SHOW_PLACES | SHOW_CELLS),
    [KEY_TOKEN] = ATTN_COLUMN_OF(TOKEN, "key_token", TEXT, .shown = SHOW_CELLS),
    [WEIGHT] = ATTN_COLUMN("weight", REAL, .range = ATTN_RANGE_SHARE, .shown = SHOW_CELLS,
                           .help = "weight of the query on the key, 0 to 1"),
    /* predictions, as those of a run */
    [END] = ATTN_COLUMN("end", INTEGER, .shown = SHOW_SPANS, .help = "last position of the span"),
    [RANK] = ATTN_COLUMN("rank", INTEGER, .shown = SHOW_TOKENS | SHOW_SPANS | SHOW_LABELS,
                         .help = "place among the most probable, from 1"),
    [TOKEN] = ATTN_COLUMN("token", TEXT, .shown = SHOW_TOKENS),
    [TOKEN_ID] =
        ATTN_COLUMN("token_id", INTEGER, .shown = SHOW_TOKENS, .help = "id of the next token"),
    [LABEL] =
        ATTN_COLUMN("label", TEXT, .shown = SHOW_LABELS, .help = "the label, or the other text"),
    [SCORE] = ATTN_COLUMN_REAL("score", 6, NULL, SIGNED, .shown = SHOW_SCORES | SHOW_LABELS,
                               .help = "the logit; of texts that are compared the cosine, -1 to 1"),
    [PROB] = ATTN_COLUMN_REAL("prob", 6, NULL, SHARE, .shown = SHOW_PROBS,
                              .help = "probability, 0 to 1"),
    [TEXT] = ATTN_COLUMN("text", TEXT, .shown = SHOW_SPANS | SHOW_NEXT,
                         .help = "text of the span, or the continuation"),
    [LOG_PROB] = ATTN_COLUMN_REAL("log_prob", 6, "nats", SIGNED, .shown = SHOW_NEXT,
                                  .help = "ln of the probability of the text, at most 0"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct collecting {
    struct attn_frame frame;
    const struct attn_collect_args *args;
    struct attn_request_predict predict;
    struct attn_records *arrays;  /* owns; or NULL */
    struct attn_item_sides sides; /* of `mean_by` */
    size_t n_row;                 /* rows of the first item; 0 before that item */
    bool is_each;                 /* items may have a row for each token or span */
    bool has_records;             /* `each` gets a record for each item, without rows */
    bool has_cells;               /* rows are the cells of patterns */
    bool has_next;                /* rows of continuations have columns */
    bool is_asked;                /* predictions are requested; items may have continuations */
};

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_collect_args *args = given;
    const struct attn_study_args *study = args->study;
    const size_t n = args->npz ? strlen(args->npz) : 0;
    size_t shard, n_shard;

    if (!attn_is_given(study, "items", err))
        return ATTN_INVALID;
    if (study->group_by || study->paired || study->n_bootstrap > 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`group_by`, `paired` and `bootstrap` are of means, and each item has "
            "its own rows");
    if (!study->each && !args->npz)
        return attn_error_set(err, ATTN_INVALID, "neither `each` nor `npz` is given");
    if (args->npz && (n < 5 || (strcmp(args->npz + n - 4, ".npz") != 0 &&
                                strcmp(args->npz + n - 4, ".npy") != 0)))
        return attn_error_set(err, ATTN_INVALID, "`npz` is '%s', expected FILE.npz or FILE.npy",
                              attn_quote_string(args->npz).text);
    attn_items_shard(study->items, &shard, &n_shard);
    if (args->mean_by && n_shard > 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`mean_by` is of all items, and the means of shards cannot be joined");
    if (args->mean_by && !args->npz)
        return attn_error_set(err, ATTN_INVALID, "`mean_by` needs `npz`");
    return ATTN_OK;
}

/* Returns true if lines of `each` are records, in which a text has one line. */
static bool has_records(const struct attn_study_args *study)
{
    return study->each && study->each->form == ATTN_EACH_RECORDS;
}

/* Returns true if the rows of the items are cells of patterns: `sites` are given, and nothing else
 * takes them. */
static bool has_cells(const struct attn_collect_args *args, const struct attn_request *request)
{
    return request->selection.sites && !args->npz && args->study->each && !has_records(args->study);
}

/* Checks that rows of cells are those of the pattern, and nothing else. */
static enum attn_status check_cells(const struct collecting *collecting, struct attn_site_set sites,
                                    struct attn_error *err)
{
    if (!attn_sites_are_equal(sites, ATTN_SITES(ATTN_SITE_PATTERN)))
        return attn_error_of(attn_error_set(err, ATTN_INVALID,
                                            "rows hold the cells of `sites` pattern alone; lines "
                                            "of JSON and .npz hold every tensor"),
                             "sites", err);
    if (attn_predict_is_asked(&collecting->predict))
        return attn_error_set(err, ATTN_INVALID,
                              "rows hold predictions or the cells of `sites`, and both are asked "
                              "for; lines of JSON hold both");
    return ATTN_OK;
}

/* Checks that the sites fit their output: in an array the rows of one position, and maps of
 * pictures, have the same shape in all items; of sites with a column for each key an archive has
 * a member for each item. */
static enum attn_status check_sites(const struct collecting *collecting, struct attn_error *err)
{
    const char *list = collecting->frame.request.selection.sites, *array = collecting->args->npz;
    const bool is_file = array && strcmp(array + strlen(array) - 4, ".npy") == 0;
    struct attn_site_set sites = {0};
    size_t n = 0;

    if (array && !list)
        return attn_error_set(err, ATTN_INVALID, "`npz` needs `sites`");
    if (!list)
        return ATTN_OK;
    ATTN_TRY(attn_error_of(attn_sites_parse(list, &sites, err), "sites", err));
    if (collecting->has_cells)
        return check_cells(collecting, sites, err);
    for (int site = 0; array && site < ATTN_N_SITE; site++) {
        if (!attn_sites_have(sites, site))
            continue;
        n++;
        if ((is_file || collecting->args->mean_by) && attn_record_site_has_keys(site))
            return attn_error_of(
                attn_error_set(err, ATTN_INVALID,
                               "'%s' has a column for each key, and texts of different lengths "
                               "make no array of it; FILE.npz has a member for each item",
                               attn_site_name((enum attn_site)site)),
                "sites", err);
    }
    if (n > 1 && is_file)
        return attn_error_set(err, ATTN_INVALID,
                              "`sites` are %zu, and '%s' holds one array: FILE.npz holds several",
                              n, attn_quote_string(array).text);
    return ATTN_OK;
}

/* Returns true if texts have a row for each token or span. */
static bool is_each_row(const struct attn_config *config,
                        const struct attn_request_predict *predict)
{
    return predict->top > 0 &&
           (config->task == ATTN_TASK_TOKENS || config->task == ATTN_TASK_SPANS);
}

/* Sets the contents of records. */
static void describe_records(struct collecting *collecting)
{
    struct attn_records_form *form = attn_stream_records(collecting->frame.stream);

    form->has_predictions = attn_predict_is_asked(&collecting->predict);
    form->has_tensors = collecting->frame.request.selection.sites && !collecting->args->npz;
}

/* Checks that something is asked of the items. Records hold their ids and tokens at least, which no
 * option of a run changes. */
static enum attn_status check_asked(const struct collecting *collecting, struct attn_error *err)
{
    const struct attn_request *request = &collecting->frame.request;
    const char *idle = collecting->args->at.text                                   ? "`at`"
                       : request->edits.n > 0 || request->edits.n_intervention > 0 ? "an edit"
                       : request->attention.layers ||
                               (request->attention.change && request->attention.change->parts)
                           ? "`attention`"
                       : attn_host_model(collecting->frame.host)->compute != ATTN_COMPUTE_F32
                           ? "`compute`"
                           : NULL;

    if (collecting->is_asked || collecting->args->npz || request->selection.sites ||
        (collecting->has_records && !idle))
        return ATTN_OK;
    if (collecting->has_records)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "records hold ids and tokens here, which %s does not change: expected "
                           "`top`, `next`, or `sites`",
                           idle);
    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "nothing is asked of the items: expected `top`, `next`, or `sites`");
    return attn_error_hint(err, "score, heads, lens, attribute and others take items, too");
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct collecting *collecting = state;
    struct attn_frame *frame = &collecting->frame;
    const struct attn_item *first;

    collecting->args = frame->args;
    collecting->predict = frame->request.predict;
    if (collecting->predict.answer)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "items have no metric here: score has it");
    ATTN_TRY(attn_host_check_model(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    collecting->has_records = has_records(collecting->args->study);
    collecting->has_cells = has_cells(collecting->args, &frame->request);
    ATTN_TRY(attn_stream_first(frame->stream, &first, err));
    collecting->has_next =
        collecting->predict.n_next + collecting->predict.n_next_ids > 0 || (first && first->next);
    collecting->is_asked = collecting->predict.top > 0 || collecting->has_next;
    ATTN_TRY(attn_error_at(check_sites(collecting, err), ATTN_STAGE_OPTIONS, err));
    if (collecting->has_records)
        describe_records(collecting);
    ATTN_TRY(check_asked(collecting, err));
    collecting->is_each =
        is_each_row(frame->config, &collecting->predict) && !collecting->args->npz;
    return ATTN_OK;
}

static uint64_t shows(const void *state)
{
    const struct collecting *collecting = state;
    const struct attn_model *model = attn_host_model(collecting->frame.host);
    const struct attn_config *config = collecting->frame.config;
    uint64_t shown = collecting->has_next ? SHOW_NEXT : 0;

    if (collecting->has_cells)
        return SHOW_CELLS;
    if (!collecting->is_asked || !attn_model_is_classifier(model))
        shown |= SHOW_PLACES;
    if (collecting->predict.top == 0)
        return shown;
    shown |= config->label_kind >= ATTN_LABELS_SCORE ? SHOW_SCORES : SHOW_PROBS;
    return shown | (model->label_rows                 ? SHOW_LABELS
                    : config->task == ATTN_TASK_SPANS ? SHOW_SPANS
                                                      : SHOW_TOKENS);
}

/* Returns the position at which ITEM is read, as written: its own, or that of the arguments. If it
 * is not given, it is the last position. */
static struct attn_number_list find_spec(const struct collecting *collecting,
                                         const struct attn_item *item)
{
    const struct attn_number_list at = attn_number_list_or(
        item->answer.at, attn_number_list_or(item->queries, collecting->args->at));
    const struct attn_number_list *place = at.text ? attn_item_place(item, at.text) : NULL;

    return place && at.n == 0 ? *place : at;
}

/* Reads the next item, and sets the row that is predicted after (attn_next_fn). */
static enum attn_status next_item(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct collecting *collecting = user;

    ATTN_TRY(attn_stream_next(collecting->frame.stream, item, err));
    if (*item)
        (*item)->queries = find_spec(collecting, *item);
    return ATTN_OK;
}

/* Sets the position I of the text, or of the source, and its token. */
static void put_token(struct attn_cell *position, struct attn_cell *token,
                      const struct attn_labels *labels, bool is_source, size_t i)
{
    const char *const *tokens = is_source ? labels->source_tokens : labels->tokens;

    *position = attn_cell_integer((int64_t)i);
    *token = tokens ? attn_cell_text(tokens[i], (is_source ? labels->source_token_sizes
                                                           : labels->token_sizes)[i])
                    : attn_cell_missing();
}

/* Appends a row for each of the most probable tokens, labels or spans after POSITION, which PLACE
 * [N_COLUMN] names; all if POSITION is SIZE_MAX or labels belong to the whole text. */
static enum attn_status append_top(const struct attn_item_result *result, size_t position,
                                   const struct attn_cell *place, const struct attn_rows *rows,
                                   struct attn_error *err)
{
    const struct attn_predictions *found = &result->predictions;
    struct attn_cell row[N_COLUMN];
    int64_t rank = 0;

    memcpy(row, place, sizeof row);
    for (size_t i = 0; i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];

        if (position != SIZE_MAX && top->position != position && !found->are_of_whole)
            continue;
        if (position == SIZE_MAX)
            put_token(&row[POSITION], &row[QUERY_TOKEN], result->labels, false, top->position);
        rank = i > 0 && !found->are_spans && top->position != found->top[i - 1].position ? 1
                                                                                         : rank + 1;
        row[RANK] = attn_cell_integer(rank);
        row[TOKEN] = row[LABEL] = row[TEXT] = attn_cell_text(top->token, top->token_size);
        row[TOKEN_ID] = row[END] = attn_cell_integer(top->id);
        row[SCORE] = attn_cell_real(top->score);
        row[PROB] = attn_cell_real(top->prob);
        if (!found->are_spans)
            row[TEXT] = attn_cell_missing();
        ATTN_TRY(attn_rows_append(rows, row, err));
    }
    return ATTN_OK;
}

static enum attn_status append_next(const struct attn_predictions *found, size_t position,
                                    struct attn_cell *row, const struct attn_rows *rows,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < found->n_next; i++) {
        const struct attn_next *next = &found->next[i];

        if (next->position != position && !found->are_of_whole)
            continue;
        row[TEXT] = attn_cell_text(next->text, strlen(next->text));
        row[LOG_PROB] = attn_cell_real(next->log_prob);
        ATTN_TRY(attn_rows_append(rows, row, err));
    }
    return ATTN_OK;
}

/* Returns true if ITEM has a row for each of its tokens or spans. */
static bool has_row_each(const struct collecting *collecting, const struct attn_item *item)
{
    const struct attn_number_list at = find_spec(collecting, item);

    return collecting->is_each && !attn_number_list_is_given(&at) && !item->next &&
           collecting->predict.n_next + collecting->predict.n_next_ids == 0;
}

/* Finds the position at which ITEM is read; the default is an encoder's mask token, or the last
 * position. */
static enum attn_status find_position(const struct collecting *collecting,
                                      const struct attn_item *item,
                                      const struct attn_item_result *result, size_t *position,
                                      struct attn_error *err)
{
    const struct attn_predictions *found = &result->predictions;
    size_t last;

    if (attn_number_list_is_given(&item->queries))
        return attn_position_find(&result->run->text, "at", &item->queries, position, err);
    last = *position = result->n_token - 1;
    if (found->n_top > 0)
        *position = found->top[0].position, last = found->top[found->n_top - 1].position;
    else if (found->n_next > 0)
        *position = found->next[0].position, last = found->next[found->n_next - 1].position;
    if (last != *position)
        return attn_error_set(err, ATTN_INVALID, "it has several %s, and no `at` names one",
                              collecting->frame.config->task == ATTN_TASK_VOCABULARY ? "masks"
                              : found->are_spans                                     ? "spans"
                                                 : "tokens with a label");
    return ATTN_OK;
}

/* Returns the number that the shortest text of WEIGHT, a float32, is as a double: rows of items
 * have doubles, with all digits. */
static double shortest(float weight)
{
    char text[ATTN_FLOAT_TEXT_SIZE];
    double number = (double)weight;

    attn_parse_double(text, attn_format_float(weight, text), &number);
    return number;
}

/* Appends the visible cells of the selected pattern of the layer AT, WEIGHTS. */
static enum attn_status append_layer(const struct attn_item_result *result, struct attn_location at,
                                     const float *weights, struct attn_cell *row,
                                     const struct attn_rows *rows, struct attn_error *err)
{
    const struct attn_labels *labels = result->labels;
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const bool is_source = attn_stack_is_encoder(at.stack) && dims->encoder;
    const bool has_source_keys = is_source || attn_location_is_cross(dims, &at);
    enum attn_status status = ATTN_OK;
    size_t shape[3], i = 0;

    attn_selection_shape(labels->selection, &at, shape);
    attn_location_put(&at, &row[STACK]);
    for (at.head = 0; i < shape[0] * shape[1] * shape[2]; at.head++) {
        if (!attn_selection_has_head(labels->selection, &at))
            continue;
        row[HEAD] = attn_cell_integer(at.head);
        for (size_t query = 0, end = i + shape[1] * shape[2]; i < end; query++) {
            if (!is_source && !attn_selection_has_query(labels->selection, at.stack, query))
                continue;
            put_token(&row[QUERY], &row[QUERY_TOKEN], labels, is_source, query);
            for (size_t key = 0; key < shape[2]; key++, i++) {
                if (status != ATTN_OK || !attn_capture_has_cell(result->capture, &at, i))
                    continue;
                put_token(&row[KEY], &row[KEY_TOKEN], labels, has_source_keys, key);
                row[WEIGHT] = attn_cell_real(shortest(weights[i]));
                status = attn_rows_append(rows, row, err);
            }
        }
    }
    return status;
}

/* Appends a row for each visible cell of the selected patterns. */
static enum attn_status append_cells(const struct attn_item_result *result, struct attn_cell *row,
                                     const struct attn_rows *rows, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(result->labels->selection);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(dims, &at)) {
        const float *weights = attn_capture_tensor(result->capture, &at);

        if (weights)
            ATTN_TRY(append_layer(result, at, weights, row, rows, err));
    }
    return ATTN_OK;
}

/* Appends the rows of an item (attn_answer_fn). */
static enum attn_status find(void *user, struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_item *item = result->item;
    struct collecting *collecting = user;
    struct attn_rows rows = collecting->frame.rows;
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    size_t position = SIZE_MAX, n_row;

    if (collecting->has_records && !collecting->arrays)
        return ATTN_OK; /* a record has no rows */
    if (collecting->has_cells) {
        ATTN_TRY(attn_rows_begin(&rows, ATTN_TABLE_RUN_ITEMS, &result->answer.rows, err));
        return append_cells(result, row, &rows, err);
    }
    if (result->predictions.n_next > 0 && !collecting->has_next)
        return attn_error_set(err, ATTN_INVALID,
                              "it has `next`, and the first item, whose columns all rows have, "
                              "lacks it");
    if (!has_row_each(collecting, item)) {
        ATTN_TRY(find_position(collecting, item, result, &position, err));
        if (!result->predictions.are_of_whole)
            put_token(&row[POSITION], &row[QUERY_TOKEN], result->labels, false, position);
    }
    ATTN_TRY(attn_rows_begin(&rows, ATTN_TABLE_RUN_ITEMS, &result->answer.rows, err));
    ATTN_TRY(append_top(result, position, row, &rows, err));
    ATTN_TRY(append_next(&result->predictions, position, row, &rows, err));
    if (!collecting->is_asked)
        ATTN_TRY(attn_rows_append(&rows, row, err));
    n_row = attn_table_n_row(result->answer.rows);
    if (!collecting->is_each && collecting->n_row > 0 && n_row != collecting->n_row)
        return attn_error_set(err, ATTN_INVALID,
                              "the number of its rows is %zu, that of the first item %zu", n_row,
                              collecting->n_row);
    result->answer.position = position;
    if (collecting->arrays)
        ATTN_TRY(attn_records_write(collecting->arrays, result, err));
    collecting->n_row = n_row;
    return ATTN_OK;
}

/* Opens the array, with the shard in its name. */
static enum attn_status open_arrays(struct collecting *collecting, struct attn_error *err)
{
    const struct attn_collect_args *args = collecting->args;
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_records_item item = {.format = "joined"};
    struct attn_buffer path = {0};
    size_t shard, n_shard;
    enum attn_status status;

    form.items = args->study->items;
    form.mean_by = args->mean_by;
    if (args->mean_by && strchr(args->mean_by, '=')) {
        ATTN_TRY(attn_item_sides_read("mean_by", args->mean_by, &collecting->sides, err));
        form.mean_by = collecting->sides.label;
        form.sides[0] = collecting->sides.sides[0];
        form.sides[1] = collecting->sides.sides[1];
    }
    attn_items_shard(form.items, &shard, &n_shard);
    attn_each_path_append(&path, args->npz, shard, n_shard);
    item.path = attn_buffer_string(&path);
    status = item.path ? attn_records_open(&item, &form, false, &collecting->arrays, err)
                       : attn_error_no_memory(err);
    attn_buffer_release(&path);
    return status;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct collecting *collecting = state;
    struct attn_frame *frame = &collecting->frame;
    const struct attn_many_options options = {
        .request = &frame->request, .keeps_tensors = collecting->frame.request.selection.sites};
    const struct attn_item_calls calls = {.next = next_item, .find = find, .user = collecting};

    if (collecting->args->npz)
        ATTN_TRY(open_arrays(collecting, err));
    ATTN_TRY(attn_stream_run(frame->stream, frame->host, &options, &calls, err));
    if (!collecting->arrays)
        return ATTN_OK;
    ATTN_TRY(attn_records_finish(collecting->arrays, err));
    return attn_records_commit(collecting->arrays, err);
}

/* Names the option whose results need more than rows. */
static const char *beyond_rows(const void *args)
{
    return ((const struct attn_collect_args *)args)->npz ? "an array over all items" : NULL;
}

static void release(void *state)
{
    struct collecting *collecting = state;

    attn_records_discard(collecting->arrays);
    attn_free(collecting->sides.label);
}

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_RUN_ITEMS,
    ATTN_PROCEDURE_COLUMNS(columns),
    .state_size = sizeof(struct collecting),
    .items.study = offsetof(struct attn_collect_args, study),
    .makes_runs = true,
    .items.is_listed = true,
    .items.beyond_rows = beyond_rows,
    .check = check_args,
    .prepare = prepare,
    .shows = shows,
    .ask = ask,
    .release = release,
};

enum attn_status attn_collect(struct attn_host *host, const struct attn_request *request,
                              const struct attn_collect_args *given, struct attn_error *err)
{
    struct attn_collect_args args = ATTN_COLLECT_ARGS_DEFAULT;
    struct attn_table *none = NULL; /* an empty table with the columns of the rows */
    struct attn_request labelled;
    const struct attn_model *model = host ? attn_host_model(host) : NULL;
    struct attn_procedure own = procedure;
    enum attn_status status;

    if (request && attn_predict_n_label(&request->predict) > 0 &&
        !attn_predict_is_asked(&request->predict)) {
        labelled = *request;
        labelled.predict.top = attn_predict_n_label(&request->predict);
        request = &labelled;
    }
    own.items.is_ragged = given && request && given->study &&
                          (has_cells(given, request) ||
                           (model && is_each_row(attn_model_config(model), &request->predict)));
    status = attn_procedure_perform(
        &own, &(struct attn_procedure_call){host, request, given, &args, &none, NULL}, err);
    attn_table_free(none);
    return status;
}

enum attn_status attn_collect_table(bool is_tidy, struct attn_table **table, struct attn_error *err)
{
    return is_tidy ? attn_table_create(ATTN_TABLE_RUN_TIDY, columns + STACK, WEIGHT + 1 - STACK,
                                       table, err)
                   : attn_table_create(ATTN_TABLE_RUN_ITEMS, columns, N_COLUMN, table, err);
}
