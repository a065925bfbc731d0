/* container.c - see container.h. */
#include "tests/adversary/container.h"
#include "base/dtype_internal.h"

#include <stdio.h>
#include <string.h>

enum defect {
    NONE = -1,
    HOLE,
    OVERLAP,
    PAST_END,
    BACKWARDS,
    LONG_TENSOR,
    HUGE_SHAPE,
    TWICE,
    NO_DTYPE,
    NO_SHAPE,
    NO_OFFSETS,
    OTHER_DTYPE,
    LOWER_DTYPE,
    NUMBER_DTYPE,
    NEGATIVE,
    REAL,
    TEXT_SIZE,
    MANY_DIMENSIONS,
    ONE_OFFSET,
    THREE_OFFSETS,
    METADATA_NUMBER,
    METADATA_LIST,
    TENSOR_LIST,
    HEADER_BEYOND,
    HEADER_HUGE,
    DATA_BEHIND,
    HEADER_CUT,
    FIRST_JSON
};

const char *const attn_container_defects[ATTN_CONTAINER_N_DEFECT] = {
    "a hole in the data",
    "tensors that overlap",
    "a tensor past the end",
    "an end before its begin",
    "a shape larger than its bytes",
    "a shape beyond 64 bits",
    "a tensor twice",
    "no dtype",
    "no shape",
    "no data_offsets",
    "an unknown dtype",
    "a dtype in small letters",
    "a dtype that is a number",
    "a negative size",
    "a size that is no whole number",
    "a size that is a text",
    "17 dimensions",
    "one offset",
    "three offsets",
    "metadata that is a number",
    "metadata that is a list",
    "a tensor that is a list",
    "a header longer than the file",
    "a header of 2^63 bytes",
    "data behind the last tensor",
    "a file that ends in its header",
    ATTN_JSON_DEFECTS,
};

struct attn_planned_tensor *attn_container_add(struct attn_container *container, const char *name,
                                               enum attn_dtype dtype, int rank, ...)
{
    struct attn_planned_tensor *tensor = &container->tensors[container->n++];
    va_list list;

    FUZZ_CHECK(container->n <= ATTN_CONTAINER_MAX);
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->dtype = dtype;
    tensor->rank = rank;
    va_start(list, rank);
    for (int i = 0; i < rank; i++)
        tensor->shape[i] = va_arg(list, size_t);
    va_end(list);
    return tensor;
}

void attn_container_add_any(struct attn_case *c, struct attn_container *container, size_t n)
{
    static const char *const names[] = {"w",          "",
                                        "a.b/c",      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                        "quote\"",    "back\\slash",
                                        "tab\t",      "\x1b[31m",
                                        "__metadata", "a very long name of a tensor, as they say",
                                        "\x7f",       " "};

    for (size_t i = 0; i < n; i++) {
        char name[ATTN_CONTAINER_NAME_SIZE];
        struct attn_planned_tensor *tensor;

        snprintf(name, sizeof name, "%s%zu", names[attn_case_below(c, 12)], i);
        tensor = attn_container_add(container, name,
                                    (enum attn_dtype)attn_case_below(c, ATTN_N_PLAIN_DTYPE), 0);
        tensor->rank = (int)attn_case_below(c, attn_case_chance(c, 10) ? ATTN_MAX_RANK + 1 : 4);
        for (int d = 0; d < tensor->rank; d++)
            tensor->shape[d] = tensor->rank > 4 ? 1 : attn_case_below(c, 4);
        if (attn_dtype_bits(tensor->dtype) % 8 != 0) /* whole bytes: 4 of 6 bits, 2 of 4 */
            tensor->rank = 2, tensor->shape[0] = 4, tensor->shape[1] = attn_case_below(c, 3);
    }
}

/* --- the header ------------------------------------------------------------------------------- */

/* The number of the tensor that has the defect: one with elements. */
static size_t choose_victim(struct attn_case *c, const struct attn_container *container)
{
    size_t victim = attn_case_below(c, container->n);

    for (size_t i = 0; i < container->n; i++, victim = (victim + 1) % container->n)
        if (container->tensors[victim].end > container->tensors[victim].begin)
            break;
    return victim;
}

