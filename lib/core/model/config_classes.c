/*
 * config_classes.c - reads the classifier head that a config.json asks for: its kind, its labels,
 * and how to read its logits. `architectures` decides, because files may contain the tensors of
 * other heads.
 *
 * Traps: two labels named LABEL_0 and LABEL_1 are not written to files; the activation before the
 * matrix is that of the head, whatever hidden_act is.
 */
#include "model/family.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 1 << 16, LABEL_SIZE = 32 };

/* Whether NODE is the label of a number below N. If so, *i is the number. */
static bool is_label(const struct attn_node *node, size_t n, size_t *i)
{
    const char *key = attn_node_key(node);
    const size_t n_digit = strspn(key, "0123456789");

    if (n_digit == 0 || n_digit > 9 || key[n_digit] != '\0' || !attn_node_string(node))
        return false;
    *i = strtoul(key, NULL, 10);
    return *i < n;
}

/* Copies TEXT to *END as label number I, and advances *END. */
static void copy_label(struct attn_config_layers *layers, size_t i, const char *text, char **end)
{
    layers->labels[i] = memcpy(*end, text, strlen(text) + 1);
    *end += strlen(text) + 1;
}

enum attn_status attn_config_read_labels(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const bool is_list = config->output == ATTN_OUTPUT_STREAM;
    const char *key = is_list ? "labels" : "id2label";
    const struct attn_node *root = attn_json_root(json), *map = attn_node_find(root, key);
    const bool is_given = map && (is_list || attn_node_is_object(map));
    const struct attn_node *first = is_given ? attn_node_first(map) : NULL;
    size_t n = 0, n_byte = 0, next = 0, n_given = 0;
    char *end, name[LABEL_SIZE];

    if (config->n_token == config->n_vocab)
        config->n_vocab = 2;
    ATTN_TRY(attn_json_get_size(json, root, "num_labels", 1, ATTN_MAX_VOCAB, &n_given, err));
    config->n_vocab = n_given > 0 ? n_given : config->n_vocab;
    for (const struct attn_node *node = first; node; node = attn_node_next(node), n++)
        n_byte += attn_node_string(node) ? strlen(attn_node_string(node)) + 1 : 1;
    if (!is_list && n_given > 0 && n_given != n)
        first = NULL; /* transformers 5.23 takes the number, and gives up the names */
    config->n_vocab = first ? n : config->n_vocab;
    if (config->n_vocab > MOST_NAMED && !first)
        return ATTN_OK; /* the labels have no names */
    layers->labels = attn_alloc(config->n_vocab, sizeof *layers->labels, err);
    layers->label_text = end = attn_alloc(first ? n_byte : config->n_vocab * LABEL_SIZE, 1, err);
    if (!layers->labels || !layers->label_text)
        return ATTN_NO_MEMORY;
    config->labels = layers->labels;
    for (size_t i = 0; i < config->n_vocab && !first; i++) {
        snprintf(name, sizeof name, "LABEL_%zu", i);
        copy_label(layers, i, name, &end);
    }
    for (const struct attn_node *node = first; node; node = attn_node_next(node)) {
        size_t i = next++;

        if (is_list && !attn_node_string(node))
            return attn_error_set(err, ATTN_FORMAT, "item %zu of 'labels' in '%s' is not a string",
                                  i, attn_config_quote(json).text);
        if (!is_list && (!is_label(node, n, &i) || layers->labels[i]))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' of 'id2label' in '%s' is not the text of a number below "
                                  "%zu",
                                  attn_quote_string(attn_node_key(node)).text,
                                  attn_config_quote(json).text, n);
        copy_label(layers, i, attn_node_string(node), &end);
    }
    return ATTN_OK;
}

enum attn_status attn_config_read_kind(const struct attn_json *json, struct attn_config *config,
                                       struct attn_error *err)
{
    const char *type = "";

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "problem_type", &type, err));
    if (strcmp(type, "multi_label_classification") == 0)
        config->label_kind = ATTN_LABELS_MULTI;
    else if (strcmp(type, "regression") == 0 || config->output == ATTN_OUTPUT_STREAM)
        config->label_kind = ATTN_LABELS_VALUE;
    else if (config->n_vocab == 1)
        config->label_kind = ATTN_LABELS_SCORE;
    return ATTN_OK;
}

