/* trace.h - time spent on a device, by kernel. Needs no CUDA header, so that test programs can
 * include it. */
#ifndef ML_CUDA_TRACE_H
#define ML_CUDA_TRACE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set where ASSAY_CUDA_TRACE is in the environment when a context is opened: every launch is then
 * waited for, and closing the context prints what each kernel took. */
extern int cuda_is_traced;
void cuda_trace_begin(void);
/* Prints what each kernel took since the last call, and clears the counts. */
void cuda_trace_print(FILE *out);

#ifdef __cplusplus
}
#endif
#endif
