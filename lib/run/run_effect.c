/*
 * run_effect.c - which parts of what a request edits change anything: an item of a list of heads,
 * an edit, a knockout, a patch, a steering. The others are named in a note, one line a list.
 *
 * A part is linked to the edits that it was made into. The session marks those that changed a
 * value (trace/edit_internal.h), and a part has an effect when one of its edits has. Which parts
 * there are depends on the request alone, so that those of many records can be counted.
 */
#include "run/run_internal.h"

#include "base/fixed_text.h"
#include "base/memory.h"
#include "model/session_internal.h"
#include "run/intervention_internal.h"
#include "run/request_internal.h"

#include <stdio.h>
#include <string.h>

/* --- The parts of a request ------------------------------------------------------------------- */

/* The item of LIST that begins at *AT, which goes to the next one; NULL: there is none. */
static const char *next_item(const char *list, size_t *at, size_t *size)
{
    const char *item = list + *at;

    if (*at > strlen(list))
        return NULL;
    *size = strcspn(item, ",");
    *at += *size + 1;
    return item;
}

static size_t count_items(const char *list)
{
    size_t n = 0, at = 0, size;

    while (list && next_item(list, &at, &size))
        n++;
    return n;
}

/* Adds the items of LIST, or NULL, to PARTS [*n]. */
static void add_items(enum attn_edit_part_kind kind, const char *list, struct attn_edit_part *parts,
                      size_t *n)
{
    size_t at = 0, size;

    for (const char *item; list && (item = next_item(list, &at, &size));)
        parts[(*n)++] = (struct attn_edit_part){.kind = kind, .text = item, .size = size};
}

static void add_text(enum attn_edit_part_kind kind, const char *text, struct attn_edit_part *parts,
                     size_t *n)
{
    parts[(*n)++] = (struct attn_edit_part){.kind = kind, .text = text, .size = strlen(text)};
}

enum attn_status attn_edit_parts_create(const struct attn_request_edits *edits,
                                        struct attn_edit_part **parts, size_t *n,
                                        struct attn_error *err)
{
    const size_t n_all = count_items(edits->ablate) + count_items(edits->ablate_pattern) +
                         edits->n + count_items(edits->ablate_mean) + edits->n_knockout +
                         edits->n_patch + edits->n_steering;
    struct attn_edit_part *made;

    *n = 0;
    if (n_all == 0)
        return ATTN_OK;
    made = attn_alloc(n_all, sizeof *made, err);
    if (!made)
        return ATTN_NO_MEMORY;
    add_items(ATTN_EDIT_PART_ABLATION, edits->ablate, made, n);
    add_items(ATTN_EDIT_PART_PATTERN, edits->ablate_pattern, made, n);
    for (size_t i = 0; i < edits->n; i++)
        made[(*n)++] =
            (struct attn_edit_part){.kind = ATTN_EDIT_PART_EDIT, .edit = &edits->items[i]};
    add_items(ATTN_EDIT_PART_MEAN, edits->ablate_mean, made, n);
    for (size_t i = 0; i < edits->n_knockout; i++)
        add_text(ATTN_EDIT_PART_KNOCKOUT, attn_knockout_name(&edits->knockouts[i]), made, n);
    for (size_t i = 0; i < edits->n_patch; i++)
        add_text(ATTN_EDIT_PART_PATCH, attn_patch_name(&edits->patches[i]), made, n);
    for (size_t i = 0; i < edits->n_steering; i++)
        add_text(ATTN_EDIT_PART_STEERING, attn_steering_name(&edits->steerings[i]), made, n);
    *parts = made;
    return ATTN_OK;
}

size_t attn_run_first_part(const struct attn_run *run, enum attn_edit_part_kind kind)
{
    size_t first = 0;

    while (first < run->n_edit_part && run->edit_parts[first].kind != kind)
        first++;
    return first;
}

/* --- Their edits ------------------------------------------------------------------------------ */

enum attn_status attn_run_link_edit(struct attn_run *run, size_t edit, size_t part,
                                    struct attn_error *err)
{
    void *block = run->edit_links;

    ATTN_TRY(
        attn_grow(&block, &run->link_capacity, run->n_edit_link + 1, sizeof *run->edit_links, err));
    run->edit_links = block;
    run->edit_links[run->n_edit_link++] = (struct attn_edit_link){edit, part};
    return ATTN_OK;
}

/* Links PART, an item of a list of heads, to the edits of these heads among FIRST .. END-1. */
static enum attn_status link_item(struct attn_run *run, size_t part, size_t first, size_t end,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const struct attn_edit_part *item = &run->edit_parts[part];
    struct attn_selection *heads = NULL;
    char *spec = attn_strndup(item->text, item->size, err);
    enum attn_status status = spec ? attn_select_heads(spec, dims, &heads, err) : ATTN_NO_MEMORY;

    for (size_t i = first; status == ATTN_OK && i < end; i++)
        if (attn_selection_has_head(heads, run->edits[i].layer, run->edits[i].head))
            status = attn_run_link_edit(run, i, part, err);
    attn_selection_free(heads);
    attn_free(spec);
    return status;
}

