/* replay.c - runs a fuzz target over the given files, without libFuzzer. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static int replay(const char *path)
{
    struct attn_error err = {0};
    struct attn_file file = {0};
    uint8_t *copy;

    if (attn_file_open(path, ATTN_MAP, &file, &err) != ATTN_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    copy = malloc(file.size); /* of exactly that size, so that ASan sees a read past the end */
    if (copy == NULL && file.size > 0)
        return 1;
    for (size_t i = 0; i < file.size; i++)
        copy[i] = file.data[i];
    LLVMFuzzerTestOneInput(copy, file.size);
    free(copy);
    attn_file_release(&file);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
