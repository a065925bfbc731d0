/* gguf_folder.c - GGUF models in a folder, and their tags. */
#include "catalog/catalog_internal.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "gguf/projector_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EXTENSION ".gguf"

enum { SPLIT_SIZE = 15 }; /* length of "-00001-of-00003" */

/* Returns the number of the shard whose file name is the first SIZE bytes of FILE; 0: no shard. */
static unsigned shard_number(const char *file, size_t size)
{
    unsigned no = 0, count = 0;
    int end = 0;

    if (size <= SPLIT_SIZE ||
        sscanf(file + size - SPLIT_SIZE, "-%5u-of-%5u%n", &no, &count, &end) != 2 ||
        end != SPLIT_SIZE)
        return 0;
    return no;
}

/* Returns the length of FILE without its extension and without the number of a shard. */
static size_t stem_size(const char *file)
{
    const size_t size = strlen(file) - strlen(EXTENSION);

    return shard_number(file, size) > 0 ? size - SPLIT_SIZE : size;
}

static const char *last_part(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash ? slash + 1 : file;
}

void attn_gguf_write_stem(const char *file, char stem[ATTN_GGUF_TAG_SIZE])
{
    const char *name = last_part(file);

    snprintf(stem, ATTN_GGUF_TAG_SIZE, "%.*s", (int)stem_size(name), name);
}

/* Whether FILE can be a whole model or the first shard of one. */
static bool is_model(const char *file)
{
    static const char *const others[] = {"mmproj",  "imatrix", "mtp-",
                                         "eagle3-", "dflash-", "dspark-"};
    const char *name = last_part(file);
    const size_t size = strlen(name), n = strlen(EXTENSION);

    if (size <= n || strcmp(name + size - n, EXTENSION) != 0 || shard_number(name, size - n) > 1)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasestr(name, others[i]))
            return false;
    return true;
}

enum attn_status attn_gguf_folder_list(struct attn_gguf_folder *folder, int levels,
                                       struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int depth = 1; depth <= levels && status == ATTN_OK; depth++) {
        struct attn_path_names names = {0};
        char path[ATTN_PATH_SIZE];

        status = attn_path_list_below(folder->path, depth, &names, err);
        for (size_t i = 0; i < names.n && status == ATTN_OK; i++)
            if (is_model(names.names[i]) && attn_path_join(folder->path, names.names[i], path) &&
                !attn_path_is_folder(path))
                status = attn_path_names_add(&folder->files, names.names[i], err);
        attn_path_names_release(&names);
    }
    return status;
}

bool attn_gguf_is_tag(const char *text)
{
    const size_t size = strlen(text);

    return size > 0 && size < ATTN_GGUF_TAG_SIZE && !strpbrk(text, ":@");
}

/* Whether a tag can begin at AT in FILE. */
static bool can_begin(const char *file, const char *at)
{
    return at == file || strchr("-._/", at[-1]);
}

/* How Unsloth marks its variant of a type; the mark comes before the type: "UD-Q4_K_XL". A plain
 * type is preferred. */
static const char dynamic[] = "UD-";
enum { DYNAMIC_SIZE = sizeof dynamic - 1 };

/* Whether the mark of that variant ends at AT in FILE. */
static bool is_dynamic(const char *file, const char *at)
{
    return at - file >= DYNAMIC_SIZE && strncasecmp(at - DYNAMIC_SIZE, dynamic, DYNAMIC_SIZE) == 0;
}

/* Returns where TAG is in FILE, in upper or lower case; NULL: it is not there. It must come after
 * the start, '-', '.', '_' or '/', and before '.' or '-', so that F16 is not found in BF16. */
static const char *find_tag(const char *file, const char *tag)
{
    const size_t size = strlen(tag);

    for (const char *at = file; *at; at++)
        if (can_begin(file, at) && strncasecmp(at, tag, size) == 0 &&
            (at[size] == '.' || at[size] == '-'))
            return at;
    return NULL;
}

/* Whether TAG is the name of FILE, with or without its folders. */
static bool is_name_of(const char *file, const char *tag)
{
    const size_t size = stem_size(file), size_of_tag = strlen(tag);

    return size >= size_of_tag && strncasecmp(file + size - size_of_tag, tag, size_of_tag) == 0 &&
           (size == size_of_tag || file[size - size_of_tag - 1] == '/');
}

/* Counts the files that TAG can mean, and stores the index of one in *chosen. If there are several,
 * but only one has TAG as its whole name, this one alone counts; else, if only one is not a variant
 * of Unsloth, that one. */
static size_t count_tagged(const struct attn_gguf_folder *folder, const char *tag, size_t *chosen)
{
    size_t n = 0, n_plain = 0, n_name = 0, plain = 0, named = 0;

    for (size_t i = 0; i < folder->files.n; i++) {
        const char *file = folder->files.names[i], *at = find_tag(file, tag);

        if (!at)
            continue;
        if (n++ == 0)
            *chosen = i;
        if (stem_size(file) == strlen(tag) && at == file) {
            *chosen = i;
            return 1;
        }
        if (!is_dynamic(file, at))
            n_plain++, plain = i;
        if (is_name_of(file, tag))
            n_name++, named = i;
    }
    if (n > 1 && n_name != 1 && n_plain != 1)
        return n;
    if (n > 1)
        *chosen = n_name == 1 ? named : plain;
    return n > 0 ? 1 : 0;
}

