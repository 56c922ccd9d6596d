/* arc_test - each format and filter is read from a file, a pipe and within another archive. */
#include "told.h"

#include "source/arc.h"

#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const struct {
	const char *name, *format, *filter;
} kinds[] = {
	{ "p.tar", "pax", NULL }, { "u.tar", "ustar", NULL }, { "g.tar", "gnutar", NULL }, { "o.tar", "v7tar", NULL },
	{ "c.cpio", "newc", NULL }, { "o.cpio", "odc", NULL }, { "z.zip", "zip", NULL }, { "s.7z", "7zip", NULL },
	{ "i.iso", "iso9660", NULL }, { "x.xar", "xar", NULL }, { "w.warc", "warc", NULL },
	{ "a.tar.gz", "ustar", "gzip" }, { "a.tbz2", "ustar", "bzip2" }, { "a.tar.xz", "ustar", "xz" },
	{ "a.tar.zst", "ustar", "zstd" }, { "a.tar.lz4", "ustar", "lz4" }, { "a.tar.lz", "ustar", "lzip" },
	{ "a.tar.lzma", "ustar", "lzma" }, { "a.tar.Z", "ustar", "compress" },
	{ "g.cpio.gz", "newc", "gzip" }, { "i.iso.gz", "iso9660", "gzip" }, { "i.iso.xz", "iso9660", "xz" },
	    { "x.xar.zst", "xar", "zstd" },
};

static const char *const names[] = { "a/1.png", "b/2.png", NULL };

/* Returns the text with "WHERE: " removed from each line. */
static const char *
without(const char *text, const char *where)
{
	static char out[1024];
	size_t n = strlen(where);

	out[0] = 0;
	for (const char *p; (p = strstr(text, where)) != NULL; text = p + n)
		strncat(out, text, (size_t)(p - text));
	return strncat(out, text, sizeof(out) - strlen(out) - 1);
}

static void
test_kinds(void)
{
	static const char want[] = "0 0 a/1.png = 1.png\n1 1 b/2.png = 2.png\na,b,";
	struct source_opt opt = { 0 };
	char around[64], where[128];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		told_pack(kinds[i].name, kinds[i].format, kinds[i].filter, names);
		opt.path = pics_path(kinds[i].name);
		snprintf(where, sizeof(where), "%s: ", kinds[i].name);
		is_str(without(told(&opt), where), want, kinds[i].name);
		opt.path = told_pipe(kinds[i].name);
		is_str(without(told(&opt), "pipe: "), want,
		    "every format and filter is read from a pipe");
		snprintf(around, sizeof(around), "around-%s.tar", kinds[i].name);
		told_pack(around, "ustar", NULL, (const char *const[]){ kinds[i].name, NULL });
		opt.path = pics_path(around);
		snprintf(where, sizeof(where), "%s: %s: ", around, kinds[i].name);
		is_str(without(told(&opt), where), want,
		    "every format and filter is read within another archive");
	}
}

/* This program never calls setlocale(), so that its locale is C. */
static void
test_unicode_names(void)
{
	static const char *const unicode[] = { "\xc3\x84pfel/1.png", "\xe6\x97\xa5\xe6\x9c\xac/2.png", NULL };
	static const char *const archives[][3] = { { "unicode.zip", "zip", NULL }, { "unicode.7z", "7zip", NULL },
		{ "unicode.tar", "pax", NULL }, { "unicode.cpio", "newc", NULL },
		{ "unicode.iso.gz", "iso9660", "gzip" } };
	static const char want[] = "0 0 \xc3\x84pfel/1.png = 1.png\n1 1 \xe6\x97\xa5\xe6\x9c\xac/2.png = 2.png\n"
	    "\xc3\x84pfel,\xe6\x97\xa5\xe6\x9c\xac,";
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	struct source_opt opt = { 0 };
	char where[64];

	if (utf8 == (locale_t)0) {
		skip("names in archives are read as UTF-8 in the locale C", "no locale C.UTF-8");
		return;
	}
	for (size_t i = 0; i < sizeof(archives) / sizeof(*archives); i++) {
		uselocale(utf8);
		told_pack(archives[i][0], archives[i][1], archives[i][2], unicode);
		uselocale(LC_GLOBAL_LOCALE);
		snprintf(where, sizeof(where), "%s: ", archives[i][0]);
		is_str(without(told_of(&opt, archives[i][0]), where), want,
		    "names in an archive are read as UTF-8 in the locale C");
		ok(uselocale((locale_t)0) == LC_GLOBAL_LOCALE, "the thread has its locale again");
	}
	freelocale(utf8);
}

