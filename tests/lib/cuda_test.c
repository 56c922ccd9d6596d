/* cuda_test - does the way to the GPU's module end in one line where something is missing, and are strangers refused? */
#include "tap.h"

#include "base/err.h"
#include "base/isa.h"
#include "engine/cuda.h"

#include <stdlib.h>
#include <unistd.h>

/* open() with TALLY_MODULES=folder: fails with ERR_NOTSUP and a line that has `part`. */
static void
refused(const char *folder, const char *part, const char *what)
{
	struct engine_dev *dev = (struct engine_dev *)1;

	setenv("TALLY_MODULES", folder, 1);
	is(engine_cuda.open(0, 1, &dev), ERR_NOTSUP, "%s is no device", what);
	ok(dev == NULL && strncmp(err_line(), "no GPU: ", 8) == 0 && strstr(err_line(), part) != NULL, "... and the line says so: %s",
	    err_line());
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

/* A module that there is opens, whatever the machine has; its device is the machine's matter. */
static void
built(const char *build)
{
	const struct cuda_module *m;
	struct engine_dev *dev;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", build, CUDA_FILE);
	if (access(path, R_OK) != 0) {
		skip("the module", "no GPU: this build has none");
		return;
	}
	is(cuda_load(path, &m), 0, "the module that was built opens: %s", path);
	is(m->version, CUDA_VERSION, "... is of this version");
	ok(m->engine->close != NULL && m->engine->backward != NULL, "... and has an engine");
	setenv("TALLY_MODULES", build, 1);
	if (engine_cuda.open(0, 1, &dev) == 0) {
		skip("a machine without a GPU", "there is one here");
		engine_cuda.close(dev);
		return;
	}
	ok(strncmp(err_line(), "no GPU: no d", 12) == 0, "... but finds no driver or device: %s", err_line());
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
	/* Any library will do for one that is no module, but not one of another processor. */
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
