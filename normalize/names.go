package normalize

// Names makes route names from raw paths: `GET /users/8f14e45f-…/orders/17` is counted as
// `GET /users/{id}/orders/{id}`. The zero Names is ready; it is safe for concurrent use.
type Names struct{}

// Route names the route of a request: its method and its path with what looks like an id replaced by `{id}`. The query
// does not count. The name is bounded and valid UTF-8 whatever the target holds.
func (n *Names) Route(method, target string) string { panic("normalize: being built") }
