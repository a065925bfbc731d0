/* diff.c - see diff.h. Records the patterns of the first run, and compares each row of the second
 * run with them when it is computed. */
#include "diff/diff.h"

#include "attention/keys.h"
#include "base/elementary.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "diff/pair.h"
#include "forward/logit_rows.h"
#include "forward/session.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "kernels/kernels.h"
#include "predict/logits.h"
#include "predict/prediction.h"
#include "run/item_extra.h"
#include "tables/table_internal.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"
#include "trials/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_diff_sum, .size = sizeof(struct attn_diff_sum))

enum { STACK, LAYER, HEAD, ROWS, TV_MEAN, TV_MAX, AT, JS, RECALL, ROW_TYPE, N_COLUMN };

enum { N_TOKEN, KL, SAME_TOP, NATS, OTHER_NATS, N_OF_TOKENS };

enum { N_RECALLED = 5 };  /* keys that RECALL counts */
enum { SHOW_RECALL = 2 }; /* both runs have another attention */

static const struct attn_column columns[N_COLUMN] = {
    ATTN_COLUMNS_HEAD(STACK, 0),
    [ROWS] = ATTN_COLUMN_WITH("n_row", INTEGER, COUNT, .range = ATTN_RANGE_POSITIVE,
                              .help = "number of rows that are compared; over items the sum"),
    [TV_MEAN] = ATTN_COLUMN_QUANTITY("tv", 6, NULL, SHARE, "mean total variation distance"),
    [TV_MAX] = ATTN_COLUMN_QUANTITY("tv_max", 6, NULL, SHARE, "largest total variation distance"),
    [AT] = ATTN_COLUMN("position", INTEGER, .range = ATTN_RANGE_POSITIVE, .shown = ATTN_SHOWN_ALONE,
                       .help = "query of tv_max, from 0"),
    [JS] = ATTN_COLUMN_QUANTITY("js", 6, "nats", POSITIVE, "Jensen-Shannon divergence"),
    [RECALL] = ATTN_COLUMN_QUANTITY("recall", 6, NULL, SHARE,
                                    "mean recall of the 5 largest weights", .shown = SHOW_RECALL),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct head_sum {
    size_t n_row, at;
    double tv, tv_max, js, recall;
};

/* The alignment of both texts: common prefix and suffix, and the tokens between them. */
struct alignment {
    size_t n_prefix, n_suffix;
    size_t n_a, n_b; /* tokens of each text */
    bool is_equal;   /* the texts have equal length: position i is aligned with position i */
};

struct diff {
    struct attn_frame frame;   /* its run and capture belong to the first text */
    struct attn_request other; /* the second request */
    struct alignment alignment;
    bool is_causal;        /* rows before the first difference must be equal */
    size_t first;          /* first compared row, if the lengths are equal */
    struct head_sum *sums; /* [n_layer * n_head] */
    size_t n_layer, n_head;
    /* number of keys of layers that attend to the source, equal in both runs; or 0 */
    size_t n_source;
    float *row;                         /* [the longest row] a row of the second run */
    double *parts[2];                   /* [the most parts] a row of each run, aligned */
    double sums_of_tokens[N_OF_TOKENS]; /* over the tokens that both runs predict */
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM_KEPT(LIST, "ids", "LIST",
                    "token ids instead of the text, or of the first of two: 5,17,3",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(LIST, "b_ids", "LIST", NULL, .of = "with",
                    .prefix = "ids:", .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(
        TEXT, "with", "MODEL",
        "compare one text under `model` and under MODEL, which must have as many layers "
        "and heads and make the same tokens of it: another quantization of it, for "
        "instance. ids: are the second text; image: is another picture beside the text than "
        "that of `image`, of as many cells",
        .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(TEXT, "with_adapter", "DIR",
                    "compare one text under `model` and under the same model, changed by the LoRA "
                    "adapter in DIR: what fine-tuning changed in attention",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(TEXT, "with_model", "MODEL",
                    "compare one text under this model and under another one, which must have as "
                    "many layers and heads and make the same tokens of it",
                    .traits = ATTN_PARAM_NO_OPTION),
    ATTN_PARAM_KEPT(TEXT, "with_image", "FILE",
                    "compare one text beside the picture of `image` and beside that of FILE, which "
                    "must have as many cells",
                    .of = "with", .prefix = "image:"),
    ATTN_PARAM_KEPT(LIST, "heads", "LIST",
                    "the head of `figure pair`, or of `figure matrix`, the default with it: 2.5",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(LIST, "queries", "LIST",
                    "the query of `figure pair` in both texts: 4, by default the last; the "
                    "queries of `figure matrix`",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(TEXT, "with_attention", "KIND",
                    "compare one text under `attention` and under KIND, which is written in the "
                    "same way"),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Input", param_rows);

static const struct attn_param_part param_parts[] = {{&params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "ids|b_ids",
     .excludes = "items",
     .message = "@ and `items` are given, expected one of them"},
    {.given = "with_image", .needs = "image"},
    {.given = "with_image", .excludes = "items"},
};

static const struct attn_procedure procedure;

const struct attn_question attn_question_diff = {
    .name = "diff",
    .summary = "what differs between two texts, models or attentions",
    .inputs = "a|b",
    .description =
        "Compares where the heads look in two texts, or in one text under two models or\n"
        "two kinds of attention: total variation and Jensen-Shannon divergence of the\n"
        "rows of each head. In a causal model, rows before the first token that differs\n"
        "must be the same: they are compared bit for bit, and a note says how many they\n"
        "are. For texts of different lengths the common beginning and the common end are\n"
        "compared.\n"
        "\n"
        "A note about two models, and JSON, say how far the predictions of a text move:\n"
        "the mean KL(first || second), sum p1 ln(p1/p2), how often both expect the same\n"
        "token most, and both perplexities, as in llama.cpp's table of kl-divergence.\n"
        "\n"
        "The numbers of a head say that it looks elsewhere. They do not say that its\n"
        "output differs, nor that the prediction does for that: see `attn-cli patch`.\n",
    ATTN_QUESTION_PARAMS(param_parts, rules),
    ATTN_QUESTION_ARGS(struct attn_diff_args, .size = sizeof(struct attn_diff_args)),
    .procedure = &procedure,
};

/* --- Which rows are compared ------------------------------------------------------------------ */

static bool is_same_token(const struct diff *diff, size_t a, size_t b)
{
    const struct attn_sequence *x = attn_asked_text(diff->frame.run),
                               *y = attn_asked_text(diff->frame.other);
    const size_t d = attn_model_config(attn_asked_model(diff->frame.run))->d_embed;
    const bool is_cell = x->seen.region && x->seen.region[a] == ATTN_REGION_PICTURE &&
                         attn_asked_model(diff->frame.run) == attn_asked_model(diff->frame.other);

    if (x->ids && y->ids && (!is_cell || x->ids[a] != y->ids[b]))
        return x->ids[a] == y->ids[b];
    return x->rows && y->rows && memcmp(x->rows + a * d, y->rows + b * d, d * sizeof *x->rows) == 0;
}

/* Returns true if both runs have the same edits at the same positions. */
static bool has_same_edits(const struct attn_run *x, const struct attn_run *y)
{
    size_t n, n_other;
    const struct attn_edit *a = attn_run_edits(x, ATTN_STACK_DECODER, &n),
                           *b = attn_run_edits(y, ATTN_STACK_DECODER, &n_other);
    bool is_same = n == n_other;

    for (size_t i = 0; is_same && i < n; i++, a++, b++)
        is_same = a->at.site == b->at.site && attn_location_compare(&a->at, &b->at) == 0 &&
                  a->row0 == b->row0 && a->row1 == b->row1 && a->col0 == b->col0 &&
                  a->col1 == b->col1 && a->op == b->op && a->factor == b->factor &&
                  a->data == b->data && a->ld == b->ld;
    return is_same;
}

/* Returns true if rows depend only on earlier tokens, and both runs compute them in the same
 * way. */
static bool has_causal_rows(const struct diff *diff)
{
    const struct attn_request *x = attn_asked_request(diff->frame.run),
                              *y = attn_asked_request(diff->frame.other);
    const struct attn_config *config = attn_model_config(attn_asked_model(diff->frame.run));
    bool is_causal = attn_asked_model(diff->frame.run) == attn_asked_model(diff->frame.other) &&
                     has_same_edits(diff->frame.run, diff->frame.other) &&
                     x->attention.layers == y->attention.layers &&
                     x->attention.change == y->attention.change;

    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *attention = &attn_run_attention(diff->frame.run)[layer];
        const bool has_stride_of_length =
            attention->kind == ATTN_ATTENTION_STRIDED && attention->stride == 0;

        is_causal = is_causal && !config->is_cross[layer] && attn_keys_are_causal(attention) &&
                    attention->dropout == 0 && !(has_stride_of_length && !diff->alignment.is_equal);
    }
    return is_causal;
}

static void align(struct diff *diff)
{
    struct alignment *found = &diff->alignment;
    size_t shorter;

    found->n_a = attn_asked_n(diff->frame.run);
    found->n_b = attn_asked_n(diff->frame.other);
    found->is_equal = found->n_a == found->n_b;
    shorter = found->n_a < found->n_b ? found->n_a : found->n_b;
    while (found->n_prefix < shorter && is_same_token(diff, found->n_prefix, found->n_prefix))
        found->n_prefix++;
    while (found->n_suffix < shorter - found->n_prefix &&
           is_same_token(diff, found->n_a - 1 - found->n_suffix, found->n_b - 1 - found->n_suffix))
        found->n_suffix++;
    diff->is_causal = has_causal_rows(diff) && (found->n_prefix < shorter || !found->is_equal);
    diff->first = diff->is_causal && found->is_equal ? found->n_prefix : 0;
}

/* Formats token AT of the input of RUN, for a message. */
static const char *write_token(const struct attn_run *run, size_t at, char text[24])
{
    if (at < attn_asked_n(run))
        snprintf(text, 24, "%" PRId32, attn_asked_text(run)->ids[at]);
    else
        snprintf(text, 24, "none");
    return text;
}

/* Checks that a text that runs under two models has the same tokens in both. */
static enum attn_status check_tokens(const struct diff *diff, struct attn_error *err)
{
    const struct attn_run *a = diff->frame.run, *b = diff->frame.other;
    const struct attn_input *x = &attn_asked_request(a)->input, *y = &attn_asked_request(b)->input;
    const size_t at = diff->alignment.n_prefix;
    char tokens[2][24];

    if (attn_asked_model(a) == attn_asked_model(b) || !x->text || !y->text ||
        x->n_text != y->n_text || memcmp(x->text, y->text, x->n_text) != 0 ||
        !attn_asked_text(a)->ids || !attn_asked_text(b)->ids ||
        (at == attn_asked_n(a) && at == attn_asked_n(b)))
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "token %zu of the text is %s for '%s', %s for '%s', expected tokenizers that "
                "give the same",
                at, write_token(a, at, tokens[0]),
                attn_quote_string(attn_model_name(attn_asked_model(a))).text,
                write_token(b, at, tokens[1]),
                attn_quote_string(attn_model_name(attn_asked_model(b))).text);
    return attn_error_hint(err, "ids instead of a text are the same for both");
}

/* Sets the number of source keys, which must be equal in both runs. */
static enum attn_status check_source(struct diff *diff, struct attn_error *err)
{
    const size_t n_a = attn_asked_source(diff->frame.run)->n,
                 n_b = attn_asked_source(diff->frame.other)->n;

    diff->n_source = n_a;
    if (n_a == n_b)
        return ATTN_OK;
    return attn_refuse(
        err, ATTN_STAGE_INPUT,
        "the source has %zu rows in the first run, %zu in the second, expected as many", n_a, n_b);
}

/* Sets *A to the row of the first run with which row B of the second run is compared. Returns false
 * if there is no such row. */
static bool find_row(const struct diff *diff, size_t b, size_t *a)
{
    const struct alignment *by = &diff->alignment;

    *a = b;
    if (by->is_equal)
        return b >= diff->first;
    if (b < by->n_prefix)
        return !diff->is_causal;
    *a = b + by->n_a - by->n_b;
    return b + by->n_suffix >= by->n_b;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Returns the number of keys that are compared: keys of the source, or tokens of the text; if the
 * lengths differ, all tokens between prefix and suffix count as one. */
static size_t count_parts(const struct diff *diff, bool is_of_source)
{
    const struct alignment *by = &diff->alignment;

    return is_of_source ? diff->n_source : by->is_equal ? by->n_a : by->n_prefix + 1 + by->n_suffix;
}

/* Splits a ROW of N keys into N_PART parts. */
static void split_row(const struct diff *diff, const float *row, size_t n, size_t n_part,
                      double *parts)
{
    const struct alignment *by = &diff->alignment;
    const bool is_whole = n_part == n;
    const size_t end = is_whole ? n : n - by->n_suffix;

    memset(parts, 0, n_part * sizeof *parts);
    for (size_t key = 0; key < n; key++) {
        size_t part = key;

        if (key >= end)
            part = by->n_prefix + 1 + (key - end);
        else if (!is_whole && key >= by->n_prefix)
            part = by->n_prefix;
        parts[part] += (double)row[key];
    }
}

/* Returns a ln(a / m); 0 if a is 0. */
static double share(double a, double m)
{
    return a > 0 ? a * attn_log(a / m) : 0;
}

/* Sets TOP to the parts of ROW [n] with the largest weights above 0, and returns their number. Of
 * equal ones the earlier part is meant. */
static size_t find_top(const double *row, size_t n, size_t top[N_RECALLED])
{
    size_t n_top = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k;

        if (!(row[i] > 0) || (n_top == N_RECALLED && row[i] <= row[top[n_top - 1]]))
            continue;
        n_top += n_top < N_RECALLED;
        for (k = n_top - 1; k > 0 && row[top[k - 1]] < row[i]; k--)
            top[k] = top[k - 1];
        top[k] = i;
    }
    return n_top;
}

/* Returns the share of the largest parts of the first row that are among those of the second. */
static double find_recall(const struct diff *diff, size_t n_part)
{
    size_t tops[2][N_RECALLED], n_found = 0;
    const size_t n = find_top(diff->parts[0], n_part, tops[0]),
                 n_other = find_top(diff->parts[1], n_part, tops[1]);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_other; k++)
            n_found += tops[0][i] == tops[1][k];
    return n > 0 ? (double)n_found / (double)n : 1;
}

static void add_row(struct diff *diff, size_t n_part, struct head_sum *sum, size_t query)
{
    double tv = 0, js = 0;

    for (size_t i = 0; i < n_part; i++) {
        const double a = diff->parts[0][i], b = diff->parts[1][i], m = (a + b) / 2;

        tv += fabs(a - b) / 2;
        js += (share(a, m) + share(b, m)) / 2;
    }
    if (sum->n_row++ == 0 || tv > sum->tv_max) {
        sum->tv_max = tv;
        sum->at = query;
    }
    sum->tv += tv;
    sum->js += js;
    sum->recall += find_recall(diff, n_part);
}

/* Compares rows of one head of the second run (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct diff *diff = user;
    const struct attn_dims *dims = attn_asked_dims(diff->frame.run);
    const bool is_of_source = attn_location_is_cross(dims, &event->at);
    const size_t n_a = is_of_source ? diff->n_source : diff->alignment.n_a;
    const size_t n_b = is_of_source ? diff->n_source : diff->alignment.n_b;
    const size_t n_part = count_parts(diff, is_of_source);
    const float *kept = attn_capture_head(diff->frame.capture, &event->at);
    struct head_sum *sum = &diff->sums[attn_head_index(dims, &event->at)];

    for (size_t r = 0; r < event->n_row; r++) {
        const size_t row = event->row0 + r;
        size_t a;

        attn_event_copy_row(event, r, diff->row, n_b);
        if (find_row(diff, row, &a)) {
            split_row(diff, kept + a * n_a, n_a, n_part, diff->parts[0]);
            split_row(diff, diff->row, n_b, n_part, diff->parts[1]);
            add_row(diff, n_part, sum, a);
        } else if (diff->is_causal && row < diff->alignment.n_prefix &&
                   memcmp(kept + row * n_a, diff->row, (row + 1) * sizeof *kept) != 0) {
            return attn_refuse(err, ATTN_STAGE_CHECK,
                               "row %zu of head %d in layer %d differs, before any token that does",
                               row, event->at.head, event->at.layer);
        }
    }
    return ATTN_OK;
}

/* Returns the fields that an item needs: two texts; or one, if a second host or request is
 * given. */
static unsigned pairs(const void *args)
{
    const struct attn_diff_args *given = args;

    return given->host || given->request ? ATTN_ITEM_BIT(SINGLE) : ATTN_ITEM_BIT(A_B);
}

/* --- Predictions ------------------------------------------------------------------------------ */

/* Returns true if both runs predict the next tokens of one text. */
static bool has_predictions(const struct diff *diff)
{
    const struct attn_run *a = diff->frame.run, *b = diff->frame.other;
    const struct attn_config *x = attn_model_config(attn_asked_model(a)),
                             *y = attn_model_config(attn_asked_model(b));

    return pairs(diff->frame.args) == ATTN_ITEM_BIT(SINGLE) && attn_asked_text(a)->ids &&
           diff->alignment.n_prefix == attn_asked_n(a) && attn_asked_n(b) == attn_asked_n(a) &&
           attn_predicts_next(x) && attn_predicts_next(y) && x->n_vocab == y->n_vocab;
}

/* Adds what the LOGITS [n_vocab] of both runs give before token ID. */
static void add_prediction(struct diff *diff, const float *const logits[2], int32_t id)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = diff->frame.config->n_vocab;
    const double totals[] = {kernels->log_sum_exp(logits[0], n, NULL),
                             kernels->log_sum_exp(logits[1], n, NULL)};

    diff->sums_of_tokens[N_TOKEN]++;
    diff->sums_of_tokens[KL] += kernels->divergence(logits[0], totals[0], logits[1], totals[1], n);
    diff->sums_of_tokens[SAME_TOP] +=
        attn_logits_first(logits[0], n) == attn_logits_first(logits[1], n);
    diff->sums_of_tokens[NATS] += totals[0] - (double)logits[0][id];
    diff->sums_of_tokens[OTHER_NATS] += totals[1] - (double)logits[1][id];
}

/* Compares what both runs predict after each token but the last, from their sessions. */
static enum attn_status compare_predictions(struct diff *diff, struct attn_session *other,
                                            struct attn_error *err)
{
    const struct attn_sequence *text = attn_asked_text(diff->frame.run);
    const size_t n_vocab = diff->frame.config->n_vocab;
    struct attn_logit_rows a = {.session = diff->frame.session, .end = text->n - 1},
                           b = {.session = other, .end = text->n - 1};

    while (attn_logit_rows_next(&a, err) && attn_logit_rows_next(&b, err))
        for (size_t i = 0, at = a.first + 1; i < a.n; i++, at++)
            if (attn_picture_prompt_is_scored(text, at))
                add_prediction(diff,
                               (const float *[]){a.logits + i * n_vocab, b.logits + i * n_vocab},
                               text->ids[at]);
    a.status = a.status == ATTN_OK ? attn_logit_rows_end(&b) : a.status;
    return attn_logit_rows_end(&a);
}

/* Runs both, keeps the patterns of the first run, and compares the second run with them. */
static enum attn_status compare(struct diff *diff, struct attn_error *err)
{
    struct attn_frame *frame = &diff->frame;
    struct attn_session *other = NULL;
    const bool predicts = has_predictions(diff);
    const struct attn_watch kept = {.selection = attn_asked_selection(frame->run),
                                    .capture = &frame->capture,
                                    .session = predicts ? &frame->session : NULL};
    const struct attn_watch compared = {.selection = attn_asked_selection(frame->other),
                                        .is_silent = true,
                                        .on_event = on_rows,
                                        .user = diff,
                                        .session = predicts ? &other : NULL};
    enum attn_status status;
    const size_t n_part = count_parts(diff, false), n_b = diff->alignment.n_b;

    diff->n_layer = frame->config->n_layer;
    diff->n_head = frame->config->n_head;
    diff->sums = attn_frame_alloc(frame, diff->n_layer * diff->n_head, sizeof *diff->sums);
    diff->row =
        attn_frame_alloc(frame, n_b > diff->n_source ? n_b : diff->n_source, sizeof *diff->row);
    for (size_t i = 0; i < 2; i++)
        diff->parts[i] = attn_frame_alloc(frame, n_part > diff->n_source ? n_part : diff->n_source,
                                          sizeof(double));
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_watch(frame->run, &kept, err));
    status = attn_watch(frame->other, &compared, err);
    if (status == ATTN_OK && predicts)
        status = compare_predictions(diff, other, err);
    attn_session_free(other);
    return status;
}

/* --- The procedure ---------------------------------------------------------------------------- */

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct diff *diff = state;
    struct attn_request *request = &diff->frame.request;
    const struct attn_diff_args *args = diff->frame.args;
    const struct attn_item *item = diff->frame.item;

    diff->other = ATTN_REQUEST_DEFAULT;
    if (args->request)
        ATTN_TRY(attn_options_read(args->request, &diff->other, err));
    else
        diff->other = *request;
    if (item) {
        diff->other.input = item->pair == ATTN_ITEM_A_B ? item->other : request->input;
        attn_item_see(item, attn_host_model(diff->frame.host), &request->input, &diff->other.input);
        diff->other.source = request->source;
        diff->other.reading.example = NULL;
        diff->other.on_note = request->on_note;
        diff->other.on_counted = request->on_counted;
        diff->other.on_progress = diff->other.on_part = NULL;
        diff->other.user = request->user;
    }
    attn_frame_take_plain(&procedure, &diff->other);
    attn_question_choose_nothing(request);
    request->selection.sites = "pattern";
    attn_question_choose_nothing(&diff->other);
    diff->other.selection.sites = "pattern";
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct diff *diff = state;
    struct attn_frame *frame = &diff->frame;
    const struct attn_diff_args *args = frame->args;
    struct attn_host *host = args->host ? args->host : frame->host;
    const struct attn_config *a = frame->config, *b;

    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(attn_run_open(host, NULL, &diff->other, &frame->other, err));
    b = attn_model_config(attn_asked_model(frame->other));
    if (a->n_layer != b->n_layer || a->n_head != b->n_head) {
        attn_error_set(err, ATTN_INVALID, "'%s' has %zu layers of %zu heads, '%s' has %zu of %zu",
                       attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text,
                       a->n_layer, a->n_head,
                       attn_quote_string(attn_model_name(attn_asked_model(frame->other))).text,
                       b->n_layer, b->n_head);
        if (frame->answer)
            frame->answer->is_general = true;
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    align(diff);
    ATTN_TRY(check_tokens(diff, err));
    return check_source(diff, err);
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, HEAD, TV_MEAN), .asked = "between the patterns of each head"},
};

/* Sets the names of both texts in titles. */
static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_diff_args *args = given;
    const struct attn_input *a = drawn->request ? &drawn->request->input : NULL;
    const struct attn_input *b = args->request ? &args->request->input : NULL;

    if (drawn->host && attn_host_model(drawn->host))
        attn_pair_name_models(drawn->host, args, drawn->picture, drawn->picture->words,
                              sizeof drawn->picture->words);
    if (args->study || !a || !b || !a->text || !b->text ||
        (a->n_text == b->n_text && memcmp(a->text, b->text, a->n_text) == 0))
        return;
    attn_drawn_name_pair(drawn, "A", "B", b);
}

