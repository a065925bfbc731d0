/*
 * page_frame.c - what stands around the document of a page: the title, styles and scripts.
 *
 * The frame is page/viewer.html with its marks replaced: by styles and scripts, which its policy
 * allows by their hashes, and by the document. The WebAssembly module has no frame
 * (page_frame_wasm.c): the page that runs it is one.
 */
#include "page/page_internal.h"

#include "base/sink_internal.h"
#include "base/version.h"
#include "formats/quoting.h"
#include "measures/head_kind.h"

#include <string.h>

/* A file of this folder, embedded in the library (page_files.S). */
struct file {
    const char *begin, *end;
};

/* What a page may have. */
/* clang-format off */
enum { RUN = 1, TABLE = 2, EXAMPLES = 4, ATLAS = 8, VECTORS = 16, PICTURE = 32, LIVE = 64 };
enum { ANSWER = 128 };
enum { ALL = RUN | TABLE | EXAMPLES | ATLAS | VECTORS | PICTURE | LIVE };

/* X(FILE, TAG, ANY, WITHOUT): the styles and the scripts, in their order, of a page that has any of
 * ANY and none of WITHOUT. */
#define PARTS(X)                                                                                   \
    X(css, "style", ALL, 0) X(question_css, "style", TABLE | LIVE, 0)                              \
    X(examples_css, "style", EXAMPLES, RUN) X(atlas_css, "style", ATLAS, RUN)                      \
    X(neurons_css, "style", VECTORS | LIVE, 0) X(picture_css, "style", PICTURE, 0)                 \
    X(live_css, "style", LIVE, 0) X(stage_css, "style", LIVE, 0) X(life_css, "style", LIVE, 0)     \
    X(shared_js, "script", ALL, 0) X(map_js, "script", ALL, 0)                                     \
    X(question_js, "script", TABLE | LIVE, 0) X(examples_js, "script", EXAMPLES, RUN)              \
    X(atlas_js, "script", ATLAS, RUN) X(neurons_js, "script", VECTORS | LIVE, 0)                   \
    X(picture_js, "script", PICTURE, 0) X(look_js, "script", ANSWER | LIVE, 0)                   \
    X(js, "script", RUN, 0) X(stage_js, "script", LIVE, 0) X(life_js, "script", LIVE, 0)           \
    X(pair_js, "script", LIVE, 0) X(like_js, "script", LIVE, 0) X(guess_js, "script", LIVE, 0)     \
    X(story_js, "script", LIVE, 0) X(why_js, "script", LIVE, 0) X(live_js, "script", LIVE, 0)
#define DECLARE(name, tag, any, without)                                                           \
    extern const char attn_page_##name[], attn_page_##name##_end[];
