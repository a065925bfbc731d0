/*
 * gguf.c - reads the pairs and the tensors of each file in one pass, then sorts both by name, which
 * also finds duplicates.
 *
 * No allocation has a size that only the file states: a count is compared with the bytes that are
 * left, and buffers grow as entries are read. Keys and names are copied; values stay in the file.
 */
#include "gguf/gguf.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/path.h"
#include "base/text/utf8.h"
#include "formats/tensor_files_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_KEY = 65535,
    MOST_NAME = 63, /* bytes; the limit of llama.cpp */
    MOST_DIM = 4,
    MOST_ALIGNMENT = 65536,
    DEFAULT_ALIGNMENT = 32,
    LEAST_PAIR =
        8 + 1 + 4 +
        1, /* bytes of the shortest pair: size and 1 byte of the key, a type, 1 byte of value */
    LEAST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8 /* bytes of the shortest tensor: size and 1 byte of the
                                            name, number of dimensions, 1 dimension, type, offset */
};

/* A pair. While files are read its key is an offset into `keys`, which grows; then a pointer. */
struct pair_record {
    struct attn_gguf_pair pair;
    size_t key_at;
};

struct attn_bundle {
    struct attn_tensor_files *files; /* owns */
    struct attn_buffer keys;         /* the keys of all pairs, each ended by NUL */
    struct pair_record *pairs;       /* [n_pair], sorted by key; owns */
    size_t n_pair, pair_capacity, record_capacity;
};

static const struct {
    const char *word;
    size_t n_byte; /* 0: the size varies */
} types[ATTN_N_GGUF_TYPE] = {
#define TYPE_ROW(name, number, bytes, word) [ATTN_GGUF_##name] = {word, bytes},
    ATTN_GGUF_TYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
};

/* --- Reading a file --------------------------------------------------------------------------- */

/* The reading of one file: what was read so far, and where messages go. */
struct scan {
    const struct attn_file *file; /* borrowed */
    size_t at;
    const char *path; /* quoted path of the file, for messages */
    int shard;
    struct attn_buffer text; /* name and shape of each tensor of this file, each ended by NUL */
    struct attn_bundle *gguf;
    struct attn_error *err;
};

static size_t left(const struct scan *scan)
{
    return scan->file->size - scan->at;
}

static enum attn_status refuse_end(const struct scan *scan, const char *where)
{
    attn_error_set(scan->err, ATTN_FORMAT,
                   "'%s' ends at byte %zu, in %s, expected the rest of its header", scan->path,
                   scan->file->size, where);
    attn_error_hint(scan->err, "a download that broke off? fetch it again");
    return ATTN_FORMAT;
}

/* Reads a little-endian number of N bytes. WHERE describes the place for the message if the file
 * ends before. */
static enum attn_status read_number(struct scan *scan, size_t n, const char *where,
                                    uint64_t *number)
{
    if (left(scan) < n)
        return refuse_end(scan, where);
    *number = 0;
    memcpy(number, scan->file->data + scan->at, n);
    scan->at += n;
    return ATTN_OK;
}

/* Reads a string: its size, and its bytes, which *text points to in the file. */
static enum attn_status read_string(struct scan *scan, const char *where, const char **text,
                                    size_t *size)
{
    uint64_t n = 0;

    ATTN_TRY(read_number(scan, 8, where, &n));
    if (n > left(scan)) {
        attn_error_set(scan->err, ATTN_FORMAT,
                       "'%s' has a string of %" PRIu64 " bytes at byte %zu, in %s, and %zu bytes "
                       "after it",
                       scan->path, n, scan->at - 8, where, left(scan));
        attn_error_hint(scan->err, "a download that broke off? fetch it again");
        return ATTN_FORMAT;
    }
    *text = (const char *)scan->file->data + scan->at;
    *size = (size_t)n;
    scan->at += *size;
    return ATTN_OK;
}

/* Reads a key or a name of 1 to MOST bytes and appends it to NAMES. WHAT and the number I are for
 * messages. */
static enum attn_status read_name(struct scan *scan, const char *what, uint64_t i, size_t most,
                                  struct attn_buffer *names)
{
    const char *text = NULL;
    size_t size = 0;
    char where[60];

    snprintf(where, sizeof where, "the %s of number %" PRIu64, what, i);
    ATTN_TRY(read_string(scan, where, &text, &size));
    if (size == 0 || size > most)
        return attn_error_set(scan->err, ATTN_FORMAT, "%s of '%s' has %zu bytes, expected 1 to %zu",
                              where, scan->path, size, most);
    if (attn_utf8_valid_length(text, size) != size || memchr(text, 0, size))
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "%s of '%s' is '%s', expected UTF-8 without NUL", where, scan->path,
                              attn_quote(text, size).text);
    attn_buffer_append(names, text, size);
    attn_buffer_append_char(names, '\0');
    return attn_buffer_check(names, scan->err);
}

