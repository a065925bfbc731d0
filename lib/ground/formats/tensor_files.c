#include "formats/tensor_files_internal.h"

#include "base/memory.h"
#include "base/text/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct attn_tensor_files *attn_tensor_files_create(int n_shard, struct attn_error *err)
{
    struct attn_tensor_files *files = attn_alloc(1, sizeof *files, err);

    if (!files)
        return NULL;
    files->shards = attn_alloc((size_t)n_shard, sizeof *files->shards, err);
    if (!files->shards) {
        attn_free(files);
        return NULL;
    }
    files->n_shard = n_shard;
    files->format = "safetensors";
    return files;
}

void attn_tensor_files_free(struct attn_tensor_files *files)
{
    if (!files)
        return;
    for (int i = 0; i < files->n_shard; i++) {
        attn_file_release(&files->shards[i].file);
        attn_free(files->shards[i].text);
        attn_free(files->shards[i].made);
    }
    attn_free(files->shards);
    attn_free(files->records);
    attn_free(files->names);
    if (files->maker)
        files->maker->free(files->maker);
    attn_free(files);
}

enum attn_status attn_tensor_files_make(const struct attn_tensor_files *files,
                                        struct attn_pool *pool, struct attn_error *err)
{
    return files && files->maker ? files->maker->make(files->maker, files, pool, err) : ATTN_OK;
}

int attn_tensor_compare_names(const void *a, const void *b)
{
    const struct attn_tensor_record *x = a, *y = b;

    return attn_compare_texts(x->name, x->name_size, y->name, y->name_size);
}

struct attn_tensor_record *attn_tensor_files_record(const struct attn_tensor_files *files,
                                                    const char *name, size_t size)
{
    const struct attn_tensor_record key = {.name = name, .name_size = size};

    return bsearch(&key, files->records, files->count, sizeof key, attn_tensor_compare_names);
}

size_t attn_tensor_files_count(const struct attn_tensor_files *files)
{
    return files->count;
}

static struct attn_tensor_entry entry_of(const struct attn_tensor_files *files,
                                         const struct attn_tensor_record *record)
{
    const struct attn_tensor_file *file = &files->shards[record->shard];
    struct attn_tensor_entry entry = {
        .name = record->name,
        .name_size = record->name_size,
        .tensor = {.data = (record->is_made ? file->made : file->file.data) + record->offset,
                   .dtype = record->dtype,
                   .rank = record->rank},
        .shard = record->shard,
        .offset = record->offset};
    const char *shape = record->shape; /* valid: it was checked when the header was read */

    for (int i = 0; i < record->rank; i++) {
        while (*shape < '0' || *shape > '9')
            shape++;
        while (*shape >= '0' && *shape <= '9')
            entry.tensor.shape[i] = entry.tensor.shape[i] * 10 + (size_t)(*shape++ - '0');
    }
    return entry;
}

struct attn_tensor_entry attn_tensor_files_entry(const struct attn_tensor_files *files, size_t i)
{
    return entry_of(files, &files->records[i]);
}

bool attn_tensor_files_find(const struct attn_tensor_files *files, const char *name,
                            struct attn_tensor_entry *entry)
{
    const struct attn_tensor_record *record = attn_tensor_files_record(files, name, strlen(name));

    if (!record)
        return false;
    if (entry)
        *entry = entry_of(files, record);
    return true;
}

/* Returns the first of the N records of RENAMED with the name of the next one, or NULL. */
static const struct attn_tensor_record *find_twin(const struct attn_tensor_record *renamed,
                                                  size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (attn_tensor_compare_names(&renamed[i - 1], &renamed[i]) == 0)
            return &renamed[i - 1];
    return NULL;
}

/* Returns the name that RENAMED had before: a record keeps the text of its shape. */
static const char *name_before(const struct attn_tensor_files *files,
                               const struct attn_tensor_record *renamed)
{
    size_t i = 0;

    while (files->records[i].shape != renamed->shape)
        i++;
    return files->records[i].name;
}

enum attn_status attn_tensor_files_rename(struct attn_tensor_files *files,
                                          attn_tensor_rename_fn *rename, void *user,
                                          struct attn_error *err)
{
    struct attn_tensor_record *renamed;
    const struct attn_tensor_record *twin;
    size_t size = 0, n = 0;
    char *names, *end;

    for (size_t i = 0; i < files->count; i++)
        size += files->records[i].name_size + 1;
    ATTN_TRY(ATTN_ALLOC(renamed, files->count, err));
    end = names = attn_alloc_uninitialized(size, 1, err);
    for (size_t i = 0; names && i < files->count; i++) {
        renamed[n] = files->records[i];
        if (!rename(user, files->records[i].name, end))
            continue;
        renamed[n].name = end;
        renamed[n].name_size = strlen(end);
        end += renamed[n++].name_size + 1;
    }
    qsort(renamed, n, sizeof *renamed, attn_tensor_compare_names);
    twin = find_twin(renamed, n);
    if (names && !twin) {
        attn_free(files->records);
        attn_free(files->names);
        files->records = renamed, files->count = n, files->names = names;
        return ATTN_OK;
    }
    if (names)
        attn_error_set(err, ATTN_FORMAT,
                       "'%s' and '%s' in '%s' both mean the tensor '%s', expected one of them",
                       attn_quote_string(name_before(files, twin)).text,
                       attn_quote_string(name_before(files, twin + 1)).text,
                       attn_quote_string(files->shards[twin->shard].file.path).text,
                       attn_quote_string(twin->name).text);
    attn_free(renamed);
    attn_free(names);
    return names ? ATTN_FORMAT : ATTN_NO_MEMORY;
}

const char *attn_tensor_files_format(const struct attn_tensor_files *files)
{
    return files->format;
}

int attn_tensor_files_n_shard(const struct attn_tensor_files *files)
{
    return files->n_shard;
}

const char *attn_tensor_files_path(const struct attn_tensor_files *files, int shard)
{
    return files->shards[shard].file.path;
}

size_t attn_tensor_files_size(const struct attn_tensor_files *files, int shard)
{
    return files->shards[shard].file.size;
}

/* Returns the mapped file that contains ADDRESS; NULL: none does. */
static const struct attn_file *find_file(const struct attn_tensor_files *files, const void *address)
{
    for (int i = 0; i < files->n_shard; i++) {
        const struct attn_file *file = &files->shards[i].file;

        if (file->storage == ATTN_FILE_MAPPED &&
            (uintptr_t)address - (uintptr_t)file->data < file->size)
            return file;
    }
    return NULL;
}

bool attn_tensor_files_read_again(const struct attn_tensor_files *files, const void *data,
                                  size_t size, void *copy)
{
    const struct attn_file *file = find_file(files, data);

    return file && attn_file_read_again(file, data, size, copy);
}

bool attn_tensor_files_owns_address(const struct attn_tensor_files *files, const void *address)
{
    return find_file(files, address);
}
