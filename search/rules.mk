# Densities, covariances and exponentials are loops for the vectoriser, as the kernels of ml/cpu are (base/simd.h). sqrt
# without errno is one instruction. Bits do not change.
$(addprefix $B/search/,samplers/tpe/parzen.c.o samplers/tpe/parzen_sum.c.o samplers/tpe/kde.c.o samplers/gp/gp_luck.c.o samplers/gp/gp_model.c.o samplers/gp/gp_fit.c.o samplers/gp/gp_pool.c.o samplers/gp/gp_pick.c.o samplers/gp/linalg.c.o samplers/gp/linalg_upper.c.o space/exact_math.c.o): \
    OPT := -O3 -g -fno-trapping-math -fno-math-errno
