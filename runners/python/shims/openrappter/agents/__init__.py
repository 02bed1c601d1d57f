"""`openrappter.agents`: holds only the base class."""
