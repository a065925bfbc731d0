/* spans_places.c - which parts of a text or of its source are spans: named places, messages of a
 * conversation, regions beside a picture. */
#include "spans/spans_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/glob.h"
#include "base/text/list.h"
#include "input/position.h"
#include "input/talk.h"
#include "stream/items_internal.h"
#include "towers/prompt/picture_prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether NAME is one of the spans that are asked for. */
static bool is_span(const char *list, const char *name)
{
    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);)
        if (attn_glob_matches(item.text, item.size, name))
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct attn_span *)a)->name, ((const struct attn_span *)b)->name);
}

/* Appends the places of the list ITEMS [n]. A name that is there already only gets another SPEC. */
static enum attn_status add_places(struct attn_spans_run *spans,
                                   const struct attn_item_place *items, size_t n, size_t *capacity,
                                   struct attn_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;

        while (at < spans->n_span && strcmp(spans->items[at].name, items[i].name) != 0)
            at++;
        if (at < spans->n_span) {
            spans->items[at].spec = items[i].spec;
            continue;
        }
        ATTN_TRY(attn_grow(&spans->items, capacity, at + 1, sizeof *spans->items, err));
        spans->items[spans->n_span++] =
            (struct attn_span){.name = items[i].name, .spec = items[i].spec};
    }
    return ATTN_OK;
}

/* Appends the regions of a text with a picture that `spans` names; without `spans`, and without
 * other places, the picture and the question. */
static enum attn_status add_regions(struct attn_spans_run *spans, size_t *capacity,
                                    struct attn_error *err)
{
    const char *list = spans->args->spans ? spans->args->spans : "picture,question";

    if (attn_asked_text(spans->frame.run)->seen.n_picture == 0 ||
        (!spans->args->spans && spans->n_span > 0))
        return ATTN_OK;
    for (enum attn_region region = 0; region < ATTN_N_REGION; region++) {
        const char *name = attn_region_name(region);
        const struct attn_item_place place = {name, {.text = name}};
        size_t i = 0;

        while (i < spans->n_span && strcmp(spans->items[i].name, name) != 0)
            i++;
        if (i == spans->n_span && is_span(list, name))
            ATTN_TRY(add_places(spans, &place, 1, capacity, err));
    }
    return ATTN_OK;
}

/* Returns the place of message I of a conversation, called `1_user`: its tokens; none if they are
 * unknown. */
static enum attn_status find_message(struct attn_spans_run *spans, size_t i,
                                     struct attn_item_place *place, struct attn_error *err)
{
    enum { NAME_SIZE = ATTN_ROLE_SIZE + 24 };
    const struct attn_run *run = spans->frame.run;
    const struct attn_talk_span *message = &attn_asked_chat(run)->messages[i];
    char *name = attn_frame_alloc(&spans->frame, NAME_SIZE, 1);
    int64_t *tokens =
        attn_frame_alloc(&spans->frame, attn_asked_text(run)->encoding.n, sizeof *tokens);

    ATTN_TRY(attn_frame_memory(&spans->frame, err));
    snprintf(name, NAME_SIZE, "%zu_%s", i, *message->role ? message->role : "message");
    *place = (struct attn_item_place){
        name,
        {.items = tokens,
         .n = attn_chat_tokens(attn_asked_text(run), message->begin, message->end, tokens)}};
    return ATTN_OK;
}

/* Appends the messages of a conversation that `spans` names; without `spans`, and without other
 * places, all. */
static enum attn_status add_messages(struct attn_spans_run *spans, size_t *capacity,
                                     struct attn_error *err)
{
    const struct attn_run *run = spans->frame.run;
    const char *list = spans->args->spans;
    /* the last message may be the answer */
    const size_t n = attn_asked_chat(run)->n - (attn_asked_text(run)->n_given == 0 &&
                                                spans->run == run && spans->n_prompt < spans->n);
    struct attn_item_place place;

