/*
 * pickle.c - see pickle.h. The opcodes are those of pickletools.py that files of tensors have, up
 * to protocol 5; others are refused.
 *
 * Values are 16 bytes each, items of containers cells of 8 in a chain; both are numbered. A value
 * is its number times 2, a small integer is itself times 2 plus 1.
 */
#include "foreign/pickle.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"

#include <stdint.h>
#include <string.h>

/* The first values, which every pickle has. */
enum { NONE, TRUE_VALUE, FALSE_VALUE, OTHER, EMPTY_TUPLE, N_SHARED };

enum { FREE_MEMORY = 1 << 26, MAX_VALUES = 1 << 30 };

static const attn_pickle_value mark = UINT32_MAX - 1; /* in the stack; in the memo: no value */

struct value {
    uint8_t type, dtype;
    uint16_t known; /* of a name: its row of known_names plus 1 */
    /* A container has its first and last cell here, 0 if it is empty; a text its size; a name its
     * module and name; a storage its key; a tensor its arguments; an opaque value its name and its
     * state. */
    uint32_t a, b;
    /* of an integer or a bool; of a text or a float: its offset; of a storage: its elements */
    int64_t number;
};

struct cell {
    attn_pickle_value value;
    uint32_t next; /* 0: the last */
};

struct attn_pickle {
    const struct attn_file *file;
    size_t at, end; /* offsets in the file */
    struct value *values;
    struct cell *cells;
    attn_pickle_value *stack, *memo, *storages;
    size_t n_value, n_cell, n_stack, n_memo, n_storage;
    size_t value_capacity, cell_capacity, stack_capacity, memo_capacity, storage_capacity;
    struct attn_error *err; /* while it is read */
};

/* --- Names ------------------------------------------------------------------------------------ */

enum call { CALL_DICT, CALL_TENSOR, CALL_PARAMETER, CALL_SIZE, CALL_NUMBER, CALL_STORAGE };

/* The names whose meaning is known. A call of any other name is not made. */
static const struct known_name {
    const char *module, *name;
    enum call call;
    enum attn_dtype dtype; /* of a storage */
} known_names[] = {
    {"collections", "OrderedDict", CALL_DICT, 0},
    {"torch._utils", "_rebuild_tensor_v2", CALL_TENSOR, 0},
    {"torch._utils", "_rebuild_parameter", CALL_PARAMETER, 0},
    {"torch", "Size", CALL_SIZE, 0},
    {"numpy.core.multiarray", "scalar", CALL_NUMBER, 0},
    {"numpy._core.multiarray", "scalar", CALL_NUMBER, 0},
    {"numpy", "dtype", CALL_NUMBER, 0},
    {"torch", "FloatStorage", CALL_STORAGE, ATTN_DTYPE_F32},
    {"torch", "HalfStorage", CALL_STORAGE, ATTN_DTYPE_F16},
    {"torch", "BFloat16Storage", CALL_STORAGE, ATTN_DTYPE_BF16},
    {"torch", "DoubleStorage", CALL_STORAGE, ATTN_DTYPE_F64},
    {"torch", "LongStorage", CALL_STORAGE, ATTN_DTYPE_I64},
    {"torch", "IntStorage", CALL_STORAGE, ATTN_DTYPE_I32},
    {"torch", "ShortStorage", CALL_STORAGE, ATTN_DTYPE_I16},
    {"torch", "CharStorage", CALL_STORAGE, ATTN_DTYPE_I8},
    {"torch", "ByteStorage", CALL_STORAGE, ATTN_DTYPE_U8},
    {"torch", "BoolStorage", CALL_STORAGE, ATTN_DTYPE_BOOL},
    {"torch.storage", "UntypedStorage", CALL_STORAGE, ATTN_DTYPE_U8},
};

static const struct value *value_of(const struct attn_pickle *pickle, attn_pickle_value value)
{
    return &pickle->values[value / 2];
}

static const struct known_name *known_of(const struct attn_pickle *pickle, attn_pickle_value value)
{
    const uint16_t known = value % 2 == 0 ? value_of(pickle, value)->known : 0;

    return known > 0 ? &known_names[known - 1] : NULL;
}

