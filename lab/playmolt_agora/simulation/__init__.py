"""Whether the estimators hold what they promise: data drawn with and without an effect, through what the tables use."""
