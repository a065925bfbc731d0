/* record_state.c - the rows of items in binary form, exactly, with the numbers beside them, so that
 * a resumed study can compute its table.
 *
 * The file is a header, then for each item the number of its bytes, of its rows and of the numbers
 * beside them, the cells, the numbers. A failed item has its code instead, and its message as a
 * cell. A cell is a byte with its type and the length of its number, the number, and for texts and
 * lists their bytes. Numbers are little-endian, as on all supported processors. The file may be
 * damaged or malicious: anything invalid is ATTN_FORMAT. */
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "predict/answer_internal.h"
#include "stream/records_internal.h"
#include "tables/table_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first byte of a cell has its type in the lower bits, the length of its number in the others.
 */
enum { TYPE_BITS = 4 };
/* An item begins with three numbers: bytes that follow, rows, and numbers beside the rows, or the
 * code of its failure. */
enum { N_FACT = 3 };

/* The last character is the version of the format. */
static const char header[] = {'a', 't', 't', 'n', 'r', 'o', 'w', '2'};

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

/* The metric of the unchanged model and its row, as indices of names; its value; 1 if the model is
 * right, 0 if it is wrong, NaN for a tie. The numbers of the question follow. */
enum { METRIC, ROW, VALUE, RIGHT, N_BESIDE };

static const double not_judged = -1;

/* Returns name I in the list of metrics and their rows; "" after the last. */
static const char *name_at(size_t i)
{
    static const char *const others[] = {"difference", "nats", "base", "source", "model"};
    const size_t n = sizeof others / sizeof *others;

    return i < n ? others[i]
           : i < n + ATTN_N_ANSWER_METRIC
               ? attn_answer_metric_name((enum attn_answer_metric)(i - n))
               : "";
}

/* Returns the index of NAME, which may be NULL, in that list; the index after the last for unknown
 * names. */
static double place_of(const char *name)
{
    size_t i = 0;

    while (*name_at(i) && (!name || strcmp(name_at(i), name) != 0))
        i++;
    return (double)i;
}

static const char *name_of_place(double place)
{
    for (size_t i = 0; *name_at(i); i++)
        if ((double)i == place)
            return name_at(i);
    return NULL;
}

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

static void append_real(struct attn_buffer *out, double real)
{
    uint64_t number;

    memcpy(&number, &real, sizeof number);
    append_number(out, ATTN_VALUE_REAL, number);
}

static enum attn_status add_state(struct attn_record_writer *writer,
                                  const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_table *table = result->failure ? NULL : result->rows;
    const size_t n_row = attn_table_n_row(table), n = N_BESIDE + result->n_beside;
    uint64_t facts[N_FACT] = {0, table ? n_row : has_failed, table ? n : result->failure};
    struct attn_buffer *out = &writer->text;
    size_t begin;

    if (writer->n_record == 0)
        attn_buffer_append(out, header, sizeof header);
    begin = out->size;
    attn_buffer_append(out, facts, sizeof facts);
    for (size_t row = 0; row < n_row; row++)
        for (size_t c = 0; c < attn_table_n_column(table); c++) {
            const struct attn_cell cell = attn_table_cell(table, row, c);

            append_cell(out, &cell);
        }
    if (table) {
        append_real(out, place_of(result->metric));
        append_real(out, place_of(result->row));
        append_real(out, result->value);
        append_real(out, result->has_right ? result->right : not_judged);
        for (size_t i = 0; i < result->n_beside; i++)
            append_real(out, result->beside[i]);
    } else {
        const char *message = result->err.message;
        const struct attn_cell cell = attn_cell_text(message, strlen(message));

        append_cell(out, &cell);
    }
    ATTN_TRY(attn_buffer_check(out, err));
    facts[0] = out->size - begin - sizeof facts;
    memcpy(out->data + begin, facts, sizeof facts);
    return ATTN_OK;
}

