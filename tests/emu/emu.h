/* emu - what the files of the emulated module share. */
#ifndef TESTS_EMU_EMU_H
#define TESTS_EMU_EMU_H

#include "engine/cuda/device/device.h"

/* Enqueues run(copy of arg [bytes]) after all earlier work. */
void	 emu_enqueue(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes);

/* TALLY_EMU_LOG: a file that gets a line for each kernel that runs, another if it is wide, and each wait. */
void	 emu_log(const char *what);

const struct cuda_host *emu_host(const struct device *d);

/* DEVICE_DOWNLOAD as device_stream() returns it, for the libraries of tests/stub. */
struct emu_stream {
	struct device *d;
	/* returns the work's number */
	size_t (*enqueue)(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes);
	void   (*reach)(struct device *d, size_t number);	/* runs the work up to this number */
};

#endif