#define ROW(name, tag, any, without)                                                               \
    {tag, {attn_page_##name, attn_page_##name##_end}, any, without},
#define FILE(name) ((struct file){attn_page_##name, attn_page_##name##_end})
PARTS(DECLARE) DECLARE(html,,,) DECLARE(worker_js,,,) DECLARE(wasi_js,,,) DECLARE(figure_css,,,)
DECLARE(policy,,,) DECLARE(live_policy,,,) DECLARE(more_policy,,,) DECLARE(figure_policy,,,)

static const struct part {
    const char *tag;
    struct file file;
    unsigned any, without;
} parts[] = {PARTS(ROW)};
enum { N_PART = sizeof parts / sizeof *parts };
/* clang-format on */

static unsigned content_of(const struct attn_page *page)
{
    return (page->heads.n > 0 ? RUN : 0) | (page->has_question ? TABLE : 0) |
           (page->question.has_examples ? EXAMPLES : 0) | (page->question.has_atlas ? ATLAS : 0) |
           (page->vectors.are_there ? VECTORS : 0) | (page->picture ? PICTURE : 0) |
           (page->base.options.picture->live ? LIVE : 0) |
           (page->base.options.picture->opening ? ANSWER : 0);
}

static void append_file(struct attn_buffer *out, struct file file)
{
    attn_buffer_append(out, file.begin, (size_t)(file.end - file.begin));
}

static void write_file(struct attn_sink *sink, struct file file)
{
    attn_sink_write(sink, file.begin, (size_t)(file.end - file.begin));
}

/* Appends the parts with TAG that PAGE needs, each in an element. */
static void append_parts(struct attn_buffer *out, const struct attn_page *page, const char *tag)
{
    const unsigned content = content_of(page);

    for (size_t i = 0; i < N_PART; i++) {
        if ((content & parts[i].any) == 0 || (content & parts[i].without) != 0 ||
            strcmp(parts[i].tag, tag) != 0)
            continue;
        attn_buffer_append_format(out, "<%s>", tag);
        append_file(out, parts[i].file);
        attn_buffer_append_format(out, "</%s>\n", tag);
    }
}

/* --- The marks ------------------------------------------------------------------------------- */

/* Returns the heading of the page: of its question, or else of its run. */
static const struct attn_buffer *heading_of(const struct attn_page *page)
{
    return page->has_question ? &page->question.title : &page->heading;
}

static void append_title(struct attn_buffer *out, struct attn_page *page)
{
    const struct attn_buffer *heading = heading_of(page);

    if (heading->size > 0)
        attn_markup_append(out, heading->data, heading->size, true);
    else
        attn_buffer_append_string(out, "attention");
}

static void append_heading(struct attn_buffer *out, struct attn_page *page)
{
    if (heading_of(page)->size == 0)
        return;
    attn_buffer_append_string(out, "<h1><bdi>");
    append_title(out, page);
    attn_buffer_append_string(out, "</bdi></h1>\n");
}

static void append_theme(struct attn_buffer *out, struct attn_page *page)
{
    if (page->base.options.picture->theme == ATTN_THEME_DARK)
        attn_buffer_append_string(out, " data-theme=\"dark\"");
}

static void append_policy(struct attn_buffer *out, struct attn_page *page)
{
    const unsigned content = content_of(page);

    append_file(out, content & LIVE                          ? FILE(live_policy)
                     : content & (TABLE | VECTORS | PICTURE) ? FILE(more_policy)
                                                             : FILE(policy));
}

static void append_version(struct attn_buffer *out, struct attn_page *page)
{
    (void)page;
    attn_buffer_append_string(out, ATTN_VERSION);
}

static void append_styles(struct attn_buffer *out, struct attn_page *page)
{
    append_parts(out, page, "style");
}

/* Appends the sections of a table. Without heads, skips their part of the frame. */
static void append_sections(struct attn_buffer *out, struct attn_page *page)
{
    static const char next[] = "<script";
    const unsigned content = content_of(page);

    if (content & EXAMPLES && !(content & RUN))
        attn_buffer_append_string(out, "<section id=\"examples\" hidden></section>\n");
    if (content & ATLAS && !(content & RUN))
        attn_buffer_append_string(out, "<section id=\"atlas\" hidden></section>\n");
    if (content & TABLE)
        attn_buffer_append_format(out, "<section id=\"question\"%s hidden></section>\n",
                                  content & RUN ? "" : " class=\"alone\"");
    if (!(content & RUN))
        page->rest =
            memmem(page->rest, (size_t)(attn_page_html_end - page->rest), next, sizeof next - 1);
}

/* Appends what a browser without scripts shows: the figure and the table of a question; of a run
 * the command that draws it. */
static void append_static(struct attn_buffer *out, struct attn_page *page)
{
    attn_buffer_append(out, page->question.view.data, page->question.view.size);
    if (page->heads.n > 0)
        attn_buffer_append_format(out,
                                  "<p>A script shows the weights. Without scripts, <code>attn-cli "
                                  "%s --svg FILE</code> draws them as a picture.</p>\n",
                                  page->base.labels.axes ? "attend" : "run");
}

/* Appends the scripts; that of the worker of a live page is text, which another script starts. */
static void append_scripts(struct attn_buffer *out, struct attn_page *page)
{
    if (content_of(page) & LIVE) {
        attn_buffer_append_string(out, "<script type=\"text/plain\" id=\"live-worker\">");
        append_file(out, FILE(wasi_js));
        append_file(out, FILE(worker_js));
        attn_buffer_append_string(out, "</script>\n");
    }
    append_parts(out, page, "script");
}

/* The document is written between the two parts of the frame. */
static const struct mark {
    const char *name;
    void (*append)(struct attn_buffer *out, struct attn_page *page);
} marks[] = {
    {"@THEME@", append_theme},       {"@POLICY@", append_policy}, {"@VERSION@", append_version},
    {"@TITLE@", append_title},       {"@STYLES@", append_styles}, {"@HEADING@", append_heading},
    {"@SECTIONS@", append_sections}, {"@DOCUMENT@", NULL},        {"@STATIC@", append_static},
    {"@SCRIPTS@", append_scripts},
};

/* Writes the frame from page->rest up to the document, or to its end. */
static enum attn_status write_frame(struct attn_page *page, struct attn_error *err)
{
    const char *const end = attn_page_html_end;
    const struct mark *mark = marks;
    struct attn_buffer out = {0};
    enum attn_status status;

    while (mark && mark->append && page->rest < end) {
        const char *at = memchr(page->rest, '@', (size_t)(end - page->rest));

        mark = NULL;
        for (size_t i = 0; at && !mark && i < sizeof marks / sizeof *marks; i++)
            if (strncmp(at, marks[i].name, strlen(marks[i].name)) == 0)
                mark = &marks[i];
        attn_buffer_append(&out, page->rest, (size_t)((mark ? at : end) - page->rest));
        page->rest = mark ? at + strlen(mark->name) : end;
        if (mark && mark->append)
            mark->append(&out, page);
    }
    status = attn_sink_write_buffer(page->base.sink, &out, err);
    attn_buffer_release(&out);
    return status;
}

bool attn_page_has_frame(void)
{
    return true;
}

enum attn_status attn_page_frame_begin(struct attn_page *page, struct attn_error *err)
{
    page->rest = attn_page_html;
    return write_frame(page, err);
}

enum attn_status attn_page_frame_end(struct attn_page *page, struct attn_error *err)
{
    const struct attn_sink *opening = page->base.options.picture->opening;
    size_t n = 0;
    const void *bytes = opening ? attn_sink_bytes(opening, &n) : NULL;

    attn_page_write_text(page->base.sink, "</script>\n");
    if (page->base.options.picture->live)
        ATTN_TRY(attn_page_live_attach(page, err));
    if (bytes && page->data)
        ATTN_TRY(attn_page_data_add(page->data, "answer-svg", bytes, n, err));
    return write_frame(page, err);
}

/* --- A page that is one figure --------------------------------------------------------------- */

enum attn_status attn_page_frame_figure(const struct attn_sink *svg, struct attn_sink *sink,
                                        struct attn_error *err)
{
    static const char usual[] = "<title>attention<";
    const char *bytes, *title, *end;
    size_t n;

    ATTN_TRY(attn_sink_check(svg, err));
    bytes = attn_sink_bytes(svg, &n);
    title = memmem(bytes, n, usual, strlen("<title>"));
    title = title && title[strlen("<title>")] != '<' ? title : usual;
    end = strchr(title + 1, '<');
    attn_page_write_text(
        sink, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    write_file(sink, FILE(figure_policy));
    attn_page_write_text(
        sink, " img-src data:; base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"generator\" content=\"attn-cli " ATTN_VERSION "\">\n");
    attn_sink_write(sink, title, (size_t)(end - title));
    attn_page_write_text(sink, "</title>\n<style>");
    write_file(sink, FILE(figure_css));
    attn_page_write_text(sink, "</style>\n</head>\n<body>\n");
    attn_sink_write(sink, bytes, n);
    attn_page_write_text(sink, "</body>\n</html>\n");
    return ATTN_OK;
}

/* --- Translations ---------------------------------------------------------------------------- */

bool attn_page_live_has_text(const char *text)
{
    /* a text of the page is enclosed in two of these characters */
    static const char around[] = "'\"\140<> ";
    const size_t n = strlen(text);

    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        if (strcmp(attn_head_kind_at(i)->name, text) == 0 ||
            strcmp(attn_head_kind_at(i)->words, text) == 0)
            return true;
    for (size_t i = 0; n > 0 && i <= N_PART; i++) {
        const struct file file = i < N_PART ? parts[i].file : FILE(html);
        const char *at = file.begin, *end = file.end - 1;

        while ((at = memmem(at + 1, (size_t)(end - at - 1), text, n)))
            if (strchr(around, at[-1]) && strchr(around, at[n]))
                return true;
    }
    return false;
}
