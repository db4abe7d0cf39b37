"""What the model calls of runs and judges share: requests, accounts, batches."""
