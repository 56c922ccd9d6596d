#!/usr/bin/env bash
# wrong_lines.t - wrong command lines: each is answered in one line that names the thing and the remedy.
#
# wrong_lines.tsv has a command line in each row: its exit status, the words that the answer contains, separated by
# " & ", and the command, which runs among the files that are made here.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1 XDG_STATE_HOME=$T/state TALLY_SHARE=${TALLY_SHARE:-$TOP/share}
unset NOSUCH_VARIABLE DMLC_ROLE

mkdir -p images/cat images/dog flat empty
for i in 1 2 3 4 5 6 7 8; do
	for class in cat dog; do
		perl -e 'srand $ARGV[0]; print "P5 28 28 255\n"; print chr(int rand 256) for 1..784' $i >images/$class/$i.pgm
	done
done
cp images/cat/1.pgm flat
im2rec -q images -o train.rec || exit 1
train="pworker --net mlp --classes 2 --data train.rec --batch 8 --epochs 1"
$train --save w >log.tsv 2>err || exit 1
pworker --net mlp --classes 2 --data train.rec --batch 8 --epochs 1 --widths 8 --save v >v.tsv 2>err || exit 1
mv v-0001.safetensors other.safetensors
pmerge -o plain.params w-0001.safetensors && pmerge -o other.params other.safetensors || exit 1
echo "these are a few words, and no file of any tool" >text.txt
printf '0\tcat\timages/cat/1.pgm\n' >bad.lst
for i in 1 2 3; do printf '%d\t0\tdogs/%d.jpg\n' $i $i; done >odd.lst
for i in 1 2 3 4 5 6 7 8; do printf '%d\t1\t0\timages/cat/%d.pgm\n' $i $i; done >two.lst
im2rec -q -o two.rec two.lst && tar czf images.tgz images || exit 1
printf '\211PNG\r\n\032\n0000' >picture.png
# Other kinds of files, by their first bytes.
printf 'a\nb\n' >short.labels
printf '\0\0\010\003\0\0\352\140\0\0\0\034\0\0\0\034' >digits-idx3-ubyte
perl -e 'srand 1; print chr 3; print chr(int rand 256) for 1..3072' >cifar.bin
printf 'PK\003\004\024\0\0\0\0\0archive/data.pkl' >w.pt
printf 'BM\066\0\0\0\0\0\0\0\066\0\0\0' >picture.bmp
printf 'II*\0\010\0\0\0' >picture.tif
pmerge -o model.onnx w-0001.safetensors || exit 1
cp log.tsv log.tsv.0
$train --mean mean.bin >mean.tsv 2>err || exit 1
: >empty.hosts
echo localhost >hosts
(umask 077; printf '%064d\n' 1 >key)
printf '%064d\n' 1 >open.key
chmod 644 open.key
(umask 077; cp text.txt words.key)

answers() { # STATUS WORDS COMMAND
	local word words got
	(eval "$3") >out 2>err </dev/null
	got=$?
	[ $got -eq "$1" ] || { echo "exit status $got, not $1"; cat err; return 1; }
	[ "$(wc -l <err)" -eq 1 ] || { echo "$(wc -l <err) lines:"; cat err; return 1; }
	words=${2// & /$'\n'}
	while IFS= read -r word; do
		grep -qFe "$word" err || { echo "no '$word' in:"; cat err; return 1; }
	done <<<"$words"
}
while IFS=$'\t' read -r want words command <&3; do
	ok "answered in one line with '$words': $command" answers "$want" "$words" "$command"
done 3<"$TOP/tests/cmd/wrong_lines.tsv"
done_testing
