#!/usr/bin/env bash
# check_cairo.sh - lib/views/figures/cairo_functions.h says what the headers of cairo and pango say, and
# lib/media/image/image_functions.h what those of libpng, TurboJPEG and libwebp do, where these are installed.
set -u
cd "$(dirname "$0")/../.." || exit 1

# Prints nothing when the program on standard input compiles with FLAG...
compile() {
    ${CC:-cc} -std=c11 -Ilib @lib/folders "$@" -Wall -Wextra -Werror -fsyntax-only -x c -
}

status=0
if ${PKG_CONFIG:-pkg-config} --exists libpng16; then
    # shellcheck disable=SC2046 # words of their own
    compile $(${PKG_CONFIG:-pkg-config} --cflags libpng16) <<'END' || status=1
#include <png.h>

#include "image/image_functions.h"

_Static_assert(ATTN_PNG_COLOR_MASK_PALETTE == PNG_COLOR_MASK_PALETTE, "");
_Static_assert(ATTN_PNG_COLOR_MASK_COLOR == PNG_COLOR_MASK_COLOR, "");
_Static_assert(ATTN_PNG_COLOR_MASK_ALPHA == PNG_COLOR_MASK_ALPHA, "");
#define DECLARE(result, name, arguments) result name arguments;
ATTN_PNG_MAP(DECLARE)
END
else
    echo 'check_cairo: skipped libpng, its headers are not installed (libpng-dev)'
fi
if ${PKG_CONFIG:-pkg-config} --exists libturbojpeg; then
    # shellcheck disable=SC2046 # words of their own
    compile $(${PKG_CONFIG:-pkg-config} --cflags libturbojpeg) <<'END' || status=1
#include <turbojpeg.h>

#include "image/image_functions.h"

_Static_assert((int)ATTN_TJPF_RGB == (int)TJPF_RGB && (int)ATTN_TJPF_CMYK == (int)TJPF_CMYK, "");
_Static_assert((int)ATTN_TJCS_CMYK == (int)TJCS_CMYK && (int)ATTN_TJCS_YCCK == (int)TJCS_YCCK, "");
_Static_assert((int)ATTN_TJERR_WARNING == (int)TJERR_WARNING, "");
_Static_assert(ATTN_TJFLAG_LIMITSCANS == TJFLAG_LIMITSCANS, "");
#define DECLARE(result, name, arguments) result name arguments;
ATTN_JPEG_MAP(DECLARE)
END
else
    echo 'check_cairo: skipped TurboJPEG, its headers are not installed (libturbojpeg0-dev)'
fi
if ${PKG_CONFIG:-pkg-config} --exists libwebp; then
    # shellcheck disable=SC2046 # words of their own
    compile $(${PKG_CONFIG:-pkg-config} --cflags libwebp) <<'END' || status=1
#include <webp/decode.h>

#include "image/image_functions.h"

_Static_assert((int)ATTN_WEBP_RGB == (int)MODE_RGB && (int)ATTN_VP8_OK == (int)VP8_STATUS_OK, "");
_Static_assert((int)ATTN_VP8_OUT_OF_MEMORY == (int)VP8_STATUS_OUT_OF_MEMORY, "");
_Static_assert((int)ATTN_VP8_UNSUPPORTED == (int)VP8_STATUS_UNSUPPORTED_FEATURE, "");
_Static_assert((int)ATTN_VP8_SUSPENDED == (int)VP8_STATUS_SUSPENDED, "");
#define DECLARE(result, name, arguments) result name arguments;
ATTN_WEBP_MAP(DECLARE)
END
else
    echo 'check_cairo: skipped libwebp, its headers are not installed (libwebp-dev)'
fi

flags=$(${PKG_CONFIG:-pkg-config} --cflags pangocairo 2>/dev/null) || {
    echo 'check_cairo: skipped, the headers of pango are not installed (libpango1.0-dev)'
    exit $status
}
# shellcheck disable=SC2086 # words of their own
compile $flags <<'END' || status=1
#include <cairo-pdf.h>
#include <pango/pangocairo.h>

#include "figures/cairo_functions.h"

/* An enumeration is no int in a declaration, but is one when it is passed. */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(ATTN_CAIRO_FORMAT_RGB24, CAIRO_FORMAT_RGB24);
SAME(ATTN_CAIRO_HINT_METRICS_OFF, CAIRO_HINT_METRICS_OFF);
SAME(ATTN_CAIRO_FILTER_NEAREST, CAIRO_FILTER_NEAREST);
SAME(ATTN_CAIRO_PDF_TITLE, CAIRO_PDF_METADATA_TITLE);
SAME(ATTN_CAIRO_PDF_SUBJECT, CAIRO_PDF_METADATA_SUBJECT);
SAME(ATTN_CAIRO_PDF_KEYWORDS, CAIRO_PDF_METADATA_KEYWORDS);
SAME(ATTN_CAIRO_PDF_CREATOR, CAIRO_PDF_METADATA_CREATOR);
SAME(ATTN_CAIRO_PDF_CREATE_DATE, CAIRO_PDF_METADATA_CREATE_DATE);
SAME(ATTN_PANGO_WEIGHT_BOLD, PANGO_WEIGHT_BOLD);
SAME(ATTN_PANGO_SCALE, PANGO_SCALE);
SAME(CAIRO_STATUS_SUCCESS, 0);

#undef g_object_unref
#define DECLARE(result, name, arguments) result name arguments;
ATTN_CAIRO_MAP(DECLARE)
END
exit $status
