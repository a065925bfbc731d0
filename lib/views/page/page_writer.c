/*
 * page_writer.c - one self-contained web page that shows the patterns of all selected heads,
 * without network access.
 *
 * The page is page/viewer.html with its marks replaced by styles and scripts, which its policy
 * allows by their hashes, and by the data. The data of a head is written when the head is complete:
 * one block (page_data.c) with one byte per cell, 0 if masked, otherwise 1 + round(254 sqrt(w)). A
 * page with few cells uses two bytes, 1 + round(65534 sqrt(w)): first the high bytes of all cells,
 * then the low bytes. Then come the run (page_run.c), the thumbnails and the script.
 */
#include "page/page_internal.h"
#include "tensors/view.h"
#include "tensors/writer.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "figures/figure_internal.h"
#include "figures/first_head.h"
#include "formats/quoting.h"
#include "pictures/picture_internal.h"
#include "towers/head_pictures.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_WIDE_CELLS = 200000, /* maximum cells of a page with two bytes per cell */
    MOST_TITLE = 120,         /* maximum bytes of the text in a derived title */
};

/* --- Before the data ------------------------------------------------------------------------- */

static enum attn_status check_selection(struct attn_page *w, struct attn_error *err)
{
    const size_t n = w->heads.n_cell, widest = attn_page_heads_largest(&w->heads);
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
    if (is_plain && n > ATTN_PAGE_WHOLE_CELLS && w->heads.n > 1 && widest <= ATTN_PAGE_MOST_CELLS)
        return attn_page_heads_pool(&w->heads, err);
    if (n <= ATTN_PAGE_MOST_CELLS)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "a page of %zu heads would have %s cells, expected %s at most", w->heads.n,
                   attn_quantity_count(n, n_cell), attn_quantity_count(ATTN_PAGE_MOST_CELLS, most));
    return attn_error_hint(err, "choose some with `heads` or `queries`");
}

/* Appends what the page shows: "fable: layer 2, head 5: pattern". */
static void append_what(const struct attn_page *w, struct attn_buffer *out)
{
    const struct attn_labels *labels = &w->base.labels;

    if (labels->model) {
        size_t size;
        const char *model = attn_path_last(labels->model, &size);

        attn_buffer_append(out, model, size);
        attn_buffer_append_string(out, ": ");
    }
    if (w->heads.n == 1) {
        attn_page_head_append_name(out, &w->heads.items[0], labels);
        attn_buffer_append_string(out, ": ");
    }
    attn_buffer_append_string(out, "pattern");
}

/* Returns true if the title is derived from the text. */
static bool is_named_by_text(const struct attn_page *w)
{
    return !w->base.options.picture->title && !w->base.labels.axes && w->text.size > 0;
}

/* Sets the text and the title; the default title is the beginning of the text. */
static void make_title(struct attn_page *w)
{
    const char *given = w->base.options.picture->title;
    size_t n;

    attn_labels_append_text(&w->base.labels, &w->text);
    if (given) {
        attn_buffer_append_string(&w->title, given);
    } else if (is_named_by_text(w)) {
        n = attn_page_fit_text(w->text.data, w->text.size, MOST_TITLE);
        attn_buffer_append(&w->title, w->text.data, n);
        attn_buffer_append_string(&w->title, n < w->text.size ? "\xe2\x80\xa6" : "");
    } else {
        append_what(w, &w->title);
    }
    attn_escape_append(&w->heading, w->title.data, w->title.size);
    w->heading.has_failed |= w->title.has_failed;
}

/* --- The document ---------------------------------------------------------------------------- */

/* Returns true if the page shows heads, alone or below a question. */
static bool has_viewer(const struct attn_page *w)
{
    return w->heads.n > 0;
}

/* Returns the heading of the page: of its question, or else of its run. */
static const struct attn_buffer *heading_of(const struct attn_page *w)
{
    return w->has_question ? &w->question.title : &w->heading;
}

