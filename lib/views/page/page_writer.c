/*
 * page_writer.c - one self-contained web page that shows the patterns of all selected heads,
 * without network access.
 *
 * The page is a document of JSON in the order of events (page_internal.h), in a frame of styles and
 * scripts (page_frame.c). The weights of a head are written when the head is complete: as a string
 * of base64 (page_data.c) with one byte per cell, 0 if masked, otherwise 1 + round(254 sqrt(w)). A
 * page with few cells uses two bytes, 1 + round(65534 sqrt(w)): first the high bytes of all cells,
 * then the low bytes.
 */
#include "page/page_internal.h"
#include "tensors/view.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "base/version.h"
#include "figures/figure_internal.h"
#include "measures/head_mix.h"
#include "pictures/picture_internal.h"
#include "towers/maps/picture_maps.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    MOST_WIDE_CELLS = 200000, /* maximum cells of a page with two bytes per cell */
    MOST_TITLE = 120,         /* maximum bytes of the text in a derived title */
    MOST_RANK = 8,            /* more than any rank of a head (head_mix.h) */
};

/* --- Before the data ------------------------------------------------------------------------- */

static enum attn_status check_selection(struct attn_page *w, struct attn_error *err)
{
    const size_t n = w->heads.n_cell, largest = w->heads.n_largest;
    const bool is_plain = !w->has_question && !w->base.options.picture->live;
    char n_cell[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];

    if (w->heads.n == 0 || w->heads.items[0].n_row == 0) {
        attn_error_set(err, ATTN_INVALID, "a page needs the pattern, which is not selected");
        return attn_error_hint(err, "add it to `sites`");
    }
    if (attn_selection_has_site(w->base.labels.selection, ATTN_SITE_PATTERN_GRAD) ||
        attn_selection_has_site(w->base.labels.selection, ATTN_SITE_PATTERN_X_GRAD)) {
        attn_error_set(err, ATTN_INVALID, "a page shows the pattern, and not its gradient");
        return attn_error_hint(err, "`svg FILE` draws it, with `sites` pattern_grad");
    }
    if (is_plain && n > ATTN_PAGE_WHOLE_CELLS && w->heads.n > 1 && largest <= ATTN_PAGE_MOST_CELLS)
        return attn_page_heads_pool(&w->heads, err);
    if (n <= ATTN_PAGE_MOST_CELLS)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "a page of %zu heads would have %s cells, expected %s at most", w->heads.n,
                   attn_quantity_count(n, n_cell), attn_quantity_count(ATTN_PAGE_MOST_CELLS, most));
    return attn_error_hint(err, "choose some with `heads` or `queries`");
}

/* Returns how many bytes of TEXT [size] to show in at most MOST bytes. It cuts between characters,
 * preferably between words. */
static size_t fit_text(const char *text, size_t size, size_t most)
{
    enum { LONGEST_WORD = 24 }; /* a longer word is cut; shorter ones are dropped as a whole */
    size_t n = most;

    if (size <= most)
        return size;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = n; i > 0 && i + LONGEST_WORD > n; i--)
        if (text[i] == ' ' && text[i - 1] != ' ')
            return i;
    return n;
}

/* Sets the text, and the title: the title that is given, or the beginning of the text, or, if there
 * is no text, the model and what is shown ("fable: pattern"). */
static void make_title(struct attn_page *w)
{
    const char *given = w->base.options.picture->title, *model = w->base.labels.model;
    size_t n = 0;

    attn_labels_append_text(&w->base.labels, &w->text);
    if (given) {
        attn_buffer_append_string(&w->title, given);
    } else if (!w->base.labels.axes && w->text.size > 0) {
        n = fit_text(w->text.data, w->text.size, MOST_TITLE);
        attn_buffer_append(&w->title, w->text.data, n);
        attn_buffer_append_string(&w->title, n < w->text.size ? "\xe2\x80\xa6" : "");
    } else {
        model = model ? attn_path_last(model, &n) : "";
        attn_buffer_append(&w->title, model, n);
        attn_buffer_append_string(&w->title, n > 0 ? ": pattern" : "pattern");
    }
    attn_escape_append(&w->heading, w->title.data, w->title.size);
    w->heading.has_failed |= w->title.has_failed;
}

