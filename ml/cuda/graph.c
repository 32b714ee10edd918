/* graph.c - launches that are repeated unchanged, as one CUDA graph (graph.h). Called by boost.c and
 * net.c. */
#include "ml/cuda/graph.h"

#include "ml/cuda/trace.h"

void cuda_graph_free(struct cuda_graph *g)
{
    if (g->is_made)
        cudaGraphExecDestroy(g->exec);
    g->is_made = g->times = 0;
}

/* Records the launches, without running them. */
static int record(struct ml_ctx *c, struct cuda_graph *g, int key,
                  int (*queue)(void *, int, struct err *), void *arg, struct err *err)
{
    cudaGraph_t graph = NULL;

    if (cuda_try(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal), err) < 0)
        return -1;
    int rc = queue(arg, key, err);
    if (cuda_try(cudaStreamEndCapture(c->stream, &graph), rc < 0 ? NULL : err) < 0)
        return -1;
    rc = rc < 0 ? rc : cuda_try(cudaGraphInstantiateWithFlags(&g->exec, graph, 0), err);
    cudaGraphDestroy(graph);
    g->is_made = rc == 0;
    return rc;
}

int cuda_graph_run(struct ml_ctx *c, struct cuda_graph *g, int key,
                   int (*queue)(void *arg, int key, struct err *err), void *arg, struct err *err)
{
    if (g->key != key)
        cuda_graph_free(g);
    g->key = key;
    if (cuda_is_traced || g->times == 0) {
        g->times = 1;
        return queue(arg, key, err);
    }
    if (!g->is_made && record(c, g, key, queue, arg, err) < 0)
        return -1;
    return cuda_try(cudaGraphLaunch(g->exec, c->stream), err);
}
