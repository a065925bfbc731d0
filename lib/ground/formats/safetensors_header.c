/*
 * safetensors_header.c - reads the header of one file token by token.
 *
 * The header is copied first, because a mapped file can be overwritten between two reads. Names
 * point into the copy, where they are decoded and ended by NUL. Two passes over the text (check and
 * count, fill) allow one allocation even for a million tensors. Two sorts follow:
 * by offset, to check that the tensors cover the data without gaps, and by name. Byte offsets in
 * messages about JSON count from the beginning of the file, offsets of tensors from the beginning
 * of the data, as in the header.
 */
#include "formats/tensor_files_internal.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "formats/json_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METADATA "__metadata__"

enum { PREFIX_SIZE = 8, MAX_HEADER_SIZE = 100000000, COPY_STEP = 1024 * 1024 };

struct header {
    const struct attn_file *file;       /* borrowed */
    char *text;                         /* [data_start], a copy of the file up to its data; owns */
    struct attn_json_reader reader;     /* reads `text` */
    size_t data_start, data_size;       /* bytes before the data; bytes of the data */
    struct attn_tensor_record *records; /* [n]; owns */
    size_t n;
    struct attn_error *err; /* borrowed */
};

/* If FILE has another format that people mistake for safetensors, adds a hint that names it. */
static void hint_at_kind(const struct attn_file *file, struct attn_error *err)
{
    static const struct {
        const char *start, *hint;
    } kinds[] = {
        {"PK\3\4", "this is a ZIP archive, perhaps a PyTorch checkpoint; save it as safetensors"},
        {"GGUF", "this is a GGUF file; give it as the model itself"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i].start);

        if (file->size >= size && memcmp(file->data, kinds[i].start, size) == 0)
            attn_error_hint(err, "%s", kinds[i].hint);
    }
}

/* Adds a hint that the file is too short: usually an interrupted download. NEEDED: the bytes that
 * the header requires. */
static void hint_truncated(const struct header *header, uint64_t needed)
{
    attn_error_hint(header->err,
                    "the file has %zu bytes and needs %" PRIu64
                    " or more: a download that broke off? fetch it again",
                    header->file->size, needed);
}

/* Reads the size of the header from the first 8 bytes. */
static enum attn_status read_prefix(struct header *header)
{
    const struct attn_file *file = header->file;
    uint64_t size;
    size_t limit;

    if (file->size < PREFIX_SIZE)
        return attn_error_set(header->err, ATTN_FORMAT,
                              "'%s' has %zu bytes, expected a safetensors file, whose first 8 "
                              "bytes are the size of its header",
                              attn_quote_string(file->path).text, file->size);
    size = attn_little_endian(file->data, PREFIX_SIZE);
    limit = file->size - PREFIX_SIZE;
    limit = limit < MAX_HEADER_SIZE ? limit : MAX_HEADER_SIZE;
    if (size > limit) {
        ATTN_TRY(attn_file_check_kind(file, false, header->err));
        attn_error_set(header->err, ATTN_FORMAT,
                       "'%s' has %zu bytes and a header of %" PRIu64
                       " bytes, expected a safetensors file with a header of at most %zu",
                       attn_quote_string(file->path).text, file->size, size, limit);
        hint_at_kind(file, header->err);
        if (size < MAX_HEADER_SIZE && file->size > PREFIX_SIZE && file->data[PREFIX_SIZE] == '{')
            hint_truncated(header, PREFIX_SIZE + size);
        return ATTN_FORMAT;
    }
    header->data_start = PREFIX_SIZE + (size_t)size;
    header->data_size = file->size - header->data_start;
    return ATTN_OK;
}

/* Copies the header, and makes the reader read the copy. */
static enum attn_status copy_text(struct header *header)
{
    const struct attn_file *file = header->file;

    ATTN_TRY(ATTN_NEW(header->text, attn_alloc_uninitialized(header->data_start, 1, header->err)));
    for (size_t at = 0, n; at < header->data_start; at += n) {
        n = header->data_start - at < COPY_STEP ? header->data_start - at : COPY_STEP;
        memcpy(header->text + at, file->data + at, n);
        if (n == COPY_STEP && file->storage == ATTN_FILE_MAPPED)
            attn_file_drop_pages(file->data + at, n); /* else a large header is twice in memory */
    }
    header->reader = attn_json_reader_init(header->text, header->data_start, file->path);
    header->reader.offset = PREFIX_SIZE;
    return ATTN_OK;
}

static enum attn_status refuse(const struct header *header, const struct attn_json_token *token,
                               const char *expected)
{
    return attn_error_set(header->err, ATTN_FORMAT, "'%s' has '%s' at byte %zu, expected %s",
                          attn_quote_string(header->file->path).text,
                          attn_quote(token->text, token->size).text, token->offset, expected);
}

/* Reads a token, which must be of TYPE. EXPECTED describes it for the message. */
static enum attn_status expect(struct header *header, enum attn_json_type type,
                               const char *expected, struct attn_json_token *token)
{
    ATTN_TRY(attn_json_next(&header->reader, token, header->err));
    return token->type == type ? ATTN_OK : refuse(header, token, expected);
}

