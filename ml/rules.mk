# Kernels are loops for the vectoriser: -O3, and comparisons that need not trap. Bits do not change (ml/cpu/simd.h).
$B/ml/cpu/%.c.o: OPT := -O3 -g -fno-trapping-math
# The inner loops of reading, packing and binning are of the same kind.
$(addprefix $B/ml/,read/csv_col.c.o read/csv_dict.c.o read/csv_scan.c.o read/csv_wide.c.o \
    cells/csv_num.c.o table/frame_pack.c.o \
    read/typed.c.o read/columnar/rle.c.o read/columnar/delta.c.o read/columnar/logical.c.o \
    read/columnar/parquet.c.o read/columnar/parquet_values.c.o read/columnar/arrow_column.c.o \
    table/frame_stats.c.o text/ridge.c.o prep/prep_bins.c.o prep/prep_cuts.c.o prep/prep_dense.c.o \
    prep/level_effects.c.o): OPT := -O3 -g -fno-trapping-math
# So are the loops that split the nodes of a forest.
$(addprefix $B/ml/forest/,forest_split.c.o forest_random.c.o forest_gini.c.o forest_grow.c.o forest_columns.c.o \
    forest_walk.c.o): OPT := -O3 -g -fno-trapping-math
# sqrt without errno is one instruction.
$B/ml/cpu/layer.c.o $B/ml/cpu/optim.c.o: OPT += -fno-math-errno