/* --- Pairs ------------------------------------------------------------------------------------ */

static enum attn_status check_type(const struct scan *scan, uint64_t type, const char *key)
{
    if (type < ATTN_N_GGUF_TYPE)
        return ATTN_OK;
    return attn_refuse_in(scan->err, ATTN_FORMAT, scan->file->path, key,
                          "has values of type %" PRIu64 ", expected a type from 0 to %d", type,
                          ATTN_N_GGUF_TYPE - 1);
}

/* Moves past the items of PAIR, which begin at the current place. */
static enum attn_status skip_items(struct scan *scan, struct attn_gguf_pair *pair, const char *key)
{
    const size_t size = types[pair->type].n_byte;
    char where[ATTN_QUOTE_SIZE + 20];

    snprintf(where, sizeof where, "the value of '%s'", attn_quote_string(key).text);
    if (pair->n > left(scan) / (size > 0 ? size : 8)) {
        if (!pair->is_array)
            return refuse_end(scan, where);
        attn_refuse_in(scan->err, ATTN_FORMAT, scan->file->path, key,
                       "has %" PRIu64 " items of type %s, and %zu bytes are after it", pair->n,
                       types[pair->type].word, left(scan));
        attn_error_hint(scan->err, "a download that broke off? fetch it again");
        return ATTN_FORMAT;
    }
    pair->at = scan->file->data + scan->at;
    if (size > 0)
        scan->at += (size_t)pair->n * size;
    for (uint64_t i = 0; size == 0 && i < pair->n; i++) {
        const char *text;
        size_t n;

        ATTN_TRY(read_string(scan, where, &text, &n));
    }
    pair->end = scan->file->data + scan->at;
    return ATTN_OK;
}

static enum attn_status read_pair(struct scan *scan, uint64_t i, struct pair_record *record)
{
    struct attn_gguf_pair *pair = &record->pair;
    uint64_t type = 0;
    const char *key;

    record->key_at = scan->gguf->keys.size;
    ATTN_TRY(read_name(scan, "key", i, MOST_KEY, &scan->gguf->keys));
    key = scan->gguf->keys.data + record->key_at;
    ATTN_TRY(read_number(scan, 4, "the type of a value", &type));
    ATTN_TRY(check_type(scan, type, key));
    *pair = (struct attn_gguf_pair){.n = 1, .is_array = type == ATTN_GGUF_ARRAY};
    if (pair->is_array) {
        ATTN_TRY(read_number(scan, 4, "the type of an array", &type));
        if (type == ATTN_GGUF_ARRAY)
            return attn_refuse_in(scan->err, ATTN_UNSUPPORTED, scan->file->path, key,
                                  "is an array of arrays, which are not read");
        ATTN_TRY(check_type(scan, type, key));
        ATTN_TRY(read_number(scan, 8, "the length of an array", &pair->n));
    }
    pair->type = (enum attn_gguf_type)type;
    return skip_items(scan, pair, key);
}

static enum attn_status read_pairs(struct scan *scan, uint64_t n)
{
    struct attn_bundle *gguf = scan->gguf;

