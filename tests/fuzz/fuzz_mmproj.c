/*
 * fuzz_mmproj.c - any bytes as the file that reads pictures for a GGUF model (mmproj).
 *
 * The first byte chooses the architecture of a small model, and the rest is the file. The model is
 * opened with its tower, or refused in one line. The model itself is good, so that what is refused
 * is the file.
 */
#include "base/buffer.h"
#include "gguf/gguf.h"
#include "model/model.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WIDTH = 8, N_TOKEN = 3, PATH_SIZE = 40 };

static const char *const architectures[] = {"llama", "gemma3", "qwen2vl", "qwen3vl"};
enum { N_ARCHITECTURE = sizeof architectures / sizeof *architectures };

static void append_u32(struct attn_buffer *bytes, uint32_t value)
{
    attn_buffer_append(bytes, &value, sizeof value);
}

static void append_text(struct attn_buffer *bytes, const char *text)
{
    const uint64_t size = strlen(text);

    attn_buffer_append(bytes, &size, sizeof size);
    attn_buffer_append_string(bytes, text);
}

/* Appends a key of ARCHITECTURE, and the TYPE of its value. */
static void append_key(struct attn_buffer *bytes, const char *architecture, const char *name,
                       enum attn_gguf_type type)
{
    char key[80];

    snprintf(key, sizeof key, "%s.%s", architecture, name);
    append_text(bytes, key);
    append_u32(bytes, type);
}

static void append_number(struct attn_buffer *bytes, const char *architecture, const char *name,
                          uint32_t value)
{
    append_key(bytes, architecture, name, ATTN_GGUF_U32);
    append_u32(bytes, value);
}

/* Appends the keys of a model of ARCHITECTURE with one layer, and returns their number. */
static uint64_t append_keys(struct attn_buffer *bytes, const char *architecture)
{
    static const char *const tokens[N_TOKEN] = {"a", "b", "<image>"};
    static const uint32_t sections[] = {2, 1, 1, 0};
    const float eps = 1e-6F;
    const uint64_t n_token = N_TOKEN, n_section = 4;

    append_key(bytes, "general", "architecture", ATTN_GGUF_STRING);
    append_text(bytes, architecture);
    append_number(bytes, architecture, "block_count", 1);
    append_number(bytes, architecture, "context_length", 16);
    append_number(bytes, architecture, "embedding_length", WIDTH);
    append_number(bytes, architecture, "feed_forward_length", WIDTH);
    append_number(bytes, architecture, "attention.head_count", 1);
    append_number(bytes, architecture, "attention.head_count_kv", 1);
    append_number(bytes, architecture, "attention.key_length", WIDTH);
    append_number(bytes, architecture, "attention.value_length", WIDTH);
    append_number(bytes, architecture, "attention.sliding_window", 4);
    append_key(bytes, architecture, "attention.layer_norm_rms_epsilon", ATTN_GGUF_F32);
    attn_buffer_append(bytes, &eps, sizeof eps);
    append_key(bytes, architecture, "rope.dimension_sections", ATTN_GGUF_ARRAY);
    append_u32(bytes, ATTN_GGUF_U32);
    attn_buffer_append(bytes, &n_section, sizeof n_section);
    attn_buffer_append(bytes, sections, sizeof sections);
    append_key(bytes, "tokenizer.ggml", "tokens", ATTN_GGUF_ARRAY);
    append_u32(bytes, ATTN_GGUF_STRING);
    attn_buffer_append(bytes, &n_token, sizeof n_token);
    for (size_t i = 0; i < N_TOKEN; i++)
        append_text(bytes, tokens[i]);
    return 13;
}

