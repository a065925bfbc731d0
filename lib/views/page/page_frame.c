/*
 * page_frame.c - what stands around the document of a page: the title, styles and scripts.
 *
 * The frame is page/viewer.html with its marks replaced: by styles and scripts, which its policy
 * allows by their hashes, and by the document. The WebAssembly module has no frame
 * (page_frame_wasm.c): the page that runs it is one.
 */
#include "page/page_internal.h"
#include "page/page_live.h"

#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "formats/quoting.h"
#include "measures/head_kind.h"

#include <string.h>

/* A file of this folder, embedded in the library (page_files.S). */
struct file {
    const char *begin, *end;
};

/* clang-format off */
#define EMBEDDED(name) extern const char attn_page_##name[], attn_page_##name##_end[];
EMBEDDED(html) EMBEDDED(css) EMBEDDED(shared_js) EMBEDDED(map_js) EMBEDDED(js)
EMBEDDED(policy) EMBEDDED(live_policy) EMBEDDED(more_policy) /* with hashes of the scripts */
EMBEDDED(figure_css) EMBEDDED(figure_policy)
EMBEDDED(question_css) EMBEDDED(question_js) EMBEDDED(examples_css) EMBEDDED(examples_js)
EMBEDDED(atlas_css) EMBEDDED(atlas_js)
EMBEDDED(neurons_css) EMBEDDED(neurons_js)
EMBEDDED(picture_css) EMBEDDED(picture_js)
EMBEDDED(live_css) EMBEDDED(live_js) EMBEDDED(stage_css) EMBEDDED(stage_js)
EMBEDDED(life_css) EMBEDDED(life_js) EMBEDDED(pair_js) EMBEDDED(like_js) EMBEDDED(guess_js)
EMBEDDED(story_js) EMBEDDED(why_js) EMBEDDED(worker_js) EMBEDDED(wasi_js)
#undef EMBEDDED
#define FILE(name) {attn_page_##name, attn_page_##name##_end}

/* What a page may have. */
enum { RUN = 1, TABLE = 2, EXAMPLES = 4, ATLAS = 8, VECTORS = 16, PICTURE = 32, LIVE = 64 };

/* The styles and the scripts, in their order, of a page that has all of `with` and none of
 * `without`. */
static const struct part {
    struct file file;
    unsigned with, without;
} styles[] = {
    {FILE(css), 0, 0}, {FILE(question_css), TABLE, 0}, {FILE(examples_css), EXAMPLES, RUN},
    {FILE(atlas_css), ATLAS, RUN}, {FILE(neurons_css), VECTORS, 0}, {FILE(picture_css), PICTURE, 0},
    {FILE(question_css), LIVE, 0}, {FILE(live_css), LIVE, 0}, {FILE(stage_css), LIVE, 0},
    {FILE(life_css), LIVE, 0}, {FILE(neurons_css), LIVE, 0},
}, scripts[] = {
    {FILE(shared_js), 0, 0}, {FILE(map_js), 0, 0}, {FILE(question_js), RUN | TABLE, 0},
    {FILE(examples_js), EXAMPLES, RUN}, {FILE(atlas_js), ATLAS, RUN}, {FILE(neurons_js), VECTORS, 0},
    {FILE(picture_js), PICTURE, 0}, {FILE(js), RUN, 0}, {FILE(question_js), TABLE, RUN},
    {FILE(question_js), LIVE, 0}, {FILE(neurons_js), LIVE, 0}, {FILE(stage_js), LIVE, 0},
    {FILE(life_js), LIVE, 0}, {FILE(pair_js), LIVE, 0}, {FILE(like_js), LIVE, 0},
    {FILE(guess_js), LIVE, 0}, {FILE(story_js), LIVE, 0}, {FILE(why_js), LIVE, 0},
    {FILE(live_js), LIVE, 0},
};
enum { N_STYLE = sizeof styles / sizeof *styles, N_SCRIPT = sizeof scripts / sizeof *scripts };
/* clang-format on */

static unsigned content_of(const struct attn_page *page)
{
    return (page->heads.n > 0 ? RUN : 0) | (page->has_question ? TABLE : 0) |
           (page->question.has_examples ? EXAMPLES : 0) | (page->question.has_atlas ? ATLAS : 0) |
           (page->vectors.are_there ? VECTORS : 0) | (page->picture ? PICTURE : 0) |
           (page->base.options.picture->live ? LIVE : 0);
}

static void append_file(struct attn_buffer *out, struct file file)
{
    attn_buffer_append(out, file.begin, (size_t)(file.end - file.begin));
}

/* Appends the PARTS [n] that PAGE needs, each in an element TAG. */
static void append_parts(struct attn_buffer *out, const struct attn_page *page, const char *tag,
                         const struct part *parts, size_t n)
{
    const unsigned content = content_of(page);

    for (size_t i = 0; i < n; i++) {
        if ((content & parts[i].with) != parts[i].with || (content & parts[i].without) != 0)
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
    static const struct file usual = FILE(policy), live = FILE(live_policy),
                             more = FILE(more_policy);
    const unsigned content = content_of(page);

    append_file(out, content & LIVE ? live : content & (TABLE | VECTORS | PICTURE) ? more : usual);
}

static void append_version(struct attn_buffer *out, struct attn_page *page)
{
    (void)page;
    attn_buffer_append_string(out, ATTN_VERSION);
}

static void append_styles(struct attn_buffer *out, struct attn_page *page)
{
    append_parts(out, page, "style", styles, N_STYLE);
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
    static const struct file wasi = FILE(wasi_js), worker = FILE(worker_js);

    if (content_of(page) & LIVE) {
        attn_buffer_append_string(out, "<script type=\"text/plain\" id=\"live-worker\">");
        append_file(out, wasi);
        append_file(out, worker);
        attn_buffer_append_string(out, "</script>\n");
    }
    append_parts(out, page, "script", scripts, N_SCRIPT);
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
    status = attn_buffer_check(&out, err);
    if (status == ATTN_OK)
        attn_sink_write(page->base.sink, out.data, out.size);
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
    attn_page_write_text(page->base.sink, "</script>\n");
    if (page->base.options.picture->live)
        ATTN_TRY(attn_page_live_attach(page, err));
    return write_frame(page, err);
}

/* --- A page that is one figure --------------------------------------------------------------- */

enum attn_status attn_page_frame_figure(const struct attn_sink *svg, struct attn_sink *sink,
                                        struct attn_error *err)
{
    static const char opening[] = "<title>";
    static const struct file policy = FILE(figure_policy), css = FILE(figure_css);
    const char *bytes, *begin, *end = NULL;
    size_t n;

    ATTN_TRY(attn_sink_check(svg, err));
    bytes = attn_sink_bytes(svg, &n);
    attn_page_write_text(
        sink, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    attn_sink_write(sink, policy.begin, (size_t)(policy.end - policy.begin));
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
    attn_sink_write(sink, css.begin, (size_t)(css.end - css.begin));
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
    static const struct file html = FILE(html);
    const size_t n = strlen(text);

    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        if (strcmp(attn_head_kind_at(i)->name, text) == 0 ||
            strcmp(attn_head_kind_at(i)->words, text) == 0)
            return true;
    for (size_t i = 0; n > 0 && i <= N_SCRIPT; i++) {
        const struct file file = i < N_SCRIPT ? scripts[i].file : html;
        const char *at = file.begin, *end = file.end - 1;

        while ((at = memmem(at + 1, (size_t)(end - at - 1), text, n)))
            if (strchr(around, at[-1]) && strchr(around, at[n]))
                return true;
    }
    return false;
}
