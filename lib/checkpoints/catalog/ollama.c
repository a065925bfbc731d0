/* ollama.c - models in the stores of Ollama. */
#include "catalog/catalog_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "formats/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "library"
#define LATEST "latest"
#define REGISTRY "registry.ollama.ai"
#define TYPE "application/vnd.ollama."

enum {
    MOST_MANIFEST = 1 << 20, /* largest size of a manifest in bytes */
    DIGEST_SIZE = 64,        /* hexadecimal digits of a digest */
    LEVELS = 4,              /* levels of folders: HOST/NAMESPACE/MODEL/TAG */
    NAME_SIZE = LEVELS * ATTN_OLLAMA_PART_SIZE
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* The folders of manifests in a store, the newer one first. */
static const char *const trees[] = {"manifests-v2", "manifests"};
enum { N_TREE = sizeof trees / sizeof *trees, N_LOOK = 2 * N_TREE };

/* --- Names ------------------------------------------------------------------------------------ */

/* Copies a part of a name to PART. False if it is invalid, as it might lead out of the store. */
static bool copy_part(const char *text, size_t size, char part[ATTN_OLLAMA_PART_SIZE])
{
    if (size == 0 || size >= ATTN_OLLAMA_PART_SIZE || strspn(text, letters) < size ||
        strchr("-.", text[0]))
        return false;
    memcpy(part, text, size);
    part[size] = '\0';
    return true;
}

bool attn_ollama_read_name(const char *text, struct attn_ollama_name *name)
{
    const char *colon = strchr(text, ':'), *end = colon ? colon : text + strlen(text);
    const char *parts[3] = {text};
    size_t n = 1;

    *name = (struct attn_ollama_name){.space = LIBRARY, .tag = LATEST};
    if (colon && !copy_part(colon + 1, strlen(colon + 1), name->tag))
        return false;
    for (const char *slash = text; (slash = memchr(slash, '/', (size_t)(end - slash)));) {
        if (n == 3)
            return false;
        parts[n++] = ++slash;
    }
    return (n < 3 || copy_part(parts[0], (size_t)(parts[1] - parts[0] - 1), name->host)) &&
           (n < 2 ||
            copy_part(parts[n - 2], (size_t)(parts[n - 1] - parts[n - 2] - 1), name->space)) &&
           copy_part(parts[n - 1], (size_t)(end - parts[n - 1]), name->model);
}

/* Writes NAME to TEXT as a user types it, without the parts that are defaults. */
static void write_name(const struct attn_ollama_name *name, char *text, size_t size)
{
    const bool has_host = name->host[0] != '\0';
    const bool has_space = has_host || strcmp(name->space, LIBRARY) != 0;

    snprintf(text, size, "%s%s%s%s%s:%s", name->host, has_host ? "/" : "",
             has_space ? name->space : "", has_space ? "/" : "", name->model, name->tag);
}

void attn_ollama_fetch(const struct attn_ollama_name *name, char *command, size_t size)
{
    char text[NAME_SIZE];

    write_name(name, text, sizeof text);
    snprintf(command, size, "ollama pull %s", text);
}

/* --- Stores ----------------------------------------------------------------------------------- */

/* Writes the path of the manifest of NAME, which has a host, in STORE to PATH. False: there is
 * none. A dangling link is the last choice: opening it then reports why. */
static bool locate(const char *store, const struct attn_ollama_name *name,
                   char path[ATTN_PATH_SIZE])
{
    for (size_t i = 0; i < N_LOOK; i++) {
        const int size =
            snprintf(path, ATTN_PATH_SIZE, "%s/%s/%s/%s/%s/%s", store, trees[i % N_TREE],
                     name->host, name->space, name->model, name->tag);
        struct attn_os_info info;

        if (size > 0 && size < ATTN_PATH_SIZE &&
            (i < N_TREE ? attn_os_stat(path, &info) : attn_os_stat_link(path, &info)) == 0)
            return true;
    }
    return false;
}

/* Compares two paths of manifests by the part after the host, then by host. */
static int compare_manifests(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const int order = strcmp(strchr(x, '/'), strchr(y, '/'));

    return order != 0 ? order : strcmp(x, y);
}

/* Adds HOST/NAMESPACE/MODEL/TAG of each manifest of STORE to NAMES, without duplicates. */
static enum attn_status list_manifests(const char *store, struct attn_path_names *names,
                                       struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t n = 0;

    for (size_t i = 0; i < N_TREE && status == ATTN_OK; i++) {
        struct attn_path_names tree = {0};
        char path[ATTN_PATH_SIZE];

        if (attn_path_join(store, trees[i], path))
            status = attn_path_list_below(path, LEVELS, &tree, err);
        for (size_t k = 0; k < tree.n && status == ATTN_OK; k++)
            status = attn_path_names_add(names, tree.names[k], err);
        attn_path_names_release(&tree);
    }
    ATTN_SORT(names->names, names->n, compare_manifests);
    for (size_t i = 0; i < names->n; i++) {
        if (n > 0 && strcmp(names->names[n - 1], names->names[i]) == 0)
            attn_free(names->names[i]);
        else
            names->names[n++] = names->names[i];
    }
    names->n = n;
    return status;
}

/* Reads the name HOST/NAMESPACE/MODEL/TAG of a manifest. */
static bool read_path(const char *path, struct attn_ollama_name *name)
{
    char text[ATTN_PATH_SIZE];

    snprintf(text, sizeof text, "%s", path);
    *strrchr(text, '/') = ':';
    return attn_ollama_read_name(text, name);
}

/* If exactly one host in STORE has NAME, sets the host of NAME to it; else it stays empty. */
static enum attn_status find_host(const char *store, struct attn_ollama_name *name,
                                  struct attn_error *err)
{
    struct attn_path_names names = {0};
    char list[ATTN_QUOTE_SIZE] = "", text[NAME_SIZE];
    struct attn_ollama_name one, found = *name;
    size_t used = 0, n = 0;
    enum attn_status status = list_manifests(store, &names, err);

