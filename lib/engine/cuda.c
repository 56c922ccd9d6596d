/* cuda - finds and loads the module with the engine of NVIDIA's GPUs. */
#include "engine/cuda.h"

#include "base/clk.h"
#include "base/err.h"
#include "engine/drop.h"
#include "net/graph/op.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cuda_host host = { err_note, err_within, buf_put_fmt, drop_key, op_name, samples_check, clk_ns };

int
cuda_load(const char *path, const struct cuda_module **m)
{
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (so == NULL)
		return err_fail(ERR_NOTSUP, "no GPU: the module does not open: %s", dlerror());
	/* The module stays loaded, because threads of CUDA's libraries outlive the device. */
	if ((*m = dlsym(so, CUDA_SYMBOL)) == NULL)
		return err_fail(ERR_NOTSUP, "no GPU: %s: not a module of tally", path);
	if ((*m)->version != CUDA_VERSION)
		return err_fail(ERR_NOTSUP, "no GPU: %s: a module of version %u, not %u", path, (*m)->version,
		    CUDA_VERSION);
	if ((*m)->engine_bytes != sizeof(struct engine) || (*m)->graph_bytes != sizeof(struct graph_node))
		return err_fail(ERR_NOTSUP, "no GPU: %s: built from other headers of tally", path);
	return 0;
}

/* The folder of this program without a slash at its end, or "." if the system does not tell it. */
static void
find_program_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *end;

	folder[n > 0 ? n : 0] = 0;
	if ((end = strrchr(folder, '/')) != NULL)
		*end = 0;
	else
		strcpy(folder, ".");
}

static bool
find_module_at(char path[PATH_MAX], const char *folder, const char *below)
{
	return snprintf(path, PATH_MAX, "%s%s/%s", folder, below, CUDA_FILE) < PATH_MAX && access(path, R_OK) == 0;
}

/* Returns 0 with the module's path, or ERR_NOTSUP. */
static int
find_module(char path[PATH_MAX])
{
	const char *named = getenv("TALLY_MODULES");
	char folder[PATH_MAX];

	if (named != NULL && *named != 0)
		return find_module_at(path, named, "") ? 0 : err_fail(ERR_NOTSUP, "no GPU: no module %s in %s",
		    CUDA_FILE, named);
	find_program_folder(folder);
	if (find_module_at(path, folder, "") || find_module_at(path, folder, "/../lib/tally"))
		return 0;
	return err_fail(ERR_NOTSUP, "no GPU: no module %s beside this program or in ../lib/tally", CUDA_FILE);
}

static int
cuda_open(uint32_t index, const struct engine **e, struct engine_dev **dev)
{
	const struct cuda_module *m;
	char path[PATH_MAX];
	int err;

	*dev = NULL;
	if ((err = find_module(path)) < 0 || (err = cuda_load(path, &m)) < 0)
		return err;
	*e = m->engine;
	return m->open(&host, index, dev);
}

/* For callers that close what they could not open. */
static void
close_none(struct engine_dev *dev)
{
	(void)dev;
}

static void
free_none(struct engine_plan *plan)
{
	(void)plan;
}

static const struct engine_module module = { .open = cuda_open };

const struct engine engine_cuda = {
	.name = "cuda",
	.module = &module,
	.close = close_none,
	.plan_free = free_none,
};
