#include "foreign/adapter.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/path.h"
#include "foreign/foreign.h"
#include "foreign/tensor_names.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "kernels/kernels.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "tokenizer/regex.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names of modules begin so in files of peft, which wraps the model twice. */
#define WRAPPED "base_model.model."

enum { MAX_PATTERNS = 5000 };

/* The fields with patterns of modules, and what stands around a regular expression. Lists hold no
 * expressions, but ends of names. */
enum field { TARGETS, EXCLUDED, RANKS, ALPHAS, N_FIELD };
static const struct {
    const char *name, *before;
} fields[N_FIELD] = {[TARGETS] = {"target_modules", "^(?:"},
                     [EXCLUDED] = {"exclude_modules", "^(?:"},
                     [RANKS] = {"rank_pattern", "^(?:.*\\.)?(?:"},
                     [ALPHAS] = {"alpha_pattern", "^(?:.*\\.)?(?:"}};

/* What is read of adapter_config.json. */
struct settings {
    struct pattern {
        enum field field;
        struct attn_regex *regex; /* owns; NULL: `node` is the end of a name */
        const struct attn_node *node;
    } * patterns; /* [n] owns */
    size_t n, capacity;
    const struct attn_json *json;
    const struct attn_node *root; /* of json */
    int64_t rank;
    double alpha;
    bool is_rank_stable;
    struct attn_error *err;
};

/* Whether TEXT ends in END. *SIZE is then the size of what is before it. */
static bool has_end(const char *text, const char *end, size_t *size)
{
    *size = strlen(text) - strlen(end);
    return strlen(text) >= strlen(end) && strcmp(text + *size, end) == 0;
}

/* --- The fields of adapter_config.json -------------------------------------------------------- */

/* Checks the field NODE, if it has a value that may change something: no null, no false, nothing
 * empty. */
static enum attn_status check_field(const struct settings *settings, const struct attn_node *node)
{
    /* The values that can be read, or NULL: any. One of `init_lora_weights` that is not listed has
     * changed the base model, too: W is then no longer that of the model's files. */
    static const struct {
        const char *names, *values;
    } known[] = {
        {"peft_type", "LORA"},
        {"bias", "none"},
        {"init_lora_weights", "true gaussian eva orthogonal"},
        /* read, or whether W is stored transposed, which the model's family says */
        {"r lora_alpha use_rslora rank_pattern alpha_pattern target_modules exclude_modules "
         "layers_to_transform layers_pattern modules_to_save fan_in_fan_out",
         NULL},
        /* no part of a result */
        {"task_type auto_mapping peft_version base_model_name_or_path revision lora_dropout "
         "inference_mode megatron_core qalora_group_size loftq_config eva_config runtime_config",
         NULL}};
    const char *name = attn_node_key(node), *text = attn_node_string(node);
    bool flag = true;

    if (attn_node_is_bool(node, &flag))
        text = "true";
    if (!flag || attn_node_is_null(node) || (text && *text == '\0') ||
        ((attn_node_is_object(node) || attn_node_is_array(node)) && !attn_node_first(node)))
        return ATTN_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (attn_text_has_word(known[i].names, name, strlen(name)) &&
            (!known[i].values || (text && attn_text_has_word(known[i].values, text, strlen(text)))))
            return ATTN_OK;
    return ATTN_JSON_REFUSE(settings->json, settings->err, ATTN_UNSUPPORTED, name,
                            "is %s, which may change the result and is not read",
                            text ? attn_quote_string(text).text : "set");
}

/* Compiles the regular expression TEXT of PATTERN. */
static enum attn_status compile(const struct settings *settings, const char *text,
                                struct pattern *pattern)
{
    struct attn_buffer regex = {0};
    enum attn_status status;

    attn_buffer_append_format(&regex, "%s%s)$", fields[pattern->field].before, text);
    status = attn_buffer_check(&regex, settings->err);
    ATTN_THEN(status, attn_regex_create(regex.data, regex.size, attn_json_name(settings->json),
                                        false, &pattern->regex, settings->err));
    attn_buffer_release(&regex);
    return status;
}

/* Reads the patterns of field K: its text, the elements of its list, or the keys of its object. */
static enum attn_status read_patterns(struct settings *settings, enum field k)
{
    const struct attn_node *const whole = attn_config_find_given(settings->root, fields[k].name);
    const char *text = whole ? attn_node_string(whole) : NULL;
    const struct attn_node *node = whole && !text ? attn_node_first(whole) : whole;
    const bool is_list = whole && attn_node_is_array(whole);