/* --- The data -------------------------------------------------------------------------------- */

/* Writes the levels of ROW [n]: one byte each to HIGH; with two bytes, the high byte to HIGH and
 * the low byte to LOW. Columns from N_SEEN on are masked. */
static void put_levels(const struct attn_page *w, const float *row, size_t n, size_t n_seen,
                       unsigned char *high, struct attn_buffer *low)
{
    unsigned char *lower = w->n_byte == 2 ? (unsigned char *)attn_buffer_reserve(low, n) : NULL;

    if (!high || (w->n_byte == 2 && !lower))
        return;
    memset(high + n_seen, 0, n - n_seen);
    if (lower)
        memset(lower + n_seen, 0, n - n_seen);
    for (size_t c = 0; c < n_seen; c++) {
        const float weight = row[c] > 0 ? row[c] : 0;
        unsigned level = 0;

        if (isfinite(row[c]))
            level = attn_page_level(sqrtf(weight < 1 ? weight : 1), w->top);
        high[c] = (unsigned char)(w->n_byte == 2 ? level >> 8 : level);
        if (lower)
            lower[c] = (unsigned char)level;
    }
    low->size += lower ? n : 0;
}

/* Appends BYTES [n] to the open block. */
static void add_levels(struct attn_page *w, const void *bytes, size_t n)
{
    unsigned char *to = n > 0 ? attn_page_data_reserve(w->data, n) : NULL;

    if (to)
        memcpy(to, bytes, n);
}

/* Begins the block of HEAD, in memory if it may be left out. */
static enum attn_status begin_block(struct attn_page *w, struct attn_page_head *head,
                                    struct attn_error *err)
{
    if (head->pooled) {
        ATTN_TRY(attn_sink_create_memory(&head->block, err));
        ATTN_TRY(attn_page_data_create(w->base.options.pool, head->block, &w->data, err));
        attn_page_data_begin(w->data, &(struct attn_buffer){0});
        return ATTN_OK;
    }
    attn_page_begin_tensor(w, &head->at, w->n_byte == 2 ? "root16" : "root8");
    attn_page_key_head(w, head->at.head);
    attn_page_begin_block(w);
    return ATTN_OK;
}

/* Ends the block of HEAD, which begin_block began in memory, and leaves blocks out. */
static enum attn_status keep_block(struct attn_page *w, struct attn_page_head *head,
                                   struct attn_error *err)
{
    attn_page_data_end(w->data);
    ATTN_TRY(attn_page_data_finish(w->data, err));
    ATTN_TRY(attn_sink_check(head->block, err));
    attn_page_data_free(w->data);
    w->data = NULL;
    attn_sink_bytes(head->block, &head->n_byte);
    return ATTN_OK;
}

/* Writes the part of the document that is not written yet. */
static enum attn_status write_pending(struct attn_page *page, struct attn_error *err)
{
    struct attn_buffer text = {0};
    enum attn_status status;

    attn_page_embed(&text, &page->pending);
    status = attn_sink_write_buffer(page->base.sink, &text, err);
    attn_buffer_release(&text);
    return status;
}

/* Writes the blocks of all heads, whole or pooled, and notes how many are pooled. */
static enum attn_status write_blocks(struct attn_page *w, struct attn_error *err)
{
    struct attn_buffer words = {0};

    attn_page_heads_append_pooled(&w->heads, &words);
    if (words.size > 0 && !words.has_failed)
        attn_note(w->base.options.on_note, w->base.options.user, ATTN_NOTE_PAGE_OMITS,
                  "the page is large: %.*s; `layers` and `heads` choose others", (int)words.size,
                  (const char *)words.data);
    attn_buffer_release(&words);
    ATTN_TRY(attn_page_data_create(w->base.options.pool, w->base.sink, &w->data, err));
    for (size_t i = 0; i < w->heads.n; i++) {
        struct attn_page_head *head = &w->heads.items[i];

        attn_page_begin_tensor(w, &head->at, "root8");
        attn_page_key_head(w, head->at.head);
        if (head->block) {
            attn_buffer_append_char(attn_json_value(&w->json), '"');
            ATTN_TRY(write_pending(w, err));
            attn_sink_write(w->base.sink, attn_sink_bytes(head->block, &head->n_byte),
                            head->n_byte);
            attn_buffer_append_char(&w->pending, '"');
            attn_sink_free(head->block);
            head->block = NULL;
        } else {
            attn_page_begin_block(w);
            add_levels(w, head->pooled, head->n_pooled);
            attn_page_end_block(w);
        }
        ATTN_TRY(attn_page_data_finish(w->data, err));
    }
    return ATTN_OK;
}

