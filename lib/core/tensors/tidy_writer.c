/*
 * tidy_writer.c - one long CSV of the patterns, with a line for each cell that is not masked:
 * id,layer,head,query,key,query_token,key_token,weight; for a model with two stacks `stack` comes
 * after the id.
 *
 * Tokens and the id are quoted so that spreadsheets do not evaluate them (quoting.h). Other sites
 * are ignored. For speed, a line is assembled from pieces that are built once: the beginning shared
 * by all lines of a row, the key with the query's token, and the key's token.
 */
#include "formats/float_text.h"
#include "formats/quoting.h"
#include "tensors/token_text.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "tensors/format_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

static const char header[] = "layer,head,query,key,query_token,key_token,weight\n";

enum { LINES_AT_ONCE = 64, COPY_SIZE = 16 };

/* A piece of the writer's texts. */
struct tidy_piece {
    size_t begin, size;
};

struct tidy_writer {
    struct attn_writer base;
    struct attn_buffer texts;          /* the pieces, followed by COPY_SIZE spare bytes */
    struct attn_token_texts tokens[2]; /* tokens of the text, and of the source */
    struct tidy_piece *keys;           /* owns; "17", for positions of the text and of the source */
    struct tidy_piece *pieces[2];      /* [n] own; ",token" for each token; or NULL */
    struct tidy_piece no_token;        /* "," */
    size_t longest;                    /* bytes of the longest token piece */
};

/* Returns the piece from BEGIN to the current end of the texts. */
static struct tidy_piece end_piece(const struct tidy_writer *w, size_t begin)
{
    return (struct tidy_piece){begin, w->texts.size - begin};
}

/* Makes the pieces ",token" of TEXTS in *PIECES, which the caller owns; NULL without tokens. */
static enum attn_status make_tokens(struct tidy_writer *w, const struct attn_token_texts *texts,
                                    struct tidy_piece **pieces, struct attn_error *err)
{
    if (texts->n == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(*pieces, texts->n, err));
    for (size_t i = 0; i < texts->n; i++) {
        size_t begin = w->texts.size, size;
        const char *text = attn_token_text(texts, i, &size);

        attn_buffer_append_char(&w->texts, ',');
        attn_csv_text_append(&w->texts, text, size);
        (*pieces)[i] = end_piece(w, begin);
        if ((*pieces)[i].size > w->longest)
            w->longest = (*pieces)[i].size;
    }
    return ATTN_OK;
}

static bool holds_all_tensors(const struct attn_format *format)
{
    return format->tensors && !format->is_picture && format != &attn_tidy_format;
}

static enum attn_status open_tidy(struct attn_writer *writer, struct attn_error *err)
{
    struct tidy_writer *w = (struct tidy_writer *)writer;
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    const size_t n = dims->n_source > dims->n_position ? dims->n_source : dims->n_position;
    char formats[ATTN_ERROR_HINT_SIZE];

    if (!attn_selection_has_site(writer->labels.selection, ATTN_SITE_PATTERN)) {
        attn_format_list(holds_all_tensors, "or", formats, sizeof formats);
        attn_error_set(err, ATTN_INVALID, "tidy CSV needs the pattern, which is not selected");
        return attn_error_hint(err, "add it to `sites`; other tensors go into %s", formats);
    }
    ATTN_TRY(attn_token_texts_init(w->tokens, &writer->labels, err));
    ATTN_TRY(ATTN_ALLOC(w->keys, n, err));
    for (size_t i = 0; i < n; i++) {
        const size_t begin = w->texts.size;

        attn_buffer_append_format(&w->texts, "%zu", i);
        w->keys[i] = end_piece(w, begin);
    }
    attn_buffer_append_char(&w->texts, ',');
    w->no_token = end_piece(w, w->texts.size - 1);
    w->longest = w->no_token.size;
    for (int i = 0; i < 2; i++)
        ATTN_TRY(make_tokens(w, &w->tokens[i], &w->pieces[i], err));
    attn_buffer_reserve(&w->texts, COPY_SIZE);
    ATTN_TRY(attn_buffer_check(&w->texts, err));
    attn_sink_write(writer->sink, "id,", 3);
    attn_sink_write(writer->sink, "stack,", attn_dims_has_stacks(dims) ? 6 : 0);
    attn_sink_write(writer->sink, header, sizeof header - 1);
    return ATTN_OK;
}