/* Whether TEXT begins like a type of weights: "Q4_K_M", "iq3_xxs", "BF16". */
static bool begins_type(const char *text)
{
    static const char *const kinds[] = {"F16",  "F32",  "F64",  "BF16", "FP16",
                                        "FP32", "MXFP", "NVFP", "FP8"};
    const size_t letters = strspn(text, "IiTt");

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncasecmp(text, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return letters <= 1 && toupper((unsigned char)text[letters]) == 'Q' &&
           isdigit((unsigned char)text[letters + 1]);
}

/* Returns where the last type in FILE begins, and its length in *size; NULL: there is none. */
static const char *find_type(const char *file, size_t *size)
{
    const char *found = NULL;

    for (const char *at = file; *at; at++) {
        const size_t n = strcspn(at, ".-/");

        if (can_begin(file, at) && begins_type(at) && at[n] != '/' && at[n] != '\0' &&
            !(found && at < found + *size))
            found = at, *size = n;
    }
    return found;
}

/* Writes the SIZE bytes of TEXT as a tag to TAG. Returns whether it means file I alone. */
static bool try_tag(const struct attn_gguf_folder *folder, size_t i, const char *text, size_t size,
                    char tag[ATTN_GGUF_TAG_SIZE])
{
    size_t chosen = i;

    snprintf(tag, ATTN_GGUF_TAG_SIZE, "%.*s", (int)size, text);
    return count_tagged(folder, tag, &chosen) == 1 && chosen == i;
}

void attn_gguf_folder_write_tag(const struct attn_gguf_folder *folder, size_t i,
                                char tag[ATTN_GGUF_TAG_SIZE])
{
    const char *file = folder->files.names[i], *name = last_part(file);
    const size_t size_of_name = stem_size(file) - (size_t)(name - file);
    size_t size = 0;
    const char *type = find_type(file, &size);

    if (type && is_dynamic(file, type))
        type -= DYNAMIC_SIZE, size += DYNAMIC_SIZE;
    if (!(type && try_tag(folder, i, type, size, tag)) &&
        !try_tag(folder, i, name, size_of_name, tag))
        try_tag(folder, i, file, stem_size(file), tag);
}

/* Counts the files of FOLDER that are models, and stores the index of one in *chosen. */
static size_t count_models(const struct attn_gguf_folder *folder, size_t *chosen)
{
    char path[ATTN_PATH_SIZE];
    size_t n = 0;

    *chosen = 0;
    for (size_t i = 0; i < folder->files.n; i++)
        if (folder->files.n == 1 || !attn_path_join(folder->path, folder->files.names[i], path) ||
            !attn_projectors->is_file(path))
            n++, *chosen = i;
    return n;
}

/* Writes the tags of all files, or their names, to TEXT, such as "'Q4_K_M', 'Q8_0'". */
static const char *list_files(const struct attn_gguf_folder *folder, bool has_tags,
                              char text[ATTN_QUOTE_SIZE])
{
    char tag[ATTN_GGUF_TAG_SIZE];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < folder->files.n; i++) {
        if (has_tags)
            attn_gguf_folder_write_tag(folder, i, tag);
        attn_fixed_text_append(text, ATTN_QUOTE_SIZE, &used, "%s'%s'", i == 0 ? "" : ", ",
                               attn_quote_string(has_tags ? tag : folder->files.names[i]).text);
    }
    return text;
}

static enum attn_status write_path(const struct attn_gguf_folder *folder, size_t i,
                                   char path[ATTN_PATH_SIZE], struct attn_error *err)
{
    if (attn_path_join(folder->path, folder->files.names[i], path))
        return ATTN_OK;
    return attn_refuse_in(err, ATTN_INVALID, folder->name, folder->files.names[i],
                          "is too long a name");
}

/* Reports that TAG means N files, where N is not 1. TAG NULL: none was given. */
static enum attn_status report_tags(const struct attn_gguf_folder *folder, const char *tag,
                                    size_t n, struct attn_error *err)
{
    char tags[ATTN_QUOTE_SIZE], first[ATTN_GGUF_TAG_SIZE];
    const struct attn_quote name = attn_quote_string(folder->name);

    list_files(folder, true, tags);
    if (tag && n == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no model of tag '%s', only %s",
                              name.text, attn_quote_string(tag).text, tags);
    if (tag)
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has %zu models of tag '%s', expected the tag of one: %s", name.text, n,
                       attn_quote_string(tag).text, tags);
    else
        attn_error_set(err, ATTN_INVALID, "'%s' has %zu models, expected the tag of one: %s",
                       name.text, n, tags);
    attn_gguf_folder_write_tag(folder, 0, first);
    return attn_error_hint(err, "as in %s:%s", name.text, attn_quote_string(first).text);
}

enum attn_status attn_gguf_folder_choose(const struct attn_gguf_folder *folder, const char *tag,
                                         char path[ATTN_PATH_SIZE], struct attn_error *err)
{
    static const char *const usual[] = {"Q4_K_M", "Q8_0"};
    size_t chosen = 0, n = 0;

    if (tag)
        n = count_tagged(folder, tag, &chosen);
    for (size_t i = 0; !tag && i < sizeof usual / sizeof *usual; i++) {
        n = count_tagged(folder, usual[i], &chosen);
        tag = n > 0 ? usual[i] : NULL;
    }
    if (!tag)
        n = count_models(folder, &chosen);
    return n == 1 ? write_path(folder, chosen, path, err) : report_tags(folder, tag, n, err);
}

enum attn_status attn_gguf_folder_only(const struct attn_gguf_folder *folder,
                                       char path[ATTN_PATH_SIZE], struct attn_error *err)
{
    char names[ATTN_QUOTE_SIZE];
    size_t chosen;
    const size_t n = count_models(folder, &chosen);

    if (n == 1)
        return write_path(folder, chosen, path, err);
    attn_error_set(err, ATTN_INVALID, "'%s' has %zu GGUF models, expected the path of one: %s",
                   attn_quote_string(folder->name).text, n, list_files(folder, false, names));
    return ATTN_INVALID;
}
