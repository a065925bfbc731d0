/* run.c - see run.h. Prepares a run in stages that depend on each other (run_internal.h), and
 * performs it. */
#include "run/run_internal.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "run/host_internal.h"
#include "run/maker.h"
#include "run/watcher.h"
#include "tensors/outputs_internal.h"
#include "tensors/writer.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Preparing a sequence -------------------------------------------------------------------- */

static void set_labels(struct attn_run *run)
{
    const struct attn_request_reading *reading = &run->request.reading;

    run->labels = (struct attn_labels){
        .selection = run->selection,
        .model = run->model ? attn_model_name(run->model) : NULL,
        .axes = run->model ? NULL : &run->axes,
        .ids = run->text.ids,
        .types = run->text.types,
        .tokens = run->text.tokens.bytes,
        .token_sizes = run->text.tokens.sizes,
        .source_ids = run->model && run->model->encoder ? run->source.ids : NULL,
        .source_tokens = run->source.tokens.bytes,
        .source_token_sizes = run->source.tokens.sizes,
        .words = run->text.words,
        .piece = attn_words_piece(run->tokenizer),
        .source_words = run->source.words,
        .begin = run->text.encoding.begin,
        .end = run->text.encoding.end,
        .options = run->request.outputs.options,
        .n_option = run->request.outputs.n_option,
        .n_front = run->text.encoding.n_front,
        .n_back = run->text.encoding.n_back,
        .texts =
            run->request.input.pair && run->text.encoding.n > 0 ? run->text.encoding.texts : NULL,
        .region = run->text.seen.region,
    };
    if (run->text.reader && run->text.reader->label)
        run->text.reader->label(run);
    run->labels.has_residues = run->text.letters != NULL;
    if (run->text.encoding.n > 0) {
        run->labels.text = run->request.input.text;
        run->labels.n_text = run->request.input.n_text;
        run->labels.pair = run->request.input.pair;
        run->labels.n_pair = run->request.input.n_pair;
    }
    if (run->model && attn_model_config(run->model)->is_encoder &&
        attn_mask_is_only(run->tokenizer, &run->text, &run->asked.mask))
        run->labels.mask = &run->asked.mask;
    if (run->model)
        return;
    /* For arrays, the caller's labels of rows and columns. */
    run->labels.tokens = reading->query_labels.items;
    run->labels.token_sizes = reading->query_labels.sizes;
    run->labels.source_tokens = reading->key_labels.items;
    run->labels.source_token_sizes = reading->key_labels.sizes;
}

enum attn_status attn_run_check_gradients_of_edits(const struct attn_run *run,
                                                   struct attn_error *err)
{
    enum attn_status status =
        attn_makers_check_edits(run->model, run->edits.items, run->edits.n, err);