    if (spans->is_of_source || attn_asked_text(run)->seen.n_picture > 0 ||
        (!list && spans->n_span > 0))
        return ATTN_OK;
    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(find_message(spans, i, &place, err));
        if (place.spec.n > 0 && (!list || is_span(list, place.name)))
            ATTN_TRY(add_places(spans, &place, 1, capacity, err));
    }
    return ATTN_OK;
}

/* Lists the named places: those of the request, then those of the item, from a to z, messages, and
 * regions. */
static enum attn_status list_places(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_item *item = spans->frame.item;
    const struct attn_places *places = spans->frame.request.reading.places;
    size_t capacity = 0, n;

    for (; places; places = places->others)
        if (!item || (places->items != item->places &&
                      (places->n == 0 || strncmp(places->items[0].name, ATTN_PLACE_KEY,
                                                 strlen(ATTN_PLACE_KEY)) != 0)))
            ATTN_TRY(add_places(spans, places->items, places->n, &capacity, err));
    n = spans->n_span;
    if (item)
        ATTN_TRY(add_places(spans, item->places, item->n_place, &capacity, err));
    ATTN_SORT(spans->items + n, spans->n_span - n, by_name);
    ATTN_TRY(add_messages(spans, &capacity, err));
    return add_regions(spans, &capacity, err);
}

/* Drops the places that are no spans. */
static enum attn_status choose_spans(struct attn_spans_run *spans, struct attn_error *err)
{
    const char *list = spans->args->spans;
    size_t n = 0;

    for (size_t i = 0; i < spans->n_span; i++)
        if (!list || is_span(list, spans->items[i].name))
            spans->items[n++] = spans->items[i];
    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        size_t i = 0;

        while (i < n && !attn_glob_matches(item.text, item.size, spans->items[i].name))
            i++;
        if (i == n)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`spans` has '%s', and no place is called so",
                               attn_quote(item.text, item.size).text);
    }
    spans->n_span = n;
    if (n > 0)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "no part of the text has a name, expected `positions`");
    return attn_error_hint(err, "`positions doc=0-5`, or `positions doc='\"The keys\"'`");
}

/* Finds the span that the item names as the right one, and refuses names of other rows. */
static enum attn_status find_gold(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_item_label *gold =
        spans->frame.item ? attn_item_label(spans->frame.item, "gold") : NULL;
    const char *right = gold ? gold->text : NULL;

    for (size_t i = 0; i < spans->n_span; i++) {
        const char *name = spans->items[i].name;

        if (strcmp(name, "rest") == 0 || strcmp(name, "parked") == 0 ||
            (right && strcmp(name, "gold") == 0))
            return attn_refuse(err, ATTN_STAGE_INPUT,
                               "a span is called '%s', as the row of %s: expected another name",
                               name,
                               *name == 'g'   ? "the right span"
                               : *name == 'p' ? "parked positions"
                                              : "all other tokens");
        if (right && strcmp(name, right) == 0)
            spans->gold = &spans->items[i];
    }
    if (!right || spans->gold)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_INPUT, "'gold' is '%s', expected the name of a span",
                       attn_quote_string(right).text);
}

enum attn_status attn_spans_find(struct attn_spans_run *spans, struct attn_error *err)
{
    const struct attn_sequence *keys = attn_spans_keys(spans, spans->frame.run);

    ATTN_TRY(list_places(spans, err));
    ATTN_TRY(choose_spans(spans, err));
    for (size_t i = 0; i < spans->n_span; i++) {
        struct attn_span *span = &spans->items[i];

        span->flags = NULL;
        ATTN_TRY(ATTN_ALLOC(span->flags, spans->keys.n, err));
        ATTN_TRY(attn_error_in(attn_positions_find(keys, &span->spec, span->flags, err), span->name,
                               err));
        span->first = spans->keys.n;
        for (size_t t = 0; t < keys->n; t++) {
            if (!span->flags[t])
                continue;
            span->first = span->n_token++ == 0 ? t : span->first;
            span->last = t;
            spans->keys.rest[t] = 0;
        }
        span->has_score =
            span->n_token > 0 && (spans->is_of_source || span->last < spans->queries[0]);
    }
    return find_gold(spans, err);
}
