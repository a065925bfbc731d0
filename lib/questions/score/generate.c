#include "score/generate.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/session_internal.h"
#include "frame/frame.h"
#include "frame/questions.h"
#include "frame/questions_internal.h"
#include "kernels/kernels.h"
#include "model/config_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "run/item_extra.h"
#include "run/layer_attention.h"
#include "tokenizer/tokenizer_internal.h"
#include "trials/trial.h"

#include <float.h>
#include <math.h>
#include <string.h>

ATTN_DEFAULTS(attn_generation, .size = sizeof(struct attn_generation))

enum { DEFAULT_MOST = 20 };

struct generator {
    struct attn_frame frame; /* its sum is the generation */
    const struct attn_generate_args *args;
    struct attn_random random;
    size_t n_most;  /* maximum tokens to generate; prompt and tokens must fit the context */
    float *weights; /* [V] probabilities */
    float *allowed; /* [V] logits without the forbidden tokens */
    struct attn_scored *ranked;  /* [2 * V] */
    struct attn_buffer text;     /* owns; text of all generated tokens */
    size_t n_shown;              /* bytes of the text that were passed to on_token */
    struct attn_generation made; /* owns, until it becomes the result */
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(COUNT, "n", "N", struct attn_generate_args, n_most,
               "number of tokens to make; default: 20. A token that ends a text (eos_token_id "
               "of generation_config.json, else config.json) stops earlier",
               .option = "tokens", .letter = 'n', .least = 1, .most = INT32_MAX),
    ATTN_PARAM(REAL, "temperature", "T", struct attn_generate_args, temperature,
               "draw tokens at random, with logits divided by T; default: 0, always the most "
               "probable token"),
    ATTN_PARAM(COUNT, "top_k", "K", struct attn_generate_args, top_k,
               "draw from the K most probable tokens", .least = 1, .most = INT32_MAX),
    ATTN_PARAM(REAL, "top_p", "P", struct attn_generate_args, top_p,
               "draw from the fewest tokens with probability P in all", .most = 1,
               .traits = ATTN_PARAM_IS_OPEN | ATTN_PARAM_IS_CLOSED),
    ATTN_PARAM(REAL, "min_p", "P", struct attn_generate_args, min_p,
               "draw from the tokens with at least P times the probability of the most probable "
               "one"),
    ATTN_PARAM(SEED, "seed", "S", struct attn_generate_args, seed,
               "seed of the draws; default: 0. The same seed gives the same tokens on every "
               "machine",
               .most = UINT32_MAX),
    ATTN_PARAM(TEXTS, "stop", "TEXT", struct attn_generate_args, stops,
               "stop before TEXT; may be repeated",
               .second = offsetof(struct attn_generate_args, n_stop)),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Generation", param_rows);

static const struct attn_param_part parts[] = {{&params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "seed",
     .unless = "seed:0",
     .needs = "temperature",
     .excludes = "temperature:0",
     .message = "@ needs `temperature`: without it nothing is drawn"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_generate = {
    .name = "generate",
    .summary = "what comes next, and what it looked at",
    .description =
        "Continues TEXT and prints each token as it is made: the most probable one, or\n"
        "with `temperature` one drawn at random. Without a vocabulary it prints ids.\n"
        "`json FILE` gives ids, tokens and log-probabilities, those before `temperature`,\n"
        "`top_k` and `top_p`. The other outputs are those of \140run\140, for prompt and answer\n"
        "as one text; `queries` answer keeps the rows that chose the new tokens.\n"
        "A model that reads a source translates `source` without a TEXT.\n"
        "\n"
        "With `items` each item is continued: a row with its labels, text, continuation\n"
        "and log probabilities, an item again. Item i, from 0, has the seed S + i.\n"
        "\n"
        "The answer is what the model finds probable. It does not say what is true, and a\n"
        "matrix of the answer says where a token looked, not why it was chosen.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_generate_args, .size = sizeof(struct attn_generate_args)),
    .choose = choose_procedure,
};

/* --- Preparation ------------------------------------------------------------------------------ */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_generate_args *args = given;

    if (!(args->temperature >= 0))
        return attn_error_set(err, ATTN_INVALID, "the temperature is %g, expected a number from 0",
                              args->temperature);
    if (!(args->top_p >= 0 && args->top_p <= 1))
        return attn_error_set(err, ATTN_INVALID, "`top_p` is %g, expected above 0 and at most 1",
                              args->top_p);
    if (!(args->min_p >= 0 && args->min_p < 1))
        return attn_error_set(err, ATTN_INVALID, "`min_p` is %g, expected 0 to less than 1",
                              args->min_p);
    if (args->temperature == 0 && (args->top_k > 0 || args->top_p > 0 || args->min_p > 0)) {
        attn_error_set(
            err, ATTN_INVALID,
            "`top_k`, `top_p` and `min_p` choose among draws, and nothing is drawn without a "
            "temperature");
        return attn_error_hint(err, "`temperature 1` draws from the model's own probabilities");
    }
    for (size_t i = 0; i < args->n_stop; i++)
        if (args->stops[i][0] == '\0')
            return attn_error_set(err, ATTN_INVALID, "a stop text is empty");
    return ATTN_OK;
}

/* Returns an error if the model's lists of forbidden tokens are too long. Sends a note about
 * settings of a translation model that are ignored. */
static enum attn_status check_stacks(const struct attn_frame *frame, struct attn_error *err)
{
    const struct attn_stack_config *stack = &frame->config->stack;

    if (stack->n_bad_id + stack->n_bad_first_id > ATTN_CONFIG_N_BAD)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "this model forbids %zu tokens, expected up to %d",
                           stack->n_bad_id + stack->n_bad_first_id, ATTN_CONFIG_N_BAD);
    if (stack->has_encoder && stack->n_no_repeat + stack->n_least > 0)
        attn_note(frame->request.on_note, frame->request.user, ATTN_NOTE_BEAMS,
                  "no_repeat_ngram_size %zu and min_length %zu of this model have no effect here",
                  stack->n_no_repeat, stack->n_least);
    return ATTN_OK;
}

/* A source may be given without a text: the decoder then begins with its start token. */
static enum attn_status choose(void *state, struct attn_error *err)
{
    struct generator *generator = state;
    struct attn_request *request = &generator->frame.request;

