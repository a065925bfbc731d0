/* test_torch.c - files of PyTorch in both forms, checkpoints of nanoGPT, models of llama2.c: what
 * torch computed of them, and what is refused. tests/fixtures/PROVENANCE.md says who made them. */
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURES "tests/fixtures/torch-"

/* --- Tensors ---------------------------------------------------------------------------------- */

static struct attn_tensor_files *open_folder(const char *folder)
{
    const struct attn_source source = {.directory = folder};
    struct attn_tensor_files *files = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_safetensors_open(&source, ATTN_MAP, &files, &err) == ATTN_OK, "%s: %s",
                  folder, err.message);
    return files;
}

/* Strides, shards, parameters, a trainer's dictionary, doubles, views of one storage. */
START_TEST(every_way_to_save_tensors_gives_the_same_bytes)
{
    static const char *const names[] = {"old-stream", "one-storage", "parameters", "shards",
                                        "state-dict", "strides",     "double"};
    struct attn_tensor_files *one = open_folder(FIXTURES "bin-zip");

    ck_assert_uint_eq(attn_tensor_files_count(one), 29);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char folder[64], name[128];
        struct attn_tensor_files *other;

        snprintf(folder, sizeof folder, FIXTURES "bin-%s", names[i]);
        other = open_folder(folder);
        ck_assert_uint_eq(attn_tensor_files_count(other), 29);
        for (size_t k = 0; k < 29; k++) {
            const struct attn_tensor_entry wanted = attn_tensor_files_entry(one, k);
            struct attn_tensor_entry entry = {0};
            size_t n_byte = sizeof(float);

            for (int axis = 0; axis < wanted.tensor.rank; axis++)
                n_byte *= wanted.tensor.shape[axis];

            snprintf(name, sizeof name, "%s%s", i == 4 ? "module." : "", wanted.name);
            ck_assert_msg(attn_tensor_files_find(other, name, &entry), "%s in %s", name, folder);
            ck_assert_int_eq(entry.tensor.dtype, ATTN_DTYPE_F32);
            ck_assert_int_eq(entry.tensor.rank, wanted.tensor.rank);
            ck_assert_mem_eq(entry.tensor.shape, wanted.tensor.shape, sizeof wanted.tensor.shape);
            ck_assert_msg(memcmp(entry.tensor.data, wanted.tensor.data, n_byte) == 0, "%s in %s",
                          name, folder);
        }
        attn_tensor_files_free(other);
    }
    attn_tensor_files_free(one);
}
END_TEST

/* --- Runs ------------------------------------------------------------------------------------- */

#define TRAINED(name, file) "trained-" name "/" file, NULL, NULL, NULL, "trained-" name

/* The models, with the text or the ids that torch ran, of those of training programs in
 * expected.npz. */
static const struct run_row {
    const char *model, *vocab, *vocab_part, *text, *expected; /* a config instead of a vocabulary */
    size_t n_layer;
} runs[] = {
    {"bin-zip", NULL, NULL, NULL, "bin-zip", 2},
    {"bin-old-stream", NULL, NULL, NULL, "bin-zip", 2},
    {"bin-double", NULL, NULL, NULL, "bin-zip", 2},
    {"bin-state-dict", NULL, NULL, NULL, "bin-zip", 2},
    {"nanogpt/ckpt.pt", "nanogpt/meta.pkl", "meta.pkl", "abc! Be\xc3\xa4\xf0\x9f\x99\x82\nabc",
     "nanogpt", 2},
    {"nanogpt-compiled-nobias/ckpt.pt", "nanogpt/meta.pkl", "meta.pkl",
     "abc! Be\xc3\xa4\xf0\x9f\x99\x82\nabc", "nanogpt-compiled-nobias", 3},
    {"nanogpt-old-stream/ckpt.pt", "nanogpt/meta.pkl", "meta.pkl",
     "abc! Be\xc3\xa4\xf0\x9f\x99\x82\nabc", "nanogpt-old-stream", 2},
    {"llama2c-shared/model.bin", "llama2c-shared/tokenizer.bin", "tokenizer.bin",
     "the cat sat on \xc3\xa9 the", "llama2c-shared", 2},
    {"llama2c-grouped-unshared/model.bin", "llama2c-shared/tokenizer.bin", "tokenizer.bin",
     "the cat sat on \xc3\xa9 the", "llama2c-grouped-unshared", 3},
    {TRAINED("build_nanogpt", "model_00009.pt"), 2},
    {TRAINED("llama2c", "ckpt.pt"), 2},
    {TRAINED("llmc", "model.bin"), 2},
    {TRAINED("llmc_bf16", "model.bin"), 2},
    {TRAINED("nanochat_first", ""), 2},
    {TRAINED("nanochat_first", "model_000010.pt"), 2},
    {TRAINED("nanochat_text", ""), 1},
    {TRAINED("nanochat_hf", ""), 2},
    {TRAINED("nanochat_lambdas", ""), 3},
    {TRAINED("nanochat_values32", ""), 2},
    {TRAINED("nanochat_values12", ""), 3},
    {TRAINED("nanochat_smear", ""), 3},
    {TRAINED("mingpt", "model.pt"), 3},
    {"trained-raw_config/weights.pt", "trained-raw_config/own.json", "config.json", NULL,
     "trained-raw_config", 1},
    {"trained-scratch_gpt/model_and_optimizer.pth", "trained-scratch_gpt/GPT_CONFIG.json",
     "config.json", NULL, "trained-scratch_gpt", 2},
};

