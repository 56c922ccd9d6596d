#!/usr/bin/env bash
# pworker_print.t - --print counts a net's weights and, with --batch, gives memory and kernels.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

status 0 "pworker prints a net" pworker --net vgg --shape 3,32,32 --classes 10 --print
like out '^33638218 weights in 32 arrays, 0 running statistics, 332\.1 M multiply-adds' "--print counts weights and products"
# --eps abbreviates --epsilon, but the net's option of this name wins; in a recipe too.
eps() { sed -n 's/^bn1 .* eps=\([^ ]*\) .*/\1/p'; }
is "$(pworker --net resnet --eps 1e-3 --print | eps)" 0.001 "--eps is the net's option, not --epsilon"
is "$(pworker --net resnet --eps=1e-3 --print | eps)" 0.001 "--eps=VALUE is the net's option"
echo 'pworker --net resnet --eps 3e-3' >short
is "$(pworker @./short --print | eps)" 0.003 "--eps in a recipe is the net's option"
status 2 "pworker refuses an option that the net lacks" pworker --net mlp --eps 1e-3 --print
like err "^pworker: .*mlp\.lua: this net has no option 'eps'" "pworker's error names the net and the option that it lacks"
is "$(pworker --net inception --bn-momentum 0.1 --print | awk '$2 == "bn" { print $NF }' | sort | uniq -c | xargs)" \
	"19 momentum=0.1" "--bn-momentum is that of each batch norm"

mkdir red blue && printf 'P6 32 32 255\n%3072s' | tee red/1.ppm >blue/1.ppm
im2rec -q -o two.rec red blue || exit 1
status 0 "pworker prints the net for records" pworker --net vgg --print --data two.rec
like out '^softmax0 +softmax +2x1x1' "--print with --data has the classes of the records"
is "$(sed 's/,.*//' err)" "pworker: two.rec: there are names of 2 classes
pworker: two.rec: images are 32x32" "--print says what the records decide"
status 1 "--print refuses records that are missing" pworker --net vgg --print --data none.rec

status 0 "pworker prints the memory of training" pworker --net lenet --print --batch 100
# Three arrays of weights (the worker's, those received, the server's), one of gradients, one of momentum.
like out '^batch 100: [0-9.]+ MB: activations [0-9.]+, scratch .*, weights 5\.2, gradients 1\.7, optimizer 1\.7, checkpoint 0\.0,' \
    "--print --batch gives the memory of each part"
# Whether the numbers that follow the names of the parts add up to the sum.
sum() { awk '/^batch/ { n = split($0, part, /[:,] /); for (i = 3; i <= n; i++) { sub(/.* /, "", part[i]); s += part[i] }
	split(part[2], all, " "); print (s - all[1] < 0.55 && all[1] - s < 0.55) }'; }
is "$(sum <out)" 1 "the parts of the memory add up to its sum"
like out '^conv2 forward .+$' "--print --batch names the forward kernel of a layer"
cpu=$(pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 && echo cpu)
if [ -n "$cpu" ]; then
	like out '^conv1 weight .+$' "--print --batch names the backward kernel of a layer"
else
	skip "--print --batch names the backward kernel of a layer" "this build has no engine for processors"
fi
status 0 "--print accepts --optimizer adam" pworker --net lenet --print --batch 100 --optimizer adam
like out 'gradients 1\.7, optimizer 3\.4, ' "adam has two states a weight"
status 0 "--print accepts --save, --accumulate and --ema" pworker --net lenet --print --batch 100 --save x --accumulate 2 --ema 0.9
like out 'weights 5\.2, gradients 3\.4, optimizer 5\.2, checkpoint 5\.2, ' \
	"--save, --accumulate and --ema need memory of their own"
status 0 "--print accepts a worker of several" pworker --net lenet --print --batch 100 --servers a:1 --worker 0/2 --plain
like out 'weights 3\.4, gradients 1\.7, optimizer 0\.0, ' "a worker of several does not count the servers' arrays"
status 2 "TALLY_MAX_ISA refuses an unknown instruction set" env TALLY_MAX_ISA=avx3 pworker --net lenet --print
like err '^pworker: TALLY_MAX_ISA=avx3: none of sse41, avx2,' "TALLY_MAX_ISA's error lists the instruction sets"
status 0 "--print accepts --engine ref" pworker --net lenet --print --batch 100 --engine ref
like out '^ref: plain loops' "--print names the engine"
# Two floats for each output and sample, of 28x28 and what follows.
want=$((2 * 4 * 100 * (784 + 20*24*24*2 + 20*12*12 + 50*8*8*2 + 50*4*4*2 + 500*2 + 10*2)))
is "$(awk '/^batch/ { gsub(",", ""); print $6 }' out)" "$(awk -v n=$want 'BEGIN { printf "%.1f", n / 1e6 }')" \
    "the activations of ref are all outputs and their gradients"
status 2 "--engine refuses an unknown engine" pworker --net lenet --print --batch 100 --engine abacus

# pworker refuses a batch that does not fit before it allocates memory, whatever sets the limit.
for engine in $cpu ref; do
	status 1 "engine $engine refuses a batch larger than the machine's memory" \
		pworker --net vgg --print --batch 65536 --engine $engine
	like err '^pworker: a batch of 65536: takes [0-9]+ MB, and (this machine|its [a-z ]*) has [0-9]+ MB left$' \
		"the error of engine $engine gives the memory needed and left"
	is "$(wc -l <err)" 1 "the error of engine $engine about memory is one line"
	[ -z "${SAN:-}" ] || continue	# a sanitizer maps terabytes
	status 1 "engine $engine refuses outputs that fit singly but not together" \
		sh -c "ulimit -v 1500000; exec pworker --net inception --print --batch 512 --engine $engine"
	like err '^pworker: a batch of 512: takes [0-9]+ MB, and its limit of address space \(ulimit -v\) has [0-9]+ MB left$' \
		"the error of engine $engine gives the memory that ulimit -v leaves"
done

# A run takes the memory that --print gives: the end of the pipe's data holds the run after its first steps.
perl -e 'srand 1; for $i (0..127) { print chr($i % 10), join "", map { chr(int rand 256) } 1..3072 }' >data_batch_1.bin
im2rec data_batch_1.bin -o a.rec
mkfifo in rows
takes() { # NET AND OPTIONS: the memory that --print gives, and the most that the run took
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
	# The difference between two nets is compared too: libraries and threads take the same memory in both.
	for pair in "inception --batch 8/inception --batch 32" \
		"mlp --widths 1000,1000 --batch 32 --optimizer adam/mlp --widths 2000,2000 --batch 32 --optimizer adam"; do
		{ takes --net ${pair%/*}; takes --net ${pair#*/}; } >all
		ok "${pair#*/} takes the memory that --print gives: $(paste -sd' ' all) MB" \
			awk '{ mb[NR] = $1 } function by(is, said, part) {
			return is > said * (1 - part) && is < said * (1 + part) }
			END { exit !(NR == 4 && by(mb[4], mb[3], 0.25) && by(mb[4] - mb[2], mb[3] - mb[1], 0.1)) }' all
	done
else
	skip "a run takes the memory that --print gives" "this build has no engine for processors, or looks after its memory"
fi
done_testing
