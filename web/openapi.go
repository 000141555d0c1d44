package web

import (
	_ "embed"
	"net/http"
)

// description is the API in OpenAPI 3.1. Tests hold it to the routes, the parameters and the answers there are.
//
//go:embed openapi.yaml
var description []byte

// openapi answers GET /openapi.yaml.
func (s *Server) openapi(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	if !unchanged(w, r, digest(description)) {
		writeBytes(w, http.StatusOK, "application/yaml", description)
	}
	return nil
}
