/*
 * sentence.c - the modules that compute the vector of a text, as sentence-transformers saves them.
 * modules.json lists a Transformer, which is the model, a Pooling, and Dense and Normalize modules.
 *
 *     x = the chosen ones of [cls; max; mean; sqrt; weighted; last] of the rows, concatenated
 *     x = act(x W + b), or normalize(x) w + b, or x / |x|, for each further module but Dropout
 *
 * Traps: the mean includes [CLS] and [SEP]; max_seq_length is read from there as the limit of a
 * text.
 */
#include "model/model_internal.h"

#include "attention/keys.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/path.h"
#include "formats/json.h"
#include "input/sequence.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* The folder of a Transformer before version 2 of sentence-transformers; the others are beside it.
 */
#define INNER "0_Transformer"

struct sentence_reader {
    const struct attn_source *source; /* of modules.json */
    struct attn_model *model;
    const char *inner; /* the folder of the Transformer in it, or "" */
    size_t width;      /* width of the vector after the modules read so far */
};

static enum attn_status refuse(const struct attn_json *json, const char *key, const char *value,
                               struct attn_error *err)
{
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key,
                            "is '%s', which this version does not read",
                            attn_quote_string(value).text);
}

/* --- modules ---------------------------------------------------------------------------------- */

static const struct {
    const char *mode, *key;
    enum attn_pooled pool;
} pools[] = {{"cls", "pooling_mode_cls_token", ATTN_POOLED_FIRST},
             {"max", "pooling_mode_max_tokens", ATTN_POOLED_MAX},
             {"mean", "pooling_mode_mean_tokens", ATTN_POOLED_MEAN},
             {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", ATTN_POOLED_SQRT},
             {"weightedmean", "pooling_mode_weightedmean_tokens", ATTN_POOLED_WEIGHTED},
             {"lasttoken", "pooling_mode_lasttoken", ATTN_POOLED_LAST}};

enum { N_POOL = sizeof pools / sizeof *pools, MOST_POOLS = 8 };

static enum attn_status read_pooling(struct sentence_reader *reader, const struct attn_json *json,
                                     struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json),
                           *mode = attn_node_find(root, "pooling_mode");
    const bool has_modes = mode, is_list = mode && attn_node_is_array(mode);
    struct attn_sentence *sentence = &reader->model->sentence;
    unsigned n_pool = 0;
    bool has_prompt = true;

    ATTN_TRY(attn_json_get_bool(json, root, "include_prompt", &has_prompt, err));
    sentence->omits_prompt = !has_prompt;
    if (!has_prompt && !reader->model->config.is_encoder) /* its key mask is for encoders */
        return refuse(json, "include_prompt", "false", err);
    for (mode = is_list ? attn_node_first(mode) : mode; mode;
         mode = is_list ? attn_node_next(mode) : NULL) {
        const char *name = attn_node_string(mode);
        unsigned i = 0;

        while (i < N_POOL && (!name || strcmp(name, pools[i].mode) != 0))
            i++;
        if (i == N_POOL || n_pool == MOST_POOLS)
            return refuse(json, "pooling_mode", name ? name : "no text", err);
        sentence->pools |= (unsigned)pools[i].pool << 4 * n_pool++;
    }
    for (unsigned i = 0; i < N_POOL && !has_modes; i++) {
        bool is_chosen = false;

        ATTN_TRY(attn_json_get_bool(json, root, pools[i].key, &is_chosen, err));
        if (is_chosen)
            sentence->pools |= (unsigned)pools[i].pool << 4 * n_pool++;
    }
    reader->width = n_pool * reader->model->config.d_model;
    return reader->width > 0 ? ATTN_OK : refuse(json, "pooling_mode", "none", err);
}

/* Finds the tensor NAME of FILES and checks that it has RANK and, unless LAST is 0, LAST as its
 * last size. */
static enum attn_status find_tensor(const struct attn_tensor_files *files, const char *name,
                                    int rank, size_t last, struct attn_tensor *tensor,
                                    struct attn_error *err)
{
    struct attn_tensor_entry entry = {.tensor = {.rank = 0}};
    const bool is_there = attn_tensor_files_find(files, name, &entry);

    *tensor = entry.tensor;
    if (is_there && tensor->rank == rank && tensor->shape[0] > 0 &&
        tensor->shape[rank - 1] == last &&
        (tensor->dtype == ATTN_DTYPE_F32 || tensor->dtype == ATTN_DTYPE_F16 ||
         tensor->dtype == ATTN_DTYPE_BF16 || tensor->dtype == ATTN_DTYPE_F64))
        return ATTN_OK;
    return attn_refuse_in(
        err, ATTN_FORMAT, attn_tensor_files_path(files, 0), name,
        "is %s, expected F32, F16, BF16 or F64 of %d dimension%s, the last of %zu",
        is_there ? "another array" : "missing", rank, rank == 1 ? "" : "s", last);
}

