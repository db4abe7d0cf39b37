"""What Agora's runner and laboratory share: definitions, lexicon, usage, measure files, jobs; no message of the API."""