    if (text && strcmp(text, "all-linear") == 0)
        text = ".*";
    for (size_t n = 0; node; node = node == whole ? NULL : attn_node_next(node)) {
        if (!is_list && ++n > MAX_PATTERNS)
            return ATTN_JSON_REFUSE(settings->json, settings->err, ATTN_UNSUPPORTED, fields[k].name,
                                    "is an object of more than %d patterns, expected fewer",
                                    MAX_PATTERNS);
        ATTN_TRY(ATTN_GROW(settings->patterns, settings->capacity, settings->n + 1, settings->err));
        settings->patterns[settings->n++] = (struct pattern){.field = k, .node = node};
        if (!is_list)
            ATTN_TRY(compile(settings, text ? text : attn_node_key(node),
                             &settings->patterns[settings->n - 1]));
    }
    return ATTN_OK;
}

static enum attn_status read_settings(struct settings *settings)
{
    const struct attn_json *json = settings->json;
    const struct attn_node *root = settings->root = attn_json_root(json);

    for (const struct attn_node *node = attn_node_first(root); node; node = attn_node_next(node))
        ATTN_TRY(check_field(settings, node));
    settings->rank = 8, settings->alpha = 8;
    ATTN_TRY(attn_json_get_int(json, root, "r", 1, 1 << 20, &settings->rank, settings->err));
    ATTN_TRY(
        attn_json_get_double(json, root, "lora_alpha", -1e9, 1e9, &settings->alpha, settings->err));
    ATTN_TRY(
        attn_json_get_bool(json, root, "use_rslora", &settings->is_rank_stable, settings->err));
    for (enum field k = 0; k < N_FIELD; k++)
        ATTN_TRY(read_patterns(settings, k));
    return ATTN_OK;
}

/* --- Which modules are meant ------------------------------------------------------------------ */

/* Whether PATTERN, of an element of a list, is the end of MODULE. */
static bool is_end(const struct pattern *pattern, const char *module)
{
    const char *name = attn_node_string(pattern->node);
    size_t size;

    return name && has_end(module, name, &size) && (size == 0 || module[size - 1] == '.');
}

/* Sets *found to the first pattern of field K that matches MODULE, NULL without one. */
static enum attn_status match(const struct settings *settings, enum field k, const char *module,
                              const struct pattern **found)
{
    const size_t size = strlen(module);

    *found = NULL;
    for (size_t i = 0; i < settings->n && !*found; i++) {
        const struct pattern *pattern = &settings->patterns[i];
        struct attn_match_range range = {0, 0};
        struct attn_match *scratch;
        enum attn_status status;

        if (pattern->field != k || (!pattern->regex && !is_end(pattern, module)))
            continue;
        if (pattern->regex) {
            ATTN_TRY(attn_match_create(pattern->regex, size, &scratch, settings->err));
            status = attn_match_find(scratch, module, size, 0, &range, NULL);
            attn_match_free(scratch);
            if (status == ATTN_NO_MEMORY)
                return attn_error_no_memory(settings->err);
            if (status != ATTN_OK)
                return ATTN_JSON_REFUSE(
                    settings->json, settings->err, ATTN_UNSUPPORTED, fields[k].name,
                    "is a pattern that takes too long to match, expected a simpler one");
        }
        if (range.begin <= size)
            *found = pattern;
    }
    return ATTN_OK;
}

/* Whether `layers_to_transform`, a number or a list, has the layer of MODULE: a number in its name.
 * It counts only where `target_modules` is a list. */
static bool is_in_layers(const struct settings *settings, const char *module)
{
    const struct attn_node *const list =
        attn_config_find_given(settings->root, "layers_to_transform");
    const struct attn_node *targets = attn_config_find_given(settings->root, fields[TARGETS].name);
    const struct attn_node *node = list && attn_node_is_array(list) ? attn_node_first(list) : list;
    char part[32];
    int64_t layer;

    if (!node || (targets && attn_node_string(targets)))
        return true;
    for (; node; node = node == list ? NULL : attn_node_next(node)) {
        snprintf(part, sizeof part, ".%" PRId64 ".", attn_node_int(node, &layer) ? layer : -1);
        if (strstr(module, part))
            return true;
    }
    return false;
}