    for (uint64_t i = 0; i < n; i++) {
        ATTN_TRY(ATTN_GROW(gguf->pairs, gguf->pair_capacity, gguf->n_pair + 1, scan->err));
        ATTN_TRY(read_pair(scan, i, &gguf->pairs[gguf->n_pair]));
        gguf->n_pair++;
    }
    return ATTN_OK;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

/* The types of tensors by number: their name, and whether this library can read them. */
static const struct {
    const char *name; /* NULL: no such type */
    bool is_removed, is_read;
    enum attn_dtype dtype;
} tensor_types[] = {[0] = {"F32", false, true, ATTN_DTYPE_F32},
                    [1] = {"F16", false, true, ATTN_DTYPE_F16},
                    [4] = {"Q4_2", true, false, 0},
                    [5] = {"Q4_3", true, false, 0},
                    [9] = {"Q8_1", false, false, 0},
                    [15] = {"Q8_K", false, false, 0},
                    [24] = {"I8", false, true, ATTN_DTYPE_I8},
                    [25] = {"I16", false, true, ATTN_DTYPE_I16},
                    [26] = {"I32", false, true, ATTN_DTYPE_I32},
                    [27] = {"I64", false, true, ATTN_DTYPE_I64},
                    [28] = {"F64", false, true, ATTN_DTYPE_F64},
                    [30] = {"BF16", false, true, ATTN_DTYPE_BF16},
                    [31] = {"Q4_0_4_4", true, false, 0},
                    [32] = {"Q4_0_4_8", true, false, 0},
                    [33] = {"Q4_0_8_8", true, false, 0},
                    [36] = {"IQ4_NL_4_4", true, false, 0},
                    [37] = {"IQ4_NL_4_8", true, false, 0},
                    [38] = {"IQ4_NL_8_8", true, false, 0},
                    [41] = {"Q1_0", false, false, 0},
                    [42] = {"Q2_0", false, false, 0},
#define BLOCK_ROW(name, number, code, values, bytes)                                               \
    [code] = {#name, false, true, ATTN_DTYPE_##name},
                    ATTN_BLOCK_DTYPE_MAP(BLOCK_ROW)
#undef BLOCK_ROW
};

static enum attn_status find_dtype(const struct scan *scan, const char *name, uint64_t type,
                                   enum attn_dtype *dtype)
{
    const bool is_known =
        type < sizeof tensor_types / sizeof *tensor_types && tensor_types[type].name;

    if (is_known && tensor_types[type].is_read) {
        *dtype = tensor_types[type].dtype;
        return ATTN_OK;
    }
    if (!is_known)
        return attn_error_set(scan->err, ATTN_UNSUPPORTED,
                              "type %" PRIu64 " of tensor '%s' in '%s' is not read", type,
                              attn_quote_string(name).text, scan->path);
    attn_error_set(scan->err, ATTN_UNSUPPORTED,
                   "type %" PRIu64 " (%s) of tensor '%s' in '%s' is %s", type,
                   tensor_types[type].name, attn_quote_string(name).text, scan->path,
                   tensor_types[type].is_removed ? "no longer used" : "not read");
    attn_error_hint(scan->err, tensor_types[type].is_removed
                                   ? "convert the model anew"
                                   : "take a file of another quantization "
                                     "of this model, as Q4_K_M or Q8_0");
    return ATTN_UNSUPPORTED;
}

/* Reads the shape of TENSOR. The file has the sizes in the opposite order. */
static enum attn_status read_shape(struct scan *scan, const char *name, struct attn_tensor *tensor)
{
    uint64_t n_dim = 0, dims[MOST_DIM] = {0};
    size_t n = 1;

    ATTN_TRY(read_number(scan, 4, "the directory of tensors", &n_dim));
    if (n_dim < 1 || n_dim > MOST_DIM)
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "tensor '%s' in '%s' has %" PRIu64 " dimensions, expected 1 to %d",
                              attn_quote_string(name).text, scan->path, n_dim, MOST_DIM);
    for (size_t i = 0; i < n_dim; i++) {
        ATTN_TRY(read_number(scan, 8, "the directory of tensors", &dims[i]));
        if (dims[i] < 1 || dims[i] > INT64_MAX || !attn_checked_mul(n, (size_t)dims[i], &n) ||
            n > SIZE_MAX / 16)
            return attn_error_set(scan->err, ATTN_FORMAT,
                                  "dimension %zu of tensor '%s' in '%s' is %" PRIu64
                                  ", expected 1 or more, and a product that fits",
                                  i, attn_quote_string(name).text, scan->path, dims[i]);
    }
    /* Some files write a matrix with four dimensions, the last two of size 1. */
    while (n_dim > 2 && dims[n_dim - 1] == 1)
        n_dim--;
    tensor->rank = (int)n_dim;
    for (size_t i = 0; i < n_dim; i++)
        tensor->shape[i] = (size_t)dims[n_dim - 1 - i];
    return ATTN_OK;
}

static enum attn_status read_tensor(struct scan *scan, uint64_t i,
                                    struct attn_tensor_record *record)
{
    const size_t name_at = scan->text.size;
    struct attn_tensor tensor = {.rank = 0};
    uint64_t type = 0, offset = 0;
    size_t n_in, block;
    const char *name;

    ATTN_TRY(read_name(scan, "tensor", i, MOST_NAME, &scan->text));
    name = scan->text.data + name_at;
    ATTN_TRY(read_shape(scan, name, &tensor));
    ATTN_TRY(read_number(scan, 4, "the directory of tensors", &type));
    ATTN_TRY(read_number(scan, 8, "the directory of tensors", &offset));
    ATTN_TRY(find_dtype(scan, name, type, &tensor.dtype));
    n_in = tensor.shape[tensor.rank - 1];
    block = attn_dtype_block(tensor.dtype);
    if (n_in % block != 0)
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "rows of tensor '%s' in '%s' have %zu values, expected a multiple of "
                              "%zu, the block of %s",
                              attn_quote_string(name).text, scan->path, n_in, block,
                              attn_dtype_name(tensor.dtype));
    *record = (struct attn_tensor_record){.name_size = strlen(name),
                                          .n_byte = attn_tensor_n_byte(&tensor),
                                          .offset = (size_t)offset,
                                          .shard = scan->shard,
                                          .dtype = (unsigned char)tensor.dtype,
                                          .rank = (unsigned char)tensor.rank};
    for (int d = 0; d < tensor.rank; d++)
        attn_buffer_append_format(&scan->text, "%s%zu", d > 0 ? ", " : "", tensor.shape[d]);
    attn_buffer_append_char(&scan->text, '\0');
    return attn_buffer_check(&scan->text, scan->err);
}

