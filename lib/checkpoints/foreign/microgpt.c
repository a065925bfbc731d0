#include "foreign/microgpt.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "formats/safetensors.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USUAL_N_HEAD = 4, NAME_SIZE = 48 };

#define BOS "<BOS>"

/* The matrices. A shape is written in the letters of sizes_of; `#` is the number of a layer. All
 * but the tables of rows are transposed, those of q, k and v for each head. */
static const struct matrix_rule {
    const char *name, *rows_columns;
    const char *made_name, *made_shape;
    bool is_table;
} rules[] = {
    {"wte", "VE", "embed.W_E", "VE", true},
    {"wpe", "PE", "pos_embed.W_pos", "PE", true},
    {"lm_head", "VE", "unembed.W_U", "EV", false},
    {"layer#.attn_wq", "EE", "blocks.#.attn.W_Q", "HEd", false},
    {"layer#.attn_wk", "EE", "blocks.#.attn.W_K", "HEd", false},
    {"layer#.attn_wv", "EE", "blocks.#.attn.W_V", "HEd", false},
    {"layer#.attn_wo", "EE", "blocks.#.attn.W_O", "HdE", false},
    {"layer#.mlp_fc1", "FE", "blocks.#.mlp.W_in", "EF", false},
    {"layer#.mlp_fc2", "EF", "blocks.#.mlp.W_out", "FE", false},
};
enum { N_RULE = sizeof rules / sizeof *rules, HEAD_RULE = 2 };

struct made_matrix {
    char name[NAME_SIZE];
    float *data; /* owns */
};

struct reading {
    const struct attn_source *source;
    struct attn_json *json, *config; /* owned; config: the override, or NULL */
    const struct attn_node *weights; /* the object of matrices */
    struct attn_quote quote;         /* the path of the file */
    const char *path;                /* points into `quote` */
    size_t n_layer, n_head, d_model, d_mlp, n_ctx, n_vocab;
    bool is_tied; /* there is no lm_head */
    const char *act_fn;
    struct made_matrix *matrices;        /* owns; [n_matrix] */
    struct attn_written_tensor *tensors; /* owns; [n_matrix] */
    size_t n_matrix;
    struct attn_error *err;
};

static bool is_model(const struct attn_source *source)
{
    return attn_source_override(source, ATTN_MICROGPT_PART) ||
           attn_source_blob(source, ATTN_MICROGPT_PART);
}

/* --- Matrices --------------------------------------------------------------------------------- */

static size_t size_of(const struct reading *r, char letter)
{
    switch (letter) {
    case 'V':
        return r->n_vocab;
    case 'P':
        return r->n_ctx;
    case 'H':
        return r->n_head;
    case 'd':
        return r->d_model / r->n_head;
    case 'F':
        return r->d_mlp;
    default:
        return r->d_model;
    }
}

/* Writes PATTERN with LAYER for its `#`. */
static void write_name(char name[NAME_SIZE], const char *pattern, size_t layer)
{
    const int before = (int)strcspn(pattern, "#");

    if (pattern[before] == '#')
        snprintf(name, NAME_SIZE, "%.*s%zu%s", before, pattern, layer, pattern + before + 1);
    else
        snprintf(name, NAME_SIZE, "%s", pattern);
}

static size_t n_child(const struct attn_node *node)
{
    size_t n = 0;

    for (node = node ? attn_node_first(node) : NULL; node; node = attn_node_next(node))
        n++;
    return n;
}

static const struct attn_node *find_matrix(const struct reading *r, const char *pattern,
                                           size_t layer)
{
    char name[NAME_SIZE];

    write_name(name, pattern, layer);
    return attn_node_find(r->weights, name);
}

static bool read_row(const struct attn_node *row, size_t n, float *to)
{
    double value;
    size_t i = 0;

    if (!attn_node_is_array(row))
        return false;
    for (row = attn_node_first(row); row && i < n; row = attn_node_next(row)) {
        if (!attn_node_double(row, &value) || fabs(value) > (double)FLT_MAX)
            return false;
        to[i++] = (float)value;
    }
    return !row && i == n;
}

