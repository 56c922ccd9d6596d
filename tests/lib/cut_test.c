/* cut_test - does cut keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "train/cut.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN 7

static char why[2 * ERR_LINE];
static int refusals;

static void
put_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

static void
make_cut(const char *name, uint64_t run, uint64_t epoch, uint64_t step)
{
	put_file(name, name);
	is(cut_seal(name, &(struct cut_manifest){ .run = run, .epoch = epoch, .step = step }), 0, "%s is sealed", name);
}

static void
note_refused(const char *text)
{
	refusals++;
	snprintf(why, sizeof(why), "%s", text);
}

static void
finds(const char *want, int nrefused, const char *reason, const char *name)
{
	struct checkpoint_name at = { 0 };
	char *path, *again;

	*why = 0;
	refusals = 0;
	is(cut_find("w", "d/w.cut-00000001", RUN, note_refused, &at, &path),
	    want == NULL ? 0 : strstr(want, ".cut-") != NULL ? 2 : 1, "%s: %s is found", name, want != NULL ? "one" : "none");
	is_str(path != NULL ? path : "", want != NULL ? want : "", "%s: the expected cut is found", name);
	again = checkpoint_path(want != NULL && strstr(want, ".cut-") != NULL ? "d/w.cut-00000001" : "w", &at);
	ok(want == NULL || strcmp(again, want) == 0, "%s: the position of the cut is that of its name", name);
	free(again);
	is(refusals, nrefused, "%s: the expected number of cuts is refused", name);
	is_str(why, reason, "%s: the last refused says why", name);
	free(path);
}

static void
parses(const char *text, int want, const char *name)
{
	struct cut_manifest m;

	is(cut_parse(text, strlen(text), &m), want, "%s", name);
}

static void
parse_manifests(void)
{
	static const char good[] = "{\"tally_cut\": 1, \"run\": \"00000000000000ff\", \"epoch\": 3, \"step\": 4, \"bytes\": 5, "
	    "\"xxh3\": \"fedcba9876543210\"}";
	struct cut_manifest m;

	is(cut_parse(good, sizeof(good) - 1, &m), 0, "a manifest is read");
	ok(m.run == 255 && m.epoch == 3 && m.step == 4 && m.bytes == 5 && m.sum == 0xfedcba9876543210, "all of it");
	parses("", ERR_FORMAT, "a manifest without text is refused");
	parses("[]", ERR_FORMAT, "a manifest that is not an object is refused");
	parses("{\"tally_cut\": 2, \"run\": \"00000000000000ff\", \"epoch\": 3, \"step\": 4, \"bytes\": 5, "
	    "\"xxh3\": \"fedcba9876543210\"}", ERR_FORMAT, "a manifest of another version is refused");
	parses("{\"tally_cut\": 1, \"run\": \"ff\", \"epoch\": 3, \"step\": 4, \"bytes\": 5, "
	    "\"xxh3\": \"fedcba9876543210\"}", ERR_FORMAT, "a manifest with a short number is refused");
	parses("{\"tally_cut\": 1, \"run\": \"00000000000000ff\", \"epoch\": -3, \"step\": 4, \"bytes\": 5, "
	    "\"xxh3\": \"fedcba9876543210\"}", ERR_FORMAT, "a manifest with a negative epoch is refused");
	parses("{\"tally_cut\": 1, \"run\": \"00000000000000ff\", \"epoch\": 3, \"step\": 4, \"bytes\": 5, "
	    "\"xxh3\": \"fedcba9876543210\", \"more\": 1}", ERR_FORMAT, "a manifest with more than that is refused");
	parses("{\"tally_cut\": 1, \"run\": \"00000000000000ff\", \"epoch\": 3, \"step\": 4, \"bytes\": 5}", ERR_FORMAT,
	    "a manifest without a checksum is refused");
}

/* Runs share no cuts, and a run has the same ones however its prefix is written. */
static void
name_cuts(void)
{
	char *a = cut_prefix("w", NULL), *b = cut_prefix("./w", NULL), *c = cut_prefix("d/w", "."), *e = cut_prefix("w", ".");

	ok(a != NULL && strncmp(a, "w.cut-", 6) == 0 && strlen(a) == 14, "cuts have the name of the run and a hash");
	ok(b != NULL && a != NULL && strncmp(b, "./", 2) == 0 && strcmp(b + 2, a) == 0, "another spelling has the same hash");
	ok(c != NULL && e != NULL && strncmp(c, e, 8) == 0 && strcmp(c, e) != 0,
	    "runs of another directory have another hash");
	ok(a != NULL && e != NULL && strncmp(e, "./", 2) == 0 && strcmp(e + 2, a) == 0, "cuts may be in another directory");
	free(a);
	free(b);
	free(c);
	free(e);
}

