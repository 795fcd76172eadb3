#!/bin/sh
# The figures of RESULTS.md's section on sparse reductions: sparse_bench over links of 100 Mbit/s,
# 1 Gbit/s and without limit, one network namespace a rank. As root, on a quiet machine, a
# quarter of an hour; JSON lines on standard output:
#   tests/bench/sparse_matrix.sh [RANKS...]        2 4 8 if none are named
set -eu
cd "$(dirname "$0")/../.."
links=tests/bench/sparse_links.sh
bench=bazel-bin/tests/bench/sparse_bench
[ -x "$bench" ] || { echo "sparse_matrix.sh: first: bazel build //tests/bench:sparse_bench" >&2; exit 2; }
[ $# -gt 0 ] || set -- 2 4 8
for rate in 100mbit 1gbit none; do
  for ranks in "$@"; do
    "$links" up "$ranks" "$rate"
    trap '"$links" down "$ranks"' EXIT
    # A dense step of 100 MB takes 14 s at 100 Mbit/s and is the same each time: few repeats there.
    if [ "$rate" = 100mbit ]; then repeats=3; else repeats=5; fi
    for n in 1000000 10000000 25000000; do
      # shellcheck disable=SC2046  # words on purpose
      "$bench" --ranks "$ranks" --n "$n" --kind dense --warm-up 1 --steps 1 --repeats $repeats \
        --link "$rate" $("$links" flags "$ranks")
      # Residuals grow for some steps before selections look as they do in training.
      # shellcheck disable=SC2046
      "$bench" --ranks "$ranks" --n "$n" --kind exact threshold --warm-up 10 --steps 2 \
        --repeats $repeats --link "$rate" $("$links" flags "$ranks")
      # shellcheck disable=SC2046
      "$bench" --ranks "$ranks" --n "$n" --kind topk --warm-up 2 --steps 1 --repeats $repeats \
        --link "$rate" $("$links" flags "$ranks")
    done
    trap - EXIT
    "$links" down "$ranks"
  done
done