/* Reads the N tensors of the file. Names and shapes become pointers only at the end, when their
 * buffer no longer grows. */
static enum attn_status read_tensors(struct scan *scan, uint64_t n)
{
    struct attn_tensor_files *files = scan->gguf->files;
    const size_t first = files->count;
    char *text;

    for (uint64_t i = 0; i < n; i++) {
        ATTN_TRY(
            ATTN_GROW(files->records, scan->gguf->record_capacity, files->count + 1, scan->err));
        ATTN_TRY(read_tensor(scan, i, &files->records[files->count]));
        files->count++;
    }
    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(text, attn_buffer_take(&scan->text, scan->err)));
    files->shards[scan->shard].text = text;
    for (size_t i = first; i < files->count; i++) {
        files->records[i].name = text;
        files->records[i].shape = text += strlen(text) + 1;
        text += strlen(text) + 1;
    }
    return ATTN_OK;
}

/* Sets where the data of each tensor of the file lies, from tensor FIRST on. As ggml requires, each
 * tensor begins where the previous one ends, rounded up to ALIGNMENT. So tensors never overlap. */
static enum attn_status locate_tensors(struct scan *scan, size_t first, size_t alignment)
{
    const struct attn_tensor_files *files = scan->gguf->files;
    const size_t start = (scan->at + alignment - 1) / alignment * alignment;
    size_t end = 0;

    for (size_t i = first; i < files->count; i++) {
        struct attn_tensor_record *record = &files->records[i];
        size_t begin;

        if (!attn_checked_add(end, alignment - 1, &begin))
            begin = SIZE_MAX;
        begin = begin / alignment * alignment;
        if (record->offset != begin)
            return attn_error_set(scan->err, ATTN_FORMAT,
                                  "tensor '%s' in '%s' begins at byte %zu of the data, expected "
                                  "%zu%s%s%s, aligned to %zu",
                                  attn_quote_string(record->name).text, scan->path, record->offset,
                                  begin, i > first ? ", where '" : "",
                                  i > first ? attn_quote_string(record[-1].name).text : "",
                                  i > first ? "' ends" : "", alignment);
        if (!attn_checked_add(begin, record->n_byte, &end) || end > SIZE_MAX / 2 - start)
            return attn_error_set(scan->err, ATTN_FORMAT,
                                  "tensor '%s' in '%s' ends beyond any file",
                                  attn_quote_string(record->name).text, scan->path);
        record->offset = start + begin;
    }
    if (files->count > first && start + end > scan->file->size) {
        attn_error_set(scan->err, ATTN_FORMAT, "'%s' is short of %zu of its %zu bytes", scan->path,
                       start + end - scan->file->size, start + end);
        attn_error_hint(scan->err, "a download that broke off? fetch it again");
        return ATTN_FORMAT;
    }
    return ATTN_OK;
}

bool attn_gguf_is_source(const struct attn_source *source)
{
    return attn_source_has_part(source, ATTN_GGUF_PART) && !attn_tensor_files_are_in(source);
}

/* --- A file ----------------------------------------------------------------------------------- */

bool attn_gguf_is_file(const struct attn_file *file)
{
    return file->size >= 4 && memcmp(file->data, "GGUF", 4) == 0;
}

const char *attn_gguf_first_text(const struct attn_file *file, const char *key, size_t *size)
{
    struct scan scan = {.file = file, .path = "", .at = 24}; /* magic, version, two numbers */
    const char *name, *text;
    uint64_t type = 0;
    size_t n;

    if (!attn_gguf_is_file(file) || file->size < scan.at ||
        read_string(&scan, "", &name, &n) != ATTN_OK || n != strlen(key) ||
        memcmp(name, key, n) != 0 || read_number(&scan, 4, "", &type) != ATTN_OK ||
        type != ATTN_GGUF_STRING || read_string(&scan, "", &text, size) != ATTN_OK)
        return NULL;
    return text;
}

static enum attn_status check_magic(struct scan *scan)
{
    static const char *const old[] = {"GGML", "ggjt", "ggla", "ggmf",
                                      "lmgg", "tjgg", "algg", "fmgg"};
    const struct attn_file *file = scan->file;
    uint64_t version = 0;