/* Refuses a change of a module that `target_modules` and the fields beside it do not mean: peft
 * would not read it. */
static enum attn_status check_target(const struct settings *settings, const char *module)
{
    const struct pattern *target, *excluded;

    ATTN_TRY(match(settings, TARGETS, module, &target));
    ATTN_TRY(match(settings, EXCLUDED, module, &excluded));
    if (target && !excluded && is_in_layers(settings, module))
        return ATTN_OK;
    return attn_error_set(settings->err, ATTN_FORMAT,
                          "'%s' is changed, which '%s' of '%s' does not allow",
                          attn_quote_string(module).text,
                          !target    ? fields[TARGETS].name
                          : excluded ? fields[EXCLUDED].name
                                     : "layers_to_transform",
                          attn_quote_string(attn_json_name(settings->json)).text);
}

/* Sets *value to the number that field K, an object, gives to MODULE: that of the first key
 * in which its name ends. */
static enum attn_status read_pattern(const struct settings *settings, enum field k,
                                     const char *module, double *value)
{
    const struct pattern *found;

    ATTN_TRY(match(settings, k, module, &found));
    if (!found || attn_node_double(found->node, value))
        return ATTN_OK;
    return ATTN_JSON_REFUSE(settings->json, settings->err, ATTN_UNSUPPORTED, fields[k].name,
                            "is without a number, expected a number for each name");
}

/* Whether the tensor NAME is in a module whose name ends in one of 'modules_to_save'. As in peft,
 * "norm" also means "input_layernorm". */
static bool is_saved(const struct settings *settings, const char *name)
{
    const struct attn_node *node = attn_config_find_given(settings->root, "modules_to_save");

    for (node = node ? attn_node_first(node) : NULL; node; node = attn_node_next(node)) {
        const char *module = attn_node_string(node);
        const size_t n = module ? strlen(module) : 0;

        for (const char *at = n > 0 ? strstr(name, module) : NULL; at; at = strstr(at + 1, module))
            if (at[n] == '.')
                return true;
    }
    return false;
}

/* --- The tensors ------------------------------------------------------------------------------ */

static const char *path_of(const struct attn_adapter *adapter)
{
    return attn_tensor_files_path(adapter->files, 0);
}

/* Checks that ENTRY has a type that the kernels convert, and no NaN or infinity. */
static enum attn_status check_values(const struct attn_adapter *adapter,
                                     const struct attn_tensor_entry *entry, struct attn_error *err)
{
    const enum attn_dtype dtype = entry->tensor.dtype;
    struct attn_non_finite found;

    if (dtype != ATTN_DTYPE_F32 && dtype != ATTN_DTYPE_F16 && dtype != ATTN_DTYPE_BF16 &&
        dtype != ATTN_DTYPE_F64)
        return attn_refuse_in(err, ATTN_UNSUPPORTED, path_of(adapter), entry->name,
                              "has another type than F32, F16, BF16 and F64");
    found = attn_tensor_find_non_finite(&entry->tensor);
    if (found.n_nan + found.n_infinite == 0)
        return ATTN_OK;
    return attn_refuse_in(err, ATTN_FORMAT, path_of(adapter), entry->name,
                          "holds NaN or infinity, expected finite values");
}

#define NO_CHANGE "is no matrix of LoRA, and in no module of 'modules_to_save'"

/* How the name of a tensor ends, after the name of its module, and that of the B of an A. */
static const struct ending {
    const char *text, *of_b; /* of_b: NULL for a tensor that is no A */
    bool is_b;
} endings[] = {
    {".lora_A.weight", ".lora_B.weight", false},
    {".lora_embedding_A", ".lora_embedding_B", false}, /* of embeddings, which are [in, out] */
    {".lora_B.weight", NULL, true},
    {".lora_embedding_B", NULL, true},
    {"", NULL, false},
};

/* Returns the ending of NAME and sets *size to the size of what is before it. */
static const struct ending *find_ending(const char *name, size_t *size)
{
    const struct ending *ending = endings;

    while (!has_end(name, ending->text, size) || *size == 0)
        ending++;
    return ending;
}

/* Reads B of the module of CHANGE, whose A was read, its rank and its scale. */
static enum attn_status read_pair(const struct attn_adapter *adapter,
                                  const struct settings *settings, const char *of_b,
                                  struct attn_adapter_change *change)
{
    double rank = (double)settings->rank, alpha = settings->alpha;
    char name[ATTN_WEIGHT_NAME_SIZE + 64];
    struct attn_tensor_entry entry;

