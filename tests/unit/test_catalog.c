/* Names of models: what each leads to, in folders, in the cache of Hugging Face, and what no name
 * may lead to. */
#include "catalog/catalog.h"
#include "catalog/catalog_internal.h"
#include "model/model.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define A "aaaa30d783dfa663caf39e06633721c8d4cfcd7e"
#define B "aaab30d783dfa663caf39e06633721c8d4cfcd7e"
#define C "c30d783dfa663caf39e06633721c8d4cfcd7eccc"

static const struct attn_catalog hub = {.size = sizeof(struct attn_catalog), .hub = "hub"};

static void leave(void)
{
    ck_assert_int_eq(system("rm -rf ./*"), 0);
    attn_folder_leave();
}

static void make_folders(const char *path)
{
    char part[256];

    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0700);
    }
    mkdir(path, 0700);
}

static void write_ref(const char *repository, const char *ref, const char *hash)
{
    char path[256];

    snprintf(path, sizeof path, "hub/models--%s/refs", repository);
    make_folders(path);
    snprintf(path, sizeof path, "hub/models--%s/refs/%s", repository, ref);
    attn_folder_write(path, hash, strlen(hash));
}

static void make_snapshot(const char *repository, const char *hash)
{
    char path[256];

    snprintf(path, sizeof path, "hub/models--%s/snapshots/%s", repository, hash);
    make_folders(path);
}

/* NAME leads to the snapshot HASH. */
static void check_snapshot(const char *name, const char *hash)
{
    struct attn_catalog_found found;
    struct attn_error err = {0};

    ck_assert_msg(attn_catalog_find(&hub, name, &found, &err) == ATTN_OK, "%s", err.message);
    ck_assert_int_eq(found.origin, ATTN_ORIGIN_CACHED);
    ck_assert_str_eq(found.source.name, name);
    ck_assert_ptr_nonnull(strstr(found.directory, "/snapshots/"));
    ck_assert_str_eq(strrchr(found.directory, '/') + 1, hash);
}

/* NAME leads nowhere; the message has WHAT, the hint HINT. */
static void check_nowhere(const char *name, const char *what, const char *hint)
{
    struct attn_catalog_found found;
    struct attn_error err = {0};

    ck_assert_msg(attn_catalog_find(&hub, name, &found, &err) == ATTN_INVALID, "%s", name);
    ck_assert_msg(strstr(err.message, what) != NULL, "%s", err.message);
    ck_assert_str_eq(err.hint, hint);
}

START_TEST(a_name_is_the_snapshot_of_main)
{
    attn_folder_enter();
    write_ref("openai-community--gpt2", "main", A);
    make_snapshot("openai-community--gpt2", A);
    make_snapshot("openai-community--gpt2", C);
    write_ref("gpt2", "main", B "\n");
    make_snapshot("gpt2", B);
    check_snapshot("openai-community/gpt2", A);
    check_snapshot("openai-community/gpt2@main", A);
    check_snapshot("gpt2", B);
    check_nowhere("openai-community/gpt3", "nor in the Hugging Face cache 'hub'",
                  "hf download openai-community/gpt3");
    leave();
}
END_TEST

START_TEST(a_revision_is_a_ref_or_a_commit_or_how_one_begins)
{
    attn_folder_enter();
    write_ref("a--b", "step1000", A);
    write_ref("a--b", "main", B);
    make_snapshot("a--b", A);
    make_snapshot("a--b", B);
    make_snapshot("a--b", C);
    make_folders("hub/models--a--b/refs/refs/pr");
    write_ref("a--b", "refs/pr/1", C);
    check_snapshot("a/b@step1000", A);
    check_snapshot("a/b@refs/pr/1", C);
    check_snapshot("a/b@" C, C);
    check_snapshot("a/b@aaaa", A);
    check_snapshot("a/b@aaab", B);
    check_snapshot("a/b@c30d783", C);
    check_nowhere("a/b@aaa", "has no revision 'aaa' of 'a/b', only 'main'",
                  "hf download a/b --revision aaa");
    check_nowhere("a/b@step2", "only 'main', 'refs', 'step1000'",
                  "hf download a/b --revision step2");
    make_snapshot("a--b", "aaaa30d7");
    check_snapshot("a/b@aaaa30d7", "aaaa30d7"); /* a whole hash is never ambiguous */
    check_nowhere("a/b@aaaa3", "'aaaa3' of 'a/b' begins several commits", "");
    leave();
}
END_TEST