static void append_title(struct attn_page *w, struct attn_buffer *out)
{
    const struct attn_buffer *heading = heading_of(w);

    if (heading->size > 0)
        attn_markup_append(out, heading->data, heading->size, true);
    else
        attn_buffer_append_string(out, "attention");
}

static void append_heading(struct attn_page *w, struct attn_buffer *out)
{
    const struct attn_buffer *heading = heading_of(w);

    if (heading->size == 0)
        return;
    attn_buffer_append_string(out, "<h1><bdi>");
    attn_markup_append(out, heading->data, heading->size, true);
    attn_buffer_append_string(out, "</bdi></h1>\n");
}

static void append_theme(struct attn_page *w, struct attn_buffer *out)
{
    if (w->base.options.picture->theme == ATTN_THEME_DARK)
        attn_buffer_append_string(out, " data-theme=\"dark\"");
}

/* --- The document with a question ----------------------------------------------------------- */

static void append_file(struct attn_buffer *out, struct attn_page_file file)
{
    attn_buffer_append(out, file.begin, (size_t)(file.end - file.begin));
}

static void append_policy(struct attn_page *w, struct attn_buffer *out)
{
    if (w->base.options.picture->live)
        append_file(out, ATTN_PAGE_FILE(live_policy));
    else if (w->has_question || w->vectors.are_there || w->picture)
        append_file(out, ATTN_PAGE_FILE(more_policy));
    else
        append_file(out, ATTN_PAGE_FILE(policy));
}

static bool has_examples(const struct attn_page *w)
{
    return w->question.examples.size > 0 && !has_viewer(w);
}

static bool has_atlas(const struct attn_page *w)
{
    return w->question.atlas.size > 0 && !has_viewer(w);
}

static void append_styles(struct attn_page *w, struct attn_buffer *out)
{
    if (w->has_question)
        attn_page_append_element(out, "style", ATTN_PAGE_FILE(question_css));
    if (has_examples(w))
        attn_page_append_element(out, "style", ATTN_PAGE_FILE(examples_css));
    if (has_atlas(w))
        attn_page_append_element(out, "style", ATTN_PAGE_FILE(atlas_css));
    if (w->vectors.are_there)
        attn_page_append_element(out, "style", ATTN_PAGE_FILE(neurons_css));
    if (w->picture)
        attn_page_append_element(out, "style", ATTN_PAGE_FILE(picture_css));
}

/* Appends the section of the question. Without heads, skips their part of the document. */
static void append_question(struct attn_page *w, struct attn_buffer *out)
{
    static const char next[] = "@DATA@";

    if (has_examples(w))
        attn_buffer_append_string(out, "<section id=\"examples\" hidden></section>\n");
    if (has_atlas(w))
        attn_buffer_append_string(out, "<section id=\"atlas\" hidden></section>\n");
    if (w->has_question)
        attn_buffer_append_format(out, "<section id=\"question\"%s hidden></section>\n",
                                  has_viewer(w) ? "" : " class=\"alone\"");
    if (!has_viewer(w))
        w->rest = memmem(w->rest, (size_t)(attn_page_html_end - w->rest), next, sizeof next - 1);
}

/* Appends the scripts that precede the one of the viewer. */
static void append_scripts(struct attn_page *w, struct attn_buffer *out)
{
    if (w->has_question && has_viewer(w))
        attn_page_append_element(out, "script", ATTN_PAGE_FILE(question_js));
    if (has_examples(w))
        attn_page_append_element(out, "script", ATTN_PAGE_FILE(examples_js));
    if (has_atlas(w))
        attn_page_append_element(out, "script", ATTN_PAGE_FILE(atlas_js));
    if (w->vectors.are_there)
        attn_page_append_element(out, "script", ATTN_PAGE_FILE(neurons_js));
    if (w->picture)
        attn_page_append_element(out, "script", ATTN_PAGE_FILE(picture_js));
}

static void append_script(struct attn_page *w, struct attn_buffer *out)
{
    append_file(out, has_viewer(w) ? ATTN_PAGE_FILE(js) : ATTN_PAGE_FILE(question_js));
}