    snprintf(name, sizeof name, WRAPPED "%s%s", change->module, of_b);
    if (!attn_tensor_files_find(adapter->files, name, &entry))
        return attn_refuse_in(settings->err, ATTN_FORMAT, path_of(adapter), name, "is missing");
    ATTN_TRY(check_values(adapter, &entry, settings->err));
    change->b = entry.tensor;
    ATTN_TRY(check_target(settings, change->module));
    ATTN_TRY(read_pattern(settings, RANKS, change->module, &rank));
    ATTN_TRY(read_pattern(settings, ALPHAS, change->module, &alpha));
    if (change->a.rank != 2 || change->b.rank != 2 || (double)change->a.shape[0] != rank ||
        (double)change->b.shape[1] != rank)
        return attn_refuse_in(settings->err, ATTN_FORMAT, path_of(adapter), name,
                              "and its A are no matrices [out, r] and [r, in] of rank %g", rank);
    change->rank = change->a.shape[0];
    change->scale = alpha / (settings->is_rank_stable ? sqrt(rank) : rank);
    return ATTN_OK;
}

/* Appends the tensor ENTRY, called NAME, which replaces one of the model. Beside an embedding and
 * an output matrix, peft may save those of the base model, and a second copy of a saved module. */
static enum attn_status append_whole(struct attn_adapter *adapter, const struct settings *settings,
                                     const struct attn_tensor_entry *entry, const char *name)
{
    static const char twice[] = ".modules_to_save.";
    const char *copy = strstr(name, twice), *changed = strstr(name, ".base_layer.");
    const char *at = changed ? changed : strstr(name, ".original_module.");
    struct attn_adapter_change *change = &adapter->changes[adapter->n];
    char tensor[ATTN_WEIGHT_NAME_SIZE + 64];

    if (copy) {
        snprintf(tensor, sizeof tensor, WRAPPED "%.*s.%s", (int)(copy - name), name,
                 copy + strlen(twice));
        return attn_tensor_files_find(adapter->files, tensor, NULL)
                   ? ATTN_OK
                   : attn_refuse_in(settings->err, ATTN_UNSUPPORTED, path_of(adapter), entry->name,
                                    NO_CHANGE);
    }
    adapter->n++;
    change->name = entry->name;
    change->whole = entry->tensor;
    change->is_of_base = at || !is_saved(settings, name);
    ATTN_TRY(ATTN_NEW(change->module,
                      attn_strndup(name, at ? (size_t)(at - name) : strlen(name), settings->err)));
    snprintf(tensor, sizeof tensor, "%s%s", change->module, at ? strrchr(at, '.') : "");
    ATTN_TRY(ATTN_NEW(change->tensor, attn_strndup(tensor, strlen(tensor), settings->err)));
    return changed ? check_target(settings, change->module) : ATTN_OK;
}

/* Appends the change of ENTRY, unless it is a B, which is read with its A. */
static enum attn_status append(struct attn_adapter *adapter, const struct settings *settings,
                               const struct attn_tensor_entry *entry)
{
    const size_t n_wrapped = strlen(WRAPPED);
    const bool is_wrapped =
        strncmp(entry->name, WRAPPED, n_wrapped) == 0 && strlen(entry->name) == entry->name_size &&
        entry->name_size > n_wrapped && entry->name_size < n_wrapped + ATTN_WEIGHT_NAME_SIZE;
    const char *name = entry->name + (is_wrapped ? n_wrapped : 0);
    struct attn_adapter_change *change = &adapter->changes[adapter->n];
    char tensor[ATTN_WEIGHT_NAME_SIZE + 8];
    size_t size = 0;
    const struct ending *ending = is_wrapped ? find_ending(name, &size) : NULL;

    if (!ending)
        return attn_refuse_in(settings->err, ATTN_UNSUPPORTED, path_of(adapter), entry->name,
                              NO_CHANGE);
    if (ending->is_b)
        return ATTN_OK;
    ATTN_TRY(check_values(adapter, entry, settings->err));
    if (!ending->of_b)
        return append_whole(adapter, settings, entry, name);
    adapter->n++;
    change->name = entry->name;
    ATTN_TRY(ATTN_NEW(change->module, attn_strndup(name, size, settings->err)));
    snprintf(tensor, sizeof tensor, "%s.weight", change->module);
    ATTN_TRY(ATTN_NEW(change->tensor, attn_strndup(tensor, strlen(tensor), settings->err)));
    change->a = entry->tensor;
    return read_pair(adapter, settings, ending->of_b, change);
}

