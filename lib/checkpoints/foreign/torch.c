#include "foreign/torch.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "foreign/foreign.h"
#include "formats/opener.h"
#include "formats/tensor_files_internal.h"
#include "formats/zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char zip_mark[] = "PK\3\4";
static const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

/* A storage, and where its elements are in the file. */
struct storage {
    struct attn_pickle_storage of;
    size_t begin;
    bool is_found;
};

struct reader {
    const struct attn_file *file;
    struct attn_quote path;
    struct attn_pickle *pickle;
    struct storage *storages; /* [n_storage] owns; sorted by key */
    size_t n_storage;
    attn_pickle_value tensors; /* the dictionary */
    bool names_order;          /* a member names the order of bytes */
    struct attn_error *err;
};

/* A tensor of the file, as its arguments describe it. */
struct view {
    size_t begin;        /* byte of its storage in the file */
    size_t first;        /* the first element in the storage */
    int64_t dtype, rank; /* of the storage; of the tensor: no padding, as views are compared */
    size_t shape[ATTN_MAX_RANK], strides[ATTN_MAX_RANK];
};

/* A tensor that is not used as the file has it. */
struct gathered {
    const struct reader *reader;
    attn_pickle_value tensor;
    struct attn_tensor_record *record;
};

static bool is_zip(const struct attn_file *file)
{
    return file->size >= 4 && memcmp(file->data, zip_mark, 4) == 0;
}

/* Trap: a file of safetensors begins with the size of its header, and one of llama2.c with a width,
 * which may end with 0x80, too. LONG1 or FRAME follows PROTO. */
bool attn_torch_is_file(const struct attn_file *file)
{
    const unsigned char *data = file->data;

    return is_zip(file) || (file->size > 8 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 &&
                            (data[2] == 0x8a || data[2] == 0x95) && data[8] != '{');
}

static enum attn_status refuse(const struct reader *r, const char *what)
{
    attn_error_set(r->err, ATTN_FORMAT, "'%s' %s", r->path.text, what);
    return ATTN_FORMAT;
}

/* --- Storages --------------------------------------------------------------------------------- */

static int compare_storages(const void *a, const void *b)
{
    const struct attn_pickle_storage *x = &((const struct storage *)a)->of;
    const struct attn_pickle_storage *y = &((const struct storage *)b)->of;

    return attn_compare_texts(x->key, x->n_key, y->key, y->n_key);
}

static struct storage *find_storage(const struct reader *r, const char *key, size_t n_key)
{
    const struct storage wanted = {.of = {.key = key, .n_key = n_key}};

    return bsearch(&wanted, r->storages, r->n_storage, sizeof wanted, compare_storages);
}

/* Lists the storages that the pickle mentions, each once. */
static enum attn_status list_storages(struct reader *r)
{
    size_t n = 0, n_kept = 0;

    while (attn_pickle_storage(r->pickle, n) != ATTN_PICKLE_NONE)
        n++;
    ATTN_TRY(ATTN_ALLOC(r->storages, n, r->err));
    for (size_t i = 0; i < n; i++)
        attn_pickle_get_storage(r->pickle, attn_pickle_storage(r->pickle, i), &r->storages[i].of);
    qsort(r->storages, n, sizeof *r->storages, compare_storages);
    for (size_t i = 0; i < n; i++) {
        const struct attn_pickle_storage *of = &r->storages[i].of;
        const struct attn_pickle_storage *last = n_kept > 0 ? &r->storages[n_kept - 1].of : NULL;

        if (of->n > SIZE_MAX / 16)
            return refuse(r, "has a storage larger than memory");
        if (!last || attn_compare_texts(last->key, last->n_key, of->key, of->n_key) != 0)
            r->storages[n_kept++] = r->storages[i];
        else if (last->dtype != of->dtype || last->n != of->n)
            return refuse(r, "has a storage of two types or sizes");
    }
    r->n_storage = n_kept;
    return ATTN_OK;
}

/* --- The zip form ----------------------------------------------------------------------------- */

static bool is_member(const struct attn_zip_member *member, const char *folder, size_t n_folder,
                      const char *name)
{
    return member->n_name == n_folder + strlen(name) &&
           memcmp(member->name, folder, n_folder) == 0 &&
           memcmp(member->name + n_folder, name, strlen(name)) == 0;
}