/* Appends what a browser without scripts shows: the figure and the table of a question; of a run
 * the command that draws it. */
static void append_static(struct attn_page *w, struct attn_buffer *out)
{
    attn_buffer_append(out, w->question.view.data, w->question.view.size);
    if (has_viewer(w))
        attn_buffer_append_format(out,
                                  "<p>A script shows the weights. Without scripts, <code>attn-cli "
                                  "%s --svg FILE</code> draws them as a picture.</p>\n",
                                  w->base.labels.axes ? "attend" : "run");
}

static void append_live(struct attn_page *w, struct attn_buffer *out)
{
    if (w->base.options.picture->live)
        attn_page_live_append_scripts(out);
}

static const char version[] = ATTN_VERSION;

/* The replacement of a mark: a function, or bytes. A mark with neither makes write_document
 * stop. */
static const struct mark {
    const char *name;
    void (*append)(struct attn_page *w, struct attn_buffer *out);
    const char *begin, *end;
} marks[] = {
    {"@THEME@", append_theme, NULL, NULL},
    {"@POLICY@", append_policy, NULL, NULL},
    {"@VERSION@", NULL, version, version + sizeof version - 1},
    {"@TITLE@", append_title, NULL, NULL},
    {"@STYLE@", NULL, attn_page_css, attn_page_css_end},
    {"@STYLES@", append_styles, NULL, NULL},
    {"@QUESTION@", append_question, NULL, NULL},
    {"@HEADING@", append_heading, NULL, NULL},
    {"@DATA@", NULL, NULL, NULL},
    {"@STATIC@", append_static, NULL, NULL},
    {"@SHARED@", NULL, attn_page_shared_js, attn_page_shared_js_end},
    {"@MAP@", NULL, attn_page_map_js, attn_page_map_js_end},
    {"@SCRIPTS@", append_scripts, NULL, NULL},
    {"@SCRIPT@", append_script, NULL, NULL},
    {"@LIVE@", append_live, NULL, NULL},
};

/* Writes the document up to the next mark at which it stops, or to its end. */
static enum attn_status write_document(struct attn_page *w, struct attn_error *err)
{
    struct attn_buffer out = {0};
    enum attn_status status;

    for (bool is_going_on = true; is_going_on && w->rest < attn_page_html_end;) {
        const char *at = memchr(w->rest, '@', (size_t)(attn_page_html_end - w->rest));
        const struct mark *mark = NULL;

        for (size_t i = 0; at && !mark && i < sizeof marks / sizeof *marks; i++)
            if (strncmp(at, marks[i].name, strlen(marks[i].name)) == 0)
                mark = &marks[i];
        attn_buffer_append(&out, w->rest, (size_t)((at ? at : attn_page_html_end) - w->rest));
        w->rest = !at ? attn_page_html_end : at + (mark ? strlen(mark->name) : 1);
        if (mark && mark->append)
            mark->append(w, &out);
        else if (mark && mark->begin)
            attn_buffer_append(&out, mark->begin, (size_t)(mark->end - mark->begin));
        else if (at && !mark)
            attn_buffer_append_char(&out, '@');
        is_going_on = !mark || mark->append || mark->begin;
    }
    status = attn_buffer_check(&out, err);
    if (status == ATTN_OK)
        attn_sink_write(w->base.sink, out.data, out.size);
    attn_buffer_release(&out);
    return status;
}

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

/* Appends BYTES to the open block, and empties BYTES. */
static void move_bytes(struct attn_page *w, struct attn_buffer *bytes)
{
    unsigned char *to = bytes->size > 0 ? attn_page_data_reserve(w->data, bytes->size) : NULL;

    if (to)
        memcpy(to, bytes->data, bytes->size);
    bytes->size = 0;
}

/* Returns how well HEAD opens the page (first_head.h); its measure `far` in an encoder, a source or
 * without a model. */
