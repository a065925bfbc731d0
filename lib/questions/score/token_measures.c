/* token_measures.c - see token_measures.h. Sums are double and in the order of indices, so they do
 * not depend on threads or on how rows are split into events. */
#include "score/token_measures.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/store.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "predict/logits.h"
#include "run/run_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <string.h>

enum { LENS_ROWS = 64 };

/* The reading of one text. */
struct reading {
    const struct attn_token_measures *measures;
    const struct attn_token_text *text;
    /* ATTENTION: the row before of each head [L, H, n], its nae [L, H], the current row [n]; own */
    float *before, *row;
    double *nae, *logs; /* logs [n]: ln i */
    size_t n_head;      /* number of heads that were seen */
    /* LENS: a session that reads rows of the stream, the rows [LENS_ROWS, D], their logits; own */
    struct attn_session *lens;
    float *stream, *logits;
    struct attn_store *store; /* owns all of these arrays */
};

static double *number_of(const struct reading *reading, size_t token, size_t which)
{
    return &reading->text->numbers[token * reading->measures->reader.n_number + which];
}

static bool begins_with_space(const struct attn_tokenizer *tokenizer, int32_t id)
{
    size_t size = 0;
    uint32_t c;
    const char *text = attn_tokenizer_token(tokenizer, id, &size);

    return text && size > 0 && attn_utf8_decode(text, size, &c) > 0 && attn_utf8_is_white_space(c);
}

/* --- The distribution before a token ---------------------------------------------------------- */

struct rows {
    const struct reading *reading;
    const struct attn_trace_event *event;
};

/* Reads row TASK of the logits (attn_task_fn). */
static void read_logits(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct reading *reading = rows->reading;
    const struct attn_token_measures *measures = reading->measures;
    const struct attn_token_text *text = reading->text;
    const size_t n = rows->event->n_col, at = rows->event->row0 + task + 1;
    const float *logits = rows->event->data + task * rows->event->ld;
    const bool has_space = measures->which & ATTN_WORD_SPACE;
    struct attn_exp_sums sums = {.mask = measures->spaces};
    double total, space;

    (void)worker;
    if (at < text->from)
        return;
    total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n, &sums);
    space = -attn_log(sums.masked) / M_LN2;
    if (at < text->n) {
        const int32_t id = text->run->text.ids[at];

        text->surprisal[at] = total - (double)logits[id];
        *number_of(reading, at, ATTN_TOKEN_ENTROPY) = sums.entropy / M_LN2;
        if (has_space)
            *number_of(reading, at, ATTN_TOKEN_SPACE) =
                at != text->first && measures->spaces[id] > 0 &&
                        begins_with_space(measures->tokenizer, id)
                    ? space
                    : 0;
    }
    if (at == text->end && has_space)
        *number_of(reading, at - 1, ATTN_TOKEN_END) = space;
}

/* Reads rows of the stream before a layer, which the output layer turns into logits. */
static enum attn_status read_stream(struct reading *reading, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct attn_token_text *text = reading->text;
    const struct attn_config *config = attn_model_config(text->run->model);
    const struct attn_location end = attn_dims_end(attn_selection_dims(text->run->selection));
    const size_t n_vocab = config->n_vocab;

    for (size_t begin = 0, n; begin < event->n_row; begin += n) {
        n = event->n_row - begin < LENS_ROWS ? event->n_row - begin : LENS_ROWS;
        for (size_t i = 0; i < n; i++)
            memcpy(reading->stream + i * event->n_col, event->data + (begin + i) * event->ld,
                   event->n_col * sizeof *reading->stream);
        attn_session_reset(reading->lens);
        ATTN_TRY(attn_session_feed_layer(reading->lens, &end, reading->stream, NULL, n, err));
        for (size_t i = 0; i < n; i++) {
            const size_t at = event->row0 + begin + i + 1;

            if (at >= text->n || at < text->from)
                continue;
            ATTN_TRY(attn_session_logits_at(reading->lens, i, 1, reading->logits, err));
            *number_of(reading, at, ATTN_TOKEN_LENS + (size_t)event->at.layer) =
                attn_logits_surprisal(reading->logits, n_vocab, text->run->text.ids[at]) / M_LN2;
        }
    }
    return ATTN_OK;
}

/* --- The weights of a token ------------------------------------------------------------------- */

/* Copies row R of EVENT, which has gaps, to ROW [n_col]. */
static void copy_row(const struct attn_trace_event *event, size_t r, float *row)
{
    const float *data = event->data + r * event->ld;

    memset(row, 0, event->n_col * sizeof *row);
    for (size_t k = 0; k < event->n_kept[r]; k++)
        row[event->keys[r * event->ld + k]] = data[k];
}

/* Adds the numbers of row I of a head: ROW [i + 1] after BEFORE [i], whose entropy is *NAE. LOG is
 * ln i. */
static void add_row(const struct reading *reading, size_t i, double log, const float *row,
                    const float *before, double *nae)
{
    double weight = 0, moved = 0, run = 0, work = 0, entropy = 0;

    for (size_t k = 0; k < i; k++) {
        const double difference = (double)row[k] - (double)before[k];

        weight += (double)row[k];
        run += difference;
        moved += fabs(difference);
        work += fabs(run);
    }
    if (i >= 2 && weight > 0) /* the weights before i, divided by their sum */
        entropy =
            (attn_kernels_find(ATTN_ISA_BEST)->entropy(row, i, NULL) / weight + attn_log(weight)) /
            log;
    *number_of(reading, i, ATTN_TOKEN_NAE) += entropy;
    if (i > 0) {
        *number_of(reading, i, ATTN_TOKEN_DNAE) += fabs(entropy - *nae);
        *number_of(reading, i, ATTN_TOKEN_MD) += moved + (double)row[i];
        *number_of(reading, i, ATTN_TOKEN_EMD) += work / (double)i;
    }
    *nae = entropy;
}

