/* head_cards.c - see head_cards_internal.h: collects the rows of texts. */
#include "measures/head_cards_internal.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "measures/metric.h"
#include "tensors/token_text.h"
#include "trace/trace_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = ATTN_PATTERN_SIDE, N_CELL = SIDE * SIDE };

static const double one = 4294967296.0; /* 2^32, the integer of the weight 1 */

void attn_card_text_release(struct attn_card_text *text)
{
    attn_buffer_release(&text->id);
    attn_buffer_release(&text->tokens);
    attn_free(text->ends);
    *text = (struct attn_card_text){.number = 0};
}

/* Appends token I with the LABELS of its sequence. If tokens share a character, the first shows it
 * whole. */
static void append_token(struct attn_buffer *out, const struct attn_token_texts *labels, size_t i)
{
    const bool is_split = labels->joins && i + 1 < labels->n && labels->joins[i + 1];
    size_t size;
    const char *label = attn_token_text(labels, i, &size);

    if (labels->joins && labels->joins[i]) {
        attn_buffer_append_string(out, ATTN_PIECE);
        return;
    }
    while (is_split && size > 1 && label[--size] != '/') /* removes the number of the piece */
        continue;
    attn_buffer_append(out, label, size);
}

/* Appends the tokens of SEQUENCE, whose LABELS may be empty; BEGIN and END are where they lie in
 * the text, or NULL. */
static void append_tokens(struct attn_card_text *text, size_t first,
                          const struct attn_sequence *sequence,
                          const struct attn_token_texts *labels, const size_t *begin,
                          const size_t *end)
{
    for (size_t i = 0; i < sequence->n; i++) {
        /* white space that belongs to no token; names of patches have none */
        if (i > 0 && (sequence->pixels || (begin && begin[i] > end[i - 1])))
            attn_buffer_append_char(&text->tokens, ' ');
        if (labels->n > 0)
            append_token(&text->tokens, labels, i);
        else if (sequence->ids)
            attn_buffer_append_format(&text->tokens, "%s%" PRId32, i > 0 ? " " : "",
                                      sequence->ids[i]);
        else /* rows of an array or a sound */
            attn_buffer_append_format(&text->tokens, "%s%zu", i > 0 ? " " : "", i);
        text->ends[first + i] = text->tokens.size;
    }
}

/* Appends the bytes of the tokens of SEQUENCE. */
static void append_bytes(struct attn_card_text *text, size_t first,
                         const struct attn_sequence *sequence)
{
    for (size_t i = 0; i < sequence->n; i++) {
        if (sequence->tokens.bytes)
            attn_buffer_append(&text->tokens, sequence->tokens.bytes[i], sequence->tokens.sizes[i]);
        else if (sequence->ids)
            attn_buffer_append_format(&text->tokens, "%" PRId32, sequence->ids[i]);
        text->ends[first + i] = text->tokens.size;
    }
}

/* Appends the tokens of RUN as they are printed. */
static enum attn_status append_printed(const struct attn_run *run, struct attn_card_text *text,
                                       struct attn_error *err)
{
    const struct attn_labels *labels = attn_run_labels(run);
    struct attn_token_texts texts[2] = {{.n = 0}, {.n = 0}};
    const enum attn_status status = attn_token_labels_init(texts, labels, err);

    if (status == ATTN_OK) {
        append_tokens(text, 0, &run->text, &texts[0], labels->begin, labels->end);
        append_tokens(text, run->text.n, &run->source, &texts[1], NULL, NULL);
    }
    attn_token_texts_release(texts, 2);
    return status;
}

enum attn_status attn_card_text_read(const struct attn_run *run, const struct attn_item *item,
                                     bool is_printed, struct attn_card_text *text,
                                     struct attn_error *err)
{
    if (item)
        text->number = item->number;
    if (item && item->id_kind != ATTN_RECORD_ID_NUMBER)
        attn_buffer_append(&text->id, item->id, item->n_id);
    else
        attn_buffer_append_format(&text->id, "%" PRIu64, text->number);
    text->n_token = run->text.n;
    text->n_source = run->source.n;
    ATTN_TRY(ATTN_ALLOC(text->ends, run->text.n + run->source.n, err));
    text->has_texts = run->text.tokens.bytes;
    text->is_printed = is_printed;
    if (is_printed) {
        ATTN_TRY(append_printed(run, text, err));
    } else {
        append_bytes(text, 0, &run->text);
        append_bytes(text, run->text.n, &run->source);
    }
    attn_buffer_append_char(&text->tokens, '\0'); /* so that there is memory */
    ATTN_TRY(attn_buffer_check(&text->tokens, err));
    return attn_buffer_check(&text->id, err);
}

