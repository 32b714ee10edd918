/* net_rate.c - how the learning rate, dropout and decay change while a network is trained: functions of the share u of all
 * epochs that are done, 0 <= u < 1. */
#include "ml/math/fmath.h"
#include "ml/net/net_lane.h"

enum { CYCLES = 4 };

/* Four cosine cycles, each twice as long as the one before ("coslog4" of RealMLP, section 3): the rate falls to 0 at
 * u = 1/15, 3/15, 7/15 and 1, which are the levels of the family's ladder (ml/family/family_net.c). */
static double cycles(double u)
{
    double turns = fm_log_d(1.0 + ((1 << CYCLES) - 1) * u) * 1.4426950408889634;

    return 0.5 * (1.0 - fm_cos_turns_d(turns));
}

/* Up to the full rate in the first third, down to 0 in the rest (Smith 2018). */
static double one_cycle(double u)
{
    return 0.5 * (1.0 - fm_cos_turns_d(u < 1.0 / 3.0 ? u * 1.5 : 0.5 + (u - 1.0 / 3.0) * 0.75));
}

/* A tenth from the middle on, a hundredth in the last quarter (the steps of He et al., CVPR 2016, for CIFAR-10). */
static double steps(double u)
{
    return u < 0.5 ? 1.0 : u < 0.75 ? 0.1 : 0.01;
}

double net_rate_at(const struct net_recipe *r, double u)
{
    /* Goyal et al. 2017: large batches need small steps at first. */
    double rate = u < r->warmup ? r->rate * u / r->warmup : r->rate;

    switch (r->schedule) {
    case NET_CYCLES:
        return rate * cycles(u);
    case NET_COSINE:
        return rate * 0.5 * (1.0 + fm_cos_turns_d(0.5 * u));
    case NET_ONE_CYCLE:
        return rate * one_cycle(u);
    case NET_STEPS:
        return rate * steps(u);
    default:
        return rate;
    }
}

/* "flat_cos" of RealMLP. */
double net_late_fall(double u)
{
    return u < 0.5 ? 1.0 : 0.5 * (1.0 + fm_cos_turns_d(u - 0.5));
}
