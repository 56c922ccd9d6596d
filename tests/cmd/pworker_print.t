#!/usr/bin/env bash
# pworker_print.t - what --print says of a net: counts, and with a batch memory and kernels.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

status 0 "--print" pworker --net vgg --shape 3,32,32 --classes 10 --print
like out '^33638218 weights in 32 arrays, 0 running statistics, 332\.1 M multiply-adds' "... counts"
# --eps is the beginning of --epsilon, and the net's all the same; in a recipe too.
eps() { sed -n 's/^bn1 .* eps=\([^ ]*\) .*/\1/p'; }
is "$(pworker --net resnet --eps 1e-3 --print | eps)" 0.001 "a net's option with the beginning of another's name"
is "$(pworker --net resnet --eps=1e-3 --print | eps)" 0.001 "... with its value in the same word"
echo 'pworker --net resnet --eps 3e-3' >short
is "$(pworker @./short --print | eps)" 0.003 "... in a recipe"
status 2 "one that is neither's" pworker --net mlp --eps 1e-3 --print
like err "^pworker: .*mlp\.lua: this net has no option 'eps'" "... is told"

status 0 "--print --batch" pworker --net lenet --print --batch 100
# Four of weights (the worker's, those that come, the server's and those before them), two of gradients, a momentum.
like out '^batch 100: [0-9.]+ MB: activations [0-9.]+, scratch .*, weights 6\.9, gradients 3\.4, optimizer 1\.7, checkpoint 0\.0,' \
    "... says what training takes"
# The numbers behind names, for each part of the line.
sum() { awk '/^batch/ { n = split($0, part, /[:,] /); for (i = 3; i <= n; i++) { sub(/.* /, "", part[i]); s += part[i] }
	split(part[2], all, " "); print (s - all[1] < 0.55 && all[1] - s < 0.55) }'; }
is "$(sum <out)" 1 "... which adds up"
like out '^conv2 forward .+$' "... and each layer's kernel forward"
cpu=$(pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 && echo cpu)
if [ -n "$cpu" ]; then
	like out '^conv1 weight .+$' "... and backward"
else
	skip "... and backward" "this build has no engine for processors"
fi
status 0 "--optimizer adam" pworker --net lenet --print --batch 100 --optimizer adam
like out 'gradients 3\.4, optimizer 3\.4, ' "... keeps two numbers a weight"
status 0 "--save, --accumulate and --ema" pworker --net lenet --print --batch 100 --save x --accumulate 2 --ema 0.9
like out 'weights 6\.9, gradients 5\.2, optimizer 5\.2, checkpoint 5\.2, ' "... have arrays of their own"
status 0 "a worker of several" pworker --net lenet --print --batch 100 --servers a:1 --worker 0/2 --plain
like out 'weights 3\.4, gradients 1\.7, optimizer 0\.0, ' "... leaves the servers' to them"
status 2 "a limit that names no instruction set" env TALLY_MAX_ISA=avx3 pworker --net lenet --print
like err '^pworker: TALLY_MAX_ISA=avx3: none of sse41, avx2,' "... is told"
status 0 "--engine" pworker --net lenet --print --batch 100 --engine ref
like out '^ref: plain loops' "... is the one asked"
# Two floats for each output and sample, of 28x28 and what follows.
want=$((2 * 4 * 100 * (784 + 20*24*24*2 + 20*12*12 + 50*8*8*2 + 50*4*4*2 + 500*2 + 10*2)))
is "$(awk '/^batch/ { gsub(",", ""); print $6 }' out)" "$(awk -v n=$want 'BEGIN { printf "%.1f", n / 1e6 }')" \
    "... and its activations are all outputs and their gradients"
status 2 "an engine that is none" pworker --net lenet --print --batch 100 --engine abacus

# A batch that does not fit is refused before it is taken, whoever has no more.
for engine in $cpu ref; do
	status 1 "$engine: more than the machine has" pworker --net vgg --print --batch 65536 --engine $engine
	like err '^pworker: a batch of 65536: takes [0-9]+ MB, and (this machine|its [a-z ]*) has [0-9]+ MB left$' \
		"... is refused, with both numbers"
	is "$(wc -l <err)" 1 "... in one line"
	[ -z "${SAN:-}" ] || continue	# a sanitizer maps terabytes
	status 1 "$engine: outputs that fit one by one, and not together" \
		sh -c "ulimit -v 1500000; exec pworker --net inception --print --batch 512 --engine $engine"
	like err '^pworker: a batch of 512: takes [0-9]+ MB, and its limit of address space \(ulimit -v\) has [0-9]+ MB left$' "... too"
done

# What is said is what a run takes: a stream holds the run where its first steps were.
perl -e 'srand 1; for $i (0..127) { print chr($i % 10), join "", map { chr(int rand 256) } 1..3072 }' >data_batch_1.bin
im2rec data_batch_1.bin -o a.rec
mkfifo in rows
takes() { # NET AND OPTIONS: what is said, and the most there was
	set -- "$@" --shape 3x28x28 --lr 0.0001 --threads 1
	pworker "$@" --print | sed -n 's/^batch [0-9]*: \([0-9]*\).*/\1/p'
	pworker "$@" --data in --no-shuffle >rows 2>run.err &
	exec 3<rows 4>in
	cat a.rec >&4
	n=0
	while [ $n -lt 3 ] && IFS= read -r line <&3; do case $line in *"	step	"*) n=$((n + 1)) ;; esac; done
	awk '/^VmHWM/ { print int($2 * 1.024 / 1000) }' /proc/$!/status
	exec 4>&-
	cat <&3 >rest
	exec 3<&-
	wait $!
}
if [ -n "$cpu" ] && ! ldd "$BUILD/pworker" | grep -q 'lib[at]san'; then
	# What a net adds to a smaller one says what its numbers are worth; libraries and threads have theirs in both.
	for pair in "inception --batch 8/inception --batch 32" \
		"mlp --widths 1000,1000 --batch 32 --optimizer adam/mlp --widths 2000,2000 --batch 32 --optimizer adam"; do
		{ takes --net ${pair%/*}; takes --net ${pair#*/}; } >all
		ok "${pair#*/}: $(paste -sd' ' all) MB, as said" awk '{ mb[NR] = $1 } function by(is, said, part) {
			return is > said * (1 - part) && is < said * (1 + part) }
			END { exit !(NR == 4 && by(mb[4], mb[3], 0.25) && by(mb[4] - mb[2], mb[3] - mb[1], 0.1)) }' all
	done
else
	skip "memory as said" "this build has no engine for processors, or looks after its memory"
fi
done_testing
