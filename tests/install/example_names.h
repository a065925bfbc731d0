/*
 * example_names.h - the names that examples in public headers use and do not declare
 * (tests/tools/check_examples.sh). An example may declare such a name itself. IN_run_host_h is
 * defined while the examples of run/host.h are compiled.
 */
static struct attn_error err;
static enum attn_status status;
static struct attn_source source;
static struct attn_model *model;
static const struct attn_config *config;
static struct attn_host *host;
static struct attn_request request, clean, of_ids, other_text;
static struct attn_result result;
static struct attn_run *run;
static const struct attn_labels *labels;
static struct attn_dims dims;
static struct attn_selection *selection;
static struct attn_trace trace;
static const struct attn_trace_event *event;
static struct attn_capture *capture;
static struct attn_session *session;
static struct attn_table *table;
static const char *token;
static size_t n, size, query, n_layer, n_head;
static const int32_t *ids, *a, *b;
static const float *q, *k, *v, *values;
static void *user;

static inline enum attn_status on_event(void *of, const struct attn_trace_event *e,
                                        struct attn_error *error)
{
    (void)of, (void)e, (void)error;
    return ATTN_OK;
}

static inline void use(int32_t id, size_t begin, size_t end)
{
    (void)id, (void)begin, (void)end;
}

/* The names that have other types in other headers. */
#if defined IN_base_status_h
static struct attn_model_options options;
#elif defined IN_frame_questions_h || defined IN_figures_table_picture_h
static struct attn_picture_options options;
#else
static struct attn_session_options options;
#endif
#ifdef IN_diff_diff_h
static struct attn_request text;
#else
static const char *text;
#endif

#ifdef ATTN_EXTRA_H
static struct attn_host_options host_options;
static struct attn_items *items;
static struct attn_item *item;
static struct attn_study_args study;
static struct attn_batch *batch;
static struct attn_sink *sink;
static struct attn_output output;
static struct attn_head_cards *cards;
static struct attn_generation made;
static struct attn_ndarray pattern;
static const void *bytes;

static struct lines {
    struct attn_item *items;
    size_t at, n;
} lines;

#if defined IN_measures_head_cards_h
static struct attn_heads_args args;
static struct attn_table_picture picture;
#elif defined IN_attribute_attribute_generated_h
static struct attn_attribute_args args;
static struct attn_table *matrix;
#elif defined IN_frame_questions_h
static struct attn_lens_args args;
#endif
#ifdef ATTN_ASK_H
static float *sums;
static const struct attn_dims *sizes;
#endif
#ifdef IN_live_live_h
static struct attn_picture_options picture;
#endif
#ifdef IN_circuit_patch_h
static struct attn_patch_sum sum;
#endif
#endif
