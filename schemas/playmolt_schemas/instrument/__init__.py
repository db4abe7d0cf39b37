"""What runner and laboratory of Agora share: definitions, lexicon, usage, measure files, jobs. No message of the API."""
