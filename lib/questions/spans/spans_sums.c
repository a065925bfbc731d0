/* spans_sums.c - the numbers of spans: patterns are summed by span while they are computed, a
 * neutral text is a second run. */
#include "spans/spans_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "measures/parks.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- A row ------------------------------------------------------------------------------------ */

/* Adds X, unless it is NaN. */
static void add(struct attn_span_sums *sums, int measure, double x)
{
    if (isnan(x))
        return;
    sums->sum[measure] += x;
    sums->n[measure]++;
}

double attn_spans_mean(const struct attn_span_sums *sums, int measure)
{
    const size_t n = sums->n[measure];

    return n == 0                         ? (double)NAN
           : measure == ATTN_SPANS_COPIED ? sums->sum[measure]
                                          : sums->sum[measure] / (double)n;
}

/* Returns the sum of the row over the tokens of FLAGS; *SEEN is how many of them it sees. */
static double sum_of(const struct attn_spans_run *spans, const unsigned char *flags, size_t *seen)
{
    double sum = 0;

    *seen = 0;
    for (size_t j = 0; j < spans->keys.n; j++)
        if (flags[j]) {
            sum += (double)spans->keys.row[j];
            *seen += spans->keys.visible[j];
        }
    return sum;
}

/* Returns the mean weight of the keys behind all spans, up to QUERY; NaN without any, as in a
 * source. */
