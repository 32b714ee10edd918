/* bisect.h - finds a place in a sorted array by bisection. Every table in memory that is kept in
 * order uses it to look up and to insert. */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

/* Sets `at` to the first of the places 0 to n - 1 for which `is_before` is false, and to n if it is
 * true for all of them. `at` is a variable of type int or size_t. `is_before` is an expression in
 * `at` that is true for the first places and false for all later ones, such as `ids[at] < id`. */
/* NOLINTBEGIN(bugprone-macro-parentheses): `at` is a variable that is set */
#define BISECT(at, n, is_before)                                 \
    do {                                                         \
        __typeof__(at) bisect_from_ = 0, bisect_to_ = (n);       \
        while (bisect_from_ < bisect_to_) {                      \
            at = bisect_from_ + (bisect_to_ - bisect_from_) / 2; \
            if (is_before)                                       \
                bisect_from_ = at + 1;                           \
            else                                                 \
                bisect_to_ = at;                                 \
        }                                                        \
        at = bisect_from_;                                       \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
