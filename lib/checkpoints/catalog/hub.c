/* hub.c - models in the cache of Hugging Face. */
#include "catalog/catalog_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "models--"
#define MAIN "main"

enum {
    HASH_SIZE = 65,  /* size of the text of a commit's hash: 40 or 64 hexadecimal digits and NUL */
    PREFIX_LEAST = 4 /* least number of digits that may stand for a hash, as in git */
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
static const char digits[] = "0123456789abcdef";

/* --- Names ----------------------------------------------------------------------------------- */

/* Whether TEXT [size] is an owner or a name by the rules of the hub. */
static bool is_part(const char *text, size_t size)
{
    static const char *const refused[] = {"..", "--"};

    if (size == 0 || size > ATTN_HUB_PART_MAX || strspn(text, letters) < size ||
        strchr("-.", text[0]) || strchr("-.", text[size - 1]))
        return false;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (memmem(text, size, refused[i], 2))
            return false;
    return true;
}

/* Whether TEXT [size] can be a branch, a tag or a commit: parts between slashes that do not begin
 * with a dot. */
static bool is_revision(const char *text, size_t size)
{
    const char *end = text + size;

    if (size > ATTN_HUB_REVISION_MAX)
        return false;
    for (;;) {
        const size_t n = strspn(text, letters);

        if (n == 0 || text[0] == '.' || text[0] == '-' || n > (size_t)(end - text))
            return false;
        if (text + n == end)
            return true;
        if (text[n] != '/')
            return false;
        text += n + 1;
    }
}

bool attn_hub_read_name(const char *text, struct attn_hub_name *name)
{
    const size_t size = strcspn(text, "@:"), owner = strcspn(text, "/@:");
    const char *rest = text + size + (text[size] == '@'), *tag;
    const size_t revision = text[size] == '@' ? strcspn(rest, ":") : 0;

    if (!is_part(text, owner) || (owner < size && !is_part(text + owner + 1, size - owner - 1)) ||
        (text[size] == '@' && !is_revision(rest, revision)))
        return false;
    tag = rest[revision] == ':' ? rest + revision + 1 : NULL;
    if (tag && !attn_gguf_is_tag(tag))
        return false;
    memcpy(name->repository, text, size);
    name->repository[size] = '\0';
    memcpy(name->revision, rest, revision);
    name->revision[revision] = '\0';
    name->tag = tag;
    return true;
}

bool attn_hub_read_address(const char *text, struct attn_hub_name *name)
{
    static const char *const hosts[] = {"huggingface.co/", "www.huggingface.co/", "hf.co/"};
    static const char *const others[] = {"datasets/", "spaces/", "docs/", "api/"};
    const char *rest = text;
    char repository[ATTN_HUB_NAME_SIZE];
    size_t i = 0, size;

    *name = (struct attn_hub_name){.repository = ""};
    for (size_t k = 0; k < 2; k++)
        if (strncmp(text, k == 0 ? "https://" : "http://", 8 - k) == 0)
            rest = text + 8 - k;
    while (i < 3 && strncmp(rest, hosts[i], strlen(hosts[i])) != 0)
        i++;
    if (i == 3)
        return rest != text;
    rest += strlen(hosts[i]);
    for (i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(rest, others[i], strlen(others[i])) == 0)
            return true;
    size = strcspn(rest, "/?#");
    if (rest[size] == '/')
        size += 1 + strcspn(rest + size + 1, "/?#");
    size -= size > 0 && rest[size - 1] == '/';
    if (size < sizeof repository) {
        snprintf(repository, sizeof repository, "%.*s", (int)size, rest);
        if (!attn_hub_read_name(repository, name))
            name->repository[0] = '\0';
        name->tag = NULL; /* it would point into `repository` */
    }
    return true;
}

/* Writes to PATH the path INNER in the folder of NAME's repository. Returns whether it fits. */
static bool locate(const char *hub, const struct attn_hub_name *name, const char *inner,
                   char path[ATTN_PATH_SIZE])
{
    const int owner = (int)strcspn(name->repository, "/");
    const char *rest = name->repository[owner] == '/' ? name->repository + owner + 1 : NULL;
    const int size = snprintf(path, ATTN_PATH_SIZE, "%s/" PREFIX "%.*s%s%s%s", hub, owner,
                              name->repository, rest ? "--" : "", rest ? rest : "", inner);

    return size > 0 && size < ATTN_PATH_SIZE;
}

bool attn_hub_has(const char *hub, const struct attn_hub_name *name)
{
    char path[ATTN_PATH_SIZE];

    return locate(hub, name, "", path) && attn_path_is_folder(path);
}

void attn_hub_fetch(const struct attn_hub_name *name, char *command, size_t size)
{
    const bool is_plain = name->tag && strspn(name->tag, letters) == strlen(name->tag);

    snprintf(command, size, "hf download %s%s%s%s%s%s", name->repository,
             name->revision[0] != '\0' ? " --revision " : "", name->revision,
             is_plain ? " --include '*" : "", is_plain ? name->tag : "", is_plain ? "*'" : "");
}

/* --- Refs ------------------------------------------------------------------------------------ */

static bool is_hash(const char *text, size_t size)
{
    return size > 0 && size < HASH_SIZE && strspn(text, digits) >= size;
}

/* Reads the hash in the file FOLDER/REF. It is empty if there is no such file or the file holds no
 * hash; other text must not become the name of a folder. Fails only for lack of memory. */
static enum attn_status read_ref(const char *folder, const char *ref, char hash[HASH_SIZE],
                                 struct attn_error *err)
{
    char path[ATTN_PATH_SIZE], text[HASH_SIZE + 2] = "";
    struct attn_file file = {0};
    enum attn_status status;
    size_t size;