static const struct attn_zip_member *find_pickle(const struct attn_zip *zip)
{
    static const char name[] = "/data.pkl";

    for (size_t i = 0; i < zip->n; i++) {
        const size_t n = zip->members[i].n_name;

        if (n >= strlen(name) &&
            memcmp(zip->members[i].name + n - strlen(name), name, strlen(name)) == 0)
            return &zip->members[i];
    }
    return NULL;
}

/* Finds the elements of the storages among the members FOLDER/data/KEY. */
static enum attn_status place_members(struct reader *r, const struct attn_zip *zip,
                                      const char *folder, size_t n_folder)
{
    static const char data[] = "/data/";

    for (size_t i = 0; i < zip->n; i++) {
        const struct attn_zip_member *member = &zip->members[i];
        const size_t n = n_folder + strlen(data);
        struct storage *storage = NULL;

        if (member->n_name > n && memcmp(member->name, folder, n_folder) == 0 &&
            memcmp(member->name + n_folder, data, strlen(data)) == 0)
            storage = find_storage(r, member->name + n, member->n_name - n);
        if (!storage)
            continue;
        if (member->size < attn_dtype_n_byte(storage->of.dtype, (size_t)storage->of.n))
            return attn_error_set(
                r->err, ATTN_FORMAT, "storage '%s' in '%s' has %zu bytes, expected %zu",
                attn_quote(storage->of.key, storage->of.n_key).text, r->path.text, member->size,
                attn_dtype_n_byte(storage->of.dtype, (size_t)storage->of.n));
        storage->begin = member->begin;
        storage->is_found = true;
    }
    return ATTN_OK;
}

static enum attn_status read_zip(struct reader *r, struct attn_zip *zip)
{
    const struct attn_zip_member *pickle;
    enum attn_status status = attn_zip_read(r->file, "file of PyTorch", zip, r->err);
    size_t n_folder;

    if (status == ATTN_UNSUPPORTED && r->err && strstr(r->err->message, "/code/__torch__"))
        attn_error_hint(r->err, "TorchScript: torch.save(torch.jit.load('FILE').state_dict(), "
                                "'pytorch_model.bin'); of OpenAI's CLIP: hf download "
                                "openai/clip-vit-base-patch32");
    else if (status == ATTN_UNSUPPORTED)
        attn_error_hint(r->err, "torch.save stores them");
    ATTN_TRY(status);
    pickle = find_pickle(zip);
    if (!pickle)
        return refuse(r, "is a zip file without data.pkl, expected one of torch.save");
    n_folder = pickle->n_name - strlen("/data.pkl");
    for (size_t i = 0; i < zip->n; i++) {
        const struct attn_zip_member *member = &zip->members[i];

        if (!is_member(member, pickle->name, n_folder, "/byteorder"))
            continue;
        r->names_order = true;
        if (attn_compare_texts((const char *)r->file->data + member->begin, member->size, "little",
                               6) != 0)
            return attn_error_set(r->err, ATTN_UNSUPPORTED,
                                  "'%s' has big-endian numbers, expected little-endian ones",
                                  r->path.text);
    }
    ATTN_TRY(
        attn_pickle_read(r->file, pickle->begin, pickle->begin + pickle->size, &r->pickle, r->err));
    ATTN_TRY(list_storages(r));
    return place_members(r, zip, pickle->name, n_folder);
}

/* --- The stream form -------------------------------------------------------------------------- */

/* Reads the pickle at *AT, and moves *AT behind it. */
static enum attn_status next_pickle(const struct reader *r, size_t *at, struct attn_pickle **pickle)
{
    ATTN_TRY(attn_pickle_read(r->file, *at, r->file->size, pickle, r->err));
    *at = attn_pickle_end(*pickle);
    return ATTN_OK;
}

/* Checks PICKLE, the pickle number I of a stream, which comes before the object. */
static enum attn_status check_head(const struct reader *r, int i, const struct attn_pickle *pickle)
{
    const attn_pickle_value value = attn_pickle_root(pickle);
    int64_t number = 1;
    size_t size = 0;
    const char *text = attn_pickle_text(pickle, value, &size);

