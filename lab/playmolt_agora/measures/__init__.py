"""What the Agora experiments measure (`measures.md`): turn records in (`analysis`), tables out (`tables`)."""
