#include "stream/many_item.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/logit_rows.h"
#include "forward/session_pack.h"
#include "input/position.h"
#include "measures/head_mix.h"
#include "measures/run_measures.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "run/input_params.h"
#include "run/maker.h"
#include "stream/items_internal.h"
#include "stream/masked_copies.h"
#include "towers/families/vision_family.h"
#include "towers/pixels_internal.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

ATTN_DEFAULTS(attn_many_options, .size = sizeof(struct attn_many_options))

/* --- All items ------------------------------------------------------------------------------- */

static enum attn_status report(struct attn_error *err, const char *what)
{
    attn_error_set(err, ATTN_INVALID, "%s", what);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status check_request(const struct attn_request *request, struct attn_error *err)
{
    if (request->attention.change &&
        (request->attention.change->mask || request->attention.change->keep))
        return report(err, "a mask of cells fits texts of one length only");
    if (request->selection.given)
        return report(err, "a selection fits texts of one length only: give its lists");
    if (request->outputs.n > 0)
        return report(
            err,
            "the outputs of a request are for one text: results of many records go to the caller");
    return ATTN_OK;
}

/* Whether surprisal is computed with a mask in place of each token. */
static bool is_masked(const struct attn_many_task *task)
{
    return task->options.has_surprisal && attn_model_config(task->host->model)->is_encoder;
}

static enum attn_status check_output(const struct attn_many_task *task, struct attn_error *err)
{
    const bool is_wanted = task->options.has_surprisal || task->options.has_logits;

    if (!is_wanted)
        return ATTN_OK;
    if (task->options.has_surprisal)
        ATTN_TRY(attn_model_check_tokens(task->host->model, err));
    ATTN_TRY(attn_run_check_output(
        task->host->model,
        task->options.has_surprisal ? "and the surprisal needs one" : "and logits need one", err));
    return is_masked(task) ? attn_masked_check(task->host->model, task->host->tokenizer, err)
                           : ATTN_OK;
}

/* Selects the watched sites with the heads and queries of RUN. *watched stays NULL if nothing is
 * watched. */
static enum attn_status select_watched(const struct attn_many_task *task,
                                       const struct attn_run *run, struct attn_selection **watched,
                                       struct attn_error *err)
{
    const struct attn_many_options *options = &task->options;
    struct attn_site_set sites =
        options->keeps_tensors ? attn_selection_sites(run->selection) : (struct attn_site_set){0};
    struct attn_selection *made = NULL;

    if (options->measures != 0 || options->has_mixes)
        attn_sites_add(&sites, ATTN_SITE_PATTERN);
    if (options->has_mixes)
        attn_sites_add(&sites, ATTN_SITE_RESID_PRE);
    if (options->has_surprisal && !is_masked(task))
        attn_sites_add(&sites, ATTN_SITE_LOGITS);
    if (options->tokens && !is_masked(task))
        sites = attn_sites_join(sites, options->tokens->sites);
    /* Makes the session keep every row, so that logits of any position can be computed. */
    if (options->has_logits)
        attn_sites_add(&sites, ATTN_SITE_EMBED);
    if (attn_sites_are_empty(sites))
        return ATTN_OK;
    ATTN_TRY(
        attn_error_at(attn_selection_copy(run->selection, &made, err), ATTN_STAGE_OPTIONS, err));
    ATTN_RETURN_MADE(
        attn_error_at(attn_selection_set_sites(made, sites, err), ATTN_STAGE_OPTIONS, err), watched,
        made, attn_selection_free);
}

/* Whether the computation depends only on the tokens and the edits of a text, so that one session
 * serves all texts: no other option names positions, and no parameter depends on the length. */
static bool is_same_for_all(const struct attn_many_task *task)
{
    const struct attn_request *request = &task->request;
    bool is_same = !attn_number_list_is_given(&request->selection.queries) &&
                   request->predict.n_next + request->predict.n_next_ids == 0 &&
                   !request->predict.answer && task->longest->text.numbers.n == 0 &&
                   !attn_makers_are_wanted(task->longest->selection);

    for (size_t layer = 0; layer < task->n_layer; layer++) {
        const struct attn_attention *attention = &task->longest->attention.layers[layer];

        is_same = is_same && attention->dropout == 0 && attention->mask != ATTN_MASK_MATRIX &&
                  attention->kind != ATTN_ATTENTION_STRIDED &&
                  attention->kind != ATTN_ATTENTION_LOWRANK;
    }
    return is_same;
}

/* Creates a picture of zeros of the model's size, or of one patch if it reads any size. */
static enum attn_status make_blank(const struct attn_image_config *image,
                                   struct attn_pixels *pixels, struct attn_error *err)
{
    *pixels =
        (struct attn_pixels){.n_channel = image->n_channel,
                             .height = image->height > 0 ? image->height : image->patch_height,
                             .width = image->width > 0 ? image->width : image->patch_width};
    return ATTN_NEW(pixels->values,
                    attn_alloc(attn_size_mul(image->n_channel, pixels->height),
                               attn_size_mul(pixels->width, sizeof *pixels->values), err));
}

/* Whether one of SITES is among the tensors that are kept. */
static bool names_site(const struct attn_many_task *task, struct attn_site_set sites)
{
    struct attn_site_set named = {0};
    struct attn_error unknown = {0}; /* a malformed list is refused when a run is prepared */

    if (task->request.selection.sites)
        attn_sites_parse(task->request.selection.sites, &named, &unknown);
    return attn_sites_meet(named, sites);
}

/* Whether only texts with pictures fit the request: because of how they are read, or of its sites.
 */
static bool needs_pictures(const struct attn_many_task *task)
{
    const struct attn_vision_family *family = attn_model_config(task->host->model)->vision.family;
    const struct attn_request *request = &task->request;

    return family &&
           (family->needs_picture || request->reading.image_tiles != ATTN_IMAGE_TILES_ON ||
            names_site(task, ATTN_SITES(ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES,
                                        ATTN_SITE_IMAGE_FEATURES, ATTN_SITE_PIXEL_VALUES,
                                        ATTN_SITE_IMAGE_FEATURES_GRAD, ATTN_SITE_PIXEL_VALUES_GRAD,
                                        ATTN_SITE_DEEPSTACK, ATTN_SITE_DEEPSTACK_GRAD)));
}

/* Prepares a run of the longest text that may share a session, without options that name positions.
 * Fails if heads, attention or ablations do not fit the model. */
static enum attn_status prepare_longest(struct attn_many_task *task, struct attn_error *err)
{
    static const int32_t ids[ATTN_MANY_MOST_ROWS];
    struct attn_request request = task->request;
    const char *prompt;