static enum attn_status end_head(struct attn_page *w, struct attn_page_head *head,
                                 struct attn_error *err)
{
    const bool has_failed = w->low.has_failed;

    add_levels(w, w->low.data, w->low.size);
    w->low.size = 0;
    if (head->pooled)
        ATTN_TRY(keep_block(w, head, err));
    else
        attn_page_end_block(w);
    attn_page_heads_end(&w->heads, head);
    attn_page_heads_choose(&w->heads);
    w->n_row = 0;
    return has_failed ? attn_error_no_memory(err) : ATTN_OK;
}

/* Adds rows of a pattern. */
static enum attn_status take_event(struct attn_page *w, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct attn_page_head *head = attn_page_heads_take(&w->heads, event, place);
    const size_t n = head->n_column;

    for (size_t r = 0; r < event->n_row; r++) {
        const size_t n_seen = attn_page_read_row(event, r, w->row, n);

        if (w->n_row == 0)
            ATTN_TRY(begin_block(w, head, err));
        attn_page_head_take_row(head, w->n_row, w->row, n_seen);
        if (head->pooled)
            attn_page_head_pool(head, w->n_row, event, r);
        put_levels(w, w->row, n, n_seen, attn_page_data_reserve(w->data, n), &w->low);
        if (++w->n_row == head->n_row)
            ATTN_TRY(end_head(w, head, err));
        if (w->data)
            ATTN_TRY(attn_page_data_flush(w->data, err));
    }
    return ATTN_OK;
}

static enum attn_status event_page(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct attn_page *w = (struct attn_page *)writer;

    if (w->figure)
        return attn_writer_event(w->figure, event, err);
    if (event->at.site == ATTN_SITE_PATTERN)
        return take_event(w, event, place, err);
    return attn_page_vectors_take(w, event, place, err);
}

static enum attn_status predictions_page(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err)
{
    struct attn_page *w = (struct attn_page *)writer;

    attn_page_append_predictions(&w->predictions, predictions);
    return attn_buffer_check(&w->predictions, err);
}

/* --- A page that is one figure --------------------------------------------------------------- */

/* Writes FIGURE as a page to SINK. The caller checks SINK for errors. */
static enum attn_status draw_figure(const struct attn_shapes *figure, struct attn_sink *sink,
                                    size_t *n_unknown, struct attn_error *err)
{
    struct attn_sink *svg;
    enum attn_status status;

    ATTN_TRY(attn_sink_create_memory(&svg, err));
    status = attn_figure_svg_write(figure, svg, n_unknown, err);
    ATTN_THEN(status, attn_page_frame_figure(svg, sink, err));
    attn_sink_free(svg);
    return status;
}

/* --- The document ---------------------------------------------------------------------------- */

/* Begins the document with the members that all pages have. */
static void begin_document(struct attn_page *w)
{
    w->json = (struct attn_json_writer){.out = &w->pending, .comma = ",", .colon = ":"};
    attn_json_begin(&w->json, '{');
    attn_json_line(&w->json);
    attn_json_head(&w->json, ATTN_DOCUMENT_PAGE);
    attn_json_text(attn_page_push_key(&w->json, "version"), ATTN_VERSION);
    attn_json_text(attn_page_push_key(&w->json, "theme"),
                   w->base.options.picture->theme == ATTN_THEME_DARK ? "dark" : NULL);
}

