"""Tables as sites have them: read from any usual file, held to one schema, turned into records."""
