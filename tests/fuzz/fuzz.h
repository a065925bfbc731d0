/*
 * fuzz.h - what fuzz targets share.
 *
 * A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput, which stops the process when a
 * property does not hold. The same object is linked with libFuzzer (MODE=fuzz), or with replay.c,
 * which runs the corpus.
 */
#pragma once

#include "base/file.h"
#include "base/status.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DATA is a block of exactly SIZE bytes. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the process, and so tells the fuzzer, unless CONDITION holds. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            attn_fuzz_fail(__FILE__, __LINE__, #condition);                                        \
    } while (0)

_Noreturn void attn_fuzz_fail(const char *file, int line, const char *condition);

#define FUZZ_BIT(status) (1U << (status))

/*
 * Checks what every call promises: ERR, which was zeroed, holds nothing after ATTN_OK; otherwise
 * STATUS, one of ALLOWED (bits), and a message that is not empty and, like the hint, one printable
 * line.
 */
void attn_fuzz_check_error(enum attn_status status, const struct attn_error *err, unsigned allowed);

/* Whether TEXT is one line of printable UTF-8. */
bool attn_fuzz_is_printable(const char *text, size_t size);

/* Takes the first byte off the input; 0 when there is none. */
unsigned attn_fuzz_byte(const uint8_t **data, size_t *size);

/* A borrowed file called NAME; end with attn_file_release. */
struct attn_file attn_fuzz_file(const char *name, const uint8_t *data, size_t size);

/* A file of the repository, held for as long as the process lives. */
struct attn_blob attn_fuzz_blob(const char *name, const char *path);

/* Checks that TEXT is refused or encoded to tokens that lie in it and have ids of the vocabulary,
 * and that these are decoded to UTF-8. OPTIONS as those of attn_tokenizer_encode. */
void attn_fuzz_check_text(const struct attn_tokenizer *tokenizer,
                          const struct attn_encode_options *options, const char *text);

/* A terminated copy, in a block of exactly that size; ends at a NUL. free() it. */
char *attn_fuzz_string(const uint8_t *data, size_t size);
