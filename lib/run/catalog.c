/* catalog.c - see catalog.h. */
#include "run/catalog_internal.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/given.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "formats/foreign.h"
#include "formats/json.h"
#include "model/builtin.h"
#include "model/cost.h"
#include "model/family.h"
#include "model/model.h"
#include "run/hub.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static_assert((int)ATTN_FOUND_PATH_SIZE == (int)ATTN_PATH_SIZE, "a folder's paths fit");

/* --- One ------------------------------------------------------------------------------------- */

/* Whether NAME can be that of a directory in a folder. */
static bool is_bare(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool find_in_folders(const struct attn_catalog *catalog, const char *name,
                            struct attn_found *found)
{
    for (size_t i = 0; i < catalog->n_folder; i++)
        if (attn_path_join(catalog->folders[i], name, found->directory) &&
            attn_path_is_folder(found->directory))
            return true;
    return false;
}

static enum attn_status find_in_hub(const struct attn_catalog *catalog,
                                    const struct attn_hub_name *name, struct attn_found *found,
                                    struct attn_error *err)
{
    const enum attn_status status = attn_hub_find(catalog->hub, name, found->directory, err);

    found->origin = ATTN_ORIGIN_CACHED;
    found->source.directory = found->directory;
    attn_hub_fetch(name, found->fetch, sizeof found->fetch);
    found->source.fetch = found->fetch;
    return status;
}

/* "'NAME' is neither a directory, nor in 'models', nor built in, nor in the ... cache 'hub'". */
static enum attn_status report_searched(const struct attn_catalog *catalog, const char *name,
                                        const struct attn_hub_name *hub, struct attn_error *err)
{
    struct attn_buffer text = {0};
    char command[ATTN_FOUND_FETCH_SIZE];

    attn_buffer_append_format(&text, "'%s' is neither a directory", attn_quote_string(name).text);
    for (size_t i = 0; i < catalog->n_folder && is_bare(name); i++)
        attn_buffer_append_format(&text, ", nor in '%s'",
                                  attn_quote_string(catalog->folders[i]).text);
    if (is_bare(name))
        attn_buffer_append_string(&text, ", nor built in");
    if (catalog->hub)
        attn_buffer_append_format(&text, ", nor in the Hugging Face cache '%s'",
                                  attn_quote_string(catalog->hub).text);
    else
        attn_buffer_append_string(&text, ", nor is there a Hugging Face cache");
    if (attn_buffer_check(&text, err) == ATTN_OK)
        attn_error_set(err, ATTN_INVALID, "%s", attn_buffer_string(&text));
    attn_buffer_release(&text);
    attn_hub_fetch(hub, command, sizeof command);
    attn_error_hint(err, "%s", command);
    return ATTN_INVALID;
}

static enum attn_status report_no_name(const char *name, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is neither a directory nor a name of a model",
                   attn_quote_string(name).text);
    attn_error_hint(err, "names are NAME, OWNER/NAME and OWNER/NAME@REVISION");
    return ATTN_INVALID;
}

static enum attn_status report_file(const char *path, struct attn_error *err)
{
    const char *slash = strrchr(path, '/');

    ATTN_TRY(attn_foreign_check_file(path, err));
    attn_error_set(err, ATTN_INVALID, "'%s' is a file, expected the directory of a model",
                   attn_quote_string(path).text);
    attn_error_hint(err, "its directory is '%s'",
                    slash ? attn_quote(path, slash > path ? (size_t)(slash - path) : 1).text : ".");
    return ATTN_INVALID;
}

/* As attn_catalog_find, but for the paths of directories. */
static enum attn_status find_name(const struct attn_catalog *catalog, const char *name,
                                  struct attn_found *found, struct attn_error *err)
{
    struct attn_hub_name hub;
    struct stat info;
    bool is_name;

