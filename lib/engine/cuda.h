/*
 * cuda - the engine of NVIDIA's GPUs, in a module that is opened when it is asked for.
 *
 * The libraries behind it (CUDA, cuDNN, cuBLASLt) are hundreds of megabytes and
 * take a tenth of a second to load, so nothing of tally is linked with them:
 * engine_cuda looks for the file CUDA_FILE, opens it, and passes each call on.
 * It is looked for in the folder that the environment's TALLY_MODULES names, and
 * there alone; without that beside the program, then in ../lib/tally from there.
 *
 * The module exports one symbol, a struct cuda_module.  It is linked with nothing
 * of lib/: what it needs of it comes in struct cuda_host, so that the
 * error line and all tables exist once.  Both sides are built from this header;
 * a module of another version is refused.
 *
 * Where there is no GPU to compute on open() returns ERR_NOTSUP, and the line
 * begins with "no GPU: " and says what is missing: the module, the driver or the device.
 */
#ifndef ENGINE_CUDA_H
#define ENGINE_CUDA_H

#include "engine/engine.h"

#define CUDA_VERSION	4u		/* of what this header says */
#define CUDA_FILE	"tally-cuda.so"
#define CUDA_SYMBOL	"tally_cuda"

/* What the module calls. */
struct cuda_host {
	void (*note)(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));	/* err_note() */
	void (*within)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));		/* err_within() */
	int  (*put)(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));	/* buf_put_fmt() */
	uint32_t (*drop_key)(const struct engine_draw *draw, uint32_t sample, uint32_t layer);
	const char *(*op_name)(enum graph_op op);
	int  (*check)(const struct samples *s, uint32_t classes);	/* samples_check() */
	uint64_t (*now)(void);						/* clk_ns() */
};

struct cuda_module {
	uint32_t version;	/* CUDA_VERSION */
	uint32_t engine_bytes;	/* sizeof(struct engine), graph_bytes of struct graph_node: the seams' own versions */
	uint32_t graph_bytes;
	/* Opens device number `device`.  host is lent until close().  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
	int	 (*open)(const struct cuda_host *host, uint32_t device, struct engine_dev **dev);
	const struct engine *engine;	/* all but its open(); it is the first word of its devices and plans */
};

extern const struct engine engine_cuda;

/* Opens the module in the file at path and checks it.  Returns 0, ERR_NOTSUP; the module stays open to the end. */
int	 cuda_load(const char *path, const struct cuda_module **m);

#endif
