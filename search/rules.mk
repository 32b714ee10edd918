# Densities and covariances are loops for the vectoriser, as the kernels of ml/cpu are (base/simd.h). sqrt without errno
# is one instruction. Bits do not change.
$B/search/samplers/tpe/parzen_sum.c.o $B/search/samplers/gp/gp_model.c.o: OPT := -O3 -g -fno-trapping-math -fno-math-errno
