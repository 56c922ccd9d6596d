/* emu - what the stand-ins for CUDA's libraries share. */
#ifndef TESTS_EMU_EMU_H
#define TESTS_EMU_EMU_H

#include <stddef.h>

/* Enqueues run(copy of arg [bytes]) on a cudaStream_t of the current device, as a kernel: a graph captures it. */
void	 emu_launch(void *stream, void (*run)(void *arg), const void *arg, size_t bytes);

/* Ends the process unless [p, p + bytes) lies in one allocation of the current device and p is a multiple of align. */
void	 emu_check_memory(const char *what, const void *p, size_t bytes, size_t align);

/* Ends the process: the caller broke a rule of the library. */
void	 emu_fault(const char *what, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * TALLY_EMU_LOG: a file that gets a line "NAME BYTES" for each kernel that runs, each upload, download and launch of a
 * graph, each wait of the host, and "wide" for a wide kernel.  Bytes: of the operands, each counted once.
 */
void	 emu_log(const char *what, size_t bytes);

/* What a cudaStream_t begins with, for the libraries of tests/stub. */
struct emu_stream {
	/* returns the work's number */
	size_t (*enqueue)(struct emu_stream *s, void (*run)(void *arg), const void *arg, size_t bytes);
	void   (*reach)(struct emu_stream *s, size_t number);	/* runs the work up to this number */
	/* by 1: work was enqueued that waits for all devices; -1: it has run; 0: none of it waits any more */
	void   (*tie)(struct emu_stream *s, int by);
};

#endif
