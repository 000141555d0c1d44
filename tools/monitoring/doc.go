// Package monitoring holds what is in deploy to what the product tells: the alerts and the dashboard are parsed as Prometheus
// parses them, and each metric and label that they name is looked for in a real scrape.
package monitoring
