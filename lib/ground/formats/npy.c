/*
 * npy.c - see npy.h: reads the header of a .npy file strictly, and converts the elements, one at a
 * time or all in place.
 *
 * The header is magic, version and length, then a Python dict literal as numpy writes it. Blanks,
 * kind of quotes, order of the members and commas may differ.
 *
 *     \x93NUMPY 1 0 u16 {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * Escapes, 0x10, 1_000, nested values and duplicate keys are refused: Python accepts them, but no
 * writer needs them.
 */
#include "formats/npy.h"

#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "formats/zip.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- The header: offset, type and shape of the data ------------------------------------------ */

struct layout {
    enum attn_dtype dtype;
    bool is_big_endian;
    bool is_fortran_order; /* the first dimension varies fastest */
    int rank;
    size_t shape[ATTN_MAX_RANK]; /* the number of elements times their size fits a size_t */
    size_t n_element;
    size_t data_start; /* byte at which the data begin; they reach to the end of the file */
};

enum { MAGIC_SIZE = 6, VERSION_SIZE = 2, HEADER_MAX = ATTN_NPY_HEAD_MAX - 12, SHOWN_MAX = 24 };

#define MAGIC "\x93NUMPY"

/* The part of the header's text that was not read yet, and what messages need. */
struct reader {
    const struct attn_file *file;
    enum attn_npy_types types; /* the types that the caller accepts, for messages */
    const char *at, *end;
    struct attn_error *err;
};

/* A piece of the header's text. */
struct slice {
    const char *text;
    size_t size;
};

static struct attn_quote quote_path(const struct attn_file *file)
{
    return attn_quote_string(file->path);
}

static enum attn_status fail_expected(const struct reader *reader, const char *expected)
{
    const size_t left = (size_t)(reader->end - reader->at);
    const size_t offset = (size_t)((const unsigned char *)reader->at - reader->file->data);

    if (left == 0)
        return attn_error_set(reader->err, ATTN_FORMAT, "the header of '%s' ends, expected %s",
                              quote_path(reader->file).text, expected);
    return attn_error_set(
        reader->err, ATTN_FORMAT, "'%s' has '%s' at byte %zu of its header, expected %s",
        quote_path(reader->file).text,
        attn_quote(reader->at, left < SHOWN_MAX ? left : SHOWN_MAX).text, offset, expected);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4))
        reader->at++;
}

