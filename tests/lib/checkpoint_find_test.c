/* checkpoint_find_test - does last keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "train/checkpoint_find.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void
touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void
finds(const char *prefix, const char *want)
{
	char *path;

	is(checkpoint_find(prefix, &path), want != NULL, "%s: %s", prefix, want != NULL ? "found" : "none");
	is_str(path != NULL ? path : "", want != NULL ? want : "", "%s: the newest is found", prefix);
	free(path);
}

int
main(void)
{
	static char dir[] = "/tmp/tally.XXXXXX";
	char at[64], prefix[64], want[64];

	if (mkdtemp(dir) == NULL || chdir(dir) < 0)
		return 1;
	finds("w", NULL);
	finds("nowhere/w", NULL);
	touch("w-0002.safetensors.tmp");
	touch("w-.safetensors");
	touch("w-00x2.safetensors");
	touch("w2-0009.safetensors");
	touch("w-x-0009.safetensors");
	finds("w", NULL);
	touch("w-0002.safetensors");
	finds("w", "w-0002.safetensors");
	touch("w-0001-000009.safetensors");
	finds("w", "w-0002.safetensors");
	touch("w-0002-000010.safetensors");
	touch("w-0002-000009.safetensors");
	finds("w", "w-0002-000010.safetensors");
	touch("w-0010.safetensors");
	touch("w-0009.safetensors");
	finds("w", "w-0010.safetensors");
	finds("./w", "./w-0010.safetensors");
	touch("w-10000.safetensors");
	finds("w", "w-10000.safetensors");
	finds("w2", "w2-0009.safetensors");
	snprintf(prefix, sizeof(prefix), "%s/w-x", dir);
	snprintf(want, sizeof(want), "%s/w-x-0009.safetensors", dir);
	finds(prefix, want);
	snprintf(at, sizeof(at), "rm -rf %s", dir);
	return system(at) != 0 || done();
}
