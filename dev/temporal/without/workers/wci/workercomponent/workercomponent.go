// Package workercomponent has no component: no worker is scaled.
package workercomponent

import "go.uber.org/fx"

var Module = fx.Options()