static void
test_relative_names(void)
{
	static const char *const relative[] = { "a/1.png", "../b/2.png", "b/../a/3.png", "b/./4.png", "../x.txt",
		"../.h/5.png", "b/..6.png", "../i.tar", "./b/7.png", NULL };
	static const char want[] = "0 0 a/1.png = 1.png\n"
	    "1 !  ! ../b/2.png: members with \".\" or \"..\" in their names are not read\n"
	    "2 !  ! b/../a/3.png: members with \".\" or \"..\" in their names are not read\n"
	    "3 !  ! b/./4.png: members with \".\" or \"..\" in their names are not read\n"
	    "4 !  ! ../i.tar: members with \".\" or \"..\" in their names are not read\n"
	    "5 1 b/7.png = 7.png\na,b,";
	struct source_opt opt = { 0 };

	told_pack("relative.zip", "zip", NULL, relative);
	is_str(without(told_of(&opt, "relative.zip"), "relative.zip: "), want,
	    "images of an archive with .. in their names are bad items, and hidden ones are ignored");
	told_pack("relative.tar", "ustar", NULL, relative);
	opt.path = told_pipe("relative.tar");
	is_str(without(told(&opt), "pipe: "), want, "the same is read from a pipe");
}

/* A zip that was written to a pipe has the sizes after the members. */
static void
test_streamed_zip(void)
{
	struct source_opt opt = { 0 };

	if (system("command -v zip >/dev/null") != 0) {
		skip("a zip written to a pipe is read", "a zip is not accepted as ARC_PACKED");
		return;
	}
	sh("mkdir -p zip/a && printf one >zip/a/1.png && cd zip && printf '%%s\\n' a/1.png | zip -q - -@ 2>/dev/null >../late.zip");
	opt.path = told_pipe("late.zip");
	is_str(told(&opt), "0 0 pipe: a/1.png = one\na,",
	    "a zip written to a pipe is read from a pipe");
}

/* A tar without its last blocks of zeros, and a tar after another tar. */
static void
test_tar_ends(void)
{
	static const char lost[] = "the tar archive has no end, so that files may be missing";
	struct source_opt opt = { 0 };
	char want[256];

	told_pack("e.tar", "ustar", NULL, names);
	told_pack("f.tar", "ustar", NULL, (const char *const[]){ "b/3.png", "c/4.png", NULL });
	sh("head -c 1024 e.tar >one.tar && head -c 2048 e.tar >cut.tar && gzip -c cut.tar >cut.tar.gz");
	snprintf(want, sizeof(want), "0 0 cut.tar: a/1.png = 1.png\n1 1 cut.tar: b/2.png = 2.png\n2 !  ! "
	    "cut.tar: after b/2.png: %s\na,b,", lost);
	is_str(told_of(&opt, "cut.tar"), want, "a tar without its end is read, and gives a bad item");
	ok(strstr(told_of(&opt, "cut.tar.gz"), lost) != NULL, "a compressed tar without its end gives a bad item");
	opt.path = told_pipe("cut.tar");
	ok(strstr(told(&opt), lost) != NULL, "a tar without its end in a pipe gives a bad item");
	ok(strstr(told_of(&opt, "one.tar"), lost) != NULL, "a tar that ends after its first member gives a bad item");
	sh("head -c 2560 e.tar >half.tar");
	ok(strstr(told_of(&opt, "half.tar"), lost) == NULL, "one block of zeros is an end");
	sh("cat e.tar f.tar >two.tar");
	is_str(without(told_of(&opt, "two.tar"), "two.tar: "), "0 0 a/1.png = 1.png\n1 1 b/2.png = 2.png\n"
	    "2 1 b/3.png = 3.png\n3 2 c/4.png = 4.png\na,b,c,", "a tar after the end of another is read");
	sh("head -c 2048 f.tar >cutf.tar && cat e.tar cutf.tar >twocut.tar");
	ok(strstr(told_of(&opt, "twocut.tar"), lost) != NULL, "the last one must have an end");
}

