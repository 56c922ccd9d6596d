/*
 * fuzz_cut - any bytes as the manifest of a cut: no crash, and what is accepted is complete; and any cuts in a
 * directory: the newest that is whole is found, and pruning leaves the two newest.
 *
 * After a first byte 1 each byte makes a member: its low bits say which, the others with what value.  Exactly one valid
 * value of each is accepted.  After a first byte 2 each four make a cut:
 *
 *	u8 epoch, step<<4 | u8 bytes | u8 what is wrong with it | u8 where
 */
#include "fuzz/mutate.h"
#include "base/buf.h"
#include "base/io.h"
#include "train/cut.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBERS	6u
#define CUTS	6u	/* most in a directory */
#define RUN	7u
#define CUT_PATH 128u

enum wrong { RIGHT, NO_MANIFEST, NO_FILE, OTHER_RUN, OTHER_NAME, FILE_CHANGED, FILE_CUT, MANIFEST_CHANGED, WRONGS };

static const struct { const char *name; bool text; } members[] = {
	{ "tally_cut", false }, { "run", true }, { "epoch", false }, { "step", false }, { "bytes", false }, { "xxh3", true },
	{ "other", true }, { "", false },
};
/* The first of each list is valid; of a version too. */
static const char *const numbers[] = { "1", "-1", "9223372036854775808", "1.5", "1e3", "null", "[1]", "\"1\"" };
static const char *const texts[] = { "\"0123456789abcdef\"", "\"0123456789abcde\"", "\"0123456789abcdef0\"",
	"\"0123456789ABCDEF\"", "\"0x23456789abcdef\"", "7", "{}", "\"0123456789abcde\\u0000\"" };

static void
make_members(const uint8_t *p, size_t n)
{
	struct cut_manifest m;
	struct buf b = { 0 };
	unsigned seen = 0;
	bool valid = true;
	int e = buf_put_fmt(&b, "{");

	for (size_t i = 0; i < n && i < 16 && e == 0; i++) {
		const unsigned which = p[i] % 8, value = p[i] / 8 % 8;

		e = buf_put_fmt(&b, "%s\"%s\": %s", i > 0 ? ", " : "", members[which].name,
		    members[which].text ? texts[value] : numbers[value]);
		valid &= value == 0 && which < MEMBERS && (seen & 1u << which) == 0;
		seen |= 1u << which;
	}
	if (e < 0 || buf_put_fmt(&b, "}") < 0)
		abort();
	if ((cut_parse(b.p, b.n, &m) == 0) != (valid && seen == (1u << MEMBERS) - 1))
		abort();
	buf_free(&b);
}

static char dir[] = "/dev/shm/tally-fuzz.XXXXXX", cuts[sizeof(dir) + 16];

static void
remove_directory(void)
{
	rmdir(dir);
}

/* The directory of the target, in memory: a seal waits until it is on disk. */
static void
open_directory(void)
{
	if (cuts[0] != 0)
		return;
	if (mkdtemp(dir) == NULL || atexit(remove_directory) != 0)
		abort();
	snprintf(cuts, sizeof(cuts), "%s/r" CUT_INFIX "0", dir);
}

static void
get_cut_path(const struct checkpoint_name *at, const char *tail, char path[CUT_PATH])
{
	snprintf(path, CUT_PATH, "%s-%04u-%06u.safetensors%s", cuts, (unsigned)at->epoch, (unsigned)at->step,
	    tail);
}

/* Writes n bytes as a file. */
static void
write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	if (f == NULL || fwrite(p, 1, n, f) != n || fclose(f) != 0)
		abort();
}

/* Changes a byte of a file, or removes those from there on. */
static void
damage_file(const char *path, uint8_t where, bool shortens)
{
	struct buf b = { 0 };

	if (io_slurp(path, CUT_MANIFEST, &b) < 0)
		abort();
	if (b.n > 0 && !shortens)
		b.p[where % b.n] ^= 1;
	write_file(path, b.p, b.n > 0 && shortens ? where % b.n : b.n);
	buf_free(&b);
}

/* Makes a cut.  Returns whether it is whole. */
static bool
make_cut(const struct checkpoint_name *at, const uint8_t *p)
{
	const enum wrong wrong = (enum wrong)(p[2] % WRONGS);
	const struct cut_manifest m = { .run = wrong == OTHER_RUN ? RUN + 1 : RUN, .epoch = at->epoch,
	    .step = wrong == OTHER_NAME ? at->step + 1 : at->step };
	char path[CUT_PATH], manifest[CUT_PATH];
	uint8_t bytes[256];

	memset(bytes, p[3], sizeof(bytes));
	get_cut_path(at, "", path);
	get_cut_path(at, ".manifest", manifest);
	write_file(path, bytes, p[1]);
	if (cut_seal(path, &m) < 0)
		abort();
	if (wrong == NO_MANIFEST)
		unlink(manifest);
	if (wrong == NO_FILE)
		unlink(path);
	if (wrong == FILE_CHANGED || wrong == FILE_CUT)
		damage_file(path, p[3], wrong == FILE_CUT);
	if (wrong == MANIFEST_CHANGED)
		damage_file(manifest, p[3], false);
	return wrong == RIGHT || ((wrong == FILE_CHANGED || wrong == FILE_CUT) && p[1] == 0);
}

