/* word_pairs.c - the reader of `heads` for pairs of words: the weight from some words to others in
 * each head, and its percentile among all pairs of words.
 *
 * The columns of a word are summed, its rows are averaged. A pattern is read row by row, so that
 * memory is one row of words per head, not a matrix. Pairs are therefore counted in a second pass,
 * when the weight is known. In both passes, the rows of a head come in ascending order. */
#include "heads/heads_columns.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "input/position.h"
#include "tokenizer/words.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

#include <string.h>

/* The sums of one head. */
struct head {
    double weight;  /* the sum over the rows of `from` */
    size_t n_below; /* pairs with a smaller weight */
    double *sums;   /* [words of its keys] sums over the rows of the current word */
    size_t n_row;   /* rows of this word so far */
};

/* The words of a text: token i belongs to word of[i]. */
struct words {
    size_t *of; /* [n] */
    size_t n, n_word;
    unsigned char *to; /* [n] flags of the tokens of `to` */
    size_t n_to;
};

struct pairs {
    struct words text, source; /* source: for layers that attend to it; otherwise empty */
    struct attn_dims dims;     /* of the model, which it borrows from */
    unsigned char *from;       /* [n] flags of the tokens of `from` */
    size_t n_from;
    double *sums;       /* [n_layer * n_head, words] sums of each head */
    struct head *heads; /* [n_layer * n_head] */
};

static enum attn_status find_words(const struct attn_run *run, const struct attn_sequence *sequence,
                                   struct attn_store **store, struct words *words,
                                   struct attn_error *err)
{
    const size_t n = sequence->n;
    bool *begins;

    words->n = n;
    /* n + 1, as the source may be empty */
    ATTN_TRY(ATTN_STORE_ALLOC(store, words->of, n + 1, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, words->to, n + 1, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, begins, n + 1, err));
    for (size_t i = 0; i < n; i++)
        begins[i] = true; /* without a tokenizer, each token is a word */
    if (attn_asked_tokenizer(run) && sequence->ids)
        attn_words_mark(attn_asked_tokenizer(run), sequence->ids, n, begins);
    for (size_t i = 0; i < n; i++) {
        words->n_word += begins[i];
        words->of[i] = words->n_word - 1;
    }
    return ATTN_OK;
}

/* Creates *MADE in STORE. FROM and TO are positions; in layers that attend to a source, TO is in
 * the source. ATTN_INVALID, with a stage, for words that are not in the text. */
static enum attn_status create(struct attn_store **store, const struct attn_run *run,
                               const struct attn_number_list *from,
                               const struct attn_number_list *to, struct pairs **made,
                               struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_asked_model(run));
    const size_t n = config->n_layer * config->n_head;
    struct words *text, *source;
    struct pairs *pairs;
    size_t n_word;

    ATTN_TRY(ATTN_STORE_ALLOC(store, *made, 1, err));
    pairs = *made;
    text = &pairs->text;
    source = &pairs->source;
    ATTN_TRY(find_words(run, attn_asked_text(run), store, text, err));
    ATTN_TRY(find_words(run, attn_asked_source(run), store, source, err));
    n_word = text->n_word > source->n_word ? text->n_word : source->n_word;
    pairs->dims = attn_config_dims(config, 1);
    ATTN_TRY(ATTN_STORE_ALLOC(store, pairs->from, text->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, pairs->heads, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, pairs->sums, attn_size_mul(n, n_word), err));
    const struct attn_keys keys = {
        config, attn_asked_text(run), attn_asked_source(run), NULL, text->to, source->to};

    for (size_t i = 0; i < n; i++)
        pairs->heads[i].sums = pairs->sums + i * n_word;
    ATTN_TRY(attn_error_in(attn_positions_find(attn_asked_text(run), from, pairs->from, err),
                           "from", err));
    ATTN_TRY(attn_error_in(attn_positions_find_keys(&keys, to, err), "to", err));
    for (size_t i = 0; i < text->n; i++) {
        pairs->n_from += pairs->from[i];
        text->n_to += text->to[i];
    }
    for (size_t i = 0; i < source->n; i++)
        source->n_to += source->to[i];
    return ATTN_OK;
}

static struct head *head_of(const struct pairs *pairs, const struct attn_location *at)
{
    return &pairs->heads[attn_head_index(&pairs->dims, at)];
}

/* Returns the words at which the head AT looks. */
static const struct words *keys_of(const struct pairs *pairs, const struct attn_location *at)
{
    return attn_location_is_cross(&pairs->dims, at) ? &pairs->source : &pairs->text;
}

static enum attn_status add(const struct attn_heads_run *heads, void *reading,
                            const struct attn_trace_event *event, struct attn_error *err)
{
    struct pairs *pairs = reading;
    const struct words *keys = keys_of(pairs, &event->at);
    struct head *head = head_of(pairs, &event->at);

    for (size_t r = 0; r < event->n_row; r++) {
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        if (!pairs->from[event->row0 + r])
            continue;
        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                if (keys->to[cells.first + i])
                    head->weight += (double)cells.values[i];
    }
    (void)heads, (void)err;
    return ATTN_OK;
}

