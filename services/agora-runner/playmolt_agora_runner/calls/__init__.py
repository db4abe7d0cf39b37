"""What the model calls of runs and judges share: status of the experiment, prompt store, batches."""
