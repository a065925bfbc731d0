/* layer_attention.c - see layer_attention.h. */
#include "layer_attention.h"

#include "command.h"
#include "mask_file.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static bool has_self(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (!config->is_cross[layer])
            return true;
    return false;
}

/* Gives the mask to the layers that it is for; others see all keys. */
static int read_mask(const char *path, const struct attn_config *config,
                     const struct mask_sizes *sizes, struct layer_attention *attention)
{
    struct attn_mask_matrix matrix;
    int code = mask_file_read(path, sizes, &matrix, &attention->cells);
    if (code != EXIT_DONE)
        return code;
    bool is_of_text = has_self(config);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_attention *one = &attention->layers[layer];
        if (config->is_cross[layer] && is_of_text)
            one->mask = ATTN_MASK_NONE;
        else
            one->matrix = matrix;
    }
    return EXIT_DONE;
}

int layer_attention_find(const struct attention_args *args, const struct attn_config *config,
                         size_t n, size_t n_source, struct layer_attention *attention)
{
    const char *path = attention_mask_file(args);
    struct mask_sizes sizes = {0, config->n_head, n, has_self(config) ? n : n_source};
    int code = EXIT_DONE;
    if (args->mask && strcmp(args->mask, "causal") == 0 && !has_self(config))
        return report_problem(EXIT_USAGE, NULL,
                              "--mask causal is for layers that attend to the text itself, and the "
                              "model has none");
    attention->layers = calloc(config->n_layer, sizeof(*attention->layers));
    if (!attention->layers)
        return report_no_memory();
    memcpy(attention->layers, config->attention, config->n_layer * sizeof(*attention->layers));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        attention_apply(args, &attention->layers[layer]);
    if (path)
        code = read_mask(path, config, &sizes, attention);
    for (size_t layer = 0; code == EXIT_DONE && layer < config->n_layer; layer++) {
        bool is_cross = config->is_cross[layer];
        code = attention_confirm(&attention->layers[layer], is_cross);
        attn_attention_resolve_stride(&attention->layers[layer], is_cross ? n_source : n);
    }
    return code;
}

void layer_attention_release(struct layer_attention *attention)
{
    free(attention->layers);
    free(attention->cells);
    *attention = (struct layer_attention){0};
}

/* Why no token can be fed after the text, or NULL: it can. */
static const char *find_why_whole(const struct layer_attention *attention,
                                  const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *one = &attention->layers[layer];
        if (one->dropout > 0)
            return "dropout is drawn for the whole text at once";
        if (!config->is_cross[layer] && one->mask == ATTN_MASK_NONE)
            return "without a causal mask, what comes after the text changes all of it";
        if (one->mask == ATTN_MASK_MATRIX)
            return "the mask is for the text alone";
    }
    return NULL;
}

int layer_attention_check_next(const struct layer_attention *attention,
                               const struct attn_config *config)
{
    const char *why_not = find_why_whole(attention, config);
    if (!why_not)
        return EXIT_DONE;
    return report_problem(EXIT_USAGE, NULL, "--next feeds more tokens after the text: %s", why_not);
}
