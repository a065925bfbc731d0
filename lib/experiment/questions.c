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

/* A question: its experiment, or the one that its arguments choose; and their defaults, which begin
 * with their size. */
static const struct question {
    const char *name;
    const struct attn_experiment *experiment;
    const struct attn_experiment *(*choose)(const void *args);
    const void *defaults;
} questions[] = {
    {"ablate", &attn_ablate_experiment, NULL, &ATTN_ABLATE_ARGS_DEFAULT},
    {"align", &attn_align_experiment, NULL, &ATTN_ALIGN_ARGS_DEFAULT},
    {"attribute", NULL, attn_attribute_experiment, &ATTN_ATTRIBUTE_ARGS_DEFAULT},
    {"diff", &attn_diff_experiment, NULL, &ATTN_DIFF_ARGS_DEFAULT},
    {"heads", &attn_survey_experiment, NULL, &ATTN_SURVEY_ARGS_DEFAULT},
    {"lens", &attn_lens_experiment, NULL, &ATTN_LENS_ARGS_DEFAULT},
    {"patch", &attn_patch_experiment, NULL, &ATTN_PATCH_ARGS_DEFAULT},
    {"score", NULL, attn_score_experiment, &ATTN_SCORE_ARGS_DEFAULT},
    {"similarity", &attn_similarity_experiment, NULL, NULL},
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
        if (strcmp(questions[i].name, name) == 0)
            return &questions[i];
    return NULL;
}

enum attn_status attn_question_picture(const struct attn_question_asked *asked,
                                       const struct attn_table *table,
                                       struct attn_table_picture *picture, struct attn_error *err)
{
    const struct attn_experiment *experiment;
    const struct question *found;
    union args read = {.ablate = {.size = 0}};
    size_t size;

    if (!attn_is_given(asked, "asked", err) || !attn_is_given(asked->question, "question", err) ||
        !attn_is_given(picture, "picture", err))
        return ATTN_INVALID;
    found = find(asked->question);
    if (!found)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "there is no question '%s'",
                           attn_quote_string(asked->question).text);
    if (found->defaults) {
        memcpy(&size, found->defaults, sizeof size);
        memcpy(&read, found->defaults, size);
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
