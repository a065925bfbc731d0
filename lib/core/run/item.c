/* item.c - see item.h and run_internal.h. */
#include "run/run_internal.h"

#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "run/input_params.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const image_names[2] = {"image", "corrupted_image"};

/* The names of the two texts of each kind of pair. */
static const char *const pair_names[ATTN_N_ITEM_PAIR][2] = {
#define NAMES(id, number, first, second) [ATTN_ITEM_##id] = {first, second},
    ATTN_ITEM_PAIR_MAP(NAMES)
#undef NAMES
};

void attn_item_release(struct attn_item *item)
{
    attn_store_release(&item->store);
    attn_free(item->places);
    attn_free(item->labels);
    attn_free(item->row_labels);
    *item = (struct attn_item){0};
}

void attn_item_free(struct attn_item *item)
{
    if (item)
        attn_item_release(item);
    attn_free(item);
}

void attn_item_fail(struct attn_item *item, enum attn_reason failure, const char *format, ...)
{
    char message[ATTN_ERROR_MESSAGE_SIZE] = "";
    const int n = item->line > 0 ? snprintf(message, sizeof message, "line %zu: ", item->line) : 0;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message + n, sizeof message - (size_t)n, format, arguments);
    va_end(arguments);
    item->failure = failure;
    item->err = (struct attn_error){.stage = ATTN_STAGE_INPUT};
    attn_error_set(&item->err, ATTN_INVALID, "%s", message);
    item->err.reason = failure;
}

static bool is_there(const struct attn_input *input)
{
    return input->text || input->ids || input->image || input->embeddings || input->pixels;
}

/* Selects pair P, of which the item has at least one text, as its input. */
static void choose_pair(struct attn_item *item, size_t p)
{
    item->pair = (enum attn_item_pair)p;
    item->input = item->texts[2 * p];
    item->other = item->texts[2 * p + 1];
}

void attn_item_choose(struct attn_item *item, unsigned pairs)
{
    const char *const *given, *unread = NULL;
    char names[80] = "";
    size_t used = 0, found = ATTN_N_ITEM_PAIR;

    if (!item || !item->texts || item->failure != ATTN_REASON_NONE)
        return;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++) {
        const bool is_here = is_there(&item->texts[2 * p]) || is_there(&item->texts[2 * p + 1]);

        if (!(pairs & 1U << p)) {
            unread = is_here ? pair_names[p][0] : unread;
            continue;
        }
        attn_fixed_text_append(names, sizeof names, &used, "%s'%s'", used > 0 ? " or " : "",
                               pair_names[p][0]);
        if (is_here && found < ATTN_N_ITEM_PAIR) {
            attn_item_fail(item, ATTN_REASON_NO_TEXT, "it has '%s' and '%s', expected one of them",
                           pair_names[found][0], pair_names[p][0]);
            return;
        }
        found = is_here ? p : found;
    }
    if (found == ATTN_N_ITEM_PAIR && pairs & ATTN_ITEM_BIT(SINGLE) &&
        (pairs & ATTN_ITEM_SOURCE_ALONE || item->has_empty_text) &&
        attn_input_is_given(&item->source)) {
        item->texts[0].text = "";
        found = ATTN_ITEM_SINGLE;
    }
    if (found == ATTN_N_ITEM_PAIR) {
        attn_item_fail(item, ATTN_REASON_NO_TEXT, "it has no %s%s%s%s", names,
                       unread ? ", and '" : "", unread ? unread : "",
                       unread ? "' is not read here" : "");
        return;
    }
    given = item->texts[2 * found].image || item->texts[2 * found + 1].image ? image_names
                                                                             : pair_names[found];
    for (size_t i = 0; i < 2 && pair_names[found][i]; i++)
        if (!is_there(&item->texts[2 * found + i]))
            attn_item_fail(item, ATTN_REASON_NO_TEXT, "it has '%s' and no '%s', expected both",
                           given[1 - i], given[i]);
    choose_pair(item, found);
}