/* Transposes each of N_BLOCK blocks of the rows of X [n_row, n_column]. */
static enum attn_status turn(float *x, size_t n_block, size_t n_row, size_t n_column,
                             struct attn_error *err)
{
    const size_t n = n_row / n_block;
    float *copy;

    ATTN_TRY(ATTN_NEW(copy, attn_alloc_uninitialized(n, n_column * sizeof *copy, err)));
    for (size_t block = 0; block < n_block; block++, x += n * n_column) {
        memcpy(copy, x, n * n_column * sizeof *copy);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n_column; k++)
                x[k * n + i] = copy[i * n_column + k];
    }
    attn_free(copy);
    return ATTN_OK;
}

/* Makes the tensor of NODE, a list of rows, by RULE. */
static enum attn_status read_matrix(struct reading *r, const struct matrix_rule *rule, size_t layer,
                                    const struct attn_node *node)
{
    const size_t n_row = size_of(r, rule->rows_columns[0]);
    const size_t n_column = size_of(r, rule->rows_columns[1]);
    struct made_matrix *made = &r->matrices[r->n_matrix];
    struct attn_tensor *tensor = &r->tensors[r->n_matrix].tensor;
    const struct attn_node *row = attn_node_is_array(node) ? attn_node_first(node) : NULL;
    char name[NAME_SIZE];
    size_t i = 0;

    ATTN_TRY(ATTN_NEW(made->data,
                      attn_alloc_uninitialized(n_row, n_column * sizeof *made->data, r->err)));
    r->n_matrix++;
    while (row && i < n_row && read_row(row, n_column, made->data + i * n_column))
        i++, row = attn_node_next(row);
    write_name(name, rule->name, layer);
    if (row || i < n_row)
        return attn_error_set(r->err, ATTN_FORMAT,
                              "'%s' in '%s' is not a list of %zu rows of %zu numbers: row %zu is "
                              "%s",
                              name, r->path, n_row, n_column, i, row ? "another" : "missing");
    write_name(made->name, rule->made_name, layer);
    r->tensors[r->n_matrix - 1].name = made->name;
    tensor->data = made->data;
    tensor->dtype = ATTN_DTYPE_F32;
    for (const char *c = rule->made_shape; *c; c++)
        tensor->shape[tensor->rank++] = size_of(r, *c);
    return rule->is_table ? ATTN_OK
                          : turn(made->data, strcmp(rule->made_shape, "HEd") == 0 ? r->n_head : 1,
                                 n_row, n_column, r->err);
}

/* Refuses a matrix of another model, such as a gate. */
static enum attn_status check_name(const struct reading *r, const char *name)
{
    for (size_t i = 0; i < N_RULE; i++)
        for (size_t layer = 0; layer < r->n_layer; layer++) {
            char known[NAME_SIZE];

            write_name(known, rules[i].name, layer);
            if (strcmp(known, name) == 0)
                return ATTN_OK;
        }
    attn_error_set(r->err, ATTN_UNSUPPORTED, "'%s' in '%s' is no matrix of microgpt",
                   attn_quote_string(name).text, r->path);
    attn_error_hint(r->err, "it has wte, wpe, lm_head and in each layer attn_wq, attn_wk, attn_wv, "
                            "attn_wo, mlp_fc1, mlp_fc2; a folder of model_type 'attn' may have "
                            "other parts");
    return ATTN_UNSUPPORTED;
}

static enum attn_status read_matrices(struct reading *r)
{
    for (const struct attn_node *node = attn_node_first(r->weights); node;
         node = attn_node_next(node))
        ATTN_TRY(check_name(r, attn_node_key(node)));
    ATTN_TRY(ATTN_ALLOC(r->matrices, N_RULE * r->n_layer, r->err));
    ATTN_TRY(ATTN_ALLOC(r->tensors, N_RULE * r->n_layer, r->err));
    for (size_t i = 0; i < N_RULE; i++)
        for (size_t layer = 0; layer < (strchr(rules[i].name, '#') ? r->n_layer : 1); layer++) {
            const struct attn_node *node = find_matrix(r, rules[i].name, layer);
            char name[NAME_SIZE];

            write_name(name, rules[i].name, layer);
            if (node)
                ATTN_TRY(read_matrix(r, &rules[i], layer, node));
            else if (i != HEAD_RULE)
                return attn_error_set(r->err, ATTN_FORMAT, "'%s' is missing in '%s'", name,
                                      r->path);
        }
    return ATTN_OK;
}

