#include "frame/frame.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "frame/question_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"
#include "tables/table_order.h"
#include "towers/pixels_internal.h"
#include "towers/zero_shot.h"

#include <string.h>

/* --- A call ----------------------------------------------------------------------------------- */

/* State of a call whose arguments were read. */
struct asking {
    const struct attn_procedure *procedure;
    struct attn_procedure_call call; /* with the request below */
    /* borrowed: the call's host, the host of its other tower, or `labelled` */
    struct attn_host *host;
    struct attn_host *labelled; /* owns; a classifier that compares pictures with texts; or NULL */
    struct attn_request request;
    const struct attn_study_args *study; /* borrowed; or NULL */
    struct attn_stream *stream;          /* owns; of its items; or NULL */
    void *sum;                           /* owns */
    struct attn_table *table;            /* owns */
    size_t n_label; /* number of leading columns that name the group of items */
};

/* Reads the arguments, and reports errors of the caller. */
static enum attn_status read_call(struct asking *asking, struct attn_error *err)
{
    const struct attn_procedure *procedure = asking->procedure;
    const struct attn_procedure_call *call = &asking->call;
    const char *args = call->args;

    if (!attn_is_given(call->host, "host", err) || !attn_is_given(call->request, "request", err) ||
        (procedure->table.n_column > 0 && !attn_is_given(call->table, "table", err)))
        return ATTN_INVALID;
    if (procedure->sum_size > 0)
        ATTN_TRY(attn_results_check(call->sum, "sum", err));
    ATTN_TRY(
        attn_error_at(attn_options_read(call->given, call->args, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_options_read(call->request, &asking->request, err),
                           ATTN_STAGE_OPTIONS, err));
    if (procedure->question)
        ATTN_TRY(attn_question_check_values(procedure->question, args, &asking->request, err));
    if (procedure->check)
        ATTN_TRY(attn_error_at(procedure->check(args, err), ATTN_STAGE_OPTIONS, err));
    if (procedure->items.study > 0)
        memcpy(&asking->study, args + procedure->items.study, sizeof asking->study);
    asking->call.request = &asking->request;
    return ATTN_OK;
}

/* Selects the host of the tower that the arguments ask for, which reads pictures. */
static enum attn_status choose_tower(struct asking *asking, struct attn_error *err)
{
    const char *args = asking->call.args;
    enum attn_tower tower = ATTN_TOWER_TEXT;

    if (asking->procedure->tower > 0)
        memcpy(&tower, args + asking->procedure->tower, sizeof tower);
    if (tower == ATTN_TOWER_TEXT)
        return ATTN_OK;
    ATTN_TRY(attn_host_tower(asking->host, tower, &asking->host, err));
    ATTN_TRY(attn_host_check_model(asking->host, err));
    return attn_model_reads_pictures(attn_host_model(asking->host))
               ? ATTN_OK
               : attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "`tower` image needs a model that reads pictures");
}

/* Selects the host for INPUT, the first input: one of two towers, and if labels are given, a
 * classifier. */
static enum attn_status choose_host(struct asking *asking, const struct attn_input *input,
                                    struct attn_error *err)
{
    const struct attn_request_predict question = asking->request.predict;

    asking->request.predict.n_label = 0;
    asking->request.predict.more = NULL;
    ATTN_TRY(attn_zero_shot_choose_host(&asking->host, input, &question, &asking->request.reading,
                                        &asking->labelled, err));
    return choose_tower(asking, err);
}

/* Refuses questions that do not read the layers of MODEL yet. */
static enum attn_status check_layers(const struct attn_procedure *procedure,
                                     const struct attn_model *model, struct attn_error *err)
{
    static const char answered[] = "heads generate score lens sinks similarity spans examples diff",
                      mixing[] = "ablate patch", gates[] = "ablate attribute patch";
    const struct attn_config *config = model ? attn_model_config(model) : NULL;
    const char *name = procedure->question ? procedure->question->name : procedure->table.name;
    const bool is_unequal =
        config && config->layer_dims && !config->mixer && !config->has_attn_gate;

    if (!config || !attn_config_unread_layers(config) || !procedure->question ||
        (is_unequal && procedure->reads_unequal_layers) ||
        attn_text_has_word(answered, name, strlen(name)) ||
        (!config->layer_dims &&
         attn_text_has_word(config->mixer ? mixing : gates, name, strlen(name))))
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' does not answer about layers %s yet, which '%s' has",
                name, attn_config_unread_layers(config),
                attn_quote_string(attn_model_name(model)).text);
    return config->mixer && strcmp(name, "attribute") == 0
               ? attn_error_hint(err, "`attn-cli ablate` switches off each head")
               : ATTN_INVALID;
}

