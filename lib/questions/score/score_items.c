/* score_items.c - scores of items: their texts, words, regions, pairs, or targets. Short texts are
 * run together. */
#include "score/score_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/list.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "input/position.h"
#include "input/talk.h"
#include "predict/logits.h"
#include "run/run_pass.h"
#include "stream/items_internal.h"
#include "tokenizer/words.h"
#include "trials/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The sum over the scored tokens of one text. */
static struct attn_score_sum sum_of(const struct attn_item_result *result)
{
    struct attn_score_sum sum = {0};

    for (size_t i = attn_score_first(result); i < result->n_token; i++)
        if (!isnan(result->surprisal[i])) {
            sum.n_token++;
            sum.nats += result->surprisal[i];
        }
    return sum;
}

enum {
    ITEM_REGION, /* with regions */
    ITEM_VALUE,  /* with a target */
    ITEM_GOOD,   /* for a pair */
    ITEM_BAD,
    ITEM_DIFFERENCE,
    ITEM_RIGHT, /* for a target or a pair */
    ITEM_RANK,  /* with a target */
    ITEM_PROB,
    ITEM_NATS, /* for other items */
    ITEM_BITS,
    ITEM_TOKENS,
    ITEM_LOSS,
    ITEM_ROW_TYPE,
    N_ITEM_COLUMN
};

enum { SHOW_REGIONS = 2, SHOW_TARGET = 4, SHOW_PAIR = 8, SHOW_TEXT = 16 };

