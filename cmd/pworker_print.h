/*
 * pworker_print - a net for people's eyes: its layers, and with a batch what training on an engine takes and runs.
 */
#ifndef CMD_PWORKER_PRINT_H
#define CMD_PWORKER_PRINT_H

#include "engine/engine.h"

/*
 * Prints the graph's table.  With engine not NULL also the memory of training with batches of `batch`: the engine's own,
 * and the weights, gradients and optimizer's state beside it, `state` floats a weight; and the kernel that each layer
 * got.  Ends the program where that fails.
 */
void	worker_print(const struct graph *g, const struct engine *engine, unsigned threads, uint32_t batch, uint32_t state);

#endif
