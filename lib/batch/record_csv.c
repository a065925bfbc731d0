/* record_csv.c - two tables: `csv` has a line per selected head of a record with its measures, or
 * one per continuation, or one per word; `edges` a line per edge, the largest keys of each query,
 * the largest first, of equal ones the smaller key. */
#include "analysis/analysis_internal.h"
#include "base/memory.h"
#include "batch/records_internal.h"
#include "encode/float_text.h"
#include "encode/quoting.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Measures -------------------------------------------------------------------------------- */

/* Appends the measures of the head I = layer * H + head; nothing instead of what is no number. */
static void append_measures(struct attn_record_writer *writer, const float *measures, size_t i)
{
    const struct attn_records_form *form = writer->form;
    const int n = attn_measures_count(form->measures);
    struct attn_buffer *text = &writer->text;
    char *to = attn_buffer_reserve(text, (size_t)n * (1 + ATTN_NUMBER_TEXT_SIZE));

    for (int m = 0; to && m < n; m++) {
        const float value = measures[(size_t)m * form->n_layer * form->n_stack * form->n_head + i];

        *to++ = ',';
        if (isfinite(value))
            to += attn_number_text(value, form->precision, to);
        text->size = (size_t)(to - text->data);
    }
}

/* Appends "," and the layer: "3", or "cross,1" of two stacks. */
static void append_layer(struct attn_buffer *out, const struct attn_location *at)
{
    const char *stack = attn_model_stack_name(at->stack);

    attn_buffer_append_format(out, ",%s%s%d", stack, stack[0] ? "," : "", at->layer);
}

/* A line per selected head. KEY begins each. */
static void append_heads(struct attn_record_writer *writer,
                         const struct attn_record_outcome *outcome, const struct attn_buffer *key)
{
    const size_t n_head = writer->form->n_head;

    if (!outcome->measures)
        return;
    for (size_t i = 0; i < writer->form->n_layer * writer->form->n_stack * n_head; i++) {
        const struct attn_location at =
            attn_location_of_block(attn_selection_dims(outcome->labels->selection),
                                   ATTN_SITE_PATTERN, (int)(i / n_head), (int)(i % n_head));

        if (!attn_selection_has_head(outcome->labels->selection, &at))
            continue;
        attn_buffer_append(&writer->text, key->data, key->size);
        append_layer(&writer->text, &at);
        attn_buffer_append_format(&writer->text, ",%d,%zu", at.head, outcome->n_token);
        append_measures(writer, outcome->measures, i);
        attn_buffer_append_char(&writer->text, '\n');
    }
}

/* --- Continuations --------------------------------------------------------------------------- */

/* Appends `,` and VALUE; nothing after it instead of what is no number. */
static void append_number(struct attn_record_writer *writer, double value)
{
    char number[ATTN_NUMBER_TEXT_SIZE];

    attn_buffer_append_char(&writer->text, ',');
    if (isfinite(value))
        attn_buffer_append(&writer->text, number,
                           attn_number_text((float)value, writer->form->precision, number));
}

/* A line per continuation. */
static void append_continuations(struct attn_record_writer *writer,
                                 const struct attn_predictions *found,
                                 const struct attn_buffer *key)
{
    for (size_t i = 0; found && i < found->n_next; i++) {
        attn_buffer_append(&writer->text, key->data, key->size);
        if (writer->form->has_positions)
            attn_buffer_append_format(&writer->text, ",%zu", found->next[i].position);
        attn_buffer_append_char(&writer->text, ',');
        attn_csv_field_append(&writer->text, found->next[i].text, strlen(found->next[i].text));
        append_number(writer, found->next[i].log_probability);
        attn_buffer_append_char(&writer->text, '\n');
    }
}

/* --- Words ----------------------------------------------------------------------------------- */

/* A line per word: the sum over its tokens. The one with the first token, before which nothing
 * came, has none. BEGINS [n_token] says where words begin. */
static void append_words(struct attn_record_writer *writer,
                         const struct attn_record_outcome *outcome, const bool *begins,
                         const struct attn_buffer *key)
{
    const struct attn_labels *labels = outcome->labels;
    struct attn_buffer word = {0};
    size_t n_word = 0;

    for (size_t i = 0; i < outcome->n_token; n_word++) {
        double nats = 0;

        attn_buffer_reset(&word);
        do {
            attn_buffer_append(&word, labels->tokens[i], labels->token_sizes[i]);
            nats += outcome->surprisal[i];
        } while (++i < outcome->n_token && !begins[i]);
        attn_buffer_append(&writer->text, key->data, key->size);
        attn_buffer_append_format(&writer->text, ",%zu,", n_word);
        attn_csv_text_append(&writer->text, word.data ? word.data : "", word.size);
        append_number(writer, nats / M_LN2);
        append_number(writer, nats);
        attn_buffer_append_char(&writer->text, '\n');
    }
    writer->text.has_failed = writer->text.has_failed || word.has_failed;
    attn_buffer_release(&word);
}

static enum attn_status mark_words(struct attn_record_writer *writer,
                                   const struct attn_record_outcome *outcome,
                                   const struct attn_buffer *key, struct attn_error *err)
{
    bool *begins;

    if (!outcome->surprisal || !outcome->labels->tokens || !outcome->labels->ids)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(begins, outcome->n_token, err));
    attn_words_mark(writer->form->tokenizer, outcome->labels->ids, outcome->n_token, begins);
    append_words(writer, outcome, begins, key);
    attn_free(begins);
    return ATTN_OK;
}