static double weight_of_new(const struct attn_spans_run *spans, size_t query)
{
    size_t last = 0, n = 0;
    double sum = 0;

    for (size_t i = 0; i < spans->n_span; i++)
        last = spans->items[i].last > last ? spans->items[i].last : last;
    for (size_t j = last + 1; !spans->is_of_source && j <= query; j++)
        if (spans->keys.visible[j]) {
            sum += (double)spans->keys.row[j];
            n++;
        }
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* Returns the key with the largest weight, the first of equals. */
static size_t largest_of(const struct attn_spans_run *spans)
{
    size_t largest = 0;

    for (size_t j = 1; j < spans->keys.n; j++)
        largest = spans->keys.row[j] > spans->keys.row[largest] ? j : largest;
    return largest;
}

/* Whether KEY, a token of the text or of the source, is the token after QUERY. */
static bool is_next(const struct attn_spans_run *spans, size_t key, size_t query)
{
    const struct attn_sequence *text = attn_asked_text(spans->run);
    const struct attn_token_bytes *keys = &attn_asked_source(spans->run)->tokens,
                                  *tokens = &text->tokens;

    if (!spans->is_of_source)
        return text->ids[key] == text->ids[query + 1];
    return keys->sizes[key] == tokens->sizes[query + 1] &&
           memcmp(keys->bytes[key], tokens->bytes[query + 1], keys->sizes[key]) == 0;
}

/* Takes the weight on parked positions out of the row, and scales the rest of it to 1. Adds the
 * weight to SUMS of the parked. */
static void take_parked(struct attn_spans_run *spans, struct attn_span_sums *sums)
{
    size_t n_visible = 0, n_parked;
    const double parked = sum_of(spans, spans->keys.parked, &n_parked);
    double left = 0;

    for (size_t j = 0; j < spans->keys.n; j++) {
        n_visible += spans->keys.visible[j];
        if (spans->keys.parked[j])
            spans->keys.row[j] = spans->keys.visible[j] = 0;
        left += (double)spans->keys.row[j];
    }
    for (size_t j = 0; j < spans->keys.n; j++)
        spans->keys.row[j] = (float)((double)spans->keys.row[j] / left);
    add(sums, ATTN_SPANS_SHARE, parked);
    add(sums, ATTN_SPANS_EVEN, (double)n_parked / (double)n_visible);
}

/* Measures the row of QUERY, whose largest weight is on LARGEST, and adds it to SUMS
 * [n_span + ATTN_SPANS_N_MORE]. */
static void measure(const struct attn_spans_run *spans, size_t query, size_t largest,
                    struct attn_span_sums *sums)
{
    const bool has_tokens = spans->is_of_source ? attn_asked_source(spans->run)->tokens.bytes &&
                                                      attn_asked_text(spans->run)->tokens.bytes
                                                : attn_asked_text(spans->run)->ids != NULL;
    const double new = weight_of_new(spans, query);
    size_t n_visible = 0, seen;
    double total = 0, share;

    for (size_t j = 0; j < spans->keys.n; j++)
        n_visible += spans->keys.visible[j];
    for (size_t i = 0; i < spans->n_span; i++)
        total += sum_of(spans, spans->items[i].flags, &seen);
    for (size_t i = 0; i <= spans->n_span; i++) {
        const struct attn_span *span = i < spans->n_span ? &spans->items[i] : NULL;
        double mean;

        share = sum_of(spans, span ? span->flags : spans->keys.rest, &seen);
        add(&sums[i], ATTN_SPANS_SHARE, share);
        add(&sums[i], ATTN_SPANS_EVEN, (double)seen / (double)n_visible);
        if (!span)
            continue;
        mean = share / (double)span->n_token;
        if (mean + new > 0)
            add(&sums[i], ATTN_SPANS_LOOKBACK, mean / (mean + new));
        if (total > 0)
            add(&sums[i], ATTN_SPANS_FOCUS, share / total);
        if (has_tokens && query + 1 < spans->n)
            add(&sums[i], ATTN_SPANS_COPIED,
                span->flags[largest] && is_next(spans, largest, query) ? 1 / (double)span->n_token
                                                                       : 0);
    }
}

/* Copies row R of EVENT, and flags the keys that it sees. */
static void take_row(struct attn_spans_run *spans, const struct attn_trace_event *event, size_t r)
{
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;
    const int32_t *mask = attn_spans_keys(spans, spans->run)->key_mask;

    attn_event_copy_row(event, r, spans->keys.row, spans->keys.n);
    memset(spans->keys.visible, 0, spans->keys.n);
    while (attn_row_next(&row, &cells))
        memset(spans->keys.visible + cells.first, 1, cells.n);
    for (size_t j = 0; mask && j < spans->keys.n; j++)
        spans->keys.visible[j] &= mask[j] != 0;
    for (size_t j = 0; j < spans->keys.n; j++)
        spans->keys.is_seen[j] |= spans->keys.visible[j];
}

/* Measures the rows of the queries (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct attn_spans_run *spans = user;
    const size_t head = attn_parts_find(&spans->heads, &event->at);

    (void)err;
    for (size_t r = 0, q = 0; head < spans->heads.n && r < event->n_row; r++) {
        const size_t query = event->row0 + r;
        struct attn_span_sums *sums;
        size_t largest;

        while (q < spans->n_query && spans->queries[q] < query)
            q++;
        if (!spans->args->has_effect && (q == spans->n_query || spans->queries[q] > query))
            continue;
        take_row(spans, event, r);
        if (q == spans->n_query || spans->queries[q] > query)
            continue;
        sums = spans->sums + (head * spans->n_step + (spans->n_step > 1 ? q : 0)) *
                                 (spans->n_span + ATTN_SPANS_N_MORE);
        largest = largest_of(spans);
        if (spans->keys.n_parked > 0)
            take_parked(spans, &sums[spans->n_span + ATTN_SPANS_PARKED]);
        measure(spans, query, largest, sums);
        for (size_t j = 0; j < spans->keys.n; j++)
            spans->weights[head * spans->keys.n + j] +=
                (double)spans->keys.row[j] / (double)spans->n_query;
    }
    return ATTN_OK;
}

static struct attn_watch watch_of(const struct attn_head_list *heads, attn_trace_fn on_event,
                                  void *user)
{
    return (struct attn_watch){.sites = ATTN_SITES(ATTN_SITE_PATTERN),
                               .places.heads = heads,
                               .takes_rows = true,
                               .on_event = on_event,
                               .user = user};
}

/* Notes how many positions are parked, and the spans that have no others. */
static void note_parked(const struct attn_spans_run *spans)
{
    const struct attn_request *request = &spans->frame.request;

    if (spans->keys.n_parked > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                  "heads park weight on %zu position%s, the row parked; `hide none` counts %s in "
                  "the spans",
                  spans->keys.n_parked, spans->keys.n_parked == 1 ? "" : "s",
                  spans->keys.n_parked == 1 ? "it" : "them");
    for (size_t i = 0; i < spans->n_span; i++)
        if (spans->keys.n_parked > 0 && spans->items[i].n_token == 0)
            attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                      "span '%s' has no other positions than parked ones",
                      attn_quote_string(spans->items[i].name).text);
}