enum { MOST_ID = 160 };

static struct attn_capture *run_row(const struct run_row *row)
{
    static const int32_t usual[] = {3, 1, 4, 1, 5, 9, 2, 6};
    char model[128], vocab[128], path[128];
    struct attn_npy npy;
    int32_t ids[MOST_ID];
    int64_t rows[MOST_ID];
    struct attn_override overrides[2] = {{row->vocab_part, vocab}};
    struct attn_catalog_found found;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_capture *capture = NULL;
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_host *host = NULL;

    snprintf(model, sizeof model, FIXTURES "%s", row->model);
    snprintf(vocab, sizeof vocab, FIXTURES "%s", row->vocab ? row->vocab : "");
    ck_assert(attn_catalog_find(NULL, model, &found, &err) == ATTN_OK);
    if (row->vocab) {
        overrides[1] = found.part;
        found.source.overrides = overrides, found.source.n_override = 2;
    }
    if (row->text) {
        request.input.text = row->text, request.input.n_text = strlen(row->text);
    } else {
        snprintf(path, sizeof path, FIXTURES "%s/expected.npz/ids.npy", row->expected);
        memcpy(ids, usual, sizeof usual);
        request.input.ids = ids, request.input.n_id = 8;
        if (strncmp(row->model, "trained", 7) == 0) {
            ck_assert(attn_npy_read(path, &npy) && npy.n <= MOST_ID);
            request.input.n_id = npy.n;
            for (size_t i = 0; i < npy.n; i++)
                ids[i] = (int32_t)npy.values[i];
            attn_npy_release(&npy);
            snprintf(path, sizeof path, FIXTURES "%s/expected.npz/rows.npy", row->expected);
            if (attn_npy_read(path, &npy)) { /* otherwise all rows are expected */
                for (size_t i = 0; i < npy.n && i < MOST_ID; i++)
                    rows[i] = (int64_t)npy.values[i];
                request.selection.queries = (struct attn_number_list){.items = rows, .n = npy.n};
                attn_npy_release(&npy);
            }
        }
    }
    request.selection.sites = "pattern,logits";
    ck_assert_msg(attn_host_create(&found.source, NULL, &host, &err) == ATTN_OK &&
                      attn_run_capture(host, &request, &capture, &result, &err) == ATTN_OK,
                  "%s: %s", row->model, err.message);
    attn_result_release(&result);
    attn_host_free(host);
    return capture;
}

/* Compares FOUND with member NAME of the arrays that torch made for ROW, to BOUND. */
static void compare(const struct run_row *row, const char *name, const float *found, double bound)
{
    char path[128];
    struct attn_npy expected;
    double largest = 0, apart = 0;

    snprintf(path, sizeof path, FIXTURES "%s/expected.npz/%s.npy", row->expected, name);
    ck_assert_msg(found && attn_npy_read(path, &expected), "%s", path);
    for (size_t i = 0; i < expected.n; i++) {
        largest = fmax(largest, fabs(expected.values[i]));
        apart = fmax(apart, fabs(expected.values[i] - (double)found[i]));
    }
    ck_assert_msg(apart <= bound * fmax(largest, 1), "%s of %s is %g off", name, row->model, apart);
    attn_npy_release(&expected);
}

