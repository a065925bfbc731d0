/*
 * tidy_writer.c - one long CSV of the patterns, a line for each cell that is not masked:
 * id,layer,head,query,key,query_token,key_token,weight.
 *
 * Other sites are passed over. A line is put together from pieces that are made once: what all lines
 * of a row begin with, the key with the query's token, and the key's token.
 */
#include "output/csv_field.h"
#include "output/number_text.h"
#include "output/token_text.h"
#include "output/writer.h"

#include "base/memory.h"

#include <string.h>

static const char header[] = "id,layer,head,query,key,query_token,key_token,weight\n";

enum { LINES_AT_ONCE = 64, POSITION_SIZE = 24 };

struct tidy_writer {
    struct attn_writer base;
    struct attn_buffer id;     /* quoted where needed */
    struct attn_buffer tokens; /* `,token` of each position, one after the other */
    size_t *token_ends;        /* [n_position] owns */
    size_t longest;            /* bytes of the longest of them */
    struct attn_buffer start;  /* what the lines of a row begin with */
    struct attn_buffer lines;  /* of the row being made */
};

static const char *token_field(const struct tidy_writer *w, size_t position, size_t *size)
{
    size_t begin = position > 0 ? w->token_ends[position - 1] : 0;

    *size = w->token_ends[position] - begin;
    return w->tokens.data + begin;
}

static enum attn_status make_tokens(struct tidy_writer *w, struct attn_error *err)
{
    struct attn_token_texts texts = {0};
    enum attn_status status = attn_token_texts_init(&texts, &w->base.run, err);

    w->token_ends = attn_alloc(w->base.n_position, sizeof *w->token_ends, err);
    if (!w->token_ends)
        status = ATTN_NO_MEMORY;
    for (size_t p = 0; p < w->base.n_position && status == ATTN_OK; p++) {
        size_t size, before = w->tokens.size;
        const char *text = attn_token_text(&texts, p, &size);

        attn_buffer_append_char(&w->tokens, ',');
        attn_csv_field_append(&w->tokens, text, size);
        w->token_ends[p] = w->tokens.size;
        if (w->tokens.size - before > w->longest)
            w->longest = w->tokens.size - before;
    }
    attn_token_texts_release(&texts);
    return status == ATTN_OK ? attn_buffer_check(&w->tokens, err) : status;
}

static enum attn_status open_tidy(struct attn_writer *writer, const char *path,
                                  struct attn_error *err)
{
    struct tidy_writer *w = (struct tidy_writer *)writer;
    const char *id = writer->options.id ? writer->options.id : "0";
    enum attn_status status;

    (void)path;
    if (!attn_selection_has_site(writer->run.selection, ATTN_SITE_PATTERN)) {
        attn_error_set(err, ATTN_INVALID, "tidy CSV holds the pattern, which is not selected");
        attn_error_hint(err, "add it to --sites; other tensors go into --csv, --npz or --json");
        return ATTN_INVALID;
    }
    attn_csv_field_append(&w->id, id, strlen(id));
    status = attn_buffer_check(&w->id, err);
    if (status == ATTN_OK)
        status = make_tokens(w, err);
    if (status == ATTN_OK)
        attn_sink_write(writer->sink, header, sizeof header - 1);
    return status;
}

/* Digits of N at OUT; returns where they end. */
static char *put_number(char *out, size_t n)
{
    char digits[POSITION_SIZE];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    memcpy(out, digits + at, sizeof digits - at);
    return out + (sizeof digits - at);
}

static char *put_bytes(char *out, const char *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return out + size;
}

/* The lines of one query: VALUES of the keys that it sees. */
static void write_row(struct tidy_writer *w, size_t query, const float *values, size_t n_visible)
{
    size_t query_size, key_size;
    const char *query_token = token_field(w, query, &query_size);
    size_t longest = w->start.size + POSITION_SIZE + 2 * w->longest + ATTN_NUMBER_TEXT_SIZE + 2;
    char *out = NULL;

    attn_buffer_reset(&w->lines);
    for (size_t key = 0; key < n_visible; key++) {
        const char *key_token = token_field(w, key, &key_size);

        if (key % LINES_AT_ONCE == 0) /* room for several, as a call for each would show */
            out = attn_buffer_reserve(&w->lines, LINES_AT_ONCE * longest);
        if (!out)
            return;
        out = put_bytes(out, w->start.data, w->start.size);
        out = put_number(out, key);
        out = put_bytes(out, query_token, query_size);
        out = put_bytes(out, key_token, key_size);
        *out++ = ',';
        out += attn_number_text(values[key], w->base.options.precision, out);
        *out++ = '\n';
        w->lines.size = (size_t)(out - w->lines.data);
    }
    attn_sink_write(w->base.sink, w->lines.data, w->lines.size);
}

static enum attn_status event_tidy(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct tidy_writer *w = (struct tidy_writer *)writer;
    enum attn_status status = ATTN_OK;

    (void)place;
    if (event->site != ATTN_SITE_PATTERN)
        return ATTN_OK;
    for (size_t r = 0; r < event->n_row && status == ATTN_OK; r++) {
        size_t query = event->row0 + r;

        attn_buffer_reset(&w->start);
        attn_buffer_append(&w->start, w->id.data, w->id.size);
        attn_buffer_append_format(&w->start, ",%d,%d,%zu,", event->layer, event->head, query);
        status = attn_buffer_check(&w->start, err);
        if (status == ATTN_OK)
            write_row(w, query, event->data + r * event->ld, attn_event_n_visible(event, query));
        if (status == ATTN_OK)
            status = attn_buffer_check(&w->lines, err);
    }
    return status;
}

static enum attn_status finish_tidy(struct attn_writer *writer, struct attn_error *err)
{
    (void)writer;
    (void)err;
    return ATTN_OK;
}

static void release_tidy(struct attn_writer *writer)
{
    struct tidy_writer *w = (struct tidy_writer *)writer;

    attn_buffer_release(&w->id);
    attn_buffer_release(&w->tokens);
    attn_buffer_release(&w->start);
    attn_buffer_release(&w->lines);
    attn_free(w->token_ends);
}

const struct attn_writer_ops attn_tidy_writer_ops = {
    .size = sizeof(struct tidy_writer),
    .open = open_tidy,
    .event = event_tidy,
    .finish = finish_tidy,
    .release = release_tidy,
};