const char *attn_card_token(const struct attn_card_text *text, size_t i, size_t *size)
{
    const size_t begin = i > 0 ? text->ends[i - 1] : 0;

    *size = text->ends[i] - begin;
    return text->tokens.data + begin;
}

/* --- The cards ------------------------------------------------------------------------------ */

enum attn_status attn_head_cards_create(struct attn_head_cards **cards, struct attn_error *err)
{
    struct attn_head_cards *made;

    ATTN_NEED(err, cards);
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    ATTN_RETURN_MADE(attn_monitor_create(1, &made->monitor, err), cards, made, attn_free);
}

/* Removes a user of TEXT, which is freed with its last one. TEXT may be NULL. */
static void leave_text(struct attn_card_text *text)
{
    if (!text || --text->n_user > 0)
        return;
    attn_card_text_release(text);
    attn_free(text);
}

static void release_row(struct attn_card_row *row)
{
    leave_text(row->text);
    attn_free(row->vector);
    row->text = NULL;
    row->vector = NULL;
}

static void release_head(struct attn_card_head *head)
{
    for (size_t i = 0; i < ATTN_CARD_EACH; i++) {
        release_row(&head->strongest[i]);
        attn_buffer_release(&head->writings[i].key);
        for (size_t k = 0; k < ATTN_CARD_WRITTEN; k++)
            attn_buffer_release(&head->writings[i].tokens[k]);
    }
    attn_free(head->sample);
}

void attn_head_cards_free(struct attn_head_cards *cards)
{
    if (!cards)
        return;
    for (size_t i = 0; i < cards->n_head; i++)
        release_head(&cards->heads[i]);
    for (size_t i = 0; i < cards->n_sample; i++)
        leave_text(cards->sample[i]);
    attn_free(cards->heads);
    attn_monitor_free(cards->monitor);
    attn_free(cards);
}

enum attn_status attn_head_cards_begin(struct attn_head_cards *cards,
                                       const struct attn_location *ats, size_t n, size_t n_vector,
                                       struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(cards->heads, n, err));
    cards->n_head = n;
    cards->n_vector = n_vector;
    cards->has_all = true;
    for (size_t i = 0; i < n; i++) {
        cards->heads[i].at = ats[i];
        cards->heads[i].is_of_source = ats[i].stack == ATTN_STACK_ENCODER;
    }
    return ATTN_OK;
}

size_t attn_head_cards_find(const struct attn_head_cards *cards, const struct attn_location *at)
{
    for (size_t i = 0; i < cards->n_head; i++)
        if (attn_location_compare(&cards->heads[i].at, at) == 0)
            return i;
    return SIZE_MAX;
}

/* --- A reading ------------------------------------------------------------------------------ */

/* Rows of v of one layer and key/value head. */
struct vectors {
    struct attn_location at;
    size_t row0, n_row, n;
    float *values; /* [n_row, n] */
};

/* What one head does in the text. */
struct doing {
    struct attn_card_row row;
    bool has_row, is_cross;
    uint64_t n_row;
    int64_t distances[ATTN_CARD_DISTANCES];
    float cells[N_CELL]; /* NaN: masked */
};

struct attn_card_reading {
    const struct attn_head_cards *cards;
    struct attn_store *store;     /* owns; has the arrays, but `kept` */
    struct doing *heads;          /* [n_head] */
    float *found;                 /* [n_head, n_vector] the vectors of the keys of rows */
    struct attn_card_key *sorted; /* [n_key] scratch */
    struct attn_metric_settings settings;
    const bool *is_parked[2]; /* of the text and of the encoder, borrowed; or NULL */
    struct vectors *kept;     /* [n_kept] owns */
    size_t n_kept, capacity;
};

