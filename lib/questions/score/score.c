/* score.c - see score.h. A text is run in windows, a short one in a single window; each window is a
 * separate run over its ids. For many texts only sums are stored. */
#include "score/score_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/logit_rows.h"
#include "kernels/kernels.h"
#include "machine/frame.h"
#include "machine/questions.h"
#include "machine/questions_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "sites/trial.h"
#include "stream/items_internal.h"
#include "stream/masked_copies.h"
#include "talk/chat.h"
#include "tensors/token_text.h"
#include "tokenizer/words.h"
#include "towers/pixels_internal.h"
#include "towers/prompt/picture_prompt.h"

#include <math.h>
#include <stdio.h>

ATTN_DEFAULTS(attn_score_sum, .size = sizeof(struct attn_score_sum))

enum {
    POSITION, /* for one text */
    ID,
    TOKEN,
    BITS,
    NATS,
    RANK, /* for one text */
    TOP,
    TOP_PROB,
    ROW_TYPE,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [ID] = ATTN_COLUMN_OF(ID, "id", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [BITS] = ATTN_COLUMN_QUANTITY("bits", 4, "bits", POSITIVE, "surprisal",
                                  .traits = ATTN_TRAIT_SURPRISAL),
    [NATS] = ATTN_COLUMN_QUANTITY("nats", 4, "nats", POSITIVE, "surprisal",
                                  .traits = ATTN_TRAIT_SURPRISAL),
    [RANK] = {.name = "rank",
              .type = ATTN_VALUE_REAL,
              .notation = ATTN_NOTATION_WHOLE,
              .range = ATTN_RANGE_POSITIVE,
              .quantity = "rank of the token"},
    [TOP] = ATTN_COLUMN("top", TEXT),
    [TOP_PROB] = ATTN_COLUMN_REAL("top_prob", 4, NULL, SIGNED),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct scored {
    bool is_scored; /* false for the first token */
    double nats;
    double rank; /* from 1; ties get the mean of their ranks */
    int32_t top; /* the most probable token */
    double top_probability;
};

struct scoring {
    struct attn_frame frame; /* its request is that of the current window */
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    struct attn_sequence text;              /* owns, unless it is of the frame's run */
    struct attn_chat_text chat;             /* owns; the text in the form of a conversation */
    size_t answer; /* the first token of the answer with which a conversation ends; else 0 */
    struct scored *scored; /* [text.n] */
    size_t n_vocab, n_ctx;
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(FLAG, "merge_words", NULL, struct attn_score_args, merges_words,
               "print one row per word, with the sums of the bits and nats of its tokens; a "
               "word begins with white space, of one or several tokens, and what follows without a "
               "space belongs to it"),
    ATTN_PARAM(COUNT, "stride", "S", struct attn_score_args, stride,
               "score a text longer than the model takes in windows that move by S positions",
               .least = 1, .most = INT32_MAX),
    ATTN_PARAM(
        CHOICE, "by", NULL, struct attn_score_args, by,
        "for `items` without a target: text (default), the log probability of the text, which "
        "is the sum over its tokens; token, their mean; word, the mean over its words",
        .words = "text|token|word"),
    ATTN_PARAM(LIST, "regions", "NAME,...", struct attn_score_args, regions,
               "for `items`: a row for each of these places of an item, its keys pos.NAME or words "
               "between marks (`marks`), with the sums over the tokens of the place. Punctuation "
               "after a word is not in its region"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Scores", param_rows);

static const struct attn_param_part parts[] = {
    {&attn_target_params, offsetof(struct attn_score_args, answer)},
    {&attn_foil_params, offsetof(struct attn_score_args, answer)},
    {&attn_at_params, offsetof(struct attn_score_args, answer)},
    {&attn_metric_params, offsetof(struct attn_score_args, answer)},
    {&params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "stride", .excludes = "items", .time = ATTN_PARAM_BOTH},
    {.given = "merge_words",
     .when = "items",
     .needs = "each",
     .message = "@ gives each item of `items` its own rows, which `each` FILE takes"},
    {.given = "merge_words",
     .when = "items",
     .excludes = "by|regions|group_by|paired|bootstrap|cluster|fdr"},
    {.given = "limit",
     .when = "items",
     .needs = "by",
     .message = "@ needs `by`: a group has one row"},
    {.given = "by|regions", .needs = "items", .time = ATTN_PARAM_BOTH},
    {.given = "target|target_id|foil|foil_id|at|metric",
     .needs = "items",
     .message = "`target`, `foil`, `at` and `metric` need `items`",
     .hint = "attn-cli run `target TOKEN` TEXT measures one text",
     .time = ATTN_PARAM_BOTH},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_score = {
    .name = "score",
    .summary = "how surprising each token of a text is",
    .description =
        "Prints for each token of TEXT how surprising it is given what came before:\n"
        "-log2 p (bits), -ln p (nats), its rank among all tokens, and the most probable\n"
        "token in its place. The first token has no score. An encoder such as BERT reads\n"
        "each token with a mask in its place, and special tokens have no score. Beside a\n"
        "picture the answer is scored (`continuation`), or without one the text around\n"
        "it; of a conversation, the assistant's answer with which it ends. Mean,\n"
        "perplexity and number of scored tokens go to standard error.\n"
        "With `items`, `merge_words` and `each` write the words of each of many texts.\n\n"
        "For `items` the table has one row, or one for each group of `group_by`. Items\n"
        "with a target: the metric, whether the model is right, rank and probability of\n"
        "the target. Items with good and bad, two texts: the log probability of each,\n"
        "their difference, and whether the good one is more probable. Other items: nats,\n"
        "bits and tokens, or with `regions` these for each region. The mean of the column\n"
        "right is the accuracy. A target of several tokens is scored by the sum of their\n"
        "log probabilities. Answers that differ by less than 1e-5 of the larger one, or\n"
        "of 1, are ties: neither right nor wrong.\n\n"
        "The numbers say what this model expects of this text. They depend on the\n"
        "tokenizer: compare models by bits over the same text, not by perplexity.\n"
        "A low score does not say that a sentence is true, or good.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_score_args, .size = sizeof(struct attn_score_args)),
    .choose = choose_procedure,
};

/* --- The tokens ------------------------------------------------------------------------------- */

static bool is_asked(const struct scoring *scoring, size_t at)
{
    return at >= scoring->answer && attn_picture_prompt_is_scored(&scoring->text, at);
}

/* Returns the first token from AT on that may have a score; the number of tokens if there is none.
 */
static size_t next_scored(const struct scoring *scoring, size_t at)
{
    while (at < scoring->text.n && !is_asked(scoring, at))
        at++;
    return at;
}

/* Prepares the only run of a text with a picture, and borrows its tokens. */
static enum attn_status read_prompt(struct scoring *scoring, struct attn_error *err)
{
    struct attn_frame *frame = &scoring->frame;
    struct attn_sequence *text = &scoring->text;

    if (scoring->args->stride > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`stride` moves windows over a text, and `image` gives a picture");
    attn_host_tokenizer(frame->host, &scoring->tokenizer, NULL);
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &frame->run, err));
    *text = frame->run->text;
    if (!text->ids)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "tokens are scored, and a picture has no tokens");
    if (next_scored(scoring, 1) < text->n)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "'%s' reads a prompt in both directions: only tokens of an answer have a score",
                attn_quote_string(attn_model_name(frame->run->model)).text);
    return attn_error_hint(err, "`continuation TEXT` gives an answer");
}

/* Replaces the text of the request by what the chat template makes of it, if that is wanted. */
static enum attn_status put_into_chat(struct scoring *scoring, struct attn_error *err)
{
    struct attn_request *request = &scoring->frame.request;
    const struct attn_input *input = &request->input;

    if (!attn_chat_is_wanted(&request->chat))
        return ATTN_OK;
    ATTN_TRY(attn_chat_check(&request->chat, input, err));
    ATTN_TRY(attn_chat_check_reading(&request->reading, err));
    ATTN_TRY(attn_host_tokenizer(scoring->frame.host, &scoring->tokenizer, err));
    ATTN_TRY(attn_chat_write(
        &request->chat,
        &(struct attn_chat_turn){scoring->tokenizer,
                                 attn_model_name(attn_host_model(scoring->frame.host)), input->text,
                                 input->n_text, 0},
        &scoring->chat, err));
    request->input.text = scoring->chat.text;
    request->input.n_text = scoring->chat.size;
    request->reading.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    request->chat = (struct attn_chat_request){.form = NULL};
    return ATTN_OK;
}

static enum attn_status read_tokens(struct scoring *scoring, struct attn_error *err)
{
    const struct attn_request *request = &scoring->frame.request;
    struct attn_host *host = scoring->frame.host;
    struct attn_sequence *text = &scoring->text;

    if (attn_input_is_picture(&request->input))
        return read_prompt(scoring, err);
    ATTN_TRY(attn_image_input_check(&request->reading, &request->input, &request->source,
                                    attn_host_model(host), err));
    ATTN_TRY(put_into_chat(scoring, err));
    const bool is_text = attn_input_is_text(&request->input);
    const enum attn_status has_tokenizer =
        attn_host_tokenizer(host, &scoring->tokenizer, is_text ? err : NULL);

    if (is_text) {
        if (has_tokenizer == ATTN_IO)
            attn_error_hint(err,
                            "`ids 5,17,3`, or 'ids' of an item, gives token ids instead of a text");
        ATTN_TRY(has_tokenizer);
        text->cancel = host->options.cancel;
        ATTN_TRY(attn_sequence_encode(&request->reading, &request->input, scoring->tokenizer, text,
                                      err));
        ATTN_TRY(
            attn_sequence_begin_target(&request->reading, attn_host_model(host), true, text, err));
        attn_sequence_note(text, scoring->tokenizer, attn_request_notes(request));
        scoring->answer = attn_chat_answer(&scoring->chat, text);
    } else {
        if (!request->input.ids)
            return attn_error_set(err, ATTN_INVALID,
                                  "tokens are scored, and embeddings have no tokens");
        text->ids = request->input.ids;
        text->n = request->input.n_id;
    }
    if (text->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the text is empty: it has no tokens");
    if (text->n > scoring->n_ctx && scoring->args->stride == 0) {
        attn_sequence_refuse_length(text, &request->input, attn_model_name(attn_host_model(host)),
                                    scoring->n_ctx, err);
        if (!scoring->frame.config->is_encoder)
            attn_error_hint(err, "`stride %zu` scores it in windows that move by this many tokens",
                            scoring->n_ctx > 1 ? scoring->n_ctx / 2 : 1);
        return ATTN_INVALID;
    }
    ATTN_TRY(attn_sequence_take_parts(&request->input, attn_host_model(host), text, err));
    if (!scoring->tokenizer)
        return ATTN_OK;
    return attn_token_bytes_find(scoring->tokenizer, text->ids, text->n, &text->tokens, err);
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Rows of logits, and the token whose score each row gives. */
struct score_work {
    const struct scoring *scoring;
    const float *logits;     /* [rows, n_vocab] */
    const size_t *positions; /* [rows] positions of the tokens; NULL: consecutive positions */
    const int32_t *ids;      /* [rows] */
    size_t first;            /* if `positions` is NULL: the position of row 0 */
};

/* Scores one row (attn_task_fn). */
static void score_row(void *context, size_t task, int worker)
{
    const struct score_work *work = context;
    const size_t n = work->scoring->n_vocab, id = (size_t)work->ids[task];
    const size_t at = work->positions ? work->positions[task] : work->first + task;
    const float *logits = work->logits + task * n;
    const double total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n);
    struct scored scored = {.is_scored = true,
                            .rank = attn_logits_place(logits, n, work->ids[task]),
                            .top = attn_logits_first(logits, n)};

    (void)worker;
    if (!is_asked(work->scoring, at))
        return;
    scored.nats = total - (double)logits[id];
    scored.top_probability = attn_exp((double)logits[scored.top] - total);
    work->scoring->scored[at] = scored;
}

/* Scores the tokens FROM .. END-1 of the text. The first token that SESSION was fed is token
 * BEGIN. */
static enum attn_status score_window(struct scoring *scoring, struct attn_session *session,
                                     size_t begin, size_t from, size_t end, struct attn_error *err)
{
    struct attn_logit_rows rows = {
        .session = session, .first = from - begin - 1, .end = end - begin - 1};
    struct attn_host *host = scoring->frame.host;

    while (attn_logit_rows_next(&rows, err)) {
        const size_t at = begin + rows.first + 1;
        struct score_work work = {scoring, rows.logits, NULL, scoring->text.ids + at, at};

        attn_pool_run(attn_host_pool(host, 10.0 * (double)rows.n * (double)scoring->n_vocab),
                      rows.n, score_row, &work);
        rows.status = attn_host_check_canceled(host, err);
    }
    return attn_logit_rows_end(&rows);
}

/* Runs the window of the tokens BEGIN .. END-1, and scores the tokens FROM .. END-1. */
static enum attn_status run_window(struct scoring *scoring, size_t begin, size_t from, size_t end,
                                   struct attn_error *err)
{
    struct attn_frame *frame = &scoring->frame;
    struct attn_session *session = NULL;
    const struct attn_watch watch = {.is_silent = end - begin != scoring->text.n,
                                     .session = &session};
    struct attn_run *run = frame->run; /* of a text with a picture, which has one window */
    enum attn_status status;

    if (!run) {
        frame->request.input =
            (struct attn_input){.ids = scoring->text.ids + begin, .n_id = end - begin};
        ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    }
    status = attn_watch(run, &watch, err);
    if (status == ATTN_OK)
        status = attn_error_at(score_window(scoring, session, begin, from, end, err),
                               ATTN_STAGE_MODEL, err);
    attn_session_free(session);
    if (run != frame->run)
        attn_run_free(run);
    return status;
}

/* --- Encoders --------------------------------------------------------------------------------- */

enum { MASKED_ROWS = 4096 }; /* maximum rows, over all copies of a text, that are fed together */

/* Scores rows of masked copies of a text (attn_masked_fn). */
static enum attn_status take_rows(void *user, const struct attn_masked_rows *rows,
                                  struct attn_error *err)
{
    struct scoring *scoring = user;
    struct attn_host *host = scoring->frame.host;
    struct score_work work = {scoring, rows->logits, rows->positions, rows->ids, 0};

    (void)err;
    attn_pool_run(attn_host_pool(host, 10.0 * (double)rows->n * (double)scoring->n_vocab), rows->n,
                  score_row, &work);
    attn_frame_report(&scoring->frame, rows->positions[rows->n - 1] + 1, scoring->text.n);
    return ATTN_OK;
}

/* Masks each token once, except special tokens. */
static enum attn_status score_masked(struct scoring *scoring, struct attn_error *err)
{
    struct attn_frame *frame = &scoring->frame;
    const struct attn_sequence *text = &scoring->text;
    struct attn_masked *masked = NULL;
    struct attn_run *run;
    enum attn_status status;
    size_t n_row;

    if (scoring->args->stride > 0) {
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "`stride` moves windows that predict next tokens, and '%s' is an encoder",
            attn_quote_string(attn_model_name(attn_host_model(frame->host))).text);
    }
    frame->request.input = (struct attn_input){.ids = text->ids,
                                               .n_id = text->n,
                                               .types = text->types,
                                               .n_type = text->types ? text->n : 0,
                                               .key_mask = text->key_mask,
                                               .n_key_mask = text->key_mask ? text->n : 0};
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    status = attn_run_check_time(run, text->n, err);
    if (status != ATTN_OK) {
        attn_run_free(run);
        return status;
    }
    /* rows of all copies */
    n_row = text->n < MASKED_ROWS / text->n ? text->n * text->n : MASKED_ROWS;
    const struct attn_masked_scope scope = attn_masked_scope_of(run);
    status = attn_masked_create(&scope, text->n > n_row ? text->n : n_row,
                                attn_host_pool(frame->host, (double)INFINITY), &masked, err);
    if (status == ATTN_OK)
        status = attn_masked_read(masked, &scope, take_rows, scoring, err);
    if (status == ATTN_OK)
        attn_edit_parts_note_idle(attn_request_notes(&run->request), run->edits.parts,
                                  run->edits.n_part, 0);
    attn_masked_free(masked);
    attn_run_free(run);
    return status;
}

/* --- The rows --------------------------------------------------------------------------------- */

static enum attn_status append_token(struct scoring *scoring, size_t i, struct attn_error *err)
{
    const struct scored *scored = &scoring->scored[i];
    struct attn_cell row[N_COLUMN] = {
        [POSITION] = attn_cell_integer((int64_t)i),
        [ID] = attn_cell_integer(scoring->text.ids[i]),
        [TOKEN] = attn_cell_position(&scoring->text.tokens, i),
    };
    char made[16];

    if (scored->is_scored) {
        row[BITS] = attn_cell_real(scored->nats / M_LN2);
        row[NATS] = attn_cell_real(scored->nats);
        row[RANK] = attn_cell_real(scored->rank);
        row[TOP] = attn_cell_token(scoring->tokenizer, scored->top);
        row[TOP_PROB] = attn_cell_real(scored->top_probability);
        snprintf(made, sizeof made, "[%d]", (int)scored->top);
        if (row[TOP].type == ATTN_VALUE_MISSING)
            row[TOP] = attn_cell_string(made);
    }
    return attn_frame_append(&scoring->frame, row, err);
}

/* Appends a row for the word of tokens FIRST .. LAST-1. TEXT is scratch and must be empty. */
static enum attn_status append_word(struct scoring *scoring, size_t first, size_t last,
                                    struct attn_buffer *text, struct attn_error *err)
{
    const struct attn_token_bytes *tokens = &scoring->text.tokens;
    struct attn_cell row[N_COLUMN] = {[POSITION] = attn_cell_integer((int64_t)first)};
    const char *piece = attn_words_piece(scoring->tokenizer);
    double nats = 0;

    for (size_t i = first; i < last; i++) {
        const size_t n_piece =
            i > first ? attn_word_piece_size(tokens->bytes[i], tokens->sizes[i], piece) : 0;

        attn_buffer_append(text, tokens->bytes[i] + n_piece, tokens->sizes[i] - n_piece);
        nats += scoring->scored[i].nats;
    }
    ATTN_TRY(attn_buffer_check(text, err));
    row[TOKEN] = attn_cell_text(text->data, text->size);
    if (scoring->scored[first].is_scored) {
        row[BITS] = attn_cell_real(nats / M_LN2);
        row[NATS] = attn_cell_real(nats);
    }
    return attn_frame_append(&scoring->frame, row, err);
}

static enum attn_status append_words(struct scoring *scoring, struct attn_error *err)
{
    const size_t n = scoring->text.n;
    bool *begins = attn_frame_alloc(&scoring->frame, n, sizeof *begins);

    ATTN_TRY(attn_frame_memory(&scoring->frame, err));
    attn_words_mark(scoring->tokenizer, scoring->text.ids, n, begins);
    for (size_t first = next_scored(scoring, 0), last; first < n;
         first = next_scored(scoring, last)) {
        struct attn_buffer text = {0};
        enum attn_status status;

        last = first + 1;
        while (last < n && !begins[last] && is_asked(scoring, last))
            last++;
        status = append_word(scoring, first, last, &text, err);
        attn_buffer_release(&text);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- The procedure ---------------------------------------------------------------------------- */

static enum attn_status check_windows(const struct scoring *scoring, struct attn_error *err)
{
    if (scoring->args->stride > 0 && scoring->args->stride >= scoring->n_ctx)
        return attn_error_set(err, ATTN_INVALID,
                              "windows of %zu positions cannot move by %zu, expected 1 to %zu",
                              scoring->n_ctx, scoring->args->stride, scoring->n_ctx - 1);
    if (scoring->args->merges_words && !scoring->tokenizer)
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    if (scoring->text.n > scoring->n_ctx &&
        attn_edits_name_positions(&scoring->frame.request.edits))
        return attn_error_set(err, ATTN_INVALID,
                              "the text is scored in windows of %zu tokens, and `knockouts`, "
                              "`patches` and `steer` name positions of one window",
                              scoring->n_ctx);
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;

    scoring->args = frame->args;
    ATTN_TRY(attn_trial_check_host(frame->host, err));
    ATTN_TRY(attn_model_check_tokens(attn_host_model(frame->host), err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    scoring->n_ctx = frame->config->n_ctx;
    scoring->n_vocab = frame->config->n_vocab;
    attn_frame_choose_nothing(&frame->request);
    ATTN_TRY(attn_error_at(read_tokens(scoring, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(attn_error_at(check_windows(scoring, err), ATTN_STAGE_OPTIONS, err));
    scoring->scored = attn_frame_alloc(frame, scoring->text.n, sizeof *scoring->scored);
    return attn_frame_memory(frame, err);
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(POSITION, POSITION, BITS), .texts = ATTN_ROLE_TOKEN},
};

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_score_args *args = given;

    drawn->picture->view.asked = args->merges_words ? "of each word" : "of each token";
    if (!args->merges_words && args->stride == 0)
        drawn->picture->view.traits |= ATTN_VIEW_TOKENS;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;
    struct attn_score_sum *sum = scoring->frame.sum;
    const size_t n = scoring->text.n, n_ctx = scoring->n_ctx;

    if (scoring->frame.config->is_encoder)
        ATTN_TRY(score_masked(scoring, err));
    for (size_t begin = 0, from = next_scored(scoring, 1), end = 0;
         end < n && !scoring->frame.config->is_encoder; begin += scoring->args->stride) {
        end = n - begin > n_ctx ? begin + n_ctx : n;
        ATTN_TRY(run_window(scoring, begin, from, end, err));
        attn_frame_report(&scoring->frame, end, n);
        from = end;
    }
    for (size_t i = 0; i < n; i++) {
        sum->n_token += scoring->scored[i].is_scored;
        sum->nats += scoring->scored[i].nats;
        if (!scoring->args->merges_words && is_asked(scoring, i))
            ATTN_TRY(append_token(scoring, i, err));
    }
    return scoring->args->merges_words ? append_words(scoring, err) : ATTN_OK;
}

static void release(void *state)
{
    struct scoring *scoring = state;

    if (!scoring->frame.run) /* it owns the text */
        attn_sequence_release(&scoring->text);
    attn_chat_release(&scoring->chat);
}

static const struct attn_procedure of_text = {
    .name = "score",
    ATTN_PROCEDURE_TABLE(columns, views),
    .state_size = sizeof(struct scoring),
    .sum_size = sizeof(struct attn_score_sum),
    .items.study = offsetof(struct attn_score_args, study),
    .makes_runs = true,
    .question = &attn_question_score,
    .prepare = prepare,
    .draw = draw,
    .ask = ask,
    .release = release,
};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_score_args *args = given;

    return args->study ? &attn_score_items : &of_text;
}

enum attn_status attn_score(struct attn_host *host, const struct attn_request *request,
                            const struct attn_score_args *given, struct attn_table **table,
                            struct attn_score_sum *sum, struct attn_error *err)
{
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    const struct attn_procedure_call call = {host, request, given, &args, table, sum};
    struct attn_procedure own;

    (void)attn_options_read(given, &args, NULL); /* a failure is reported by the caller */
    own = *choose_procedure(&args);
    own.items.is_listed = own.items.is_ragged = args.study && args.merges_words;
    return attn_procedure_perform(&own, &call, err);
}