/* --- Values ----------------------------------------------------------------------------------- */

static enum attn_status refuse(const struct attn_pickle *pickle, const char *what)
{
    attn_error_set(pickle->err, ATTN_FORMAT, "the pickle in '%s' %s, at byte %zu",
                   attn_quote_string(pickle->file->path).text, what, pickle->at);
    return ATTN_FORMAT;
}

/* Grows BLOCK, one of the arrays of PICKLE, to NEED elements, unless all of them get too large. */
static enum attn_status reserve(struct attn_pickle *pickle, void *block, size_t *capacity,
                                size_t need, size_t size)
{
    const size_t used =
        pickle->value_capacity * sizeof *pickle->values +
        pickle->cell_capacity * sizeof *pickle->cells +
        (pickle->stack_capacity + pickle->memo_capacity + pickle->storage_capacity) *
            sizeof *pickle->stack;
    const size_t most = need > 2 * *capacity ? need : 2 * *capacity;

    if (need <= *capacity)
        return ATTN_OK;
    if (need > MAX_VALUES || (most * size + used) / 2 > pickle->file->size + FREE_MEMORY / 2)
        return refuse(pickle, "has more values than a file of its size may have");
    return attn_grow(block, capacity, need, size, pickle->err);
}

static enum attn_status push(struct attn_pickle *pickle, attn_pickle_value value)
{
    ATTN_TRY(reserve(pickle, &pickle->stack, &pickle->stack_capacity, pickle->n_stack + 1,
                     sizeof *pickle->stack));
    pickle->stack[pickle->n_stack++] = value;
    return ATTN_OK;
}

/* Adds VALUE. *made is its number. */
static enum attn_status add_value(struct attn_pickle *pickle, struct value value,
                                  attn_pickle_value *made)
{
    ATTN_TRY(reserve(pickle, &pickle->values, &pickle->value_capacity, pickle->n_value + 1,
                     sizeof *pickle->values));
    *made = (attn_pickle_value)(2 * pickle->n_value);
    pickle->values[pickle->n_value++] = value;
    return ATTN_OK;
}

static enum attn_status push_value(struct attn_pickle *pickle, struct value value)
{
    attn_pickle_value made;

    ATTN_TRY(add_value(pickle, value, &made));
    return push(pickle, made);
}

static enum attn_status push_int(struct attn_pickle *pickle, int64_t number)
{
    return number >= 0 && number <= INT32_MAX
               ? push(pickle, (attn_pickle_value)number * 2 + 1)
               : push_value(pickle, (struct value){.type = ATTN_PICKLE_INT, .number = number});
}

static enum attn_status pop(struct attn_pickle *pickle, attn_pickle_value *value)
{
    if (pickle->n_stack == 0 || pickle->stack[pickle->n_stack - 1] == mark)
        return refuse(pickle, "takes a value that it does not have");
    *value = pickle->stack[--pickle->n_stack];
    return ATTN_OK;
}

/* Finds the values after the last mark: FIRST is the place of the first one in the stack. */
static enum attn_status find_mark(const struct attn_pickle *pickle, size_t *first)
{
    for (*first = pickle->n_stack; *first > 0; (*first)--)
        if (pickle->stack[*first - 1] == mark)
            return ATTN_OK;
    return refuse(pickle, "lacks a mark");
}

/* Appends ITEM to CONTAINER. */
static enum attn_status append(struct attn_pickle *pickle, attn_pickle_value container,
                               attn_pickle_value item)
{
    struct value *value = &pickle->values[container / 2];

    ATTN_TRY(reserve(pickle, &pickle->cells, &pickle->cell_capacity, pickle->n_cell + 1,
                     sizeof *pickle->cells));
    pickle->cells[pickle->n_cell] = (struct cell){item, 0};
    if (value->a == 0)
        value->a = (uint32_t)pickle->n_cell;
    else
        pickle->cells[value->b].next = (uint32_t)pickle->n_cell;
    value->b = (uint32_t)pickle->n_cell++;
    return ATTN_OK;
}

/* Appends the values of the stack from FIRST on to CONTAINER, of TYPE. An opaque value takes
 * everything, and keeps nothing. */
