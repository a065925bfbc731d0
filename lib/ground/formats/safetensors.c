/*
 * safetensors.c - opens one file or several shards as one directory of tensors sorted by name.
 * Files of PyTorch are in the same places; another reader, if it is linked, recognizes them by
 * their first bytes (opener.h).
 *
 * If there is an index, the directory is first made from its weight_map. Then each shard is opened
 * once and fills in the tensors that the map places in it. Other tensors of a shard are ignored,
 * unless the map places them in another shard: then the same tensor is there twice, which is
 * refused.
 */
#include "formats/tensor_files_internal.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "formats/opener.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE_FILE "model.safetensors"

/* The files that weights lie in, the preferred ones first. */
static const struct form {
    const char *single, *index, *suffix, *format;
} forms[] = {{SINGLE_FILE, "model.safetensors.index.json", ".safetensors", "safetensors"},
             {"pytorch_model.bin", "pytorch_model.bin.index.json", ".bin", "PyTorch"}};

enum { N_FORM = sizeof forms / sizeof *forms };

bool attn_tensor_files_are_in(const struct attn_source *source)
{
    for (size_t i = 0; i < N_FORM; i++)
        if (attn_source_has_part(source, forms[i].single) ||
            attn_source_has_part(source, forms[i].index))
            return true;
    return false;
}

enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_tensor_files **out,
                                       struct attn_error *err)
{
    struct attn_tensor_files *st = attn_tensor_files_create(1, err);

    if (!st) {
        attn_file_release(file);
        return ATTN_NO_MEMORY;
    }
    st->shards[0].file = *file;
    *file = (struct attn_file){0};
    ATTN_RETURN_MADE(attn_safetensors_read_header(&st->shards[0].file, &st->shards[0].text,
                                                  &st->records, &st->count, err),
                     out, st, attn_tensor_files_free);
}

/* As attn_safetensors_take, for a file of either kind. */
static enum attn_status take_any(struct attn_file *file, const struct form *form,
                                 struct attn_tensor_files **out, struct attn_error *err)
{
    const struct attn_opener *opener = attn_opener_of_tensors();

    return opener && (form != &forms[0] || opener->is_tensors(file))
               ? opener->take(file, out, err)
               : attn_safetensors_take(file, out, err);
}

enum attn_status attn_safetensors_open_file(const char *path, enum attn_load load,
                                            struct attn_tensor_files **out, struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open(path, load, &file, err));
    return take_any(&file, &forms[0], out, err);
}

/* A member of the weight_map: a tensor and its file. Borrows from the index. */
struct mapping {
    const char *tensor, *file;
};

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct mapping *)a)->file, ((const struct mapping *)b)->file);
}

/* Reads MEMBER of the weight_map, whose file must lie beside INDEX or below it. */
static enum attn_status read_mapping(const struct attn_json *index, const struct attn_node *member,
                                     const char *ending, struct mapping *mapping,
                                     struct attn_error *err)
{
    const char *tensor = attn_node_key(member), *file = attn_node_string(member);
    const size_t size = file ? strlen(file) : 0, suffix = strlen(ending);

    if (size <= suffix || strcmp(file + size - suffix, ending) != 0 || strpbrk(file, "\\:") ||
        strncmp(file, ".//", 3) == 0 || *file == '/' || strstr(file, ".."))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' in the weight_map of '%s' is %s%s%s, expected the name of a %s "
                              "file in the same directory or below it",
                              attn_quote_string(tensor).text,
                              attn_quote_string(attn_json_name(index)).text, file ? "'" : "",
                              file ? attn_quote_string(file).text : "no string", file ? "'" : "",
                              ending);
    *mapping = (struct mapping){tensor, file + (strncmp(file, "./", 2) == 0 ? 2 : 0)};
    return ATTN_OK;
}

/* An index, and its weight_map sorted by file. */
struct shard_index {
    const struct form *form;
    struct attn_file file;
    struct attn_json *json;   /* owns */
    struct mapping *mappings; /* [count]; owns */
    size_t count;
    int n_open; /* shards that were opened */
};

static enum attn_status read_index(const struct attn_source *source, struct shard_index *index,
                                   struct attn_error *err)
{
    static const char *const names[] = {"weight_map", NULL};
    const struct attn_node *map, *member;

