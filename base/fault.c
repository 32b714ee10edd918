/* fault.c - at most one armed point per process. Any thread may pass a point: the counter is
 * atomic, so exactly one passing fails, or exactly those from the nth on. Only one thread may arm
 * and disarm, and only while no other thread passes points. */
#include "base/fault.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fault_armed;

static struct {
    char name[80]; /* empty: any point */
    int left;      /* passings until it fails; stays at or below 0 while every passing fails */
    int fired;
    bool kill_process, stays;
} armed;

bool fault_hit(const char *name)
{
    if (armed.name[0] && strcmp(armed.name, name) != 0)
        return false;
    if (armed.stays && __atomic_load_n(&armed.fired, __ATOMIC_RELAXED))
        return true; /* no longer counted, so that the counter cannot wrap round */
    int left = __atomic_sub_fetch(&armed.left, 1, __ATOMIC_RELAXED);
    if (left > 0 || (left < 0 && !armed.stays))
        return false;
    if (armed.kill_process)
        kill(getpid(), SIGKILL);
    __atomic_store_n(&armed.fired, 1, __ATOMIC_RELAXED);
    if (!armed.stays)
        __atomic_store_n(&fault_armed, 0, __ATOMIC_RELAXED);
    return true;
}

static void arm(const char *name, int nth, bool stays, bool kill_process)
{
    __atomic_store_n(&fault_armed, 0, __ATOMIC_RELAXED);
    snprintf(armed.name, sizeof armed.name, "%s", name ? name : "");
    armed.left = nth;
    armed.fired = 0;
    armed.stays = stays;
    armed.kill_process = kill_process;
    __atomic_store_n(&fault_armed, nth > 0, __ATOMIC_RELEASE);
}

void fault_arm(int nth)
{
    arm(NULL, nth, false, false);
}

void fault_arm_name(const char *name, int nth, bool kill_process)
{
    arm(name, nth, false, kill_process);
}

void fault_arm_from(const char *name, int nth)
{
    arm(name, nth, true, false);
}

int fault_disarm(void)
{
    int fired = __atomic_load_n(&armed.fired, __ATOMIC_RELAXED);

    arm(NULL, 0, false, false);
    return fired;
}

int fault_arm_env(void)
{
    const char *text = getenv("ASSAY_FAULT"), *colon = NULL;
    char name[sizeof armed.name];
    bool kill_process = false, stays = false;
    int nth = 1;

    if (!text || !text[0])
        return 0;
    snprintf(name, sizeof name, "%s", text);
    name[strcspn(name, ":")] = '\0';
    for (colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        if (strcmp(colon + 1, "kill") == 0)
            kill_process = true;
        else if (strcmp(colon + 1, "on") == 0 || strncmp(colon + 1, "on:", 3) == 0)
            stays = true;
        else
            nth = (int)strtol(colon + 1, NULL, 10);
    }
    if (nth < 1)
        return 0;
    arm(strcmp(name, "*") == 0 ? NULL : name, nth, stays, kill_process);
    return 1;
}
