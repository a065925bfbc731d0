/* answer_value.c - computes metrics, probabilities and divergences from logits, for each kind of
 * labels (predict/answer_internal.h). */
#include "predict/answer_internal.h"

#include "base/elementary.h"
#include "input/sequence.h"
#include "kernels/kernels.h"
#include "predict/logits.h"

#include <math.h>

static const struct attn_config *config_of(const struct attn_answer *answer)
{
    return attn_model_config(answer->of.model);
}

static bool is_span(const struct attn_answer *answer)
{
    return config_of(answer)->task == ATTN_TASK_SPANS;
}

size_t attn_answer_n_row(const struct attn_answer *answer)
{
    return is_span(answer) ? answer->of.text->n : 1;
}

size_t attn_answer_n_logit(const struct attn_answer *answer)
{
    return attn_answer_n_row(answer) * config_of(answer)->n_vocab;
}

double attn_softplus(double x)
{
    return attn_log1p(attn_exp(-fabs(x))) + fmax(x, 0);
}

/* Returns the log-sum-exp of column COLUMN of LOGITS [n, 2]. */
static double total_of(const float *logits, size_t n, size_t column)
{
    const double largest = (double)logits[2 * attn_floats_first(logits + column, n, 2) + column];
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += attn_exp((double)logits[2 * i + column] - largest);
    return largest + attn_log(sum);
}

/* Returns the logit of token or label FIRST, or of the span FIRST to LAST; of nothing, the mean. */
static double logit_of(const struct attn_answer *answer, const float *logits, int32_t first,
                       int32_t last)
{
    const size_t n = config_of(answer)->n_vocab;
    double sum = 0;

    for (size_t i = 0; first == ATTN_FOIL_NOTHING && i < n; i++)
        sum += (double)logits[i];
    if (first == ATTN_FOIL_NOTHING)
        return sum / (double)n;
    if (!is_span(answer))
        return (double)logits[first];
    return (double)logits[2 * (size_t)first] + (double)logits[2 * (size_t)last + 1];
}

double attn_answer_total(const struct attn_answer *answer, const float *logits)
{
    const struct attn_config *config = config_of(answer);

    if (is_span(answer))
        return total_of(logits, answer->of.text->n, 0) + total_of(logits, answer->of.text->n, 1);
    if (config->label_kind == ATTN_LABELS_SINGLE)
        return attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, config->n_vocab, NULL);
    return answer->has_target ? attn_softplus((double)logits[answer->target]) : 0;
}

double attn_answer_value(const struct attn_answer *answer, const float *logits, double total)
{
    const double target = logit_of(answer, logits, answer->target, answer->target_last);

    switch (answer->metric) {
    case ATTN_ANSWER_LOGIT_DIFF:
        return target - logit_of(answer, logits, answer->foil, answer->foil_last);
    case ATTN_ANSWER_LOG_PROB:
        return target - total;
    case ATTN_ANSWER_PROB:
        return attn_exp(target - total);
    default:
        return target;
    }
}

double attn_answer_probability(const struct attn_answer *answer, const float *logits, double total)
{
    if (!attn_answer_has_p(answer))
        return (double)NAN;
    return attn_exp(logit_of(answer, logits, answer->target, answer->target_last) - total);
}

/* Returns the KL divergence between the softmax of column COLUMN of A and of B, both [n, 2]. */
static double divergence_of_column(const float *a, const float *b, size_t n, size_t column)
{
    const double of_a = total_of(a, n, column), of_b = total_of(b, n, column);
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const double x = (double)a[2 * i + column] - of_a, y = (double)b[2 * i + column] - of_b;

        sum += attn_exp(x) * (x - y);
    }
    return sum;
}

double attn_answer_divergence(const struct attn_answer *answer, const float *base,
                              double base_total, const float *logits, double total)
{
    const struct attn_config *config = config_of(answer);
    const size_t n = answer->of.text->n;
    double sum = 0;

    if (is_span(answer))
        return divergence_of_column(base, logits, n, 0) + divergence_of_column(base, logits, n, 1);
    if (!attn_answer_has_p(answer))
        return (double)NAN;
    if (config->label_kind == ATTN_LABELS_SINGLE)
        return attn_kernels_find(ATTN_ISA_BEST)
            ->divergence(base, base_total, logits, total, config->n_vocab);
    /* Independent labels: adds p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)) of each. */
    for (size_t i = 0; i < config->n_vocab; i++) {
        const double x = (double)base[i], y = (double)logits[i];

        sum += attn_exp(-attn_softplus(-x)) * (attn_softplus(-y) - attn_softplus(-x)) +
               attn_exp(-attn_softplus(x)) * (attn_softplus(y) - attn_softplus(x));
    }
    return sum;
}

bool attn_answer_has_p(const struct attn_answer *answer)
{
    return config_of(answer)->label_kind < ATTN_LABELS_SCORE;
}

bool attn_answer_has_top(const struct attn_answer *answer)
{
    return attn_answer_has_p(answer) || config_of(answer)->pooling == ATTN_POOLING_PROJECTED;
}

bool attn_answer_is_judged(const struct attn_answer *answer)
{
    return answer->has_target && (answer->metric == ATTN_ANSWER_LOGIT_DIFF ||
                                  (attn_answer_has_top(answer) && config_of(answer)->n_vocab > 1));
}

int64_t attn_answer_first(const struct attn_answer *answer, const float *logits)
{
    const size_t n = answer->of.text->n;

    if (!is_span(answer))
        return (int64_t)attn_floats_first(logits, config_of(answer)->n_vocab, 1);
    return (int64_t)(attn_floats_first(logits, n, 2) * n + attn_floats_first(logits + 1, n, 2));
}

double attn_verdict(double target, double other)
{
    const double rounding = 1e-5 * fmax(1, fmax(fabs(target), fabs(other)));
    const double margin = target - other;

    return margin > rounding ? 1 : margin < -rounding ? 0 : (double)NAN;
}

/* Returns the largest of N numbers, which lie STEP floats apart, except number I. */
static double largest_other(const float *x, size_t n, size_t step, int32_t i)
{
    double largest = -(double)INFINITY;

    for (size_t k = 0; k < n; k++)
        if (k != (size_t)i && (double)x[k * step] > largest)
            largest = (double)x[k * step];
    return largest;
}

double attn_answer_right(const struct attn_answer *answer, const float *logits)
{
    const double target = logit_of(answer, logits, answer->target, answer->target_last);
    const size_t n = answer->of.text->n;
    double begin, end;

    if (answer->has_foil && answer->foil != ATTN_FOIL_NOTHING)
        return attn_verdict(target, logit_of(answer, logits, answer->foil, answer->foil_last));
    if (!is_span(answer))
        return attn_verdict(target,
                            largest_other(logits, config_of(answer)->n_vocab, 1, answer->target));
    /* for spans: the best span that differs in its begin or in its end */
    begin = largest_other(logits, n, 2, answer->target);
    end = largest_other(logits + 1, n, 2, answer->target_last);
    return attn_verdict(target,
                        fmax(begin + fmax(end, (double)logits[2 * (size_t)answer->target_last + 1]),
                             end + fmax(begin, (double)logits[2 * (size_t)answer->target])));
}
