/* trace.h - what trace.c tells about time on a device; needs nothing of CUDA. */
#ifndef ML_CUDA_TRACE_H
#define ML_CUDA_TRACE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With ASSAY_CUDA_TRACE set when a context is opened every launch is waited for; closing it prints what each kernel took. */
extern int cuda_is_traced;
void cuda_trace_begin(void);
void cuda_trace_print(FILE *out); /* and forgets it */

#ifdef __cplusplus
}
#endif
#endif