static void read_pattern(struct reading *reading, const struct attn_trace_event *event)
{
    const size_t n = reading->text->n;
    const size_t head =
        (size_t)event->at.layer * attn_model_config(reading->text->run->model)->n_head +
        (size_t)event->at.head;
    float *last = reading->before + head * n; /* the row before */
    const float *before = last;

    reading->n_head += event->row0 == 0;
    for (size_t r = 0; r < event->n_row; r++) {
        const float *row = event->data + r * event->ld;
        const size_t i = event->row0 + r;

        if (event->keys) {
            copy_row(event, r, reading->row);
            row = reading->row;
        }
        if (i + 1 >= reading->text->from) /* that of token from - 1 is needed for the next */
            add_row(reading, i, reading->logs[i], row, before, &reading->nae[head]);
        before = row;
        if (event->keys || r + 1 == event->n_row)
            before = memcpy(last, row, (i + 1) * sizeof *row);
    }
}

/* --- The reader ------------------------------------------------------------------------------- */

static enum attn_status add(void *state, const struct attn_trace_event *event,
                            struct attn_error *err)
{
    struct reading *reading = state;
    struct rows rows = {reading, event};

    if (event->at.site == ATTN_SITE_LOGITS)
        attn_pool_run(reading->text->pool, event->n_row, read_logits, &rows);
    else if (event->at.site == ATTN_SITE_RESID_PRE)
        return read_stream(reading, event, err);
    else
        read_pattern(reading, event);
    return ATTN_OK;
}

static void end(void *state)
{
    struct reading *reading = state;

    for (size_t i = 0; reading->row && i < reading->text->n; i++)
        for (size_t which = ATTN_TOKEN_NAE; which <= ATTN_TOKEN_EMD; which++)
            *number_of(reading, i, which) /= (double)reading->n_head;
    attn_session_free(reading->lens);
    attn_store_release(&reading->store);
    attn_free(reading);
}

static enum attn_status begin_attention(struct reading *reading, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(reading->text->run->model);
    const size_t n = reading->text->n, n_head = config->n_layer * config->n_head;

    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->before, attn_size_mul(n_head, n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->nae, n_head, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->logs, n, err));
    for (size_t i = 2; i < n; i++)
        reading->logs[i] = attn_log((double)i);
    for (size_t i = 0; i < n; i++)
        for (size_t which = ATTN_TOKEN_NAE; which <= ATTN_TOKEN_EMD; which++)
            if (i > 0 || which == ATTN_TOKEN_NAE)
                *number_of(reading, i, which) = 0;
    return ATTN_STORE_ALLOC(&reading->store, reading->row, n, err);
}

static enum attn_status begin_lens(struct reading *reading, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(reading->text->run->model);
    struct attn_pass pass = attn_run_pass(reading->text->run);

    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->stream, (size_t)LENS_ROWS * config->d_model,
                              err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->logits, config->n_vocab, err));
    pass.options.has_logits = true;
    pass.options.n_max = LENS_ROWS;
    pass.options.pool = NULL;
    return attn_pass_start(&pass, &reading->lens, err);
}

static enum attn_status begin(void *user, const struct attn_token_text *text, void **state,
                              struct attn_error *err)
{
    const struct attn_token_measures *measures = user;
    struct reading *reading;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_ALLOC(reading, 1, err));
    reading->measures = measures;
    reading->text = text;
    if (text->first < text->n && measures->which & ATTN_WORD_SPACE)
        *number_of(reading, text->first, ATTN_TOKEN_SPACE) = 0;
    if (measures->which & ATTN_WORD_ATTENTION)
        status = begin_attention(reading, err);
    if (status == ATTN_OK && measures->which & ATTN_WORD_LENS)
        status = begin_lens(reading, err);
    ATTN_RETURN_MADE(status, state, reading, end);
}

/* Marks S. */
static enum attn_status find_spaces(struct attn_token_measures *measures, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(measures->model);

    ATTN_TRY(ATTN_ALLOC(measures->spaces, config->n_vocab, err));
    for (size_t id = 0; id < config->n_vocab; id++)
        measures->spaces[id] = (config->n_end_id > 0 && config->end_ids[0] == (int64_t)id) ||
                               begins_with_space(measures->tokenizer, (int32_t)id);
    return ATTN_OK;
}

enum attn_status attn_token_measures_init(struct attn_token_measures *measures,
                                          struct attn_host *host,
                                          const struct attn_tokenizer *tokenizer, unsigned which,
                                          struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const struct attn_config *config = attn_model_config(model);
    struct attn_site_set sites = {0};

    measures->which = which;
    measures->model = model;
    measures->tokenizer = tokenizer;
    if (which & (ATTN_WORD_SPACE | ATTN_WORD_ENTROPY))
        attn_sites_add(&sites, ATTN_SITE_LOGITS);
    if (which & ATTN_WORD_LENS)
        attn_sites_add(&sites, ATTN_SITE_RESID_PRE);
    if (which & ATTN_WORD_ATTENTION)
        attn_sites_add(&sites, ATTN_SITE_PATTERN);
    measures->reader = (struct attn_token_reader){
        .sites = sites,
        .n_number = ATTN_TOKEN_LENS + (which & ATTN_WORD_LENS ? config->n_layer : 0),
        .begin = begin,
        .add = add,
        .end = end,
        .user = measures};
    return attn_sites_have(sites, ATTN_SITE_LOGITS) ? find_spaces(measures, err) : ATTN_OK;
}

void attn_token_measures_release(struct attn_token_measures *measures)
{
    attn_free(measures->spaces);
}