    if (task->has_cross || needs_pictures(task))
        return ATTN_OK;
    request.input = (struct attn_input){.ids = ids, .n_id = task->n_longest};
    request.chat = (struct attn_chat_request){0};
    if (attn_model_reads_pictures(task->host->model)) {
        ATTN_TRY(make_blank(&attn_model_config(task->host->model)->image, &task->blank, err));
        request.input = (struct attn_input){.pixels = &task->blank};
    }
    request.on_note = task->options.request ? task->options.request->on_note : NULL;
    if (request.reading.prompt_name)
        ATTN_TRY(attn_error_at(attn_sentences->find_prompt(
                                   task->host->model, request.reading.prompt_name, &prompt, err),
                               ATTN_STAGE_OPTIONS, err));
    request.reading.prompt_name = NULL;
    request.selection.queries = request.selection.tiles = (struct attn_number_list){0};
    request.edits = (struct attn_request_edits){0};
    request.predict.n_next = request.predict.n_next_ids = 0;
    request.predict.answer = NULL;
    if (attn_model_config(task->host->model)->is_encoder &&
        attn_model_config(task->host->model)->task != ATTN_TASK_SPANS)
        request.predict.top = 0; /* positions of masks depend on the text */
    ATTN_TRY(attn_run_open(task->host, NULL, &request, &task->longest, err));
    ATTN_TRY(attn_run_drop_encoder(task->longest, err));
    ATTN_TRY(attn_edits_refuse_functions(&task->request.edits, "a batch", err));
    ATTN_TRY(attn_edits_check_model(&task->request.edits, task->longest->model,
                                    task->longest->attention.layers, err));
    task->is_packed = is_same_for_all(task);
    return select_watched(task, task->longest, &task->watched, err);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum attn_status read_options(struct attn_many_task *task,
                                     const struct attn_many_options *given, struct attn_error *err)
{
    struct attn_input input;

    ATTN_TRY(attn_options_read(given, &task->options, err));
    ATTN_TRY(attn_options_read(task->options.request, &task->request, err));
    ATTN_TRY(check_request(&task->request, err));
    input = task->request.input;
    task->request.input = (struct attn_input){0};
    attn_input_share_answer(&input, &task->request.input);
    task->request.source = (struct attn_input){0};
    task->request.on_note = NULL; /* notes are written once, not for each record */
    if (task->options.has_logits && attn_number_list_is_given(&task->request.selection.queries))
        return report(err, "`has_logits` is of one position of each record, expected no `queries`");
    if (attn_list_names_stack(task->request.selection.sites, ATTN_STACK_ENCODER) ||
        attn_list_names_stack(task->request.selection.sites, ATTN_STACK_TOWER))
        return report(err, "`sites` names the encoder, and records hold tensors of the decoder");
    if (!task->options.keeps_tensors)
        task->request.selection.sites = task->options.measures != 0 ? "pattern" : NULL;
    return ATTN_OK;
}

enum attn_status attn_many_task_init(struct attn_many_task *task, struct attn_host *host,
                                     const struct attn_many_options *given, struct attn_error *err)
{
    const struct attn_config *config;

    *task = (struct attn_many_task){
        .host = host, .options = ATTN_MANY_OPTIONS_DEFAULT, .request = ATTN_REQUEST_DEFAULT};
    ATTN_TRY(attn_error_at(read_options(task, given, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(host, err));
    config = attn_model_config(host->model);
    task->n_layer = config->n_layer;
    task->n_head = config->n_head;
    task->n_most = config->n_ctx;
    if (task->request.max_input > 0)
        task->n_most = smaller(task->request.max_input, config->n_ctx);
    if (task->options.stride >= task->n_most)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "windows of %zu positions cannot move by %zu, expected 1 to %zu",
                           task->n_most, task->options.stride, task->n_most - 1);
    task->n_longest = smaller(ATTN_MANY_MOST_ROWS, task->n_most);
    task->n_session_row =
        task->n_longest > ATTN_MANY_PACK_ROWS ? task->n_longest : ATTN_MANY_PACK_ROWS;
    task->n_most_packed = ATTN_MANY_PACK_ROWS;
    if (attn_predict_is_asked(&task->request.predict) || task->options.has_logits)
        task->n_most_packed = attn_logit_rows_at_once(config->n_vocab, ATTN_MANY_PACK_ROWS);
    task->has_cross = attn_config_has_cross(config);
    ATTN_TRY(attn_run_check_question(host->model, &task->request.predict, err));
    ATTN_TRY(check_output(task, err));
    return prepare_longest(task, err);
}

void attn_many_task_release(struct attn_many_task *task)
{
    attn_selection_free(task->watched);
    attn_run_free(task->longest);
    attn_pixels_release(&task->blank);
}

/* --- Windows ---------------------------------------------------------------------------------- */

enum attn_status attn_many_whole_read(const struct attn_many_task *task,
                                      const struct attn_item *given, struct attn_many_whole **whole,
                                      struct attn_error *err)
{
    const struct attn_request_reading *reading = &task->request.reading;
    const struct attn_tokenizer *tokenizer = NULL;
    struct attn_error unseen = {0}; /* the item reports it when it is prepared */
    struct attn_many_whole *made;
    struct attn_sequence *text;
    enum attn_status status = ATTN_OK;

    if (task->options.stride == 0 || given->failure != ATTN_REASON_NONE ||
        given->pair != ATTN_ITEM_SINGLE || given->messages || given->continuation ||
        task->request.input.continuation || !attn_input_is_given(&given->input) ||
        given->input.embeddings || attn_input_is_picture(&given->input) ||
        attn_model_config(task->host->model)->is_encoder)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    text = &made->text;
    text->ids = given->input.ids;
    text->n = given->input.n_id;
    text->input = &given->input;
    text->role = "text";
    text->places = given->named.others ? &given->named : reading->places;
    attn_host_tokenizer(task->host, &tokenizer, NULL);
    if (!text->ids)
        status = tokenizer ? attn_sequence_encode(reading, &given->input, tokenizer, text, &unseen)
                           : ATTN_INVALID;
    if (status == ATTN_OK && text->n > task->n_most && tokenizer)
        status = attn_sequence_find_tokens(tokenizer, text, &unseen);
    if (status == ATTN_OK && text->n > task->n_most &&
        attn_edits_name_positions(&task->request.edits))
        status = attn_refuse(&unseen, ATTN_STAGE_OPTIONS,
                             "the text is scored in windows of %zu tokens, and `knockouts`, "
                             "`patches` and `steer` name positions of one window",
                             task->n_most);
    if (status == ATTN_OK && text->n > task->n_most) {
        *whole = made;
        return ATTN_OK;
    }
    attn_many_whole_free(made);
    return status == ATTN_NO_MEMORY || unseen.stage == ATTN_STAGE_OPTIONS
               ? attn_error_copy(err, &unseen)
               : ATTN_OK;
}

enum attn_status attn_many_whole_cut(const struct attn_many_task *task, struct attn_many_item *item,
                                     struct attn_error *err)
{
    const struct attn_sequence *text = &item->part.whole->text;
    const size_t n = smaller(text->n - item->part.shift, task->n_most);

    item->is_last = item->part.shift + n == text->n;
    ATTN_TRY(ATTN_NEW(item->part.ids, attn_alloc(n, sizeof *item->part.ids, err)));
    memcpy(item->part.ids, text->ids + item->part.shift, n * sizeof *item->part.ids);
    if (task->request.reading.special_tokens == ATTN_SPECIAL_TOKENS_BOS)
        item->part.ids[0] = text->ids[0];
    item->part.input = (struct attn_input){.ids = item->part.ids, .n_id = n};
    return ATTN_OK;
}

void attn_many_whole_free(struct attn_many_whole *whole)
{
    if (!whole)
        return;
    attn_sequence_release(&whole->text);
    attn_free(whole->surprisal);
    attn_free(whole->numbers);
    attn_free(whole);
}

/* --- Reading an input ------------------------------------------------------------------------ */

static enum attn_status check_count(const struct attn_many_task *task,
                                    const struct attn_sequence *text,
                                    const struct attn_input *input, struct attn_error *err)
{
    const struct attn_model *model = task->host->model;
    const bool is_of_model = task->n_most == attn_model_config(model)->n_ctx;

    return attn_sequence_check_length(text, input, is_of_model ? attn_model_name(model) : NULL,
                                      task->n_most, err);
}

/* Checks ITEM before its text is encoded. */
static enum attn_status check_item(const struct attn_many_task *task,
                                   const struct attn_many_item *item, struct attn_error *err)
{
    const struct attn_input *input = attn_many_item_input(item);
    const bool reads_pictures = attn_model_reads_pictures(task->host->model);

    if (reads_pictures && attn_input_is_picture(input))
        return ATTN_OK;
    if (reads_pictures || (!attn_input_is_given(input) && !task->request.chat.messages))
        return attn_error_because(attn_error_set(err, ATTN_INVALID,
                                                 reads_pictures
                                                     ? "there is no picture, expected 'image'"
                                                     : "there is no text, expected a text or ids"),
                                  ATTN_REASON_NO_TEXT, err);
    if (input->ids && !input->embeddings) {
        ATTN_TRY(check_count(task, &(struct attn_sequence){.n = input->n_id}, input, err));
        ATTN_TRY(attn_model_check_ids(task->host->model, input->ids, input->n_id, 0, err));
    }
    return task->has_cross
               ? attn_error_because(attn_source_check(&item->given->source, task->host->model, err),
                                    ATTN_REASON_BAD_SOURCE, err)
               : ATTN_OK;
}

/* Whether STATUS is a failure of INPUT, the text of ITEM, and not of memory or the model. */
static bool is_of_input(const struct attn_many_task *task, const struct attn_item *item,
                        const struct attn_input *input, enum attn_status status,
                        const struct attn_error *err)
{
    const struct attn_tokenizer *tokenizer;

    if (item->messages || attn_input_is_picture(input))
        return status != ATTN_NO_MEMORY && status != ATTN_CANCELED &&
               (err->stage == ATTN_STAGE_INPUT || err->stage == ATTN_STAGE_OPTIONS);
    return (status == ATTN_INVALID || status == ATTN_UNSUPPORTED) &&
           err->stage != ATTN_STAGE_MODEL &&
           attn_host_tokenizer(task->host, &tokenizer, NULL) == ATTN_OK;
}

/* Estimates the bytes that ITEM holds once it is computed. */
static size_t count_bytes(const struct attn_many_task *task, const struct attn_many_item *item)
{
    enum { BYTES_A_TOKEN = 64 }; /* for id, offsets and text */
    const struct attn_selection *selection = item->run->selection;
    const size_t n = item->run->text.n;
    size_t n_number = /* number of floats; a double counts as two */
        3 * (size_t)attn_measures_count(task->options.measures) * task->n_layer * task->n_head +
        (task->options.has_mixes ? (size_t)2 * ATTN_N_MIX_NUMBER * task->n_layer * task->n_head
                                 : 0);

    struct attn_selection_walk walk = {0};

    while (task->options.keeps_tensors && attn_selection_next(selection, &walk)) {
        size_t shape[3], n_cell = 1;
        const int rank = attn_selection_shape(selection, &walk.at, shape);

        for (int i = 0; i < rank; i++)
            n_cell *= shape[i];
        n_number += n_cell;
    }
    if (task->options.has_logits)
        n_number += attn_model_config(task->host->model)->n_vocab *
                    (attn_model_config(task->host->model)->task == ATTN_TASK_SPANS ? n : 1);
    return n * BYTES_A_TOKEN + n_number * sizeof(float);
}

/* Returns the number of rows of logits that the answer of ITEM reads. */
static size_t n_logit_row(const struct attn_many_item *item)
{
    return attn_model_config(item->run->model)->task == ATTN_TASK_SPANS ? item->n_row : 1;
}

/* Checks the prepared run of ITEM, and resolves the position that it names. */
static enum attn_status check_run(const struct attn_many_task *task, struct attn_many_item *item,
                                  struct attn_error *err)
{
    const struct attn_answer_scope scope = attn_run_answer_scope(item->run);
    const enum attn_task task_of = attn_model_config(item->run->model)->task;
    const struct attn_number_list *at = &item->given->answer.at;

    ATTN_TRY(check_count(task, &item->run->text, &item->run->request.input, err));
    if (!task->options.has_logits)
        return ATTN_OK;
    item->position = item->run->text.n - 1;
    if (attn_model_is_classifier(item->run->model) || task_of == ATTN_TASK_SPANS) {
        item->position = 0;
    } else if (task_of == ATTN_TASK_TOKENS) {
        const struct attn_answer_args args = {.metric = ATTN_ANSWER_KL, .at = *at};
        struct attn_answer answer;

        ATTN_TRY(attn_run_find_answer(item->run, &args, &answer, err));
        item->position = answer.position;
    } else if (attn_number_list_is_given(at)) {
        return attn_position_find(&item->run->text, "at", at, &item->position, err);
    } else if (attn_model_config(item->run->model)->is_encoder) {
        return attn_mask_find(&scope, "at", &item->position, err);
    }
    return ATTN_OK;
}

/* Reads the input of an item that has not failed yet. If reading fails, *failure and WHY receive
 * the reason. */
static enum attn_status read_input(const struct attn_many_task *task, struct attn_many_item *item,
                                   enum attn_reason *failure, struct attn_error *why)
{
    const struct attn_item *given = item->given;
    struct attn_request request = task->request;
    enum attn_status status = check_item(task, item, why);

    if (status != ATTN_OK) {
        *failure = attn_item_reason(why);
        return ATTN_OK;
    }
    request.input = *attn_many_item_input(item);
    attn_item_see(given, task->host->model, &task->request.input, &request.input);
    attn_item_fill_chat(given, &request);
    if (given->neutral.text && attn_input_is_picture(&request.input) &&
        names_site(task, ATTN_SITES(ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES)))
        request.maps.neutral = given->neutral.text;
    if (given->named.others)
        request.reading.places = &given->named;
    request.selection.queries = attn_number_list_or(given->queries, request.selection.queries);
    if (given->next) {
        request.predict.next = given->next, request.predict.n_next = given->n_next;
        request.predict.next_ids = given->next_ids, request.predict.n_next_ids = given->n_next_ids;
    }
    if (task->has_cross)
        request.source = given->source;
    status = attn_run_open(task->host, NULL, &request, &item->run, why);
    if (status != ATTN_OK && !is_of_input(task, given, &request.input, status, why))
        return status;
    if (status == ATTN_OK) {
        /* Records select heads of the decoder only. */
        ATTN_TRY(attn_run_drop_encoder(item->run, why));
        status = check_run(task, item, why);
        if (status == ATTN_OK && is_masked(task))
            status = attn_run_check_time(item->run, item->run->text.n, why);
    }
    *failure = status != ATTN_OK ? attn_item_reason(why) : ATTN_REASON_NONE;
    return ATTN_OK;
}

enum attn_status attn_many_item_prepare(const struct attn_many_task *task,
                                        struct attn_many_item *item, struct attn_error *err)
{
    const struct attn_item *given = item->given;
    struct attn_error why = {0};

    item->failure = given->failure;
    if (item->failure != ATTN_REASON_NONE)
        return ATTN_OK;
    if (read_input(task, item, &item->failure, &why) != ATTN_OK)
        return attn_error_copy(err, &why);
    if (item->failure != ATTN_REASON_NONE) {
        attn_run_free(item->run);
        item->run = NULL;
        ATTN_TRY(ATTN_ALLOC(item->why, 1, err));
        *item->why = why;
        return ATTN_OK;
    }
    item->n_row = item->run->text.n;
    item->can_pack = task->is_packed && !given->next &&
                     !attn_number_list_is_given(&given->queries) && item->run->text.ids &&
                     !item->run->text.rows && item->n_row <= task->n_longest;
    item->n_byte = count_bytes(task, item);
    return ATTN_OK;
}

/* --- Consumers of the trace ------------------------------------------------------------------- */

/* Begins the reader of the tokens of ITEM. */
static enum attn_status begin_tokens(const struct attn_token_reader *reader,
                                     struct attn_many_item *item, struct attn_error *err)
{
    const struct attn_sequence *text =
        item->part.whole ? &item->part.whole->text : &item->run->text;
    struct attn_token_text *tokens = &item->tokens;

    item->reader = reader;
    *tokens = (struct attn_token_text){.run = item->run,
                                       .pool = item->pool,
                                       .surprisal = item->surprisal,
                                       .n = item->n_row,
                                       .from = item->part.from - item->part.shift,
                                       .first = text->encoding.n_front,
                                       .end = text->n - text->encoding.n_back - item->part.shift};
    tokens->first = tokens->first < item->part.shift ? SIZE_MAX : tokens->first - item->part.shift;
    tokens->numbers =
        attn_alloc(attn_size_mul(tokens->n, reader->n_number), sizeof *tokens->numbers, err);
    if (!tokens->numbers)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < tokens->n * reader->n_number; i++)
        tokens->numbers[i] = (double)NAN;
    return reader->begin(reader->user, tokens, &item->reading, err);
}

static enum attn_status make_listeners(const struct attn_many_task *task,
                                       struct attn_many_item *item, struct attn_error *err)
{
    const struct attn_metric_settings settings = attn_run_metric_settings(item->run);

