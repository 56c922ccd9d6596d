# speed.t - bench/speed measures what is missing in a table, and bench/results makes a page of it.
. "$TOP/tests/tap.sh"
command -v git >/dev/null || { echo "1..0 # SKIP no git, whose commits the tables have"; exit 0; }
cd "$T" || exit 1
# shellcheck disable=SC2046
unset $(git rev-parse --local-env-vars)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

# A tree with the scripts, and contenders that say that a step took as many milliseconds as they were told.
mkdir -p tree/build tree/share/recipes tree/bench/peers
cp "$TOP"/bench/{speed,train.sh,contenders.sh,machine.sh,results,recipe.sh} tree/bench/
printf 'build/\n' >tree/.gitignore
touch tree/share/recipes/none
commit() { git -C tree -c user.name=t -c user.email=t@t commit -q --allow-empty -m t && git -C tree rev-parse --short HEAD; }
git -C tree init -q && git -C tree add . && first=$(commit)
contender() { # FILE READY MS
	cat >"$1" <<-EOF
		#!/bin/sh
		case "\$*" in *--explain*) echo "cpu: one, two"; exit ;; *compiled*) echo "no compiler" >&2; exit 1 ;; esac
		echo "$1 \$*" >>"$PWD/started"
		echo "ready $2"
		while read -r n; do
			line=
			for i in \$(seq "\$n"); do line="\$line $3"; done
			echo \$line
		done
	EOF
	chmod +x "$1"
}
contender ours 7.5 20
contender torch "2.0 of a test" 50
contender mxnet "1.0" 40
export TALLY=$PWD/ours PEER_TORCH=$PWD/torch PEER_MXNET=$PWD/mxnet
speed() { SPEED=$1 tree/bench/speed "${@:2}" 2>err; }
measured() { awk -F'\t' 'NR > 1 { print $1, $2, $4, $5 }' "$1" | uniq -c | sed 's/^ *//'; }
rows="inception 128 f32 2
resnet layers=110 3x28x28 10 128 f32 2
vgg layers=16 3x32x32 10 128 f32 2
resnet layers=50 3x224x224 1000 32 f32 2
fast 500 f32 2
inception 16 f32 2
inception 32 f32 2
inception 64 f32 2
inception 128 f32 1"
status 0 "speed measures" speed a.tsv f32
is "$(measured a.tsv)" "$(sed 's/^/5 /' <<<"$rows")" \
	"the table has tally, three modes of PyTorch, and MXNet for each net, batch and number of threads"
is "$(grep -c '^torch_compiled: left out: no compiler' err)" 9 "a peer that does not start is left out with its reason"
is "$(sed -n 2,6p a.tsv | cut -f 6-9,12,13)" "tally	6400.00	20.0	20.0	cpu: one, two	5
torch_eager	2560.00	50.0	50.0	2.0 of a test	5
torch_cl	2560.00	50.0	50.0	2.0 of a test	5
mxnet	3200.00	40.0	40.0	1.0	5
torch_compiled	-	-	-	-	5" "a line has images a second, milliseconds and the version"
is "$(tail -n +2 a.tsv | cut -f 15 | sort -u)" "$first" "a line has the commit"
is "$(awk -F'\t' 'NR > 1 && !(($7 == "-" || $10 > 0) && $14 ~ / x [0-9]+$/ && $16 ~ /^20.*T..:..Z$/)' a.tsv)" "" \
	"a line has the memory, the machine and the time"

# Cut off within the third net, and called again, with a table in the tree.
sed -n 1,11p a.tsv >tree/mine.tsv
: >started
cd tree || exit 1
SPEED=mine.tsv status 0 "speed goes on" bench/speed f32
cd ..
is "$(cut -f 1-9 tree/mine.tsv)" "$(cut -f 1-9 a.tsv)" "the table is as if it had not been cut off"
is "$(grep -c 'net inception --batch 128 .*--threads 2' started)" 0 "what the table has is not measured again"
rm tree/mine.tsv
unset SPEED
status 0 "speed measures into its own table" env PEER_MXNET= tree/bench/speed f32
: >started
status 0 "speed measures with one more peer" tree/bench/speed f32
is "$(grep -c '^mxnet ' started)" 9 "nets without this peer are measured again"
is "$(sed 1d tree/bench/speed.tsv | cut -f 15 | sort -u)" "$first" "the table of the tree is no change of it"

contender mxnet "1.0" 80
second=$(git -C tree add bench/speed.tsv && commit)
status 0 "speed measures another commit" speed a.tsv f32
is "$(measured a.tsv)" "$(printf '%s\n' "$rows" "$rows" | sed 's/^/5 /')" "the table has both commits"
touch tree/new
status 0 "speed measures a tree with changes" tree/bench/train.sh --table a.tsv --net fast --batch 500
is "$(tail -n 1 a.tsv | cut -f 15)" "$second+" "a measurement of a tree with changes has a mark"

page() {
	FAST=$PWD/fast.tsv SPEED=$PWD/$1 RESULTS=/dev/null PUBLISHED=/dev/null TALLY_SHARE=$PWD/tree/share FIGURES=$PWD \
		tree/bench/results
}
sed -i '/+	20/d' a.tsv
status 0 "results writes a page" page a.tsv
is "$(grep -c '^| .* | [0-9]* | [12] |' "$T/out") $(grep -c "^| .* | [0-9]* | [12] | .* | $second, 20..-..-.. |" "$T/out")" "9 9" \
	"the page has the newest measurement of each net"
like "$T/out" '^\| inception \| 128 \| 2 \| 6400.0 \| 2560.0 \| 2560.0 \| - \| 1600.0 \| 2.50 \| ' \
	"a row has images a second and the ratio to the fastest peer"
tail -n 5 a.tsv | awk -F'\t' -v OFS='\t' '{ $13 = 4; $15 = "fewer" } 1' | cat a.tsv - >fewer.tsv
page fewer.tsv >fewer.md
is "$(grep -c fewer, fewer.md)" 0 "the page has no measurement of fewer rounds"
awk -F'\t' -v OFS='\t' 'NR > 1 { $10 = $6 == "tally" ? 10 : $6 == "mxnet" ? 20 : 30; $14 = "another x 2" } 1' a.tsv >c.tsv
tail -n +2 a.tsv >>c.tsv
status 0 "results writes a page of two machines" page c.tsv
is "$(grep -c ', f32:$' "$T/out")" 2 "each machine has a table"
like "$T/out" '^\| inception .* \| 10 \| 20 \| ' "a row has the memory of tally and of the leanest peer"
printf '%s\n' "trainer	dtype	epochs	seconds	machine	commit	date" \
	"one	f32	8	10	m x 2	abc	2026-01-02T03:04Z" \
	"one	f32	8	40	m x 2	abc	2026-01-02T03:04Z" \
	"one	f32	8	20.4	m x 2	abc	2026-01-02T03:04Z" \
	"two	f32	8	30.6	m x 2	abc	2026-01-02T03:04Z" \
	"one	f32	8	40	m x 2	abd	2026-01-03T03:04Z" >fast.tsv
status 0 "results writes a page of the fast net" page a.tsv
is "$(grep '^| \(one\|two\) ' "$T/out")" "| one | f32 | 8 | 10, 40, 20 | 1.00 | m x 2 | abc, 2026-01-02 |
| two | f32 | 8 | 31 | 1.50 | m x 2 | abc, 2026-01-02 |
| one | f32 | 8 | 40 | 1.00 | m x 2 | abd, 2026-01-03 |" \
	"the page has the seconds of each round and the ratio to the median of the first trainer"
done_testing
