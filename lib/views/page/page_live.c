#include "page/page_live.h"
#include "page/page_internal.h"

#include "base/memory.h"
#include "figures/table_axis.h"
#include "tables/table_internal.h"

#include <stdio.h>
#include <string.h>

static void push_options(struct attn_json_writer *json, const struct attn_option *options, size_t n)
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

/* Writes how the next token changes without each head: {"2.5": 0.1457}, KL in nats. */
static void push_effects(struct attn_json_writer *json, const struct attn_table *effects)
{
    const size_t kl = attn_table_find(effects, "kl");
    struct attn_location at;

    attn_json_begin(json, '{');
    for (size_t i = 0; i < attn_table_n_row(effects); i++)
        if (attn_table_read_head(effects, i, &at)) /* not the unchanged run */
            attn_json_float(attn_json_key(json, attn_location_name(&at).text),
                            (float)attn_table_cell(effects, i, kl).real, 4);
    attn_json_end(json);
}

/* Writes JSON [n] as the member NAME, if there is any. */
static void push_json(struct attn_json_writer *to, const char *name, const char *json, size_t n)
{
    if (json)
        attn_buffer_append(attn_json_value(attn_page_push_key(to, name)), json, n);
}

void attn_page_push_live(struct attn_page *page)
{
    const struct attn_live *live = page->base.options.picture->live;
    const struct attn_labels *labels = &page->base.labels;
    struct attn_json_writer *json = &page->json;

    attn_json_begin(attn_page_push_key(json, "live"), '{');
    attn_json_text(attn_json_key(json, "model"), live->model);
    attn_json_text(attn_json_key(json, "given"), live->given);
    attn_json_string(attn_json_key(json, "text"), labels->text, labels->n_text);
    attn_json_string(attn_json_key(json, "pair"), labels->pair, labels->n_pair);
    attn_json_begin(attn_json_key(json, "files"), '[');
    for (size_t i = 0; i < live->n_file; i++)
        attn_json_text(json, live->files[i].name);
    attn_json_end(json);
    attn_json_size(attn_json_key(json, "bytes"), (size_t)live->n_byte);
    push_options(attn_json_key(json, "options"), labels->options, labels->n_option);
    push_options(attn_json_key(json, "reading"), live->reading, live->n_reading);
    attn_json_begin(attn_json_key(json, "extras"), '[');
    for (size_t i = 0; i < live->n_extra; i++) {
        attn_json_begin(json, '[');
        attn_json_text(json, live->extras[i].name);
        attn_json_size(json, live->extras[i].height);
        attn_json_size(json, live->extras[i].width);
        attn_json_end(json);
    }
    attn_json_end(json);
    if (page->base.options.picture->effects)
        push_effects(attn_json_key(json, "effects"), page->base.options.picture->effects);
    if (live->rgb) {
        attn_json_size(attn_json_key(json, "height"), live->height);
        attn_json_size(attn_json_key(json, "width"), live->width);
    }
    attn_json_end(json);
    push_json(json, "story", live->story, live->n_story);
    push_json(json, "language", live->words, live->n_words);
}

/* Writes block I of a KIND, with the id "live-extra-0". */
static enum attn_status add_numbered(const struct attn_page *page, const char *kind, size_t i,
                                     const void *data, size_t size, struct attn_error *err)
{
    char id[32];

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

enum attn_status attn_page_live_attach(const struct attn_page *page, struct attn_error *err)
{
    const struct attn_live *live = page->base.options.picture->live;

    ATTN_TRY(attn_page_data_add(page->data, "live-module", live->module, live->n_module, err));
    for (size_t i = 0; i < live->n_file; i++)
        ATTN_TRY(add_file(page, i, err));
    for (size_t i = 0; i < live->n_extra; i++)
        ATTN_TRY(add_numbered(page, "extra", i, live->extras[i].data, live->extras[i].size, err));
    return !live->rgb ? ATTN_OK
                      : attn_page_data_add(page->data, "live-picture", live->rgb,
                                           live->height * live->width * 3, err);
}