static double find_rank(const struct attn_page *w, const struct attn_page_head *head)
{
    struct attn_head_mixes *const *mixes = w->base.options.mixes;
    double look;
    size_t key;

    return mixes && mixes[0] && !head->is_encoder && !head->is_source
               ? attn_first_head_rank_of(w->base.options.picture, mixes[0], &head->at, &look, &key)
               : head->values[ATTN_MEASURE_FAR];
}

/* Returns true if HEAD should be shown first rather than OTHER: the head of the question;
 * otherwise a head with a source, or the one that opens better. */
static bool is_better(const struct attn_page *w, const struct attn_page_head *head,
                      const struct attn_page_head *other)
{
    const struct attn_page_question *found = &w->question;

    if (w->has_question && found->head.layer != ATTN_NO_LAYER)
        return attn_location_compare(&head->at, &found->head) == 0;
    if (head->is_pooled)
        return false;
    return head->is_source != other->is_source ? head->is_source
                                               : find_rank(w, head) > find_rank(w, other);
}

/* Begins the block of HEAD, in memory if it may be left out. */
static enum attn_status begin_block(struct attn_page *w, struct attn_page_head *head,
                                    struct attn_error *err)
{
    if (head->pooled) {
        ATTN_TRY(attn_sink_create_memory(&head->block, err));
        ATTN_TRY(attn_page_data_create(w->base.options.pool, head->block, &w->data, err));
    }
    attn_page_data_begin(w->data, head->id);
    return ATTN_OK;
}

/* Ends the block of HEAD, which begin_block began in memory, and leaves blocks out. */
static enum attn_status keep_block(struct attn_page *w, struct attn_page_head *head,
                                   struct attn_error *err)
{
    ATTN_TRY(attn_page_data_finish(w->data, err));
    ATTN_TRY(attn_sink_check(head->block, err));
    attn_page_data_free(w->data);
    w->data = NULL;
    attn_sink_bytes(head->block, &head->n_byte);
    return ATTN_OK;
}

/* Writes the blocks of all heads, whole or pooled, and notes how many are pooled. The page begins
 * with a whole one. */
static enum attn_status write_blocks(struct attn_page *w, struct attn_error *err)
{
    struct attn_buffer words = {0};

    for (size_t i = 0; i < w->heads.n; i++)
        if (!w->heads.items[i].is_pooled &&
            (w->heads.items[w->start].is_pooled ||
             is_better(w, &w->heads.items[i], &w->heads.items[w->start])))
            w->start = i;
    attn_page_heads_append_pooled(&w->heads, &words);
    if (words.size > 0 && !words.has_failed)
        attn_note(w->base.options.on_note, w->base.options.user, ATTN_NOTE_PAGE_OMITS,
                  "the page is large: %.*s; `layers` and `heads` choose others", (int)words.size,
                  (const char *)words.data);
    attn_buffer_release(&words);
    ATTN_TRY(attn_page_data_create(w->base.options.pool, w->base.sink, &w->data, err));
    for (size_t i = 0; i < w->heads.n; i++) {
        struct attn_page_head *head = &w->heads.items[i];
        unsigned char *levels;

        if (head->block) {
            attn_sink_write(w->base.sink, attn_sink_bytes(head->block, &head->n_byte),
                            head->n_byte);
            attn_sink_free(head->block);
            head->block = NULL;
            continue;
        }
        attn_page_data_begin(w->data, head->id);
        levels = attn_page_data_reserve(w->data, head->n_pooled);
        if (levels)
            memcpy(levels, head->pooled, head->n_pooled);
        attn_page_data_end(w->data);
        ATTN_TRY(attn_page_data_finish(w->data, err));
    }
    return ATTN_OK;
}

static enum attn_status end_head(struct attn_page *w, struct attn_page_head *head,
                                 struct attn_error *err)
{
    const size_t i = (size_t)(head - w->heads.items);
    const bool has_failed = w->low.has_failed;