/* float32 of torch is itself 2e-6 from float64 here. */
START_TEST(patterns_and_logits_are_those_of_torch)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct attn_capture *capture = run_row(&runs[i]);
        char name[32];

        for (size_t layer = 0; layer < runs[i].n_layer; layer++) {
            snprintf(name, sizeof name, "pattern_%zu", layer);
            compare(&runs[i], name, attn_kept(capture, ATTN_SITE_PATTERN, (int)layer),
                    strstr(runs[i].model, "mingpt") ? 2e-5 : 3e-6); /* its weights are large */
        }
        compare(&runs[i], "logits", attn_kept(capture, ATTN_SITE_LOGITS, ATTN_NO_LAYER), 2e-5);
        attn_capture_free(capture);
    }
}
END_TEST

/* --- Refused ---------------------------------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1
#define STREAM "\x80\2\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}."
/* A storage '0' of N floats, and a tensor of it from OFFSET on with SIZES and STRIDES. */
#define STORAGE(n) "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK" n "tQ"
#define TENSOR(n, offset, sizes, strides)                                                          \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(n) "K" offset sizes strides "\x89N"             \
                                                      "tR"
#define DICT(value) STREAM "\x80\2}X\1\0\0\0w" value "s."
#define DATA "\x80\2]X\1\0\0\0000a.\2\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\x40"

static const struct {
    const char *bytes;
    size_t size;
    const char *message;
} refused[] = {
    {BYTES(""), "is empty, expected a file of PyTorch"},
    {BYTES("<!doctype html><title>x</title>"), "is a page of HTML"},
    {BYTES("version https://git-lfs.github.com"), "is a Git LFS pointer"},
    {BYTES("hello, world"), "is no file of PyTorch: neither a zip file nor a pickle"},
    {BYTES("PK\3\4\0\0"), "is no file of PyTorch: the record at its end is missing"},
    {BYTES("\x80\2}."), "is a pickle, but not one of torch.save"},
    {BYTES("\x80\2"
           "cbuiltins\neval\n(X\1\0\0\0001tR."),
     "asks for 'builtins.eval': Python would"},
    {BYTES("\x80\4\x8c\5posix\x8c\6system\x93)R."), "asks for 'posix.system': Python would run it"},
    {BYTES("\x80\2h\7."), "uses a value that it did not keep, at byte 4"},
    {BYTES("\x80\2a."), "adds items to nothing"},
    {BYTES("\x80\2]K\1K\2s."), "adds items to something that has none"},
    {BYTES("\x80\2(K\1d."), "has a key without a value"},
    {BYTES("\x80\2t."), "lacks a mark"},
    {BYTES("\x80\2(."), "does not end with one value"},
    {BYTES("\x80\2K\1K\2."), "does not end with one value"},
    {BYTES("\x80\2X\xff\xff\xff\xff"
           "a."),
     "is cut, at byte 7"},
    {BYTES("\x80\6."), "has a protocol above 5"},
    {BYTES("\x80\2i."), "has an opcode that files of tensors do not have"},
    {BYTES("\x80\2}r\xff\xff\xff\x7f."), "numbers a value beyond the size of the file"},
    {BYTES("\x80\2K\1)R."), "calls something that is no name"},
    {BYTES("\x80\2)Q."), "has a storage of another form"},
    {BYTES("\x80\2(X\7\0\0\0storagecos\nsystem\nX\1\0\0\0000NK\1tQ."), "asks for 'os.system'"},
    {BYTES(STREAM "\x80\2].\x80\2]."), "holds no dictionary of tensors"},
    {BYTES(STREAM "\x80\2}.\x80\2]."), "holds no tensors"},
    {BYTES(STREAM "\x80\2}X\1\0\0\0wcos\nsystem\n)Rs.\x80\2]."), "asks for 'os.system'"},
    {BYTES(DICT(TENSOR("\2", "\0", "K\2\x85", "K\1\x85")) "\x80\2]."),
     "'w' in './pytorch_model.bin' has a storage that is missing in the file"},
    {BYTES(DICT(TENSOR("\3", "\0", "K\2\x85", "K\1\x85")) DATA),
     "has a storage of another size than its pickle"},
    {BYTES(DICT(TENSOR("\2", "\0", "K\2\x85", "K\1\x85")) "\x80\2]X\1\0\0\0000a.\2\0\0\0\0\0\0\0"),
     "is cut: storages are missing at its end"},
    {BYTES(DICT(TENSOR("\2", "\1", "K\2\x85", "K\1\x85")) DATA), "reaches beyond its storage"},
    {BYTES(DICT(TENSOR("\2", "\0", "K\2\x85", "K\2\x85")) DATA), "reaches beyond its storage"},
    {BYTES(DICT(TENSOR("\2", "\0", "K\2\x85", "K\1K\1\x86")) DATA), "has no sizes and strides of"},
    {BYTES(DICT(TENSOR("\2", "\0", "J\xff\xff\xff\xff\x85", "K\1\x85")) DATA),
     "has no sizes and strides of"},
    {BYTES(DICT(TENSOR("\2", "\0", "J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87",
                       "K\0K\0K\0\x87")) DATA),
     "has too many elements"},
    {BYTES(DICT(TENSOR("\2", "\0", "J\0\0\0\x10\x85", "K\0\x85")) DATA),
     "has tensors that are larger than the file"},
};

