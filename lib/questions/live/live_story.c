/*
 * live_story.c - see run_internal.h.
 *
 * If a step lacks a text, that of the previous step is used; edits are not carried over. live.js
 * does the same.
 */

#include "live/live_story.h"
#include "attention/attention_internal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "edits/edit_texts.h"
#include "frame/asked.h"
#include "input/sequence.h"
#include "params/param_internal.h"
#include "run/prepared_extra.h"
#include "run/run.h"
#include "trace/trace_extra.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

/* The members that a step may have: texts, and lists of texts for options that may be repeated. */
/* clang-format off */
#define MEMBER_MAP(X)                                                                          \
    X(TITLE, "title") X(PARAGRAPH, "paragraph") X(QUESTION, "question") X(ANSWER, "answer")    \
    X(TEXT, "text") X(PAIR, "pair") X(SOURCE, "source") X(IMAGE, "image") X(VIEW, "view")      \
    X(ATTENTION, "attention") X(MASK, "mask") X(HIDE, "hide") X(ABLATE, "ablate")              \
    X(KNOCKOUT, "knockout") X(STEER, "steer")
/* clang-format on */
#define MEMBER_ENUM(id, name) id,
#define MEMBER_NAME(id, name) name,

enum member { MEMBER_MAP(MEMBER_ENUM) N_MEMBER };

static const char *const members[] = {MEMBER_MAP(MEMBER_NAME)};

struct story {
    const struct attn_json *json;
    struct attn_host *host;
    struct attn_request request; /* the request of the step, without edits */
    size_t number;               /* number of the step, from 1 */
    struct attn_live_paths *paths;
};

/* Sets the error that VALUE of KEY in this step is wrong, for the reason WHY. */
static enum attn_status refuse(const struct story *story, const char *key, const char *value,
                               const char *why, struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' in step %zu of '%s' is '%s': %s", key,
                          story->number, attn_quote_string(attn_json_name(story->json)).text,
                          attn_quote_string(value).text, why);
}

/* Sets the same error for the failure WHY. If its message begins with a field of the request
 * ("field: "), that prefix is removed. */
static enum attn_status refuse_as(const struct story *story, const char *key, const char *value,
                                  const struct attn_error *why, struct attn_error *err)
{
    const size_t n_field = strspn(why->message, "abcdefghijklmnopqrstuvwxyz_");
    const bool has_field = strncmp(why->message + n_field, ": ", 2) == 0;

    if (why->status == ATTN_NO_MEMORY || why->status == ATTN_CANCELED)
        return attn_error_copy(err, why);
    refuse(story, key, value, why->message + (has_field ? n_field + 2 : 0), err);
    attn_error_hint(err, "%s", why->hint);
    return ATTN_FORMAT;
}

/* --- Texts and changes ----------------------------------------------------------------------- */

/* Prepares REQUEST, to which VALUE of KEY was added. The caller frees *RUN; RUN may be NULL. */
static enum attn_status prepare(const struct story *story, const struct attn_request *request,
                                const char *key, const char *value, struct attn_run **run,
                                struct attn_error *err)
{
    struct attn_run *made = NULL;
    struct attn_error why = {0};

    if (attn_run_open(story->host, NULL, request, &made, &why) != ATTN_OK)
        return refuse_as(story, key, value, &why, err);
    if (run)
        *run = made;
    else
        attn_run_free(made);
    return ATTN_OK;
}

/* Adds the file PATH that a step reads, unless it is listed. */
static enum attn_status add_path(const struct story *story, const char *path, bool is_image,
                                 struct attn_error *err)
{
    struct attn_live_paths *paths = story->paths;

    for (size_t i = 0; i < paths->n; i++)
        if (strcmp(paths->items[i].name, path) == 0)
            return ATTN_OK;
    ATTN_TRY(ATTN_GROW(paths->items, paths->capacity, paths->n + 1, err));
    paths->items[paths->n].is_image = is_image;
    paths->items[paths->n].name = attn_strndup(path, strlen(path), err);
    return paths->items[paths->n++].name ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Checks an item of a list of edits: disabled heads (replacement by a mean is not computed here), a
 * knockout, or a steering. */
static enum attn_status check_edit(const struct story *story, const char *key, const char *value,
                                   struct attn_error *err)
{
    struct attn_request request = story->request;
    struct attn_edit_texts texts = {.knockouts = &value, .steers = &value};
    struct attn_error why = {0};
    enum attn_status status;