/* Returns true if A and B change the attention of a model in different ways. */
static bool are_unlike(const struct attn_attention_change *a, const struct attn_attention_change *b)
{
    const struct attn_attention *x = &a->to, *y = &b->to;

    return a->parts != b->parts || x->kind != y->kind || x->window != y->window ||
           x->stride != y->stride || x->count != y->count || x->seed != y->seed ||
           x->feature != y->feature || x->is_raw != y->is_raw || x->mask != y->mask ||
           x->masking != y->masking || x->similarity != y->similarity ||
           x->algorithm != y->algorithm || x->is_scaled != y->is_scaled || x->eps != y->eps ||
           x->dropout != y->dropout || x->dropout_seed != y->dropout_seed || a->mask != b->mask;
}

static uint64_t shows(const void *state)
{
    static const struct attn_attention_change none = {0};
    const struct diff *diff = state;
    const struct attn_attention_change *a = diff->frame.request.attention.change,
                                       *b = diff->other.attention.change;

    a = a && a->parts ? a : &none;
    b = b && b->parts ? b : &none;
    return are_unlike(a, b) ? SHOW_RECALL : 0;
}

/* Adds NUMBERS, the sums over the tokens of a text, to the sum of all. */
static void add_up(void *all, const double *numbers)
{
    struct attn_diff_sum *sum = all;

    sum->n_token += (size_t)numbers[N_TOKEN];
    sum->kl += numbers[KL];
    sum->n_same_top += (size_t)numbers[SAME_TOP];
    sum->nats += numbers[NATS];
    sum->other_nats += numbers[OTHER_NATS];
}

