# Kernels are loops for the vectoriser: -O3, and comparisons that need not trap. Bits do not change (ml/cpu/simd.h).
$B/ml/cpu/%.c.o: OPT := -O3 -g -fno-trapping-math
# The inner loops of reading, packing and binning are of the same kind.
$(addprefix $B/ml/,csv_col.c.o csv_dict.c.o csv_scan.c.o csv_num.c.o frame_pack.c.o frame_stats.c.o prep_bins.c.o prep_dense.c.o): OPT := -O3 -g -fno-trapping-math
# So are the loops that split the nodes of a forest.
$(addprefix $B/ml/,forest_split.c.o forest_random.c.o forest_gini.c.o forest_grow.c.o forest_columns.c.o forest_walk.c.o): OPT := -O3 -g -fno-trapping-math