static enum attn_status fill(struct attn_pickle *pickle, attn_pickle_value container,
                             enum attn_pickle_type type, size_t first)
{
    const enum attn_pickle_type is = attn_pickle_type(pickle, container);

    if (is != type && is != ATTN_PICKLE_OPAQUE && is != ATTN_PICKLE_OTHER)
        return refuse(pickle, "adds items to something that has none");
    if (type == ATTN_PICKLE_DICT && (pickle->n_stack - first) % 2 != 0)
        return refuse(pickle, "has a key without a value");
    for (size_t i = first; i < pickle->n_stack && is == type; i++) {
        if (pickle->stack[i] == mark)
            return refuse(pickle, "has a mark between items");
        ATTN_TRY(append(pickle, container, pickle->stack[i]));
    }
    pickle->n_stack = first;
    return ATTN_OK;
}

/* Makes a container of TYPE of the values from FIRST on. The mark before them has been counted. */
static enum attn_status push_container(struct attn_pickle *pickle, enum attn_pickle_type type,
                                       size_t first)
{
    attn_pickle_value made;

    ATTN_TRY(add_value(pickle, (struct value){.type = (uint8_t)type}, &made));
    ATTN_TRY(fill(pickle, made, type, first));
    return push(pickle, made);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Copies the first items of the tuple VALUE to ITEMS [n]. Returns how many it has, at most N. */
static size_t get_items(const struct attn_pickle *pickle, attn_pickle_value value,
                        attn_pickle_value *items, size_t n)
{
    uint32_t cell = attn_pickle_first(pickle, value);
    size_t i = 0;

    if (attn_pickle_type(pickle, value) == ATTN_PICKLE_TUPLE)
        while (i < n && attn_pickle_next(pickle, &cell, &items[i]))
            i++;
    return i;
}

/* Pushes the result of calling NAME with the tuple ARGS. */
static enum attn_status call_name(struct attn_pickle *pickle, attn_pickle_value name,
                                  attn_pickle_value args)
{
    const struct known_name *known = known_of(pickle, name);
    attn_pickle_value items[4];
    const size_t n = get_items(pickle, args, items, 4);

    if (!known || known->call == CALL_STORAGE)
        return push_value(pickle, (struct value){.type = ATTN_PICKLE_OPAQUE, .a = name});
    switch (known->call) {
    case CALL_DICT: /* its items follow */
        if (n > 1 || (n == 1 && attn_pickle_first(pickle, items[0]) != 0))
            return refuse(pickle, "gives items to OrderedDict");
        return push_value(pickle, (struct value){.type = ATTN_PICKLE_DICT});
    case CALL_TENSOR:
        if (n < 4)
            return refuse(pickle, "has a tensor without sizes");
        return push_value(pickle, (struct value){.type = ATTN_PICKLE_TENSOR, .a = args});
    case CALL_PARAMETER:
    case CALL_SIZE:
        if (n < 1)
            return refuse(pickle, "calls a name without its argument");
        return push(pickle, items[0]);
    case CALL_NUMBER:
    case CALL_STORAGE:
        break;
    }
    return push(pickle, 2 * OTHER);
}

/* REDUCE and NEWOBJ. */
static enum attn_status call(struct attn_pickle *pickle)
{
    attn_pickle_value name = 0, args = 0;

    ATTN_TRY(pop(pickle, &args));
    ATTN_TRY(pop(pickle, &name));
    if (attn_pickle_type(pickle, args) != ATTN_PICKLE_TUPLE)
        return refuse(pickle, "calls a name without a tuple of arguments");
    if (attn_pickle_type(pickle, name) == ATTN_PICKLE_OPAQUE)
        return push(pickle, name);
    if (attn_pickle_type(pickle, name) != ATTN_PICKLE_NAME)
        return refuse(pickle, "calls something that is no name");
    return call_name(pickle, name, args);
}

/* Whether VALUE is the text TEXT. */
static bool is_text(const struct attn_pickle *pickle, attn_pickle_value value, const char *text)
{
    size_t size;
    const char *bytes = attn_pickle_text(pickle, value, &size);

    return bytes && attn_pickle_type(pickle, value) == ATTN_PICKLE_TEXT && size == strlen(text) &&
           memcmp(bytes, text, size) == 0;
}

/* Pushes the name MODULE.NAME, two texts. */
static enum attn_status push_name(struct attn_pickle *pickle, attn_pickle_value module,
                                  attn_pickle_value name)
{
    struct value value = {.type = ATTN_PICKLE_NAME, .a = module, .b = name};

    for (size_t i = 0; i < sizeof known_names / sizeof *known_names; i++)
        if (is_text(pickle, module, known_names[i].module) &&
            is_text(pickle, name, known_names[i].name))
            value.known = (uint16_t)(i + 1);
    return push_value(pickle, value);
}

/* BINPERSID: the storage of a tuple ('storage', type, key, device, number of elements). */
static enum attn_status push_storage(struct attn_pickle *pickle)
{
    attn_pickle_value id = ATTN_PICKLE_NONE, items[6], made;
    const struct known_name *known;
    int64_t n;

    ATTN_TRY(pop(pickle, &id));
    if (get_items(pickle, id, items, 6) < 5 || !is_text(pickle, items[0], "storage") ||
        attn_pickle_type(pickle, items[1]) != ATTN_PICKLE_NAME ||
        attn_pickle_type(pickle, items[2]) != ATTN_PICKLE_TEXT ||
        !attn_pickle_int(pickle, items[4], &n) || n < 0)
        return refuse(pickle, "has a storage of another form");
    known = known_of(pickle, items[1]);
    if (!known || known->call != CALL_STORAGE)
        return attn_pickle_refuse(pickle, items[1], pickle->err);
    ATTN_TRY(add_value(pickle,
                       (struct value){.type = ATTN_PICKLE_STORAGE,
                                      .dtype = (uint8_t)known->dtype,
                                      .a = items[2],
                                      .number = n},
                       &made));
    ATTN_TRY(reserve(pickle, &pickle->storages, &pickle->storage_capacity, pickle->n_storage + 1,
                     sizeof *pickle->storages));
    pickle->storages[pickle->n_storage++] = made;
    return push(pickle, made);
}

/* --- Opcodes ---------------------------------------------------------------------------------- */

/* Sets *bytes to the next N bytes. */
static enum attn_status take(struct attn_pickle *pickle, uint64_t n, const unsigned char **bytes)
{
    if (n > pickle->end - pickle->at)
        return refuse(pickle, "is cut");
    *bytes = pickle->file->data + pickle->at;
    pickle->at += (size_t)n;
    return ATTN_OK;
}

/* Takes a little-endian number of SIZE bytes. */
static enum attn_status take_number(struct attn_pickle *pickle, size_t size, uint64_t *number)
{
    const unsigned char *bytes = NULL;

    ATTN_TRY(take(pickle, size, &bytes));
    *number = attn_little_endian(bytes, size);
    return ATTN_OK;
}

/* Pushes the next N bytes as TYPE. */
static enum attn_status push_bytes(struct attn_pickle *pickle, enum attn_pickle_type type,
                                   uint64_t n)
{
    const unsigned char *bytes = NULL;
    const int64_t at = (int64_t)pickle->at;

    ATTN_TRY(take(pickle, n, &bytes));
    if (n > UINT32_MAX)
        return refuse(pickle, "has a text of more than 4 GiB");
    return push_value(pickle,
                      (struct value){.type = (uint8_t)type, .a = (uint32_t)n, .number = at});
}

/* Pushes a text whose size is a number of SIZE bytes. */
static enum attn_status push_sized(struct attn_pickle *pickle, size_t size)
{
    uint64_t n;

    ATTN_TRY(take_number(pickle, size, &n));
    return push_bytes(pickle, ATTN_PICKLE_TEXT, n);
}

/* LONG1: an integer of up to 255 bytes, with its sign. */
static enum attn_status push_long(struct attn_pickle *pickle)
{
    uint64_t n, number;

    ATTN_TRY(take_number(pickle, 1, &n));
    if (n > 8)
        return push_bytes(pickle, ATTN_PICKLE_LONG, n);
    ATTN_TRY(take_number(pickle, (size_t)n, &number));
    if (n > 0 && n < 8 && number >> (8 * n - 1) != 0)
        number |= UINT64_MAX << 8 * n;
    return push_int(pickle, (int64_t)number);
}

/* GLOBAL: two lines. */
static enum attn_status push_lines(struct attn_pickle *pickle)
{
    attn_pickle_value texts[2];

    for (int i = 0; i < 2; i++) {
        const unsigned char *begin = pickle->file->data + pickle->at;
        const unsigned char *line = memchr(begin, '\n', pickle->end - pickle->at);

        if (!line)
            return refuse(pickle, "is cut");
        ATTN_TRY(push_bytes(pickle, ATTN_PICKLE_TEXT, (uint64_t)(line - begin)));
        ATTN_TRY(pop(pickle, &texts[i]));
        pickle->at++;
    }
    return push_name(pickle, texts[0], texts[1]);
}

static enum attn_status memoize(struct attn_pickle *pickle, uint64_t i)
{
    if (pickle->n_stack == 0 || pickle->stack[pickle->n_stack - 1] == mark)
        return refuse(pickle, "keeps a value that it does not have");
    if (i >= pickle->file->size) /* each value that is kept takes more than a byte */
        return refuse(pickle, "numbers a value beyond the size of the file");
    ATTN_TRY(reserve(pickle, &pickle->memo, &pickle->memo_capacity, (size_t)i + 1,
                     sizeof *pickle->memo));
    while (pickle->n_memo <= i)
        pickle->memo[pickle->n_memo++] = mark;
    pickle->memo[i] = pickle->stack[pickle->n_stack - 1];
    return ATTN_OK;
}

static enum attn_status push_memo(struct attn_pickle *pickle, size_t size)
{
    uint64_t i;

    ATTN_TRY(take_number(pickle, size, &i));
    if (i >= pickle->n_memo || pickle->memo[i] == mark)
        return refuse(pickle, "uses a value that it did not keep");
    return push(pickle, pickle->memo[i]);
}

/* Makes a container of the N values at the top, or, if N is SIZE_MAX, of those after the mark. */
static enum attn_status collect(struct attn_pickle *pickle, enum attn_pickle_type type, size_t n)
{
    attn_pickle_value made = ATTN_PICKLE_NONE;
    size_t first;

    if (n != SIZE_MAX)
        return n <= pickle->n_stack ? push_container(pickle, type, pickle->n_stack - n)
                                    : refuse(pickle, "takes a value that it does not have");
    ATTN_TRY(find_mark(pickle, &first));
    ATTN_TRY(push_container(pickle, type, first));
    ATTN_TRY(pop(pickle, &made));
    pickle->n_stack--; /* the mark */
    return push(pickle, made);
}

/* Adds the N values at the top, or those after the mark, to the container before them. */
static enum attn_status extend(struct attn_pickle *pickle, enum attn_pickle_type type, size_t n)
{
    const bool has_mark = n == SIZE_MAX;
    size_t first = n <= pickle->n_stack ? pickle->n_stack - n : 0;

    if (has_mark)
        ATTN_TRY(find_mark(pickle, &first));
    if (first < 1U + has_mark || pickle->stack[first - 1 - has_mark] == mark)
        return refuse(pickle, "adds items to nothing");
    ATTN_TRY(fill(pickle, pickle->stack[first - 1 - has_mark], type, first));
    pickle->n_stack -= has_mark;
    return ATTN_OK;
}

/* Opcodes whose argument is a number, or that have none. */
static enum attn_status run_simple(struct attn_pickle *pickle, unsigned char opcode)
{
    attn_pickle_value first = 0, second = 0;
    const unsigned char *bytes = NULL;
    uint64_t n;

    switch (opcode) {
    case 0x80: /* PROTO */
        ATTN_TRY(take_number(pickle, 1, &n));
        return n <= 5 ? ATTN_OK : refuse(pickle, "has a protocol above 5");
    case 0x95: /* FRAME */
        return take(pickle, 8, &bytes);
    case 'J': /* BININT */
        ATTN_TRY(take_number(pickle, 4, &n));
        return push_int(pickle, (int32_t)(uint32_t)n);
    case 'K': /* BININT1 */
    case 'M': /* BININT2 */
        ATTN_TRY(take_number(pickle, opcode == 'K' ? 1 : 2, &n));
        return push_int(pickle, (int64_t)n);
    case 'G': /* BINFLOAT */
        ATTN_TRY(take(pickle, 8, &bytes));
        return push_value(
            pickle, (struct value){.type = ATTN_PICKLE_REAL, .number = (int64_t)pickle->at - 8});
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        ATTN_TRY(take_number(pickle, opcode == 'q' ? 1 : 4, &n));
        return memoize(pickle, n);
    case '0': /* POP */
        if (pickle->n_stack > 0 && pickle->stack[pickle->n_stack - 1] == mark)
            pickle->n_stack--;
        else
            return pop(pickle, &first);
        return ATTN_OK;
    case 0x93: /* STACK_GLOBAL */
        ATTN_TRY(pop(pickle, &second));
        ATTN_TRY(pop(pickle, &first));
        return push_name(pickle, first, second);
    case 'b': /* BUILD: attributes, such as _metadata, are kept for objects alone */
        ATTN_TRY(pop(pickle, &second));
        ATTN_TRY(pop(pickle, &first));
        if (attn_pickle_type(pickle, first) == ATTN_PICKLE_OPAQUE &&
            (attn_pickle_type(pickle, second) == ATTN_PICKLE_DICT ||
             attn_pickle_type(pickle, second) == ATTN_PICKLE_TEXT))
            pickle->values[first / 2].b = second;
        return push(pickle, first);
    default:
        return refuse(pickle, "has an opcode that files of tensors do not have");
    }
}

static enum attn_status run_opcode(struct attn_pickle *pickle, unsigned char opcode)
{
    switch (opcode) {
    case '(': /* MARK */
        return push(pickle, mark);
    case 'N':
        return push(pickle, 2 * NONE);
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89:
        return push(pickle, 2 * (opcode == 0x88 ? TRUE_VALUE : FALSE_VALUE));
    case 0x8a:
        return push_long(pickle);
    case 0x8c: /* SHORT_BINUNICODE, SHORT_BINBYTES */
    case 'C':
        return push_sized(pickle, 1);
    case 'X': /* BINUNICODE, BINBYTES */
    case 'B':
        return push_sized(pickle, 4);
    case 0x8d: /* BINUNICODE8, BINBYTES8 */
    case 0x8e:
        return push_sized(pickle, 8);
    case ')':
        return push(pickle, 2 * EMPTY_TUPLE);
    case '}':
    case ']':
        return collect(pickle, opcode == '}' ? ATTN_PICKLE_DICT : ATTN_PICKLE_LIST, 0);
    case 'd': /* DICT, LIST, TUPLE */
        return collect(pickle, ATTN_PICKLE_DICT, SIZE_MAX);
    case 'l':
        return collect(pickle, ATTN_PICKLE_LIST, SIZE_MAX);
    case 't':
        return collect(pickle, ATTN_PICKLE_TUPLE, SIZE_MAX);
    case 0x85: /* TUPLE1, TUPLE2, TUPLE3 */
    case 0x86:
    case 0x87:
        return collect(pickle, ATTN_PICKLE_TUPLE, opcode - 0x84U);
    case 's': /* SETITEM, SETITEMS */
    case 'u':
        return extend(pickle, ATTN_PICKLE_DICT, opcode == 's' ? 2 : SIZE_MAX);
    case 'a': /* APPEND, APPENDS */
    case 'e':
        return extend(pickle, ATTN_PICKLE_LIST, opcode == 'a' ? 1 : SIZE_MAX);
    case 'h': /* BINGET, LONG_BINGET */
    case 'j':
        return push_memo(pickle, opcode == 'h' ? 1 : 4);
    case 0x94:
        return memoize(pickle, pickle->n_memo);
    case 'c':
        return push_lines(pickle);
    case 'R': /* REDUCE, NEWOBJ */
    case 0x81:
        return call(pickle);
    case 'Q':
        return push_storage(pickle);
    default:
        return run_simple(pickle, opcode);
    }
}

static enum attn_status run(struct attn_pickle *pickle)
{
    static const struct value shared[N_SHARED] = {
        [NONE] = {.type = ATTN_PICKLE_OTHER},
        [TRUE_VALUE] = {.type = ATTN_PICKLE_BOOL, .number = 1},
        [FALSE_VALUE] = {.type = ATTN_PICKLE_BOOL},
        [OTHER] = {.type = ATTN_PICKLE_OTHER},
        [EMPTY_TUPLE] = {.type = ATTN_PICKLE_TUPLE},
    };
    const unsigned char *opcode = NULL;
    attn_pickle_value unused;

    for (size_t i = 0; i < N_SHARED; i++)
        ATTN_TRY(add_value(pickle, shared[i], &unused));
    ATTN_TRY(reserve(pickle, &pickle->cells, &pickle->cell_capacity, 1, sizeof *pickle->cells));
    pickle->n_cell = 1; /* 0 means none */
    for (;;) {
        ATTN_TRY(take(pickle, 1, &opcode));
        if (*opcode == '.')
            break;
        ATTN_TRY(run_opcode(pickle, *opcode));
    }
    if (pickle->n_stack != 1 || pickle->stack[0] == mark)
        return refuse(pickle, "does not end with one value");
    return ATTN_OK;
}

enum attn_status attn_pickle_read(const struct attn_file *file, size_t begin, size_t end,
                                  struct attn_pickle **pickle, struct attn_error *err)
{
    struct attn_pickle *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->file = file;
    made->at = begin;
    made->end = end;
    made->err = err;
    status = run(made);
    made->err = NULL;
    ATTN_RETURN_MADE(status, pickle, made, attn_pickle_free);
}

void attn_pickle_free(struct attn_pickle *pickle)
{
    if (!pickle)
        return;
    attn_free(pickle->values);
    attn_free(pickle->cells);
    attn_free(pickle->stack);
    attn_free(pickle->memo);
    attn_free(pickle->storages);
    attn_free(pickle);
}

/* --- What was read ---------------------------------------------------------------------------- */

attn_pickle_value attn_pickle_root(const struct attn_pickle *pickle)
{
    return pickle->stack[0];
}

size_t attn_pickle_end(const struct attn_pickle *pickle)
{
    return pickle->at;
}

enum attn_pickle_type attn_pickle_type(const struct attn_pickle *pickle, attn_pickle_value value)
{
    return value % 2 == 1 ? ATTN_PICKLE_INT : (enum attn_pickle_type)value_of(pickle, value)->type;
}

const char *attn_pickle_text(const struct attn_pickle *pickle, attn_pickle_value value,
                             size_t *size)
{
    const enum attn_pickle_type type = attn_pickle_type(pickle, value);

    if (type != ATTN_PICKLE_TEXT && type != ATTN_PICKLE_LONG)
        return NULL;
    *size = value_of(pickle, value)->a;
    return (const char *)pickle->file->data + value_of(pickle, value)->number;
}

bool attn_pickle_int(const struct attn_pickle *pickle, attn_pickle_value value, int64_t *number)
{
    const enum attn_pickle_type type = attn_pickle_type(pickle, value);

    if (type != ATTN_PICKLE_INT && type != ATTN_PICKLE_BOOL)
        return false;
    *number = value % 2 == 1 ? (int64_t)(value / 2) : value_of(pickle, value)->number;
    return true;
}

bool attn_pickle_real(const struct attn_pickle *pickle, attn_pickle_value value, double *number)
{
    uint64_t bits = 0;
    int64_t whole;

    if (attn_pickle_type(pickle, value) != ATTN_PICKLE_REAL) {
        if (!attn_pickle_int(pickle, value, &whole))
            return false;
        *number = (double)whole;
        return true;
    }
    for (int i = 0; i < 8; i++) /* big-endian */
        bits = bits << 8 | pickle->file->data[value_of(pickle, value)->number + i];
    memcpy(number, &bits, sizeof bits);
    return true;
}

uint32_t attn_pickle_first(const struct attn_pickle *pickle, attn_pickle_value value)
{
    const enum attn_pickle_type type = attn_pickle_type(pickle, value);

    return type == ATTN_PICKLE_LIST || type == ATTN_PICKLE_TUPLE || type == ATTN_PICKLE_DICT
               ? value_of(pickle, value)->a
               : 0;
}

bool attn_pickle_next(const struct attn_pickle *pickle, uint32_t *cell, attn_pickle_value *item)
{
    if (*cell == 0)
        return false;
    *item = pickle->cells[*cell].value;
    *cell = pickle->cells[*cell].next;
    return true;
}

attn_pickle_value attn_pickle_state(const struct attn_pickle *pickle, attn_pickle_value value)
{
    return attn_pickle_type(pickle, value) == ATTN_PICKLE_OPAQUE ? value_of(pickle, value)->b
                                                                 : ATTN_PICKLE_NONE;
}

attn_pickle_value attn_pickle_find(const struct attn_pickle *pickle, attn_pickle_value value,
                                   const char *key)
{
    uint32_t cell;
    attn_pickle_value name, item;

    if (attn_pickle_type(pickle, value) == ATTN_PICKLE_OPAQUE)
        value = attn_pickle_state(pickle, value);
    cell = attn_pickle_first(pickle, value);
    if (attn_pickle_type(pickle, value) == ATTN_PICKLE_DICT)
        while (attn_pickle_next(pickle, &cell, &name) && attn_pickle_next(pickle, &cell, &item))
            if (is_text(pickle, name, key))
                return item;
    return ATTN_PICKLE_NONE;
}

bool attn_pickle_get_storage(const struct attn_pickle *pickle, attn_pickle_value value,
                             struct attn_pickle_storage *storage)
{
    if (attn_pickle_type(pickle, value) != ATTN_PICKLE_STORAGE)
        return false;
    storage->dtype = (enum attn_dtype)value_of(pickle, value)->dtype;
    storage->n = (uint64_t)value_of(pickle, value)->number;
    storage->key = attn_pickle_text(pickle, value_of(pickle, value)->a, &storage->n_key);
    return true;
}

attn_pickle_value attn_pickle_storage(const struct attn_pickle *pickle, size_t i)
{
    return i < pickle->n_storage ? pickle->storages[i] : ATTN_PICKLE_NONE;
}

bool attn_pickle_get_tensor(const struct attn_pickle *pickle, attn_pickle_value value,
                            struct attn_pickle_tensor *tensor)
{
    attn_pickle_value items[4];

    if (attn_pickle_type(pickle, value) != ATTN_PICKLE_TENSOR)
        return false;
    get_items(pickle, value_of(pickle, value)->a, items, 4);
    *tensor = (struct attn_pickle_tensor){items[0], items[1], items[2], items[3]};
    return true;
}

enum attn_status attn_pickle_refuse(const struct attn_pickle *pickle, attn_pickle_value value,
                                    struct attn_error *err)
{
    static const char *const known[][2] = {
        {"_rebuild_tensor_v3", "tensors of float8: save them as bfloat16, t.to(torch.bfloat16)"},
        {"GPT", "a whole model: torch.save({'model': m.state_dict(), 'model_args': "
                "vars(m.config)}, 'ckpt.pt') where nanoGPT's model.py is"}};
    const struct value *name = value_of(pickle, value);
    size_t n_module = 0, n_name = 0;
    const char *module, *text;

    if (name->type == ATTN_PICKLE_OPAQUE)
        name = value_of(pickle, name->a);
    module = attn_pickle_text(pickle, name->a, &n_module);
    text = attn_pickle_text(pickle, name->b, &n_name);
    attn_error_set(err, ATTN_UNSUPPORTED,
                   "'%s' asks for '%s.%s': Python would run it when it opens this file; "
                   "attn-cli runs nothing and reads no such file",
                   attn_quote_string(pickle->file->path).text,
                   module ? attn_quote(module, n_module).text : "",
                   text ? attn_quote(text, n_name).text : "");
    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == n_name && memcmp(text, known[i][0], n_name) == 0)
            attn_error_hint(err, "%s", known[i][1]);
    return ATTN_UNSUPPORTED;
}
