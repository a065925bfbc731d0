/* sinks.c - see sinks.h. One run; the patterns are summed by column while they are computed, so no
 * matrix is kept. For massive activations the stream of one layer is kept at a time. */
#include "heads/sinks.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "frame/parts.h"
#include "frame/questions_internal.h"
#include "measures/parks.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    MOST_ROWS = 1024, /* rows of a long text per feed */
};

/* An activation is massive if it is larger than both. */
static const double massive_value = 100, massive_ratio = 1000;

enum {
    STACK,
    LAYER,
    HEAD,
    KV_HEAD,
    FIRST_WEIGHT,
    FIRST_RATE,
    RATE,
    COLUMNS,
    POSITION,
    TOKEN,
    WEIGHT,
    VALUE_NORM,
    ROW_TYPE,
    N_HEAD_COLUMN
};

static const struct attn_column head_columns[N_HEAD_COLUMN] = {
    ATTN_COLUMNS_HEAD(STACK, 0),
    [KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER),
    [FIRST_WEIGHT] = ATTN_COLUMN_QUANTITY("first_weight", 4, NULL, SHARE, "weight of position 0"),
    [FIRST_RATE] = ATTN_COLUMN_RATE("first_rate", 4, "position 0 is a sink", 0),
    [RATE] = ATTN_COLUMN_RATE("rate", 4, "share of texts with a sink", 0),
    [COLUMNS] = ATTN_COLUMN_WHOLE("n_other_sink", "sinks other than position 0"),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = ATTN_SHOWN_ALONE),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = ATTN_SHOWN_ALONE),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight of the largest column"),
    [VALUE_NORM] = ATTN_COLUMN_QUANTITY("value_norm", 4, NULL, POSITIVE, "length of its value"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum { OF_TOKEN, OF_ID, PLACES, TOKEN_RATE, TOKEN_WEIGHT, TOKEN_ROW_TYPE, N_TOKEN_COLUMN };

#define WEIGHTED_SHARE(label, words)                                                               \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4,    \
        .range = ATTN_RANGE_SHARE, .quantity = (words), .traits = ATTN_TRAIT_WEIGHTED              \
    }

