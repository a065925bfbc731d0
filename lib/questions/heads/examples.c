/* examples.c - see examples.h. The first pass asks about each item like any other procedure: the
 * rows of an item have the value of each head, and the row and key where it was found. Instead of
 * means, all of these are gathered. Then the shown texts are chosen, and a second pass reads their
 * tokens. For a page it also runs them, up to the last of the heads, to keep their weights. */
#include "heads/examples_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "figures/table_axis.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "input/sequence.h"
#include "measures/run_measures.h"
#include "stream/items_internal.h"
#include "tables/table_internal.h"
#include "trace/location_extra.h"
#include "trace/trace_internal.h"
#include "trials/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Texts ------------------------------------------------------------------------------------ */

/* The texts that are shown of a head are read a second time: their tokens, and for a page the
 * weights of their rows. */

static int by_number(const void *a, const void *b)
{
    const struct attn_example *x = *(const struct attn_example *const *)a;
    const struct attn_example *y = *(const struct attn_example *const *)b;

    return x->found.number != y->found.number
               ? (x->found.number > y->found.number) - (x->found.number < y->found.number)
               : (x->head > y->head) - (x->head < y->head);
}

/* The examples of one text. */
struct shown {
    struct attn_example_set *set;
    struct attn_example *const *items; /* [n] borrowed */
    size_t n;
};

/* Adds the largest weights of ROW to EXAMPLE. */
static enum attn_status keep_row(struct attn_example *example, struct attn_row row,
                                 struct attn_error *err)
{
    const size_t begin = example->n_cell;

    ATTN_TRY(ATTN_GROW(example->cells, example->capacity, begin + row.n, err));
    example->n_cell = begin + attn_card_keys_read(row, ATTN_EXAMPLE_KEYS, example->cells + begin);
    example->ends[example->n_row++] = (uint32_t)example->n_cell;
    return ATTN_OK;
}

/* Keeps the rows of an event of the pattern (attn_trace_fn). */
static enum attn_status on_shown(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct shown *shown = user;

    for (size_t i = 0; i < shown->n; i++)
        if (attn_location_compare(&shown->set->heads[shown->items[i]->head].at, &event->at) == 0)
            for (size_t r = 0; r < event->n_row; r++)
                ATTN_TRY(keep_row(shown->items[i], attn_event_row(event, r), err));
    return ATTN_OK;
}

/* Runs the text of RUN, and keeps the rows of SHOWN. */
static enum attn_status keep_rows(const struct attn_run *run, struct shown *shown,
                                  struct attn_error *err)
{
    const struct attn_watch watch = {.selection = run->selection,
                                     .n_piece = ATTN_EXAMPLE_ROWS,
                                     .on_event = on_shown,
                                     .user = shown};

    for (size_t i = 0; i < shown->n; i++)
        ATTN_TRY(ATTN_STORE_ALLOC(&shown->set->store, shown->items[i]->ends, run->text.n, err));
    return attn_watch(run, &watch, err);
}

/* Fails if a position from the first pass is outside TEXT, as one from a forged file may be. */
static enum attn_status check_found(const struct shown *shown, const struct attn_card_text *text,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < shown->n; i++) {
        const struct attn_example *example = shown->items[i];
        const bool is_cross = shown->set->heads[example->head].is_cross;

        if (!isnan(example->found.weight) &&
            (example->found.query >= text->n_token ||
             example->found.key >= (is_cross ? text->n_source : text->n_token)))
            return attn_refuse(err, ATTN_STAGE_INPUT, "the items changed while they were read");
    }
    return ATTN_OK;
}

/* Reads the tokens of ITEM, of which SHOWN are shown, and its rows if they are kept. */
static enum attn_status read_again(struct attn_example_set *set, const struct attn_item *item,
                                   const struct attn_run *run, struct shown *shown,
                                   struct attn_error *err)
{
    struct attn_card_text *text = &set->texts[set->n_text];
    enum attn_status status = attn_card_text_read(run, item, false, text, err);

