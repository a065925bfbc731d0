/* What inspect finds, as tables: beside sums done by hand, and beside what the files hold. */
#include "attn.h"
#include "base/buffer.h"
#include "inspect/inspection_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/gguf_image.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <string.h>

/* A model that is inspected, with all that belongs to it. */
struct subject {
    struct attn_source source;
    struct attn_model *model;
    struct attn_tokenizer *tokenizer;
    struct attn_cost cost;
    struct attn_inspection inspection;
};

static void open_subject(struct subject *subject, const char *directory, size_t n, size_t n_source)
{
    struct attn_error err = {0};

    *subject = (struct subject){.source = {.directory = directory}};
    ck_assert_msg(attn_model_open(&subject->source, &ATTN_MODEL_OPTIONS_DEFAULT, &subject->model,
                                  &err) == ATTN_OK,
                  "%s", err.message);
    attn_tokenizer_open(&subject->source, &subject->tokenizer, NULL);
    ck_assert(attn_cost_find(subject->model, n, n_source, &subject->cost, &err) == ATTN_OK);
    subject->inspection = ATTN_INSPECTION_DEFAULT;
    subject->inspection.model = subject->model;
    subject->inspection.weights = attn_model_files(subject->model);
    subject->inspection.tokenizer = subject->tokenizer;
    subject->inspection.source = &subject->source;
    subject->inspection.cost = &subject->cost;
}

static void close_subject(struct subject *subject)
{
    attn_tokenizer_free(subject->tokenizer);
    attn_model_free(subject->model);
}

static struct attn_table *inspect(const struct subject *subject, enum attn_inspected part)
{
    struct attn_table *table;
    struct attn_error err = {0};