int
main(void)
{
	struct checkpoint_name at;
	static char dir[] = "/tmp/tally.XXXXXX";
	char rm[64], *path;

	if (mkdtemp(dir) == NULL || chdir(dir) < 0 || mkdir("d", 0700) < 0)
		return 1;
	parse_manifests();
	name_cuts();
	finds(NULL, 0, "", "nothing is there");
	put_file("w-0002.safetensors", "");
	make_cut("d/w.cut-00000001-0001-000008.safetensors", RUN, 1, 8);
	finds("w-0002.safetensors", 0, "", "a checkpoint after the cut");
	make_cut("d/w.cut-00000001-0002-000004.safetensors", RUN, 2, 4);
	make_cut("d/w.cut-00000001-0002-000008.safetensors", RUN, 2, 8);
	finds("d/w.cut-00000001-0002-000008.safetensors", 0, "", "two cuts after the checkpoint");
	put_file("d/w.cut-00000001-0002-000009.safetensors", "half");
	finds("d/w.cut-00000001-0002-000008.safetensors", 1, "d/w.cut-00000001-0002-000009.safetensors: was not completed",
	    "a cut without a manifest");
	make_cut("d/w.cut-00000001-0002-000009.safetensors", RUN + 1, 2, 9);
	finds("d/w.cut-00000001-0002-000008.safetensors", 1, "d/w.cut-00000001-0002-000009.safetensors: is of a run with another net, "
	    "optimizer, seed, batch, number of records or --drop-last", "a cut of another run");
	make_cut("d/w.cut-00000001-0002-000009.safetensors", RUN, 2, 8);
	finds("d/w.cut-00000001-0002-000008.safetensors", 1, "d/w.cut-00000001-0002-000009.safetensors: has the manifest of another",
	    "a cut under a wrong name");
	put_file("d/w.cut-00000001-0002-000008.safetensors", "d/w.cut-00000001-0002-000004.safetensorX");
	finds("d/w.cut-00000001-0002-000004.safetensors", 2, "d/w.cut-00000001-0002-000008.safetensors: is damaged: it does not fit its "
	    "manifest", "a damaged cut");
	put_file("d/w.cut-00000001-0002-000004.safetensors.manifest", "{");
	finds("w-0002.safetensors", 3, "d/w.cut-00000001-0002-000004.safetensors: the manifest is malformed", "no cut is good");

	make_cut("d/w.cut-00000001-0003-000001.safetensors", RUN, 3, 1);
	is(cut_prune("d/w.cut-00000001", RUN, 2, 8, 2), 0, "cuts are removed");
	ok(access("d/w.cut-00000001-0003-000001.safetensors", F_OK) < 0 && access("d/w.cut-00000001-0002-000009.safetensors", F_OK) < 0 &&
	    access("d/w.cut-00000001-0003-000001.safetensors.manifest", F_OK) < 0, "later ones are gone");
	ok(access("d/w.cut-00000001-0002-000008.safetensors", F_OK) == 0 && access("d/w.cut-00000001-0002-000004.safetensors", F_OK) == 0 &&
	    access("d/w.cut-00000001-0002-000004.safetensors.manifest", F_OK) == 0, "the two newest cuts are kept");
	ok(access("d/w.cut-00000001-0001-000008.safetensors", F_OK) < 0, "older ones are gone");
	is(cut_find("w", "d/w.cut-00000001", RUN, NULL, &at, &path), 2, "cut_find() without a reporter finds a cut");
	is_str(path, "d/w.cut-00000001-0002-000008.safetensors", "the newest cut with a manifest is found");
	free(path);
	make_cut("d/w.cut-00000001-0002-000005.safetensors", RUN + 1, 2, 5);
	ok(cut_bytes("d/w.cut-00000001", RUN + 1) > 0, "a cut has bytes");
	is(cut_prune("d/w.cut-00000001", RUN, 0, 0, 0), 0, "all cuts of a run are removed");
	ok(access("d/w.cut-00000001-0002-000005.safetensors", F_OK) == 0 &&
	    access("d/w.cut-00000001-0002-000005.safetensors.manifest", F_OK) == 0, "a cut of another run stays");
	is(cut_prune("d/w.cut-00000001", RUN + 1, 0, 0, 0), 0, "a run removes its own cut");
	make_cut("d/w.cut-00000001-0003-000001.safetensors", RUN, 3, 1);
	unlink("d/w.cut-00000001-0003-000001.safetensors.manifest");
	is(symlink("w.cut-00000001-0003-000001.safetensors.manifest", "d/w.cut-00000001-0003-000001.safetensors.manifest"), 0,
	    "a manifest is a link to itself");
	is(cut_prune("d/w.cut-00000001", RUN, 0, 0, 0), ERR_SYS, "a cut whose manifest cannot be read is an error");
	ok(access("d/w.cut-00000001-0003-000001.safetensors", F_OK) == 0, "the cut, which may be another run's, stays");
	unlink("d/w.cut-00000001-0003-000001.safetensors.manifest");
	unlink("d/w.cut-00000001-0003-000001.safetensors");
	mkdir("d/w.cut-00000001-0003-000001.safetensors", 0700);
	put_file("d/w.cut-00000001-0003-000001.safetensors.manifest", "{\"tally_cut\": 1, \"run\": \"0000000000000007\", "
	    "\"epoch\": 3, \"step\": 1, \"bytes\": 5, \"xxh3\": \"fedcba9876543210\"}");
	is(cut_find("w", "d/w.cut-00000001", RUN, note_refused, &at, &path), ERR_SYS, "a cut that cannot be read is an error");
	free(path);
	unlink("d/w.cut-00000001-0003-000001.safetensors.manifest");
	rmdir("d/w.cut-00000001-0003-000001.safetensors");
	is(rmdir("d"), 0, "the manifests of removed cuts are gone");
	is(cut_prune("d/w.cut-00000001", RUN, 0, 0, 0), 0, "without a directory there is nothing to remove");
	is(cut_seal("gone/w.cut-00000001-0001-000001.safetensors", &(struct cut_manifest){ 0 }), ERR_SYS,
	    "a cut that is not there is not sealed");
	snprintf(rm, sizeof(rm), "rm -rf %s", dir);
	return system(rm) != 0 || done();
}
