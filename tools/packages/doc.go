// Package packages holds what deploy, .github and the Dockerfile ship to those who will read it: manifests to the types of
// Kubernetes and of each operator, the chart to Helm's own engine, compose and workflow files to their schemas, the unit to
// systemd. None of it is part of the product.
package packages