/* Bytes after the blocks of zeros that end a tar, or between them and another tar. */
static void
test_bytes_after_tar(void)
{
	static const char good[] = "0 0 a/1.png = 1.png\n1 1 b/2.png = 2.png\n", classes[] = "a,b,";
	static const char rest[] = "bytes after the end of the tar archive are not tar, and are not read";
	static const struct { const char *name, *make; bool sound; } kinds_of[] = {
		{ "zeros.tar", "(cat e.tar && head -c 200000 /dev/zero) >zeros.tar", true },
		{ "odd.tar", "(cat e.tar && head -c 3001 /dev/zero) >odd.tar", true },
		{ "few.tar", "(head -c 2560 e.tar && head -c 7 /dev/zero) >few.tar", true },
		{ "word.tar", "(cat e.tar && printf word) >word.tar", false },
		{ "block.tar", "(head -c 2560 e.tar && head -c 512 /dev/zero | tr '\\0' x) >block.tar", false },
		{ "long.tar", "(cat e.tar && head -c 999999 /dev/zero && head -c 99999 /dev/zero | tr '\\0' x) >long.tar", false },
		{ "long.tar.gz", "gzip -c long.tar >long.tar.gz", false },
		{ "between.tar", "(cat e.tar && printf word && cat f.tar) >between.tar", false },
	};
	struct source_opt opt = { 0 };
	char want[512], where[64];

	for (size_t i = 0; i < sizeof(kinds_of) / sizeof(*kinds_of); i++) {
		sh("%s", kinds_of[i].make);
		snprintf(where, sizeof(where), "%s: ", kinds_of[i].name);
		snprintf(want, sizeof(want), "%s%s%s%s%s", good, kinds_of[i].sound ? "" : "2 !  ! after b/2.png: ",
		    kinds_of[i].sound ? "" : rest, kinds_of[i].sound ? "" : "\n", classes);
		is_str(without(told_of(&opt, kinds_of[i].name), where), want, kinds_of[i].name);
		opt.path = told_pipe(kinds_of[i].name);
		is_str(without(told(&opt), "pipe: "), want, "the same is read from a pipe");
	}
	/* A header that continues a long name is damaged: libarchive read blocks after the last member, but not zeros. */
	sh("n=$(printf '%%0120d.png' 7) && echo 1 >$n && tar --format=gnu -cf long_name.tar $n && head -c 2048 e.tar >hurt.tar && "
	    "cat long_name.tar >>hurt.tar && printf bad | dd of=hurt.tar bs=1 seek=3222 conv=notrunc 2>/dev/null");
	/* libarchive 3.8 adds what is damaged. */
	ok(strncmp(told_of(&opt, "hurt.tar"), "-4 hurt.tar: after b/2.png: Damaged tar archive", 47) == 0,
	    "damage is not taken for an end");
}

