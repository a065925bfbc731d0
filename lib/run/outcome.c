/* outcome.c - see outcome.h. */
#include "run/outcome.h"

#include "run/prediction.h"

struct attn_outcome attn_outcome_of(const struct attn_many_result *result)
{
    const struct attn_record *record = result->record;
    struct attn_outcome outcome = {
        .number = record->number,
        .id = record->id,
        .n_id = record->n_id,
        .has_text_id = record->has == ATTN_RECORD_ID_TEXT,
    };

    if (record->failure != ATTN_RECORD_FAILURE_NONE) {
        outcome.failure = attn_record_failure_code(record->failure);
        outcome.message = record->err.message;
        return outcome;
    }
    outcome.n_token = result->n_token;
    outcome.labels = result->labels;
    outcome.measures = result->measures;
    outcome.surprisal = result->surprisal;
    outcome.predictions = &result->predictions;
    outcome.capture = result->capture;
    outcome.edges = result->edges;
    return outcome;
}

struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                              const struct attn_config *config)
{
    const struct attn_question *predict = &options->request->predict;
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;

    form.fields = ATTN_RECORD_FIELD_BIT(IDS) | ATTN_RECORD_FIELD_BIT(MEASURES);
    if (attn_question_is_asked(predict))
        form.fields |= ATTN_RECORD_FIELD_BIT(PREDICTIONS);
    form.measures = options->measures;
    form.n_layer = config->n_layer;
    form.n_head = config->n_head;
    form.n_top = predict->top < config->n_vocab ? predict->top : config->n_vocab;
    return form;
}