struct state_writer {
    struct attn_record_writer base;
    /* What is read; NULL before the first item: */
    const char *path;            /* borrowed */
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
static bool take_bytes(struct rest *rest, void *to, size_t size)
{
    if (size > rest->size)
        return false;
    if (size > 0)
        memcpy(to, rest->data, size);
    rest->data += size;
    rest->size -= size;
    return true;
}

/* Sets the error that the file does not hold the rows of items. */
static enum attn_status refuse(const struct state_writer *kept, struct attn_error *err)
{
    attn_error_set(err, ATTN_FORMAT, "'%s' does not hold the rows of items",
                   attn_quote_string(kept->path).text);
    return attn_error_at(ATTN_FORMAT, ATTN_STAGE_OUTPUT, err);
}

/* Reads the next SIZE bytes of the file into TO. */
static enum attn_status read_bytes(struct state_writer *kept, void *to, size_t size,
                                   struct attn_error *err)
{
    if (size > kept->left)
        return refuse(kept, err);
    kept->left -= size;
    for (size_t at = 0; at < size;) {
        const ssize_t n = read(kept->descriptor, (char *)to + at, size - at);

        if (n == 0)
            return refuse(kept, err);
        if (n < 0 && errno != EINTR)
            return attn_error_errno(err, "read", kept->path, errno);
        at += n > 0 ? (size_t)n : 0;
    }
    return ATTN_OK;
}

/* Opens the rows of earlier items: the part, or the file if all were complete. */
static enum attn_status open_kept(struct state_writer *kept, struct attn_error *err)
{
    const struct attn_record_rows *rows = kept->base.rows;
    const struct attn_sink *part = kept->base.parts[0];
    char found[sizeof header] = "";
    struct stat info;

    kept->path = attn_sink_position(part) > 0 ? attn_part_path(part) : attn_part_target(part);
    kept->n_column = rows->n;
    kept->descriptor = open(kept->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (kept->descriptor < 0 || fstat(kept->descriptor, &info) != 0)
        return attn_error_errno(err, "open", kept->path, errno);
    ATTN_TRY(ATTN_ALLOC(kept->columns, rows->n, err));
    for (size_t c = 0; c < rows->n; c++)
        kept->columns[c] = rows->form->columns[rows->places[c]];
    ATTN_TRY(ATTN_ALLOC(kept->cells, rows->n, err));
    ATTN_TRY(ATTN_ALLOC(kept->lists, rows->n, err));
    if (rows->n > 0)
        ATTN_TRY(attn_table_create("items", kept->columns, rows->n, &kept->table, err));
    kept->left = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    ATTN_TRY(read_bytes(kept, found, sizeof found, err));
    return memcmp(found, header, sizeof header) == 0 ? ATTN_OK : refuse(kept, err);
}

static void release_state(struct attn_record_writer *writer)
{
    struct state_writer *kept = (struct state_writer *)writer;

    for (size_t c = 0; kept->lists && c < kept->n_column; c++)
        attn_buffer_release(&kept->lists[c]);
    if (kept->path && kept->descriptor >= 0)
        close(kept->descriptor);
    attn_buffer_release(&kept->bytes);
    attn_table_free(kept->table);
    attn_free(kept->columns);
    attn_free(kept->cells);
    attn_free(kept->lists);
    attn_free(kept->beside);
}

/* Reads the list or text of cell C, which has SIZE elements. */
static bool take_list(struct state_writer *kept, struct rest *rest, size_t c, size_t size)
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