/* Skips blanks, and then WORD if it comes next. Returns whether it did. */
static bool take_word(struct reader *reader, const char *word)
{
    const size_t size = strlen(word);

    skip_blanks(reader);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

/* Skips blanks, and then reads a quoted string if one comes next. Returns whether it did. */
static bool read_string(struct reader *reader, struct slice *string)
{
    const char *close;

    skip_blanks(reader);
    if (reader->at == reader->end || (*reader->at != '\'' && *reader->at != '"'))
        return false;
    close = memchr(reader->at + 1, *reader->at, (size_t)(reader->end - reader->at - 1));
    if (!close)
        return false;
    *string = (struct slice){reader->at + 1, (size_t)(close - reader->at - 1)};
    reader->at = close + 1;
    return true;
}

/* The types of numbers: as a header writes them without their byte order, and as numpy calls them.
 */
static const struct {
    char text[3];
    enum attn_dtype dtype;
    const char *name;
} types[] = {
    {"b1", ATTN_DTYPE_BOOL, "bool"},   {"i1", ATTN_DTYPE_I8, "int8"},
    {"i2", ATTN_DTYPE_I16, "int16"},   {"i4", ATTN_DTYPE_I32, "int32"},
    {"i8", ATTN_DTYPE_I64, "int64"},   {"u1", ATTN_DTYPE_U8, "uint8"},
    {"u2", ATTN_DTYPE_U16, "uint16"},  {"u4", ATTN_DTYPE_U32, "uint32"},
    {"u8", ATTN_DTYPE_U64, "uint64"},  {"f2", ATTN_DTYPE_F16, "float16"},
    {"f4", ATTN_DTYPE_F32, "float32"}, {"f8", ATTN_DTYPE_F64, "float64"},
};

enum { N_TYPE = sizeof types / sizeof *types };

/* The types that are no plain numbers, by the letter of their kind. */
static const struct {
    char letter;
    const char *name;
} other_kinds[] = {{'O', "Python objects"}, {'c', "complex numbers"}, {'V', "records"},
                   {'S', "bytes of text"},  {'a', "bytes of text"},   {'U', "text"},
                   {'M', "dates"},          {'m', "spans of time"}};

static enum attn_status refuse_type(const struct reader *reader, const char *what,
                                    struct slice descr)
{
    const bool is_of_floats = reader->types == ATTN_NPY_FLOATS;

    attn_error_set(reader->err, ATTN_UNSUPPORTED, "'%s' holds %s ('%s'), expected %s",
                   quote_path(reader->file).text, what, attn_quote(descr.text, descr.size).text,
                   is_of_floats ? "float32, float64 or float16"
                                : "booleans, integers or floats of at most 64 bits");
    attn_error_hint(reader->err, "np.save('FILE.npy', array.astype('float32')) writes %s",
                    is_of_floats ? "floats" : "plain numbers");
    return ATTN_UNSUPPORTED;
}

/* Reads a type such as "<f4" into LAYOUT. */
static enum attn_status read_descr(struct reader *reader, struct layout *layout)
{
    struct slice descr;
    size_t i = 0;

    skip_blanks(reader);
    if (reader->at < reader->end && (*reader->at == '[' || *reader->at == '('))
        return refuse_type(reader, "records",
                           (struct slice){reader->at, (size_t)(reader->end - reader->at)});
    if (!read_string(reader, &descr))
        return fail_expected(reader, "a type like '<f4'");
    for (size_t k = 0; descr.size >= 2 && k < sizeof other_kinds / sizeof *other_kinds; k++)
        if (other_kinds[k].letter == descr.text[1])
            return refuse_type(reader, other_kinds[k].name, descr);
    while (i < N_TYPE && (descr.size != 3 || memcmp(descr.text + 1, types[i].text, 2) != 0))
        i++;
    if (i == N_TYPE)
        return refuse_type(reader, "numbers of another type", descr);
    /* Types of one byte have no byte order; the others must have one. */
    if (descr.text[0] != '<' && descr.text[0] != '>' &&
        (descr.text[0] != '|' || types[i].text[1] != '1'))
        return attn_error_set(reader->err, ATTN_FORMAT,
                              "'%s' has the type '%s', whose first character is no byte order, "
                              "expected '<', '>', or '|' for single bytes",
                              quote_path(reader->file).text,
                              attn_quote(descr.text, descr.size).text);
    layout->dtype = types[i].dtype;
    layout->is_big_endian = descr.text[0] == '>';
    return ATTN_OK;
}

static enum attn_status read_order(struct reader *reader, struct layout *layout)
{
    layout->is_fortran_order = take_word(reader, "True");
    if (!layout->is_fortran_order && !take_word(reader, "False"))
        return fail_expected(reader, "True or False");
    return ATTN_OK;
}

/* Reads one size of the shape: digits without a leading 0, at most as many as a size_t can hold. */
static enum attn_status read_size(struct reader *reader, size_t *size)
{
    const char *start;
    uint64_t value;

    skip_blanks(reader);
    start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    if (!attn_parse_uint(start, (size_t)(reader->at - start), &value) || value > SIZE_MAX ||
        (*start == '0' && reader->at - start > 1)) {
        reader->at = start;
        return fail_expected(reader, "a size: a whole number below 2^64");
    }
    *size = (size_t)value;
    return ATTN_OK;
}

/* Reads the shape, a tuple: "()", "(3,)", "(3, 4)", also with a comma at the end. "(3)" is no tuple
 * in Python. */
static enum attn_status read_shape(struct reader *reader, struct layout *layout)
{
    bool has_comma = true;

    if (!take_word(reader, "("))
        return fail_expected(reader, "a tuple of sizes");
    layout->rank = 0;
    while (!take_word(reader, ")")) {
        if (!has_comma)
            return fail_expected(reader, "',' or ')'");
        if (layout->rank == ATTN_MAX_RANK)
            return attn_error_set(reader->err, ATTN_UNSUPPORTED,
                                  "'%s' has more than %d dimensions, expected at most that",
                                  quote_path(reader->file).text, ATTN_MAX_RANK);
        ATTN_TRY(read_size(reader, &layout->shape[layout->rank]));
        layout->rank++;
        has_comma = take_word(reader, ",");
    }
    if (layout->rank == 1 && !has_comma)
        return attn_error_set(reader->err, ATTN_FORMAT,
                              "'%s' has a shape that is a number in brackets, expected a tuple",
                              quote_path(reader->file).text);
    return ATTN_OK;
}

/* The members of the header's dict, and the functions that read them. */
static const struct {
    const char *name;
    enum attn_status (*read)(struct reader *reader, struct layout *layout);
} members[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

enum { N_MEMBER = sizeof members / sizeof *members };

static enum attn_status read_member(struct reader *reader, struct layout *layout,
                                    bool has[N_MEMBER])
{
    struct slice key;
    size_t i = 0;

    if (!read_string(reader, &key))
        return fail_expected(reader, "a key in quotes, or '}'");
    while (i < N_MEMBER && (strlen(members[i].name) != key.size ||
                            memcmp(members[i].name, key.text, key.size) != 0))
        i++;
    if (i == N_MEMBER || has[i])
        return attn_error_set(reader->err, ATTN_FORMAT,
                              "the header of '%s' has the key '%s'%s, expected 'descr', "
                              "'fortran_order' and 'shape', once each",
                              quote_path(reader->file).text, attn_quote(key.text, key.size).text,
                              i < N_MEMBER ? " twice" : "");
    has[i] = true;
    if (!take_word(reader, ":"))
        return fail_expected(reader, "':'");
    return members[i].read(reader, layout);
}

static enum attn_status read_dict(struct reader *reader, struct layout *layout)
{
    bool has[N_MEMBER] = {false}, has_comma = true;

    if (!take_word(reader, "{"))
        return fail_expected(reader, "'{'");
    while (!take_word(reader, "}")) {
        if (!has_comma)
            return fail_expected(reader, "',' or '}'");
        ATTN_TRY(read_member(reader, layout, has));
        has_comma = take_word(reader, ",");
    }
    for (size_t i = 0; i < N_MEMBER; i++)
        if (!has[i])
            return attn_error_set(reader->err, ATTN_FORMAT,
                                  "the header of '%s' has no '%s', expected 'descr', "
                                  "'fortran_order' and 'shape'",
                                  quote_path(reader->file).text, members[i].name);
    skip_blanks(reader);
    return reader->at == reader->end ? ATTN_OK
                                     : fail_expected(reader, "blanks to the end of the header");
}

/* Checks the first bytes of FILE, and makes READER the text of its header. */
static enum attn_status find_header(const struct attn_file *file, struct reader *reader,
                                    struct attn_error *err)
{
    const unsigned char *data = file->data;
    size_t prefix = MAGIC_SIZE + VERSION_SIZE, n_length, length;

    if (file->size < prefix || memcmp(data, MAGIC, MAGIC_SIZE) != 0) {
        attn_error_set(err, ATTN_FORMAT, "'%s' does not begin as a .npy file does",
                       quote_path(file).text);
        attn_error_hint(err, "%s",
                        file->size >= 4 && memcmp(data, "PK\3\4", 4) == 0
                            ? "it looks like a .npz archive: unzip it and give one of its arrays"
                            : "np.save('FILE.npy', array) writes one");
        return ATTN_FORMAT;
    }
    if (data[MAGIC_SIZE] < 1 || data[MAGIC_SIZE] > 3 || data[MAGIC_SIZE + 1] != 0)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has version %d.%d of .npy, expected 1.0, 2.0 or 3.0",
                              quote_path(file).text, data[MAGIC_SIZE], data[MAGIC_SIZE + 1]);
    n_length = data[MAGIC_SIZE] == 1 ? 2 : 4;
    if (file->size - prefix < n_length)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has %zu bytes, expected a .npy file with a header",
                              quote_path(file).text, file->size);
    length = (size_t)attn_little_endian(data + prefix, n_length);
    prefix += n_length;
    if (length > HEADER_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has a header of %zu bytes, expected at most %d",
                              quote_path(file).text, length, HEADER_MAX);
    if (file->size - prefix < length)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has %zu bytes and a header of %zu, expected more bytes than "
                              "the header has",
                              quote_path(file).text, file->size, length);
    reader->at = (const char *)data + prefix;
    reader->end = reader->at + length;
    return ATTN_OK;
}