static const struct attn_column item_columns[N_ITEM_COLUMN] = {
    [ITEM_REGION] = ATTN_COLUMN_WITH("region", TEXT, NAME, .shown = SHOW_REGIONS,
                                     .help = "name of the place, with `regions`"),
    [ITEM_VALUE] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@", .shown = SHOW_TARGET),
    [ITEM_GOOD] =
        ATTN_COLUMN_QUANTITY("good", 4, "nats", SIGNED, "log p(good)", .shown = SHOW_PAIR),
    [ITEM_BAD] = ATTN_COLUMN_QUANTITY("bad", 4, "nats", SIGNED, "log p(bad)", .shown = SHOW_PAIR),
    [ITEM_DIFFERENCE] = ATTN_COLUMN_QUANTITY("difference", 4, "nats", SIGNED,
                                             "log p(good) - log p(bad)", .shown = SHOW_PAIR),
    [ITEM_RIGHT] = ATTN_COLUMN_RIGHT(SHOW_TARGET | SHOW_PAIR),
    [ITEM_RANK] =
        ATTN_COLUMN_QUANTITY("rank", 2, NULL, POSITIVE, "rank of the token", .shown = SHOW_TARGET),
    [ITEM_PROB] = ATTN_COLUMN_QUANTITY("prob", 4, NULL, SHARE, "probability", .shown = SHOW_TARGET),
    [ITEM_NATS] =
        ATTN_COLUMN_QUANTITY("nats", 4, "nats", POSITIVE, "surprisal", .shown = SHOW_TEXT),
    [ITEM_BITS] =
        ATTN_COLUMN_QUANTITY("bits", 4, "bits", POSITIVE, "surprisal", .shown = SHOW_TEXT),
    [ITEM_TOKENS] = ATTN_COLUMN_WITH("n_token", INTEGER, COUNT, .shown = SHOW_TEXT,
                                     .help = "number of scored tokens; over items the sum"),
    [ITEM_LOSS] =
        ATTN_COLUMN_QUANTITY("loss", 4, "nats", POSITIVE, "mean surprisal", .shown = SHOW_TEXT),
    [ITEM_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* What is asked of every item. */
enum item_question { ASK_TEXT, ASK_TARGET, ASK_PAIR, ASK_REGIONS };

struct item_scoring {
    struct attn_frame frame;
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    enum item_question question;
    double good;            /* ln p of the first text of the current pair */
    size_t n_pair, n_first; /* pairs without a score of the first word; those that differ in it */
    bool has_noted_tokens;
};

/* Returns true if ARGS have a target, foil, position or metric. */
static bool is_about_token(const struct attn_score_args *args)
{
    const struct attn_answer_args *answer = &args->answer;

    return answer->target || answer->target_id || answer->foil || answer->foil_id ||
           attn_number_list_is_given(&answer->at) || answer->metric != ATTN_ANSWER_AUTO;
}

static bool has_target(const struct attn_item *item)
{
    return item && (item->answer.target || item->answer.target_id);
}

static bool has_foil(const struct attn_item *item)
{
    return item && (item->answer.foil || item->answer.foil_id);
}

/* Determines the question for all items from the first ITEM, which may be NULL. */
static enum attn_status choose_question(struct item_scoring *scoring, const struct attn_item *item,
                                        struct attn_error *err)
{
    const struct attn_score_args *args = scoring->args;

    if (item && item->pair == ATTN_ITEM_GOOD_BAD)
        scoring->question = ASK_PAIR;
    else if (is_about_token(args) || has_target(item) || has_foil(item))
        scoring->question = ASK_TARGET;
    if (args->regions &&
        (scoring->question == ASK_PAIR || is_about_token(args) || args->by != ATTN_SCORE_BY_TEXT))
        return attn_error_set(err, ATTN_INVALID,
                              "`regions` are sums over tokens of one text, without `target`, "
                              "`foil`, `at`, `metric`, `by` and a pair of texts");
    if (args->regions)
        scoring->question = ASK_REGIONS;
    if (scoring->question == ASK_PAIR && is_about_token(args))
        return attn_error_set(err, ATTN_INVALID,
                              "`target`, `foil`, `at` and `metric` are of one text, and the items "
                              "have 'good' and 'bad'");
    if (scoring->question == ASK_TARGET && args->by != ATTN_SCORE_BY_TEXT)
        return attn_error_set(err, ATTN_INVALID,
                              "`by` is of whole texts, and the items have a target");
    if (args->stride > 0 && (scoring->question == ASK_TARGET || scoring->question == ASK_PAIR))
        return attn_error_set(err, ATTN_INVALID,
                              "`stride` moves windows over whole texts, and the items have a "
                              "target or a pair of texts");
    if (args->by == ATTN_SCORE_BY_WORD && !scoring->tokenizer)
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    return ATTN_OK;
}

/* Checks that ITEM fits the question that the first item determined. */
static enum attn_status check_question(const struct item_scoring *scoring,
                                       const struct attn_item *item, struct attn_error *err)
{
    const bool is_pair = item->pair == ATTN_ITEM_GOOD_BAD;

    if (is_pair != (scoring->question == ASK_PAIR))
        return attn_error_set(err, ATTN_INVALID, "it has %s, and the first item %s",
                              is_pair ? "'good' and 'bad'" : "one text",
                              is_pair ? "one text" : "'good' and 'bad'");
    if ((scoring->question == ASK_TEXT || is_pair) && (has_target(item) || has_foil(item)))
        return attn_error_set(err, ATTN_INVALID, "it has a %s, and the first item has none",
                              has_target(item) ? "target" : "foil");
    return ATTN_OK;
}

/* Computes the mean over words from the NATS [n] of tokens. Only words whose first token has a
 * score count. */
static enum attn_status mean_over_words(const struct item_scoring *scoring, const int32_t *ids,
                                        const double *nats, size_t n, double *mean,
                                        struct attn_error *err)
{
    bool *begins;
    bool is_scored = false; /* the current word has a score */
    size_t n_word = 0;
    double sum = 0;

    ATTN_TRY(ATTN_ALLOC(begins, n, err));
    attn_words_mark(scoring->tokenizer, ids, n, begins);
    for (size_t at = 0; at < n; at++) {
        is_scored = begins[at] ? !isnan(nats[at]) : is_scored;
        n_word += begins[at] && is_scored;
        sum += is_scored ? nats[at] : 0;
    }
    attn_free(begins);
    *mean = sum / (double)n_word;
    if (n_word == 0)
        return attn_error_set(err, ATTN_INVALID, "it has 1 word, and the first has no score");
    return ATTN_OK;
}

/* Computes -ln p of a text: the sum, or the mean over tokens or words. */
static enum attn_status score_text(const struct item_scoring *scoring,
                                   const struct attn_item_result *result, double *nats,
                                   struct attn_error *err)
{
    const struct attn_score_sum sum = sum_of(result);
    const size_t first = attn_score_first(result);

    if (sum.n_token == 0)
        return attn_error_set(
            err, ATTN_INVALID, "%s",
            attn_asked_text(result->run)->seen.region
                ? "no token of its prompt has a score, and it has no 'continuation'"
            : scoring->frame.config->is_encoder
                ? "it has special tokens alone, and these have no score"
                : "it has 1 token, and the first has no score");
    if (scoring->args->by == ATTN_SCORE_BY_WORD)
        return mean_over_words(scoring, result->text->ids + first, result->surprisal + first,
                               result->n_token - first, nats, err);
    *nats = scoring->args->by == ATTN_SCORE_BY_TOKEN ? sum.nats / (double)sum.n_token : sum.nats;
    return ATTN_OK;
}

/* Fills ROW with the surprisal NATS, and with SUM, that of N_TOKEN tokens. */
static void fill_nats(struct attn_cell *row, double nats, double sum, size_t n_token)
{
    row[ITEM_NATS] = attn_cell_real(nats);
    row[ITEM_BITS] = attn_cell_real(nats / M_LN2);
    row[ITEM_TOKENS] = attn_cell_integer((int64_t)n_token);
    row[ITEM_LOSS] = attn_cell_real_or_missing(sum / (double)n_token);
}

static enum attn_status fill_text(const struct item_scoring *scoring,
                                  struct attn_item_result *result, struct attn_cell *row,
                                  struct attn_error *err)
{
    const struct attn_score_sum of_item = sum_of(result);
    struct attn_score_sum *sum = scoring->frame.sum;

    ATTN_TRY(score_text(scoring, result, &result->answer.value, err));
    result->answer.metric = "nats";
    sum->n_token += of_item.n_token;
    sum->nats += of_item.nats;
    fill_nats(row, result->answer.value, of_item.nats, of_item.n_token);
    return ATTN_OK;
}

/* Returns the size of the first word of INPUT, with white space in front of it. */
static size_t first_word(const struct attn_input *input)
{
    const size_t n_white = strspn(input->text, " \t\n");

    return n_white + strcspn(input->text + n_white, " \t\n");
}

/* Counts the pair of RESULT, and whether its texts differ in a first word without a score. */
static void count_first(struct item_scoring *scoring, const struct attn_item_result *result)
{
    const struct attn_input *good = &result->item->input, *bad = &result->item->other;
    const size_t n = good->text && bad->text ? first_word(good) : 0;

    if (n == 0 || !isnan(result->surprisal[0]) || result->text->encoding.n_front > 0)
        return;
    scoring->n_pair++;
    scoring->n_first += n != first_word(bad) || memcmp(good->text, bad->text, n) != 0;
}

static enum attn_status fill_pair(struct item_scoring *scoring, struct attn_item_result *result,
                                  struct attn_cell *row, struct attn_error *err)
{
    double nats = 0;

    ATTN_TRY(score_text(scoring, result, &nats, err));
    count_first(scoring, result);
    result->answer.metric = "difference";
    result->answer.value = scoring->good + nats;
    result->answer.has_right = true;
    result->answer.right = attn_verdict(scoring->good, -nats);
    row[ITEM_GOOD] = attn_cell_real(scoring->good);
    row[ITEM_BAD] = attn_cell_real(-nats);
    row[ITEM_DIFFERENCE] = attn_cell_real(result->answer.value);
    if (!isnan(result->answer.right))
        row[ITEM_RIGHT] = attn_cell_real(result->answer.right);
    return ATTN_OK;
}

/* Appends a row for the region NAME at SPEC (NULL: the item lacks it). FLAGS [n_token] is scratch
 * and must be zero. */
static enum attn_status append_region(const struct attn_rows *rows, const char *name,
                                      const struct attn_number_list *spec,
                                      const struct attn_item_result *result, unsigned char *flags,
                                      struct attn_error *err)
{
    struct attn_cell row[N_ITEM_COLUMN] = {[ITEM_REGION] = attn_cell_string(name)};
    size_t n_token = 0;
    double nats = 0;

    if (spec)
        ATTN_TRY(attn_error_in(attn_positions_find(result->text, spec, flags, err), name, err));
    for (size_t i = 0; i < result->n_token; i++) {
        nats += flags[i] ? result->surprisal[i] : 0;
        n_token += flags[i];
    }
    if (n_token > 0 && !isnan(nats))
        fill_nats(row, nats, nats, n_token);
    return attn_rows_append(rows, row, err);
}

/* Returns the positions of the region NAME: a place of ITEM, or a message of its conversation in
 * RUN; NULL if there is none. */
static const struct attn_number_list *find_region(const struct attn_item *item,
                                                  const struct attn_run *run, const char *name)
{
    const struct attn_number_list *spec = attn_item_place(item, name);

    for (size_t i = 0; !spec && i < attn_asked_chat(run)->places.n; i++)
        if (strcmp(attn_asked_chat(run)->places.items[i].name, name) == 0)
            spec = &attn_asked_chat(run)->places.items[i].spec;
    return spec;
}

static enum attn_status append_regions(const struct item_scoring *scoring,
                                       const struct attn_item *item,
                                       const struct attn_item_result *result,
                                       const struct attn_rows *rows, struct attn_error *err)
{
    struct attn_list_item region = {.rest = scoring->args->regions};
    enum attn_status status = ATTN_OK;
    bool has_any = false;

    while (status == ATTN_OK && attn_list_next(&region)) {
        struct attn_buffer name = {0};
        unsigned char *flags = attn_alloc(result->n_token, 1, err);
        const struct attn_number_list *spec;

        attn_buffer_append(&name, region.text, region.size);
        spec = attn_buffer_string(&name) ? find_region(item, result->run, name.data) : NULL;
        has_any = has_any || spec;
        status = flags && !name.has_failed
                     ? append_region(rows, name.data, spec, result, flags, err)
                     : attn_error_no_memory(err);
        attn_free(flags);
        attn_buffer_release(&name);
    }
    if (status == ATTN_OK && !has_any)
        return attn_error_set(err, ATTN_INVALID, "it has none of the regions '%s'",
                              attn_quote_string(scoring->args->regions).text);
    return status;
}

/* Returns the number of tokens of TEXT as a target; 0 if TEXT is NULL or cannot be encoded. */
static size_t count_tokens(const struct item_scoring *scoring, const char *text)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    size_t n = 0;

    options.special = scoring->frame.request.reading.special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (text && attn_tokenizer_encode(scoring->tokenizer, text, strlen(text), &options, &encoding,
                                      NULL) == ATTN_OK)
        n = encoding.n;
    attn_encoding_release(&encoding);
    return n;
}

/* Reads the next item (attn_next_fn). If target or foil has several tokens, both are scored as
 * continuations. */
static enum attn_status next_item(void *user, struct attn_item **given, struct attn_error *err)
{
    const struct item_scoring *scoring = user;
    struct attn_answer_args args = scoring->args->answer;
    struct attn_item *item;
    const char **next;

    ATTN_TRY(attn_stream_next(scoring->frame.stream, given, err));
    item = *given;
    if (!item)
        return ATTN_OK;
    item->answer.at = attn_number_list_or(item->answer.at, args.at);
    item->queries = (struct attn_number_list){0};
    item->next = NULL;
    item->n_next = item->n_next_ids = 0;
    if (scoring->question != ASK_TARGET || !scoring->tokenizer ||
        scoring->frame.config->is_encoder || attn_item_answer(item, &args, NULL) != ATTN_OK ||
        !args.target || args.foil_id ||
        (count_tokens(scoring, args.target) < 2 && count_tokens(scoring, args.foil) < 2))
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(next, attn_store_take(&item->store, 2 * sizeof *next, err)));
    next[0] = args.target;
    next[1] = args.foil;
    item->next = next;
    item->n_next = args.foil ? 2 : 1;
    item->queries = item->answer.at;
    return ATTN_OK;
}