    if (i == 0 && attn_pickle_type(pickle, value) == ATTN_PICKLE_OPAQUE)
        return attn_pickle_refuse(pickle, value, r->err);
    if (i == 0 && !(text && attn_compare_texts(text, size, (const char *)magic, sizeof magic) == 0))
        return refuse(r, "is a pickle, but not one of torch.save");
    if (i == 1 && !(attn_pickle_int(pickle, value, &number) && number == 1001))
        return refuse(r, "has another version of torch.save's stream than 1001");
    if (i == 2 &&
        attn_pickle_int(pickle, attn_pickle_find(pickle, value, "little_endian"), &number) &&
        number == 0)
        return attn_error_set(r->err, ATTN_UNSUPPORTED,
                              "'%s' has big-endian numbers, expected little-endian ones",
                              r->path.text);
    return ATTN_OK;
}

/* Finds the elements of the storages after byte AT, in the order of KEYS. */
static enum attn_status place_keys(struct reader *r, const struct attn_pickle *keys, size_t at)
{
    uint32_t cell = attn_pickle_first(keys, attn_pickle_root(keys));
    attn_pickle_value item;

    while (attn_pickle_next(keys, &cell, &item)) {
        size_t n_key = 0, n_byte;
        const char *key = attn_pickle_text(keys, item, &n_key);
        struct storage *storage = key ? find_storage(r, key, n_key) : NULL;
        uint64_t n;

        if (!storage || storage->is_found)
            return refuse(r, "lists a storage that it does not use, or twice");
        if (r->file->size - at < sizeof n)
            return refuse(r, "is cut: storages are missing at its end");
        memcpy(&n, r->file->data + at, sizeof n);
        at += sizeof n;
        n_byte = attn_dtype_n_byte(storage->of.dtype, (size_t)storage->of.n);
        if (n != storage->of.n)
            return refuse(r, "has a storage of another size than its pickle");
        if (n_byte > r->file->size - at)
            return refuse(r, "is cut: storages are missing at its end");
        storage->begin = at;
        storage->is_found = true;
        at += n_byte;
    }
    return ATTN_OK;
}

static enum attn_status read_stream(struct reader *r)
{
    struct attn_pickle *other = NULL;
    enum attn_status status = ATTN_OK;
    size_t at = 0;