static const struct attn_column token_columns[N_TOKEN_COLUMN] = {
    [OF_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [OF_ID] = ATTN_COLUMN_OF(ID, "id", INTEGER),
    [PLACES] = ATTN_COLUMN_WITH("n_position", INTEGER, COUNT,
                                .help = "number of positions of the token in all texts"),
    [TOKEN_RATE] = WEIGHTED_SHARE("rate", "share of heads and places with a sink"),
    [TOKEN_WEIGHT] = WEIGHTED_SHARE("weight", "weight, mean over heads"),
    [TOKEN_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum {
    OF_STACK,
    OF_LAYER,
    SITE,
    MASSIVE,
    LARGEST,
    OF_POSITION,
    LARGEST_TOKEN,
    DIM,
    MEDIAN,
    RATIO,
    LAYER_ROW_TYPE,
    N_LAYER_COLUMN
};

static const struct attn_column layer_columns[N_LAYER_COLUMN] = {
    [OF_STACK] = ATTN_COLUMN_STACK("stack"),
    [OF_LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [SITE] = ATTN_COLUMN_OF(SITE, "site", TEXT),
    [MASSIVE] = ATTN_COLUMN_WHOLE("n_massive", "massive activations"),
    [LARGEST] = ATTN_COLUMN_QUANTITY("largest", 4, NULL, POSITIVE, "largest activation"),
    [OF_POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = ATTN_SHOWN_ALONE),
    [LARGEST_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = ATTN_SHOWN_ALONE),
    [DIM] = ATTN_COLUMN("dim", INTEGER, .shown = ATTN_SHOWN_ALONE,
                        .help = "dimension of the largest activation, from 0"),
    [MEDIAN] = ATTN_COLUMN_QUANTITY("median", 4, NULL, POSITIVE, "median activation"),
    [RATIO] = ATTN_COLUMN_QUANTITY("ratio", 1, NULL, POSITIVE, "largest activation by the median"),
    [LAYER_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum { PARK, PARK_TOKEN, PARK_WEIGHT, PARK_RATIO, PARK_ROW_TYPE, N_PARK_COLUMN };

static const struct attn_column park_columns[N_PARK_COLUMN] = {
    [PARK] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [PARK_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [PARK_WEIGHT] =
        ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "share of the weight of later rows"),
    [PARK_RATIO] = ATTN_COLUMN_QUANTITY("ratio", 1, NULL, POSITIVE, "peak by the median peak"),
    [PARK_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

enum { KEY_STACK, KEY_LAYER, KEY, KEY_TOKEN, RECEIVED, SHARE, KEY_ROW_TYPE, N_KEY_COLUMN };

static const struct attn_column key_columns[N_KEY_COLUMN] = {
    [KEY_STACK] = ATTN_COLUMN_STACK("stack"),
    [KEY_LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [KEY] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [KEY_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [RECEIVED] = ATTN_COLUMN_QUANTITY("received", 4, NULL, POSITIVE, "weight that the key gets"),
    [SHARE] = ATTN_COLUMN_QUANTITY("share", 4, NULL, SHARE, "that by the number of rows"),
    [KEY_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct sinks {
    struct attn_frame frame;
    const struct attn_selection *kept; /* borrowed; the rows and heads that count; NULL: all */
    size_t n;                          /* positions */
    /* owns; the heads that look at positions of their own sequence, then those that hold values */
    struct attn_parts parts;
    size_t n_head;  /* how many of them look */
    double *sums;   /* [parts.n, n] weights of each column, or lengths of the values */
    size_t *counts; /* [n_head, n] rows that see it */
    float *stream;  /* [n, d_model] sizes of a stream */
    double threshold;
    struct attn_parks *parks[2]; /* own */
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(CHOICE, "by", NULL, struct attn_sinks_args, by,
               "rows: head (default); token, all its places; layer, massive activations; park, "
               "where `attn-cli heads` finds parks; key, the weight on it",
               .words = "head|token|layer|park|key"),
    ATTN_PARAM_QUERIES("by key: the rows that count; default: all"),
    ATTN_PARAM_HEADS("by key: the heads that count: 2.5,3.*; default: all"),
    ATTN_PARAM(REAL, "threshold", "X", struct attn_sinks_args, threshold,
               "a column is a sink if its mean weight is above X; default: 0.3. By layer: a row "
               "for each position whose ratio is at least X; default: the largest of each layer",
               .traits = ATTN_PARAM_IS_OPEN),
    ATTN_PARAM(TEXT, "sort", "COLUMN", struct attn_sinks_args, sort,
               "sort by this column, the largest first", .traits = ATTN_PARAM_NO_OPTION),
    ATTN_PARAM(COUNT, "limit", "N", struct attn_sinks_args, n_most, "return N rows; default: all",
               .least = 1, .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Sinks", param_rows);

static const struct attn_param_part parts[] = {{&params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "threshold",
     .excludes = "by:park|by:key",
     .message = "`threshold` is of columns and layers"},
    {.given = "items",
     .excludes = "by:park|by:key",
     .message = "# is of one text, and `items` are many"},
    {.given = "queries|heads", .needs = "by:key"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_sinks = {
    .name = "sinks",
    .summary = "where heads park weight: sinks, and massive activations",
    .description =
        "Prints for each head the mean weight of the first token over the rows that see\n"
        "it (first_weight), whether it is a sink (first_rate), whether any column is one\n"
        "(rate), how many others are (n_other_sink), which column has the most weight,\n"
        "and the length of the value there, divided by the mean length elsewhere\n"
        "(value_norm). Below 1 means: weight is parked there, and little is read. Columns\n"
        "that fewer than 8 rows see do not count: a few rows make any column a sink.\n"
        "\n"
        "`by token` pools the places of each token, the first of a text by itself; rate\n"
        "is the share of heads in which the place is a sink. `by layer` shows the\n"
        "residual stream: activations above 100 that are also above 1,000 times the\n"
        "median (n_massive), and where the largest is; with `threshold` all positions\n"
        "from a ratio on. Over `items` numbers are means.\n"
        "\n"
        "`by park` lists the positions that are parks wherever they stand: the first, and\n"
        "each that gets at least .1 of the weight of the rows after it, mean over heads\n"
        "(weight), and before some layer has a peak of at least 10 times the median of\n"
        "the peaks of all positions (ratio). Of encoders all other rows count, and [SEP]\n"
        "and </s> need no peak, since their norms remove it. `by key` sums the weight on\n"
        "each position over the rows of `queries` (received, mean over heads), as H2O and\n"
        "SnapKV do; share is that per row.\n"
        "\n"
        "A sink says where weight lies when a head has nothing to look for. It does not\n"
        "say that the token matters: `attn-cli spans` has what changes without it.\n",
    .examples = "  attn-cli sinks -m fable \"The keys to the cabinet near the doors are rusty.\"\n"
                "  attn-cli sinks -m fable `items` texts.txt `items_format` lines `by` token\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_sinks_args, .size = sizeof(struct attn_sinks_args)),
    .choose = choose_procedure,
};

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;
    const struct attn_sinks_args *args = sinks->frame.args;

    const bool is_of_layers = args->by == ATTN_SINKS_BY_LAYER;
    const struct attn_request_selection given = sinks->frame.request.selection;

    if (!(args->threshold >= 0 && (args->threshold < 1 || is_of_layers)))
        return attn_error_set(err, ATTN_INVALID, "`threshold` is %g, expected above 0 and below 1",
                              args->threshold);
    if (args->threshold > 0 && is_of_layers && sinks->frame.is_one_of_many)
        return attn_error_set(err, ATTN_INVALID,
                              "`threshold` of layers is of one text: items have other positions");
    sinks->threshold = args->threshold > 0 || is_of_layers ? args->threshold : ATTN_SINK_WEIGHT;
    attn_question_choose_nothing(&sinks->frame.request);
    if (args->by == ATTN_SINKS_BY_KEY) {
        sinks->frame.request.selection.sites = "pattern";
        sinks->frame.request.selection.heads = given.heads;
        sinks->frame.request.selection.queries = given.queries;
    }
    return ATTN_OK;
}

static enum attn_status check_length(const struct sinks *sinks, struct attn_error *err)
{
    if (sinks->n >= ATTN_SINK_ROWS || sinks->kept)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_INPUT,
                       "the text has %zu token%s, and a sink needs at least %d rows that see it",
                       sinks->n, sinks->n == 1 ? "" : "s", ATTN_SINK_ROWS);
}

/* Lists the heads without those of attention to a source, then, if they are selected, those that
 * hold their values. */
static enum attn_status list_heads(struct sinks *sinks, struct attn_error *err)
{
    static const enum attn_site sites[] = {ATTN_SITE_V, ATTN_SITE_PATTERN};
    const struct attn_selection *selection = sinks->frame.selection;
    struct attn_parts *heads = &sinks->parts;

    for (size_t k = 2, n = 0; k-- > 0; heads->n = n) {
        sinks->n_head = n;
        ATTN_TRY(attn_parts_list(selection, ATTN_ALL_OF(DECODER, sites[k]), 0, heads, err));
        for (size_t i = n; i < heads->n; i++)
            if (!attn_location_is_cross(attn_selection_dims(selection), &heads->items[i].at))
                heads->items[n++] = heads->items[i];
    }
    return ATTN_OK;
}

static void release(void *state)
{
    attn_free(((struct sinks *)state)->parts.items);
    for (int i = 0; i < 2; i++)
        attn_parks_free(((struct sinks *)state)->parks[i]);
}

/* --- Columns ---------------------------------------------------------------------------------- */

/* Adds the rows of a pattern to the sums of its columns, or finds the lengths of values
 * (attn_trace_fn). */
static enum attn_status on_head(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct sinks *sinks = user;
    const size_t part = attn_parts_find(&sinks->parts, &event->at), at = part * sinks->n;

    (void)err;
    for (size_t r = 0; part < sinks->parts.n && r < event->n_row; r++) {
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;
        double length = 0;

        if (event->at.site == ATTN_SITE_V) {
            for (size_t c = 0; c < event->n_col; c++)
                length +=
                    (double)event->data[r * event->ld + c] * (double)event->data[r * event->ld + c];
            sinks->sums[at + event->row0 + r] = sqrt(length);
            continue;
        }
        if (sinks->kept && !attn_selection_has_query(sinks->kept, event->at.stack, event->row0 + r))
            continue;
        while (attn_row_next(&row, &cells))
            for (size_t c = 0; c < cells.n; c++) {
                sinks->sums[at + cells.first + c] += (double)cells.values[c];
                sinks->counts[at + cells.first + c]++;
            }
    }
    return ATTN_OK;
}

/* Selects SITES of the run at all layers, heads and positions. */
static enum attn_status select_sites(struct attn_frame *frame, struct attn_site_set sites,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_selection_create(attn_asked_dims(frame->run), &frame->selection, err));
    return attn_error_at(attn_selection_set_sites(frame->selection, sites, err), ATTN_STAGE_OPTIONS,
                         err);
}

static enum attn_status watch_heads(struct sinks *sinks, struct attn_site_set sites,
                                    struct attn_error *err)
{
    struct attn_frame *frame = &sinks->frame;
    struct attn_watch watch = {.n_piece = MOST_ROWS, .on_event = on_head, .user = sinks};

    sinks->n = attn_asked_n(frame->run);
    ATTN_TRY(check_length(sinks, err));
    ATTN_TRY(select_sites(frame, sites, err));
    ATTN_TRY(list_heads(sinks, err));
    sinks->sums = attn_frame_alloc(frame, sinks->parts.n * sinks->n, sizeof *sinks->sums);
    sinks->counts = attn_frame_alloc(frame, sinks->n_head * sinks->n, sizeof *sinks->counts);
    ATTN_TRY(attn_frame_memory(frame, err));
    attn_selection_take_rows(frame->selection);
    watch.selection = frame->selection;
    return attn_watch(frame->run, &watch, err);
}

/* Returns the mean weight of column J in the head whose columns begin at AT; NaN if too few rows
 * see it. */
static double weight_of(const struct sinks *sinks, size_t at, size_t j)
{
    const size_t count = sinks->counts[at + j];

    return count < ATTN_SINK_ROWS ? (double)NAN : sinks->sums[at + j] / (double)count;
}

/* Returns the length of the value at POSITION divided by the mean length at the others. */
static double relative_length(const double *lengths, size_t n, size_t position)
{
    double others = 0;

    for (size_t i = 0; i < n; i++)
        others += i == position ? 0 : lengths[i];
    return lengths[position] / (others / (double)(n - 1));
}

static enum attn_status append_head(struct sinks *sinks, size_t i, struct attn_error *err)
{
    struct attn_frame *frame = &sinks->frame;
    const struct attn_location *place = &sinks->parts.items[i].at;
    const size_t n = sinks->n, at = i * n;
    const struct attn_location values = {
        place->stack, place->layer,
        place->head / (int)(frame->config->n_head / frame->config->n_kv_head), ATTN_SITE_V};
    const double first = weight_of(sinks, at, 0);
    size_t n_sink = 0, largest = n;
    struct attn_cell row[N_HEAD_COLUMN] = {[HEAD] = attn_cell_integer(place->head),
                                           [KV_HEAD] = attn_cell_integer(values.head),
                                           [FIRST_WEIGHT] = attn_cell_real_or_missing(first)};

    attn_location_put(place, &row[STACK]);
    for (size_t j = 0; j < n; j++) {
        const double weight = weight_of(sinks, at, j);

        n_sink += j > 0 && weight > sinks->threshold;
        if (!isnan(weight) && (largest == n || weight > weight_of(sinks, at, largest)))
            largest = j;
    }
    if (!isnan(first))
        row[FIRST_RATE] = attn_cell_real(first > sinks->threshold);
    if (largest < n) {
        row[RATE] = attn_cell_real(n_sink > 0 || first > sinks->threshold);
        row[COLUMNS] = attn_cell_real((double)n_sink);
        row[POSITION] = attn_cell_integer((int64_t)largest);
        row[TOKEN] = attn_asked_token(frame->run, largest);
        row[WEIGHT] = attn_cell_real(weight_of(sinks, at, largest));
        row[VALUE_NORM] = attn_cell_real_or_missing(
            relative_length(sinks->sums + attn_parts_find(&sinks->parts, &values) * n, n, largest));
    }
    return attn_frame_append(frame, row, err);
}

static enum attn_status ask_heads(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;

    ATTN_TRY(watch_heads(sinks, ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_V), err));
    for (size_t i = 0; i < sinks->n_head; i++)
        ATTN_TRY(append_head(sinks, i, err));
    return ATTN_OK;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Finds the share of heads in which POSITION is a sink, and its mean weight. Returns false if no
 * head counts it. */
static bool find_place(const struct sinks *sinks, size_t position, double *rate, double *weight)
{
    size_t n = 0;

    *rate = *weight = 0;
    for (size_t i = 0; i < sinks->n_head; i++) {
        const double found = weight_of(sinks, i * sinks->n, position);

        if (isnan(found))
            continue;
        n++;
        *weight += found;
        *rate += found > sinks->threshold;
    }
    *rate /= (double)n;
    *weight /= (double)n;
    return n > 0;
}

/* Appends the row of all places of the token at POSITION, the first of them; DONE flags the places
 * that have a row. */
static enum attn_status append_token(struct sinks *sinks, size_t position, unsigned char *done,
                                     struct attn_error *err)
{
    struct attn_frame *frame = &sinks->frame;
    const int32_t *ids = attn_asked_text(frame->run)->ids;
    double rate, weight, rates = 0, weights = 0;
    struct attn_cell row[N_TOKEN_COLUMN] = {[OF_TOKEN] = attn_cell_string("(first)")};
    size_t n = 0;

    for (size_t i = position; i < (position == 0 ? 1 : sinks->n); i++) {
        if (ids[i] != ids[position])
            continue;
        done[i] = 1;
        if (!find_place(sinks, i, &rate, &weight))
            continue;
        n++;
        rates += rate;
        weights += weight;
    }
    if (n == 0)
        return ATTN_OK;
    if (position > 0) {
        row[OF_ID] = attn_cell_integer(ids[position]);
        row[OF_TOKEN] = attn_cell_token(attn_asked_tokenizer(frame->run), ids[position]);
    }
    row[PLACES] = attn_cell_integer((int64_t)n);
    row[TOKEN_RATE] = attn_cell_real(rates / (double)n);
    row[TOKEN_WEIGHT] = attn_cell_real(weights / (double)n);
    return attn_frame_append(frame, row, err);
}

static enum attn_status ask_tokens(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;
    unsigned char *done;

    if (!attn_asked_text(sinks->frame.run)->ids)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`by token` needs tokens, the input has none");
    ATTN_TRY(watch_heads(sinks, ATTN_SITES(ATTN_SITE_PATTERN), err));
    done = attn_frame_alloc(&sinks->frame, sinks->n, 1);
    ATTN_TRY(attn_frame_memory(&sinks->frame, err));
    for (size_t i = 0; i < sinks->n; i++)
        if (!done[i])
            ATTN_TRY(append_token(sinks, i, done, err));
    return ATTN_OK;
}

/* --- Layers ----------------------------------------------------------------------------------- */

enum { N_HALF = 1 << 16 };

/* Returns the value of X [n], numbers from 0 on, that has place K when they are sorted. Such floats
 * are in the order of their bits, which are counted by halves. COUNTS [N_HALF] is scratch. */
static double find_sorted(const float *x, size_t n, size_t k, size_t *counts)
{
    uint32_t bits, found = 0;

    for (int shift = 16; shift >= 0; shift -= 16) {
        uint32_t half = 0;

        memset(counts, 0, N_HALF * sizeof *counts);
        for (size_t i = 0; i < n; i++) {
            memcpy(&bits, &x[i], sizeof bits);
            if (shift == 16 || bits >> 16 == found >> 16)
                counts[bits >> shift & (N_HALF - 1)]++;
        }
        while (k >= counts[half])
            k -= counts[half++];
        found |= half << shift;
    }
    float value;
    memcpy(&value, &found, sizeof value);
    return (double)value;
}

/* Appends the row of the largest activation of positions FIRST to FIRST + N - 1 of the stream that
 * EVENT has the last rows of, if its ratio to MEDIAN is at least the threshold. */
static enum attn_status append_stream(struct sinks *sinks, const struct attn_trace_event *event,
                                      size_t first, size_t n, double median, struct attn_error *err)
{
    struct attn_frame *frame = &sinks->frame;
    const size_t width = frame->config->d_model;
    size_t largest = first * width, n_massive = 0;
    struct attn_location at = event->at;
    struct attn_cell row[N_LAYER_COLUMN] = {[SITE] = attn_cell_string(attn_site_name(at.site))};

    assert(width > 0);
    for (size_t i = first * width; i < (first + n) * width; i++) {
        const double x = (double)sinks->stream[i];

        largest = sinks->stream[i] > sinks->stream[largest] ? i : largest;
        n_massive += x > massive_value && x > massive_ratio * median;
    }
    if ((double)sinks->stream[largest] < sinks->threshold * median)
        return ATTN_OK;
    attn_location_put(&at, &row[OF_STACK]);
    row[MASSIVE] = attn_cell_real((double)n_massive);
    row[LARGEST] = attn_cell_real((double)sinks->stream[largest]);
    row[OF_POSITION] = attn_cell_integer((int64_t)(largest / width));
    row[LARGEST_TOKEN] = attn_asked_token(frame->run, (size_t)row[OF_POSITION].integer);
    row[DIM] = attn_cell_integer((int64_t)(largest % width));
    row[MEDIAN] = attn_cell_real(median);
    if (median > 0)
        row[RATIO] = attn_cell_real((double)sinks->stream[largest] / median);
    return attn_frame_append(frame, row, err);
}

/* Appends the rows of the stream that EVENT has the last rows of: of each position if there is a
 * threshold. */
static enum attn_status append_streams(struct sinks *sinks, const struct attn_trace_event *event,
                                       struct attn_error *err)
{
    const size_t n = sinks->n * sinks->frame.config->d_model;
    const size_t step = sinks->threshold > 0 ? 1 : sinks->n;
    size_t *counts = attn_alloc(N_HALF, sizeof *counts, err);
    double median;

    if (!counts)
        return ATTN_NO_MEMORY;
    median = (find_sorted(sinks->stream, n, (n - 1) / 2, counts) +
              find_sorted(sinks->stream, n, n / 2, counts)) /
             2;
    attn_free(counts);
    for (size_t i = 0; i < sinks->n; i += step)
        ATTN_TRY(append_stream(sinks, event, i, step, median, err));
    return ATTN_OK;
}

/* Keeps the rows of a stream (attn_trace_fn). */
static enum attn_status on_stream(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    struct sinks *sinks = user;
    const size_t width = event->n_col;
    const size_t last = sinks->frame.config->n_layer - 1;

    if (event->at.stack == ATTN_STACK_ENCODER ||
        (event->at.site != ATTN_SITE_RESID_PRE && attn_location_index(&event->at) != last))
        return ATTN_OK;
    for (size_t r = 0; r < event->n_row; r++)
        for (size_t c = 0; c < width; c++)
            sinks->stream[(event->row0 + r) * width + c] = fabsf(event->data[r * event->ld + c]);
    return event->row0 + event->n_row == sinks->n ? append_streams(sinks, event, err) : ATTN_OK;
}

static enum attn_status ask_layers(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;
    struct attn_frame *frame = &sinks->frame;
    const enum attn_site output = attn_site_of_output(attn_asked_dims(frame->run));
    const struct attn_watch watch = {
        .sites = ATTN_SITES(ATTN_SITE_RESID_PRE, output), .on_event = on_stream, .user = sinks};

    sinks->n = attn_asked_n(frame->run);
    ATTN_TRY(check_length(sinks, err));
    sinks->stream =
        attn_frame_alloc(frame, sinks->n, frame->config->d_model * sizeof *sinks->stream);
    ATTN_TRY(attn_frame_memory(frame, err));
    return attn_watch(frame->run, &watch, err);
}

/* --- Parks ------------------------------------------------------------------------------------ */

static enum attn_status ask_parks(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;
    struct attn_frame *frame = &sinks->frame;
    const struct attn_run *run = frame->run;
    const struct attn_watch watch = {.n_piece = MOST_ROWS, .parks = sinks->parks};

    ATTN_TRY(attn_watch(run, &watch, err));
    for (size_t i = 0; i < attn_asked_n(run); i++) {
        const struct attn_cell row[N_PARK_COLUMN] = {
            [PARK] = attn_cell_integer((int64_t)i),
            [PARK_TOKEN] = attn_asked_token(run, i),
            [PARK_WEIGHT] = attn_cell_real_or_missing(attn_parks_weight(sinks->parks[0], i)),
            [PARK_RATIO] = attn_cell_real(attn_parks_ratio(sinks->parks[0], i)),
        };

        if (attn_parks_has(sinks->parks[0], i))
            ATTN_TRY(attn_frame_append(frame, row, err));
    }
    return ATTN_OK;
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Appends the rows of the layer whose heads are FIRST .. END-1. */
static enum attn_status append_keys(struct sinks *sinks, size_t first, size_t end,
                                    struct attn_error *err)
{
    struct attn_frame *frame = &sinks->frame;
    const double n_row = (double)attn_selection_n_query(sinks->kept);
    struct attn_cell row[N_KEY_COLUMN] = {{0}};

    attn_location_put(&sinks->parts.items[first].at, &row[KEY_STACK]);
    for (size_t j = 0; j < sinks->n; j++) {
        double sum = 0;
        size_t n_head = 0;

        for (size_t i = first; i < end; i++)
            if (attn_selection_has_head(sinks->kept, &sinks->parts.items[i].at)) {
                sum += sinks->sums[i * sinks->n + j];
                n_head++;
            }
        if (n_head == 0)
            return ATTN_OK;
        row[KEY] = attn_cell_integer((int64_t)j);
        row[KEY_TOKEN] = attn_asked_token(frame->run, j);
        row[RECEIVED] = attn_cell_real(sum / (double)n_head);
        row[SHARE] = attn_cell_real(sum / (double)n_head / n_row);
        ATTN_TRY(attn_frame_append(frame, row, err));
    }
    return ATTN_OK;
}

static enum attn_status ask_keys(void *state, struct attn_error *err)
{
    struct sinks *sinks = state;

    sinks->kept = attn_asked_selection(sinks->frame.run);
    ATTN_TRY(watch_heads(sinks, ATTN_SITES(ATTN_SITE_PATTERN), err));
    for (size_t first = 0, end; first < sinks->n_head; first = end) {
        for (end = first + 1; end < sinks->n_head && sinks->parts.items[end].at.layer ==
                                                         sinks->parts.items[first].at.layer;)
            end++;
        ATTN_TRY(append_keys(sinks, first, end, err));
    }
    return ATTN_OK;
}

/* --- The procedures --------------------------------------------------------------------------- */

static const struct attn_table_view head_views[] = {
    {ATTN_VIEW_OF(LAYER, HEAD, FIRST_WEIGHT), .traits = ATTN_VIEW_SORTED, .asked = "in each head"},
};

static const struct attn_table_view layer_views[] = {
    {ATTN_VIEW_OF(LAYER, SITE, LARGEST), .traits = ATTN_VIEW_STREAM},
};

static const struct attn_table_view key_views[] = {
    {ATTN_VIEW_OF(LAYER, POSITION, RECEIVED)},
};

#define COMMON                                                                                     \
    .question = &attn_question_sinks, .state_size = sizeof(struct sinks),                          \
    .items.study = offsetof(struct attn_sinks_args, study), .choose = choose, .release = release

static const struct attn_procedure procedures[] = {
    [ATTN_SINKS_BY_HEAD] = {COMMON, .table.name = ATTN_TABLE_SINKS,
                            ATTN_PROCEDURE_TABLE(head_columns, head_views), .ask = ask_heads},
    [ATTN_SINKS_BY_TOKEN] = {COMMON, .table.name = ATTN_TABLE_SINKS_BY_TOKEN,
                             ATTN_PROCEDURE_COLUMNS(token_columns), .items.is_keyed = true,
                             .table.sort = "rate", .ask = ask_tokens},
    [ATTN_SINKS_BY_LAYER] = {COMMON, .table.name = ATTN_TABLE_SINKS_BY_LAYER,
                             ATTN_PROCEDURE_TABLE(layer_columns, layer_views), .ask = ask_layers},
    [ATTN_SINKS_BY_PARK] = {COMMON, .table.name = ATTN_TABLE_SINKS_BY_PARK,
                            ATTN_PROCEDURE_COLUMNS(park_columns), .ask = ask_parks},
    [ATTN_SINKS_BY_KEY] = {COMMON, .table.name = ATTN_TABLE_SINKS_BY_KEY,
                           ATTN_PROCEDURE_TABLE(key_columns, key_views), .ask = ask_keys},
};

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_sinks_args *args = given;

    return &procedures[args->by <= ATTN_SINKS_BY_KEY ? args->by : ATTN_SINKS_BY_HEAD];
}

ATTN_ASKS(sinks)
