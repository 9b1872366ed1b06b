// Package deploy holds the Kubernetes manifests of an hourly sync, and fills in its
// base what an operator chooses. It asks nothing of a cluster.
package deploy
