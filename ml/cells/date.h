/* date.h - dates and times as people and programs write them, one text at a time, to seconds since
 * 1970-01-01 00:00 UTC:
 *
 *   2024-03-01, 2024/3/1, 2024-03-01T12:30:15.25+01:00, 2024-03    year first
 *   20240301, 20240301T123015Z                                     without signs
 *   3/1/2024, 01.03.24, 1-3-2024 14:05, 1/3/2024 2:05 PM           the order is the caller's
 *   1 March 2024, 01-Mar-24, Mar 1, 2024, Fri, 1 Mar 2024 12:00:00 GMT
 *   2024Q1, 2024-Q1, Q1 2024, 2024-W09, 2024-W09-5                 the first day of it
 *   12:30, 12:30:15, 2:05 PM                                       time alone: of 1970-01-01
 *
 * Two digits of a year mean 1969 to 2068. Times without a zone are taken as UTC. Called by
 * judge.c. */
#ifndef ML_CELLS_DATE_H
#define ML_CELLS_DATE_H

#include <stdbool.h>
#include <stddef.h>

/* How three numbers are ordered where the first is no year of four digits. DATE_BY_VALUES: all
 * values of the column decide (judge.h). The last three are for columns of numbers: seconds or
 * milliseconds since 1970, and year, month and day as one whole number, 20240301. */
enum date_order {
    DATE_BY_VALUES,
    DATE_DMY,
    DATE_MDY,
    DATE_YMD,
    DATE_EPOCH_S,
    DATE_EPOCH_MS,
    DATE_WHOLE
};

struct date {
    double seconds;
    bool has_date, has_time, has_zone, has_month_name;
    /* the year has two digits; the date has no signs */
    bool is_short, is_whole;
    /* day and month were told apart by `order` alone; then these are the two numbers */
    bool needs_order;
    int first, second;
    /* between the numbers of the date: - / . or a space; 0 = none */
    char sign;
};

/* order: DATE_DMY, DATE_MDY or DATE_YMD. */
bool date_read(const char *s, size_t n, enum date_order order, struct date *out);
/* Seconds of a day of the calendar; month 1..12, day 1..31 as they are. */
double date_seconds(int year, int month, int day);
/* Whether the month has the day. */
bool date_is_day(int year, int month, int day);
/* The seconds of 20240301; NaN where the number is no day from year 1 to 9999. */
double date_whole(double number);

#endif
