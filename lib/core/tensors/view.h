/*
 * view.h - modified views of patterns: words instead of tokens, without the first key
 * or all parks, renormalized. A view is placed between a trace and its writers: it has its own
 * labels, and emits modified events that match them.
 *
 *     struct attn_view *view;
 *     attn_view_create(&labels, picture, on_event, user, &view, &err);
 *     ... writers are created with attn_view_labels(view) ...
 *     attn_view_event(view, event, &err);    // calls on_event
 *     attn_view_free(view);
 *
 * Words come first: the columns of a word are summed and its rows averaged, so that rows still sum
 * to 1 (Clark et al. 2019, section 4.1). Then keys are left out as if they were masked.
 * Finally each row of a site without negative numbers is divided by its sum; a row whose weights
 * are all 0 has no cells. Memory: one row of words for each head in progress, and the rows of one
 * event.
 */
#pragma once

#include "tensors/output.h"

struct attn_param_list;
struct attn_picture_options; /* pictures/picture.h */
struct attn_view;

/* What the options of a picture say about views. */
struct attn_view_options {
    bool merges_words, renormalizes;
    enum attn_hidden hides;
    bool is_of_figure, shows_sinks; /* a figure is chosen, which shows types of heads and sinks */
    const struct attn_blob *types;  /* these, if the model brings none along; or NULL */
};

/* What knows the options of pictures: their parameters, those of views, and their values. */
struct attn_picture_settings {
    const struct attn_param_list *params, *view_params;
    const struct attn_picture_options *usual; /* for writers */
    /* Makes a copy of the caller's options, whose struct may be shorter, which the caller frees
     * (attn_free). ATTN_INVALID for invalid enum values. */
    enum attn_status (*copy)(const struct attn_picture_options *given,
                             struct attn_picture_options **picture, struct attn_error *err);
    struct attn_view_options (*view)(const struct attn_picture_options *picture);
};

/* NULL: requests have no such options. In lib/parts.c. */
extern const struct attn_picture_settings *const attn_picture_settings;

/* Returns what PICTURE says; nothing for NULL. */
struct attn_view_options attn_view_of(const struct attn_picture_options *picture);

/* Returns true if OPTIONS request a view. */
bool attn_view_is_wanted(struct attn_view_options options);

/* Returns true if rows of SITE are divided by their sum. With numbers of both signs this would be
 * meaningless. */
bool attn_view_divides(struct attn_view_options options, enum attn_site site);

/* Returns the name of the option that requests a view. */
const char *attn_view_name(struct attn_view_options options);

/* Returns true if OPTIONS leave out keys; and KEY of the tensor AT, whose labels are LABELS, words
 * if they are merged: with sinks those that hold a park. */
bool attn_view_hides(struct attn_view_options options);
bool attn_view_hides_key(struct attn_view_options options, const struct attn_labels *labels,
                         const struct attn_location *at, size_t key);

/* Creates a view. LABELS are borrowed. ATTN_INVALID, at ATTN_STAGE_OPTIONS, if words
 * are requested without tokens or for sites other than patterns, or parks are unknown. */
enum attn_status attn_view_create(const struct attn_labels *labels,
                                  struct attn_view_options options, attn_trace_fn on_event,
                                  void *user, struct attn_view **view, struct attn_error *err);

/* Returns the labels of the emitted events. Borrowed. */
const struct attn_labels *attn_view_labels(const struct attn_view *view);

/* Processes an event (attn_trace_fn; USER is the struct attn_view). Events must come in the order
 * of a trace. */
enum attn_status attn_view_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err);

/* Returns the view's position for POSITION of the run: its word, or POSITION itself. */
size_t attn_view_position(const struct attn_view *view, size_t position);

void attn_view_free(struct attn_view *view); /* NULL is allowed */