    hash[0] = '\0';
    if (!attn_path_join(folder, ref, path))
        return ATTN_OK;
    status = attn_file_open_regular(path, ATTN_MAP, &file, NULL);
    if (status != ATTN_OK)
        return status == ATTN_NO_MEMORY ? attn_error_no_memory(err) : ATTN_OK;
    if (file.size < sizeof text)
        memcpy(text, file.data, file.size);
    attn_file_release(&file);
    size = strcspn(text, " \r\n"); /* some editors add a line end */
    if (is_hash(text, size)) {
        memcpy(hash, text, size);
        hash[size] = '\0';
    }
    return ATTN_OK;
}

/* --- Snapshots ------------------------------------------------------------------------------- */

/* The refs and the snapshots of one repository in the cache. */
struct repository {
    const struct attn_hub_name *name;
    char ref_folder[ATTN_PATH_SIZE], snapshot_folder[ATTN_PATH_SIZE];
    struct attn_path_names refs, snapshots; /* the names in ref_folder and in snapshot_folder */
};

static enum attn_status open_repository(const char *hub, const struct attn_hub_name *name,
                                        struct repository *repository, struct attn_error *err)
{
    *repository = (struct repository){.name = name};
    if (!locate(hub, name, "/refs", repository->ref_folder) ||
        !locate(hub, name, "/snapshots", repository->snapshot_folder))
        return ATTN_OK;
    ATTN_TRY(attn_path_list(repository->ref_folder, &repository->refs, err));
    return attn_path_list(repository->snapshot_folder, &repository->snapshots, err);
}

static void close_repository(struct repository *repository)
{
    attn_path_names_release(&repository->refs);
    attn_path_names_release(&repository->snapshots);
}

/* Finds the snapshot whose hash begins with the revision, and writes the hash to HASH. */
static enum attn_status find_hash(const struct repository *repository, char hash[HASH_SIZE],
                                  struct attn_error *err)
{
    const char *revision = repository->name->revision;
    const size_t size = strlen(revision);
    size_t n = 0;

    if (size < PREFIX_LEAST || !is_hash(revision, size))
        return ATTN_OK;
    for (size_t i = 0; i < repository->snapshots.n; i++) {
        const char *name = repository->snapshots.names[i];

        if (strncmp(name, revision, size) != 0 || !is_hash(name, strlen(name)))
            continue;
        /* The revision may be a whole hash: it comes first and is unique. */
        if (n > 0 && strlen(hash) > size)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' of '%s' begins several commits, as '%s' and '%s'", revision,
                                  repository->name->repository, hash, name);
        if (n++ == 0)
            memcpy(hash, name, strlen(name) + 1);
    }
    return ATTN_OK;
}

/* Writes the hash of the snapshot that was changed last to HASH. */
static void find_newest(const struct repository *repository, char hash[HASH_SIZE])
{
    int64_t newest = 0;

    for (size_t i = 0; i < repository->snapshots.n; i++) {
        const char *name = repository->snapshots.names[i];
        char path[ATTN_PATH_SIZE];
        struct attn_os_info info;

        if (is_hash(name, strlen(name)) &&
            attn_path_join(repository->snapshot_folder, name, path) &&
            attn_os_stat(path, &info) == 0 && (hash[0] == '\0' || info.changed > newest)) {
            newest = info.changed;
            memcpy(hash, name, strlen(name) + 1);
        }
    }
}

/* Writes the hash of the commit that the name means to HASH; it stays empty if there is none. */
static enum attn_status find_commit(const struct repository *repository, char hash[HASH_SIZE],
                                    struct attn_error *err)
{
    const char *revision = repository->name->revision;

