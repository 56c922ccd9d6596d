# recipes.t - each recipe of share/recipes is a net of the right size and a job; the command line has the last word; what a
# recipe says wrongly is told with its file and line.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# Weights and millions of multiply-adds of the nets, by the recipes' names.
want() {
	case $1 in
	local-mlp | dist_*-mlp) echo 109386 0.1 ;;
	mnist-elu*)	echo 183685 0.2 ;;
	mnist-lenet)	echo 431080 2.3 ;;
	*-lenet)	echo 10986 0.1 ;;
	ilsvrc12-*)	echo 11295240 2049.8 ;;
	*inception* | cifar-sync) echo 1652826 204.2 ;;
	resnet50-*)	echo 758624 85.6 ;;
	resnet110-*)	echo 1730784 194.0 ;;
	fast-muon)	echo 1972792 118.1 ;;
	vgg19-*)	echo 38947914 417.0 ;;
	esac
}
counts() { sed -n 's/^\([0-9]*\) weights in .* \([0-9.]*\) M multiply-adds.*/\1 \2/p'; }
# What the name of a row says, MACHINESxBATCH and lrRATE, is what its options do; several devices are pieces of a step.
as_named() { # NAME FILE
	awk -v name="$1" '
	    { v[$2] = $3 }
	    END {
		if (!match(name, /-[0-9]+x[0-9]+/)) exit 0
		split(substr(name, RSTART + 1, RLENGTH - 1), nb, "x")
		pieces = v["--accumulate"] ? v["--accumulate"] : 1
		machines = v["--num-workers"] ? v["--num-workers"] : 1
		good = name ~ /^resnet/ ? pieces == nb[1] && v["--batch"] == nb[2] : machines == nb[1] && v["--batch"] * pieces == nb[2]
		if (match(name, /-lr[0-9.]+$/)) good = good && v["--lr"] + 0 == substr(name, RSTART + 3) + 0
		if (name ~ /-async/) good = good && ("--async" in v)
		if (name ~ /-sync/) good = good && !("--async" in v)
		exit !good
	    }' "$2"
}
said() { sed -n "1s/^# $1 - ..*/named/p; 2s/^# Source: ..*/sourced/p; s/^# Data: \(mnist\|cifar10\|ilsvrc12\)$/data/p" "$2" | tr '\n' ' '; }

n=0 wrong=
for f in "$TOP"/share/recipes/*; do
	r=$(basename "$f") n=$((n + 1))
	[ "$(said "$r" "$f")" = "named sourced data " ] || wrong="$wrong $r:head"
	[ "$(pworker @"$r" --batch 1 --print 2>"$r.err" | counts)" = "$(want "$r")" ] && [ ! -s "$r.err" ] || wrong="$wrong $r:net"
	as_named "$r" "$f" || wrong="$wrong $r:name"
	case $(dlaunch -P @"$r" pworker @"$r" --data x 2>&1 | grep -c '	pworker @') in
	1) grep -q '^dlaunch' "$f" && wrong="$wrong $r:job" ;;
	2 | 3 | 5) grep -q '^dlaunch --num-workers' "$f" || wrong="$wrong $r:job" ;;
	*) wrong="$wrong $r:job" ;;
	esac
	grep -q -- '--data \|--val ' "$f" && wrong="$wrong $r:data"
done
is "$wrong" "" "all $n say what they are, and have the net and the job that they say"
is "$(pworker --recipes | cut -f 1 | sort)" "$(ls "$TOP/share/recipes" | sort)" "--recipes lists them all"
is "$(pworker --recipes | awk -F'\t' '$2 == ""')" "" "... with what they are"
for way in local dist_sync dist_async; do
	for net in mlp lenet inception; do ok "there is $way-$net" test -e "$TOP/share/recipes/$way-$net"; done
done

# The last word counts, in whichever order they stand.
batch() { sed -n 's/^batch \([0-9]*\):.*/\1/p'; }
is "$(pworker @mnist-lenet --print | batch)" 64 "a recipe's batch"
is "$(pworker @mnist-lenet --batch 7 --print | batch)" 7 "... is the command line's, said behind it"
is "$(pworker --batch 7 @mnist-lenet --print | batch)" 64 "... but not said before it"
is "$(pworker @resnet50-k80-1x64-lr0.05 --layers 20 --print | counts)" "272544 31.4" "the same of a net's own options"
printf 'pworker --net-opt layers=56 --layers=20\n' >own
is "$(pworker @resnet50-k80-1x64-lr0.05 @./own --print | counts)" "272544 31.4" "... in either way"
is "$(pworker @./own @resnet50-k80-1x64-lr0.05 --net-opt layers=20 --print | counts)" "272544 31.4" "... whichever came last"
printf 'pworker --batch 9\n' >nine
is "$(pworker @mnist-lenet @./nine --print | batch)" 9 "... and of a second recipe"
is "$(dlaunch -P @dist_sync-mlp -n 3 -s 1 pworker | grep -c '	pworker')" 3 "... and of dlaunch's"
mkdir share && mkdir share/recipes && printf -- '--net mlp --batch 5\n' >share/recipes/nine
is "$(TALLY_SHARE=$PWD/share pworker @nine --net "$TOP/share/nets/mlp.lua" --print | batch)" 5 \
	"a name is looked for in share/recipes first"
