/* model.c - opens a model: reads its config and the directories of its weight files, and binds the
 * weights. */
#include "model/model.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "formats/safetensors.h"
#include "formats/tensor_files_internal.h"
#include "kernels/kernels.h"
#include "model/elements.h"
#include "model/model_internal.h"

#include <math.h>
#include <string.h>

double attn_pooled_total(enum attn_pooled pool, const int32_t *mask, size_t n)
{
    double total = 0;

    for (size_t i = 0; i < n; i++)
        total += attn_key_mask_pools(mask, i) ? attn_pooled_weight(pool, i) : 0;
    return pool == ATTN_POOLED_SQRT ? sqrt(total) : total;
}

size_t attn_pooled_row(enum attn_pooled pool, const int32_t *mask, size_t n)
{
    size_t row = pool == ATTN_POOLED_FIRST ? 0 : attn_key_mask_last(mask, n);

    while (mask && row + 1 < n && mask[row] == 2)
        row++;
    return row;
}

ATTN_DEFAULTS(attn_model_options, .size = sizeof(struct attn_model_options), .isa = ATTN_ISA_BEST)

/* Finds the family of MODEL, whose config JSON has no model_type, and notes it. */
static enum attn_status find_family(const struct attn_source *source,
                                    const struct attn_model_options *options,
                                    const struct attn_json *json, struct attn_model *model,
                                    struct attn_error *err)
{
    const char *type = NULL, *by = "architectures";

    ATTN_TRY(attn_family_find_type(json, &type, err));
    if (!type && !attn_strangers)
        return attn_error_set(err, ATTN_FORMAT, "'model_type' is missing in '%s'",
                              attn_config_quote(json).text);
    if (!type) {
        ATTN_TRY(attn_safetensors_open(source, options->load, &model->files, err));
        ATTN_TRY(attn_strangers->find_family(json, model->files, &model->naming, err));
        type = model->naming->model_type;
        by = "the names of its tensors";
    }
    if (!attn_node_find(attn_json_root(json), "model_type") && !attn_family_find(type)->is_config)
        attn_note(options->on_note, options->user, ATTN_NOTE_ASSUMED,
                  "'%s' has no 'model_type'; it is read as %s, by %s",
                  attn_quote_string(attn_json_name(json)).text, type, by);
    return ATTN_OK;
}

/* Reads the config of MODEL from its JSON files. The caller frees the two trees in JSON. */
static enum attn_status read_files(const struct attn_source *source,
                                   const struct attn_model_options *options,
                                   struct attn_model *model, struct attn_json *json[2],
                                   struct attn_error *err)
{
    static const char name[] = "config.json", generation[] = "generation_config.json";
    const bool is_absent = !attn_source_has_part(source, name);
    const struct attn_opener *other = attn_opener_of_tensors();
    enum attn_status status = is_absent && other ? other->refuse(source, err) : ATTN_OK;
    const char *type = NULL;

