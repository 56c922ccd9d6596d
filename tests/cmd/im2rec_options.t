# im2rec_options.t - the names of options that MXNet's tools have mean the same here; lists are made.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
# What was said, without the lines of progress of a run that takes its time.
said() { grep -vE '^im2rec: [0-9]+ pictures, ' "$1"; }

pictures images 40 1 || exit 1
shape() { im2rec "$@" images | im2rec --list -v - | cut -f 5,7 | sort -u | tr '\t\n' '  '; }
is "$(shape)" "png 32x32x3 " "pictures as they are"
is "$(shape --resize 48)" "png 48x48x3 " "--resize"
is "$(shape --resize 48 --encoding .jpg)" "jpg 48x48x3 " "--encoding, as MXNet names it"
is "$(shape --resize 48 --encoding jpg --color 0)" "jpg 48x48x1 " "--color 0"
is "$(shape --color grey)" "png 32x32x1 " "is --color grey"
is "$(shape --color 1)" "png 32x32x3 " "--color 1"
is "$(shape --color -1)" "png 32x32x3 " "--color -1"
is "$(im2rec --resize 48 --encoding jpg --quality 30 images | wc -c)" \
	"$(im2rec --resize 48 --encoding .jpg --quality 30 --inter-method 2 images | wc -c)" "--inter-method 2 is the default"
is "$(im2rec --resize 20 --inter-method area images | cksum)" "$(im2rec --resize 20 --inter-method 3 images | cksum)" \
	"area is 3"
isnt() { ok "$3" test "$1" != "$2"; }
isnt "$(im2rec --resize 20 --inter-method nearest images | cksum)" "$(im2rec --resize 20 images | cksum)" "nearest is another"
ok "a lower quality takes less" test "$(im2rec --resize 48 --encoding jpg --quality 30 images | wc -c)" -lt \
	"$(im2rec --resize 48 --encoding jpg --quality 95 images | wc -c)"
is "$(im2rec --num-thread 3 images | cksum)" "$(im2rec -j 1 images | cksum)" "--num-thread is -j"
is "$(im2rec --pass-through images | cksum)" "$(im2rec images | cksum)" "--pass-through"
status 1 "--max-pixels leaves all out" im2rec -o none.rec --max-pixels 1000 images
is "$(said err | wc -l)" 40 "with a line each"
is "$(im2rec --part 1/3 images | im2rec --list - | wc -l)" 13 "--part"
printf '7\t1\t2\t3\t%s\n' "$(cd images && find . -name '*.png' | sort | head -n 1)" >m.list
is "$(im2rec --root images m.list | im2rec --list - | cut -f 3)" 1,2,3 "--root makes a list of any file"
is "$(im2rec --root images --pack-label m.list | im2rec --list - | cut -f 3)" 1,2,3 "--pack-label"
is "$(im2rec --root images --label-width 2 m.list 2>err | im2rec --list - | cut -f 3)" 1,2 "--label-width"
status 0 "labels that are left out" im2rec --root images --label-width 2 -o cut.rec m.list
is "$(said err)" "im2rec: 1 item has more labels than 2, and the rest is left out" "... are told of"
status 1 "more labels than there are" im2rec --root images --label-width 4 m.list
printf 'vertical\nnone\ndots\n' >names
im2rec -o n.rec --labels names images 2>/dev/null
is "$(im2rec --list n.rec | cut -f 3 | sort | uniq -c | tr -s ' \n' ' ')" " 4 0 4 2 " "--labels numbers the classes"
is "$(cat n.labels)" "$(cat names)" "and names them"
for bad in "--color 2" "--encoding gif" "--quality 0" "--quality 101" "--inter-method 5" "--resize 0" "--part 3/3" "--cat x" \
	"--label-width 0" "--threads x" "--num-thread 0" "--train-ratio 2" "--chunks 0" "--exts ," "--list --verify"; do
	status 2 "refused: $bad" im2rec $bad images
	is "$(said err | wc -l)" 1 "... in one line"
done

# --- lists
status 0 "a list" im2rec --make-list -o all --recursive images
is "$(cat out)" "$(ls images | awk '{ print $1, NR - 1 }')" "tells the classes"
is "$(sort -n all.lst | cut -f 1 | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "every picture is in it"
isnt "$(cut -f 1 all.lst | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "shuffled"
is "$(sort -n all.lst | cut -f 3)" "$(cd images && find * -name '*.png' | sort)" "by the names of their paths"
im2rec -o l.rec all.lst images && im2rec -o d.rec images
is "$(im2rec --list l.rec | sort -n -k 2 | cut -f 2-5)" "$(im2rec --list d.rec | cut -f 2-5)" "it packs what the directory does"
im2rec --make-list -o again --recursive images >/dev/null
ok "the same order again" cmp all.lst again.lst
im2rec --make-list -o other --recursive --seed 1 images >/dev/null
isnt "$(cat other.lst)" "$(cat all.lst)" "another seed is another order"
im2rec --make-list -o kept --recursive --no-shuffle images >/dev/null
is "$(cut -f 1 kept.lst | tr '\n' ' ')" "$(seq -s ' ' 0 39) " "--no-shuffle"
im2rec --make-list -o c --recursive --chunks 3 --train-ratio 0.5 --test-ratio 0.25 images >/dev/null
is "$(wc -l c_*.lst | awk '{ sub(/^c_/, "", $2); sub(/\.lst/, "", $2); print $2 ":" $1 }' | tr '\n' ' ')" \
	"0_test:3 0_train:7 0_val:4 1_test:3 1_train:7 1_val:4 2_test:3 2_train:7 2_val:2 total:40 " "chunks and shares"
is "$(cat c_*.lst | sort -n)" "$(sort -n all.lst)" "hold each picture once"
status 2 "no pictures" im2rec --make-list -o none --exts .gif --recursive images
status 2 "a list has a name" im2rec --make-list images
done_testing