START_TEST(without_refs_a_name_is_the_newest_snapshot)
{
    const struct timeval old[2] = {{1000, 0}, {1000, 0}};

    attn_folder_enter();
    make_snapshot("a--b", A);
    make_snapshot("a--b", B);
    ck_assert_int_eq(utimes("hub/models--a--b/snapshots/" A, old), 0);
    check_snapshot("a/b", B);
    write_ref("a--b", "step1", A);
    check_snapshot("a/b@step1", A);
    check_nowhere("a/b",
                  "the Hugging Face cache 'hub' has no revision 'main' of 'a/b', only "
                  "'step1'",
                  "hf download a/b");
    leave();
}
END_TEST

START_TEST(a_ref_leads_to_a_snapshot_only)
{
    static const char *const hashes[] = {"../..", "", "x", "aaaa/../..", (A A), (" " A), "\n"};

    attn_folder_enter();
    make_snapshot("a--b", A);
    make_snapshot("a--b", "x");
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        write_ref("a--b", "main", hashes[i]);
        check_nowhere("a/b", "holds no hash of a commit", "hf download a/b");
    }
    write_ref("a--b", "main", C);
    check_nowhere("a/b", "is commit '" C "', which is not in", "hf download a/b");
    ck_assert_int_eq(unlink("hub/models--a--b/refs/main"), 0);
    ck_assert_int_eq(mkfifo("hub/models--a--b/refs/main", 0600), 0);
    check_nowhere("a/b", "holds no hash of a commit", "hf download a/b");
    leave();
}
END_TEST

START_TEST(names_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {
        "",      "/",      "a/",     "/a",   "a//b",     "a/b/c",   "../a", "a/..",  "..",
        "./a",   "a/.b",   "a/-b",   "a--b", "a/b--c",   "a/b.",    "a b",  "a/b@",  "a/b@/x",
        "a/b@.", "a/b@..", "a/b@x/", "@x",   "a/b@x/..", "a/b@-rf", "a\\b", "a/b\n", "a/b@x//y",
    };
    struct attn_hub_name name;
    char longest[200];

    attn_folder_enter();
    make_folders("hub/models--a--b/snapshots");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_catalog_found found;
        struct attn_error err = {0};

        ck_assert_msg(!attn_hub_read_name(names[i], &name), "%s", names[i]);
        if (strcmp(names[i], "/") != 0 && strcmp(names[i], "..") != 0)
            ck_assert_msg(attn_catalog_find(&hub, names[i], &found, &err) == ATTN_INVALID, "%s",
                          names[i]);
    }
    memset(longest, 'a', sizeof longest);
    longest[ATTN_HUB_PART_MAX] = '\0';
    ck_assert(attn_hub_read_name(longest, &name));
    longest[ATTN_HUB_PART_MAX] = 'a', longest[ATTN_HUB_PART_MAX + 1] = '\0';
    ck_assert(!attn_hub_read_name(longest, &name));
    leave();
}
END_TEST

START_TEST(a_directory_comes_before_the_cache)
{
    struct attn_catalog_found found;

    attn_folder_enter();
    make_snapshot("a--b", A);
    write_ref("a--b", "main", A);
    make_folders("a/b");
    ck_assert_int_eq(attn_catalog_find(&hub, "a/b", &found, NULL), ATTN_OK);
    ck_assert_int_eq(found.origin, ATTN_ORIGIN_DIRECTORY);
    ck_assert_str_eq(found.source.directory, "a/b");
    ck_assert_ptr_null(found.source.fetch);
    leave();
}
END_TEST