static void put_size(struct attn_case *c, size_t size, enum defect defect, struct attn_buffer *out)
{
    char text[40];

    snprintf(text, sizeof text, "%zu", size);
    if (defect == NEGATIVE)
        snprintf(text, sizeof text, "-%zu", size + 1);
    else if (defect == REAL)
        snprintf(text, sizeof text, attn_case_chance(c, 50) ? "%zu.5" : "%zu.0e0", size);
    else if (defect == TEXT_SIZE)
        snprintf(text, sizeof text, "\"%zu\"", size);
    else if (defect == HUGE_SHAPE)
        snprintf(text, sizeof text, "%s",
                 attn_case_chance(c, 50) ? "18446744073709551616" : "9223372036854775808");
    else if (defect == LONG_TENSOR)
        snprintf(text, sizeof text, "%zu", size + 1 + attn_case_below(c, 1000));
    attn_json_put(c, out, text);
}

static void put_shape(struct attn_case *c, const struct attn_planned_tensor *tensor,
                      enum defect defect, struct attn_buffer *out)
{
    /* A tensor without dimensions gets one that is wrong. */
    const int at = tensor->rank > 0 ? (int)attn_case_below(c, (size_t)tensor->rank) : 0;
    const bool is_in_size = defect == NEGATIVE || defect == REAL || defect == TEXT_SIZE ||
                            defect == HUGE_SHAPE || defect == LONG_TENSOR;

    attn_json_put(c, out, "[");
    for (int i = 0; i < tensor->rank; i++) {
        if (i > 0)
            attn_json_put(c, out, ",");
        put_size(c, tensor->shape[i], is_in_size && i == at ? defect : NONE, out);
    }
    if (is_in_size && tensor->rank == 0)
        put_size(c, 1, defect, out);
    for (int i = tensor->rank; defect == MANY_DIMENSIONS && i < ATTN_MAX_RANK + 1; i++)
        attn_json_put(c, out, i > 0 ? ",1" : "1");
    attn_json_put(c, out, "]");
}

static void put_offsets(struct attn_case *c, const struct attn_planned_tensor *tensor,
                        enum defect defect, struct attn_buffer *out)
{
    size_t begin = tensor->begin, end = tensor->end;
    char text[96];

    if (defect == PAST_END)
        begin += 1 << 20, end += 1 << 20;
    else if (defect == BACKWARDS)
        begin = tensor->end, end = tensor->begin;
    else if (defect == OVERLAP)
        begin++, end++;
    if (defect == ONE_OFFSET)
        snprintf(text, sizeof text, "[%zu]", begin);
    else if (defect == THREE_OFFSETS)
        snprintf(text, sizeof text, "[%zu,%zu,%zu]", begin, end, end);
    else
        snprintf(text, sizeof text, attn_case_chance(c, 80) ? "[%zu,%zu]" : "[ %zu , %zu ]", begin,
                 end);
    attn_json_put(c, out, text);
}

static void put_dtype(struct attn_case *c, const struct attn_planned_tensor *tensor,
                      enum defect defect, struct attn_buffer *out)
{
    static const char *const others[] = {"F128", "", "F31", "FLOAT", "F32 ", "C128", "null"};

    if (defect == OTHER_DTYPE)
        attn_buffer_append_format(out, "\"%s\"", others[attn_case_below(c, 7)]);
    else if (defect == LOWER_DTYPE)
        attn_buffer_append_string(out, "\"f32\"");
    else if (defect == NUMBER_DTYPE)
        attn_buffer_append_string(out, attn_case_chance(c, 50) ? "32" : "null");
    else
        attn_json_put_string(c, out, attn_dtype_name(tensor->dtype),
                             strlen(attn_dtype_name(tensor->dtype)));
    attn_json_blank(c, out);
}

static void put_tensor(struct attn_case *c, const struct attn_container *container, size_t i,
                       enum defect defect, struct attn_buffer *out)
{
    const struct attn_planned_tensor *tensor = &container->tensors[i];
    size_t order[4], n_put = 0;

    attn_json_put_key(c, out, tensor->name);
    if (defect == TENSOR_LIST) {
        attn_json_put(c, out, "[\"F32\",[],[0,4]]");
        return;
    }
    attn_json_put(c, out, "{");
    attn_case_shuffle(c, order, 4);
    for (int part = 0; part < 4; part++) {
        if (order[part] == 3 ? container->is_plain || attn_case_chance(c, 90)
                             : defect == NO_DTYPE + (int)order[part])
            continue;
        if (n_put++ > 0)
            attn_json_put(c, out, ",");
        attn_json_put_key(
            c, out, (const char *const[]){"dtype", "shape", "data_offsets", "x"}[order[part]]);
        if (order[part] == 0)
            put_dtype(c, tensor, defect, out);
        else if (order[part] == 1)
            put_shape(c, tensor, defect, out);
        else if (order[part] == 2)
            put_offsets(c, tensor, defect, out);
        else
            attn_json_put(c, out, "[{\"dtype\":null},-1e5,true]");
    }
    attn_json_put(c, out, "}");
}

