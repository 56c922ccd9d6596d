/* checkpoint_find_test - does last keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "train/checkpoint_find.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK 8192

static void
touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static int
fill(const char *name)
{
	static const char block[BLOCK] = "x";
	int fd = open(name, O_WRONLY), e = fd < 0 || write(fd, block, BLOCK) != BLOCK || fsync(fd) < 0 ? -1 : 0;

	if (fd >= 0)
		close(fd);
	return e;
}

static void
finds(const char *prefix, const char *want)
{
	struct checkpoint_name *names;
	char *path;
	size_t n;

	is(checkpoint_list(prefix, UINT64_MAX, UINT64_MAX, &names, &n), 0, "%s: checkpoints are listed", prefix);
	path = n > 0 ? checkpoint_path(prefix, &names[0]) : NULL;
	free(names);
	is_str(path != NULL ? path : "", want != NULL ? want : "", "%s: the newest is found", prefix);
	free(path);
}

/* Only what the run of the prefix left unfinished is removed. */
static void
unfinished(void)
{
	static const char *const gone[] = { "u-0001.safetensors.aB3dE6.tmp", "u-0001-000002.safetensors.aB3dE6.tmp",
	    "u-best.safetensors.1234.tmp", "u-0001-000002.safetensors.manifest.aB3dE6.tmp" };
	static const char *const stays[] = { "u-x-0001.safetensors.aB3dE6.tmp", "u-0001.safetensors", "u-0001.safetensors.tmp",
	    "u2-0001.safetensors.aB3dE6.tmp", "u-7-0001.safetensors.aB3dE6.tmp",
	    "u-notes.safetensors.aB3dE6.tmp", "u-0001.safetensors.aB3dE6.tmp.txt" };

	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		touch(gone[i]);
	for (size_t i = 0; i < sizeof(stays) / sizeof(*stays); i++)
		touch(stays[i]);
	checkpoint_clean("u");
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		ok(access(gone[i], F_OK) < 0, "%s is removed", gone[i]);
	for (size_t i = 0; i < sizeof(stays) / sizeof(*stays); i++)
		ok(access(stays[i], F_OK) == 0, "%s stays", stays[i]);
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
	touch("w-7-0001.safetensors");
	touch("w-2026-0001.safetensors");
	finds("w", NULL);
	finds("w-7", "w-7-0001.safetensors");
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
	touch("r-0001.safetensors");
	touch("r-0002.safetensors");
	touch("r-0003.safetensors");
	is(checkpoint_bytes("r", 2, 0) == 0 && checkpoint_bytes("nowhere/r", 2, 0) == 0, 1,
	    "empty and missing checkpoints free nothing");
	if (fill("r-0002.safetensors") < 0)
		return 1;
	is(checkpoint_bytes("r", 1, 9) == 0, 1, "a later checkpoint does not count");
	is(checkpoint_bytes("r", 2, 0) >= BLOCK, 1, "a checkpoint frees its blocks");
	is(link("r-0002.safetensors", "r-best.safetensors"), 0, "a checkpoint gets another name");
	is(checkpoint_bytes("r", 2, 0) == 0, 1, "a checkpoint that has another name frees nothing");
	is(checkpoint_prune("r", 2, 0, 1), 0, "all but the newest up to an epoch are removed");
	finds("r", "r-0003.safetensors");
	ok(access("r-0001.safetensors", F_OK) < 0 && access("r-0002.safetensors", F_OK) == 0, "the later one stays");
	unfinished();
	snprintf(at, sizeof(at), "rm -rf %s", dir);
	return system(at) != 0 || done();
}