/* Appends the tensors of the model of ARCHITECTURE, or their number alone. */
static uint64_t append_tensors(struct attn_buffer *bytes, const char *architecture)
{
    const bool is_gemma = strcmp(architecture, "gemma3") == 0;
    const struct {
        const char *name;
        uint64_t rows; /* 0: a vector */
        bool is_there;
    } tensors[] = {{"token_embd.weight", N_TOKEN, true},
                   {"output_norm.weight", 0, true},
                   {"blk.0.attn_norm.weight", 0, true},
                   {"blk.0.attn_q.weight", WIDTH, true},
                   {"blk.0.attn_k.weight", WIDTH, true},
                   {"blk.0.attn_v.weight", WIDTH, true},
                   {"blk.0.attn_output.weight", WIDTH, true},
                   {"blk.0.ffn_norm.weight", 0, true},
                   {"blk.0.ffn_gate.weight", WIDTH, true},
                   {"blk.0.ffn_up.weight", WIDTH, true},
                   {"blk.0.ffn_down.weight", WIDTH, true},
                   {"blk.0.attn_q_norm.weight", 0, is_gemma || architecture[4] == '3'},
                   {"blk.0.attn_k_norm.weight", 0, is_gemma || architecture[4] == '3'},
                   {"blk.0.post_attention_norm.weight", 0, is_gemma},
                   {"blk.0.post_ffw_norm.weight", 0, is_gemma}};
    const uint64_t width = WIDTH;
    uint64_t n = 0, at = 0;

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        n += tensors[i].is_there;
        if (!bytes || !tensors[i].is_there)
            continue;
        append_text(bytes, tensors[i].name);
        append_u32(bytes, tensors[i].rows > 0 ? 2 : 1);
        attn_buffer_append(bytes, &width, sizeof width);
        if (tensors[i].rows > 0)
            attn_buffer_append(bytes, &tensors[i].rows, sizeof tensors[i].rows);
        append_u32(bytes, 0); /* F32 */
        attn_buffer_append(bytes, &at, sizeof at);
        at += (tensors[i].rows > 0 ? tensors[i].rows : 1) * WIDTH * sizeof(float);
    }
    while (bytes && bytes->size % 32 != 0)
        attn_buffer_append_char(bytes, '\0');
    for (uint64_t i = 0; i < at; i++)
        attn_buffer_append_char(bytes, '\0');
    return n;
}

/* Makes a file in memory of BYTES, and writes its path to PATH. Returns what closes it. */
static int make_file(const void *bytes, size_t size, char path[PATH_SIZE])
{
    const int file = memfd_create("fuzz", 0);

    FUZZ_CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    snprintf(path, PATH_SIZE, "/proc/self/fd/%d", file);
    return file;
}

/* Returns the path of the model of architecture number I, which lives as long as the process. */
static const char *model_of(size_t i)
{
    static char paths[N_ARCHITECTURE][PATH_SIZE];
    struct attn_buffer bytes = {0}, keys = {0};
    uint64_t n[2];

    if (paths[i][0] != '\0')
        return paths[i];
    n[0] = append_tensors(NULL, architectures[i]);
    n[1] = append_keys(&keys, architectures[i]);
    attn_buffer_append_string(&bytes, "GGUF");
    append_u32(&bytes, 3);
    attn_buffer_append(&bytes, n, sizeof n);
    attn_buffer_append(&bytes, keys.data, keys.size);
    append_tensors(&bytes, architectures[i]);
    FUZZ_CHECK(!bytes.has_failed && !keys.has_failed);
    make_file(bytes.data, bytes.size, paths[i]);
    attn_buffer_release(&bytes);
    attn_buffer_release(&keys);
    return paths[i];
}

/* Opens the model at PATH with the tower at MMPROJ, or without one if that is NULL. */
static enum attn_status open_model(const char *path, const char *mmproj, struct attn_error *err)
{
    const struct attn_override parts[] = {{ATTN_GGUF_PART, path}, {ATTN_MMPROJ_PART, mmproj}};
    const struct attn_source source = {
        .name = "m", .overrides = parts, .n_override = mmproj ? 2 : 1};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_model *model = NULL;
    enum attn_status status;

    options.load = ATTN_READ;
    status = attn_model_open(&source, &options, &model, err);
    attn_model_free(model);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t chosen = attn_fuzz_byte(&data, &size) % N_ARCHITECTURE;
    static bool is_good[N_ARCHITECTURE];
    const char *path = model_of(chosen);
    struct attn_error err = {0};
    char mmproj[PATH_SIZE];
    int file;

    if (!is_good[chosen])
        FUZZ_CHECK(open_model(path, NULL, &err) == ATTN_OK);
    is_good[chosen] = true;
    file = make_file(data, size, mmproj);
    attn_fuzz_check_error(open_model(path, mmproj, &err), &err,
                          FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    close(file);
    return 0;
}
