/*
 * json_suite.c - what the JSON scanner says of files whose names tell what it must say.
 *
 * As in Nicolas Seriot's JSONTestSuite: it must take y_*, must refuse n_*, and may do either with
 * the rest. `make conformance DATA=FOLDER`; the files are other people's and not part of this
 * repository.
 */
#include "base/file.h"
#include "formats/json_reader.h"

#include <stdio.h>
#include <string.h>

static bool is_taken(const struct attn_file *file, struct attn_error *err)
{
    struct attn_json_reader reader =
        attn_json_reader_init((const char *)file->data, file->size, file->path);
    struct attn_json_token token;

    do {
        if (attn_json_next(&reader, &token, err) != ATTN_OK)
            return false;
    } while (token.type != ATTN_JSON_END);
    return true;
}

/* Whether the file PATH is judged as its NAME wants. */
static bool judge(const char *path, const char *name)
{
    struct attn_error err = {0};
    struct attn_file file = {0};
    bool is_right, was_taken;

    if (attn_file_open(path, ATTN_READ, &file, &err) != ATTN_OK) {
        printf("%s\n", err.message);
        return false;
    }
    was_taken = is_taken(&file, &err);
    is_right = *name == 'i' || was_taken == (*name == 'y');
    if (!is_right)
        printf("%s: %s\n", name, was_taken ? "taken" : err.message);
    attn_file_release(&file);
    return is_right;
}

int main(int argc, char **argv)
{
    static const char kinds[] = "yni";
    int n_file[3] = {0}, n_right[3] = {0};

    for (int i = 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/'), *name = slash != NULL ? slash + 1 : argv[i];
        const char *kind = *name != '\0' ? strchr(kinds, *name) : NULL;

        if (kind == NULL)
            continue;
        n_file[kind - kinds]++;
        n_right[kind - kinds] += judge(argv[i], name);
    }
    printf("%d of %d taken that must be, %d of %d refused that must be, %d may be either\n",
           n_right[0], n_file[0], n_right[1], n_file[1], n_file[2]);
    return n_file[0] == 0 || n_file[1] == 0 || n_right[0] < n_file[0] || n_right[1] < n_file[1];
}