/* The compressor's end is cut, its checksum is wrong, or something follows. */
static void
test_compressed_ends(void)
{
	static const char good[] = "0 0 a/1.png = 1.png\n1 1 b/2.png = 2.png\n", classes[] = "a,b,";
	static const struct { const char *name, *make, *wrong; } ends[] = {
		{ "cut1.tar.gz", "head -c -1 z.tar.gz >cut1.tar.gz", "the gzip data is cut" },
		{ "cut8.tar.gz", "head -c -8 z.tar.gz >cut8.tar.gz", "the gzip data is cut" },
		{ "cut.tar.xz", "head -c -4 z.tar.xz >cut.tar.xz", "the xz data is cut" },
		{ "cut.tar.zst", "(cat z.tar.zst && head -c 6 z.tar.zst) >cut.tar.zst", "the zstd data is cut" },
		{ "sum.tar.gz", "(head -c -8 z.tar.gz && printf x && tail -c 7 z.tar.gz) >sum.tar.gz",
		    "damaged gzip data: incorrect data check" },
		{ "junk.tar.gz", "(cat z.tar.gz && printf junk) >junk.tar.gz",
		    "bytes after the end of the compressed data are not gzip, and are not read" },
		{ "junk.tar.xz", "(cat z.tar.xz && printf junk) >junk.tar.xz",
		    "bytes after the end of the compressed data are not xz, and are not read" },
		{ "zero.tar.gz", "(cat z.tar.gz && head -c 70000 /dev/zero) >zero.tar.gz", NULL },
		{ "part.tar.gz", "(head -c 700 e.tar | gzip && tail -c +701 e.tar | gzip) >part.tar.gz", NULL },
		{ "part.tar.xz", "(head -c 700 e.tar | xz && tail -c +701 e.tar | xz) >part.tar.xz", NULL },
		/* A frame of zstd that readers skip. */
		{ "seek.tar.zst", "(cat z.tar.zst && printf '\\136\\052\\115\\030\\001\\0\\0\\0x') >seek.tar.zst", NULL },
		{ "two.cpio", "cat e.cpio e.cpio >two.cpio", "bytes after the end of the cpio archive are not read" },
		{ "two.odc", "(cat o.cpio && head -c 9999 /dev/zero && cat o.cpio) >two.odc",
		    "bytes after the end of the cpio archive are not read" },
		{ "zero.cpio", "(cat e.cpio && head -c 99999 /dev/zero) >zero.cpio", NULL },
		{ "cut.cpio.gz", "gzip -c e.cpio | head -c -3 >cut.cpio.gz", "the gzip data is cut" },
	};
	struct source_opt opt = { 0 };
	char want[512], where[64];

	told_pack("z.tar.gz", "ustar", "gzip", names);
	told_pack("z.tar.xz", "ustar", "xz", names);
	told_pack("z.tar.zst", "ustar", "zstd", names);
	told_pack("e.cpio", "newc", NULL, names);
	told_pack("o.cpio", "odc", NULL, names);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		bool sound = ends[i].wrong == NULL;

		sh("%s", ends[i].make);
		snprintf(where, sizeof(where), "%s: ", ends[i].name);
		snprintf(want, sizeof(want), "%s%s%s%s%s", good, sound ? "" : "2 !  ! after b/2.png: ",
		    sound ? "" : ends[i].wrong, sound ? "" : "\n", classes);
		is_str(without(told_of(&opt, ends[i].name), where), want, ends[i].name);
		opt.path = told_pipe(ends[i].name);
		is_str(without(told(&opt), "pipe: "), want, "the same is read from a pipe");
	}
	/* Cut in the middle of a member. */
	sh("mkdir a && echo 1 >a/1.png && head -c 100000 /dev/urandom >a/3.png && "
	    "tar cf - a/1.png a/3.png | gzip | head -c 50000 >mid.tar.gz");
	ok(strstr(told_of(&opt, "mid.tar.gz"), "-4 mid.tar.gz: after a/3.png: the gzip data is cut") != NULL,
	    "an archive that is cut within a member ends the source");
}

static int
no_bytes(void *ctx, void *p, size_t n, size_t *got)
{
	(void)ctx, (void)p, (void)n;
	*got = 0;
	return 0;
}

static int
fails(void *ctx, void *p, size_t n, size_t *got)
{
	(void)ctx, (void)p, (void)n, (void)got;
	return err_fail(ERR_SYS, "the line is cut");
}

static void
test_faults(void)
{
	const char *name;
	struct arc *a;
	uint8_t p[8];
	size_t got;

	is(arc_open_in((struct arc_in){ no_bytes, NULL }, ARC_EITHER, &a), 0,
	    "an empty file opens");
	is(arc_next(a, &name), 0, "an empty file has no members");
	is(arc_read(a, p, 8, &got), 0, "arc_next at the end returns 0");
	is(got, 0, "an empty function input opens");
	arc_close(a);
	is(arc_open_in((struct arc_in){ fails, NULL }, ARC_EITHER, &a), ERR_SYS,
	    "a failing function fails the open");
	is_str(err_line(), "the line is cut", "the error is the function's");
	ok(a == NULL, "arc_close accepts NULL");
	pics_write(pics_path("x"), "just some bytes", 15);
	is(arc_open(pics_path("x"), ARC_ARCHIVE, &a), ERR_FORMAT,
	    "ARC_ARCHIVE refuses a file that is not an archive");
	is(arc_open(pics_path("x"), ARC_PACKED, &a), 0, "ARC_EITHER accepts it");
	is(arc_next(a, &name), 1, "a file that is not an archive is its own member");
	ok(arc_is_packed(a), "arc_is_packed finds that the file is not an archive");
	is(arc_read(a, p, 8, &got), 0, "the bytes of that file are read");
	ok(got == 8 && memcmp(p, "just som", 8) == 0, "that file is read one byte at a time");
	arc_close(a);
	sh("gzip -c x | gzip >y");
	is(arc_open(pics_path("y"), ARC_EITHER, &a), 0, "a file compressed twice opens");
	ok(arc_next(a, &name) == 1 && arc_read(a, p, 8, &got) == 0 && p[0] == 0x1f && p[1] == 0x8b,
	    "only one compression is undone");
	arc_close(a);
	sh("printf '#mtree\\n/etc/passwd type=file contents=/etc/passwd\\n' >m.mtree");
	is(arc_open(pics_path("m.mtree"), ARC_ARCHIVE, &a), ERR_FORMAT,
	    "an mtree list is not accepted as an archive");
}

