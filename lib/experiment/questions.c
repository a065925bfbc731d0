/* questions.c - see questions.h. */
#include "experiment/questions.h"

#include "base/given.h"
#include "base/status_internal.h"
#include "experiment/ablate.h"
#include "experiment/align.h"
#include "experiment/attribute.h"
#include "experiment/diff.h"
#include "experiment/lens.h"
#include "experiment/patch.h"
#include "experiment/questions_internal.h"
#include "experiment/score.h"
#include "experiment/survey.h"

#include <string.h>

/* A question: its experiment, or the one that its arguments choose. */
static const struct question {
    const struct attn_question *row;
    const struct attn_experiment *experiment;
    const struct attn_experiment *(*choose)(const void *args);
} questions[] = {
    {&attn_question_ablate, &attn_ablate_experiment, NULL},
    {&attn_question_align, &attn_align_experiment, NULL},
    {&attn_question_attribute, NULL, attn_attribute_experiment},
    {&attn_question_diff, &attn_diff_experiment, NULL},
    {&attn_question_generate, NULL, NULL},
    {&attn_question_heads, &attn_survey_experiment, NULL},
    {&attn_question_lens, &attn_lens_experiment, NULL},
    {&attn_question_patch, &attn_patch_experiment, NULL},
    {&attn_question_score, NULL, attn_score_experiment},
    {&attn_question_similarity, &attn_similarity_experiment, NULL},
};

/* Room for the arguments of each question. */
union args {
    struct attn_ablate_args ablate;
    struct attn_align_args align;
    struct attn_attribute_args attribute;
    struct attn_diff_args diff;
    struct attn_lens_args lens;
    struct attn_patch_args patch;
    struct attn_score_args score;
    struct attn_survey_args survey;
};

static const struct question *find(const char *name)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(questions[i].row->name, name) == 0)
            return &questions[i];
    return NULL;
}

const struct attn_question *attn_question_find(const char *name)
{
    const struct question *found = name ? find(name) : NULL;

    return found ? found->row : NULL;
}

enum attn_status attn_question_picture(const struct attn_question_asked *asked,
                                       const struct attn_table *table,
                                       struct attn_table_picture *picture, struct attn_error *err)
{
    const struct attn_experiment *experiment;
    const struct question *found;
    union args read = {.ablate = {.size = 0}};

    if (!attn_is_given(asked, "asked", err) || !attn_is_given(asked->question, "question", err) ||
        !attn_is_given(picture, "picture", err))
        return ATTN_INVALID;
    found = find(asked->question);
    if (!found || (!found->experiment && !found->choose))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "there is no question '%s'",
                           attn_quote_string(asked->question).text);
    if (found->row->args_size > 0) {
        memcpy(&read, found->row->defaults, found->row->args_size);
        ATTN_TRY(
            attn_error_at(attn_options_read(asked->args, &read, err), ATTN_STAGE_OPTIONS, err));
    }
    experiment = found->experiment ? found->experiment : found->choose(&read);
    if (table && experiment->check)
        ATTN_TRY(attn_error_at(experiment->check(&read, err), ATTN_STAGE_OPTIONS, err));
    attn_experiment_draw(
        experiment, &read,
        &(struct attn_drawn){
            .host = asked->host, .request = asked->request, .table = table, .picture = picture});
    return ATTN_OK;
}