    for (size_t i = 0; file->size >= 4 && i < sizeof old / sizeof *old; i++)
        if (memcmp(file->data, old[i], 4) == 0) {
            attn_error_set(scan->err, ATTN_UNSUPPORTED,
                           "'%s' is a GGML file of before August 2023, which is too old to be read",
                           scan->path);
            attn_error_hint(scan->err, "convert the model anew, to GGUF");
            return ATTN_UNSUPPORTED;
        }
    if (!attn_gguf_is_file(file))
        return attn_error_set(
            scan->err, ATTN_FORMAT, "'%s' begins with '%s', expected GGUF", scan->path,
            attn_quote((const char *)file->data, file->size < 4 ? file->size : 4).text);
    scan->at = 4;
    ATTN_TRY(read_number(scan, 4, "its version", &version));
    if (version == 2 || version == 3)
        return ATTN_OK;
    if (version > 0 && (version & 0xffff) == 0)
        return attn_error_set(scan->err, ATTN_UNSUPPORTED,
                              "'%s' is a big-endian GGUF file, expected a little-endian one",
                              scan->path);
    attn_error_set(scan->err, ATTN_UNSUPPORTED,
                   "'%s' is a GGUF file of version %" PRIu64 ", expected version 2 or 3",
                   scan->path, version);
    if (version == 1)
        attn_error_hint(scan->err, "convert the model anew");
    return ATTN_UNSUPPORTED;
}

/* Returns the pair with KEY among the pairs from FIRST on, which are not sorted yet; NULL: there is
 * none. */
static const struct pair_record *find_unsorted(const struct attn_bundle *gguf, size_t first,
                                               const char *key)
{
    for (size_t i = first; i < gguf->n_pair; i++)
        if (strcmp(gguf->keys.data + gguf->pairs[i].key_at, key) == 0)
            return &gguf->pairs[i];
    return NULL;
}

static enum attn_status read_alignment(const struct scan *scan, size_t first, size_t *alignment)
{
    const struct pair_record *record = find_unsorted(scan->gguf, first, "general.alignment");
    uint64_t value = 0;

    *alignment = DEFAULT_ALIGNMENT;
    if (!record)
        return ATTN_OK;
    if (record->pair.type == ATTN_GGUF_U32 && !record->pair.is_array)
        memcpy(&value, record->pair.at, 4);
    if (value == 0 || value > MOST_ALIGNMENT || (value & (value - 1)) != 0)
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "'general.alignment' in '%s' is %s%" PRIu64
                              ", expected a u32, a power of two from 1 to %d",
                              scan->path, value == 0 ? "of another type or " : "", value,
                              MOST_ALIGNMENT);
    *alignment = (size_t)value;
    return ATTN_OK;
}

/* Reads the whole number of KEY, a key that describes a shard, from the pairs that are not sorted
 * yet. A missing key leaves *value as it is. */
static enum attn_status read_split(const struct scan *scan, size_t first, const char *key,
                                   uint64_t *value)
{
    const struct pair_record *record = find_unsorted(scan->gguf, first, key);
    struct attn_gguf_pair pair;
    int64_t number = -1;

    if (!record)
        return ATTN_OK;
    pair = record->pair;
    if (pair.is_array || pair.type == ATTN_GGUF_STRING || pair.type == ATTN_GGUF_BOOL ||
        !attn_gguf_next_int(&pair, &number) || number < 0)
        return attn_refuse_in(scan->err, ATTN_FORMAT, scan->file->path, key,
                              "is no whole number, expected one");
    *value = (uint64_t)number;
    return ATTN_OK;
}

/* What the keys of a shard say: its number, the number of shards, and the number of tensors in all
 * of them. A file that is not a shard is number 0 of 1. */
struct split {
    uint64_t no, count, n_tensor;
};

static enum attn_status scan_file(struct scan *scan, struct split *split)
{
    const size_t first_pair = scan->gguf->n_pair, first_tensor = scan->gguf->files->count;
    uint64_t n_tensor = 0, n_pair = 0;
    size_t alignment;

    ATTN_TRY(check_magic(scan));
    ATTN_TRY(read_number(scan, 8, "its number of tensors", &n_tensor));
    ATTN_TRY(read_number(scan, 8, "its number of pairs", &n_pair));
    if (n_pair == 0 || n_pair > left(scan) / LEAST_PAIR)
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "'%s' has %" PRIu64 " pairs of metadata in %zu bytes, expected 1 to "
                              "%zu",
                              scan->path, n_pair, left(scan), left(scan) / LEAST_PAIR);
    if (n_tensor > left(scan) / LEAST_TENSOR)
        return attn_error_set(scan->err, ATTN_FORMAT,
                              "'%s' has %" PRIu64 " tensors in %zu bytes, expected at most %zu",
                              scan->path, n_tensor, left(scan), left(scan) / LEAST_TENSOR);
    ATTN_TRY(read_pairs(scan, n_pair));
    ATTN_TRY(read_tensors(scan, n_tensor));
    ATTN_TRY(read_alignment(scan, first_pair, &alignment));
    ATTN_TRY(locate_tensors(scan, first_tensor, alignment));
    *split = (struct split){.count = 1, .n_tensor = n_tensor};
    ATTN_TRY(read_split(scan, first_pair, "split.no", &split->no));
    ATTN_TRY(read_split(scan, first_pair, "split.count", &split->count));
    return read_split(scan, first_pair, "split.tensors.count", &split->n_tensor);
}

