#include "heads/examples_internal.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "forward/session_internal.h"
#include "means/rows.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "trace/places_extra.h"
#include "trials/readout.h"

#include <inttypes.h>
#include <string.h>

size_t attn_head_cards_vector(const struct attn_model *model)
{
    const struct attn_config *config = attn_model_config(model);

    return config->output == ATTN_OUTPUT_NONE || config->is_sentence ||
                   config->task != ATTN_TASK_VOCABULARY || attn_model_is_classifier(model)
               ? 0
               : config->d_value;
}

/* Reads outputs of heads as the model's last layer. */
struct reader {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    struct attn_session *session;           /* owns */
    struct attn_store *store;               /* owns; has the arrays */
    double *scratch;
    float *out, *logits;        /* [d_model], [n_vocab] */
    struct attn_scored *ranked; /* [2, n_vocab] */
};

static enum attn_status begin_reader(struct reader *reader, struct attn_host *host,
                                     struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(reader->model);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    attn_host_tokenizer(host, &reader->tokenizer, NULL);
    options.n_max = 1;
    options.n_source = config->is_cross[0] || config->stack.has_encoder;
    options.has_logits = true;
    options.pool = host->pool;
    options.cancel = host->options.cancel;
    options.isa = host->options.isa;
    options.gemm = host->options.gemm;
    ATTN_TRY(ATTN_STORE_ALLOC(&reader->store, reader->scratch, 2 * config->d_model, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reader->store, reader->out, config->d_model, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reader->store, reader->logits, config->n_vocab, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reader->store, reader->ranked, 2 * config->n_vocab, err));
    return attn_session_create(reader->model, &options, &reader->session, err);
}

/* Returns true if the token of ROW's key was read before. */
static bool is_known(const struct attn_card_head *head, const char *key, size_t size)
{
    for (size_t i = 0; i < head->n_writing; i++)
        if (head->writings[i].key.size == size &&
            memcmp(head->writings[i].key.data, key, size) == 0)
            return true;
    return false;
}

/* Appends the tokens that the key of ROW writes. */
static enum attn_status read_row(struct reader *reader, struct attn_card_head *head,
                                 const struct attn_card_row *row, struct attn_error *err)
{
    const size_t n_vocab = attn_model_config(reader->model)->n_vocab;
    struct attn_card_writing *writing = &head->writings[head->n_writing];
    const struct attn_dims dims = attn_config_dims(attn_model_config(reader->model), 1);
    const struct attn_location end = attn_dims_end(&dims);
    size_t size;
    const char *key =
        attn_card_token(row->text, row->key + (head->is_cross ? row->text->n_token : 0), &size);

    if (is_known(head, key, size) ||
        (size == sizeof ATTN_PIECE - 1 && memcmp(key, ATTN_PIECE, size) == 0)) /* no whole token */
        return ATTN_OK;
    attn_readout_head(reader->model, &head->at, row->vector, reader->scratch, reader->out);
    attn_session_reset(reader->session);
    ATTN_TRY(attn_session_feed_layer(reader->session, &end, reader->out, NULL, 1, err));
    ATTN_TRY(attn_session_logits_at(reader->session, 0, 1, reader->logits, err));
    attn_logits_rank(reader->logits, n_vocab, reader->ranked);
    attn_buffer_append(&writing->key, key, size);
    for (size_t i = 0; i < ATTN_CARD_WRITTEN && i < n_vocab; i++) {
        const struct attn_cell cell = attn_cell_token(reader->tokenizer, reader->ranked[i].id);

        if (cell.type == ATTN_VALUE_TEXT)
            attn_escape_append(&writing->tokens[i], cell.text, cell.size);
        else
            attn_buffer_append_format(&writing->tokens[i], "%" PRId32, reader->ranked[i].id);
        ATTN_TRY(attn_buffer_check(&writing->tokens[i], err));
        writing->n_token++;
    }
    head->n_writing++;
    return attn_buffer_check(&writing->key, err);
}

enum attn_status attn_head_cards_write(struct attn_head_cards *cards, struct attn_host *host,
                                       struct attn_error *err)
{
    struct reader reader = {.model = attn_host_model(host)};
    enum attn_status status;

    if (cards->n_vector == 0)
        return ATTN_OK;
    status = begin_reader(&reader, host, err);
    for (size_t i = 0; status == ATTN_OK && i < cards->n_head; i++) {
        struct attn_card_head *head = &cards->heads[i];

        for (size_t k = 0; status == ATTN_OK && k < ATTN_CARD_EACH && !head->is_of_source; k++)
            if (head->strongest[k].text)
                status = read_row(&reader, head, &head->strongest[k], err);
        ATTN_THEN(status, attn_host_check_canceled(host, err));
    }
    attn_session_free(reader.session);
    attn_store_release(&reader.store);
    return status;
}
