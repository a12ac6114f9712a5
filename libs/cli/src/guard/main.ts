// The guard process of `run`.
