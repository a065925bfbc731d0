#!/bin/sh
# list_calls.sh - prints C for tests/unit/test_callers_mistakes.c. For every function of attn.h and extra.h that has a pointer:
#
#   CALLER(NAME, RESULT, "PARAMETER ...") { ... }     calls it; SET(PARAMETER) gives a pointer its value, numbers are 1, structs {0}
#   #define ALL_CALLERS(X) X(NAME, RESULT, ...) ...
#
# `err` is the caller's. A function without a status sets *is_nothing to whether it returned NULL, 0 or false.
cd "$(dirname "$0")/../.." || exit 1

${CC:-cc} -E -P -D_GNU_SOURCE -Ilib @lib/folders lib/extra.h | tr '\n' ' ' | tr ';' '\n' |
    sed -nE 's/.*__attribute__ ?\(\(visibility\("default"\)\)\) *//; s/ +/ /g; s/ ?__attribute__ ?\(\(.*//; /^[a-z].*\<attn_[a-z0-9_]+\(.*\) ?$/p' |
    awk '
    NR == FNR { if ($1 != "ask.h") is_public[$2] = 1; next }
    {
        begin = index($0, "("); result = substr($0, 1, begin - 1); rest = substr($0, begin + 1); sub(/\) ?$/, "", rest)
        name = result; sub(/.*[ *]/, "", name); sub(/ ?[a-z0-9_]+$/, "", result)
        if (!is_public[name] || name ~ /_init$/ || rest ~ /\.\.\./) next
        n = split(rest, parts, ","); lines = call = names = ""
        for (i = 1; i <= n; i++) {
            type = parts[i]; gsub(/^ +| +$/, "", type); sub(/ \[/, "[", type)
            is_array = sub(/\[.*\]$/, "", type); id = type; sub(/.*[ *]/, "", id); sub(/[a-zA-Z0-9_]+$/, "", type)
            if (is_array) type = type "*"
            if (type == "") continue
            call = call (call == "" ? "" : ", ") id
            if (id == "err") continue
            lines = lines "    " type id
            if (type ~ /\*|_fn $/) { lines = lines ";\n    SET(" id ");\n"; names = names " " id }
            else lines = lines " = " (type ~ /^(const )?struct / ? "{0}" : "1") ";\n"
        }
        if (names == "") next
        call = name "(" call ")"
        if (result == "enum attn_status") call = "return " call ";"
        else if (result ~ /^void|^(const )?struct [a-z_]+$/) call = "(void)" call ";\n    (void)is_nothing, (void)err;\n    return ATTN_OK;"
        else call = "*is_nothing = !" call ";\n    (void)err;\n    return ATTN_OK;"
        caller = "(" name ", \"" result "\", \"" substr(names, 2) "\")"
        print "CALLER" caller "\n{\n" (call ~ /^return/ ? "    (void)is_nothing;\n" : "") lines "    " call "\n}\n"
        all = all " \\\n    X" caller
    }
    END { print "#define ALL_CALLERS(X)" all }' tests/install/symbols -