static void count(void *reading, const struct attn_trace_event *event)
{
    struct pairs *pairs = reading;
    const struct words *text = &pairs->text, *keys = keys_of(pairs, &event->at);
    struct head *head = head_of(pairs, &event->at);

    for (size_t r = 0; r < event->n_row; r++) {
        const size_t position = event->row0 + r, word = text->of[position];
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                head->sums[keys->of[cells.first + i]] += (double)cells.values[i];
        head->n_row++;
        if (position + 1 < text->n && text->of[position + 1] == word)
            continue;
        /* The current word is complete: it forms pairs with all words before it, or with all words
         * of the source. */
        for (size_t other = 0; other < (keys == text ? word : keys->n_word); other++)
            head->n_below +=
                head->sums[other] / (double)head->n_row < head->weight / (double)pairs->n_from;
        memset(head->sums, 0, keys->n_word * sizeof *head->sums);
        head->n_row = 0;
    }
}

/* The weight on the columns of TO, averaged over the rows of FROM; and the share of pairs with a
 * smaller weight, among all pairs of a word and an earlier word (or a word of the source). Both are
 * NaN if the keys of the head do not include TO. */
static void find(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct pairs *pairs = reading;
    const struct attn_location *at = &heads->parts.items[i].at;
    const struct head *head = head_of(pairs, at);
    const struct words *text = &pairs->text, *keys = keys_of(pairs, at);
    const double n = (double)text->n_word;
    const double n_pair = keys == text ? n * (n - 1) / 2 : n * (double)keys->n_word;

    if (keys->n_to == 0)
        return;
    found[ATTN_HEAD_WEIGHT] = head->weight / (double)pairs->n_from;
    found[ATTN_HEAD_PERCENTILE] = (double)head->n_below / n_pair;
}

/* --- As a reader of `heads` ------------------------------------------------------------------- */

static bool is_empty(const struct attn_number_list *list)
{
    return list->n == 0 && (!list->text || !*list->text);
}

enum attn_status attn_word_pairs_choose(const struct attn_heads_args *args,
                                        const struct attn_item *item, struct attn_number_list *from,
                                        struct attn_number_list *to, struct attn_error *err)
{
    const bool has_pairs =
        attn_number_list_is_given(&args->from) || attn_number_list_is_given(&args->to);

    *from = attn_number_list_or(item->from, args->from);
    *to = attn_number_list_or(item->to, args->to);
    if (has_pairs && (is_empty(from) || is_empty(to)))
        return attn_error_set(err, ATTN_INVALID, "no '%s'", is_empty(from) ? "from" : "to");
    if (has_pairs)
        return ATTN_OK;
    if (attn_number_list_is_given(from))
        return attn_error_set(err, ATTN_INVALID, "it has 'from', and the first item has none");
    *to = (struct attn_number_list){0};
    return ATTN_OK;
}

static enum attn_status choose(struct attn_heads_run *heads, struct attn_error *err)
{
    return (heads->args->effects & ATTN_HEADS_WEIGHT) && !heads->has_pairs
               ? attn_error_set(err, ATTN_INVALID, "`measures` weight needs `from` and `to`")
               : ATTN_OK;
}

static enum attn_status begin(struct attn_heads_run *heads, void **reading, struct attn_error *err)
{
    struct pairs *pairs = NULL;

    if (heads->has_pairs)
        ATTN_TRY(create(&heads->frame.store, heads->frame.run, &heads->args->from, &heads->args->to,
                        &pairs, err));
    heads->needs_count |= pairs && !(heads->args->effects & ATTN_HEADS_WEIGHT);
    *reading = pairs;
    return ATTN_OK;
}

/* Returns the recorded pattern of the head AT of RESULT as an event of a run. */
static struct attn_trace_event event_of(const struct attn_item_result *result,
                                        const struct attn_location *at)
{
    size_t shape[3];

    attn_selection_shape(result->labels->selection, at, shape);
    return (struct attn_trace_event){.at = *at,
                                     .n_row = shape[1],
                                     .n_col = shape[2],
                                     .ld = shape[2],
                                     .data = attn_capture_head(result->capture, at)};
}

/* Reads the words `from` and `to` of an item. */
static enum attn_status take(struct attn_heads_run *heads, const struct attn_item_result *result,
                             struct attn_error *err)
{
    struct attn_store *store = NULL;
    struct pairs *pairs;
    struct attn_number_list from, to;
    enum attn_status status;

    ATTN_TRY(attn_word_pairs_choose(heads->args, result->item, &from, &to, err));
    if (!attn_number_list_is_given(&from))
        return ATTN_OK;
    status = create(&store, result->run, &from, &to, &pairs, err);
    for (size_t i = 0; status == ATTN_OK && i < heads->parts.n; i++) {
        const struct attn_trace_event event = event_of(result, &heads->parts.items[i].at);

        add(heads, pairs, &event, err);
        if (!(heads->args->effects & ATTN_HEADS_WEIGHT))
            count(pairs, &event);
        find(heads, pairs, i, heads->found + i * ATTN_N_HEAD_COLUMN);
    }
    attn_store_release(&store);
    return status;
}

const struct attn_head_reader attn_word_pairs_reader = {
    .choose = choose,
    .begin = begin,
    .add = add,
    .count = count,
    .find = find,
    .take = take,
};