START_TEST(other_files_are_refused_in_one_line)
{
    const struct attn_source here = {.directory = "."};
    char tar[512] = "";
    struct attn_tensor_files *files = NULL;
    struct attn_error failure = {0};

    attn_folder_enter();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct attn_error err = {0};

        attn_folder_write("pytorch_model.bin", refused[i].bytes, refused[i].size);
        ck_assert_msg(attn_safetensors_open(&here, ATTN_MAP, &files, &err) != ATTN_OK, "row %zu",
                      i);
        ck_assert_msg(strstr(err.message, refused[i].message), "row %zu: %s", i, err.message);
        ck_assert_ptr_null(strchr(err.message, '\n'));
    }
    memcpy(tar + 257, "ustar", 5);
    attn_folder_write("pytorch_model.bin", tar, sizeof tar);
    ck_assert(attn_safetensors_open(&here, ATTN_MAP, &files, &failure) == ATTN_UNSUPPORTED);
    ck_assert_msg(strstr(failure.message, "tar form"), "%s", failure.message);
    attn_folder_leave();
}
END_TEST

/* A row of two elements, which a stride of 0 makes of one. */
START_TEST(strides_are_gathered)
{
    static const float expected[] = {2, 2};
    struct attn_tensor_files *files;
    struct attn_tensor_entry entry;

    attn_folder_enter();
    attn_folder_write("pytorch_model.bin",
                      BYTES(DICT(TENSOR("\2", "\1", "K\1K\2\x86", "K\7K\0\x86")) DATA));
    files = open_folder(".");
    ck_assert(attn_tensor_files_find(files, "w", &entry));
    ck_assert_int_eq(entry.tensor.rank, 2);
    ck_assert_mem_eq(entry.tensor.data, expected, sizeof expected);
    attn_tensor_files_free(files);
    attn_folder_leave();
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char *const models[] = {FIXTURES "bin-strides",
                                         FIXTURES "nanogpt/ckpt.pt",
                                         FIXTURES "llama2c-shared/model.bin",
                                         FIXTURES "trained-llama2c/ckpt.pt",
                                         FIXTURES "trained-nanochat_first",
                                         FIXTURES "trained-build_nanogpt/model_00009.pt"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        enum attn_status status = ATTN_NO_MEMORY;

        for (long n = 0; status != ATTN_OK; n++) {
            struct attn_host *host = NULL;

            attn_alloc_fail_at(n);
            status = attn_host_open(models[i], NULL, &host, NULL);
            attn_alloc_fail_off();
            ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
            attn_host_free(host);
        }
    }
}
END_TEST

/* --- Damaged ---------------------------------------------------------------------------------- */

/* The zip form, the stream form and llama2.c, each with its vocabulary. */
static const char *const whole[][3] = {
    {"nanogpt/ckpt.pt", "nanogpt/meta.pkl", "meta.pkl"},
    {"nanogpt-old-stream/ckpt.pt", "nanogpt-old-stream/meta.pkl", "meta.pkl"},
    {"llama2c-shared/model.bin", "llama2c-shared/tokenizer.bin", "tokenizer.bin"},
    {"trained-llmc/model.bin", "nanogpt/meta.pkl", "meta.pkl"},
    {"trained-build_nanogpt/model_00009.pt", "nanogpt/meta.pkl", "meta.pkl"},
    {"trained-llama2c/ckpt.pt", "nanogpt/meta.pkl", "meta.pkl"},
};

enum { N_WHOLE = sizeof whole / sizeof *whole };

struct damage {
    struct attn_part parts[2]; /* checkpoint, vocabulary: their own memory, so that ASan sees a byte
                                  that is read behind a cut */
    const char *vocab_part;
};