    ck_assert_msg(attn_inspect(&subject->inspection, part, &table, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

/* PART in FORM, beside EXPECTED. */
static void expect(const struct subject *subject, enum attn_inspected part,
                   enum attn_table_form form, const char *expected)
{
    struct attn_table *table = inspect(subject, part);
    struct attn_error err = {0};
    struct attn_sink *sink;
    size_t size;

    ck_assert(attn_sink_create_memory(&sink, &err) == ATTN_OK);
    ck_assert(attn_table_write(table, form, -1, sink, &err) == ATTN_OK);
    attn_sink_write(sink, "", 1);
    ck_assert_str_eq(attn_sink_bytes(sink, &size), expected);
    attn_sink_free(sink);
    attn_table_free(table);
}

START_TEST(describes_a_gpt2)
{
    struct subject subject;

    open_subject(&subject, "models/tiny-gpt2", 17, 0);
    expect(&subject, ATTN_INSPECTED_CONFIG, ATTN_TABLE_CSV,
           "model_type,n_layer,n_head,n_kv_head,d_model,d_head,d_value,d_mlp,n_ctx,n_vocab,norm,"
           "norm_eps,norm_place,has_single_norm,has_final_norm,qk_norm,positions,embed_scale,"
           "act_fn,has_gated_mlp,has_projections,has_qkv_bias,has_out_proj,has_out_bias,"
           "has_mlp_bias,has_residual,has_parallel_residual,output,has_output_bias,logits_cap\n"
           "gpt2,3,3,3,15,5,5,22,17,487,layernorm,1e-05,before,0,1,none,learned,,gelu_new,0,1,1,1,"
           "1,1,1,0,tied,0,\n");
    expect(&subject, ATTN_INSPECTED_ATTENTION, ATTN_TABLE_TABBED,
           "full\t0\tcausal\t1\t0\t1\t\t\t\t\t\t\t\n"
           "full\t0\tcausal\t1\t0\t1\t\t\t\t\t\t\t\n"
           "full\t0\tcausal\t1\t0\t1\t\t\t\t\t\t\t\n");
    expect(&subject, ATTN_INSPECTED_LAYERS, ATTN_TABLE_TABBED,
           "attention\tfull, causal, scores / sqrt(d_head)\n");
    expect(&subject, ATTN_INSPECTED_DIFFERENCES, ATTN_TABLE_TABBED, "");
    expect(&subject, ATTN_INSPECTED_PARAMETERS, ATTN_TABLE_TABBED,
           "7305\t255\t2880\t2091\t210\t0\t12741\n");
    expect(&subject, ATTN_INSPECTED_TOKENIZER, ATTN_TABLE_TABBED,
           "bpe\t487\t16.0.0\t9.0.0\t17.0.0\t8.0.0\t\n");
    expect(&subject, ATTN_INSPECTED_SPECIAL, ATTN_TABLE_TABBED, "486\t<|endoftext|>\n");
    expect(&subject, ATTN_INSPECTED_RUN, ATTN_TABLE_TABBED, "17\t0\t1377\n");
    close_subject(&subject);
}
END_TEST

START_TEST(tells_windows_and_positions_by_layer)
{
    struct subject subject;

    open_subject(&subject, "tests/fixtures/family-gemma3-text", 5, 0);
    expect(
        &subject, ATTN_INSPECTED_ATTENTION, ATTN_TABLE_JSON_LINES,
        "{\"kind\": \"window\", \"is_cross\": false, \"mask\": \"causal\", \"is_scaled\": false, "
        "\"eps\": 0, \"factor\": 0.2886751345948129, \"window\": 5, \"score_cap\": null, "
        "\"rope_type\": \"default\", \"rope_theta\": 10000, \"rope_factor\": null, "
        "\"d_rotary\": 12, \"rope_pairs\": \"half\"}\n"
        "{\"kind\": \"full\", \"is_cross\": false, \"mask\": \"causal\", \"is_scaled\": false, "
        "\"eps\": 0, \"factor\": 0.2886751345948129, \"window\": null, \"score_cap\": null, "
        "\"rope_type\": \"linear\", \"rope_theta\": 1000000, \"rope_factor\": 2, "
        "\"d_rotary\": 12, \"rope_pairs\": \"half\"}\n"
        "{\"kind\": \"window\", \"is_cross\": false, \"mask\": \"causal\", \"is_scaled\": false, "
        "\"eps\": 0, \"factor\": 0.2886751345948129, \"window\": 5, \"score_cap\": null, "
        "\"rope_type\": \"default\", \"rope_theta\": 10000, \"rope_factor\": null, "
        "\"d_rotary\": 12, \"rope_pairs\": \"half\"}\n");
    expect(&subject, ATTN_INSPECTED_LAYERS, ATTN_TABLE_TABBED,
           "attention 0\twindow:5, causal, scores * 0.288675, rope_theta 10000\n"
           "attention 1\tfull, causal, scores * 0.288675, rope_theta 1000000, rope_type linear, "
           "rope_factor 2\n"
           "attention 2\twindow:5, causal, scores * 0.288675, rope_theta 10000\n");
    close_subject(&subject);
}
END_TEST

START_TEST(lists_every_tensor_with_its_file)
{
    struct subject subject;
    struct attn_table *tensors, *files;
    int64_t n_byte = 0;

    open_subject(&subject, "models/tiny-gpt2", 5, 0);
    tensors = inspect(&subject, ATTN_INSPECTED_TENSORS);
    files = inspect(&subject, ATTN_INSPECTED_FILES);
    ck_assert_uint_eq(attn_table_n_row(tensors), 40);
    for (size_t i = 0; i < 40; i++) {
        const struct attn_cell shape = attn_table_cell(tensors, i, 2);
        int64_t size = 4;

        for (size_t k = 0; k < shape.size; k++)
            size *= shape.list[k];
        ck_assert_int_eq(attn_table_cell(tensors, i, 5).integer, size);
        n_byte += size;
    }
    ck_assert_uint_eq(attn_table_n_row(files), 4);
    ck_assert_str_eq(attn_table_column(files, 1)->unit, "bytes");
    ck_assert_mem_eq(attn_table_cell(files, 3, 0).text, "model.safetensors", 17);
    ck_assert_int_gt(attn_table_cell(files, 3, 1).integer, n_byte);
    attn_table_free(tensors);
    attn_table_free(files);
    close_subject(&subject);
}
END_TEST

/* L 3 of which layers 0 and 2 attend to the source; keys of layers differ. */
START_TEST(a_shape_that_layers_do_not_share_is_missing)
{
    struct subject subject;
    struct attn_table *sites;
    size_t n_missing = 0;

    open_subject(&subject, "tests/fixtures/attn-cross", 7, 4);
    sites = inspect(&subject, ATTN_INSPECTED_OUTPUTS);
    for (size_t i = 0; i < attn_table_n_row(sites); i++) {
        const struct attn_cell site = attn_table_cell(sites, i, 0);
        const struct attn_cell shape = attn_table_cell(sites, i, 2);
        const bool is_pattern = site.size == 7 && memcmp(site.text, "pattern", 7) == 0;

        n_missing += shape.type == ATTN_VALUE_MISSING;
        if (is_pattern)
            ck_assert_int_eq(shape.type, ATTN_VALUE_MISSING);
    }
    ck_assert_uint_ge(n_missing, 5); /* k, v, qk, attn_scores, pattern */
    ck_assert_uint_lt(n_missing, attn_table_n_row(sites));
    attn_table_free(sites);
    close_subject(&subject);
}
END_TEST

/* --- GGUF ------------------------------------------------------------------------------------- */

/* A file of IMAGE, whose BYTES stay the caller's. */
static struct attn_bundle *open_image(struct attn_gguf_image *image, struct attn_buffer *bytes)
{
    struct attn_blob blob = {"m.gguf", NULL, 0};
    const struct attn_source source = {.blobs = &blob, .n_blob = 1};
    struct attn_file file = {0};
    struct attn_bundle *gguf;
    struct attn_error err = {0};

    *bytes = attn_gguf_image_make(image);
    blob.data = bytes->data;
    blob.size = bytes->size;
    ck_assert(attn_file_open_part(&source, blob.name, ATTN_MAP, &file, &err) == ATTN_OK);
    ck_assert_msg(attn_gguf_take(&file, ATTN_MAP, &gguf, &err) == ATTN_OK, "%s", err.message);
    return gguf;
}

/* Types by their codes in the file. */
enum {
    CODE_F32 = 0,
    CODE_Q4_0 = 2,
    CODE_Q5_0 = 6,
    CODE_Q4_K = 12,
    CODE_Q6_K = 14,
    CODE_IQ3_XXS = 18,
    CODE_IQ4_NL = 20,
    CODE_IQ3_S = 21,
    CODE_IQ2_S = 22,
};

START_TEST(a_mixture_is_named_when_its_tensors_agree)
{
    /* The large embedding does not count. In the second file rows of 32 cannot be Q4_K, and have
     * the type that stands in for it; in the third rows of 256 have that, too. Types of two kinds
     * make IQ3_XS together. */
    static const struct {
        uint32_t file_type;
        struct {
            uint32_t code;
            size_t width, n_byte;
        } tensors[3];
        const char *name; /* or NULL */
    } cases[] = {
        {15, {{CODE_Q4_K, 256, 144}, {CODE_Q4_K, 256, 144}, {CODE_Q6_K, 256, 210}}, "Q4_K_M"},
        {14, {{CODE_Q4_K, 256, 144}, {CODE_Q5_0, 32, 22}, {CODE_Q5_0, 32, 22}}, "Q4_K_S"},
        {15, {{CODE_Q4_K, 256, 144}, {CODE_Q5_0, 256, 176}, {CODE_Q6_K, 256, 210}}, NULL},
        {18, {{CODE_Q4_K, 256, 144}, {CODE_Q4_K, 256, 144}, {CODE_Q6_K, 256, 210}}, NULL},
        {22, {{CODE_IQ3_S, 256, 110}, {CODE_IQ3_XXS, 256, 98}, {CODE_Q6_K, 256, 210}}, "IQ3_XS"},
        {22, {{CODE_IQ3_S, 256, 110}, {CODE_IQ2_S, 256, 82}, {CODE_Q6_K, 256, 210}}, NULL},
        {29, {{CODE_IQ2_S, 256, 82}, {CODE_IQ2_S, 256, 82}, {CODE_IQ3_S, 256, 110}}, "IQ2_M"},
        {24, {{CODE_IQ4_NL, 32, 18}, {CODE_Q4_0, 32, 18}, {CODE_F32, 32, 128}}, "IQ1_S"},
        {18, {{CODE_IQ4_NL, 32, 18}, {CODE_Q4_0, 32, 18}, {CODE_F32, 32, 128}}, NULL},
        {0, {{CODE_F32, 32, 128}, {CODE_F32, 32, 128}, {CODE_F32, 32, 128}}, "F32"},
        {99, {{CODE_F32, 32, 128}, {CODE_F32, 32, 128}, {CODE_F32, 32, 128}}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_gguf_image image = ATTN_GGUF_IMAGE;
        struct attn_buffer bytes;
        struct attn_bundle *gguf;

        attn_gguf_put_u32(&image, "general.file_type", cases[i].file_type);
        attn_gguf_put_tensor(&image, "token_embd.weight", CODE_Q6_K, 2, (size_t[]){256, 100},
                             100 * (size_t)210);
        for (size_t k = 0; k < 3; k++) {
            const char *names[] = {"blk.0.attn_q.weight", "blk.0.attn_k.weight",
                                   "blk.0.attn_v.weight"};

            attn_gguf_put_tensor(&image, names[k], cases[i].tensors[k].code, 2,
                                 (size_t[]){cases[i].tensors[k].width, 1},
                                 cases[i].tensors[k].n_byte);
        }
        gguf = open_image(&image, &bytes);
        if (cases[i].name)
            ck_assert_str_eq(attn_gguf_mixture(gguf), cases[i].name);
        else
            ck_assert_ptr_null(attn_gguf_mixture(gguf));
        attn_gguf_free(gguf);
        attn_buffer_release(&bytes);
    }
}
END_TEST

START_TEST(metadata_of_every_type_are_shown)
{
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    const int32_t many[17] = {0};
    struct subject subject = {.inspection = ATTN_INSPECTION_DEFAULT};
    struct attn_buffer bytes;
    struct attn_bundle *gguf;

    attn_gguf_put_text(&image, "general.architecture", "llama");
    attn_gguf_put_u32(&image, "llama.block_count", 7);
    attn_gguf_put_u32(&image, "llama.block_counts", 7);
    attn_gguf_put_u32(&image, "qwen2.block_count", 7);
    attn_gguf_put(&image, "a.f64", ATTN_GGUF_F64, &(double){0.1}, 8);
    attn_gguf_put(&image, "a.i64", ATTN_GGUF_I64, &(int64_t){-5}, 8);
    attn_gguf_put(&image, "a.bool", ATTN_GGUF_BOOL, "\1", 1);
    attn_gguf_put_text(&image, "a.empty", "");
    attn_gguf_put_array(&image, "a.list", ATTN_GGUF_I32, 16, many, 64);
    attn_gguf_put_array(&image, "a.long", ATTN_GGUF_I32, 17, many, 68);
    attn_gguf_put_array(&image, "a.none", ATTN_GGUF_I32, 0, many, 0);
    attn_gguf_put_texts(&image, "a.texts", (const char *const[]){"x", "y\xff\n"}, 2);
    attn_gguf_put_tensor(&image, "w", CODE_F32, 1, (size_t[]){1}, 4);
    gguf = open_image(&image, &bytes);
    subject.inspection.weights = attn_gguf_files(gguf);
    subject.inspection.gguf = gguf;
    expect(&subject, ATTN_INSPECTED_METADATA, ATTN_TABLE_CSV,
           "key,type,n,value\n"
           "a.bool,bool,,true\n"
           "a.empty,string,,\n"
           "a.f64,f64,,0.1\n"
           "a.i64,i64,,\\x2d5\n"
           "a.list,i32,16,\"0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0\"\n"
           "a.long,i32,17,\n"
           "a.none,i32,0,\n"
           "a.texts,string,2,\"x, y\\xff\\n\"\n"
           "general.architecture,string,,llama\n"
           "llama.block_count,u32,,7\n"
           "llama.block_counts,u32,,7\n"
           "qwen2.block_count,u32,,7\n");
    expect(&subject, ATTN_INSPECTED_PRECISION, ATTN_TABLE_TABBED, "\t32.0000\n");
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
}
END_TEST

static void open_tiny(struct subject *subject)
{
    static const struct attn_override override = {ATTN_GGUF_PART, "tests/fixtures/gguf/tiny.gguf"};
    struct attn_error err = {0};

    *subject = (struct subject){.source = {.overrides = &override, .n_override = 1}};
    ck_assert(attn_model_open(&subject->source, NULL, &subject->model, &err) == ATTN_OK);
    subject->inspection = ATTN_INSPECTION_DEFAULT;
    subject->inspection.model = subject->model;
    subject->inspection.gguf = attn_model_bundle(subject->model);
    subject->inspection.weights = attn_model_files(subject->model);
}

START_TEST(types_and_conversion_of_a_gguf_model)
{
    struct subject subject;

    open_tiny(&subject);
    expect(&subject, ATTN_INSPECTED_TYPES, ATTN_TABLE_TABBED,
           "F16\t1\t1024\t2048\t0.1461\nBF16\t1\t1024\t2048\t0.1461\n"
           "Q4_0\t1\t1024\t576\t0.1461\nQ5_1\t1\t1024\t768\t0.1461\n"
           "IQ4_NL\t1\t1024\t576\t0.1461\nQ8_0\t1\t768\t816\t0.1096\n"
           "Q4_1\t1\t512\t320\t0.0731\nQ5_0\t1\t512\t352\t0.0731\n"
           "F32\t3\t96\t384\t0.0137\n");
    expect(&subject, ATTN_INSPECTED_CONVERSION, ATTN_TABLE_TABBED,
           "q and k\tread in Hugging Face's order: in the file the halves of each head "
           "alternate\n");
    close_subject(&subject);
}
END_TEST

START_TEST(what_is_not_given_is_named)
{
    const struct attn_inspection nothing = ATTN_INSPECTION_DEFAULT;
    static const struct {
        enum attn_inspected part;
        const char *message;
    } cases[] = {
        {ATTN_INSPECTED_CONFIG, "'config' cannot be inspected without a model"},
        {ATTN_INSPECTED_TENSORS, "'tensors' cannot be inspected without weights"},
        {ATTN_INSPECTED_METADATA, "'metadata' cannot be inspected without a GGUF file"},
        {ATTN_INSPECTED_CONVERSION,
         "'conversion' cannot be inspected without a model in a GGUF file"},
        {ATTN_INSPECTED_SPECIAL, "'special' cannot be inspected without a tokenizer"},
        {ATTN_INSPECTED_MEMORY,
         "'memory' cannot be inspected without a model and the cost of a run"},
        {(enum attn_inspected)99, "an inspection has no part 99"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_table *table = NULL;
        struct attn_error err = {0};

        ck_assert_int_eq(attn_inspect(&nothing, cases[i].part, &table, &err), ATTN_INVALID);
        ck_assert_str_eq(err.message, cases[i].message);
        ck_assert_ptr_null(table);
    }
}
END_TEST

START_TEST(a_check_can_be_canceled)
{
    struct subject subject;
    volatile sig_atomic_t flag = 0;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    open_subject(&subject, "models/tiny-gpt2", 5, 0);
    subject.inspection.cancel = &flag;
    table = inspect(&subject, ATTN_INSPECTED_NON_FINITE);
    ck_assert_uint_eq(attn_table_n_row(table), 0);
    attn_table_free(table);
    flag = 1;
    ck_assert_int_eq(attn_inspect(&subject.inspection, ATTN_INSPECTED_NON_FINITE, &table, &err),
                     ATTN_CANCELED);
    close_subject(&subject);
}
END_TEST

/* PART, while each of its allocations fails once. */
static void try_failures(const struct subject *subject, enum attn_inspected part)
{
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_table *table = NULL;
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attn_inspect(&subject->inspection, part, &table, &err);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        attn_table_free(table);
    }
}

START_TEST(failures_are_reported)
{
    struct subject subject;

    open_subject(&subject, "models/tiny-gpt2", 5, 0);
    for (int part = 0; part <= ATTN_INSPECTED_NON_FINITE; part++)
        if (attn_inspection_has(&subject.inspection, (enum attn_inspected)part))
            try_failures(&subject, (enum attn_inspected)part);
    close_subject(&subject);
    open_tiny(&subject);
    try_failures(&subject, ATTN_INSPECTED_METADATA);
    try_failures(&subject, ATTN_INSPECTED_CONVERSION);
    close_subject(&subject);
}
END_TEST

ATTN_SUITE("inspection", describes_a_gpt2, tells_windows_and_positions_by_layer,
           lists_every_tensor_with_its_file, a_mixture_is_named_when_its_tensors_agree,
           metadata_of_every_type_are_shown, types_and_conversion_of_a_gguf_model,
           a_shape_that_layers_do_not_share_is_missing, what_is_not_given_is_named,
           a_check_can_be_canceled, failures_are_reported)
