/*
 * fuzz_gguf_model.c - any bytes as the metadata of a GGUF file: a model and a tokenizer of them.
 *
 * The first byte is the number of pairs, the next two choose which tensors of one small layer are
 * there, and the rest are the pairs. A model is opened or refused in one line; one that is opened
 * runs. A tokenizer is opened or refused; one that is opened encodes texts, or refuses them, to
 * tokens that lie in the text and have ids of the vocabulary, and decodes these to UTF-8.
 */
#include "base/buffer.h"
#include "forward/session.h"
#include "model/config_fields.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

#include <string.h>

enum { N_TOKEN = 24, N_CTX = 16, WIDTH = 8, THREE_WIDTHS = 24, HALF_HEAD = 4 };

/* Tensors with ROWS (0: a vector) of COLUMNS, by the bit of the input that asks for them. */
static const struct tensor {
    const char *name;
    size_t rows, columns;
    int bit; /* -1: always there */
} tensors[] = {
    {"token_embd.weight", N_TOKEN, WIDTH, -1},
    {"output_norm.weight", 0, WIDTH, -1},
    {"blk.0.attn_output.weight", WIDTH, WIDTH, -1},
    {"blk.0.ffn_up.weight", WIDTH, WIDTH, -1},
    {"blk.0.ffn_down.weight", WIDTH, WIDTH, -1},
    {"blk.0.attn_norm.weight", 0, WIDTH, 0},
    {"blk.0.attn_q.weight", WIDTH, WIDTH, 1},
    {"blk.0.attn_k.weight", WIDTH, WIDTH, 1},
    {"blk.0.attn_v.weight", WIDTH, WIDTH, 1},
    {"blk.0.attn_qkv.weight", THREE_WIDTHS, WIDTH, 2},
    {"blk.0.ffn_norm.weight", 0, WIDTH, 3},
    {"blk.0.ffn_gate.weight", WIDTH, WIDTH, 4},
    {"blk.0.post_attention_norm.weight", 0, WIDTH, 5},
    {"blk.0.post_ffw_norm.weight", 0, WIDTH, 5},
    {"blk.0.attn_q_norm.weight", 0, WIDTH, 6},
    {"blk.0.attn_k_norm.weight", 0, WIDTH, 6},
    {"position_embd.weight", N_CTX, WIDTH, 7},
    {"output_norm.bias", 0, WIDTH, 8},
    {"blk.0.attn_norm.bias", 0, WIDTH, 8},
    {"blk.0.ffn_norm.bias", 0, WIDTH, 9},
    {"blk.0.attn_qkv.bias", 0, THREE_WIDTHS, 10},
    {"blk.0.attn_q.bias", 0, WIDTH, 11},
    {"blk.0.attn_k.bias", 0, WIDTH, 11},
    {"blk.0.attn_v.bias", 0, WIDTH, 11},
    {"blk.0.attn_output.bias", 0, WIDTH, 12},
    {"blk.0.ffn_up.bias", 0, WIDTH, 13},
    {"blk.0.ffn_down.bias", 0, WIDTH, 13},
    {"output.weight", N_TOKEN, WIDTH, 14},
    {"output.bias", 0, N_TOKEN, 15},
    {"rope_freqs.weight", 0, HALF_HEAD, 15},
};
enum { N_TENSOR = sizeof tensors / sizeof *tensors };

static const char *const texts[] = {
    "",
    "a",
    " ab  ba<s> c\n\nThe 12 cats\xe2\x80\x99 caf\xc3\xa9",
    "e\xcc\x81 \xe2\x96\x81 \xea\xb0\x80\xe1\x86\xa8 \xf0\x9f\x98\x80_x",
};

static bool is_chosen(const struct tensor *tensor, unsigned bits)
{
    return tensor->bit < 0 || (bits >> tensor->bit & 1) != 0;
}

static void append_u32(struct attn_buffer *bytes, uint32_t value)
{
    attn_buffer_append(bytes, &value, sizeof value);
}

static void append_u64(struct attn_buffer *bytes, uint64_t value)
{
    attn_buffer_append(bytes, &value, sizeof value);
}

/* The entries of the tensors that BITS choose; returns how many floats they hold, each tensor
 * aligned to 32 bytes. */
static size_t append_tensors(struct attn_buffer *bytes, unsigned bits)
{
    size_t n = 0;

    for (size_t i = 0; i < N_TENSOR; i++) {
        const struct tensor *tensor = &tensors[i];
        const uint32_t n_dim = tensor->rows > 0 ? 2 : 1;

        if (!is_chosen(tensor, bits))
            continue;
        append_u64(bytes, strlen(tensor->name));
        attn_buffer_append_string(bytes, tensor->name);
        append_u32(bytes, n_dim);
        append_u64(bytes, tensor->columns);
        if (n_dim == 2)
            append_u64(bytes, tensor->rows);
        append_u32(bytes, 0);
        append_u64(bytes, n * sizeof(float));
        n += ((n_dim == 2 ? tensor->rows : 1) * tensor->columns + 7) / 8 * 8;
    }
    return n;
}

static struct attn_buffer make_file(const uint8_t *data, size_t size)
{
    struct attn_buffer bytes = {0};
    const unsigned n_pair = attn_fuzz_byte(&data, &size);
    unsigned bits = attn_fuzz_byte(&data, &size);
    uint64_t n_tensor = 0;
    size_t n;

    bits |= attn_fuzz_byte(&data, &size) << 8;
    for (size_t i = 0; i < N_TENSOR; i++)
        n_tensor += is_chosen(&tensors[i], bits);
    attn_buffer_append_string(&bytes, "GGUF");
    append_u32(&bytes, 3);
    append_u64(&bytes, n_tensor);
    append_u64(&bytes, n_pair);
    attn_buffer_append(&bytes, data, size);
    n = append_tensors(&bytes, bits);
    while (bytes.size % 32 != 0)
        attn_buffer_append_char(&bytes, '\0');
    for (size_t i = 0; i < n; i++) {
        const float value = (float)(i * 7 % 13 + 1) / 16;

        attn_buffer_append(&bytes, &value, sizeof value);
    }
    FUZZ_CHECK(!bytes.has_failed);
    return bytes;
}

static void check_model(const struct attn_source *source)
{
    static const int32_t ids[] = {0, 3, 1};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_model *model = NULL;
    struct attn_session *session = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_model_open(source, NULL, &model, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status != ATTN_OK)
        return;
    options.n_max = attn_model_config(model)->n_ctx < 3 ? attn_model_config(model)->n_ctx : 3;
    options.has_logits = true;
    status = attn_session_create(model, &options, &session, &err);
    attn_fuzz_check_error(status, &err, 0);
    status = attn_session_feed(session, ids, options.n_max, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    attn_session_free(session);
    attn_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attn_buffer bytes = make_file(data, size);
    const struct attn_blob blob = {"model.gguf", bytes.data, bytes.size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    check_model(&source);
    status = attn_tokenizer_open(&source, &tokenizer, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status == ATTN_OK)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            attn_fuzz_check_text(tokenizer, NULL, texts[i]);
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&bytes);
    return 0;
}
