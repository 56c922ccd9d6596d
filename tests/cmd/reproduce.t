# reproduce.t - bench/reproduce runs a row by its recipe, resumes it, and writes the accuracy of each epoch.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# A small MNIST, and recipes of our own.
mkdir -p data/mnist share/recipes
ln -s "$TOP/share/nets" share/nets
perl -e '
	sub put { my ($f, $s) = @_; open(my $h, "|-", "gzip -1 >$f") or die; print $h $s; close $h or die }
	srand 1;
	for (["train", 80], ["t10k", 40]) {
		my ($w, $n) = @$_;
		put("data/mnist/$w-images-idx3-ubyte.gz", pack("N4", 2051, $n, 28, 28) .
			join "", map { my $c = $_ % 10; map { chr(rand(50) + (int($_ / 79) == $c ? 200 : 0)) } 0 .. 783 } 0 .. $n - 1);
		put("data/mnist/$w-labels-idx1-ubyte.gz", pack("N2", 2049, $n) . join "", map { chr($_ % 10) } 0 .. $n - 1);
	}'
recipe() { # NAME LINE...
	{ printf '# %s - a test\n# Data: mnist\npworker --net mlp --batch 10 --lr 0.02 --scale 0.004\n' "$1"; printf '%s\n' "${@:2}"; } \
		>"share/recipes/$1"
}
export TALLY_DATA=$PWD/data TALLY_SHARE=$PWD/share PACKED=$PWD/packed
row() { RESULTS=$PWD/$1.tsv RUNS=$PWD/$1 "$TOP/bench/reproduce" "${@:2}"; }
figures() { grep "^$2	" "$1.tsv" | cut -f 1-5; }	# all but the time and the machine

recipe alone "pworker --epochs 3"
recipe two "dlaunch -n 2 -s 1" "pworker --epochs 2"
recipe steps "pworker --steps 12"
recipe other "pworker --epochs 1"
sed -i 's/mnist/ilsvrc12/' share/recipes/other
status 0 "reproduce lists the rows" row a
is "$(cut -f 1-2 "$T/out" | tr '\t\n' ' ;')" "alone not run;other not run;steps not run;two not run;" \
	"no row has run yet"
status 0 "reproduce runs a row" row a alone 1 2
is "$(awk -F'\t' '{ print NF }' a.tsv | sort -u) $(cut -f 1-3 a.tsv | tail -n +2 | tr '\t\n' '  ')" \
	"9 alone 1 0 alone 1 1 alone 1 2 alone 2 0 alone 2 1 alone 2 2 " "the table has each epoch of each seed"
ok "the row's net learns" awk -F'\t' '$2 == 1 { if ($3 == 0) first = $4; last = $4 }
	END { exit !(last > first && last > 0.5 && last <= 1) }' a.tsv
# incomplete: the lines of the table that lack something.
incomplete() {
	awk -F'\t' 'NR > 1 && !($5 > 0 && $5 <= 1 && $6 >= 0 && $6 != "" && $7 ~ /^[^ ]/ &&
	    $8 ~ /^tally [^=]*(oneDNN|ref: )[^=]*$/ && $9 != "")' a.tsv
}
is "$(incomplete)" "" "the table has accuracy, time, machine, versions and commit"
is "$(pworker @alone --eval a/alone-1/w-0003.safetensors --data packed/mnist-test.rec | awk -F'\t' 'NR == 2 { printf "%.4f", $3 }')" \
	"$(awk -F'\t' '$2 == 1 && $3 == 2 { printf "%.4f", $5 }' a.tsv)" \
		"the saved weights have the accuracy of the table"
status 0 "reproduce runs the row again" row a alone
like "$T/out" '^alone, seed 1: done already' "reproduce says that the row is done"
status 0 "reproduce runs a job of two workers" row a two
is "$(cut -f 1-3 a.tsv | grep -c '^two')" 2 "the job of two workers has two epochs"
is "$(incomplete)" "" "the table has versions and machine of the job of two workers"
# A server may write the head of its log after those of the workers.
eval "$(sed -n '/^epochs() {/,/^}/p' "$TOP/bench/reproduce")"
{
	printf '# reproduce: a processor\ta commit\n'
	printf '# tally 7 tool=%s\n' "pworker host=h device=cpu:_one" "pserver host=h"
	printf '1\th\tworker\t0\tstep\t0\t0\t10\t2.5\t0.5\t100\n'
} >heads
is "$(epochs heads | cut -f 5- | tr '\t' ';')" "a processor;tally 7, cpu: one;a commit" \
	"an epoch has the version of its workers, also if a server writes its head last"
