/*
 * fuzz_index.c - model.safetensors.index.json over three small shards.
 *
 * The directory of an accepted index has exactly the tensors of its weight_map, each in the file
 * that it names, sorted; names never reach outside of the folder.
 */
#include "base/dtype_internal.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define INDEX "model.safetensors.index.json"

/* Each shard has one tensor of its own; `both` is in two of them. */
static const struct {
    const char *name, *header;
} shards[] = {
    {"a.safetensors", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"},
    {"b.safetensors", "{\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                      "\"both\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}"},
    {"c.safetensors", "{\"c\":{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[0,0]},"
                      "\"both\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"},
};

enum { N_SHARD = sizeof shards / sizeof *shards, N_DATA = 2 };

/* The bytes of shard I with its two bytes of data. */
static struct attn_blob make_shard(int i)
{
    const size_t n_header = strlen(shards[i].header), size = 8 + n_header + N_DATA;
    unsigned char *bytes = calloc(size, 1);

    FUZZ_CHECK(bytes != NULL && n_header < 256);
    bytes[0] = (unsigned char)n_header;
    memcpy(bytes + 8, shards[i].header, n_header);
    return (struct attn_blob){shards[i].name, bytes, size};
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Compares the directory with the weight_map, read as a tree. */
static void check_directory(const struct attn_tensor_files *st, const uint8_t *data, size_t size)
{
    struct attn_file file = attn_fuzz_file(INDEX, data, size);
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    const struct attn_node *member;
    size_t n = 0;

    FUZZ_CHECK(attn_json_parse(&file, &json, &err) == ATTN_OK);
    member = attn_node_first(attn_node_find(attn_json_root(json), "weight_map"));
    for (; member != NULL; member = attn_node_next(member), n++) {
        struct attn_tensor_entry entry;

        FUZZ_CHECK(attn_tensor_files_find(st, attn_node_key(member), &entry));
        FUZZ_CHECK(entry.shard < attn_tensor_files_n_shard(st));
        FUZZ_CHECK(strcmp(last_part(attn_tensor_files_path(st, entry.shard)),
                          attn_node_string(member)) == 0);
        FUZZ_CHECK(entry.tensor.data != NULL);
        FUZZ_CHECK(entry.offset + attn_tensor_n_byte(&entry.tensor) <=
                   attn_tensor_files_size(st, entry.shard));
    }
    FUZZ_CHECK(n == attn_tensor_files_count(st) && n > 0);
    for (size_t i = 1; i < n; i++)
        FUZZ_CHECK(strcmp(attn_tensor_files_entry(st, i - 1).name,
                          attn_tensor_files_entry(st, i).name) < 0);
    attn_json_free(json);
    attn_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attn_blob blobs[N_SHARD + 1];
    const struct attn_source source = {.name = "fuzz", .blobs = blobs, .n_blob = N_SHARD + 1};
    struct attn_tensor_files *st = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    for (int i = 0; i < N_SHARD && blobs[i].data == NULL; i++)
        blobs[i] = make_shard(i);
    blobs[N_SHARD] = (struct attn_blob){INDEX, data, size};
    status = attn_safetensors_open(&source, ATTN_READ, &st, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_IO));
    FUZZ_CHECK((status == ATTN_OK) == (st != NULL));
    if (status == ATTN_OK)
        check_directory(st, data, size);
    attn_tensor_files_free(st);
    return 0;
}