    if (is_absent && !attn_bundles)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has no config.json; readers of other files are not linked",
                              attn_quote_string(model->name).text);
    ATTN_THEN(status, attn_json_read_part(source, name, attn_family_config_keys, &json[0], err));
    if (is_absent && source->fetch)
        attn_error_hint(err, "%s", source->fetch);
    if (is_absent)
        attn_error_hint(err, "a model directory holds config.json, model.safetensors and the files "
                             "of a tokenizer");
    ATTN_TRY(status);
    if (attn_json_get_string(json[0], attn_json_root(json[0]), "model_type", &type, NULL) ==
            ATTN_OK &&
        type)
        model->part = attn_family_find_part(type);
    if (!model->naming)
        ATTN_TRY(find_family(source, options, json[0], model, err));
    ATTN_TRY(attn_family_read_config(json[0], model->naming, options->tower, &model->config,
                                     &model->layers, err));
    if (model->config.stack.has_encoder) {
        struct attn_model *encoder;

        ATTN_TRY(ATTN_ALLOC(encoder, 1, err));
        model->encoder = encoder;
        encoder->naming = attn_family_find(model->config.model_type)->encoder;
        ATTN_TRY(attn_family_read_encoder(json[0], attn_family_find(model->config.model_type),
                                          &encoder->config, &encoder->layers, err));
        model->config.n_source = encoder->config.n_ctx == SIZE_MAX ? 0 : encoder->config.n_ctx;
    }
    if (model->config.vision.tower) {
        ATTN_TRY(ATTN_ALLOC(model->tower, 1, err));
        model->tower->naming = model->config.vision.tower;
        ATTN_TRY(attn_family_read_tower(json[0], &model->config, &model->tower->config,
                                        &model->tower->layers, err));
    }
    if (attn_unpack)
        ATTN_TRY(attn_unpack(source, json[0], &model->config, options->load, &model->files, err));
    if (!attn_source_has_part(source, generation))
        return ATTN_OK;
    /* Tokens that end a text are read from generation_config.json if it exists, because Hugging
     * Face puts the end of a turn there. Its other keys are not read. */
    ATTN_TRY(attn_json_read_part(source, generation, attn_family_config_keys, &json[1], err));
    attn_family_read_end_ids(json[1], &model->config);
    attn_family_read_generation(json[1], &model->config);
    return ATTN_OK;
}

/* Stores the name of the code that JSON, config.json, names for its model: "modeling_x" of
 * {"AutoModel": "modeling_x.Class"}, also behind the name of a repository. It is not run. */
static enum attn_status read_code(struct attn_model *model, const struct attn_json *json,
                                  struct attn_error *err)
{
    const struct attn_node *map = attn_node_find(attn_json_root(json), "auto_map");

    if (!map || !attn_node_is_object(map))
        return ATTN_OK;
    for (const struct attn_node *node = attn_node_first(map); node && !model->code;
         node = attn_node_next(node)) {
        const char *code = attn_node_string(node), *file = code ? strrchr(code, '-') : NULL;

        if (!code || strncmp(attn_node_key(node), "AutoModel", strlen("AutoModel")) != 0)
            continue;
        file = file ? file + 1 : code; /* the name of a module has no hyphen */
        ATTN_TRY(ATTN_NEW(model->code, attn_strndup(file, strcspn(file, "."), err)));
    }
    return ATTN_OK;
}

static enum attn_status read_config(const struct attn_source *source,
                                    const struct attn_model_options *options,
                                    struct attn_model *model, struct attn_error *err)
{
    struct attn_json *json[2] = {NULL, NULL};
    enum attn_status status = read_files(source, options, model, json, err);

    ATTN_THEN(status, read_code(model, json[0], err));
    if (status == ATTN_OK && model->encoder && attn_speech_reader)
        status = attn_speech_reader->read(source, json, model, err);
    attn_json_free(json[0]);
    attn_json_free(json[1]);
    return status;
}

/* Refuses a config or weights given in addition to a bundle or to the file of OPENER, which may be
 * NULL, unless it takes a config. */
static enum attn_status check_parts(const struct attn_source *source,
                                    const struct attn_opener *opener, struct attn_error *err)
{
    static const char *const parts[][2] = {{"config", "config.json"},
                                           {"weights", "model.safetensors"}};
    const char *part = opener ? opener->part : attn_bundles ? attn_bundles->part : "";
    const char *file = attn_source_override(source, part);
    const char *projector =
        attn_bundles ? attn_source_override(source, attn_bundles->tower_part) : NULL;
    const char *kind = opener ? opener->kind : attn_bundles ? attn_bundles->kind : "";

    if (projector && !attn_bundle_is_source(source))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'`mmproj` %s' goes with a %s file, and the model is none",
                           attn_quote_string(projector).text, attn_bundles->kind);
    for (size_t i = opener && opener->takes_config; i < sizeof parts / sizeof *parts; i++) {
        const char *path = attn_source_override(source, parts[i][1]);

        if (path && (file || attn_bundle_is_source(source)))
            return attn_error_set(err, ATTN_INVALID,
                                  "'`%s` %s' does not go with the %s file '%s', which has its own",
                                  parts[i][0], attn_quote_string(path).text, kind,
                                  attn_quote_string(file ? file : part).text);
    }
    return ATTN_OK;
}

