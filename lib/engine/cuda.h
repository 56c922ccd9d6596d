/*
 * cuda - loads the engine of NVIDIA's GPUs, a module that is linked with CUDA, cuDNN and cuBLASLt.
 *
 * Those libraries have hundreds of megabytes and take a tenth of a second to load, so no tool is linked with them.
 * engine_cuda's module->open() loads the file CUDA_FILE and returns the module's table.  It searches the folder in
 * $TALLY_MODULES; without that variable, the program's folder and then ../lib/tally from there.
 *
 * The module exports one symbol, a struct cuda_module.  It is not linked with lib/, so that the error line and all
 * tables exist once: it calls lib/ through struct cuda_host.  Both sides are built from this header, and cuda_load()
 * refuses a module of another version.
 *
 * Without a GPU, it returns ERR_NOTSUP, and the line is "no GPU: " and what is missing: the module, the driver or the
 * device.
 */
#ifndef ENGINE_CUDA_H
#define ENGINE_CUDA_H

#include "engine/engine.h"

#define CUDA_VERSION	9u		/* of this header's structures */
#define CUDA_FILE	"tally-cuda.so"
#define CUDA_SYMBOL	"tally_cuda"

/* The functions of lib/ that the module calls. */
struct cuda_host {
	void (*note)(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));	/* err_note() */
	void (*within)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));		/* err_within() */
	int  (*put)(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));	/* buf_put_fmt() */
	uint32_t (*drop_key)(const struct engine_draw *draw, uint32_t sample, uint32_t layer);
	const char *(*op_name)(enum graph_op op);
	int  (*check)(const struct samples *s, uint32_t classes, uint32_t targets);	/* samples_check() */
	uint64_t (*now)(void);						/* clk_ns() */
};

struct cuda_module {
	uint32_t version;	/* CUDA_VERSION */
	uint32_t engine_bytes;	/* sizeof(struct engine); another size is another version too */
	uint32_t graph_bytes;	/* sizeof(struct graph_node) */
	/* Opens device number `device`.  *host must stay valid until close().  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
	int	 (*open)(const struct cuda_host *host, uint32_t device, struct engine_dev **dev);
	const struct engine *engine;	/* has no open() */
};

extern const struct engine engine_cuda;

/* Loads the module in a file and checks its version.  The module stays loaded.  Returns 0 or ERR_NOTSUP. */
int	 cuda_load(const char *path, const struct cuda_module **m);

#endif