/* --- Sizes ------------------------------------------------------------------------------------ */

/* Finds KEY in the override of the config, in the file, or in its object `config`. */
static bool find_setting(const struct reading *r, const char *key, const struct attn_json **json,
                         const struct attn_node **object)
{
    const struct attn_node *root = attn_json_root(r->json);
    const struct attn_node *const places[] = {r->config ? attn_json_root(r->config) : NULL, root,
                                              attn_node_find(root, "config")};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct attn_node *node = attn_node_find(places[i], key);

        *json = i == 0 ? r->config : r->json;
        *object = places[i];
        if (node && !attn_node_is_null(node))
            return true;
    }
    *json = r->json;
    return false;
}

static enum attn_status read_settings(struct reading *r, bool *lacks_heads)
{
    const struct attn_json *json;
    const struct attn_node *object;

    r->act_fn = "relu";
    if (find_setting(r, "act_fn", &json, &object))
        ATTN_TRY(attn_json_get_string(json, object, "act_fn", &r->act_fn, r->err));
    if (strcmp(r->act_fn, "relu") != 0 && strcmp(r->act_fn, "relu2") != 0)
        return ATTN_JSON_REFUSE(json, r->err, ATTN_UNSUPPORTED, "act_fn",
                                "is '%s', expected 'relu' or 'relu2'",
                                attn_quote_string(r->act_fn).text);
    *lacks_heads = !find_setting(r, "n_head", &json, &object);
    r->n_head = USUAL_N_HEAD;
    if (!*lacks_heads)
        ATTN_TRY(attn_json_get_size(json, object, "n_head", 1, r->d_model, &r->n_head, r->err));
    if (r->d_model % r->n_head != 0)
        return ATTN_JSON_REFUSE(json, r->err, ATTN_FORMAT, "n_head",
                                "is %s%zu, expected a divisor of %zu, the width of 'wte'",
                                *lacks_heads ? "missing and taken to be " : "", r->n_head,
                                r->d_model);
    return ATTN_OK;
}

static bool has_layer(const struct reading *r, size_t layer)
{
    for (size_t i = HEAD_RULE + 1; i < N_RULE; i++)
        if (find_matrix(r, rules[i].name, layer))
            return true;
    return false;
}

/* Finds the matrices, and the sizes in their lists. */
static enum attn_status find_sizes(struct reading *r)
{
    const struct attn_node *root = attn_json_root(r->json);
    const struct attn_node *table;

    r->weights = attn_node_find(root, "state_dict");
    if (!r->weights)
        r->weights = attn_node_find(root, "weights");
    if (!r->weights || !attn_node_is_object(r->weights)) {
        attn_error_set(r->err, ATTN_FORMAT,
                       "'%s' has neither 'state_dict' nor 'weights', an object with the matrices "
                       "of microgpt",
                       r->path);
        attn_error_hint(r->err, "other models are given as a directory, or as a GGUF file");
        return ATTN_FORMAT;
    }
    table = attn_node_find(r->weights, "wte");
    r->n_vocab = n_child(table);
    r->d_model = n_child(table ? attn_node_first(table) : NULL);
    r->n_ctx = n_child(attn_node_find(r->weights, "wpe"));
    r->d_mlp = n_child(find_matrix(r, "layer#.mlp_fc1", 0));
    r->is_tied = !attn_node_find(r->weights, "lm_head");
    while (has_layer(r, r->n_layer))
        r->n_layer++;
    if (r->n_vocab > 0 && r->d_model > 0 && r->n_ctx > 0 && r->d_mlp > 0 && r->n_layer > 0)
        return ATTN_OK;
    return attn_error_set(r->err, ATTN_FORMAT, "'%s' is missing or empty in '%s'",
                          r->n_vocab == 0 || r->d_model == 0 ? "wte"
                          : r->n_ctx == 0                    ? "wpe"
                          : r->n_layer == 0                  ? "layer0.attn_wq"
                                                             : "layer0.mlp_fc1",
                          r->path);
}