/* Writes one note about all tensors that the model does not use. */
static void report_unused(const struct attn_model *model, const struct attn_model_options *options)
{
    char names[300]; /* quoted names of the first few */
    size_t size = 0, n = 0;

    for (size_t i = 0; i < attn_tensor_files_count(model->st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(model->st, i);

        if (attn_weights_know(model->naming, &model->config, entry.name) ||
            (model->tower &&
             attn_weights_know(model->tower->naming, &model->tower->config, entry.name)))
            continue;
        if (n++ < 3)
            attn_fixed_text_append(names, sizeof names, &size, "%s'%s'", size == 0 ? "" : ", ",
                                   attn_quote_string(entry.name).text);
    }
    if (n == 0)
        return;
    attn_note(options->on_note, options->user, ATTN_NOTE_UNUSED_TENSORS,
              "%zu tensor%s of the model %s not used: %s%s", n, n == 1 ? "" : "s",
              n == 1 ? "is" : "are", names, n > 3 ? ", ..." : "");
}

/* Gives all layers of M the rotary frequencies that its file contains. */
static enum attn_status read_frequencies(struct attn_model *m, struct attn_error *err)
{
    const struct attn_vector *found = &m->weights.frequencies;

    if (found->n == 0 || m->config.positions != ATTN_POSITIONS_ROTARY)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(m->layers.divisors, found->n, err));
    attn_kernels_find(ATTN_ISA_BEST)
        ->convert(found->data, found->dtype, found->n, m->layers.divisors);
    for (size_t i = 0; i < found->n; i++)
        if (!isfinite(m->layers.divisors[i]))
            return attn_error_set(
                err, ATTN_FORMAT,
                "a frequency of rotary positions in '%s' is %g, expected a finite "
                "number",
                attn_quote_string(attn_tensor_files_path(m->st, 0)).text,
                (double)m->layers.divisors[i]);
    for (size_t layer = 0; layer < m->config.n_layer; layer++)
        m->layers.rope[layer].frequencies = m->layers.divisors;
    return ATTN_OK;
}

/* Reads the numbers of xIELU from the tensors of each layer. */
static void read_xielu(struct attn_model *m)
{
    for (size_t layer = 0; layer < m->config.n_layer && m->layers.xielu; layer++) {
        const struct attn_vector *found = m->weights.blocks[layer].xielu;
        double values[4];

        for (size_t i = 0; i < 4 && found->data; i++)
            attn_vector_elements(&found[i], 0, 1, &values[i]);
        if (found->data)
            attn_config_set_xielu(&m->layers.xielu[layer], values);
    }
}

/* Reads the biases of the buckets in TABLE, [n_bucket, n_head], and assigns to each distance that
 * of its bucket. */
static enum attn_status read_table(struct attn_model *m, const struct attn_tensor *table,
                                   struct attn_score_bias *bias, struct attn_error *err)
{
    const size_t n_head = m->config.n_head, n = m->config.stack.n_bucket * n_head;
    const size_t n_distance = table->data ? 2 * bias->farthest + 1 : 0;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    float *of_buckets;
    bool is_finite;

    if (!table->data)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(of_buckets, attn_alloc_uninitialized(n, sizeof *of_buckets, err)));
    kernels->convert(table->data, table->dtype, n, of_buckets);
    is_finite = kernels->is_finite(of_buckets, n);
    for (size_t i = 0; i < n_head * n_distance; i++)
        bias->slopes[i] = of_buckets[m->layers.buckets[i % n_distance] * n_head + i / n_distance];
    attn_free(of_buckets);
    if (is_finite)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT,
        "the relative biases of '%s' hold NaN or infinity, expected finite values",
        attn_quote_string(m->name).text);
}

