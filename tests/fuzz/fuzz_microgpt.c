/*
 * fuzz_microgpt.c - any bytes as the JSON file of a microgpt.
 *
 * The file is read, or refused in one line. What was read opens as a model, and what has letters as
 * a tokenizer, unless two letters are equal; texts are encoded or refused.
 */
#include "base/file.h"
#include "foreign/microgpt.h"
#include "model/model.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned allowed = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED);
    const struct attn_blob blob = {ATTN_MICROGPT_PART, data, size};
    const struct attn_source source = {.name = "m.json", .blobs = &blob, .n_blob = 1};
    struct attn_opened opened = {.note = NULL};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_opener_microgpt.read(&source, ATTN_MAP, &opened, &err);

    attn_fuzz_check_error(status, &err, allowed);
    attn_opened_release(&opened);
    if (status != ATTN_OK)
        return 0;
    FUZZ_CHECK(attn_model_open(&source, NULL, &model, &err) == ATTN_OK);
    status = attn_tokenizer_open(&source, &tokenizer, &err);
    attn_fuzz_check_error(status, &err, allowed);
    FUZZ_CHECK(status == ATTN_OK || err.status == ATTN_FORMAT);
    if (status == ATTN_OK)
        attn_fuzz_check_text(tokenizer, &ATTN_ENCODE_DEFAULT, "ab<BOS>a");
    attn_tokenizer_free(tokenizer);
    attn_model_free(model);
    return 0;
}
