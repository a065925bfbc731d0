/* model_vocabulary.c - see model_vocabulary.h. */
#include "model_vocabulary.h"

#include "command.h"
#include "report.h"

/* A token without a row would fail only when a text happens to hold it. */
static int check_size(const struct attn_tokenizer *tokenizer, const struct attn_model *model)
{
    size_t n_token = attn_tokenizer_n_vocab(tokenizer);
    size_t n_row = attn_model_config(model)->n_vocab;
    if (n_token <= n_row)
        return EXIT_DONE;
    return report_problem(
        EXIT_MODEL, NULL,
        "the vocabulary of '%s' has %zu tokens, expected at most %zu, the rows of "
        "its embedding",
        attn_model_name(model), n_token, n_row);
}

int vocabulary_open(const struct model_source *source, const struct attn_model *model,
                    bool is_needed, bool is_verbose, struct attn_tokenizer **tokenizer)
{
    struct attn_error err = {0};
    if (attn_tokenizer_open(&source->source, tokenizer, &err) == ATTN_OK)
        return check_size(*tokenizer, model);
    if (is_needed || err.status == ATTN_NO_MEMORY)
        return report(&err, EXIT_MODEL);
    if (is_verbose)
        note("tokens have no text: %s", err.message);
    return EXIT_DONE;
}
