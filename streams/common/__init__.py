"""What every Faust stage shares: the app, the guard around a handler, liveness, the worker."""