void attn_frame_take_plain(const struct attn_procedure *procedure, struct attn_request *request)
{
    if (!procedure->reads_turns && !procedure->makes_runs && !request->chat.form &&
        !attn_input_is_picture(&request->input) && !attn_chat_is_wanted(&request->chat))
        request->chat.form = "off";
}

/* Lets PROCEDURE change the request of FRAME before its run is prepared. */
static enum attn_status choose(const struct attn_procedure *procedure, struct attn_frame *frame,
                               struct attn_error *err)
{
    ATTN_TRY(procedure->needs_output ? attn_trial_check_host(frame->host, err)
                                     : attn_host_check_model(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    if (procedure->choose)
        return attn_error_at(procedure->choose(frame, err), ATTN_STAGE_OPTIONS, err);
    attn_question_choose_nothing(&frame->request);
    frame->request.selection.sites = procedure->sites;
    return ATTN_OK;
}

/* Sets which columns the table of FRAME has. */
static void choose_columns(const struct attn_procedure *procedure, struct attn_frame *frame)
{
    const struct attn_model *model = attn_host_model(frame->host);
    struct attn_rows *rows = &frame->rows;
    const uint64_t flags = (frame->is_one_of_many ? 0 : ATTN_SHOWN_ALONE) |
                           (procedure->shows ? procedure->shows(frame) : 0);

    rows->columns = procedure->table.columns;
    rows->n = procedure->table.n_column;
    for (size_t i = 0; i < rows->n; i++)
        rows->hidden[i] = rows->columns[i].shown != 0 && (rows->columns[i].shown & flags) == 0;
    attn_rows_hide_stacks(rows->columns, rows->n, rows->hidden,
                          model && attn_model_config(model)->stack.has_encoder);
}

static enum attn_status find_rows(const struct attn_procedure *procedure, struct attn_frame *frame,
                                  struct attn_error *err)
{
    ATTN_TRY(check_layers(procedure, attn_host_model(frame->host), err));
    attn_frame_take_plain(procedure, &frame->request);
    if (!procedure->makes_runs || procedure->choose)
        ATTN_TRY(choose(procedure, frame, err));
    if (!procedure->makes_runs)
        ATTN_TRY(attn_run_open(frame->host, NULL, &frame->request, &frame->run, err));
    if (procedure->prepare)
        ATTN_TRY(procedure->prepare(frame, err));
    if (procedure->makes_runs && attn_input_is_given(&frame->request.source))
        ATTN_TRY(attn_source_check(&frame->request.source, attn_host_model(frame->host), err));
    if (procedure->table.n_column > 0) {
        choose_columns(procedure, frame);
        ATTN_TRY(attn_rows_create(&frame->rows, procedure->table.name, err));
    }
    if (frame->stream && procedure->table.n_column > 0)
        ATTN_TRY(attn_stream_show(frame->stream, frame->rows.hidden, err));
    return procedure->ask(frame, err);
}

/* Records unusual spaces of FRAME's text, or of the words in its question, in SPACES. */
static void look_for_spaces(const struct attn_frame *frame, const struct attn_input *input,
                            struct attn_spaces *spaces)
{
    const struct attn_tokenizer *tokenizer = NULL;

    if (!spaces || spaces->what || spaces->is_at_end)
        return;
    *spaces = frame->spaces;
    if (input->text && attn_host_tokenizer(frame->host, &tokenizer, NULL) == ATTN_OK)
        spaces->is_at_end = attn_spaces_are_at_end(input, tokenizer);
}

/* Creates a frame for the input of the request; NULL if memory ran out. */
static struct attn_frame *make_frame(const struct asking *asking, struct attn_error *err)
{
    struct attn_frame *frame = attn_alloc(1, asking->procedure->state_size, err);

    if (!frame)
        return NULL;
    frame->host = asking->host;
    frame->plan = asking->procedure->plan;
    frame->args = asking->call.args;
    frame->sum = asking->sum;
    frame->request = asking->request;
    frame->is_one_of_many = asking->study;
    return frame;
}

static void free_frame(const struct attn_procedure *procedure, struct attn_frame *frame)
{
    if (procedure->release)
        procedure->release(frame);
    attn_store_release(&frame->store);
    attn_table_free(frame->rows.table);
    attn_trials_release(&frame->trials);
    attn_session_free(frame->session);
    attn_capture_free(frame->capture);
    attn_selection_free(frame->selection);
    attn_run_free(frame->other);
    attn_run_free(frame->run);
    attn_free(frame);
}

/* Runs the procedure for the input of FRAME, and frees FRAME. *TABLE receives the rows, SPACES
 * (may be NULL) the unusual spaces. */
static enum attn_status ask(const struct asking *asking, struct attn_frame *frame,
                            struct attn_spaces *spaces, struct attn_table **table,
                            struct attn_error *err)
{
    /* a copy, as the procedure may change it */
    const struct attn_input input = frame->request.input;
    enum attn_status status = find_rows(asking->procedure, frame, err);

    if (status == ATTN_OK && frame->asked)
        status = attn_rows_set_metric(frame->rows.table,
                                      attn_answer_metric_name(frame->asked->metric), err);
    if (status == ATTN_OK) {
        *table = frame->rows.table;
        frame->rows.table = NULL;
        look_for_spaces(frame, &input, spaces);
    }
    free_frame(asking->procedure, frame);
    return status;
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Applies the item of FRAME to its request and to a copy of its arguments. */
static enum attn_status take_item(const struct asking *asking, struct attn_frame *frame,
                                  struct attn_error *err)
{
    const size_t *size = asking->call.args; /* the arguments begin with their size */
    void *args = attn_frame_alloc(frame, 1, *size);

    frame->sum = attn_frame_alloc(frame, 1, asking->procedure->sum_size);
    ATTN_TRY(attn_frame_memory(frame, err));
    frame->args = memcpy(args, asking->call.args, *size);
    if (!asking->procedure->items.take_item)
        return ATTN_OK;
    return attn_error_at(
        asking->procedure->items.take_item(args, &frame->request, frame->item, err),
        ATTN_STAGE_INPUT, err);
}

/* Runs the procedure for an item (attn_answer_fn). */
static enum attn_status ask_item(void *user, struct attn_item_result *result,
                                 struct attn_error *err)
{
    const struct asking *asking = user;
    struct attn_frame *frame;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(frame, make_frame(asking, err)));
    attn_stream_fill_request(asking->stream, result->item, &frame->request);
    frame->item = result->item;
    frame->answer = &result->answer;
    frame->fold = attn_stream_fold(asking->stream);
    status = take_item(asking, frame, err);
    if (status == ATTN_OK)
        return ask(asking, frame, result->spaces, &result->answer.rows, err);
    free_frame(asking->procedure, frame);
    return status;
}

/* Adds the numbers beside the rows of an item (attn_done_fn). */
static enum attn_status add_up(void *user, const struct attn_item_result *result,
                               struct attn_error *err)
{
    const struct asking *asking = user;

    (void)err;
    if (asking->procedure->items.add_up && result->answer.beside)
        asking->procedure->items.add_up(asking->sum, result->answer.beside);
    return ATTN_OK;
}

/* Sets the columns of the items' tables before the first item, and reports errors that concern all
 * items. */
static enum attn_status show_columns(const struct asking *asking, struct attn_error *err)
{
    static const struct attn_item nothing; /* used if no item can be read */
    const struct attn_procedure *procedure = asking->procedure;
    const struct attn_item *first;
    struct attn_frame *frame;
    struct attn_error unseen = {0}; /* discarded; the item will report it when it runs */
    enum attn_status status;

    ATTN_TRY(attn_stream_first(asking->stream, &first, err));
    ATTN_TRY(ATTN_NEW(frame, make_frame(asking, err)));
    frame->item = first ? first : &nothing;
    attn_stream_fill_request(asking->stream, first, &frame->request);
    take_item(asking, frame, &unseen);
    status = attn_frame_memory(frame, err);
    ATTN_THEN(status, choose(procedure, frame, err));
    if (status == ATTN_OK) {
        choose_columns(procedure, frame);
        status = attn_stream_show(asking->stream, frame->rows.hidden, err);
    }
    free_frame(procedure, frame);
    return status;
}

/* Selects the host for the items, by the first item that can be read. */
static enum attn_status choose_host_of_items(struct asking *asking, struct attn_error *err)
{
    static const struct attn_input nothing;
    const struct attn_model *model = attn_host_model(asking->host);
    const struct attn_item *first = NULL;

    if (attn_predict_n_label(&asking->request.predict) == 0 &&
        !(model && attn_model_config(model)->has_two_towers))
        return choose_tower(asking, err);
    ATTN_TRY(attn_stream_first(asking->stream, &first, err));
    return choose_host(asking, first ? &first->input : &nothing, err);
}

/* Refuses a start token that the model does not name, which would fail with every item. */
static enum attn_status check_start(const struct asking *asking, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer = NULL;
    struct attn_encoding unused = {0};
    enum attn_status status = ATTN_OK;

    options.special_tokens = asking->request.reading.special_tokens;
    if (options.special_tokens == ATTN_SPECIAL_TOKENS_BOS &&
        attn_host_tokenizer(asking->host, &tokenizer, NULL) == ATTN_OK)
        status = attn_tokenizer_encode(tokenizer, "", 0, &options, &unused, err);
    attn_encoding_release(&unused);
    return status;
}

/* Runs the procedure for each item, and creates their table. If the procedure makes runs itself,
 * *OWN receives the rows that it appended. */
static enum attn_status run_items(struct asking *asking, struct attn_table **own,
                                  struct attn_error *err)
{
    const struct attn_procedure *procedure = asking->procedure;
    const struct attn_item *first = NULL;

    ATTN_TRY(choose_host_of_items(asking, err));
    ATTN_TRY(check_start(asking, err));
    if (attn_edits_are_given(&asking->request.edits)) {
        ATTN_TRY(attn_host_check_model(asking->host, err));
        ATTN_TRY(attn_edits_check_model(&asking->request.edits, attn_host_model(asking->host), NULL,
                                        err));
    }
    if (procedure->items.meet_first)
        ATTN_TRY(attn_stream_first(asking->stream, &first, err));
    if (first) {
        struct attn_request request = asking->request;

        attn_stream_fill_request(asking->stream, first, &request);
        procedure->items.meet_first(asking->call.args, first, &request);
    }
    if (procedure->makes_runs) {
        struct attn_frame *frame;

        ATTN_TRY(ATTN_NEW(frame, make_frame(asking, err)));
        frame->stream = asking->stream;
        ATTN_TRY(ask(asking, frame, NULL, own, err));
    } else {
        const struct attn_item_calls calls = {.ask = ask_item, .done = add_up, .user = asking};
        const struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

        ATTN_TRY(show_columns(asking, err));
        ATTN_TRY(attn_stream_run(asking->stream, asking->host, &options, &calls, err));
    }
    return attn_stream_end(asking->stream, &asking->table, err);
}

/* Runs the procedure for the items of the study. */
static enum attn_status ask_items(struct asking *asking, struct attn_error *err)
{
    const struct attn_procedure *procedure = asking->procedure;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_study_args args = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;
    struct attn_table *own = NULL;
    struct attn_error failure = {0}; /* used because ERR may be NULL */
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_options_read(asking->study, &args, err), ATTN_STAGE_OPTIONS, err));
    if (!args.sum)
        args.sum = &sum;
    if (!args.sort && procedure->question &&
        attn_question_order(procedure->question, asking->call.args, &order))
        args.sort = order.sort;
    ATTN_TRY(attn_stream_open(procedure, &asking->call, &args, &asking->stream, err));
    status = run_items(asking, &own, &failure);
    if (asking->table)
        attn_table_free(own);
    else
        asking->table = own;
    if (status == ATTN_OK)
        asking->n_label = args.sum->n_label;
    else
        attn_stream_keep(asking->stream, &failure);
    attn_stream_free(asking->stream);
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

static enum attn_status perform(struct asking *asking, struct attn_error *err)
{
    struct attn_spaces spaces = {0};
    struct attn_frame *frame;