/* Ends the document, with the colors of what it has. */
static enum attn_status end_document(struct attn_page *w, struct attn_error *err)
{
    attn_page_push_colors(&w->json, w);
    attn_json_line(&w->json);
    attn_json_end(&w->json);
    attn_buffer_append_char(&w->pending, '\n');
    return write_pending(w, err);
}

/* Draws a page of a table, without heads. */
static enum attn_status draw_table(const struct attn_table *table,
                                   const struct attn_table_picture *drawn,
                                   const struct attn_picture_options *picture,
                                   struct attn_sink *sink, struct attn_error *err)
{
    struct attn_page page = {.base = {.sink = sink, .options = {.picture = picture}}};
    enum attn_status status;

    begin_document(&page);
    status = attn_page_question_init(&page, table, drawn, err);
    ATTN_THEN(status, attn_page_frame_begin(&page, err));
    ATTN_THEN(status, end_document(&page, err));
    ATTN_THEN(status, attn_page_frame_end(&page, err));
    attn_page_question_release(&page.question);
    attn_buffer_release(&page.pending);
    return status;
}

/* --- The format ------------------------------------------------------------------------------ */

/* Returns the picture of the run if all heads are drawn over it; or NULL. */
static const struct attn_backdrop *find_picture(const struct attn_page *w)
{
    const struct attn_labels *labels = &w->base.labels;
    const struct attn_backdrop *backdrop = labels->backdrop ? labels->backdrop : labels->seen;

    for (size_t i = 0; backdrop && i < w->heads.n; i++)
        if (w->heads.items[i].is_encoder ||
            (!backdrop->is_in_text &&
             w->heads.items[i].n_column != backdrop->n_front + backdrop->n_row * backdrop->n_col))
            return NULL;
    return backdrop;
}

static enum attn_status open_page(struct attn_writer *writer, struct attn_error *err)
{
    struct attn_page *w = (struct attn_page *)writer;
    const struct attn_picture_options *picture = writer->options.picture;
    const struct attn_site_set sites = attn_selection_sites(writer->labels.selection);

    begin_document(w);
    if (writer->options.table) {
        ATTN_TRY(
            attn_page_question_init(w, writer->options.table, writer->options.table_picture, err));
    } else if (attn_sites_are_equal(sites, ATTN_SITES(ATTN_SITE_CONTACTS)) ||
               (attn_figure_traits(picture->figure) & ATTN_FIGURE_NO_PAGE) ||
               (picture->figure == ATTN_FIGURE_PATCHES &&
                (picture->n_patch_row > 0 || picture->patches || !writer->labels.backdrop))) {
        ATTN_TRY(attn_sink_create_memory(&w->svg, err));
        return attn_writer_create_sink(attn_format_find("svg"), w->svg, &writer->labels,
                                       &writer->options, &w->figure, err);
    }
    writer->is_in_order = true;
    ATTN_TRY(attn_page_heads_init(&w->heads, writer, err));
    ATTN_TRY(check_selection(w, err));
    w->picture = find_picture(w);
    ATTN_TRY(attn_token_labels_init(w->names, &writer->labels, err));
    ATTN_TRY(ATTN_ALLOC(w->row, w->heads.n_widest, err));
    ATTN_TRY(attn_page_vectors_init(&w->vectors, writer, err));
    if (!w->heads.items[0].pooled)
        ATTN_TRY(attn_page_data_create(writer->options.pool, writer->sink, &w->data, err));
    w->n_byte = w->heads.n_cell <= MOST_WIDE_CELLS ? 2 : 1;
    w->top = w->n_byte == 2 ? 65534 : 254;
    make_title(w);
    ATTN_TRY(attn_buffer_check(w->text.has_failed ? &w->text : &w->heading, err));
    attn_page_push_run(w);
    return attn_page_frame_begin(w, err);
}

/* Returns how well HEAD opens the page: that of the question, else one whose rows are whole, with a
 * source, by its rank (head_mix.h); in an encoder, a source or without a model by `far`. */
