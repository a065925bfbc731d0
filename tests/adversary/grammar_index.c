/*
 * grammar_index.c - model.safetensors.index.json over one to four shards.
 *
 * What was written valid is read back: each tensor in the shard that the index names.
 */
#include "formats/safetensors.h"
#include "tests/adversary/container.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SHARD = 4, MAX_TENSOR = 12, WIDTH = 2 };

/* A model whose only tensor is the first one: one token, as wide as that. */
static const char config[] =
    "{\"model_type\":\"attn\",\"d_model\":2,\"n_vocab\":1,\"projections\":\"none\"}";

enum defect {
    NONE = -1,
    NO_MAP,
    EMPTY_MAP,
    LIST_MAP,
    NUMBER_FILE,
    NULL_FILE,
    PATH_ABOVE,
    PATH_BELOW,
    ABSOLUTE_PATH,
    OTHER_SUFFIX,
    SUFFIX_ALONE,
    NO_SHARD,
    NO_TENSOR,
    OTHER_SHARD,
    TENSOR_TWICE,
    KEY_TWICE,
    BAD_SHARD,
    FIRST_JSON
};

static const char *const defects[] = {
    "no weight_map",
    "an empty weight_map",
    "a weight_map that is a list",
    "a number as a file",
    "null as a file",
    "a file in the folder above",
    "a file in a folder below",
    "an absolute path",
    "a file with another suffix",
    "a file that is a suffix",
    "a file that is not there",
    "a tensor that is not there",
    "a tensor in another file",
    "a tensor in two files",
    "a tensor twice",
    "a shard that is malformed",
    ATTN_JSON_DEFECTS,
};

enum { N_DEFECT = sizeof defects / sizeof *defects };

struct mapped {
    char name[16];
    int shard;
};

struct known {
    struct mapped tensors[MAX_TENSOR];
    size_t n;
    int n_shard;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

static void shard_name(int shard, int n_shard, char name[48])
{
    snprintf(name, 48, "model-%05d-of-%05d.safetensors", shard + 1, n_shard);
}

static void write_shard(struct attn_case *c, int shard, enum defect defect)
{
    const struct known *known = (const struct known *)c->known.bytes;
    struct attn_container container = {.n = 0};
    char name[48];

    shard_name(shard, known->n_shard, name);
    for (size_t i = 0; i < known->n; i++)
        if (known->tensors[i].shard == shard || (defect == TENSOR_TWICE && i == 0))
            attn_container_add(&container, known->tensors[i].name, ATTN_DTYPE_F32, 2, i + 1,
                               (size_t)WIDTH);
    if (attn_case_chance(c, 30)) /* a tensor that the index does not name */
        attn_container_add(&container, shard == 0 ? "more0" : "more1", ATTN_DTYPE_I16, 1,
                           (size_t)3);
    attn_container_write(
        c, &container,
        defect == BAD_SHARD && shard == 0 ? (int)attn_case_below(c, ATTN_CONTAINER_N_DEFECT) : -1,
        attn_case_file(c, name));
}

/* What stands in place of the name of a file. */
static void put_file(struct attn_case *c, const char *name, enum defect defect,
                     struct attn_buffer *out)
{
    static const char *const texts[N_DEFECT] = {
        [NUMBER_FILE] = "7",
        [NULL_FILE] = "null",
        [PATH_ABOVE] = "\"../x.safetensors\"",
        [PATH_BELOW] = "\"x/y.safetensors\"",
        [ABSOLUTE_PATH] = "\"/dev/zero.safetensors\"",
        [OTHER_SUFFIX] = "\"model.bin\"",
        [SUFFIX_ALONE] = "\".safetensors\"",
        [NO_SHARD] = "\"absent.safetensors\"",
    };