/* Reads the pairs and tensors of the open file number SHARD and adds them to GGUF. */
static enum attn_status read_file(struct attn_bundle *gguf, int shard, struct split *split,
                                  struct attn_error *err)
{
    const struct attn_file *file = &gguf->files->shards[shard].file;
    const struct attn_quote path = attn_quote_string(file->path);
    struct scan scan = {.file = file, .path = path.text, .shard = shard, .gguf = gguf, .err = err};
    const enum attn_status status = scan_file(&scan, split);

    attn_buffer_release(&scan.text);
    return status;
}

/* --- Shards ----------------------------------------------------------------------------------- */

/* The length of the longest ending of a shard's name, "-00001-of-00003.gguf". */
enum { SPLIT_SUFFIX = 20, MOST_SHARD = 99999 };

/* Reads the two numbers in the ending of PATH, "-00001-of-00003.gguf". Returns whether it has this
 * ending. */
static bool read_suffix(const char *path, unsigned *no, unsigned *count)
{
    const size_t size = strlen(path);
    int end = 0;

    return size > SPLIT_SUFFIX &&
           sscanf(path + size - SPLIT_SUFFIX, "-%5u-of-%5u.gguf%n", no, count, &end) == 2 &&
           end == SPLIT_SUFFIX;
}

/* Opens and reads shard NUMBER. The first shard is open already. */
static enum attn_status open_shard(struct attn_bundle *gguf, int number, enum attn_load load,
                                   struct attn_error *err)
{
    struct attn_tensor_file *shards = gguf->files->shards;
    const char *first = shards[0].file.path;
    const int n_shard = gguf->files->n_shard;
    const size_t n_pair = gguf->n_pair;
    char path[ATTN_PATH_SIZE];
    struct split split = {0};
    int size;

    size = snprintf(path, sizeof path, "%.*s-%05d-of-%05d.gguf",
                    (int)(strlen(first) - SPLIT_SUFFIX), first, number + 1, n_shard);
    if (size < 0 || size >= ATTN_PATH_SIZE)
        return attn_error_set(err, ATTN_INVALID, "'%s' is too long a name",
                              attn_quote_string(first).text);
    ATTN_TRY(attn_file_open_regular(path, load, &shards[number].file, err));
    ATTN_TRY(read_file(gguf, number, &split, err));
    /* The pairs of later shards are dropped: the first shard describes the model. */
    gguf->n_pair = n_pair;
    if (split.no != (uint64_t)number || split.count != (uint64_t)n_shard)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has 'split.no' %" PRIu64 " and 'split.count' %" PRIu64
                              ", expected %d and %d",
                              attn_quote_string(path).text, split.no, split.count, number, n_shard);
    return ATTN_OK;
}

/* Opens the shards after the first; SPLIT is what the first shard says about them. */
static enum attn_status open_shards(struct attn_bundle *gguf, const struct split *split,
                                    enum attn_load load, struct attn_error *err)
{
    struct attn_tensor_files *files = gguf->files;
    const char *name = files->shards[0].file.path;
    const struct attn_quote path = attn_quote_string(name);
    struct attn_tensor_file *shards;
    unsigned no = 0, count = 0;

    if (split->count <= 1)
        return ATTN_OK;
    if (!read_suffix(name, &no, &count) || count != split->count || no != split->no + 1)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' is number %" PRIu64 " of %" PRIu64
                              " files, expected a name that ends so, as in NAME-00001-of-%05" PRIu64
                              ".gguf, with the others beside it",
                              path.text, split->no + 1, split->count, split->count);
    if (split->no != 0) {
        attn_error_set(err, ATTN_INVALID, "'%s' is a later part of a model, expected the first",
                       path.text);
        return attn_error_hint(err, "give the first shard, %.*s-00001-of-%05u.gguf",
                               (int)(strlen(path.text) - SPLIT_SUFFIX), path.text, count);
    }
    ATTN_TRY(ATTN_ALLOC(shards, count, err));
    shards[0] = files->shards[0];
    attn_free(files->shards);
    files->shards = shards;
    files->n_shard = (int)count;
    for (int i = 1; i < files->n_shard; i++)
        ATTN_TRY(open_shard(gguf, i, load, err));
    if (files->count != split->n_tensor)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' and its other shards have %zu tensors in all, expected %" PRIu64
                              ", its 'split.tensors.count'",
                              path.text, files->count, split->n_tensor);
    return ATTN_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct pair_record *)a)->pair.key,
                  ((const struct pair_record *)b)->pair.key);
}

/* Sorts the pairs and the tensors by name, and fails if a name occurs twice. */
static enum attn_status sort(struct attn_bundle *gguf, struct attn_error *err)
{
    struct attn_tensor_files *files = gguf->files;
    const struct attn_quote path = attn_quote_string(files->shards[0].file.path);