static double find_rank(const struct attn_page *w, const struct attn_page_head *head)
{
    const struct attn_picture_options *of = w->base.options.picture;
    struct attn_head_mixes *const *mixes = w->base.options.mixes;
    const bool is_ranked = mixes && mixes[0] && !head->is_encoder && !head->is_source;
    double rank = head->values[ATTN_MEASURE_FAR];
    size_t key;

    if (w->has_question && w->question.head.layer != ATTN_NO_LAYER)
        return attn_location_compare(&head->at, &w->question.head) == 0;
    if (head->is_pooled)
        return -1;
    if (is_ranked) {
        rank = attn_first_head_look(mixes[0], &head->at, &key);
        rank = of->answer
                   ? attn_first_head_of(of->answer, &head->at, rank)
                   : attn_first_head_rank(rank, attn_first_head_effect(of->effects, &head->at));
    }
    return (isnan(rank) ? 0 : rank) + (head->is_source ? MOST_RANK : 0);
}

/* Chooses the head that is shown first: over a picture in the text by its map, now that all parks
 * are known. */
static enum attn_status choose_start(struct attn_page *w, struct attn_error *err)
{
    struct attn_picture_maps *const *maps = w->base.labels.maps;
    const size_t n = w->heads.n;
    struct attn_location *ats;
    enum attn_status status;
    double best = -2;
    size_t n_ranked;

    for (size_t i = 0; i < n; i++) {
        const double rank = find_rank(w, &w->heads.items[i]);

        if (rank > best) {
            best = rank;
            w->start = i;
        }
    }
    if (!w->picture || !maps || !*maps || w->has_question)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(ats, n, err));
    for (size_t i = 0; i < n; i++)
        ats[i] = w->heads.items[i].at;
    status = attn_head_pictures_choose(*maps, ats, n, &w->start, &n_ranked, err);
    attn_free(ats);
    return status;
}

static enum attn_status finish_page(struct attn_writer *writer, struct attn_error *err)
{
    struct attn_page *w = (struct attn_page *)writer;

    if (w->figure) {
        ATTN_TRY(attn_writer_finish(w->figure, err));
        return attn_page_frame_figure(w->svg, writer->sink, err);
    }
    ATTN_TRY(attn_buffer_check(&w->heading, err));
    ATTN_TRY(attn_buffer_check(&w->text, err));
    if (!w->data)
        ATTN_TRY(write_blocks(w, err));
    attn_page_end_tensor(w);
    attn_json_end(&w->json);
    attn_page_heads_type(&w->heads, writer->options.mixes);
    ATTN_TRY(choose_start(w, err));
    if (w->vectors.are_there)
        attn_page_vectors_push(w);
    if (w->picture)
        ATTN_TRY(attn_page_push_picture(w, err));
    attn_page_push_findings(w);
    if (writer->options.picture->live)
        attn_page_push_live(w);
    ATTN_TRY(attn_page_data_finish(w->data, err));
    ATTN_TRY(end_document(w, err));
    return attn_page_frame_end(w, err);
}

static void release_page(struct attn_writer *writer)
{
    struct attn_page *w = (struct attn_page *)writer;

    attn_writer_free(w->figure);
    attn_sink_free(w->svg);
    attn_page_data_free(w->data);
    attn_page_heads_release(&w->heads);
    attn_page_question_release(&w->question);
    attn_token_texts_release(w->names, 2);
    attn_buffer_release(&w->title);
    attn_buffer_release(&w->heading);
    attn_buffer_release(&w->text);
    attn_buffer_release(&w->predictions);
    attn_buffer_release(&w->low);
    attn_buffer_release(&w->pending);
    attn_free(w->vectors.row);
    attn_free(w->row);
}

const struct attn_format attn_html_format = {
    .name = "html",
    .argument = "FILE",
    .help = "write a web page of the patterns of all chosen heads: one file, which any browser "
            "shows without a network",
    .table_help =
        "a web page with this map, all of the table and, of one text, the patterns of its heads",
    .medium = ATTN_MEDIUM_VIEWER,
    .title = "HTML",
    .has_predictions = true,
    .shows_types = true,
    .is_picture = true,
    .joins_stacks = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct attn_page),
            .open = open_page,
            .event = event_page,
            .finish = finish_page,
            .predictions = predictions_page,
            .draw = draw_figure,
            .draw_table = draw_table,
            .release = release_page,
        },
};
