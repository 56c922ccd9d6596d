#!/usr/bin/env bash
# pworker_dtype.t - bf16: learns as f32 does, gives the same bytes twice, and needs a processor that has it.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

# 200 images of 28x28 in MNIST's format: the class is where the bright square stands.
mkdir c
perl -e 'srand 1; open F, ">c/train-images-idx3-ubyte"; open L, ">c/train-labels-idx1-ubyte"; binmode $_ for *F, *L;
	print F pack "N4", 2051, 200, 28, 28; print L pack "N2", 2049, 200;
	for $i (0..199) { $k = $i % 10; print L chr $k;
		for $y (0..27) { for $x (0..27) { $in = int($y / 14) == int($k / 5) && int($x / 5.6) == $k % 5;
			print F chr(($in ? 150 : 30) + int rand 60) } } }'
im2rec c -o train.rec 2>im2rec.err || { cat im2rec.err; echo "Bail out! no records"; exit 1; }
train() { pworker --net lenet --data train.rec --val train.rec --batch 20 --lr 0.05 --scale 0.00390625 --epochs 6 "$@"; }
reached() { awk -F'\t' '$5 == "validation" { a = $10 } END { print a }' "$1"; }

status 2 "--dtype refuses an unknown type" train --dtype bf17
like err "^pworker: --dtype: 'bf17' is none of f32, tf32, bf16 and f16$" "--dtype's error lists the types"
cpu() { pworker --net lenet --print --batch 1 --engine cpu "$@" >/dev/null 2>&1; }	# whether engine cpu takes these options
cpu || skip "--dtype bf16 refuses a processor without avx512_bf16" "this build has no engine for processors"
for isa in $(cpu && echo AVX2 AVX512_CORE); do
	status 1 "--dtype bf16 refuses a processor with $isa only" \
		env ONEDNN_MAX_CPU_ISA=$isa pworker --net lenet --data train.rec --dtype bf16
	like err '^pworker: engine cpu: bf16 needs a processor with avx512_bf16; here is oneDNN ' \
		"--dtype's error names the instruction set that bf16 needs"
	is "$(wc -l <err)" 1 "--dtype's error about the processor is one line"
done
status 0 "--engine ref computes in bf16 on any processor" pworker --net mlp --widths 8 --shape 1x28x28 --data train.rec \
	--engine ref --dtype bf16 --steps 2

if ! cpu --dtype bf16; then
	skip "pworker trains in bf16" "this processor has no avx512_bf16, or this build no engine for processors"
	done_testing
fi
acts() { pworker --net inception --print --batch 8 --dtype "$1" | sed -n 's/.* activations \([0-9.]*\),.*/\1/p'; }
ok "activations in bf16 take half the memory: $(acts bf16) of $(acts f32) MB" awk -v a="$(acts bf16)" -v b="$(acts f32)" \
	'BEGIN { exit !(a > 0.45 * b && a < 0.55 * b) }'
status 0 "pworker trains in f32" train --save f32
cp out f32.tsv
status 0 "pworker trains in bf16" train --dtype bfloat16 --save half
cp out half.tsv
like out '^# .*,_bf16 ' "the log of a run in bf16 names the type"
ok "bf16 reaches the accuracy of f32: $(reached half.tsv), $(reached f32.tsv)" \
	awk -v a="$(reached half.tsv)" -v b="$(reached f32.tsv)" \
	'BEGIN { exit !(b > 0.9 && a > b - 0.03) }'
status 0 "pworker trains in bf16 again" train --dtype bf16 --save again
ok "two runs in bf16 give the same bytes" cmp half-0006.safetensors again-0006.safetensors
ok "bf16 gives other bytes than f32" sh -c '! cmp -s half-0006.safetensors f32-0006.safetensors'
status 0 "a run in bf16 stops within an epoch" train --dtype bf16 --steps 23 --save stop
status 0 "--resume accepts a run in bf16" train --dtype bf16 --resume stop-0002-000003.safetensors --save stop
ok "a resumed run in bf16 ends in the same bytes" cmp half-0006.safetensors stop-0006.safetensors
status 0 "a run in f32 stops within an epoch" train --steps 23 --save turn
status 0 "--resume goes on in bf16 from a run in f32" train --dtype bf16 --resume turn-0002-000003.safetensors --save turn
cp out turn.tsv
ok "a run resumed in bf16 reaches the same accuracy: $(reached turn.tsv)" \
	awk -v a="$(reached turn.tsv)" 'BEGIN { exit !(a > 0.9) }'
status 0 "pworker evaluates in bf16" pworker --eval half-0006.safetensors --data train.rec --scale 0.00390625 --dtype bf16
done_testing