    ATTN_TRY(select_watched(task, item->run, &item->watched, err));
    ATTN_TRY(attn_measure_group_create(task->options.measures, &settings, item->watched, item->pool,
                                       &item->heads.group, err));
    if (task->options.has_mixes)
        ATTN_TRY(attn_head_mixes_create(&settings, item->watched, &item->heads.mixing, err));
    if (task->options.keeps_tensors)
        ATTN_TRY(attn_run_begin_capture(item->run, &item->capture, err));
    if (task->options.has_logits) {
        const size_t n_vocab = attn_model_config(task->host->model)->n_vocab;

        item->logits =
            attn_alloc_uninitialized(n_logit_row(item) * n_vocab, sizeof *item->logits, err);
        if (!item->logits)
            return ATTN_NO_MEMORY;
    }
    if (!task->options.has_surprisal)
        return ATTN_OK;
    item->surprisal = attn_alloc(item->n_row, sizeof *item->surprisal, err);
    for (size_t i = 0; item->surprisal && i < item->n_row; i++)
        item->surprisal[i] = (double)NAN;
    if (!item->surprisal)
        return ATTN_NO_MEMORY;
    return task->options.tokens ? begin_tokens(task->options.tokens, item, err) : ATTN_OK;
}

/* Creates the consumers of ITEM's trace, which is prepared. POOL, or NULL, helps with long rows. */
static enum attn_status create_listeners(const struct attn_many_task *task,
                                         struct attn_many_item *item, struct attn_pool *pool,
                                         struct attn_error *err)
{
    item->pool = pool;
    return attn_error_at(make_listeners(task, item, err), ATTN_STAGE_OPTIONS, err);
}

/* Some rows of logits, and the item that they belong to. */
struct logits {
    struct attn_many_item *item;
    const struct attn_trace_event *event;
};

/* Computes the surprisal of the token after row TASK. */
static void find_surprisal(void *context, size_t task, int worker)
{
    const struct logits *logits = context;
    const struct attn_trace_event *event = logits->event;
    const size_t next = event->row0 + task + 1;

    (void)worker;
    if (next < logits->item->run->text.n &&
        attn_picture_prompt_is_scored(&logits->item->run->text, next))
        logits->item->surprisal[next] = attn_logits_surprisal(
            event->data + task * event->ld, event->n_col, logits->item->run->text.ids[next]);
}

/* Stores the requested row of logits, if it is among those of EVENT. */
static void keep_logits(const struct attn_many_item *item, const struct attn_trace_event *event)
{
    if (n_logit_row(item) > 1)
        memcpy(item->logits + event->row0 * event->n_col, event->data,
               event->n_row * event->n_col * sizeof *item->logits);
    else if (item->position >= event->row0 && item->position - event->row0 < event->n_row)
        memcpy(item->logits, event->data + (item->position - event->row0) * event->ld,
               event->n_col * sizeof *item->logits);
}

/* Implements attn_trace_fn. USER is the item. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_many_item *item = user;
    const struct attn_trace *trace;

    if (event->at.site == ATTN_SITE_PATTERN)
        attn_measure_group_add(&item->heads.group, event);
    if (item->heads.mixing)
        attn_head_mixes_add(item->heads.mixing, event);
    if (item->surprisal && event->at.site == ATTN_SITE_LOGITS &&
        !(item->reading && attn_sites_have(item->reader->sites, ATTN_SITE_LOGITS)) &&
        !attn_model_config(item->run->model)->is_encoder) {
        struct logits logits = {item, event};

        attn_pool_run(item->pool, event->n_row, find_surprisal, &logits);
    }
    if (item->logits && event->at.site == ATTN_SITE_LOGITS)
        keep_logits(item, event);
    if (item->reading && attn_sites_have(item->reader->sites, event->at.site))
        ATTN_TRY(item->reader->add(item->reading, event, err));
    if (!item->capture || !attn_selection_has_site(item->run->selection, event->at.site))
        return ATTN_OK;
    trace = attn_capture_trace(item->capture);
    return trace->on_event(trace->user, event, err);
}

static void end_tokens(struct attn_many_item *item)
{
    if (item->reading)
        item->reader->end(item->reading);
    item->reading = NULL;
}

/* Computes MEASURE [L, H] into VALUES. */
static void find_measure(const struct attn_many_task *task, const struct attn_many_item *item,
                         enum attn_measure measure, double *values)
{
    for (size_t i = 0; i < task->n_layer * task->n_head; i++) {
        const struct attn_location at =
            attn_head_at(attn_selection_dims(item->watched), ATTN_SITE_PATTERN, i);

        values[i] = attn_selection_has_head(item->watched, &at)
                        ? attn_measure_group_find(&item->heads.group, measure, &at)
                        : (double)NAN;
    }
}

/* Computes how the heads of ITEM divide their weight. */
static enum attn_status find_mixes(const struct attn_many_task *task, struct attn_many_item *item,
                                   struct attn_error *err)
{
    const size_t n = task->n_layer * task->n_head;

