/* cuda_test - loading the GPU's module: one line for each thing that is missing, and files that are not the module. */
#include "tap.h"

#include "base/err.h"
#include "base/isa.h"
#include "engine/cuda.h"

#include <stdlib.h>
#include <unistd.h>

/* engine_open() with TALLY_MODULES=folder fails with ERR_NOTSUP and a line that contains `part`. */
static void
refused(const char *folder, const char *part, const char *what)
{
	const struct engine *e = &engine_cuda;
	struct engine_dev *dev = (struct engine_dev *)1;

	setenv("TALLY_MODULES", folder, 1);
	is(engine_open(&e, 0, 1, &dev), ERR_NOTSUP, "engine_open refuses %s", what);
	ok(dev == NULL && strncmp(err_line(), "no GPU: ", 8) == 0 && strstr(err_line(), part) != NULL,
	    "the line says why %s is refused: %s", what, err_line());
}

static void
file(const char *folder, const char *bytes)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, CUDA_FILE);
	f = fopen(path, "w");
	fputs(bytes, f);
	fclose(f);
}

/* The module of this build loads on any machine; only its device depends on the machine. */
static void
built(const char *build)
{
	const struct engine *e = &engine_cuda;
	const struct cuda_module *m;
	struct engine_dev *dev;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", build, CUDA_FILE);
	if (access(path, R_OK) != 0) {
		skip("the module", "no GPU: this build has none");
		return;
	}
	is(cuda_load(path, &m), 0, "cuda_load loads the module that was built: %s", path);
	is(m->version, CUDA_VERSION, "the module has this version");
	ok(m->engine->close != NULL && m->engine->backward != NULL, "the module has an engine");
	setenv("TALLY_MODULES", build, 1);
	if (engine_open(&e, 0, 1, &dev) == 0) {
		ok(e == m->engine, "engine_open returns the module's engine");
		e->close(dev);
		return;
	}
	ok(strncmp(err_line(), "no GPU: no d", 12) == 0, "the module finds no driver or device: %s", err_line());
}

int
main(void)
{
	const char *build = getenv("BUILD");
	char folder[] = "/tmp/cuda_testXXXXXX", path[256];

	if (mkdtemp(folder) == NULL)
		return 1;
	refused(folder, "no module tally-cuda.so in ", "an empty folder");
	file(folder, "not a shared object\n");
	refused(folder, "does not open", "a file of text");
	snprintf(path, sizeof(path), "%s/%s", folder, CUDA_FILE);
	unlink(path);
	/* Any library of this processor serves as a file that is not the module. */
	if (ISA_X86 && symlink("/lib/x86_64-linux-gnu/libm.so.6", path) == 0 && access(path, R_OK) == 0)
		refused(folder, "not a module of tally", "another library");
	else
		skip("another library", "libm is elsewhere");
	unlink(path);
	rmdir(folder);
	unsetenv("TALLY_MODULES");
	engine_cuda.close(NULL);
	engine_cuda.plan_free(NULL);
	built(build != NULL ? build : "build");
	return done();
}
