/*
 * page_writer.c - one web page that shows the patterns of all chosen heads, for a browser that asks
 * nothing of a network.
 *
 * The page is page/viewer.html with its marks replaced: style and script, which its policy names by
 * their hashes, the data, and a first view for where no script runs. Data comes as the heads do: a
 * block of each (page_data.h) with a byte a cell, 0 where it is masked, else 1 + round(254 sqrt(w)).
 * A page of few cells has two bytes: first the high ones of all cells, then the low ones, of
 * 1 + round(65534 sqrt(w)). Then follow the run (page_run.h), the thumbnails, the first view, and
 * the script.
 */
#include "output/page_data.h"
#include "output/page_files.h"
#include "output/page_first_view.h"
#include "output/page_run.h"
#include "output/writer.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/quantity.h"
#include "base/version.h"

#include <math.h>
#include <string.h>

enum {
    MOST_CELLS = 160000000,
    MOST_WIDE_CELLS = 200000, /* of two bytes */
    MOST_TEXT = 160,          /* bytes of the text that stand below the title */
};

struct page_writer {
    struct attn_writer base;
    struct attn_page_heads heads;
    struct attn_page_data *data; /* owns */
    struct attn_token_texts tokens, source_tokens;
    struct attn_buffer title, text, predictions; /* title is terminated */
    const char *rest;                            /* of the document, from the next mark on */
    float top;                                   /* the level of 1, without that of 0 */
    int n_byte;                                  /* of a cell */

    float *row; /* [columns of the widest head] owns; NaN: masked, infinity: not finite */
    struct attn_buffer low; /* low bytes of the head that comes */
    size_t n_row;           /* of it that came */
    float *cells, *best;    /* [n_kept] owns; of the head that comes and of that which is shown */
    size_t n_kept;          /* first; 0: none is small enough */
    size_t start;           /* which that is */
    bool has_best;          /* its cells are kept */
};

/* --- Before the data ------------------------------------------------------------------------- */

static enum attn_status check_selection(const struct page_writer *w, struct attn_error *err)
{
    char n_cell[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];

    if (w->heads.n == 0 || w->heads.items[0].n_row == 0) {
        attn_error_set(err, ATTN_INVALID, "a page shows the pattern, which is not selected");
        attn_error_hint(err, "add it to --sites");
        return ATTN_INVALID;
    }
    if (w->heads.n_cell <= MOST_CELLS)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "a page of %zu heads would have %s cells, expected %s at most", w->heads.n,
                   attn_quantity_count(w->heads.n_cell, n_cell),
                   attn_quantity_count(MOST_CELLS, most));
    attn_error_hint(err, "choose some with --layers, --heads or --queries");
    return ATTN_INVALID;
}

/* All tokens one after the other. */
static void join_tokens(struct page_writer *w)
{
    attn_buffer_append(&w->text, w->tokens.bytes.data, w->tokens.bytes.size);
}

static void make_title(struct page_writer *w)
{
    const struct attn_labels *labels = &w->base.labels;
    const char *given = w->base.options.picture->title;

    if (given) {
        attn_escape_append(&w->title, given, strlen(given));
    } else {
        if (labels->model) {
            const char *model = attn_page_without_folder(labels->model);

            attn_escape_append(&w->title, model, strlen(model));
            attn_buffer_append_string(&w->title, ": ");
        }
        if (w->heads.n == 1) {
            attn_page_head_append_name(&w->title, &w->heads.items[0], labels);
            attn_buffer_append_string(&w->title, ": ");
        }
        attn_buffer_append_string(&w->title, "pattern");
    }
    attn_buffer_append_char(&w->title, '\0');
}

static size_t widest(const struct page_writer *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->heads.n; i++)
        n = w->heads.items[i].n_column > n ? w->heads.items[i].n_column : n;
    return n;
}

static bool has_table(const struct attn_page_head *head)
{
    return head->n_row <= ATTN_PAGE_MOST_ROWS && head->n_column <= ATTN_PAGE_MOST_ROWS;
}

static enum attn_status find_room(struct page_writer *w, struct attn_error *err)
{
    for (size_t i = 0; i < w->heads.n; i++)
        if (has_table(&w->heads.items[i]))
            w->n_kept = (size_t)ATTN_PAGE_MOST_ROWS * ATTN_PAGE_MOST_ROWS;
    w->row = attn_alloc_uninitialized(widest(w), sizeof *w->row, err);
    w->cells = attn_alloc(w->n_kept, sizeof *w->cells, err);
    w->best = attn_alloc(w->n_kept, sizeof *w->best, err);
    return w->row && w->cells && w->best ? ATTN_OK : ATTN_NO_MEMORY;
}

