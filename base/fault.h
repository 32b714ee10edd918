/* fault.h - fault points, by which tests make a call fail on purpose. Code that can fail asks
 * `if (FAULT("blob.fsync")) return err_set(...)`. A test arms the nth point that is passed, or the
 * nth passing of one name, and checks afterwards that the code kept its promise.
 *
 * An armed point fails once. If it was armed with fault_arm_from (":on"), it and every later point
 * fail until the fault is disarmed, as on a disk that has gone away. A point that is not armed
 * costs one relaxed load.
 *
 * A process that was started with --dev can be armed from outside by the environment variable
 * ASSAY_FAULT=name[:nth][:on][:kill]; name * means any point, and ":kill" makes the process kill
 * itself with SIGKILL at that point. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int fault_armed; /* private to the macro */
#define FAULT(name) (__atomic_load_n(&fault_armed, __ATOMIC_RELAXED) && fault_hit(name))

bool fault_hit(const char *name);
void fault_arm(int nth); /* the nth point that is passed, of any name, fails once; counted from 1 */
void fault_arm_name(const char *name, int nth, bool kill_process);
/* Every passing from the nth on fails until fault_disarm. name NULL means any point. */
void fault_arm_from(const char *name, int nth);
int fault_disarm(void);  /* 1 if a point had failed since it was armed */
int fault_arm_env(void); /* reads ASSAY_FAULT; 1 if it armed something */

#ifdef __cplusplus
}
#endif
#endif