/* Fills ROW from the log probabilities of a target and a foil of several tokens. */
static enum attn_status fill_tokens(struct item_scoring *scoring, struct attn_item_result *result,
                                    struct attn_cell *row, struct attn_error *err)
{
    const struct attn_predictions *found = &result->predictions;
    const size_t n = result->item->n_next;
    /* for a word of several tokens, the result after the last */
    const struct attn_next *last = &found->next[found->n_next - n];
    const double target = last[0].log_prob;
    enum attn_answer_metric metric = scoring->args->answer.metric;

    if (metric == ATTN_ANSWER_AUTO)
        metric = n > 1 ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOG_PROB;
    if (metric == ATTN_ANSWER_LOGIT || (metric == ATTN_ANSWER_LOGIT_DIFF && n < 2))
        return attn_error_set(err, ATTN_INVALID,
                              "metric '%s' of a target of several tokens, expected log_prob, prob "
                              "or, with a foil, logit_diff",
                              attn_answer_metric_name(metric));
    if (!scoring->has_noted_tokens)
        attn_note(scoring->frame.request.on_note, scoring->frame.request.user,
                  ATTN_NOTE_SEVERAL_TOKENS,
                  "'%s' or its foil is several tokens: the sum of their log probabilities",
                  attn_quote_string(last[0].text).text);
    scoring->has_noted_tokens = true;
    *result->spaces = *attn_run_spaces(result->run);
    result->answer.metric = attn_answer_metric_name(metric);
    if (n > 1 || scoring->args->answer.metric == ATTN_ANSWER_AUTO) /* else it has no `right` */
        result->answer.chosen =
            attn_item_chosen(scoring->args->answer.metric, result->answer.metric, n > 1);
    result->answer.value = metric == ATTN_ANSWER_PROB       ? attn_exp(target)
                           : metric == ATTN_ANSWER_LOG_PROB ? target
                                                            : target - last[1].log_prob;
    row[ITEM_VALUE] = attn_cell_real(result->answer.value);
    row[ITEM_PROB] = attn_cell_real(attn_exp(target));
    result->answer.has_right = n > 1;
    result->answer.right = n > 1 ? attn_verdict(target, last[1].log_prob) : 0;
    if (n > 1 && !isnan(result->answer.right))
        row[ITEM_RIGHT] = attn_cell_real(result->answer.right);
    return ATTN_OK;
}