/* Returns the only child process, or 0. */
static pid_t
child(void)
{
	char path[64];
	FILE *f;
	int pid = 0, n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if ((f = fopen(path, "r")) == NULL)
		return 0;
	while (fscanf(f, "%d", &pid) == 1)
		n++;
	fclose(f);
	is(n, 1, "one child process reads the archive");
	return pid;
}

static void
kill_child(int sig)
{
	pid_t pid = child();

	if (pid > 0)
		kill(pid, sig);
}

/* If the child dies, the archive counts as damaged. */
static void
test_crash(void)
{
	static const struct {
		int sig;
		const char *line;
	} ends[] = {
		{ SIGABRT, "libarchive crashed on it: Aborted" }, { SIGKILL, "the process that read it is gone" },
		{ SIGXCPU, "libarchive used over 60 s of processor time for one request" },
	};
	const char *name;
	struct arc *a;
	uint8_t p[8];
	size_t got;

	told_pack("c.iso", "iso9660", NULL, names);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		is(arc_open(pics_path("c.iso"), ARC_EITHER, &a), 0, "an ISO image opens");
		is(arc_next(a, &name), 1, "an ISO image has a member");
		kill_child(ends[i].sig);
		is(i % 2 > 0 ? arc_next(a, &name) : arc_read(a, p, 8, &got), ERR_FORMAT,
		    "arc_read fails when the child dies");
		is_str(err_line(), ends[i].line, "the error states how the child died");
		is(arc_next(a, &name), ERR_FORMAT, "arc_next after that fails");
		arc_close(a);
	}
	is(arc_open(pics_path("c.iso"), ARC_EITHER, &a), 0, "the next child opens an archive");
	kill_child(SIGTERM);
	is(arc_next(a, &name), 1, "the child survives signals for this process");
	arc_close(a);
	is(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

/* The child limits its processor time, and does not raise the limits of this process. */
static void
test_limits(void)
{
	struct rlimit was, cpu;
	struct arc *a;
	pid_t pid;

	getrlimit(RLIMIT_CPU, &was);
	if (was.rlim_max != RLIM_INFINITY) {
		skip("the child has limits", "this process has a limit already");
		return;
	}
	told_pack("l.iso", "iso9660", NULL, names);
	cpu = (struct rlimit){ 50000, 50000 };
	setrlimit(RLIMIT_CPU, &cpu);
	is(arc_open(pics_path("l.iso"), ARC_EITHER, &a), 0,
	    "an ISO image is read under a processor limit");
	pid = child();
	is(prlimit(pid, RLIMIT_CPU, NULL, &cpu), 0, "the child has a processor limit");
	ok(cpu.rlim_max == 50000,
	    "the hard limit is not raised (%llu)", (unsigned long long)cpu.rlim_max);
	ok(cpu.rlim_cur < 50000,
	    "the soft limit is the child's own (%llu)", (unsigned long long)cpu.rlim_cur);
	arc_close(a);
}

/* A member may be longer than an answer of the child. */
static void
test_long(void)
{
	static uint8_t p[200001], q[400000];
	const char *name;
	struct arc *a;
	size_t got;

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * i >> 7);
	pics_write(pics_path("long"), p, sizeof(p));
	told_pack("long.7z", "7zip", NULL, (const char *const[]){ "long", NULL });
	is(arc_open(pics_path("long.7z"), ARC_ARCHIVE, &a), 0, "a 7z archive opens");
	is(arc_next(a, &name), 1, "a 7z archive has one member");
	is_str(name, "long", "the member has its name");
	is(arc_read(a, q, 100000, &got), 0, "the member is read");
	is(got, 100000, "a part of the member is read");
	is(arc_read(a, q + got, 300000, &got), 0, "the rest of the member is read");
	is(got, 100001, "the rest has its length");
	ok(memcmp(p, q, sizeof(p)) == 0, "the bytes are those packed");
	is(arc_next(a, &name), 0, "no bytes follow");
	arc_close(a);
}

int
main(void)
{
	pics_path("");
	told_bytes = true;
	test_kinds();
	test_unicode_names();
	test_relative_names();
	test_streamed_zip();
	test_tar_ends();
	test_bytes_after_tar();
	test_compressed_ends();
	test_faults();
	test_crash();
	test_long();
	test_limits();
	buf_free(&told_text);
	pics_clean();
	return done();
}
