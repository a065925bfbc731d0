/* first_sequence.c - see first_sequence.h. */
#include "first_sequence.h"

#include "command.h"
#include "report.h"

#include <stdlib.h>

static int read_embeddings(const char *path, const struct attn_model *model,
                           struct first_sequence *first)
{
    size_t d = attn_model_config(model)->d_model;
    int code = array_read(path, 2, 2, "[T, d_model]", &first->embeds);
    if (code == EXIT_DONE && first->embeds.shape[1] != d)
        return report_problem(EXIT_INPUT, NULL,
                              "'%s' has the shape %s, '%s' takes embeddings of %zu numbers", path,
                              array_shape(&first->embeds).text, attn_model_name(model), d);
    first->n = first->embeds.shape[0];
    return code;
}

static int read_text(const struct prompt_args *args, const struct attn_tokenizer *tokenizer,
                     struct first_sequence *first)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_error err = {0};
    options.special = (enum attn_special)args->special;
    int code = prompt_read(args, &first->text);
    if (code != EXIT_DONE)
        return code;
    if (attn_tokenizer_encode(tokenizer, first->text.data, first->text.size, &options,
                              &first->encoding, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    first->ids = first->encoding.ids;
    first->n = first->encoding.n;
    return EXIT_DONE;
}

static int check_length(const struct first_sequence *first, const struct attn_model *model,
                        const char *example)
{
    size_t n_ctx = attn_model_config(model)->n_ctx;
    const char *name = attn_model_name(model);
    if (first->n == 0)
        return report_problem(EXIT_INPUT, example, "the text is empty: it has no tokens");
    if (first->n > n_ctx && first->embeds.data)
        return report_problem(EXIT_INPUT, NULL, "'%s' has %zu rows, '%s' takes at most %zu",
                              first->embeds.path, first->n, name, n_ctx);
    if (first->n > n_ctx)
        return report_problem(EXIT_INPUT, NULL, "the text has %zu tokens, '%s' takes at most %zu",
                              first->n, name, n_ctx);
    return EXIT_DONE;
}

int first_sequence_read(const struct prompt_args *args, const struct attn_model *model,
                        const struct attn_tokenizer *tokenizer, const char *example,
                        struct first_sequence *first)
{
    int code;
    if (args->embeds)
        code = read_embeddings(args->embeds, model, first);
    else if (args->ids)
        code = ids_parse(args->ids, &first->ids, &first->n);
    else
        code = read_text(args, tokenizer, first);
    return code == EXIT_DONE ? check_length(first, model, example) : code;
}

void first_sequence_release(struct first_sequence *first)
{
    if (first->ids != first->encoding.ids)
        free(first->ids);
    attn_encoding_release(&first->encoding);
    array_release(&first->embeds);
    text_release(&first->text);
    *first = (struct first_sequence){0};
}