    if (!take_bytes(rest, &first, 1))
        return false;
    *type = first & ((1U << TYPE_BITS) - 1);
    n = first >> TYPE_BITS;
    *number = 0;
    if (n > sizeof *number || !take_bytes(rest, number, n))
        return false;
    if (*type == ATTN_VALUE_REAL)
        *number = n > 0 ? *number << (64 - 8 * n) : 0;
    else
        *number = cut_number(*number, n, false);
    return true;
}

/* Reads cell C of a row. */
static bool take_cell(struct state_writer *kept, struct rest *rest, size_t c)
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
static enum attn_status take_rows(struct state_writer *kept, struct rest *rest, uint64_t n_row,
                                  struct attn_error *err)
{
    if (!kept->table || n_row > rest->size)
        return refuse(kept, err);
    attn_table_reset(kept->table);
    for (uint64_t row = 0; row < n_row; row++) {
        for (size_t c = 0; c < kept->n_column; c++) {
            if (!take_cell(kept, rest, c))
                return refuse(kept, err);
            ATTN_TRY(attn_buffer_check(&kept->lists[c], err));
        }
        ATTN_TRY(attn_table_append(kept->table, kept->cells, kept->n_column, err));
    }
    return ATTN_OK;
}

/* Reads the numbers beside the rows, of which there are N in REST. */
static enum attn_status take_beside(struct state_writer *kept, struct rest *rest, uint64_t n,
                                    struct attn_item_result *result, struct attn_error *err)
{
    if (n > rest->size || n < N_BESIDE)
        return refuse(kept, err);
    ATTN_TRY(attn_grow(&kept->beside, &kept->capacity, (size_t)n, sizeof *kept->beside, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t number = 0;
        unsigned type = 0;

        if (!take_number(rest, &type, &number) || type != ATTN_VALUE_REAL)
            return refuse(kept, err);
        memcpy(&kept->beside[i], &number, sizeof number);
    }
    result->metric = name_of_place(kept->beside[METRIC]);
    result->row = name_of_place(kept->beside[ROW]);
    result->value = kept->beside[VALUE];
    result->right = kept->beside[RIGHT];
    result->has_right = result->right != not_judged;
    result->beside = kept->beside + N_BESIDE;
    result->n_beside = (size_t)n - N_BESIDE;
    return ATTN_OK;
}

/* Reads the message of an item that failed with CODE. */
static enum attn_status take_failure(const struct state_writer *kept, struct rest *rest,
                                     uint64_t code, struct attn_item_result *result,
                                     struct attn_error *err)
{
    const enum attn_record_failure found = result->item->failure;
    uint64_t size = 0;
    unsigned type = 0;

    if (code == ATTN_RECORD_FAILURE_NONE || code >= ATTN_N_RECORD_FAILURE ||
        (found != ATTN_RECORD_FAILURE_NONE && code != found) || !take_number(rest, &type, &size) ||
        type != ATTN_VALUE_TEXT || size >= sizeof result->err.message ||
        !take_bytes(rest, result->err.message, (size_t)size))
        return refuse(kept, err);
    result->err.message[size] = '\0';
    result->failure = (enum attn_record_failure)code;
    return ATTN_OK;
}

static enum attn_status read_item(struct state_writer *kept, struct attn_item_result *result,
                                  struct attn_error *err)
{
    uint64_t facts[N_FACT] = {0};
    struct rest rest;
    size_t size;

    if (!kept->path)
        ATTN_TRY(open_kept(kept, err));
    ATTN_TRY(read_bytes(kept, facts, sizeof facts, err));
    if (facts[0] > kept->left || facts[0] >= SIZE_MAX)
        return refuse(kept, err);
    size = (size_t)facts[0];
    attn_buffer_reset(&kept->bytes);
    rest = (struct rest){attn_buffer_reserve(&kept->bytes, size + 1), size};
    if (!rest.data)
        return attn_error_no_memory(err);
    ATTN_TRY(read_bytes(kept, kept->bytes.data, size, err));
    if (facts[1] != has_failed) {
        ATTN_TRY(take_rows(kept, &rest, facts[1], err));
        result->rows = kept->table;
        ATTN_TRY(take_beside(kept, &rest, facts[2], result, err));
    } else {
        ATTN_TRY(take_failure(kept, &rest, facts[2], result, err));
    }
    return rest.size == 0 ? ATTN_OK : refuse(kept, err);
}

static enum attn_status load_state(struct attn_record_writer *writer,
                                   struct attn_item_result *result, attn_record_take_fn take,
                                   void *user, struct attn_error *err)
{
    struct state_writer *kept = (struct state_writer *)writer;
    struct attn_error why = {0};
    enum attn_status status;

    ATTN_TRY(attn_error_at(read_item(kept, result, err), ATTN_STAGE_OUTPUT, err));
    status = take(user, result, &why);
    return status == ATTN_FORMAT ? refuse(kept, err)
           : status != ATTN_OK   ? attn_error_copy(err, &why)
                                 : ATTN_OK;
}

const struct attn_item_sink attn_item_sink_state = {
    .name = "state",
    .size = sizeof(struct state_writer),
    .is_text = true,
    .add = add_state,
    .load = load_state,
    .release = release_state,
};