static enum attn_status read_changes(struct attn_adapter *adapter, const struct settings *settings)
{
    const size_t n = attn_tensor_files_count(adapter->files);

    ATTN_TRY(ATTN_ALLOC(adapter->changes, n, settings->err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(adapter->files, i);

        ATTN_TRY(append(adapter, settings, &entry));
    }
    if (adapter->n > 0)
        return ATTN_OK;
    return attn_error_set(settings->err, ATTN_FORMAT, "'%s' has no tensors, expected those of LoRA",
                          attn_quote_string(path_of(adapter)).text);
}

/* Refuses files that are missing, with what is there instead if it is known. */
static enum attn_status check_files(const char *config, const char *weights, struct attn_error *err)
{
    const char *missing = attn_os_exists(config) ? weights : config;
    const size_t size = attn_path_folder_length(config);
    char folder[ATTN_PATH_SIZE];

    if (attn_os_exists(missing))
        return ATTN_OK;
    if (size > 0 && size < sizeof folder) {
        snprintf(folder, sizeof folder, "%.*s", (int)size - 1, config);
        if (attn_os_exists(folder))
            ATTN_TRY(attn_foreign_refuse_adapter(folder, err));
    }
    attn_error_set(err, ATTN_IO, "'%s' is missing", attn_quote_string(missing).text);
    attn_error_hint(err, ATTN_FOREIGN_ADAPTER);
    return ATTN_IO;
}

static void free_adapter(struct attn_adapter *adapter)
{
    for (size_t i = 0; i < adapter->n; i++) {
        attn_free(adapter->changes[i].module);
        attn_free(adapter->changes[i].tensor);
    }
    attn_free(adapter->changes);
    attn_free(adapter->base);
    attn_tensor_files_free(adapter->files);
    attn_free(adapter);
}

/* Reads the adapter MADE from its config, which SETTINGS has, and from the file WEIGHTS. */
static enum attn_status read_adapter(struct attn_adapter *made, struct settings *settings,
                                     const char *weights, enum attn_load load)
{
    const char *base;

    ATTN_TRY(read_settings(settings));
    base = attn_node_string(attn_config_find_given(settings->root, "base_model_name_or_path"));
    if (base && !(made->base = attn_strndup(base, strlen(base), settings->err)))
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_safetensors_open_file(weights, load, &made->files, settings->err));
    return read_changes(made, settings);
}

static enum attn_status open_adapter(const struct attn_source *source, enum attn_load load,
                                     struct attn_adapter **adapter, const char **path,
                                     struct attn_error *err)
{
    const char *config = attn_source_override(source, ATTN_ADAPTER_CONFIG);
    const char *weights = attn_source_override(source, ATTN_ADAPTER_WEIGHTS);
    struct settings settings = {.err = err};
    struct attn_adapter *made;
    struct attn_json *json = NULL;
    enum attn_status status;