    ATTN_TRY(attn_file_read_part(source, index->form->index, &index->file, err));
    ATTN_TRY(attn_json_parse_named(&index->file, names, &index->json, err));
    attn_file_release(&index->file);
    map = attn_node_find(attn_json_root(index->json), "weight_map");
    if (!map || !attn_node_is_object(map) || !attn_node_first(map))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no 'weight_map', expected one from tensors to files",
                              attn_quote_string(attn_json_name(index->json)).text);
    for (member = attn_node_first(map); member; member = attn_node_next(member))
        index->count++;
    ATTN_TRY(ATTN_ALLOC(index->mappings, index->count, err));
    member = attn_node_first(map);
    for (size_t i = 0; i < index->count; i++, member = attn_node_next(member))
        ATTN_TRY(read_mapping(index->json, member, index->form->suffix, &index->mappings[i], err));
    qsort(index->mappings, index->count, sizeof *index->mappings, compare_files);
    return ATTN_OK;
}

/* Returns the directory that INDEX describes: each tensor with its shard, but without data yet. */
static struct attn_tensor_files *plan_shards(const struct shard_index *index,
                                             struct attn_error *err)
{
    const struct mapping *mappings = index->mappings;
    struct attn_tensor_files *st;
    int n_shard = 1;

    for (size_t i = 1; i < index->count; i++)
        n_shard += compare_files(&mappings[i - 1], &mappings[i]) != 0;
    st = attn_tensor_files_create(n_shard, err);
    if (!st)
        return NULL;
    st->records = attn_alloc(index->count, sizeof *st->records, err);
    if (!st->records) {
        attn_tensor_files_free(st);
        return NULL;
    }
    st->count = index->count;
    for (size_t i = 0; i < st->count; i++) {
        struct attn_tensor_record *record = &st->records[i];

        record->name = mappings[i].tensor;
        record->name_size = strlen(record->name);
        if (i > 0)
            record->shard = record[-1].shard + (compare_files(&mappings[i - 1], &mappings[i]) != 0);
    }
    qsort(st->records, st->count, sizeof *st->records, attn_tensor_compare_names);
    return st;
}

/* Moves the file of PART, which is shard number SHARD, into ST, and fills in the tensors that were
 * planned for it. */
static enum attn_status adopt_shard(struct attn_tensor_files *st, int shard,
                                    struct attn_tensor_files *part, const struct form *form,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct attn_tensor_record *record = &part->records[i];
        struct attn_tensor_record *planned =
            attn_tensor_files_record(st, record->name, record->name_size);

        if (!planned)
            continue;
        if (planned->shard != shard)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' is in '%s', expected in another file only, as %s says",
                                  attn_quote_string(record->name).text,
                                  attn_quote_string(part->shards[0].file.path).text, form->index);
        *planned = *record;
        planned->shard = shard;
    }
    st->shards[shard] = part->shards[0];
    part->n_shard = 0;
    return ATTN_OK;
}

/* Opens the next shard of INDEX, which is the file NAME. */
static enum attn_status open_shard(const struct attn_source *source, enum attn_load load,
                                   struct shard_index *index, const char *name,
                                   struct attn_tensor_files *st, struct attn_error *err)
{
    struct attn_tensor_files *part = NULL;
    struct attn_file file = {0};
    enum attn_status status = attn_file_open_part(source, name, load, &file, err);

    if (status != ATTN_OK) {
        if (source->fetch)
            attn_error_hint(err, "%s", source->fetch);
        attn_error_hint(err, "%s names it; all files that it names are needed", index->form->index);
        return status;
    }
    status = take_any(&file, index->form, &part, err);
    ATTN_THEN(status, adopt_shard(st, index->n_open++, part, index->form, err));
    attn_tensor_files_free(part);
    return status;
}

/* Leaves out the tensors of ST that its shards do not have. Only an lm_head.weight may be missing:
 * it is tied to the embedding, if the model has it at all, which is for the caller to check. */
static enum attn_status check_shards(struct attn_tensor_files *st, const char *index,
                                     struct attn_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < st->count; i++) {
        const struct attn_tensor_record *record = &st->records[i];

        if (record->shape)
            st->records[n++] = *record;
        else if (strcmp(record->name, "lm_head.weight") == 0)
            st->lacks_head = true;
        else
            return attn_error_set(err, ATTN_FORMAT, "'%s' is not in '%s', expected as %s says",
                                  attn_quote_string(record->name).text,
                                  attn_quote_string(st->shards[record->shard].file.path).text,
                                  index);
    }
    st->count = n;
    return ATTN_OK;
}

/* Opens all shards of SOURCE. *planned is the directory; the caller frees it, also after a failure.
 */
static enum attn_status open_shards(const struct attn_source *source, enum attn_load load,
                                    struct shard_index *index, struct attn_tensor_files **planned,
                                    struct attn_error *err)
{
    struct attn_tensor_files *st;

