/*
 * mutate_safetensors.c - how libFuzzer changes a safetensors file.
 *
 * Left alone it would rarely hit a size that fits the header, or data that fits the offsets. So the
 * header is changed as text, its size is written anew, and often the data get the length that the
 * last offset wants.
 */
#include "formats/json_reader.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { PREFIX_SIZE = 8 };

static size_t read_prefix(const uint8_t *data, size_t size)
{
    uint64_t n = 0;

    for (int i = PREFIX_SIZE - 1; i >= 0; i--)
        n = n << 8 | data[i];
    return n < size - PREFIX_SIZE ? (size_t)n : size - PREFIX_SIZE;
}

static void write_prefix(uint8_t *data, uint64_t n)
{
    for (int i = 0; i < PREFIX_SIZE; i++)
        data[i] = (uint8_t)(n >> 8 * i);
}

/* The largest number that is the last of an array of two: where the last tensor ends. */
static size_t find_end(const uint8_t *header, size_t size)
{
    struct attn_json_reader reader = attn_json_reader_init((const char *)header, size, "");
    struct attn_json_token token;
    uint64_t end = 0, value = 0;
    int n = 0;

    while (attn_json_next(&reader, &token, NULL) == ATTN_OK && token.type != ATTN_JSON_END) {
        if (token.type == ATTN_JSON_ARRAY_BEGIN)
            n = 0;
        else if (token.type == ATTN_JSON_NUMBER)
            n += attn_json_uint(&token, &value);
        else if (token.type == ATTN_JSON_ARRAY_END && n == 2 && value > end && value < 4096)
            end = value;
    }
    return (size_t)end;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint8_t *header;
    size_t n_header, n_data, n_new;

    if (size < PREFIX_SIZE || max_size < PREFIX_SIZE + 64 || seed % 16 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    n_header = read_prefix(data, size);
    n_data = size - PREFIX_SIZE - n_header;
    header = malloc(max_size);
    FUZZ_CHECK(header != NULL);
    memcpy(header, data + PREFIX_SIZE, n_header);
    n_new = LLVMFuzzerMutate(header, n_header, max_size - PREFIX_SIZE);
    if (seed % 4 != 1)
        n_data = find_end(header, n_new);
    if (n_data > max_size - PREFIX_SIZE - n_new)
        n_data = max_size - PREFIX_SIZE - n_new;
    memmove(data + PREFIX_SIZE, header, n_new);
    memset(data + PREFIX_SIZE + n_new, 0, n_data);
    write_prefix(data, n_new + (seed % 64 == 2));
    free(header);
    return PREFIX_SIZE + n_new + n_data;
}