    (void)err;
    attn_question_choose_nothing(request);
    if (!attn_input_is_given(&request->input) && attn_input_is_given(&request->source))
        request->input.text = "";
    return ATTN_OK;
}

static unsigned pairs(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(SINGLE) | ATTN_ITEM_SOURCE_ALONE;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct generator *generator = state;
    struct attn_frame *frame = &generator->frame;
    struct attn_generation *made = &generator->made;
    const struct attn_sequence *text = attn_asked_text(frame->run);
    const size_t n_vocab = frame->config->n_vocab, room = frame->config->n_ctx - text->n;
    struct attn_watch watch = {.is_silent = true, .session = &frame->session};

    generator->args = frame->args;
    if (frame->config->is_encoder || attn_model_has_labels(attn_asked_model(frame->run))) {
        const bool has_labels = attn_model_has_labels(attn_asked_model(frame->run));

        attn_error_set(err, ATTN_INVALID, "'%s' %s, not the next token",
                       attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text,
                       has_labels ? "predicts labels"
                                  : "is an encoder: it predicts tokens at their own positions");
        attn_error_hint(err, has_labels ? "`top` of a run shows them"
                                        : "`top` of a run shows what it predicts at a mask");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (frame->config->stack.n_beam > 1)
        attn_note(frame->request.on_note, frame->request.user, ATTN_NOTE_BEAMS,
                  "this model is meant to search with %zu beams, here each token is chosen by "
                  "itself",
                  frame->config->stack.n_beam);
    ATTN_TRY(check_stacks(frame, err));
    if (attn_config_looks_both_ways(frame->config))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' looks both ways: it has no next token",
                           attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text);
    ATTN_TRY(attn_session_check_next(attn_run_attention(frame->run), frame->config, err));
    if (generator->args->n_stop > 0 && !attn_asked_tokenizer(frame->run)) {
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a stop text is given, but the tokens have no text");
    }
    generator->n_most = generator->args->n_most > 0 ? generator->args->n_most : DEFAULT_MOST;
    made->end = generator->n_most > room ? ATTN_GENERATION_CONTEXT : ATTN_GENERATION_LENGTH;
    generator->n_most = generator->n_most > room ? room : generator->n_most;
    made->n_prompt = text->ids ? text->n : 0;
    ATTN_TRY(ATTN_ALLOC(made->ids, made->n_prompt + generator->n_most, err));
    ATTN_TRY(ATTN_ALLOC(made->log_probs, generator->n_most, err));
    generator->weights = attn_frame_alloc(frame, n_vocab, sizeof *generator->weights);
    generator->allowed = attn_frame_alloc(frame, n_vocab, sizeof *generator->allowed);
    generator->ranked = attn_frame_alloc(frame, 2 * n_vocab, sizeof *generator->ranked);
    ATTN_TRY(attn_frame_memory(frame, err));
    if (text->ids)
        memcpy(made->ids, text->ids, text->n * sizeof *made->ids);
    attn_random_seed(&generator->random, generator->args->seed);
    watch.n_more = generator->n_most;
    return attn_watch(frame->run, &watch, err);
}

/* --- The next token --------------------------------------------------------------------------- */

/* Returns how many of the ranked tokens [N], whose `logit` is a probability, are kept. *sum is the
 * sum of their probabilities. */
static size_t count_kept(const struct attn_generate_args *args, const struct attn_scored *ranked,
                         size_t n, double *sum)
{
    size_t n_kept = args->top_k > 0 && args->top_k < n ? args->top_k : n, i;
    double total = 0, so_far = 0;

    for (i = 0; i < n_kept; i++)
        total += ranked[i].logit;
    if (args->top_p > 0 && args->top_p < 1) {
        for (i = 0; i < n_kept && so_far < args->top_p * total; i++)
            so_far += ranked[i].logit;
        n_kept = i;
    }
    while (n_kept > 1 && ranked[n_kept - 1].logit < args->min_p * ranked[0].logit)
        n_kept--;
    *sum = 0;
    for (i = 0; i < n_kept; i++)
        *sum += ranked[i].logit;
    return n_kept;
}

static int32_t draw(struct generator *generator, const float *logits)
{
    const struct attn_kernels *kernels =
        attn_kernels_find(attn_host_opened_with(generator->frame.host)->isa);
    const size_t n = generator->frame.config->n_vocab;
    const double scale = fmin(1 / generator->args->temperature, (double)FLT_MAX);
    const float largest = logits[attn_logits_first(logits, n)];
    double at, sum, so_far = 0;
    size_t n_kept, i;

    /* Subtract the largest logit before scaling: at a small temperature it would overflow, and the
     * softmax would be NaN. Other logits overflow to -inf and are never drawn. */
    for (i = 0; i < n; i++)
        generator->weights[i] = logits[i] - largest;
    kernels->softmax(generator->weights, n, n, (float)scale);
    attn_logits_rank(generator->weights, n, generator->ranked);
    n_kept = count_kept(generator->args, generator->ranked, n, &sum);
    at = attn_random_double(&generator->random) * sum;
    for (i = 0; i + 1 < n_kept; i++) {
        so_far += generator->ranked[i].logit;
        if (at < so_far)
            break;
    }
    return generator->ranked[i].id;
}

/* Returns the first token: the forced begin token, or a draw, or the token with the largest
 * logit. */
static int32_t choose_first(struct generator *generator, const float *logits)
{
    const struct attn_stack_config *stack = &generator->frame.config->stack;
    const bool is_begin = attn_asked_n(generator->frame.run) == 1 && generator->made.n == 0;

    if (stack->has_encoder && is_begin && stack->forced_begin_id >= 0)
        return stack->forced_begin_id;
    return generator->args->temperature > 0
               ? draw(generator, logits)
               : attn_logits_first(logits, generator->frame.config->n_vocab);
}

/* Returns the logits, with those of forbidden tokens set to the smallest number. */
static const float *forbid(struct generator *generator, const float *logits)
{
    const struct attn_stack_config *stack = &generator->frame.config->stack;

    const size_t n_first = generator->made.n == 0 ? stack->n_bad_first_id : 0;

    if (stack->n_bad_id + n_first == 0)
        return logits;
    memcpy(generator->allowed, logits, generator->frame.config->n_vocab * sizeof *logits);
    for (size_t i = 0; i < stack->n_bad_id; i++)
        generator->allowed[stack->bad_ids[i]] = -FLT_MAX;
    for (size_t i = 0; i < n_first; i++)
        generator->allowed[stack->bad_ids[ATTN_CONFIG_N_BAD - 1 - i]] = -FLT_MAX;
    return generator->allowed;
}

static bool is_end(const struct generator *generator, int32_t id)
{
    const struct attn_config *config = generator->frame.config;
    size_t size = 0;
    const char *token;

    for (size_t i = 0; i < config->n_end_id; i++)
        if (config->end_ids[i] == id)
            return true;
    if (config->n_end_id > 0 || !attn_asked_tokenizer(generator->frame.run) ||
        !attn_tokenizer_is_special(attn_asked_tokenizer(generator->frame.run), id))
        return false;
    token = attn_tokenizer_token(attn_asked_tokenizer(generator->frame.run), id, &size);
    return size == strlen("<|endoftext|>") && memcmp(token, "<|endoftext|>", size) == 0;
}

/* --- Text ------------------------------------------------------------------------------------- */

static enum attn_status append_text(struct generator *generator, int32_t id, struct attn_error *err)
{
    const struct attn_tokenizer *tokenizer = attn_asked_tokenizer(generator->frame.run);
    size_t size = 0;
    const char *token;