    texts.n_knockout = strcmp(key, "knockout") == 0;
    texts.n_steer = strcmp(key, "steer") == 0;
    if (texts.n_knockout + texts.n_steer == 0)
        texts.ablate = value + (strncmp(value, "mean:", 5) == 0 ? 5 : 0);
    status = attn_edit_texts_read(&texts, attn_host_model(story->host), &request.edits, &why);
    status = status == ATTN_OK ? prepare(story, &request, key, value, NULL, err)
                               : refuse_as(story, key, value, &why, err);
    if (status == ATTN_OK && texts.n_steer > 0)
        status = add_path(story, texts.interventions->values.name, false, err);
    attn_edit_texts_release(&texts);
    return status;
}

static enum attn_status check_attention(const struct story *story, const char *attention,
                                        const char *mask, struct attn_error *err)
{
    struct attn_request request = story->request;
    struct attn_attention_change change = {.to = ATTN_ATTENTION_DEFAULT};
    struct attn_error why = {0};

    if (!attention && !mask)
        return ATTN_OK;
    if (mask && strcmp(mask, "causal") != 0 && strcmp(mask, "none") != 0)
        return refuse(story, "mask", mask, "expected causal or none", err);
    if (request.attention.change)
        change = *request.attention.change;
    request.attention.change = &change;
    if (mask) {
        change.parts |= ATTN_PART_MASK;
        change.to.mask = strcmp(mask, "causal") == 0 ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    }
    if (!attention)
        return prepare(story, &request, "mask", mask, NULL, err);
    change.parts |= ATTN_PART_KIND;
    if (attn_attention_parse(attention, &change.to, &why) != ATTN_OK)
        return refuse_as(story, "attention", attention, &why, err);
    return prepare(story, &request, "attention", attention, NULL, err);
}

/* Applies the TEXTS of a step, or its picture, to the request and prepares a run. The caller frees
 * *RUN. */
static enum attn_status take_input(struct story *story, const char *const *texts,
                                   struct attn_run **run, struct attn_error *err)
{
    struct attn_input *input = &story->request.input;
    const char *text = texts[TEXT], *pair = texts[PAIR], *image = texts[IMAGE];
    const enum member key = image ? IMAGE : pair && !text ? PAIR : TEXT;

    if (texts[key] && !input->text != !!image)
        return refuse(story, members[key], texts[key],
                      image ? "the page reads a text" : "the page reads a picture", err);
    if (texts[SOURCE] && !story->request.source.text)
        return refuse(story, members[SOURCE], texts[SOURCE], "the page has no source", err);
    if (texts[SOURCE])
        story->request.source.text = texts[SOURCE],
        story->request.source.n_text = strlen(texts[SOURCE]);
    if (text)
        input->text = text, input->n_text = strlen(text);
    if (text || pair)
        input->pair = pair, input->n_pair = pair ? strlen(pair) : 0;
    if (image) {
        attn_input_set_image(input, image);
        ATTN_TRY(add_path(story, image, true, err));
    }
    return prepare(story, &story->request, members[key], texts[key] ? texts[key] : "", run, err);
}

/* --- The view -------------------------------------------------------------------------------- */

/* Returns true if ITEM [size] names a head of SELECTION, "2.5"; of a translator "cross:2.5". */
static bool is_head(const struct attn_selection *selection, const char *item, size_t size)
{
    size_t n_stack;
    struct attn_location at = {.stack = attn_model_stack_find(item, &n_stack)};
    const char *dot = n_stack < size ? memchr(item + n_stack, '.', size - n_stack) : NULL;
    const char *end = item + size;
    int64_t layer, head;

    if (!dot ||
        !attn_parse_int(item + n_stack, (size_t)(dot - item) - n_stack, 0, INT32_MAX, &layer) ||
        !attn_parse_int(dot + 1, (size_t)(end - dot) - 1, 0, INT32_MAX, &head))
        return false;
    at.layer = (int)layer;
    at.head = (int)head;
    return attn_selection_has_head(selection, &at);
}

static bool is_position(const struct attn_selection *selection, const char *item, size_t size)
{
    const int64_t n = (int64_t)attn_selection_dims(selection)->n_position;
    int64_t position;

    return attn_parse_int(item, size, 0, n - 1, &position);
}

/* The parts of a view. The value is one of WORDS, or IS accepts it. */
static const struct part {
    const char *name, *words;
    bool (*is)(const struct attn_selection *selection, const char *item, size_t size);
} parts[] = {{"v", "grid|matrix|tokens", NULL},
             {"h", NULL, is_head},
             {"q", NULL, is_position},
             {"k", NULL, is_position},
             {"d", "dark|light", NULL},
             {"dir", "from|to", NULL},
             {"w", "chosen|exact|difference", NULL},
             {"first", "0|1", NULL}};

static enum attn_status refuse_part(const struct story *story, const char *view,
                                    const struct part *part, const struct attn_selection *selection,
                                    struct attn_error *err)
{
    char why[128];