static void
ignore_reason(const char *why)
{
	(void)why;
}

static bool
is_newer(const struct checkpoint_name *a, const struct checkpoint_name *b)
{
	return a->epoch != b->epoch ? a->epoch > b->epoch : a->step > b->step;
}

/* What is found is the newest that is whole.  A manifest that was changed may be whole still, in its spaces. */
static void
find_newest(const struct checkpoint_name *cut, const bool *whole, const bool *unsure, unsigned n)
{
	char prefix[CUT_PATH], *path;
	struct checkpoint_name at;
	unsigned best = n;
	int found;

	for (unsigned i = 0; i < n; i++)
		if (whole[i] && (best == n || is_newer(&cut[i], &cut[best])))
			best = i;
	snprintf(prefix, sizeof(prefix), "%s/r", dir);
	if ((found = cut_find(prefix, cuts, RUN, ignore_reason, &at, &path)) < 0)
		abort();
	free(path);
	if (found == 0 && best < n)
		abort();
	for (unsigned i = 0; i < n && found > 0; i++)
		if (cut[i].epoch == at.epoch && cut[i].step == at.step &&
		    !(i == best || (unsure[i] && (best == n || is_newer(&at, &cut[best])))))
			abort();
}

static void
make_directory(const uint8_t *p, size_t n)
{
	struct checkpoint_name cut[CUTS], *left;
	bool whole[CUTS], unsure[CUTS];
	unsigned made = 0;
	char path[CUT_PATH];
	size_t rest;

	open_directory();
	for (; n >= 4 && made < CUTS; p += 4, n -= 4) {
		const struct checkpoint_name at = { p[0] & 15, 1 + (p[0] >> 4) };
		bool again = false;

		for (unsigned i = 0; i < made; i++)
			again |= cut[i].epoch == at.epoch && cut[i].step == at.step;
		if (again)
			continue;
		cut[made] = at;
		unsure[made] = p[2] % WRONGS == MANIFEST_CHANGED;
		whole[made] = make_cut(&at, p);
		made++;
	}
	find_newest(cut, whole, unsure, made);
	if (cut_prune(cuts, RUN, UINT64_MAX, 0, CUT_KEPT) < 0 ||
	    checkpoint_list(cuts, UINT64_MAX, UINT64_MAX, &left, &rest) < 0)
		abort();
	free(left);
	for (unsigned i = 0; i < made; i++) {
		get_cut_path(&cut[i], "", path);
		unlink(path);
		get_cut_path(&cut[i], ".manifest", path);
		unlink(path);
	}
}

/* A cut, most of them whole; or a member. */
static size_t
find_cut(const uint8_t *p, size_t n)
{
	(void)p;
	return n < 4 ? n : 4;
}

static size_t
create_cut(struct rng *r, uint8_t *p, size_t room)
{
	if (room < 4)
		return 0;
	p[0] = (uint8_t)rng_u64(r);
	p[1] = (uint8_t)rng_u64(r);
	p[2] = (uint8_t)(rng_below(r, 2) ? RIGHT : rng_below(r, WRONGS));
	p[3] = (uint8_t)rng_u64(r);
	return 4;
}

static size_t
find_member(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, ',', n);

	return end != NULL ? (size_t)(end - p) + 1 : n;
}

static size_t
make_member(struct rng *r, uint8_t *p, size_t room)
{
	const unsigned which = (unsigned)rng_below(r, 8), value = (unsigned)rng_below(r, 8);
	int n = snprintf((char *)p, room, " \"%s\": %s,", members[which].name,
	    members[which].text ? texts[value] : numbers[value]);

	return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Braces around the members, and no comma behind the last. */
static size_t
seal_manifest(uint8_t *p, size_t n, size_t room)
{
	while (n > 1 && strchr(", }\n", p[n - 1]) != NULL)
		n--;
	p[0] = '{';
	if (n < room)
		p[n++] = '}';
	return n;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
	static const struct mutate_format files = { .head = 1, .part = find_cut, .make = create_cut },
	    text = { .head = 1, .part = find_member, .make = make_member, .seal = seal_manifest };

	if (n == 0 && room > 0)
		p[n++] = 2;
	return n > 0 && p[0] == 1 ? mutate_bytes(p, n, room) : mutate_parts(p[0] == 2 ? &files : &text, p, n, room, seed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct cut_manifest m = { .epoch = UINT64_MAX, .step = UINT64_MAX, .bytes = UINT64_MAX };

	if (n > 0 && p[0] == 1)
		make_members(p + 1, n - 1);
	else if (n > 0 && p[0] == 2)
		make_directory(p + 1, n - 1);
	else if (cut_parse(p, n, &m) == 0 && (m.epoch > INT64_MAX || m.step > INT64_MAX || m.bytes > INT64_MAX))
		abort();
	return 0;
}