enum attn_status attn_card_reading_create(const struct attn_head_cards *cards, size_t n_key,
                                          const int32_t *source_mask,
                                          struct attn_card_reading **reading,
                                          struct attn_error *err)
{
    struct attn_card_reading *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->cards = cards;
    made->settings.source_mask = source_mask;
    status = ATTN_STORE_ALLOC(&made->store, made->heads, cards->n_head, err);
    ATTN_THEN(status,
              ATTN_STORE_ALLOC(&made->store, made->found, cards->n_head * cards->n_vector, err));
    ATTN_THEN(status, ATTN_STORE_ALLOC(&made->store, made->sorted, n_key, err));
    for (size_t i = 0; status == ATTN_OK && i < cards->n_head; i++)
        for (size_t c = 0; c < N_CELL; c++)
            made->heads[i].cells[c] = NAN;
    ATTN_RETURN_MADE(status, reading, made, attn_card_reading_free);
}

void attn_card_reading_park(struct attn_card_reading *reading, const bool *const is_parked[2])
{
    memcpy(reading->is_parked, is_parked, sizeof reading->is_parked);
}

void attn_card_reading_free(struct attn_card_reading *reading)
{
    if (!reading)
        return;
    attn_free(reading->kept);
    attn_store_release(&reading->store);
    attn_free(reading);
}

enum attn_status attn_card_reading_keep(struct attn_card_reading *reading,
                                        const struct attn_trace_event *event,
                                        struct attn_error *err)
{
    struct vectors *vectors;

    ATTN_TRY(ATTN_GROW(reading->kept, reading->capacity, reading->n_kept + 1, err));
    vectors = &reading->kept[reading->n_kept];
    *vectors = (struct vectors){event->at, event->row0, event->n_row, event->n_col, NULL};
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, vectors->values, event->n_row * event->n_col, err));
    reading->n_kept++;
    for (size_t r = 0; r < event->n_row; r++)
        memcpy(vectors->values + r * event->n_col, event->data + r * event->ld,
               event->n_col * sizeof *event->data);
    return ATTN_OK;
}

/* Returns the value vector of KEY in the layer of AT; NULL if it is not kept. */
static const float *vector_of(const struct attn_card_reading *reading,
                              const struct attn_location *at, int kv_head, size_t key)
{
    for (size_t i = reading->n_kept; i-- > 0;) {
        const struct vectors *vectors = &reading->kept[i];

        if (vectors->at.stack == at->stack && vectors->at.layer == at->layer &&
            vectors->at.head == kv_head && key >= vectors->row0 &&
            key < vectors->row0 + vectors->n_row && vectors->n == reading->cards->n_vector)
            return vectors->values + (key - vectors->row0) * vectors->n;
    }
    return NULL;
}

/* Returns the index of the range of distances of KEY from QUERY: 1, 2, 3-4, 5-8, ... on each side
 * of 0. */
static size_t range_of(size_t query, size_t key)
{
    const size_t size = query > key ? query - key : key - query;
    size_t range = size > 0; /* 1 + ceil(log2 size) */

    while (range > 0 && range < ATTN_CARD_NEAR && (size_t)1 << (range - 1) < size)
        range++;
    return query >= key ? ATTN_CARD_NEAR + range : ATTN_CARD_NEAR - range;
}

static int by_weight(const void *a, const void *b)
{
    const struct attn_card_key *x = a, *y = b;

    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->key > y->key) - (x->key < y->key);
}

