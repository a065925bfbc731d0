/* run_answer.c - the fourth stage of a run: what the request predicts, measures and differentiates,
 * and at which positions. */
#include "run/run_internal.h"

#include "base/status_internal.h"
#include "input/spaces.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "trace/trace_internal.h"

/* Adds a hint about what a model without an output layer offers instead. */
static void hint_at_answer(const struct attn_config *config, struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(config, 0);
    const enum attn_site output = attn_site_of_output(&dims);
    const bool has_output = attn_sites_have(dims.sites, output);

    if (config->is_sentence)
        attn_error_hint(err, "`label 'a text'`, once or more, compares the text with others");
    else if (config->has_two_towers)
        attn_error_hint(err,
                        "with a picture, `label 'a cat'` and other labels compare it with texts");
    else
        attn_error_hint(err,
                        "`sites %s` of a run prints the vectors that it makes, 'attn-cli inspect' "
                        "lists what it has",
                        attn_site_name(has_output ? output : ATTN_SITE_Z));
}

enum attn_status attn_run_check_output(const struct attn_model *model, const char *needs,
                                       struct attn_error *err)
{
    if (attn_model_config(model)->output != ATTN_OUTPUT_NONE)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' has no output layer, %s",
                   attn_quote_string(attn_model_name(model)).text, needs);
    hint_at_answer(attn_model_config(model), err);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_run_check_question(const struct attn_model *model,
                                         const struct attn_request_predict *question,
                                         struct attn_error *err)
{
    return attn_predict_is_asked(question)
               ? attn_run_check_output(model,
                                       question->top > 0  ? "`top` needs one"
                                       : question->answer ? "`target` needs one"
                                                          : "`next` needs one",
                                       err)
               : ATTN_OK;
}

enum attn_status attn_run_find_answer(const struct attn_run *run,
                                      const struct attn_answer_args *args,
                                      struct attn_answer *answer, struct attn_error *err)
{
    const struct attn_answer_scope scope = attn_run_answer_scope(run);
    const bool is_at_queries = run->request.predict.answer == args &&
                               attn_number_list_is_given(&run->request.selection.queries);

    ATTN_TRY(attn_answer_find(&scope, args, is_at_queries, answer, err));
    if (answer->n_piece > 1)
        attn_note(run->request.on_note, run->request.user, ATTN_NOTE_SEVERAL_TOKENS,
                  "'%s' is %zu tokens: the label is that of its first, position %zu",
                  attn_number_list_quote(&args->at).text, answer->n_piece, answer->position);
    if (attn_chat_is_wanted(&run->request.chat) && args->target && args->target[0] == ' ')
        attn_note(run->request.on_note, run->request.user, ATTN_NOTE_SPACES,
                  "target '%s' begins with a space: the answer in a conversation rarely does",
                  attn_quote_string(args->target).text);
    return ATTN_OK;
}

/* Whether answers are about the whole input, so that they have no position. */
static bool is_whole(const struct attn_run *run)
{
    return attn_model_is_classifier(run->model) ||
           attn_model_config(run->model)->task == ATTN_TASK_SPANS;
}

bool attn_run_has_positions(const struct attn_run *run)
{
    return attn_predict_is_asked(&run->request.predict) && !is_whole(run) &&
           (attn_number_list_is_given(&run->request.selection.queries) ||
            !attn_selection_is_all_queries(run->selection, ATTN_STACK_ONLY));
}

/* Finds the positions at which an encoder predicts: selected positions, or the masks. A
 * continuation is one token at one of them. */
static enum attn_status find_masks(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_predict *predict = &run->request.predict;
    const bool is_asked = predict->top > 0 || run->asked.continuations.n > 0;
    const struct attn_answer_scope scope = attn_run_answer_scope(run);
    size_t n;

    if (!attn_model_config(run->model)->is_encoder || !is_asked || is_whole(run))
        return ATTN_OK;
    if (!attn_run_has_positions(run))
        ATTN_TRY(attn_masks_select(&scope, &run->asked.masks, err));
    n = attn_selection_n_query(run->asked.masks ? run->asked.masks : run->selection);
    for (size_t i = 0; i < run->asked.continuations.n; i++)
        if (run->asked.continuations.encodings[i].n != 1)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`next` '%s' is %zu tokens, an encoder predicts one at a position",
                               attn_quote_string(attn_predict_next(predict, i)).text,
                               run->asked.continuations.encodings[i].n);
    if (run->asked.continuations.n == 0 || n == 1 || attn_model_has_labels(run->model))
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "`next` is asked at %zu positions, an encoder answers at one: a mask, or "
                       "`queries`",
                       n);
}

/* Resolves the metric of the request, which must be one that a single run has after one position.
 */
static enum attn_status find_answer(struct attn_run *run, struct attn_error *err)
{
    const struct attn_answer_args *args = run->request.predict.answer;

    if (!args)
        return ATTN_OK;
    ATTN_TRY(attn_run_find_answer(run, args, &run->asked.answer, err));
    if (run->asked.has_goal && run->asked.answer.metric == ATTN_ANSWER_CE) {
        run->request.predict.answer = NULL; /* the metric is only needed for its gradients */
        return ATTN_OK;
    }
    if (run->asked.answer.metric != ATTN_ANSWER_KL && run->asked.answer.metric != ATTN_ANSWER_CE)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "metric '%s' is not that of one next token, expected logit_diff, log_prob, logit "
                "or prob",
                attn_answer_metric_name(run->asked.answer.metric));
    if (run->asked.answer.metric == ATTN_ANSWER_CE)
        attn_error_hint(err, "with `grad` it has gradients; 'attn-cli score' has the surprisal of "
                             "each token of a text");
    return attn_error_of(ATTN_INVALID, "metric", err);
}

/* Checks for missing and superfluous spaces in the text, the target and foil, and continuations. */
static void check_spaces(struct attn_run *run)
{
    const struct attn_request_predict *predict = &run->request.predict;
    const bool is_encoder = attn_model_config(run->model)->is_encoder;
    size_t at = run->text.n - 1;

    if (predict->answer || run->asked.has_goal)
        run->asked.spaces = predict->answer ? run->asked.answer.spaces : run->asked.goal.spaces;
    run->asked.spaces.is_at_end = attn_spaces_are_at_end(&run->request.input, run->tokenizer);
    while (is_encoder && at > 0 &&
           !attn_selection_has_query(run->asked.masks ? run->asked.masks : run->selection,
                                     ATTN_STACK_ONLY, at))
        at--; /* find the only selected position */
    for (size_t i = 0; i < predict->n_next && !run->asked.spaces.what; i++)
        if ((is_encoder ? attn_spaces_are_left_out : attn_spaces_are_forgotten)(
                &run->text, at, predict->next[i][0], run->tokenizer))
            run->asked.spaces =
                (struct attn_spaces){.what = "continuation", .text = predict->next[i]};
}

enum attn_status attn_run_find_answers(struct attn_run *run, struct attn_error *err)
{
    static const struct attn_answer_args only; /* for models with one label */
    const struct attn_answer_args *goal = run->request.selection.gradients_of;

    ATTN_TRY(find_masks(run, err));
    if (run->asked.has_goal) {
        ATTN_TRY(attn_run_find_answer(run, goal ? goal : &only, &run->asked.goal, err));
        ATTN_TRY(
            attn_error_at(attn_answer_check_goal(&run->asked.goal, err), ATTN_STAGE_OPTIONS, err));
    }
    ATTN_TRY(find_answer(run, err));
    check_spaces(run);
    return ATTN_OK;
}