    move_bytes(w, &w->low);
    attn_page_data_end(w->data);
    if (head->pooled)
        ATTN_TRY(keep_block(w, head, err));
    attn_page_heads_end(&w->heads, head);
    attn_page_heads_choose(&w->heads);
    if (i == 0 || is_better(w, head, &w->heads.items[w->start]))
        w->start = i;
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

/* Writes a page that contains one figure as SVG, without scripts, under the title of the figure. */
static enum attn_status write_figure(const struct attn_sink *svg, struct attn_sink *sink,
                                     struct attn_error *err)
{
    static const char opening[] = "<title>";
    const char *bytes, *begin, *end = NULL;
    size_t n;

    ATTN_TRY(attn_sink_check(svg, err));
    bytes = attn_sink_bytes(svg, &n);
    attn_page_write_text(
        sink, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    attn_page_write_file(sink, ATTN_PAGE_FILE(figure_policy));
    attn_page_write_text(
        sink, " img-src data:; base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"generator\" content=\"attn-cli " ATTN_VERSION "\">\n<title>");
    begin = memmem(bytes, n, opening, sizeof opening - 1);
    if (begin) {
        begin += sizeof opening - 1;
        end = memchr(begin, '<', n - (size_t)(begin - bytes));
    }
    if (end && end > begin)
        attn_sink_write(sink, begin, (size_t)(end - begin));
    else
        attn_page_write_text(sink, "attention");
    attn_page_write_text(sink, "</title>\n<style>");
    attn_page_write_file(sink, ATTN_PAGE_FILE(figure_css));
    attn_page_write_text(sink, "</style>\n</head>\n<body>\n");
    attn_sink_write(sink, bytes, n);
    attn_page_write_text(sink, "</body>\n</html>\n");
    return ATTN_OK;
}

/* Writes FIGURE as a page to SINK. The caller checks SINK for errors. */
static enum attn_status draw_figure(const struct attn_shapes *figure, struct attn_sink *sink,
                                    size_t *n_unknown, struct attn_error *err)
{
    struct attn_sink *svg;
    enum attn_status status;

    ATTN_TRY(attn_sink_create_memory(&svg, err));
    status = attn_figure_svg_write(figure, svg, n_unknown, err);
    if (status == ATTN_OK)
        status = write_figure(svg, sink, err);
    attn_sink_free(svg);
    return status;
}

/* --- A page of a table ----------------------------------------------------------------------- */

/* Writes a whole page without heads. */
static enum attn_status write_question(struct attn_page *w, struct attn_error *err)
{
    w->rest = attn_page_html;
    ATTN_TRY(write_document(w, err));
    attn_page_write_json(w->base.sink, "question-data", &w->question.json);
    if (has_examples(w))
        attn_page_write_json(w->base.sink, "examples-data", &w->question.examples);
    if (has_atlas(w))
        attn_page_write_json(w->base.sink, "atlas-data", &w->question.atlas);
    return write_document(w, err);
}

static enum attn_status draw_table(const struct attn_table *table,
                                   const struct attn_table_picture *drawn,
                                   const struct attn_picture_options *picture,
                                   struct attn_sink *sink, struct attn_error *err)
{
    struct attn_page page = {.base = {.sink = sink, .options = {.picture = picture}},
                             .has_question = true};
    enum attn_status status = attn_page_question_init(&page.question, table, drawn, picture, err);

    if (status == ATTN_OK)
        status = write_question(&page, err);
    attn_page_question_release(&page.question);
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
    size_t widest = 0;

