/* gguf_row.c - GGUF files as one row of readers of models (formats/bundle.h). */
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/bundle.h"
#include "gguf/gguf.h"
#include "gguf/gguf_config.h"
#include "gguf/gguf_naming.h"
#include "gguf/gguf_vocabulary.h"
#include "gguf/projector_reader.h"
#include "model/model_internal.h"

/* Reads the config of M, and of its tower if it has one, from GGUF files. The caller releases JSON
 * and *parsed, also after a failure. */
static enum attn_status read_config(struct attn_model *m, struct attn_buffer *json,
                                    struct attn_json **parsed, struct attn_error *err)
{
    const struct attn_bundle *projector = m->projector;
    const struct attn_tensor_files *st = projector ? attn_gguf_files(projector) : m->st;
    struct attn_file text = {.storage = ATTN_FILE_BORROWED};
    const char *type = NULL;

    ATTN_TRY(attn_gguf_write_config(m->bundle, projector, json, err));
    text.data = (const unsigned char *)json->data, text.size = json->size;
    text.path = (char *)(uintptr_t)attn_tensor_files_path(st, 0); /* borrowed */
    ATTN_TRY(attn_json_parse_named(&text, attn_family_config_keys, parsed, err));
    ATTN_TRY(attn_family_read_config(*parsed, NULL, ATTN_TOWER_TEXT, &m->config, &m->layers, err));
    ATTN_TRY(attn_gguf_finish_config(m->bundle, &m->config, &m->layers, err));
    if (!projector)
        return ATTN_OK;
    ATTN_TRY(attn_family_find_type(*parsed, &type, err));
    m->part = attn_family_find_part(type);
    m->tower->naming = attn_projectors->naming(projector);
    m->tower->st = st;
    ATTN_TRY(
        attn_family_read_tower(*parsed, &m->config, &m->tower->config, &m->tower->layers, err));
    m->tower->config.output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

/* Finds the tower for the pictures of M, unless it is known that there is none. */
static enum attn_status find_projector(const struct attn_source *source, enum attn_load load,
                                       struct attn_model *m, struct attn_error *err)
{
    struct attn_projector found = {0};
    enum attn_status status;

    if (m->no_tower.status != ATTN_OK)
        return ATTN_OK;
    status = attn_projectors->find(source, m->bundle, load, &found, err);
    m->has_found_tower = found.is_found;
    m->no_tower = found.why;
    m->projector = found.bundle;
    if (found.bundle) {
        m->tower = attn_alloc(1, sizeof *m->tower, status == ATTN_OK ? err : NULL);
        status = m->tower ? status : ATTN_NO_MEMORY;
    }
    if (m->tower)
        m->tower->bundle = found.file;
    else
        attn_gguf_free(found.file);
    return status;
}

static enum attn_status read_model(const struct attn_source *source, enum attn_load load,
                                   struct attn_model *m, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_buffer json = {0};
    struct attn_json *parsed = NULL;
    enum attn_status status = attn_file_open_part(source, ATTN_GGUF_PART, load, &file, err);

    ATTN_THEN(status, attn_gguf_take(&file, load, &m->bundle, err));
    if (status == ATTN_IO && source->fetch)
        attn_error_hint(err, "%s", source->fetch);
    ATTN_TRY(status);
    m->st = attn_gguf_files(m->bundle);
    if (attn_projectors->is_projector(m->bundle)) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "'%s' reads pictures for a model, and is none, expected the model's own file",
                    attn_quote_string(attn_tensor_files_path(m->st, 0)).text);
        return attn_error_hint(err, "give the model's file as the model, and this one as `mmproj`");
    }
    ATTN_TRY(find_projector(source, load, m, err));
    status = read_config(m, &json, &parsed, err);
    attn_json_free(parsed);
    attn_buffer_release(&json);
    ATTN_TRY(status);
    m->naming = attn_gguf_naming(&m->config, m->st);
    return ATTN_OK;
}

const struct attn_bundle_reader attn_bundle_of_gguf = {
    ATTN_GGUF_PART, "GGUF",         ATTN_MMPROJ_PART, attn_gguf_is_source,
    read_model,     attn_gguf_free, attn_gguf_naming, attn_tokenizer_gguf_read};