/* Reads the value of __metadata__: null, or an object of strings. It is checked but not used. */
static enum attn_status read_metadata(struct header *header)
{
    static const char expected[] = "an object of strings as " METADATA;
    struct attn_json_token token;

    ATTN_TRY(attn_json_next(&header->reader, &token, header->err));
    if (token.type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (token.type != ATTN_JSON_OBJECT_BEGIN)
        return refuse(header, &token, expected);
    for (;;) {
        ATTN_TRY(attn_json_next(&header->reader, &token, header->err));
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        ATTN_TRY(expect(header, ATTN_JSON_STRING, expected, &token));
    }
}

/* Reads an array of integers. Checks and counts all of them; stores the first MAX. */
static enum attn_status read_integers(struct header *header, size_t *values, int max, int *count)
{
    struct attn_json_token token;

    ATTN_TRY(expect(header, ATTN_JSON_ARRAY_BEGIN, "an array of integers", &token));
    for (int n = 0;; n++) {
        uint64_t value = 0;

        ATTN_TRY(attn_json_next(&header->reader, &token, header->err));
        if (token.type == ATTN_JSON_ARRAY_END) {
            *count = n;
            return ATTN_OK;
        }
        if (!attn_json_uint(&token, &value) || value != (size_t)value)
            return refuse(header, &token, "an integer from 0 to 2^64 - 1");
        if (n < max)
            values[n] = (size_t)value;
    }
}

/* The members of a tensor that were read so far. */
struct members {
    const char *name;
    struct attn_tensor tensor; /* only type, rank and shape are set */
    const char *shape;         /* the shape as text */
    bool has_dtype, has_shape, has_offsets;
    size_t offsets[2]; /* begin and end of its bytes in the data */
    int n_offset;
};

static enum attn_status read_dtype(struct header *header, struct members *members)
{
    struct attn_json_token token;
    int dtype = 0;

    ATTN_TRY(expect(header, ATTN_JSON_STRING, "the name of a type such as \"F32\"", &token));
    while (dtype < ATTN_N_PLAIN_DTYPE && !attn_json_equals(&token, attn_dtype_name(dtype)))
        dtype++;
    if (dtype == ATTN_N_PLAIN_DTYPE)
        return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                              "has dtype '%s', expected a type of safetensors such as F32, F16 or "
                              "BF16",
                              attn_quote(token.text, token.size).text);
    members->tensor.dtype = dtype;
    return ATTN_OK;
}

static enum attn_status read_members(struct header *header, struct members *members)
{
    struct attn_tensor *tensor = &members->tensor;
    struct attn_json_token key;

    ATTN_TRY(expect(header, ATTN_JSON_OBJECT_BEGIN, "an object with dtype, shape and data_offsets",
                    &key));
    for (;;) {
        ATTN_TRY(attn_json_next(&header->reader, &key, header->err));
        if (key.type != ATTN_JSON_KEY)
            return ATTN_OK;
        if (attn_json_equals(&key, "dtype")) {
            members->has_dtype = true;
            ATTN_TRY(read_dtype(header, members));
        } else if (attn_json_equals(&key, "shape")) {
            members->has_shape = true;
            members->shape = header->text + header->reader.offset;
            ATTN_TRY(read_integers(header, tensor->shape, ATTN_MAX_RANK, &tensor->rank));
        } else if (attn_json_equals(&key, "data_offsets")) {
            members->has_offsets = true;
            ATTN_TRY(read_integers(header, members->offsets, 2, &members->n_offset));
        } else {
            ATTN_TRY(attn_json_skip(&header->reader, header->err));
        }
    }
}

static enum attn_status check_members(const struct header *header, const struct members *members)
{
    const struct attn_tensor *tensor = &members->tensor;
    const size_t begin = members->offsets[0], end = members->offsets[1];
    const char *missing = !members->has_dtype     ? "dtype"
                          : !members->has_shape   ? "shape"
                          : !members->has_offsets ? "data_offsets"
                                                  : NULL;
    char shape[ATTN_SHAPE_TEXT_SIZE];
    size_t n_bit = 1;
    bool fits = true;