    *found = (struct attn_found){.source.name = name, .origin = ATTN_ORIGIN_SHIPPED};
    if (is_bare(name) && find_in_folders(catalog, name, found)) {
        found->source.directory = found->directory;
        return ATTN_OK;
    }
    if (attn_builtin_find(name, &found->source)) {
        found->origin = ATTN_ORIGIN_BUILTIN;
        return ATTN_OK;
    }
    is_name = attn_hub_read_name(name, &hub);
    if (is_name && catalog->hub && attn_hub_has(catalog->hub, &hub))
        return find_in_hub(catalog, &hub, found, err);
    if (stat(name, &info) == 0)
        return report_file(name, err);
    return is_name ? report_searched(catalog, name, &hub, err) : report_no_name(name, err);
}

enum attn_status attn_catalog_find(const struct attn_catalog *given, const char *name,
                                   struct attn_found *found, struct attn_error *err)
{
    if (!attn_is_given(name, "name", err) || !attn_is_given(found, "found", err))
        return ATTN_INVALID;
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    if (!attn_path_is_folder(name))
        return find_name(&catalog, name, found, err);
    *found = (struct attn_found){.source = {.name = name, .directory = name}};
    return ATTN_OK;
}

/* --- Others of its name ---------------------------------------------------------------------- */