status 0 "reproduce runs a row that ends within an epoch" row a steps
is "$(grep -c '^steps	1	[01]	' a.tsv)" 2 "the table has both parts of the row that ends within an epoch"
ok "the last epoch has the accuracy of the last weights" awk -F'\t' '$1 == "steps" && $3 == 1 { exit !($5 > 0) }' a.tsv
status 0 "reproduce runs a row with a type" row a alone+f32
is "$(grep -c '^alone+f32	1	[012]	' a.tsv) $(grep -c '^alone	' a.tsv)" "3 6" \
	"a row with a type is another row than its recipe"
is "$(figures a alone+f32 | cut -f 3-)" "$(figures a alone | grep '	1	[012]	' | cut -f 3-)" \
	"the default type has the accuracies of the recipe without a type"
status 2 "a type that does not exist is refused" row a alone+f31
like a/alone+f31-1/log "f31" "the log names the type"
row a >list
is "$(cut -f 1 list | tr '\n' ' ')" "alone alone+f32 other steps two " "the list has the row with a type after its recipe"
is "$(sed -n 's/^alone	\(.*\)	a test/\1/p' list | grep -o 'seed [12]: 3 epochs, [01]' | sort -u | wc -l)" 2 \
	"the list shows epochs and accuracy"

# The page of results.
page() { RESULTS=$PWD/$1.tsv FIGURES=$PWD/$1 PUBLISHED=$PWD/published.tsv "$TOP/bench/results"; }
printf '%s\t%d\t%s\t%s\n' alone 1 .25 .5 alone 2 .125 .625 alone 9 .1 .2 two 1 .1 .1 other 1 .3 .4 >published.tsv
echo '# goal - a net of a test; on noise: 0.75 after 9 epochs.' | cat - share/recipes/other >goal
sed '1!{/^# /{/Data/!d}}' goal >share/recipes/goal
sed '2i # Reached there, epoch: train/validation: 2: .5/.4; 3 s an epoch.' share/recipes/other >share/recipes/there
status 0 "results writes a page" page a
is "$(sed -n 's/^| \(goal\|other\|there\) | //p' "$T/out")" "a net of a test; on noise | 0.75 after 9 epochs | not run | | | | | | |
a test | - | not run | | | | | | |
a test | epoch: train/validation: 2: .5/.4; 3 s an epoch | not run | | | | | | |" \
	"the page has what a source published, and rows that were not run"
is "$(grep -c '^| alone+f32 | a test | - | [01]\.' "$T/out")" 1 "the page has the row with a type"
mean=$(awk -F'\t' '$1 == "alone" && $3 == 2 { sum += $5 / 2 } END { printf "%.4f", sum }' a.tsv)
best=$(awk -F'\t' '$1 == "alone" && $5 > best[$2] { best[$2] = $5 } END { printf "%.4f", (best[1] + best[2]) / 2 }' a.tsv)
training=$(awk -F'\t' '$1 == "alone" && $3 == 2 { sum += $4 / 2 } END { printf "%.4f", sum }' a.tsv)
line="$mean \(2 seeds, [0-9.]+ to [0-9.]+\) \| $best \| $training \| 3 \| [0-9.]+ \| [0-9.]+ \| .* x [0-9]+, f32 \|"
is "$(grep -cE "^\| alone \| a test \| - \| $line$" "$T/out")" 1 \
	"the page has the mean accuracies of the last and the best epochs of the seeds"
is "$(sed -n 's/^| \(alone[^ ]*\) | \([0-9] | .*\)/\1 \2/p' "$T/out")" \
	"$(awk -F'\t' '/^alone(\+f32)?\t1\t[12]\t/ { printf "%s %d | %.4f | %.4f | %.4f | %.4f |\n", $1, $3 + 1, $4,
		$3 == 1 ? .25 : .125, $5, $3 == 1 ? .5 : .625 }' a.tsv | sort)" \
	"the page has the published accuracies beside those of the first seed, by epoch"
: >empty.tsv
mkdir empty
status 0 "results writes a page without published accuracies" \
	env RESULTS="$PWD/a.tsv" FIGURES="$PWD/empty" PUBLISHED="$PWD/empty.tsv" "$TOP/bench/results"