/* Reads the biases of all layers, or of each layer. */
static enum attn_status read_biases(struct attn_model *m, struct attn_error *err)
{
    if (!m->config.stack.has_bias_in_layers)
        return read_table(m, &m->weights.relative_bias, m->layers.bias, err);
    for (size_t layer = 0; layer < m->config.n_layer; layer++)
        if (!m->config.is_cross[layer])
            ATTN_TRY(read_table(m, &m->weights.blocks[layer].relative_bias,
                                attn_config_bias(&m->layers, layer), err));
    return ATTN_OK;
}

/* Binds the weights of M, changed by ADAPTER unless it is NULL, and packs them if they will be used
 * many times. */
static enum attn_status bind(struct attn_model *m, struct attn_adapter *adapter,
                             const struct attn_model_options *options, struct attn_error *err)
{
    const struct attn_adapter_target target = {&m->weights, &m->config, m->bundle != NULL,
                                               m->part != NULL, options->pool};
    const struct attn_packing packing = {.compute = options->compute,
                                         .kernels = attn_kernels_find(options->isa),
                                         .most_of_blocks = attn_memory_of_machine() / 4,
                                         .most_of_experts = attn_memory_of_machine() / 4 * 3,
                                         .pool = options->pool};

    if (adapter || options->reuse || m->encoder || m->config.pooling == ATTN_POOLING_FIRST_TWO)
        ATTN_TRY(attn_tensor_files_make(m->st, options->pool, err)); /* their values are read */
    ATTN_TRY(attn_weights_bind(&m->weights, &m->config, m->naming, m->st, err));
    if (adapter)
        ATTN_TRY(attn_adapters->apply(adapter, &target, err));
    ATTN_TRY(read_frequencies(m, err));
    read_xielu(m);
    for (size_t layer = 0; layer < m->config.n_layer && m->weights.sinks; layer++)
        m->layers.attention[layer].sinks = m->weights.sinks + layer * m->config.n_head;
    ATTN_TRY(read_biases(m, err));
    if (m->bundle)
        ATTN_TRY(attn_weights_check_unused(m->naming, &m->config, m->st, err));
    return options->reuse ? attn_weights_pack(&m->weights, &m->config, m->st, &packing, err)
                          : ATTN_OK;
}

/* Completes MODEL, the encoder or the tower of M, whose config has been read. */
static enum attn_status open_stack(const struct attn_model *m, struct attn_model *model,
                                   struct attn_adapter *adapter,
                                   const struct attn_model_options *options, struct attn_error *err)
{
    model->compute = m->compute;
    model->st = model->st ? model->st : m->st;
    ATTN_TRY(ATTN_NEW(model->name, attn_strndup(m->name, strlen(m->name), err)));
    ATTN_TRY(ATTN_ALLOC(model->work, 1, err));
    return bind(model, adapter, options, err);
}

static enum attn_status open_encoder(const struct attn_model *m,
                                     const struct attn_model_options *options,
                                     struct attn_error *err)
{
    struct attn_model *encoder = m->encoder;
    struct attn_tensor *own = &encoder->weights.embed;
    const struct attn_tensor *shared = &m->weights.embed;

    ATTN_TRY(open_stack(m, encoder, m->adapter, options, err));
    if (own->data && own->data != shared->data && own->dtype == shared->dtype &&
        attn_tensor_n_byte(own) == attn_tensor_n_byte(shared) &&
        memcmp(own->data, shared->data, attn_tensor_n_byte(own)) == 0)
        *own = *shared; /* old files contain a copy; only one of the two is read */
    return ATTN_OK;
}

/* Returns NAME, followed by + and the name of the folder of PATH, a file of an adapter, unless it
 * is
 * "". The caller frees it. */
static char *make_name(const char *name, const char *path, struct attn_error *err)
{
    const char *end = attn_os_last_slash(path), *folder = end;
    struct attn_buffer joined = {0};
    char *made = NULL;

    while (folder && folder > path && !attn_os_is_slash(folder[-1]))
        folder--;
    attn_buffer_append_string(&joined, name);
    if (*path)
        attn_buffer_append_char(&joined, '+');
    if (folder)
        attn_buffer_append(&joined, folder, (size_t)(end - folder));
    if (attn_buffer_check(&joined, err) == ATTN_OK)
        made = attn_strndup(joined.data, joined.size, err);
    attn_buffer_release(&joined);
    return made;
}