/* Checks that the data have the size that the shape requires. A dimension of 0 makes the array
 * empty. */
static enum attn_status check_size(const struct attn_file *file, struct layout *layout,
                                   struct attn_error *err)
{
    const size_t left = file->size - layout->data_start;
    size_t n_element = 1, n_byte;
    bool is_empty = false, fits = true;

    for (int i = 0; i < layout->rank; i++)
        is_empty |= layout->shape[i] == 0;
    for (int i = 0; i < layout->rank && !is_empty; i++)
        fits = fits && attn_checked_mul(n_element, layout->shape[i], &n_element);
    layout->n_element = is_empty ? 0 : n_element;
    if (!fits || !attn_checked_mul(layout->n_element, attn_dtype_bits(layout->dtype) / 8, &n_byte))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has a shape whose size does not fit 64 bits",
                              quote_path(file).text);
    if (n_byte != left)
        return attn_error_set(
            err, ATTN_FORMAT, "'%s' has %zu bytes of data, expected %zu, as its shape says%s",
            quote_path(file).text, left, n_byte, left < n_byte ? ": it is truncated" : "");
    return ATTN_OK;
}

/* --- The file ------------------------------------------------------------------------------- */

struct attn_npy_file {
    struct attn_file file; /* owns */
    struct layout layout;
};

