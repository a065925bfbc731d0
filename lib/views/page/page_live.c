/* page_live.c - see page_internal.h. */
#include "page/page_live.h"
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/json_writer.h"
#include "tables/table_internal.h"

#include <stdio.h>
#include <string.h>

void attn_page_live_append_scripts(struct attn_buffer *out)
{
    attn_buffer_append_char(out, '\n');
    attn_page_append_element(out, "style", ATTN_PAGE_FILE(question_css));
    attn_page_append_element(out, "style", ATTN_PAGE_FILE(live_css));
    attn_page_append_element(out, "style", ATTN_PAGE_FILE(stage_css));
    attn_page_append_element(out, "style", ATTN_PAGE_FILE(life_css));
    attn_page_append_element(out, "style", ATTN_PAGE_FILE(neurons_css));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(question_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(neurons_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(stage_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(life_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(pair_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(like_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(guess_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(story_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(why_js));
    attn_page_append_element(out, "script", ATTN_PAGE_FILE(live_js));
}

static void append_options(struct attn_json_writer *json, const struct attn_option *options,
                           size_t n)
{
    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        attn_json_begin(json, '[');
        attn_json_text(json, options[i].name);
        attn_json_text(json, options[i].value);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Appends how the next token changes without each head: {"2.5": 0.1457}, KL in nats. */
static void append_effects(struct attn_json_writer *json, const struct attn_table *effects)
{
    const size_t layer = attn_table_find(effects, "layer"), head = attn_table_find(effects, "head");
    const size_t kl = attn_table_find(effects, "kl");

    attn_json_begin(json, '{');
    for (size_t i = 0; i < attn_table_n_row(effects); i++) {
        const struct attn_cell number = attn_table_cell(effects, i, head);
        char name[ATTN_PAGE_ID_SIZE];

        if (number.type != ATTN_VALUE_INTEGER)
            continue; /* the unchanged run */
        snprintf(name, sizeof name, "%lld.%lld",
                 (long long)attn_table_cell(effects, i, layer).integer, (long long)number.integer);
        attn_json_float(attn_json_key(json, name), (float)attn_table_cell(effects, i, kl).real, 4);
    }
    attn_json_end(json);
}

/* Appends the input of the tool: model, files, texts, options of the run, size of the picture. */
static void append_live(struct attn_buffer *out, const struct attn_page *page)
{
    const struct attn_live *live = page->base.options.picture->live;
    const struct attn_labels *labels = &page->base.labels;
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    attn_json_text(attn_json_key(&json, "model"), live->model);
    attn_json_text(attn_json_key(&json, "given"), live->given);
    attn_json_string(attn_json_key(&json, "text"), labels->text, labels->n_text);
    attn_json_string(attn_json_key(&json, "pair"), labels->pair, labels->n_pair);
    attn_json_begin(attn_json_key(&json, "files"), '[');
    for (size_t i = 0; i < live->n_file; i++)
        attn_json_text(&json, live->files[i].name);
    attn_json_end(&json);
    attn_json_size(attn_json_key(&json, "bytes"), (size_t)live->n_byte);
    append_options(attn_json_key(&json, "options"), labels->options, labels->n_option);
    append_options(attn_json_key(&json, "reading"), live->reading, live->n_reading);
    attn_json_begin(attn_json_key(&json, "extras"), '[');
    for (size_t i = 0; i < live->n_extra; i++) {
        attn_json_begin(&json, '[');
        attn_json_text(&json, live->extras[i].name);
        attn_json_size(&json, live->extras[i].height);
        attn_json_size(&json, live->extras[i].width);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    if (page->base.options.picture->effects)
        append_effects(attn_json_key(&json, "effects"), page->base.options.picture->effects);
    if (live->rgb) {
        attn_json_size(attn_json_key(&json, "height"), live->height);
        attn_json_size(attn_json_key(&json, "width"), live->width);
    }
    attn_json_end(&json);
}

/* Writes the worker script as plain text; the script of the page starts it, not the browser. */
static void write_worker(struct attn_sink *sink)
{
    attn_page_write_text(sink, "<script type=\"text/plain\" id=\"live-worker\">");
    attn_page_write_file(sink, ATTN_PAGE_FILE(wasi_js));
    attn_page_write_file(sink, ATTN_PAGE_FILE(worker_js));
    attn_page_write_text(sink, "</script>\n");
}

bool attn_page_live_has_text(const char *text)
{
    /* a text of the page is enclosed in two of these characters */
    static const char around[] = "'\"\140<> ";
    const struct attn_page_file files[] = {
        ATTN_PAGE_FILE(html),        ATTN_PAGE_FILE(js),       ATTN_PAGE_FILE(live_js),
        ATTN_PAGE_FILE(stage_js),    ATTN_PAGE_FILE(story_js), ATTN_PAGE_FILE(why_js),
        ATTN_PAGE_FILE(question_js), ATTN_PAGE_FILE(life_js),  ATTN_PAGE_FILE(pair_js),
        ATTN_PAGE_FILE(like_js),     ATTN_PAGE_FILE(guess_js)};
    const size_t n = strlen(text);

    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        if (strcmp(attn_head_kind_at(i)->name, text) == 0 ||
            strcmp(attn_head_kind_at(i)->words, text) == 0)
            return true;
    for (size_t i = 0; n > 0 && i < sizeof files / sizeof *files; i++) {
        const char *at = files[i].begin, *end = files[i].end - 1;

        while ((at = memmem(at + 1, (size_t)(end - at - 1), text, n)))
            if (strchr(around, at[-1]) && strchr(around, at[n]))
                return true;
    }
    return false;
}

/* Writes block I of a KIND, with the id "live-extra-0". */
static enum attn_status add_numbered(const struct attn_page *page, const char *kind, size_t i,
                                     const void *data, size_t size, struct attn_error *err)
{
    char id[ATTN_PAGE_ID_SIZE];

    snprintf(id, sizeof id, "live-%s-%zu", kind, i);
    return attn_page_data_add(page->data, id, data, size, err);
}

/* Writes file I of the model as block "live-file-0": first its even bytes, then its odd ones. Of
 * numbers of 16 bits one of the halves has few values, which saves 7 % of fable. */
static enum attn_status add_file(const struct attn_page *page, size_t i, struct attn_error *err)
{
    const struct attn_blob *file = &page->base.options.picture->live->files[i];
    const unsigned char *bytes = file->data;
    const size_t n = file->size, n_even = n - n / 2;
    enum attn_status status;
    unsigned char *halves;

    ATTN_TRY(ATTN_ALLOC(halves, n, err));
    for (size_t k = 0; k < n; k++)
        halves[k / 2 + (k % 2 == 0 ? 0 : n_even)] = bytes[k];
    status = add_numbered(page, "file", i, halves, n, err);
    attn_free(halves);
    return status;
}

enum attn_status attn_page_live_write(const struct attn_page *page, struct attn_error *err)
{
    const struct attn_live *live = page->base.options.picture->live;
    struct attn_sink *sink = page->base.sink;
    const struct {
        const char *id, *json;
        size_t n;
    } files[] = {{"live-steps", live->story, live->n_story},
                 {"live-language", live->words, live->n_words}};
    struct attn_buffer text = {0};
    enum attn_status status;

    ATTN_TRY(attn_page_data_add(page->data, "live-module", live->module, live->n_module, err));
    for (size_t i = 0; i < live->n_file; i++)
        ATTN_TRY(add_file(page, i, err));
    for (size_t i = 0; i < live->n_extra; i++)
        ATTN_TRY(add_numbered(page, "extra", i, live->extras[i].data, live->extras[i].size, err));
    if (live->rgb)
        ATTN_TRY(attn_page_data_add(page->data, "live-picture", live->rgb,
                                    live->height * live->width * 3, err));
    append_live(&text, page);
    status = attn_buffer_check(&text, err);
    if (status == ATTN_OK)
        attn_page_write_json(sink, "live", &text);
    for (size_t i = 0; i < sizeof files / sizeof *files && status == ATTN_OK; i++) {
        text.size = 0;
        attn_buffer_append(&text, files[i].json, files[i].n);
        status = attn_buffer_check(&text, err);
        if (status == ATTN_OK && files[i].json)
            attn_page_write_json(sink, files[i].id, &text);
    }
    if (status == ATTN_OK)
        write_worker(sink);
    attn_buffer_release(&text);
    return status;
}