static struct damage load(size_t i)
{
    struct damage damage = {.vocab_part = whole[i][2]};
    char path[128];

    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, FIXTURES "%s", whole[i][k]);
        damage.parts[k] = attn_part_read(path);
    }
    return damage;
}

static void release(struct damage *damage)
{
    free(damage->parts[0].bytes);
    free(damage->parts[1].bytes);
}

/* Opens part K as it is now: it is taken, or refused in one line that names it. */
static bool take(struct damage *damage, int k)
{
    const struct attn_blob blobs[] = {
        {"checkpoint", damage->parts[0].bytes, damage->parts[0].size},
        {damage->vocab_part, damage->parts[1].bytes, damage->parts[1].size}};
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    struct attn_model *model = NULL;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    const enum attn_status status = k == 0 ? attn_model_open(&source, NULL, &model, &err)
                                           : attn_tokenizer_open(&source, &tokenizer, &err);

    ck_assert_msg(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED, "%s",
                  err.message);
    if (status != ATTN_OK)
        ck_assert_msg(strstr(err.message, blobs[k].name) && !strchr(err.message, '\n'), "%s",
                      err.message);
    attn_model_free(model);
    attn_tokenizer_free(tokenizer);
    return status == ATTN_OK;
}

/* The bytes before and after the weights, where a file is described; all of a vocabulary. */
static bool is_edge(const struct attn_part *part, size_t at)
{
    enum { EDGE = 6000 };

    return at < EDGE || part->size - at < EDGE;
}

/* One length in 19 of the edges, with TORTURE=full every one, and one in 997 of the weights.
 * tokenizer.bin does not say how many tokens it has, so it may end after any of them. */
START_TEST(files_that_were_cut_are_refused)
{
    for (size_t i = 0; i < N_WHOLE; i++) {
        struct damage damage = load(i);

        ck_assert(take(&damage, 0));
        for (int k = 0; k < 2; k++) {
            const struct attn_part part = damage.parts[k];
            const bool is_listed = strcmp(whole[i][2], "tokenizer.bin") == 0 && k == 1;
            size_t n_taken = 0;

            for (size_t size = 0; size < part.size;
                 size += is_edge(&part, size) ? attn_one_in(19) : 997) {
                damage.parts[k] = (struct attn_part){malloc(size + (size == 0)), size};
                ck_assert_ptr_nonnull(damage.parts[k].bytes);
                memcpy(damage.parts[k].bytes, part.bytes, size);
                n_taken += take(&damage, k);
                free(damage.parts[k].bytes);
            }
            ck_assert_msg(n_taken == 0 || (is_listed && n_taken < part.size / attn_one_in(19) / 5),
                          "%s: took %zu", whole[i][k], n_taken);
            damage.parts[k] = part;
        }
        release(&damage);
    }
}
END_TEST

/* One bit in 95 of the edges, with TORTURE=full one in 5, and one in 9,973 of the weights. */
START_TEST(files_with_a_changed_bit_are_taken_or_refused)
{
    for (size_t i = 0; i < N_WHOLE; i++) {
        struct damage damage = load(i);

        for (int k = 0; k < 2; k++) {
            const struct attn_part *part = &damage.parts[k];
            size_t n_taken = 0, n_bit = 0;

            for (size_t bit = 0; bit < 8 * part->size; n_bit++) {
                part->bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
                n_taken += take(&damage, k);
                part->bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
                bit += is_edge(part, bit / 8) ? 5 * attn_one_in(19) : 9973;
            }
            ck_assert_msg(n_taken > 0 && n_taken < n_bit, "%s: %zu of %zu", whole[i][k], n_taken,
                          n_bit);
        }
        release(&damage);
    }
}
END_TEST

/* As with a program that gives an adapter, but neither its weights nor a folder. */
START_TEST(a_source_without_a_folder_is_refused)
{
    const struct attn_override config = {"adapter_config.json", "models/fable/config.json"};
    const struct attn_source source = {.name = "m", .overrides = &config, .n_override = 1};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_model_open(&source, NULL, &model, &err), ATTN_IO);
    ck_assert_msg(strstr(err.message, "config.json") && !strchr(err.message, '\n'), "%s",
                  err.message);
}
END_TEST

ATTN_SUITE("torch", a_source_without_a_folder_is_refused,
           every_way_to_save_tensors_gives_the_same_bytes, patterns_and_logits_are_those_of_torch,
           other_files_are_refused_in_one_line, strides_are_gathered, every_allocation_may_fail,
           files_that_were_cut_are_refused, files_with_a_changed_bit_are_taken_or_refused)
