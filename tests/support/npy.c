/*
 * npy.c - see npy.h. The format: "\x93NUMPY", version 1.0, a 16-bit length, then a Python dict as
 * text, {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }, then the data (NEP 1).
 */
#include "tests/support/npy.h"
#include "tests/support/assert.h"
#include "tests/support/stored_zip.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_SIZE = 10, MAX_HEADER = 256 };

/* The bytes of one array: a file, or a member of an archive. */
struct stream {
    FILE *file;  /* owned */
    size_t left; /* bytes that are not read yet */
};

/* False when there is no such file or member. */
static bool open_stream(const char *path, struct stream *stream)
{
    const char *end = strstr(path, ".npz/");
    char archive[4096];

    snprintf(archive, sizeof archive, "%.*s", end ? (int)(end - path + 4) : (int)strlen(path),
             path);
    stream->file = fopen(archive, "rb");
    if (stream->file == NULL) {
        ck_assert_msg(errno == ENOENT, "cannot read '%s': %s", archive, strerror(errno));
        return false;
    }
    if (end == NULL) {
        fseek(stream->file, 0, SEEK_END);
        stream->left = (size_t)ftell(stream->file);
        rewind(stream->file);
        return true;
    }
    if (attn_stored_zip_find(stream->file, archive, end + strlen(".npz/"), &stream->left))
        return true;
    fclose(stream->file);
    return false;
}

static void read_exactly(struct stream *stream, void *block, size_t size, const char *path)
{
    ck_assert_msg(size <= stream->left && fread(block, 1, size, stream->file) == size,
                  "'%s' is too short", path);
    stream->left -= size;
}

static void read_header(struct stream *stream, const char *path, char header[MAX_HEADER])
{
    unsigned char prefix[PREFIX_SIZE];
    size_t size;

    read_exactly(stream, prefix, sizeof prefix, path);
    ck_assert_msg(memcmp(prefix, "\x93NUMPY\x01\x00", 8) == 0, "'%s' is no .npy 1.0 file", path);
    size = prefix[8] | (size_t)prefix[9] << 8;
    ck_assert_msg(size < MAX_HEADER, "'%s' has a header of %zu bytes", path, size);
    read_exactly(stream, header, size, path);
    header[size] = '\0';
    ck_assert_msg(strstr(header, "'fortran_order': False") != NULL, "'%s' is not in C order", path);
}

static void parse_shape(struct attn_npy *array, const char *header, const char *path)
{
    const char *text = strstr(header, "'shape': (");
    char *end;

    ck_assert_msg(text != NULL, "'%s' has no shape", path);
    text += strlen("'shape': (");
    array->rank = 0;
    array->n = 1;
    while (*text != ')') {
        ck_assert_msg(array->rank < ATTN_NPY_MAX_RANK, "'%s' has too many dimensions", path);
        array->shape[array->rank] = strtoul(text, &end, 10);
        ck_assert_msg(end != text, "'%s' has a malformed shape", path);
        array->n *= array->shape[array->rank++];
        text = end + strspn(end, ", ");
    }
}

/* One element, widened. */
static double value_at(const unsigned char *data, size_t i, const char *descr)
{
    float f4;
    double f8;
    int64_t i8;

    if (strcmp(descr, "|u1") == 0)
        return data[i];
    if (strcmp(descr, "<f4") == 0)
        return (double)*(float *)memcpy(&f4, data + i * sizeof f4, sizeof f4);
    if (strcmp(descr, "<f8") == 0)
        return *(double *)memcpy(&f8, data + i * sizeof f8, sizeof f8);
    return (double)*(int64_t *)memcpy(&i8, data + i * sizeof i8, sizeof i8);
}

bool attn_npy_read(const char *path, struct attn_npy *array)
{
    char header[MAX_HEADER], descr[4] = "";
    const char *text;
    unsigned char *data;
    size_t size;
    struct stream stream;

    if (!open_stream(path, &stream))
        return false;
    read_header(&stream, path, header);
    parse_shape(array, header, path);
    text = strstr(header, "'descr': '");
    ck_assert_msg(text != NULL, "'%s' has no descr", path);
    memcpy(descr, text + strlen("'descr': '"), 3);
    ck_assert_msg(strcmp(descr, "<f4") == 0 || strcmp(descr, "<f8") == 0 ||
                      strcmp(descr, "<i8") == 0 || strcmp(descr, "|u1") == 0,
                  "'%s' holds '%s', expected '<f4', '<f8', '<i8' or '|u1'", path, descr);
    size = array->n * (size_t)(descr[2] - '0');
    data = malloc(size + 1);
    array->values = malloc(array->n * sizeof *array->values + 1);
    ck_assert(data != NULL && array->values != NULL);
    read_exactly(&stream, data, size, path);
    ck_assert_msg(stream.left == 0, "'%s' is too long", path);
    for (size_t i = 0; i < array->n; i++)
        array->values[i] = value_at(data, i, descr);
    free(data);
    fclose(stream.file);
    return true;
}

void attn_npy_release(struct attn_npy *array)
{
    free(array->values);
    array->values = NULL;
}

float *attn_npy_load_floats(const char *path, size_t *n)
{
    struct attn_npy array;
    float *floats;

    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    floats = calloc(array.n, sizeof *floats);
    ck_assert_ptr_nonnull(floats);
    for (size_t i = 0; i < array.n; i++)
        floats[i] = (float)array.values[i];
    *n = array.n;
    attn_npy_release(&array);
    return floats;
}

int32_t *attn_npy_read_ids(const char *path, size_t *n)
{
    struct attn_npy array;
    int32_t *ids;

    ck_assert_msg(attn_npy_read(path, &array), "'%s' is missing", path);
    ck_assert_msg(array.rank == 1, "'%s' has %d dimensions, expected 1", path, array.rank);
    ids = malloc(array.n * sizeof *ids + 1);
    ck_assert(ids != NULL);
    for (size_t i = 0; i < array.n; i++)
        ids[i] = (int32_t)array.values[i];
    *n = array.n;
    attn_npy_release(&array);
    return ids;
}