enum { N_MANY = 10000 }; /* texts of large metadata */

static void put_metadata(struct attn_case *c, enum defect defect, struct attn_buffer *out)
{
    const bool is_large = attn_case_is_large(c);

    attn_json_put_key(c, out, "__metadata__");
    if (defect == METADATA_NUMBER)
        attn_json_put(c, out, attn_case_chance(c, 50) ? "{\"format\":1}" : "7");
    else if (defect == METADATA_LIST)
        attn_json_put(c, out, attn_case_chance(c, 50) ? "[]" : "{\"a\":{}}");
    else if (attn_case_chance(c, 20))
        attn_json_put(c, out, "null");
    else {
        attn_json_put(c, out, "{\"format\":\"pt\",\"\":\"\\u20ac\"");
        for (int i = 0; is_large && i < N_MANY; i++)
            attn_buffer_append_format(out, ",\"%d\":\"\"", i);
        attn_json_put(c, out, "}");
    }
    attn_json_put(c, out, ",");
}

static void put_header(struct attn_case *c, const struct attn_container *container,
                       enum defect defect, struct attn_buffer *out)
{
    const size_t victim = choose_victim(c, container);
    size_t order[ATTN_CONTAINER_MAX];

    attn_case_shuffle(c, order, container->n);
    attn_json_put(c, out, "{");
    if (defect == METADATA_NUMBER || defect == METADATA_LIST ||
        (!container->is_plain && attn_case_chance(c, 30)))
        put_metadata(c, defect, out);
    for (size_t i = 0; i < container->n; i++) {
        if (i > 0)
            attn_json_put(c, out, ",");
        put_tensor(c, container, order[i], order[i] == victim ? defect : NONE, out);
    }
    if (defect == TWICE) {
        attn_json_put(c, out, ",");
        put_tensor(c, container, victim, NONE, out);
    }
    attn_json_put(c, out, "}");
}

/* --- the file --------------------------------------------------------------------------------- */

/* Places the tensors one behind the other, in any order. Returns the bytes of the data. */
static size_t place(struct attn_case *c, struct attn_container *container, enum defect defect)
{
    size_t order[ATTN_CONTAINER_MAX], at = defect == HOLE ? 4 : 0;

    attn_case_shuffle(c, order, container->n);
    for (size_t i = 0; i < container->n; i++) {
        struct attn_planned_tensor *tensor = &container->tensors[order[i]];
        size_t n = 1;

        for (int d = 0; d < tensor->rank; d++)
            n *= tensor->shape[d];
        tensor->begin = at;
        at = tensor->end = at + n * attn_dtype_bits(tensor->dtype) / 8;
    }
    return at;
}

static void put_data(struct attn_case *c, size_t size, struct attn_buffer *out)
{
    for (size_t i = 0; i < size; i += sizeof(float)) {
        const float value = (float)attn_case_below(c, 129) / 64 - 1;

        attn_buffer_append(out, &value, size - i < sizeof value ? size - i : sizeof value);
    }
}

void attn_container_write(struct attn_case *c, struct attn_container *container, int number,
                          struct attn_buffer *out)
{
    const enum defect defect = (enum defect)number;
    const size_t n_data = place(c, container, defect);
    struct attn_buffer header = {0};
    uint64_t said;

    put_header(c, container, defect, &header);
    if (number >= FIRST_JSON)
        attn_json_spoil(c, &header, number - FIRST_JSON);
    while (attn_case_chance(c, 80) && header.size % 8 != 0)
        attn_buffer_append_char(&header, ' ');
    said = header.size;
    if (defect == HEADER_BEYOND)
        said += n_data + 1 + attn_case_below(c, 100);
    if (defect == HEADER_HUGE)
        said |= UINT64_C(1) << (27 + attn_case_below(c, 37));
    for (int i = 0; i < 8; i++)
        attn_buffer_append_char(out, (char)(said >> 8 * i));
    attn_buffer_append(out, header.data, header.size);
    container->data_start = out->size;
    put_data(c, n_data, out);
    if (defect == DATA_BEHIND)
        attn_buffer_append(out, "1234", 1 + attn_case_below(c, 4));
    if (defect == HEADER_CUT)
        out->size = attn_case_below(c, 8 + header.size);
    attn_buffer_release(&header);
}