/* The names that were told, each with a blank behind it. */
struct told {
    char names[1024];
    size_t size;
};

/* An attn_catalog_fn. */
static enum attn_status append(void *user, const char *name, struct attn_error *err)
{
    struct told *told = user;

    (void)err;
    told->size +=
        (size_t)snprintf(told->names + told->size, sizeof told->names - told->size, "%s ", name);
    return ATTN_OK;
}

START_TEST(all_names_are_told_once)
{
    static const char *const folders[] = {"one", "two", "nowhere"};
    struct attn_catalog catalog = hub;
    struct told told = {.size = 0};

    attn_folder_enter();
    make_folders("one/x"), make_folders("two/x"), make_folders("two/y"), make_folders("two/gpt2");
    make_folders("two/fable"), make_folders("two/.z"), make_folders("two/none");
    attn_folder_write("one/x/config.json", "{", 1);
    attn_folder_write("two/x/config.json", "{", 1);
    attn_folder_write("two/y/config.json", "{", 1);
    attn_folder_write("two/.z/config.json", "{", 1);
    attn_folder_write("two/gpt2/config.json", "{", 1);
    attn_folder_write("two/fable/config.json", "{", 1);
    write_ref("gpt2", "main", A);
    write_ref("a--b", "main", A);
    write_ref("a--b", "step1000", B);
    make_snapshot("a--b", A);
    make_snapshot("a--b", B);
    make_snapshot("a--b", C);
    make_snapshot("c--d", A);
    make_folders("hub/datasets--e--f"), make_folders("hub/models--e--f--g");
    make_folders("hub/models--g--h");
    catalog.folders = folders, catalog.n_folder = 3;
    ck_assert_int_eq(attn_catalog_visit(&catalog, append, &told, NULL), ATTN_OK);
    ck_assert_str_eq(told.names,
                     "fable life-is-short x gpt2 y a/b a/b@step1000 a/b@c30d783dfa66 c/d "
                     "g/h ");
    leave();
}
END_TEST

/* The text in COLUMN of the row of NAME, or "-". */
static const char *cell(const struct attn_table *table, const char *name, size_t column)
{
    static char text[1000];

    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell key = attn_table_cell(table, row, 0);
        const struct attn_cell value = attn_table_cell(table, row, column);

        if (key.size == strlen(name) && memcmp(key.text, name, key.size) == 0) {
            snprintf(text, sizeof text, "%.*s", value.text ? (int)value.size : 1,
                     value.text ? value.text : "-");
            return text;
        }
    }
    ck_abort_msg("no row '%s'", name);
}

static void link_model(const char *repository, const char *but)
{
    static const char *const files[] = {"config.json", "vocab.json", "merges.txt",
                                        "model.safetensors"};
    char link_path[512], to[512];
    const char *root = getenv("ATTN_TEST_ROOT");

    make_snapshot(repository, A);
    write_ref(repository, "main", A);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(link_path, sizeof link_path, "hub/models--%s/snapshots/" A "/%s", repository,
                 files[i]);
        snprintf(to, sizeof to, "%s/models/tiny-gpt2/%s", root, files[i]);
        if (strcmp(files[i], but) != 0)
            ck_assert_int_eq(symlink(to, link_path), 0);
    }
}