/* Returns the vector of TENSOR, which has one axis. */
static struct attn_vector vector_of(const struct attn_tensor *tensor)
{
    return (struct attn_vector){.data = tensor->data,
                                .dtype = tensor->dtype,
                                .n = tensor->shape[0],
                                .group = tensor->shape[0]};
}

static enum attn_status read_dense(struct sentence_reader *reader, const struct attn_source *folder,
                                   const struct attn_json *json, struct attn_sentence_step *step,
                                   struct attn_error *err)
{
    static const char *const acts[][2] = {
        {"Tanh", "tanh"}, {"Identity", NULL}, {"ReLU", "relu"}, {"GELU", "gelu"}};
    const struct attn_node *root = attn_json_root(json);
    const char *name = "Tanh";
    size_t i = 0;
    bool has_bias = true;
    struct attn_tensor w, b;

    ATTN_TRY(attn_json_get_bool(json, root, "bias", &has_bias, err));
    ATTN_TRY(attn_json_get_string(json, root, "activation_function", &name, err));
    name = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
    while (i < sizeof acts / sizeof *acts && strcmp(name, acts[i][0]) != 0)
        i++;
    if (i == sizeof acts / sizeof *acts)
        return refuse(json, "activation_function", name, err);
    step->has_activation = acts[i][1];
    if (step->has_activation)
        step->activation = attn_activation_find(acts[i][1]);
    ATTN_TRY(attn_safetensors_open(folder, ATTN_MAP, &step->files, err));
    ATTN_TRY(find_tensor(step->files, "linear.weight", 2, reader->width, &w, err));
    reader->width = w.shape[0];
    step->map.weight = (struct attn_matrix){.data = w.data,
                                            .dtype = w.dtype,
                                            .n_row = w.shape[1],
                                            .n_col = w.shape[0],
                                            .row_stride = 1,
                                            .col_stride = w.shape[1],
                                            .group = w.shape[0]};
    if (!has_bias)
        return ATTN_OK;
    ATTN_TRY(find_tensor(step->files, "linear.bias", 1, reader->width, &b, err));
    step->map.bias = vector_of(&b);
    return ATTN_OK;
}

/* Reads a LayerNorm, with torch's usual eps: no file has it. */
static enum attn_status read_norm(struct sentence_reader *reader, const struct attn_source *folder,
                                  struct attn_sentence_step *step, struct attn_error *err)
{
    struct attn_tensor w, b;

    ATTN_TRY(attn_safetensors_open(folder, ATTN_MAP, &step->files, err));
    ATTN_TRY(find_tensor(step->files, "norm.weight", 1, reader->width, &w, err));
    ATTN_TRY(find_tensor(step->files, "norm.bias", 1, reader->width, &b, err));
    step->norm = (struct attn_norm_weights){vector_of(&w), vector_of(&b),
                                            !attn_config_norms_mean(&reader->model->config), 1e-5F};
    return ATTN_OK;
}

/* Reads module number I from NODE of modules.json. */
static enum attn_status read_module(struct sentence_reader *reader, const struct attn_json *modules,
                                    const struct attn_node *node, size_t i, struct attn_error *err)
{
    struct attn_sentence *sentence = &reader->model->sentence;
    const bool is_full = sentence->n_step == ATTN_SENTENCE_MOST;
    const char *path = "", *type = "", *kind;
    struct attn_json *json = NULL;
    struct attn_buffer folder = {0};
    struct attn_source source = {.directory = NULL};
    enum attn_status status;
    bool is_norm, has_residual = false;

    ATTN_TRY(attn_json_get_string(modules, node, "type", &type, err));
    ATTN_TRY(attn_json_get_string(modules, node, "path", &path, err));
    kind = strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
    if (kind > type && strncmp(type, "sentence_transformers.", 22) != 0 && !reader->model->code)
        ATTN_TRY(ATTN_NEW(reader->model->code, attn_strndup(type, (size_t)(kind - type) - 1, err)));
    if (i == 0 && strcmp(kind, "Transformer") == 0)
        return strcmp(path, reader->inner) == 0 ? ATTN_OK : refuse(modules, "path", path, err);
    if (i > 1 && strcmp(kind, "Normalize") == 0 && !is_full) {
        sentence->n_step++;
        return ATTN_OK;
    }
    if (i > 1 && strcmp(kind, "Dropout") == 0)
        return ATTN_OK;
    is_norm =
        i > 1 && strcmp(kind, "LayerNorm") == 0 && !attn_norm_adds_one(reader->model->config.norm);
    if (i == 0 || (!is_norm && strcmp(kind, i == 1 ? "Pooling" : "Dense") != 0) || is_full)
        return refuse(modules, "type", type, err);
    if (attn_os_is_absolute(path) || strstr(path, ".."))
        return refuse(modules, "path", path, err);
    attn_buffer_append_format(&folder, "%s/%s", reader->source->directory, path);
    source.directory = attn_buffer_string(&folder);
    status = source.directory ? attn_json_read_part(&source, "config.json", NULL, &json, err)
                              : attn_error_no_memory(err);
    ATTN_THEN(status,
              attn_json_get_bool(json, attn_json_root(json), "use_residual", &has_residual, err));
    if (status == ATTN_OK && has_residual)
        status = refuse(json, "use_residual", "true", err);
    if (status == ATTN_OK && i == 1)
        status = read_pooling(reader, json, err);
    else if (status == ATTN_OK && is_norm)
        status = read_norm(reader, &source, &sentence->steps[sentence->n_step++], err);
    else if (status == ATTN_OK)
        status = read_dense(reader, &source, json, &sentence->steps[sentence->n_step++], err);
    attn_json_free(json);
    attn_buffer_release(&folder);
    sentence->most = reader->width > sentence->most ? reader->width : sentence->most;
    return status;
}

