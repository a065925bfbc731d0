/*
 * fuzz_spm.c - any bytes as a model file of SentencePiece, for Marian, T5 and Llama, and a text
 * through it: first the text, up to a NUL, then the file.
 *
 * It is read or refused in one line. With one that is read texts become tokens that lie in them.
 */
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct attn_source *source, const char *text)
{
    static const char *const texts[] = {
        "", ">>x<< a  b", "e\xcc\x81\xcc\xa3 \xef\xac\x81\r\n\xe2\x91\xa0 ab\xe2\x96\x81</s> "};
    const unsigned allowed = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED);
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    const enum attn_status status = attn_tokenizer_open(source, &tokenizer, &err);

    attn_fuzz_check_error(status, &err, allowed);
    if (status != ATTN_OK)
        return;
    attn_fuzz_check_text(tokenizer, &ATTN_ENCODE_DEFAULT, text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        attn_fuzz_check_text(attn_tokenizer_target(tokenizer), &ATTN_ENCODE_DEFAULT, texts[i]);
    attn_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ids[] =
        "{\"</s>\": 0, \"<unk>\": 1, \"\xe2\x96\x81\": 2, \"a\": 3, \"ab\": 4, "
        "\"\xe2\x96\x81the\": 5, \"<0x41>\": 6, \">>x<<\": 7}";
    static const char config[] = "{\"model_type\": \"t5\"}";
    char *text = attn_fuzz_string(data, size);
    const size_t n_text = strlen(text), from = n_text < size ? n_text + 1 : size;
    const struct attn_blob marian[] = {{"source.spm", data + from, size - from},
                                       {"target.spm", data + from, size - from},
                                       {"vocab.json", ids, sizeof ids - 1}};
    const struct attn_blob t5[] = {{"spiece.model", data + from, size - from},
                                   {"config.json", config, sizeof config - 1}};
    const struct attn_blob llama = {"tokenizer.model", data + from, size - from};

    check(&(struct attn_source){.name = "m", .blobs = marian, .n_blob = 3}, text);
    check(&(struct attn_source){.name = "m", .blobs = t5, .n_blob = 2}, text);
    check(&(struct attn_source){.name = "m", .blobs = &llama, .n_blob = 1}, text);
    free(text);
    return 0;
}
