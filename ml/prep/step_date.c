/* step_date.c - dates as the calendar reads them: year, month, day, day of the year, weekday, hour
 * and minute in UTC; and the days between two columns of dates. Parts that do not vary in the
 * training rows become no inputs (prep_fit.c), so that dates without a time of day have no hours.
 * There is nothing to fit and no state. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>

enum { SECONDS_A_DAY = 86400 };
/* Seconds from 1970 beyond which a number is no date: some three million years. */
#define FARTHEST 1e14

static const struct date_part {
    const char *name;
    double cycle;
} parts[] = {
    { "year", 0 },    { "month", 12 }, { "day", 31 },    { "day of year", 366 },
    { "weekday", 7 }, { "hour", 24 },  { "minute", 60 },
};
enum { YEAR, MONTH, DAY, DAY_OF_YEAR, WEEKDAY, HOUR, MINUTE };

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    (void)in;
    (void)err;
    s->n_parts = (int)ARRAY_LEN(parts);
    return 1;
}

static void no_state(struct prep_step *s)
{
    (void)s;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    (void)s;
    snprintf(out, STEP_NAME, "%s", parts[part].name);
}

static double cycle(const struct prep_step *s, int part)
{
    (void)s;
    return parts[part].cycle;
}

/* The day of the Gregorian calendar, days after 1970-01-01. Years are counted from March, so that
 * the day that leap years add is the last of a year. */
static int64_t date_value(int64_t days, int part)
{
    static const int month_starts[] = { 0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337 };
    enum { DAYS_400_YEARS = 146097, DAYS_100_YEARS = 36524, DAYS_4_YEARS = 1461 };
    enum { MARCH_OF_YEAR_0 = 719468, JANUARY_FROM_MARCH = 306 };
    int64_t from = days + MARCH_OF_YEAR_0;
    int64_t era = (from >= 0 ? from : from - DAYS_400_YEARS + 1) / DAYS_400_YEARS;
    int64_t rest = from - era * DAYS_400_YEARS;
    int64_t centuries = MIN(rest / DAYS_100_YEARS, 3);
    rest -= centuries * DAYS_100_YEARS;
    int64_t fours = rest / DAYS_4_YEARS;
    rest -= fours * DAYS_4_YEARS;
    int64_t ones = MIN(rest / 365, 3), day = rest - ones * 365;
    int64_t year = era * 400 + centuries * 100 + fours * 4 + ones;
    int month = 11;

    while (day < month_starts[month])
        month--;
    if (part == YEAR)
        return year + (month >= 10);
    if (part == MONTH)
        return month < 10 ? month + 3 : month - 9;
    if (part == DAY)
        return day - month_starts[month] + 1;
    if (day >= JANUARY_FROM_MARCH)
        return day - JANUARY_FROM_MARCH + 1;
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day + 60 + is_leap;
}

static double part_of(double x, int part)
{
    if (!(fabs(x) <= FARTHEST))
        return (double)NAN;
    double days = floor(x / SECONDS_A_DAY), second = x - days * SECONDS_A_DAY;
    switch (part) {
    case WEEKDAY: /* Monday = 1; 1970-01-01 was a Thursday */
        return (double)((((int64_t)days + 3) % 7 + 7) % 7 + 1);
    case HOUR:
        return floor(second / 3600);
    case MINUTE:
        return floor(fmod(second, 3600) / 60);
    default:
        return (double)date_value((int64_t)days, part);
    }
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    step_numbers(v, 0, from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = part_of(out[i], part);
}

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    (void)s;
    (void)out;
    (void)err;
    return 0;
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    (void)in;
    (void)err;
    s->n_parts = (int)ARRAY_LEN(parts);
    return 0;
}

static bool is_number(const struct prep *p, const struct prep_step *s)
{
    return s->n_sources == 1 && p->sources[s->source[0]].type == FRAME_NUMERIC;
}

const struct step_ops step_date = {
    .word = "date",
    .fit = fit,
    .free = no_state,
    .part_name = part_name,
    .cycle = cycle,
    .values = values,
    .save = save,
    .load = load,
    .suits = is_number,
};

/* ---- the days between two dates ---- */

static int between_fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    (void)in;
    (void)err;
    s->n_parts = 1;
    return 1;
}

static void between_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    (void)s;
    (void)part;
    snprintf(out, STEP_NAME, "days between");
}

static void between_values(const struct step_view *v, int part, int64_t from, int64_t n,
                           double *out)
{
    double first[PREP_BLOCK];

    (void)part;
    step_numbers(v, 0, from, n, first);
    step_numbers(v, 1, from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = (out[i] - first[i]) / SECONDS_A_DAY;
}

static int between_load(struct prep_step *s, struct view *in, struct err *err)
{
    (void)in;
    (void)err;
    s->n_parts = 1;
    return 0;
}

static bool are_numbers(const struct prep *p, const struct prep_step *s)
{
    return s->n_sources == 2 && p->sources[s->source[0]].type == FRAME_NUMERIC &&
           p->sources[s->source[1]].type == FRAME_NUMERIC;
}

const struct step_ops step_between = {
    .word = "between",
    .fit = between_fit,
    .free = no_state,
    .part_name = between_name,
    .values = between_values,
    .save = save,
    .load = between_load,
    .suits = are_numbers,
};
