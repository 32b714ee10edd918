/* service.h - what health and metrics count alike. */
#ifndef CONTROLLER_API_SERVICE_H
#define CONTROLLER_API_SERVICE_H

#include <stdint.h>

struct ctl;

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.1.0"
#endif

/* Of the studies that have not ended. */
struct service_load {
    int live, running;
    int64_t trials_running, trials_paused;
    int64_t trials_waiting; /* queued in running studies: more devices would take them at once */
};
void service_count(const struct ctl *ctl, struct service_load *out);

#endif
