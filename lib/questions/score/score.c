/* score.c - see score.h: the tokens of one text, which attn_run_many reads as an only item, in
 * windows if it is long. */
#include "score/score_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "input/talk.h"
#include "kernels/kernels.h"
#include "predict/logits.h"
#include "talk/chat.h"
#include "towers/prompt/picture_prompt.h"
#include "trials/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    [TOP] = ATTN_COLUMN("top", TEXT, .help = "the most probable token at the position"),
    [TOP_PROB] =
        ATTN_COLUMN_REAL("top_prob", 4, NULL, SIGNED, .help = "probability of top, 0 to 1"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* The numbers of a token beside its surprisal. */
enum {
    RANK_NUMBER, /* from 1; ties get the mean of their ranks */
    TOP_NUMBER,  /* the most probable token */
    TOP_PROB_NUMBER,
    N_NUMBER
};

struct scoring {
    struct attn_frame frame;
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
};

/* --- The question ----------------------------------------------------------------------------- */

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    struct attn_score_args *args = home;
    const char *other = attn_word_set_read(param->words, text, &args->measures);

    return !other ? ATTN_OK
                  : attn_refuse(err, ATTN_STAGE_OPTIONS,
                                "'%s' for %s is no measure of words, expected some of surprisal, "
                                "space, entropy, lens, attention",
                                attn_quote(other, strcspn(other, ",")).text, label);
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM(COUNT, "stride", "S", struct attn_score_args, stride,
               "score a text longer than the model takes in windows that move by S positions",
               .least = 1, .most = INT32_MAX),
    ATTN_PARAM(
        CHOICE, "by", NULL, struct attn_score_args, by,
        "word: a row for each word of TEXT, the sums over its tokens. For `items` without a "
        "target: text (default), the log probability of the text, which is the sum over its "
        "tokens; token, their mean; word, the mean over its words, or with `measures` their rows",
        .words = "text|token|word"),
    ATTN_PARAM(OWN, "measures", "LIST", struct attn_score_args, measures,
               "with `by` word: add the columns of these measures of each word: space, entropy, "
               "lens, attention; surprisal, which is always there, asks for the rows of `items`",
               .words = "surprisal|space|entropy|lens|attention", .read = read_measures),
    ATTN_PARAM_HEADS("the heads of the measure attention: 3.0,3.5 or 2.*; default: the last layer"),
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
    {.given = "measures",
     .when = "items",
     .needs = "each",
     .message = "@ gives each item of `items` its own rows, which `each` FILE takes"},
    {.given = "measures",
     .when = "items",
     .excludes = "regions|group_by|paired|bootstrap|cluster|fdr"},
    {.given = "heads",
     .needs = "measures",
     .message = "@ names the heads of the measure attention: `measures attention`"},
    {.given = "limit",
     .when = "items",
     .needs = "by",
     .message = "@ needs `by`: a group has one row"},
    {.given = "regions", .needs = "items", .time = ATTN_PARAM_BOTH},
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
        "each token with a mask in its place, and special tokens have no score. With an\n"
        "answer, a `continuation` or the assistant's message that ends a conversation,\n"
        "only the answer is scored; beside a picture without one the text around it.\n"
        "Mean, perplexity and number of scored tokens go to standard error.\n"
        "With `by` word a row is a word, the characters between white space: its bits,\n"
        "and by `measures` what else the model did there. `items`, `measures` and `each`\n"
        "write the words of many texts.\n\n"
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

enum attn_status attn_score_check(const void *given, struct attn_error *err)
{
    const struct attn_score_args *args = given;

    if (args->measures && args->by != ATTN_SCORE_BY_WORD)
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` are of words: `by word` gives each word a row");
    if (args->by == ATTN_SCORE_BY_TOKEN && !args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "`by token` is a mean over items: it needs `items`");
    return ATTN_OK;
}

/* --- The only text ---------------------------------------------------------------------------- */

/* Hands out a copy of the item of a frame once (attn_next_fn). */
static enum attn_status next_only(void *user, struct attn_item **item, struct attn_error *err)
{
    struct attn_frame *frame = user;

    *item = NULL;
    if (!frame->item)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(*item, 1, err));
    **item = *frame->item;
    frame->item = NULL;
    return ATTN_OK;
}

/* Returns the failure of the only text (attn_done_fn). */
static enum attn_status end_only(void *user, const struct attn_item_result *result,
                                 struct attn_error *err)
{
    const struct attn_frame *frame = user;
    const struct attn_score_args *args = frame->args;
    const size_t n_ctx = frame->config->n_ctx;

    if (result->failure == ATTN_REASON_NONE)
        return ATTN_OK;
    attn_error_copy(err, &result->err);
    if (result->failure == ATTN_REASON_TOO_LONG && args->stride == 0 && !frame->config->is_encoder)
        attn_error_hint(err, "`stride %zu` scores it in windows that move by this many tokens",
                        n_ctx > 1 ? n_ctx / 2 : 1);
    return attn_error_at(result->err.status, ATTN_STAGE_INPUT, err);
}

/* Encodes the input of ITEM, if it is the target of a model with an encoder, with its end, which
 * other questions leave out. TEXT owns its tokens. */
static enum attn_status encode_target(const struct attn_frame *frame, struct attn_item *item,
                                      struct attn_sequence *text, struct attn_error *err)
{
    const struct attn_request_reading *reading = &frame->request.reading;
    const struct attn_tokenizer *tokenizer;

    if (!frame->config->stack.has_encoder || !attn_input_is_text(&item->input) ||
        item->input.continuation || item->input.continuation_ids) /* it has no end */
        return ATTN_OK;
    ATTN_TRY(attn_host_tokenizer(frame->host, &tokenizer, err));
    ATTN_TRY(attn_sequence_encode(reading, &item->input, tokenizer, text, err));
    ATTN_TRY(attn_sequence_begin_target(reading, attn_host_model(frame->host), true, text, err));
    item->input = (struct attn_input){.ids = text->ids, .n_id = text->n};
    return ATTN_OK;
}

enum attn_status attn_score_only(struct attn_frame *frame, const struct attn_token_reader *tokens,
                                 attn_answer_fn find, struct attn_error *err)
{
    const struct attn_score_args *args = frame->args;
    struct attn_item item = {.input = frame->request.input, .source = frame->request.source};
    struct attn_sequence target = {.role = "text"};
    const struct attn_item_calls calls = {.next = next_only,
                                          .done = end_only,
                                          .release = attn_item_free,
                                          .find = find,
                                          .user = frame};
    const struct attn_many_options options = {.size = sizeof options,
                                              .request = &frame->request,
                                              .has_surprisal = true,
                                              .stride = args->stride,
                                              .tokens = tokens,
                                              .is_only = true};
    enum attn_status status = encode_target(frame, &item, &target, err);

    frame->item = &item;
    status = attn_error_at(status, ATTN_STAGE_INPUT, err);
    ATTN_THEN(status, attn_run_many(frame->host, &options, &calls, err));
    attn_sequence_release(&target);
    return status;
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Rows of logits, and the text whose next tokens they predict. */
struct rows {
    const struct attn_token_text *text;
    const struct attn_trace_event *event;
};

/* Scores the token after row TASK (attn_task_fn). */
static void score_row(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct attn_token_text *text = rows->text;
    const size_t n = rows->event->n_col, at = rows->event->row0 + task + 1;
    const float *logits = rows->event->data + task * rows->event->ld;
    const int32_t top = attn_logits_first(logits, n);
    double *numbers = text->numbers + at * N_NUMBER, total;

    (void)worker;
    if (at < text->from || at >= text->n ||
        !attn_picture_prompt_is_scored(attn_asked_text(text->run), at))
        return;
    total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n, NULL);
    text->surprisal[at] = total - (double)logits[attn_asked_text(text->run)->ids[at]];
    numbers[RANK_NUMBER] = attn_logits_place(logits, n, attn_asked_text(text->run)->ids[at]);
    numbers[TOP_NUMBER] = top;
    numbers[TOP_PROB_NUMBER] = attn_exp((double)logits[top] - total);
}

static enum attn_status begin_rows(void *user, const struct attn_token_text *text, void **state,
                                   struct attn_error *err)
{
    struct rows *rows;

    (void)user;
    ATTN_TRY(ATTN_ALLOC(rows, 1, err));
    rows->text = text;
    *state = rows;
    return ATTN_OK;
}

static enum attn_status add_rows(void *state, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct rows *rows = state;

    (void)err;
    rows->event = event;
    attn_pool_run(rows->text->pool, event->n_row, score_row, rows);
    return ATTN_OK;
}

/* --- The rows --------------------------------------------------------------------------------- */

static enum attn_status append_token(struct scoring *scoring, const struct attn_item_result *result,
                                     size_t i, struct attn_error *err)
{
    const struct attn_sequence *text = result->text;
    const double *numbers = result->numbers + i * N_NUMBER;
    const double nats = result->surprisal[i];
    struct attn_score_sum *sum = scoring->frame.sum;
    struct attn_cell row[N_COLUMN] = {
        [POSITION] = attn_cell_integer((int64_t)i),
        [ID] = attn_cell_integer(text->ids[i]),
        [TOKEN] = attn_cell_position(&text->tokens, i),
    };
    char made[16];

    if (!isnan(nats)) {
        const int32_t top = (int32_t)numbers[TOP_NUMBER];

        row[BITS] = attn_cell_real(nats / M_LN2);
        row[NATS] = attn_cell_real(nats);
        row[RANK] = attn_cell_real(numbers[RANK_NUMBER]);
        row[TOP] = attn_cell_token(scoring->tokenizer, top);
        row[TOP_PROB] = attn_cell_real(numbers[TOP_PROB_NUMBER]);
        snprintf(made, sizeof made, "[%d]", (int)top);
        if (row[TOP].type == ATTN_VALUE_MISSING)
            row[TOP] = attn_cell_string(made);
        sum->n_token++;
        sum->nats += nats;
    }
    return attn_frame_append(&scoring->frame, row, err);
}

size_t attn_score_first(const struct attn_item_result *result)
{
    return result->text->seen.n_picture > 0
               ? 0
               : attn_chat_answer(attn_asked_chat(result->run), result->text);
}

/* Appends the rows of the text (attn_answer_fn). */
static enum attn_status find_rows(void *user, struct attn_item_result *result,
                                  struct attn_error *err)
{
    struct scoring *scoring = user;
    const struct attn_sequence *text = result->text;
    bool is_scored = text->seen.n_picture == 0;

    for (size_t i = 1; i < text->n; i++)
        is_scored = is_scored || attn_picture_prompt_is_scored(text, i);
    if (!is_scored) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "'%s' reads a prompt in both directions: only tokens of an answer have a score",
                    attn_quote_string(attn_model_name(attn_asked_model(result->run))).text);
        return attn_error_hint(err, "`continuation TEXT` gives an answer");
    }
    for (size_t i = attn_score_first(result); i < text->n; i++)
        if (attn_picture_prompt_is_scored(text, i))
            ATTN_TRY(append_token(scoring, result, i, err));
    return ATTN_OK;
}

/* --- The procedure ---------------------------------------------------------------------------- */

enum attn_status attn_score_prepare(struct attn_frame *frame,
                                    const struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    const struct attn_score_args *args = frame->args;
    const struct attn_input *input = &frame->request.input;
    const char *name;

    ATTN_TRY(attn_trial_check_host(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    name = attn_model_name(attn_host_model(frame->host));
    attn_host_tokenizer(frame->host, tokenizer, NULL);
    if (args->stride > 0 && frame->config->is_encoder)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`stride` moves windows that predict next tokens, and '%s' is an "
                           "encoder",
                           attn_quote_string(name).text);
    if (args->stride > 0 && attn_input_is_picture(input))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`stride` moves windows over a text, and `image` gives a picture");
    return input->embeddings && !input->ids
               ? attn_error_at(attn_error_set(err, ATTN_INVALID,
                                              "tokens are scored, and embeddings have no tokens"),
                               ATTN_STAGE_INPUT, err)
               : ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;

    scoring->args = scoring->frame.args;
    ATTN_TRY(attn_score_prepare(&scoring->frame, &scoring->tokenizer, err));
    attn_question_choose_nothing(&scoring->frame.request);
    return ATTN_OK;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(POSITION, POSITION, BITS), .texts = ATTN_ROLE_TOKEN},
};

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_score_args *args = given;

    drawn->picture->view.asked = "of each token";
    if (args->stride == 0)
        drawn->picture->view.traits |= ATTN_VIEW_TOKENS;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;
    const struct attn_token_reader reader = {.sites = ATTN_SITES(ATTN_SITE_LOGITS),
                                             .n_number = N_NUMBER,
                                             .begin = begin_rows,
                                             .add = add_rows,
                                             .end = attn_free};

    return attn_score_only(&scoring->frame, &reader, find_rows, err);
}

static const struct attn_procedure of_text = {
    .table.name = ATTN_TABLE_SCORE,
    ATTN_SCORE(struct scoring),
    ATTN_PROCEDURE_TABLE(columns, views),
    .check = attn_score_check,
    .prepare = prepare,
    .draw = draw,
    .ask = ask,
};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_score_args *args = given;

    return args->by == ATTN_SCORE_BY_WORD && (!args->study || args->measures) ? &attn_score_words
           : args->study                                                      ? &attn_score_items
                                                                              : &of_text;
}

ATTN_ASKS_WITH_SUM(score)
