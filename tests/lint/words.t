# words.t - what makes a reader stumble: private words, names that say nothing, long lines and sentences.
. "$TOP/tests/tap.sh"
cd "$TOP" || exit 1

# A checker that fails has not looked at all files: this is a finding, too.
find_words() { # MODE [LIMIT] FILE...
	perl tests/lint/words.pl "$@" || echo "words.pl: status $?"
}

long() { # FILE: its sentences over 40 words, without its folder
	find_words sentences 40 "$1" | sed 's,.*/,,; s/ words:.*//'
}

code=$(find lib cmd -type f | sort)
headers=$(find lib cmd -name '*.h' | sort)
tests=$(find tests -name '*.[cht]' | sort)
prose=$(find man -type f; ls ./*.md; find lib cmd man share tests bench -name '*.md')
columns=$(sed -n 's/^ColumnLimit: //p' .clang-format)

# The counting itself: of two sentences in each kind of file the one of 41 words is found; tables and displays are none.
ten='one two three four five six seven eight nine ten'
{
	printf '.Dd May 1, 2026\n.Dt T 1\n.Os\n.Sh NAME\n.Nm t\n.Nd t\n.Sh DESCRIPTION\n'
	printf '%s\n.Ar %s\n%s\n%s.\n' "$ten" "$ten" "$ten" "$ten"
	printf '%s, e.g. %s\n.Xr tool 1\n%s %s.\n' "$ten" "$ten" "$ten" "${ten%six*}"
	printf '.Bd -literal\n%s %s %s %s %s.\n.Ed\n' "$ten" "$ten" "$ten" "$ten" "$ten"
	printf '%s %s %s %s:\n.Pp\n%s.\n' "$ten" "$ten" "$ten" "$ten" "$ten"
	printf '%s\n.Fl %s\n.\\" a remark of the source\n%s %s\n.Nm !\n' "$ten" "$ten" "$ten" "$ten"
	printf '.Bl -tag\n.It %s %s %s %s\n%s\n' "$ten" "$ten" "$ten" "$ten" "$ten"
	printf '.It a %s %s %s %s\n.El\n' "$ten" "$ten" "$ten" "$ten"
} >"$T/t.1"
is "$(long "$T/t.1")" "t.1:21: a sentence of 41
t.1:29: a sentence of 41" "the words of a page are counted"
{
	printf '# head\n\n%s %s %s\n%s.\n\n' "$ten" "$ten" "$ten" "$ten"
	printf -- '- `%s` %s %s\n  %s %s.\n- %s\n\n' "$ten" "$ten" "$ten" "$ten" "$ten" "$ten"
	printf '    %s %s\n\n| %s %s |\n' "$ten" "$ten" "$ten" "$ten"
} >"$T/t.md"
is "$(long "$T/t.md")" "t.md:6: a sentence of 41" "the words of Markdown are counted"
printf '/* %s %s\n * %s. */\nint x;\t/* %s\n * %s %s %s a */\n' "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" "$ten" \
	>"$T/t.c"
is "$(long "$T/t.c")" "t.c:3: a sentence of 41" "the words of a comment are counted"
printf '/* ... and more */\nstatic int\ntake(void)\n{\n}\n' >"$T/u.c"
printf '%s\n' '/** ... of it */' \
	'int x;	/* … x */' 'static int put(void)' '{' '}' 'static int' '	PUSH(void)' 'static int f = g(1);' \
	>"$T/w.c"
is "$(for mode in comments single "statics 0" "columns 17"; do find_words $mode "$T/u.c"; done)" \
	"$T/u.c:1: a comment begins with \"...\"
$T/u.c:3: static function of one word: take
static take in 1 files: $T/u.c
$T/u.c:1: 18 columns" "comments, names and columns are found"
printf '%s\n' 'static __attribute__((x)) int' 'a(void)' '_Noreturn static void b(int x)' 'int static c(void)' \
	'static int (*d(void))(int)' 'static int /* x */ e(void)' 'static uint32_t (f)(void)' 'static const char g[] = "";' \
	'static struct h *h;' '	static int i;' 'int j(void)' 'static int' 'k(struct k *k,' '    int n)' >"$T/x.c"
is "$(find_words "statics" 0 "$T/x.c" | sed 's/static \(.\) .*/\1/' | paste -sd' ')" "a b c d e f g h k" \
	"static names are found in each spelling"
is "$(find_words single "$T/none.c" 2>/dev/null)" "words.pl: status 2" "a checker that fails is a finding"
is "$(for mode in comments single; do find_words $mode "$T/w.c"; done | sed 's/.*w\.c://')" "1: a comment begins with \"...\"
2: a comment begins with \"...\"
3: static function of one word: put
7: static function of one word: PUSH" "comments and names are found in each spelling"
printf '%s\n' 'struct x {' '	int a;	/* of b */' '	int c, d;	/* [n] in which e */' '	int f;	/* n of g */' \
	'	f(c);	/* of h */' '};' >"$T/m.h"
is "$(find_words comments "$T/m.h" | sed 's/.*m\.h://')" "2: a comment only continues the name before it
3: a comment only continues the name before it" "comments on members that are no phrase are found"
{
	printf 'int\t a_new(struct a **a);\nint\t a_open(const char *path, struct a **a);\nint\t a_list(struct a **a, ...);\n'
	printf '/* a_new(struct a **a, int n)\n */\nint\t b_new(struct b **b, int n);\nint\t (*open)(const struct b **b,\n    int n);\n'
	printf 'int\nc_open(void **c, int n)\n{\n}\n'
} >"$T/outs.h"
is "$(find_words outs "$T/outs.h" | sed 's/.*outs\.h://')" "6: an out-parameter comes first: b_new
7: an out-parameter comes first: open
10: an out-parameter comes first: c_open" "out-parameters that come first are found"
dots='...' told='is told'
printf '%s "%s"\n' ok "$dots dots" is "%s: $dots dots" like "the user $told" ok "a claim $dots of 3" \
	'status 0' 'so do two' is 'and a third' ok "in full $dots" >"$T/v.t"
printf '	is(f(1), 2, "%s");\n	ok(f(3) &&\n	    f(4), "%s: %%s", err_line());\n' \
	'its second' 'of two' 'the second' 'a third' >"$T/v.c"
is "$(find_words claims "$T/v.t" | sed 's/.*v\.t://')" "1: a test's name begins with \"...\"
2: a test's name begins with \"...\"
3: a test's name hides who reports
5: a test's name has no subject
6: a test's name has no subject
7: a test's name has no subject
7: a test's name ends with dots" "names of tests that are no claims are found"
is "$(find_words claims "$T/v.c" | sed 's/.*v\.c://')" "1: a test's name has no subject
3: a test's name has no subject" "names of tests in C that are no claims are found"

# shellcheck disable=SC2086
{
	is "$(find_words private tests/lint/private-words $code $prose)" "" "no private word where the field has a term"
	is "$(find_words comments $code)" "" "no comment begins with \"...\", or continues a member's name"
	is "$(find_words statics 2 $code)" "" "a static name stands in at most two files"
	is "$(find_words single $code)" "" "a static function is named by a verb and an object"
	# These read what the pointer points to, or are not ours.
	is "$(find_words outs $code |
		grep -vE ': (engine_open|add_node_line|read_line|finish_open|insert_placed|init_all)$')" "" "out-parameters come last"
	is "$(find_words claims $tests)" "" "each test's name is a claim"
	is "$(find_words columns "$columns" $code)" "" "no line of code over $columns columns"
	is "$(find_words modules 26 $code)" "" "no folder of lib or cmd holds over 26 modules"
	is "$(find_words folders 50 $(find lib cmd -type f))" "" "no folder of lib or cmd holds over 50 files"
	is "$(find_words sentences 40 $prose $headers)" "" "no sentence of a page or a header over 40 words"
}
done_testing
