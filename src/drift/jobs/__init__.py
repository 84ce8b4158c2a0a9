"""From a study and a card to a stored posterior."""