enum attn_status attn_run_link_heads(struct attn_run *run, enum attn_edit_part_kind kind,
                                     size_t first, size_t end, struct attn_error *err)
{
    for (size_t i = attn_run_first_part(run, kind);
         i < run->n_edit_part && run->edit_parts[i].kind == kind; i++)
        ATTN_TRY(link_item(run, i, first, end, err));
    return ATTN_OK;
}

void attn_run_find_effects(const struct attn_run *run, const struct attn_session *session,
                           size_t sequence)
{
    for (size_t i = 0; i < run->n_edit_part; i++)
        run->edit_parts[i].n_idle = !run->edit_parts[i].n_hidden;
    for (size_t i = 0; i < run->n_edit_link; i++)
        if (attn_session_edit_has_effect(session, sequence, run->edit_links[i].edit))
            run->edit_parts[run->edit_links[i].part].n_idle = 0;
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* Appends what PART is called, after a comma unless it is the first. */
static void append_name(char *names, size_t *used, const struct attn_edit_part *part)
{
    const char *comma = *used > 0 ? "," : "";
    const struct attn_edit *edit = part->edit;
    char layer[24] = "", head[24] = "";

    if (!edit) {
        attn_fixed_text_append(names, ATTN_QUOTE_SIZE, used, "%s%.*s", comma, (int)part->size,
                               part->text);
        return;
    }
    if (attn_site_is_in_layer(edit->site))
        snprintf(layer, sizeof layer, edit->layer == ATTN_ALL_LAYERS ? ":*" : ":%d", edit->layer);
    if (attn_site_is_in_layer(edit->site) && edit->head != ATTN_ALL_HEADS)
        snprintf(head, sizeof head, ".%d", edit->head);
    attn_fixed_text_append(names, ATTN_QUOTE_SIZE, used, "%s%s%s%s", comma,
                           attn_site_name(edit->site), layer, head);
}

/* Whether A and B are of one list, and idle in as many records. */
static bool is_named_with(const struct attn_edit_part *a, const struct attn_edit_part *b)
{
    return a->kind == b->kind && a->kind < ATTN_EDIT_PART_KNOCKOUT && a->n_idle == b->n_idle;
}

/* " in 1 of 2 records", or nothing for N_RECORD 0. */
static struct attn_quote share_of(size_t n, size_t n_record)
{
    struct attn_quote share = {""};

    if (n_record > 0)
        snprintf(share.text, sizeof share.text, " in %zu of %zu records", n, n_record);
    return share;
}

void attn_edit_parts_note_hidden(const struct attn_request *request,
                                 const struct attn_edit_part *parts, size_t n, size_t n_record)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].n_hidden > 0)
            attn_request_note(request,
                              "the knockout '%s' changes nothing%s: none of its queries can look "
                              "at one of its keys",
                              attn_quote(parts[i].text, parts[i].size).text,
                              share_of(parts[i].n_hidden, n_record).text);
}

void attn_edit_parts_note_idle(const struct attn_request *request,
                               const struct attn_edit_part *parts, size_t n, size_t n_record)
{
    static const char *const names[] = {
        [ATTN_EDIT_PART_ABLATION] = "ablation",
        [ATTN_EDIT_PART_PATTERN] = "ablation of the pattern",
        [ATTN_EDIT_PART_MEAN] = "ablation by the mean",
        [ATTN_EDIT_PART_EDIT] = "edit",
        [ATTN_EDIT_PART_KNOCKOUT] = "knockout",
        [ATTN_EDIT_PART_PATCH] = "patch",
        [ATTN_EDIT_PART_STEERING] = "steering",
    };

    for (size_t i = 0; i < n; i++) {
        char text[ATTN_QUOTE_SIZE] = "";
        size_t used = 0, before = 0;

        while (before < i && !is_named_with(&parts[before], &parts[i]))
            before++;
        if (parts[i].n_idle == 0 || before < i) /* nothing to say, or said with another */
            continue;
        append_name(text, &used, &parts[i]);
        for (size_t k = i + 1; k < n; k++)
            if (is_named_with(&parts[i], &parts[k]))
                append_name(text, &used, &parts[k]);
        attn_request_note(request,
                          "the %s '%s' changed nothing that is shown%s: what it names has these "
                          "values already, or comes after every tensor that is wanted",
                          names[parts[i].kind], attn_quote_string(text).text,
                          share_of(parts[i].n_idle, n_record).text);
    }
}