    for (size_t i = 0; i < names.n && status == ATTN_OK; i++) {
        if (!read_path(names.names[i], &one) || strcmp(one.space, name->space) != 0 ||
            strcmp(one.model, name->model) != 0 || strcmp(one.tag, name->tag) != 0)
            continue;
        found = one;
        write_name(&one, text, sizeof text);
        attn_fixed_text_append(list, sizeof list, &used, "%s'" ATTN_OLLAMA_PREFIX "%s'",
                               n++ == 0 ? "" : ", ", text);
    }
    if (n > 1) {
        write_name(name, text, sizeof text);
        status = attn_error_set(err, ATTN_INVALID,
                                "'" ATTN_OLLAMA_PREFIX "%s' is of %zu hosts, expected one: %s",
                                text, n, list);
    } else {
        *name = found;
    }
    attn_path_names_release(&names);
    return status;
}

/* Writes the tags that exist of the model of NAME to TEXT, as ", only with tags '1b', '4b'". */
static enum attn_status list_tags(const struct attn_ollama_stores *stores,
                                  const struct attn_ollama_name *name, char text[ATTN_QUOTE_SIZE],
                                  struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < stores->n && status == ATTN_OK; i++) {
        struct attn_path_names names = {0};
        struct attn_ollama_name one;
        char tag[ATTN_OLLAMA_PART_SIZE + 2];

        status = list_manifests(stores->paths[i], &names, err);
        for (size_t k = 0; k < names.n && status == ATTN_OK; k++) {
            if (!read_path(names.names[k], &one) || strcmp(one.space, name->space) != 0 ||
                strcmp(one.model, name->model) != 0)
                continue;
            snprintf(tag, sizeof tag, "'%s'", one.tag);
            if (!strstr(text, tag))
                attn_fixed_text_append(text, ATTN_QUOTE_SIZE, &used, "%s%s",
                                       used == 0 ? ", only with tags " : ", ", tag);
        }
        attn_path_names_release(&names);
    }
    return status;
}

static enum attn_status report_missing(const struct attn_ollama_stores *stores,
                                       const struct attn_ollama_name *name, struct attn_error *err)
{
    char places[ATTN_QUOTE_SIZE] = "", tags[ATTN_QUOTE_SIZE], text[NAME_SIZE];
    size_t used = 0;

    ATTN_TRY(list_tags(stores, name, tags, err));
    for (size_t i = 0; i < stores->n; i++)
        attn_fixed_text_append(places, sizeof places, &used, "%s'%s'", i == 0 ? "" : " and ",
                               attn_quote_string(stores->paths[i]).text);
    write_name(name, text, sizeof text);
    if (stores->n == 0)
        attn_error_set(err, ATTN_INVALID,
                       "'" ATTN_OLLAMA_PREFIX "%s' is not there: there is no store of Ollama",
                       text);
    else
        attn_error_set(err, ATTN_INVALID,
                       "'" ATTN_OLLAMA_PREFIX "%s' is not in the store of Ollama, %s%s", text,
                       places, tags);
    return attn_error_hint(err, "ollama pull %s", text);
}

/* --- Manifests -------------------------------------------------------------------------------- */

struct manifest {
    struct attn_file file;  /* owns */
    struct attn_json *json; /* owns */
};