static enum attn_status fill_target(const struct item_scoring *scoring,
                                    const struct attn_item *item, struct attn_item_result *result,
                                    struct attn_cell *row, struct attn_error *err)
{
    const size_t n_vocab = scoring->frame.config->n_vocab;
    const float *logits = result->logits;
    struct attn_answer_args args = scoring->args->answer;
    struct attn_answer asked;
    double total;

    ATTN_TRY(attn_item_answer(item, &args, err));
    ATTN_TRY(attn_run_find_answer(result->run, &args, &asked, err));
    total = attn_answer_total(&asked, logits);
    *result->spaces = asked.spaces;
    result->answer.metric = attn_answer_metric_name(asked.metric);
    result->answer.chosen = attn_item_chosen(args.metric, result->answer.metric, asked.has_foil);
    result->answer.value = attn_answer_value(&asked, logits, total);
    result->answer.has_right = asked.has_foil || attn_answer_is_judged(&asked);
    result->answer.right = asked.has_target ? attn_answer_right(&asked, logits) : 0;
    row[ITEM_VALUE] = attn_cell_real(result->answer.value);
    if (result->answer.has_right && !isnan(result->answer.right))
        row[ITEM_RIGHT] = attn_cell_real(result->answer.right);
    if (attn_answer_has_top(&asked) && attn_answer_n_row(&asked) == 1)
        row[ITEM_RANK] = attn_cell_real(attn_logits_place(logits, n_vocab, asked.target));
    if (attn_answer_has_p(&asked))
        row[ITEM_PROB] = attn_cell_real(attn_answer_probability(&asked, logits, total));
    return ATTN_OK;
}