    ATTN_TRY(read_call(asking, err));
    ATTN_TRY(
        attn_edits_refuse_functions(&asking->request.edits, asking->procedure->table.name, err));
    asking->host = asking->call.host;
    ATTN_TRY(ATTN_NEW(asking->sum, attn_alloc(1, asking->procedure->sum_size, err)));
    if (asking->study)
        return ask_items(asking, err);
    ATTN_TRY(choose_host(asking, &asking->request.input, err));
    ATTN_TRY(ATTN_NEW(frame, make_frame(asking, err)));
    ATTN_TRY(ask(asking, frame, &spaces, &asking->table, err));
    attn_spaces_note(&spaces, attn_request_notes(&asking->request));
    return ATTN_OK;
}

static enum attn_status sort_table(struct asking *asking, struct attn_error *err)
{
    const struct attn_procedure *procedure = asking->procedure;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *sorted = NULL;

    if (!procedure->question ||
        (!attn_question_order(procedure->question, asking->call.args, &order) &&
         !procedure->table.sort))
        return ATTN_OK;
    if (!order.sort)
        order.sort = procedure->table.sort;
    if (order.n_most == 0)
        order.n_most = procedure->table.n_most;
    if ((!order.sort && order.n_most == 0) || attn_table_n_row(asking->table) == 0)
        return ATTN_OK;
    order.n_group = asking->n_label;
    ATTN_TRY(attn_table_sort(asking->table, &order, &sorted, err));
    attn_table_free(asking->table);
    asking->table = sorted;
    return ATTN_OK;
}

enum attn_status attn_procedure_perform(const struct attn_procedure *procedure,
                                        const struct attn_procedure_call *call,
                                        struct attn_error *err)
{
    struct asking asking = {.procedure = procedure, .call = *call, .request = ATTN_REQUEST_DEFAULT};
    enum attn_status status = perform(&asking, err);