    if (files->count == 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no tensors, expected the tensors of a model", path.text);
    for (size_t i = 0; i < gguf->n_pair; i++)
        gguf->pairs[i].pair.key = gguf->keys.data + gguf->pairs[i].key_at;
    qsort(gguf->pairs, gguf->n_pair, sizeof *gguf->pairs, compare_pairs);
    qsort(files->records, files->count, sizeof *files->records, attn_tensor_compare_names);
    for (size_t i = 1; i < gguf->n_pair; i++)
        if (compare_pairs(&gguf->pairs[i - 1], &gguf->pairs[i]) == 0)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has the key '%s' a second time",
                                  path.text, attn_quote_string(gguf->pairs[i].pair.key).text);
    for (size_t i = 1; i < files->count; i++)
        if (attn_tensor_compare_names(&files->records[i - 1], &files->records[i]) == 0)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has the tensor '%s' a second time",
                                  path.text, attn_quote_string(files->records[i].name).text);
    return ATTN_OK;
}

static enum attn_status read(struct attn_bundle *gguf, enum attn_load load, struct attn_error *err)
{
    struct split split = {0};

    ATTN_TRY(read_file(gguf, 0, &split, err));
    ATTN_TRY(open_shards(gguf, &split, load, err));
    return sort(gguf, err);
}

enum attn_status attn_gguf_take(struct attn_file *file, enum attn_load load,
                                struct attn_bundle **out, struct attn_error *err)
{
    struct attn_bundle *gguf = attn_alloc(1, sizeof *gguf, err);
    enum attn_status status = ATTN_NO_MEMORY;

    if (gguf)
        gguf->files = attn_tensor_files_create(1, err);
    if (!gguf || !gguf->files) {
        attn_file_release(file);
    } else {
        gguf->files->shards[0].file = *file;
        *file = (struct attn_file){0};
        status = read(gguf, load, err);
    }
    ATTN_RETURN_MADE(status, out, gguf, attn_gguf_free);
}

void attn_gguf_free(struct attn_bundle *gguf)
{
    if (!gguf)
        return;
    attn_tensor_files_free(gguf->files);
    attn_buffer_release(&gguf->keys);
    attn_free(gguf->pairs);
    attn_free(gguf);
}

const struct attn_tensor_files *attn_gguf_files(const struct attn_bundle *gguf)
{
    return gguf->files;
}

const char *attn_gguf_path(const struct attn_bundle *gguf)
{
    return attn_tensor_files_path(gguf->files, 0);
}

size_t attn_gguf_n_pair(const struct attn_bundle *gguf)
{
    return gguf->n_pair;
}

struct attn_gguf_pair attn_gguf_pair(const struct attn_bundle *gguf, size_t i)
{
    return gguf->pairs[i].pair;
}

bool attn_gguf_find_pair(const struct attn_bundle *gguf, const char *key,
                         struct attn_gguf_pair *pair)
{
    const struct pair_record wanted = {.pair = {.key = key}};
    const struct pair_record *record =
        bsearch(&wanted, gguf->pairs, gguf->n_pair, sizeof wanted, compare_pairs);

    if (record && pair)
        *pair = record->pair;
    return record;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* Reads the next item of PAIR, which has N_BYTE bytes, into *bits. False: there are no more. */
static bool next_bits(struct attn_gguf_pair *pair, size_t n_byte, uint64_t *bits)
{
    if (pair->n == 0 || n_byte == 0 || (size_t)(pair->end - pair->at) < n_byte)
        return false;
    *bits = 0;
    memcpy(bits, pair->at, n_byte);
    pair->at += n_byte;
    pair->n--;
    return true;
}

bool attn_gguf_next_text(struct attn_gguf_pair *pair, const char **text, size_t *size)
{
    uint64_t n;

    if (pair->type != ATTN_GGUF_STRING || !next_bits(pair, 8, &n) ||
        n > (size_t)(pair->end - pair->at))
        return false;
    *text = (const char *)pair->at;
    *size = (size_t)n;
    pair->at += n;
    return true;
}

bool attn_gguf_next_int(struct attn_gguf_pair *pair, int64_t *value)
{
    const size_t n_byte = types[pair->type].n_byte;
    uint64_t bits;

    if (pair->type == ATTN_GGUF_F32 || pair->type == ATTN_GGUF_F64 ||
        !next_bits(pair, n_byte, &bits))
        return false;
    switch (pair->type) {
    case ATTN_GGUF_I8:
    case ATTN_GGUF_I16:
    case ATTN_GGUF_I32:
    case ATTN_GGUF_I64: /* extends the sign bit */
        *value = (int64_t)(bits << (64 - 8 * n_byte)) >> (64 - 8 * n_byte);
        break;
    case ATTN_GGUF_BOOL:
        *value = bits != 0;
        break;
    default:
        *value = bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
        break;
    }
    return true;
}

bool attn_gguf_next_real(struct attn_gguf_pair *pair, double *value)
{
    uint64_t bits;
    float single;

    if ((pair->type != ATTN_GGUF_F32 && pair->type != ATTN_GGUF_F64) ||
        !next_bits(pair, types[pair->type].n_byte, &bits))
        return false;
    if (pair->type == ATTN_GGUF_F64) {
        memcpy(value, &bits, sizeof *value);
    } else {
        memcpy(&single, &bits, sizeof single);
        *value = (double)single;
    }
    return true;
}

/* Messages name a type as "an array of f32" or "of type string". */
/* Reports that PAIR has the wrong type. WHAT names the expected one. */
static enum attn_status refuse(const struct attn_bundle *gguf, const struct attn_gguf_pair *pair,
                               const char *what, struct attn_error *err)
{
    char found[40];

    snprintf(found, sizeof found, "%s%s", pair->is_array ? "an array of " : "of type ",
             types[pair->type].word);
    return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), pair->key, "is %s, expected %s",
                          found, what);
}