    for (int i = 0; i < 3 && status == ATTN_OK; i++) {
        status = next_pickle(r, &at, &other);
        if (status == ATTN_OK) {
            status = check_head(r, i, other);
            attn_pickle_free(other);
        }
    }
    ATTN_TRY(status);
    ATTN_TRY(next_pickle(r, &at, &r->pickle));
    ATTN_TRY(list_storages(r));
    ATTN_TRY(next_pickle(r, &at, &other));
    status = place_keys(r, other, at);
    attn_pickle_free(other);
    return status;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

/* Reads a tuple of numbers that are not negative. Returns how many, or -1. */
static int read_sizes(const struct reader *r, attn_pickle_value tuple, size_t sizes[ATTN_MAX_RANK])
{
    uint32_t cell = attn_pickle_first(r->pickle, tuple);
    attn_pickle_value item;
    int64_t number;
    int n = 0;

    for (; attn_pickle_next(r->pickle, &cell, &item); n++) {
        if (n == ATTN_MAX_RANK || !attn_pickle_int(r->pickle, item, &number) || number < 0)
            return -1;
        sizes[n] = (size_t)number;
    }
    return attn_pickle_type(r->pickle, tuple) == ATTN_PICKLE_TUPLE ? n : -1;
}

/* Reads the tensor VALUE. Returns what is wrong with it, or NULL. */
static const char *read_view(const struct reader *r, attn_pickle_value value, struct view *view)
{
    const struct storage *storage;
    struct attn_pickle_storage of;
    struct attn_pickle_tensor tensor;
    size_t last, n = 1;
    int64_t first;

    if (!attn_pickle_get_tensor(r->pickle, value, &tensor) ||
        !attn_pickle_get_storage(r->pickle, tensor.storage, &of) ||
        !attn_pickle_int(r->pickle, tensor.offset, &first) || first < 0)
        return "has no storage and offset";
    storage = find_storage(r, of.key, of.n_key);
    /* Trap: a key lies in the mapped file, and may be another one than when it was listed. */
    if (!storage || !storage->is_found || storage->of.dtype != of.dtype || storage->of.n != of.n)
        return "has a storage that is missing in the file";
    view->begin = storage->begin;
    view->dtype = (int64_t)of.dtype;
    view->first = last = (size_t)first;
    view->rank = read_sizes(r, tensor.sizes, view->shape);
    if (view->rank < 0 || read_sizes(r, tensor.strides, view->strides) != view->rank)
        return "has no sizes and strides of one length, of at most 16 axes";
    for (int i = 0; i < view->rank; i++) {
        size_t extent;

        if (!attn_checked_mul(n, view->shape[i], &n))
            return "has too many elements";
        if (view->shape[i] > 0 &&
            (!attn_checked_mul(view->shape[i] - 1, view->strides[i], &extent) ||
             !attn_checked_add(last, extent, &last)))
            return "reaches beyond its storage";
    }
    if (n > SIZE_MAX / 16 || (n > 0 && last >= of.n) || (n == 0 && view->first > of.n))
        return "reaches beyond its storage";
    return NULL;
}

static size_t n_element(const struct view *view)
{
    size_t n = 1;

    for (int i = 0; i < view->rank; i++)
        n *= view->shape[i];
    return n;
}

/* Whether the elements of VIEW are one after the other, as float32 or a smaller type. */
static bool is_plain(const struct view *view)
{
    size_t step = 1;

    if (view->dtype == ATTN_DTYPE_F64)
        return false;
    for (int64_t i = view->rank; i-- > 0; step *= view->shape[i])
        if (view->shape[i] > 1 && view->strides[i] != step)
            return n_element(view) == 0;
    return true;
}

/* Copies the elements of VIEW to TO, row by row. */
static void gather(const struct reader *r, const struct view *view, unsigned char *to)
{
    const size_t n = n_element(view), size = attn_dtype_bits((enum attn_dtype)view->dtype) / 8;
    size_t at[ATTN_MAX_RANK] = {0}, from = view->first;

    for (size_t i = 0; i < n; i++) {
        const unsigned char *element = r->file->data + view->begin + from * size;
        int64_t axis = view->rank;

        if (view->dtype == ATTN_DTYPE_F64) {
            double wide;
            float value;

            memcpy(&wide, element, sizeof wide);
            value = (float)wide;
            memcpy(to + i * sizeof value, &value, sizeof value);
        } else {
            memcpy(to + i * size, element, size);
        }
        for (; axis-- > 0; at[axis] = 0) {
            from += view->strides[axis];
            if (++at[axis] < view->shape[axis])
                break;
            from -= at[axis] * view->strides[axis];
        }
    }
}

static int compare_gathered(const void *a, const void *b)
{
    const struct gathered *x = a, *y = b;
    struct view one = {0}, other = {0};
    int order;

    read_view(x->reader, x->tensor, &one);
    read_view(y->reader, y->tensor, &other);
    order = memcmp(&one, &other, sizeof one);
    return order != 0 ? order : (x->record > y->record) - (x->record < y->record);
}

/* Makes the memory of the N tensors of LIST, each once. */
static enum attn_status gather_all(const struct reader *r, struct gathered *list, size_t n,
                                   struct attn_tensor_file *file)
{
    size_t size = 0, used = 0;

    for (size_t i = 0; i < n; i++) {
        size += list[i].record->n_byte;
        if (size > r->file->size) /* rows that are repeated by a stride of 0 */
            return refuse(r, "has tensors that are larger than the file");
    }
    ATTN_TRY(ATTN_NEW(file->made, attn_alloc_large(size, 1, r->err)));
    qsort(list, n, sizeof *list, compare_gathered);
    for (size_t i = 0; i < n; i++) {
        struct view view = {0}, last = {0};

        read_view(r, list[i].tensor, &view);
        if (i > 0)
            read_view(r, list[i - 1].tensor, &last);
        if (i > 0 && memcmp(&view, &last, sizeof view) == 0) {
            list[i].record->offset = list[i - 1].record->offset; /* tied */
            continue;
        }
        list[i].record->offset = used;
        gather(r, &view, file->made + used);
        used += list[i].record->n_byte;
    }
    return ATTN_OK;
}

/* --- The directory ---------------------------------------------------------------------------- */

/* Whether the dictionary VALUE has a tensor. */
static bool has_tensor(const struct attn_pickle *pickle, attn_pickle_value value)
{
    uint32_t cell = attn_pickle_first(pickle, value);
    attn_pickle_value key, item = ATTN_PICKLE_NONE;

    if (attn_pickle_type(pickle, value) == ATTN_PICKLE_DICT)
        while (attn_pickle_next(pickle, &cell, &key) && attn_pickle_next(pickle, &cell, &item))
            if (attn_pickle_type(pickle, item) == ATTN_PICKLE_TENSOR)
                return true;
    return false;
}

/* Finds the dictionary of tensors: under the name that trainers give it, or the object itself. */
static enum attn_status find_tensors(struct reader *r)
{
    static const char *const names[] = {"state_dict", "model", "module", "model_state_dict"};