enum attn_status attn_npy_take(struct attn_file *file, enum attn_npy_types taken,
                               struct attn_npy_file **out, struct attn_error *err)
{
    struct attn_npy_file *npy = attn_alloc(1, sizeof *npy, err);
    struct reader reader = {.types = taken, .err = err};
    enum attn_status status;

    if (!npy) {
        attn_file_release(file);
        return ATTN_NO_MEMORY;
    }
    npy->file = *file;
    *file = (struct attn_file){0};
    reader.file = &npy->file;
    status = find_header(&npy->file, &reader, err);
    ATTN_THEN(status, read_dict(&reader, &npy->layout));
    if (status == ATTN_OK) {
        npy->layout.data_start = (size_t)((const unsigned char *)reader.end - npy->file.data);
        status = check_size(&npy->file, &npy->layout, err);
    }
    ATTN_RETURN_MADE(status, out, npy, attn_npy_free);
}

enum attn_status attn_npy_open(const char *path, enum attn_load load, enum attn_npy_types taken,
                               struct attn_npy_file **out, struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open(path, load, &file, err));
    return attn_npy_take(&file, taken, out, err);
}

void attn_npy_free(struct attn_npy_file *npy)
{
    if (!npy)
        return;
    attn_file_release(&npy->file);
    attn_free(npy);
}

const char *attn_npy_path(const struct attn_npy_file *npy)
{
    return npy->file.path;
}

size_t attn_npy_n_element(const struct attn_npy_file *npy)
{
    return npy->layout.n_element;
}

const char *attn_npy_dtype_name(const struct attn_npy_file *npy)
{
    size_t i = 0;

    while (types[i].dtype != npy->layout.dtype)
        i++;
    return types[i].name;
}

/* Returns the bits of element I, in the order of the file, as an unsigned number. */
static uint64_t read_bits(const struct attn_npy_file *npy, size_t i)
{
    const struct layout *layout = &npy->layout;
    const size_t size = attn_dtype_bits(layout->dtype) / 8;
    const unsigned char *at = npy->file.data + layout->data_start + i * size;
    uint64_t bits = 0;

    for (size_t b = 0; b < size; b++)
        bits = bits << 8 | at[layout->is_big_endian ? b : size - 1 - b];
    return bits;
}