/* Finds the task that `architectures` names. If its head is not in HEADS, a decoder has no logits,
 * and an encoder is ATTN_UNSUPPORTED. */
static enum attn_status find_task(const struct attn_json *json,
                                  const struct attn_class_heads *heads, struct attn_config *config,
                                  struct attn_error *err)
{
    static const struct {
        const char *end;
        enum attn_task task; /* ATTN_TASK_VOCABULARY: no family supports the head */
    } tasks[] = {{"ForSequenceClassification", ATTN_TASK_SEQUENCE},
                 {"ForTokenClassification", ATTN_TASK_TOKENS},
                 {"ForQuestionAnswering", ATTN_TASK_SPANS},
                 {"ForMultipleChoice", ATTN_TASK_VOCABULARY},
                 {"ForNextSentencePrediction", ATTN_TASK_VOCABULARY}};
    const struct attn_node *list = attn_node_find(attn_json_root(json), "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *name = item ? attn_node_string(item) : NULL;

    for (size_t i = 0; name && i < sizeof tasks / sizeof *tasks; i++) {
        const size_t size = strlen(name), n_end = strlen(tasks[i].end);

        if (size < n_end || strcmp(name + size - n_end, tasks[i].end) != 0)
            continue;
        if (tasks[i].task != ATTN_TASK_VOCABULARY && (heads->tasks >> tasks[i].task & 1) != 0)
            config->task = tasks[i].task;
        else if (!config->is_encoder)
            config->output = ATTN_OUTPUT_NONE, config->has_output_bias = false;
        else
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "architectures",
                                    "is '%s', a head that this version does not read",
                                    attn_quote_string(name).text);
    }
    return ATTN_OK;
}

enum attn_status attn_config_read_classes(const struct attn_json *json,
                                          const struct attn_class_heads *heads,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *pad = attn_node_find(attn_json_root(json), "pad_token_id");
    const bool is_set = config->task != ATTN_TASK_VOCABULARY; /* the family has set the task */

    ATTN_TRY(find_task(json, heads, config, err));
    /* The token that ATTN_POOLING_LAST skips, and that baselines consist of. */
    if (!pad || !attn_node_int(pad, &config->pad_id))
        config->pad_id = -1;
    if (config->task == ATTN_TASK_VOCABULARY && !is_set)
        config->pooling = ATTN_POOLING_NONE;
    if (config->task == ATTN_TASK_VOCABULARY)
        return ATTN_OK;
    if (!is_set)
        config->n_vocab = 2; /* the begin and the end of a span */
    if (config->task != ATTN_TASK_SPANS) {
        ATTN_TRY(attn_config_read_labels(json, config, layers, err));
        ATTN_TRY(attn_config_read_kind(json, config, err));
    }
    if (is_set)
        return ATTN_OK;
    if (!heads->is_in_all)
        config->head_act_fn = config->task == ATTN_TASK_SEQUENCE ? heads->act_fn : NULL;
    if (heads->act_key && config->head_act_fn) {
        const char *name = config->head_act_fn;

        ATTN_TRY(attn_json_get_string(json, attn_json_root(json), heads->act_key, &name, err));
        ATTN_TRY(attn_config_set_activation(json, &config->head_act_fn, heads->act_key, name, err));
    }
    if (config->task == ATTN_TASK_SEQUENCE && config->pooling == ATTN_POOLING_NONE)
        config->pooling = heads->pooling;
    if (config->task != ATTN_TASK_SEQUENCE)
        config->pooling = ATTN_POOLING_NONE;
    config->output = ATTN_OUTPUT_OWN;
    config->has_output_bias = heads->pooling != ATTN_POOLING_LAST;
    config->logits_cap = 0;
    return ATTN_OK;
}
