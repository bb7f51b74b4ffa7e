"""Views of a run: tables, plots, pages and checks, all recomputed from its samples. Nothing here runs a model."""
