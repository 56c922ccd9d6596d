#!/usr/bin/env bash
# bits.t - the same job and seed give the same bytes, whatever the timing, an interruption or the decode threads.
. "$TOP/tests/tap.sh"
. "$TOP/tests/flow/data.sh"

STEPS=40
# Instrumented code is many times slower, and so are plain loops.
{ [ -z "${SAN:-}" ] && pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1; } || STEPS=10
HALF=$((STEPS / 2))
export OMP_NUM_THREADS=1

job() { # NAME DIR ARGUMENTS...: 2 workers, 2 servers
	mkdir -p "$T/$2"
	job_dir=$T/$2
	shift 2
	dlaunch -n 2 -s 2 pworker "$@" --save "$job_dir/w" --seed "${seed:-7}" >"$job_dir/log" 2>"$job_dir/err" ||
	    { echo "# exit $?"; sed 's/^/# /' "$job_dir/err" | tail -5; return 1; }
}
final() { # DIR: the checkpoint after the last step
	ls "$T/$1"/w-*"$(printf %06d "$STEPS")".safetensors
}

bits() { # NET ARGUMENTS...
	net=$1
	shift
	job "$net" "$net.a" "$@" --steps "$STEPS"
	job "$net" "$net.b" "$@" --steps "$STEPS"
	ok "$net: two runs of 2 workers and 2 servers give the same bytes" cmp "$(final "$net.a")" "$(final "$net.b")"

	job "$net" "$net.c" "$@" --steps "$HALF"
	job "$net" "$net.c" "$@" --steps "$STEPS" --resume "$(ls "$T/$net.c"/w-*.safetensors)"
	ok "$net: a run resumed after $HALF steps gives the same bytes" cmp "$(final "$net.a")" "$(final "$net.c")"

	for n in 1 2 8; do
		job "$net" "$net.$n" "$@" --steps "$STEPS" --read-threads "$n"
		ok "$net: $n decode threads give the same bytes" cmp "$(final "$net.a")" "$(final "$net.$n")"
	done

	seed=8 job "$net" "$net.seed" "$@" --steps "$STEPS"
	ok "$net: another seed gives other bytes" sh -c "! cmp -s '$(final "$net.a")' '$(final "$net.seed")'"
}

micro_batches() { # NET ARGUMENTS...: after a job of these arguments in NET.a
	net=$1
	shift
	mkdir "$T/$net.one"
	pworker "$@" --accumulate 2 --steps "$STEPS" --seed 7 --save "$T/$net.one/w" >"$T/$net.one/log" 2>"$T/$net.one/err"
	tensors "$(final "$net.a")" >"$T/two.bytes"
	tensors "$(final "$net.one")" >"$T/one.bytes"
	ok "$net: 2 workers with batches of 32 compute what 1 worker computes with 2 micro-batches" \
		cmp "$T/one.bytes" "$T/two.bytes"
}

if have mnist; then
	set -- --net lenet --data "$MNIST_TRAIN" --scale 0.00390625 --batch 32 --lr 0.05
	bits lenet "$@"
	micro_batches lenet "$@"

	# Dropout depends on the step and the sample, not on the worker or the time.
	set -- --net mlp --widths 64,32 --act elu --dropout 0.25 --data "$MNIST_TRAIN" --scale 0.00390625 --batch 32
	job mlp mlp.a "$@" --steps "$STEPS"
	micro_batches mlp "$@"
	job mlp mlp.c "$@" --steps "$HALF"
	job mlp mlp.c "$@" --steps "$STEPS" --resume "$(ls "$T/mlp.c"/w-*.safetensors)"
	ok "mlp with dropout: a resumed run gives the same bytes" cmp "$(final mlp.a)" "$(final mlp.c)"
	job mlp mlp.none "$@" --dropout 0 --steps "$STEPS"
	ok "mlp: dropout changes the bytes" sh -c "! cmp -s '$(final mlp.a)' '$(final mlp.none)'"
else
	skip "lenet: the same bytes" "$WHY"
fi
if have cifar; then
	STEPS=$((STEPS * 2 / 5))
	HALF=$((STEPS / 2))
	bits inception --net inception --data "$CIFAR_TRAIN" --rand-crop --rand-mirror --batch 4
else
	skip "inception: the same bytes" "$WHY"
fi
done_testing
