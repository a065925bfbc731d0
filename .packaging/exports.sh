#!/usr/bin/env bash
# exports.sh - prints the lines after which shells and C programs find what was installed, or nothing if they do already.
#
#   exports.sh PREFIX LIBDIR SONAME     PKG_CONFIG: the program whose search path counts
set -u

# Prints a line that puts FOLDER in front of VARIABLE, unless PLACES, or VARIABLE as it is, names it.
print_export() { # VARIABLE FOLDER PLACES
    [[ ":$3:${!1-}:" == *":$2:"* ]] || printf '  export %s="%s${%s:+:$%s}"\n' "$1" "$2" "$1" "$1"
}

loaded=$(/sbin/ldconfig -N -X -v 2>/dev/null | sed -n 's/^\(\/[^:]*\):.*/\1/p' | paste -sd :)
lines=$(
    print_export PATH "$1/bin" ''
    print_export PKG_CONFIG_PATH "$2/pkgconfig" "$("${PKG_CONFIG:-pkg-config}" --variable pc_path pkg-config 2>/dev/null)"
    print_export LD_LIBRARY_PATH "$2" "$loaded"
)
[ -z "$lines" ] || printf '%s\n' 'Shells and C programs find it after these lines, which belong into ~/.profile:' "$lines"
[[ ":$loaded:" != *":$2:"* ]] || /sbin/ldconfig -p | grep -qF "$2/$3" ||
    echo "Programs find $3 after root has run ldconfig."