static int by_key(const void *a, const void *b)
{
    const struct attn_card_key *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

size_t attn_card_keys_read(struct attn_row row, size_t n_most, struct attn_card_key *keys)
{
    struct attn_cells run;
    size_t n = 0;

    row.at = 0;
    while (attn_row_next(&row, &run))
        for (size_t i = 0; i < run.n; i++)
            if (run.values[i] >= ATTN_CARD_LEAST)
                keys[n++] = (struct attn_card_key){(uint32_t)(run.first + i), run.values[i]};
    if (n <= n_most)
        return n;
    qsort(keys, n, sizeof *keys, by_weight);
    qsort(keys, n_most, sizeof *keys, by_key);
    return n_most;
}

/* Adds the weight of QUERY on KEY to the pattern of HEAD. In self-attention also adds it to the
 * distances. */
static void add_weight(struct doing *head, size_t query, size_t key, float weight)
{
    if (query < SIDE && key < SIDE)
        head->cells[query * SIDE + key] = weight;
    if (!head->is_cross)
        head->distances[range_of(query, key)] += (int64_t)llrint((double)weight * one);
}

/* Adds ROW. Returns true if it has a larger value than the rows before; then sets value and key of
 * the head's row. */
static bool add_row(struct doing *head, const struct attn_metric_row *row)
{
    struct attn_row cells = row->cells;
    struct attn_cells run;
    size_t key = 0;
    const double value = attn_metric_find_key(row, true, &key);

    while (attn_row_next(&cells, &run))
        for (size_t i = 0; i < run.n; i++)
            add_weight(head, row->query, run.first + i, run.values[i]);
    head->n_row++;
    if (isnan(value) || (head->has_row && value <= head->row.value))
        return false;
    head->has_row = true;
    head->row.value = value;
    head->row.query = (uint32_t)row->query;
    head->row.key = (uint32_t)key;
    return true;
}

void attn_card_reading_add(struct attn_card_reading *reading, size_t head, int kv_head,
                           bool is_cross, const struct attn_trace_event *event)
{
    struct doing *doing = &reading->heads[head];
    const size_t n = reading->cards->n_vector;

    doing->is_cross = is_cross;
    reading->settings.is_parked = reading->is_parked[event->at.stack == ATTN_STACK_ENCODER];
    for (size_t r = 0; r < event->n_row; r++) {
        const struct attn_metric_row row = {.settings = &reading->settings,
                                            .query = event->row0 + r,
                                            .is_cross = is_cross,
                                            .cells = attn_event_row(event, r)};
        const float *vector;

        if (attn_event_is_certain(event, r)) { /* its weight on itself says nothing */
            doing->cells[0] = 1;
            continue;
        }
        if (!add_row(doing, &row))
            continue;
        doing->row.n_key =
            (uint32_t)attn_card_keys_read(row.cells, ATTN_CARD_KEYS, reading->sorted);
        memcpy(doing->row.keys, reading->sorted, doing->row.n_key * sizeof *reading->sorted);
        vector = n > 0 ? vector_of(reading, &event->at, kv_head, doing->row.key) : NULL;
        if (vector)
            memcpy(reading->found + head * n, vector, n * sizeof *vector);
    }
}

/* --- Adding a text -------------------------------------------------------------------------- */

/* Returns true if A comes before B: its value is larger, or its number smaller. */
static bool is_before(double a, uint64_t number, const struct attn_card_row *b)
{
    return !b->text || a > b->value || (a == b->value && number < b->text->number);
}

/* Inserts ROW, whose text is TEXT, among the strongest texts of HEAD, if it is one of them. */
static enum attn_status insert_strongest(const struct attn_head_cards *cards,
                                         struct attn_card_head *head,
                                         const struct attn_card_row *row, const float *vector,
                                         struct attn_card_text *text, struct attn_error *err)
{
    const size_t last = ATTN_CARD_EACH - 1;
    size_t at = last;
    float *copy = NULL;

    if (!is_before(row->value, text->number, &head->strongest[last]))
        return ATTN_OK;
    if (cards->n_vector > 0) {
        ATTN_TRY(ATTN_ALLOC(copy, cards->n_vector, err));
        memcpy(copy, vector, cards->n_vector * sizeof *copy);
    }
    release_row(&head->strongest[last]);
    for (; at > 0 && is_before(row->value, text->number, &head->strongest[at - 1]); at--)
        head->strongest[at] = head->strongest[at - 1];
    head->strongest[at] = *row;
    head->strongest[at].text = text;
    head->strongest[at].vector = copy;
    text->n_user++;
    return ATTN_OK;
}

/* Returns the place of TEXT in the sample, from which a text with a larger random number is removed
 * if it is full; SIZE_MAX: it is not in the sample. */
static size_t enter_sample(struct attn_head_cards *cards, struct attn_card_text *text)
{
    size_t at = 0;

    if (cards->n_sample < ATTN_CARD_SAMPLE) {
        at = cards->n_sample++;
    } else {
        cards->has_all = false;
        for (size_t i = 1; i < ATTN_CARD_SAMPLE; i++) {
            const struct attn_card_text *a = cards->sample[i], *b = cards->sample[at];

            if (a->draw > b->draw || (a->draw == b->draw && a->number > b->number))
                at = i;
        }
        if (text->draw > cards->sample[at]->draw ||
            (text->draw == cards->sample[at]->draw && text->number > cards->sample[at]->number))
            return SIZE_MAX;
        leave_text(cards->sample[at]);
    }
    cards->sample[at] = text;
    text->n_user++;
    return at;
}

static void add_sums(struct attn_card_head *head, const struct doing *doing)
{
    head->is_cross = doing->is_cross;
    head->n_row += doing->n_row;
    for (size_t i = 0; i < ATTN_CARD_DISTANCES; i++)
        head->distances[i] += doing->distances[i];
    for (size_t i = 0; i < N_CELL; i++)
        if (!isnan(doing->cells[i])) {
            head->cells[i] += (int64_t)llrint((double)doing->cells[i] * one);
            head->n_cell[i]++;
        }
}

/* Adds what head INDEX does in TEXT, whose place in the sample is SLOT. */
static enum attn_status add_head(struct attn_head_cards *cards, size_t index, size_t slot,
                                 const struct attn_card_reading *reading,
                                 struct attn_card_text *text, struct attn_error *err)
{
    struct attn_card_head *head = &cards->heads[index];
    const struct doing *doing = &reading->heads[index];

    add_sums(head, doing);
    head->n_text += doing->has_row;
    if (slot < SIZE_MAX) {
        ATTN_TRY(ATTN_GROW(head->sample, head->capacity, slot + 1, err));
        head->sample[slot] = doing->row;
        head->sample[slot].text = doing->has_row ? text : NULL;
    }
    if (!doing->has_row)
        return ATTN_OK;
    return insert_strongest(cards, head, &doing->row, reading->found + index * cards->n_vector,
                            text, err);
}

enum attn_status attn_head_cards_add(struct attn_head_cards *cards,
                                     struct attn_card_reading *reading, struct attn_card_text *text,
                                     struct attn_error *err)
{
    struct attn_random random;
    struct attn_card_text *kept;
    enum attn_status status = ATTN_OK;
    size_t slot;

    ATTN_TRY(ATTN_ALLOC(kept, 1, err));
    *kept = *text;
    *text = (struct attn_card_text){.number = 0};
    attn_random_seed(&random, kept->number);
    kept->draw = attn_random_u32(&random);
    kept->n_user = 1;
    attn_monitor_enter(cards->monitor);
    cards->n_text++;
    slot = enter_sample(cards, kept);
    for (size_t i = 0; status == ATTN_OK && i < cards->n_head; i++)
        status = add_head(cards, i, slot, reading, kept, err);
    leave_text(kept);
    attn_monitor_leave(cards->monitor);
    return status;
}

/* --- Numbers -------------------------------------------------------------------------------- */

float attn_card_cell(const struct attn_card_head *head, size_t query, size_t key)
{
    const size_t i = query * SIDE + key;

    return head->n_cell[i] > 0 ? (float)((double)head->cells[i] / one / head->n_cell[i]) : NAN;
}

double attn_card_distance(const struct attn_card_head *head, size_t i)
{
    int64_t sum = 0;

    for (size_t k = 0; k < ATTN_CARD_DISTANCES; k++)
        sum += head->distances[k];
    return sum > 0 ? (double)head->distances[i] / (double)sum : 0;
}

#define MINUS "\xe2\x88\x92"

const char *attn_card_distance_name(size_t i)
{
    /* clang-format off */
    static const char *const names[ATTN_CARD_DISTANCES] = {
        MINUS "65+", MINUS "33", MINUS "17", MINUS "9", MINUS "5", MINUS "3", MINUS "2", MINUS "1",
        "0", "1", "2", "3", "5", "9", "17", "33", "65+"};
    /* clang-format on */

    return names[i];
}

/* --- Texts of a card -------------------------------------------------------------------------- */

static void push_printable(struct attn_json_writer *json, const char *text, size_t size)
{
    struct attn_buffer printable = {0};

    attn_escape_append(&printable, text, size);
    attn_json_buffer(json, &printable);
}

void attn_card_text_push(struct attn_json_writer *json, const struct attn_card_text *text)
{
    attn_json_line(json);
    attn_json_begin(json, '{');
    push_printable(attn_json_key(json, "id"), text->id.data, text->id.size);
    attn_json_begin(attn_json_key(json, "tokens"), '[');
    for (size_t i = 0; i < text->n_token + text->n_source; i++) {
        size_t size;
        const char *token = attn_card_token(text, i, &size);

        if (i == text->n_token) {
            attn_json_end(json);
            attn_json_begin(attn_json_key(json, "source"), '[');
        }
        (text->is_printed ? attn_json_string : push_printable)(json, token, size);
    }
    attn_json_end(json);
    attn_json_end(json);
}

static int by_value(const void *a, const void *b)
{
    const struct attn_card_row *x = *(const struct attn_card_row *const *)a;
    const struct attn_card_row *y = *(const struct attn_card_row *const *)b;

    return x->value != y->value
               ? (x->value < y->value) - (x->value > y->value)
               : (x->text->number > y->text->number) - (x->text->number < y->text->number);
}

static int by_draw(const void *a, const void *b)
{
    const struct attn_card_row *x = *(const struct attn_card_row *const *)a;
    const struct attn_card_row *y = *(const struct attn_card_row *const *)b;

    return x->text->draw != y->text->draw
               ? (x->text->draw > y->text->draw) - (x->text->draw < y->text->draw)
               : (x->text->number > y->text->number) - (x->text->number < y->text->number);
}

static bool is_strongest(const struct attn_card_head *head, const struct attn_card_text *text)
{
    for (size_t i = 0; i < ATTN_CARD_EACH; i++)
        if (head->strongest[i].text == text)
            return true;
    return false;
}

/* Moves up to ATTN_CARD_EACH rows of LIST [*n] from FIRST on to PART of HEAD. */
static void take_rows(struct attn_card_head *head, enum attn_card_part part,
                      const struct attn_card_row **list, size_t *n, size_t first)
{
    size_t taken = 0;

    for (; taken < ATTN_CARD_EACH && first + taken < *n; taken++)
        head->rows[part][taken] = list[first + taken];
    head->n[part] = taken;
    *n -= taken;
    for (size_t i = first; i < *n; i++)
        list[i] = list[i + taken];
}

static void choose_of(struct attn_card_head *head, size_t n_sample)
{
    const struct attn_card_row *list[ATTN_CARD_SAMPLE];
    size_t n = 0, n_value = 0, first;

    for (size_t i = 0; i < n_sample && i < head->capacity; i++) {
        n_value += head->sample[i].text != NULL;
        if (head->sample[i].text && !is_strongest(head, head->sample[i].text))
            list[n++] = &head->sample[i];
    }
    for (size_t i = 0; i < ATTN_CARD_EACH && head->strongest[i].text; i++)
        head->rows[ATTN_CARD_STRONGEST][head->n[ATTN_CARD_STRONGEST]++] = &head->strongest[i];
    qsort(list, n, sizeof *list, by_value);
    /* the list lacks the strongest texts, so its place of the median is earlier */
    first = n_value / 2 - (n_value - n < n_value / 2 ? n_value - n : n_value / 2);
    first -= first < ATTN_CARD_EACH / 2 ? first : ATTN_CARD_EACH / 2;
    first = n < ATTN_CARD_EACH ? 0 : first > n - ATTN_CARD_EACH ? n - ATTN_CARD_EACH : first;
    take_rows(head, ATTN_CARD_MIDDLE, list, &n, first);
    qsort(list, n, sizeof *list, by_draw);
    take_rows(head, ATTN_CARD_DRAWN, list, &n, 0);
}

void attn_head_cards_choose(struct attn_head_cards *cards)
{
    for (size_t i = 0; i < cards->n_head; i++)
        choose_of(&cards->heads[i], cards->n_sample);
}
