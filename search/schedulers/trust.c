/* trust.c - Kendall's tau over a window of pairs (M. Kendall, A New Measure of Rank Correlation,
 * Biometrika 1938): the share of pairs of trials that are in the same order at both rungs, less the
 * share that are not. For n unrelated trials its variance is 2(2n+5) / 9n(n-1). */
#include "search/schedulers/trust.h"

#include <math.h>

static int order_of(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

double trust_tau(const struct trust *t)
{
    int sum = 0;

    for (int i = 0; i < t->n; i++) {
        for (int k = 0; k < i; k++)
            sum += order_of(t->here[i], t->here[k]) * order_of(t->there[i], t->there[k]);
    }
    return t->n < 2 ? 0 : sum / (t->n * (t->n - 1) / 2.0);
}

static void judge(struct trust *t, double least)
{
    double n = t->n;

    t->holds = t->n >= TRUST_MIN_PAIRS &&
               trust_tau(t) - sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))) >= least;
}

void trust_add(struct trust *t, double here, double there, double least)
{
    t->here[t->next] = here;
    t->there[t->next] = there;
    t->next = (t->next + 1) % TRUST_WINDOW;
    t->n = t->n < TRUST_WINDOW ? t->n + 1 : t->n;
    judge(t, least);
}