    ATTN_THEN(status, check_found(shown, text, err));
    if (status == ATTN_OK && set->args->keeps_rows)
        status = keep_rows(run, shown, err);
    for (size_t i = 0; i < shown->n; i++)
        shown->items[i]->text = set->n_text;
    set->n_text++;
    return status;
}

/* Reads the items again up to the last of EXAMPLES [n], sorted by number. */
static enum attn_status read_shown(struct attn_example_set *set, struct attn_stream *stream,
                                   struct attn_example *const *examples, size_t n,
                                   struct attn_error *err)
{
    struct shown shown = {.set = set};

    ATTN_TRY(attn_items_rewind(set->args->study->items, err));
    for (size_t first = 0; first < n; first += shown.n) {
        const uint64_t number = examples[first]->found.number;
        struct attn_item *item = NULL;
        struct attn_run *run = NULL;
        enum attn_status status = attn_stream_again(stream, number, "pattern", &item, &run, err);

        shown.items = examples + first;
        shown.n = 1;
        while (first + shown.n < n && examples[first + shown.n]->found.number == number)
            shown.n++;
        ATTN_THEN(status, read_again(set, item, run, &shown, err));
        attn_run_free(run);
        attn_item_free(item);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* Reads the texts of the examples from STREAM, from its first item on. */
static enum attn_status read_texts(struct attn_example_set *set, struct attn_stream *stream,
                                   struct attn_error *err)
{
    struct attn_example **shown;

    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, shown, set->n_example, err));
    for (size_t i = 0; i < set->n_example; i++)
        shown[i] = &set->examples[i];
    qsort(shown, set->n_example, sizeof(struct attn_example *), by_number);
    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, set->texts, set->n_example, err));
    return read_shown(set, stream, shown, set->n_example, err);
}