    if (!part)
        return refuse(story, "view", view,
                      "expected parts of an address of the page, as in v=matrix&h=2.5", err);
    if (part->words)
        snprintf(why, sizeof why, "expected %s=%s", part->name, part->words);
    else if (part->is == is_head)
        snprintf(why, sizeof why, "%s= expects a head of the page, as in 0.1", part->name);
    else
        snprintf(why, sizeof why, "%s= expects a position, 0 to %zu", part->name,
                 attn_selection_dims(selection)->n_position - 1);
    return refuse(story, "view", view, why, err);
}

static enum attn_status check_view(const struct story *story, const char *view,
                                   const struct attn_run *run, struct attn_error *err)
{
    const struct attn_selection *selection = attn_run_labels(run)->selection;

    for (const char *at = view; view; at++) {
        const size_t size = strcspn(at, "&"), n_name = strcspn(at, "=&");
        const struct part *part = NULL;

        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (n_name < size && strlen(parts[i].name) == n_name &&
                memcmp(parts[i].name, at, n_name) == 0)
                part = &parts[i];
        if (!part ||
            (part->words ? attn_param_find_word(part->words, at + n_name + 1, size - n_name - 1) < 0
                         : !part->is(selection, at + n_name + 1, size - n_name - 1)))
            return refuse_part(story, view, part, selection, err);
        at += size;
        if (*at == '\0')
            break;
    }
    return ATTN_OK;
}

/* Checks that the page has what a step hides: the next words or the arcs of a text. */
static enum attn_status check_hidden(const struct story *story, const char *hide,
                                     struct attn_error *err)
{
    if (!hide)
        return ATTN_OK;
    if (attn_param_find_word("bars|bow", hide, strlen(hide)) < 0)
        return refuse(story, "hide", hide, "expected bars or bow", err);
    return story->request.input.text ? ATTN_OK
                                     : refuse(story, "hide", hide, "the page reads a picture", err);
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* Checks that VALUE of KEY is a list of texts, each a valid edit. */
static enum attn_status check_list(const struct story *story, const struct attn_node *value,
                                   const char *key, struct attn_error *err)
{
    bool is_list = attn_node_is_array(value);

    for (const struct attn_node *item = attn_node_first(value); item; item = attn_node_next(item))
        is_list &= attn_node_string(item) != NULL;
    if (!is_list)
        return attn_error_set(err, ATTN_FORMAT, "'%s' in step %zu of '%s' is no list of texts", key,
                              story->number, attn_quote_string(attn_json_name(story->json)).text);
    for (const struct attn_node *item = attn_node_first(value); item; item = attn_node_next(item))
        ATTN_TRY(check_edit(story, key, attn_node_string(item), err));
    return ATTN_OK;
}

/* Reads the texts of STEP into TEXTS, and its lists into LISTS. */
static enum attn_status read_step(const struct story *story, const struct attn_node *step,
                                  const char *texts[N_MEMBER],
                                  const struct attn_node *lists[N_MEMBER], struct attn_error *err)
{
    struct attn_error why = {0};

    if (!attn_node_is_object(step))
        return attn_error_set(err, ATTN_FORMAT, "step %zu of '%s' is no object", story->number,
                              attn_quote_string(attn_json_name(story->json)).text);
    for (const struct attn_node *value = attn_node_first(step); value;
         value = attn_node_next(value)) {
        const char *key = attn_node_key(value);
        size_t i = 0;

        while (i < N_MEMBER && strcmp(members[i], key) != 0)
            i++;
        if (i == N_MEMBER)
            return attn_error_set(err, ATTN_FORMAT,
                                  "step %zu of '%s' has '%s', expected title, paragraph, "
                                  "question, answer, text, pair, source, image, view, "
                                  "attention, mask, hide, ablate, knockout or steer",
                                  story->number,
                                  attn_quote_string(attn_json_name(story->json)).text,
                                  attn_quote_string(key).text);
        if (i >= ABLATE)
            lists[i] = value;
        else if (attn_json_get_string(story->json, step, key, &texts[i], &why) != ATTN_OK)
            return attn_error_set(err, ATTN_FORMAT, "step %zu: %s", story->number, why.message);
    }
    return ATTN_OK;
}

static enum attn_status check_step(struct story *story, const struct attn_node *step,
                                   struct attn_error *err)
{
    const char *texts[N_MEMBER] = {NULL};
    const struct attn_node *lists[N_MEMBER] = {NULL};
    struct attn_run *run = NULL;
    enum attn_status status;

