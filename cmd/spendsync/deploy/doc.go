// Package deploy contains the Kubernetes manifests of an hourly sync, and fills in the operator's settings. It sends no
// request to a cluster.
package deploy
