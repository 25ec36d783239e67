"""The stages of the chain, a few lines around one pure function each, and the pump that runs them."""
