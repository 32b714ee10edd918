# The sums of densities are loops for the vectoriser, as the kernels of ml/cpu are. Bits do not change (base/simd.h).
$B/search/samplers/tpe/parzen_sum.c.o: OPT := -O3 -g -fno-trapping-math
