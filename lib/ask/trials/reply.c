#include "trials/reply.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/logit_rows.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"

#include <math.h>

/* If cross-entropy is the metric, computes the mean of -ln p over the tokens of text number I that
 * count, all except the first. */
static enum attn_status cross_entropy(const struct attn_answer *answer,
                                      struct attn_session *session, size_t i, double *mean,
                                      struct attn_error *err)
{
    const struct attn_sequence *text = answer->of.text;
    const size_t n_vocab = attn_model_config(answer->of.model)->n_vocab;
    const size_t first = answer->first_token > 0 ? answer->first_token : 1;
    struct attn_logit_rows rows = {
        .session = session, .first = i * text->n + first - 1, .end = (i + 1) * text->n - 1};
    double sum = 0;

    if (answer->metric != ATTN_ANSWER_CE)
        return ATTN_OK;
    while (attn_logit_rows_next(&rows, err)) {
        const int32_t *ids = text->ids + (rows.first - i * text->n) + 1;

        for (size_t row = 0; row < rows.n; row++)
            sum += attn_logits_surprisal(rows.logits + row * n_vocab, n_vocab, ids[row]);
    }
    *mean = sum / (double)(text->n - first);
    return attn_logit_rows_end(&rows);
}

/* Returns the reply for the LOGITS at the position; CE is the cross-entropy, if that is the
 * metric. */
static struct attn_reply reply_of(const struct attn_answer *answer,
                                  const struct attn_reading *reading, const float *logits,
                                  double ce)
{
    struct attn_reply found = {.value = ce,
                               .first = attn_answer_first(answer, logits),
                               .total = attn_answer_total(answer, logits),
                               .right = answer->has_target ? attn_answer_right(answer, logits) : 0};

    if (reading->base)
        found.kl =
            attn_answer_divergence(answer, reading->base, reading->base_total, logits, found.total);
    if (answer->metric == ATTN_ANSWER_KL)
        found.value = found.kl;
    else if (answer->metric != ATTN_ANSWER_CE)
        found.value = attn_answer_value(answer, logits, found.total);
    return found;
}

struct attn_cell attn_reply_right(const struct attn_answer *answer, double right)
{
    return attn_answer_is_judged(answer) && !isnan(right) ? attn_cell_real(right)
                                                          : attn_cell_missing();
}

enum attn_status attn_answer_read_each(const struct attn_answer *answers, size_t n,
                                       struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err)
{
    const size_t n_logit = attn_answer_n_logit(answers), n_row = attn_answer_n_row(answers);
    const bool is_pooled = attn_model_is_classifier(answers->of.model);
    size_t positions[ATTN_ANSWERS_MOST]; /* numbered over all texts */
    double ce = 0;

    for (size_t i = 0; i < n; i++)
        positions[i] = is_pooled ? i : i * answers->of.text->n + answers[i].position;
    for (size_t i = 0; i < n && n_row > 1; i++)
        ATTN_TRY(attn_error_at(
            attn_session_logits_at(session, i * n_row, n_row, reading->logits + i * n_logit, err),
            ATTN_STAGE_MODEL, err));
    if (n_row == 1)
        ATTN_TRY(attn_error_at(attn_session_logits_of(session, positions, n, reading->logits, err),
                               ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(
            attn_error_at(cross_entropy(&answers[i], session, i, &ce, err), ATTN_STAGE_MODEL, err));
        reading->replies[i] = reply_of(&answers[i], reading, reading->logits + i * n_logit, ce);
    }
    return ATTN_OK;
}

enum attn_status attn_answer_read(const struct attn_answer *answer, struct attn_session *session,
                                  const struct attn_reading *reading, struct attn_error *err)
{
    return attn_answer_read_each(answer, 1, session, reading, err);
}

size_t attn_answer_width(const struct attn_answer *answer)
{
    return answer->of.model->weights.unembed.weight.n_row;
}

enum attn_status attn_answer_keep(const struct attn_answer *answer, struct attn_session *session,
                                  size_t n, struct attn_kept *kept, struct attn_error *err)
{
    const size_t d = attn_answer_width(answer);
    const bool is_pooled = attn_model_is_classifier(answer->of.model);
    /* position of each text, numbered over all texts */
    size_t *positions = attn_alloc(n, sizeof *positions, err);
    enum attn_status status;

    if (!positions)
        return attn_error_at(ATTN_NO_MEMORY, ATTN_STAGE_MODEL, err);
    for (size_t i = 0; i < n; i++)
        positions[i] = is_pooled ? i : i * answer->of.text->n + answer->position;
    status = attn_session_final_of(session, positions, n, kept->rows + kept->n * d, err);
    attn_free(positions);
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = cross_entropy(answer, session, i, &kept->ce[kept->n + i], err);
    if (status == ATTN_OK)
        kept->n += n;
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

enum attn_status attn_answer_read_kept(const struct attn_answer *answer,
                                       const struct attn_kept *kept, struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err)
{
    const size_t n_vocab = attn_model_config(answer->of.model)->n_vocab;

    ATTN_TRY(attn_error_at(attn_session_unembed(session, kept->rows, kept->n, reading->logits, err),
                           ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < kept->n; i++)
        reading->replies[i] = reply_of(answer, reading, reading->logits + i * n_vocab, kept->ce[i]);
    return ATTN_OK;
}

enum attn_status attn_answer_select(const struct attn_answer *answer,
                                    struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(answer->of.dims, &made, err));
    status = attn_selection_set_sites(made, ATTN_SITES(ATTN_SITE_EMBED), err);
    if (status == ATTN_OK && answer->metric != ATTN_ANSWER_CE && attn_answer_n_row(answer) == 1)
        status = attn_selection_add_queries(made, ATTN_STACK_ONLY, answer->position, 1, err);
    ATTN_RETURN_MADE(status, selection, made, attn_selection_free);
}
