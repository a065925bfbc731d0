#include "frame/question_internal.h"

#include "base/text/given.h"
#include "input/sequence.h"
#include "means/study.h"
#include "params/param_internal.h"

#include <string.h>

bool attn_question_next(struct attn_question_walk *walk)
{
    const struct attn_question *question = walk->question;

    while (walk->part < question->n_part && walk->item >= question->parts[walk->part].list->n) {
        walk->part++;
        walk->item = 0;
    }
    if (walk->part >= question->n_part)
        return false;
    walk->param = &question->parts[walk->part].list->items[walk->item++];
    walk->offset = question->parts[walk->part].offset;
    return true;
}

enum attn_status attn_question_check(const struct attn_question *question,
                                     attn_param_given_fn is_given, void *user,
                                     struct attn_error *err)
{
    ATTN_NEED(err, question);
    return attn_param_rules_check(&question->rules, ATTN_PARAM_GIVEN, is_given, user, err);
}

struct values {
    const struct attn_question *question;
    const void *args;
    const struct attn_request *request;
};

/* Returns true if the parameter of WALK has a value other than its default. */
static bool is_set(const struct values *values, const struct attn_question_walk *walk)
{
    static const struct attn_request plain;
    const bool is_of_request = walk->param->home == ATTN_PARAM_OF_REQUEST;
    const char *home = is_of_request ? (const void *)values->request : values->args;
    const char *field = home + walk->offset + walk->param->offset;
    const char *defaults = is_of_request ? (const void *)&plain : values->question->defaults;

    if (walk->param->type == ATTN_PARAM_INPUT)
        return attn_input_is_given((const void *)field);
    if (walk->param->type == ATTN_PARAM_IMAGE)
        return ((const struct attn_input *)(const void *)field)->image != NULL;
    if (walk->param->type == ATTN_PARAM_IMAGES)
        return *(const char *const *)(const void *)(home + walk->offset + walk->param->least);
    return attn_param_is_set(walk->param, home + walk->offset, defaults + walk->offset);
}

/* Returns true if the argument NAME is given (attn_param_given_fn). */
static bool is_given(void *user, const char *name)
{
    const struct values *values = user;
    const struct attn_study_args *study;

    memcpy(&study, (const char *)values->args + values->question->study, sizeof study);
    if (strcmp(name, "items") == 0)
        return study;
    for (struct attn_question_walk walk = {.question = values->question};
         attn_question_next(&walk);)
        if (strcmp(walk.param->name, name) == 0)
            return is_set(values, &walk);
    return false;
}

static int count_words(const char *list)
{
    int n = 1;

    for (; (list = strchr(list, '|')); list++)
        n++;
    return n;
}

enum attn_status attn_question_check_values(const struct attn_question *question, const void *args,
                                            const struct attn_request *request,
                                            struct attn_error *err)
{
    struct values values = {question, args, request};
    int choice;

    for (struct attn_question_walk walk = {.question = question}; attn_question_next(&walk);)
        if (walk.param->type == ATTN_PARAM_CHOICE && walk.param->home == ATTN_PARAM_OF_ARGS &&
            !walk.param->values) {
            memcpy(&choice, (const char *)args + walk.offset + walk.param->offset, sizeof choice);
            if (!attn_is_choice(choice, count_words(walk.param->words), walk.param->name, err))
                return ATTN_INVALID;
        }
    return attn_param_rules_check(&question->rules, ATTN_PARAM_VALUES, is_given, &values, err);
}

void attn_question_choose_nothing(struct attn_request *request)
{
    request->selection.given = NULL;
    request->selection.sites = request->selection.layers = request->selection.heads = NULL;
    request->selection.queries = (struct attn_number_list){0};
    request->selection.at_mask = false;
    request->predict = (struct attn_request_predict){0};
    request->outputs.items = NULL;
    request->outputs.n = 0;
}

void attn_question_defaults(const struct attn_question *question, const void *args,
                            const struct attn_request *request, struct attn_item_defaults *defaults)
{
    const struct values values = {question, args, request};

    for (struct attn_question_walk walk = {.question = question}; attn_question_next(&walk);) {
        const struct attn_param *param = walk.param;
        const char *home = (const char *)args + walk.offset;
        const struct attn_item_place *places;
        size_t n_place;

        if (!param->keys || !is_set(&values, &walk))
            continue;
        if (param->type != ATTN_PARAM_PLACES) {
            attn_item_defaults_add(defaults, param->keys, NULL);
            continue;
        }
        memcpy(&places, home + param->offset, sizeof places);
        memcpy(&n_place, home + param->second, sizeof n_place);
        for (size_t i = 0; i < n_place; i++)
            attn_item_defaults_add(defaults, NULL, places[i].name);
    }
}

bool attn_question_order(const struct attn_question *question, const void *args,
                         struct attn_table_order *order)
{
    bool is_sorted = false;

    for (struct attn_question_walk walk = {.question = question}; attn_question_next(&walk);) {
        const char *field = (const char *)args + walk.offset + walk.param->offset;

        if (strcmp(walk.param->name, "sort") == 0) {
            memcpy(&order->sort, field, sizeof order->sort);
            is_sorted = true;
        } else if (strcmp(walk.param->name, "limit") == 0) {
            memcpy(&order->n_most, field, sizeof order->n_most);
        }
    }
    return is_sorted;
}

size_t attn_question_answer(const struct attn_question *question)
{
    for (struct attn_question_walk walk = {.question = question}; attn_question_next(&walk);)
        if (strcmp(walk.param->name, "target") == 0)
            return walk.offset;
    return 0;
}