/* --- One of them ----------------------------------------------------------------------------- */

static enum attn_status begin_csv(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_buffer columns = {0};
    const char *names;
    enum attn_status status;

    if (!attn_record_writer_is_empty(writer))
        return ATTN_OK;
    attn_buffer_append_string(&columns, writer->form->n_stack > 1 ? "stack," : "");
    attn_buffer_append_string(&columns, "layer,head,n_token");
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (writer->form->measures & ATTN_MEASURE_BIT(m))
            attn_buffer_append_format(&columns, ",%s", attn_measure_name((enum attn_measure)m));
    names = attn_buffer_string(&columns);
    if (writer->form->table == ATTN_RECORD_FIELD_PREDICTIONS)
        names = writer->form->has_positions ? "position,next,log_prob" : "next,log_prob";
    if (writer->form->table == ATTN_RECORD_FIELD_SURPRISAL)
        names = "word,text,bits,nats";
    status = attn_buffer_check(&columns, err);
    if (status == ATTN_OK)
        status = attn_record_header_append(writer, names, err);
    attn_buffer_release(&columns);
    return status;
}

static enum attn_status write_csv(struct attn_record_writer *writer,
                                  const struct attn_record_outcome *outcome, struct attn_error *err)
{
    struct attn_buffer key = {0};
    enum attn_status status;

    if (outcome->failure)
        return ATTN_OK;
    attn_record_key_append(writer, &key, outcome);
    status = attn_buffer_check(&key, err);
    if (status == ATTN_OK && writer->form->table == ATTN_RECORD_FIELD_PREDICTIONS)
        append_continuations(writer, outcome->predictions, &key);
    else if (status == ATTN_OK && writer->form->table == ATTN_RECORD_FIELD_SURPRISAL)
        status = mark_words(writer, outcome, &key, err);
    else if (status == ATTN_OK)
        append_heads(writer, outcome, &key);
    attn_buffer_release(&key);
    return status;
}

const struct attn_record_format attn_record_format_csv = {
    .name = "csv",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .begin = begin_csv,
    .write = write_csv,
};

/* --- Edges ----------------------------------------------------------------------------------- */

static enum attn_status begin_edges(struct attn_record_writer *writer, struct attn_error *err)
{
    if (!attn_record_writer_is_empty(writer))
        return ATTN_OK;
    return attn_record_header_append(writer,
                                     writer->form->n_stack > 1 ? "stack,layer,head,query,key,weight"
                                                               : "layer,head,query,key,weight",
                                     err);
}

enum {
    DIGITS = 20,                                                   /* of a size_t */
    LONGEST_NUMBERS = 2 * (DIGITS + 1) + ATTN_NUMBER_TEXT_SIZE + 1 /* query, key, weight, end */
};

/* Writes N as decimal digits; returns their end. printf would take as long as all else. */
static char *put_integer(char *to, size_t n)
{
    char digits[DIGITS];
    size_t first = DIGITS;

    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    memcpy(to, digits + first, DIGITS - first);
    return to + (DIGITS - first);
}

/* The lines of the head, which begin with START. */
static void append_head(struct attn_record_writer *writer,
                        const struct attn_record_outcome *outcome, const struct attn_location *at,
                        const struct attn_buffer *start)
{
    const size_t longest = start->size + LONGEST_NUMBERS;

    for (size_t query = 0; query < outcome->n_token; query++) {
        size_t n;
        const struct attn_edge *edges = attn_edges_find(outcome->edges, at, query, &n);

        for (size_t i = 0; i < n; i++) {
            char *to = attn_buffer_reserve(&writer->text, longest);

            if (!to)
                return;
            memcpy(to, start->data, start->size);
            to = put_integer(to + start->size, query);
            *to++ = ',';
            to = put_integer(to, (size_t)edges[i].key);
            *to++ = ',';
            to += attn_number_text(edges[i].weight, writer->form->precision, to);
            *to++ = '\n';
            writer->text.size = (size_t)(to - writer->text.data);
        }
    }
}

static enum attn_status write_edges(struct attn_record_writer *writer,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err)
{
    struct attn_buffer id = {0}, start = {0};
    enum attn_status status;

    if (outcome->failure || !outcome->edges)
        return ATTN_OK;
    attn_record_key_append(writer, &id, outcome);
    for (int layer = 0; layer < (int)(writer->form->n_layer * writer->form->n_stack); layer++)
        for (int head = 0; head < (int)writer->form->n_head; head++) {
            const struct attn_location at = attn_location_of_block(
                attn_selection_dims(outcome->labels->selection), ATTN_SITE_PATTERN, layer, head);

            start.size = 0;
            attn_buffer_append(&start, id.data, id.size);
            append_layer(&start, &at);
            attn_buffer_append_format(&start, ",%d,", head);
            if (start.has_failed)
                break;
            append_head(writer, outcome, &at, &start);
        }
    status = attn_buffer_check(&id, err);
    if (status == ATTN_OK)
        status = attn_buffer_check(&start, err);
    attn_buffer_release(&id);
    attn_buffer_release(&start);
    return status;
}

const struct attn_record_format attn_record_format_edges = {
    .name = "edges",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .begin = begin_edges,
    .write = write_edges,
};