    ATTN_TRY(read_step(story, step, texts, lists, err));
    ATTN_TRY(take_input(story, texts, &run, err));
    status = check_view(story, texts[VIEW], run, err);
    attn_run_free(run);
    ATTN_THEN(status, check_attention(story, texts[ATTENTION], texts[MASK], err));
    ATTN_THEN(status, check_hidden(story, texts[HIDE], err));
    for (size_t i = ABLATE; status == ATTN_OK && i < N_MEMBER; i++)
        if (lists[i])
            status = check_list(story, lists[i], members[i], err);
    return status;
}

static enum attn_status check_steps(struct story *story, struct attn_error *err)
{
    const struct attn_json *json = story->json;
    const struct attn_node *steps = attn_node_find(attn_json_root(json), "steps");
    const char *title;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "title", &title, err));
    if (!steps || !attn_node_is_array(steps) || !attn_node_first(steps))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no list 'steps', expected a story",
                              attn_quote_string(attn_json_name(json)).text);
    for (const struct attn_node *step = attn_node_first(steps); step; step = attn_node_next(step)) {
        story->number++;
        ATTN_TRY(check_step(story, step, err));
    }
    return ATTN_OK;
}

enum attn_status attn_live_story_check(const struct attn_json *json, struct attn_host *host,
                                       const struct attn_request *request,
                                       struct attn_live_paths *paths, struct attn_error *err)
{
    const struct attn_request_edits *given = &request->edits;
    struct story story = {.json = json, .host = host, .request = *request, .paths = paths};
    struct attn_attention_change change;
    struct attn_intervention *kept; /* of the edits of the page, a step has its steering alone */
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(kept, given->n_intervention + 1, err));
    story.request.on_note = NULL;
    story.request.outputs = (struct attn_request_outputs){.precision = -1};
    story.request.selection.queries = (struct attn_number_list){0};
    story.request.edits = (struct attn_request_edits){.interventions = kept};
    for (size_t i = 0; i < given->n_intervention; i++)
        if (given->interventions[i].op == ATTN_EDIT_ADD ||
            given->interventions[i].op == ATTN_EDIT_PROJECT ||
            given->interventions[i].op == ATTN_EDIT_SCALE)
            kept[story.request.edits.n_intervention++] = given->interventions[i];
    story.request.predict = (struct attn_request_predict){.labels = request->predict.labels,
                                                          .n_label = request->predict.n_label,
                                                          .more = request->predict.more};
    if (request->attention.change) {
        change = *request->attention.change;
        change.parts &= ~(unsigned)(ATTN_PART_KIND | ATTN_PART_MASK);
        change.mask = NULL;
        story.request.attention.change = &change;
    }
    status = check_steps(&story, err);
    attn_free(kept);
    return status;
}

enum attn_status attn_live_story_text(const char *path, char **text, struct attn_error *err)
{
    const struct attn_node *steps, *found = NULL;
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_file_open(path, ATTN_READ, &file, err), ATTN_STAGE_INPUT, err));
    status = attn_error_at(attn_json_parse(&file, &json, err), ATTN_STAGE_INPUT, err);
    steps = status == ATTN_OK ? attn_node_find(attn_json_root(json), "steps") : NULL;
    if (steps && attn_node_first(steps))
        found = attn_node_find(attn_node_first(steps), "text");
    if (found && attn_node_string(found)) {
        *text = attn_strndup(attn_node_string(found), strlen(attn_node_string(found)), err);
        status = *text ? ATTN_OK : ATTN_NO_MEMORY;
    }
    attn_json_free(json);
    attn_file_release(&file);
    return status;
}