is "$(grep -c '^| alone' "$T/out")" 2 "that page has the rows"
mkdir slow
awk -F'\t' -v OFS='\t' '$1 == "alone" { $6 = NR == 4 ? 90000 : 7 } 1' a.tsv >slow.tsv
page slow >slow.md
is "$(sed -n 's/^| alone |.*| 3 | \([0-9.]*\) | \([0-9.]*\) |.*/\1 \2/p' slow.md)" "7.0 45018" \
	"the page has the medians of the seconds of an epoch and of a seed"
awk -F'\t' -v OFS='\t' '$1 == "alone" && $2 == 2 { $6 = 9 + $3; $7 = "another" } 1' slow.tsv >machines.tsv
mkdir machines
page machines >machines.md
is "$(sed -n 's/^| alone |.*| 3 | \([0-9.; ]*\) | \([0-9.; ]*\) | .*; another, f32 |$/\1, \2/p' machines.md)" "7.0; 10, 90014; 30" \
	"a row of two machines has the seconds of each"
awk -F'\t' -v OFS='\t' '$1 == "alone" && $2 == 2 && $3 > 0 { $7 = "third" } 1' machines.tsv >moved.tsv
mkdir moved
page moved >moved.md
is "$(sed -n 's/^| alone |.*| 3 | \([0-9.; ]*\) | \([0-9.; -]*\) | .*; another, f32; third, f32 |$/\1, \2/p' moved.md)" \
	"7.0; 9.0; 10, 90014; -; -" "the epochs of a seed that changed its machine count for each, and their sum for none"
awk -F'\t' -v OFS='\t' '$1 == "two" { $6 = $3 == 0 ? 4 : 6 } $1 == "steps" { $3 += 3 } 1' a.tsv >even.tsv
echo "pworker --epochs 9" >>share/recipes/steps
mkdir even
page even >even.md
is "$(awk -F' [|] ' '/^[|] (two|steps) [|] a test/ { print $7, (/steps/ ? "" : $8 " " $9) }' even.md | paste -sd,)" "5 ,2 5.0 10" \
	"two epochs have the mean of their seconds, and a row that ends by --steps is whole"
recipe steps "pworker --steps 12"
if command -v gnuplot >/dev/null; then
	curves() { grep -o '>[^<>]*\(alone\|other\|two\)[^<>]*<' "a/results-mnist-$1.svg" | LC_ALL=C sort | paste -sd" "; }
	is "$(curves mlp), $(curves published)" ">alone+f32< >alone< >two<, >alone+f32, published< >alone+f32< >alone, published< >alone<" \
		"the page has figures of a net's rows, and of those that were published"
	is "$(ls empty)" results-mnist-mlp.svg "without published accuracies there is a figure for each net"
else
	skip "the page has figures of a net's rows, and of those that were published" "no gnuplot"
fi
rm share/recipes/goal share/recipes/there

# Interrupted within the second epoch and again after it.
for cut in "--steps 11" "--epochs 2"; do
	recipe alone "pworker --epochs 3" "pworker $cut"
	row b alone >/dev/null 2>&1
	rm -f b/alone-1/done
	mv b/alone-1/recipe begun
done
like b.tsv '^alone	1	1	' "the table has the epochs of an interrupted row"
recipe alone "pworker --epochs 3"
cp begun b/alone-1/recipe
status 1 "reproduce refuses to resume a row whose recipe has changed" row b alone
like "$T/err" '^reproduce: alone, seed 1: began with another recipe, ' "the error says what has changed"
ok "the recipe that began the row is kept" cmp b/alone-1/recipe begun
rm b/alone-1/recipe
is "$(row b | grep -c '^alone	seed 1: 2 of 3 epochs')" 1 "the list shows the epochs of the interrupted row"
status 0 "reproduce resumes the interrupted row" row b alone
is "$(figures b alone)" "$(figures a alone | grep '	1	[012]	')" \
	"the resumed row has the accuracies of an uninterrupted one, to the last digit"

recipe alone "pworker --epochs 3" "pworker --lr -1"
status 2 "a recipe with a wrong option fails" row c alone
recipe alone "pworker --epochs 3"
status 0 "the recipe runs after its correction" row c alone

# Killed in the validation of its second epoch, on another machine: no validation of that is in the log.
mkdir unjudged
cat >unjudged/pworker <<-EOF
	#!/bin/sh
	for a; do
		case \$a in --val | *mnist-test.rec) ;; *) set -- "\$@" "\$a" ;; esac
		shift
	done
	"$BUILD/pworker" "\$@" --epochs 2
	exit 137
