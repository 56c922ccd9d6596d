/* emu - what the files of the module without a GPU share. */
#ifndef TESTS_EMU_EMU_H
#define TESTS_EMU_EMU_H

#include "engine/cuda/device/device.h"

/* run(copy of arg [bytes]) is done when somebody waits for it, after all that was given before. */
void	 emu_enqueue(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes);

const struct cuda_host *emu_host(const struct device *d);

/* DEVICE_COPY as device_stream() gives it: for the libraries in tests/stub, which know nothing else of this module. */
struct emu_stream {
	struct device *d;
	/* returns its number */
	size_t (*enqueue)(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes);
	void   (*reach)(struct device *d, size_t number);	/* what was given up to this number is done */
};

#endif