static bool is_whole(const struct attn_gguf_pair *pair)
{
    return pair->type != ATTN_GGUF_F32 && pair->type != ATTN_GGUF_F64 &&
           pair->type != ATTN_GGUF_BOOL && pair->type != ATTN_GGUF_STRING;
}

enum attn_status attn_gguf_get_size(const struct attn_bundle *gguf, const char *key, size_t *out,
                                    struct attn_error *err)
{
    struct attn_gguf_pair pair, rest;
    int64_t value = -1, next;

    if (!attn_gguf_find_pair(gguf, key, &pair))
        return ATTN_OK;
    rest = pair;
    if (!is_whole(&pair) || !attn_gguf_next_int(&rest, &value))
        return refuse(gguf, &pair, "a whole number", err);
    while (attn_gguf_next_int(&rest, &next))
        if (next != value)
            return attn_refuse_in(err, ATTN_UNSUPPORTED, attn_gguf_path(gguf), key,
                                  "is %" PRId64 " in one layer and %" PRId64
                                  " in another, expected one number for all",
                                  value, next);
    if (value < 0)
        return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), key,
                              "is %" PRId64 ", expected 0 or more", value);
    *out = (size_t)value;
    return ATTN_OK;
}

enum attn_status attn_gguf_get_real(const struct attn_bundle *gguf, const char *key, double *out,
                                    struct attn_error *err)
{
    struct attn_gguf_pair pair, rest;
    double value, next;

    if (!attn_gguf_find_pair(gguf, key, &pair))
        return ATTN_OK;
    rest = pair;
    if (!attn_gguf_next_real(&rest, &value))
        return refuse(gguf, &pair, "a number of type f32", err);
    while (attn_gguf_next_real(&rest, &next))
        if (!(next == value))
            return attn_refuse_in(
                err, ATTN_UNSUPPORTED, attn_gguf_path(gguf), key,
                "is %g in one layer and %g in another, expected one number for all", value, next);
    if (!isfinite(value))
        return attn_refuse_in(err, ATTN_FORMAT, attn_gguf_path(gguf), key,
                              "is not finite, expected a number");
    *out = value;
    return ATTN_OK;
}

enum attn_status attn_gguf_get_bool(const struct attn_bundle *gguf, const char *key, bool *out,
                                    struct attn_error *err)
{
    struct attn_gguf_pair pair;
    int64_t value;

    if (!attn_gguf_find_pair(gguf, key, &pair))
        return ATTN_OK;
    if (pair.is_array || pair.type != ATTN_GGUF_BOOL || !attn_gguf_next_int(&pair, &value))
        return refuse(gguf, &pair, "a bool", err);
    *out = value != 0;
    return ATTN_OK;
}

enum attn_status attn_gguf_get_text(const struct attn_bundle *gguf, const char *key,
                                    const char **text, size_t *size, struct attn_error *err)
{
    struct attn_gguf_pair pair;

    if (!attn_gguf_find_pair(gguf, key, &pair))
        return ATTN_OK;
    if (pair.is_array || !attn_gguf_next_text(&pair, text, size))
        return refuse(gguf, &pair, "a string", err);
    return ATTN_OK;
}

enum attn_status attn_gguf_get_array(const struct attn_bundle *gguf, const char *key,
                                     enum attn_gguf_type type, struct attn_gguf_pair *pair,
                                     struct attn_error *err)
{
    char expected[40];

    if (!attn_gguf_find_pair(gguf, key, pair)) {
        *pair = (struct attn_gguf_pair){.key = key, .type = type};
        return ATTN_OK;
    }
    if (pair->is_array && pair->type == type)
        return ATTN_OK;
    snprintf(expected, sizeof expected, "an array of %s", types[type].word);
    return refuse(gguf, pair, expected, err);
}
