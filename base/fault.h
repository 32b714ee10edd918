/* fault.h - fault points for tests. `if (FAULT("blob.fsync")) return err_set(...)` at each place that may
 * fail; a test arms the nth point passed (or the nth passing of one name) and checks the promise after it.
 * A point fails once, or (":on", fault_arm_from) it and every later one fail until the fault is disarmed,
 * as on a disk that has gone away. Disarmed, a point costs one relaxed load.
 * ASSAY_FAULT=name[:nth][:on][:kill] in the environment arms a process from outside when it was started
 * with --dev (":kill" = SIGKILL itself there). */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int fault_armed; /* private to the macro */
#define FAULT(name) (__atomic_load_n(&fault_armed, __ATOMIC_RELAXED) && fault_hit(name))

bool fault_hit(const char *name);
void fault_arm(int nth); /* the nth point passed, any name, fails once; 1-based */
void fault_arm_name(const char *name, int nth, bool kill_process);
/* From the nth passing on, every one fails until fault_disarm; name NULL = any point. */
void fault_arm_from(const char *name, int nth);
int fault_disarm(void);  /* 1 when the armed point had fired */
int fault_arm_env(void); /* reads ASSAY_FAULT; 1 when something was armed */

#ifdef __cplusplus
}
#endif
#endif
