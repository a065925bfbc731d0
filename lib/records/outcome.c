/* outcome.c - see outcome.h. */
#include "records/outcome.h"

struct attn_outcome attn_outcome_of(const struct attn_many_result *result)
{
    if (!result || !result->record)
        return (struct attn_outcome){0};
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
