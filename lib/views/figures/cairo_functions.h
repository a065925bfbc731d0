/*
 * cairo_functions.h - the functions of cairo, pango and GObject for figure_cairo.c, declared here
 * so that the build needs none of their headers. They are loaded when a figure is drawn.
 *
 *     #define DECLARE(result, name, arguments) result name arguments;
 *     ATTN_CAIRO_MAP(DECLARE)
 *
 * Enumerations are declared as int or unsigned, whichever the compiler uses for them.
 * tests/tools/check_cairo.sh compares all of this with the real headers where these are installed.
 */
#pragma once

typedef struct _cairo cairo_t;
typedef struct _cairo_surface cairo_surface_t;
typedef struct _cairo_pattern cairo_pattern_t;
typedef struct _cairo_font_options cairo_font_options_t;
typedef struct _PangoLayout PangoLayout;
typedef struct _PangoContext PangoContext;
typedef struct _PangoFontDescription PangoFontDescription;

/* Values of enumerations of cairo and pango. */
enum {
    ATTN_CAIRO_FORMAT_RGB24 = 1,
    ATTN_CAIRO_FILTER_NEAREST = 3,
    ATTN_CAIRO_HINT_METRICS_OFF = 1,
    ATTN_CAIRO_PDF_TITLE = 0,
    ATTN_CAIRO_PDF_SUBJECT = 2,
    ATTN_CAIRO_PDF_KEYWORDS = 3,
    ATTN_CAIRO_PDF_CREATOR = 4,
    ATTN_CAIRO_PDF_CREATE_DATE = 5,
    ATTN_PANGO_WEIGHT_BOLD = 700,
    ATTN_PANGO_SCALE = 1024, /* pango units per unit of length */
};

/* X(result, name, arguments) */
#define ATTN_CAIRO_MAP(X)                                                                          \
    X(cairo_surface_t *, cairo_image_surface_create, (int format, int width, int height))          \
    X(unsigned char *, cairo_image_surface_get_data, (cairo_surface_t * surface))                  \
    X(int, cairo_image_surface_get_stride, (cairo_surface_t * surface))                            \
    X(cairo_surface_t *, cairo_pdf_surface_create_for_stream,                                      \
      (unsigned (*write)(void *user, const unsigned char *data, unsigned size), void *user,        \
       double width, double height))                                                               \
    X(void, cairo_pdf_surface_set_metadata,                                                        \
      (cairo_surface_t * surface, unsigned metadata, const char *text))                            \
    X(void, cairo_surface_flush, (cairo_surface_t * surface))                                      \
    X(void, cairo_surface_mark_dirty, (cairo_surface_t * surface))                                 \
    X(void, cairo_surface_finish, (cairo_surface_t * surface))                                     \
    X(unsigned, cairo_surface_status, (cairo_surface_t * surface))                                 \
    X(void, cairo_surface_destroy, (cairo_surface_t * surface))                                    \
    X(cairo_t *, cairo_create, (cairo_surface_t * surface))                                        \
    X(unsigned, cairo_status, (cairo_t * cr))                                                      \
    X(void, cairo_destroy, (cairo_t * cr))                                                         \
    X(void, cairo_save, (cairo_t * cr))                                                            \
    X(void, cairo_restore, (cairo_t * cr))                                                         \
    X(void, cairo_translate, (cairo_t * cr, double x, double y))                                   \
    X(void, cairo_scale, (cairo_t * cr, double x, double y))                                       \
    X(void, cairo_rotate, (cairo_t * cr, double angle))                                            \
    X(void, cairo_set_source_rgba, (cairo_t * cr, double r, double g, double b, double a))         \
    X(void, cairo_set_source_surface,                                                              \
      (cairo_t * cr, cairo_surface_t * surface, double x, double y))                               \
    X(cairo_pattern_t *, cairo_get_source, (cairo_t * cr))                                         \
    X(void, cairo_pattern_set_filter, (cairo_pattern_t * pattern, unsigned filter))                \
    X(void, cairo_set_line_width, (cairo_t * cr, double width))                                    \
    X(void, cairo_move_to, (cairo_t * cr, double x, double y))                                     \
    X(void, cairo_line_to, (cairo_t * cr, double x, double y))                                     \
    X(void, cairo_curve_to,                                                                        \
      (cairo_t * cr, double x1, double y1, double x2, double y2, double x3, double y3))            \
    X(void, cairo_rectangle, (cairo_t * cr, double x, double y, double width, double height))      \
    X(void, cairo_arc, (cairo_t * cr, double x, double y, double radius, double from, double to))  \
    X(void, cairo_stroke, (cairo_t * cr))                                                          \
    X(void, cairo_fill, (cairo_t * cr))                                                            \
    X(void, cairo_paint, (cairo_t * cr))                                                           \
    X(cairo_font_options_t *, cairo_font_options_create, (void))                                   \
    X(void, cairo_font_options_set_hint_metrics,                                                   \
      (cairo_font_options_t * options, unsigned hint_metrics))                                     \
    X(void, cairo_font_options_destroy, (cairo_font_options_t * options))                          \
    X(PangoLayout *, pango_cairo_create_layout, (cairo_t * cr))                                    \
    X(PangoContext *, pango_layout_get_context, (PangoLayout * layout))                            \
    X(void, pango_layout_context_changed, (PangoLayout * layout))                                  \
    X(void, pango_cairo_context_set_font_options,                                                  \
      (PangoContext * context, const cairo_font_options_t *options))                               \
    X(void, pango_context_set_round_glyph_positions, (PangoContext * context, int is_rounded))     \
    X(void, pango_cairo_show_layout, (cairo_t * cr, PangoLayout * layout))                         \
    X(void, pango_layout_set_text, (PangoLayout * layout, const char *text, int size))             \
    X(void, pango_layout_set_auto_dir, (PangoLayout * layout, int is_guessed))                     \
    X(void, pango_layout_set_font_description,                                                     \
      (PangoLayout * layout, const PangoFontDescription *description))                             \
    X(void, pango_layout_get_size, (PangoLayout * layout, int *width, int *height))                \
    X(int, pango_layout_get_baseline, (PangoLayout * layout))                                      \
    X(int, pango_layout_get_unknown_glyphs_count, (PangoLayout * layout))                          \
    X(PangoFontDescription *, pango_font_description_new, (void))                                  \
    X(void, pango_font_description_set_family,                                                     \
      (PangoFontDescription * description, const char *family))                                    \
    X(void, pango_font_description_set_absolute_size,                                              \
      (PangoFontDescription * description, double size))                                           \
    X(void, pango_font_description_set_weight,                                                     \
      (PangoFontDescription * description, unsigned weight))                                       \
    X(void, pango_font_description_free, (PangoFontDescription * description))                     \
    X(void, g_object_unref, (void *object))
