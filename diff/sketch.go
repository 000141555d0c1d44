package diff

// Sketch is a mergeable sketch of durations with a relative error of 1 %. The zero Sketch is empty.
type Sketch struct{}