/* --- Letters ---------------------------------------------------------------------------------- */

/* Whether NODE is a string of one character. */
static bool is_letter(const struct attn_node *node)
{
    const char *text = attn_node_string(node);
    uint32_t letter;

    return text && text[0] != '\0' && attn_utf8_decode(text, strlen(text), &letter) == strlen(text);
}

static void append_token(struct attn_buffer *vocab, const char *text, size_t size, size_t id)
{
    attn_buffer_append_string(vocab, id > 0 ? "," : "{");
    attn_json_append_string(vocab, text, size);
    attn_buffer_append_format(vocab, ":%zu", id);
}

/* Appends LETTERS, a string or a list named KEY, in which item BOS_ID is the name of BOS. Sets
 * *n. */
static enum attn_status append_letters(const struct reading *r, const struct attn_node *letters,
                                       const char *key, size_t bos_id, struct attn_buffer *vocab,
                                       size_t *n)
{
    const char *text = attn_node_string(letters);
    const struct attn_node *item = attn_node_is_array(letters) ? attn_node_first(letters) : NULL;
    uint32_t letter;

    for (size_t size; text && *text; text += size) {
        size = attn_utf8_decode(text, strlen(text), &letter);
        append_token(vocab, text, size, (*n)++);
    }
    for (; item; item = attn_node_next(item)) {
        if (*n != bos_id && !is_letter(item))
            return attn_error_set(r->err, ATTN_FORMAT, "item %zu of '%s' in '%s' is not one letter",
                                  *n, key, r->path);
        text = *n == bos_id ? BOS : attn_node_string(item);
        append_token(vocab, text, strlen(text), (*n)++);
    }
    return ATTN_OK;
}

/* Finds the letters: `uchars`, `chars`, or `chars` of the object `tokenizer`, which has the id of
 * BOS. Otherwise BOS is the first item, if that is no letter, or comes after the letters. */
static const struct attn_node *find_letters(const struct reading *r, const char **key,
                                            size_t *bos_id)
{
    const struct attn_node *root = attn_json_root(r->json);
    const struct attn_node *tokenizer = attn_node_find(root, "tokenizer");
    const struct attn_node *letters = attn_node_find(root, *key = "uchars");
    const struct attn_node *first, *id = NULL;
    int64_t value;

    if (!letters)
        letters = attn_node_find(root, *key = "chars");
    if (!letters) {
        letters = attn_node_find(tokenizer, *key);
        id = attn_node_find(tokenizer, "BOS");
    }
    first = letters && attn_node_is_array(letters) ? attn_node_first(letters) : NULL;
    *bos_id = first && !is_letter(first) ? 0 : SIZE_MAX;
    if (id && attn_node_int(id, &value) && value >= 0)
        *bos_id = (size_t)value;
    return letters;
}

/* Makes vocab.json and sets *bos_id. Without letters in the file, VOCAB stays empty. */
static enum attn_status make_vocab(const struct reading *r, struct attn_buffer *vocab,
                                   size_t *bos_id)
{
    const char *key;
    const struct attn_node *letters = find_letters(r, &key, bos_id);
    size_t n = 0;

    if (!letters)
        return ATTN_OK;
    ATTN_TRY(append_letters(r, letters, key, *bos_id, vocab, &n));
    if (*bos_id == SIZE_MAX || *bos_id == n) {
        *bos_id = n;
        append_token(vocab, BOS, sizeof BOS - 1, n++);
    }
    attn_buffer_append_char(vocab, '}');
    if (n == r->n_vocab && *bos_id < n)
        return attn_buffer_check(vocab, r->err);
    return attn_error_set(r->err, ATTN_FORMAT,
                          "'%s' in '%s' makes %zu tokens, of which BOS is %zu, expected %zu, one "
                          "for each row of 'wte'",
                          key, r->path, n, *bos_id, r->n_vocab);
}