    if (status == ATTN_OK && run->before.n_edit > 0)
        status =
            attn_makers_check_edits(run->before.model, run->before.edits, run->before.n_edit, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Makes the rows before the text, with the edits that are known, if they are due, or runs what
 * TRACE selects of their model. Of inputs in the text, only those are run that TRACE gets if
 * nothing else is needed. */
static enum attn_status make_rows(struct attn_run *run, const struct attn_trace *trace,
                                  struct attn_pool *pool, struct attn_error *err)
{
    const struct attn_site_set sites =
        trace ? attn_selection_sites_of(trace->selection, ATTN_STACK_ENCODER)
              : (struct attn_site_set){0};
    struct attn_before *before = &run->before;
    struct attn_before_pass pass = attn_run_before(run);
    const bool is_watched = before->n_shown > 0 && !attn_sites_are_empty(sites);
    const bool is_alone = before->own && is_watched &&
                          attn_selection_is_of_encoder(trace->selection) &&
                          !attn_predict_is_asked(&run->request.predict) && !run->asked.has_goal;
    float *rows = before->is_due && !is_alone ? before->reader->embedded : NULL;
    struct attn_makings makings = {0};
    enum attn_status status = ATTN_OK;

    if (!is_watched && !rows)
        return ATTN_OK;
    pass.options.pool = pool;
    if (is_watched)
        status = attn_makings_begin(&makings, run, ATTN_STACK_ENCODER, &trace, pool, err);
    pass.options.trace = is_watched ? trace : NULL;
    ATTN_THEN(status, attn_before_run(&pass, rows, err));
    if (rows)
        before->n_edited = pass.n_edited;
    before->is_due &= status != ATTN_OK;
    attn_makings_release(&makings);
    return attn_error_at(status, before->own ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

/* Finds the edits. */
static enum attn_status find_edits(struct attn_run *run, struct attn_error *err)
{
    struct attn_session_options session = attn_run_session_options(run);
    struct attn_dims dims = *attn_selection_dims(run->selection);
    const struct attn_edit_scope scope = {
        .edits = &run->request.edits,
        .notes = run->like ? (struct attn_notes){0} : attn_request_notes(&run->request),
        .model = run->model,
        .dims = &dims,
        .text = &run->text,
        .source = &run->source,
        .before = &run->before,
        .progress = {.on_part = run->request.on_part, .user = run->request.user},
        .session = &session};

    if (run->like && (run->like->text.n != run->text.n || run->like->source.n != run->source.n))
        return ATTN_OK;
    if (run->before.n_chosen > 0)
        dims.encoder = &run->before.dims;
    run->text.words_of = run->like ? &run->like->text : NULL;
    run->source.words_of = run->like ? &run->like->source : NULL;
    if (attn_edits_need_means(&run->request.edits))
        session.pool = attn_host_pool(run->host, (double)INFINITY);
    ATTN_TRY(attn_edits_find(&scope, &run->edits, err));
    run->before.is_due |= run->before.n_edit > 0; /* even if they were made for means */
    return run->asked.has_goal ? attn_run_check_gradients_of_edits(run, err) : ATTN_OK;
}

/* Returns the sizes and sites of a stack: MODEL for N positions, with the attention of LAYERS. */
static struct attn_dims stack_dims(const struct attn_model *model,
                                   const struct attn_attention *layers, size_t n, size_t n_source)
{
    struct attn_dims dims = attn_config_dims(&model->config, n);

    dims.n_source = n_source;
    attn_attention_set_dims(layers, &dims);
    return dims;
}

static bool changes_mask(const struct attn_run *run)
{
    const struct attn_attention_change *change = run->request.attention.change;

    return change && (change->parts & ATTN_PART_MASK);
}

/* The second stage: finds the attention of each layer, and DIMS, the sizes of the run. */
static enum attn_status find_attention(struct attn_run *run, struct attn_dims *dims,
                                       struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    struct attn_before *before = &run->before;

    ATTN_TRY(attn_layer_attention_find(&run->request.attention, config, run->text.n, run->source.n,
                                       &run->attention, err));
    for (size_t layer = 0; layer < config->n_layer && run->text.seen.open && !changes_mask(run);
         layer++) {
        run->attention.layers[layer].block = *run->text.seen.open;
        run->attention.layers[layer].blocks =
            run->text.seen.later_open.n > 0 ? &run->text.seen.later_open : NULL;
    }
    for (size_t layer = 0; layer < config->n_layer && run->text.numbers.n > 0; layer++)
        attn_attention_resolve_grid(&run->attention.layers[layer], run->text.grid.n_col);
    ATTN_TRY(attn_run_check_time(run, 1, err));
    if (run->asked.continuations.n_more > 0 && !config->is_encoder)
        ATTN_TRY(attn_session_check_next(run->attention.layers, config, err));
    if (before->n_chosen > 0)
        before->dims = stack_dims(before->model, before->model->config.attention,
                                  attn_before_input(before)->n, 0);
    if (before->n_chosen > 0 && !before->own)
        attn_makers_extend(before->model, before->model->config.attention, &before->dims);
    *dims = stack_dims(run->model, run->attention.layers, run->text.n, run->source.n);
    if (run->text.reader && run->text.reader->set_dims)
        ATTN_TRY(run->text.reader->set_dims(run, dims, err));
    attn_makers_extend(run->model, run->attention.layers, dims);
    dims->encoder = before->n_shown > 0 ? &before->dims : NULL;
    return ATTN_OK;
}

static enum attn_status prepare_sequence(struct attn_run *run, struct attn_error *err)
{
    struct attn_dims dims;

    ATTN_TRY(attn_run_read_input(run, err));
    ATTN_TRY(attn_error_at(attn_run_choose_before(run, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(find_attention(run, &dims, err));
    ATTN_TRY(attn_error_at(attn_run_choose(run, &dims, 1, err), ATTN_STAGE_OPTIONS, err));
    if (attn_image_input)
        ATTN_TRY(attn_image_input->check_run(run, err));
    ATTN_TRY(attn_run_find_answers(run, err));
    return find_edits(run, err);
}

/* --- Preparing arrays ------------------------------------------------------------------------ */

static enum attn_status check_arrays_request(const struct attn_request *request,
                                             struct attn_error *err)
{
    const struct attn_input *input = &request->input;

    if (attn_input_is_given(input) || input->image || input->pixels || input->pair ||
        input->types || input->key_mask || attn_predict_n_label(&request->predict) > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "arrays are given beside a text, an image, labels or a `key_mask`, "
                           "expected them alone");
    if (!attn_predict_is_asked(&request->predict) && !attn_edits_are_given(&request->edits) &&
        !attn_input_is_given(&request->source))
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "attention on arrays has no predictions, no edits and no second sequence");
}

/* Warns about NaN and infinity in the arrays. */
static void note_arrays(const struct attn_request *request)
{
    struct attn_not_finite found;

    if (!request->on_note)
        return;
    found = attn_arrays_not_finite(&request->input);
    if (found.n_nan > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_NOT_FINITE,
                  "the arrays hold NaN, %zu of them: what is computed from those is NaN",
                  found.n_nan);
    if (found.n_above + found.n_below > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_NOT_FINITE,
                  "the arrays hold infinity, %zu of them: what is computed from those may "
                  "be infinite or NaN",
                  found.n_above + found.n_below);
}

static enum attn_status check_label_list(const struct attn_label_list *list, size_t n,
                                         const char *what, struct attn_error *err)
{
    if (!list->items || list->n == n)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_INPUT, "'%s' has %zu line%s, the arrays have %zu %s",
                       attn_quote_string(list->name).text, list->n, list->n == 1 ? "" : "s", n,
                       what);
}

static enum attn_status prepare_arrays(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    struct attn_arrays_sizes sizes = {0};

    ATTN_TRY(check_arrays_request(request, err));
    ATTN_TRY(attn_error_at(attn_arrays_fit(&request->input, &sizes, err), ATTN_STAGE_INPUT, err));
    const struct attn_mask_sizes mask = {sizes.rank == 4 ? sizes.n_batch : 0, sizes.n_head,
                                         sizes.n_query, sizes.n_key};

    ATTN_TRY(attn_layer_attention_of_arrays(&request->attention, request->input.scores, &mask,
                                            &run->attention, err));
    attn_arrays_fill(&request->input, &sizes, &run->arrays);
    run->arrays.attention = run->attention.layers[0];
    run->axes = (struct attn_array_axes){sizes.rank, sizes.n_batch};
    struct attn_dims dims = attn_attend_dims(&run->arrays);

    ATTN_TRY(check_label_list(&request->reading.query_labels, dims.n_position, "queries", err));
    ATTN_TRY(check_label_list(&request->reading.key_labels, dims.n_source, "keys", err));
    ATTN_TRY(
        attn_error_at(attn_run_choose(run, &dims, sizes.n_batch, err), ATTN_STAGE_OPTIONS, err));
    note_arrays(request);
    return ATTN_OK;
}

/* Prepares a run over a sequence or over arrays. */
static enum attn_status prepare(struct attn_run *run, bool is_once, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    struct attn_request_predict *predict = &run->request.predict;

    ATTN_TRY(attn_run_read_given(run, err));
    ATTN_TRY(attn_host_check_outputs(run->host, request->outputs.items, request->outputs.n, err));
    if (attn_input_is_arrays(&request->input))
        return prepare_arrays(run, err);
    ATTN_TRY(attn_host_check_model(run->host, err));
    /* Select the tower that reads the input, and if labels are given, the classifier. */
    if (attn_image_input)
        ATTN_TRY(attn_image_input->choose_host(&run->host, &request->input, predict,
                                               &request->reading, &run->labelled, err));
    else if (request->input.image || request->input.pixels || attn_predict_n_label(predict) > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`image` and `label` need a reader of images, which is not linked");
    if (attn_predict_n_label(predict) > 0 && !attn_predict_is_asked(predict))
        predict->top = attn_predict_n_label(predict);
    run->model = run->host->model;
    ATTN_TRY(prepare_sequence(run, err));
    return is_once && !attn_edits_are_given(&request->edits)
               ? ATTN_OK
               : make_rows(run, NULL, run->source.pool, err);
}

static enum attn_status prepare_for(struct attn_host *host, const struct attn_run *like,
                                    bool is_once, const struct attn_request *given,
                                    struct attn_run **run, struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_run *made;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_options_read(given, &request, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->host = host;
    made->like = like;
    made->request = request;
    status = prepare(made, is_once, err);
    set_labels(made);
    ATTN_RETURN_MADE(status, run, made, attn_run_free);
}

enum attn_status attn_run_prepare(struct attn_host *host, const struct attn_request *request,
                                  struct attn_run **run, struct attn_error *err)
{
    ATTN_NEED(err, host, request, run);
    return prepare_for(host, NULL, true, request, run, err);
}

enum attn_status attn_run_open(struct attn_host *host, const struct attn_run *like,
                               const struct attn_request *request, struct attn_run **run,
                               struct attn_error *err)
{
    return prepare_for(host, like, false, request, run, err);
}

void attn_run_free(struct attn_run *run)
{
    if (!run)
        return;
    attn_free(run->image_sizes);
    attn_free(run->look);
    attn_free(run->queries);
    attn_free(run->query_numbers);
    attn_before_release(&run->before);
    attn_edits_release(&run->edits);
    attn_selection_free(run->chosen);
    attn_layer_attention_release(&run->attention);
    attn_answers_release(&run->asked);
    attn_sequence_release(&run->text);
    attn_chat_release(&run->chat);
    attn_sequence_release(&run->source);
    attn_host_free(run->labelled);
    for (int i = 0; i < 2; i++)
        if (run->shown.maps[i])
            run->shown.free_maps(run->shown.maps[i]);
    if (attn_watcher)
        attn_watcher->release(run);
    attn_free(run);
}

const struct attn_selection *attn_run_selection(const struct attn_run *run)
{
    return run ? run->labels.selection : NULL;
}

const struct attn_labels *attn_run_labels(const struct attn_run *run)
{
    return run ? &run->labels : NULL;
}

const struct attn_model *attn_run_model(const struct attn_run *run)
{
    return run->model && attn_selection_is_of_encoder(run->selection) ? run->model->encoder
                                                                      : run->model;
}

const struct attn_attention *attn_run_attention(const struct attn_run *run)
{
    return run->attention.layers;
}

const struct attn_attend_args *attn_run_arrays(const struct attn_run *run)
{
    return run->model ? NULL : &run->arrays;
}

const struct attn_edit *attn_run_edits(const struct attn_run *run, enum attn_model_stack stack,
                                       size_t *n)
{
    *n = stack == ATTN_STACK_ENCODER ? run->before.n_edit : run->edits.n;
    return stack == ATTN_STACK_ENCODER ? run->before.edits : run->edits.items;
}

/* --- Performing ------------------------------------------------------------------------------ */

/* The receivers of events while a run is performed. */
struct watching {
    const struct attn_run *run;
    const struct attn_trace *observer; /* or NULL */
    struct attn_outputs *outputs;
};

static enum attn_status emit(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    const struct watching *watching = user;

    if (watching->run->watched)
        attn_watcher->add(watching->run, event);
    if (watching->observer)
        ATTN_TRY(watching->observer->on_event(watching->observer->user, event, err));
    return attn_selection_wants(watching->run->selection, &event->at)
               ? attn_outputs_event(watching->outputs, event, err)
               : ATTN_OK;
}

/* Returns the number of multiply-adds; infinity if they are unknown. */
static double count_multiply_adds(const struct attn_run *run)
{
    const struct attn_attend_args *arrays = &run->arrays;

    if (!run->model)
        return (double)arrays->n_head * (double)arrays->n_query * (double)arrays->n_key *
               (double)(arrays->d_head + arrays->d_value);
    return attn_estimates ? attn_estimates->multiply_adds(run) : (double)INFINITY;
}

static enum attn_status feed(const struct attn_run *run, const struct attn_trace *trace,
                             struct attn_pool *pool, struct attn_session **session,
                             struct attn_error *err)
{
    struct attn_pass pass = attn_run_pass(run);
    const bool is_one_feed = run->asked.continuations.n == 0 && !attn_run_has_positions(run) &&
                             !run->asked.answer.has_place;

    pass.options.n_max += run->asked.continuations.n_more;
    pass.options.cache = is_one_feed ? ATTN_CACHE_ONE_LAYER : ATTN_CACHE_ALL_LAYERS;
    pass.options.has_logits = attn_predict_is_asked(&run->request.predict);
    pass.options.reads_once = run->asked.continuations.n == 0 && !run->host->options.reuse;
    pass.options.pool = pool;
    pass.options.trace = trace;
    return attn_pass_run(&pass, session, err);
}

/* Notes that text_embed is computed from the first token if a text has no end token. */
static void note_end(const struct attn_run *run)
{
    const struct attn_config *config = attn_model_config(run->model);
    const int32_t end = config->projected_id;
    size_t i = 0;

    if (!attn_selection_has_site(run->selection, ATTN_SITE_TEXT_EMBED) || end == ATTN_LARGEST_ID ||
        !run->text.ids)
        return;
    while (i < run->text.n && run->text.ids[i] != end)
        i++;
    if (i == run->text.n)
        attn_note(run->request.on_note, run->request.user, ATTN_NOTE_NO_END,
                  "the text has no token %d, its end: text_embed is made of its first token",
                  (int)end);
}

static enum attn_status predict(const struct attn_run *run, struct attn_session *session,
                                struct attn_result *result, struct attn_error *err)
{
    const struct attn_prediction_args args = {
        .question = &run->request.predict,
        .continuations = &run->asked.continuations,
        .answer = run->request.predict.answer ? &run->asked.answer : NULL,
        .tokenizer = run->tokenizer,
        .positions = attn_run_has_positions(run) ? run->selection : run->asked.masks,
        .model = run->model,
        .n_vocab = attn_model_config(run->model)->n_vocab,
        .text = &run->text};

    if (!attn_predict_is_asked(&run->request.predict))
        return ATTN_OK;
    return attn_predict(session, &args, &result->predictions, err);
}

/* The objects that exist for one feed. */
struct feeding {
    struct attn_session *session; /* owns */
    struct attn_makings makings;
};

enum attn_status attn_run_drop_encoder(struct attn_run *run, struct attn_error *err)
{
    struct attn_selection *decoder;

    if (!attn_selection_dims(run->selection)->encoder)
        return ATTN_OK;
    if (attn_selection_is_of_encoder(run->selection))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "only the encoder is selected, and of many texts the decoder is shown");
    ATTN_TRY(attn_selection_copy_stack(run->selection, ATTN_STACK_DECODER, &decoder, err));
    attn_selection_free(run->chosen);
    run->selection = run->labels.selection = run->chosen = decoder;
    return ATTN_OK;
}

static enum attn_status feed_all(const struct attn_run *run, const struct attn_trace *trace,
                                 struct attn_pool *pool, struct feeding *feeding,
                                 struct attn_result *result, struct attn_error *err)
{
    ATTN_TRY(attn_makings_begin(&feeding->makings, run, ATTN_STACK_ONLY, &trace, pool, err));
    ATTN_TRY(feed(run, trace, pool, &feeding->session, err));
    result->n_token = result->n_key = run->text.n;
    result->n_edited_row = attn_session_n_edited_row(feeding->session) + run->before.n_edited;
    ATTN_TRY(predict(run, feeding->session, result, err)); /* edits may change predictions, too */
    attn_edits_find_effects(&run->edits, feeding->session, 0);
    attn_edits_note(&run->edits, attn_request_notes(&run->request), result->n_edited_row);
    attn_layer_attention_note_pairs(&run->request.attention, run->attention.layers,
                                    attn_selection_dims(run->selection), false,
                                    attn_request_notes(&run->request));
    attn_spaces_note(&run->asked.spaces, attn_request_notes(&run->request));
    note_end(run);
    attn_session_free(feeding->session); /* a backward pass needs its memory */
    feeding->session = NULL;
    return attn_makings_finish(&feeding->makings, err);
}

enum attn_status attn_run_feed(const struct attn_run *run, const struct attn_trace *trace,
                               struct attn_pool *pool, struct attn_result *result,
                               struct attn_error *err)
{
    struct feeding feeding = {0};
    const enum attn_status status = feed_all(run, trace, pool, &feeding, result, err);

    attn_session_free(feeding.session);
    attn_makings_release(&feeding.makings);
    return status;
}

static void note_not_finite(const struct attn_run *run, size_t n)
{
    const struct attn_not_finite given = attn_arrays_not_finite(&run->request.input);

    if (n > 0 && given.n_nan + given.n_above + given.n_below == 0)
        attn_note(run->request.on_note, run->request.user, ATTN_NOTE_NOT_FINITE,
                  "%zu row%s of the results hold%s NaN or infinity: numbers on the way to "
                  "them are larger than float32 holds",
                  n, n == 1 ? "" : "s", n == 1 ? "s" : "");
}

static enum attn_status perform_arrays(const struct attn_run *run, const struct attn_trace *trace,
                                       struct attn_pool *pool, struct attn_result *result,
                                       struct attn_error *err)
{
    const struct attn_host_options *host = &run->host->options;
    struct attn_attend_args args = run->arrays;
    size_t n_not_finite = 0;
    enum attn_status status;

    args.trace = trace;
    args.pool = pool;
    args.cancel = host->cancel;
    args.gemm = host->gemm;
    args.isa = host->isa;
    args.n_not_finite = &n_not_finite;
    status = attn_attend(&args, err);
    if (status != ATTN_OK)
        return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    result->n_token = args.n_query;
    result->n_key = args.n_key;
    note_not_finite(run, n_not_finite);
    attn_layer_attention_note_pairs(&run->request.attention, &run->arrays.attention,
                                    attn_selection_dims(run->selection), true,
                                    attn_request_notes(&run->request));
    return ATTN_OK;
}

enum attn_status attn_run_compute(struct attn_run *run, const struct attn_trace *trace,
                                  struct attn_pool *pool, struct attn_result *result,
                                  struct attn_error *err)
{
    result->n_thread = pool ? attn_pool_n_thread(pool) : 1;
    if (!run->model)
        return perform_arrays(run, trace, pool, result, err);
    ATTN_TRY(make_rows(run, trace, pool, err));
    return attn_run_feed(run, trace, pool, result, err);
}

/* Computes the run, whose events come to TRACE, or were held, and completes the outputs. */
static enum attn_status complete(struct attn_run *run, const struct attn_trace *trace,
                                 struct attn_pool *pool, struct attn_outputs *outputs,
                                 struct attn_result *result, struct attn_error *err)
{
    ATTN_TRY(run->labels.parks ? attn_watcher->play(run, trace, pool, err)
                               : attn_run_compute(run, trace, pool, result, err));
    if (attn_predict_is_asked(&run->request.predict)) {
        ATTN_TRY(attn_predictions_copy_texts(&result->predictions, err));
        ATTN_TRY(attn_outputs_predictions(outputs, &result->predictions, err));
    }
    ATTN_TRY(attn_host_check_canceled(run->host, err));
    return attn_outputs_finish(outputs, err);
}

/* Returns the options of the request for writers. Borrows from RUN. */
static struct attn_writer_options writer_options_of(const struct attn_run *run,
                                                    struct attn_pool *pool)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    const struct attn_request_selection *selection = &run->request.selection;

    options.precision = run->request.outputs.precision;
    options.pool = pool;
    options.cancel = run->host->options.cancel;
    options.picture = run->request.outputs.picture;
    options.table = run->table;
    options.table_picture = run->table_picture;
    options.has_predictions = attn_predict_is_asked(&run->request.predict);
    /* what gradients and dropout change would not be seen in a pattern alone */
    options.has_usual_sites = !selection->sites && !selection->given && !selection->has_gradients &&
                              (run->model || run->attention.layers[0].dropout == 0);
    options.on_note = run->request.on_note;
    options.user = run->request.user;
    options.mixes = run->mixes;
    return options;
}

enum attn_status attn_run_perform(struct attn_run *run, const struct attn_trace *observer,
                                  struct attn_result *result, struct attn_error *err)
{
    if (!attn_is_given(run, "run", err) || !attn_is_given(result, "result", err) ||
        (observer && !attn_trace_is_given(observer, err)))
        return ATTN_INVALID;
    const struct attn_request *request = &run->request;
    struct attn_pool *pool;
    struct attn_writer_options options;
    struct watching watching = {run, observer, NULL};
    struct attn_trace all = {.on_event = emit, .user = &watching};
    struct attn_outputs *outputs = NULL;
    struct attn_result made = {0};
    struct attn_error failure = {0};
    enum attn_status status;

    if (run->is_performed)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a run is performed once, and this one was already");
    run->is_performed = true;
    pool = attn_host_pool(run->host, count_multiply_adds(run));
    options = writer_options_of(run, pool);
    if (!observer && attn_watcher)
        ATTN_TRY(attn_error_at(attn_watcher->begin(run, err), ATTN_STAGE_OPTIONS, err));
    all.selection = observer ? observer->selection : run->watched ? run->watched : run->selection;
    status = attn_watcher ? attn_watcher->park(run, &all, pool, &made, err) : ATTN_OK;
    ATTN_THEN(status, attn_outputs_create(request->outputs.items, request->outputs.n, &run->labels,
                                          &options, &outputs, err));
    if (status != ATTN_OK) {
        attn_result_release(&made);
        return status;
    }
    watching.outputs = outputs;
    status = complete(run, !run->model || observer || request->outputs.n > 0 ? &all : NULL, pool,
                      outputs, &made, &failure);
    made.is_abandoned = attn_outputs_is_abandoned(outputs);
    attn_outputs_free(outputs);
    if (status == ATTN_OK || made.is_abandoned) {
        *result = made;
        return ATTN_OK;
    }
    attn_result_release(&made);
    attn_call_status(status, "observer", &failure); /* an observer may fail without a message */
    return attn_error_copy(err, &failure);
}

enum attn_status attn_run_request(struct attn_host *host, const struct attn_request *request,
                                  struct attn_result *result, struct attn_error *err)
{
    struct attn_run *run;
    enum attn_status status;

    ATTN_TRY(attn_run_prepare(host, request, &run, err));
    status = attn_run_perform(run, NULL, result, err);
    attn_run_free(run);
    return status;
}

enum attn_status attn_run_begin_capture(const struct attn_run *run, struct attn_capture **capture,
                                        struct attn_error *err)
{
    ATTN_NEED(err, run);
    return attn_capture_create_in(run->host->spare, run->host->pool, run->selection, capture, err);
}

enum attn_status attn_run_capture(struct attn_host *host, const struct attn_request *request,
                                  struct attn_capture **capture, struct attn_result *result,
                                  struct attn_error *err)
{
    struct attn_capture *made = NULL;
    struct attn_run *run;
    enum attn_status status;

    ATTN_TRY(attn_run_prepare(host, request, &run, err));
    status = attn_is_given(capture, "capture", err) ? attn_run_begin_capture(run, &made, err)
                                                    : ATTN_INVALID;
    ATTN_THEN(status, attn_run_perform(run, attn_capture_trace(made), result, err));
    attn_run_free(run);
    ATTN_RETURN_MADE(status, capture, made, attn_capture_free);
}

enum attn_status attn_result_tables(const struct attn_result *result, struct attn_table **top,
                                    struct attn_table **next, struct attn_error *err)
{
    ATTN_NEED(err, result, top, next);
    return attn_predictions_tables(&result->predictions, top, next, err);
}

enum attn_status attn_result_metric(const struct attn_result *result, struct attn_table **metric,
                                    struct attn_error *err)
{
    ATTN_NEED(err, result, metric);
    return attn_predictions_metric(&result->predictions, metric, err);
}

void attn_result_release(struct attn_result *result)
{
    if (!result)
        return;
    attn_predictions_release(&result->predictions);
    *result = (struct attn_result){0};
}
