#!/usr/bin/env bash
# Evidence must exist.  In: a build folder.  Every test that a capsule or a provider of the registry cites must be a
# ctest test there; those of planned entries may stand in tests/evidence.pending instead.  That list only shrinks: a name
# leaves it when its test exists or no planned entry cites it, and its first line says how many may stand in it.
# --write makes the list anew, for a change of the op table.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: check_evidence.sh BUILD [--write]}
pending=tests/evidence.pending
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

catalog=$(find "$build/tests/unit" -name test_catalog -type f | head -n 1)
[ -n "$catalog" ] || { echo "$build has no test_catalog: build it first" >&2; exit 2; }
"$catalog" --evidence | sort -u >"$work/cited"
sed -n 's/^needed //p' "$work/cited" | sort -u >"$work/needed"
sed -n 's/^planned //p' "$work/cited" | sort -u | comm -23 - "$work/needed" >"$work/planned"
ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sort -u >"$work/tests"
comm -23 "$work/planned" "$work/tests" >"$work/open"
if [ "${2:-}" = --write ]; then
    { echo "# at most $(wc -l <"$work/open") tests of planned capsules that do not exist yet"; cat "$work/open"; } >"$pending"
fi
grep -v '^#' "$pending" | sort -u >"$work/pending" || true
most=$(sed -n '1s/^# at most \([0-9]*\) .*/\1/p' "$pending")

bad=0
complain() { # FILE TEXT: every line of the file is a fault
    if [ -s "$1" ]; then
        sed "s|^|$2: |" "$1" >&2
        bad=1
    fi
}
comm -23 "$work/needed" "$work/tests" >"$work/missing"
complain "$work/missing" "evidence is no test"
comm -23 "$work/open" "$work/pending" >"$work/unlisted"
complain "$work/unlisted" "neither a test nor in $pending"
comm -23 "$work/pending" "$work/open" >"$work/stale"
complain "$work/stale" "to be struck from $pending"
[ "$(wc -l <"$work/pending")" -le "${most:-0}" ] || { echo "$pending: more than ${most:-0} names; it only shrinks" >&2; bad=1; }
echo "evidence: $(wc -l <"$work/needed") tests cited, $(wc -l <"$work/missing") missing, $(wc -l <"$work/pending") pending"
exit $bad