/* Notes that an index names an output matrix that no shard of M has. It must be the embedding. */
static enum attn_status check_head(const struct attn_model *m,
                                   const struct attn_model_options *options, struct attn_error *err)
{
    if (!m->files->lacks_head)
        return ATTN_OK;
    if (m->config.output == ATTN_OUTPUT_OWN)
        return attn_error_set(err, ATTN_FORMAT,
                              "'lm_head.weight' is in no file of '%s', expected as the index says",
                              attn_quote_string(m->name).text);
    attn_note(
        options->on_note, options->user, ATTN_NOTE_ASSUMED,
        "the index names 'lm_head.weight', which no file has: the output is the embedding, as "
        "the config says");
    return ATTN_OK;
}

/* Reads the config of M and opens its safetensors, or its files of PyTorch. */
static enum attn_status read_safetensors(const struct attn_source *source,
                                         const struct attn_model_options *options,
                                         struct attn_model *m, struct attn_error *err)
{
    const struct attn_family *other;

    ATTN_TRY(read_config(source, options, m, err));
    if (!m->files)
        ATTN_TRY(attn_safetensors_open(source, options->load, &m->files, err));
    m->st = m->files;
    m->naming = attn_family_find(m->config.model_type);
    ATTN_TRY(check_head(m, options, err));
    m->n_outside = attn_tensor_files_count(m->st);
    if (attn_rename_tensors)
        ATTN_TRY(attn_rename_tensors(m, options, err));
    m->n_outside -= attn_tensor_files_count(m->st);
    if (m->tower && !attn_weights_are_named(m->tower->naming, NULL, m->st)) {
        attn_model_free(m->tower); /* the file has the text part alone */
        m->tower = NULL;
        m->config.vision = (struct attn_vision_config){0};
    }
    other = m->naming->other_names;
    if (other && !attn_weights_are_named(m->naming, "", m->st) &&
        attn_weights_are_named(other, "", m->st)) {
        m->naming = other;
        attn_config_release(&m->config, &m->layers);
        ATTN_TRY(read_config(source, options, m, err));
    }
    return ATTN_OK;
}

/* Reads M from its opened file of another program: from the parts, or from config and tensors. */
static enum attn_status read_opened(struct attn_model *m, const struct attn_model_options *options,
                                    struct attn_error *err)
{
    struct attn_opened *opened = &m->opened;
    struct attn_file text = {.storage = ATTN_FILE_BORROWED};
    struct attn_json *json = NULL;
    enum attn_status status;

    m->st = m->files = opened->files, opened->files = NULL;
    if (m->st) {
        text.data = (const unsigned char *)opened->config.data, text.size = opened->config.size;
        text.path = (char *)(uintptr_t)attn_tensor_files_path(m->st, 0); /* borrowed */
        status = attn_json_parse_named(&text, attn_family_config_keys, &json, err);
        if (status == ATTN_OK)
            status =
                attn_family_read_config(json, NULL, ATTN_TOWER_TEXT, &m->config, &m->layers, err);
        attn_json_free(json);
        ATTN_TRY(status);
        m->naming = opened->is_named_as_bundle ? attn_bundles->naming(&m->config, m->st)
                                               : attn_family_find(m->config.model_type);
    }
    if (opened->note)
        attn_note(options->on_note, options->user, ATTN_NOTE_ASSUMED, "'%s' %s",
                  attn_quote_string(m->st ? text.path : m->name).text, opened->note);
    if (!m->st)
        return read_safetensors(&opened->parts, options, m, err);
    return opened->is_named_as_bundle || !attn_rename_tensors
               ? ATTN_OK
               : attn_rename_tensors(m, options, err);
}

/* Opens the adapter of M, if SOURCE has one, and sets *path to a file of it. */
static enum attn_status open_adapter(const struct attn_source *source, enum attn_load load,
                                     struct attn_model *m, const char **path,
                                     struct attn_error *err)
{
    const char *config = attn_source_override(source, ATTN_ADAPTER_CONFIG);