START_TEST(a_list_says_why_a_model_cannot_be_read)
{
    enum { FAMILY = 2, PROBLEM = 5, MESSAGE = 7 };
    static const char mamba[] = "{\"model_type\": \"mamba\", \"x\": []}";
    struct attn_table *table;
    char root[256];

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    setenv("ATTN_TEST_ROOT", root, 1);
    attn_folder_enter();
    link_model("whole", "");
    link_model("no--config", "config.json");
    link_model("no--weights", "model.safetensors");
    link_model("only--pytorch", "model.safetensors");
    attn_folder_write("hub/models--only--pytorch/snapshots/" A "/pytorch_model.bin", "x", 1);
    link_model("other--family", "config.json");
    attn_folder_write("hub/models--other--family/snapshots/" A "/config.json", mamba,
                      sizeof mamba - 1);
    link_model("cut--config", "config.json");
    attn_folder_write("hub/models--cut--config/snapshots/" A "/config.json", mamba, 20);
    write_ref("not--there", "main", C);
    ck_assert_int_eq(attn_catalog_list(&hub, &table, NULL), ATTN_OK);
    ck_assert_str_eq(cell(table, "whole", FAMILY), "gpt2");
    ck_assert_str_eq(cell(table, "whole", PROBLEM), "-");
    ck_assert_str_eq(cell(table, "whole", MESSAGE), "-");
    ck_assert_str_eq(cell(table, "no/config", PROBLEM), "cannot read: config.json");
    ck_assert_str_eq(cell(table, "no/weights", PROBLEM), "cannot read: no weights");
    ck_assert_str_eq(cell(table, "only/pytorch", PROBLEM), "cannot read: pytorch_model.bin");
    ck_assert_str_eq(cell(table, "other/family", FAMILY), "mamba");
    ck_assert_str_eq(cell(table, "other/family", PROBLEM), "cannot read: mamba");
    ck_assert_str_eq(cell(table, "cut/config", PROBLEM), "cannot read: config.json");
    ck_assert_str_eq(cell(table, "not/there", PROBLEM), "cannot read: not downloaded");
    attn_table_free(table);
    leave();
}
END_TEST

/* A model in the folder "lm" of LM Studio, and the same in the store "ollama". */
static void link_gguf(const char *root)
{
    static const char manifest[] =
        "{\"layers\": [{\"mediaType\": \"application/vnd.ollama.image.model\", \"digest\": "
        "\"sha256:" A "000000000000000000000000\"}]}";
    char path[ATTN_PATH_SIZE];

    snprintf(path, sizeof path, "%s/tests/fixtures/gguf/tiny.gguf", root);
    make_folders("lm/a/b");
    make_folders("ollama/blobs");
    make_folders("ollama/manifests/registry.ollama.ai/library/m");
    ck_assert_int_eq(symlink(path, "lm/a/b/b-Q4_0.gguf"), 0);
    ck_assert_int_eq(symlink(path, "ollama/blobs/sha256-" A "000000000000000000000000"), 0);
    attn_folder_write("ollama/manifests/registry.ollama.ai/library/m/1b", manifest,
                      sizeof manifest - 1);
}

START_TEST(every_failed_allocation_is_reported)
{
    enum { PROBLEM = 5 };
    static const char *const stores[] = {"ollama"};
    const struct attn_catalog all = {
        .size = sizeof all, .hub = "hub", .lm_studio = "lm", .ollama = stores, .n_ollama = 1};
    char root[256];

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    setenv("ATTN_TEST_ROOT", root, 1);
    attn_folder_enter();
    link_model("whole", "");
    make_snapshot("whole", B);
    link_model("no--weights", "model.safetensors");
    link_gguf(root);
    for (long n = 0;; n++) {
        struct attn_table *table = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_catalog_list(&all, &table, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK) {
            ck_assert_int_gt(n, 20);
            ck_assert_str_eq(cell(table, "whole", PROBLEM), "-");
            ck_assert_str_eq(cell(table, "lmstudio:a/b:Q4_0", PROBLEM), "-");
            ck_assert_str_eq(cell(table, "ollama:m:1b", PROBLEM), "-");
            attn_table_free(table);
            break;
        }
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
    }
    leave();
}
END_TEST

ATTN_SUITE("catalog", a_name_is_the_snapshot_of_main,
           a_revision_is_a_ref_or_a_commit_or_how_one_begins,
           without_refs_a_name_is_the_newest_snapshot, a_ref_leads_to_a_snapshot_only,
           names_that_lead_elsewhere_are_refused, a_directory_comes_before_the_cache,
           all_names_are_told_once, a_list_says_why_a_model_cannot_be_read,
           every_failed_allocation_is_reported)