    ATTN_TRY(ATTN_ALLOC(item->heads.mixes, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_location at =
            attn_head_at(attn_selection_dims(item->watched), ATTN_SITE_PATTERN, i);

        if (attn_selection_has_head(item->watched, &at))
            attn_head_mixes_find(item->heads.mixing, &at, &item->heads.mixes[i]);
    }
    attn_head_mixes_free(item->heads.mixing);
    item->heads.mixing = NULL;
    return ATTN_OK;
}

static enum attn_status find_measures(const struct attn_many_task *task,
                                      struct attn_many_item *item, struct attn_error *err)
{
    const size_t n_cell = task->n_layer * task->n_head;
    const size_t n = (size_t)attn_measures_count(task->options.measures);
    double *values;

    end_tokens(item);
    if (item->heads.mixing)
        ATTN_TRY(find_mixes(task, item, err));
    if (n == 0)
        return ATTN_OK;
    item->heads.measures = attn_alloc(n * n_cell, sizeof *item->heads.measures, err);
    item->heads.exact = values = attn_alloc(n * n_cell, sizeof *item->heads.exact, err);
    if (!item->heads.measures || !item->heads.exact)
        return ATTN_NO_MEMORY;
    for (int m = 0; m < ATTN_MOST_MEASURE; m++) {
        if ((task->options.measures & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        find_measure(task, item, (enum attn_measure)m, values);
        values += n_cell;
    }
    for (size_t i = 0; i < n * n_cell; i++)
        item->heads.measures[i] = (float)item->heads.exact[i];
    attn_measure_group_release(&item->heads.group);
    return ATTN_OK;
}

void attn_many_item_report(const struct attn_many_task *task, const struct attn_many_item *item,
                           struct attn_item_result *result)
{
    *result = (struct attn_item_result){
        .item = item->given,
        .is_second = item->is_second,
        .is_last = item->is_last,
        .failure = item->failure,
        .n_token = item->n_row,
        .labels = item->run ? &item->run->labels : NULL,
        .heads = {.measures = item->heads.measures,
                  .exact = item->heads.exact,
                  .mixes = item->heads.mixes,
                  .which = task->options.measures,
                  .n_layer = task->n_layer,
                  .n_head = task->n_head},
        .predictions = item->result.predictions,
        .capture = item->capture,
        .surprisal = item->surprisal,
        .run = item->run,
        .text = item->run ? &item->run->text : NULL,
        .numbers = item->tokens.numbers,
        .logits = item->logits,
        .err = item->why ? *item->why : item->given->err,
    };
}

/* Adds logits to the watched sites: only their row, if nothing else is watched. */
static enum attn_status watch_logits(const struct attn_many_item *item, struct attn_error *err)
{
    const struct attn_site_set sites = attn_selection_sites(item->watched);
    const struct attn_site_set added = ATTN_SITES(ATTN_SITE_LOGITS);

    ATTN_TRY(
        attn_error_at(attn_selection_set_sites(item->watched, attn_sites_join(sites, added), err),
                      ATTN_STAGE_OPTIONS, err));
    if (!attn_sites_are_equal(sites, ATTN_SITES(ATTN_SITE_EMBED)) || n_logit_row(item) > 1)
        return ATTN_OK;
    return attn_error_at(
        attn_selection_add_queries(item->watched, ATTN_STACK_ONLY, item->position, 1, err),
        ATTN_STAGE_OPTIONS, err);
}

/* Implements attn_masked_fn: stores the surprisal of each masked token. USER is the item. */
static enum attn_status store_surprisal(void *user, const struct attn_masked_rows *rows,
                                        struct attn_error *err)
{
    const struct attn_many_item *item = user;
    const size_t n_vocab = attn_model_config(item->run->model)->n_vocab;

    for (size_t i = 0; i < rows->n && item->reading; i++) {
        const struct attn_trace_event row = {.at.site = ATTN_SITE_LOGITS,
                                             .row0 = rows->positions[i] - 1,
                                             .n_row = 1,
                                             .n_col = n_vocab,
                                             .data = rows->logits + i * n_vocab};

        ATTN_TRY(item->reader->add(item->reading, &row, err));
    }
    for (size_t i = 0; i < rows->n && !item->reading; i++)
        item->surprisal[rows->positions[i]] =
            attn_logits_surprisal(rows->logits + i * n_vocab, n_vocab, rows->ids[i]);
    if (item->run->request.on_progress)
        item->run->request.on_progress(item->run->request.user, rows->positions[rows->n - 1] + 1,
                                       item->run->text.n);
    return ATTN_OK;
}

/* Computes the surprisal of each token, masked in a copy of the text, in a separate session. */
static enum attn_status mask_alone(struct attn_many_item *item, struct attn_pool *pool,
                                   struct attn_error *err)
{
    const size_t n_row = item->n_row > ATTN_MANY_MASKED_ROWS ? item->n_row : ATTN_MANY_MASKED_ROWS;
    const struct attn_masked_scope scope = attn_masked_scope_of(item->run);
    struct attn_masked *masked;
    enum attn_status status;

    ATTN_TRY(attn_masked_create(&scope, n_row, pool, &masked, err));
    status = attn_masked_read(masked, &scope, store_surprisal, item, err);
    attn_masked_free(masked);
    return status;
}

enum attn_status attn_many_item_compute(const struct attn_many_task *task,
                                        struct attn_many_item *item, bool has_pool,
                                        struct attn_error *err)
{
    struct attn_pool *pool = has_pool ? task->host->pool : NULL;
    struct attn_trace trace = {.on_event = on_event, .user = item};

    ATTN_TRY(create_listeners(task, item, pool, err));
    if (item->logits)
        ATTN_TRY(watch_logits(item, err));
    trace.selection = item->watched;
    ATTN_TRY(attn_run_feed(item->run, item->watched ? &trace : NULL, pool, &item->result, err));
    if (is_masked(task) && item->run->text.ids)
        ATTN_TRY(mask_alone(item, pool, err));
    return find_measures(task, item, err);
}

void attn_many_item_release(struct attn_many_item *item)
{
    end_tokens(item);
    attn_free(item->tokens.numbers);
    attn_free(item->part.ids);
    if (item->is_last)
        attn_many_whole_free(item->part.whole);
    attn_measure_group_release(&item->heads.group);
    attn_head_mixes_free(item->heads.mixing);
    attn_free(item->heads.mixes);
    attn_capture_free(item->capture);
    attn_selection_free(item->watched);
    attn_free(item->heads.measures);
    attn_free(item->heads.exact);
    attn_free(item->surprisal);
    attn_free(item->logits);
    attn_free(item->why);
    attn_result_release(&item->result);
    attn_run_free(item->run);
    if (item->answer) {
        attn_table_free(item->answer->result.answer.rows);
        attn_free(item->answer->result.answer.beside);
        attn_free(item->answer);
    }
    *item = (struct attn_many_item){0};
}

/* --- Packs ------------------------------------------------------------------------------------ */

struct attn_many_pack {
    const struct attn_many_task *task;
    struct attn_trace trace;
    struct attn_session *session;        /* owns; NULL before its first use */
    struct attn_masked *masked;          /* owns; NULL before its first use */
    struct attn_many_item *const *items; /* [n] the items of the current feed */
    size_t n;
};

/* Implements attn_trace_fn: passes an event to the item of its sequence, as one of its only text.
 */
static enum attn_status on_pack_event(void *user, const struct attn_trace_event *event,
                                      struct attn_error *err)
{
    const struct attn_many_pack *pack = user;
    struct attn_trace_event own = *event;

    own.sequence = 0;
    return on_event(pack->items[event->sequence], &own, err);
}

enum attn_status attn_many_pack_create(const struct attn_many_task *task,
                                       struct attn_many_pack **pack, struct attn_error *err)
{
    struct attn_many_pack *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->task = task;
    made->trace =
        (struct attn_trace){.selection = task->watched, .on_event = on_pack_event, .user = made};
    *pack = made;
    return ATTN_OK;
}

void attn_many_pack_free(struct attn_many_pack *pack)
{
    if (!pack)
        return;
    attn_session_free(pack->session);
    attn_masked_free(pack->masked);
    attn_free(pack);
}

static enum attn_status start(struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_run *run = pack->task->longest;
    struct attn_session_options options = attn_run_session_options(run);
    enum attn_status status;

    if (pack->session)
        return ATTN_OK;
    options.n_max = pack->task->n_session_row;
    options.n_sequence = ATTN_MANY_PACK_ROWS;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits =
        attn_predict_is_asked(&pack->task->request.predict) || pack->task->options.has_logits;
    options.trace = pack->task->watched ? &pack->trace : NULL;
    status = attn_session_create(run->model, &options, &pack->session, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Rows of a pack whose logits are computed together. */
struct mask_rows {
    size_t rows[ATTN_MANY_PACK_ROWS]; /* [n] row numbers, counted over the pack */
    size_t positions[ATTN_MANY_PACK_ROWS];
    struct attn_many_item *items[ATTN_MANY_PACK_ROWS];
    size_t n;
    float *logits; /* [n_most_packed, V] owns */
};

static enum attn_status predict_rows(const struct attn_many_pack *pack,
                                     const struct attn_prediction_args *args,
                                     struct mask_rows *masks, struct attn_error *err)
{
    if (masks->n > 0)
        ATTN_TRY(attn_session_logits_of(pack->session, masks->rows, masks->n, masks->logits, err));
    for (size_t i = 0; i < masks->n; i++)
        ATTN_TRY(attn_predict_more(args, masks->positions[i], masks->logits + i * args->n_vocab,
                                   &masks->items[i]->result.predictions, err));
    masks->n = 0;
    return ATTN_OK;
}

static enum attn_status predict_masks(const struct attn_many_pack *pack,
                                      const struct attn_prediction_args *args,
                                      struct attn_error *err)
{
    const size_t n_most = pack->task->n_most_packed;
    struct mask_rows masks = {.n = 0};
    enum attn_status status = ATTN_OK;
    size_t first = 0;

    masks.logits = attn_alloc_uninitialized(n_most * args->n_vocab, sizeof *masks.logits, err);
    if (!masks.logits)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < pack->n; first += pack->items[i++]->n_row)
        for (size_t at = 0; status == ATTN_OK && at < pack->items[i]->n_row; at++) {
            if (!attn_selection_has_query(pack->items[i]->run->asked.masks, ATTN_STACK_ONLY, at))
                continue;
            masks.rows[masks.n] = first + at;
            masks.positions[masks.n] = at;
            masks.items[masks.n++] = pack->items[i];
            if (masks.n == n_most)
                status = predict_rows(pack, args, &masks, err);
        }
    ATTN_THEN(status, predict_rows(pack, args, &masks, err));
    attn_free(masks.logits);
    return status;
}

static enum attn_status predict_spans(const struct attn_many_pack *pack,
                                      const struct attn_prediction_args *args,
                                      struct attn_error *err)
{
    struct attn_prediction_args one = *args;
    size_t first = 0;

    for (size_t i = 0; i < pack->n; first += pack->items[i++]->n_row) {
        one.text = &pack->items[i]->run->text;
        ATTN_TRY(attn_predict_spans(pack->session, first, &one, &pack->items[i]->result.predictions,
                                    err));
    }
    return ATTN_OK;
}

/* Computes the predictions after the last position of each item. */
static enum attn_status predict(const struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_run *run = pack->items[0]->run;
    const struct attn_prediction_args args = {.question = &run->request.predict,
                                              .continuations = &run->asked.continuations,
                                              .model = run->model,
                                              .tokenizer = run->tokenizer,
                                              .n_vocab = attn_model_config(run->model)->n_vocab};
    enum attn_status status;
    float *logits;

    if (!attn_predict_is_asked(&run->request.predict))
        return ATTN_OK;
    if (attn_model_config(run->model)->task == ATTN_TASK_SPANS)
        return predict_spans(pack, &args, err);
    if (attn_model_config(run->model)->is_encoder && !attn_model_is_classifier(run->model))
        return predict_masks(pack, &args, err);
    logits = attn_alloc_uninitialized(pack->n * args.n_vocab, sizeof *logits, err);
    if (!logits)
        return ATTN_NO_MEMORY;
    status = attn_session_logits_last(pack->session, logits, err);
    for (size_t i = 0; status == ATTN_OK && i < pack->n; i++)
        status =
            attn_predict_last(&args, pack->items[i]->run->text.n - 1, logits + i * args.n_vocab,
                              &pack->items[i]->result.predictions, err);
    attn_free(logits);
    return status;
}

/* Computes the requested logits in one product. */
static enum attn_status find_logits(const struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(pack->task->host->model);
    const size_t n_vocab = config->n_vocab;
    enum attn_status status = ATTN_OK;
    size_t positions[ATTN_MANY_PACK_ROWS], first = 0;
    float *logits;

    if (!pack->task->options.has_logits)
        return ATTN_OK;
    for (size_t i = 0; i < pack->n; first += pack->items[i++]->n_row)
        if (config->task == ATTN_TASK_SPANS)
            ATTN_TRY(attn_session_logits_at(pack->session, first, pack->items[i]->n_row,
                                            pack->items[i]->logits, err));
        else
            positions[i] =
                config->pooling != ATTN_POOLING_NONE ? i : first + pack->items[i]->position;
    if (config->task == ATTN_TASK_SPANS)
        return ATTN_OK;
    logits = attn_alloc_uninitialized(pack->n * n_vocab, sizeof *logits, err);
    if (!logits)
        return ATTN_NO_MEMORY;
    status = attn_session_logits_of(pack->session, positions, pack->n, logits, err);
    for (size_t i = 0; status == ATTN_OK && i < pack->n; i++)
        memcpy(pack->items[i]->logits, logits + i * n_vocab, n_vocab * sizeof *logits);
    attn_free(logits);
    return status;
}

static enum attn_status feed(struct attn_many_pack *pack, struct attn_error *err)
{
    struct attn_session_sequence sequences[ATTN_MANY_PACK_ROWS] = {{.n = 0}};

    for (size_t i = 0; i < pack->n; i++) {
        sequences[i].ids = pack->items[i]->run->text.ids;
        sequences[i].types = pack->items[i]->run->text.types;
        sequences[i].key_mask = pack->items[i]->run->text.key_mask;
        sequences[i].n = pack->items[i]->n_row;
        sequences[i].edits = pack->items[i]->run->edits.items;
        sequences[i].n_edit = pack->items[i]->run->edits.n;
    }
    attn_session_reset(pack->session);
    ATTN_TRY(attn_session_feed_many(pack->session, sequences, pack->n, err));
    /* The session has not checked the cancel flag since the last layer. */
    ATTN_TRY(attn_host_check_canceled(pack->task->host, err));
    ATTN_TRY(find_logits(pack, err));
    return predict(pack, err);
}

/* If requested, computes the surprisal of each token of ITEM, masked in copies of the text. */
static enum attn_status mask(struct attn_many_pack *pack, struct attn_many_item *item,
                             struct attn_error *err)
{
    if (!is_masked(pack->task))
        return ATTN_OK;
    const struct attn_masked_scope scope = attn_masked_scope_of(item->run),
                                   longest = attn_masked_scope_of(pack->task->longest);

    if (!pack->masked)
        ATTN_TRY(attn_masked_create(&longest, ATTN_MANY_MASKED_ROWS, NULL, &pack->masked, err));
    return attn_masked_read(pack->masked, &scope, store_surprisal, item, err);
}

enum attn_status attn_many_pack_run(struct attn_many_pack *pack,
                                    struct attn_many_item *const *items, size_t n,
                                    struct attn_error *err)
{
    ATTN_TRY(start(pack, err));
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(create_listeners(pack->task, items[i], NULL, err));
    pack->items = items;
    pack->n = n;
    ATTN_TRY(attn_error_at(feed(pack, err), ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < n; i++) {
        attn_edits_find_effects(&items[i]->run->edits, pack->session, i);
        ATTN_TRY(mask(pack, items[i], err));
        ATTN_TRY(find_measures(pack->task, items[i], err));
    }
    return ATTN_OK;
}