/* Whether DIRECTORY is that of a model, and not the one of FOUND. */
static bool is_other(const struct attn_found *found, const char *directory)
{
    const char *taken = found->source.directory;
    struct stat one, other;

    return attn_source_has_part(&(struct attn_source){.directory = directory}, "config.json") &&
           !(taken && stat(taken, &one) == 0 && stat(directory, &other) == 0 &&
             one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

void attn_catalog_visit_others(const struct attn_catalog *catalog, const struct attn_found *found,
                               attn_catalog_other_fn visit, void *user)
{
    const char *name = found->source.name;
    struct attn_found other = {.source.name = name, .origin = ATTN_ORIGIN_SHIPPED};
    struct attn_found builtin = {.source.name = name, .origin = ATTN_ORIGIN_BUILTIN};
    struct attn_hub_name hub;

    other.source.directory = other.directory;
    for (size_t i = 0; i < catalog->n_folder && is_bare(name); i++)
        if (attn_path_join(catalog->folders[i], name, other.directory) &&
            is_other(found, other.directory))
            visit(user, &other);
    if (found->origin != ATTN_ORIGIN_BUILTIN && attn_builtin_find(name, &builtin.source))
        visit(user, &builtin);
    if (catalog->hub && attn_hub_read_name(name, &hub) && attn_hub_has(catalog->hub, &hub) &&
        find_in_hub(catalog, &hub, &other, NULL) == ATTN_OK && is_other(found, other.directory))
        visit(user, &other);
}

/* --- All ------------------------------------------------------------------------------------- */

struct catalog_visit {
    const struct attn_catalog *catalog;
    attn_catalog_fn tell;
    void *user;
};

/* Whether NAME was reported as that of a built-in model, or of one of the first N_FOLDER folders.
 * */
static bool was_reported(const struct attn_catalog *catalog, size_t n_folder, const char *name)
{
    struct attn_catalog before = *catalog;
    struct attn_found found;

    before.n_folder = n_folder;
    return attn_builtin_find(name, &found.source) ||
           (is_bare(name) && find_in_folders(&before, name, &found));
}

static enum attn_status visit_folder(const struct catalog_visit *visit, size_t i,
                                     struct attn_error *err)
{
    const char *path = visit->catalog->folders[i];
    struct attn_path_names folder = {0};
    enum attn_status status = attn_path_list(path, &folder, err);

    for (size_t k = 0; k < folder.n && status == ATTN_OK; k++) {
        char directory[ATTN_PATH_SIZE];

        if (attn_path_join(path, folder.names[k], directory) &&
            attn_source_has_part(&(struct attn_source){.directory = directory}, "config.json") &&
            !was_reported(visit->catalog, i, folder.names[k]))
            status = visit->tell(visit->user, folder.names[k], err);
    }
    attn_path_names_release(&folder);
    return status;
}

/* An attn_hub_fn. */
static enum attn_status visit_cached(void *user, const char *name, struct attn_error *err)
{
    const struct catalog_visit *visit = user;

    if (was_reported(visit->catalog, visit->catalog->n_folder, name))
        return ATTN_OK;
    return visit->tell(visit->user, name, err);
}

enum attn_status attn_catalog_visit(const struct attn_catalog *given, attn_catalog_fn tell,
                                    void *user, struct attn_error *err)
{
    if (!attn_is_given(tell, "tell", err))
        return ATTN_INVALID;
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    struct catalog_visit visit = {&catalog, tell, user};
    const char *name;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    for (size_t i = 0; (name = attn_builtin_name(i)); i++)
        ATTN_TRY(tell(user, name, err));
    for (size_t i = 0; i < catalog.n_folder; i++)
        ATTN_TRY(visit_folder(&visit, i, err));
    if (catalog.hub)
        ATTN_TRY(attn_hub_visit(catalog.hub, visit_cached, &visit, err));
    return ATTN_OK;
}

/* --- As a table ------------------------------------------------------------------------------ */

enum { WORDS_SIZE = 80, FAMILY_SIZE = 64 };

/* What is found out about one model. */
struct model_row {
    struct attn_found found;
    struct attn_error failure;
    char family[FAMILY_SIZE]; /* empty: its config does not say */
    char problem[WORDS_SIZE]; /* empty: none */
    uint64_t n_parameter;
};

/* The model_type of a config, which may be that of a family that is not read. Only memory can run
 * out. */
static enum attn_status read_family(struct model_row *row)
{
    static const char *const none[] = {NULL};
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    const char *type = NULL;
    enum attn_status status = attn_file_read_part(&row->found.source, "config.json", &file, NULL);

    if (status == ATTN_OK)
        status = attn_json_parse_named(&file, none, &json, NULL);
    if (status == ATTN_OK)
        status = attn_json_get_string(json, attn_json_root(json), "model_type", &type, NULL);
    if (status == ATTN_OK && type)
        snprintf(row->family, sizeof row->family, "%.*s", FAMILY_SIZE - 1, type);
    attn_json_free(json);
    attn_file_release(&file);
    return status == ATTN_NO_MEMORY ? status : ATTN_OK;
}

/* The last part of the first path or name in 'quotes' of a message: what the failure is about. */
static void take_subject(const char *message, char words[WORDS_SIZE])
{
    const char *begin = strchr(message, '\'');
    const char *end = begin ? strchr(begin + 1, '\'') : NULL;

    if (!end) {
        snprintf(words, WORDS_SIZE, "%.*s", WORDS_SIZE - 1, message);
        return;
    }
    for (const char *c = ++begin; c < end; c++)
        begin = *c == '/' && c + 1 < end ? c + 1 : begin;
    snprintf(words, WORDS_SIZE, "%.*s", (int)(end - begin), begin);
}

/* Why the model of ROW cannot be opened, in a few words. */
static void find_problem(struct model_row *row)
{
    const struct attn_source *source = &row->found.source;
    char words[WORDS_SIZE], foreign[ATTN_FOREIGN_NAME_SIZE];

    if (!source->directory)
        snprintf(words, sizeof words, "not downloaded");
    else if (row->family[0] != '\0' && !attn_family_find(row->family))
        snprintf(words, sizeof words, "%s", row->family);
    else if (!attn_source_has_part(source, "model.safetensors") &&
             !attn_source_has_part(source, "model.safetensors.index.json"))
        snprintf(words, sizeof words, "%.60s",
                 attn_foreign_find(source, foreign) ? foreign : "no weights");
    else
        take_subject(row->failure.message, words);
    snprintf(row->problem, sizeof row->problem, "cannot read: %.64s", words);
}

static enum attn_status inspect(const struct attn_catalog *catalog, const char *name,
                                struct model_row *row)
{
    struct attn_model *model = NULL;
    enum attn_status status = find_name(catalog, name, &row->found, &row->failure);

    struct attn_parameters n;

    if (status == ATTN_OK) {
        ATTN_TRY(read_family(row));
        status = attn_model_open(&row->found.source, NULL, &model, &row->failure);
    } else {
        row->found.source.directory = NULL;
    }
    if (status != ATTN_OK) {
        find_problem(row);
        return status == ATTN_NO_MEMORY ? status : ATTN_OK;
    }
    n = attn_model_parameters(model);
    row->n_parameter = n.embedding + n.positions + n.attention + n.mlp + n.norms + n.output;
    snprintf(row->family, sizeof row->family, "%s", attn_model_config(model)->model_type);
    attn_model_free(model);
    return ATTN_OK;
}

static struct attn_cell text_cell(const char *text)
{
    return text && text[0] != '\0' ? attn_cell_text(text, strlen(text)) : attn_cell_missing();
}

/* What the model NAME is, in at most 33 characters, which fit the table on a terminal; NULL unless
 * it comes with the program. */
static const char *find_about(const char *name)
{
    static const char *const about[][2] = {
        {"cross-attention", "six words, and a second sequence"},
        {"fable", "trained on English; the default"},
        {"four-heads", "six words, four heads, no mask"},
        {"interpreter", "trained, English into Chinese"},
        {"life-is-short", "six words, one head, causal"},
        {"one-head", "six words, one head of width 1"},
        {"self-attention", "six words, one head, no mask"},
        {"slp3-one-head", "a textbook's example, one head"},
        {"slp3-two-heads", "a textbook's example, two heads"},
        {"split-heads", "four heads, causal, with W_O"},
        {"tiny-gpt2", "GPT-2 with random weights"},
        {"your-journey", "six vectors without projections"},
    };

    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (strcmp(about[i][0], name) == 0)
            return about[i][1];
    return NULL;
}

struct model_list {
    const struct attn_catalog *catalog;
    struct attn_table *table;
};

/* An attn_catalog_fn. */
static enum attn_status add_row(void *user, const char *name, struct attn_error *err)
{
    static const char *const origins[] = {
#define ORIGIN_NAME(id, number, name) [ATTN_ORIGIN_##id] = (name),
        ATTN_ORIGIN_MAP(ORIGIN_NAME)
#undef ORIGIN_NAME
    };
    const struct model_list *list = user;
    struct model_row row = {.n_parameter = 0};
    struct attn_source source;
    enum attn_origin origin;

    if (inspect(list->catalog, name, &row) != ATTN_OK)
        return attn_error_no_memory(err);
    origin = attn_builtin_find(name, &source) ? ATTN_ORIGIN_BUILTIN : row.found.origin;
    const struct attn_cell cells[] = {
        text_cell(name),
        text_cell(origins[origin]),
        text_cell(row.family),
        row.problem[0] == '\0' ? attn_cell_integer((int64_t)row.n_parameter) : attn_cell_missing(),
        text_cell(origin != ATTN_ORIGIN_CACHED ? find_about(name) : NULL),
        text_cell(row.problem),
        text_cell(row.found.source.directory),
        text_cell(row.failure.message),
    };

    return attn_table_append(list->table, cells, sizeof cells / sizeof *cells, err);
}

enum attn_status attn_catalog_list(const struct attn_catalog *given, struct attn_table **table,
                                   struct attn_error *err)
{
    if (!attn_is_given(table, "table", err))
        return ATTN_INVALID;
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "origin", .type = ATTN_VALUE_TEXT},
        {.name = "family", .type = ATTN_VALUE_TEXT},
        {.name = "parameters", .type = ATTN_VALUE_INTEGER},
        {.name = "about", .type = ATTN_VALUE_TEXT},
        {.name = "problem", .type = ATTN_VALUE_TEXT},
        {.name = "directory", .type = ATTN_VALUE_TEXT},
        {.name = "message", .type = ATTN_VALUE_TEXT},
    };
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    struct model_list list = {&catalog, NULL};
    enum attn_status status;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    ATTN_TRY(
        attn_table_create("models", columns, sizeof columns / sizeof *columns, &list.table, err));
    status = attn_catalog_visit(&catalog, add_row, &list, err);
    if (status == ATTN_OK)
        *table = list.table;
    else
        attn_table_free(list.table);
    return status;
}