    if (!tokenizer)
        return ATTN_OK;
    token = attn_tokenizer_token(tokenizer, id, &size);
    if (attn_asked_text(generator->frame.run)->is_word_level)
        attn_buffer_append_char(&generator->text, ' ');
    if (token)
        attn_buffer_append(&generator->text, token, size);
    else
        attn_buffer_append_format(&generator->text, "[%d]", (int)id);
    return attn_buffer_check(&generator->text, err);
}

/* Returns the offset of the first stop text, or the size of the text. */
static size_t find_stop(const struct generator *generator)
{
    size_t first = generator->text.size;

    for (size_t i = 0; i < generator->args->n_stop; i++) {
        const char *stop = generator->args->stops[i];
        const char *found =
            generator->text.size > 0
                ? memmem(generator->text.data, generator->text.size, stop, strlen(stop))
                : NULL;

        if (found && (size_t)(found - generator->text.data) < first)
            first = (size_t)(found - generator->text.data);
    }
    return first;
}

/* Returns how many bytes at the end of the text may be the beginning of a stop text. */
static size_t stop_overlap(const struct generator *generator)
{
    size_t longest = 0;

    for (size_t i = 0; i < generator->args->n_stop; i++) {
        const char *stop = generator->args->stops[i];
        size_t n = strlen(stop) - 1;

        n = n < generator->text.size ? n : generator->text.size;
        while (n > longest && memcmp(generator->text.data + generator->text.size - n, stop, n) != 0)
            n--;
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* Returns the number of bytes of an incomplete character at the end of the text. */
static size_t unfinished(const struct attn_buffer *text)
{
    const size_t most = text->size < 3 ? text->size : 3;

    for (size_t n = 1; n <= most; n++) {
        const unsigned char c = (unsigned char)text->data[text->size - n];
        const size_t width = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if (width > 1)
            return width > n ? n : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

/* Passes ID and the text up to END to on_token. */
static enum attn_status show(struct generator *generator, int32_t id, size_t end,
                             struct attn_error *err)
{
    const size_t begin = generator->n_shown;

    if (!generator->args->on_token || (id < 0 && end <= begin))
        return ATTN_OK;
    generator->n_shown = end > begin ? end : begin;
    return attn_call_status(generator->args->on_token(generator->args->user, id,
                                                      attn_asked_tokenizer(generator->frame.run)
                                                          ? generator->text.data + begin
                                                          : NULL,
                                                      generator->n_shown - begin, err),
                            "on_token", err);
}

/* --- The loop --------------------------------------------------------------------------------- */

/* Generates one token; *is_over is set after the last. */
static enum attn_status make_token(struct generator *generator, bool *is_over,
                                   struct attn_error *err)
{
    struct attn_generation *made = &generator->made;
    struct attn_buffer *text = &generator->text;
    const float *logits;
    size_t stop, overlap, rest;
    int32_t id;

    ATTN_TRY(attn_session_logits(generator->frame.session, &logits, err));
    id = choose_first(generator, forbid(generator, logits));
    if (is_end(generator, id)) {
        made->end = ATTN_GENERATION_TEXT_END;
        *is_over = true;
        return ATTN_OK;
    }
    ATTN_TRY(
        attn_session_log_probability(generator->frame.session, id, &made->log_probs[made->n], err));
    ATTN_TRY(append_text(generator, id, err));
    made->ids[made->n_prompt + made->n++] = id;
    stop = find_stop(generator);
    if (stop < text->size) {
        text->size = stop;
        made->end = ATTN_GENERATION_STOP;
        *is_over = true;
        return ATTN_OK;
    }
    overlap = stop_overlap(generator);
    rest = unfinished(text);
    *is_over = made->n == generator->n_most;
    return show(generator, id, text->size - (overlap > rest ? overlap : rest), err);
}

static enum attn_status make_tokens(struct generator *generator, struct attn_error *err)
{
    struct attn_generation *made = &generator->made;
    bool is_over = generator->n_most == 0;

    while (!is_over) {
        ATTN_TRY(make_token(generator, &is_over, err));
        if (!is_over)
            ATTN_TRY(attn_session_feed(generator->frame.session,
                                       &made->ids[made->n_prompt + made->n - 1], 1, err));
        ATTN_TRY(attn_host_check_canceled(attn_asked_host(generator->frame.run), err));
    }
    return show(generator, -1, generator->text.size, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct generator *generator = state;

    ATTN_TRY(attn_error_at(make_tokens(generator, err), ATTN_STAGE_MODEL, err));
    attn_trial_note_idle(generator->frame.run, generator->frame.session);
    if (attn_asked_tokenizer(generator->frame.run)) {
        generator->made.text = generator->text.data;
        generator->made.n_text = generator->text.size;
        generator->text = (struct attn_buffer){0};
    }
    *(struct attn_generation *)generator->frame.sum = generator->made;
    generator->made = (struct attn_generation){0};
    return ATTN_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

enum { TEXT, CONTINUATION, N_GENERATED, LOG_PROB, IDS, LOG_PROBS, END, N_COLUMN };

static const struct attn_column item_columns[N_COLUMN] = {
    [TEXT] = ATTN_COLUMN("text", TEXT, .help = "the input"),
    [CONTINUATION] = ATTN_COLUMN("continuation", TEXT, .help = "the text that the model generated"),
    [N_GENERATED] =
        ATTN_COLUMN("n_generated", INTEGER, .help = "number of tokens of the continuation"),
    [LOG_PROB] =
        ATTN_COLUMN_REAL("log_prob", 4, "nats", SIGNED, .help = "sum of log_probs, at most 0"),
    [IDS] = ATTN_COLUMN("continuation_ids", LIST, .help = "ids of the tokens of the continuation"),
    [LOG_PROBS] = {.name = "log_probs",
                   .type = ATTN_VALUE_REALS,
                   .unit = "nats",
                   .help = "ln of the probability of each token, at most 0"},
    [END] = ATTN_COLUMN("end", TEXT, .help = "why it ends: length, context, end_of_text or stop"),
};

/* Returns the text of INPUT with its continuation, which FRAME keeps. */
static struct attn_cell whole_text(struct attn_frame *frame, const struct attn_input *input)
{
    char *whole;

    if (!input->text)
        return attn_cell_missing();
    if (!input->continuation)
        return attn_cell_text(input->text, input->n_text);
    whole = attn_frame_alloc(frame, input->n_text + input->n_continuation, 1);
    if (!whole)
        return attn_cell_missing();
    memcpy(whole, input->text, input->n_text);
    memcpy(whole + input->n_text, input->continuation, input->n_continuation);
    return attn_cell_text(whole, input->n_text + input->n_continuation);
}

static enum attn_status append_item(struct generator *generator, struct attn_error *err)
{
    const struct attn_generation *made = &generator->made;
    struct attn_cell row[N_COLUMN] = {
        [TEXT] = whole_text(&generator->frame, &generator->frame.request.input),
        [N_GENERATED] = attn_cell_integer((int64_t)made->n),
        [END] = attn_cell_string(attn_generation_end_text(made->end))};
    int64_t *ids = attn_frame_alloc(&generator->frame, made->n, sizeof *ids);
    double *log_probs = attn_frame_alloc(&generator->frame, made->n, sizeof *log_probs);
    double sum = 0;

    ATTN_TRY(attn_frame_memory(&generator->frame, err));
    for (size_t i = 0; i < made->n; i++) {
        ids[i] = made->ids[made->n_prompt + i];
        log_probs[i] = made->log_probs[i];
        sum += log_probs[i];
    }
    if (attn_asked_tokenizer(generator->frame.run))
        row[CONTINUATION] = attn_cell_text(generator->text.size > 0 ? generator->text.data : "",
                                           generator->text.size);
    row[LOG_PROB] = attn_cell_real(sum);
    row[IDS] = attn_cell_list(ids, made->n);
    row[LOG_PROBS] = attn_cell_reals(log_probs, made->n);
    return attn_frame_append(&generator->frame, row, err);
}

static enum attn_status ask_item(void *state, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(make_tokens(state, err), ATTN_STAGE_MODEL, err));
    return append_item(state, err);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_generate_args *own = args;

    (void)request, (void)err;
    own->seed += item->number;
    return ATTN_OK;
}

static enum attn_status check_items(const void *given, struct attn_error *err)
{
    const struct attn_generate_args *args = given;

    if (!attn_is_given(args->study, "items", err) || !attn_is_given(args->study->each, "each", err))
        return ATTN_INVALID;
    if (args->on_token)
        return attn_error_set(err, ATTN_INVALID,
                              "a function gets the tokens of one text, and here are items");
    return check_args(given, err);
}

static void release(void *state)
{
    struct generator *generator = state;

    attn_generation_release(&generator->made);
    attn_buffer_release(&generator->text);
}

/* What one text and items have. */
#define SHARED                                                                                     \
    .question = &attn_question_generate, .reads_turns = true, .needs_output = true,                \
    .state_size = sizeof(struct generator), .sum_size = sizeof(struct attn_generation),            \
    .choose = choose, .prepare = prepare, .release = release

static const struct attn_procedure procedure = {
    SHARED,
    .check = check_args,
    .ask = ask,
};

static const struct attn_procedure of_items = {
    SHARED,
    .table.name = ATTN_TABLE_GENERATE_ITEMS,
    ATTN_PROCEDURE_COLUMNS(item_columns),
    .items.study = offsetof(struct attn_generate_args, study),
    .items.is_listed = true,
    .items.take_item = take_item,
    .items.pairs = pairs,
    .check = check_items,
    .ask = ask_item,
};

static const struct attn_procedure *choose_procedure(const void *given)
{
    return ((const struct attn_generate_args *)given)->study ? &of_items : &procedure;
}

enum attn_status attn_generate_items(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_generate_args *given, struct attn_error *err)
{
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_generation none = ATTN_GENERATION_DEFAULT;
    const struct attn_procedure_call call = {
        host, request, given, &args, &(struct attn_table *){NULL}, &none};

    return attn_procedure_perform(&of_items, &call, err);
}

enum attn_status attn_generate(struct attn_host *host, const struct attn_request *request,
                               const struct attn_generate_args *given, struct attn_generation *made,
                               struct attn_error *err)
{
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    const struct attn_procedure_call call = {host, request, given, &args, NULL, made};

    ATTN_NEED(err, made);
    return attn_procedure_perform(&procedure, &call, err);
}

void attn_generation_release(struct attn_generation *made)
{
    if (!made)
        return;
    attn_free(made->ids);
    attn_free(made->log_probs);
    attn_free(made->text);
    *made = ATTN_GENERATION_DEFAULT;
}

const char *attn_generation_end_text(enum attn_generation_end end)
{
    static const char *const texts[] = {
#define END_TEXT(id, number, text) [ATTN_GENERATION_##id] = (text),
        ATTN_GENERATION_END_MAP(END_TEXT)
#undef END_TEXT
    };

    return (size_t)end < sizeof texts / sizeof *texts ? texts[end] : NULL;
}
