package normalize

// Tolerance is how far two numbers, or two times, may lie apart and still be equal, the bound included.
type Tolerance struct{}