    if (defect != NONE && texts[defect] != NULL)
        attn_json_put(c, out, texts[defect]);
    else
        attn_json_put_string(c, out, name, strlen(name));
}

static void put_map(struct attn_case *c, enum defect defect, struct attn_buffer *out)
{
    const struct known *known = (const struct known *)c->known.bytes;
    size_t order[MAX_TENSOR];

    attn_case_shuffle(c, order, known->n);
    attn_json_put(c, out, "{");
    for (size_t i = 0; i < known->n && defect != EMPTY_MAP; i++) {
        const struct mapped *tensor = &known->tensors[order[i]];
        const int other = defect == OTHER_SHARD && i == 0 ? 1 : 0;
        char name[48];

        if (i > 0)
            attn_json_put(c, out, ",");
        attn_json_put_key(c, out, tensor->name);
        shard_name((tensor->shard + other) % known->n_shard, known->n_shard, name);
        put_file(c, name, i == 0 ? defect : NONE, out);
        if (defect == KEY_TWICE && i == 0) {
            attn_json_put(c, out, ",");
            attn_json_put_key(c, out, tensor->name);
            put_file(c, name, NONE, out);
        }
    }
    if (defect == NO_TENSOR) {
        char name[48];

        shard_name(0, known->n_shard, name);
        attn_json_put(c, out, ",\"absent\":");
        put_file(c, name, NONE, out);
    }
    attn_json_put(c, out, "}");
}

static void write_index(struct attn_case *c, enum defect defect)
{
    struct attn_buffer *out = attn_case_file(c, "model.safetensors.index.json");

    attn_json_put(c, out, "{");
    if (attn_case_chance(c, 60))
        attn_json_put(c, out, "\"metadata\":{\"total_size\":1e3,\"x\":[null]}");
    else
        attn_json_put(c, out, "\"y\":\"\"");
    if (defect == LIST_MAP)
        attn_json_put(c, out, ",\"weight_map\":[]");
    if (defect != NO_MAP && defect != LIST_MAP) {
        attn_json_put(c, out, ",");
        attn_json_put_key(c, out, "weight_map");
        put_map(c, defect, out);
    }
    attn_json_put(c, out, "}");
    if (defect >= FIRST_JSON)
        attn_json_spoil(c, out, (int)defect - FIRST_JSON);
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    enum defect defect = (enum defect)attn_case_defect(c, defects, N_DEFECT);
    const bool needs_two = defect == OTHER_SHARD || defect == TENSOR_TWICE;

    known->n_shard = (needs_two ? 2 : 1) + (int)attn_case_below(c, needs_two ? 3 : MAX_SHARD);
    known->n = (size_t)known->n_shard + attn_case_below(c, MAX_TENSOR - MAX_SHARD);
    for (size_t i = 0; i < known->n; i++) { /* none without a tensor */
        snprintf(known->tensors[i].name, sizeof known->tensors[i].name,
                 i == 0 ? "embed.W_E" : "%s%zu", attn_case_chance(c, 20) ? "\xc3\xa9.\"" : "h.", i);
        known->tensors[i].shard =
            i < (size_t)known->n_shard ? (int)i : (int)attn_case_below(c, (size_t)known->n_shard);
    }
    for (int shard = 0; shard < known->n_shard; shard++)
        write_shard(c, shard, defect);
    write_index(c, defect);
    attn_buffer_append_string(attn_case_file(c, "config.json"), config);
    attn_case_run(c, 3, "inspect", "-q", "-m", ".", NULL);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    struct attn_blob blobs[ATTN_CASE_MAX_FILE];
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = (size_t)c->n_file};
    struct attn_tensor_files *st = NULL;
    enum attn_status status;

    for (int i = 0; i < c->n_file; i++)
        blobs[i] =
            (struct attn_blob){c->files[i].name, c->files[i].bytes.data, c->files[i].bytes.size};
    status = attn_safetensors_open(&source, ATTN_READ, &st, err);
    for (size_t i = 0; status == ATTN_OK && c->meant == ATTN_MEANT_VALID && i < known->n; i++) {
        struct attn_tensor_entry entry;
        char name[48];

        shard_name(known->tensors[i].shard, known->n_shard, name);
        FUZZ_CHECK(attn_tensor_files_count(st) == known->n);
        FUZZ_CHECK(attn_tensor_files_find(st, known->tensors[i].name, &entry));
        FUZZ_CHECK(entry.tensor.rank == 2 && entry.tensor.shape[0] == i + 1);
        FUZZ_CHECK(strstr(attn_tensor_files_path(st, entry.shard), name) != NULL);
    }
    attn_tensor_files_free(st);
    return status;
}

const struct attn_grammar attn_grammar_index = {
    .name = "index",
    .make = make,
    .take = take,
    .refused = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED) | FUZZ_BIT(ATTN_IO)};