/* Gives the parked positions of the text to no span, before its rows come. */
static enum attn_status take_positions(void *user, struct attn_error *err)
{
    struct attn_spans_run *spans = user;
    const bool is_shown = spans->args->hides == ATTN_SPANS_HIDE_PARKS;

    (void)err;
    for (size_t t = 0; t < spans->keys.n && is_shown; t++) {
        if (!attn_parks_has(spans->parks[0], t))
            continue;
        spans->keys.parked[t] = 1;
        spans->keys.n_parked++;
        spans->keys.rest[t] = 0;
        for (size_t i = 0; i < spans->n_span; i++) {
            spans->items[i].n_token -= spans->items[i].flags[t];
            spans->items[i].flags[t] = 0;
        }
    }
    for (size_t i = 0; i < spans->n_span; i++)
        spans->items[i].has_score &= spans->items[i].n_token > 0;
    if (!spans->frame.is_one_of_many)
        note_parked(spans);
    return ATTN_OK;
}

enum attn_status attn_spans_read(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_head_list heads = {.text = spans->frame.request.selection.heads};
    const size_t first = spans->queries[0];
    const bool is_shown = spans->args->hides == ATTN_SPANS_HIDE_PARKS;
    struct attn_watch watch = watch_of(&heads, on_rows, spans);

    if (spans->is_of_source && !is_shown)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`hide none` is of positions of the text, and the spans are in its "
                           "source");
    if (!spans->is_of_source && (is_shown || spans->args->has_effect)) {
        watch.parks = spans->parks;
        watch.on_parks = take_positions;
    }
    /* the runs for effects send the same notes, and need the keys that all rows see */
    watch.is_silent = spans->args->has_effect;
    if (!spans->args->has_effect) {
        watch.places.first_query = first;
        watch.places.n_query = spans->queries[spans->n_query - 1] + 1 - first;
    }
    return attn_watch(spans->run, &watch, err);
}

/* --- The neutral text ------------------------------------------------------------------------- */

/* The run of the neutral text, whose tokens `first` to `last` stand for the queries. */
struct neutral {
    struct attn_spans_run *spans;
    struct attn_run *run;    /* owns */
    struct attn_buffer text; /* owns */
    int32_t *ids;            /* owns */
    float *row;              /* owns; [n_key] a row of this run's pattern */
    size_t n_key;
    size_t first, last;
};

static bool is_neutral(const struct attn_spans_run *spans)
{
    return spans->args->neutral.text || spans->args->neutral.ids;
}

/* Takes the weight on parked positions out of the row, and returns the sum of the rest. Tokens
 * before and after the neutral ones are those of the text. */
static double take_neutral_parked(const struct neutral *neutral)
{
    const struct attn_spans_run *spans = neutral->spans;
    double left = 0;

    for (size_t j = 0; j < neutral->n_key; j++) {
        if (j < neutral->first  ? spans->keys.parked[j]
            : j > neutral->last ? spans->keys.parked[spans->keys.n - (neutral->n_key - j)]
                                : 0)
            neutral->row[j] = 0;
        left += (double)neutral->row[j];
    }
    return left;
}

/* Subtracts the rows of the neutral tokens (attn_trace_fn). */
static enum attn_status on_neutral(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    const struct neutral *neutral = user;
    struct attn_spans_run *spans = neutral->spans;
    const size_t head = attn_parts_find(&spans->heads, &event->at);
    const size_t n_key = spans->is_of_source ? spans->keys.n : spans->queries[0];
    const double n = (double)(neutral->last - neutral->first + 1);
    double left;

    (void)err;
    for (size_t r = 0; head < spans->heads.n && r < event->n_row; r++) {
        if (event->row0 + r < neutral->first || event->row0 + r > neutral->last)
            continue;
        attn_event_copy_row(event, r, neutral->row, neutral->n_key);
        left = spans->keys.n_parked > 0 ? take_neutral_parked(neutral) : 1;
        for (size_t j = 0; j < n_key && left > 0; j++)
            spans->weights[head * spans->keys.n + j] -= (double)neutral->row[j] / left / n;
    }
    return ATTN_OK;
}

/* Puts ids in place of the queries. */
static enum attn_status replace_ids(struct neutral *neutral, struct attn_input *input,
                                    struct attn_error *err)
{
    const struct attn_spans_run *spans = neutral->spans;
    const struct attn_input *given = &spans->args->neutral;
    const int32_t *ids = attn_asked_text(spans->run)->ids;
    const size_t first = spans->queries[0], end = spans->queries[spans->n_query - 1] + 1;
    const size_t n_id = given->n_id;