static enum attn_status read_modules(struct sentence_reader *reader, const struct attn_json *json,
                                     struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *node;

    /* Find the modules in the order of `idx`. */
    for (size_t i = 0; attn_node_is_array(root); i++) {
        int64_t idx = -1;

        for (node = attn_node_first(root); node && idx != (int64_t)i;)
            if (attn_json_get_int(json, node, "idx", 0, ATTN_MAX_LAYER, &idx, err) != ATTN_OK)
                return ATTN_FORMAT;
            else if (idx != (int64_t)i)
                node = attn_node_next(node);
        if (!node && i > 1)
            return ATTN_OK;
        if (!node)
            break;
        ATTN_TRY(read_module(reader, json, node, i, err));
    }
    return attn_error_set(
        err, ATTN_FORMAT,
        "'%s' is no list of modules, expected a Transformer, a Pooling and others",
        attn_quote_string(attn_json_name(json)).text);
}

/* --- other settings --------------------------------------------------------------------------- */

/* Stores PROMPTS, an object of texts. NAME is the default prompt, or NULL. */
static enum attn_status keep_prompts(struct attn_sentence *sentence,
                                     const struct attn_node *prompts, const char *name,
                                     struct attn_error *err)
{
    size_t capacity = 0;

    for (const struct attn_node *node = attn_node_first(prompts); node;
         node = attn_node_next(node)) {
        const char *text = attn_node_string(node), *key = attn_node_key(node);
        struct attn_sentence_prompt *prompt;

        if (!text)
            continue;
        ATTN_TRY(ATTN_GROW(sentence->prompts, capacity, sentence->n_prompt + 1, err));
        prompt = &sentence->prompts[sentence->n_prompt++];
        ATTN_TRY(ATTN_NEW(prompt->name, attn_strndup(key, strlen(key), err)));
        ATTN_TRY(ATTN_NEW(prompt->text, attn_strndup(text, strlen(text), err)));
    }
    for (size_t i = 0; name && i < sentence->n_prompt; i++)
        if (strcmp(sentence->prompts[i].name, name) == 0)
            sentence->usual = &sentence->prompts[i];
    return ATTN_OK;
}

/* Reads settings about texts: the maximum length, the prompts, and how vectors are compared. */
static enum attn_status read_settings(struct sentence_reader *reader, const struct attn_json *json,
                                      struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *prompts = attn_node_find(root, "prompts");
    static const char *const others[] = {"dot", "euclidean", "manhattan"};
    const char *similarity = "cosine", *name = NULL;
    size_t i = 0, most = reader->model->config.n_ctx;

    ATTN_TRY(attn_json_get_size(json, root, "max_seq_length", 1, SIZE_MAX >> 11, &most, err));
    ATTN_TRY(attn_json_get_string(json, root, "similarity_fn_name", &similarity, err));
    ATTN_TRY(attn_json_get_string(json, root, "default_prompt_name", &name, err));
    if (most < reader->model->config.n_ctx)
        reader->model->config.n_ctx = most;
    while (i < sizeof others / sizeof *others && strcmp(similarity, others[i]) != 0)
        i++;
    if (i < sizeof others / sizeof *others)
        reader->model->sentence.similarity = others[i];
    else if (strcmp(similarity, "cosine") != 0)
        return refuse(json, "similarity_fn_name", similarity, err);
    return prompts && attn_node_is_object(prompts)
               ? keep_prompts(&reader->model->sentence, prompts, name, err)
               : ATTN_OK;
}