/* Appends the row of an item (attn_answer_fn). */
static enum attn_status find_score(void *user, struct attn_item_result *result,
                                   struct attn_error *err)
{
    const struct attn_item *item = result->item;
    struct item_scoring *scoring = user;
    struct attn_rows rows = scoring->frame.rows;
    struct attn_cell row[N_ITEM_COLUMN] = {attn_cell_missing()};

    ATTN_TRY(check_question(scoring, item, err));
    if (scoring->question == ASK_PAIR && !result->is_second) {
        ATTN_TRY(score_text(scoring, result, &scoring->good, err));
        scoring->good = -scoring->good;
        return ATTN_OK;
    }
    if (scoring->question == ASK_REGIONS) {
        ATTN_TRY(attn_rows_begin(&rows, attn_score_items.table.name, &result->answer.rows, err));
        return append_regions(scoring, item, result, &rows, err);
    }
    ATTN_TRY(scoring->question == ASK_PAIR   ? fill_pair(scoring, result, row, err)
             : scoring->question == ASK_TEXT ? fill_text(scoring, result, row, err)
             : result->item->n_next > 0      ? fill_tokens(scoring, result, row, err)
                                             : fill_target(scoring, item, result, row, err));
    ATTN_TRY(attn_rows_begin(&rows, attn_score_items.table.name, &result->answer.rows, err));
    return attn_rows_append(&rows, row, err);
}