    if (!ids)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral_ids` needs tokens, the input has none");
    ATTN_TRY(ATTN_ALLOC(neutral->ids, spans->n + n_id, err));
    memcpy(neutral->ids, ids, first * sizeof *ids);
    memcpy(neutral->ids + first, given->ids, n_id * sizeof *ids);
    memcpy(neutral->ids + first + n_id, ids + end, (spans->n - end) * sizeof *ids);
    *input = (struct attn_input){.ids = neutral->ids, .n_id = spans->n - (end - first) + n_id};
    neutral->last = first + n_id - 1;
    return n_id > 0 ? ATTN_OK : attn_refuse(err, ATTN_STAGE_OPTIONS, "`neutral_ids` has no token");
}

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Puts the text in place of the queries; white space at their edges stays. *AT and *END become the
 * bytes of the new text. */
static enum attn_status replace_text(struct neutral *neutral, struct attn_input *input, size_t *at,
                                     size_t *end, struct attn_error *err)
{
    const struct attn_spans_run *spans = neutral->spans;
    const struct attn_input *given = &spans->args->neutral,
                            *old = attn_asked_text(spans->run)->input;
    const struct attn_encoding *encoding = &attn_asked_text(spans->run)->encoding;
    size_t from, to;

    if (encoding->n == 0 || old->pair)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` needs one text, and the input is none; `neutral_ids` takes "
                           "ids");
    from = encoding->begin[spans->queries[0]];
    to = encoding->end[spans->queries[spans->n_query - 1]];
    while (from < to && is_white(old->text[from]))
        from++;
    while (to > from && is_white(old->text[to - 1]))
        to--;
    attn_buffer_append(&neutral->text, old->text, from);
    attn_buffer_append(&neutral->text, given->text, given->n_text);
    attn_buffer_append(&neutral->text, old->text + to, old->n_text - to);
    *input = *old;
    input->text = neutral->text.data;
    input->n_text = neutral->text.size;
    *at = from;
    *end = from + given->n_text;
    return attn_buffer_check(&neutral->text, err);
}

/* Checks that the queries are neighbours, and prepares the run of the neutral text. */
static enum attn_status prepare_neutral(struct neutral *neutral, struct attn_error *err)
{
    struct attn_spans_run *spans = neutral->spans;
    struct attn_request request = spans->frame.request;
    const size_t first = spans->queries[0];
    const int32_t *ids = attn_asked_text(spans->run)->ids;
    size_t at = 0, end = 0;