/* Whether DIRECTORY is the folder of a Transformer in FOLDER. */
static bool find_outer(const char *directory, char folder[ATTN_PATH_SIZE])
{
    size_t size = strlen(directory);

    while (size > 0 && directory[size - 1] == '/')
        size--;
    if (size < sizeof INNER || size >= ATTN_PATH_SIZE ||
        strncmp(directory + size - (sizeof INNER - 1), INNER, sizeof INNER - 1) != 0)
        return false;
    size -= sizeof INNER;
    memcpy(folder, directory, size);
    folder[size] = '\0';
    return directory[size] == '/' && size > 0;
}

static enum attn_status read_sentence(const struct attn_source *source, struct attn_model *model,
                                      struct attn_error *err)
{
    static const char *const names[] = {"modules.json", "sentence_bert_config.json",
                                        "config_sentence_transformers.json"};
    struct attn_config *config = &model->config;
    char folder[ATTN_PATH_SIZE];
    const struct attn_source outer = {.directory = folder};
    const bool is_inner = source->directory && find_outer(source->directory, folder);
    struct sentence_reader reader = {
        .source = is_inner ? &outer : source, .model = model, .inner = is_inner ? INNER : ""};

    if (!source->directory || config->n_token == 0 || config->task != ATTN_TASK_VOCABULARY ||
        !attn_source_has_part(reader.source, names[0]))
        return ATTN_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct attn_source *from = i == 1 ? source : reader.source;
        struct attn_json *json = NULL;
        enum attn_status status;

        if (!attn_source_has_part(from, names[i]))
            continue;
        ATTN_TRY(attn_json_read_part(from, names[i], i == 0 ? attn_json_any : NULL, &json, err));
        status = (i == 0 ? read_modules : read_settings)(&reader, json, err);
        attn_json_free(json);
        ATTN_TRY(status);
    }
    config->d_projected = reader.width;
    config->is_sentence = true;
    config->output = ATTN_OUTPUT_NONE; /* the vectors are the output, so there are no logits */
    config->head_act_fn = NULL;
    model->weights.head = model->weights.unembed = (struct attn_linear){.packed = NULL};
    model->weights.ln_head = (struct attn_norm_weights){.w = {.data = NULL}};
    return ATTN_OK;
}

static void release(struct attn_sentence *sentence)
{
    for (size_t i = 0; i < sentence->n_step; i++)
        attn_tensor_files_free(sentence->steps[i].files);
    for (size_t i = 0; i < sentence->n_prompt; i++) {
        attn_free(sentence->prompts[i].name);
        attn_free(sentence->prompts[i].text);
    }
    attn_free(sentence->prompts);
}

static enum attn_status find_prompt(const struct attn_model *model, const char *name,
                                    const char **text, struct attn_error *err)
{
    const struct attn_sentence *sentence = &model->sentence;
    char names[ATTN_ERROR_HINT_SIZE] = "";
    size_t used = 0;

    *text = sentence->usual ? sentence->usual->text : NULL;
    for (size_t i = 0; name && i < sentence->n_prompt; i++) {
        *text = sentence->prompts[i].text;
        if (strcmp(sentence->prompts[i].name, name) == 0)
            return ATTN_OK;
        attn_fixed_text_append(names, sizeof names, &used, "%s'%s'", i > 0 ? ", " : "",
                               attn_quote_string(sentence->prompts[i].name).text);
    }
    if (!name)
        return ATTN_OK;
    *text = NULL;
    if (sentence->n_prompt > 0 && strcmp(name, "off") == 0)
        return ATTN_OK;
    if (sentence->n_prompt == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no prompts, which models of sentences name in "
                              "config_sentence_transformers.json",
                              attn_quote_string(model->name).text);
    return attn_error_set(err, ATTN_INVALID, "'%s' has no prompt '%s', expected one of %s",
                          attn_quote_string(model->name).text, attn_quote_string(name).text, names);
}

/* Sets the key mask of SEQUENCE to 2 at the tokens that its prompt has alone. */
static enum attn_status omit_prompt(const struct attn_request_reading *reading,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_input input = {.text = sequence->prompted, .n_text = sequence->n_prompt};
    struct attn_sequence prompt = {.cancel = sequence->cancel};
    enum attn_status status = attn_sequence_encode(reading, &input, tokenizer, &prompt, err);
    /* a special token at the end stands after the text */
    const size_t n =
        prompt.n - (prompt.n > 0 && attn_tokenizer_is_special(tokenizer, prompt.ids[prompt.n - 1]));

    attn_sequence_release(&prompt);
    ATTN_THEN(status, ATTN_ALLOC(sequence->made_mask, sequence->n, err));
    for (size_t i = 0; status == ATTN_OK && i < sequence->n; i++)
        sequence->made_mask[i] = !attn_key_mask_keeps(sequence->key_mask, i) ? 0 : i < n ? 2 : 1;
    sequence->key_mask = sequence->made_mask;
    return status;
}

const struct attn_sentence_reader attn_sentences_of_modules = {read_sentence, release, find_prompt,
                                                               omit_prompt};