enum {
    STACK,
    LAYER,
    HEAD,
    BIN,
    PLACE,
    VALUE,
    ID,
    QUERY,
    QUERY_TOKEN,
    KEY,
    KEY_TOKEN,
    WEIGHT,
    ROW_TYPE,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    ATTN_COLUMNS_HEAD(STACK, 0),
    [BIN] =
        ATTN_COLUMN("bin", INTEGER, .shown = ATTN_SHOWN_ALONE,
                    .help = "part of the distribution of values, from 1; the last has the largest"),
    [PLACE] = ATTN_COLUMN("rank", INTEGER, .shown = ATTN_SHOWN_ALONE,
                          .help = "place among the examples of the bin, 1 for the largest value"),
    [VALUE] = ATTN_COLUMN_QUANTITY("value", 4, NULL, POSITIVE, "value"),
    [ID] = ATTN_COLUMN("id", TEXT, .shown = ATTN_SHOWN_ALONE,
                       .help = "id of the item, or its number from 0"),
    [QUERY] = ATTN_COLUMN("query", INTEGER),
    [QUERY_TOKEN] = ATTN_COLUMN("query_token", TEXT),
    [KEY] = ATTN_COLUMN("key", INTEGER),
    [KEY_TOKEN] = ATTN_COLUMN("key_token", TEXT),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const struct attn_table_view views[] = {
    {.rows = ATTN_ROLE_LAYER,
     .detail = ATTN_ROLE_HEAD,
     .columns = ATTN_TABLE_COLUMN(BIN),
     .values = ATTN_TABLE_COLUMN(VALUE),
     .asked = "of texts in each bin"},
};

enum {
    DEFAULT_BINS = 10,
    DEFAULT_TOP = 3,
    MOST_BINS = 1000,
    MOST_TOP = 1000,
};

/* --- The question ----------------------------------------------------------------------------- */

/* Reads NAME or NAME:mean. Another text is kept, and refused when it is used. */
static enum attn_status read_measure(const struct attn_param *param, void *home, const char *label,
                                     const char *text, struct attn_error *err)
{
    struct attn_examples_args *args = home;
    const char *colon = strchr(text, ':');
    attn_measure_set set = 0;
    char name[32];

    (void)param, (void)label, (void)err;
    args->measure = text;
    args->over = ATTN_EXAMPLES_MAX;
    if (!colon || strcmp(colon, ":mean") != 0)
        return ATTN_OK;
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    (void)attn_measures_parse(name, &set, NULL);
    if (strcmp(name, "weight") != 0 && attn_measures_count(set) != 1)
        return ATTN_OK;
    args->measure =
        set == 0 ? "weight" : attn_measure_name((enum attn_measure)__builtin_ctzll(set));
    args->over = ATTN_EXAMPLES_MEAN;
    return ATTN_OK;
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM_HEADS("the heads: 2.5,3.* or L5H1; default: all"),
    ATTN_PARAM(
        TEXT, "measures", "NAME[:mean]", struct attn_examples_args, measure,
        "what is measured of each row: weight (default), the largest weight on a key that is "
        "neither a park (`attn-cli sinks` with `by park`) nor the query itself, and neither the "
        "first nor the last of a source; or a measure of "
        "`attn-cli heads`: entropy, "
        "max, distance, self, previous, first, duplicate, induction, far. The value of a text is "
        "that of its largest row; with :mean it is the mean over its rows",
        .read = read_measure),
    ATTN_PARAM(COUNT, "bins", "N", struct attn_examples_args, n_bin,
               "cut the texts, sorted by their values, into N bins of equal size; default: 10",
               .least = 1, .most = MOST_BINS),
    ATTN_PARAM(COUNT, "top", "K", struct attn_examples_args, n_top,
               "show K texts of each bin: of the last bin the K largest, of the others K at equal "
               "distances; default: 3",
               .least = 1, .most = MOST_TOP),
    ATTN_PARAM(FLAG, "rows", NULL, struct attn_examples_args, keeps_rows,
               "keep the weights of the shown texts, which the page of the table shows",
               .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Examples", param_rows);
static const struct attn_param_part parts[] = {{&params, 0}};

static const struct attn_procedure procedure;

const struct attn_question attn_question_examples = {
    .name = "examples",
    .summary = "what each head does on a corpus, shown by examples",
    .description =
        "Runs all texts of `items`, and gives each a value for each head: that of its\n"
        "largest row by a measure. Sorts the texts by this value, cuts them into bins,\n"
        "and shows some texts of each bin, with the row that has the largest value and\n"
        "the key that it looks at. The last bin has the largest values.\n"
        "\n"
        "The largest examples alone mislead: a head that looks like a name finder in the\n"
        "last bin may do something else in the nine others, which most texts are in.\n"
        "\n"
        "`html` writes a page of the texts, whose colors are the weights of the marked\n"
        "row. The texts are read twice, so that they must be a file. Heads of an encoder\n"
        "that has a decoder are left out.\n",
    .examples = "  attn-cli examples -m fable `heads` 2.5 `items` lines.txt `items_format` lines\n"
                "  attn-cli examples `heads` 3.* `measures` induction:mean \\\n"
                "    `items` corpus.jsonl `html` examples.html\n"
                "  attn-cli examples `heads` 2.5 `bins` 4 `top` 1 `items` c.csv `csv` -\n",
    .lacks = "file|ids|types|pair|embeds|image|continuation|chat|system|messages|image-tiles|"
             "label|label-ids|"
             "label-image|key-mask|group-by|"
             "paired|bootstrap|stats",
    .parts = parts,
    .n_part = sizeof parts / sizeof *parts,
    ATTN_QUESTION_ARGS(struct attn_examples_args, .size = sizeof(struct attn_examples_args)),
    .procedure = &procedure,
};

static bool is_weight(const struct attn_examples_args *args)
{
    return !args->measure || strcmp(args->measure, "weight") == 0;
}

/* Returns an error for a measure that rows do not have. */
static enum attn_status find_measure(const struct attn_examples_args *args,
                                     enum attn_measure *measure, struct attn_error *err)
{
    attn_measure_set set = 0;

    (void)attn_measures_parse(args->measure, &set, NULL);
    *measure = (enum attn_measure)(set != 0 ? __builtin_ctzll(set) : 0);
    if (attn_measures_count(set) != 1 || attn_measure_is_count(*measure))
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` '%s' is not one measure of a row, expected weight, "
                              "entropy, max, distance, self, previous, first, duplicate, "
                              "induction or far",
                              attn_quote_string(args->measure).text);
    return ATTN_OK;
}

static enum attn_status check(const void *given, struct attn_error *err)
{
    const struct attn_examples_args *args = given;
    const struct attn_study_args *study = args->study;
    enum attn_measure measure;

    if (!study)
        return attn_error_set(err, ATTN_INVALID,
                              "`items` is not given: examples are found among many texts");
    if (!attn_items_are_of_file(study->items, &(uint64_t){0}))
        return attn_error_set(err, ATTN_INVALID, "'%s' is read twice, expected a file",
                              attn_quote_string(attn_items_name(study->items)).text);
    if (study->group_by || study->paired || study->n_bootstrap > 0 || study->cluster || study->fdr)
        return attn_error_set(
            err, ATTN_INVALID,
            "`group_by`, `paired`, `bootstrap`, `cluster` and `fdr` are of means, "
            "and examples are single items");
    if (!is_weight(args))
        ATTN_TRY(find_measure(args, &measure, err));
    return ATTN_OK;
}

/* --- The weight ------------------------------------------------------------------------------- */

/* weight: the largest weight on a key that is neither a park nor the query itself, of all rows but
 * the first. HeadVis leaves out the first key alone. In rows over a source all queries count, and
 * the key is neither the first nor the last, as in `far`. */
static bool weight_row(const struct attn_metric_row *row, double *terms)
{
    size_t key = 0;
    const double most = attn_metric_find_key(row, true, &key);

    return attn_metric_mean_of(most, !isnan(most), terms);
}

static const struct attn_metric weight_metric = {.name = "weight",
                                                 .n_value = 1,
                                                 .n_term = ATTN_METRIC_MEAN_TERMS,
                                                 .search = ATTN_METRIC_NO_PLACES,
                                                 .row = weight_row,
                                                 .finish = attn_metric_mean};

/* --- One text --------------------------------------------------------------------------------- */

struct examples {
    struct attn_frame frame;
    const struct attn_metric *metric;
    int which;                            /* index of the value of the metric */
    bool is_limited;                      /* the key is neither a park nor the query itself */
    struct attn_metric_settings settings; /* with the parks if is_limited */
    struct attn_parks *parks[2];          /* own; if is_limited; or NULL */
    struct attn_measurement *measurement; /* owns */
    struct attn_example_value *found;     /* [n_block, n_head] of the largest rows */
};

static enum attn_status create_measurement(struct examples *examples, struct attn_error *err)
{
    return attn_measurement_create(examples->metric, &examples->settings,
                                   examples->frame.run->selection, NULL, &examples->measurement,
                                   err);
}

/* Prepares for the rows of the text. */
static enum attn_status begin_text(struct examples *examples, struct attn_error *err)
{
    struct attn_frame *frame = &examples->frame;
    const size_t n_head = frame->config->n_layer * frame->config->n_head;
    enum attn_measure measure;

    examples->settings = attn_run_metric_settings(frame->run);
    examples->is_limited = is_weight(frame->args);
    examples->metric = &weight_metric;
    if (!examples->is_limited) {
        ATTN_TRY(find_measure(frame->args, &measure, err));
        examples->metric = attn_measure_metric(measure, &examples->which);
    }
    examples->found = attn_frame_alloc(frame, n_head, sizeof *examples->found);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < n_head; i++)
        examples->found[i] = (struct attn_example_value){.value = (double)NAN, .weight = NAN};
    return examples->is_limited ? ATTN_OK : create_measurement(examples, err);
}

static struct attn_example_value *found_of(const struct examples *examples,
                                           const struct attn_location *at)
{
    return &examples
                ->found[attn_head_index(attn_selection_dims(examples->frame.run->selection), at)];
}

static bool is_cross_at(const struct examples *examples, const struct attn_location *at)
{
    return attn_location_is_cross(attn_selection_dims(examples->frame.run->selection), at);
}

/* Reads the rows of an event of the pattern (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct examples *examples = user;
    struct attn_example_value *found = found_of(examples, &event->at);
    struct attn_metric_row row = {.settings = &examples->settings,
                                  .is_cross = is_cross_at(examples, &event->at)};
    double terms[ATTN_METRIC_MOST], values[ATTN_METRIC_MOST];
    size_t key = 0;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        if (!attn_measurement_add_row(examples->measurement, event, r, terms))
            continue;
        examples->metric->finish(terms, values);
        if (isnan(values[examples->which]) || values[examples->which] <= found->value)
            continue;
        row.query = event->row0 + r;
        row.cells = attn_event_row(event, r);
        found->value = values[examples->which];
        found->weight = (float)attn_metric_find_key(&row, examples->is_limited, &key);
        found->query = (uint32_t)row.query;
        found->key = (uint32_t)key;
    }
    return ATTN_OK;
}

/* Takes the parks, before the first rows. */
static enum attn_status on_parks(void *user, struct attn_error *err)
{
    struct examples *examples = user;

    examples->settings.is_parked = attn_parks_find(examples->parks[0]);
    return create_measurement(examples, err);
}

/* Returns the value of the text for the head AT; NaN without one. */
static double value_of(const struct examples *examples, const struct attn_location *at)
{
    const struct attn_examples_args *args = examples->frame.args;
    double values[ATTN_METRIC_MOST];

    if (args->over != ATTN_EXAMPLES_MEAN)
        return found_of(examples, at)->value;
    attn_measurement_find(examples->measurement, at, values);
    return values[examples->which];
}

/* Checks the heads before the first item. */
static enum attn_status check_heads(const struct attn_config *config, const char *heads,
                                    struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(config, 1);
    struct attn_selection *selection;
    enum attn_status status;

    if (!heads || config->stack.has_encoder)
        return ATTN_OK;
    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    status = attn_error_in(attn_selection_set_heads(selection, heads, err), "heads", err);
    attn_selection_free(selection);
    return status;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_frame *frame = &((struct examples *)state)->frame;
    const char *heads = frame->request.selection.heads;

    ATTN_TRY(check_heads(frame->config, heads, err));
    attn_question_choose_nothing(&frame->request);
    frame->request.selection.sites = "pattern";
    frame->request.selection.heads = heads;
    return ATTN_OK;
}

/* Appends the row of the head AT of an item. */
static enum attn_status append_head(struct examples *examples, const struct attn_location *at,
                                    struct attn_error *err)
{
    const struct attn_run *run = examples->frame.run;
    const struct attn_example_value *found = found_of(examples, at);
    const double value = value_of(examples, at);
    struct attn_cell row[N_COLUMN] = {[HEAD] = attn_cell_integer(at->head)};

    attn_location_put(at, &row[STACK]);
    if (!isnan(value))
        row[VALUE] = attn_cell_real(value);
    if (!isnan(found->weight)) {
        row[QUERY] = attn_cell_integer(found->query);
        row[QUERY_TOKEN] = attn_cell_position(&run->text.tokens, found->query);
        row[KEY] = attn_cell_integer(found->key);
        row[KEY_TOKEN] = attn_cell_position(
            is_cross_at(examples, at) ? &run->source.tokens : &run->text.tokens, found->key);
        row[WEIGHT] = attn_cell_real((double)found->weight);
    }
    return attn_frame_append(&examples->frame, row, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct examples *examples = state;
    const struct attn_run *run = examples->frame.run;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    struct attn_watch watch = {.selection = run->selection,
                               .n_piece = ATTN_EXAMPLE_ROWS,
                               .on_event = on_rows,
                               .user = examples};

    ATTN_TRY(begin_text(examples, err));
    if (examples->is_limited) {
        watch.parks = examples->parks;
        watch.on_parks = on_parks;
    }
    ATTN_TRY(attn_watch(run, &watch, err));
    while (attn_selection_next_head(run->selection, &at))
        ATTN_TRY(append_head(examples, &at, err));
    return ATTN_OK;
}

static void release(void *state)
{
    struct examples *examples = state;

    for (int i = 0; i < 2; i++)
        attn_parks_free(examples->parks[i]);
    attn_measurement_free(examples->measurement);
}

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_examples_args *args = given;

    drawn->picture->view.quantity = is_weight(args) ? "largest weight" : args->measure;
}

/* --- The values of all texts ------------------------------------------------------------------ */

/* Whether a model with CONFIG has the head AT, which may come from a forged file. */
static bool is_in(const struct attn_config *config, const struct attn_location *at)
{
    return at->layer >= 0 && at->layer < (int)config->n_layer &&
           attn_location_index(at) < config->n_layer && at->head >= 0 &&
           at->head < (int)config->n_head;
}

/* Creates the heads, which are the rows of TABLE, the answer about the first item. */
static enum attn_status begin_heads(struct attn_example_set *set, const struct attn_table *table,
                                    struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_host_model(set->call->host));
    const struct attn_dims dims = attn_config_dims(config, 1);
    char size[ATTN_QUANTITY_SIZE];

    set->config = config;
    if (attn_table_n_row(table) == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`heads` are of an encoder, whose heads are left out");
    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, set->heads, attn_table_n_row(table), err));
    set->n_head = attn_table_n_row(table);
    for (size_t i = 0; i < set->n_head; i++) {
        struct attn_location *at = &set->heads[i].at;

        if (!attn_table_read_head(table, i, at) || !is_in(config, at))
            return ATTN_FORMAT;
        at->site = ATTN_SITE_PATTERN;
        set->heads[i].is_cross = attn_location_is_cross(&dims, at);
    }
    attn_quantity_bytes(set->n_head * sizeof(struct attn_example_value), size);
    attn_note(set->call->request->on_note, set->call->request->user, ATTN_NOTE_MEMORY,
              "the values of %zu head%s take %s of memory for each text", set->n_head,
              set->n_head == 1 ? "" : "s", size);
    return ATTN_OK;
}

/* Adds row I of RESULT to HEAD, unless it has no value. AT has the columns of value, query, key and
 * weight. */
static enum attn_status add_value(struct attn_example_head *head,
                                  const struct attn_item_result *result, size_t i,
                                  const size_t at[4], struct attn_error *err)
{
    struct attn_example_value *value;
    struct attn_cell cells[4];

    for (int c = 0; c < 4; c++)
        cells[c] = attn_table_cell(result->answer.rows, i, at[c]);
    if (cells[0].type == ATTN_VALUE_MISSING)
        return ATTN_OK;
    ATTN_TRY(ATTN_GROW(head->values, head->capacity, head->n + 1, err));
    value = &head->values[head->n++];
    *value = (struct attn_example_value){cells[0].real, result->item->number, 0, 0, NAN};
    if (cells[3].type == ATTN_VALUE_MISSING)
        return ATTN_OK;
    if (cells[1].integer < 0 || cells[1].integer > UINT32_MAX || cells[2].integer < 0 ||
        cells[2].integer > UINT32_MAX)
        return ATTN_FORMAT;
    value->query = (uint32_t)cells[1].integer;
    value->key = (uint32_t)cells[2].integer;
    value->weight = (float)cells[3].real;
    return ATTN_OK;
}

/* Adds the values of an item (struct attn_study_gather). */
static enum attn_status add(void *user, const struct attn_item_result *result,
                            struct attn_error *err)
{
    static const int kept[4] = {VALUE, QUERY, KEY, WEIGHT};
    struct attn_example_set *set = user;
    size_t at[4];

    for (int c = 0; c < 4; c++) {
        at[c] = attn_table_find(result->answer.rows, columns[kept[c]].name);
        if (at[c] == SIZE_MAX)
            return ATTN_FORMAT;
    }
    if (!set->heads)
        ATTN_TRY(begin_heads(set, result->answer.rows, err));
    if (attn_table_n_row(result->answer.rows) != set->n_head || result->answer.n_beside > 0)
        return attn_error_set(err, ATTN_FORMAT, "%zu rows, the first item has %zu",
                              attn_table_n_row(result->answer.rows), set->n_head);
    for (size_t i = 0; i < set->n_head; i++)
        ATTN_TRY(add_value(&set->heads[i], result, i, at, err));
    return ATTN_OK;
}

/* Of equal values that of the earlier text is the larger. */
static int by_value(const void *a, const void *b)
{
    const struct attn_example_value *x = a, *y = b;

    return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                                : (x->number < y->number) - (x->number > y->number);
}

/* Chooses the texts that are shown of BIN, from 1, of head INDEX. */
static void choose_of_bin(struct attn_example_set *set, size_t index, size_t bin)
{
    const struct attn_example_head *head = &set->heads[index];
    const size_t n_bin = set->n_bin;
    const size_t first = (bin - 1) * head->n / n_bin, size = bin * head->n / n_bin - first;
    const size_t n = size < set->n_top ? size : set->n_top;

    for (size_t place = 1; place <= n; place++) {
        const size_t k = n - place; /* counted from the smallest */
        const size_t at = bin == n_bin ? size - place : (2 * k + 1) * size / (2 * n);
        const struct attn_example_value *value = &head->values[first + at];

        set->examples[set->n_example++] =
            (struct attn_example){.head = index, .bin = bin, .place = place, .found = *value};
    }
}

/* Returns the bin that begins with a value of the bin before it; 0 if no bin of HEAD does. */
static size_t find_tie(const struct attn_example_head *head, size_t n_bin)
{
    for (size_t bin = 2; bin <= n_bin; bin++) {
        const size_t first = (bin - 1) * head->n / n_bin;

        if (first > 0 && first < head->n &&
            head->values[first - 1].value == head->values[first].value)
            return bin;
    }
    return 0;
}

/* Notes heads in which texts of different bins have one value. */
static void note_ties(const struct attn_example_set *set)
{
    const size_t n_bin = set->n_bin;
    size_t n = 0, first = 0;

    for (size_t i = set->n_head; i-- > 0;)
        if (find_tie(&set->heads[i], n_bin) > 0)
            n++, first = i;
    if (n == 0)
        return;
    const struct attn_example_head *head = &set->heads[first];
    const size_t bin = find_tie(head, n_bin);

    attn_note(set->call->request->on_note, set->call->request->user, ATTN_NOTE_TIE,
              "in %zu of %zu heads texts with equal values are in different bins by their order "
              "in the file, first in bins %zu and %zu of %s, at %.6g",
              n, set->n_head, bin - 1, bin, attn_location_name(&head->at).text,
              head->values[(bin - 1) * head->n / n_bin].value);
}

/* Sorts the texts of each head, and chooses those that are shown. */
static enum attn_status choose_texts(struct attn_example_set *set, struct attn_error *err)
{
    const size_t n_bin = set->args->n_bin > 0 ? set->args->n_bin : DEFAULT_BINS;
    const size_t n_top = set->args->n_top > 0 ? set->args->n_top : DEFAULT_TOP;
    size_t most = 0, n = 0;

    set->n_bin = n_bin;
    set->n_top = n_top;
    for (size_t i = 0; i < set->n_head; i++) {
        most = set->heads[i].n > most ? set->heads[i].n : most;
        n += set->heads[i].n < n_bin * n_top ? set->heads[i].n : n_bin * n_top;
    }
    if (most < n_bin) {
        attn_error_set(err, ATTN_INVALID, "%zu text%s a value, fewer than the %zu bin%s", most,
                       most == 1 ? " has" : "s have", n_bin, n_bin == 1 ? "" : "s");
        if (most > 0)
            attn_error_hint(err, "`bins` %zu has fewer", most);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, set->examples, n, err));
    for (size_t i = 0; i < set->n_head; i++) {
        qsort(set->heads[i].values, set->heads[i].n, sizeof *set->heads[i].values, by_value);
        for (size_t bin = 1; bin <= n_bin; bin++)
            choose_of_bin(set, i, bin);
    }
    note_ties(set);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Returns the cell with token I of TEXT; missing if tokens have no texts. */
static struct attn_cell token_of(const struct attn_card_text *text, size_t i)
{
    size_t size;
    const char *token = attn_card_token(text, i, &size);

    return text->has_texts ? attn_cell_text(token, size) : attn_cell_missing();
}

static enum attn_status append_example(const struct attn_rows *rows,
                                       const struct attn_example_set *set,
                                       const struct attn_example *example, struct attn_error *err)
{
    const struct attn_example_head *head = &set->heads[example->head];
    const struct attn_card_text *text = &set->texts[example->text];
    const struct attn_example_value *found = &example->found;
    struct attn_cell row[N_COLUMN] = {
        [HEAD] = attn_cell_integer(head->at.head),
        [BIN] = attn_cell_integer((int64_t)example->bin),
        [PLACE] = attn_cell_integer((int64_t)example->place),
        [VALUE] = attn_cell_real(found->value),
        [ID] = attn_cell_text(text->id.data, text->id.size),
    };

    attn_location_put(&head->at, &row[STACK]);
    if (isnan(found->weight))
        return attn_rows_append(rows, row, err);
    row[QUERY] = attn_cell_integer(found->query);
    row[QUERY_TOKEN] = token_of(text, found->query);
    row[KEY] = attn_cell_integer(found->key);
    row[KEY_TOKEN] = token_of(text, found->key + (head->is_cross ? text->n_token : 0));
    row[WEIGHT] = attn_cell_real((double)found->weight);
    return attn_rows_append(rows, row, err);
}

/* Gives TABLE the examples with their weights, for its page. */
static enum attn_status add_page(const struct attn_example_set *set, struct attn_table *table,
                                 struct attn_error *err)
{
    struct attn_buffer page = {0};
    enum attn_status status;

    attn_examples_append_page(set, &page);
    status = attn_buffer_check(&page, err);
    ATTN_THEN(status, attn_table_set_page(table, page.data, page.size, err));
    attn_buffer_release(&page);
    return status;
}

/* Creates the table of all items (struct attn_study_gather). */
static enum attn_status tabulate(void *user, struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err)
{
    struct attn_example_set *set = user;
    struct attn_rows rows = {.columns = columns, .n = N_COLUMN};
    enum attn_status status = ATTN_OK;

    ATTN_TRY(choose_texts(set, err));
    ATTN_TRY(read_texts(set, stream, err));
    attn_rows_hide_stacks(columns, N_COLUMN, rows.hidden, set->config->stack.has_encoder);
    ATTN_TRY(attn_rows_create(&rows, ATTN_TABLE_EXAMPLES, err));
    for (size_t i = 0; status == ATTN_OK && i < set->n_example; i++)
        status = append_example(&rows, set, &set->examples[i], err);
    if (status == ATTN_OK && set->args->keeps_rows)
        status = add_page(set, rows.table, err);
    ATTN_RETURN_MADE(status, table, rows.table, attn_table_free);
}

static void release_set(struct attn_example_set *set)
{
    for (size_t i = 0; i < set->n_head; i++)
        attn_free(set->heads[i].values);
    for (size_t i = 0; i < set->n_example; i++)
        attn_free(set->examples[i].cells);
    for (size_t i = 0; i < set->n_text; i++) {
        attn_card_text_release(&set->texts[i]);
    }
    attn_store_release(&set->store);
}

/* --- The procedure ---------------------------------------------------------------------------- */

/* Performs CALL with a set that gathers the values of all items. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_example_set set = {.call = call, .args = call->args};
    const struct attn_study_gather gather = {add, tabulate, &set};
    struct attn_procedure own = procedure;
    enum attn_status status;

    own.items.gather = &gather;
    status = attn_procedure_perform(&own, call, err);
    release_set(&set);
    return status;
}

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_EXAMPLES,
    .question = &attn_question_examples,
    ATTN_PROCEDURE_TABLE(columns, views),
    .state_size = sizeof(struct examples),
    .items.study = offsetof(struct attn_examples_args, study),
    .items.is_listed = true,
    .draw = draw,
    .perform = perform,
    .check = check,
    .choose = choose,
    .ask = ask,
    .release = release,
};

ATTN_ASKS(examples)