/* --- The document ---------------------------------------------------------------------------- */

static void append_title(struct page_writer *w, struct attn_buffer *out)
{
    const bool is_empty = w->title.size <= 1;

    attn_html_append(out, is_empty ? "attention" : w->title.data,
                     is_empty ? strlen("attention") : w->title.size - 1);
}

static void append_heading(struct page_writer *w, struct attn_buffer *out)
{
    if (w->title.size <= 1)
        return;
    attn_buffer_append_string(out, "<h1><bdi>");
    attn_html_append(out, w->title.data, w->title.size - 1);
    attn_buffer_append_string(out, "</bdi></h1>\n");
}

static void append_count(struct attn_buffer *out, size_t n, const char *what)
{
    attn_buffer_append_format(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

/* The beginning of the text, which ends between characters. */
static size_t shortened(const struct attn_buffer *text)
{
    size_t n = text->size;

    if (n > MOST_TEXT)
        for (n = MOST_TEXT; n > 0 && ((unsigned char)text->data[n] & 0xc0) == 0x80;)
            n--;
    return n;
}

/* TEXT from outside, printable and with references; releases it. */
static void append_escaped(struct attn_buffer *out, struct attn_buffer *text)
{
    struct attn_buffer printable = {0};

    attn_escape_append(&printable, text->data, text->size);
    attn_html_append(out, printable.data, printable.size);
    out->has_failed |= text->has_failed || printable.has_failed;
    attn_buffer_release(&printable);
    attn_buffer_release(text);
}

/* Sizes, the text, and the options that shaped the run. */
static void append_about(struct page_writer *w, struct attn_buffer *out)
{
    const struct attn_labels *labels = &w->base.labels;
    const size_t n = shortened(&w->text);

    append_count(out, w->heads.n, "head");
    attn_buffer_append_string(out, ", ");
    append_count(out, w->base.n_position, labels->axes ? "query" : "token");
    if (labels->axes) {
        attn_buffer_append_string(out, ", ");
        append_count(out, w->heads.items[0].n_column, "key");
    } else if (n > 0) {
        attn_buffer_append_string(out, ": <bdi>");
        attn_html_append(out, w->text.data, n);
        attn_buffer_append_string(out, n < w->text.size ? "\xe2\x80\xa6</bdi>" : "</bdi>");
    }
    for (size_t i = 0; i < labels->n_option; i++) {
        struct attn_buffer option = {0};

        attn_buffer_append_format(&option, "%s %s", labels->options[i].name,
                                  attn_page_without_folder(labels->options[i].value));
        attn_buffer_append_string(out, i == 0 ? " <span class=\"options\">(" : ", ");
        append_escaped(out, &option);
    }
    attn_buffer_append_string(out, labels->n_option > 0 ? ")</span>" : "");
}

static void append_theme(struct page_writer *w, struct attn_buffer *out)
{
    if (w->base.options.picture->theme == ATTN_THEME_DARK)
        attn_buffer_append_string(out, " data-theme=\"dark\"");
}

static void append_file(struct attn_buffer *out, const char *begin, const char *end)
{
    attn_buffer_append(out, begin, (size_t)(end - begin));
}

static void append_policy(struct page_writer *w, struct attn_buffer *out)
{
    (void)w;
    append_file(out, attn_page_policy, attn_page_policy_end);
}

static void append_version(struct page_writer *w, struct attn_buffer *out)
{
    (void)w;
    attn_buffer_append_string(out, ATTN_VERSION);
}

static void append_style(struct page_writer *w, struct attn_buffer *out)
{
    (void)w;
    append_file(out, attn_page_css, attn_page_css_end);
}

static void append_script(struct page_writer *w, struct attn_buffer *out)
{
    (void)w;
    append_file(out, attn_page_js, attn_page_js_end);
}

/* What stands in the place of a mark; NULL: the mark is a place to stop at. */
static const struct mark {
    const char *name;
    void (*append)(struct page_writer *w, struct attn_buffer *out);
} marks[] = {
    {"@THEME@", append_theme},
    {"@POLICY@", append_policy},
    {"@VERSION@", append_version},
    {"@TITLE@", append_title},
    {"@STYLE@", append_style},
    {"@HEADING@", append_heading},
    {"@ABOUT@", append_about},
    {"@DATA@", NULL},
    {"@STATIC@", NULL},
    {"@SCRIPT@", append_script},
};

static const struct mark *find_mark(const char *at)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(at, marks[i].name, strlen(marks[i].name)) == 0)
            return &marks[i];
    return NULL;
}