is "$(pworker @nine @mnist-lenet --batch 3 --print | batch)" 3 "then where we are"
printf 'pworker --net mlp --batch 9\n' >@odd
is "$(pworker @./@odd --print | batch)" 9 "a file of an odd name"

# Wrong ones.
wrong() { # NAME LINE TEXT...: the recipe, and what pworker says of it
	name=$1 line=$2
	shift 2
	printf '%s\n' "$@" >bad
	status 2 "$name" pworker @bad --data x.rec
	is "$(cat "$T/err")" "pworker: bad:$line" "... is told with file and line"
}
wrong "a bad value" "2: --lr: 'fast': 'fast' is not a number" '# a' 'pworker --lr fast'
wrong "a value that is missing" "3: --batch: needs a value" '--net mlp' '' 'pworker --batch # 8'
wrong "a quote without its end" "1: a ' that is not closed in: 'x" "pworker --save 'x"
wrong "a recipe within" "2: @other: a recipe cannot include another" '# x' '--net mlp @other'
wrong "another tool" "1: 'im2rec' is neither an option nor dlaunch nor pworker" 'im2rec --resize 8'
wrong "an argument" "1: 'train.rec' is no option" 'pworker --seed 1 train.rec'
printf 'dlaunch --nosuch 1\n' >bad
status 2 "an option that dlaunch has not" dlaunch @bad pworker
like "$T/err" '^dlaunch: bad:1: no option of dlaunch$' "... is told with file and line"
status 2 "a recipe that is not there" pworker @nosuch
like "$T/err" '^pworker: recipe nosuch: .*No such file' "... is named"
head -c 70000 /dev/zero | tr '\0' '#' >long
status 2 "a recipe that is too long" pworker @long
status 2 "without records" pworker @mnist-lenet

# Short runs of three.
pictures images 60 1 && im2rec images >a.rec || exit 1
learn() { awk -F'\t' '$5 == "epoch" && $4 == 0 { n++; if ($9 + 0 > 0) ok++ } END { print n "/" ok }' "$T/out"; }
status 0 "@local-lenet runs" pworker @local-lenet --data a.rec --val a.rec --batch 10
is "$(learn)" 3/3 "... its three epochs"
status 0 "@dist_sync-mlp runs" dlaunch @dist_sync-mlp pworker @dist_sync-mlp --data a.rec --batch 10 --lr 0.01
is "$(learn)" 4/4 "... its four"
status 0 "@mnist-elu-async runs" dlaunch @mnist-elu-async pworker @mnist-elu-async --data a.rec --batch 10 --steps 12
is "$(awk -F'\t' '$5 == "step" { n[$4]++ } END { print n[0] "+" n[1] }' "$T/out")" 12+12 "... to its last step"
done_testing