/* Returns the number that BITS stand for. It is exact except for integers of 64 bits. */
static double bits_value(enum attn_dtype dtype, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float single;
    double wide;

    switch (dtype) {
    case ATTN_DTYPE_I8:
        return (int8_t)bits;
    case ATTN_DTYPE_I16:
        return (int16_t)bits;
    case ATTN_DTYPE_I32:
        return (int32_t)bits;
    case ATTN_DTYPE_I64:
        return (double)(int64_t)bits;
    case ATTN_DTYPE_F16:
        return (double)attn_half_value(low);
    case ATTN_DTYPE_F32:
        memcpy(&single, &low, sizeof single);
        return (double)single;
    case ATTN_DTYPE_F64:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    default:
        return (double)bits;
    }
}

/* Goes through the elements in C order, and knows where each one is in the file. */
struct walk {
    const struct layout *layout;
    size_t index[ATTN_MAX_RANK]; /* the index of the current element */
    size_t stride[ATTN_MAX_RANK];
    size_t at; /* number of elements before it in the file */
};

static struct walk start_walk(const struct layout *layout)
{
    struct walk walk = {.layout = layout};
    size_t stride = 1;

    for (int d = 0; d < layout->rank; d++) {
        walk.stride[d] = stride;
        stride *= layout->shape[d]; /* wraps around only if there are no elements */
    }
    return walk;
}

static void step(struct walk *walk)
{
    const struct layout *layout = walk->layout;

    if (!layout->is_fortran_order) {
        walk->at++;
        return;
    }
    for (int d = layout->rank - 1; d >= 0; d--) {
        walk->at += walk->stride[d];
        if (++walk->index[d] < layout->shape[d])
            return;
        walk->at -= walk->stride[d] * layout->shape[d];
        walk->index[d] = 0;
    }
}

struct attn_tensor attn_npy_tensor(const struct attn_npy_file *npy)
{
    const struct layout *layout = &npy->layout;
    const bool is_native = layout->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    struct attn_tensor tensor = {.dtype = layout->dtype, .rank = layout->rank};

    memcpy(tensor.shape, layout->shape, (size_t)layout->rank * sizeof *tensor.shape);
    if (is_native && !(layout->is_fortran_order && layout->rank > 1))
        tensor.data = npy->file.data + layout->data_start;
    return tensor;
}

const float *attn_npy_floats_in_place(const struct attn_npy_file *npy)
{
    const struct attn_tensor tensor = attn_npy_tensor(npy);

    return tensor.dtype == ATTN_DTYPE_F32 && (uintptr_t)tensor.data % sizeof(float) == 0
               ? tensor.data
               : NULL;
}

void attn_npy_read_floats(const struct attn_npy_file *npy, float *out)
{
    const struct layout *layout = &npy->layout;
    const float *in_place = attn_npy_floats_in_place(npy);
    struct walk walk = start_walk(layout);

    if (in_place) {
        memcpy(out, in_place, layout->n_element * sizeof *out);
        return;
    }
    for (size_t i = 0; i < layout->n_element; i++, step(&walk)) {
        const uint64_t bits = read_bits(npy, walk.at);

        /* Rounds integers of 64 bits once, to float, and not to double first. */
        out[i] = layout->dtype == ATTN_DTYPE_I64   ? (float)(int64_t)bits
                 : layout->dtype == ATTN_DTYPE_U64 ? (float)bits
                                                   : (float)bits_value(layout->dtype, bits);
    }
}

void attn_npy_read_bytes(const struct attn_npy_file *npy, unsigned char *out)
{
    struct walk walk = start_walk(&npy->layout);

    for (size_t i = 0; i < npy->layout.n_element; i++, step(&walk))
        out[i] = (unsigned char)read_bits(npy, walk.at);
}

