# Kernels are loops for the vectoriser: -O3, and comparisons that need not trap. Bits do not change (ml/cpu/simd.h).
$B/ml/cpu/%.c.o: OPT := -O3 -g -fno-trapping-math