/* Writes the document up to a mark to stop at, or its end. */
static enum attn_status write_document(struct page_writer *w, struct attn_error *err)
{
    struct attn_buffer out = {0};
    enum attn_status status;

    for (bool is_going_on = true; is_going_on && w->rest < attn_page_html_end;) {
        const char *at = memchr(w->rest, '@', (size_t)(attn_page_html_end - w->rest));
        const struct mark *mark = at ? find_mark(at) : NULL;

        append_file(&out, w->rest, at ? at : attn_page_html_end);
        w->rest = !at ? attn_page_html_end : at + (mark ? strlen(mark->name) : 1);
        if (mark && mark->append)
            mark->append(w, &out);
        else if (at && !mark)
            attn_buffer_append_char(&out, '@');
        is_going_on = !mark || mark->append;
    }
    status = attn_buffer_check(&out, err);
    if (status == ATTN_OK)
        attn_sink_write(w->base.sink, out.data, out.size);
    attn_buffer_release(&out);
    return status;
}

/* --- Rows ------------------------------------------------------------------------------------ */

/* Row R of EVENT, with NaN where it is masked and infinity where it is not finite. */
static void read_row(struct page_writer *w, const struct attn_trace_event *event, size_t r,
                     size_t n_column)
{
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;

    for (size_t c = 0; c < n_column; c++)
        w->row[c] = NAN;
    while (attn_row_next(&row, &cells))
        for (size_t i = 0; i < cells.n; i++)
            w->row[cells.first + i] = isfinite(cells.values[i]) ? cells.values[i] : INFINITY;
}

static void take_levels(struct page_writer *w, size_t n)
{
    unsigned char *out = attn_page_data_reserve(w->data, n), *low = NULL;

    if (w->n_byte == 2)
        low = (unsigned char *)attn_buffer_reserve(&w->low, n);
    if (!out || (w->n_byte == 2 && !low))
        return;
    for (size_t c = 0; c < n; c++) {
        const float weight = w->row[c] > 0 ? w->row[c] : 0;
        unsigned level = 0;

        if (isfinite(w->row[c]))
            level = attn_page_level(sqrtf(weight < 1 ? weight : 1), w->top);
        out[c] = (unsigned char)(w->n_byte == 2 ? level >> 8 : level);
        if (low)
            low[c] = (unsigned char)level;
    }
    w->low.size += w->n_byte == 2 ? n : 0;
}

static enum attn_status end_head(struct page_writer *w, struct attn_page_head *head,
                                 struct attn_error *err)
{
    const size_t i = (size_t)(head - w->heads.items);
    unsigned char *low;

    if (w->n_byte == 2) {
        low = attn_page_data_reserve(w->data, w->low.size);
        if (low && !w->low.has_failed)
            memcpy(low, w->low.data, w->low.size);
        w->low.size = 0;
    }
    attn_page_data_end(w->data);
    attn_page_heads_end(&w->heads, head);
    if (i == 0 || head->values[ATTN_PAGE_far] > w->heads.items[w->start].values[ATTN_PAGE_far]) {
        w->start = i;
        w->has_best = has_table(head);
        if (w->has_best)
            memcpy(w->best, w->cells, head->n_row * head->n_column * sizeof *w->cells);
    }
    w->n_row = 0;
    return attn_buffer_check(&w->low, err);
}

static enum attn_status event_page(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct page_writer *w = (struct page_writer *)writer;
    struct attn_page_head *head;
    enum attn_status status = ATTN_OK;

    if (event->site != ATTN_SITE_PATTERN)
        return ATTN_OK;
    head = attn_page_heads_find(&w->heads, event, place);
    attn_page_heads_measure(&w->heads, event);
    for (size_t r = 0; r < event->n_row && status == ATTN_OK; r++) {
        if (w->n_row == 0)
            attn_page_data_begin(w->data, head->id);
        read_row(w, event, r, head->n_column);
        attn_page_head_take_row(head, w->n_row, w->row);
        take_levels(w, head->n_column);
        if (has_table(head))
            memcpy(w->cells + w->n_row * head->n_column, w->row, head->n_column * sizeof *w->row);
        if (++w->n_row == head->n_row)
            status = end_head(w, head, err);
        if (status == ATTN_OK)
            status = attn_page_data_flush(w->data, err);
    }
    return status;
}

