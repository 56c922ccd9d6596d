# recipes.t - each recipe of share/recipes gives a net of the right size and a job; the command line wins over a recipe;
# errors in a recipe have its file and line.
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
	fast-muon | fast-muon-[89]) echo 1972792 118.1 ;;
	fast-muon-wide*) echo 4606520 301.6 ;;
	vgg19-*)	echo 38947914 417.0 ;;
	esac
}
counts() { sed -n 's/^\([0-9]*\) weights in .* \([0-9.]*\) M multiply-adds.*/\1 \2/p'; }
# The options agree with the name, which has MACHINESxBATCH and lrRATE; several devices are micro-batches.
as_named() { # NAME FILE
	awk -v name="$1" '
	    { v[$2] = $3 }
	    END {
		if (!match(name, /-[0-9]+x[0-9]+/)) exit 0
		split(substr(name, RSTART + 1, RLENGTH - 1), nb, "x")
		pieces = v["--accumulate"] ? v["--accumulate"] : 1
		machines = v["--num-workers"] ? v["--num-workers"] : 1
		good = name ~ /^resnet/ ? pieces == nb[1] && v["--batch"] == nb[2] : machines == nb[1] && v["--batch"] * pieces == nb[2]
		rate = v["--lr"]
		if (sub(/^warmup:[^,]*,/, "", rate) != (name ~ /-warmup$/)) good = 0
		if (match(name, /-lr[0-9.]+/)) good = good && rate + 0 == substr(name, RSTART + 3, RLENGTH - 3) + 0
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
is "$wrong" "" "all $n recipes have a description, and the net and the job of their names"
is "$(pworker --recipes | cut -f 1 | sort)" "$(ls "$TOP/share/recipes" | sort)" "--recipes lists all recipes"
is "$(pworker --recipes | awk -F'\t' '$2 == ""')" "" "--recipes describes each recipe"
for way in local dist_sync dist_async; do
	for net in mlp lenet inception; do ok "there is $way-$net" test -e "$TOP/share/recipes/$way-$net"; done
done

# The last option wins, in a recipe or on the command line.
batch() { sed -n 's/^batch \([0-9]*\):.*/\1/p'; }
is "$(pworker @mnist-lenet --print | batch)" 64 "a recipe gives the batch"
is "$(pworker @mnist-lenet --batch 7 --print | batch)" 7 "an option after the recipe wins"
is "$(pworker --batch 7 @mnist-lenet --print | batch)" 64 "an option before the recipe loses"
is "$(pworker @resnet50-k80-1x64-lr0.05 --layers 20 --print | counts)" "272544 31.4" \
	"an option of the net after the recipe wins"
printf 'pworker --net-opt layers=56 --layers=20\n' >own
is "$(pworker @resnet50-k80-1x64-lr0.05 @./own --print | counts)" "272544 31.4" "a second recipe with --net-opt wins"
is "$(pworker @./own @resnet50-k80-1x64-lr0.05 --net-opt layers=20 --print | counts)" "272544 31.4" \
	"--net-opt after two recipes wins"
printf 'pworker --batch 9\n' >nine
is "$(pworker @mnist-lenet @./nine --print | batch)" 9 "a second recipe's batch wins"
is "$(dlaunch -P @dist_sync-mlp -n 3 -s 1 pworker | grep -c '	pworker')" 3 "dlaunch's options after a recipe win"
mkdir share && mkdir share/recipes && printf -- '--net mlp --batch 5\n' >share/recipes/nine
is "$(TALLY_SHARE=$PWD/share pworker @nine --net "$TOP/share/nets/mlp.lua" --print | batch)" 5 \
	"a recipe is sought in share/recipes first"
is "$(pworker @nine @mnist-lenet --batch 3 --print | batch)" 3 "a recipe is sought in the current directory next"
printf 'pworker --net mlp --batch 9\n' >@odd
is "$(pworker @./@odd --print | batch)" 9 "a recipe's file name may begin with @"

# Malformed recipes.
wrong() { # NAME LINE TEXT...: a recipe, and pworker's error
	name=$1 line=$2
	shift 2
	printf '%s\n' "$@" >bad
	status 2 "$name" pworker @bad --data x.rec
	is "$(cat "$T/err")" "pworker: bad:$line" "$name: the error has file and line"
}
wrong "a malformed value is refused" "2: --lr: 'fast': 'fast' is not a number" '# a' 'pworker --lr fast'
wrong "a missing value is refused" "3: --batch: needs a value" '--net mlp' '' 'pworker --batch # 8'
wrong "an unterminated quote is refused" "1: a ' that is not closed in: 'x" "pworker --save 'x"
wrong "a nested recipe is refused" "2: @other: a recipe cannot include another" '# x' '--net mlp @other'
wrong "another tool's line is refused" "1: 'im2rec' is neither an option nor dlaunch nor pworker" 'im2rec --resize 8'
wrong "an operand is refused" "1: 'train.rec' is no option" 'pworker --seed 1 train.rec'
printf 'dlaunch --nosuch 1\n' >bad
status 2 "dlaunch refuses an unknown option in a recipe" dlaunch @bad pworker
like "$T/err" '^dlaunch: bad:1: --nosuch: no such option; --help lists the options$' "dlaunch's error has file and line"
status 2 "a missing recipe is refused" pworker @nosuch
like "$T/err" '^pworker: recipe nosuch: no such recipe; --recipes lists them$' "the error names the missing recipe"
head -c 70000 /dev/zero | tr '\0' '#' >long
status 2 "a recipe that is too long is refused" pworker @long
status 2 "a recipe without --data is refused" pworker @mnist-lenet

# Short runs of three.
pictures images 60 1 && im2rec images >a.rec || exit 1
learn() { awk -F'\t' '$5 == "epoch" && $4 == 0 { n++; if ($9 + 0 > 0) ok++ } END { print n "/" ok }' "$T/out"; }
status 0 "@local-lenet trains" pworker @local-lenet --data a.rec --val a.rec --batch 10
is "$(learn)" 3/3 "@local-lenet trains three epochs"
status 0 "@dist_sync-mlp trains" dlaunch @dist_sync-mlp pworker @dist_sync-mlp --data a.rec --batch 10 --lr 0.01
is "$(learn)" 4/4 "@dist_sync-mlp trains four epochs"
status 0 "@mnist-elu-async trains" dlaunch @mnist-elu-async pworker @mnist-elu-async --data a.rec --batch 10 --steps 12
is "$(awk -F'\t' '$5 == "step" { n[$4]++ } END { print n[0] "+" n[1] }' "$T/out")" 12+12 \
	"@mnist-elu-async trains to its last step"
done_testing