/* Reports the value of cell I, counted in C order, as no 0 or 1. */
static enum attn_status refuse_cell(const struct attn_npy_file *npy, size_t i, double value,
                                    struct attn_error *err)
{
    const struct layout *layout = &npy->layout;
    size_t index[ATTN_MAX_RANK], n = 0;
    char place[ATTN_SHAPE_TEXT_SIZE] = "";

    for (int d = layout->rank - 1; d >= 0; d--) {
        index[d] = i % layout->shape[d];
        i /= layout->shape[d];
    }
    for (int d = 0; d < layout->rank; d++)
        attn_fixed_text_append(place, sizeof place, &n, d > 0 ? ", %zu" : "%zu", index[d]);
    return attn_error_set(err, ATTN_FORMAT, "'%s' has %g at [%s], expected 0 or 1",
                          attn_quote_string(npy->file.path).text, value, place);
}

enum attn_status attn_npy_read_cells(const struct attn_npy_file *npy, unsigned char *out,
                                     struct attn_error *err)
{
    const struct layout *layout = &npy->layout;
    struct walk walk = start_walk(layout);

    for (size_t i = 0; i < layout->n_element; i++, step(&walk)) {
        const double value = bits_value(layout->dtype, read_bits(npy, walk.at));

        if (value != 0 && value != 1)
            return refuse_cell(npy, i, value, err);
        out[i] = value != 0;
    }
    return ATTN_OK;
}

/* --- Archives --------------------------------------------------------------------------------- */

/* Finds the member NAME, or NAME.npy; NULL: there is none. */
static const struct attn_zip_member *find_member(const struct attn_zip *zip, const char *name)
{
    const size_t n = name ? strlen(name) : 0;

    for (size_t i = 0; name && i < zip->n; i++) {
        const struct attn_zip_member *member = &zip->members[i];
        const size_t n_more = member->n_name < n ? SIZE_MAX : member->n_name - n;

        if ((n_more == 0 || (n_more == 4 && memcmp(member->name + n, ".npy", 4) == 0)) &&
            memcmp(member->name, name, n) == 0)
            return member;
    }
    return NULL;
}

/* Copies the shape and the numbers of MEMBER of ZIP to ARRAY. */
static enum attn_status read_array(const struct attn_zip *zip, const struct attn_zip_member *member,
                                   struct attn_ndarray *array, struct attn_error *err)
{
    struct attn_file file = {.data = zip->file->data + member->begin,
                             .size = member->size,
                             .storage = ATTN_FILE_BORROWED,
                             .descriptor = -1};
    const size_t n_path = strlen(zip->file->path) + member->n_name + 2;
    struct attn_npy_file *npy;
    struct attn_tensor tensor;

    ATTN_TRY(ATTN_NEW(file.path, attn_alloc(n_path, 1, err))); /* for messages */
    snprintf(file.path, n_path, "%s/%.*s", zip->file->path, (int)member->n_name, member->name);
    ATTN_TRY(attn_npy_take(&file, ATTN_NPY_NUMBERS, &npy, err));
    tensor = attn_npy_tensor(npy);
    array->converted = attn_alloc_uninitialized(attn_npy_n_element(npy), sizeof(float), err);
    if (array->converted)
        attn_npy_read_floats(npy, array->converted);
    attn_npy_free(npy);
    array->data = array->converted;
    array->rank = tensor.rank;
    memcpy(array->shape, tensor.shape, sizeof array->shape);
    return array->data ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_npz_read(const char *path, const char *name, const char *other,
                               struct attn_ndarray *array, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_zip zip = {0};
    const struct attn_zip_member *member;
    enum attn_status status;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &file, err));
    status = attn_zip_read(&file, ".npz file", &zip, err);
    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "numpy.savez stores them, numpy.savez_compressed does not");
    member = find_member(&zip, name);
    member = member ? member : find_member(&zip, other);
    if (status == ATTN_OK && !member)
        status = attn_error_set(err, ATTN_INVALID, "'%s' has no array '%s'",
                                attn_quote_string(path).text, name);
    ATTN_THEN(status, member ? read_array(&zip, member, array, err) : ATTN_INVALID);
    attn_zip_release(&zip);
    attn_file_release(&file);
    return status;
}