static enum attn_status predictions_page(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err)
{
    struct page_writer *w = (struct page_writer *)writer;

    attn_page_append_predictions(&w->predictions, predictions);
    return attn_buffer_check(&w->predictions, err);
}

/* --- The format ------------------------------------------------------------------------------ */

static enum attn_status open_page(struct attn_writer *writer, struct attn_error *err)
{
    struct page_writer *w = (struct page_writer *)writer;
    enum attn_status status = attn_page_heads_init(&w->heads, writer, err);

    writer->is_in_order = true;
    w->rest = attn_page_html;
    if (status == ATTN_OK)
        status = check_selection(w, err);
    if (status == ATTN_OK)
        status = attn_token_texts_init(&w->tokens, &writer->labels, err);
    if (status == ATTN_OK)
        status = attn_token_texts_init_source(&w->source_tokens, &writer->labels, err);
    if (status == ATTN_OK)
        status = find_room(w, err);
    if (status == ATTN_OK)
        status = attn_page_data_create(writer->options.pool, writer->sink, &w->data, err);
    if (status != ATTN_OK)
        return status;
    w->n_byte = w->heads.n_cell <= MOST_WIDE_CELLS ? 2 : 1;
    w->top = w->n_byte == 2 ? 65534 : 254;
    join_tokens(w);
    make_title(w);
    return write_document(w, err);
}

static enum attn_status write_thumbs(struct page_writer *w, struct attn_error *err)
{
    attn_page_data_begin(w->data, "thumbs-data");
    for (size_t i = 0; i < w->heads.n; i++) {
        const struct attn_page_head *head = &w->heads.items[i];
        const size_t n = attn_page_head_n_plane(head) * head->n_thumb_row * head->n_thumb_col;
        unsigned char *out = attn_page_data_reserve(w->data, n);

        if (out)
            memcpy(out, head->thumb, n);
    }
    attn_page_data_end(w->data);
    return attn_page_data_finish(w->data, err);
}

static enum attn_status finish_page(struct attn_writer *writer, struct attn_error *err)
{
    struct page_writer *w = (struct page_writer *)writer;
    const struct attn_page_run run = {.writer = writer,
                                      .heads = &w->heads,
                                      .tokens = &w->tokens,
                                      .source_tokens = &w->source_tokens,
                                      .title = w->title.data,
                                      .text = w->text.data,
                                      .n_text = w->text.size,
                                      .start = w->start,
                                      .n_byte = w->n_byte,
                                      .predictions = &w->predictions};
    const struct attn_page_first_view view = {.writer = writer,
                                              .heads = &w->heads,
                                              .tokens = &w->tokens,
                                              .source_tokens = &w->source_tokens,
                                              .head = &w->heads.items[w->start],
                                              .cells = w->has_best ? w->best : NULL,
                                              .n_digit = w->n_byte == 2 ? 4 : 2};
    enum attn_status status = attn_buffer_check(&w->title, err);

    if (status == ATTN_OK)
        status = attn_buffer_check(&w->text, err);
    if (status == ATTN_OK)
        status = write_thumbs(w, err);
    if (status == ATTN_OK)
        status = attn_page_run_write(&run, writer->sink, err);
    if (status == ATTN_OK)
        status = write_document(w, err); /* up to the first view */
    if (status == ATTN_OK)
        status = attn_page_first_view_write(&view, writer->sink, err);
    return status == ATTN_OK ? write_document(w, err) : status;
}

static void release_page(struct attn_writer *writer)
{
    struct page_writer *w = (struct page_writer *)writer;

    attn_page_data_free(w->data);
    attn_page_heads_release(&w->heads);
    attn_token_texts_release(&w->tokens);
    attn_token_texts_release(&w->source_tokens);
    attn_buffer_release(&w->title);
    attn_buffer_release(&w->text);
    attn_buffer_release(&w->predictions);
    attn_buffer_release(&w->low);
    attn_free(w->row);
    attn_free(w->cells);
    attn_free(w->best);
}

static const struct attn_writer_ops ops = {
    .size = sizeof(struct page_writer),
    .open = open_page,
    .event = event_page,
    .finish = finish_page,
    .predictions = predictions_page,
    .release = release_page,
};

const struct attn_format attn_html_format = {
    .name = "html",
    .argument = "FILE",
    .help = "write a web page of the patterns of all chosen heads: one file that any browser shows "
            "and that asks nothing of a network",
    .title = "HTML",
    .has_predictions = true,
    .is_picture = true,
    .tensors = &ops,
};
