/* second_sequence.c - from the value of --source to rows. */
#include "second_sequence.h"

#include "command.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const struct option source_rows[] = {
    {.name = "source",
     .argument = "TEXT|FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .help = "the second sequence, for models with cross-attention: a text, or what ends in "
             ".npy, an array [S, d_source]"},
};

const struct option_group source_options = OPTION_GROUP(source_rows);

bool second_sequence_is_array(const char *value)
{
    static const char ending[] = ".npy";
    size_t size = strlen(value), n = sizeof(ending) - 1;
    return size > n && strcmp(value + size - n, ending) == 0;
}

static bool has_cross_layers(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return true;
    return false;
}

int second_sequence_check(const char *value, const struct attn_model *model)
{
    const struct attn_config *config = attn_model_config(model);
    const char *name = attn_model_name(model);
    bool is_needed = has_cross_layers(config);
    if (is_needed && !value)
        return report_problem(
            EXIT_USAGE, "--source TEXT gives one, or --source FILE.npy an array [S, d_source]",
            "'%s' attends to a second sequence, and none was given", name);
    if (!is_needed && value)
        return report_problem(
            EXIT_USAGE, NULL,
            "--source is given, but no layer of '%s' attends to a second sequence", name);
    if (value && !second_sequence_is_array(value) && config->d_source != config->d_model)
        return report_problem(EXIT_USAGE, "--source FILE.npy gives such vectors",
                              "'%s' takes a second sequence of %zu numbers a row, its embedding "
                              "has %zu: a text will not do",
                              name, config->d_source, config->d_model);
    return EXIT_DONE;
}

static int read_array(const char *path, const struct attn_model *model,
                      struct second_sequence *second)
{
    size_t d = attn_model_config(model)->d_source;
    int code = array_read(path, 2, 2, "[S, d_source]", &second->array);
    if (code != EXIT_DONE)
        return code;
    if (second->array.shape[1] != d)
        return report_problem(EXIT_INPUT, NULL,
                              "'%s' has the shape %s, '%s' takes %zu numbers a row", path,
                              array_shape(&second->array).text, attn_model_name(model), d);
    second->x = second->array.data;
    second->n = second->array.shape[0];
    return EXIT_DONE;
}

static int read_text(const char *text, const struct attn_model *model,
                     const struct attn_tokenizer *tokenizer, enum attn_special special,
                     struct second_sequence *second)
{
    const struct attn_encoding *encoding = &second->encoding;
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_error err = {0};
    options.special = special;
    if (attn_tokenizer_encode(tokenizer, text, strlen(text), &options, &second->encoding, &err) !=
        ATTN_OK)
        return report(&err, EXIT_INPUT);
    if (encoding->n == 0)
        return report_problem(EXIT_INPUT, NULL, "the source is empty: it has no tokens");
    second->embedded =
        calloc(encoding->n * attn_model_config(model)->d_model, sizeof(*second->embedded));
    if (!second->embedded)
        return report_no_memory();
    int code = token_texts_find(tokenizer, encoding->ids, encoding->n, &second->tokens);
    if (code != EXIT_DONE)
        return code;
    if (attn_model_embed(model, encoding->ids, encoding->n, second->embedded, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    second->x = second->embedded;
    second->n = encoding->n;
    return EXIT_DONE;
}

int second_sequence_read(const char *value, const struct attn_model *model,
                         const struct attn_tokenizer *tokenizer, enum attn_special special,
                         struct second_sequence *second)
{
    if (!value)
        return EXIT_DONE;
    if (second_sequence_is_array(value))
        return read_array(value, model, second);
    return read_text(value, model, tokenizer, special, second);
}

void second_sequence_release(struct second_sequence *second)
{
    attn_encoding_release(&second->encoding);
    array_release(&second->array);
    token_texts_release(&second->tokens);
    free(second->embedded);
    *second = (struct second_sequence){0};
}
