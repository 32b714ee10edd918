# Passes over rows: -O3, and comparisons that need not trap (ml/rules.mk).
$B/ml/ensemble/greedy.c.o $B/ml/ensemble/pool_fit.c.o $B/ml/ensemble/pool_margins.c.o: OPT := -O3 -g -fno-trapping-math
