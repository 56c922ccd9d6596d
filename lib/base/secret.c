/* secret - memory for a key: never swapped out, if the system allows it, and left out of core dumps. */
#include "base/secret.h"
#include "base/err.h"

#include <string.h>
#include <sys/mman.h>

int
secret_new(size_t n, void **out)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_nomem();
	(void)madvise(p, n, MADV_DONTDUMP);
	secret_keep(p, n);
	*out = p;
	return 0;
}

void
secret_keep(void *p, size_t n)
{
	(void)mlock(p, n);	/* without it the key may reach the swap, as before */
}

void
secret_free(void *p, size_t n)
{
	if (p == NULL)
		return;
	explicit_bzero(p, n);
	munmap(p, n);
}
