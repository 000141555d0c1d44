// Package mirrors holds what the pages below docs/mirroring tell people to write to those who will read it: Envoy's and
// Istio's own types, and HAProxy itself. NGINX has its test beside the command.
package mirrors