    *adapter = NULL;
    if (!config || !weights)
        return ATTN_OK;
    ATTN_TRY(check_files(config, weights, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    status = attn_json_read_part(source, ATTN_ADAPTER_CONFIG, NULL, &json, err);
    settings.json = json;
    ATTN_THEN(status, read_adapter(made, &settings, weights, load));
    if (status == ATTN_OK)
        *adapter = made, *path = path_of(made);
    else
        free_adapter(made);
    for (size_t i = 0; i < settings.n; i++)
        attn_regex_free(settings.patterns[i].regex);
    attn_free(settings.patterns);
    attn_json_free(json);
    return status;
}

/* --- Applying --------------------------------------------------------------------------------- */

/* A product scale * B A, row by row. */
struct product {
    const struct attn_adapter_change *change;
    const float *a, *b; /* [r, in], [out, r] */
    bool is_turned;     /* the result is [in, out] */
    float *out;
};

/* An attn_task_fn that computes row TASK of scale * B A. A sum over ranks is in double precision,
 * in ascending order. */
static void multiply_row(void *context, size_t task, int worker)
{
    enum { PIECE = 64 };
    const struct product *p = context;
    const size_t n_rank = p->change->rank, n_in = p->change->a.shape[1];
    const size_t n_out = p->change->b.shape[0];

    (void)worker;
    for (size_t first = 0; first < n_in; first += PIECE) {
        const size_t n = n_in - first < PIECE ? n_in - first : PIECE;
        double sums[PIECE] = {0};

        for (size_t k = 0; k < n_rank; k++)
            for (size_t i = 0; i < n; i++)
                sums[i] += (double)p->b[task * n_rank + k] * (double)p->a[k * n_in + first + i];
        for (size_t i = 0; i < n; i++)
            p->out[p->is_turned ? (first + i) * n_out + task : task * n_in + first + i] =
                (float)(p->change->scale * sums[i]);
    }
}

/* Adds the product of CHANGE to the map of SPEC, whose shape it has. */
static enum attn_status add(struct attn_adapter_change *change, const struct attn_weight_spec *spec,
                            bool is_turned, const struct attn_adapter_target *target,
                            struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const struct attn_tensor *a = &change->a, *b = &change->b;
    const size_t n_a = attn_tensor_n_element(a), n_b = attn_tensor_n_element(b);
    struct attn_tensor sum = {
        .dtype = ATTN_DTYPE_F32, .rank = 2, .shape = {spec->shape[0], spec->shape[1]}};
    float *values =
        attn_alloc_uninitialized(n_a + n_b + attn_tensor_n_element(&sum), sizeof *values, err);
    struct product product = {.change = change, .is_turned = is_turned};
    struct attn_weight_sums sums = {0};
    enum attn_status status;

    if (!values)
        return ATTN_NO_MEMORY;
    product.a = values, product.b = values + n_a, product.out = values + n_a + n_b;
    kernels->convert(a->data, a->dtype, n_a, values);
    kernels->convert(b->data, b->dtype, n_b, values + n_a);
    attn_pool_run(target->pool, b->shape[0], multiply_row, &product);
    sum.data = product.out;
    status = attn_weights_add(target->weights, target->config, spec, &sum, &sums, err);
    attn_free(values);
    change->of_change += sums.of_change, change->of_base += sums.of_base;
    return status;
}

/* Adds the base model of ADAPTER to ERR, which may be about another model. Returns STATUS. */
static enum attn_status hint_base(const struct attn_adapter *adapter, enum attn_status status,
                                  struct attn_error *err)
{
    if (adapter->base)
        attn_error_hint(err, "its base_model_name_or_path is '%s'",
                        attn_quote_string(adapter->base).text);
    return status;
}

/* Whether SPEC has a row for each token: the embedding, or the output matrix. */
static bool is_vocabulary(const struct attn_weight_spec *spec)
{
    return spec->rule->part == ATTN_PART_EMBEDDING || spec->rule->part == ATTN_PART_OUTPUT_FOUND;
}

/* Checks that CHANGE fits the tensor of SPEC, which is [in, out] if IS_TURNED, and that TARGET can
 * take it. */
static enum attn_status check_change(const struct attn_adapter *adapter,
                                     const struct attn_adapter_change *change,
                                     const struct attn_weight_spec *spec, bool is_turned,
                                     const struct attn_adapter_target *target,
                                     struct attn_error *err)
{
    const bool is_whole = change->whole.data;
    const bool is_tiled = target->config->tiles_heads && (spec->rule->part == ATTN_PART_MIXER ||
                                                          spec->rule->part == ATTN_PART_MIXER_OUT);
    const bool is_table = is_vocabulary(spec);
    const bool fits = is_whole ? change->whole.rank == spec->rank &&
                                     memcmp(change->whole.shape, spec->shape,
                                            (size_t)spec->rank * sizeof *spec->shape) == 0
                               : spec->rank == 2 && change->b.shape[0] == spec->shape[is_turned] &&
                                     change->a.shape[1] == spec->shape[!is_turned];
    const bool is_shared = is_table && strchr(spec->rule->name, '|') &&
                           attn_family_find(target->config->model_type)->encoder;
    const char *why = change->is_of_base && !is_table && spec->rule->part != ATTN_PART_OUTPUT_BIAS
                          ? NO_CHANGE
                      : is_shared ? "is for a table of several modules, of which peft changes one: "
                                    "merge the adapter with peft"
                      : !attn_weights_can_change(spec)
                          ? "is for experts, or for a vector that is read when a model is opened"
                      : is_tiled ? "is for value heads that this GGUF file has in another order"
                      : is_whole && target->is_bundle && spec->rank < 2
                          ? "replaces a vector, which a GGUF file may hold in another form"
                          : NULL;
    char shape[ATTN_SHAPE_TEXT_SIZE];

    if (why)
        return attn_refuse_in(err, ATTN_UNSUPPORTED, path_of(adapter), change->name, "%s", why);
    if (fits)
        return ATTN_OK;
    attn_refuse_in(err, ATTN_FORMAT, path_of(adapter), change->name,
                   "does not fit '%.60s', which has shape %s",
                   attn_quote_string(change->tensor).text,
                   attn_shape_text(spec->rank, spec->shape, shape));
    if (is_table && is_whole)
        return attn_error_hint(err, "a table with other rows than the base model's is read from a "
                                    "whole model: merge the adapter with peft");
    return hint_base(adapter, ATTN_FORMAT, err);
}

/* Replaces the tensor of SPEC by that of CHANGE. In a tied model the base model's embedding and
 * output matrix are one tensor, which peft overwrites; a module that is saved is apart from it. */
static void replace(const struct attn_adapter_change *change, const struct attn_weight_spec *spec,
                    const struct attn_adapter_target *target)
{
    struct attn_config *config = target->config;
    const bool is_tied = config->output == ATTN_OUTPUT_TIED;
    const struct attn_family *family = attn_family_find(config->model_type);

    attn_weights_replace(target->weights, config, spec, &change->whole);
    if (!is_tied || !change->is_of_base || !is_vocabulary(spec))
        return;
    for (size_t i = 0; i < family->n_rule; i++) {
        const struct attn_weight_spec other = {.rule = &family->rules[i]};

        if (is_vocabulary(&other))
            attn_weights_replace(target->weights, config, &other, &change->whole);
    }
    config->output = ATTN_OUTPUT_TIED;
}

static enum attn_status apply_change(struct attn_adapter *adapter,
                                     struct attn_adapter_change *change,
                                     const struct attn_adapter_target *target,
                                     struct attn_error *err)
{
    const char *name = target->is_part ? attn_tensor_names_of_part(change->tensor) : change->tensor;
    struct attn_weight_spec spec;
    enum attn_weight_kind kind;
    bool is_turned;

    if (!attn_weights_find(target->config, name, &spec))
        return ATTN_OK;
    kind = spec.rule->kind;
    is_turned =
        kind == ATTN_WEIGHT_IN_OUT || kind == ATTN_WEIGHT_QKV_MATRIX || kind == ATTN_WEIGHT_TENSOR;
    ATTN_TRY(check_change(adapter, change, &spec, is_turned, target, err));
    if (change->whole.data)
        replace(change, &spec, target);
    else
        ATTN_TRY(add(change, &spec, is_turned, target, err));
    change->is_used = true;
    change->n_dim = spec.rank;
    memcpy(change->shape, spec.shape, sizeof spec.shape);
    return ATTN_OK;
}

/* The changes of the base model come first: modules that are saved and products lie above it. */
static enum attn_status apply(struct attn_adapter *adapter,
                              const struct attn_adapter_target *target, struct attn_error *err)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < adapter->n; i++)
            if (adapter->changes[i].is_of_base == (pass == 0))
                ATTN_TRY(apply_change(adapter, &adapter->changes[i], target, err));
    return ATTN_OK;
}

static enum attn_status check_used(const struct attn_adapter *adapter,
                                   const struct attn_model *model, const char *name,
                                   struct attn_error *err)
{
    const struct attn_config *config = &model->config;

    for (size_t i = 0; i < adapter->n; i++) {
        const struct attn_adapter_change *change = &adapter->changes[i];

        if (change->is_used ||
            (config->has_two_towers && attn_weights_know(model->naming, config, change->tensor)) ||
            (model->part &&
             !attn_weights_know(model->naming, config, attn_tensor_names_of_part(change->tensor))))
            continue;
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "the adapter changes '%s', which '%s', a model of type %s, does not have",
                       attn_quote_string(change->module).text, attn_quote_string(name).text,
                       config->model_type);
        if (!change->whole.data)
            return hint_base(adapter, ATTN_UNSUPPORTED, err);
        attn_error_hint(err, "a head that the base model lacks is read from a whole model: "
                             "merge the adapter with peft");
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

const struct attn_adapter_reader attn_adapter_of_peft = {
    .open = open_adapter, .free = free_adapter, .apply = apply, .check_used = check_used};
