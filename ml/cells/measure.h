/* measure.h - amounts whose unit changes from row to row: durations ("2h 30m", "45 min",
 * "1 day 02:10:00", "PT2H30M"), lengths ("5'11\"", "180 cm"), weights, volumes, frequencies, and
 * sizes and rates of data ("512 KB", "1.5 GB"). One text at a time; what is measured is the caller's
 * decision, because only the whole column shows whether "m" is a minute or a metre (judge.h). */
#ifndef ML_CELLS_MEASURE_H
#define ML_CELLS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

enum measure {
    MEASURE_TIME,
    MEASURE_LENGTH,
    MEASURE_MASS,
    MEASURE_VOLUME,
    MEASURE_DATA,
    MEASURE_DATA_RATE,
    MEASURE_FREQUENCY,
    MEASURE_KINDS
};

struct measured {
    double value; /* in measure_unit */
    double unit;  /* the largest unit that was written, in measure_unit; 0 = none, as of "0" */
    bool is_compound;
};

/* Whether all of the text is one amount of that kind. decimal: '.' or ','. Any bytes are allowed.
 * A kilobyte has 1000 bytes, a kibibyte 1024; a year has 365.2425 days, a month a twelfth of it. */
bool measure_read(const char *s, size_t n, char decimal, enum measure kind, struct measured *out);

/* "s", "m", "kg", "l", "B", "bit/s", "Hz" */
const char *measure_unit(enum measure kind);

#endif
