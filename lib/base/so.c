/* so - loads libraries at run time that the build does not need. */
#include "base/so.h"
#include "base/err.h"

#include <dlfcn.h>

int
so_load(const char *const *names, const struct so_symbol *symbols, size_t n)
{
	void *so = NULL;
	int e = 0;

	/* Libraries in C++ may have destructors that run when a thread ends, so they are not unloaded before. */
	for (; so == NULL && *names != NULL; names++)
		so = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (so == NULL)
		return err_fail(ERR_NOTSUP, "%s", dlerror());
	for (size_t i = 0; e == 0 && i < n; i++)
		if ((*(void **)symbols[i].to = dlsym(so, symbols[i].name)) == NULL && !symbols[i].optional)
			e = err_fail(ERR_NOTSUP, "it has no %s", symbols[i].name);
	dlclose(so);
	return e;
}