/* Copies in steps of COPY_SIZE bytes, reading and writing beyond SIZE: most pieces need one
 * step. */
static char *put_bytes(char *out, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += COPY_SIZE)
        memcpy(out + i, bytes + i, COPY_SIZE);
    return out + size;
}

static char *put_piece(const struct tidy_writer *w, char *out, struct tidy_piece piece)
{
    return put_bytes(out, w->texts.data + piece.begin, piece.size);
}

static struct tidy_piece token_of(const struct tidy_writer *w, const struct tidy_piece *tokens,
                                  size_t i)
{
    return tokens ? tokens[i] : w->no_token;
}

/* The pieces that all lines of a row share. */
struct line_parts {
    struct attn_buffer start; /* beginning of the lines; also has COPY_SIZE spare bytes */
    struct tidy_piece query_token;
    const struct tidy_piece *key_tokens; /* or NULL */
};

/* Appends the lines of some consecutive keys that a query sees. */
static void append_lines(const struct tidy_writer *w, const struct line_parts *parts,
                         const struct attn_cells *cells, struct attn_buffer *text)
{
    size_t longest = parts->start.size + 2 * (w->longest + COPY_SIZE) + ATTN_NUMBER_TEXT_SIZE;
    char *out = NULL;

    for (size_t i = 0; i < cells->n; i++) {
        const size_t key = cells->first + i;

        /* reserves memory for several lines, because a call for each would be noticeably slower */
        if (i % LINES_AT_ONCE == 0)
            out = attn_buffer_reserve(text, LINES_AT_ONCE * longest + COPY_SIZE);
        if (!out)
            return;
        out = put_bytes(out, parts->start.data, parts->start.size);
        out = put_piece(w, out, w->keys[key]);
        out = put_piece(w, out, parts->query_token);
        out = put_piece(w, out, token_of(w, parts->key_tokens, key));
        *out++ = ',';
        out += attn_number_text(cells->values[i], w->base.options.precision, out);
        *out++ = '\n';
        text->size = (size_t)(out - text->data);
    }
}

/* Appends the lines of row R (attn_row_text_fn). */
static void append_row(const struct attn_writer *writer, const struct attn_trace_event *event,
                       const struct attn_place *place, size_t r, struct attn_buffer *text)
{
    const struct tidy_writer *w = (const struct tidy_writer *)writer;
    const int layer = event->at.layer;
    const char *stack = attn_model_stack_name(event->at.stack);
    size_t query = event->row0 + r;
    struct line_parts parts = {
        .query_token = token_of(w, w->pieces[!attn_writer_has_own_rows(writer, &event->at)], query),
        .key_tokens = w->pieces[!attn_writer_has_own_keys(writer, &event->at)],
    };
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;

    (void)place;
    attn_buffer_append_format(&parts.start, "0,%s%s%d,%d,%zu,", stack, stack[0] ? "," : "", layer,
                              event->at.head, query);
    attn_buffer_reserve(&parts.start, COPY_SIZE);
    text->has_failed |= parts.start.has_failed;
    while (!text->has_failed && attn_row_next(&row, &cells))
        append_lines(w, &parts, &cells, text);
    attn_buffer_release(&parts.start);
}

static enum attn_status event_tidy(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    if (event->at.site != ATTN_SITE_PATTERN)
        return ATTN_OK;
    return attn_writer_write_rows(writer, event, place, append_row, writer->sink, err);
}

static void release_tidy(struct attn_writer *writer)
{
    struct tidy_writer *w = (struct tidy_writer *)writer;

    attn_token_texts_release(w->tokens, 2);
    attn_buffer_release(&w->texts);
    attn_free(w->keys);
    attn_free(w->pieces[0]);
    attn_free(w->pieces[1]);
}

const struct attn_format attn_tidy_format = {
    .name = "tidy",
    .holds_stacks = true,
    .argument = "FILE",
    .help =
        "write the patterns alone into one long CSV, with a line for each cell that is not masked",
    .medium = ATTN_MEDIUM_DECIMAL,
    .title = "CSV",
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct tidy_writer),
            .open = open_tidy,
            .event = event_tidy,
            .release = release_tidy,
        },
};