    if (attn_adapters)
        return attn_adapters->open(source, load, &m->adapter, path, err);
    return config ? attn_error_set(err, ATTN_UNSUPPORTED,
                                   "'`adapter` %s' needs a reader, which is not linked",
                                   attn_quote_string(config).text)
                  : ATTN_OK;
}

/* Opens the files of SOURCE and fills M. The caller closes M, also after a failure. */
static enum attn_status open_files(const struct attn_source *source,
                                   const struct attn_model_options *options, struct attn_model *m,
                                   struct attn_error *err)
{
    const char *name = source->name ? source->name : source->directory;
    struct attn_model_options own = *options;
    const struct attn_opener *opener = attn_opener_of(source);
    const char *path = "";

    if (!name)
        name = "built-in";
    m->compute = options->compute;
    ATTN_TRY(open_adapter(source, options->load, m, &path, err));
    ATTN_TRY(ATTN_NEW(m->name, make_name(name, path, err)));
    ATTN_TRY(check_parts(source, opener, err));
    if (opener) {
        ATTN_TRY(opener->read(source, options->load, &m->opened, err));
        ATTN_TRY(read_opened(m, options, err));
        source = m->opened.parts.n_blob > 0 ? &m->opened.parts : source;
    } else if (attn_bundle_is_source(source)) {
        ATTN_TRY(attn_bundles->read(source, options->load, m, err));
    } else {
        ATTN_TRY(read_safetensors(source, options, m, err));
    }
    if (m->config.vision.drops_logits_cap)
        m->config.logits_cap = 0;
    own.reuse = options->reuse && !(m->tower && options->tower == ATTN_TOWER_IMAGE);
    ATTN_TRY(bind(m, m->adapter, &own, err));
    if (m->encoder)
        ATTN_TRY(open_encoder(m, options, err));
    if (m->tower)
        ATTN_TRY(open_stack(m, m->tower, NULL, options, err));
    if (m->adapter)
        ATTN_TRY(attn_adapters->check_used(m->adapter, m, name, err));
    if (attn_sentences)
        ATTN_TRY(attn_sentences->read(source, m, err));
    if (m->sentence.usual && m->sentence.usual->text[0] != '\0')
        attn_note(
            options->on_note, options->user, ATTN_NOTE_PROMPT,
            "texts begin with '%s', the default prompt of this model, unless `prompt_name` names "
            "another one, or off",
            attn_quote_string(m->sentence.usual->text).text);
    if (m->code)
        attn_note(options->on_note, options->user, ATTN_NOTE_ASSUMED,
                  "own code %s.py is not run; the model is read as %s",
                  attn_quote_string(m->code).text, m->config.model_type);
    if (m->part && !m->tower)
        attn_note(options->on_note, options->user, ATTN_NOTE_UNUSED_TENSORS,
                  "the text part of %s (%s); %s not read", m->part->type, m->config.model_type,
                  m->part->others);
    if (options->on_note)
        report_unused(m, options);
    return ATTN_OK;
}

/* Returns the tower of M, which is an encoder of pictures then and owns M; M if it has none. */
static struct attn_model *take_tower(struct attn_model *m)
{
    struct attn_model *tower = m->tower;

    if (!tower)
        return m;
    m->tower = NULL;
    tower->whole = m;
    tower->config.vision = (struct attn_vision_config){0};
    tower->config.stack.is_of_decoder = false;
    return tower;
}

/* Opens *model. If WHY is not NULL, a tower beside a GGUF file is not used, for that reason. */
static enum attn_status open_model(const struct attn_source *source,
                                   const struct attn_model_options *options,
                                   const struct attn_error *why, struct attn_model **model,
                                   struct attn_error *err)
{
    struct attn_model *m;

    ATTN_TRY(ATTN_ALLOC(m, 1, err));
    *model = m;
    if (why)
        m->no_tower = *why;
    m->work = attn_alloc(1, sizeof *m->work, err);
    return m->work ? open_files(source, options, m, err) : ATTN_NO_MEMORY;
}