void attn_item_see(const struct attn_item *item, const struct attn_model *model,
                   const struct attn_input *given, struct attn_input *input)
{
    const bool is_second = item->images[1] && input->text && input->text == item->other.text;

    if (item->continuation && item->continuation[0] != '\0' && attn_input_is_given(input)) {
        input->continuation = item->continuation;
        input->n_continuation = strlen(item->continuation);
    }
    attn_input_share_answer(given, input);
    if (!model || !attn_model_config(model)->vision.family || !attn_input_is_given(input))
        return;
    if (input->n_image > 0 && input->images)
        input->image = input->images[0];
    if (item->images[0])
        attn_input_set_image(input, item->images[is_second]);
}

/* If ITEM has messages, makes an empty text of them, which stands for the conversation. It fails if
 * it has another text, under TEXT_KEY. */
static void take_messages(struct attn_item *item, const char *text_key)
{
    struct attn_input *input = &item->input;

    if (!item->messages || item->failure != ATTN_REASON_NONE)
        return;
    if (input->text || input->ids)
        attn_item_fail(item, ATTN_REASON_NO_TEXT,
                       "it has '%s' and 'messages', expected one of them",
                       input->text ? text_key : "ids");
    else
        input->text = "";
}

void attn_item_fill_chat(const struct attn_item *item, struct attn_request *request)
{
    if (item->chat)
        request->chat.sets = &item->chat, request->chat.n_set = 1;
    if (item->tools)
        request->chat.tools = item->tools;
    if (item->messages) {
        request->chat.messages = item->messages;
        request->chat.system = NULL;
        request->input.text = NULL; /* the template writes it */
    } else if (item->system && (!request->chat.form || attn_chat_is_wanted(&request->chat))) {
        request->chat.system = item->system;
    }
}

void attn_item_choose_first(struct attn_item *item)
{
    struct attn_input *pair = &item->texts[(size_t)2 * ATTN_ITEM_CLEAN_CORRUPTED];
    size_t first = ATTN_N_ITEM_PAIR;
    bool has_text = item->input.text || item->input.ids;
    struct attn_input of_all;

    take_messages(item, "text");
    has_text = has_text || item->input.text;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        has_text = has_text || is_there(&item->texts[2 * p]) || is_there(&item->texts[2 * p + 1]);
    if (!has_text) {
        item->input.image = pair[0].image = item->images[0];
        pair[1].image = item->images[1];
    }
    item->texts[0] = of_all = item->input;
    item->corrupted_source.key_mask = item->source.key_mask;
    item->corrupted_source.n_key_mask = item->source.n_key_mask;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++) {
            struct attn_input *input = &item->texts[2 * p + i];

            if (!is_there(input))
                continue;
            first = first == ATTN_N_ITEM_PAIR ? p : first;
            attn_input_share(&of_all, input);
            input->images = of_all.images;
            input->n_image = of_all.n_image;
            if (item->failure == ATTN_REASON_NONE && input->text && input->ids)
                attn_item_fail(item, ATTN_REASON_NO_TEXT,
                               "it has '%s' and '%s%s', expected one of "
                               "them",
                               pair_names[p][i], p == ATTN_ITEM_SINGLE ? "" : pair_names[p][i],
                               p == ATTN_ITEM_SINGLE ? "ids" : "_ids");
        }
    if (first < ATTN_N_ITEM_PAIR)
        choose_pair(item, first);
    else if (!attn_input_is_given(&item->source))
        attn_item_choose(item, (1U << ATTN_N_ITEM_PAIR) - 1);
    if (item->failure == ATTN_REASON_NONE && item->corrupted_source.ids &&
        (item->corrupted_source.text || item->corrupted_source.embeddings))
        attn_item_fail(item, ATTN_REASON_BAD_SOURCE,
                       "it has 'corrupted_source_ids' and another one, expected one of them");
}