static enum attn_status open_manifest(const char *path, struct manifest *manifest,
                                      struct attn_error *err)
{
    static const char *const names[] = {"layers", "manifests", NULL};

    ATTN_TRY(attn_file_read_regular(path, MOST_MANIFEST, &manifest->file, err));
    return attn_json_parse_named(&manifest->file, names, &manifest->json, err);
}

static void close_manifest(struct manifest *manifest)
{
    attn_json_free(manifest->json);
    attn_file_release(&manifest->file);
}

/* Writes to PATH the path of the blob whose digest OBJECT has. PATH is empty if the digest has
 * another form. */
static enum attn_status locate_blob(const char *store, const struct attn_json *json,
                                    const struct attn_node *object, char path[ATTN_PATH_SIZE],
                                    struct attn_error *err)
{
    static const char head[] = "sha256:", digits[] = "0123456789abcdef";
    const char *digest = NULL;
    size_t n = strlen(head);
    int size;

    ATTN_TRY(attn_json_get_string(json, object, "digest", &digest, err));
    if (!digest || strncmp(digest, head, n) != 0 || strlen(digest + n) != DIGEST_SIZE ||
        strspn(digest + n, digits) != DIGEST_SIZE)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "digest",
                                "is '%s', expected sha256: and %d hexadecimal digits",
                                attn_quote_string(digest ? digest : "").text, DIGEST_SIZE);
    size = snprintf(path, ATTN_PATH_SIZE, "%s/blobs/sha256-%s", store, digest + n);
    if (size > 0 && size < ATTN_PATH_SIZE)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "'%s' is too long a name",
                          attn_quote_string(store).text);
}

/* Returns in *first the first item of the list KEY of OBJECT. ATTN_FORMAT unless all items are
 * objects. */
static enum attn_status get_items(const struct attn_json *json, const struct attn_node *object,
                                  const char *key, const struct attn_node **first,
                                  struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(object, key);
    bool is_list = list && attn_node_is_array(list);

    for (const struct attn_node *item = is_list ? attn_node_first(list) : NULL; item;
         item = attn_node_next(item))
        is_list = is_list && attn_node_is_object(item);
    if (!is_list)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is no list of objects, expected one");
    *first = attn_node_first(list);
    return ATTN_OK;
}

/* Reports that a layer of TYPE has weights in another form than one model file. */
static enum attn_status refuse_layer(const struct attn_json *json, const char *type,
                                     struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_json_name(json));

    if (strcmp(type, TYPE "image.tensor") == 0)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has safetensors in pieces, expected GGUF (a layer is %s)",
                              path.text, type);
    if (strcmp(type, TYPE "image.adapter") == 0)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has an adapter, expected a whole model (a layer is %s)",
                              path.text, type);
    return ATTN_OK;
}

/* Writes to BLOB the path of the layer of what reads pictures; empty if it is not there. */
static void locate_projector(const char *store, const struct attn_json *json,
                             const struct attn_node *layer, char blob[ATTN_PATH_SIZE])
{
    struct attn_error why_not = {0};

    if (!layer || locate_blob(store, json, layer, blob, &why_not) != ATTN_OK ||
        attn_os_kind(blob) == ATTN_OS_ABSENT)
        blob[0] = '\0';
}

/* Writes to BLOBS the paths that the layers of MANIFEST, a part of JSON, name. */
static enum attn_status choose_layer(const char *store, const struct attn_json *json,
                                     const struct attn_node *manifest,
                                     struct attn_ollama_blobs *blobs, struct attn_error *err)
{
    const struct attn_node *layer = NULL, *model = NULL, *projector = NULL;
    size_t n = 0;

    ATTN_TRY(get_items(json, manifest, "layers", &layer, err));
    for (; layer; layer = attn_node_next(layer)) {
        const char *type = NULL;

        ATTN_TRY(attn_json_get_string(json, layer, "mediaType", &type, err));
        ATTN_TRY(type ? refuse_layer(json, type, err) : ATTN_OK);
        if (type && strcmp(type, TYPE "image.model") == 0)
            n++, model = layer;
        if (type && strcmp(type, TYPE "image.projector") == 0)
            projector = layer;
    }
    if (n != 1)
        return attn_error_set(err, n == 0 ? ATTN_FORMAT : ATTN_UNSUPPORTED,
                              "'%s' has %zu layers of weights, expected one (" TYPE "image.model)",
                              attn_quote_string(attn_json_name(json)).text, n);
    locate_projector(store, json, projector, blobs->projector);
    return locate_blob(store, json, model, blobs->model, err);
}