    ATTN_TRY(read_ref(repository->ref_folder, revision[0] != '\0' ? revision : MAIN, hash, err));
    if (hash[0] != '\0')
        return ATTN_OK;
    if (revision[0] != '\0')
        return find_hash(repository, hash, err);
    if (repository->refs.n == 0)
        find_newest(repository, hash);
    return ATTN_OK;
}

/* Writes the names of all refs to TEXT, as ", only 'main', 'step1000'"; long lists are cut. */
static const char *list_refs(const struct repository *repository, char text[ATTN_QUOTE_SIZE])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < repository->refs.n && used < ATTN_QUOTE_SIZE / 2; i++)
        attn_fixed_text_append(text, ATTN_QUOTE_SIZE, &used, "%s'%.40s'", i == 0 ? ", only " : ", ",
                               attn_quote_string(repository->refs.names[i]).text);
    return text;
}

static bool names_have(const struct attn_path_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

/* Reports that the snapshot with HASH is missing; HASH is empty if there is no ref either. */
static enum attn_status report_missing(const struct repository *repository, const char *hash,
                                       const char *hub, struct attn_error *err)
{
    const struct attn_hub_name *name = repository->name;
    const char *revision = name->revision[0] != '\0' ? name->revision : MAIN;
    const struct attn_quote cache = attn_quote_string(hub);
    char command[2 * ATTN_HUB_NAME_SIZE], refs[ATTN_QUOTE_SIZE];

    if (hash[0] != '\0')
        attn_error_set(err, ATTN_INVALID,
                       "'%s' of '%s' is commit '%s', which is not in the Hugging Face cache '%s'",
                       revision, name->repository, hash, cache.text);
    else if (names_have(&repository->refs, revision))
        attn_error_set(err, ATTN_INVALID,
                       "'%s' of '%s' in the Hugging Face cache '%s' holds no hash of a commit",
                       revision, name->repository, cache.text);
    else
        attn_error_set(err, ATTN_INVALID,
                       "the Hugging Face cache '%s' has no revision '%s' of '%s'%s", cache.text,
                       revision, name->repository, list_refs(repository, refs));
    attn_hub_fetch(name, command, sizeof command);
    return attn_error_hint(err, "%s", command);
}

static enum attn_status find_snapshot(const char *hub, const struct attn_hub_name *name,
                                      struct repository *repository, char snapshot[ATTN_PATH_SIZE],
                                      struct attn_error *err)
{
    char hash[HASH_SIZE] = "";

    ATTN_TRY(open_repository(hub, name, repository, err));
    ATTN_TRY(find_commit(repository, hash, err));
    return hash[0] != '\0' && attn_path_join(repository->snapshot_folder, hash, snapshot) &&
                   attn_path_is_folder(snapshot)
               ? ATTN_OK
               : report_missing(repository, hash, hub, err);
}

enum attn_status attn_hub_find(const char *hub, const struct attn_hub_name *name,
                               char snapshot[ATTN_PATH_SIZE], struct attn_error *err)
{
    struct repository repository;
    const enum attn_status status = find_snapshot(hub, name, &repository, snapshot, err);

    close_repository(&repository);
    return status;
}

/* --- Listing all models ----------------------------------------------------------------------- */

/* The visit of one repository's names. */
struct hub_visit {
    attn_hub_fn report;
    void *user;
    struct repository repository;
    char (*hashes)[HASH_SIZE]; /* [n] owns; the hashes that were reported under the name of a ref */
    size_t n;
};

static enum attn_status report(const struct hub_visit *visit, const char *revision,
                               struct attn_error *err)
{
    char name[ATTN_HUB_NAME_SIZE + HASH_SIZE];
    const int size = snprintf(name, sizeof name, "%s%s%s", visit->repository.name->repository,
                              revision ? "@" : "", revision ? revision : "");

    return size > 0 && (size_t)size < sizeof name ? visit->report(visit->user, name, err) : ATTN_OK;
}

static enum attn_status report_refs(struct hub_visit *visit, struct attn_error *err)
{
    const struct repository *repository = &visit->repository;

    for (size_t i = 0; i < repository->refs.n; i++) {
        const char *ref = repository->refs.names[i];

        ATTN_TRY(read_ref(repository->ref_folder, ref, visit->hashes[visit->n], err));
        if (visit->hashes[visit->n][0] == '\0' || !is_revision(ref, strlen(ref)))
            continue; /* no ref: a folder of refs, or a name that no user can type */
        visit->n++;
        ATTN_TRY(report(visit, strcmp(ref, MAIN) == 0 ? NULL : ref, err));
    }
    return ATTN_OK;
}

static bool is_reported(const struct hub_visit *visit, const char *hash)
{
    for (size_t i = 0; i < visit->n; i++)
        if (strcmp(visit->hashes[i], hash) == 0)
            return true;
    return false;
}

static enum attn_status report_hashes(struct hub_visit *visit, struct attn_error *err)
{
    const struct repository *repository = &visit->repository;
    char beginning[13]; /* as good as unique among commits */

    if (repository->refs.n == 0) {
        find_newest(repository, visit->hashes[visit->n++]);
        ATTN_TRY(report(visit, NULL, err));
    }
    for (size_t i = 0; i < repository->snapshots.n; i++) {
        const char *hash = repository->snapshots.names[i];

        if (is_hash(hash, strlen(hash)) && !is_reported(visit, hash)) {
            snprintf(beginning, sizeof beginning, "%.12s", hash);
            ATTN_TRY(report(visit, beginning, err));
        }
    }
    return ATTN_OK;
}

/* Reads the name of a repository from ENTRY, the name of its folder in the cache. Returns whether
 * it is one. */
static bool read_entry(const char *entry, struct attn_hub_name *name)
{
    char text[ATTN_HUB_NAME_SIZE];
    const char *owner, *end;
    bool is_name;

    if (strncmp(entry, PREFIX, strlen(PREFIX)) != 0 || strlen(entry) >= sizeof text)
        return false;
    owner = entry + strlen(PREFIX);
    end = strstr(owner, "--");
    if (end)
        snprintf(text, sizeof text, "%.*s/%s", (int)(end - owner), owner, end + 2);
    else
        snprintf(text, sizeof text, "%s", owner);
    is_name = strcspn(text, "@:") == strlen(text) && attn_hub_read_name(text, name);
    name->tag = NULL; /* a tag would point into `text` */
    return is_name;
}

bool attn_hub_read_root(const char *path, struct attn_hub_name *name)
{
    char entry[ATTN_HUB_NAME_SIZE], snapshots[ATTN_PATH_SIZE];
    size_t size;
    const char *last = attn_path_last(path, &size);

    snprintf(entry, sizeof entry, "%.*s", (int)size, last);
    return size < sizeof entry && read_entry(entry, name) &&
           attn_path_join(path, "snapshots", snapshots) && attn_path_is_folder(snapshots);
}

static enum attn_status visit_repository(const char *hub, const struct attn_hub_name *name,
                                         struct hub_visit *visit, struct attn_error *err)
{
    ATTN_TRY(open_repository(hub, name, &visit->repository, err));
    visit->n = 0;
    ATTN_TRY(ATTN_ALLOC(visit->hashes, visit->repository.refs.n + 1, err));
    ATTN_TRY(report_refs(visit, err));
    return report_hashes(visit, err);
}

static enum attn_status visit_entry(const char *hub, const char *entry, struct hub_visit *visit,
                                    struct attn_error *err)
{
    struct attn_hub_name name;
    enum attn_status status;

    if (!read_entry(entry, &name))
        return ATTN_OK;
    status = visit_repository(hub, &name, visit, err);
    attn_free(visit->hashes);
    visit->hashes = NULL;
    close_repository(&visit->repository);
    return status;
}

enum attn_status attn_hub_visit(const char *hub, attn_hub_fn visit, void *user,
                                struct attn_error *err)
{
    struct hub_visit here = {.report = visit, .user = user};
    struct attn_path_names entries = {0};
    enum attn_status status = attn_path_list(hub, &entries, err);

    for (size_t i = 0; i < entries.n && status == ATTN_OK; i++)
        status = visit_entry(hub, entries.names[i], &here, err);
    attn_path_names_release(&entries);
    return status;
}

/* --- A name without its owner ---------------------------------------------------------------- */

enum attn_status attn_hub_find_owner(const char *hub, struct attn_hub_name *name,
                                     struct attn_error *err)
{
    struct attn_path_names entries = {0};
    struct attn_hub_name found = {.repository = ""}, other;
    enum attn_status status = attn_path_list(hub, &entries, err);

    for (size_t i = 0; i < entries.n && status == ATTN_OK; i++) {
        const char *slash =
            read_entry(entries.names[i], &other) ? strchr(other.repository, '/') : NULL;

        if (!slash || strcmp(slash + 1, name->repository) != 0)
            continue;
        if (found.repository[0] != '\0')
            status = attn_error_set(err, ATTN_INVALID,
                                    "'%s' is a model of several owners in the Hugging Face cache, "
                                    "as '%s' and '%s'",
                                    name->repository, found.repository, other.repository);
        found = other;
    }
    attn_path_names_release(&entries);
    if (status == ATTN_OK && found.repository[0] != '\0')
        memcpy(name->repository, found.repository, sizeof name->repository);
    return status;
}
