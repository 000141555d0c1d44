package diff

import (
	"slices"
	"strings"
)

// wordBytes is how much of all texts together one comparison looks through for words; those beyond it differ in one.
const wordBytes = 4 << 20

// isWord tells what belongs to a word of a text: not white space, and none of what parts words in prose, lists, URLs, markup
// and code. What is drawn at random should be one word, so a point, a colon, a hyphen and the like part nothing: an id, a
// time, a host with its port.
func isWord(c byte) bool { return c > ' ' && strings.IndexByte("\"'`<>(){}[],;=&?/\\|#!", c) < 0 }

// moreWords is in how many words, beyond the first, two texts differ: words that one has and the other has not, or has less
// often, on the side that has more of them. That those which both have stand in another order counts as one more.
//
// Noise in a text would hide all else that changes in it, if all texts that differ did so alike: an id in a message, a time
// in the head of a table, a nonce in a script, the host in a redirect, a list in any order. So words count as the elements of
// an array do.
func (f *found) moreWords(left, right string) int {
	left, right = trimWords(left, right)
	if f.worded += len(left) + len(right); f.worded > wordBytes || oneWord(left) && oneWord(right) {
		return 0
	}
	surplus := map[string]int{} // how much more often the left one has a word
	eachWord(left, func(word string) { surplus[word]++ })
	eachWord(right, func(word string) { surplus[word]-- })
	missing, extra := 0, 0
	for _, n := range surplus {
		if n > 0 {
			missing += n
		} else {
			extra -= n
		}
	}
	words := max(missing, extra)
	if words == 0 { // it is their order, or what parts them
		return 0
	}
	if !slices.Equal(commonWords(left, surplus, 1), commonWords(right, surplus, -1)) {
		words++
	}
	return words - 1
}

// commonWords are the words of a text less those that are a surplus on its side.
func commonWords(text string, surplus map[string]int, side int) (common []string) {
	eachWord(text, func(word string) {
		if n := surplus[word]; n*side > 0 {
			surplus[word] -= side
		} else {
			common = append(common, word)
		}
	})
	return common
}

// trimWords takes off the words that both texts begin with, and those that both end with.
func trimWords(left, right string) (l, r string) {
	most := min(len(left), len(right))
	from := 0
	for from < most && left[from] == right[from] {
		from++
	}
	for from > 0 && isWord(left[from-1]) {
		from--
	}
	left, right, most = left[from:], right[from:], most-from
	to := 0
	for to < most && left[len(left)-1-to] == right[len(right)-1-to] {
		to++
	}
	for to > 0 && isWord(left[len(left)-to]) {
		to--
	}
	return left[:len(left)-to], right[:len(right)-to]
}

func oneWord(text string) bool {
	for i := range len(text) {
		if !isWord(text[i]) {
			return false
		}
	}
	return true
}

func eachWord(text string, do func(word string)) {
	from := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isWord(text[i]) {
			continue
		}
		if from < i {
			do(text[from:i])
		}
		from = i + 1
	}
}
