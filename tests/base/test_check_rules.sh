#!/bin/sh
# check-rules.sh must find each breach it exists for, and must be silent about a clean tree.
set -u

rules=$(cd "$(dirname "$0")/.." && pwd)/check-rules.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/rules.XXXXXX")
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0

# fresh: a tree that keeps all rules
fresh() {
    rm -rf "${dir:?}"/*
    mkdir -p "$dir/base" "$dir/store" "$dir/search" "$dir/ml/cuda"
    printf '/* x.h - x. */\n#ifndef BASE_X_H\n#define BASE_X_H\n#endif\n' >"$dir/base/x.h"
    printf '/* a.c - a; time() and "evhttp_free(" in a comment are fine. */\n#include "base/err.h"\nint a(int time)\n{\n    return time;\n}\n' >"$dir/search/a.c"
    printf '/* q.c - q. */\nconst char *q = "SELECT a FROM b";\n' >"$dir/store/q.c"
    printf '/* k.cu - k. */\nvoid k(void)\n{\n    f<<<1, 2>>>();\n}\n' >"$dir/ml/cuda/k.cu"
    echo 'x.h' >"$dir/base/README.md"
    echo 'a.c' >"$dir/search/README.md"
    echo 'q.c' >"$dir/store/README.md"
    echo 'cuda/' >"$dir/ml/README.md"
    echo 'k.cu' >"$dir/ml/cuda/README.md"
}

expect() { # what, pattern ('' = clean)
    out=$(sh "$rules" "$dir")
    rc=$?
    if { [ -z "$2" ] && [ $rc -eq 0 ]; } || { [ -n "$2" ] && [ $rc -ne 0 ] && printf '%s' "$out" | grep -qE "$2"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'not found: %s\n%s\n' "$1" "$out"
    fi
}

line() { # file text
    fresh
    printf '%s\n' "$2" >>"$dir/$1"
}

fresh
expect "a clean tree" ''
line search/a.c '#include "store/q.h"'
expect "an include that the table forbids" 'search/a.c: may not include "store/q.h"'
line search/a.c '#include "base/loop.h"'
expect "more of base than libc" 'may not include "base/loop.h"'
line search/a.c '#include "a.h"'
expect "an include without its folder" 'write the path from the root'
room() { # a tree with two rooms in search/, and one line more in a file of the lower one
    fresh
    mkdir -p "$dir/search/space" "$dir/search/samplers"
    printf '/* p.h - p. */\n#ifndef SEARCH_SPACE_P_H\n#define SEARCH_SPACE_P_H\n%s\n#endif\n' "$1" >"$dir/search/space/p.h"
    printf '/* s.c - s. */\n#include "search/space/p.h"\nint s;\n' >"$dir/search/samplers/s.c"
    printf '/* s.h - s. */\n#ifndef SEARCH_SAMPLERS_S_H\n#define SEARCH_SAMPLERS_S_H\n#endif\n' >"$dir/search/samplers/s.h"
    echo 'p.h' >"$dir/search/space/README.md"
    echo 's.c s.h' >"$dir/search/samplers/README.md"
}
room ''
expect "an arrow that points down" ''
room '#include "search/samplers/s.h"'
expect "an arrow that points up" 'search/space/p.h: may not include "search/samplers/s.h"'
expect "a circle of units" 'a circle of includes: search/samplers/s search/space/p'
line search/a.c 'void f(void) { sqlite3_step(q); }'
expect "sqlite3 outside store" 'search/a.c:7: sqlite3'
line search/a.c 'void f(void) { evhttp_free(q); }'
expect "evhttp, which the project left" 'evhttp does not belong'
line search/a.c 'void f(void) { k<<<1, 2>>>(); }'
expect "a launch outside ml/cuda" 'kernel launch'
line search/a.c 'const char *q = "DELETE FROM t";'
expect "SQL outside store" 'SQL does not belong'
for call in 'strcpy(a, b)' 'sprintf(a, b)' 'x = time(0)' 'rand()' 'atoi(s)' 'system(s)'; do
    line search/a.c "void f(void) { $call; }"
    expect "banned $call" 'is banned'
done
line search/a.c 'void f(void) { x->time(0); my_rand(); }'
expect "names that only look like banned ones" ''
line base/x.h ''
sed -i 's/BASE_X_H/X_H/' "$dir/base/x.h"
expect "a wrong guard" 'guard should be BASE_X_H'
fresh
{ printf 'int b(void)\n{\n'; yes '    a();' | head -81; printf '}\n'; } >>"$dir/search/a.c"
expect "a function of 81 lines" 'function of 81 lines'
fresh
yes 'int z;' | head -801 >>"$dir/search/a.c"
expect "a file over 800 lines" 'at most 800'
fresh
rm "$dir/base/README.md"
expect "a folder without README" 'base: has no README'
fresh
echo '/* n.c - n. */' >"$dir/search/n.c"
expect "a file that the README does not name" 'does not name n.c'
fresh
echo 'int z;' >"$dir/search/a.c"
expect "a file without a head comment" 'does not start with a comment'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