static enum attn_status check_items(const void *given, struct attn_error *err)
{
    const struct attn_score_args *args = given;

    ATTN_TRY(attn_score_check(given, err));
    if (args->answer.metric != ATTN_ANSWER_KL && args->answer.metric != ATTN_ANSWER_CE)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID,
        "metric '%s' needs more than one prediction, expected logit_diff, log_prob, "
        "logit or prob",
        attn_answer_metric_name(args->answer.metric));
}

static enum attn_status prepare_items(void *state, struct attn_error *err)
{
    struct item_scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;
    const struct attn_item *first;

    scoring->args = frame->args;
    ATTN_TRY(attn_trial_check_host(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    attn_host_tokenizer(frame->host, &scoring->tokenizer, NULL);
    attn_question_choose_nothing(&frame->request);
    ATTN_TRY(attn_stream_first(frame->stream, &first, err));
    return attn_error_at(choose_question(scoring, first, err), ATTN_STAGE_OPTIONS, err);
}

static unsigned pairs_of_items(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(SINGLE) | ATTN_ITEM_BIT(GOOD_BAD);
}

/* One bar per group: how often the model is right; without targets, the surprisal. */
static const struct attn_table_view item_views[] = {
    {ATTN_VIEW_OF(COUNT, COUNT, ITEM_RIGHT), .traits = ATTN_VIEW_GROUPS},
    {ATTN_VIEW_OF(COUNT, COUNT, ITEM_BITS), .traits = ATTN_VIEW_GROUPS},
};

static uint64_t shows_of_items(const void *state)
{
    static const uint64_t flags[] = {[ASK_TEXT] = SHOW_TEXT,
                                     [ASK_REGIONS] = SHOW_TEXT | SHOW_REGIONS,
                                     [ASK_TARGET] = SHOW_TARGET,
                                     [ASK_PAIR] = SHOW_PAIR};

    return flags[((const struct item_scoring *)state)->question];
}

static enum attn_status ask_items(void *state, struct attn_error *err)
{
    struct item_scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;
    const struct attn_many_options options = {
        .request = &frame->request,
        .has_logits = scoring->question == ASK_TARGET,
        .has_surprisal = scoring->question != ASK_TARGET,
        .stride = scoring->args->stride,
    };
    const struct attn_item_calls calls = {.next = next_item, .find = find_score, .user = scoring};
    char which[80];

    ATTN_TRY(attn_stream_run(frame->stream, frame->host, &options, &calls, err));
    if (scoring->n_first == 0)
        return ATTN_OK;
    snprintf(which, sizeof which, "%zu of %zu pairs differ in the first word, which",
             scoring->n_first, scoring->n_pair);
    attn_note(frame->request.on_note, frame->request.user, ATTN_NOTE_NO_SCORE, ATTN_NO_FIRST_SCORE,
              which);
    return ATTN_OK;
}

const struct attn_procedure attn_score_items = {
    .table.name = ATTN_TABLE_SCORE_ITEMS,
    ATTN_SCORE(struct item_scoring),
    ATTN_PROCEDURE_TABLE(item_columns, item_views),
    .items.pairs = pairs_of_items,
    .check = check_items,
    .prepare = prepare_items,
    .shows = shows_of_items,
    .ask = ask_items,
};
