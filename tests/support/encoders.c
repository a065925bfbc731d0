/* encoders.c - see encoders.h. */
#include "tests/support/encoders.h"

#include "formats/tensor_files.h"
#include "model/model_internal.h"
#include "tests/support/assert.h"
#include "tests/support/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[4096];

void attn_encoders_unpack(void)
{
    static const char *const archives[] = {"encoders.tar", "image-encoders.tar", "stacks.tar",
                                           "stack-rows.tar"};
    const char *base = getenv("TMPDIR");
    char command[ATTN_ENCODER_PATH_SIZE];

    snprintf(folder, sizeof folder - 64, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    ck_assert_msg(mkdtemp(folder) != NULL, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        snprintf(command, sizeof command, "tar -xf tests/fixtures/%s -C '%s'", archives[i], folder);
        ck_assert_int_eq(system(command), 0);
    }
}

void attn_encoders_remove(void)
{
    char command[ATTN_ENCODER_PATH_SIZE];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

void attn_encoder_path(const char *member, char path[ATTN_ENCODER_PATH_SIZE])
{
    snprintf(path, ATTN_ENCODER_PATH_SIZE, "%s/%s", folder, member);
}

struct attn_model *attn_encoder_open(const char *name)
{
    char directory[ATTN_ENCODER_PATH_SIZE];
    const struct attn_source source = {.directory = directory};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    attn_encoder_path(name, directory);
    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    return model;
}

struct attn_host *attn_encoder_host(const char *name, int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    char directory[ATTN_ENCODER_PATH_SIZE];

    attn_encoder_path(name, directory);
    options.n_thread = n_thread;
    return attn_open_host(directory, &options);
}

uint64_t attn_encoder_n_element(const struct attn_model *model)
{
    const struct attn_tensor_files *files = attn_model_files(model);
    uint64_t n = 0;

    for (size_t k = 0; k < attn_tensor_files_count(files); k++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, k);

        n += attn_tensor_n_element(&entry.tensor);
    }
    return n;
}

const struct attn_config *attn_encoder_config(const struct attn_host *host)
{
    return attn_model_config(attn_host_model(host)->encoder);
}

void attn_assert_invalid(enum attn_status status, struct attn_error *err, const char *words)
{
    ck_assert_int_eq(status, ATTN_INVALID);
    ck_assert_msg(strstr(err->message, words) != NULL, "%s", err->message);
    *err = (struct attn_error){0};
}
