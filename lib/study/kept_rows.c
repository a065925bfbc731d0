/* kept_rows.c - see kept_rows.h. A cell is encoded as a byte with its type and the length of its
 * number, the number, and for texts and lists their bytes. */
#include "study/kept_rows.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first byte of a cell has its type in the lower bits, the length of its number in the others.
 */
enum { TYPE_BITS = 4 };
/* An item begins with three numbers: bytes that follow, rows, and numbers beside the rows. */
enum { N_FACT = 3 };

/* The last character is the version of the format. */
static const char header[] = {'a', 't', 't', 'n', 'r', 'o', 'w', '1'};

/* marks a failed item, instead of the number of rows */
static const uint64_t has_failed = UINT64_MAX;

/* Returns NUMBER reduced to N bytes: for a real its first N bytes, the others being 0; for other
 * types its last N bytes, sign-extended. */
static uint64_t cut_number(uint64_t number, unsigned n, bool is_real)
{
    const unsigned n_bit = 64 - 8 * n; /* bits that are left out */

    if (n == 0)
        return 0;
    return is_real ? number >> n_bit << n_bit : (uint64_t)((int64_t)(number << n_bit) >> n_bit);
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Appends a cell of TYPE with NUMBER: the bits of a real, an integer, or the size of a text or a
 * list. To save space, trailing zero bytes of a real are omitted; of other numbers, leading bytes
 * that only repeat the sign. */
static void append_number(struct attn_buffer *out, enum attn_value_type type, uint64_t number)
{
    const bool is_real = type == ATTN_VALUE_REAL;
    unsigned n = 0;

    while (n < 8 && number != cut_number(number, n, is_real))
        n++;
    if (is_real && n > 0)
        number >>= 64 - 8 * n;
    attn_buffer_append_char(out, (char)((unsigned)type | n << TYPE_BITS));
    attn_buffer_append(out, &number, n);
}

static void append_cell(struct attn_buffer *out, const struct attn_cell *cell)
{
    uint64_t number = cell->size;

    if (cell->type == ATTN_VALUE_REAL)
        memcpy(&number, &cell->real, sizeof number);
    else if (cell->type == ATTN_VALUE_INTEGER || cell->type == ATTN_VALUE_BOOLEAN)
        number = (uint64_t)cell->integer;
    append_number(out, cell->type, number);
    if (cell->type == ATTN_VALUE_TEXT)
        attn_buffer_append(out, cell->text, cell->size);
    else if (cell->type == ATTN_VALUE_LIST)
        attn_buffer_append(out, cell->list, cell->size * sizeof *cell->list);
    else if (cell->type == ATTN_VALUE_REALS)
        attn_buffer_append(out, cell->reals, cell->size * sizeof *cell->reals);
}

void attn_kept_rows_append(struct attn_buffer *out, bool is_first, const struct attn_table *table,
                           const double *beside, size_t n)
{
    const size_t n_row = table ? attn_table_n_row(table) : 0;
    uint64_t facts[N_FACT] = {0, table ? n_row : has_failed, n};
    size_t begin;

    if (is_first)
        attn_buffer_append(out, header, sizeof header);
    begin = out->size;
    attn_buffer_append(out, facts, sizeof facts);
    for (size_t row = 0; row < n_row; row++)
        for (size_t c = 0; c < attn_table_n_column(table); c++) {
            const struct attn_cell cell = attn_table_cell(table, row, c);

            append_cell(out, &cell);
        }
    for (size_t i = 0; i < n; i++) {
        uint64_t number;

        memcpy(&number, &beside[i], sizeof number);
        append_number(out, ATTN_VALUE_REAL, number);
    }
    if (out->has_failed)
        return;
    facts[0] = out->size - begin - sizeof facts;
    memcpy(out->data + begin, facts, sizeof facts);
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct attn_kept_rows {
    char *path;                  /* owns */
    int descriptor;              /* owns */
    uint64_t left;               /* bytes of the file still to be read */
    struct attn_column *columns; /* [n_column] owns */
    size_t n_column;
    struct attn_buffer bytes;  /* bytes of the current item, after its facts */
    struct attn_table *table;  /* owns; table of the current item */
    struct attn_cell *cells;   /* [n_column] owns; cells of the current row */
    struct attn_buffer *lists; /* [n_column] owns; texts and lists of the row, aligned */
    double *beside;            /* [capacity] owns */
    size_t capacity;
};

/* The unread bytes of an item. */
struct rest {
    const char *data;
    size_t size;
};

/* Copies the next SIZE bytes of REST to TO. Returns false if REST is too short. */
static bool take(struct rest *rest, void *to, size_t size)
{
    if (size > rest->size)
        return false;
    if (size > 0)
        memcpy(to, rest->data, size);
    rest->data += size;
    rest->size -= size;
    return true;
}

enum attn_status attn_kept_rows_refuse(const struct attn_kept_rows *kept, struct attn_error *err)
{
    attn_error_set(err, ATTN_FORMAT, "'%s' does not hold the rows of items",
                   attn_quote_string(kept->path).text);
    return attn_error_at(ATTN_FORMAT, ATTN_STAGE_OUTPUT, err);
}

/* Reads the next SIZE bytes of the file into TO. */
static enum attn_status read_bytes(struct attn_kept_rows *kept, void *to, size_t size,
                                   struct attn_error *err)
{
    if (size > kept->left)
        return attn_kept_rows_refuse(kept, err);
    kept->left -= size;
    for (size_t at = 0; at < size;) {
        const ssize_t n = read(kept->descriptor, (char *)to + at, size - at);

        if (n == 0)
            return attn_kept_rows_refuse(kept, err);
        if (n < 0 && errno != EINTR)
            return attn_error_errno(err, "read", kept->path, errno);
        at += n > 0 ? (size_t)n : 0;
    }
    return ATTN_OK;
}

static enum attn_status open_kept(struct attn_kept_rows *kept, const char *path,
                                  struct attn_error *err)
{
    char found[sizeof header] = "";
    struct stat info;

    kept->path = attn_strndup(path, strlen(path), err);
    if (!kept->path)
        return ATTN_NO_MEMORY;
    kept->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (kept->descriptor < 0 || fstat(kept->descriptor, &info) != 0)
        return attn_error_errno(err, "open", path, errno);
    ATTN_TRY(ATTN_ALLOC(kept->cells, kept->n_column, err));
    ATTN_TRY(ATTN_ALLOC(kept->lists, kept->n_column, err));
    if (kept->n_column > 0)
        ATTN_TRY(attn_table_create("items", kept->columns, kept->n_column, &kept->table, err));
    kept->left = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    ATTN_TRY(read_bytes(kept, found, sizeof found, err));
    return memcmp(found, header, sizeof header) == 0 ? ATTN_OK : attn_kept_rows_refuse(kept, err);
}

enum attn_status attn_kept_rows_open(const char *path, const struct attn_record_rows *rows,
                                     struct attn_kept_rows **kept, struct attn_error *err)
{
    struct attn_kept_rows *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->n_column = rows->n;
    made->descriptor = -1;
    status = ATTN_ALLOC(made->columns, rows->n, err);
    for (size_t c = 0; status == ATTN_OK && c < rows->n; c++)
        made->columns[c] = rows->all[rows->places[c]];
    if (status == ATTN_OK)
        status = open_kept(made, path, err);
    if (status == ATTN_OK)
        *kept = made;
    else
        attn_kept_rows_free(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

void attn_kept_rows_free(struct attn_kept_rows *kept)
{
    if (!kept)
        return;
    for (size_t c = 0; kept->lists && c < kept->n_column; c++)
        attn_buffer_release(&kept->lists[c]);
    if (kept->descriptor >= 0)
        close(kept->descriptor);
    attn_buffer_release(&kept->bytes);
    attn_table_free(kept->table);
    attn_free(kept->columns);
    attn_free(kept->cells);
    attn_free(kept->lists);
    attn_free(kept->beside);
    attn_free(kept->path);
    attn_free(kept);
}

/* Reads the list or text of cell C, which has SIZE elements. */
static bool take_list(struct attn_kept_rows *kept, struct rest *rest, size_t c, size_t size)
{
    const enum attn_value_type type = kept->columns[c].type;
    const size_t width = type == ATTN_VALUE_TEXT ? 1 : sizeof(int64_t);
    struct attn_buffer *list = &kept->lists[c];
    const void *data;

    if (size > rest->size / width)
        return false;
    attn_buffer_reset(list);
    attn_buffer_append(list, rest->data, size * width);
    rest->data += size * width;
    rest->size -= size * width;
    data = list->data;
    kept->cells[c] = type == ATTN_VALUE_TEXT   ? attn_cell_text(size > 0 ? data : "", size)
                     : type == ATTN_VALUE_LIST ? attn_cell_list(size > 0 ? data : NULL, size)
                                               : attn_cell_reals(size > 0 ? data : NULL, size);
    return true;
}

/* Reads the type and the number of a cell. */
static bool take_number(struct rest *rest, unsigned *type, uint64_t *number)
{
    unsigned char first;
    unsigned n;

    if (!take(rest, &first, 1))
        return false;
    *type = first & ((1U << TYPE_BITS) - 1);
    n = first >> TYPE_BITS;
    *number = 0;
    if (n > sizeof *number || !take(rest, number, n))
        return false;
    if (*type == ATTN_VALUE_REAL)
        *number = n > 0 ? *number << (64 - 8 * n) : 0;
    else
        *number = cut_number(*number, n, false);
    return true;
}

/* Reads cell C of a row. */
static bool take_cell(struct attn_kept_rows *kept, struct rest *rest, size_t c)
{
    struct attn_cell *cell = &kept->cells[c];
    uint64_t number = 0;
    unsigned type = 0;

    *cell = attn_cell_missing();
    if (!take_number(rest, &type, &number))
        return false;
    if (type == ATTN_VALUE_MISSING)
        return true;
    if (type != kept->columns[c].type)
        return false;
    cell->type = kept->columns[c].type;
    if (type == ATTN_VALUE_REAL)
        memcpy(&cell->real, &number, sizeof number);
    else if (type == ATTN_VALUE_INTEGER || type == ATTN_VALUE_BOOLEAN)
        cell->integer = (int64_t)number;
    else
        return number <= rest->size && take_list(kept, rest, c, (size_t)number);
    return true;
}

/* Reads N_ROW rows into the table. */
static enum attn_status take_rows(struct attn_kept_rows *kept, struct rest *rest, uint64_t n_row,
                                  struct attn_error *err)
{
    if (!kept->table || n_row > rest->size)
        return attn_kept_rows_refuse(kept, err);
    attn_table_reset(kept->table);
    for (uint64_t row = 0; row < n_row; row++) {
        for (size_t c = 0; c < kept->n_column; c++) {
            if (!take_cell(kept, rest, c))
                return attn_kept_rows_refuse(kept, err);
            ATTN_TRY(attn_buffer_check(&kept->lists[c], err));
        }
        ATTN_TRY(attn_table_append(kept->table, kept->cells, kept->n_column, err));
    }
    return ATTN_OK;
}

static enum attn_status read_item(struct attn_kept_rows *kept, struct attn_kept_item *item,
                                  struct attn_error *err)
{
    uint64_t facts[N_FACT] = {0};
    size_t size, n_beside;
    struct rest rest;

    ATTN_TRY(read_bytes(kept, facts, sizeof facts, err));
    if (facts[0] > kept->left || facts[0] >= SIZE_MAX)
        return attn_kept_rows_refuse(kept, err);
    size = (size_t)facts[0];
    attn_buffer_reset(&kept->bytes);
    rest = (struct rest){attn_buffer_reserve(&kept->bytes, size + 1), size};
    if (!rest.data)
        return attn_error_no_memory(err);
    ATTN_TRY(read_bytes(kept, kept->bytes.data, size, err));
    *item = (struct attn_kept_item){.table = facts[1] == has_failed ? NULL : kept->table};
    if (facts[1] != has_failed)
        ATTN_TRY(take_rows(kept, &rest, facts[1], err));
    if (facts[2] > rest.size)
        return attn_kept_rows_refuse(kept, err);
    n_beside = (size_t)facts[2];
    ATTN_TRY(attn_grow(&kept->beside, &kept->capacity, n_beside, sizeof *kept->beside, err));
    for (size_t i = 0; i < n_beside; i++) {
        uint64_t number = 0;
        unsigned type = 0;

        if (!take_number(&rest, &type, &number) || type != ATTN_VALUE_REAL)
            return attn_kept_rows_refuse(kept, err);
        memcpy(&kept->beside[i], &number, sizeof number);
    }
    item->n_beside = n_beside;
    item->beside = kept->beside;
    return rest.size == 0 ? ATTN_OK : attn_kept_rows_refuse(kept, err);
}

enum attn_status attn_kept_rows_next(struct attn_kept_rows *kept, struct attn_kept_item *item,
                                     struct attn_error *err)
{
    return attn_error_at(read_item(kept, item, err), ATTN_STAGE_OUTPUT, err);
}