    ATTN_THEN(status, sort_table(&asking, err));
    if (status == ATTN_OK) {
        if (procedure->table.n_column > 0)
            *call->table = asking.table;
        if (procedure->sum_size > 0)
            attn_results_write(asking.sum, procedure->sum_size, call->sum);
    } else {
        attn_table_free(asking.table);
    }
    attn_free(asking.sum);
    attn_host_free(asking.labelled);
    return status;
}

enum attn_status attn_procedure_perform_first(const struct attn_procedure *procedure,
                                              const struct attn_procedure_call *call, void *given,
                                              const char *const shard[2], struct attn_error *err)
{
    char *at = (char *)given + procedure->items.study;
    struct attn_study_args asked = ATTN_STUDY_ARGS_DEFAULT, study = ATTN_STUDY_ARGS_DEFAULT;
    const struct attn_study_args *own, *quick = &study;
    struct attn_request quiet = ATTN_REQUEST_DEFAULT;
    struct attn_procedure_call first = *call;
    enum attn_status status;
    size_t number, n_shard;

    memcpy(&own, at, sizeof own);
    ATTN_TRY(attn_error_at(attn_options_read(own, &asked, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_options_read(call->request, &quiet, err), ATTN_STAGE_OPTIONS, err));
    attn_items_shard(asked.items, &number, &n_shard);
    if (n_shard > 0) {
        attn_error_set(err, ATTN_INVALID, "%s", shard[0]);
        if (shard[1])
            attn_error_hint(err, "%s", shard[1]);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    ATTN_TRY(attn_items_rewind(asked.items, err));
    quiet.on_note = NULL;
    study.items = asked.items;
    study.max_errors = asked.max_errors;
    memcpy(at, &quick, sizeof quick);
    first.request = &quiet;
    first.given = given;
    status = attn_procedure_perform(procedure, &first, err);
    memcpy(at, &own, sizeof own);
    return status == ATTN_OK ? attn_items_rewind(asked.items, err) : status;
}

/* --- The frame -------------------------------------------------------------------------------- */

void *attn_frame_alloc(struct attn_frame *frame, size_t count, size_t size)
{
    void *block = attn_store_alloc(&frame->store, count, size, NULL);

    frame->lacks_memory = frame->lacks_memory || !block;
    return block;
}

enum attn_status attn_frame_memory(const struct attn_frame *frame, struct attn_error *err)
{
    return frame->lacks_memory ? attn_error_no_memory(err) : ATTN_OK;
}

enum attn_status attn_frame_find_answer(struct attn_frame *frame,
                                        const struct attn_answer_args *args,
                                        struct attn_answer *answer, struct attn_error *err)
{
    ATTN_TRY(attn_run_find_answer(frame->run, args, answer, err));
    if (frame->answer)
        frame->answer->chosen = attn_item_chosen(
            args->metric, attn_answer_metric_name(answer->metric), answer->has_foil);
    frame->spaces = answer->spaces;
    frame->asked = answer;
    return ATTN_OK;
}

void attn_frame_report_base(struct attn_frame *frame, const struct attn_answer *asked,
                            const struct attn_reply *reply)
{
    struct attn_result_answer *found = frame->answer;

    if (!found)
        return;
    found->metric = attn_answer_metric_name(asked->metric);
    found->row = "base";
    found->value = reply->value;
    found->has_right = attn_answer_is_judged(asked);
    found->right = reply->right;
}

enum attn_status attn_frame_report_more(struct attn_frame *frame, const double *numbers, size_t n,
                                        struct attn_error *err)
{
    if (!frame->answer)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(frame->answer->beside, attn_alloc(n, sizeof *numbers, err)));
    for (size_t i = 0; i < n; i++)
        frame->answer->beside[i] = numbers[i];
    frame->answer->n_beside = n;
    return ATTN_OK;
}

enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err)
{
    return attn_rows_append(&frame->rows, cells, err);
}

void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n)
{
    if (frame->request.on_progress)
        frame->request.on_progress(frame->request.user, n_done, n);
}