    r->tensors = attn_pickle_root(r->pickle);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const attn_pickle_value value = attn_pickle_find(r->pickle, r->tensors, names[i]);

        if (has_tensor(r->pickle, value) ||
            attn_pickle_type(r->pickle, value) == ATTN_PICKLE_OPAQUE) {
            r->tensors = value;
            break;
        }
    }
    if (attn_pickle_type(r->pickle, r->tensors) == ATTN_PICKLE_OPAQUE) {
        attn_pickle_refuse(r->pickle, r->tensors, r->err);
        attn_error_hint(r->err, "torch.save(model.state_dict(), FILE) saves the tensors alone");
        return ATTN_UNSUPPORTED;
    }
    if (attn_pickle_type(r->pickle, r->tensors) != ATTN_PICKLE_DICT)
        return refuse(r, "holds no dictionary of tensors");
    return ATTN_OK;
}

/* Finds the next tensor of the dictionary, with its NAME [size]. *tensor is ATTN_PICKLE_NONE at the
 * end. */
static enum attn_status next_tensor(const struct reader *r, uint32_t *cell, const char **name,
                                    size_t *size, attn_pickle_value *tensor)
{
    attn_pickle_value key, value;

    while (attn_pickle_next(r->pickle, cell, &key) && attn_pickle_next(r->pickle, cell, &value)) {
        const enum attn_pickle_type type = attn_pickle_type(r->pickle, value);

        if (type == ATTN_PICKLE_OPAQUE)
            return attn_pickle_refuse(r->pickle, value, r->err);
        if (type != ATTN_PICKLE_TENSOR)
            continue;
        *name = attn_pickle_text(r->pickle, key, size);
        if (!*name || memchr(*name, '\0', *size) || attn_utf8_valid_length(*name, *size) < *size)
            return refuse(r, "has a tensor whose name is no text");
        *tensor = value;
        return ATTN_OK;
    }
    *tensor = ATTN_PICKLE_NONE;
    return ATTN_OK;
}

/* Counts the tensors, and the bytes of the text that describes them. Checks each. */
static enum attn_status measure(const struct reader *r, size_t *n, size_t *n_text,
                                size_t *n_gathered)
{
    uint32_t cell = attn_pickle_first(r->pickle, r->tensors);
    char shape[ATTN_SHAPE_TEXT_SIZE];
    attn_pickle_value tensor = ATTN_PICKLE_NONE;
    struct view view = {0};
    const char *name = "";
    size_t size = 0;

    for (;;) {
        const char *problem;

        ATTN_TRY(next_tensor(r, &cell, &name, &size, &tensor));
        if (tensor == ATTN_PICKLE_NONE)
            break;
        problem = read_view(r, tensor, &view);
        if (problem)
            return attn_error_set(r->err, ATTN_FORMAT, "'%s' in '%s' %s",
                                  attn_quote(name, size).text, r->path.text, problem);
        *n_text += size + strlen(attn_shape_text((int)view.rank, view.shape, shape)) + 2;
        *n_gathered += !is_plain(&view);
        ++*n;
    }
    return *n > 0 ? ATTN_OK : refuse(r, "holds no tensors");
}

/* Fills RECORD, and appends its texts at *TEXT. */
static void describe(const struct view *view, const char *name, size_t size, char **text,
                     struct attn_tensor_record *record)
{
    const bool is_wide = view->dtype == ATTN_DTYPE_F64;
    const enum attn_dtype dtype = is_wide ? ATTN_DTYPE_F32 : (enum attn_dtype)view->dtype;
    char shape[ATTN_SHAPE_TEXT_SIZE];

    record->name = memcpy(*text, name, size);
    record->name_size = size;
    *text += size + 1;
    attn_shape_text((int)view->rank, view->shape, shape);
    record->shape = memcpy(*text, shape, strlen(shape));
    *text += strlen(shape) + 1;
    record->dtype = (unsigned char)dtype;
    record->rank = (unsigned char)view->rank;
    record->n_byte = attn_dtype_n_byte(dtype, n_element(view));
    record->is_made = !is_plain(view);
    record->offset = view->begin + attn_dtype_n_byte((enum attn_dtype)view->dtype, view->first);
}