/* Adds the means over the tokens to the facts about the table. */
static enum attn_status add_facts(const struct diff *diff, struct attn_error *err)
{
    static const struct attn_column about[N_OF_TOKENS] = {
        [N_TOKEN] = ATTN_COLUMN("n_token", INTEGER),
        [KL] = ATTN_COLUMN("kl", REAL),
        [SAME_TOP] = ATTN_COLUMN("same_top", REAL),
        [NATS] = ATTN_COLUMN("perplexity", REAL),
        [OTHER_NATS] = ATTN_COLUMN("other_perplexity", REAL)};
    struct attn_cell cells[N_OF_TOKENS];
    const double n = diff->sums_of_tokens[N_TOKEN];

    cells[N_TOKEN] = attn_cell_integer((int64_t)n);
    for (size_t i = KL; i < N_OF_TOKENS; i++) {
        const double mean = diff->sums_of_tokens[i] / n;

        cells[i] = attn_cell_real(i < NATS ? mean : attn_exp(mean));
    }
    return n == 0 ? ATTN_OK
                  : attn_table_set_about(diff->frame.rows.table, about, cells, N_OF_TOKENS, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct diff *diff = state;
    const struct attn_dims *dims = attn_asked_dims(diff->frame.run);
    struct attn_diff_sum *sum = diff->frame.sum;

    ATTN_TRY(compare(diff, err));
    for (size_t i = 0; i < diff->n_layer * diff->n_head; i++) {
        const struct head_sum *of_head = &diff->sums[i];
        const struct attn_location at = attn_head_at(dims, ATTN_SITE_PATTERN, i);
        struct attn_cell row[N_COLUMN] = {
            [HEAD] = attn_cell_integer(at.head),
            [ROWS] = attn_cell_integer((int64_t)of_head->n_row),
        };

        if (attn_location_is_lacking(dims, &at))
            continue;
        sum->n_row = sum->n_row > 0 ? sum->n_row : of_head->n_row;
        attn_location_put(&at, &row[STACK]);
        if (of_head->n_row > 0) {
            row[TV_MEAN] = attn_cell_real(of_head->tv / (double)of_head->n_row);
            row[TV_MAX] = attn_cell_real(of_head->tv_max);
            row[AT] = attn_cell_integer((int64_t)of_head->at);
            row[JS] = attn_cell_real(of_head->js / (double)of_head->n_row);
            row[RECALL] = attn_cell_real(of_head->recall / (double)of_head->n_row);
        }
        ATTN_TRY(attn_frame_append(&diff->frame, row, err));
    }
    sum->n_same = diff->is_causal ? diff->alignment.n_prefix : 0;
    sum->is_aligned = !diff->alignment.is_equal;
    add_up(sum, diff->sums_of_tokens);
    ATTN_TRY(add_facts(diff, err));
    return attn_frame_report_more(&diff->frame, diff->sums_of_tokens, N_OF_TOKENS, err);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    (void)args, (void)request, (void)item, (void)err; /* the frame reads its texts */
    return ATTN_OK;
}

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_DIFF,
    .question = &attn_question_diff,
    ATTN_PROCEDURE_TABLE(columns, views),
    .state_size = sizeof(struct diff),
    .sum_size = sizeof(struct attn_diff_sum),
    .items.study = offsetof(struct attn_diff_args, study),
    .items.take_item = take_item,
    .items.pairs = pairs,
    .items.add_up = add_up,
    .choose = choose,
    .prepare = prepare,
    .draw = draw,
    .shows = shows,
    .ask = ask,
};

ATTN_ASKS_WITH_SUM(diff)