enum attn_status attn_model_open(const struct attn_source *source,
                                 const struct attn_model_options *given, struct attn_model **model,
                                 struct attn_error *err)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error why = {0};
    enum attn_status status;
    struct attn_model *m = NULL;

    if (!attn_is_given(source, "source", err) || !attn_is_given(model, "model", err) ||
        !ATTN_IS_KNOWN(source->later, "source", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_options_read(given, &options, err));
    if (!attn_is_choice(options.compute, ATTN_N_COMPUTE, "compute", err) ||
        !attn_is_choice(options.load, ATTN_READ + 1, "load", err) ||
        !attn_is_choice(options.tower, ATTN_TOWER_OF_INPUT + 1, "tower", err) ||
        !attn_is_choice(options.isa, ATTN_ISA_BEST + 1, "isa", err))
        return ATTN_INVALID;
    status = open_model(source, &options, NULL, &m, &why);
    if (status != ATTN_OK && m && m->has_found_tower) { /* it may be of another model */
        attn_model_free(m);
        m = NULL;
        status = open_model(source, &options, &why, &m, err);
    } else if (status != ATTN_OK) {
        attn_error_copy(err, &why);
    }
    if (status == ATTN_OK && options.tower == ATTN_TOWER_IMAGE)
        m = take_tower(m);
    ATTN_RETURN_MADE(status, model, m, attn_model_free);
}

void attn_model_start_engine(struct attn_model *model, enum attn_gemm gemm, enum attn_isa isa)
{
    /* The amount of work that is assumed for a reused model: rows of a thousand short texts. */
    static const double n_row = 10000;
    double work;

    if (!model->weights.is_reused)
        return;
    if (model->encoder)
        attn_model_start_engine(model->encoder, gemm, isa);
    if (model->tower)
        attn_model_start_engine(model->tower, gemm, isa);
    work = n_row * (double)model->config.n_layer *
           attn_weights_work_of_block(&model->weights, &model->config);
    model->engine = attn_gemm_engine_start_for(model->compute, gemm, isa, work);
    model->has_engine = !model->engine.lacks_memory;
    model->gemm = gemm;
    model->isa = isa;
}

double attn_model_add_work(const struct attn_model *model, double work)
{
    return work + (double)atomic_fetch_add(model->work, (unsigned long long)work);
}

void attn_model_free(struct attn_model *model)
{
    if (!model)
        return;
    if (model->label_rows) {
        attn_free(model->label_rows);
        attn_free((void *)model->label_names);
        attn_free(model);
        return;
    }
    attn_model_free(model->encoder);
    attn_model_free(model->tower);
    attn_model_free(model->whole);
    attn_free(model->work);
    attn_free(model->code);
    attn_weights_release(&model->weights);
    if (attn_sentences)
        attn_sentences->release(&model->sentence);
    attn_tensor_files_free(model->files);
    if (model->adapter)
        attn_adapters->free(model->adapter);
    if (model->bundle)
        attn_bundles->free(model->bundle);
    attn_opened_release(&model->opened);
    attn_config_release(&model->config, &model->layers);
    attn_free(model->name);
    attn_free(model->types);
    if (model->speech)
        attn_speech_reader->free(model->speech);
    attn_free(model);
}

const struct attn_config *attn_model_config(const struct attn_model *model)
{
    return model ? &model->config : NULL;
}

enum attn_compute attn_model_compute(const struct attn_model *model)
{
    return model->compute;
}

const char *attn_model_name(const struct attn_model *model)
{
    return model ? model->name : NULL;
}

/* Whether ID stands for something that is no text. */
static bool is_of_part(const struct attn_config *config, int32_t id)
{
    bool is_found = false;

    for (size_t i = 0; i < sizeof config->part_ids / sizeof *config->part_ids; i++)
        is_found = is_found || (id > 0 && id == config->part_ids[i]);
    return is_found;
}