enum attn_status attn_torch_sort(const struct attn_tensor_files *files, struct attn_error *err)
{
    qsort(files->records, files->count, sizeof *files->records, attn_tensor_compare_names);
    for (size_t i = 1; i < files->count; i++)
        if (attn_tensor_compare_names(&files->records[i - 1], &files->records[i]) == 0)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has two tensors '%s'",
                                  attn_quote_string(attn_tensor_files_path(files, 0)).text,
                                  attn_quote_string(files->records[i].name).text);
    return ATTN_OK;
}

/* Fills FILES with the tensors of the dictionary. */
static enum attn_status list_tensors(const struct reader *r, struct attn_tensor_files *files)
{
    uint32_t cell = attn_pickle_first(r->pickle, r->tensors);
    size_t n = 0, n_text = 0, n_gathered = 0;
    struct gathered *list;
    enum attn_status status;
    attn_pickle_value tensor = ATTN_PICKLE_NONE;
    const char *name = "";
    char *text;

    ATTN_TRY(measure(r, &n, &n_text, &n_gathered));
    ATTN_TRY(ATTN_ALLOC(files->records, n, r->err));
    ATTN_TRY(ATTN_ALLOC(files->shards[0].text, n_text, r->err));
    ATTN_TRY(ATTN_ALLOC(list, n_gathered, r->err));
    text = files->shards[0].text;
    n_gathered = 0;
    for (files->count = 0; files->count < n; files->count++) {
        struct attn_tensor_record *record = &files->records[files->count];
        struct view view = {0};
        size_t size = 0;

        next_tensor(r, &cell, &name, &size, &tensor);
        read_view(r, tensor, &view);
        describe(&view, name, size, &text, record);
        if (record->is_made)
            list[n_gathered++] = (struct gathered){r, tensor, record};
    }
    status = n_gathered > 0 ? gather_all(r, list, n_gathered, &files->shards[0]) : ATTN_OK;
    attn_free(list);
    ATTN_TRY(status);
    return attn_torch_sort(files, r->err);
}

static enum attn_status read_file(struct reader *r, struct attn_tensor_files *files)
{
    static const char tar[] = "ustar";
    struct attn_zip zip = {0};
    enum attn_status status;

    r->file = &files->shards[0].file;
    r->path = attn_quote_string(r->file->path);
    ATTN_TRY(attn_file_check_kind(r->file, false, r->err));
    if (r->file->size > 262 && memcmp(r->file->data + 257, tar, strlen(tar)) == 0)
        return attn_error_set(
            r->err, ATTN_UNSUPPORTED,
            "'%s' is of the tar form that torch.save wrote in 2016; torch.load and "
            "torch.save make the zip form of it",
            r->path.text);
    if (!is_zip(r->file) && (r->file->size == 0 || r->file->data[0] != 0x80))
        return refuse(r, r->file->size == 0
                             ? "is empty, expected a file of PyTorch"
                             : "is no file of PyTorch: neither a zip file nor a pickle");
    status = is_zip(r->file) ? read_zip(r, &zip) : read_stream(r);
    attn_zip_release(&zip);
    ATTN_TRY(status);
    ATTN_TRY(find_tensors(r));
    return list_tensors(r, files);
}

enum attn_status attn_torch_take(struct attn_file *file, struct attn_tensor_files **out,
                                 struct attn_pickle **pickle, bool *names_order,
                                 struct attn_error *err)
{
    struct attn_tensor_files *files = attn_tensor_files_create(1, err);
    struct reader r = {.err = err};
    enum attn_status status;

    if (!files) {
        attn_file_release(file);
        return ATTN_NO_MEMORY;
    }
    files->shards[0].file = *file;
    *file = (struct attn_file){0};
    files->format = "PyTorch";
    status = read_file(&r, files);
    attn_free(r.storages);
    if (status != ATTN_OK || !pickle)
        attn_pickle_free(r.pickle);
    else
        *pickle = r.pickle, *names_order = r.names_order;
    ATTN_RETURN_MADE(status, out, files, attn_tensor_files_free);
}

static enum attn_status take(struct attn_file *file, struct attn_tensor_files **out,
                             struct attn_error *err)
{
    return attn_torch_take(file, out, NULL, NULL, err);
}

const struct attn_opener attn_opener_torch = {.is_tensors = attn_torch_is_file,
                                              .take = take,
                                              .find = attn_foreign_find,
                                              .refuse = attn_foreign_check};