    if (missing)
        return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                              "has no %s, expected dtype, shape and data_offsets", missing);
    if (tensor->rank > ATTN_MAX_RANK)
        return attn_refuse_in(header->err, ATTN_UNSUPPORTED, header->file->path, members->name,
                              "has %d dimensions, expected at most %d", tensor->rank,
                              ATTN_MAX_RANK);
    if (members->n_offset != 2)
        return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                              "has %d data_offsets, expected a begin and an end",
                              members->n_offset);
    if (begin > end || end > header->data_size) {
        attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                       "has data_offsets [%zu, %zu], expected a begin and an end within %zu bytes "
                       "of data",
                       begin, end, header->data_size);
        if (begin <= end && end < SIZE_MAX - header->data_start)
            hint_truncated(header, header->data_start + end);
        return ATTN_FORMAT;
    }
    for (int i = 0; i < tensor->rank && fits; i++)
        fits = attn_checked_mul(n_bit, tensor->shape[i], &n_bit);
    if (!fits || !attn_checked_mul(n_bit, attn_dtype_bits(tensor->dtype), &n_bit) || n_bit % 8 != 0)
        return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                              "has shape %s of %s, expected a whole number of bytes below 2^61",
                              attn_shape_text(tensor->rank, tensor->shape, shape),
                              attn_dtype_name(tensor->dtype));
    if (n_bit / 8 != end - begin)
        return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, members->name,
                              "has shape %s of %s, which is %zu bytes, expected %zu as between its "
                              "data_offsets [%zu, %zu]",
                              attn_shape_text(tensor->rank, tensor->shape, shape),
                              attn_dtype_name(tensor->dtype), n_bit / 8, end - begin, begin, end);
    return ATTN_OK;
}

/* Reads the tensor with the key NAME into RECORD. The name is decoded and ended by NUL in the copy
 * of the header. */
static enum attn_status read_tensor(struct header *header, const struct attn_json_token *name,
                                    struct attn_tensor_record *record)
{
    char *own = header->text + (name->text - header->text);
    struct members members = {.name = own};
    size_t name_size;

    if (attn_json_has_nul(name))
        return refuse(header, name, "a tensor's name without NUL");
    name_size = attn_json_unescape_to(name, own);
    own[name_size] = '\0'; /* no further than the closing quote */
    ATTN_TRY(read_members(header, &members));
    ATTN_TRY(check_members(header, &members));
    *record = (struct attn_tensor_record){
        .name = own,
        .shape = members.shape,
        .offset = header->data_start + members.offsets[0],
        .n_byte = members.offsets[1] - members.offsets[0],
        .name_size = name_size,
        .dtype = (unsigned char)members.tensor.dtype,
        .rank = (unsigned char)members.tensor.rank,
    };
    return ATTN_OK;
}

/* Reads the tensors into `records`, which have room for them. */
static enum attn_status read_tensors(struct header *header)
{
    struct attn_json_token token;

    ATTN_TRY(expect(header, ATTN_JSON_OBJECT_BEGIN, "an object", &token));
    for (;;) {
        ATTN_TRY(attn_json_next(&header->reader, &token, header->err));
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        if (attn_json_equals(&token, METADATA))
            ATTN_TRY(read_metadata(header));
        else
            ATTN_TRY(read_tensor(header, &token, &header->records[header->n++]));
    }
}

/* Compares two tensors by begin, then by end: a tensor without elements comes before the one that
 * begins at the same place. */
static int compare_places(const void *a, const void *b)
{
    const struct attn_tensor_record *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->n_byte > y->n_byte) - (x->n_byte < y->n_byte);
}

/* Checks that each byte of the data belongs to exactly one tensor: no gaps and no overlaps. */
static enum attn_status check_tiling(const struct header *header,
                                     struct attn_tensor_record *records, size_t count)
{
    size_t end = 0;

    qsort(records, count, sizeof *records, compare_places);
    for (size_t i = 0; i < count; i++) {
        size_t begin = records[i].offset - header->data_start;

        if (begin != end)
            return attn_refuse_in(header->err, ATTN_FORMAT, header->file->path, records[i].name,
                                  "begins at byte %zu of the data, expected %zu, without holes or "
                                  "overlaps",
                                  begin, end);
        end += records[i].n_byte;
    }
    if (end != header->data_size)
        return attn_error_set(
            header->err, ATTN_FORMAT,
            "'%s' has %zu bytes of data, expected %zu, where its last tensor ends",
            attn_quote_string(header->file->path).text, header->data_size, end);
    return ATTN_OK;
}

static enum attn_status read_all(struct header *header)
{
    size_t n_key = 0; /* of the tensors, and __metadata__ */

    ATTN_TRY(read_prefix(header));
    ATTN_TRY(copy_text(header));
    ATTN_TRY(attn_json_check_keys(header->reader, &n_key, header->err));
    /* uninitialized, because read_tensors sets all fields */
    ATTN_TRY(ATTN_NEW(header->records,
                      attn_alloc_uninitialized(n_key, sizeof *header->records, header->err)));
    ATTN_TRY(read_tensors(header));
    return check_tiling(header, header->records, header->n);
}

enum attn_status attn_safetensors_read_header(const struct attn_file *file, char **text,
                                              struct attn_tensor_record **records, size_t *count,
                                              struct attn_error *err)
{
    struct header header = {.file = file, .err = err};
    const enum attn_status status = read_all(&header);

    if (status != ATTN_OK) {
        attn_free(header.records);
        attn_free(header.text);
        return status;
    }
    qsort(header.records, header.n, sizeof *header.records, attn_tensor_compare_names);
    *text = header.text;
    *records = header.records;
    *count = header.n;
    return ATTN_OK;
}
