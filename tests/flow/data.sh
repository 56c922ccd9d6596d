# data - real records for the tests, packed once a build.
#
#	have mnist && ...     $MNIST_TRAIN, $MNIST_TEST, and $MNIST_PART with 2,000 images of the latter
#	have cifar && ...     $CIFAR_TRAIN, $CIFAR_TEST
#
# have returns 1 if the data is missing, and $WHY says so.
PACKED=${PACKED:-$BUILD/data}
MNIST_TRAIN=$PACKED/mnist-train.rec MNIST_TEST=$PACKED/mnist-test.rec MNIST_PART=$PACKED/mnist-part.rec
CIFAR_TRAIN=$PACKED/cifar-train.rec CIFAR_TEST=$PACKED/cifar-test.rec

have() {
	case $1 in
	mnist) have_from=$DATA/mnist/ ;;
	cifar) have_from=$DATA/cifar-10-binary.tar.xz ;;
	esac
	WHY="no $1 in $DATA: set TALLY_DATA"
	[ -e "$have_from" ] || return 1
	mkdir -p "$PACKED"
	# Tests run beside each other: one packs, the others wait for it.
	(
		flock 9
		for have_split in train test; do
			[ "$PACKED/$1-$have_split.rec" -nt "$BUILD/im2rec" ] ||
			    im2rec -q "$have_from" --split "$have_split" -o "$PACKED/$1-$have_split.rec" || exit 1
		done
		[ "$1" != mnist ] || [ "$MNIST_PART" -nt "$BUILD/im2rec" ] ||
		    im2rec -q "$have_from" --split test --part 0/5 -o "$MNIST_PART" || exit 1
	) 9>"$PACKED/lock" || { echo "Bail out! im2rec cannot pack $1"; exit 1; }
}

# The bytes of the tensors in a .safetensors, without its header.
tensors() {
	tail -c +"$(($(od -An -tu8 -N8 "$1") + 9))" "$1"
}