/* --- Parts ------------------------------------------------------------------------------------ */

static enum attn_status make_config(const struct reading *r, bool has_letters, size_t bos_id,
                                    struct attn_buffer *config)
{
    attn_buffer_append_format(
        config,
        "{\"model_type\":\"attn\",\"n_layer\":%zu,\"n_head\":%zu,\"d_model\":%zu,\"d_mlp\":%zu,"
        "\"n_ctx\":%zu,\"n_vocab\":%zu,\"act_fn\":\"%s\",\"norm\":\"rms\",\"embed_norm\":true,"
        "\"final_norm\":false,\"positions\":\"learned\",\"out_proj\":true,\"residual\":true,"
        "\"output\":\"%s\"",
        r->n_layer, r->n_head, r->d_model, r->d_mlp, r->n_ctx, r->n_vocab, r->act_fn,
        r->is_tied ? "tied" : "own");
    if (has_letters)
        attn_buffer_append_format(config,
                                  ",\"eos_token_id\":%zu,\"tokenizer\":{\"type\":\"char\","
                                  "\"bos\":\"" BOS "\"}",
                                  bos_id);
    attn_buffer_append_char(config, '}');
    return attn_buffer_check(config, r->err);
}

static enum attn_status make_parts(struct reading *r, struct attn_opened *made)
{
    size_t bos_id, size = 0;
    const void *weights;
    bool lacks_heads = false;

    ATTN_TRY(find_sizes(r));
    ATTN_TRY(read_settings(r, &lacks_heads));
    ATTN_TRY(read_matrices(r));
    ATTN_TRY(make_vocab(r, &made->vocab, &bos_id));
    ATTN_TRY(make_config(r, made->vocab.size > 0, bos_id, &made->config));
    ATTN_TRY(attn_sink_create_memory(&made->weights, r->err));
    ATTN_TRY(attn_safetensors_write(made->weights, r->tensors, r->n_matrix, r->err));
    ATTN_TRY(attn_sink_commit(made->weights, r->err));
    attn_opened_add(made, "config.json", made->config.data, made->config.size);
    if (made->vocab.size > 0)
        attn_opened_add(made, "vocab.json", made->vocab.data, made->vocab.size);
    weights = attn_sink_bytes(made->weights, &size);
    attn_opened_add(made, "model.safetensors", weights, size);
    made->parts.name = r->source->name;
    made->note = lacks_heads ? "has no 'n_head': 4 heads are assumed" : NULL;
    return ATTN_OK;
}

static enum attn_status read_files(struct reading *r, struct attn_opened *made)
{
    static const char config[] = "config.json";

    ATTN_TRY(attn_json_read_part(r->source, ATTN_MICROGPT_PART, NULL, &r->json, r->err));
    if (attn_source_override(r->source, config))
        ATTN_TRY(attn_json_read_part(r->source, config, NULL, &r->config, r->err));
    r->quote = attn_quote_string(attn_json_name(r->json));
    r->path = r->quote.text;
    return make_parts(r, made);
}

static enum attn_status read_parts(const struct attn_source *source, enum attn_load load,
                                   struct attn_opened *opened, struct attn_error *err)
{
    struct reading r = {.source = source, .err = err};
    const enum attn_status status = read_files(&r, opened);

    (void)load;
    for (size_t i = 0; i < r.n_matrix; i++)
        attn_free(r.matrices[i].data);
    attn_free(r.matrices);
    attn_free(r.tensors);
    attn_json_free(r.json);
    attn_json_free(r.config);
    return status;
}

const struct attn_opener attn_opener_microgpt = {
    .part = ATTN_MICROGPT_PART,
    .kind = "microgpt",
    .takes_config = true,
    .is_model = is_model,
    .read = read_parts,
    .no_vocabulary = "has no letters, expected them in 'uchars' or 'chars'"};
