/* open.c - see open.h. */
#include "tests/support/open.h"

#include "model/model_internal.h"
#include "tests/support/assert.h"

struct attn_model *attn_open_source(const struct attn_source *source,
                                    const struct attn_model_options *options)
{
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(source, options ? options : &ATTN_MODEL_OPTIONS_DEFAULT, &model,
                                  &err) == ATTN_OK,
                  "%s", err.message);
    return model;
}

struct attn_model *attn_open_model(const char *directory, const struct attn_model_options *options)
{
    const struct attn_source source = {.directory = directory};

    return attn_open_source(&source, options);
}

const struct attn_model *attn_tower_of(const struct attn_model *model)
{
    return model->tower;
}

struct attn_host *attn_open_host(const char *name, const struct attn_host_options *options)
{
    struct attn_source source = {0};
    struct attn_host *host = NULL;
    struct attn_error err = {0};

    if (!attn_builtin_find(name, &source))
        source.directory = name;
    ck_assert_msg(attn_host_create(&source, options, &host, &err) == ATTN_OK, "%s: %s", name,
                  err.message);
    return host;
}
