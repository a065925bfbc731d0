# near.awk - compares the numbers of two tables in CSV without quotes: awk -f near.awk KEYS REL ABS
# WANT GOT. Rows have the same KEYS, names with commas between them. Numbers may differ by REL of the
# largest of their column, plus ABS. Columns that only WANT or only GOT has, and texts of tokens, do
# not count. Prints what differs, then the numbers of rows and of cells.

function name_row(cells, columns, n,   i, name) {
    name = ""
    for (i = 1; i <= n; i++) name = name "/" cells[columns[keys[i]]]
    return name
}

BEGIN {
    FS = ","
    n_key = split(ARGV[1], keys, ","); rel = ARGV[2]; most = ARGV[3]
    while ((getline < ARGV[4]) > 0) {
        if (!n_want) { n_column = split($0, names, ","); for (i in names) at_want[names[i]] = i }
        else {
            split($0, cells, ",")
            name = name_row(cells, at_want, n_key)
            for (i = 1; i <= n_column; i++) {
                want[name, names[i]] = cells[i]
                size = cells[i] < 0 ? -cells[i] : cells[i] + 0
                if (size > largest[names[i]]) largest[names[i]] = size
            }
            is_wanted[name] = 1
        }
        n_want++
    }
    while ((getline < ARGV[5]) > 0) {
        if (!n_got) { n_got_column = split($0, got, ","); for (i in got) at_got[got[i]] = i }
        else {
            split($0, cells, ",")
            name = name_row(cells, at_got, n_key)
            if (!(name in is_wanted)) print "not wanted: " name
            for (i = 1; i <= n_got_column; i++) {
                if (!(got[i] in at_want)) continue
                w = want[name, got[i]]
                if (got[i] == "token" || got[i] == "next") continue
                n_cell++
                d = cells[i] - w
                if (d < 0) d = -d
                if ((w == "") != (cells[i] == "") || d > rel * largest[got[i]] + most ||
                    (w !~ /^-?[0-9.]+(e-?[0-9]+)?$/ && w != cells[i]))
                    print name " " got[i] ": expected " w ", got " cells[i]
            }
        }
        n_got++
    }
    if (n_got != n_want) print n_got - 1 " rows, expected " n_want - 1
    print n_want - 1 " rows, " n_cell " cells"
}
