package normalize

// nearest is the word that takes the fewest single-letter edits from the one given, or "" when none is near: more than a
// third of its letters would change.
func nearest(word string, words []string) string {
	best, least := "", len(word)/3+1
	for _, w := range words {
		if d := editDistance(word, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