    if (spans->queries[spans->n_query - 1] - first + 1 != spans->n_query)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` takes the place of the queries, which are not neighbours");
    if (attn_asked_text(spans->run)->seen.n_picture > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`neutral` takes the place of the queries of a text, and this one has a "
                           "picture");
    neutral->first = first;
    ATTN_TRY(spans->args->neutral.ids ? replace_ids(neutral, &request.input, err)
                                      : replace_text(neutral, &request.input, &at, &end, err));
    request.selection.queries = (struct attn_number_list){0};
    request.on_note = NULL;
    ATTN_TRY(attn_run_open(spans->frame.host, NULL, &request, &neutral->run, err));
    const struct attn_sequence *text = attn_asked_text(neutral->run);

    if (text->n <= first || (ids && memcmp(ids, text->ids, first * sizeof *ids) != 0))
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "with the neutral text, the tokens in front of the queries are others");
    for (size_t i = first; end > 0 && i < text->n; i++)
        if (text->encoding.begin[i] < end && text->encoding.begin[i] < text->encoding.end[i])
            neutral->last = i;
    neutral->n_key = attn_spans_keys(spans, neutral->run)->n;
    return ATTN_ALLOC(neutral->row, neutral->n_key, err);
}

static enum attn_status run_neutral(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_head_list heads = {.text = spans->frame.request.selection.heads};
    struct neutral neutral = {.spans = spans};
    struct attn_watch watch = watch_of(&heads, on_neutral, &neutral);
    enum attn_status status = prepare_neutral(&neutral, err);

    watch.is_silent = true;
    ATTN_THEN(status, attn_watch(neutral.run, &watch, err));
    attn_run_free(neutral.run);
    attn_buffer_release(&neutral.text);
    attn_free(neutral.ids);
    attn_free(neutral.row);
    return status;
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Returns the sum of WEIGHTS over the tokens of SPAN, without those that are two standard
 * deviations below their mean, or more. */
static double filtered_sum(const struct attn_span *span, const double *weights)
{
    struct attn_moments moments = {.n = 0};
    double sum = 0, least;

    for (size_t t = span->first; t <= span->last; t++)
        if (span->flags[t])
            attn_moments_add(&moments, weights[t]);
    least = moments.n < 2 ? -(double)INFINITY : moments.mean - 2 * attn_moments_sd(&moments);
    for (size_t t = span->first; t <= span->last; t++)
        if (span->flags[t] && weights[t] > least)
            sum += weights[t];
    return sum;
}

/* Ranks the spans of MEASURED [n_span] by their scores. Equal scores share a mean rank, and k that
 * are equally high have 1/k of the first place each. */
static void rank(const struct attn_spans_run *spans, struct attn_span_numbers *measured)
{
    for (size_t i = 0; i < spans->n_span; i++) {
        size_t n_above = 0, n_equal = 0;

        for (size_t k = 0; k < spans->n_span; k++) {
            n_above += measured[k].score > measured[i].score;
            n_equal += measured[k].score == measured[i].score;
        }
        const bool has_score = n_equal > 0; /* NaN is not equal to itself */

        measured[i].rank = has_score ? (double)n_above + ((double)n_equal + 1) / 2 : (double)NAN;
        measured[i].best = !has_score ? (double)NAN : n_above > 0 ? 0 : 1 / (double)n_equal;
    }
}

/* Finds the scores of MEASURED, of head HEAD or, if it is heads.n, of the sum of all heads. */
static void find_scores(struct attn_spans_run *spans, size_t head,
                        struct attn_span_numbers *measured)
{
    double *weights = spans->weights + (head < spans->heads.n ? head * spans->keys.n : 0);

    if (head == spans->heads.n)
        for (size_t i = spans->keys.n; i < spans->heads.n * spans->keys.n; i++)
            weights[i % spans->keys.n] += weights[i];
    for (size_t i = 0; i < spans->n_span + ATTN_SPANS_N_MORE; i++) {
        const bool has_score = i < spans->n_span && spans->items[i].has_score;
        const size_t n = head < spans->heads.n ? 1 : spans->heads.n;

        measured[i].score = !has_score ? (double)NAN
                            : is_neutral(spans)
                                ? filtered_sum(&spans->items[i], weights)
                                : attn_spans_mean(&measured[i].sums, ATTN_SPANS_SHARE) * (double)n;
    }
    rank(spans, measured);
}

/* Adds the means of each head to MEASURED, of all heads. */
static void add_heads(const struct attn_spans_run *spans, struct attn_span_numbers *measured)
{
    for (size_t head = 0; head < spans->heads.n; head++)
        for (size_t i = 0; i < spans->n_span + ATTN_SPANS_N_MORE; i++) {
            const struct attn_span_sums *sums =
                &spans->sums[head * (spans->n_span + ATTN_SPANS_N_MORE) + i];

            for (int k = 0; k < ATTN_SPANS_N_MEASURE; k++)
                add(&measured[i].sums, k, attn_spans_mean(sums, k));
        }
    for (size_t i = 0; i < spans->n_span + ATTN_SPANS_N_MORE;
         i++) /* `copied` is a mean over heads, too */
        if (measured[i].sums.n[ATTN_SPANS_COPIED] > 0)
            measured[i].sums.sum[ATTN_SPANS_COPIED] /=
                (double)measured[i].sums.n[ATTN_SPANS_COPIED];
}

enum attn_status attn_spans_score(struct attn_spans_run *spans, struct attn_error *err)
{
    const size_t n_row = spans->n_span + ATTN_SPANS_N_MORE;

    if (is_neutral(spans))
        ATTN_TRY(run_neutral(spans, err));
    if (spans->args->by == ATTN_SPANS_BY_SPAN) {
        add_heads(spans, spans->measured);
        find_scores(spans, spans->heads.n, spans->measured);
    }
    for (size_t i = 0; spans->args->by == ATTN_SPANS_BY_HEAD && i < spans->heads.n; i++) {
        for (size_t k = 0; k < n_row; k++)
            spans->measured[i * n_row + k].sums = spans->sums[i * n_row + k];
        find_scores(spans, i, spans->measured + i * n_row);
    }
    return ATTN_OK;
}