enum attn_status attn_model_check_ids(const struct attn_model *model, const int32_t *ids, size_t n,
                                      size_t first, struct attn_error *err)
{
    const size_t n_token = model->config.n_token;
    size_t i = 0;

    if (model->config.image.patch_height > 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' reads pictures, not tokens",
                              attn_quote_string(model->name).text);
    while (i < n && ids[i] >= 0 && (size_t)ids[i] < n_token && !is_of_part(&model->config, ids[i]))
        i++;
    if (i == n)
        return ATTN_OK;
    if (ids[i] >= 0 && (size_t)ids[i] < n_token)
        attn_error_set(err, ATTN_INVALID,
                       "token id %d at position %zu stands for a picture or a sound, which is not "
                       "read",
                       ids[i], first + i);
    else
        attn_error_set(err, ATTN_INVALID,
                       "token id %d at position %zu is out of range, expected 0 to %zu", ids[i],
                       first + i, n_token - 1);
    return attn_error_because(ATTN_INVALID, ATTN_REASON_BAD_IDS, err);
}

enum attn_status attn_model_check_types(const struct attn_model *model, const int32_t *types,
                                        size_t n, struct attn_error *err)
{
    const size_t n_type = model->config.n_type;

    if (n_type == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no token types",
                              attn_quote_string(model->name).text);
    for (size_t i = 0; i < n; i++)
        if (types[i] < 0 || (size_t)types[i] >= n_type)
            return attn_error_set(
                err, ATTN_INVALID,
                "token type %d at position %zu is out of range, expected 0 to %zu", types[i], i,
                n_type - 1);
    return ATTN_OK;
}

void attn_model_row(const struct attn_model *model, const struct attn_kernels *kernels, int32_t id,
                    float *x)
{
    const struct attn_tensor *table = &model->weights.embed;
    const size_t d = model->config.d_embed, row_bytes = attn_dtype_n_byte(table->dtype, d);
    const float *norm = model->weights.row_norm;

    kernels->convert((const char *)table->data + (size_t)id * row_bytes, table->dtype, d, x);
    if (model->config.embed_scale > 0)
        kernels->scale(x, (float)model->config.embed_scale, d, x);
    if (norm)
        kernels->layer_norm(x, norm, norm + d, d, model->config.norm_eps, x);
}

void attn_model_gather(const struct attn_model *model, const struct attn_kernels *kernels,
                       const int32_t *ids, size_t n, float *x)
{
    const size_t d = model->config.d_embed;
    size_t n_mask = 0;

    for (size_t i = 0; i < n; i++)
        attn_model_row(model, kernels, ids[i], x + i * d);
    if (!model->config.has_token_dropout)
        return;
    for (size_t i = 0; i < n; i++)
        n_mask += ids[i] == model->config.mask_id;
    for (size_t i = 0; i < n; i++)
        if (ids[i] == model->config.mask_id)
            memset(x + i * d, 0, d * sizeof *x);
        else
            kernels->scale(x + i * d, 0.88F / (1 - (float)n_mask / (float)n), d, x + i * d);
}

enum attn_status attn_model_embed(const struct attn_model *model, const int32_t *ids, size_t n,
                                  float *x, struct attn_error *err)
{
    if (!attn_is_given(model, "model", err) || (n > 0 && !attn_is_given(ids, "ids", err)) ||
        !attn_is_given(x, "x", err))
        return ATTN_INVALID;

    ATTN_TRY(attn_model_check_ids(model, ids, n, 0, err));
    ATTN_TRY(attn_tensor_files_make(model->st, NULL, err));
    attn_model_gather(model, attn_kernels_find(ATTN_ISA_BEST), ids, n, x);
    return ATTN_OK;
}

const struct attn_tensor_files *attn_model_files(const struct attn_model *model)
{
    return model->st;
}

const struct attn_adapter *attn_model_adapter(const struct attn_model *model)
{
    return model->adapter;
}

const struct attn_bundle *attn_model_bundle(const struct attn_model *model)
{
    return model->bundle;
}

bool attn_model_owns_address(const struct attn_model *model, const void *address)
{
    return model && (attn_tensor_files_owns_address(model->st, address) ||
                     attn_model_owns_address(model->tower, address));
}