    ATTN_TRY(read_index(source, index, err));
    ATTN_TRY(ATTN_NEW(st, plan_shards(index, err)));
    *planned = st;
    st->format = index->form->format;
    for (size_t i = 0; i < index->count; i++)
        if (i == 0 || compare_files(&index->mappings[i - 1], &index->mappings[i]) != 0)
            ATTN_TRY(open_shard(source, load, index, index->mappings[i].file, st, err));
    return check_shards(st, index->form->index, err);
}

static enum attn_status open_index(const struct attn_source *source, enum attn_load load,
                                   const struct form *form, struct attn_tensor_files **out,
                                   struct attn_error *err)
{
    struct shard_index index = {.form = form};
    struct attn_tensor_files *st = NULL;
    const enum attn_status status = open_shards(source, load, &index, &st, err);

    attn_free(index.mappings);
    attn_json_free(index.json);
    attn_file_release(&index.file);
    ATTN_RETURN_MADE(status, out, st, attn_tensor_files_free);
}

enum attn_status attn_safetensors_open(const struct attn_source *source, enum attn_load load,
                                       struct attn_tensor_files **out, struct attn_error *err)
{
    const struct form *form = &forms[0];
    const struct attn_opener *opener = attn_opener_of_tensors();
    char name[ATTN_OPENER_NAME_SIZE] = SINGLE_FILE;
    const bool is_absent = !attn_tensor_files_are_in(source);
    struct attn_file file = {0};
    enum attn_status status;

    while (!is_absent && !attn_source_has_part(source, form->single)) {
        if (attn_source_has_part(source, form->index))
            return open_index(source, load, form, out, err);
        form++;
    }
    if (!is_absent)
        snprintf(name, sizeof name, "%s", form->single);
    else if (opener && opener->find(source, name))
        form = &forms[N_FORM - 1];
    else if (opener)
        ATTN_TRY(opener->refuse(source, err));
    status = attn_file_open_part(source, name, load, &file, err);
    if (status == ATTN_OK)
        return take_any(&file, form, out, err);
    if (status == ATTN_IO && source->fetch)
        attn_error_hint(err, "%s", source->fetch);
    if (is_absent)
        attn_error_hint(
            err, "a model directory holds %s or %s, or an index with the files that it names",
            forms[0].single, forms[1].single);
    return status;
}

enum attn_status attn_safetensors_write_header(struct attn_sink *sink,
                                               const struct attn_written_fact *facts, size_t n_fact,
                                               const struct attn_written_tensor *tensors, size_t n,
                                               struct attn_error *err)
{
    struct attn_buffer header = {0};
    enum attn_status status;
    size_t offset = 0;

    /* Readers of PyTorch require this member. */
    attn_buffer_append_string(&header, "{\"__metadata__\":{\"format\":\"pt\"");
    for (size_t i = 0; i < n_fact; i++) {
        attn_buffer_append_char(&header, ',');
        attn_json_append_string(&header, facts[i].key, strlen(facts[i].key));
        attn_buffer_append_char(&header, ':');
        attn_json_append_string(&header, facts[i].value, strlen(facts[i].value));
    }
    attn_buffer_append_char(&header, '}');
    /* Each tensor is ,"NAME":{"dtype":"F32","shape":[...],"data_offsets":[begin,end]} */
    for (size_t i = 0; i < n; i++) {
        const struct attn_tensor *tensor = &tensors[i].tensor;
        const size_t begin = offset;

        offset += attn_tensor_n_byte(tensor);
        attn_buffer_append_char(&header, ',');
        attn_json_append_string(&header, tensors[i].name, strlen(tensors[i].name));
        attn_buffer_append_format(&header, ":{\"dtype\":\"%s\",\"shape\":[",
                                  attn_dtype_name(tensor->dtype));
        for (int d = 0; d < tensor->rank; d++)
            attn_buffer_append_format(&header, d > 0 ? ",%zu" : "%zu", tensor->shape[d]);
        attn_buffer_append_format(&header, "],\"data_offsets\":[%zu,%zu]}", begin, offset);
    }
    attn_buffer_append_char(&header, '}');
    while (header.size % 8 != 0 && !header.has_failed)
        attn_buffer_append_char(&header, ' ');
    status = attn_buffer_check(&header, err);
    if (status == ATTN_OK) {
        const uint64_t size = header.size; /* little-endian, as all machines that we support */

        attn_sink_write(sink, &size, sizeof size);
        attn_sink_write(sink, header.data, header.size);
    }
    attn_buffer_release(&header);
    return status;
}

enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err)
{
    ATTN_TRY(attn_safetensors_write_header(sink, NULL, 0, tensors, n, err));
    for (size_t i = 0; i < n; i++)
        attn_sink_write(sink, tensors[i].tensor.data, attn_tensor_n_byte(&tensors[i].tensor));
    return ATTN_OK;
}