/* Chooses, in a list of manifests, the one whose weights are GGUF. */
static enum attn_status choose_manifest(const struct attn_json *json,
                                        const struct attn_node **chosen, struct attn_error *err)
{
    const struct attn_node *item = NULL;

    ATTN_TRY(get_items(json, attn_json_root(json), "manifests", &item, err));
    for (; item; item = attn_node_next(item)) {
        const char *runner = NULL;

        ATTN_TRY(attn_json_get_string(json, item, "runner", &runner, err));
        *chosen = item;
        if (!runner || strcmp(runner, "ollama") == 0 || strcmp(runner, "llamacpp") == 0)
            return ATTN_OK;
    }
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "manifests",
                            "has none with runner ollama or llamacpp");
}

/* Reads the manifest PATH with ONE, and writes the paths of its files to BLOBS. If it lists other
 * manifests, reads the one with GGUF weights with NEXT. */
static enum attn_status read_manifest(const char *store, const char *path, struct manifest *one,
                                      struct manifest *next, struct attn_ollama_blobs *blobs,
                                      struct attn_error *err)
{
    const struct attn_node *root, *chosen = NULL;

    ATTN_TRY(open_manifest(path, one, err));
    root = attn_json_root(one->json);
    if (attn_node_find(root, "layers") || !attn_node_find(root, "manifests"))
        return choose_layer(store, one->json, root, blobs, err);
    ATTN_TRY(choose_manifest(one->json, &chosen, err));
    if (attn_node_find(chosen, "layers"))
        return choose_layer(store, one->json, chosen, blobs, err);
    ATTN_TRY(locate_blob(store, one->json, chosen, blobs->model, err));
    ATTN_TRY(open_manifest(blobs->model, next, err));
    return choose_layer(store, next->json, attn_json_root(next->json), blobs, err);
}

enum attn_status attn_ollama_find(const struct attn_ollama_stores *stores,
                                  const struct attn_ollama_name *name,
                                  struct attn_ollama_blobs *blobs, struct attn_error *err)
{
    struct attn_ollama_name found = *name;
    struct manifest one = {.json = NULL}, next = {.json = NULL};
    char path[ATTN_PATH_SIZE];
    enum attn_status status;

    for (size_t i = 0; i < stores->n; i++) {
        const char *store = stores->paths[i];

        if (name->host[0] == '\0')
            ATTN_TRY(find_host(store, &found, err));
        if (found.host[0] == '\0' || !locate(store, &found, path))
            continue;
        status = read_manifest(store, path, &one, &next, blobs, err);
        close_manifest(&one);
        close_manifest(&next);
        return status;
    }
    return report_missing(stores, name, err);
}

/* --- Listing all models ----------------------------------------------------------------------- */

/* Whether manifests I and K differ only in the host. */
static bool is_like(const struct attn_path_names *names, size_t i, size_t k)
{
    return k < names->n && strcmp(strchr(names->names[i], '/'), strchr(names->names[k], '/')) == 0;
}

/* Whether one of the first N stores has NAME. */
static bool is_known(const struct attn_ollama_stores *stores, size_t n,
                     const struct attn_ollama_name *name)
{
    char path[ATTN_PATH_SIZE];

    for (size_t i = 0; i < n; i++)
        if (locate(stores->paths[i], name, path))
            return true;
    return false;
}

/* Calls VISIT for the models of store number STORE, whose manifests NAMES lists. */
static enum attn_status visit_names(const struct attn_ollama_stores *stores, size_t store,
                                    const struct attn_path_names *names, attn_ollama_fn visit,
                                    void *user, struct attn_error *err)
{
    char text[sizeof ATTN_OLLAMA_PREFIX + NAME_SIZE] = ATTN_OLLAMA_PREFIX;
    const size_t prefix = strlen(ATTN_OLLAMA_PREFIX);
    struct attn_ollama_name name;

    for (size_t i = 0; i < names->n; i++) {
        if (!read_path(names->names[i], &name) || is_known(stores, store, &name))
            continue;
        if (strcmp(name.host, REGISTRY) == 0 && !(i > 0 && is_like(names, i, i - 1)) &&
            !is_like(names, i, i + 1))
            name.host[0] = '\0';
        write_name(&name, text + prefix, sizeof text - prefix);
        ATTN_TRY(visit(user, text, err));
    }
    return ATTN_OK;
}

enum attn_status attn_ollama_visit(const struct attn_ollama_stores *stores, attn_ollama_fn visit,
                                   void *user, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < stores->n && status == ATTN_OK; i++) {
        struct attn_path_names names = {0};

        status = list_manifests(stores->paths[i], &names, err);
        ATTN_THEN(status, visit_names(stores, i, &names, visit, user, err));
        attn_path_names_release(&names);
    }
    return status;
}