EOF
chmod +x unjudged/pworker
BUILD=$PWD/unjudged row k alone >/dev/null 2>&1
sed -i 's/^# reproduce: .*/# reproduce: Another x 9	cafe/' k/alone-1/log.tsv
status 0 "reproduce resumes a row that was killed in a validation" row k alone
is "$(figures k alone)" "$(figures a alone | grep '	1	[012]	')" "the row has the accuracies of all epochs"
is "$(awk -F'\t' 'NR > 1 { print $3, ($7 == "Another x 9" && $9 == "cafe" ? "before" : "after") }' k.tsv | paste -sd,)" \
	"0 before,1 before,2 after" "each epoch has the machine and the commit that computed it"

# A new run of the row fails in its second epoch; a shorter one ends.
figures b alone >published
rm -r b/alone-1
mkdir failing
printf '#!/bin/sh\n"%s/pworker" "$@"\nexit 1\n' "$BUILD" >failing/pworker
chmod +x failing/pworker
recipe alone "pworker --epochs 3" "pworker --steps 11"
BUILD=$PWD/failing status 1 "reproduce fails with its worker" row b alone
is "$(figures b alone)" "$(cat published)" "a run that fails leaves what the table has of the run before"
status 0 "reproduce runs the shorter row" row b alone
is "$(figures b alone | wc -l)" 2 "a run that ends replaces what the table has of the run before"
recipe alone "pworker --epochs 3"

# A worker outlives reproduce, which is killed alone.
mkdir late && mkfifo up go
printf '#!/bin/sh\necho $$ >"%s/up"\nread -r _ <"%s/go"\nexit 1\n' "$PWD" "$PWD" >late/pworker
chmod +x late/pworker
BUILD=$PWD/late RESULTS=$PWD/d.tsv RUNS=$PWD/d "$TOP/bench/reproduce" alone >/dev/null 2>&1 &
read -r _ <up
kill -9 $!
wait $! 2>/dev/null
status 75 "a row whose worker still runs is refused" row d alone
like "$T/err" '^reproduce: alone, seed 1: its processes run already, in ' "the error says that its processes run"
echo >go
flock d/alone-1/lock true
status 0 "the row runs after its worker has ended" row d alone
is "$(figures d alone)" "$(figures a alone | grep '	1	[012]	')" "the row has the same accuracies"

# The evaluation of a row's last weights fails.
mkdir mute
printf '#!/bin/sh\ncase " $* " in *" --eval "*) exit 1 ;; esac\nexec "%s/pworker" "$@"\n' "$BUILD" >mute/pworker
chmod +x mute/pworker
BUILD=$PWD/mute status 1 "reproduce fails if it cannot evaluate the last epoch" row f steps
like "$T/err" '^reproduce: steps, seed 1: an epoch could not be evaluated; call again to go on$' "the error names the row"
status 0 "another call evaluates the epoch" row f steps
is "$(figures f steps)" "$(figures a steps)" "the row has its accuracies"

# A signal to reproduce's process group reaches the job once.
mkdir told
cat >told/pworker <<-EOF
	#!/bin/bash
	n=0
	trap 'n=\$((n + 1)); echo \$n >>"$PWD/told/signals"' TERM INT HUP
	: >"$PWD/told/up"
	while [ -d "$PWD/told" ] && [ ! -e "$PWD/told/go" ]; do sleep 0.05; done
	exit 3
EOF
chmod +x told/pworker
set -m
BUILD=$PWD/told RESULTS=$PWD/e.tsv RUNS=$PWD/e "$TOP/bench/reproduce" alone 1 2 >/dev/null 2>"$T/err" &
pid=$!
set +m
until [ -e told/up ] || ! kill -0 "$pid"; do read -rt 0.05 <> <(:) || :; done
kill -INT -- "-$pid"
until [ -s told/signals ] || ! kill -0 "$pid"; do read -rt 0.05 <> <(:) || :; done
touch told/go
wait "$pid"
is $? 3 "reproduce ends with its worker's status after SIGINT"
is "$(cat "$T/err")" "reproduce: alone, seed 1: ended with status 3; call again to go on" "reproduce says that another call goes on"
is "$(cat told/signals)" 1 "the worker gets one signal"

for name in nosuch . ./alone alone+ ""; do
	status 2 "an unknown row, '$name', is refused" row a "$name"
	is "$(cat "$T/err")" "reproduce: $name: no such row; without a name they are listed" "the error names the row '$name'"
done
status 1 "a row whose data is missing is an error" row a other
like "$T/err" 'other needs ILSVRC12' "the error names the data"
done_testing