    if (writer->options.table) {
        ATTN_TRY(attn_page_question_init(&w->question, writer->options.table,
                                         writer->options.table_picture, writer->options.picture,
                                         err));
        w->has_question = true;
    } else if (attn_sites_are_equal(sites, ATTN_SITES(ATTN_SITE_CONTACTS)) ||
               (attn_figure_traits(picture->figure) & ATTN_FIGURE_NO_PAGE) ||
               (picture->figure == ATTN_FIGURE_PATCHES &&
                (picture->n_patch_row > 0 || picture->patches || !writer->labels.backdrop))) {
        ATTN_TRY(attn_sink_create_memory(&w->svg, err));
        return attn_writer_create_sink(attn_format_find("svg"), w->svg, &writer->labels,
                                       &writer->options, &w->figure, err);
    }
    writer->is_in_order = true;
    w->rest = attn_page_html;
    ATTN_TRY(attn_page_heads_init(&w->heads, writer, err));
    ATTN_TRY(check_selection(w, err));
    w->picture = find_picture(w);
    ATTN_TRY(attn_token_texts_init(w->texts, &writer->labels, err));
    ATTN_TRY(attn_token_labels_init(w->names, &writer->labels, err));
    for (size_t i = 0; i < w->heads.n; i++)
        widest = w->heads.items[i].n_column > widest ? w->heads.items[i].n_column : widest;
    ATTN_TRY(ATTN_ALLOC(w->row, widest, err));
    ATTN_TRY(attn_page_vectors_init(&w->vectors, writer, err));
    if (!w->heads.items[0].pooled)
        ATTN_TRY(attn_page_data_create(writer->options.pool, writer->sink, &w->data, err));
    w->n_byte = w->heads.n_cell <= MOST_WIDE_CELLS ? 2 : 1;
    w->top = w->n_byte == 2 ? 65534 : 254;
    make_title(w);
    ATTN_TRY(attn_buffer_check(w->text.has_failed ? &w->text : &w->heading, err));
    return write_document(w, err);
}

/* Chooses the head that is shown first again, now that all parks are known. */
static void choose_look(struct attn_page *w)
{
    for (size_t i = 0; i < w->heads.n; i++)
        if (!w->heads.items[i].is_pooled &&
            is_better(w, &w->heads.items[i], &w->heads.items[w->start]))
            w->start = i;
}

/* Shows first the head that is ranked first by its map over the picture in the text. */
static enum attn_status choose_start(struct attn_page *w, struct attn_error *err)
{
    struct attn_picture_maps *const *maps = w->base.labels.maps;
    const size_t n = w->heads.n;
    struct attn_location *ats;
    enum attn_status status;
    size_t n_ranked;

    if (!w->picture)
        choose_look(w);
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
        return write_figure(w->svg, writer->sink, err);
    }
    ATTN_TRY(attn_buffer_check(&w->heading, err));
    ATTN_TRY(attn_buffer_check(&w->text, err));
    if (!w->data)
        ATTN_TRY(write_blocks(w, err));
    attn_page_data_begin(w->data, "thumbs-data");
    for (size_t i = 0; i < w->heads.n; i++) {
        const struct attn_page_head *head = &w->heads.items[i];
        const size_t n = head->n_plane * head->n_thumb_row * head->n_thumb_col;
        unsigned char *out = attn_page_data_reserve(w->data, n);

        if (out)
            memcpy(out, head->thumb, n);
    }
    attn_page_data_end(w->data);
    attn_page_maps_add(w);
    attn_page_heads_type(&w->heads, writer->options.mixes);
    ATTN_TRY(choose_start(w, err));
    ATTN_TRY(attn_page_data_finish(w->data, err));
    if (w->has_question)
        attn_page_write_json(writer->sink, "question-data", &w->question.json);
    ATTN_TRY(attn_page_vectors_write(w, err));
    if (w->picture)
        ATTN_TRY(attn_page_picture_write(w, err));
    ATTN_TRY(attn_page_run_write(w, err));
    if (writer->options.picture->live)
        ATTN_TRY(attn_page_live_write(w, err));
    return write_document(w, err);
}

static void release_page(struct attn_writer *writer)
{
    struct attn_page *w = (struct attn_page *)writer;

    attn_writer_free(w->figure);
    attn_sink_free(w->svg);
    attn_page_data_free(w->data);
    attn_page_heads_release(&w->heads);
    attn_page_question_release(&w->question);
    attn_token_texts_release(w->texts, 2);
    attn_token_texts_release(w->names, 2);
    attn_buffer_release(&w->title);
    attn_buffer_release(&w->heading);
    attn_buffer_release(&w->text);
    attn_buffer_release(&w->predictions);
    attn_buffer_release(&w->low);
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
